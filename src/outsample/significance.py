"""Is there anything there? Permutation tests of any learner, cross-validated or in-sample.

Under the null hypothesis labels are exchangeable: every arrangement of y over the rows, within what the study's design
allows, was equally likely. The p-value is the share of arrangements with a statistic at least as extreme.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from outsample.checks import whole_number
from outsample.choosing_schemes import choose_scheme
from outsample.draws import LabelDraws
from outsample.losses import Floats
from outsample.problem import LABEL_DRAWS
from outsample.running import child_seed, seed_sequence, spread
from outsample.significance_record import ALTERNATIVES, PermutationTest, at_least, pvalue_of
from outsample.statistics import Statistic, choose_statistic

ENOUGH = 10
ROUND = 64


def permutation_test(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    statistic: Any = None,
    n_draws: int = 999,
    cv: Any = None,
    groups: Any = None,
    scheme: Any = None,
    block_size: int | None = None,
    alternative: str = "greater",
    sequential: bool | int = False,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PermutationTest:
    """Test whether labels carry information about X that a learner finds.

    Parameters
    ----------
    estimator : any classifier, regressor, pipeline or search: everything it does, the selection of a model included,
        is done again for every permutation. None with a statistic of (X, y).
    statistic : None for the score of the default loss (accuracy, minus squared error); a loss or scorer by name;
        "coefficient-norm" (‖β̂‖²), "best-score" (of a search); or a function of (fitted estimator, X, y), which is
        given the rows fitted, or with cv those left out.
    n_draws : random permutations; all distinct arrangements, the real one included, when they are no more than that.
    cv : how scores are judged. None: on left-out rows, over 3 shuffled folds, stratified for classes, of whole groups
        where there are groups. That takes 3 fits to two thirds of the rows per permutation, so 999 permutations cost
        about 2000 fits to all rows, and almost nothing where paths know what is said of left-out rows (linear
        models with squared loss, neighbours). A number of folds or a splitter: over those. "in-sample": on the rows
        fitted, one fit per permutation and often far less; but a learner that fits any labels, such as a full tree,
        cannot be tested like that, and the result's `notes` say so.
    groups, scheme, block_size : which labels may change places, see `choosing_schemes.choose_scheme`; pairs and
        blocks are groups with scheme="within".
    alternative : "greater", "less" or "two-sided" (twice the smaller of both).
    sequential : stop when 10 (or the number given) permutations reached the real statistic; the p-value is valid
        all the same (Besag & Clifford 1991).
    random_state : seed of the permutations and of the learner, the same for every fit.
    n_jobs : joblib workers; the answer does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> y = (X[:, 0] > 9).astype(int)
    >>> stump = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0)
    >>> permutation_test(stump, X, y, n_draws=99, random_state=0).pvalue
    0.01
    """
    start = time.perf_counter()
    enough = _check(n_draws, alternative, sequential)
    seed = seed_sequence(random_state)
    measured = choose_statistic(estimator, X, y, statistic, cv, groups, seed)
    allowed = choose_scheme(measured.labels, groups, scheme, block_size)
    draws = LabelDraws(allowed, measured.labels, int(n_draws), child_seed(seed, LABEL_DRAWS))
    observed = float(measured(measured.labels[None])[0])
    if np.isnan(observed):
        raise ValueError(f"statistic: {measured.name} is not a number on the real labels")
    null, stopped = _null(measured, draws, observed, alternative, enough, n_jobs)
    return PermutationTest(
        statistic=observed,
        pvalue=_pvalue(null, observed, alternative, draws.exhaustive, stopped),
        null=null,
        exact=draws.exhaustive,
        stopped=stopped,
        name=measured.name,
        alternative=alternative,
        n_fits=(len(null) + 1) * measured.fits_per_draw,
        saturation=measured.saturation(float(np.nanmean(null))),
        seconds=time.perf_counter() - start,
    )


def _check(n_draws: int, alternative: str, sequential: bool | int) -> int | None:
    """How many exceedances are enough to stop, None for never."""
    whole_number("n_draws", n_draws)
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative must be one of {', '.join(ALTERNATIVES)}, got {alternative!r}")
    if sequential is False:
        return None
    if alternative == "two-sided":
        raise ValueError('sequential stopping counts one tail; use alternative="greater" or "less"')
    return ENOUGH if sequential is True else whole_number("sequential", sequential, instead="True, False or ")


def _null(
    measured: Statistic, draws: LabelDraws, observed: float, alternative: str, enough: int | None, n_jobs: int | None
) -> tuple[Floats, bool]:
    """(the statistic of every draw up to the last one needed, whether drawing stopped early)."""
    if enough is None or draws.exhaustive:
        return np.concatenate(list(_values(measured, draws, 0, len(draws), n_jobs))), False
    null = np.empty(0)
    while len(null) < len(draws):
        stop = min(len(null) + ROUND, len(draws))
        null = np.concatenate([null, *_values(measured, draws, len(null), stop, n_jobs)])
        reached = np.flatnonzero(_extreme(null, observed, alternative))
        if len(reached) >= enough:
            return null[: reached[enough - 1] + 1], True
    return null, False


def _values(measured: Statistic, draws: LabelDraws, start: int, stop: int, n_jobs: int | None) -> Iterator[Floats]:
    alone = n_jobs in (None, 1)
    size = max(measured.batch, ROUND) if alone else measured.batch
    batches = [(draws[i : min(i + size, stop)],) for i in range(start, stop, size)]
    return spread(measured, batches, 1 if measured.batch > 1 else n_jobs)


def _extreme(null: Floats, observed: float, alternative: str) -> Any:
    return at_least(-null, -observed) if alternative == "less" else at_least(null, observed)


def _pvalue(null: Floats, observed: float, alternative: str, exact: bool, stopped: bool) -> float:
    if stopped:
        return float(_extreme(null, observed, alternative).sum()) / len(null)
    if alternative != "two-sided":
        return pvalue_of(int(_extreme(null, observed, alternative).sum()), len(null), exact)
    tails = [pvalue_of(int(_extreme(null, observed, side).sum()), len(null), exact) for side in ("greater", "less")]
    return min(1.0, 2 * min(tails))
