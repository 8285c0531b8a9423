"""Margins: how far from the border points are classified right, for linear, kernel and voting classifiers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from outsample.bounds.record import (
    MAXIMISED,
    Certificate,
    Numbers,
    a_bound,
    as_number,
    check_complexity,
    check_rate,
    deviation,
    limit,
    number_of_draws,
    theorem,
)
from outsample.data.learners import encode
from outsample.data.tables import Table, lend, n_rows
from outsample.running.arrays import Array, Floats

# As printed in Theorem 7.
MARGIN_CONSTANT = 27.18

LINEAR = "the classifier is linear, of unit norm, in a space that was fixed before the data"


@theorem("Bartlett, Boucheron & Lugosi, Theorem 7", LINEAR)
def margin_bound(
    *, mistakes: ArrayLike, margin: ArrayLike, radius: ArrayLike, n: int, delta: float = 0.05
) -> Certificate:
    """K/n + 27.18 √((1/n)(R²/γ²)(ln² n + 84)) + √((4/(n ln 2)) ln(4/δ)).

    The last term is what P[e_out > R_n + ε] ≤ 4 e^{−2mε²} with m = n ln 2 / 8 gives at δ.

    Parameters
    ----------
    mistakes : K, how many of the n points are not classified correctly with margin γ.
    margin : γ, the distance from the hyperplane.
    radius : R, the largest norm of a point.

    Examples
    --------
    >>> round(float(margin_bound(mistakes=0, margin=1.0, radius=1.0, n=1_000_000).value), 2)
    0.46
    """
    gamma, reach = (np.asarray(v, dtype=np.float64) for v in (margin, radius))
    if not (np.all(gamma > 0) and np.all(reach > 0)):
        raise ValueError(f"margin and radius must be positive, got {margin!r} and {radius!r}")
    count = np.asarray(mistakes, dtype=np.float64)
    if not np.all((count >= 0) & (count <= n)):
        raise ValueError(f"mistakes must be between 0 and n = {n}, got {count.tolist()}")
    penalty = MARGIN_CONSTANT * (reach / gamma) * math.sqrt((math.log(n) ** 2 + 84) / n)
    gap = deviation(n, delta / 4, 4 / math.log(2))
    return limit(as_number(count / n), penalty, gap, m=n * math.log(2) / 8, gamma=4.0)


@a_bound
def linear_margin_bound(model: BaseEstimator, X: Table, y: ArrayLike, delta: float = 0.05) -> Certificate:
    """The margin bound of a fitted linear classifier, at the margin of the data where it is lowest.

    Parameters
    ----------
    model : a fitted linear SVM or any classifier with `coef_`, `intercept_` and two classes; in a pipeline the
        last step is read, on the data as that step sees them. The intercept counts as the weight of a constant
        feature 1.
    X, y : the data it was fitted to.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X, y)
    >>> bound = linear_margin_bound(model, X, y)
    >>> bound.vacuous, bound.value > bound.in_sample
    (True, True)
    """
    return _lowest(*_linear_margins(*_last_step(model, X), y), delta)


@a_bound
def kernel_margin_bound(model: BaseEstimator, X: Table, y: ArrayLike, delta: float = 0.05) -> Certificate:
    """The margin bound of a fitted kernel machine: a linear classifier in the feature space of its kernel.

    With f(x) = Σ_j a_j k(x_j, x) + b, the squared norm of the weights is Σ_j a_j (f(x_j) − b), the distance of a point
    from the hyperplane y f(x)/√(‖w‖² + b²), and its squared norm k(x, x) + 1; b counts as the weight of a constant
    feature 1. The bound is that of Theorem 7, which does not depend on the dimension of the feature space.

    Parameters
    ----------
    model : a fitted SVC or NuSVC of two classes; in a pipeline the last step is read.
    X, y : the data it was fitted to.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    >>> bound = kernel_margin_bound(model, X, y)
    >>> bound.vacuous, bound.value > bound.in_sample
    (True, True)
    """
    return _lowest(*_kernel_margins(*_last_step(model, X), y), delta)


def voting_margins(model: BaseEstimator, X: Table, y: ArrayLike) -> Floats:
    """Weight of the votes for the right class minus the largest weight for another one, (n,), between −1 and 1.

    Parameters
    ----------
    model : a fitted AdaBoost, bagging, random forest or extra-trees classifier, or a VotingClassifier; each of its
        classifiers has one vote for a class, with its weight in the ensemble.
    X, y : the data, and their labels.

    Returns
    -------
    (n,)
        Positive where the vote is right.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> bool((voting_margins(forest, X, y) > 0).all())
    True
    """
    weights, voters = _voters(model)
    codes = _codes(model, X, y)
    votes = np.zeros((len(codes), len(model.classes_)))
    ballots = _ballots(model, voters, X)
    for weight, ballot in zip(weights / weights.sum(), ballots, strict=True):
        votes[np.arange(len(codes)), ballot] += weight
    right = votes[np.arange(len(codes)), codes]
    votes[np.arange(len(codes)), codes] = -np.inf
    return np.asarray(right - votes.max(axis=1))


@theorem(
    "Koltchinskii & Panchenko 2002, as Mohri, Rostamizadeh & Talwalkar, Theorem 5.8",
    MAXIMISED,
    "the margin was chosen before the data",
)
def voting_margin_bound(
    *, below: ArrayLike, margin: ArrayLike, complexity: ArrayLike, n: int, delta: float = 0.05, n_draws: float = 1
) -> Certificate:
    """Share of margins ≤ θ + (2/θ) R + 3√(ln(2/δ)/(2n)), R the Rademacher complexity of the classifiers that vote.

    Where R is the mean of M draws it may be too small by √(2 ln(1/δ)/(nM)) (McDiarmid); this is added, and both parts
    are taken at δ/2.

    A vote of any number of classifiers is in the convex hull of their class, which has the same complexity
    (Koltchinskii & Panchenko 2002). θ must be chosen before the data are seen.

    Parameters
    ----------
    below : share of the points whose `voting_margins` are at most θ, or one per model.
    margin : θ, between 0 and 1.
    complexity : R, the value of `rademacher_complexity` of the classifier that is boosted or bagged.

    Examples
    --------
    >>> round(float(voting_margin_bound(below=0.1, margin=0.5, complexity=0.02, n=2000).value), 2)
    0.52
    """
    theta = np.asarray(margin, dtype=np.float64)
    if not np.all((theta > 0) & (theta <= 1)):
        raise ValueError(f"margin must be above 0 and at most 1, got {margin!r}")
    draws, share = number_of_draws(n_draws), delta if n_draws == math.inf else delta / 2
    of_draws = 0.0 if draws == math.inf else deviation(n * draws, share, 2)
    return limit(
        check_rate(below, "below"),
        2 * check_complexity(complexity) / theta,
        2 * of_draws / theta + 3 * deviation(2 * n, share / 2),
        printed=3 * deviation(2 * n, delta / 2),
    )


def _lowest(margins: Floats, radius: float, delta: float) -> Certificate:
    """The margin bound at the margin of the data where it is lowest."""
    candidates = np.unique(margins[margins > 0])
    if len(candidates) == 0:
        raise ValueError("no point is on its right side of the hyperplane: the margin bound needs one")
    mistakes = np.searchsorted(np.sort(margins), candidates, side="left")
    bound = margin_bound(mistakes=mistakes, margin=candidates, radius=radius, n=len(margins), delta=delta)
    best = int(np.argmin(bound.value))
    chosen: Numbers = as_number(candidates[best])
    return margin_bound(mistakes=int(mistakes[best]), margin=chosen, radius=radius, n=len(margins), delta=delta)


def _last_step(model: BaseEstimator, X: Table) -> tuple[BaseEstimator, Table]:
    while isinstance(model, Pipeline):
        X = lend(model, model[:-1].transform, X) if len(model.steps) > 1 else X
        model = model.steps[-1][1]
    return model, X


def _linear_margins(model: Any, X: Any, y: ArrayLike) -> tuple[Floats, float]:
    """(distance of every point from the hyperplane, positive on its right side; the largest norm of a point)."""
    weights = getattr(model, "coef_", None) if getattr(model, "kernel", "linear") == "linear" else None
    if weights is None or not hasattr(model, "classes_"):
        raise ValueError(f"{type(model).__name__} is no fitted linear classifier: the margin bound reads coef_")
    signs = _signs(model, X, y)
    w, b = np.ravel(_dense(weights)), float(np.ravel(model.intercept_)[0])
    table = _dense(X)
    if table.shape[1] != len(w):
        raise ValueError(f"X has {table.shape[1]} columns, {type(model).__name__} was fitted to {len(w)}")
    margins = signs * (table @ w + b) / math.sqrt(float(w @ w) + b * b)
    return margins, math.sqrt(1 + float((table**2).sum(axis=1).max()))


def _dense(table: Any) -> Floats:
    return np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)


def _kernel_margins(model: Any, X: Any, y: ArrayLike) -> tuple[Floats, float]:
    """The same in the feature space of a kernel."""
    if not all(hasattr(model, name) for name in ("dual_coef_", "support_", "classes_")):
        raise ValueError(
            f"{type(model).__name__} is no fitted kernel machine for classes: the bound reads dual_coef_ and support_"
        )
    signs = _signs(model, X, y)
    n_fitted = model.shape_fit_[0]
    if n_rows(X) != n_fitted:
        raise ValueError(
            f"X must be the {type(model).__name__}'s own training data, {n_fitted} rows; it has {n_rows(X)} rows"
        )
    b = float(np.ravel(model.intercept_)[0])
    decision = np.asarray(lend(model, model.decision_function, X))
    squared_norm = float(np.ravel(_dense(model.dual_coef_)) @ (decision[model.support_] - b))
    margins = signs * decision / math.sqrt(squared_norm + b * b)
    return margins, math.sqrt(1 + float(_kernel_of_itself(model, X).max()))


def _kernel_of_itself(model: Any, X: Any) -> Floats:
    """k(x, x) of every point, (n,)."""
    if model.kernel == "rbf":
        return np.ones(n_rows(X))
    if model.kernel == "precomputed":
        return np.diag(np.asarray(X, dtype=np.float64))
    table = _dense(X)
    if callable(model.kernel):
        return np.array([float(np.ravel(model.kernel(row[None], row[None]))[0]) for row in table])
    squares = (table**2).sum(axis=1)
    if model.kernel == "linear":
        return np.asarray(squares)
    if model.kernel == "poly":
        scale = 1 / (table.shape[1] * table.var()) if model.gamma == "scale" else 1 / table.shape[1]
        gamma = model.gamma if not isinstance(model.gamma, str) else scale
        return np.asarray((gamma * squares + model.coef0) ** model.degree)
    raise ValueError(f"kernel {model.kernel!r} has no feature space; the margin bound needs a positive definite kernel")


def _signs(model: Any, X: Any, y: ArrayLike) -> Floats:
    """Labels as −1 and 1."""
    if len(model.classes_) != 2:
        raise ValueError(
            f"the margin bound is for two classes, {type(model).__name__} saw {len(model.classes_)}; "
            "use holdout_bound, which takes any number"
        )
    return 2.0 * _codes(model, X, y) - 1.0


def _codes(model: Any, X: Any, y: ArrayLike) -> Array:
    """Labels as positions among the classes of a fitted model."""
    labels = np.asarray(y)
    if labels.shape != (n_rows(X),):
        raise ValueError(f"y must have one label per row of X, shape ({n_rows(X)},), got {labels.shape}")
    try:
        return encode(labels, np.asarray(model.classes_))
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold labels that {type(model).__name__} was fitted to: {error}") from error


def _voters(model: Any) -> tuple[Floats, Any]:
    """(the weight of each voter, the voters)."""
    voters = getattr(model, "estimators_", None)
    if voters is None or np.ndim(voters) != 1 or not hasattr(model, "classes_"):
        raise ValueError(f"{type(model).__name__} is no fitted classifier that votes: it lacks estimators_ or classes_")
    given = getattr(model, "estimator_weights_", None)
    if given is None and getattr(model, "weights", None) is not None:
        # A VotingClassifier has weights of members that were dropped, too.
        given = [w for w, (_, member) in zip(model.weights, model.estimators, strict=True) if member != "drop"]
    return np.ones(len(voters)) if given is None else np.asarray(given, dtype=np.float64)[: len(voters)], voters


def _ballots(model: Any, voters: Any, X: Any) -> list[Array]:
    """The class codes that each voter votes for."""
    classes, columns = np.asarray(model.classes_), getattr(model, "estimators_features_", None)
    # Members of a VotingClassifier, trees of forests and members of a bag know classes by their position.
    by_position = any(hasattr(model, mark) for mark in ("le_", "criterion", "estimators_features_"))
    ballots = []
    for k, voter in enumerate(voters):
        table = X if columns is None else (X if hasattr(X, "toarray") else np.asarray(X))[:, columns[k]]
        said = np.asarray(voter.predict(table))
        ballots.append(said.astype(np.intp) if by_position else encode(said, classes))
    return ballots
