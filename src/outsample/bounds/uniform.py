"""Bounds on the 0–1 error from other measures than permutation: Rademacher, VC, discrepancies, hold-out, margins.

Two classes unless said otherwise. R, V, D, … are named as in the sources.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from outsample.bounds.record import (
    Bound,
    Numbers,
    as_number,
    check_complexity,
    check_rate,
    deviation,
    limit,
)
from outsample.checks import probability, whole_number
from outsample.data.tables import Table, lend
from outsample.running.arrays import Floats

INDEPENDENT = "independent samples and two classes"
BARTLETT = "Bartlett, Boucheron & Lugosi"
# As printed in Theorem 7.
MARGIN_CONSTANT = 27.18


def rademacher_bound(*, in_sample: ArrayLike, complexity: ArrayLike, n: int, delta: float = 0.05) -> Bound:
    """e_in + R + 3√(ln(2/δ)/(2n)), R = E_r max_h (1/n) Σ r_i h(x_i) with coin flips r (Bartlett & Mendelson)."""
    n, delta = whole_number("n", n), probability("delta", delta)
    return limit(
        check_rate(in_sample),
        check_complexity(complexity) + 3 * deviation(2 * n, delta / 2),
        n=n,
        delta=delta,
        theorem="Bartlett & Mendelson 2002, Theorem 5",
        assumptions=f"{INDEPENDENT}; a complexity maximised over the whole hypothesis set",
    )


def vc_bound(*, in_sample: ArrayLike, dimension: ArrayLike, n: int, delta: float = 0.05) -> Bound:
    """e_in + √((V ln(2en/V) + ln(4/δ))/n), V the VC dimension.

    From P[sup (e_out − e_in) > ε] ≤ 4 E S(2n) e^{−nε²} and Sauer's S(2n) ≤ (2en/V)^V; where V exceeds 2n every
    one of the 2^{2n} labellings may occur.
    """
    n, delta = whole_number("n", n), probability("delta", delta)
    gap = np.sqrt((log_growth(dimension, 2 * n) + math.log(4 / delta)) / n)
    return limit(
        check_rate(in_sample),
        gap,
        n=n,
        delta=delta,
        theorem=f"Vapnik & Chervonenkis, as {BARTLETT} (4)",
        assumptions=f"{INDEPENDENT}; a hypothesis set fixed before the data, of that VC dimension",
    )


def log_growth(dimension: ArrayLike, n: int) -> Numbers:
    """Sauer's upper bound V ln(en/V) on the logarithm of the number of labellings of n points; n ln 2 where V ≥ n."""
    V = np.asarray(dimension, dtype=np.float64)
    if not np.all(V >= 1):
        raise ValueError(f"dimension must be at least 1, got {dimension!r}")
    return as_number(np.where(n > V, V * (1 + np.log(n / V)), n * math.log(2)))


def shatter_bound(*, in_sample: ArrayLike, log_shatter: ArrayLike, n: int, delta: float = 0.05) -> Bound:
    """e_in + √((ln E S(2n) + ln(4/δ))/n), S(2n) the number of ways 2n points can be labelled.

    `log_shatter` is ln E S(2n), or any number above it.
    """
    n, delta = whole_number("n", n), probability("delta", delta)
    return limit(
        check_rate(in_sample),
        np.sqrt((_check_log(log_shatter) + math.log(4 / delta)) / n),
        n=n,
        delta=delta,
        theorem=f"Vapnik & Chervonenkis, as {BARTLETT} (4)",
        assumptions=f"{INDEPENDENT}; a hypothesis set fixed before the data",
    )


def vc_entropy_bound(*, in_sample: ArrayLike, log_shatter: ArrayLike, n: int, delta: float = 0.05) -> Bound:
    """e_in + √((12 ln S(X) + ln 4)/n) + √(40 ln(2/δ)/n), S(X) the ways *these* n points can be labelled.

    The last term is what P[e_out > R + ε] ≤ 2 e^{−2mε²} with m = n/80 gives at δ.
    """
    n, delta = whole_number("n", n), probability("delta", delta)
    return limit(
        check_rate(in_sample),
        np.sqrt((12 * _check_log(log_shatter) + math.log(4)) / n) + deviation(n, delta / 2, 40),
        n=n,
        delta=delta,
        theorem=f"{BARTLETT}, Theorem 6",
        assumptions=f"{INDEPENDENT}; all labellings of these points by the hypothesis set counted",
    )


def empirical_vc_bound(*, in_sample: ArrayLike, dimension: ArrayLike, n: int, delta: float = 0.05) -> Bound:
    """The bound of VC entropy with ln S(X) ≤ D ln(n + 1), D the VC dimension restricted to these points (§4.3)."""
    D = np.asarray(dimension, dtype=np.float64)
    if not np.all(D >= 0):
        raise ValueError(f"dimension must not be negative, got {dimension!r}")
    return vc_entropy_bound(in_sample=in_sample, log_shatter=D * math.log(whole_number("n", n) + 1), n=n, delta=delta)


