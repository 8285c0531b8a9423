"""Nearest neighbours of every row, found once: by comparing all pairs, or by scikit-learn's own search."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array

from outsample.data.learners import fit
from outsample.data.tables import Table, n_rows, rows
from outsample.paths.neighbors.nearest import Neighbours, distances_to, nearest_rows
from outsample.running.arrays import NUMBERS_AT_ONCE, Array, Bools, Floats, Integers, Rows
from outsample.running.fits import uncounted_fits
from outsample.running.threads import cached_property, thread_pools

Lists = tuple[Neighbours, Floats]

# Squared distances that differ by less than twice this share count as equal.
_TIE = 1e-9
# Rows searched × rows × columns below which one thread is used: about ten milliseconds.
_SMALL_SEARCH = 50_000_000
# With no more columns than this, and more rows, a tree search is faster than comparing all pairs.
_COLUMNS_FOR_TREES = 15
_ROWS_FOR_TREES = 5_000
# Neighbours, at least, that are measured again beyond those wanted, where units differ from row to row.
_FEW_MORE = 8


class NeighborSearch:
    """The neighbours of any row among the rows of X, nearest first, equal distances by row number.

    Parameters
    ----------
    estimator : KNeighborsClassifier or KNeighborsRegressor.
    X : the table searched.
    k : the largest number of neighbours a model asks for.
    """

    def __init__(self, estimator: BaseEstimator, X: Table, k: int) -> None:
        self._X, self.k = X, k
        self.n_samples = n_rows(X)
        self.uniform = estimator.weights != "distance"
        self._estimator = estimator
        self._may_compare_pairs = k >= 1 and _is_plain(estimator) and not sparse.issparse(X)
        # Rejects what scikit-learn rejects, before anything is searched; plain numbers need no fit for that.
        numbers = isinstance(X, np.ndarray) and X.dtype.kind in "fiub"
        self._table if self._may_compare_pairs and numbers else self._searcher  # noqa: B018
        self._neighbours: Neighbours | None = None
        self._distances: Floats | None = None

    @cached_property
    def _searcher(self) -> Any:
        """scikit-learn's fitted search. It does not look at labels, but `fit` asks for some."""
        estimator = clone(self._estimator).set_params(n_neighbors=self.k)
        with uncounted_fits():
            return fit(estimator, self._X, np.zeros(self.n_samples, int))

    @cached_property
    def _table(self) -> Floats:
        table = check_array(self._X, dtype=np.float64, order="C", estimator=self._estimator, input_name="X")
        # Writeable, because kernels would be compiled once more for read-only arrays.
        return np.require(table, requirements=["C", "W"])

    def neighbours(self, depth: int | None = None) -> Neighbours:
        """The neighbours of the rows of X, each counted among its own, (n, at least `depth`).

        Searched at first use, for one neighbour more than the models need, so that leaving each row out needs no
        further search.
        """
        depth = self.k + 1 if depth is None else depth
        depth = max(self.k, min(depth, self.n_samples))
        if self._neighbours is None or self._neighbours.shape[1] < depth:
            self._neighbours, self._distances = self._compared(depth), None
            if self._neighbours is None:
                self._neighbours, self._distances = self._search(self._X, depth)
        return self._neighbours

    def among_itself(self, depth: int | None = None) -> Lists:
        """(neighbours, distances) of the rows of X, each counted among its own neighbours."""
        neighbours = self.neighbours(depth)
        if self._distances is None:
            self._distances = distances_to(self._table, neighbours)
        return neighbours, self._distances

    def _compared(self, depth: int) -> Neighbours | None:
        """The neighbours by comparing all pairs of rows, where that is the fastest way to them."""
        return nearest_rows(self._table, depth) if depth <= self.n_samples and self._compares_pairs else None

    @property
    def _compares_pairs(self) -> bool:
        """Whether comparing all pairs of rows is the fastest way to their neighbours."""
        if not self._may_compare_pairs:
            return False
        return self.n_samples <= _ROWS_FOR_TREES or self._table.shape[1] > _COLUMNS_FOR_TREES

    def tied(self) -> bool:
        """Whether two other rows are equally far from some row, up to rounding, so that their order is open."""
        neighbours, distances = self.among_itself()
        own = neighbours == np.arange(self.n_samples)[:, None]
        others = np.sort(np.where(own, np.inf, distances), axis=1)
        nearer, farther = others[:, :-1], others[:, 1:]
        # Where scikit-learn compares all pairs, |x|² − 2xz + |z|² loses the digits of the larger terms.
        squares = np.square(self._table).sum(axis=1) if self._compares_pairs else np.zeros(self.n_samples)
        lost = 8 * self._searcher.n_features_in_ * np.finfo(float).eps * (squares[:, None] + nearer**2)
        equal = (farther - nearer) * (farther + nearer) <= 2 * _TIE * nearer**2 + lost
        return bool((np.isfinite(farther) & equal).any())

    def of(self, X_new: Table) -> Lists:
        """(neighbours, distances) of new rows, (n_new, k)."""
        return self._search(X_new, self.k)

    def _search(self, X: Table, depth: int) -> Lists:
        with _threads_worth(n_rows(X) * self.n_samples * self._searcher.n_features_in_):
            distances, neighbours = self._searcher.kneighbors(X, n_neighbors=depth)
        distances = np.ascontiguousarray(distances, dtype=np.float64)
        neighbours = np.array(neighbours, dtype=np.int32, order="C")
        kernels().order_ties(distances, neighbours)
        return neighbours, distances

    def outside_folds(self, folds: Integers) -> Lists:
        """The k nearest neighbours of each row that are not in its own fold, (n, k) each.

        All rows are searched deep enough for most folds; the search is repeated, deeper, for the rows that find fewer
        than k neighbours outside their fold.
        """
        largest = np.unique(folds, return_counts=True)[1].max()
        if self.k > self.n_samples - largest:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {self.k}, "
                f"n_samples_fit = {self.n_samples - largest} outside the largest fold"
            )
        neighbours, distances = self.among_itself(_depth_for(self.k, int(largest), self.n_samples))
        kept = np.empty((self.n_samples, self.k), np.int32), np.empty((self.n_samples, self.k))
        found = kernels().drop_same_fold(neighbours, distances, folds, folds, *kept)
        short = np.flatnonzero(found < self.k)
        depth = neighbours.shape[1]
        while len(short):
            depth = min(2 * depth, self.n_samples)
            deeper = self._search(rows(self._X, short), depth)
            more = np.empty((len(short), self.k), np.int32), np.empty((len(short), self.k))
            found = kernels().drop_same_fold(*deeper, folds, folds[short], *more)
            kept[0][short], kept[1][short] = more
            short = short[found < self.k]
        return kept

    @property
    def rescales(self) -> bool:
        """Whether `without_own_scales` knows the distances: Euclidean ones between rows of numbers."""
        return _is_euclidean(self._estimator) and not self._estimator.metric_params and not sparse.issparse(self._X)

    def without_own_scales(self, scale: Floats) -> Lists:
        """The k nearest other rows of each row, (n, k) each, its distances in units that differ from row to row.

        A row's distance in its own units is at least its distance in common units over the largest of its `scale`. So
        the neighbours in common units, a few more than k, are measured again, and the k nearest of them are right if
        they are nearer than any other row can be. Rows for which they are not take a longer list.

        Parameters
        ----------
        scale : (n, p) the unit of each column as row i measures it, in units of the columns of X.
        """
        kept = np.empty((self.n_samples, self.k), np.int32), np.empty((self.n_samples, self.k))
        which, depth = np.arange(self.n_samples), min(self.k + 1 + max(_FEW_MORE, self.k // 4), self.n_samples)
        lists = self.among_itself(depth)
        while len(which):
            short = np.zeros(len(which), bool)
            for start in range(0, len(which), step := max(1, NUMBERS_AT_ONCE // (lists[0].shape[1] * scale.shape[1]))):
                some = slice(start, start + step)
                own = which[some]
                found, distances, sure = self._measured_again(own, lists[0][some], lists[1][some], scale[own])
                kept[0][own], kept[1][own], short[some] = found, distances, ~sure
            which = which[short]
            depth = min(2 * depth, self.n_samples)
            lists = self._search(rows(self._X, which), depth) if len(which) else lists
        return kept

    def _measured_again(
        self, own: Rows, neighbours: Neighbours, distances: Floats, scale: Floats
    ) -> tuple[Neighbours, Floats, Bools]:
        """(neighbours, distances (rows, k), whether no row outside the list can be nearer) of some rows."""
        by_number = np.argsort(neighbours, axis=1)
        others = np.take_along_axis(neighbours, by_number, axis=1)
        apart = (self._table[own][:, None] - self._table[others]) / scale[:, None]
        again = np.sqrt(np.einsum("ijk,ijk->ij", apart, apart))
        again[others == own[:, None]] = np.inf
        order = np.argsort(again, axis=1, kind="stable")[:, : self.k]
        nearest = np.take_along_axis(again, order, axis=1)
        outside = distances[:, -1] / scale.max(axis=1)
        sure = (nearest[:, -1] * (1 + _TIE) < outside) | (neighbours.shape[1] == self.n_samples)
        return np.take_along_axis(others, order, axis=1), nearest, sure

    def shares(self, distances: Floats) -> Floats:
        """Weight of each neighbour's vote, as in scikit-learn: 1, or 1/distance; rows at distance zero vote alone."""
        if self.uniform:
            return np.ones_like(distances)
        with np.errstate(divide="ignore"):
            shares = 1.0 / distances
        infinite = np.isinf(shares)
        at_zero = infinite.any(axis=1)
        shares[at_zero] = infinite[at_zero]
        return shares


def _is_plain(estimator: BaseEstimator) -> bool:
    """Whether an estimator takes uniform votes by Euclidean distance and does not ask for a tree search."""
    p = estimator.p
    usual = isinstance(estimator.leaf_size, int) and estimator.leaf_size >= 1 and isinstance(p, int | float) and p > 0
    return bool(
        _is_euclidean(estimator)
        and usual
        and not estimator.metric_params
        and estimator.weights in (None, "uniform")
        and estimator.algorithm in ("auto", "brute")
        and (estimator.n_jobs is None or isinstance(estimator.n_jobs, int))
    )


def _is_euclidean(estimator: BaseEstimator) -> bool:
    return estimator.metric in ("euclidean", "l2") or (estimator.metric == "minkowski" and estimator.p == 2)


def kernels() -> Any:
    """The compiled kernels, loaded when they are first needed: the compiler is slow to import."""
    from outsample._kernels import votes as neighbors

    return neighbors


def _threads_worth(work: int) -> AbstractContextManager[Any]:
    """One thread for small searches: on a busy machine several would mostly wait for each other."""
    return thread_pools().limit(limits=1) if work < _SMALL_SEARCH else nullcontext()


def _depth_for(k: int, fold: int, n: int) -> int:
    """How many neighbours to search so that k of them nearly always lie outside a fold of this size.

    About depth × (fold − 1)/n of them lie inside, give or take three standard deviations.
    """
    others = (fold - 1) / n
    return math.ceil((k + 3.0 * math.sqrt(k * others)) / (1.0 - others)) + 1


def own_positions(neighbours: Array) -> NDArray[np.intp]:
    """Position of each row in its own list, (n,); the list's length where duplicates of the row fill the list."""
    is_own = neighbours == np.arange(len(neighbours))[:, None]
    return np.asarray(np.where(is_own.any(axis=1), is_own.argmax(axis=1), neighbours.shape[1]))
