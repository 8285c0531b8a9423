"""Bounds from permuted labels (Magdon-Ismail & Mertsalov, §3). Two classes, 0–1 units.

P_in = E_π max_h (1/n) Σ y^π_i h(x_i) on ±1 labels is the permutation complexity; P_out its mean over data sets.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from outsample.bounds.record import (
    MAXIMISED,
    Certificate,
    Numbers,
    a_bound,
    as_number,
    check_complexity,
    check_rate,
    deviation,
    from_squared_units,
    limit,
    number_of_draws,
    theorem,
)
from outsample.checks import whole_number

PAPER = "Magdon-Ismail & Mertsalov"


@theorem(f"{PAPER}, Corollary 4, constants corrected", MAXIMISED)
def permutation_bound(
    *,
    in_sample: ArrayLike,
    complexity: ArrayLike,
    n: int,
    delta: float = 0.05,
    n_draws: float = 1,
    mean_label: float = 0.0,
) -> Certificate:
    """e_out of every hypothesis, the risk minimiser among them, from its in-sample error and P_in.

    e_in + P_in + ¼ [4√((8/n) ln(2/δ)) + √((8/n) ln(6/δ)) + 2√((16/n) ln(12/δ))].

    The first deviation is of P_in from P_out (Corollary 2 at δ/2, which enters Theorem 5 four times); the other
    two are those of Theorem 5 at δ/2. Printed (Corollary 4): ¼ · 4√((8/n) ln(12/δ)). Where P_in is the mean of M random
    permutations, what `one_permutation_bound` adds for them at δ/2 is added, and the rest is taken at δ/2.

    Parameters
    ----------
    complexity : P_in, the value of `permutation_complexity`, or one per model.
    n_draws : random permutations that `complexity` is a mean of; the limit covers their error (Theorem 6), and holds
        for more of them than are given. Infinity where it is the mean over all permutations.

    Examples
    --------
    >>> limit = permutation_bound(in_sample=0.1, complexity=0.05, n=2000)
    >>> round(float(limit.value), 2), round(float(limit.printed), 2)
    (0.49, 0.3)
    """
    error, P_in, draws = check_rate(in_sample), check_complexity(complexity), number_of_draws(n_draws)
    share = delta if draws == math.inf else delta / 2
    of_draws = 0.0 if draws == math.inf else deviation(draws, share, _spread_of_draws(n, mean_label))
    return limit(
        error,
        P_in,
        of_draws + from_squared_units(4 * deviation(n, share / 2, 8) + _uniform_deviation(n, share / 2)),
        printed=from_squared_units(4 * deviation(n, delta / 12, 8)),
        **_as_penalty(error + P_in, n, _spread_of_draws(n, 0.0) / draws),
    )


def _spread_of_draws(n: int, mean_label: float) -> float:
    """v of P[P_in − value on a permutation ≥ t] ≤ e^{−t²/v} (El-Yaniv & Pechyony 2009, Lemma 2).

    Exchanging two different labels moves the value by at most 4/n, k of n labels are one: v = 8 (k/n)(1 − k/n)/((n − ½)
    (1 − 1/(2 max(k, n − k)))), largest for k = n/2.
    """
    if not -1 <= mean_label <= 1:
        raise ValueError(f"mean_label must be a mean of labels −1 and 1, got {mean_label!r}")
    most = n * (1 + abs(mean_label)) / 2
    return 2 * (1 - mean_label**2) / ((n - 0.5) * (1 - 1 / (2 * max(most, 1.0))))


def _as_penalty(risk: Numbers, n: int, spread: float) -> dict[str, Any]:
    """risk, m and γ of P[e_out > risk + ε] ≤ γ e^{−2mε²}.

    E sup (e_out − e_in) ≤ P_out + E abs(k/n − p) ≤ P_out + 1/(2√n), k of n labels being 1 with probability p each. One
    sample moves sup (e_out − e_in) by 1/n and P_in by 4/n (Lemma 3), so that McDiarmid gives 25/(2n) in place of v for
    their difference; ε is divided so that both tails have the same exponent.
    """
    pieces = math.sqrt(25 / (2 * n)) + math.sqrt(spread)
    return {"risk": as_number(risk + 0.5 / math.sqrt(n)), "m": 1 / (2 * pieces**2), "gamma": 2.0 if spread else 1.0}


@a_bound
def optimism_bound(
    *,
    in_sample: ArrayLike,
    optimism: ArrayLike,
    mean_label: float,
    mean_prediction: ArrayLike,
    n: int,
    delta: float = 0.05,
    n_draws: float = 1,
) -> Certificate:
    """e_out of the risk minimiser from its permutation estimate: Corollary 4 as it is written.

    e_in + 2 ê_gen + ȳ E[ḡ^π] + the deviations of `permutation_bound`, in 0–1 units: there P_in = 2 ê_gen + ȳ E[ḡ^π]
    (Theorem 4). In the squared units of the paper the terms are e_in + 2 ê_gen + 4 ȳ E[ḡ^π].

    Parameters
    ----------
    in_sample : error rate on the data.
    optimism : ê_gen in 0–1 units, the `optimism` of `estimate(…, criterion="permutation")`.
    mean_label : ȳ, the mean of the labels as −1 and 1.
    mean_prediction : E[ḡ^π], the mean over draws of the mean prediction, −1 or 1, of the fit to permuted labels.
    n_draws : as in `permutation_bound`.

    Examples
    --------
    >>> limit = optimism_bound(in_sample=0.1, optimism=0.05, mean_label=0.0, mean_prediction=0.0, n=2000)
    >>> round(float(limit.value), 2)
    0.54
    """
    labels, predictions = (np.asarray(value, dtype=np.float64) for value in (mean_label, mean_prediction))
    for name, values in (("mean_label", labels), ("mean_prediction", predictions)):
        if not np.all(np.abs(values) <= 1):
            raise ValueError(f"{name} must be a mean of labels −1 and 1, got {values.tolist()!r}")
    gained = np.asarray(optimism, dtype=np.float64)
    complexity = 2 * gained + labels * predictions
    if not np.all(np.abs(complexity) <= 1 + 1e-12):
        raise ValueError(
            "optimism must be in 0–1 units, so that 2 optimism + mean_label · mean_prediction is a correlation between "
            f"-1 and 1, got {gained.tolist()}"
        )
    return permutation_bound(
        in_sample=in_sample, complexity=complexity, n=n, delta=delta, n_draws=n_draws, mean_label=float(labels)
    )


@theorem(
    f"{PAPER}, Lemma 7",
    MAXIMISED,
    setting="labels of two classes drawn with replacement",
    bounds="label-bootstrap complexity",
)
def one_label_bootstrap_bound(*, complexity: ArrayLike, n: int, delta: float = 0.05) -> Certificate:
    """B_in from the value max_h (1/n) Σ y*_i h(x_i) of a single draw of labels with replacement (Lemma 7).

    B_in ≤ value + √((2/n) ln(1/δ)), by McDiarmid's inequality: one label moves the value by at most 2/n.

    Parameters
    ----------
    complexity : the value on one draw, or one per model.

    Examples
    --------
    >>> round(float(one_label_bootstrap_bound(complexity=0.2, n=2000).value), 3)
    0.255
    """
    return limit(check_complexity(complexity), 0.0, deviation(n, delta, 2))


@theorem(f"{PAPER}, Theorem 5, constants corrected", MAXIMISED, "the complexity is the mean over data sets")
def expected_permutation_bound(
    *, in_sample: ArrayLike, complexity: ArrayLike, n: int, delta: float = 0.05
) -> Certificate:
    """e_out of every hypothesis from P_out, where that mean over data sets is known (Theorem 5).

    e_in + P_out + ¼ [√((8/n) ln(3/δ)) + 2√((16/n) ln(6/δ))]. Printed: ¼ · 3√((8/n) ln(6/δ)); its Lemma 5 takes
    y_i − y''_i in {0, ±1}, but ±1 labels differ by ±2.

    Parameters
    ----------
    complexity : P_out, the mean over data sets of `permutation_complexity`, or one per model.

    Examples
    --------
    >>> round(float(expected_permutation_bound(in_sample=0.1, complexity=0.05, n=2000).value), 2)
    0.28
    """
    return limit(
        check_rate(in_sample),
        check_complexity(complexity),
        from_squared_units(_uniform_deviation(n, delta)),
        printed=from_squared_units(3 * deviation(n, delta / 6, 8)),
    )


@theorem(f"{PAPER}, Corollary 2", MAXIMISED, bounds="mean permutation complexity over data sets")
def permutation_complexity_bound(*, complexity: ArrayLike, n: int, delta: float = 0.05) -> Certificate:
    """P_out ≤ P_in + √((8/n) ln(1/δ)): the complexity on these data speaks for all data (Corollary 2).

    Parameters
    ----------
    complexity : P_in, the value of `permutation_complexity`, or one per model.

    Examples
    --------
    >>> round(float(permutation_complexity_bound(complexity=0.2, n=2000).value), 2)
    0.31
    """
    return limit(check_complexity(complexity), 0.0, deviation(n, delta, 8))


@theorem(
    f"{PAPER}, Theorem 6, by the inequality of El-Yaniv & Pechyony 2009",
    MAXIMISED,
    setting="permutations drawn at random, two classes",
    bounds="permutation complexity",
)
def one_permutation_bound(
    *, complexity: ArrayLike, n: int, delta: float = 0.05, n_draws: int = 1, mean_label: float = 0.0
) -> Certificate:
    """P_in from the mean over M random permutations of max_h (1/n) Σ y^π_i h(x_i) (Theorem 6, sharper).

    P_in ≤ value + √(v ln(1/δ)/M), v = 8 (k/n)(1 − k/n)/((n − ½)(1 − 1/(2 max(k, n − k)))), k of n labels being 1: given
    the data, exchanging two different labels moves the value by at most 4/n, and functions of a random permutation
    concentrate (El-Yaniv & Pechyony 2009, Lemma 2). Printed, for M = 1: (2 + 1/√(2 ln 4)) √((2/n) ln(2/δ)).

    Parameters
    ----------
    complexity : the mean value on the permutations, or one per model.
    n_draws : random permutations that `complexity` is a mean of; the limit holds for
        more of them than are given.

    Examples
    --------
    >>> round(float(one_permutation_bound(complexity=0.2, n=2000).value), 3)
    0.255
    >>> round(float(one_permutation_bound(complexity=0.2, n=2000, n_draws=10).value), 3)
    0.217
    """
    gap = deviation(whole_number("n_draws", n_draws), delta, _spread_of_draws(n, mean_label))
    printed = (2 + 1 / math.sqrt(2 * math.log(4))) * deviation(n, delta / 2, 2)
    return limit(check_complexity(complexity), 0.0, gap, printed=printed)


def _uniform_deviation(n: int, delta: float) -> float:
    """√((8/n) ln(3/δ)) + 2√((16/n) ln(6/δ)), squared units: the two deviations of Theorem 5."""
    return deviation(n, delta / 3, 8) + 2 * deviation(n, delta / 6, 16)
