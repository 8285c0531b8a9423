"""Decision trees grown on a presorted table: `grow` checks what it is given and calls the kernels.

The best split of a node is exact, although most samples are only counted in bins. The gain at an edge of a bin follows
from the counts; the gain within a bin has two upper bounds. First, a gain is a convex function of the sums of the left
side. So for few classes no split within a bin gains more than the best corner: all of the bin's samples of some classes
on the left, all others on the right. Second, a gain is at most a chi-square, the squared distance of the left sums from
those expected at the node's mean; within a bin it exceeds the larger of its values at the two edges by no more than the
spread within the bin allows (Cauchy–Schwarz). Only bins whose upper bound exceeds the best gain so far are scanned
sample by sample.

Ties: of equal gains the lower column, then the lower position; of leaves with equal gains the older one is split first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outsample._kernels.trees.classes import FEW_CLASSES
from outsample._kernels.trees.gains import LOW_HALF, RULES, SHIFT
from outsample._kernels.trees.growth import ChannelScratch, grow_tree, make_channel_scratch
from outsample._kernels.trees.histograms import bin_sizes, lanes_for, root_without, roots_of, unlabelled_root
from outsample._kernels.trees.leaves import LEAF, make_place, n_listed, plant
from outsample._kernels.trees.presort import FINENESS, LARGEST_SORTED, Presorted, presort
from outsample._kernels.trees.two_classes import TwoClassScratch, make_two_class_scratch
from outsample.running.arrays import Array, Floats, Integers

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
    "root_without",
    "roots_of",
    "unlabelled_root",
    "warmup",
]


class Rules(NamedTuple):
    """How labels are summed, and when growth stops.

    Attributes
    ----------
    packed : two classes without weights, as packed counts (`two_classes`); otherwise as channels, see `grow`
    n_channels, n_classes : numbers of them; 0 classes for real values
    weighted : whether there is a channel of masses
    entropy : entropy, otherwise Gini's index
    max_leaves, max_depth, min_split, min_leaf : limits of growth
    least_gain : smallest gain of a split, in units of the channels
    least_spread : nodes whose real values have a smaller variance are not split, in units of the channels
    square_unit : unit of the channel of squares, in squared units of the channel of sums
    x_log_x : (n + 1,) k ln k for counts k, empty with weights or without entropy
    per_node : leaves are split in order of gain per unit of mass instead of gain; the splits are the same
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
    x_log_x: Floats
    per_node: bool = False

    def record(self) -> Any:
        """The rules as a record for kernels."""
        record = np.zeros(1, RULES).view(np.recarray)[0]
        for name in set(RULES.names or ()) & set(self._fields):
            record[name] = getattr(self, name)
        record.small, record.first = LARGEST_SORTED, 1 + self.weighted
        record.fine = 1 if self.n_classes and not self.packed else FINENESS
        return record

    def kinds(self) -> list[bool | None]:
        """Flags of a kernel: (two classes, real values, classes in channels, few classes, many), True or None."""
        classes, few = self.n_classes > 0 and not self.packed, self.n_classes <= FEW_CLASSES
        kinds = self.packed, self.n_classes == 0, classes, classes and few, classes and not few
        return [kind or None for kind in kinds]

    def shape_of_points(self, n: int) -> tuple[int, ...]:
        """The shape of `points` for n samples, see `grow`."""
        return (n,) if self.packed else (2 if self.n_classes else self.n_channels + 1, n)


class Workspace:
    """Memory of one thread.

    Attributes
    ----------
    place : see `leaves.Place`
    rules : the rules as a record; `grow` sets those that depend on the labels
    counts : (histograms, cells · channels)
    sums : (leaves, channels)
    points, values : memory in which callers make the points of `grow`; none where they are packed
    scratch : memory for the search of one leaf
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
        # One more key than there are samples: the next one is written before it is known whether it belongs to a leaf.
        keys = np.empty((2, n + 1), np.int64)
        self.scratch: TwoClassScratch | ChannelScratch
        if rules.packed:
            self.scratch = make_two_class_scratch(cells, d, keys)
        else:
            self.scratch = make_channel_scratch(cells, d, channels, rules.n_classes, keys)

    @staticmethod
    def n_bytes(table: Presorted, rules: Rules, n_histograms: int) -> int:
        """Bytes of one thread's memory, including its label vector."""
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
        Sums of the channels in every node.
    leaf : (n,) int32 or (0,)
        The node every sample ends in, if asked for; −1 for samples left out.
    """

    split: Integers
    column: Integers
    total: Integers
    leaf: NDArray[np.int32]


def grow(
    table: Presorted,
    points: Array,
    rules: Rules,
    space: Workspace,
    with_leaf: bool,
    root: Integers,
    out: Integers | None = None,
) -> Grown:
    """Grow one tree.

    Parameters
    ----------
    points : (n,) uint8 or (rows, n) int64
        Packed: the class of each sample. Classes: its class and its mass. Real values: 1, its mass if weighted, its
        value and squared value in whole units, and the bits of the value as a float.
    with_leaf : whether to return the node every sample ends in
    root : the histogram of the whole table at level 0, packed (`roots_of`), or without labels (`unlabelled_root`)
    out : samples that are left out, for packed labels only; `root` has been made without them (`root_without`)

    Notes
    -----
    The channels of a histogram: the number of samples, the mass if weighted; for classes the mass of each class but the
    last; for real values their sum and their sum of squares. A packed histogram has one channel, samples · 2³² + ones.
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
    split, column = np.empty((2, max(rules.max_leaves - 1, 1)), np.int64)
    total = np.empty((2 * rules.max_leaves - 1, rules.n_channels), np.int64)
    if not rules.packed:
        known.least_gain, known.least_spread = rules.least_gain, rules.least_spread
        known.square_unit = rules.square_unit
    plant(place, points if rules.packed else 0, out)
    counts[0] = root
    if rules.packed:
        place.leaves.total[0] = total[0, 0] = root[: table.offsets[0, 1]].sum()
    labels = None if rules.packed else np.ascontiguousarray(points)
    memory = place, counts, space.sums, space.scratch, split, column, total
    leaves = int(grow_tree(table, labels, known, rules.x_log_x, *memory, *rules.kinds()))
    leaf = place.leaves.node[place.state >> 1].astype(np.int32) if with_leaf else np.empty(0, np.int32)
    return Grown(split[: leaves - 1], column[: leaves - 1], total[: 2 * leaves - 1], leaf)


def warmup() -> None:
    """Compile every tree kernel, or load it from disk."""
    table = presort(np.arange(8, dtype=np.float32).reshape(4, 2))
    for packed, n_classes in ((True, 2), (False, 3), (False, FEW_CLASSES + 1), (False, 0)):
        channels = 1 if packed else n_classes or 3
        rules = Rules(packed, channels, n_classes, False, n_classes > 0, 2, 9, 2, 1, 0.0, 0.0, 1.0, np.zeros(5))
        points: Array = np.ones(4, np.uint8) if packed else np.ones((2 if n_classes else 4, 4), np.int64)
        root = unlabelled_root(table, channels, np.empty(0, np.int64))
        if packed:
            root = roots_of(table, bin_sizes(table), points[None])[0]
        grow(table, points, rules, Workspace(table, rules, 2), False, root)
