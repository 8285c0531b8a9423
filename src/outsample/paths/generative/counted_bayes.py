"""Naive Bayes of counts and categories along `alpha`: multinomial, complement, Bernoulli and categorical."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from outsample.data.tables import Table
from outsample.paths.base import Design, GridPath
from outsample.paths.generative.binary_models import Bernoulli, Categorical
from outsample.paths.generative.count_models import Complement, CountModels, Multinomial
from outsample.paths.generative.design import GenerativeDesign
from outsample.paths.generative.inputs import is_number, usable_priors
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats

# scikit-learn warns below, unless told not to, and without any smoothing scores are infinite.
LEAST_ALPHA = 1e-10


class CountedBayesPath(GridPath):
    """`MultinomialNB`, `ComplementNB` and `BernoulliNB` along `alpha`, dense or sparse X, a number or one per column.

    Alphas below 1e-10 are refitted, and so is Bernoulli's X that is neither binary nor made so.
    """

    responses = frozenset({"predict", "predict_proba"})

    @classmethod
    def accepts(cls, value: object) -> bool:
        if np.ndim(value) == 1:  # type: ignore[arg-type]
            return all(is_number(entry, LEAST_ALPHA) for entry in np.asarray(value).tolist())
        return is_number(value, LEAST_ALPHA)

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        models = None if classes is None else self._models(X, len(classes), weight)
        if models is None:
            return RefitPath.of(self).bind(X, classes, weight)
        assert classes is not None
        return GenerativeDesign(self, models, X, classes, weight)

    def _models(self, X: Table, n_classes: int, weight: Floats | None) -> CountModels | None:
        table = count_table(X)
        priors = self.estimator.class_prior
        if table is None or not usable_priors(priors, n_classes, sum_to_one=False):
            return None
        if any(np.ndim(value) and len(value) != table.shape[1] for value in self.values):
            return None
        return self._of_kind(table, n_classes, weight)

    def _of_kind(self, table: Any, n_classes: int, weight: Floats | None) -> CountModels | None:
        own, p = self.estimator, table.shape[1]
        alphas = np.stack([np.broadcast_to(np.asarray(value, np.float64), p) for value in self.values])
        common = {"n_classes": n_classes, "priors": own.class_prior, "fit_prior": own.fit_prior}
        if hasattr(own, "binarize"):
            threshold = own.binarize
            binary = Bernoulli.as_binary(table, threshold)
            return None if binary is None else Bernoulli(binary, alphas, weight, threshold=threshold, **common)
        if _smallest(table) < 0:
            return None
        if hasattr(own, "norm"):
            return Complement(table, alphas, weight, norm=own.norm, **common)
        return Multinomial(table, alphas, weight, **common)


class CategoricalBayesPath(CountedBayesPath):
    """`CategoricalNB` along `alpha`.

    A training set that lacks the last category of a column is refitted: scikit-learn refuses its left-out rows.
    """

    @classmethod
    def accepts(cls, value: object) -> bool:
        return is_number(value, LEAST_ALPHA)

    def _models(self, X: Table, n_classes: int, weight: Floats | None) -> CountModels | None:
        own = self.estimator
        if not usable_priors(own.class_prior, n_classes, sum_to_one=False):
            return None
        codes = Categorical.as_codes(X)
        if codes is None:
            return None
        sizes = Categorical.sizes(codes, own.min_categories)
        if sizes is None:
            return None
        alphas = np.array(self.values, np.float64)
        return Categorical(codes, sizes, alphas, weight, n_classes, own.class_prior, own.fit_prior)


def count_table(X: Table) -> Any:
    """X as an array of doubles or a sparse matrix of rows; None where scikit-learn would not take it."""
    try:
        table = check_array(X, accept_sparse="csr")
    except (ValueError, TypeError):
        return None
    return table.astype(np.float64) if sparse.issparse(table) else np.asarray(table, dtype=np.float64)


def _smallest(table: Any) -> float:
    values = table.data if sparse.issparse(table) else table
    return float(values.min(initial=0.0))
