"""Growing decision trees on a presorted table: what callers pass to the kernels, checked before it gets there.

The best split of a node is exact, found from counts per bin. The gains at bin edges are known from the counts; what
splits inside a bin may gain is bounded. Every gain is a convex function of the left side's sums, so for few classes
nothing inside a bin gains more than the corners it could pass: some classes first, then the others. And every gain is
at most a chi-square, the squared distance of those sums from what the node's mean would give, which inside a bin
cannot exceed the larger of its values at the two edges by more than the bin's own spread allows (Cauchy–Schwarz).
Only bins whose bound beats the best split so far are opened and scanned sample by sample.

Equal gains: the lower column, then the lower position; of leaves with equal gains the older one is split first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outsample._kernels.trees.channels import Scratch as ChannelScratch
from outsample._kernels.trees.channels import grow_channels, make_scratch
from outsample._kernels.trees.classes import FEW_CLASSES
from outsample._kernels.trees.gains import LOW_HALF, RULES, SHIFT
from outsample._kernels.trees.histograms import bin_sizes, lanes_for, roots_of, unlabelled_root
from outsample._kernels.trees.leaves import LEAF, make_place, n_listed, plant
from outsample._kernels.trees.packed import Scratch as PackedScratch
from outsample._kernels.trees.packed import grow_packed
from outsample._kernels.trees.presort import FINENESS, LARGEST_SORTED, Presorted, presort

__all__ = [
    "LOW_HALF",
    "SHIFT",
    "Grown",
    "Presorted",
    "Rules",
    "Workspace",
    "bin_sizes",
    "grow",
    "lanes_for",
    "presort",
    "roots_of",
    "unlabelled_root",
    "warmup",
]


class Rules(NamedTuple):
    """How labels are summed up and when growth stops.

    Attributes
    ----------
    packed : two classes without weights (`trees_packed`), else channels (`trees_channels`)
    n_channels, n_classes : numbers; no classes for real values
    weighted, entropy : whether there is a channel of masses; entropy or Gini
    max_leaves, max_depth, min_split, min_leaf : limits of growth
    least_gain : smallest gain worth a split, in units of the channels
    least_spread : real values that vary less are not split
    square_unit : brings the channel of squares to the scale of squared sums
    x_log_x : (n + 1,) k ln k for counts, empty with weights or without entropy
    per_node : leaves are split in order of gain per unit of mass, not of gain; the splits are the same
    """

    packed: bool
    n_channels: int
    n_classes: int
    weighted: bool
    entropy: bool
    max_leaves: int
    max_depth: int
    min_split: int
    min_leaf: int
    least_gain: float
    least_spread: float
    square_unit: float
    x_log_x: NDArray[np.float64]
    per_node: bool = False

    def record(self) -> Any:
        """What a kernel needs of them."""
        record = np.zeros(1, RULES).view(np.recarray)[0]
        for name in set(RULES.names or ()) & set(self._fields):
            record[name] = getattr(self, name)
        record.small, record.first = LARGEST_SORTED, 1 + self.weighted
        record.fine = 1 if self.n_classes and not self.packed else FINENESS
        return record

    def shape_of_points(self, n: int) -> tuple[int, ...]:
        """The shape of what n samples add to their nodes, see `grow`."""
        return (n,) if self.packed else (2 if self.n_classes else self.n_channels + 1, n)


class Workspace:
    """Scratch memory of one thread; see `trees_leaves` for `place`.

    Attributes
    ----------
    rules : what the kernel knows of the rules, but for the floors, which `grow` sets
    points, values : room for what `grow` is called with, unless it is packed, and for making that of real values
    """

    def __init__(self, table: Presorted, rules: Rules, n_histograms: int) -> None:
        d, n = table.columns.order.shape
        cells, leaves, channels = int(table.offsets[0, -1]), rules.max_leaves, rules.n_channels
        n_histograms = max(n_histograms, 2)
        self.place, self.rules = make_place(n, leaves, n_histograms), rules.record()
        self.counts = np.empty((n_histograms, cells * channels), np.int64)
        self.sums = np.empty((leaves, channels), np.int64)
        self.points = np.empty(0 if rules.packed else rules.shape_of_points(n), np.int64)
        self.values = np.empty((0 if rules.n_classes else 2, n))
        # One more key than a leaf has: the next one is written before it is known to belong.
        keys = np.empty((2, n + 1), np.int64)
        self.scratch: PackedScratch | ChannelScratch
        if rules.packed:
            groups, worth, marked = (np.empty(cells + d, dtype) for dtype in (np.int64, np.float64, np.bool_))
            bins, picked = (np.empty((rows, cells + 1), np.int64) for rows in (3, 2))
            self.scratch = PackedScratch(groups, worth, bins, np.empty(cells), marked, picked, keys)
        else:
            self.scratch = make_scratch(cells, d, channels, rules.n_classes, keys)

    @staticmethod
    def n_bytes(table: Presorted, rules: Rules, n_histograms: int) -> int:
        """Size of one thread's memory, its label vector included."""
        n, cells = table.columns.order.shape[1], int(table.offsets[0, -1])
        per_leaf = LEAF.itemsize + 8 * (5 + 3 * rules.n_channels)
        per_sample = 8 + 4 * n_listed(n, rules.max_leaves) // n + 8 * (2 * rules.n_channels + 6)
        per_cell = 136 + 24 * rules.n_classes + 8 * rules.n_channels * (n_histograms + 2)
        return int(n * per_sample + cells * per_cell + rules.max_leaves * per_leaf)


