"""Bounds on the 0–1 error from other measures than permutation: Rademacher, VC, discrepancies, hold-out.

Two classes unless said otherwise. R, V, D, … are named as in the sources.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from outsample.bounds.record import (
    COUNTED,
    MAXIMISED,
    UNSEEN,
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
from outsample.checks import one_of, whole_number
from outsample.running.arrays import Floats

BARTLETT = "Bartlett, Boucheron & Lugosi"


@theorem("Bartlett & Mendelson 2002, Theorem 5", MAXIMISED)
def rademacher_bound(
    *, in_sample: ArrayLike, complexity: ArrayLike, n: int, delta: float = 0.05, n_draws: float = 1
) -> Certificate:
    """e_in + R + √((9 + 4/M) ln(1/δ)/(2n)), R the mean over M draws of max_h (1/n) Σ r_i h(x_i) with coin flips r.

    Bartlett & Mendelson have the mean over all r, and 3√(ln(2/δ)/(2n)). Here McDiarmid's inequality is applied once, to
    samples and flips together: a sample moves sup (e_out − e_in) − R by at most 3/n, one of the M n flips by 2/(nM).

    Parameters
    ----------
    complexity : R, the value of `rademacher_complexity`, or one per model.

    Examples
    --------
    >>> round(float(rademacher_bound(in_sample=0.1, complexity=0.05, n=2000, n_draws=10).value), 2)
    0.23
    """
    m = n / (9 + 4 / number_of_draws(n_draws))
    printed = 3 * deviation(2 * n, delta / 2)
    return limit(
        check_rate(in_sample), check_complexity(complexity), deviation(2 * m, delta), printed=printed, m=m, gamma=1.0
    )


@theorem("Bartlett & Mendelson 2002, Lemma 4 and Theorem 5", MAXIMISED)
def gaussian_bound(
    *, in_sample: ArrayLike, complexity: ArrayLike, n: int, delta: float = 0.05, n_draws: float = 1
) -> Certificate:
    """e_in + √(π/2) (G + √(2 ln(2/δ)/(nM))) + 3√(ln(2/δ)/(2n)), G the mean of M draws with standard normal g.

    The Rademacher complexity R is at most √(π/2) E_g max_h (1/n) Σ g_i h(x_i), and at most 1; the mean of M draws of
    the maximum, which moves by at most ‖g − g'‖/√n, is near its expectation (concentration of Gaussian measure).

    Parameters
    ----------
    complexity : G, the value of `gaussian_complexity`, or one per model.

    Examples
    --------
    >>> round(float(gaussian_bound(in_sample=0.1, complexity=0.05, n=2000).value), 2)
    0.33
    """
    G = np.asarray(complexity, dtype=np.float64)
    if not np.all(G >= 0):
        raise ValueError(f"complexity must not be negative, got {complexity!r}")
    draws, share = number_of_draws(n_draws), delta / (1 if n_draws == math.inf else 2)
    most = G + (deviation(n * draws, share, 2) if draws < math.inf else 0.0)

    def bound(gaussian: Floats, delta: float) -> Certificate:
        R = np.minimum(1.0, math.sqrt(math.pi / 2) * gaussian)
        return rademacher_bound(in_sample=in_sample, complexity=R, n=n, delta=delta, n_draws=math.inf)

    # Of no use to penalised selection: the deviation of the draws depends on δ.
    return replace(bound(most, share), printed=bound(G, delta).printed, risk=math.nan, m=math.nan, gamma=math.nan)


SCHEMES = ("rademacher", "label-bootstrap", "permutation")


def vc_complexity(*, dimension: ArrayLike, n: int, scheme: str = "rademacher", mean_label: float = 0.0) -> Numbers:
    """An upper bound on the complexity of any class of VC dimension V on n points (Magdon-Ismail & Mertsalov, §3.4).

    R ≤ √(2 ln S/n) with ln S ≤ V ln(en/V) (Sauer), by Massart's lemma on the maximum of S sums; no chaining, so that it
    is above the best rate √(V/n) by a logarithm. Labels drawn with replacement have mean ȳ, which any hypothesis may
    agree with: B_in ≤ abs(ȳ) + √(2 ln S/n). Permuted labels are within 1/√n of these (Lemma 6): P_in ≤ B_in + 1/√n. The
    paper says that such bounds exist; the constants are ours.

    Parameters
    ----------
    dimension : V, at least 1, or one per model.
    n : number of points.
    scheme : "rademacher", "label-bootstrap" or "permutation".
    mean_label : ȳ of labels −1 and 1; not used for "rademacher".

    Returns
    -------
    float or array
        The limit on the complexity, one per model.

    Examples
    --------
    >>> round(float(vc_complexity(dimension=3, n=2000)), 2)
    0.15
    """
    n = whole_number("n", n)
    one_of("scheme", scheme, SCHEMES)
    if not -1 <= mean_label <= 1:
        raise ValueError(f"mean_label must be a mean of labels −1 and 1, got {mean_label!r}")
    value = np.sqrt(2 * np.asarray(log_growth(dimension, n)) / n)
    if scheme != "rademacher":
        value = value + abs(mean_label)
    if scheme == "permutation":
        value = value + 1 / math.sqrt(n)
    return as_number(np.minimum(1.0, value))


@a_bound
def vc_bound(*, in_sample: ArrayLike, dimension: ArrayLike, n: int, delta: float = 0.05) -> Certificate:
    """e_in + √((V ln(2en/V) + ln(4/δ))/n), V the VC dimension.

    From P[sup (e_out − e_in) > ε] ≤ 4 E S(2n) e^{−nε²} and Sauer's S(2n) ≤ (2en/V)^V, or 2^{2n}, the number of all
    labellings, where that is less: for V above about two thirds of n.

    Parameters
    ----------
    dimension : V, the VC dimension, or one per model.

    Examples
    --------
    >>> round(float(vc_bound(in_sample=0.1, dimension=3, n=2000).value), 2)
    0.22
    """
    log_shatter = log_growth(dimension, 2 * whole_number("n", n))
    return shatter_bound(in_sample=in_sample, log_shatter=log_shatter, n=n, delta=delta)


def log_growth(dimension: ArrayLike, n: int) -> Numbers:
    """Sauer's upper bound V ln(en/V) on the logarithm of the number of labellings of n points; n ln 2 where less."""
    V = np.asarray(dimension, dtype=np.float64)
    if not np.all(V >= 1):
        raise ValueError(f"dimension must be at least 1, got {dimension!r}")
    # Beyond a third of n, V ln(en/V) exceeds the logarithm of all 2ⁿ labellings.
    most = np.minimum(V, n)
    return as_number(np.minimum(most * (1 + np.log(n / most)), n * math.log(2)))


