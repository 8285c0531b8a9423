"""Label draws: X is fixed and y is drawn.

A `LabelScheme` says how labels are drawn; here are those that treat all rows alike, and `schemes` has those for groups,
blocks and series. `LabelDraws` draws any number of label vectors, one child seed per draw, so that draw i does not
depend on the number of draws, the batch or the worker. Where a scheme has no more distinct arrangements than draws are
asked for, each arrangement is used once instead.

Weights. A row is one observation whatever its weight: it gets one label, and its weight stays with its X. The weighted
sample stands for the population of labels, so label j is drawn with probability w_j/Σw. Drawing with replacement does
so directly. Permutation becomes systematic sampling (Madow 1949) in random order: label j is drawn n w_j/Σw times,
rounded up or down, which is once where weights are equal.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from outsample.losses.base import label_variance
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.run import child_generator
from outsample.running.threads import n_threads, over_slices


@dataclass(frozen=True)
class Pool:
    """The labels that some rows could have been given, with probabilities in proportion to `weight`.

    `rows` None stands for all rows, `weight` None for equally likely labels.
    """

    labels: Array
    rows: Rows | None = None
    weight: Floats | None = None


class LabelScheme(ABC):
    """How labels are drawn. y is (n,) or (n, outputs), class labels as codes.

    Attributes
    ----------
    rearranges : whether, without weights, every draw is a permutation of y in which any row may get any label.
    weight : (n,) labels are drawn in proportion to it; None where they are equally likely.
    """

    rearranges: ClassVar[bool] = False
    weight: Floats | None = None

    @abstractmethod
    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        """One random label vector."""

    def drawer(self, y: Array) -> Callable[[np.random.Generator], Array]:
        """`draw` for this y, with work that depends on y alone done once; class codes 0 and 1 may come as booleans."""
        return partial(self.draw, y)

    @abstractmethod
    def count(self, y: Array) -> float:
        """Number of distinct label vectors, equally likely without weights; infinite where too large to count."""

    @abstractmethod
    def arrangements(self, y: Array) -> Iterator[Array]:
        """Each distinct label vector once."""

    def pools(self, y: Array) -> list[Pool]:
        """The pools of labels that rows are given labels from; every row is in one."""
        return [Pool(y)]

    def check(self, y: Array, n_classes: int | None) -> None:  # noqa: B027 — most schemes draw any labels
        """Raise ValueError where these labels cannot be drawn this way."""


@dataclass(frozen=True, eq=False)
class FreePermutation(LabelScheme):
    """y∘π with all permutations π equally likely: all rows are exchangeable.

    With weights a systematic sample of the labels in random order, see the module's docstring.
    """

    weight: Floats | None = None
    rearranges = True

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        return self.drawer(y)(rng).astype(y.dtype, copy=False)

    def drawer(self, y: Array) -> Callable[[np.random.Generator], Array]:
        if self.weight is not None:
            order = _by_label(y)
            return partial(systematic_sample, y[order], self.weight[order])
        if _long_and_binary(y):
            return partial(_random_ones, int(np.count_nonzero(y)), len(y))
        return partial(_permutation, y)

    def count(self, y: Array) -> float:
        return multinomial(multiplicities(y))

    def arrangements(self, y: Array) -> Iterator[Array]:
        values, codes = np.unique(y, axis=0, return_inverse=True)
        return (values[list(order)] for order in _distinct_orders(codes.reshape(-1)))

    def pools(self, y: Array) -> list[Pool]:
        return [Pool(y, weight=self.weight)]

    def label_moments(self, y: Array) -> tuple[float, float]:
        """(variance of a drawn label, covariance of the drawn labels of two rows), averaged over outputs.

        The order of a draw is random, so all covariances are equal and follow from the variance of the sum of all
        labels. For a permutation the sum is constant and the covariance −variance/(n − 1).
        """
        n, variance, of_sum = len(y), label_variance(y, self.weight), 0.0
        if self.weight is not None:
            order = _by_label(y)
            columns = y.reshape(n, -1)[order].T
            of_sum = float(np.mean([_variance_of_sum(column, self.weight[order]) for column in columns]))
        return variance, (of_sum - n * variance) / (n * (n - 1))


@dataclass(frozen=True, eq=False)
class WithReplacement(LabelScheme):
    """Labels drawn independently, with replacement, from all labels of y."""

    weight: Floats | None = None

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        return rng.choice(y, len(y), p=None if self.weight is None else self.weight / self.weight.sum())

    def pools(self, y: Array) -> list[Pool]:
        return [Pool(y, weight=self.weight)]

    def count(self, y: Array) -> float:
        return float(len(y)) ** len(y) if len(y) < 100 else math.inf

    def arrangements(self, y: Array) -> Iterator[Array]:
        return (y[list(order)] for order in itertools.product(range(len(y)), repeat=len(y)))


class RademacherSigns(LabelScheme):
    """Each of the two classes with probability ½, independently; y itself is not used."""

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        return (rng.random(len(y)) < 0.5).astype(y.dtype)

    def count(self, y: Array) -> float:
        return 2.0 ** len(y) if len(y) < 1000 else math.inf

    def arrangements(self, y: Array) -> Iterator[Array]:
        return (np.array(signs, dtype=y.dtype) for signs in itertools.product((0, 1), repeat=len(y)))

    def pools(self, y: Array) -> list[Pool]:
        return [Pool(np.array([0, 1], dtype=y.dtype))]

    def check(self, y: Array, n_classes: int | None) -> None:
        _check_binary("Rademacher signs", n_classes)


class HalfFlips(LabelScheme):
    """The two classes exchanged on a random half of the rows, ⌊n/2⌋ of them."""

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        drawn = y.copy()
        half = rng.permutation(len(y))[: len(y) // 2]
        drawn[half] = 1 - drawn[half]
        return drawn

    def count(self, y: Array) -> float:
        return float(math.comb(len(y), len(y) // 2)) if len(y) < 1000 else math.inf

    def arrangements(self, y: Array) -> Iterator[Array]:
        for half in itertools.combinations(range(len(y)), len(y) // 2):
            drawn = y.copy()
            drawn[list(half)] = 1 - drawn[list(half)]
            yield drawn

    def pools(self, y: Array) -> list[Pool]:
        """For the rows of each class: their label and the other one, in the shares of kept and flipped rows."""
        n, flipped = len(y), len(y) // 2
        own = (np.flatnonzero(y == code) for code in (0, 1))
        kept = (np.repeat(np.array([code, 1 - code], dtype=y.dtype), [n - flipped, flipped]) for code in (0, 1))
        return [Pool(labels, rows) for labels, rows in zip(kept, own, strict=True)]

    def check(self, y: Array, n_classes: int | None) -> None:
        _check_binary("flips of a random half", n_classes)


# With more distinct labels than this, there are too many arrangements to list (50! ≈ 3·10⁶⁴).
_MANY = 50
# Fewer labels than this are drawn before a second thread has started.
_SHORT = 30_000
# For more labels of two classes than this, `_random_ones` is faster than a shuffle.
_LONG = 2_000


class LabelDraws(Sequence[Array]):
    """A sequence of drawn label vectors, or of all distinct ones where these are no more than `n_draws`.

    Attributes
    ----------
    exhaustive : whether these are all distinct label vectors, so that averages over them are exact.
    """

    def __init__(self, scheme: LabelScheme, y: Array, n_draws: int, seed: np.random.SeedSequence) -> None:
        self.scheme, self._y, self._seed = scheme, y, seed
        self.exhaustive = scheme.weight is None and scheme.count(y) <= n_draws
        # Listed once, here: otherwise every worker would list them again.
        self._all = np.stack(list(scheme.arrangements(y))) if self.exhaustive else None
        self._length = n_draws if self._all is None else len(self._all)
        self._drawer = scheme.drawer(y)
        self._slow = not _long_and_binary(y)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        """Draw `index`, (n[, outputs]), or a stack of them for a slice."""
        if isinstance(index, slice):
            return self._stack(range(*index.indices(len(self))))
        if not 0 <= index < len(self):
            raise IndexError(f"draw {index} of {len(self)}")
        drawn = self.compact(index)
        return drawn.astype(self._y.dtype) if drawn.dtype == np.uint8 else drawn

    def compact(self, index: int) -> Array:
        """Draw `index`, (n[, outputs]); class codes 0 and 1 may come as single bytes."""
        if self._all is not None:
            return np.asarray(self._all[index])
        drawn = self._drawer(child_generator(self._seed, index))
        return drawn.view(np.uint8) if drawn.dtype == np.bool_ else drawn

    def _stack(self, indices: range) -> Array:
        """Several draws, (draws, n[, outputs]); by several threads where that is faster."""
        first = self[indices[0]]
        stack = np.empty((len(indices), *first.shape), first.dtype)
        stack[0] = first

        def fill(start: int, stop: int) -> None:
            for k in range(start + 1, stop + 1):
                stack[k] = self.compact(indices[k])

        if self._slow and stack.size > _SHORT:
            over_slices(fill, len(indices) - 1, n_threads())
        else:
            fill(0, len(indices) - 1)
        return stack

    def later(self, indices: range) -> LazyDraws:
        """Some of the draws, each drawn on demand."""
        return LazyDraws(self, indices, self._y.ndim + 1)

    def fresh(self, index: int, how_many: int) -> Array:
        """Further label vectors of the same scheme, (how_many, n[, outputs]), on which fit `index` can be judged.

        All distinct ones where they are listed and no more than `how_many`, else random ones.
        """
        if self._all is not None and len(self._all) <= how_many:
            return self._all
        rng = child_generator(self._seed, index, 1)
        return np.stack([self.scheme.draw(self._y, rng) for _ in range(how_many)])


class LazyDraws(Sequence[Array]):
    """Some of many draws, each drawn on demand; class codes 0 and 1 may come as single bytes."""

    def __init__(self, draws: LabelDraws, indices: range, ndim: int) -> None:
        self._draws, self._indices, self.ndim = draws, indices, ndim

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: Any) -> Any:
        """A label vector, (n[, outputs]), or a stack of them for a slice."""
        if isinstance(index, slice):
            return np.stack([self._draws.compact(i) for i in self._indices[index]])
        return self._draws.compact(self._indices[index])


def _long_and_binary(y: Array) -> bool:
    """Whether y holds the class codes 0 and 1 in more than `_LONG` rows."""
    return bool(len(y) > _LONG and y.ndim == 1 and y.dtype.kind == "i" and y.min() == 0 and y.max() == 1)


def _permutation(y: Array, rng: np.random.Generator) -> Array:
    return rng.permutation(y)


def _by_label(y: Array) -> Rows:
    """The sorted order of the labels: systematic samples vary least where neighbours are alike."""
    return np.argsort(y.reshape(len(y), -1)[:, 0], kind="stable")


def systematic_sample(values: Array, weight: Floats, rng: np.random.Generator) -> Array:
    """n of the n values, (n,), each n w/Σw times, rounded up or down, in random order (Madow 1949).

    The values occupy consecutive intervals of lengths n w/Σw on a line of length n. Each is taken as often as points at
    distance 1, with a random start, fall into its interval. So every place of the result holds each value with
    probability w/Σw.
    """
    n = len(values)
    taken = np.searchsorted(_interval_ends(weight)[:-1], rng.random() + np.arange(n), side="right")
    return rng.permutation(values[taken])


def _interval_ends(weight: Floats) -> Floats:
    """Where the interval of each value ends on the line of length n, (n,)."""
    return np.asarray(np.cumsum(weight) * (len(weight) / weight.sum()))


def _variance_of_sum(values: Array, weight: Floats) -> float:
    """Variance of the sum of a systematic sample of n values, over its random start.

    As the start u grows from 0 to 1, the sum changes where u passes the fractional part of the end of an interval: from
    there on its value is taken once less, and the next value once more.
    """
    turns = np.mod(_interval_ends(weight)[:-1], 1.0)
    order = np.argsort(turns)
    sums = np.concatenate([[0.0], np.cumsum(np.diff(values)[order])])
    lengths = np.diff(np.concatenate([[0.0], turns[order], [1.0]]))
    return float(lengths @ (sums - lengths @ sums) ** 2)


def _random_ones(ones: int, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """n booleans of which `ones` are true, (n,), all arrangements equally likely.

    Every place is true with about the right probability, by one random byte each. Given their number, all arrangements
    are equally likely, and remain so when places chosen at random correct the number. Faster than a shuffle.
    """
    dice = rng.integers(2**64, size=n // 8 + 1, dtype=np.uint64).view(np.uint8)[:n]
    arranged: NDArray[np.bool_] = dice < round(256 * ones / n)
    excess = np.count_nonzero(arranged) - ones
    if excess:
        places = np.flatnonzero(arranged == (excess > 0))
        arranged[rng.choice(places, abs(excess), replace=False, shuffle=False)] = excess < 0
    return arranged


def multiplicities(y: Array) -> NDArray[np.intp]:
    """How often each distinct label occurs, (distinct labels,)."""
    return np.unique(y, axis=0, return_counts=True)[1]


def multinomial(counts: NDArray[np.intp]) -> float:
    """n! / Π counts!, exact up to about e^50 and infinite beyond."""
    if len(counts) > _MANY:
        return math.inf
    log = math.lgamma(counts.sum() + 1) - sum(math.lgamma(c + 1) for c in counts)
    if log > 50:
        return math.inf
    ways, left = 1, int(counts.sum())
    for count in counts:
        ways *= math.comb(left, int(count))
        left -= int(count)
    return float(ways)


def _distinct_orders(codes: Array) -> Iterator[tuple[int, ...]]:
    """Each distinct order of a multiset of codes, once."""
    left = np.bincount(codes).tolist()

    def extend(prefix: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(prefix) == len(codes):
            yield prefix
            return
        for code, available in enumerate(left):
            if available:
                left[code] -= 1
                yield from extend((*prefix, code))
                left[code] += 1

    return extend(())


def _check_binary(what: str, n_classes: int | None) -> None:
    if n_classes != 2:
        kind = "regression labels" if n_classes is None else f"{n_classes} classes"
        raise ValueError(f'{what} need two classes, y has {kind}; use criterion="permutation"')
