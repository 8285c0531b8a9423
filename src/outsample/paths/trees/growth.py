"""Decision trees grown on one presorted X: label vectors in, every tree along its growth out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from outsample.paths.base import Draws
from outsample.running.arrays import Array, Floats, Integers
from outsample.running.fits import count_fits
from outsample.running.threads import in_order, n_threads

if TYPE_CHECKING:
    from outsample._kernels.trees import Rules, Workspace

MEMORY_BUDGET = 512 * 2**20
"""Bytes that all threads together may use while trees grow."""

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Stopping:
    """When growth stops: scikit-learn's limits, as counts for n samples."""

    max_leaves: int
    max_depth: int
    min_split: int
    min_leaf: int
    min_decrease: float

    @classmethod
    def of(cls, estimator: BaseEstimator, n: int, max_leaves: int) -> Stopping:
        """The limits of an estimator; fractions become counts as scikit-learn makes them."""
        leaf, split = estimator.min_samples_leaf, estimator.min_samples_split
        min_leaf = int(leaf) if isinstance(leaf, Integral) else math.ceil(leaf * n)
        min_split = int(split) if isinstance(split, Integral) else max(2, math.ceil(split * n))
        depth = np.iinfo(np.int32).max if estimator.max_depth is None else estimator.max_depth
        return cls(
            max_leaves=max(1, min(max_leaves, n // max(1, min_leaf))),
            max_depth=int(depth),
            min_split=max(min_split, 2 * min_leaf),
            min_leaf=min_leaf,
            min_decrease=float(estimator.min_impurity_decrease),
        )


@dataclass(frozen=True)
class Growth:
    """One tree as it grew: split j turned node `split[j]` into nodes 2j + 1 and 2j + 2.

    Attributes
    ----------
    split : (leaves − 1,)
    mass : (nodes,) weight of each node
    sums : (nodes, K) weight of each class, or (nodes, 1) weighted sum of y − `center`
    center, squares : of a regression, the origin of the sums and the weighted sum of (y − center)²
    leaf : (n,) the node each sample ends in, if asked for; −1 for samples left out
    column : (leaves − 1,) the column of each split
    """

    split: Integers
    mass: Floats
    sums: Floats
    center: float
    squares: float
    leaf: NDArray[np.int32]
    column: Integers

    def leaves_of(self, X_new: NDArray[np.float32], X: NDArray[np.float32]) -> NDArray[np.intp]:
        """The node each new row ends in, (rows,), by thresholds halfway between the rows X that were fitted."""
        threshold, split_of = self._thresholds(X), np.full(len(self.mass), -1)
        split_of[self.split] = np.arange(len(self.split))
        leaf, on_the_way = np.zeros(len(X_new), np.intp), np.arange(len(X_new))
        while on_the_way.size:
            j = split_of[leaf[on_the_way]]
            on_the_way, j = on_the_way[j >= 0], j[j >= 0]
            above = X_new[on_the_way, self.column[j]] > threshold[j]
            leaf[on_the_way] = 2 * j + 1 + above
        return leaf

    def _thresholds(self, X: NDArray[np.float32]) -> Floats:
        """What each split compares its column with, (leaves − 1,), found on the way of the fitted rows to the root."""
        below = np.full(len(self.split), -np.inf, np.float32)
        above = np.full(len(self.split), np.inf, np.float32)
        rows = np.flatnonzero(self.leaf > 0)
        node = self.leaf[rows].astype(np.intp)
        while rows.size:
            j = (node - 1) // 2
            value, left = X[rows, self.column[j]], node % 2 == 1
            np.maximum.at(below, j[left], value[left])
            np.minimum.at(above, j[~left], value[~left])
            node = self.split[j].astype(np.intp)
            rows, node = rows[node > 0], node[node > 0]
        return _halfway(below, above)


def _halfway(below: NDArray[np.float32], above: NDArray[np.float32]) -> Floats:
    """Halfway between pairs of values, as scikit-learn has it: the lower one where their middle is the upper one."""
    low, high = below.astype(np.float64), above.astype(np.float64)
    middle = low / 2.0 + high / 2.0
    return np.where((middle == high) | ~np.isfinite(middle), low, middle)


class _Origin(NamedTuple):
    """Origin and unit of labels as whole numbers: `unit` times their sums are sums of y − `center`."""

    center: float = 0.0
    unit: float = 1.0
    squares: float = 0.0


class Grower:
    """Grows a tree for each of many label vectors on the same X.

    Ties between splits are resolved by a fixed rule (see `_kernels.trees`), never at random.

    Parameters
    ----------
    X : (n, d) float32, finite
    criterion : "gini", "entropy", "log_loss" or "squared_error"
    stopping : Stopping
    n_classes : number of classes, 0 for regression
    weight : (n,) positive weights or None
    per_node : which leaf is split next: the one with the largest gain per unit of its own weight, or (False, as in
        scikit-learn) with the largest gain times its weight
    """

    def __init__(
        self,
        X: NDArray[np.float32],
        criterion: str,
        stopping: Stopping,
        n_classes: int,
        weight: Floats | None,
        per_node: bool = False,
    ) -> None:
        # Importing numba takes a third of a second, which only the growth of a tree should cost.
        from outsample._kernels import trees as kernel

        self._kernel = kernel
        self.n_samples = X.shape[0]
        self._n_classes = n_classes
        self._weight = np.empty(0) if weight is None else np.ascontiguousarray(weight, np.float64)
        self._total_weight = float(self.n_samples if weight is None else self._weight.sum())
        self._entropy = criterion in ("entropy", "log_loss")
        self._table = kernel.presort(X, n_threads())
        self._mass = np.empty(self._weight.size, np.int64)
        self._mass_unit = 1.0
        if weight is not None:
            self._mass_unit = _fixed_point(self._weight, np.rint, np.empty_like(self._weight), self._mass)
        self._least_decrease = (stopping.min_decrease - _EPS) * self._total_weight
        self._rules = self._make_rules(stopping)._replace(per_node=per_node)
        if self._rules.packed:
            self._sizes = kernel.bin_sizes(self._table)
            self._together = kernel.lanes_for(self._sizes)
        else:
            self._root = kernel.unlabelled_root(self._table, self._rules.n_channels, self._mass)
            self._together = 1
        self._spaces: list[Workspace] = []

    def grow(self, Y: Array | Draws, with_leaves: bool = False) -> Iterator[Growth]:
        """The tree of each label vector of Y (draws, n), in order; draws are spread over threads within bounded memory.

        Y is read a few label vectors at a time, so that these may be drawn only then.
        """
        draws = len(Y)
        count_fits(draws)
        threads, n_histograms = self._shape_of_work(draws)
        spaces = [self._workspace(n_histograms) for _ in range(threads)]
        together = max(1, min(self._together, math.ceil(draws / threads)))
        blocks = [range(first, min(first + together, draws)) for first in range(0, draws, together)]

        def trees(block: range, thread: int) -> list[Growth]:
            tasks = self._tasks(Y[block.start : block.stop])
            return [self._tree(y, root, spaces[thread], with_leaves) for y, root in tasks]

        for growths in in_order(trees, blocks, threads):
            yield from growths
        self._spaces.extend(spaces)

    def grow_without(self, y: Array, folds: Integers, n_folds: int) -> Iterator[Growth]:
        """The tree grown on all rows but those of one fold, for folds 0 … n_folds − 1, with leaves.

        X stays sorted: the rows of a fold are taken out of the histograms. For two classes without weights only.

        Parameters
        ----------
        y : (n,) the labels
        folds : (n,) the fold of each row
        """
        if not self._rules.packed:
            raise ValueError("rows can only be left out of trees of two classes without weights")
        count_fits(n_folds)
        threads, n_histograms = self._shape_of_work(n_folds)
        spaces = [self._workspace(n_histograms) for _ in range(threads)]
        ((labels, root),) = self._tasks(y[None])

        def tree(fold: int, thread: int) -> Growth:
            out = np.flatnonzero(folds == fold)
            rest = self._kernel.root_without(self._table, root, labels, out)
            return self._tree(labels, rest, spaces[thread], with_leaves=True, out=out)

        yield from in_order(tree, range(n_folds), threads)
        self._spaces.extend(spaces)

    def _tasks(self, Y: Array) -> list[tuple[Array, Integers]]:
        """Each label vector with the histogram of its root; channels of labels are counted by the kernel."""
        if not self._rules.packed:
            return [(y, self._root) for y in Y]
        Y = Y.astype(np.uint8, copy=False)
        return list(zip(Y, self._kernel.roots_of(self._table, self._sizes, Y), strict=True))

    def _workspace(self, n_histograms: int) -> Workspace:
        """Memory for one thread: of an earlier call if it is not in use, since several threads may call `grow`."""
        with suppress(IndexError):
            while len((space := self._spaces.pop()).counts) != n_histograms:
                pass
            return space
        return self._kernel.Workspace(self._table, self._rules, n_histograms)

    def _tree(
        self, y: Array, root: Integers, space: Workspace, with_leaves: bool, out: Integers | None = None
    ) -> Growth:
        points, origin, rules = self._points(y, space)
        grown = self._kernel.grow(self._table, points, rules, space, with_leaves, root, out)
        mass, sums = self._node_sums(grown.total, origin.unit)
        return Growth(grown.split, mass, sums, origin.center, origin.squares, grown.leaf, grown.column)

    def _make_rules(self, stop: Stopping) -> Rules:
        weighted = self._weight.size > 0
        packed = 0 < self._n_classes <= 2 and not weighted
        n_classes = max(self._n_classes, 2) if self._n_classes else 0
        counts = np.arange(self.n_samples + 1, dtype=np.float64)
        with_table = self._entropy and not weighted
        per_gain = math.log(2.0) if self._entropy else 0.5
        return self._kernel.Rules(
            packed=packed,
            n_channels=1 if packed else (n_classes or 3) + weighted,
            n_classes=n_classes,
            weighted=weighted,
            entropy=self._entropy,
            max_leaves=stop.max_leaves,
            max_depth=stop.max_depth,
            min_split=stop.min_split,
            min_leaf=stop.min_leaf,
            least_gain=self._least_decrease * per_gain / self._mass_unit,
            least_spread=0.0,
            square_unit=1.0,
            x_log_x=counts * np.log(np.maximum(counts, 1.0)) if with_table else np.empty(0),
        )

    def _points(self, y: Array, space: Workspace) -> tuple[Array, _Origin, Rules]:
        """(points of `_kernels.trees.grow` in the memory of `space`, their origin and unit, rules in that unit)."""
        rules, points = self._rules, space.points
        if rules.packed:
            return y, _Origin(), rules
        if rules.n_classes:
            points[0], points[1] = y, self._mass if rules.weighted else 1
            return points, _Origin(unit=self._mass_unit), rules
        values, (off, room), first = np.ascontiguousarray(y, np.float64), space.values, 1 + rules.weighted
        lowest, highest = float(values.min()), float(values.max())
        center = _round_center(float(values.mean()), highest - lowest)
        amounts = np.subtract(values, center, out=off)
        farthest = max(highest - center, center - lowest)
        points[0], points[-1] = 1, values.view(np.int64)
        if rules.weighted:
            points[1], amounts = self._mass, off * self._weight
        unit = _fixed_point(amounts, np.rint, room, points[first])
        squares = np.multiply(amounts, off, out=off)
        coarse_unit = _fixed_point(squares, np.ceil, room, points[first + 1])
        noise = 1e-13 * farthest * farthest
        # Gains in the kernel have the unit (unit of sums)² / (unit of mass); the squares are brought to it.
        per_gain = self._mass_unit / unit**2
        own = rules._replace(
            square_unit=coarse_unit * per_gain,
            least_gain=self._least_decrease * per_gain,
            least_spread=(_EPS - noise) * self._mass_unit * per_gain,
        )
        return points, _Origin(center, unit, float(squares.sum())), own

    def _node_sums(self, total: Integers, unit: float) -> tuple[Floats, Floats]:
        """(weight, sums of labels) of every node from its channels."""
        rules, first = self._rules, 1 + self._rules.weighted
        if rules.packed:
            size, ones = total[:, 0] >> self._kernel.SHIFT, total[:, 0] & self._kernel.LOW_HALF
            return size.astype(np.float64), np.stack([size - ones, ones], axis=1).astype(np.float64)
        counted = total[:, first - 1]
        mass = counted.astype(np.float64) * self._mass_unit
        if not rules.n_classes:
            return mass, total[:, first, None].astype(np.float64) * unit
        known = total[:, first:]
        sums = np.concatenate([known, (counted - known.sum(axis=1))[:, None]], axis=1)
        return mass, sums.astype(np.float64) * self._mass_unit

    def _shape_of_work(self, draws: int) -> tuple[int, int]:
        """(number of threads, number of histograms of each) within the memory budget."""
        n_bytes = self._kernel.Workspace.n_bytes
        fixed = n_bytes(self._table, self._rules, 0)
        each = n_bytes(self._table, self._rules, 1) - fixed
        threads = max(1, min(n_threads(), draws))
        while threads > 1 and threads * (fixed + 8 * each) > MEMORY_BUDGET:
            threads -= 1
        room = (MEMORY_BUDGET // threads - fixed) // max(each, 1)
        return threads, int(min(self._rules.max_leaves + 1, max(room, 2)))


def _fixed_point(amounts: Floats, rounded: np.ufunc, room: Floats, integers: Integers) -> float:
    """Write `amounts` as integers, in a unit such that all their sums fit into int64; returns the unit, a power of two.

    `room` is overwritten; it is as long as the amounts.
    """
    largest = max(float(amounts.max()), -float(amounts.min()))
    if largest == 0.0:
        integers[:] = 0
        return 1.0
    bits = 62 - math.ceil(math.log2(amounts.size + 1)) - math.ceil(math.log2(largest) + 1e-9)
    unit = 2.0 ** -min(bits, 1000)
    integers[:] = rounded(np.divide(amounts, unit, out=room), out=room)
    return unit


def _round_center(mean: float, spread: float) -> float:
    """A number near the mean with few binary digits, so that y − center is as exact as y."""
    if spread == 0.0:
        return mean
    step = 2.0 ** math.floor(math.log2(spread) - 1)
    return round(mean / step) * step
