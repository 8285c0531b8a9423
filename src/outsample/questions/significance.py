"""The record of a permutation test, and how p-values are counted."""

from __future__ import annotations

import html
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from outsample.checks import one_of, probability, whole_number
from outsample.curve.error_estimate import numeral
from outsample.data.tables import Table
from outsample.questions.statistic import Statistic, choose_statistic
from outsample.resampling.labels import LabelDraws
from outsample.resampling.schemes import SchemeLike, choose_scheme
from outsample.running.arrays import Floats
from outsample.running.seeds import LABEL_DRAWS, RandomState, child_seed, seed_sequence
from outsample.running.workers import results_of

ROUNDING = 1e-10
NEARLY_SATURATED = 0.9
ALTERNATIVES = ("greater", "less", "two-sided")


def at_least(null: Any, observed: Any) -> NDArray[np.bool_]:
    """Where the null value is at least the observed one; ties within rounding, and missing values, count."""
    values, reference = np.asarray(null, dtype=np.float64), np.asarray(observed, dtype=np.float64)
    slack = ROUNDING * np.maximum(np.abs(values), np.abs(reference))
    return np.asarray((values >= reference - slack) | np.isnan(values))


def pvalue_of(exceed: int, n_null: int, exact: bool) -> float:
    """Share of arrangements at least as extreme.

    All arrangements, the observed one among them: exceed/n. Random ones: (1 + exceed)/(1 + n), because the observed
    one is an arrangement too; valid at every level.
    """
    return exceed / n_null if exact else (1 + exceed) / (1 + n_null)


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """Whether labels carry information about X.

    Attributes
    ----------
    statistic : on the real labels.
    pvalue : probability, under the null hypothesis that labels are exchangeable, of a statistic at least as extreme.
    null : (draws,) the statistic on permuted labels.
    exact : whether these are all arrangements.
    stopped : whether drawing ended early because the decision was clear.
    name : what the statistic is.
    alternative : which statistics are extreme.
    n_fits, seconds : what it cost.
    saturation : of in-sample scores, how much of what a perfect fit gains over a constant guess the fits to permuted
        labels gain on average; near 1 the real labels can do no better. None where that is not known.
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

    @property
    def monte_carlo_error(self) -> float:
        """How far the p-value may be from that of all arrangements."""
        return 0.0 if self.exact else math.sqrt(self.pvalue * (1 - self.pvalue) / (len(self.null) + 1))

    def critical_value(self, level: float = 0.05) -> float:
        """What the statistic must reach to be rejected at a level: a quantile of all values, the observed included.

        Infinite where there are too few values for that level. Of one-sided tests.
        """
        level = probability("level", level)
        sign = -1.0 if self.alternative == "less" else 1.0
        values = np.sort(sign * (self.null if self.exact else np.append(self.null, self.statistic)))[::-1]
        allowed = math.floor(level * len(values) + ROUNDING)
        reached = [v for v in np.unique(values) if at_least(values, v).sum() <= allowed]
        return sign * (float(reached[0]) if reached else math.inf)

    def plot(self, ax: Any = None) -> Any:
        """Histogram of the statistic on permuted labels, the real one marked; returns the matplotlib Axes."""
        from outsample.plots import null_distribution

        return null_distribution(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values."""
        plain = (
            *("statistic", "pvalue", "monte_carlo_error", "exact", "stopped"),
            *("name", "alternative", "n_fits", "seconds", "saturation"),
        )
        return {name: getattr(self, name) for name in plain} | {"n_draws": len(self.null), "notes": list(self.notes)}

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences a reader of the p-value should know."""
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

    def _repr_html_(self) -> str:
        first, *rest = (html.escape(line) for line in str(self).splitlines())
        return f"<p><strong>{first}</strong><br>{'<br>'.join(rest)}</p>"


ENOUGH = 10
ROUND = 64


def permutation_test(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    statistic: Any = None,
    n_draws: int = 999,
    cv: Any = None,
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
    one_of("alternative", alternative, ALTERNATIVES)
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
    return results_of(measured, batches, 1 if measured.batch > 1 else n_jobs)


def _extreme(null: Floats, observed: float, alternative: str) -> Any:
    return at_least(-null, -observed) if alternative == "less" else at_least(null, observed)


def _pvalue(null: Floats, observed: float, alternative: str, exact: bool, stopped: bool) -> float:
    if stopped:
        return float(_extreme(null, observed, alternative).sum()) / len(null)
    if alternative != "two-sided":
        return pvalue_of(int(_extreme(null, observed, alternative).sum()), len(null), exact)
    tails = [pvalue_of(int(_extreme(null, observed, side).sum()), len(null), exact) for side in ("greater", "less")]
    return min(1.0, 2 * min(tails))
