"""Scores of naive Bayes models of counts, and of rows that are left out of the counts.

Leaving a row out changes the counts of its own class in the columns where the row is not zero, so that only these
logarithms are taken anew; the complement of the classes, what all other classes have counted, changes in the same way.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from outsample.data.tables import Table
from outsample.paths.generative.design import ClassModels, Scorer, Scores
from outsample.paths.generative.statistics import ClassCounts
from outsample.running.arrays import Array, Bools, Floats, Rows

# Share of a count that must be left, smoothing included, unless counts are whole numbers, which lose no digits.
LEAST_COUNT = 1e-6
# Sums of whole numbers below this are exact.
MOST_EXACT = 2**52


class CountModels(ClassModels):
    """What the models have in common: a table of counts, priors and the entries of a row in its own class.

    Parameters
    ----------
    table : (n, p) array or sparse matrix of rows.
    alphas : (models, p) smoothing.
    weight : (n,) or None.
    priors : (K,) or None; then the shares of the classes, or one for all without `fit_prior`.
    """

    _seen: Floats | None
    _sums_entries: ClassVar[bool] = False
    """Whether scores are sums over the entries of a row, apart from priors."""

    def __init__(
        self, table: Any, alphas: Floats, weight: Floats | None, n_classes: int, priors: Any, fit_prior: bool
    ) -> None:
        self.table, self.alphas = table, alphas
        self.n_models, self.n_classes = len(alphas), n_classes
        self._priors, self._fit_prior = priors, fit_prior
        self._empty_scores_prior = self._sums_entries and weight is None
        self.entries, self._seen = _entries_of(table), None
        numbers = self.entries.data if weight is None else np.concatenate([self.entries.data, weight])
        self.whole_numbers = bool((numbers == np.round(numbers)).all() and np.abs(numbers).sum() < MOST_EXACT)

    def knowing(self, seen: Floats, whole_numbers: bool) -> Self:
        """The same models where of every class so many rows are not zero in each column, (K, p)."""
        some = copy(self)
        some._seen, some.whole_numbers = seen, whole_numbers
        return some

    def with_rows(self, rows: Any) -> Self:
        some = super().with_rows(rows)
        some.entries = _entries_of(rows)
        return some

    def statistics(self, table: Any, codes: Array, weight: Floats | None) -> ClassCounts:
        return ClassCounts.of(table, codes, self.n_classes, weight)

    @abstractmethod
    def tables(self, statistics: ClassCounts, model: int) -> tuple[Floats, Floats]:
        """(K, p) what an entry of the table adds to the score of each class, and (K,) the score of no entries."""

    def unreliable(self, statistics: ClassCounts) -> Bools:
        """Models that lack digits, (models,)."""
        return np.zeros(self.n_models, bool)

    def scorer(self, statistics: ClassCounts, table: Any, response: str) -> Scorer:
        both = [self.tables(statistics, m) for m in range(self.n_models)]
        coefficients = np.concatenate([coefficient for coefficient, _ in both]).T
        constant = np.stack([constant for _, constant in both]) + self.log_prior(statistics.weight)
        doubt = self.unreliable(statistics)[:, None]

        def scores(block: slice) -> Scores:
            linear = np.asarray(table[block] @ coefficients).T
            values = linear.reshape(self.n_models, self.n_classes, -1) + constant[:, :, None]
            return Scores(values, doubt, self._alike(table[block]))

        return scores

    def left_out_scorer(self, statistics: ClassCounts, codes: Array, weight: Floats | None, response: str) -> Scorer:
        own, seen = np.ones(len(codes)) if weight is None else weight, self._seen
        if seen is None:
            seen = rows_with_entries(self.entries, codes, self.n_classes)

        def scores(block: Rows) -> Scores:
            rows = LeftOutEntries(self.entries[block], statistics, seen, codes[block], own[block])
            left = np.repeat(statistics.weight[:, None], len(rows.codes), axis=1)
            left[rows.codes, np.arange(len(rows.codes))] -= rows.weight
            values = np.empty((self.n_models, self.n_classes, len(rows.codes)))
            doubt = np.empty((self.n_models, len(rows.codes)), bool)
            for m in range(self.n_models):
                values[m], doubt[m] = self.left_out(rows, statistics, left, m)
            return Scores(values + self.log_prior(left), doubt, self._alike(rows.table))

        return scores

    def _alike(self, rows: Any) -> Bools:
        """Rows without entries, (1, rows): nothing but priors tells classes apart, and equal ones are no rounding."""
        if not self._empty_scores_prior:
            return np.zeros((1, 1), bool)
        return np.asarray(np.asarray(abs(rows).sum(axis=1)).reshape(1, -1) == 0)

    @abstractmethod
    def left_out(self, rows: LeftOutEntries, statistics: ClassCounts, left: Floats, model: int) -> tuple[Floats, Bools]:
        """(scores without priors (K, rows), doubts (rows,)) of a block of rows, each left out of the statistics.

        Parameters
        ----------
        left : (K, rows) weights of the classes without each row.
        """

    def log_prior(self, weight: Floats) -> Floats:
        """Logarithms of the priors, (K,) or (K, rows)."""
        if self._priors is not None:
            fixed = np.log(np.asarray(self._priors, np.float64))
        elif self._fit_prior:
            return np.asarray(np.log(weight) - np.log(weight.sum(axis=0)))
        else:
            fixed = np.full(self.n_classes, -np.log(self.n_classes))
        return fixed if weight.ndim == 1 else fixed[:, None]

    def few(self, left: Floats, before: Floats) -> Bools:
        """Where removing a row has left too few digits of a count, smoothing included."""
        return np.zeros(left.shape, bool) if self.whole_numbers else left < LEAST_COUNT * before


def _entries_of(table: Any) -> Any:
    entries = sparse.csr_matrix(table)
    entries.eliminate_zeros()
    return entries


def rows_with_entries(entries: Any, codes: Array, n_classes: int) -> Floats:
    """How many rows of every class are not zero in each column of a sparse matrix, (K, p)."""
    return ClassCounts.of(abs(entries).sign(), codes, n_classes).counts


class LeftOutEntries:
    """The entries of a block of rows that are not zero, and what is left of the counts of their classes without them.

    Attributes
    ----------
    codes, weight : (rows,).
    row, column, value : of every entry.
    own_left : counts of the row's own class in the column, without the row; exactly zero if no other row counts.
    own_before : the same with it.
    totals : (rows,) sums of the rows.
    alike : (class, weight, rows) of the rows that have both in common.
    """

    def __init__(self, rows: Any, statistics: ClassCounts, seen: Floats, codes: Array, weight: Floats) -> None:
        self.codes, self.weight, self._n = codes, weight, rows.shape[0]
        self.row = np.repeat(np.arange(self._n), np.diff(rows.indptr))
        self.column, self.value = rows.indices, rows.data
        self.removed = weight[self.row] * self.value
        self.own_before = statistics.counts[codes[self.row], self.column]
        alone = seen[codes[self.row], self.column] == 1
        self.own_left = np.where(alone, 0.0, self.own_before - self.removed)
        self.totals = self.sums(self.value)
        self.table, self.seen = rows, seen
        pairs, which = np.unique(np.stack([codes, weight]), axis=1, return_inverse=True)
        order = np.split(np.argsort(which.reshape(-1), kind="stable"), np.cumsum(np.bincount(which.reshape(-1)))[:-1])
        self.alike = [(int(code), w, inside) for (code, w), inside in zip(pairs.T, order, strict=True)]

    def sums(self, of_entries: Floats) -> Floats:
        """Sums over the entries of each row, (rows,)."""
        return np.asarray(np.bincount(self.row, of_entries, self._n), dtype=np.float64)

    def any(self, of_entries: Bools) -> Bools:
        """Whether an entry of the row is marked, (rows,)."""
        return np.bincount(self.row, of_entries, self._n) > 0

    def put(self, values: Floats, own: Floats) -> Floats:
        """`values` (K, rows) with those of each row's own class replaced."""
        values[self.codes, np.arange(self._n)] = own
        return values


