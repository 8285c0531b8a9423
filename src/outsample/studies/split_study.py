"""Model selection over random splits: what Tables 5, 6 and 7 and the study of imbalance are made of.

Each split fits a family to the training part, lets every estimate select a model, and judges the selected and the
best model by their true or held-out error. Regret is a ratio of means over splits: Σ (e_out(selected) − e_out(best)) /
Σ e_out(best).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.studies.error_curves import Bound, Family
from outsample.studies.summaries import ratio_of_means

Array = NDArray[Any]
Floats = NDArray[np.float64]

N_FOLDS = 10
EQUAL = 1e-12
"""Estimates that differ by less are tied: they are sums of counts."""


@dataclass(frozen=True)
class Episodes:
    """How many fits each estimate may spend; None leaves it out.

    Attributes
    ----------
    labels : label draws of permutation and Rademacher.
    left_out : points left out one at a time; as many as there are, if fewer.
    folds : whether 10-fold cross-validation takes part.
    """

    labels: int
    left_out: int
    folds: bool = True

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the estimates, in the paper's order."""
        return ("LOO-CV", "10-fold", "Perm.", "Rad.") if self.folds else ("LOO-CV", "Perm.", "Rad.")


def estimates(bound: Bound, y: Array, episodes: Episodes, rng: np.random.Generator) -> Floats:
    """Out-sample error of every model by every estimate, (methods, models)."""
    n = len(y)
    alone = rng.permutation(n)
    folds = rng.permutation(n) % N_FOLDS
    permuted = np.stack([rng.permutation(y) for _ in range(episodes.labels)])
    signs = rng.integers(2, size=(episodes.labels, n))
    in_sample, _ = bound.drawn(y[None])
    curves = [bound.left_out(alone, min(episodes.left_out, n))]
    if episodes.folds:
        curves.append(bound.left_out(folds, N_FOLDS))
    curves.append(in_sample[0] + permutation_optimism(bound, y, permuted))
    curves.append(in_sample[0] + rademacher_optimism(bound, signs))
    return np.stack(curves)


def permutation_optimism(bound: Bound, y: Array, permuted: Array) -> Floats:
    """Mean over permutations of the error on all pairs minus the error in sample, (models,)."""
    in_sample, positive = bound.drawn(permuted)
    share = y.mean()
    return np.asarray(np.mean(share * (1 - positive) + (1 - share) * positive - in_sample, axis=0))


def rademacher_optimism(bound: Bound, signs: Array) -> Floats:
    """R/2, half the mean correlation with random signs, in units of zero-one loss, (models,)."""
    in_sample, _ = bound.drawn(signs)
    return np.asarray(np.mean(0.5 - in_sample, axis=0))


def last_minimum(curve: Floats) -> int:
    """Position of the smallest value; the last of those that are tied."""
    return int(np.flatnonzero(curve <= curve.min() + EQUAL)[-1])


def selected_errors(
    family: Family, X: Array, y: Array, errors: Callable[[Bound], Floats], episodes: Episodes, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """(e_out of the best model and of those selected, positions of those selected): (1 + methods,), (methods,)."""
    bound = family.bound(X, y)
    truth = errors(bound)
    chosen = np.array([last_minimum(curve) for curve in estimates(bound, y, episodes, rng)])
    return np.concatenate([[truth.min()], truth[chosen]]), chosen


def one_split(
    X: Array, y: Array, family: Family, episodes: Episodes, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """Selection on a random three quarters of the rows, judged on the last quarter; see `selected_errors`."""
    order = rng.permutation(len(y))
    train, test = order[: 3 * len(y) // 4], order[3 * len(y) // 4 :]
    return selected_errors(family, X[train], y[train], lambda bound: bound.error_on(X[test], y[test]), episodes, rng)


@dataclass(frozen=True, eq=False)
class Regrets:
    """Errors of selected models over splits.

    Attributes
    ----------
    methods : the estimates.
    errors : (splits, 1 + methods) e_out of the best model, then of the one each estimate selected.
    """

    methods: tuple[str, ...]
    errors: Floats

    def regret(self, method: str) -> tuple[float, float]:
        """(regret as a ratio of means, its standard error)."""
        best = self.errors[:, 0]
        return ratio_of_means(self._of(method) - best, best)

    def lead(self, method: str, other: str) -> tuple[float, float]:
        """(regret of `other` minus that of `method`, standard error of paired splits): positive if `method` leads."""
        return ratio_of_means(self._of(other) - self._of(method), self.errors[:, 0])

    def _of(self, method: str) -> Floats:
        return np.asarray(self.errors[:, 1 + self.methods.index(method)])