def log_dichotomies(n: int, dimension: int) -> float:
    """ln of 2 Σ_{k<r} C(n − 1, k): the ways in which hyperplanes through the origin of r dimensions label n points.

    Exact for points in general position, an upper bound for any (Cover 1965). A hyperplane with an intercept in d
    dimensions is one through the origin in r = d + 1, the rank of the table with a column of ones.

    Parameters
    ----------
    n : number of points.
    dimension : r, of the space the hyperplanes pass through.

    Returns
    -------
    float
        The logarithm of their number.

    Examples
    --------
    >>> round(math.exp(log_dichotomies(4, 3)))  # lines in the plane: all labellings of 4 points but two
    14
    """
    n, r = whole_number("n", n), whole_number("dimension", dimension)
    if r >= n:
        return n * math.log(2)
    k = np.arange(r)
    return float(math.log(2) + logsumexp(gammaln(n) - gammaln(k + 1) - gammaln(n - k)))


@theorem(f"Vapnik & Chervonenkis, as {BARTLETT} (4)", COUNTED)
def shatter_bound(*, in_sample: ArrayLike, log_shatter: ArrayLike, n: int, delta: float = 0.05) -> Certificate:
    """e_in + √((ln E S(2n) + ln(4/δ))/n), S(2n) the number of ways 2n points can be labelled.

    `log_shatter` is ln E S(2n), or any number above it.

    Parameters
    ----------
    log_shatter : ln E S(2n), or any number above it.

    Examples
    --------
    >>> round(float(shatter_bound(in_sample=0.1, log_shatter=20.0, n=2000).value), 2)
    0.21
    """
    error, ln_S = check_rate(in_sample), _check_log(log_shatter)
    # As a penalty, B (5), with ln 4 alone, because m and γ pay for δ.
    risk = error + np.sqrt((ln_S + math.log(4)) / n)
    return limit(error, np.sqrt((ln_S + math.log(4 / delta)) / n), 0.0, risk=risk, m=n / 2, gamma=1.0)


@theorem(f"{BARTLETT}, Theorem 6", COUNTED)
def vc_entropy_bound(*, in_sample: ArrayLike, log_shatter: ArrayLike, n: int, delta: float = 0.05) -> Certificate:
    """e_in + √((12 ln S(X) + ln 4)/n) + √(40 ln(2/δ)/n), S(X) the ways *these* n points can be labelled.

    The last term is what P[e_out > R + ε] ≤ 2 e^{−2mε²} with m = n/80 gives at δ.

    Parameters
    ----------
    log_shatter : ln S(X), the logarithm of the number of labellings of these points.

    Examples
    --------
    >>> round(float(vc_entropy_bound(in_sample=0.1, log_shatter=5.0, n=10_000).value), 2)
    0.3
    """
    penalty = np.sqrt((12 * _check_log(log_shatter) + math.log(4)) / n)
    return limit(check_rate(in_sample), penalty, deviation(n, delta / 2, 40), m=n / 80, gamma=2.0)


