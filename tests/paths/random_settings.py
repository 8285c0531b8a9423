"""Learners with random options on random tables: every fast path against scikit-learn where nobody looked before.

    python tests/paths/random_settings.py 600

compares for ten minutes and prints what differs.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from contract import reference_predictions
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, RobustScaler, SplineTransformer, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from outsample.paths.dispatch import find_path
from outsample.paths.refit import RefitPath

DIRECT, ITERATIVE = 1e-7, 1e-5
"""Differences allowed, relative to the largest answer; solvers that iterate stop where their tolerance lets them."""


class Options:
    """Random choices of one seed."""

    def __init__(self, rng: np.random.Generator, n: int, p: int, kind: str) -> None:
        self.rng, self.n, self.p, self.kind = rng, n, p, kind
        self.classifies = kind != "real"
        self.seed = int(rng.integers(100))

    def one_of(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def numbers(self, low: float, high: float) -> list[float]:
        """A few numbers, their logarithms even."""
        return np.exp(self.rng.uniform(np.log(low), np.log(high), self.rng.integers(2, 7))).tolist()

    def whole_numbers(self, low: int, high: int) -> list[int]:
        return sorted({int(k) for k in self.rng.integers(low, high + 1, 6)})


def trees(o: Options):
    limits = {
        "random_state": o.seed,
        "min_samples_leaf": o.one_of(1, 1, 2, 0.1),
        "min_samples_split": o.one_of(2, 2, 5, 0.2),
        "min_impurity_decrease": o.one_of(0.0, 0.0, 0.01),
        "max_features": o.one_of(None, None, "sqrt", 0.7),
        "splitter": o.one_of("best", "best", "random"),
    }
    if o.classifies:
        weight = o.one_of(None, None, "balanced")
        learner = DecisionTreeClassifier(criterion=o.one_of("gini", "entropy"), class_weight=weight, **limits)
        # Classes tie gains, and then only what is read off one tree of scikit-learn's is the same.
        return learner, "ccp_alpha", o.numbers(1e-4, 0.3)
    learner = DecisionTreeRegressor(criterion=o.one_of("squared_error", "squared_error", "friedman_mse"), **limits)
    return learner, o.one_of("max_leaf_nodes", "max_leaf_nodes", "max_depth"), o.whole_numbers(2, 20)


def neighbours(o: Options):
    # Angles between rows of one column or two are often equal.
    metric = o.one_of("minkowski", "minkowski", "euclidean", "manhattan", "chebyshev", "cosine" if o.p > 2 else "l2")
    options = {"metric": metric, "weights": o.one_of("uniform", "distance", _gently)}
    if metric == "minkowski":
        options["p"] = o.one_of(1, 2, 2, 3, 1.5)
    learner = KNeighborsClassifier(**options) if o.classifies else KNeighborsRegressor(**options)
    return learner, "n_neighbors", o.whole_numbers(1, o.n)


def _gently(distances):
    return 1 / (1 + distances)


def ridge(o: Options):
    intercept, solver = o.one_of(True, True, False), o.one_of("auto", "svd", "cholesky")
    learner = RidgeClassifier if o.classifies else Ridge
    return learner(fit_intercept=intercept, solver=solver), "alpha", o.numbers(1e-2, 1e3)


def kernel_ridge(o: Options):
    learner = KernelRidge(kernel=o.one_of("linear", "rbf", "poly", "laplacian"), gamma=o.one_of(None, 0.5), degree=2)
    return None if o.classifies else (learner, "alpha", o.numbers(1e-1, 10))


def penalised(o: Options):
    if 2 * o.p > o.n:
        return None
    exact = {"tol": 1e-12, "max_iter": 20_000, "fit_intercept": o.one_of(True, True, False)}
    if not o.classifies:
        learner = o.one_of(Lasso(**exact), ElasticNet(l1_ratio=o.one_of(0.1, 0.5, 0.9), **exact))
        return learner, "alpha", o.numbers(1e-2, 2)
    exact |= o.one_of({}, {"solver": "newton-cholesky"}, {"solver": "newton-cg"})
    return LogisticRegression(class_weight=o.one_of(None, "balanced"), **exact), "C", o.numbers(1e-2, 10)


def support_vectors(o: Options):
    options = {"kernel": o.one_of("rbf", "linear", "poly"), "gamma": o.one_of("scale", "auto", 0.3)}
    learner = SVC(class_weight=o.one_of(None, "balanced"), **options) if o.classifies else SVR(**options)
    return learner, "C", o.numbers(1e-2, 10)


def gradient_boosting(o: Options):
    options = {
        "random_state": o.seed,
        "learning_rate": o.one_of(0.1, 0.5, 1.0),
        "subsample": o.one_of(1.0, 1.0, 0.7),
        "max_depth": o.one_of(1, 3, None),
        "max_features": o.one_of(None, 0.6),
    }
    if o.classifies:
        loss = o.one_of("log_loss", "exponential") if o.kind == "two" else "log_loss"
        return GradientBoostingClassifier(loss=loss, **options), "n_estimators", o.whole_numbers(1, 12)
    loss = o.one_of("squared_error", "absolute_error", "huber", "quantile")
    return GradientBoostingRegressor(loss=loss, **options), "n_estimators", o.whole_numbers(1, 12)


def histogram_boosting(o: Options):
    options = {
        "random_state": o.seed,
        "early_stopping": False,
        "max_leaf_nodes": o.one_of(3, 31),
        "min_samples_leaf": o.one_of(1, 5, 20),
        "l2_regularization": o.one_of(0.0, 1.0),
        "max_features": o.one_of(1.0, 0.6),
    }
    learner = HistGradientBoostingClassifier if o.classifies else HistGradientBoostingRegressor
    return learner(**options), "max_iter", o.whole_numbers(1, 10)


def committees(o: Options):
    """Of trees that are averaged, of any learner, and of learners that follow each other."""
    sampling = {"random_state": o.seed, "bootstrap": o.one_of(True, False)}
    forest = sampling | {"max_depth": o.one_of(None, 2), "max_features": o.one_of("sqrt", 1.0)}
    bag = sampling | {"max_samples": o.one_of(1.0, 0.6), "max_features": o.one_of(1.0, 0.6)}
    if o.classifies:
        inner = o.one_of(None, KNeighborsClassifier(2), RidgeClassifier())
        forests = RandomForestClassifier(**forest), ExtraTreesClassifier(**forest)
        learner = o.one_of(*forests, BaggingClassifier(inner, **bag), AdaBoostClassifier(random_state=o.seed))
    else:
        inner = o.one_of(None, KNeighborsRegressor(2), Ridge())
        forests = RandomForestRegressor(**forest), ExtraTreesRegressor(**forest)
        learner = o.one_of(*forests, BaggingRegressor(inner, **bag), AdaBoostRegressor(random_state=o.seed))
    return learner, "n_estimators", o.whole_numbers(1, 9)


def generative(o: Options):
    """Densities in each class; and Gaussian processes, which are linear smoothers."""
    if not o.classifies:
        kernel = o.one_of(1.0, 3.0) * RBF(o.one_of(0.5, 2.0)) + WhiteKernel(o.one_of(0.1, 1.0))
        learner = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=o.one_of(True, False))
        return learner, "alpha", o.numbers(1e-2, 10)
    return o.one_of(
        (GaussianNB(), "var_smoothing", o.numbers(1e-9, 1)),
        (LinearDiscriminantAnalysis(solver=o.one_of("lsqr", "eigen")), "shrinkage", o.numbers(1e-2, 1)),
        (LinearDiscriminantAnalysis(), "n_components", [1]),
        (QuadraticDiscriminantAnalysis(), "reg_param", o.numbers(1e-2, 1)),
        (QuadraticDiscriminantAnalysis(solver="eigen"), "shrinkage", o.numbers(1e-2, 1)),
        (NearestCentroid(priors=o.one_of("uniform", "empirical")), "shrink_threshold", o.numbers(1e-2, 3)),
        (BernoulliNB(binarize=o.one_of(0.0, 1.0), fit_prior=o.one_of(True, False)), "alpha", o.numbers(1e-3, 10)),
    )


def nested_columns(o: Options):
    if o.classifies:
        return None
    last = o.one_of(LinearRegression(), Ridge(0.3))
    scaled = o.one_of(StandardScaler(), MinMaxScaler())
    polynomial = PolynomialFeatures(include_bias=o.one_of(True, False), interaction_only=o.one_of(True, False))
    rank = min(o.n - 1, o.p)
    return o.one_of(
        (make_pipeline(scaled, PCA(svd_solver="full"), LinearRegression()), "pca__n_components", [1, rank]),
        (PLSRegression(scale=o.one_of(True, False)), "n_components", [1, rank]),
        (make_pipeline(polynomial, last), "polynomialfeatures__degree", [1, 2, 3]),
        (make_pipeline(SplineTransformer(degree=o.one_of(1, 3)), last), "splinetransformer__n_knots", [2, 4, 7]),
    )


LEARNERS = {
    trees: DIRECT,
    neighbours: DIRECT,
    ridge: DIRECT,
    kernel_ridge: DIRECT,
    penalised: ITERATIVE,
    support_vectors: ITERATIVE,
    gradient_boosting: DIRECT,
    histogram_boosting: DIRECT,
    committees: DIRECT,
    nested_columns: ITERATIVE,
    generative: DIRECT,
}

ORDER_TIES = (trees, neighbours, support_vectors)
"""Learners that go on differently where something is exactly equal: compared where nothing is."""


class Case(NamedTuple):
    """A learner along a parameter, a table, labels, and new rows."""

    estimator: Any
    parameter: str
    values: list[Any]
    X: Any
    X_new: Any
    y: Any
    classes: Any
    weight: Any
    allowed: float

    def path(self, response: str = "predict"):
        return find_path(
            self.estimator, self.parameter, self.values, response=response, weighted=self.weight is not None
        )

    def __str__(self) -> str:
        weighted = "" if self.weight is None else ", weighted"
        return f"{self.estimator} along {self.parameter}={self.values} on {self.X.shape}{weighted}"


def random_case(seed: int) -> Case | None:
    """Everything one seed says; None where a learner has nothing for the kind of labels."""
    rng = np.random.default_rng(seed)
    learner = list(LEARNERS)[rng.integers(len(LEARNERS))]
    n, p = int(rng.choice([15, 40, 90, 200])), int(rng.choice([1, 2, 4, 9]))
    rows = _table(rng, n + 20, p, continuous=learner in ORDER_TIES)
    X, X_new = rows[:n], rows[n:]
    score = (X[:, 0] - X[:, 0].mean()) / (X[:, 0].std() + 1e-9) + rng.normal(size=n)
    kind = str(rng.choice(["two", "three", "real"]))
    labels = {"two": score > np.median(score), "three": np.searchsorted(np.quantile(score, [0.4, 0.7]), score)}
    y = np.asarray(labels[kind], np.int64) if kind in labels else score * rng.choice([1.0, 100.0, 1e-3])
    options = Options(rng, n, p, kind)
    found = learner(options)
    if found is None:
        return None
    estimator, parameter, values = found
    if rng.random() < 0.15 and not hasattr(estimator, "steps"):
        scaler, name = options.one_of(StandardScaler(), RobustScaler()), type(estimator).__name__.lower()
        estimator, parameter = make_pipeline(scaler, estimator), f"{name}__{parameter}"
    weight = rng.uniform(0.2, 3, n) if rng.random() < 0.3 else None
    classes = np.unique(y) if options.classifies else None
    return Case(estimator, parameter, values, X, X_new, y, classes, weight, LEARNERS[learner])


def _table(rng: np.random.Generator, n: int, p: int, continuous: bool):
    """Columns that are continuous, or perhaps rounded or of few values."""
    X = rng.normal(size=(n, p)) * rng.choice([0.1, 1, 1, 5]) + rng.choice([0, 0, 3])
    for column in X.T if not continuous else ():
        column[:] = [column, column, column, np.round(column, 1), rng.integers(0, 3, n)][rng.integers(5)]
    return X


def differences(case: Case) -> tuple[str, list[str]]:
    """(name of the path, what differs from scikit-learn's own models, in words)."""
    path = case.path()
    if isinstance(path, RefitPath):
        return path.name, []
    rng, found = np.random.default_rng(0), []
    Y = np.stack([case.y, rng.permutation(case.y)])
    responses = {"predict"} if case.classes is None else {"predict", "predict_proba", "decision_function"}
    for response in sorted(path.responses & responses):
        design = case.path(response).bind(case.X, case.classes, case.weight)
        common = response, case.classes, case.weight
        try:
            theirs = [reference_predictions(path, case.X, y, case.X, *common) for y in Y]
            theirs.append(reference_predictions(path, case.X, case.y, case.X_new, *common))
        except ValueError:
            return "refused by scikit-learn itself", []
        ours = [*design.fitted(Y, response), design.predict(case.y, case.X_new, response)]
        for where, a, b in zip(("in-sample", "on drawn labels", "on new rows"), ours, theirs, strict=True):
            if a.shape != b.shape:
                found.append(f"{response} {where}: shape {a.shape} against {b.shape}")
            elif np.issubdtype(b.dtype, np.integer):
                found += [f"{response} {where}: {(a != b).sum()} of {b.size} labels"] if (a != b).any() else []
            else:
                off = float(np.abs(a - b).max()) / max(float(np.abs(b).max()), 1e-12)
                found += [] if off <= case.allowed else [f"{response} {where}: by {off:.1e} of the largest"]
    return path.name, found


def compare_for(seconds: float, seed: int) -> None:
    """Compare case after case and print what differs, and how often each path was met."""
    met: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        seed += 1
        case = random_case(seed)
        if case is not None:
            name, found = differences(case)
            met[name] += 1
            for line in found:
                print(f"seed {seed}, {name}, {case}: {line}", flush=True)
    print(f"up to seed {seed}:", ", ".join(f"{name} {times}" for name, times in met.most_common()))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        compare_for(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
