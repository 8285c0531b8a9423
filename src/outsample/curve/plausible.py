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

Rows are left out by models that share training rows, so that a difference varies more from one data set to the next
than its rows tell. `WIDENING` allows for that; the same study calibrated it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from outsample.curve.left_out import of_units
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import cached_property

LEVEL = 0.95
WIDENING = math.sqrt(2)
FLIPS = 1000
# Share of the error probability spent on leaving models out of the maximum that are clearly worse than the one tested.
SCREENING = 0.1
# Sets of rows that models may have been tested on; with more, only rows that all of them have count.
MOST_PATTERNS = 24
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
        found[known] = [contest.may_be_best(r, 1 - level, widening) for r in range(len(known))]
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
    """What is needed of the rows that some models share: sums, products and flipped sums of their losses."""

    values: Floats
    signs: NDArray[np.int8]

    @cached_property
    def sums(self) -> Floats:
        return np.asarray(self.values.sum(axis=1))

    @cached_property
    def products(self) -> Floats:
        return np.asarray(self.values @ self.values.T)

    @cached_property
    def flipped(self) -> Floats:
        """Sums after flips of signs, (flips, models), a few flips at a time."""
        few = max(1, 2**22 // max(1, self.signs.shape[1]))
        parts = [self.signs[i : i + few].astype(np.float64) @ self.values.T for i in range(0, len(self.signs), few)]
        return np.concatenate(parts)


class _Contest:
    """All models against each other, on the rows that two of them share."""

    def __init__(self, values: Floats, patterns: NDArray[np.bool_], which: Rows) -> None:
        self.values, self.patterns, self.which = values, patterns, which
        flips = np.random.default_rng(0).integers(0, 2, size=(FLIPS, values.shape[1]), dtype=np.int8)
        self.signs = 2 * flips - 1
        self._shared: dict[bytes, _Shared] = {}

    @staticmethod
    def of(values: Floats) -> _Contest:
        known = ~np.isnan(values)
        patterns, which = np.unique(known, axis=0, return_inverse=True)
        if len(patterns) > MOST_PATTERNS:
            values = values[:, known.all(axis=0)]
            patterns, which = np.ones((1, values.shape[1]), dtype=bool), np.zeros(len(values), dtype=np.intp)
        # Rows in an order of their own, so that the flips they get do not depend on the order of the user's.
        risk = np.nansum(values, axis=1) / np.maximum(1, (~np.isnan(values)).sum(axis=1))
        order = np.lexsort(values[np.argsort(risk, kind="stable")]) if values.shape[1] else np.arange(0)
        return _Contest(values[:, order], patterns[:, order], which.reshape(-1))

    def may_be_best(self, r: int, alpha: float, widening: float) -> bool:
        """Whether no other model is better than model r beyond doubt."""
        sums, lengths, flips = self._against(r)
        if not len(sums):
            return True
        steps = sums / (lengths * widening)
        top = float(steps.max())
        if top <= (NEVER_DOUBTED if alpha < SURE_TO_EXCEED else 0.0):
            return True
        # No maximum of flipped sums exceeds this more often (Hoeffding), whatever the losses.
        if len(steps) * math.exp(-(top**2) / 2) < alpha / 2:
            return False
        drawn = flips() / lengths
        clearly_worse = steps < -np.quantile(drawn.max(axis=1), 1 - SCREENING * alpha)
        reached = np.count_nonzero(drawn[:, ~clearly_worse].max(axis=1) >= top * (1 - 1e-12))
        return bool((1 + reached) / (1 + FLIPS) > (1 - SCREENING) * alpha)

    def _against(self, r: int) -> tuple[Floats, Floats, Callable[[], Floats]]:
        """(sums of differences to the other models, their lengths, a function that gives the flipped sums)."""
        parts = []
        for pattern in range(len(self.patterns)):
            shared, others = self._rows(self.which[r], pattern), np.flatnonzero(self.which == pattern)
            squares = np.diag(shared.products)
            square = squares[r] + squares[others] - 2 * shared.products[r, others]
            apart = square > 1e-12 * (squares[r] + squares[others])
            parts.append((shared, others[apart], square[apart]))
        sums = np.concatenate([shared.sums[r] - shared.sums[others] for shared, others, _ in parts])
        lengths = np.sqrt(np.concatenate([square for _, _, square in parts]))

        def flips() -> Floats:
            return np.concatenate([s.flipped[:, [r]] - s.flipped[:, others] for s, others, _ in parts], axis=1)

        return sums, lengths, flips

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
            self._shared[key] = _Shared(centred, self.signs[:, both])
        return self._shared[key]
