"""Audit of a user's validation procedure: does it report honest errors on labels that cannot be predicted?

On permuted labels no honest procedure reports, on average, an error below the no-information rate, the error of the
best constant guess. A lower one shows a leak: features chosen on all rows before the folds, tuning on the test set,
copies of rows on both sides of a split.

Where classes are unequal many an honest procedure reports more than that rate, which a leak may only bring down to it.
On labels of which every class has as many rows nothing honest is below chance, and nothing hides: the same procedure is
run on these too.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from outsample.checks import finite_number, whole_number
from outsample.curve.error_estimate import numeral
from outsample.curve.result import Result
from outsample.data.samples import OwnLabels, looks_real
from outsample.data.tables import Table, n_rows, same
from outsample.losses.choice import NAMED, LossLike
from outsample.questions.significance import at_least, pvalue_of
from outsample.resampling.labels import LabelDraws
from outsample.resampling.schemes import SchemeLike, choose_scheme
from outsample.running.arrays import Array, Floats
from outsample.running.run import LABEL_DRAWS, RandomState, child_seed, seed_sequence

Procedure = Callable[[Any, Any], Any]

# Level of the one-sided t tests of whether a shortfall could be chance, of all of them together.
LEVEL = 0.01
# Address of the labels of equal classes below that of label draws.
BALANCED = 1


@dataclass(frozen=True, eq=False)
class Audit(Result):
    """What a validation procedure reports on the real labels, and on permuted ones.

    Attributes
    ----------
    reported : the error it reports on the real labels.
    no_information : the error of the best constant guess.
    shortfall : no-information rate minus the mean error it reports on permuted labels; negative where that is above.
        Where classes are unequal and it is more, the shortfall on labels of equal classes, in units of their rate.
    optimism : the shortfall where it is positive, else 0: an honest procedure may report more than the best constant.
    corrected : reported + optimism.
    pvalue : share of arrangements of the labels on which it reports no more than on the real ones; small where the
        real labels can be predicted, however dishonest the procedure.
    honest : whether the shortfall could be chance, at level 0.01.
    monte_carlo_error : standard error of the shortfall over permutations.
    draws : (draws,) the error it reports on each permutation.
    balanced_draws : (draws,) the error it reports on random labels of equal classes; None where classes are equal,
        where labels are numbers, and where only some labels may change places.
    seconds : wall time.

    Examples
    --------
    >>> import numpy as np
    >>> from outsample import audit
    >>> X, y = np.zeros((20, 1)), np.repeat([0, 1], 10)
    >>> result = audit(lambda X, y: 0.0, X, y)
    >>> result.reported, result.optimism, result.honest
    (0.0, 0.5, False)
    """

    reported: float
    no_information: float
    shortfall: float
    optimism: float
    corrected: float
    pvalue: float
    honest: bool
    monte_carlo_error: float
    draws: Floats = field(repr=False)
    balanced_draws: Floats | None = field(default=None, repr=False)
    seconds: float = 0.0

    told: ClassVar[str] = (
        "reported no_information shortfall optimism corrected pvalue honest monte_carlo_error seconds sentence draws "
        "balanced_draws"
    )

    @property
    def sentence(self) -> str:
        """The finding in plain words."""
        seen = f"On shuffled labels, where {numeral(self.no_information, 3)} is the best possible, "
        seen += f"the procedure reports {numeral(float(self.draws.mean()), 3)} on average"
        if self.balanced_draws is not None:
            seen += f", and {numeral(float(self.balanced_draws.mean()), 3)} on random labels of equal classes"
        if self.honest:
            return (
                f"{seen}: no sign of a leak. Its {numeral(self.reported, 3)} on the real labels {self._signal()} "
                f"(p = {self.pvalue:.2g})."
            )
        return (
            f"{seen}: it is optimistic by {numeral(self.optimism, 3)}. Its {numeral(self.reported, 3)} on the real "
            f"labels should be read as about {numeral(self.corrected, 3)}, and {self._signal()} "
            f"(p = {self.pvalue:.2g})."
        )

    def _signal(self) -> str:
        matched = int(at_least(-self.draws, -self.reported).sum())
        better = "better" if matched == 0 or self.pvalue <= 0.05 else "no better"
        times = f"{matched} of {len(self.draws)} shuffles did as well"
        return f"is {better} than what it reports on shuffled labels: {times}"

    def plot(self, ax: Any = None) -> Any:
        """What the procedure reports on shuffled labels, and on the real ones; returns the matplotlib Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import audit_drawing

        return plotted(audit_drawing(self), ax)

    def __str__(self) -> str:
        return (
            f"reported {numeral(self.reported)}, optimism {numeral(self.optimism)}, "
            f"corrected {numeral(self.corrected)}, p = {self.pvalue:.3g}\n{self.sentence}"
        )


