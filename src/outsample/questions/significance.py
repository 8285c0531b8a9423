"""Permutation tests: whether labels carry information about X that a learner finds; the test, its result, p-values."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.checks import number_of_jobs, one_of, probability, whole_number
from outsample.curve.error_estimate import numeral
from outsample.curve.result import Result
from outsample.data.tables import Table
from outsample.losses.choice import LossLike
from outsample.questions.statistic import Statistic, choose_statistic
from outsample.resampling.labels import LabelDraws
from outsample.resampling.rows import FoldsLike
from outsample.resampling.schemes import SchemeLike, choose_scheme
from outsample.running.arrays import Bools, Floats
from outsample.running.fits import counted_fits
from outsample.running.run import LABEL_DRAWS, RandomState, child_seed, seed_sequence
from outsample.running.workers import results_of

# Statistics that differ relatively by less than this are ties.
ROUNDING = 1e-10
# Saturation from which the result warns that the test has no power.
NEARLY_SATURATED = 0.9
ALTERNATIVES = ("greater", "less", "two-sided")
# Permutations at least as extreme as the real labels after which a sequential test stops.
ENOUGH = 10
# Draws between two looks of a sequential test.
ROUND = 64


def permutation_test(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    statistic: LossLike = None,
    n_draws: int = 999,
    cv: FoldsLike = None,
    groups: ArrayLike | None = None,
    scheme: SchemeLike = None,
    block_size: int | None = None,
    alternative: str = "greater",
    sequential: bool | int = False,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> PermutationTest:
    """Test whether labels carry information about X that a learner finds.

    Parameters
    ----------
    estimator : any classifier, regressor, pipeline or search; all it does, including model selection, is repeated for
        every permutation. None for a statistic of (X, y).
    X, y : the data.
    statistic : None for the score of the default loss (accuracy, minus squared error); a loss or scorer by name;
        "coefficient-norm" (‖β̂‖²), "best-score" (of a search); or a function of (fitted estimator, X, y) that is
        given the rows fitted, or with cv the rows left out.
    n_draws : number of random permutations; where there are no more distinct arrangements than that, all of them are
        used, including the real one.
    cv : the rows on which scores are computed. None: left-out rows of 3 shuffled folds, stratified for classes, of
        whole groups where there are groups. That takes 3 fits to two thirds of the rows per permutation, so that 999
        permutations cost about as much as 2000 fits to all rows; almost nothing for learners whose predictions of
        left-out rows follow from one fit (linear models with squared loss, neighbours). A number of folds or a
        splitter: left-out rows of those folds. "in-sample": the rows fitted, with one fit per permutation and often
        far less work; but a learner that fits any labels, such as a full tree, has no power then, and the result's
        `notes` say so.
    groups : (n,) the group of each row; rows of one group belong together (pair, person, site).
    scheme : which labels may change places. "within" permutes labels inside each group (paired and blocked designs),
        "whole" exchanges the labels of whole groups, "circular" shifts a series. None is "whole" where y is constant
        within every group, else "within"; without groups all permutations are allowed. Or a `LabelScheme`.
    block_size : consecutive blocks of this many rows exchange their labels.
    alternative : "greater", "less" or "two-sided" (twice the smaller of the two p-values).
    sequential : stop once 10 (or the number given) permutations have reached the real statistic; the p-value remains
        valid (Besag & Clifford 1991).
    random_state : seed of the permutations and of the learner, the same for every fit; None as in `estimate`.
    n_jobs : joblib workers; the answer does not depend on it.

    Returns
    -------
    PermutationTest
        `statistic`, `pvalue`, `null`, and `plot()`.

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
    number_of_jobs(n_jobs)
    seed = seed_sequence(random_state)
    chosen = choose_statistic(estimator, X, y, statistic, cv, groups, seed)
    allowed = choose_scheme(chosen.labels, groups, scheme, block_size)
    draws = LabelDraws(allowed, chosen.labels, int(n_draws), child_seed(seed, LABEL_DRAWS))
    with counted_fits() as spent:
        observed = float(chosen(chosen.labels[None])[0])
        if np.isnan(observed):
            raise ValueError(f"statistic: {chosen.name} is not a number on the real labels")
        null, stopped = _null(chosen, draws, observed, alternative, enough, n_jobs)
    return PermutationTest(
        statistic=observed,
        pvalue=_pvalue(null, observed, alternative, draws.exhaustive, stopped),
        null=null,
        exact=draws.exhaustive,
        stopped=stopped,
        name=chosen.name,
        alternative=alternative,
        n_fits=spent.n_fits,
        saturation=chosen.saturation(float(np.nanmean(null))),
        seconds=time.perf_counter() - start,
    )