class Grown(NamedTuple):
    """A tree as it grew: split j turned node `split[j]` into nodes 2j + 1 (left) and 2j + 2 (right).

    Attributes
    ----------
    split : (leaves − 1,) int64
    column : (leaves − 1,) int64
        The column each split divides by.
    total : (2 leaves − 1, channels) int64
        Channels of every node.
    leaf : (n,) int32 or (0,)
        The node every sample ends in, where wanted.
    """

    split: NDArray[np.int64]
    column: NDArray[np.int64]
    total: NDArray[np.int64]
    leaf: NDArray[np.int32]


def grow(
    table: Presorted, points: NDArray[Any], rules: Rules, space: Workspace, with_leaf: bool, root: NDArray[np.int64]
) -> Grown:
    """Grow one tree.

    Parameters
    ----------
    points : (n,) uint8 or (rows, n) int64
        Packed: the class. Else see `trees_channel_gains`.
    root : packed histogram of the whole table; else what it has whatever the labels. See `trees_roots`.
    """
    n = table.columns.order.shape[1]
    shape = rules.shape_of_points(n)
    dtype = np.dtype(np.uint8 if rules.packed else np.int64)
    n_cells = int(table.offsets[0, -1]) * rules.n_channels
    if points.shape != shape or points.dtype != dtype or space.place.state.size != n or root.shape != (n_cells,):
        raise ValueError(
            f"points must be {dtype} of shape {shape}, got {points.dtype} {points.shape}; root {root.shape}"
        )
    place, known, counts = space.place, space.rules, space.counts
    split, column = np.empty((2, max(known.max_leaves - 1, 1)), np.int64)
    total = np.empty((2 * known.max_leaves - 1, known.n_channels), np.int64)
    room = space.scratch, split, column, total
    known.least_gain, known.least_spread, known.square_unit = rules.least_gain, rules.least_spread, rules.square_unit
    plant(place, points if rules.packed else 0)
    counts[0] = root
    if rules.packed:
        place.leaves.total[0] = total[0, 0] = root[: table.offsets[0, 1]].sum()
        leaves = int(grow_packed(table, known, rules.x_log_x, place, counts, *room))
    else:
        few = 0 < rules.n_classes <= FEW_CLASSES
        kinds = rules.n_classes == 0, rules.n_classes > 0, few, rules.n_classes > FEW_CLASSES
        kind = [own or None for own in kinds]
        labels = np.ascontiguousarray(points)
        leaves = int(grow_channels(table, labels, known, rules.x_log_x, place, counts, space.sums, *room, *kind))
    leaf = place.leaves.node[place.state >> 1].astype(np.int32) if with_leaf else np.empty(0, np.int32)
    return Grown(split[: leaves - 1], column[: leaves - 1], total[: 2 * leaves - 1], leaf)


def warmup() -> None:
    """Compile every tree kernel, or load it from disk."""
    table = presort(np.arange(8, dtype=np.float32).reshape(4, 2))
    for packed, n_classes in ((True, 2), (False, 3), (False, FEW_CLASSES + 1), (False, 0)):
        channels = 1 if packed else n_classes or 3
        rules = Rules(packed, channels, n_classes, False, n_classes > 0, 2, 9, 2, 1, 0.0, 0.0, 1.0, np.zeros(5))
        points: NDArray[Any] = np.ones(4, np.uint8) if packed else np.ones((2 if n_classes else 4, 4), np.int64)
        nobody = np.empty(0, np.int64)
        root = (
            roots_of(table, bin_sizes(table), points[None])[0] if packed else unlabelled_root(table, channels, nobody)
        )
        grow(table, points, rules, Workspace(table, rules, 2), False, root)
