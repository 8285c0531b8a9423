"""Nearest neighbours along `n_neighbors`: one search, votes accumulated over k for all label draws."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from outsample.data.scalers import Rescaling
from outsample.data.tables import Table, n_rows
from outsample.paths.base import Abilities, Design, GridPath, Smoother
from outsample.paths.neighbors.lists import Lists, NeighborSearch, kernels, own_positions
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import n_threads, over_slices

# Metrics whose scale is learned from the rows searched, unless the user fixes it.
_LEARNED_METRICS = frozenset({"seuclidean", "mahalanobis"})
# Rows × draws for which a second thread is not worth waking.
_SMALL_BATCH = 10_000


class NeighborsPath(GridPath):
    """k-nearest-neighbour classifiers and regressors along `n_neighbors`, any metric, any search algorithm.

    Every model uses the first k entries of one list per row. For uniform votes by Euclidean distance the lists come
    from comparing all pairs of rows; other metrics, weights and tree algorithms use scikit-learn's own search with the
    largest k. Neighbours at exactly the same distance are taken in order of their row number; which of those tied with
    the last one are in the list at all depends on the search. scikit-learn keeps whichever of them its search met
    first, which changes with k and the algorithm. Predictions differ only where the k-th and the next neighbour are
    equally far, up to the rounding of scikit-learn's distances, or where weighted votes for two classes are equal.
    Weights given by a callable are not served here.
    """

    responses = frozenset({"predict", "predict_proba"})
    takes_weight = False
    same_digits = True
    from_one_fit = True

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        return estimator.weights in (None, "uniform", "distance")

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        return NeighborsDesign(self, X, classes, weight)


class _Votes:
    """Models that share one search, sorted by their number of neighbours, as the kernels need them."""

    def __init__(self, search: NeighborSearch, ks: NDArray[np.int64], models: NDArray[np.intp]) -> None:
        order = np.argsort(ks, kind="stable")
        self.search, self.ks, self.slots = search, ks[order], models[order]

    def prepared(self, lists: Lists) -> tuple[Array, ...]:
        """(neighbours, shares, numbers of neighbours, positions of the models): the first arguments of every kernel."""
        neighbours, distances = lists
        return neighbours, self.search.shares(distances), self.ks, self.slots


class NeighborsDesign(Design):
    """Neighbour lists of one X; a label vector costs only the counting of its votes.

    `weight` never changes a fit; it only weighs rows in `confusions` and `moments`.
    """

    abilities = Abilities(sums=frozenset({"confusion", "moments"}))

    def __init__(self, path: NeighborsPath, X: Table, classes: Array | None, weight: Floats | None) -> None:
        self.classes, self.weight = classes, weight
        self.n_models = len(path)
        ks = np.array([operator.index(params["n_neighbors"]) for params in path.params], np.int64)
        if ks.min() < 1:
            # Raises scikit-learn's own complaint.
            NeighborSearch(path.estimator, X, int(ks.min()))
        self._searches = [
            _Votes(NeighborSearch(path.estimator, X, int(ks[models].max())), ks[models], models)
            for models in _same_search(path.estimator, ks, X)
        ]
        self.n_samples = self._searches[0].search.n_samples
        self._in_sample: list[tuple[Array, ...]] | None = None
        metric_params = path.estimator.metric_params or {}
        metric_is_fixed = path.estimator.metric not in _LEARNED_METRICS or bool(metric_params)
        self.abilities = replace(self.abilities, smoother=classes is None, leaves_out=metric_is_fixed)

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        for y in Y:
            self._learn(y)
        return np.stack([self._responses(y, self._among_itself(), self.n_samples, response) for y in Y])

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        self._learn(y)
        votes = [shared.prepared(shared.search.of(X_new)) for shared in self._searches]
        return self._responses(y, votes, len(votes[0][0]), response)

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        if not self.abilities.leaves_out:
            return None
        self._learn(y)
        numbered = np.unique(folds, return_inverse=True)[1].astype(np.int64)
        votes = [shared.prepared(shared.search.outside_folds(numbered)) for shared in self._searches]
        return self._responses(y, votes, self.n_samples, response)

    def leaves_out_behind(self, scaler: StandardScaler) -> bool:
        return not scaler.with_std or all(shared.search.rescales for shared in self._searches)

    def left_out_behind(self, scales: Rescaling, y: Array, response: str = "predict") -> tuple[Array, Rows] | None:
        if scales.plain:
            found = self.left_out_predictions(y, scales.fold, response)
            return None if found is None else (found, np.empty(0, np.intp))
        # A fold has units of its own, for which the neighbours of its rows are searched among the others.
        if not scales.single_rows or max(shared.search.k for shared in self._searches) >= self.n_samples:
            return None
        self._learn(y)
        units = scales.of_rows()
        lists = [shared.search.without_own_scales(units.scale) for shared in self._searches]
        votes = [shared.prepared(found) for shared, found in zip(self._searches, lists, strict=True)]
        return self._responses(y, votes, self.n_samples, response), scales.fold[units.doubtful]

    @property
    def tied(self) -> bool:
        return any(shared.search.tied() for shared in self._searches)

    @property
    def smoother(self) -> Smoother | None:
        if not self.abilities.smoother:
            return None
        leverages = np.empty((self.n_models, self.n_samples))
        for neighbours, shares, ks, slots in self._among_itself():
            position = own_positions(neighbours)
            inside = np.minimum(position, neighbours.shape[1] - 1)
            own = np.where(position < ks[:, None], shares[np.arange(self.n_samples), inside], 0.0)
            leverages[slots] = own / np.cumsum(shares, axis=1)[:, ks - 1].T
        return Smoother(leverages, np.ones_like(leverages))

    def confusions(self, Y: Array, seeds: Sequence[int] | None = None) -> Floats:
        counts = np.zeros((len(Y), self.n_models, self._n_classes, self._n_classes))
        for y in Y:
            self._learn(y)
        if self._n_classes == 2 and self.weight is None and self._searches[0].search.uniform:
            for shared in self._searches:
                _two_classes(Y, shared.search.neighbours(), shared.ks, shared.slots, counts)
            return np.asarray(counts / self.n_samples)
        for votes in self._among_itself():
            tally = partial(kernels().confusion_counts, *votes)
            _over_draws(tally, np.ascontiguousarray(Y, dtype=np.int64), (self._row_weight,), counts)
        return np.asarray(counts / self._row_weight.sum())

    def moments(self, Y: Array, center: float, seeds: Sequence[int] | None = None) -> Floats:
        if Y.ndim > 2:
            return super().moments(Y, center, seeds)
        for y in Y:
            self._learn(y)
        values = np.ascontiguousarray(Y, dtype=np.float64)
        sums = np.zeros((len(Y), self.n_models, 2))
        for votes in self._among_itself():
            settings = float(center), self._row_weight
            _over_draws(partial(kernels().value_moments, *votes), values, settings, sums)
        return np.asarray(sums / self._row_weight.sum())

    @property
    def _row_weight(self) -> Floats:
        if self.weight is None:
            return np.ones(self.n_samples)
        return np.ascontiguousarray(self.weight, dtype=np.float64)

    def _among_itself(self) -> list[tuple[Array, ...]]:
        if self._in_sample is None:
            self._in_sample = [shared.prepared(shared.search.among_itself()) for shared in self._searches]
        return self._in_sample

    def _responses(self, y: Array, votes: list[tuple[Array, ...]], rows: int, response: str) -> Array:
        """Answers of every model at the rows whose lists are in `votes`, (models, rows[, K or outputs])."""
        if self.classes is None:
            if y.ndim > 1:
                outputs = [self._responses(column, votes, rows, response) for column in y.T]
                return np.stack(outputs, axis=-1)
            values = np.ascontiguousarray(y, dtype=np.float64)
            out = np.empty((self.n_models, rows))
            for group in votes:
                kernels().predicted_values(*group, values, out)
            return out
        codes = np.ascontiguousarray(y, dtype=np.int64)
        if response == "predict":
            winners = np.empty((self.n_models, rows), np.int64)
            for group in votes:
                kernels().predicted_classes(*group, codes, self._n_classes, winners)
            return winners
        shares = np.empty((self.n_models, rows, self._n_classes))
        for group in votes:
            kernels().class_shares(*group, codes, shares)
        return shares


def _same_search(estimator: BaseEstimator, ks: NDArray[np.int64], X: Table) -> list[NDArray[np.intp]]:
    """Positions of the models for which scikit-learn uses the same algorithm, an array for each.

    "auto" changes from trees to brute force once k reaches half of the rows.
    """
    if estimator.algorithm != "auto":
        return [np.arange(len(ks))]
    many = ks >= n_rows(X) // 2
    return [models for models in (np.flatnonzero(~many), np.flatnonzero(many)) if len(models)]


def _over_draws(kernel: Callable[..., None], Y: Array, settings: tuple[Any, ...], out: Floats) -> None:
    """`kernel(labels, *settings, results)` on slices of the draws, in threads; kernels release Python's lock."""
    _in_slices(lambda first, last: kernel(Y[first:last], *settings, out[first:last]), Y)


