"""Complexities: how well a hypothesis set fits labels that carry no information. Two classes, ±1 in the formulas.

All are means over drawn labels r of max_h (1/n) Σ r_i h(x_i) = 1 − 2 e', e' the least training error on r. The
maximum is found by running the learner, so for a learner that does not minimise the training error the number is a
lower bound; it is exact for the sets of `outsample.hypotheses`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from outsample.complexity_measuring import around_flipped_share, measured
from outsample.complexity_record import Complexity
from outsample.draws import FreePermutation, HalfFlips, RademacherSigns, WithReplacement


class Options(TypedDict, total=False):
    """What all complexities take by name; see `permutation_complexity`."""

    param: str | None
    values: Sequence[Any] | None
    n_draws: int
    random_state: Any
    n_jobs: int | None
    fast: bool


def permutation_complexity(estimator: Any, X: Any, y: Any, **options: Unpack[Options]) -> Complexity:
    """P_in = E_π max_h (1/n) Σ y^π_i h(x_i): fit to permuted labels (Magdon-Ismail & Mertsalov, §3.1).

    For a risk minimiser P_in = ½ ê_gen + ȳ E[ḡ^π] with ê_gen the permutation estimate of the optimism in squared
    units, four times the 0–1 units of `estimate` (Theorem 4); `mean_product` is the last term.

    Parameters
    ----------
    estimator : a classifier or pipeline, a path of them, or a `HypothesisSet` (X is then not needed: None).
    X, y : the data, two classes.
    param, values : a parameter of the estimator and its values: the complexity of every model of a path.
    n_draws : label vectors drawn, 100 unless told; all distinct ones when they are no more than that.
    random_state : the seed; with the same seed the criterion `Permutation` meets the same draws.
    n_jobs, fast : as in `estimate`.
    """
    return measured("permutation complexity", FreePermutation(), estimator, X, y, **options)


def label_bootstrap_complexity(estimator: Any, X: Any, y: Any, **options: Unpack[Options]) -> Complexity:
    """B_in, the permutation complexity's twin with labels drawn with replacement; |B_in − P_in| ≤ 1/√n (Lemma 6).

    Parameters as for `permutation_complexity`.
    """
    return measured("label-bootstrap complexity", WithReplacement(), estimator, X, y, **options)


def rademacher_complexity(estimator: Any, X: Any, y: Any, **options: Unpack[Options]) -> Complexity:
    """R = E_r max_h (1/n) Σ r_i h(x_i) with coin flips r; y only names the classes.

    Parameters as for `permutation_complexity`. Half of it is the optimism that criterion "rademacher" adds; all
    of it enters `rademacher_bound`.
    """
    return measured("Rademacher complexity", RademacherSigns(), estimator, X, y, **options)


def maximal_discrepancy(estimator: Any, X: Any, y: Any, **options: Unpack[Options]) -> Complexity:
    """max_h of the error on one half of the data minus the error on the other (Bartlett, Boucheron & Lugosi, §4.4).

    The labels of a random half are flipped; with e' the training error on those, the discrepancy is 1 − 2e'. Of an
    odd number of rows the smaller half is flipped, which errs by 1/n on the side of caution.

    Parameters as for `permutation_complexity`; one draw unless told.
    """
    return measured("maximal discrepancy", HalfFlips(), estimator, X, y, **(Options(n_draws=1) | options))


def expected_discrepancy(estimator: Any, X: Any, y: Any, **options: Unpack[Options]) -> Complexity:
    """M = E_σ sup_h (2/n) Σ σ_i ℓ_i with coin flips σ (§4.5): flip where σ_i = 1, value 2(n₊/n − e').

    Its expectation is the Rademacher complexity. Parameters as for `permutation_complexity`.
    """
    found = measured("expected discrepancy", RademacherSigns(), estimator, X, y, **options)
    return found if found.exhaustive else around_flipped_share(found)