def maximal_discrepancy_bound(*, in_sample: ArrayLike, discrepancy: ArrayLike, n: int, delta: float = 0.05) -> Bound:
    """e_in + D + √((21/(2n)) ln(3/δ)), D the largest difference of errors on two halves (Theorem 8, m = n/21)."""
    n, delta = whole_number("n", n), probability("delta", delta)
    return limit(
        check_rate(in_sample),
        check_complexity(discrepancy) + deviation(2 * n, delta / 3, 21),
        n=n,
        delta=delta,
        theorem=f"{BARTLETT}, Theorem 8",
        assumptions=f"{INDEPENDENT}; a discrepancy maximised over the whole hypothesis set",
    )


def expected_discrepancy_bound(*, in_sample: ArrayLike, discrepancy: ArrayLike, n: int, delta: float = 0.05) -> Bound:
    """e_in + M + √((9/(2n)) ln(2/δ)), M = E_σ sup (2/n) Σ σ_i ℓ_i (Theorem 9, m = n/9)."""
    n, delta = whole_number("n", n), probability("delta", delta)
    return limit(
        check_rate(in_sample),
        check_complexity(discrepancy) + deviation(2 * n, delta / 2, 9),
        n=n,
        delta=delta,
        theorem=f"{BARTLETT}, Theorem 9",
        assumptions=f"{INDEPENDENT}; a discrepancy maximised over the whole hypothesis set",
    )


def holdout_bound(*, holdout_error: ArrayLike, n_holdout: int, delta: float = 0.05, n_models: int = 1) -> Bound:
    """Held-out error + √(ln(2k/δ)/(2m)), for all k models judged on the same m rows at once (Hoeffding).

    The radius is two-sided: minus the same gap is a lower limit. Any loss in [0, 1], any number of classes.
    """
    m, delta = whole_number("n_holdout", n_holdout), probability("delta", delta)
    return limit(
        check_rate(holdout_error, "holdout_error"),
        deviation(2 * m, delta / (2 * whole_number("n_models", n_models))),
        n=m,
        delta=delta,
        theorem="Hoeffding's inequality",
        assumptions="held-out rows that no model has seen, a loss between 0 and 1",
    )


def _check_log(log_shatter: ArrayLike) -> Numbers:
    values = np.asarray(log_shatter, dtype=np.float64)
    if not np.all(values >= 0):
        raise ValueError(f"log_shatter is the logarithm of a count and cannot be negative, got {log_shatter!r}")
    return as_number(values)


def margin_bound(*, mistakes: ArrayLike, margin: ArrayLike, radius: ArrayLike, n: int, delta: float = 0.05) -> Bound:
    """K/n + 27.18 √((1/n)(R²/γ²)(ln² n + 84)) + √((4/(n ln 2)) ln(4/δ)).

    Parameters
    ----------
    mistakes : K, how many of the n points are not classified correctly with margin γ.
    margin : γ, the distance from the hyperplane.
    radius : R, the largest norm of a point.

    The last term is what P[e_out > R_n + ε] ≤ 4 e^{−2mε²} with m = n ln 2 / 8 gives at δ.
    """
    n, delta = whole_number("n", n), probability("delta", delta)
    gamma, reach = (np.asarray(v, dtype=np.float64) for v in (margin, radius))
    if not (np.all(gamma > 0) and np.all(reach > 0)):
        raise ValueError(f"margin and radius must be positive, got {margin!r} and {radius!r}")
    share = check_rate(np.asarray(mistakes, dtype=np.float64) / n, "mistakes / n")
    gap = MARGIN_CONSTANT * (reach / gamma) * math.sqrt((math.log(n) ** 2 + 84) / n)
    return limit(
        share,
        gap + deviation(n, delta / 4, 4 / math.log(2)),
        n=n,
        delta=delta,
        theorem="Bartlett, Boucheron & Lugosi, Theorem 7",
        assumptions="independent samples, two classes, a linear classifier of unit norm",
    )


def linear_margin_bound(model: BaseEstimator, X: Table, y: ArrayLike, delta: float = 0.05) -> Bound:
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


def _last_step(model: BaseEstimator, X: Table) -> tuple[BaseEstimator, Table]:
    while isinstance(model, Pipeline):
        X = lend(model, model[:-1].transform, X) if len(model.steps) > 1 else X
        model = model.steps[-1][1]
    return model, X


def _signed_margins(model: BaseEstimator, X: Table, y: ArrayLike) -> tuple[Floats, float]:
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
