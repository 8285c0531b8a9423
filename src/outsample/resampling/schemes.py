"""From what a user says of a study's design to how its labels may be permuted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.checks import whole_number
from outsample.data import tables
from outsample.data.target import check_kind
from outsample.resampling.labels import (
    FreePermutation,
    LabelScheme,
    Pool,
    label_vectors,
    multinomial,
    multiplicities,
    permuted,
    pools_by_position,
    rows_by_value,
    totals,
    weights_at,
)
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import cached_property


@dataclass(frozen=True, eq=False)
class PermutationWithinGroups(LabelScheme):
    """Labels move only inside their group: several rows of one person, a site, a stratum."""

    groups: Array
    weight: Floats | None = None

    @cached_property
    def _members(self) -> list[Rows]:
        return rows_by_value(self.groups)

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        drawn = y.copy()
        for rows in self._members:
            own = y[rows]
            drawn[rows] = (
                rng.permutation(own) if self.weight is None else FreePermutation(self.weight[rows]).draw(own, rng)
            )
        return drawn

    def count(self, y: Array) -> float:
        return math.prod(multinomial(multiplicities(y[rows])) for rows in self._members)

    def arrangements(self, y: Array) -> Iterator[Array]:
        inner = (list(FreePermutation().arrangements(y[rows])) for rows in self._members)
        for parts in itertools.product(*inner):
            drawn = y.copy()
            for rows, part in zip(self._members, parts, strict=True):
                drawn[rows] = part
            yield drawn

    def pools(self, y: Array) -> list[Pool]:
        return [Pool(y[rows], rows, weights_at(self.weight, rows)) for rows in self._members]

    def check(self, y: Array, n_classes: int | None) -> None:
        if self.count(y) <= 1:
            raise ValueError(
                "groups: y is constant within every group, so nothing can be permuted within groups; "
                'use Permutation(groups="whole")'
            )


@dataclass(frozen=True, eq=False)
class PermutationOfGroups(LabelScheme):
    """Groups exchange their labels as wholes.

    Where y is constant within every group, the group labels are permuted over all groups. Otherwise groups of
    equal size exchange their label vectors, in row order. A group weighs what its rows weigh together.
    """

    groups: Array
    weight: Floats | None = None

    @cached_property
    def _members(self) -> list[Rows]:
        return rows_by_value(self.groups)

    def _constant(self, y: Array) -> bool:
        return all((y[rows] == y[rows[0]]).all() for rows in self._members)

    def _exchangeable(self) -> list[list[Rows]]:
        """Groups that may exchange vectors: those of one size."""
        sizes: dict[int, list[Rows]] = {}
        for rows in self._members:
            sizes.setdefault(len(rows), []).append(rows)
        return [sizes[size] for size in sorted(sizes)]

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        drawn = y.copy()
        if self._constant(y):
            order = permuted(len(self._members), totals(self.weight, self._members), rng)
            for rows, source in zip(self._members, order, strict=True):
                drawn[rows] = y[self._members[source][0]]
            return drawn
        for alike in self._exchangeable():
            order = permuted(len(alike), totals(self.weight, alike), rng)
            for rows, source in zip(alike, order, strict=True):
                drawn[rows] = y[alike[source]]
        return drawn

    def count(self, y: Array) -> float:
        if self._constant(y):
            return multinomial(multiplicities(self._labels_of_groups(y)))
        return math.prod(multinomial(multiplicities(label_vectors(y, alike))) for alike in self._exchangeable())

    def arrangements(self, y: Array) -> Iterator[Array]:
        if self._constant(y):
            for labels in FreePermutation().arrangements(self._labels_of_groups(y)):
                drawn = y.copy()
                for rows, label in zip(self._members, labels, strict=True):
                    drawn[rows] = label
                yield drawn
            return
        sizes = self._exchangeable()
        inner = (list(FreePermutation().arrangements(label_vectors(y, alike))) for alike in sizes)
        for parts in itertools.product(*inner):
            drawn = y.copy()
            for alike, vectors in zip(sizes, parts, strict=True):
                for rows, vector in zip(alike, vectors, strict=True):
                    drawn[rows] = vector.reshape(y[rows].shape)
            yield drawn

    def pools(self, y: Array) -> list[Pool]:
        if self._constant(y):
            return [Pool(self._labels_of_groups(y), weight=totals(self.weight, self._members))]
        return [pool for alike in self._exchangeable() for pool in pools_by_position(y, alike, self.weight)]

    def _labels_of_groups(self, y: Array) -> Array:
        return y[[rows[0] for rows in self._members]]

    def check(self, y: Array, n_classes: int | None) -> None:
        if self.count(y) <= 1:
            raise ValueError("groups: no two groups can exchange their labels, so nothing can be permuted")


@dataclass(frozen=True, eq=False)
class PermutationOfBlocks(LabelScheme):
    """Consecutive blocks of `size` rows exchange their labels; a shorter last block stays.

    A block weighs what its rows weigh together.
    """

    size: int
    weight: Floats | None = None

    def _blocks(self, n: int) -> list[Rows]:
        return [np.arange(start, start + self.size) for start in range(0, n - self.size + 1, self.size)]

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        drawn, blocks = y.copy(), self._blocks(len(y))
        order = permuted(len(blocks), totals(self.weight, blocks), rng)
        for rows, source in zip(blocks, order, strict=True):
            drawn[rows] = y[blocks[source]]
        return drawn

    def count(self, y: Array) -> float:
        return multinomial(multiplicities(label_vectors(y, self._blocks(len(y)))))

    def arrangements(self, y: Array) -> Iterator[Array]:
        blocks = self._blocks(len(y))
        for vectors in FreePermutation().arrangements(label_vectors(y, blocks)):
            drawn = y.copy()
            for rows, vector in zip(blocks, vectors, strict=True):
                drawn[rows] = vector.reshape(y[rows].shape)
            yield drawn

    def pools(self, y: Array) -> list[Pool]:
        blocks = self._blocks(len(y))
        rest = np.arange(len(blocks) * self.size, len(y))
        return pools_by_position(y, blocks, self.weight) + [Pool(y[[i]], np.array([i])) for i in rest]

    def check(self, y: Array, n_classes: int | None) -> None:
        if self.size < 1 or len(y) < 2 * self.size:
            raise ValueError(f"block_size must leave at least two blocks of {len(y)} rows, got {self.size}")


class CircularShift(LabelScheme):
    """y moved along a circle by a random number of places: keeps the order of a series, and so draws no label more
    often than another, whatever its weight."""

    rearranges = True

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        return np.roll(y, int(rng.integers(len(y))), axis=0)

    def count(self, y: Array) -> float:
        """The period of y: further shifts give the same label vectors again."""
        divisors = (shift for shift in range(1, len(y)) if len(y) % shift == 0)
        return next((shift for shift in divisors if np.array_equal(y, np.roll(y, shift, axis=0))), len(y))

    def arrangements(self, y: Array) -> Iterator[Array]:
        return (np.roll(y, shift, axis=0) for shift in range(int(self.count(y))))


MOST_CLASSES = 20
NAMES = ("within", "whole", "circular")


def choose_scheme(y: Array, groups: Any, scheme: Any, block_size: int | None) -> LabelScheme:
    """How the labels y, (n[, outputs]), may move under the null hypothesis.

    Parameters
    ----------
    groups : rows that belong together: pairs, persons, sites.
    scheme : "within" permutes inside each group (paired and blocked designs), "whole" lets groups exchange their
        labels, "circular" shifts a series; None is "whole" when y is constant within every group, else "within",
        and free permutation without groups. Or a `LabelScheme`.
    block_size : consecutive blocks of so many rows exchange their labels.
    """
    chosen = _chosen(y, _checked_groups(groups, len(y)), scheme, block_size)
    chosen.check(y, None)
    return chosen


def _chosen(y: Array, groups: Array | None, scheme: Any, block_size: int | None) -> LabelScheme:
    if sum([scheme is not None, block_size is not None]) > 1:
        raise ValueError("scheme and block_size exclude each other: give one of them")
    if isinstance(scheme, LabelScheme):
        return scheme
    if block_size is not None:
        return PermutationOfBlocks(whole_number("block_size", block_size))
    if scheme not in (None, *NAMES):
        raise ValueError(f"scheme must be None, a LabelScheme or one of {', '.join(NAMES)}, got {scheme!r}")
    if scheme == "circular":
        return CircularShift()
    if groups is None:
        if scheme is not None:
            raise ValueError(f"scheme={scheme!r} needs the group of every row: pass groups= as well")
        return FreePermutation()
    within = PermutationWithinGroups(groups)
    whole = scheme == "whole" or (scheme is None and within.count(y) <= 1)
    return PermutationOfGroups(groups) if whole else within


def _checked_groups(groups: Any, n: int) -> Array | None:
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups must have one entry per row, shape ({n},), got {labels.shape}")
    return labels


def looks_real(y: Array) -> bool:
    """Whether labels without a learner to say so are numbers: not whole, or of many different values."""
    if y.dtype.kind not in "fiu":
        return False
    return not np.array_equal(y, np.round(y)) or len(np.unique(y)) > MOST_CLASSES


class OwnLabels:
    """Permuted labels as the user's own kind of y: array, list, Series, anything that rows can be taken from.

    Attributes
    ----------
    codes : (n,) which labels are equal.
    """

    def __init__(self, y: Any) -> None:
        self._y = list(y) if isinstance(y, tuple) else y
        values = np.asarray(y)
        if values.ndim == 0:
            raise ValueError(f"y must be a sequence of labels, got {type(y).__name__}")
        check_kind(values)
        # numpy 1.26 knows no axis of objects, such as words of pandas.
        axis = None if values.ndim == 1 else 0
        distinct = np.unique(values, axis=axis, return_index=True, return_inverse=True)
        self._first: NDArray[np.intp] = distinct[1]
        self.codes: NDArray[np.intp] = distinct[2].reshape(-1)

    def decoded(self, codes: Array) -> Any:
        """The labels that a permuted vector of codes stands for, with the index of y where it has one."""
        labels = tables.rows(self._y, self._first[codes])
        return labels.set_axis(self._y.index) if hasattr(labels, "set_axis") else labels
