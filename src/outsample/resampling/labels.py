"""Label draws: X stays, y is drawn.

A scheme says how labels may move or be drawn; `LabelDraws` makes any number of them, one child seed per draw, so
that draw i is the same whatever the number of draws, the chunk or the worker that asks for it. When a scheme has
no more distinct arrangements than draws were asked for, all of them are listed instead, each once.

Weights. A row is one observation however much it weighs: it gets one label, and its weight stays with its X. What
the labels of a population look like is told by the weighted sample, so where rows have weights a label is drawn with
probability w_j/Σw: a label of hardly any weight is hardly ever drawn. Drawing with replacement does this as it is.
Permuting becomes systematic sampling (Madow 1949) in random order: every label is drawn n w_j/Σw times up to one,
which is once where weights are equal.
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
from outsample.running.seeds import child_generator
from outsample.running.threads import n_threads, over_slices


@dataclass(frozen=True)
class Pool:
    """The labels that rows could have been given, with probabilities in proportion to `weight`.

    `rows` None means all rows, `weight` None that labels are equally likely.
    """

    labels: Array
    rows: Rows | None = None
    weight: Floats | None = None


class LabelScheme(ABC):
    """How labels are drawn. y is (n,) or (n, outputs), class labels as codes.

    Attributes
    ----------
    rearranges : whether every draw has the labels of y, each as often, and any row may get any of them (unless
        there are weights).
    weight : (n,) what labels are drawn in proportion to; None where they are equally likely.
    """

    rearranges: ClassVar[bool] = False
    weight: Floats | None = None

    @abstractmethod
    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        """One random label vector."""

    def drawer(self, y: Array) -> Callable[[np.random.Generator], Array]:
        """`draw` for this y, with what depends on y alone done once; class codes 0 and 1 may come as truth values."""
        return partial(self.draw, y)

    @abstractmethod
    def count(self, y: Array) -> float:
        """Number of distinct arrangements, equally likely without weights (infinite: too many to count)."""

    @abstractmethod
    def arrangements(self, y: Array) -> Iterator[Array]:
        """All of them."""

    def pools(self, y: Array) -> list[Pool]:
        """Which labels each row could have been given."""
        return [Pool(y)]

    def check(self, y: Array, n_classes: int | None) -> None:  # noqa: B027 — most schemes draw any labels
        """Raise ValueError when these labels cannot be drawn this way."""


@dataclass(frozen=True, eq=False)
class FreePermutation(LabelScheme):
    """y∘π, all permutations equally likely: rows are exchangeable.

    With weights every label as often as its weight says, up to one, in random order.
    """

    weight: Floats | None = None
    rearranges = True

    def draw(self, y: Array, rng: np.random.Generator) -> Array:
        return self.drawer(y)(rng).astype(y.dtype, copy=False)

    def drawer(self, y: Array) -> Callable[[np.random.Generator], Array]:
        if self.weight is not None:
            order = _by_label(y)
            return partial(_in_proportion, y[order], self.weight[order])
        if _long_and_binary(y):
            return partial(_arranged, int(np.count_nonzero(y)), len(y))
        return partial(_shuffled, y)

    def count(self, y: Array) -> float:
        return multinomial(multiplicities(y))

    def arrangements(self, y: Array) -> Iterator[Array]:
        values, codes = np.unique(y, axis=0, return_inverse=True)
        return (values[list(order)] for order in _distinct_orders(codes.reshape(-1)))

    def pools(self, y: Array) -> list[Pool]:
        return [Pool(y, weight=self.weight)]

    def label_moments(self, y: Array) -> tuple[float, float]:
        """(variance of a drawn label, covariance of the labels of two rows), averaged over outputs.

        The order of a draw is random, so the covariance of any two follows from the variance of the sum of all:
        nothing for a permutation, which makes it −variance/(n − 1).
        """
        n, variance, of_sum = len(y), label_variance(y, self.weight), 0.0
        if self.weight is not None:
            order = _by_label(y)
            columns = y.reshape(n, -1)[order].T
            of_sum = float(np.mean([_variance_of_sum(column, self.weight[order]) for column in columns]))
        return variance, (of_sum - n * variance) / (n * (n - 1))


@dataclass(frozen=True, eq=False)
class WithReplacement(LabelScheme):
    """Every label drawn independently from all labels of y."""

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
    """Each of two classes with probability one half; y is ignored."""

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
    """The two class labels exchanged on a random half of the rows (the smaller half when n is odd)."""

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
        """Each row keeps its own label or gets the other one, in the shares of kept and flipped rows."""
        n, flipped = len(y), len(y) // 2
        own = (np.flatnonzero(y == code) for code in (0, 1))
        kept = (np.repeat(np.array([code, 1 - code], dtype=y.dtype), [n - flipped, flipped]) for code in (0, 1))
        return [Pool(labels, rows) for labels, rows in zip(kept, own, strict=True)]

    def check(self, y: Array, n_classes: int | None) -> None:
        _check_binary("flips of a random half", n_classes)


# So many distinct labels alone have more arrangements than anyone can list.
_MANY = 50
# Labels that one thread draws before a second is awake.
_SHORT = 30_000
# Labels of two classes beyond which they are arranged faster than shuffled.
_LONG = 2_000


class LabelDraws(Sequence[Array]):
    """A sequence of label vectors; all distinct arrangements when they are few.

    Attributes
    ----------
    exhaustive : whether these are all arrangements, so that averages over them are exact.
    """

    def __init__(self, scheme: LabelScheme, y: Array, n_draws: int, seed: np.random.SeedSequence) -> None:
        self.scheme, self._y, self._seed = scheme, y, seed
        self.exhaustive = scheme.weight is None and scheme.count(y) <= n_draws
        # Listed here and not in the workers, which would each make the whole list again.
        self._all = np.stack(list(scheme.arrangements(y))) if self.exhaustive else None
        self._length = n_draws if self._all is None else len(self._all)
        self._drawer = scheme.drawer(y)
        self._slow = not _long_and_binary(y)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        """Draw `index`, (n[, outputs]), or a stack of them for a slice."""
        if isinstance(index, slice):
            return self._stacked(range(*index.indices(len(self))))
        if not 0 <= index < len(self):
            raise IndexError(f"draw {index} of {len(self)}")
        drawn = self.drawn(index)
        return drawn.astype(self._y.dtype) if drawn.dtype == np.uint8 else drawn

    def drawn(self, index: int) -> Array:
        """Draw `index`; class codes 0 and 1 may come as single bytes."""
        if self._all is not None:
            return np.asarray(self._all[index])
        drawn = self._drawer(child_generator(self._seed, index))
        return drawn.view(np.uint8) if drawn.dtype == np.bool_ else drawn

    def _stacked(self, indices: range) -> Array:
        """Several draws; where they are long and take time, threads share them."""
        first = self[indices[0]]
        stack = np.empty((len(indices), *first.shape), first.dtype)
        stack[0] = first

        def fill(start: int, stop: int) -> None:
            for k in range(start + 1, stop + 1):
                stack[k] = self.drawn(indices[k])

        over_slices(fill, len(indices) - 1, n_threads() if self._slow and stack.size > _SHORT else 1)
        return stack

    def later(self, indices: range) -> DrawnLater:
        """Some of the draws, each made when it is asked for."""
        return DrawnLater(self, indices, self._y.ndim + 1)

    def fresh(self, index: int, how_many: int) -> Array:
        """Further label vectors of the same scheme, for judging fit `index` on labels it never saw.

        At most `how_many`: all arrangements where they are listed and no more than that, else random ones.
        """
        if self._all is not None and len(self._all) <= how_many:
            return self._all
        rng = child_generator(self._seed, index, 1)
        return np.stack([self.scheme.draw(self._y, rng) for _ in range(how_many)])


class DrawnLater(Sequence[Array]):
    """Some of many draws, each made when it is asked for; two class codes come as single bytes."""

    def __init__(self, draws: LabelDraws, indices: range, ndim: int) -> None:
        self._draws, self._indices, self.ndim = draws, indices, ndim

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: Any) -> Any:
        """A label vector, (n[, outputs]), or a stack of them for a slice."""
        if isinstance(index, slice):
            return np.stack([self._draws.drawn(i) for i in self._indices[index]])
        return self._draws.drawn(self._indices[index])


def _long_and_binary(y: Array) -> bool:
    """Whether y holds two class codes, and so many that arranging them is faster than shuffling."""
    return bool(len(y) > _LONG and y.ndim == 1 and y.dtype.kind == "i" and y.min() == 0 and y.max() == 1)


def _shuffled(y: Array, rng: np.random.Generator) -> Array:
    return rng.permutation(y)


def _by_label(y: Array) -> Rows:
    """An order of the labels, neighbours alike, in which systematic samples differ least."""
    return np.argsort(y.reshape(len(y), -1)[:, 0], kind="stable")


def permuted(n: int, weight: Floats | None, rng: np.random.Generator) -> Rows:
    """Numbers 0 … n − 1 in random order; with weights each as often as its weight says, up to one."""
    return rng.permutation(n) if weight is None else _in_proportion(np.arange(n), weight, rng)


def _in_proportion(values: Array, weight: Floats, rng: np.random.Generator) -> Array:
    """As many of the values as there are, each n w/Σw times up to one, in random order.

    Systematic sampling: of n points at distance Σw/n, with a random start, each value takes those that fall on its
    part of the line. Every place of the result holds each value with probability w/Σw.
    """
    n = len(values)
    taken = np.searchsorted(_ends(weight)[:-1], rng.random() + np.arange(n), side="right")
    return rng.permutation(values[taken])


def _ends(weight: Floats) -> Floats:
    """Where on a line of length n the part of each value ends."""
    return np.asarray(np.cumsum(weight) * (len(weight) / weight.sum()))


def _variance_of_sum(values: Array, weight: Floats) -> float:
    """Variance of the sum of a systematic sample of n values, over its random start.

    As the start u grows from 0 to 1, the sum changes where u passes the fractional part of the end of a value's part:
    from there on one value less is taken of it, and one more of the next.
    """
    turns = np.mod(_ends(weight)[:-1], 1.0)
    order = np.argsort(turns)
    sums = np.concatenate([[0.0], np.cumsum(np.diff(values)[order])])
    lengths = np.diff(np.concatenate([[0.0], turns[order], [1.0]]))
    return float(lengths @ (sums - lengths @ sums) ** 2)


def weights_at(weight: Floats | None, rows: Rows) -> Floats | None:
    return None if weight is None else weight[rows]


def totals(weight: Floats | None, members: list[Rows]) -> Floats | None:
    """What the rows of each part weigh together."""
    return None if weight is None else np.array([weight[rows].sum() for rows in members])


def _arranged(ones: int, n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """n places with so many ones, all arrangements equally likely.

    Every place gets a one with about the right probability. Whatever their number, their arrangements are equally
    likely, and they stay so when places chosen at random make up for the ones too many or too few.
    """
    dice = rng.integers(2**64, size=n // 8 + 1, dtype=np.uint64).view(np.uint8)[:n]
    arranged: NDArray[np.bool_] = dice < round(256 * ones / n)
    excess = np.count_nonzero(arranged) - ones
    if excess:
        places = np.flatnonzero(arranged == (excess > 0))
        arranged[rng.choice(places, abs(excess), replace=False, shuffle=False)] = excess < 0
    return arranged


def multiplicities(y: Array) -> NDArray[np.intp]:
    return np.unique(y, axis=0, return_counts=True)[1]


def multinomial(counts: NDArray[np.intp]) -> float:
    """n! / Π counts!, infinite beyond what a double holds."""
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


def rows_by_value(groups: Array) -> list[Rows]:
    codes = np.unique(groups, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes))[:-1])


def label_vectors(y: Array, members: list[Rows]) -> Array:
    """The label vectors of equally long parts, (parts, length · outputs)."""
    return np.stack([y[rows].reshape(-1) for rows in members])


def pools_by_position(y: Array, members: list[Rows], weight: Floats | None) -> list[Pool]:
    """Rows at the same place of exchangeable parts share a pool."""
    places = np.stack(members, axis=1)
    return [Pool(y[rows], rows, totals(weight, members)) for rows in places]


def _check_binary(what: str, n_classes: int | None) -> None:
    if n_classes != 2:
        kind = "regression labels" if n_classes is None else f"{n_classes} classes"
        raise ValueError(f'{what} need two classes, y has {kind}; use criterion="permutation"')
