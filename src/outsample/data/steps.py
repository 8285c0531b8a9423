"""The leading steps of a pipeline that never look at y: while labels are drawn X stays, so they are fitted once."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
)

from outsample.data.learners import seeded
from outsample.data.parameters import KNOWN_PARAMETERS, unknown_settings
from outsample.data.tables import Table, lend

_UNSUPERVISED_MODULES = (
    "sklearn.preprocessing.",
    "sklearn.decomposition.",
    "sklearn.impute.",
    "sklearn.kernel_approximation",
    "sklearn.random_projection",
    "sklearn.feature_extraction.",
    "sklearn.cluster.",
    "sklearn.manifold.",
    # Where scikit-learn-intelex has its own in the place of scikit-learn's.
    "sklearnex.decomposition.",
    "sklearnex.cluster.",
)

_SEED = 0


def ignores_y(step: Any) -> bool:
    """Whether a transformer is known not to look at y when it is fitted.

    Steps from outside scikit-learn, subclasses of its own, and those set in ways not known here are assumed to look.
    """
    if step is None or isinstance(step, str):
        return step in (None, "passthrough", "drop")
    if unknown_settings(step):
        return False
    if type(step) is Pipeline:
        return all(ignores_y(inner) for _, inner in step.steps)
    if type(step) is FeatureUnion:
        return all(ignores_y(inner) for _, inner in step.transformer_list)
    if type(step) is ColumnTransformer:
        return ignores_y(step.remainder) and all(ignores_y(inner) for _, inner, _ in step.transformers)
    listed = type(step).__name__ in KNOWN_PARAMETERS
    return type(step) is VarianceThreshold or (listed and type(step).__module__.startswith(_UNSUPERVISED_MODULES))


def step_that_reads_y(estimator: BaseEstimator) -> Any:
    """The first step before the last one of a pipeline that may look at y when it is fitted; None where none does.

    Pipelines at the end of pipelines are looked into.
    """
    if not isinstance(estimator, Pipeline):
        return None
    *earlier, (_, tail) = estimator.steps
    readers = (step for _, step in earlier if not ignores_y(step))
    return next(readers, step_that_reads_y(tail))


def treats_rows_alone(step: Any) -> bool:
    """Whether a transformer learns nothing from X, so that a row's result does not depend on the other rows.

    Of `FunctionTransformer`s only those of numpy's elementwise functions, such as `numpy.log1p`, are known to.
    """
    if step is None or isinstance(step, str):
        return step in (None, "passthrough")
    if type(step) is Pipeline:
        return all(treats_rows_alone(inner) for _, inner in step.steps)
    if type(step) is FunctionTransformer:
        return step.func is None or isinstance(step.func, np.ufunc)
    return type(step) in (PolynomialFeatures, Normalizer, Binarizer)


def split_pipeline(estimator: BaseEstimator) -> tuple[Pipeline | None, Any, str]:
    """(leading, learner, prefix): a pipeline's leading steps that ignore y, what follows them, and a prefix.

    The leading steps are None where there are none. The learner is the last step, whose parameters begin with the
    prefix "step__"; or, with the prefix "", all steps from the first one that looks at y.
    """
    if type(estimator) is not Pipeline or unknown_settings(estimator):
        return None, estimator, ""
    steps = estimator.steps
    cut = 0
    while cut < len(steps) - 1 and ignores_y(steps[cut][1]):
        cut += 1
    if cut == 0 and len(steps) > 1:
        return None, estimator, ""
    leading = Pipeline(steps[:cut], memory=estimator.memory) if cut else None
    if cut == len(steps) - 1:
        name, learner = steps[-1]
        return leading, learner, f"{name}__"
    return leading, Pipeline(steps[cut:], memory=estimator.memory), ""


def last_scaler(steps: Pipeline | None) -> StandardScaler | None:
    """The `StandardScaler` that steps end with; None where they end otherwise or others learn from the rows too."""
    if steps is None or type(steps) is not Pipeline:
        return None
    known = [step for _, step in steps.steps if step not in (None, "passthrough")]
    if not known or type(known[-1]) is not StandardScaler or not all(map(treats_rows_alone, known[:-1])):
        return None
    return known[-1]


def fit_leading_steps(steps: Pipeline | None, X: Table) -> tuple[Any, Any, Any]:
    """(fitted steps, X as the learner is fitted to it, X as the fitted steps transform it).

    The two differ where a step is random: a randomised decomposition keeps what it found while fitting. Random states
    that are not set get the same seed every time, so that X is transformed the same way whoever asks.
    """
    if steps is None:
        return None, X, X
    fitted = seeded(steps, _SEED)
    Z = transformed(fitted, X, "fit_transform")
    return fitted, Z, transformed(fitted, X) if is_random(fitted) else Z


def is_random(steps: Pipeline) -> bool:
    """Whether a step of a pipeline may use chance, so that what it made of X while fitting need not come again."""
    return any(name.endswith("__random_state") for name in steps.get_params())


def transformed(step: Any, X: Table, method: str = "transform") -> Any:
    """X as a step transforms it, without a change to X itself; X where the step is None."""
    return X if step is None else lend(step, getattr(step, method), X)


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