@dataclass(frozen=True, eq=False)
class PermutationTest(Result):
    """The result of a test of whether labels carry information about X.

    Attributes
    ----------
    statistic : its value on the real labels.
    pvalue : probability of a statistic at least as extreme under the null hypothesis that labels are exchangeable.
    null : (draws,) the statistic on permuted labels.
    exact : whether `null` has all distinct arrangements.
    stopped : whether drawing stopped early because the decision was clear.
    name : what the statistic is, in words.
    alternative : "greater", "less" or "two-sided": which values are extreme.
    n_fits, seconds : number of fits and time.
    saturation : for in-sample scores, the mean score on permuted labels on a scale where a constant guess is 0 and a
        perfect fit 1. Near 1 real labels can hardly do better. None where it is not known.
    """

    statistic: float
    pvalue: float
    null: Floats = field(repr=False)
    exact: bool
    stopped: bool
    name: str
    alternative: str
    n_fits: int
    seconds: float = 0.0
    saturation: float | None = None

    told: ClassVar[str] = (
        "statistic pvalue monte_carlo_error exact stopped name alternative n_fits seconds saturation n_draws notes"
    )

    @property
    def monte_carlo_error(self) -> float:
        """Standard error of the p-value from the finite number of random permutations."""
        return 0.0 if self.exact else math.sqrt(self.pvalue * (1 - self.pvalue) / (len(self.null) + 1))

    def critical_value(self, level: float = 0.05) -> float | tuple[float, float]:
        """The value to reach: the p-value is at most `level` exactly where the statistic is there or beyond.

        Beyond is above for alternative "greater", below for "less". A two-sided test has two, (low, high): its p-value
        is at most `level` where the statistic is at most `low` or at least `high`, each at level/2. They are among the
        values on permuted labels and the observed one, and infinite where there are too few for that level.
        """
        level = probability("level", level)
        if self.alternative == "two-sided":
            return self._value_to_reach(level / 2, -1.0), self._value_to_reach(level / 2, 1.0)
        return self._value_to_reach(level, -1.0 if self.alternative == "less" else 1.0)

    def _value_to_reach(self, level: float, sign: float) -> float:
        """That of one tail: the upper one for sign 1, the lower one for −1."""
        values = np.sort(sign * (self.null if self.exact else np.append(self.null, self.statistic)))[::-1]
        allowed = math.floor(level * len(values) + ROUNDING)
        reached = [v for v in np.unique(values) if at_least(values, v).sum() <= allowed]
        return sign * (float(reached[0]) if reached else math.inf)

    def plot(self, ax: Any = None) -> Any:
        """Histogram of the statistic on permuted labels, the real one marked; returns the matplotlib Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import null_drawing

        return plotted(null_drawing(self), ax)

    @property
    def n_draws(self) -> int:
        """Number of permutations."""
        return len(self.null)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a reader of the p-value should know."""
        tied = at_least(self.null, self.statistic) & at_least(-self.null, -self.statistic)
        if len(tied) > 1 and tied.all():
            return ("Every permutation gives the same statistic, so this test cannot tell anything.", *self._advice)
        return self._advice

    @property
    def _advice(self) -> tuple[str, ...]:
        if self.saturation is None or self.saturation < NEARLY_SATURATED:
            return ()
        return (
            f"Fitted to permuted labels, the learner gains {100 * self.saturation:.3g} % of what a perfect fit would "
            "gain over a constant guess, so real labels can hardly do better and a large p-value says nothing. Judge "
            "it on rows left out, as is the default.",
        )

    def __str__(self) -> str:
        how = "all" if self.exact else "random"
        early = ", stopped early: the decision is clear" if self.stopped else ""
        usual = numeral(float(np.nanmean(self.null)))
        lines = (
            f"{self.name}: {numeral(self.statistic)}, p = {numeral(self.pvalue)} ({self.alternative})\n"
            f"{len(self.null)} {how} permutations{early}; under them {usual} on average, "
            f"{self.n_fits} fits, {numeral(self.seconds, 2)} s"
        )
        return "\n".join([lines, *self.notes])


