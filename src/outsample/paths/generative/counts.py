"""Naive Bayes of counts and categories along `alpha`: multinomial, complement, Bernoulli and categorical.

Leaving a row out changes the counts of its own class in the columns where the row is not zero, so that only these
logarithms are taken anew.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import binarize
from sklearn.utils import check_array

from outsample.data.learners import with_params
from outsample.data.tables import Table, n_columns
from outsample.paths.generative.design import (
    LEAST_SHARE,
    ROUNDING,
    ClassModels,
    ClassPath,
    LeftOutScorer,
    Scorer,
    is_number,
)
from outsample.paths.generative.statistics import CategoryCounts, ClassCounts, one_hot
from outsample.running.arrays import Array, Floats, Integers

# scikit-learn warns below, unless told not to, and without any smoothing scores are infinite.
LEAST_ALPHA = 1e-10
# Categories of all columns in all classes that are counted at most: a quarter of a gigabyte.
MOST_COUNTS = 2**25


class CountedBayesPath(ClassPath):
    """`MultinomialNB`, `ComplementNB` and `BernoulliNB` along `alpha`, dense or sparse X, a number or one per column.

    Alphas below 1e-10 are refitted, and so is Bernoulli's X that is neither binary nor made so.
    """

    responses = frozenset({"predict", "predict_proba"})

    @classmethod
    def serves(cls, estimator: Any, alone: bool) -> bool:
        threshold = getattr(estimator, "binarize", None)
        return threshold is None or is_number(threshold, -np.inf)

    @classmethod
    def accepts(cls, value: object) -> bool:
        if np.ndim(value) == 1:  # type: ignore[arg-type]
            return all(is_number(entry, LEAST_ALPHA) for entry in np.asarray(value).tolist())
        return is_number(value, LEAST_ALPHA)

    def models(self, X: Table) -> CountModels | None:
        own, p = self.estimator, n_columns(X)
        if any(np.ndim(value) and len(value) != p for value in self.values):
            return None
        alphas = np.stack([np.broadcast_to(np.asarray(value, np.float64), p) for value in self.values])
        if hasattr(own, "binarize"):
            return Bernoulli(alphas, own.class_prior, own.fit_prior, own.binarize)
        if hasattr(own, "norm"):
            return Complement(alphas, own.class_prior, own.fit_prior, own.norm)
        return Multinomial(alphas, own.class_prior, own.fit_prior)


class CategoricalBayesPath(CountedBayesPath):
    """`CategoricalNB` along `alpha`.

    Training sets that lack the last category of a column are refitted: scikit-learn refuses rows that have it.
    """

    @classmethod
    def accepts(cls, value: object) -> bool:
        return is_number(value, LEAST_ALPHA)

    def models(self, X: Table) -> CountModels | None:
        own, p = self.estimator, n_columns(X)
        least = None if own.min_categories is None else np.asarray(own.min_categories)
        if least is not None and (least.dtype.kind != "i" or least.shape not in ((), (p,))):
            return None
        alphas = np.repeat(np.array(self.values, np.float64)[:, None], p, axis=1)
        return Categorical(alphas, own.class_prior, own.fit_prior, least)


class CountModels(ClassModels):
    """What the models have in common: scores are sums over the columns of a table, plus priors.

    Parameters
    ----------
    alphas : (models, p) smoothing.
    priors : (K,) or None; then the shares of the classes, or one for all without `fit_prior`.
    """

    sum_to_one = False

    def __init__(self, alphas: Floats, priors: Any, fit_prior: bool) -> None:
        self.alphas, self.priors, self._fit_prior = alphas, priors, fit_prior
        self.n_models, self.n_columns = alphas.shape

    def statistics(self, table: Any, codes: Array, n_classes: int, weight: Floats | None) -> Any:
        return ClassCounts.of(table, codes, n_classes, weight)

    @abstractmethod
    def tables(self, statistics: Any, model: int) -> tuple[Floats, Floats]:
        """(K, p) what an entry of the table adds to the score of each class, and (K,) the score of no entries."""

    def scorer(self, statistics: Any, response: str) -> Scorer:
        both = [self.tables(statistics, m) for m in range(self.n_models)]
        coefficients = np.concatenate([coefficient for coefficient, _ in both]).T
        constants = np.stack([constant for _, constant in both]) + self._log_prior(statistics.weight)

        def scores(rows: Any) -> Floats:
            linear = np.asarray(rows @ coefficients).T
            return linear.reshape(*constants.shape, -1) + constants[:, :, None]

        return scores

    def left_out_scorer(self, statistics: ClassCounts, response: str) -> LeftOutScorer:
        both = [self.tables(statistics, m) for m in range(self.n_models)]

        def scores(rows: Any, codes: Array, weight: Floats) -> Floats:
            entries, place = Entries(rows, codes, weight, statistics), np.arange(len(codes))
            left = np.repeat(statistics.weight[:, None], len(codes), axis=1)
            left[codes, place] -= weight
            values = np.empty((self.n_models, *left.shape))
            for m, (coefficients, constant) in enumerate(both):
                values[m] = np.asarray(entries.table @ coefficients.T).T + constant[:, None]
                values[m, codes, place] = self.left_out_scores(entries, statistics, self.alphas[m])
            return values + self._log_prior(left)

        return scores

    def left_out_scores(self, entries: Entries, statistics: ClassCounts, alpha: Floats) -> Floats:
        """Scores of rows for their own classes, each left out, without priors, (rows,)."""
        raise NotImplementedError

    def _log_prior(self, weight: Floats) -> Floats:
        """Logarithms of the priors as scikit-learn takes them, (K,) or (K, rows)."""
        if self.priors is None and self._fit_prior:
            return np.asarray(np.log(weight) - np.log(weight.sum(axis=0)))
        if self.priors is None:
            return np.full((len(weight), *[1] * (weight.ndim - 1)), -np.log(len(weight)))
        return np.asarray(np.log(self.prior(weight)))

    def learned(self, model: Any, statistics: Any) -> Any:
        """The model, fitted by scikit-learn to the means of the classes, which weigh as much as their rows."""
        means, labels = statistics.counts / statistics.weight[:, None], np.arange(len(statistics.weight))
        as_they_are = {"binarize": None} if hasattr(model, "binarize") else {}
        fitted = with_params(model, as_they_are).fit(means, labels, sample_weight=statistics.weight)
        return fitted.set_params(**{name: getattr(model, name) for name in as_they_are})


class Entries:
    """The entries of some rows that are not zero, and what is left of the counts of their classes without them.

    Attributes
    ----------
    table : (rows, p) sparse.
    codes, weight, totals : (rows,) classes, weights and sums of the rows.
    row, column, value : of every entry.
    left : counts of the row's own class in the column, without the row; not numbers where too few digits are left.
    """

    def __init__(self, rows: Any, codes: Array, weight: Floats, statistics: ClassCounts) -> None:
        self.table = sparse.csr_matrix(rows)
        self.table.eliminate_zeros()
        self.codes, self.weight = codes, weight
        self.row = np.repeat(np.arange(len(codes)), np.diff(self.table.indptr))
        self.column, self.value = self.table.indices, self.table.data
        before = statistics.counts[codes[self.row], self.column]
        self.left = _left(before, weight[self.row] * self.value)
        self.totals = self.sums(self.value)

    def sums(self, of_entries: Floats) -> Floats:
        """Sums over the entries of each row, (rows,)."""
        return np.asarray(np.bincount(self.row, of_entries, len(self.codes)), dtype=np.float64)


def _left(before: Floats, removed: Floats) -> Floats:
    """What removing leaves of sums: nothing where only rounding is left, not a number where few digits are."""
    left = before - removed
    left[left <= ROUNDING * before] = 0.0
    return np.where((left > 0) & (left < LEAST_SHARE * before) & (left != np.round(left)), np.nan, left)


class Multinomial(CountModels):
    """Σ_j x_j log((F_j + α_j) / Σ (F + α)), F the counts of the class."""

    leaves_rows_out = True

    def read(self, X: Table) -> Any:
        table = _count_table(X)
        if table is None or table.shape[1] != self.n_columns:
            return None
        values = table.data if sparse.issparse(table) else table
        return None if values.min(initial=0.0) < 0 else table

    def tables(self, statistics: ClassCounts, model: int) -> tuple[Floats, Floats]:
        smoothed = statistics.counts + self.alphas[model]
        return np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True)), np.zeros(len(smoothed))

    def left_out_scores(self, entries: Entries, statistics: ClassCounts, alpha: Floats) -> Floats:
        total = _left(statistics.counts.sum(axis=1)[entries.codes], entries.weight * entries.totals) + alpha.sum()
        logs = np.log(entries.left + alpha[entries.column])
        return np.asarray(entries.sums(entries.value * logs) - entries.totals * np.log(total))


class Complement(Multinomial):
    """−Σ_j x_j log((G_j + α_j) / Σ (G + α)), G the counts of other classes; with `norm` over the sum of the logs."""

    leaves_rows_out = False

    def __init__(self, alphas: Floats, priors: Any, fit_prior: bool, norm: bool) -> None:
        super().__init__(alphas, priors, fit_prior)
        self._norm = norm

    def tables(self, statistics: ClassCounts, model: int) -> tuple[Floats, Floats]:
        every = statistics.counts.sum(axis=0)
        smoothed = every + self.alphas[model] - statistics.counts
        logs = np.log(smoothed / smoothed.sum(axis=1, keepdims=True))
        return logs / logs.sum(axis=1, keepdims=True) if self._norm else -logs, np.zeros(len(logs))

    def _log_prior(self, weight: Floats) -> Floats:
        """Priors play no part."""
        return np.zeros(len(weight))


class Bernoulli(CountModels):
    """Σ_j x_j log p_j + (1 − x_j) log(1 − p_j), p = (F + α) / (N + 2α), N the number of rows of the class."""

    leaves_rows_out = True

    def __init__(self, alphas: Floats, priors: Any, fit_prior: bool, threshold: float | None) -> None:
        super().__init__(alphas, priors, fit_prior)
        self.threshold = threshold

    def read(self, X: Table) -> Any:
        table = _count_table(X)
        if table is None or table.shape[1] != self.n_columns:
            return None
        if self.threshold is not None:
            try:
                return binarize(table, threshold=self.threshold)
            except ValueError:
                return None
        values = table.data if sparse.issparse(table) else table
        return table if bool(((values == 0) | (values == 1)).all()) else None

    def tables(self, statistics: ClassCounts, model: int) -> tuple[Floats, Floats]:
        present, absent = _log_shares(statistics.counts, statistics.weight[:, None], self.alphas[model])
        return present - absent, absent.sum(axis=1)

    def left_out_scores(self, entries: Entries, statistics: ClassCounts, alpha: Floats) -> Floats:
        own = np.empty(len(entries.codes))
        pairs, which = np.unique(np.stack([entries.codes, entries.weight]), axis=1, return_inverse=True)
        # Rows of the same class and weight leave the same counts behind.
        for place, (code, weight) in enumerate(pairs.T):
            counts, n = statistics.counts[int(code)], statistics.weight[int(code)] - weight
            present = _log_shares(np.maximum(counts - weight, 0.0), n, alpha)[0]
            absent = _log_shares(np.minimum(counts, n), n, alpha)[1]
            inside = which.reshape(-1) == place
            own[inside] = entries.table[inside] @ (present - absent) + absent.sum()
        return own


def _log_shares(counts: Floats, weight: Any, alpha: Floats) -> tuple[Floats, Floats]:
    """(log p, log(1 − p)) as scikit-learn computes them: for p near one the rounding is large, and the same."""
    present = np.log(counts + alpha) - np.log(weight + 2 * alpha)
    return present, np.log(1 - np.exp(present))


class Categorical(CountModels):
    """Σ_j log((F_j(x_j) + α) / (N + c_j α)), F_j the counts of the c_j categories of a column.

    Parameters
    ----------
    least : least numbers of categories; None where they are those found.
    """

    def __init__(self, alphas: Floats, priors: Any, fit_prior: bool, least: Integers | None) -> None:
        super().__init__(alphas, priors, fit_prior)
        self._least = least

    def read(self, X: Table) -> Integers | None:
        try:
            codes = np.asarray(check_array(X, dtype="int"), dtype=np.int64)
        except (ValueError, TypeError):
            return None
        known = codes.shape[1] == self.n_columns and bool((codes >= 0).all())
        return codes if known and int((codes.max(axis=0) + 1).sum()) <= MOST_COUNTS else None

    def statistics(self, table: Integers, codes: Array, n_classes: int, weight: Floats | None) -> CategoryCounts:
        return CategoryCounts.of(table, codes, n_classes, weight)

    def _known(self, statistics: CategoryCounts) -> CategoryCounts:
        """The statistics of all categories there may be."""
        return statistics.of_sizes(np.maximum(statistics.sizes, 0 if self._least is None else self._least))

    def tables(self, statistics: CategoryCounts, model: int) -> tuple[Floats, Floats]:
        known, alpha = self._known(statistics), self.alphas[model, 0]
        smoothed = known.counts + alpha
        totals = np.log(np.add.reduceat(smoothed, np.cumsum(known.sizes) - known.sizes, axis=1))
        return np.log(smoothed) - np.repeat(totals, known.sizes, axis=1), np.zeros(len(smoothed))

    def scorer(self, statistics: CategoryCounts, response: str) -> Scorer:
        of_entries, sizes = super().scorer(statistics, response), self._known(statistics).sizes

        def scores(rows: Integers) -> Floats:
            if (rows >= sizes).any():
                return np.full((self.n_models, len(statistics.weight), len(rows)), np.nan)
            return of_entries(one_hot(rows, sizes))

        return scores

    def learned(self, model: Any, statistics: CategoryCounts) -> Any:
        own = self._known(statistics)
        model.n_categories_ = own.sizes
        model.category_count_ = np.split(own.counts, np.cumsum(own.sizes)[:-1], axis=1)
        model.class_count_, model.class_log_prior_ = own.weight, self._log_prior(own.weight)
        smoothed = [counts + model.alpha for counts in model.category_count_]
        model.feature_log_prob_ = [np.log(counts) - np.log(counts.sum(axis=1, keepdims=True)) for counts in smoothed]
        return model


def _count_table(X: Table) -> Any:
    """X as an array of doubles or a sparse matrix of rows; None where scikit-learn would not take it."""
    try:
        table = check_array(X, accept_sparse="csr")
    except (ValueError, TypeError):
        return None
    return table.astype(np.float64) if sparse.issparse(table) else np.asarray(table, dtype=np.float64)
