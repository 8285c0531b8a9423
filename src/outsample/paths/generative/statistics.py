"""Sufficient statistics of classes that add up over blocks of rows, and from which rows can be removed again.

All that these classifiers know of their training rows is a number, a mean and a sum of squares per class, or sums alone
where columns hold counts. `of` reads one block of rows, `+` joins blocks and `-` removes one: the statistics of a
training set are those of all rows minus those of its fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from outsample.running.arrays import Array, Floats, Rows

# Where removing rows leaves less than this share of a sum, too few digits of it are left.
LEAST_SHARE = 1e-5

Kind = Literal["columns", "pooled", "classes"]
"""Sums of squares of each column in each class; of products of columns over all classes together; or in each class."""


@dataclass(frozen=True)
class ClassMoments:
    """Number, mean and scatter of the rows of every class.

    Sums of squares are about the mean of their class, and statistics are joined by the formulas of Chan, Golub and
    LeVeque (1979), so that no digits are lost to large means, nor to classes that lie far apart.

    Attributes
    ----------
    weight : (K,) sums of weights, numbers of rows where they have none.
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
        member = membership(codes, n_classes, weight)
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
        between = self._squares(apart, self.weight * share)
        mean = self.mean + share[:, None] * apart
        return ClassMoments(total, mean, self.scatter + other.scatter + between, self.kind)

    def __sub__(self, other: ClassMoments) -> ClassMoments:
        left = self.weight - other.weight
        share = other.weight / np.where(left > 0, left, 1.0)
        apart = other.mean - self.mean
        between = self._squares(apart, self.weight * share)
        mean = self.mean - share[:, None] * apart
        return ClassMoments(left, mean, self.scatter - other.scatter - between, self.kind)

    def together(self) -> ClassMoments:
        """The statistics of all rows as one class, of sums of squares of columns."""
        weight = self.weight.sum(keepdims=True)
        mean = self.weight @ self.mean / weight
        between = self.weight @ np.square(self.mean - mean)
        return ClassMoments(weight, mean[None], (self.scatter.sum(axis=0) + between)[None])

    def _squares(self, apart: Floats, factor: Floats) -> Floats:
        """Squares of `apart`, (K, p), times a factor per class, summed as the scatter is."""
        if self.kind == "columns":
            return factor[:, None] * np.square(apart)
        if self.kind == "pooled":
            return np.asarray((apart * factor[:, None]).T @ apart)
        return np.asarray(factor[:, None, None] * apart[:, :, None] * apart[:, None, :])

    @property
    def squares(self) -> Floats:
        """Sums of squares of single columns, (K, p), or (p,) where they are pooled."""
        return self.scatter if self.kind == "columns" else np.diagonal(self.scatter, axis1=-2, axis2=-1)

    def among(self, places: Rows, n_classes: int) -> ClassMoments:
        """The same of more classes, of which these are the ones at `places` and the others have no rows."""
        scatter = self.scatter if self.kind == "pooled" else spread(self.scatter, places, n_classes)
        weight, mean = (spread(values, places, n_classes) for values in (self.weight, self.mean))
        return ClassMoments(weight, mean, scatter, self.kind)

    def lost(self, whole: ClassMoments) -> bool:
        """Whether removing rows from `whole` has left too few digits of some sum of squares."""
        before = whole.squares
        return bool(((self.squares < LEAST_SHARE * before) & (before > 0)).any())


@dataclass(frozen=True)
class ClassCounts:
    """Number of rows and sum of every column in every class.

    Attributes
    ----------
    weight : (K,) sums of weights, numbers of rows where they have none.
    counts : (K, p) weighted sums of the columns.
    """

    weight: Floats
    counts: Floats

    @classmethod
    def of(cls, table: Any, codes: Array, n_classes: int, weight: Floats | None = None) -> ClassCounts:
        """The statistics of a block of rows, (rows, p), an array or a sparse matrix."""
        sums = membership(codes, n_classes, weight) @ table
        total = np.bincount(codes, weight, n_classes).astype(np.float64)
        return cls(total, np.asarray(sums.toarray() if sparse.issparse(sums) else sums, dtype=np.float64))

    def __add__(self, other: ClassCounts) -> ClassCounts:
        return ClassCounts(self.weight + other.weight, self.counts + other.counts)

    def __sub__(self, other: ClassCounts) -> ClassCounts:
        return ClassCounts(self.weight - other.weight, self.counts - other.counts)

    def among(self, places: Rows, n_classes: int) -> ClassCounts:
        """See `ClassMoments.among`."""
        return ClassCounts(spread(self.weight, places, n_classes), spread(self.counts, places, n_classes))

    def lost(self, whole: ClassCounts) -> bool:
        """Whether removing rows from `whole` has left too few digits of some sum."""
        few = (np.abs(self.counts) < LEAST_SHARE * np.abs(whole.counts)) & (self.counts != 0)
        return bool(few.any() or (self.weight < LEAST_SHARE * whole.weight).any())


def spread(values: Floats, places: Rows, n: int) -> Floats:
    """n numbers, or arrays, that are `values` at their places and zero elsewhere."""
    every = np.zeros((n, *values.shape[1:]))
    every[places] = values
    return every


def membership(codes: Array, n_classes: int, weight: Floats | None = None) -> Any:
    """Which class each row belongs to, a sparse matrix (K, rows) that holds the weights of the rows."""
    n = len(codes)
    data = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    return sparse.csc_matrix((data, np.asarray(codes, dtype=np.int64), np.arange(n + 1)), shape=(n_classes, n))