def _two_classes(Y: Array, neighbours: Array, ks: Array, slots: Array, counts: Floats) -> None:
    """Counts of (label, prediction) for two classes and rows of equal weight, written into `counts`.

    A 64-bit word counts the votes of several draws at once, a few bits for each.
    """
    from outsample._kernels.options import lane_bits

    bits = lane_bits(2 * int(ks[-1]))

    def count(first: int, last: int) -> None:
        words, raised = np.empty(Y.shape[1], np.uint64), np.empty(len(ks), np.uint64)
        room = words, raised, np.zeros((2, len(ks)), np.uint64)
        for start in range(first, last, 64 // bits):
            few = slice(start, min(start + 64 // bits, last))
            predicted = np.zeros((2, len(ks), few.stop - start), np.int64)
            labels = np.ascontiguousarray(Y[few], np.uint8)
            kernels().two_class_counts(neighbours, ks, labels, bits, *room, predicted)
            of_one, both = predicted[0].T, predicted[1].T
            has_one = Y[few].sum(axis=1)[:, None]
            counts[few, slots, 0, 0] = Y.shape[1] - has_one - of_one + both
            counts[few, slots, 0, 1] = of_one - both
            counts[few, slots, 1, 0] = has_one - both
            counts[few, slots, 1, 1] = both

    _in_slices(count, Y)


def _in_slices(work: Callable[[int, int], None], Y: Array) -> None:
    """work(first, last) on slices of the draws, in threads where there is enough to do."""
    over_slices(work, len(Y), n_threads() if Y.size > _SMALL_BATCH else 1)
