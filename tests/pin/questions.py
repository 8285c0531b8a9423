"""The other public calls that the pin records, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample import bounds, penalties

RNG = np.random.default_rng(8)
N = 60
X = RNG.normal(size=(N, 3))
Z = X[:, 0] - 0.5 * X[:, 1] + RNG.normal(size=N)
Y = (Z > 0).astype(int)
Y3 = np.digitize(Z, [-0.7, 0.7])
GROUPS = np.arange(N) // 4
COUNTS = RNG.poisson(2.0, size=(N, 4))
TREE = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0)
SEED: dict[str, Any] = {"random_state": 4}

LABEL_CRITERIA = [
    "permutation",
    "label-bootstrap",
    "rademacher",
    "discrepancy",
    "expected-discrepancy",
    "covariance",
    "two-stage",
    "rows-and-labels",
    "holdout",
    "resubstitution",
    "permutation-bound",
    "rademacher-bound",
    "discrepancy-bound",
    "discrepancy-bound",
    "nested-kfold",
    "bootstrap",
    "632",
]
FORMULAS = ["fpe", "aic", "bic", "cp", "gcv", "vc"]
COMPLEXITIES = [
    "permutation_complexity",
    "rademacher_complexity",
    "gaussian_complexity",
    "label_bootstrap_complexity",
    "maximal_discrepancy",
    "expected_discrepancy",
    "multiplier_complexity",
]


def _blocks(values: Any) -> Any:
    return da.from_array(values, chunks=(20, *values.shape[1:]))


def questions() -> dict[str, Callable[[], Any]]:
    """What is asked, by name."""
    o = outsample
    calls: dict[str, Callable[[], Any]] = {
        f"estimate, {name}": lambda name=name: o.estimate(TREE, X, Y, criterion=name, **SEED) for name in LABEL_CRITERIA
    }
    calls |= {
        f"estimate, {name}": lambda name=name: o.estimate(Ridge(), X, Z, criterion=name, **SEED) for name in FORMULAS
    }
    calls |= {name: lambda name=name: getattr(o, name)(TREE, X, Y, n_draws=6, **SEED) for name in COMPLEXITIES}
    lazy = {
        "ridge": (Ridge(), Z),
        "least squares": (LinearRegression(), Z),
        "Gaussian Bayes": (GaussianNB(), Y3),
        "LDA": (LinearDiscriminantAnalysis(), Y),
    }
    calls |= {
        f"blocks, {name}": lambda learner=learner, y=y: o.estimate(learner, _blocks(X), _blocks(y))
        for name, (learner, y) in lazy.items()
    }
    calls |= {
        "blocks, counts": lambda: o.estimate(MultinomialNB(), _blocks(COUNTS), _blocks(Y)),
        "blocks, Bernoulli": lambda: o.estimate(BernoulliNB(), _blocks(COUNTS), _blocks(Y)),
        "blocks, ridge grid": lambda: (
            o.GridSearch(Ridge(), {"alpha": [0.1, 9.0]}).fit(_blocks(X), _blocks(Z)).curve_.out_sample
        ),
        "estimate, groups": lambda: o.estimate(TREE, X, Y, groups=GROUPS, **SEED),
        "estimate, forest": lambda: o.estimate(RandomForestClassifier(40, random_state=0), X, Y3, **SEED),
        "estimate, AUC": lambda: o.estimate(LogisticRegression(), X, Y, loss="roc_auc", **SEED),
        "estimate, refits": lambda: o.estimate(SVC(), X, Y3, fast=False, **SEED),
        "evaluate": lambda: o.evaluate(TREE.fit(X[:40], Y[:40]), X[40:], Y[40:]),
        "evaluate, AUC": lambda: o.evaluate(GaussianNB().fit(X[:40], Y[:40]), X[40:], Y[40:], "roc_auc"),
        "evaluate, r2": lambda: o.evaluate(LinearRegression().fit(X[:40], Z[:40]), X[40:], Z[40:], "r2"),
        "evaluate, own scorer": lambda: o.evaluate(
            TREE.fit(X[:40], Y[:40]), X[40:], Y[40:], lambda m, a, b: float((m.predict(a) == b).mean())
        ),
        "validate": lambda: o.validate(
            KNeighborsRegressor(), {"n_neighbors": [1, 3, 9]}, X[:40], Z[:40], X[40:], Z[40:]
        ),
        "compare": lambda: o.compare(
            KNeighborsClassifier(),
            X,
            Y,
            param_grid={"n_neighbors": [1, 3, 9]},
            criteria=["permutation", "kfold", "loo", "632+"],
            **SEED,
        ).to_frame(),
        "compare_models": lambda: o.compare_models(
            {"tree": TREE, "bayes": GaussianNB(), "svc": SVC()}, X, Y, **SEED
        ).to_frame(),
        "compare_models, differences": lambda: o.compare_models(
            {"tree": DecisionTreeRegressor(max_depth=2), "ridge": Ridge()}, X, Z, cv=4, **SEED
        ).differences(),
        "learning_curve": lambda: o.learning_curve(KNeighborsClassifier(3), X, Y, **SEED).to_frame(),
        "permutation_test": lambda: o.permutation_test(TREE, X, Y, n_draws=19, **SEED),
        "permutation_test, folds": lambda: o.permutation_test(GaussianNB(), X, Y, n_draws=19, cv=3, **SEED),
        "permutation_test_columns": lambda: o.permutation_test_columns(None, X, Y, n_draws=19, **SEED).to_frame(),
        "audit": lambda: o.audit(lambda a, b: float(TREE.fit(a, b).score(a, b)), X, Y, n_draws=4, **SEED),
        "effective_vc_dimension": lambda: o.effective_vc_dimension(TREE, X, n_draws=5, **SEED),
        "degrees of freedom": lambda: o.generalized_degrees_of_freedom(
            DecisionTreeRegressor(max_depth=2), X, Z, n_draws=5, **SEED
        ),
        "effective_parameters": lambda: o.effective_parameters(Ridge(), X, Z, param="alpha", values=[0.1, 10.0]),
        "empirical_vc_dimension": lambda: o.empirical_vc_dimension(o.StumpClassifier(), X[:12]),
        "quadratic": lambda: o.quadratic_leave_one_out(
            lambda y, f: np.logaddexp(0, -(2 * y - 1) * f), X, Y, penalty=0.5
        ),
        "split": lambda: [len(o.split(X, Y).y_train), float(o.split(X, Y).X_train.sum())],
        "regret_study": lambda: o.regret_study(
            {"trees": (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 5, 9]})},
            {"own": (X, Y)},
            n_splits=2,
        ).to_frame(),
        "penalties": lambda: [penalties.fpe(0.2, 3.0, 60), penalties.gcv(0.2, 3.0, 60), penalties.vc(0.2, 3.0, 60)],
        "bounds, VC": lambda: bounds.vc_bound(in_sample=0.1, dimension=3, n=5000),
        "bounds, Rademacher": lambda: bounds.rademacher_bound(in_sample=0.1, complexity=0.2, n=500),
        "bounds, margin": lambda: bounds.linear_margin_bound(LogisticRegression().fit(X, Y), X, Y),
        "search, random": lambda: (
            o.RandomizedSearch(Ridge(), {"alpha": [0.1, 1.0, 9.0, 50.0]}, n_iter=3, **SEED)
            .fit(X, Z)
            .cv_results_["mean_test_score"]
        ),
        "search, one standard error": lambda: (
            o.GridSearch(TREE, {"max_leaf_nodes": [2, 4, 8]}, criterion="kfold", rule="one-standard-error", **SEED)
            .fit(X, Y)
            .best_params_
        ),
        "search, nested": lambda: (
            o.GridSearch(TREE, {"max_leaf_nodes": [2, 8]}, honest="nested", **SEED).fit(X, Y).honest_score_
        ),
        "search, two scores": lambda: (
            o.GridSearch(TREE, {"max_leaf_nodes": [2, 8]}, scoring=["f1", "roc_auc"], refit="f1", **SEED)
            .fit(X, Y)
            .cv_results_["mean_test_roc_auc"]
        ),
    }
    return calls
