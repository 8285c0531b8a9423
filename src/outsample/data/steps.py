"""The leading steps of a pipeline that never look at y: fitted once, because X never changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, PolynomialFeatures, TargetEncoder

from outsample.data.learners import seeded
from outsample.data.lending import lend
from outsample.data.tables import Table

_UNSUPERVISED_MODULES = (
    "sklearn.preprocessing.",
    "sklearn.decomposition.",
    "sklearn.impute.",
    "sklearn.kernel_approximation",
    "sklearn.random_projection",
    "sklearn.feature_extraction.",
    "sklearn.cluster.",
    "sklearn.manifold.",
)

_SEED = 0


def ignores_y(step: Any) -> bool:
    """Whether a transformer is known not to look at y when it is fitted.

    Steps from outside scikit-learn, and subclasses of its own, are assumed to look.
    """
    if step is None or isinstance(step, str):
        return step in (None, "passthrough", "drop")
    if type(step) is Pipeline:
        return all(ignores_y(inner) for _, inner in step.steps)
    if type(step) is FeatureUnion:
        return all(ignores_y(inner) for _, inner in step.transformer_list)
    if type(step) is ColumnTransformer:
        return ignores_y(step.remainder) and all(ignores_y(inner) for _, inner, _ in step.transformers)
    if isinstance(step, TargetEncoder):
        return False
    return type(step) is VarianceThreshold or type(step).__module__.startswith(_UNSUPERVISED_MODULES)


def treats_rows_alone(step: Any) -> bool:
    """Whether a transformer learns nothing from X and turns each row into the same numbers whatever the others are.

    A function is trusted only where it is a numpy function of single numbers, such as `numpy.log1p`.
    """
    if step is None or isinstance(step, str):
        return step in (None, "passthrough")
    if type(step) is Pipeline:
        return all(treats_rows_alone(inner) for _, inner in step.steps)
    if type(step) is FunctionTransformer:
        return step.func is None or isinstance(step.func, np.ufunc)
    return type(step) in (PolynomialFeatures, Normalizer, Binarizer)


def split_head(estimator: BaseEstimator) -> tuple[Pipeline | None, Any, str]:
    """(head, tail, prefix): the leading steps that ignore y, the rest, and the tail's parameter prefix.

    The prefix is "" unless the tail is a single step, whose parameters the user calls `step__parameter`.
    """
    if type(estimator) is not Pipeline:
        return None, estimator, ""
    steps = estimator.steps
    cut = 0
    while cut < len(steps) - 1 and ignores_y(steps[cut][1]):
        cut += 1
    if cut == 0 and len(steps) > 1:
        return None, estimator, ""
    head = Pipeline(steps[:cut], memory=estimator.memory) if cut else None
    if cut == len(steps) - 1:
        name, tail = steps[-1]
        return head, tail, f"{name}__"
    return head, Pipeline(steps[cut:], memory=estimator.memory), ""


def fit_head(head: Pipeline | None, X: Table) -> tuple[Any, Any, Any]:
    """(fitted head, X as the tail is fitted to it, X as the fitted head transforms it).

    The two differ where a head is random: a randomised decomposition keeps what it found while fitting. Random states
    that are not set are always set alike: X is transformed the same way whoever asks.
    """
    if head is None:
        return None, X, X
    fitted = seeded(head, _SEED)
    Z = transformed(fitted, X, "fit_transform")
    random = any(name.endswith("__random_state") for name in fitted.get_params())
    return fitted, Z, transformed(fitted, X) if random else Z


def transformed(step: Any, X: Table, method: str = "transform") -> Any:
    """X as a step transforms it, which leaves X itself as it is."""
    return lend(step, getattr(step, method), X)


def alike(first: Any, second: Any) -> bool:
    """Whether two transformed tables are the same up to rounding."""
    if first is second:
        return True
    if first.shape != second.shape:
        return False
    if issparse(first) and issparse(second):
        one, other = first.tocsr(), second.tocsr()
        return bool((abs(one - other) - 1e-9 * abs(other)).max() <= 1e-9 * abs(one).max())
    a, b = (table.toarray() if issparse(table) else np.asarray(table) for table in (first, second))
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(a).max(initial=0.0)))
