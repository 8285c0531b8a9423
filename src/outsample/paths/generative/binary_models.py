"""Naive Bayes models of zeros and ones: of columns that are binary, and of the categories of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import binarize
from sklearn.utils import check_array

from outsample.data.tables import Table
from outsample.paths.generative.count_models import LEAST_COUNT, CountModels, LeftOutEntries
from outsample.paths.generative.statistics import ClassCounts
from outsample.running.arrays import Bools, Floats, Integers

# Entries of one-hot columns per entry of the table, beyond which categories are too many.
MOST_CATEGORIES = 1000


class Bernoulli(CountModels):
    """Σ_j x_j log p_j + (1 − x_j) log(1 − p_j), p = (F + α) / (N + 2α), N the number of rows of the class."""

    def __init__(self, *args: Any, threshold: float | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._threshold = threshold

    @staticmethod
    def as_binary(table: Any, threshold: float | None) -> Any:
        """The table as zeros and ones; None where it is neither binary nor made so."""
        if threshold is not None:
            try:
                return binarize(table, threshold=threshold)
            except ValueError:
                return None
        values = table.data if sparse.issparse(table) else table
        return table if bool(((values == 0) | (values == 1)).all()) else None

    def read(self, X_new: Table) -> Any:
        from outsample.paths.generative.counted_bayes import count_table

        new = count_table(X_new)
        if new is None or new.shape[1] != self.table.shape[1]:
            return None
        return self.as_binary(new, self._threshold)

    def tables(self, statistics: ClassCounts, model: int) -> tuple[Floats, Floats]:
        alpha = self.alphas[model]
        present = _log_share(statistics.counts, statistics.weight[:, None], alpha)
        absent = _log_rest(present)
        return present - absent, absent.sum(axis=1)

    def unreliable(self, statistics: ClassCounts) -> Bools:
        if self.whole_numbers:
            return np.zeros(self.n_models, bool)
        rest = statistics.weight[:, None] - statistics.counts + self.alphas[:, None]
        return np.asarray((rest < LEAST_COUNT * statistics.weight[:, None]).any(axis=(1, 2)))

    def left_out(self, rows: LeftOutEntries, statistics: ClassCounts, left: Floats, model: int) -> tuple[Floats, Bools]:
        alpha = self.alphas[model]
        coefficients, constant = self.tables(statistics, model)
        values = np.asarray(rows.table @ coefficients.T).T + constant[:, None]
        own = np.empty(len(rows.codes))
        doubt = np.full(len(rows.codes), self.unreliable(statistics)[model])
        # Rows of the same class and weight leave the same counts behind.
        for code, weight, inside in rows.alike:
            counts, n = statistics.counts[code], statistics.weight[code] - weight
            present = _log_share(np.where(rows.seen[code] == 1, 0.0, counts - weight), n, alpha)
            absent = _log_rest(_log_share(counts, n, alpha))
            # Columns in which no row of the class has a one, or every row: none of these rows asks for the other.
            present[counts == 0] = 0.0
            absent[counts >= n + 0.5 * weight] = 0.0
            own[inside] = rows.table[inside] @ (present - absent) + absent.sum()
        if not self.whole_numbers:
            before = rows.own_before
            doubt |= rows.any((rows.own_left != 0) & self.few(rows.own_left + alpha[rows.column], before))
            rest = statistics.weight[rows.codes] - rows.weight
            doubt |= self._nearly_all(statistics, model)[rows.codes] | (rest < LEAST_COUNT)
        return rows.put(values, own), doubt

    def _nearly_all(self, statistics: ClassCounts, model: int) -> Bools:
        """Classes that have a one in nearly all rows of some column, so that 1 − p has few digits, (K,)."""
        rest = statistics.weight[:, None] - statistics.counts + self.alphas[model]
        return np.asarray((rest < LEAST_COUNT * statistics.weight[:, None]).any(axis=1))


def _log_share(counts: Floats, weight: Any, alpha: Floats) -> Floats:
    """log p, as scikit-learn computes it."""
    return np.asarray(np.log(counts + alpha) - np.log(weight + 2 * alpha))


def _log_rest(log_share: Floats) -> Floats:
    """log(1 − p), as scikit-learn computes it: for p near one its rounding is large, and must be the same."""
    return np.asarray(np.log(1 - np.exp(log_share)))


class Categorical(CountModels):
    """Σ_j log((F_j(x_j) + α) / (N + c_j α)), F_j the counts of the c_j categories of a column.

    Every category is a column of zeros and ones.

    Parameters
    ----------
    codes : (n, p) categories.
    sizes : (p,) numbers of categories.
    alphas : (models,).
    """

    def __init__(
        self,
        codes: Integers,
        sizes: Integers,
        alphas: Floats,
        weight: Floats | None,
        n_classes: int,
        priors: Any,
        fit_prior: bool,
    ) -> None:
        self._sizes = sizes
        every = np.repeat(alphas[:, None], int(sizes.sum()), axis=1)
        super().__init__(self.one_hot(codes, sizes), every, weight, n_classes, priors, fit_prior)
        largest = np.cumsum(sizes) - sizes + codes.max(axis=0)
        # Without the last category of a column, scikit-learn does not know rows that have it.
        self._last = largest[codes.max(axis=0) + 1 == sizes]

    @staticmethod
    def as_codes(X: Table) -> Integers | None:
        """X as whole numbers, (n, p); None where scikit-learn would not take it."""
        try:
            codes = np.asarray(check_array(X, dtype="int"), dtype=np.int64)
        except (ValueError, TypeError):
            return None
        return codes if bool((codes >= 0).all()) else None

    @staticmethod
    def sizes(codes: Integers, min_categories: Any) -> Integers | None:
        """Numbers of categories of the columns, (p,); None where they are invalid or too many."""
        found = codes.max(axis=0) + 1
        if min_categories is not None:
            least = np.asarray(min_categories)
            if least.dtype.kind != "i" or least.shape not in ((), found.shape):
                return None
            found = np.maximum(found, least)
        return found if int(found.sum()) <= MOST_CATEGORIES * codes.size else None

    @staticmethod
    def one_hot(codes: Integers, sizes: Integers) -> Any:
        """A sparse matrix with a column of zeros and ones for every category, (n, Σ sizes)."""
        n, p = codes.shape
        columns = (codes + np.cumsum(sizes) - sizes).ravel()
        shape = n, int(sizes.sum())
        return sparse.csr_matrix((np.ones(n * p), columns, np.arange(0, n * p + 1, p)), shape=shape)

    def read(self, X_new: Table) -> Any:
        codes = self.as_codes(X_new)
        if codes is None or codes.shape[1] != len(self._sizes) or bool((codes >= self._sizes).any()):
            return None
        return self.one_hot(codes, self._sizes)

    def tables(self, statistics: ClassCounts, model: int) -> tuple[Floats, Floats]:
        return np.log(statistics.counts + self.alphas[model]), -self._log_totals(statistics.weight, model)

    def unreliable(self, statistics: ClassCounts) -> Bools:
        lacks = (statistics.counts[:, self._last].sum(axis=0) <= 0).any()
        return np.full(self.n_models, bool(lacks))

    def _log_totals(self, weight: Floats, model: int) -> Floats:
        """Σ_j log(N + c_j α) of classes of these weights."""
        smoothing = self._sizes * self.alphas[model, 0]
        return np.asarray(np.log(weight[..., None] + smoothing).sum(axis=-1))

    def left_out(self, rows: LeftOutEntries, statistics: ClassCounts, left: Floats, model: int) -> tuple[Floats, Bools]:
        coefficients, constant = self.tables(statistics, model)
        values = np.asarray(rows.table @ coefficients.T).T + constant[:, None]
        smoothed = rows.own_left + self.alphas[model, 0]
        remaining = left[rows.codes, np.arange(len(rows.codes))]
        own = rows.sums(np.log(smoothed)) - self._log_totals(remaining, model)
        short = (rows.own_left != 0) & self.few(smoothed, rows.own_before)
        unknown = np.isin(rows.column, self._last[rows.seen[:, self._last].sum(axis=0) == 1])
        return rows.put(values, own), rows.any(short | unknown) | self.few(remaining, statistics.weight[rows.codes])
