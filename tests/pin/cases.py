"""The searches that the pin records: every learner with its grid by every criterion and loss, on small tables."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import has_fit_parameter

from outsample import (
    ApproximateLeaveOneOut,
    Bootstrap,
    CovariancePenalty,
    CrossValidation,
    HoldOut,
    LabelBootstrap,
    LeaveOneOut,
    OutOfBag,
    Permutation,
    Race,
    RowsAndLabels,
    TwoStagePermutation,
)


@dataclass(frozen=True)
class Table:
    """Rows, labels and what comes with them; `kinds` are the demands of learners that it meets."""

    name: str
    X: Any
    y: Any
    kinds: frozenset[str]
    fit_params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Learner:
    """A learner, its grid, and what it demands of a table."""

    name: str
    estimator: BaseEstimator
    grid: dict[str, Any]
    demands: frozenset[str]


@dataclass(frozen=True)
class Case:
    """One search."""

    learner: Learner
    criterion: str
    loss: str
    table: Table

    @property
    def name(self) -> str:
        return f"{self.learner.name} | {self.criterion} | {self.loss} | {self.table.name}"


def _tables() -> list[Table]:
    rng = np.random.default_rng(20)
    n = 48
    X = rng.normal(size=(n, 4))
    score = X[:, 0] - X[:, 1] + rng.normal(size=n)
    two, three = (score > 0).astype(int), np.digitize(score, [-0.8, 0.8])
    ties = np.round(X)
    counts = rng.poisson(np.exp(0.4 * X) + 0.2)
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    weight, groups = rng.integers(1, 4, size=n).astype(float), np.arange(n) // 4
    words = np.array(["no", "yes"])[two]
    rate = rng.poisson(np.exp(0.5 * X[:, 0])) + 1.0
    both, numbers = {"labels", "plain"}, {"numbers", "plain"}
    return [
        Table("two classes", X, two, frozenset({*both, "two"})),
        Table("text labels, groups", X, words, frozenset({*both, "two"}), {"groups": groups}),
        Table("three classes, weights", X, three, frozenset({*both}), {"sample_weight": weight}),
        Table("ties", ties, two, frozenset({*both, "two"})),
        Table("counts", counts, two, frozenset({*both, "two", "counts"})),
        Table("sparse counts", sp.csr_array(counts.astype(float)), three, frozenset({"labels", "sparse", "counts"})),
        Table("holes", holes, two, frozenset({"labels", "two", "holes"})),
        Table("numbers", X, score, frozenset(numbers)),
        Table("positive numbers, weights", X, rate, frozenset({*numbers, "positive"}), {"sample_weight": weight}),
        Table("numbers, groups, ties", ties, np.round(score, 1), frozenset(numbers), {"groups": groups}),
    ]


def _learners() -> list[Learner]:
    cs, alphas, k = [0.01, 0.3, 5.0], [0.01, 1.0, 30.0], [1, 4, 9]
    leaves = {"max_leaf_nodes": [2, 4, 7]}

    def scaled(learner: BaseEstimator, **grid: Any) -> tuple[BaseEstimator, dict[str, Any]]:
        pipeline = make_pipeline(StandardScaler(), learner)
        return pipeline, {f"{pipeline.steps[-1][0]}__{name}": values for name, values in grid.items()}

    rows: list[tuple[str, BaseEstimator, dict[str, Any], str]] = [
        ("tree, leaves", DecisionTreeClassifier(random_state=0), leaves, ""),
        (
            "tree, depth and rows",
            DecisionTreeClassifier(random_state=0),
            {"max_depth": [1, 3], "min_samples_leaf": [1, 5]},
            "",
        ),
        ("tree, pruned", DecisionTreeClassifier(random_state=0), {"ccp_alpha": [0.0, 0.02, 0.1]}, ""),
        ("tree with holes", DecisionTreeClassifier(random_state=0), leaves, "holes"),
        ("tree of numbers", DecisionTreeRegressor(random_state=0), leaves, ""),
        ("neighbours", KNeighborsClassifier(), {"n_neighbors": k, "weights": ["uniform", "distance"]}, ""),
        ("neighbours, sparse", KNeighborsClassifier(), {"n_neighbors": k}, "sparse"),
        ("neighbours of numbers", KNeighborsRegressor(), {"n_neighbors": k}, ""),
        ("scaler, neighbours", *scaled(KNeighborsClassifier(), n_neighbors=k), ""),
        ("least squares", LinearRegression(), {"fit_intercept": [True, False]}, ""),
        (
            "polynomials",
            make_pipeline(PolynomialFeatures(), LinearRegression()),
            {"polynomialfeatures__degree": [1, 2]},
            "",
        ),
        ("ridge", Ridge(), {"alpha": alphas}, ""),
        ("scaler, ridge", *scaled(Ridge(), alpha=alphas), ""),
        ("ridge classifier", RidgeClassifier(), {"alpha": alphas}, ""),
        ("components, ridge", make_pipeline(PCA(), Ridge()), {"pca__n_components": [1, 2, 4]}, ""),
        ("kernel ridge", KernelRidge(kernel="rbf", gamma=0.3), {"alpha": alphas}, ""),
        (
            "Gaussian process",
            GaussianProcessRegressor(RBF(1.5) + WhiteKernel(0.5), optimizer=None),
            {"alpha": [1e-3, 0.1]},
            "",
        ),
        ("lasso", Lasso(), {"alpha": [0.01, 0.1, 0.5]}, ""),
        ("elastic net", ElasticNet(), {"alpha": [0.05, 0.3], "l1_ratio": [0.3, 0.8]}, ""),
        ("logistic", LogisticRegression(tol=1e-10, max_iter=2000), {"C": cs}, ""),
        ("scaler, logistic", *scaled(LogisticRegression(tol=1e-10, max_iter=2000), C=cs), ""),
        ("sparse logistic", LogisticRegression(l1_ratio=1, solver="liblinear", tol=1e-10), {"C": cs}, "two"),
        ("logistic, sparse X", LogisticRegression(tol=1e-10, max_iter=2000), {"C": cs}, "sparse"),
        ("Poisson", PoissonRegressor(tol=1e-10, max_iter=2000), {"alpha": alphas}, "positive"),
        ("Tweedie", TweedieRegressor(power=1.5, tol=1e-10, max_iter=2000), {"alpha": alphas}, "positive"),
        ("Huber", HuberRegressor(max_iter=2000, tol=1e-10), {"alpha": alphas}, ""),
        ("SVC", SVC(), {"C": cs}, ""),
        ("scaler, SVC", *scaled(SVC(), C=[0.3, 5.0], gamma=[0.03, 0.5]), ""),
        ("linear SVC", LinearSVC(tol=1e-8, max_iter=100_000, random_state=0), {"C": cs}, "two"),
        ("SVR", SVR(), {"C": cs}, ""),
        ("Gaussian Bayes", GaussianNB(), {"var_smoothing": [1e-9, 1e-2, 1.0]}, ""),
        ("multinomial Bayes", MultinomialNB(), {"alpha": [0.1, 1.0, 10.0]}, "counts"),
        ("Bernoulli Bayes", BernoulliNB(), {"alpha": [0.1, 1.0, 10.0]}, ""),
        ("complement Bayes", ComplementNB(), {"alpha": [0.1, 1.0, 10.0]}, "counts"),
        ("categorical Bayes", CategoricalNB(min_categories=12), {"alpha": [0.1, 1.0]}, "counts,two"),
        ("centroids", NearestCentroid(), {"shrink_threshold": [None, 0.3]}, ""),
        ("LDA", LinearDiscriminantAnalysis(solver="lsqr"), {"shrinkage": [0.0, 0.3, 1.0]}, ""),
        ("QDA", QuadraticDiscriminantAnalysis(), {"reg_param": [0.1, 0.5]}, "two"),
        (
            "forest",
            RandomForestClassifier(40, random_state=0),
            {"min_samples_leaf": [1, 5], "max_features": [1, 3]},
            "",
        ),
        ("forest of numbers", RandomForestRegressor(40, random_state=0), {"min_samples_leaf": [1, 5, 12]}, ""),
        ("extra trees", ExtraTreesClassifier(40, bootstrap=True, random_state=0), {"max_depth": [1, 4]}, ""),
        ("bags", BaggingClassifier(n_estimators=30, random_state=0), {"max_samples": [0.4, 1.0]}, ""),
        ("bags of numbers", BaggingRegressor(n_estimators=30, random_state=0), {"max_samples": [0.4, 1.0]}, ""),
        (
            "boosting, stages",
            GradientBoostingClassifier(random_state=0),
            {"n_estimators": [3, 10], "learning_rate": [0.1, 0.5]},
            "",
        ),
        ("boosting of numbers", GradientBoostingRegressor(random_state=0), {"n_estimators": [3, 10, 20]}, ""),
        (
            "boosting, histograms",
            HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5, random_state=0),
            {"learning_rate": [0.1, 0.4]},
            "holes",
        ),
        ("AdaBoost", AdaBoostClassifier(random_state=0), {"n_estimators": [3, 8]}, ""),
        (
            "vote",
            VotingClassifier([("tree", DecisionTreeClassifier(random_state=0)), ("bayes", GaussianNB())]),
            {"tree__max_depth": [1, 3]},
            "",
        ),
        ("gradient descent", SGDClassifier(random_state=0), {"alpha": [1e-3, 1e-1]}, ""),
        (
            "best columns, logistic",
            make_pipeline(SelectKBest(k=2), LogisticRegression(tol=1e-10)),
            {"selectkbest__k": [1, 3], "logisticregression__C": [0.3, 5.0]},
            "",
        ),
        (
            "imputer, tree or Bayes",
            make_pipeline(SimpleImputer(), GaussianNB()),
            {"gaussiannb": [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]},
            "holes",
        ),
    ]
    return [
        Learner(name, estimator, grid, frozenset(demands.split(",")) - {""}) for name, estimator, grid, demands in rows
    ]


def own_loss(y: Any, prediction: Any) -> Any:
    """A loss of the user's own, of rows."""
    return np.abs(np.asarray(y) != np.asarray(prediction)) * 2.0