def audit(
    procedure: Procedure,
    X: Table,
    y: ArrayLike,
    n_draws: int = 20,
    random_state: RandomState = 0,
    *,
    loss: LossLike = None,
    no_information: float | None = None,
    groups: ArrayLike | None = None,
    scheme: SchemeLike = None,
    block_size: int | None = None,
) -> Audit:
    """Audit a validation procedure by running it on permuted labels; where classes are unequal, on equal ones too.

    Parameters
    ----------
    procedure : a function of (X, y) that returns the error it would report, one number, smaller is better. It must do
        all that it does on real data, and leave X and y unchanged.
    X, y : the data, in the form that the procedure takes.
    n_draws : number of permutations; more make the optimism more precise and allow a smaller p-value.
    random_state : seed of the permutations; the randomness of the procedure itself is not controlled.
    loss : "zero-one", "squared" or "absolute": the unit of the error, which decides the no-information rate. By default
        squared for numbers that are not whole or have more than 20 distinct values, zero-one for all other labels.
    no_information : that rate itself, for errors in other units.
    groups, scheme, block_size : which labels may change places, as in `permutation_test`.

    Returns
    -------
    Audit
        `reported`, `optimism`, `corrected`, `honest`; print it for the answer in words.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((20, 1)), np.repeat([0, 1], 10)
    >>> audit(lambda X, y: 0.0, X, y).corrected
    0.5
    """
    start = time.perf_counter()
    count = whole_number("n_draws", n_draws, 2)
    own = OwnLabels(y)
    if len(own.codes) != n_rows(X):
        raise ValueError(f"X has {n_rows(X)} rows and y has {len(own.codes)} labels; they must be equally many")
    if no_information is not None:
        no_information = finite_number("no_information", no_information)
    rate = _no_information(y, loss) if no_information is None else no_information
    run = _CheckedProcedure(procedure, X)
    reported = run(y)
    allowed = choose_scheme(own.codes, groups, scheme, block_size)
    labels = LabelDraws(allowed, own.codes, count, child_seed(seed_sequence(random_state), LABEL_DRAWS))
    draws = np.array([run(own.labels_of(codes)) for codes in labels])
    free = groups is None and scheme is None and block_size is None
    equal = _equal_classes(y, own.codes, loss, no_information) if free else None
    balanced, chance = None, rate
    if equal is not None:
        chance = 1 - float(np.bincount(equal).max()) / len(equal)
        seed = child_seed(seed_sequence(random_state), LABEL_DRAWS, BALANCED)
        arranged = LabelDraws(choose_scheme(equal, None, None, None), equal, count, seed)
        balanced = np.array([run(own.labels_of(codes)) for codes in arranged])
    found = _audit(reported, draws, rate, labels.exhaustive, balanced, chance)
    return replace(found, seconds=time.perf_counter() - start)


def _equal_classes(y: ArrayLike, codes: Array, loss: LossLike, no_information: float | None) -> Array | None:
    """Labels of the classes of y, as many of each; None where they are so already, and where labels are numbers."""
    counts = np.bincount(codes)
    named = loss is not None or no_information is not None
    classes = loss == "zero-one" if named else not looks_real(np.asarray(y))
    if not classes or len(counts) < 2 or counts.max() - counts.min() <= 1:
        return None
    return np.arange(len(codes)) % len(counts)


def _audit(
    reported: float, draws: Floats, rate: float, exhaustive: bool, balanced: Floats | None, chance: float
) -> Audit:
    """The audit of a procedure that reported `draws` on permuted labels, where the no-information rate is `rate`.

    And `balanced` on labels of equal classes, where that rate is `chance`.
    """
    tests = 1 if balanced is None else 2
    shortfall, error, by_chance = _shortfall(draws, rate, LEVEL / tests)
    honest, more = by_chance, shortfall
    if balanced is not None:
        apart, _, by_chance = _shortfall(balanced, chance, LEVEL / tests)
        honest = honest and by_chance
        if not by_chance:
            more = max(shortfall, apart * rate / chance)
    optimism = max(0.0, more)
    return Audit(
        reported=reported,
        no_information=rate,
        shortfall=more,
        optimism=optimism,
        corrected=reported + optimism,
        pvalue=pvalue_of(int(at_least(-draws, -reported).sum()), len(draws), exhaustive),
        honest=honest,
        monte_carlo_error=error,
        draws=draws,
        balanced_draws=balanced,
    )


def _shortfall(draws: Floats, rate: float, level: float) -> tuple[float, float, bool]:
    """(how far the mean of the draws is below a rate, its standard error, whether that could be chance)."""
    shortfall, error = rate - float(draws.mean()), float(draws.std(ddof=1)) / math.sqrt(len(draws))
    limit = error * float(stats.t.ppf(1 - level, len(draws) - 1)) + 1e-12 * abs(rate)
    return shortfall, error, shortfall <= limit


def _no_information(y: ArrayLike, loss: LossLike) -> float:
    """Risk of the best constant prediction under the named loss."""
    labels = np.asarray(y)
    name = loss if loss is not None else "squared" if looks_real(labels) else "zero-one"
    if name not in ("zero-one", "squared", "absolute"):
        raise ValueError(
            f'loss must be "zero-one", "squared" or "absolute", got {loss!r}; for other units pass no_information=, '
            "the error of the best constant guess"
        )
    if name != "zero-one" and labels.dtype.kind not in "fiu":
        raise ValueError(f"loss {name!r} is for numbers, y holds {labels.dtype}")
    return NAMED[name].scale(labels)


class _CheckedProcedure:
    """The error that a procedure reports for labels y, after checking it; raises if its arguments were changed."""

    def __init__(self, procedure: Procedure, X: Table) -> None:
        if not callable(procedure) or isinstance(procedure, type):
            raise TypeError(f"procedure must be a function of (X, y), got {procedure!r}")
        self._procedure, self._X = procedure, X
        self._lent = copy.deepcopy(X)

    def __call__(self, y: ArrayLike) -> float:
        lent = copy.deepcopy(y)
        result = self._procedure(self._lent, lent)
        for name, now, then in (("X", self._lent, self._X), ("y", lent, y)):
            if not same(now, then):
                raise ValueError(f"procedure modified {name}; let it work on a copy, for example {name}.copy()")
        number = np.asarray(result)
        if number.ndim > 0 or number.dtype.kind not in "fiu":
            raise ValueError(f"procedure must return one number, the error it reports; it returned {result!r:.200}")
        if not np.isfinite(number):
            raise ValueError(f"procedure must return a finite number, it returned {result!r}")
        return float(number)