def _check(n_draws: int, alternative: str, sequential: bool | int) -> int | None:
    """The number of exceedances at which to stop, None for never; raises ValueError for bad arguments."""
    whole_number("n_draws", n_draws)
    one_of("alternative", alternative, ALTERNATIVES)
    if sequential is False:
        return None
    if alternative == "two-sided":
        raise ValueError('sequential stopping counts one tail; use alternative="greater" or "less"')
    return ENOUGH if sequential is True else whole_number("sequential", sequential, instead="True, False or ")


def _null(
    chosen: Statistic, draws: LabelDraws, observed: float, alternative: str, enough: int | None, n_jobs: int | None
) -> tuple[Floats, bool]:
    """(statistics of the draws up to the last one needed, whether drawing stopped early)."""
    if enough is None or draws.exhaustive:
        return np.concatenate(list(_statistics(chosen, draws, 0, len(draws), n_jobs))), False
    null = np.empty(0)
    while len(null) < len(draws):
        stop = min(len(null) + ROUND, len(draws))
        null = np.concatenate([null, *_statistics(chosen, draws, len(null), stop, n_jobs)])
        reached = np.flatnonzero(_extreme(null, observed, alternative))
        if len(reached) >= enough:
            return null[: reached[enough - 1] + 1], True
    return null, False


def _statistics(chosen: Statistic, draws: LabelDraws, start: int, stop: int, n_jobs: int | None) -> Iterator[Floats]:
    alone = n_jobs in (None, 1)
    size = max(chosen.batch, ROUND) if alone else chosen.batch
    batches = [(draws[i : min(i + size, stop)],) for i in range(start, stop, size)]
    return results_of(chosen, batches, 1 if chosen.batch > 1 else n_jobs)


def _extreme(null: Floats, observed: float, alternative: str) -> Bools:
    """Which null values are at least as extreme as the observed one, (draws,), in one tail."""
    return at_least(-null, -observed) if alternative == "less" else at_least(null, observed)


def _pvalue(null: Floats, observed: float, alternative: str, exact: bool, stopped: bool) -> float:
    if stopped:
        return float(_extreme(null, observed, alternative).sum()) / len(null)
    if alternative != "two-sided":
        return pvalue_of(int(_extreme(null, observed, alternative).sum()), len(null), exact)
    tails = [pvalue_of(int(_extreme(null, observed, side).sum()), len(null), exact) for side in ("greater", "less")]
    return min(1.0, 2 * min(tails))


def at_least(null: ArrayLike, observed: ArrayLike) -> Bools:
    """Where a null value is at least the observed one, up to rounding; nan counts as extreme. Shapes broadcast."""
    values, reference = np.asarray(null, dtype=np.float64), np.asarray(observed, dtype=np.float64)
    slack = ROUNDING * np.maximum(np.abs(values), np.abs(reference))
    return np.asarray((values >= reference - slack) | np.isnan(values))


def pvalue_of(exceed: int, n_null: int, exact: bool) -> float:
    """The p-value of `exceed` among `n_null` arrangements at least as extreme as the observed one.

    If these are all arrangements, the observed one included, it is exceed/n. For random ones it is
    (1 + exceed)/(1 + n), which counts the observed arrangement and is valid at every level (Phipson & Smyth 2010).
    """
    return exceed / n_null if exact else (1 + exceed) / (1 + n_null)