def own_loss_of_numbers(y: Any, prediction: Any) -> Any:
    """The same for numbers."""
    return np.abs(y - prediction) ** 1.5


LOSSES: dict[str, dict[str, Any]] = {
    "labels": {
        "default": None,
        "log": "log",
        "roc_auc_ovr": "roc_auc_ovr",
        "f1_macro": "f1_macro",
        "brier": "neg_brier_score",
        "own": own_loss,
    },
    "numbers": {
        "default": None,
        "absolute": "absolute",
        "r2": "r2",
        "rmse": "neg_root_mean_squared_error",
        "median": "neg_median_absolute_error",
        "own": own_loss_of_numbers,
    },
}

CRITERIA: dict[str, Callable[[], dict[str, Any]]] = {
    "auto": dict,
    "cv": lambda: {"cv": 3},
    "kfold": lambda: {"criterion": CrossValidation(4)},
    "race": lambda: {"criterion": Race(5)},
    "loo": lambda: {"criterion": LeaveOneOut()},
    "alo": lambda: {"criterion": ApproximateLeaveOneOut()},
    "oob": lambda: {"criterion": OutOfBag()},
    "permutation": lambda: {"criterion": Permutation(3)},
    "label-bootstrap": lambda: {"criterion": LabelBootstrap(3)},
    "two-stage": lambda: {"criterion": TwoStagePermutation(3)},
    "rows-and-labels": lambda: {"criterion": RowsAndLabels(6)},
    "covariance": lambda: {"criterion": CovariancePenalty(n_draws=3)},
    "632+": lambda: {"criterion": Bootstrap(8, kind="632+")},
    "holdout": lambda: {"criterion": HoldOut()},
    "gcv": lambda: {"criterion": "gcv"},
}


def cases() -> Iterator[Case]:
    """All of them, in a fixed order; the table of each is drawn by its name among those that its learner can read."""
    tables = _tables()
    for learner in _learners():
        kind = "labels" if is_classifier(learner.estimator) else "numbers"
        demands = learner.demands | {kind}
        special = {"holes", "sparse"} - demands
        weighted = has_fit_parameter(learner.estimator, "sample_weight")
        fitting = [
            t
            for t in tables
            if demands <= t.kinds and not special & t.kinds and (weighted or "sample_weight" not in t.fit_params)
        ]
        for criterion in CRITERIA:
            if criterion == "gcv" and kind == "labels":
                continue
            for loss in LOSSES[kind]:
                name = f"{learner.name}{criterion}{loss}".encode()
                yield Case(learner, criterion, loss, fitting[zlib.crc32(name) % len(fitting)])
