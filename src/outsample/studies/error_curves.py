"""Error curves of trees and nearest neighbours: one error per model along the complexity, by fits to given labels.

Trees and neighbours take the library's fast paths. Folds and left-out rows of trees are grown by the same code as the
label draws, one growth for all sizes; it splits as scikit-learn's `DecisionTreeClassifier(criterion="entropy")` does,
except where several splits gain equally.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from outsample.paths.neighbors.votes import NeighborsPath
from outsample.paths.trees.growth import Grower, Growth, Stopping
from outsample.running.arrays import Array, Floats

TWO_CLASSES = np.array([0, 1])


class Models(Protocol):
    """Models along one complexity; of models that are tied, the last one is selected."""

    def on(self, X: Array, y: Array) -> ErrorCurves:
        """These models on one training set."""


class ErrorCurves(Protocol):
    """Models on one training set; every method gives one number per model."""

    n: int

    def fits(self, Y: Array) -> tuple[Floats, Floats]:
        """(in-sample error, share predicted positive) of the fits to each label vector, (draws, models) each."""

    def error_on(self, X_new: Array, y_new: Array, weight: Array | None = None) -> Floats:
        """Error rate on new rows after fitting the training labels."""

    def left_out(self, folds: Array, n_folds: int) -> Floats:
        """Error rate on the rows of folds 0 … n_folds − 1, each predicted by a fit to all other rows."""


@dataclass(frozen=True)
class Trees:
    """Best-first trees of 1 … max_leaves leaves; the largest wins ties.

    Attributes
    ----------
    per_node : the next leaf to split is the one with the largest information gain of its own samples, as the paper
        reads; otherwise the gain counts by the number of samples, as in scikit-learn.
    """

    per_node: bool = True
    max_leaves: int = 100

    def on(self, X: Array, y: Array) -> TreeCurves:
        """Trees on one training set."""
        return TreeCurves(self, np.ascontiguousarray(X, np.float32), np.ascontiguousarray(y, np.int64))


class TreeCurves:
    """Trees on one training set; X is sorted once for all label vectors."""

    def __init__(self, models: Trees, X: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        self._models, self._X, self._y, self.n = models, X, y, len(y)
        self._grower = self._grower_on(X)

    def fits(self, Y: Array) -> tuple[Floats, Floats]:
        curves = [self._shares(growth) for growth in self._grower.grow(Y)]
        in_sample, positive = zip(*curves, strict=True)
        return np.stack(in_sample), np.stack(positive)

    def error_on(self, X_new: Array, y_new: Array, weight: Array | None = None) -> Floats:
        (growth,) = self._grower.grow(self._y[None], with_leaves=True)
        new = np.ascontiguousarray(X_new, np.float32)
        if weight is None:
            return self._wrong(self._X, growth, new, y_new) / len(y_new)
        # Weights take few values: one count per value.
        values, group = np.unique(weight, return_inverse=True)
        wrong = [self._wrong(self._X, growth, new[group == g], y_new[group == g]) for g in range(len(values))]
        return np.asarray(values @ np.stack(wrong))

    def left_out(self, folds: Array, n_folds: int) -> Floats:
        wrong = np.zeros(self._models.max_leaves)
        for fold, growth in enumerate(self._grower.grow_without(self._y, folds, n_folds)):
            out = folds == fold
            wrong += self._wrong(self._X, growth, self._X[out], self._y[out])
        return wrong / np.count_nonzero(folds < n_folds)

    def _grower_on(self, X: NDArray[np.float32]) -> Grower:
        stopping = Stopping(
            max_leaves=min(self._models.max_leaves, len(X)), max_depth=len(X), min_split=2, min_leaf=1, min_decrease=0.0
        )
        return Grower(X, "entropy", stopping, 2, None, self._models.per_node)

    def _wrong(self, X: Array, growth: Growth, X_new: Array, y_new: Array) -> NDArray[np.int64]:
        from outsample._kernels.trees.leaves import wrong_answers

        wrong = np.zeros(self._models.max_leaves, np.int64)
        answers = np.argmax(growth.sums, axis=1)
        new_labels = np.ascontiguousarray(y_new, np.int64)
        wrong_answers(X, growth.split, growth.column, growth.leaf, answers, X_new, new_labels, wrong)
        return wrong

    def _shares(self, growth: Growth) -> tuple[Floats, Floats]:
        """(in-sample error, share predicted positive) at every size, from the nodes alone."""
        zeros, ones = growth.sums.T
        nodes = np.stack([np.minimum(zeros, ones), np.where(ones > zeros, growth.mass, 0.0)])
        changes = nodes[:, 1::2] + nodes[:, 2::2] - nodes[:, growth.split]
        along = np.cumsum(np.concatenate([nodes[:, :1], changes], axis=1), axis=1) / self.n
        missing = self._models.max_leaves - along.shape[1]
        in_sample, positive = np.pad(along, ((0, 0), (0, missing)), mode="edge")
        return in_sample, positive


@dataclass(frozen=True)
class Neighbors:
    """k nearest neighbours of raw features, k = least … most; the largest k wins ties, tied votes are negative."""

    least: int = 2
    most: int = 30

    def on(self, X: Array, y: Array) -> NeighborCurves:
        """Neighbours in one training set."""
        return NeighborCurves(self, X, y)


class NeighborCurves:
    """Neighbours in one training set; one search serves every method."""

    def __init__(self, models: Neighbors, X: Array, y: Array) -> None:
        self._y, self.n = np.ascontiguousarray(y, np.int64), len(y)
        # The path orders models from simple to rich, the largest k first; here the winner of ties comes last.
        path = NeighborsPath(KNeighborsClassifier(), "n_neighbors", list(range(models.least, models.most + 1)))
        self._design = path.bind(X, TWO_CLASSES)

    def fits(self, Y: Array) -> tuple[Floats, Floats]:
        shares = self._design.confusions(Y)[:, ::-1]
        return shares[..., 0, 1] + shares[..., 1, 0], shares[..., 1].sum(axis=-1)

    def error_on(self, X_new: Array, y_new: Array, weight: Array | None = None) -> Floats:
        predicted = self._design.predict(self._y, X_new)[::-1]
        return np.average(predicted != y_new, axis=1, weights=weight)

    def left_out(self, folds: Array, n_folds: int) -> Floats:
        predicted = self._design.left_out_predictions(self._y, folds)
        if predicted is None:
            raise TypeError("neighbours by Euclidean distance can always be left out")
        judged = folds < n_folds
        return np.asarray(np.mean(predicted[::-1][:, judged] != self._y[judged], axis=1))
