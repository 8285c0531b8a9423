"""Sufficient statistics of classes, which add up over rows.

All that these classifiers know of their training rows is a number, a mean and a sum of squares per class, or sums alone
where columns hold counts. `of` reads some rows and `+` joins them with others. The statistics without a fold are the
sum of those of the other folds: nothing is subtracted, so that no digits are lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from outsample.running.arrays import Array, Floats, Integers, Rows

Kind = Literal["columns", "pooled", "classes"]
"""Sums of squares of each column in each class; of products of columns over all classes together; or in each class."""


class Statistics(ABC):
    """What is known of some rows of every class.

    Attributes
    ----------
    weight : (K,) sums of weights, numbers of rows where they have none.
    """

    weight: Floats

    @abstractmethod
    def __add__(self, other: Self) -> Self: ...

    @abstractmethod
    def among(self, places: Rows, n_classes: int) -> Self:
        """The same of more classes, of which these are the ones at `places` and the others have no rows."""


@dataclass(frozen=True)
class ClassMoments(Statistics):
    """Number, mean and scatter of the rows of every class.

    Sums of squares are about the mean of their class, and statistics are joined by the formulas of Chan, Golub and
    LeVeque (1979), so that no digits are lost to large means, nor to classes that lie far apart.

    Attributes
    ----------
    mean : (K, p), zero for classes without rows.
    scatter : weighted sums of squares about the class means, (K, p), (p, p) or (K, p, p) by their kind.
    kind : which sums of squares.
    """

    weight: Floats
    mean: Floats
    scatter: Floats
    kind: Kind = "columns"

    @classmethod
    def of(
        cls, table: Floats, codes: Array, n_classes: int, weight: Floats | None = None, kind: Kind = "columns"
    ) -> ClassMoments:
        """The statistics of a block of rows, (rows, p), of the classes `codes`."""
        member = _membership(codes, n_classes, weight)
        total = np.bincount(codes, weight, n_classes).astype(np.float64)
        mean = member @ table / np.where(total > 0, total, 1.0)[:, None]
        apart = mean[codes]
        np.subtract(table, apart, out=apart)
        if kind == "columns":
            return cls(total, mean, member @ np.square(apart, out=apart), kind)
        if weight is not None:
            apart *= np.sqrt(weight)[:, None]
        if kind == "pooled":
            return cls(total, mean, apart.T @ apart, kind)
        groups = [apart[codes == k] for k in range(n_classes)]
        return cls(total, mean, np.stack([group.T @ group for group in groups]), kind)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        total = self.weight + other.weight
        share = other.weight / np.where(total > 0, total, 1.0)
        apart = other.mean - self.mean
        between = _squares(apart, self.weight * share, self.kind)
        return ClassMoments(
            total, self.mean + share[:, None] * apart, self.scatter + other.scatter + between, self.kind
        )

    def together(self) -> ClassMoments:
        """The statistics of all rows as one class; of products of columns where the classes have them."""
        weight = self.weight.sum(keepdims=True)
        mean = self.weight @ self.mean / weight
        if self.kind == "columns":
            between = self.weight @ np.square(self.mean - mean)
            return ClassMoments(weight, mean[None], (self.scatter.sum(axis=0) + between)[None])
        within = self.scatter if self.kind == "pooled" else self.scatter.sum(axis=0)
        return ClassMoments(weight, mean[None], within + _squares(self.mean - mean, self.weight, "pooled"), "pooled")

    def among(self, places: Rows, n_classes: int) -> ClassMoments:
        scatter = self.scatter if self.kind == "pooled" else _spread(self.scatter, places, n_classes)
        weight, mean = (_spread(values, places, n_classes) for values in (self.weight, self.mean))
        return ClassMoments(weight, mean, scatter, self.kind)


def _squares(apart: Floats, factor: Floats, kind: Kind) -> Floats:
    """Squares of `apart`, (K, p), times a factor per class, summed as a scatter of this kind is."""
    if kind == "columns":
        return factor[:, None] * np.square(apart)
    if kind == "pooled":
        return np.asarray((apart * factor[:, None]).T @ apart)
    return np.asarray(factor[:, None, None] * apart[:, :, None] * apart[:, None, :])


@dataclass(frozen=True)
class ClassCounts(Statistics):
    """Number of rows and sum of every column in every class.

    Attributes
    ----------
    counts : (K, p) weighted sums of the columns.
    """

    weight: Floats
    counts: Floats

    @classmethod
    def of(cls, table: Any, codes: Array, n_classes: int, weight: Floats | None = None) -> ClassCounts:
        """The statistics of a block of rows, (rows, p), an array or a sparse matrix."""
        sums = _membership(codes, n_classes, weight) @ table
        total = np.bincount(codes, weight, n_classes).astype(np.float64)
        return cls(total, np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64))

    def __add__(self, other: ClassCounts) -> ClassCounts:
        return ClassCounts(self.weight + other.weight, self.counts + other.counts)

    def among(self, places: Rows, n_classes: int) -> ClassCounts:
        return ClassCounts(_spread(self.weight, places, n_classes), _spread(self.counts, places, n_classes))


@dataclass(frozen=True)
class CategoryCounts(Statistics):
    """How many rows of every class have each category, column after column.

    Attributes
    ----------
    counts : (K, Σ sizes) weighted.
    sizes : (p,) categories of each column: one more than the largest.
    """

    weight: Floats
    counts: Floats
    sizes: Integers

    @classmethod
    def of(cls, codes: Integers, labels: Array, n_classes: int, weight: Floats | None = None) -> CategoryCounts:
        """The statistics of a block of categories, (rows, p)."""
        sizes = codes.max(axis=0) + 1
        found = ClassCounts.of(one_hot(codes, sizes), labels, n_classes, weight)
        return cls(found.weight, found.counts, sizes)

    def of_sizes(self, sizes: Integers) -> CategoryCounts:
        """The same where columns have so many categories, none fewer than here."""
        counts = np.zeros((len(self.weight), int(sizes.sum())))
        moved = np.repeat((np.cumsum(sizes) - sizes) - (np.cumsum(self.sizes) - self.sizes), self.sizes)
        counts[:, np.arange(len(moved)) + moved] = self.counts
        return CategoryCounts(self.weight, counts, sizes)

    def __add__(self, other: CategoryCounts) -> CategoryCounts:
        sizes = np.maximum(self.sizes, other.sizes)
        counts = self.of_sizes(sizes).counts + other.of_sizes(sizes).counts
        return CategoryCounts(self.weight + other.weight, counts, sizes)

    def among(self, places: Rows, n_classes: int) -> CategoryCounts:
        weight, counts = (_spread(values, places, n_classes) for values in (self.weight, self.counts))
        return CategoryCounts(weight, counts, self.sizes)


def one_hot(codes: Integers, sizes: Integers) -> Any:
    """A sparse matrix with a column of zeros and ones for every category, (n, Σ sizes)."""
    n, p = codes.shape
    columns = (codes + np.cumsum(sizes) - sizes).ravel()
    shape = n, int(sizes.sum())
    return sparse.csr_matrix((np.ones(n * p), columns, np.arange(0, n * p + 1, p)), shape=shape)


def _spread(values: Floats, places: Rows, n: int) -> Floats:
    """n numbers, or arrays, that are `values` at their places and zero elsewhere."""
    every = np.zeros((n, *values.shape[1:]))
    every[places] = values
    return every


def _membership(codes: Array, n_classes: int, weight: Floats | None) -> Any:
    """Which class each row belongs to, a sparse matrix (K, rows) that holds the weights of the rows."""
    n = len(codes)
    data = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    return sparse.csc_matrix((data, np.asarray(codes, dtype=np.int64), np.arange(n + 1)), shape=(n_classes, n))