class Multinomial(CountModels):
    """Σ_j x_j log((F_j + α_j) / Σ (F + α)), F the counts of the class."""

    _sums_entries = True

    def read(self, X_new: Table) -> Any:
        from outsample.paths.generative.counted_bayes import count_table

        new = count_table(X_new)
        return None if new is None or new.shape[1] != self.table.shape[1] else new

    def tables(self, statistics: ClassCounts, model: int) -> tuple[Floats, Floats]:
        smoothed = statistics.counts + self.alphas[model]
        return np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True)), np.zeros(self.n_classes)

    def left_out(self, rows: LeftOutEntries, statistics: ClassCounts, left: Floats, model: int) -> tuple[Floats, Bools]:
        alpha = self.alphas[model]
        values = np.asarray(rows.table @ self.tables(statistics, model)[0].T).T
        smoothed = rows.own_left + alpha[rows.column]
        before = statistics.counts.sum(axis=1)[rows.codes]
        total = before - rows.weight * rows.totals + alpha.sum()
        own = rows.sums(rows.value * np.log(smoothed)) - rows.totals * np.log(total)
        exact = (rows.own_left == 0) | ~self.few(smoothed, rows.own_before)
        return rows.put(values, own), rows.any(~exact) | self.few(total, before)


class Complement(Multinomial):
    """−Σ_j x_j log((G_j + α_j) / Σ (G + α)), G the counts of other classes; with `norm` over the sum of the logs."""

    def __init__(self, *args: Any, norm: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._norm = norm

    def tables(self, statistics: ClassCounts, model: int) -> tuple[Floats, Floats]:
        smoothed = statistics.counts.sum(axis=0) + self.alphas[model] - statistics.counts
        logs = np.log(smoothed / smoothed.sum(axis=1, keepdims=True))
        weights = logs / logs.sum(axis=1, keepdims=True) if self._norm else -logs
        return weights, np.zeros(self.n_classes)

    def unreliable(self, statistics: ClassCounts) -> Bools:
        every = statistics.counts.sum(axis=0)
        left = every + self.alphas[:, None] - statistics.counts
        return np.asarray(self.few(left, every).any(axis=(1, 2)))

    def left_out(self, rows: LeftOutEntries, statistics: ClassCounts, left: Floats, model: int) -> tuple[Floats, Bools]:
        alpha, every = self.alphas[model], statistics.counts.sum(axis=0)
        values = np.empty((self.n_classes, len(rows.codes)))
        doubt = np.full(len(rows.codes), self.unreliable(statistics)[model])
        for k in range(self.n_classes):
            smoothed = every + alpha - statistics.counts[k]
            others = rows.codes != k
            removed = np.where(others[rows.row], rows.removed, 0.0)
            at_entries = smoothed[rows.column] - removed
            logs = np.log(at_entries)
            total = np.log(smoothed.sum() - np.where(others, rows.weight * rows.totals, 0.0))
            values[k] = rows.totals * total - rows.sums(rows.value * logs)
            if self._norm:
                all_logs = np.log(smoothed).sum() + rows.sums(logs - np.log(smoothed[rows.column]))
                values[k] /= len(alpha) * total - all_logs
            doubt |= rows.any(self.few(at_entries, every[rows.column]))
        return values, doubt

    def log_prior(self, weight: Floats) -> Floats:
        """Priors play no part."""
        return np.zeros(self.n_classes if weight.ndim == 1 else (self.n_classes, 1))
