"""Naive Bayes of counts and categories, known from the sums of the columns over the rows of every class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB, ComplementNB

from outsample.data.lazy import in_memory_only
from outsample.data.learners import with_params
from outsample.paths.generative.binary_models import Bernoulli, Categorical
from outsample.paths.generative.count_models import MOST_EXACT, Complement, CountModels, Multinomial, rows_with_entries
from outsample.paths.generative.counted_bayes import CategoricalBayesPath, CountedBayesPath
from outsample.paths.generative.inputs import is_number
from outsample.paths.generative.statistics import ClassCounts, spread
from outsample.questions.lazy_families import Family, Group, check_priors
from outsample.running.arrays import Array, Floats, Integers, Rows

# Categories of all columns in all classes that are counted at most: a quarter of a gigabyte.
MOST_COUNTS = 2**25


@dataclass(frozen=True, eq=False)
class CountSums:
    """What is known of a table of counts.

    Attributes
    ----------
    counts : sums of the columns in every class.
    seen : (K, p) rows of every class that are not zero in a column.
    whole : whether all counts are whole numbers.
    """

    counts: ClassCounts
    seen: Floats
    whole: bool

    @property
    def weight(self) -> Floats:
        """Rows of every class, (K,)."""
        return self.counts.weight

    def __add__(self, other: CountSums) -> CountSums:
        return CountSums(self.counts + other.counts, self.seen + other.seen, self.whole and other.whole)

    def among(self, places: Rows, n_classes: int) -> CountSums:
        """See `ClassMoments.among`."""
        return CountSums(self.counts.among(places, n_classes), spread(self.seen, places, n_classes), self.whole)

    def columns(self, some: slice) -> CountSums:
        """What is known of some columns."""
        return CountSums(ClassCounts(self.weight, self.counts.counts[:, some]), self.seen[:, some], self.whole)


@dataclass(frozen=True, eq=False)
class CategorySums:
    """What is known of a table of categories.

    Attributes
    ----------
    counts : rows of every class that have a category, column after column.
    sizes : (p,) categories of each column: one more than the largest.
    """

    counts: ClassCounts
    sizes: Integers

    @property
    def weight(self) -> Floats:
        """Rows of every class, (K,)."""
        return self.counts.weight

    def __add__(self, other: CategorySums) -> CategorySums:
        sizes = np.maximum(self.sizes, other.sizes)
        return CategorySums(self.of_sizes(sizes) + other.of_sizes(sizes), sizes)

    def among(self, places: Rows, n_classes: int) -> CategorySums:
        """See `ClassMoments.among`."""
        return CategorySums(self.counts.among(places, n_classes), self.sizes)

    def of_sizes(self, sizes: Integers) -> ClassCounts:
        """The counts where columns have so many categories, none fewer than here."""
        counts = np.zeros((len(self.weight), int(sizes.sum())))
        moved = np.repeat(_offsets(sizes) - _offsets(self.sizes), self.sizes)
        counts[:, np.arange(len(moved)) + moved] = self.counts.counts
        return ClassCounts(self.weight, counts)


def _offsets(sizes: Integers) -> Integers:
    return np.cumsum(sizes) - sizes


class _AlphaFamily(Family):
    """What they have in common: the values of `alpha` and the priors."""

    parameter = "alpha"

    def group(self, models: Sequence[Any], places: Rows, whole: Any) -> Group:
        first, n_classes = models[places[0]], len(whole.weight)
        check_priors("class_prior", first.class_prior, n_classes, sum_to_one=False)
        common = {"n_classes": n_classes, "priors": first.class_prior, "fit_prior": first.fit_prior, "weight": None}
        return self._group_of(first, places, [models[i].alpha for i in places], whole, common)

    @abstractmethod
    def _group_of(self, first: Any, places: Rows, alphas: Sequence[Any], whole: Any, common: dict[str, Any]) -> Group:
        """The group of settings that are like the first but for `alpha`; `common` is said to all kinds of models."""


class CountFamily(_AlphaFamily):
    """`MultinomialNB`, `ComplementNB` or `BernoulliNB` along `alpha`.

    Where settings make different tables of zeros and ones of X, these stand side by side.
    """

    def __init__(self, models: Sequence[Any], origin: Floats) -> None:
        self._of_ones, self._name = isinstance(models[0], BernoulliNB), type(models[0]).__name__
        self._thresholds = list(dict.fromkeys(model.binarize for model in models)) if self._of_ones else [None]

    @staticmethod
    def serves(model: Any) -> bool:
        threshold = getattr(model, "binarize", None)
        return CountedBayesPath.accepts(model.alpha) and (threshold is None or is_number(threshold, -np.inf))

    def sums(self, X: Floats, codes: Array, n_classes: int) -> CountSums:
        tables = [sparse.csr_matrix(self._read(X, threshold)) for threshold in self._thresholds]
        entries = sparse.hstack(tables, format="csr")
        entries.eliminate_zeros()
        whole = bool((entries.data == np.round(entries.data)).all())
        seen = rows_with_entries(entries, codes, n_classes)
        return CountSums(ClassCounts.of(entries, codes, n_classes), seen, whole)

    def _read(self, X: Floats, threshold: Any) -> Floats:
        if not self._of_ones:
            if (X < 0).any():
                raise ValueError(f"X contains negative values, which are no counts for {self._name}")
            return X
        table = Bernoulli.as_binary(X, threshold)
        if table is None:
            raise ValueError(in_memory_only(f"BernoulliNB(binarize={threshold!r}) of X not of zeros and ones"))
        return np.asarray(table)

    def _group_of(
        self, first: Any, places: Rows, alphas: Sequence[Any], whole: CountSums, common: dict[str, Any]
    ) -> Group:
        p = whole.seen.shape[1] // len(self._thresholds)
        if any(np.ndim(alpha) and len(alpha) != p for alpha in alphas):
            raise ValueError(f"alpha must be a number or one per column of X, which has {p}")
        every = np.stack([np.broadcast_to(np.asarray(alpha, np.float64), p) for alpha in alphas])
        place, nothing = 0, np.zeros((1, p))
        if self._of_ones:
            place = self._thresholds.index(first.binarize)
            models: CountModels = Bernoulli(nothing, every, threshold=first.binarize, **common)
        elif isinstance(first, ComplementNB):
            models = Complement(nothing, every, norm=first.norm, **common)
        else:
            models = Multinomial(nothing, every, **common)
        columns = slice(place * p, (place + 1) * p)
        own = whole.columns(columns)
        models = models.knowing(own.seen, own.whole and bool(own.counts.counts.sum() < MOST_EXACT))
        return _CountGroup(places, models, columns)

    def learned(self, model: Any, group: Group, whole: CountSums) -> Any:
        """The model, fitted by scikit-learn to the means of the classes, which weigh as much as their rows."""
        own, zeros_and_ones = group.statistics(whole), {"binarize": None} if self._of_ones else {}
        means, labels = own.counts / own.weight[:, None], np.arange(len(own.weight))
        fitted = with_params(model, zeros_and_ones).fit(means, labels, sample_weight=own.weight)
        return fitted.set_params(**{name: getattr(model, name) for name in zeros_and_ones})


@dataclass(frozen=True, eq=False)
class _CountGroup(Group):
    """Settings along `alpha`.

    Attributes
    ----------
    columns : the columns of the sums that are theirs.
    """

    columns: slice

    def statistics(self, sums: CountSums) -> ClassCounts:
        return sums.columns(self.columns).counts

    def read(self, X: Floats) -> Any:
        return self.models.read(X)


class CategoryFamily(_AlphaFamily):
    """`CategoricalNB` along `alpha`."""

    doubt = "a largest category that no training row has, unless min_categories tells of it, or a choice by rounding"

    def __init__(self, models: Sequence[Any], origin: Floats) -> None:
        pass

    @staticmethod
    def serves(model: Any) -> bool:
        return CategoricalBayesPath.accepts(model.alpha)

    def sums(self, X: Floats, codes: Array, n_classes: int) -> CategorySums:
        categories = Categorical.as_codes(X)
        if categories is None:
            raise ValueError("X contains negative values, which are no categories for CategoricalNB")
        sizes = categories.max(axis=0) + 1
        _check_sizes(sizes, n_classes)
        return CategorySums(ClassCounts.of(Categorical.one_hot(categories, sizes), codes, n_classes), sizes)

    def _group_of(
        self, first: Any, places: Rows, alphas: Sequence[Any], whole: CategorySums, common: dict[str, Any]
    ) -> Group:
        largest = whole.sizes[None] - 1
        sizes = Categorical.sizes(largest, first.min_categories)
        if sizes is None:
            raise ValueError(in_memory_only(f"CategoricalNB(min_categories={first.min_categories!r})"))
        _check_sizes(sizes, common["n_classes"])
        models = Categorical(largest, sizes, np.array(alphas, np.float64), **common)
        return _CategoryGroup(places, models.knowing(whole.of_sizes(sizes).counts, whole_numbers=True), sizes)

    def learned(self, model: Any, group: Group, whole: CategorySums) -> Any:
        assert isinstance(group, _CategoryGroup)
        own, models = group.statistics(whole), group.models
        assert isinstance(models, Categorical)
        model.n_categories_ = group.sizes
        model.category_count_ = np.split(own.counts, np.cumsum(group.sizes)[:-1], axis=1)
        model.class_count_, model.class_log_prior_ = own.weight, models.log_prior(own.weight)
        smoothed = [counts + model.alpha for counts in model.category_count_]
        model.feature_log_prob_ = [np.log(counts) - np.log(counts.sum(axis=1, keepdims=True)) for counts in smoothed]
        return model


def _check_sizes(sizes: Integers, n_classes: int) -> None:
    if int(sizes.sum()) * n_classes > MOST_COUNTS:
        raise ValueError(in_memory_only(f"a table of {int(sizes.sum())} categories, the largest numbers plus one,"))


@dataclass(frozen=True, eq=False)
class _CategoryGroup(Group):
    """Settings along `alpha`.

    Attributes
    ----------
    sizes : (p,) categories of each column.
    """

    sizes: Integers

    def statistics(self, sums: CategorySums) -> ClassCounts:
        return sums.of_sizes(self.sizes)

    def read(self, X: Floats) -> Any:
        return self.models.read(X)
