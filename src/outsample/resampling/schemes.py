"""Restricted permutations for designs with groups, blocks or a time order, and the choice of a scheme.

Under the null hypothesis that labels and X are unrelated, only labels of exchangeable rows may change places: rows of
one group, whole groups, blocks of a series.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from outsample.checks import whole_number
from outsample.data.samples import as_groups
from outsample.resampling.labels import (
    FreePermutation,
    LabelScheme,
    Pool,
    multinomial,
    multiplicities,
    systematic_sample,
)
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import cached_property

NAMES = ("within", "whole", "circular")

SchemeLike = LabelScheme | str | None
"""What a user may pass as a scheme: one of `NAMES`, a `LabelScheme`, or None for the default."""


def choose_scheme(y: Array, groups: ArrayLike | None, scheme: SchemeLike, block_size: int | None) -> LabelScheme:
    """How the labels y, (n[, outputs]), may change places under the null hypothesis.

    Parameters
    ----------
    groups : (n,) the group of each row: pair, person, site.
    scheme : "within" permutes labels inside each group (paired and blocked designs), "whole" exchanges the labels of
        whole groups, "circular" shifts a series. None is "whole" where y is constant within every group, else "within";
        without groups all permutations are allowed. Or a `LabelScheme`.
    block_size : consecutive blocks of this many rows exchange their labels.
    """
    found = _scheme(y, as_groups(groups, len(y)), scheme, block_size)
    found.check(y, None)
    return found


def _scheme(y: Array, groups: Array | None, scheme: SchemeLike, block_size: int | None) -> LabelScheme:
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


@dataclass(frozen=True, eq=False)
class PermutationWithinGroups(LabelScheme):
    """Labels are permuted within each group: rows of one person, one site, one stratum."""

    groups: Array
    weight: Floats | None = None

    @cached_property
    def _rows_by_group(self) -> list[Rows]:
        return _rows_of_groups(self.groups)

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        drawn = y.copy()
        for rows in self._rows_by_group:
            own = y[rows]
            drawn[rows] = (
                rng.permutation(own) if self.weight is None else FreePermutation(self.weight[rows]).draw(own, rng)
            )
        return drawn

    def count(self, y: Array) -> float:
        return math.prod(multinomial(multiplicities(y[rows])) for rows in self._rows_by_group)

    def arrangements(self, y: Array) -> Iterator[Array]:
        inner = (list(FreePermutation().arrangements(y[rows])) for rows in self._rows_by_group)
        for orders in itertools.product(*inner):
            drawn = y.copy()
            for rows, labels in zip(self._rows_by_group, orders, strict=True):
                drawn[rows] = labels
            yield drawn

    def pools(self, y: Array) -> list[Pool]:
        return [Pool(y[rows], rows, _weights_at(self.weight, rows)) for rows in self._rows_by_group]

    def check(self, y: Array, n_classes: int | None) -> None:
        if self.count(y) <= 1:
            raise ValueError(
                "groups: y is constant within every group, so nothing can be permuted within groups; "
                'use Permutation(groups="whole")'
            )


@dataclass(frozen=True, eq=False)
class PermutationOfGroups(LabelScheme):
    """Whole groups exchange their labels.

    Where y is constant within every group, the labels of groups are permuted. Otherwise groups of equal size exchange
    their label vectors, in row order. The weight of a group is the sum over its rows.
    """

    groups: Array
    weight: Floats | None = None

    @cached_property
    def _rows_by_group(self) -> list[Rows]:
        return _rows_of_groups(self.groups)

    def _constant(self, y: Array) -> bool:
        return all((y[rows] == y[rows[0]]).all() for rows in self._rows_by_group)

    def _exchangeable(self) -> list[list[Rows]]:
        """Groups that may exchange label vectors, as lists of groups of one size."""
        sizes: dict[int, list[Rows]] = {}
        for rows in self._rows_by_group:
            sizes.setdefault(len(rows), []).append(rows)
        return [sizes[size] for size in sorted(sizes)]

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        drawn = y.copy()
        if self._constant(y):
            order = _random_order(len(self._rows_by_group), _total_weights(self.weight, self._rows_by_group), rng)
            for rows, source in zip(self._rows_by_group, order, strict=True):
                drawn[rows] = y[self._rows_by_group[source][0]]
            return drawn
        for alike in self._exchangeable():
            order = _random_order(len(alike), _total_weights(self.weight, alike), rng)
            for rows, source in zip(alike, order, strict=True):
                drawn[rows] = y[alike[source]]
        return drawn

    def count(self, y: Array) -> float:
        if self._constant(y):
            return multinomial(multiplicities(self._labels_of_groups(y)))
        return math.prod(multinomial(multiplicities(_label_vectors(y, alike))) for alike in self._exchangeable())

    def arrangements(self, y: Array) -> Iterator[Array]:
        if self._constant(y):
            for labels in FreePermutation().arrangements(self._labels_of_groups(y)):
                drawn = y.copy()
                for rows, label in zip(self._rows_by_group, labels, strict=True):
                    drawn[rows] = label
                yield drawn
            return
        sizes = self._exchangeable()
        inner = (list(FreePermutation().arrangements(_label_vectors(y, alike))) for alike in sizes)
        for orders in itertools.product(*inner):
            drawn = y.copy()
            for alike, vectors in zip(sizes, orders, strict=True):
                for rows, vector in zip(alike, vectors, strict=True):
                    drawn[rows] = vector.reshape(y[rows].shape)
            yield drawn

    def pools(self, y: Array) -> list[Pool]:
        if self._constant(y):
            return [Pool(self._labels_of_groups(y), weight=_total_weights(self.weight, self._rows_by_group))]
        return [pool for alike in self._exchangeable() for pool in _pools_by_position(y, alike, self.weight)]

    def _labels_of_groups(self, y: Array) -> Array:
        return y[[rows[0] for rows in self._rows_by_group]]

    def check(self, y: Array, n_classes: int | None) -> None:
        if self.count(y) <= 1:
            raise ValueError("groups: no two groups can exchange their labels, so nothing can be permuted")


@dataclass(frozen=True, eq=False)
class PermutationOfBlocks(LabelScheme):
    """Consecutive blocks of `size` rows exchange their labels; a shorter last block keeps its own.

    The weight of a block is the sum over its rows.
    """

    size: int
    weight: Floats | None = None

    def _blocks(self, n: int) -> list[Rows]:
        return [np.arange(start, start + self.size) for start in range(0, n - self.size + 1, self.size)]

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        drawn, blocks = y.copy(), self._blocks(len(y))
        order = _random_order(len(blocks), _total_weights(self.weight, blocks), rng)
        for rows, source in zip(blocks, order, strict=True):
            drawn[rows] = y[blocks[source]]
        return drawn

    def count(self, y: Array) -> float:
        return multinomial(multiplicities(_label_vectors(y, self._blocks(len(y)))))

    def arrangements(self, y: Array) -> Iterator[Array]:
        blocks = self._blocks(len(y))
        for vectors in FreePermutation().arrangements(_label_vectors(y, blocks)):
            drawn = y.copy()
            for rows, vector in zip(blocks, vectors, strict=True):
                drawn[rows] = vector.reshape(y[rows].shape)
            yield drawn

    def pools(self, y: Array) -> list[Pool]:
        blocks = self._blocks(len(y))
        rest = np.arange(len(blocks) * self.size, len(y))
        return _pools_by_position(y, blocks, self.weight) + [Pool(y[[i]], np.array([i])) for i in rest]

    def check(self, y: Array, n_classes: int | None) -> None:
        if self.size < 1 or len(y) < 2 * self.size:
            raise ValueError(f"block_size must leave at least two blocks of {len(y)} rows, got {self.size}")


class CircularShift(LabelScheme):
    """y shifted on a circle by a random number of places, which keeps the order of a series.

    Every label is drawn once, whatever its weight.
    """

    rearranges = True

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        return np.roll(y, int(rng.integers(len(y))), axis=0)

    def count(self, y: Array) -> float:
        """The period of y, after which shifts repeat."""
        divisors = (shift for shift in range(1, len(y)) if len(y) % shift == 0)
        return next((shift for shift in divisors if np.array_equal(y, np.roll(y, shift, axis=0))), len(y))

    def arrangements(self, y: Array) -> Iterator[Array]:
        return (np.roll(y, shift, axis=0) for shift in range(int(self.count(y))))


def _random_order(n: int, weight: Floats | None, rng: np.random.Generator) -> Rows:
    """The numbers 0 … n − 1 in random order, (n,); with weights a systematic sample of them."""
    return rng.permutation(n) if weight is None else systematic_sample(np.arange(n), weight, rng)


def _weights_at(weight: Floats | None, rows: Rows) -> Floats | None:
    return None if weight is None else weight[rows]


def _total_weights(weight: Floats | None, blocks: list[Rows]) -> Floats | None:
    """Total weight of each block or group, (blocks,)."""
    return None if weight is None else np.array([weight[rows].sum() for rows in blocks])


def _rows_of_groups(groups: Array) -> list[Rows]:
    """The rows of each group, in the order of the sorted groups."""
    codes = np.unique(groups, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes))[:-1])


def _label_vectors(y: Array, blocks: list[Rows]) -> Array:
    """The label vectors of blocks of equal length, (blocks, length · outputs)."""
    return np.stack([y[rows].reshape(-1) for rows in blocks])


def _pools_by_position(y: Array, blocks: list[Rows], weight: Floats | None) -> list[Pool]:
    """One pool for the rows at each position of exchangeable blocks."""
    places = np.stack(blocks, axis=1)
    return [Pool(y[rows], rows, _total_weights(weight, blocks)) for rows in places]
