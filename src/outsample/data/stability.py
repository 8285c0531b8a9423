"""How much more an estimate varies around the error of the fitted model than the spread of left-out losses tells.

Left-out losses are averaged as if they were independent. They share training rows, and the fitted model is one of many
that data of this size could have given; the less stable a learner, the more its own error varies around the average
that left-out rows estimate. The factors of the variance are those that make nominal 95 % intervals cover on large real
tables taken as populations (`benchmarks/intervals.py`, docs/error-bars.md): one for learners whose fits change little
with a row, one for those that may change altogether.
"""

from __future__ import annotations

from sklearn.base import BaseEstimator

from outsample.data.learners import last_step

STABLE, UNSTABLE = 1.5, 1.75
# Of differences: share of the correction of Nadeau & Bengio with which tests of learners that are equally good keep
# their level (`benchmarks/paired.py`). Neighbours and support vectors differ there as trees do.
SMOOTH, ROUGH = 0.225, 0.72

_STABLE_PACKAGES = frozenset(
    {
        "linear_model",
        "neighbors",
        "naive_bayes",
        "discriminant_analysis",
        "svm",
        "gaussian_process",
        "kernel_ridge",
        "cross_decomposition",
        "dummy",
    }
)


_SMOOTH_PACKAGES = _STABLE_PACKAGES - {"neighbors", "svm", "gaussian_process", "kernel_ridge"}


def variance_factor(estimator: BaseEstimator) -> float:
    """The factor for a learner, alone or at the end of a pipeline; unknown ones count as unstable."""
    return STABLE if _is_of(_STABLE_PACKAGES, estimator) else UNSTABLE


def share_of_training(estimator: BaseEstimator) -> float:
    """How much of the correction for shared training rows the differences of a learner to others need."""
    return SMOOTH if _is_of(_SMOOTH_PACKAGES, estimator) else ROUGH


def _is_of(packages: frozenset[str], estimator: BaseEstimator) -> bool:
    library, *rooms = type(last_step(estimator)).__module__.split(".")
    return library in ("sklearn", "sklearnex", "daal4py") and not packages.isdisjoint(rooms)
