"""The margin bound of linear classifiers: a dimension-free limit from how far the data are from the hyperplane."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from outsample.bounds.record import Bound, as_number, check_delta, check_rate, check_size, deviation, limit
from outsample.data.lending import lend
from outsample.running.arrays import Floats

CONSTANT = 27.18


def margin_bound(*, mistakes: Any, margin: Any, radius: Any, n: int, delta: float = 0.05) -> Bound:
    """K/n + 27.18 √((1/n)(R²/γ²)(ln² n + 84)) + √((4/(n ln 2)) ln(4/δ)).

    Parameters
    ----------
    mistakes : K, how many of the n points are not classified correctly with margin γ.
    margin : γ, the distance from the hyperplane.
    radius : R, the largest norm of a point.

    The last term is what P[e_out > R_n + ε] ≤ 4 e^{−2mε²} with m = n ln 2 / 8 gives at δ.
    """
    n, delta = check_size(n), check_delta(delta)
    gamma, reach = (np.asarray(v, dtype=np.float64) for v in (margin, radius))
    if not (np.all(gamma > 0) and np.all(reach > 0)):
        raise ValueError(f"margin and radius must be positive, got {margin!r} and {radius!r}")
    share = check_rate(np.asarray(mistakes, dtype=np.float64) / n, "mistakes / n")
    gap = CONSTANT * (reach / gamma) * math.sqrt((math.log(n) ** 2 + 84) / n)
    return limit(
        share,
        gap + deviation(n, delta / 4, 4 / math.log(2)),
        n=n,
        delta=delta,
        theorem="Bartlett, Boucheron & Lugosi, Theorem 7",
        assumptions="independent samples, two classes, a linear classifier of unit norm",
    )


def linear_margin_bound(model: Any, X: Any, y: Any, delta: float = 0.05) -> Bound:
    """The margin bound of a fitted linear classifier, at the margin of the data where it is lowest.

    Parameters
    ----------
    model : a fitted linear SVM or any classifier with `coef_`, `intercept_` and two classes; in a pipeline the
        last step is read, on the data as that step sees them. The intercept counts as the weight of a constant
        feature 1.
    """
    model, X = _last_step(model, X)
    margins, radius = _signed_margins(model, X, y)
    candidates = np.unique(margins[margins > 0])
    if len(candidates) == 0:
        raise ValueError("no point is on its right side of the hyperplane: the margin bound needs one")
    mistakes = np.searchsorted(np.sort(margins), candidates, side="left")
    bound = margin_bound(mistakes=mistakes, margin=candidates, radius=radius, n=len(margins), delta=delta)
    best = int(np.argmin(bound.value))
    return margin_bound(
        mistakes=int(mistakes[best]), margin=as_number(candidates[best]), radius=radius, n=len(margins), delta=delta
    )


def _last_step(model: Any, X: Any) -> tuple[Any, Any]:
    while isinstance(model, Pipeline):
        X = lend(model, model[:-1].transform, X) if len(model.steps) > 1 else X
        model = model.steps[-1][1]
    return model, X


def _signed_margins(model: Any, X: Any, y: Any) -> tuple[Floats, float]:
    """(distance of every point from the hyperplane, positive on its right side; the largest norm of a point)."""
    weights = getattr(model, "coef_", None)
    if weights is None or getattr(model, "kernel", "linear") != "linear":
        raise ValueError(f"{type(model).__name__} is no fitted linear classifier: the margin bound reads coef_")
    if len(model.classes_) != 2:
        raise ValueError(
            f"the margin bound is for two classes, {type(model).__name__} saw {len(model.classes_)}; "
            "use holdout_bound, which takes any number"
        )
    w, b = np.ravel(np.asarray(weights)), float(np.ravel(model.intercept_)[0])
    table = np.asarray(X, dtype=np.float64) if not hasattr(X, "toarray") else X.toarray()
    signs = np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)
    margins = signs * (table @ w + b) / math.sqrt(float(w @ w) + b * b)
    return margins, math.sqrt(1 + float((table**2).sum(axis=1).max()))
