"""Uniform bounds on the 0–1 error from other measures of a hypothesis set. Two classes unless said otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from outsample.bounds.record import (
    Bound,
    as_number,
    check_complexity,
    check_delta,
    check_rate,
    check_size,
    deviation,
    limit,
)

INDEPENDENT = "independent samples and two classes"
BARTLETT = "Bartlett, Boucheron & Lugosi"


def rademacher_bound(*, in_sample: Any, complexity: Any, n: int, delta: float = 0.05) -> Bound:
    """e_in + R + 3√(ln(2/δ)/(2n)), R = E_r max_h (1/n) Σ r_i h(x_i) with coin flips r (Bartlett & Mendelson)."""
    n, delta = check_size(n), check_delta(delta)
    return limit(
        check_rate(in_sample),
        check_complexity(complexity) + 3 * deviation(2 * n, delta / 2),
        n=n,
        delta=delta,
        theorem="Bartlett & Mendelson 2002, Theorem 5",
        assumptions=f"{INDEPENDENT}; a complexity maximised over the whole hypothesis set",
    )


def vc_bound(*, in_sample: Any, dimension: Any, n: int, delta: float = 0.05) -> Bound:
    """e_in + √((V ln(2en/V) + ln(4/δ))/n), V the VC dimension.

    From P[sup (e_out − e_in) > ε] ≤ 4 E S(2n) e^{−nε²} and Sauer's S(2n) ≤ (2en/V)^V; where V exceeds 2n every
    one of the 2^{2n} labellings may occur.
    """
    n, delta = check_size(n), check_delta(delta)
    gap = np.sqrt((log_growth(dimension, 2 * n) + math.log(4 / delta)) / n)
    return limit(
        check_rate(in_sample),
        gap,
        n=n,
        delta=delta,
        theorem=f"Vapnik & Chervonenkis, as {BARTLETT} (4)",
        assumptions=f"{INDEPENDENT}; a hypothesis set fixed before the data, of that VC dimension",
    )


def log_growth(dimension: Any, n: int) -> Any:
    """Sauer's limit V ln(en/V) on the logarithm of the number of labellings of n points; n ln 2 where V ≥ n."""
    V = np.asarray(dimension, dtype=np.float64)
    if not np.all(V >= 1):
        raise ValueError(f"dimension must be at least 1, got {dimension!r}")
    return as_number(np.where(n > V, V * (1 + np.log(n / V)), n * math.log(2)))


def shatter_bound(*, in_sample: Any, log_shatter: Any, n: int, delta: float = 0.05) -> Bound:
    """e_in + √((ln E S(2n) + ln(4/δ))/n), S(2n) the number of ways 2n points can be labelled.

    `log_shatter` is ln E S(2n), or any number above it.
    """
    n, delta = check_size(n), check_delta(delta)
    return limit(
        check_rate(in_sample),
        np.sqrt((_check_log(log_shatter) + math.log(4 / delta)) / n),
        n=n,
        delta=delta,
        theorem=f"Vapnik & Chervonenkis, as {BARTLETT} (4)",
        assumptions=f"{INDEPENDENT}; a hypothesis set fixed before the data",
    )


def vc_entropy_bound(*, in_sample: Any, log_shatter: Any, n: int, delta: float = 0.05) -> Bound:
    """e_in + √((12 ln S(X) + ln 4)/n) + √(40 ln(2/δ)/n), S(X) the ways *these* n points can be labelled.

    The last term is what P[e_out > R + ε] ≤ 2 e^{−2mε²} with m = n/80 gives at δ.
    """
    n, delta = check_size(n), check_delta(delta)
    return limit(
        check_rate(in_sample),
        np.sqrt((12 * _check_log(log_shatter) + math.log(4)) / n) + deviation(n, delta / 2, 40),
        n=n,
        delta=delta,
        theorem=f"{BARTLETT}, Theorem 6",
        assumptions=f"{INDEPENDENT}; all labellings of these points by the hypothesis set counted",
    )


def empirical_vc_bound(*, in_sample: Any, dimension: Any, n: int, delta: float = 0.05) -> Bound:
    """The bound of VC entropy with ln S(X) ≤ D ln(n + 1), D the VC dimension restricted to these points (§4.3)."""
    D = np.asarray(dimension, dtype=np.float64)
    if not np.all(D >= 0):
        raise ValueError(f"dimension must not be negative, got {dimension!r}")
    return vc_entropy_bound(in_sample=in_sample, log_shatter=D * math.log(check_size(n) + 1), n=n, delta=delta)


def maximal_discrepancy_bound(*, in_sample: Any, discrepancy: Any, n: int, delta: float = 0.05) -> Bound:
    """e_in + D + √((21/(2n)) ln(3/δ)), D the largest difference of errors on two halves (Theorem 8, m = n/21)."""
    n, delta = check_size(n), check_delta(delta)
    return limit(
        check_rate(in_sample),
        check_complexity(discrepancy) + deviation(2 * n, delta / 3, 21),
        n=n,
        delta=delta,
        theorem=f"{BARTLETT}, Theorem 8",
        assumptions=f"{INDEPENDENT}; a discrepancy maximised over the whole hypothesis set",
    )


def expected_discrepancy_bound(*, in_sample: Any, discrepancy: Any, n: int, delta: float = 0.05) -> Bound:
    """e_in + M + √((9/(2n)) ln(2/δ)), M = E_σ sup (2/n) Σ σ_i ℓ_i (Theorem 9, m = n/9)."""
    n, delta = check_size(n), check_delta(delta)
    return limit(
        check_rate(in_sample),
        check_complexity(discrepancy) + deviation(2 * n, delta / 2, 9),
        n=n,
        delta=delta,
        theorem=f"{BARTLETT}, Theorem 9",
        assumptions=f"{INDEPENDENT}; a discrepancy maximised over the whole hypothesis set",
    )


def holdout_bound(*, holdout_error: Any, n_holdout: int, delta: float = 0.05, n_models: int = 1) -> Bound:
    """Held-out error + √(ln(2k/δ)/(2m)), for all k models judged on the same m rows at once (Hoeffding).

    The radius is two-sided: minus the same gap is a lower limit. Any loss in [0, 1], any number of classes.
    """
    m, delta = check_size(n_holdout, "n_holdout"), check_delta(delta)
    return limit(
        check_rate(holdout_error, "holdout_error"),
        deviation(2 * m, delta / (2 * check_size(n_models, "n_models"))),
        n=m,
        delta=delta,
        theorem="Hoeffding's inequality",
        assumptions="held-out rows that no model has seen, a loss between 0 and 1",
    )


def _check_log(log_shatter: Any) -> Any:
    values = np.asarray(log_shatter, dtype=np.float64)
    if not np.all(values >= 0):
        raise ValueError(f"log_shatter is the logarithm of a count and cannot be negative, got {log_shatter!r}")
    return as_number(values)
