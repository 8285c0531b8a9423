"""Which models may be the best: a confidence set for the model of least risk, read off the table of left-out losses.

Model r stays in the set unless another one is better than it beyond doubt. With dᵢⱼ the loss of model r on row i minus
that of model j, r is tested by the largest of the self-normalised sums

    Uⱼ = Σᵢ dᵢⱼ / √(Σᵢ dᵢⱼ²),

against the same maximum after the signs of rows are flipped at random, a row's sign for all j at once. Models that
lose alike then count as one, so that many ties do not make the set empty or everything; and where two classifiers
differ on three rows only, the flips know that three rows prove nothing, which a normal approximation does not. Models j
that r beats clearly have no part in the maximum (Lei 2020, "Cross-validation with confidence"). Among the argmin
confidence sets that were tried (Lei 2020; Zhang, Lee & Lei 2024; Kim & Ramdas 2025) this one kept its level with ties
and few rows, and left out the most: `benchmarks/plausible.py`.

Of many models, every one is tested against `MOST_RIVALS` of them that lie far apart, which stand for those that lose
nearly alike; which ones they are does not depend on who lost less, so that the level holds.

Rows are left out by models that share training rows, so that a difference varies more from one data set to the next
than its rows tell. `WIDENING` allows for that; the same study calibrated it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from outsample.curve.intervals import of_units
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import cached_property

LEVEL = 0.95
WIDENING = math.sqrt(2)
FLIPS = 1000
# Share of the error probability spent on leaving models out of the maximum that are clearly worse than the one tested.
SCREENING = 0.1
# Sets of rows that models may have been tested on; with more, only rows that all of them have count.
MOST_PATTERNS = 24
# Models that every model is tested against, and random sums of losses by which those that lie far apart are found.
MOST_RIVALS, SKETCH = 128, 32
# Sums of independent random signs exceed their own length with a probability above 7/64 (Hitczenko & Kwapień 1994).
NEVER_DOUBTED, SURE_TO_EXCEED = 1.0, 7 / 64

Chosen = NDArray[np.bool_]


def plausible_models(
    losses: Floats,
    weight: Floats | None = None,
    groups: Array | None = None,
    *,
    level: float = LEVEL,
    widening: float = WIDENING,
) -> Chosen:
    """Which models may be that of least risk, (models,): the best one is among them with probability `level`.

    The model of least mean is always among them where all models have met the same rows. A model that left a race
    early is compared on the rows it has; one of which nothing is known cannot be judged and is not among them.

    Parameters
    ----------
    losses : (models, n) left-out losses, nan where a model was not tested.
    weight : (n,) of rows, None where all are equal.
    groups : (n,) the group of each row; groups are independent, their rows need not be. None where every row is alone.
    widening : factor by which differences vary more than their rows tell.
    """
    values, mass = of_units(losses, weight, groups)
    values = values if mass is None else values * mass
    known = np.flatnonzero(~np.isnan(values).all(axis=1))
    found = np.zeros(len(losses), dtype=bool)
    if len(known):
        contest = _Contest.of(values[known])
        found[known] = contest.may_be_best(1 - level, widening)
    return found


def plausible_by_folds(risks: Floats, test_share: float, *, level: float = LEVEL) -> Chosen:
    """The same where only the risk on each fold is known: a Student's test of each pair, folds as units.

    The variance of a mean over K folds is (1/K + test rows/training rows) times that of one (Nadeau & Bengio 2003), and
    levels are divided by the number of other models (Bonferroni). With five folds few models are ever left out.

    Parameters
    ----------
    risks : (folds, models), nan for models that failed.
    test_share : rows of a fold over rows it is fitted to.
    """
    known = np.flatnonzero(~np.isnan(risks).any(axis=0))
    found, K = np.zeros(risks.shape[1], dtype=bool), len(risks)
    found[known] = True
    if K < 2 or len(known) < 2:
        return found
    limit = float(stats.t.isf((1 - level) / (len(known) - 1), K - 1))
    for r in known:
        apart = risks[:, [r]] - risks[:, known]
        error = apart.std(axis=0, ddof=1) * math.sqrt(1 / K + test_share)
        found[r] = bool((apart.mean(axis=0) <= limit * error).all())
    return found


@dataclass(frozen=True, eq=False)
class _Shared:
    """What is needed of the rows that models share: sums, and products and flipped sums of the rivals' losses."""

    values: Floats
    rivals: Rows
    signs: NDArray[np.int8]

    @cached_property
    def sums(self) -> Floats:
        return np.asarray(self.values.sum(axis=1))

    @cached_property
    def squares(self) -> Floats:
        return np.asarray(np.einsum("ij,ij->i", self.values, self.values))

    @cached_property
    def products(self) -> Floats:
        """Of every model with every rival, (models, rivals)."""
        return np.asarray(self.values @ self.values[self.rivals].T)

    @cached_property
    def flipped(self) -> Floats:
        """Sums after flips of signs, (flips, rivals), a few flips at a time."""
        few, losses = max(1, 2**22 // max(1, self.signs.shape[1])), self.values[self.rivals].T
        parts = [self.signs[i : i + few].astype(np.float64) @ losses for i in range(0, len(self.signs), few)]
        return np.concatenate(parts)


class _Contest:
    """All models against the rivals, on the rows that two of them share."""

    def __init__(self, values: Floats, patterns: NDArray[np.bool_], which: Rows) -> None:
        self.values, self.patterns, self.which = values, patterns, which
        flips = np.random.default_rng(0).integers(0, 2, size=(FLIPS, values.shape[1]), dtype=np.int8)
        self.signs = 2 * flips - 1
        self.rivals = _far_apart(values)
        self._shared: dict[bytes, _Shared] = {}

    @staticmethod
    def of(values: Floats) -> _Contest:
        known = ~np.isnan(values)
        patterns, which = np.ones((1, values.shape[1]), dtype=bool), np.zeros(len(values), dtype=np.intp)
        if not known.all():
            patterns, which = np.unique(known, axis=0, return_inverse=True)
        if len(patterns) > MOST_PATTERNS:
            values = values[:, known.all(axis=0)]
            patterns, which = np.ones((1, values.shape[1]), dtype=bool), np.zeros(len(values), dtype=np.intp)
        # Rows in an order of their own, so that the flips they get do not depend on the order of the user's.
        risk = np.nansum(values, axis=1) / np.maximum(1, (~np.isnan(values)).sum(axis=1))
        order = np.lexsort(values[np.argsort(risk, kind="stable")]) if values.shape[1] else np.arange(0)
        return _Contest(values[:, order], patterns[:, order], which.reshape(-1))

    def may_be_best(self, alpha: float, widening: float) -> Chosen:
        """Of which models no rival is better beyond doubt, (models,)."""
        sums, lengths = self._apart()
        steps = np.divide(sums, lengths * widening, out=np.full(sums.shape, -np.inf), where=lengths > 0)
        top = steps.max(axis=1, initial=-np.inf)
        found = np.asarray(top <= (NEVER_DOUBTED if alpha < SURE_TO_EXCEED else 0.0))
        # No maximum of flipped sums exceeds this more often (Hoeffding), whatever the losses.
        likely = np.count_nonzero(lengths, axis=1) * np.exp(-np.square(np.maximum(top, 0.0)) / 2) >= alpha / 2
        doubtful = np.flatnonzero(~found & likely)
        # Models that lose nearly alike have nearly the same limit: each has that of the rival next to it.
        nearest = np.argmin(lengths[doubtful], axis=1) if len(doubtful) else doubtful
        if len(self.rivals) == len(self.values):
            nearest = doubtful
        limits = {
            i: self._limit(i, steps[self.rivals[i]], lengths[self.rivals[i]], alpha) for i in set(nearest.tolist())
        }
        found[doubtful] = [top[r] <= limits[i] for r, i in zip(doubtful.tolist(), nearest.tolist(), strict=True)]
        return found

    def _apart(self) -> tuple[Floats, Floats]:
        """(sums of differences of the models to the rivals, their lengths), (models, rivals); 0 for those alike."""
        sums, lengths = np.zeros((2, len(self.values), len(self.rivals)))
        for first in range(len(self.patterns)):
            models = np.flatnonzero(self.which == first)
            for columns, shared in self._meetings(first):
                rivals = self.rivals[columns]
                here, squares = np.ix_(models, columns), shared.squares[models, None] + shared.squares[rivals]
                sums[here] = shared.sums[models, None] - shared.sums[rivals]
                apart = squares - 2 * shared.products[here]
                lengths[here] = np.sqrt(np.where(apart > 1e-12 * squares, apart, 0.0))
        return sums, lengths

    def _limit(self, i: int, steps: Floats, lengths: Floats, alpha: float) -> float:
        """The largest step with which the i-th rival may still be the best model."""
        drawn = np.zeros((FLIPS, len(self.rivals)))
        for columns, shared in self._meetings(self.which[self.rivals[i]]):
            drawn[:, columns] = shared.flipped[:, [i]] - shared.flipped[:, columns]
        met = lengths > 0
        drawn = drawn[:, met] / lengths[met]
        not_clearly_worse = steps[met] >= -np.quantile(drawn.max(axis=1), 1 - SCREENING * alpha)
        if not not_clearly_worse.any():
            not_clearly_worse[:] = True
        often = math.floor((1 - SCREENING) * alpha * (1 + FLIPS) - 1) + 1
        return float(np.sort(drawn[:, not_clearly_worse].max(axis=1))[-max(1, often)]) * (1 + 1e-12)

    def _meetings(self, pattern: int) -> list[tuple[Rows, _Shared]]:
        """(places of the rivals of one pattern, what they share with models of another), for each pattern of rivals."""
        of_rivals = self.which[self.rivals]
        return [(np.flatnonzero(of_rivals == p), self._rows(pattern, p)) for p in np.unique(of_rivals).tolist()]

    def _rows(self, first: int, second: int) -> _Shared:
        """What models of two patterns share."""
        both = self.patterns[first] & self.patterns[second]
        key = both.tobytes()
        if key not in self._shared:
            values = self.values[:, both]
            complete = np.flatnonzero(~np.isnan(values).any(axis=1))
            # Around the mean model, so that products do not lose the digits of small differences.
            centred = np.zeros_like(values)
            centred[complete] = values[complete] - values[complete].mean(axis=0)
            self._shared[key] = _Shared(centred, self.rivals, self.signs[:, both])
        return self._shared[key]


def _far_apart(values: Floats) -> Rows:
    """Of many models, some that lose differently from each other; all of few. By distances, and not by who lost less.

    One after the other, each the farthest from those before, in random sums of the losses.
    """
    if len(values) <= MOST_RIVALS:
        return np.arange(len(values))
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(values.shape[1], SKETCH))
    sketch = np.nan_to_num(values - np.nanmean(values, axis=0)) @ signs
    found, distance = [int(np.argmin(np.square(sketch).sum(axis=1)))], np.full(len(values), np.inf)
    while len(found) < MOST_RIVALS:
        distance = np.minimum(distance, np.square(sketch - sketch[found[-1]]).sum(axis=1))
        if not distance.max() > 0:
            break
        found.append(int(np.argmax(distance)))
    return np.array(sorted(found), dtype=np.intp)