@a_bound
def empirical_vc_bound(*, in_sample: ArrayLike, dimension: ArrayLike, n: int, delta: float = 0.05) -> Certificate:
    """The bound of VC entropy with ln S(X) ≤ D ln(n + 1), D the VC dimension restricted to these points (§4.3).

    Parameters
    ----------
    dimension : D, the most of these points that are labelled in every way.

    Examples
    --------
    >>> round(float(empirical_vc_bound(in_sample=0.1, dimension=2, n=10_000).value), 2)
    0.37
    """
    D = np.asarray(dimension, dtype=np.float64)
    if not np.all(D >= 0):
        raise ValueError(f"dimension must not be negative, got {dimension!r}")
    return vc_entropy_bound(in_sample=in_sample, log_shatter=D * math.log(whole_number("n", n) + 1), n=n, delta=delta)


@theorem(f"{BARTLETT}, Theorem 8", MAXIMISED)
def maximal_discrepancy_bound(
    *, in_sample: ArrayLike, discrepancy: ArrayLike, n: int, delta: float = 0.05
) -> Certificate:
    """e_in + D + √((21/(2n)) ln(3/δ)), D the largest difference of errors on two halves (Theorem 8, m = n/21).

    Parameters
    ----------
    discrepancy : D, the value of `maximal_discrepancy`, or one per model.

    Examples
    --------
    >>> round(float(maximal_discrepancy_bound(in_sample=0.1, discrepancy=0.05, n=2000).value), 2)
    0.3
    """
    gap = deviation(2 * n, delta / 3, 21)
    return limit(check_rate(in_sample), check_complexity(discrepancy), gap, m=n / 21, gamma=3.0)


@theorem(f"{BARTLETT}, Theorem 9", MAXIMISED)
def expected_discrepancy_bound(
    *, in_sample: ArrayLike, discrepancy: ArrayLike, n: int, delta: float = 0.05, n_draws: float = 1
) -> Certificate:
    """e_in + M + √((9 + 16/k) ln(1/δ)/(2n)), M the mean over k draws of sup (2/n) Σ σ_i ℓ_i.

    Theorem 9 has the mean over all σ, and √(9 ln(2/δ)/(2n)). Here McDiarmid's inequality is applied once, to samples
    and signs together: a sample moves sup (e_out − e_in) − M by at most 3/n, one of the k n signs by 4/(nk).

    Parameters
    ----------
    discrepancy : M, the value of `expected_discrepancy`, or one per model.
    n_draws : label vectors that `discrepancy` is a mean of, as in `rademacher_bound`.

    Examples
    --------
    >>> round(float(expected_discrepancy_bound(in_sample=0.1, discrepancy=0.05, n=2000).value), 2)
    0.29
    """
    m = n / (9 + 16 / number_of_draws(n_draws))
    printed = deviation(2 * n, delta / 2, 9)
    return limit(
        check_rate(in_sample), check_complexity(discrepancy), deviation(2 * m, delta), printed=printed, m=m, gamma=1.0
    )


@theorem("Hoeffding's inequality", UNSEEN, setting="independent samples and a loss between 0 and 1")
def holdout_bound(*, holdout_error: ArrayLike, n_holdout: int, delta: float = 0.05, n_models: int = 1) -> Certificate:
    """Held-out error + √(ln(2k/δ)/(2m)), for all k models judged on the same m rows at once (Hoeffding).

    The radius is two-sided: minus the same gap is a lower limit. Any loss in [0, 1], any number of classes.

    Parameters
    ----------
    holdout_error : error rate on the rows held out, or one per model.
    n_holdout : m, the number of rows held out.
    n_models : k, how many models were judged on these rows.

    Examples
    --------
    >>> round(float(holdout_bound(holdout_error=0.1, n_holdout=1000).value), 3)
    0.143
    >>> round(float(holdout_bound(holdout_error=0.1, n_holdout=1000, n_models=100).value), 3)
    0.164
    """
    gap = deviation(2 * n_holdout, delta / (2 * whole_number("n_models", n_models)))
    return limit(check_rate(holdout_error, "holdout_error"), 0.0, gap, m=float(n_holdout), gamma=1.0)


def _check_log(log_shatter: ArrayLike) -> Numbers:
    values = np.asarray(log_shatter, dtype=np.float64)
    if not np.all(values >= 0):
        raise ValueError(f"log_shatter is the logarithm of a count and cannot be negative, got {log_shatter!r}")
    return as_number(values)
