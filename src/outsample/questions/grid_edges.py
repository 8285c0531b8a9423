"""Whether a chosen value lies on the edge of those that were tried, where the grid could be extended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD

# Values from which a parameter has an inside and edges.
FEWEST_VALUES = 3
# Parameters that no fit allows to exceed the number of rows, or that of the columns a step gets; components of kernels
# and dictionaries may be more than columns.
AT_MOST_ROWS = ("n_neighbors",)
AT_MOST_COLUMNS = ("max_features", "k", "n_features_to_select")
COMPONENTS_OF_COLUMNS = (PCA, IncrementalPCA, TruncatedSVD, PLSRegression)


def edge(estimator: Any, name: str, chosen: Any, values: Sequence[Any], n_samples: int, fitted: Any = None) -> str:
    """ "smallest" or "largest" where a value is that of those tried and others beyond it are allowed; empty elsewhere.

    Parameters
    ----------
    name : of the parameter, as in a grid: parameters of steps have a prefix.
    values : those that were tried.
    fitted : the estimator with the chosen value, fitted; None where it was not.
    """
    numbers = [value for value in values if _is_number(value)]
    if not _is_number(chosen) or len(set(numbers)) < FEWEST_VALUES:
        return ""
    if chosen == min(numbers) and _allowed(estimator, name, chosen, -1, n_samples):
        return "smallest"
    all_columns = isinstance(chosen, int | np.integer) and _takes_all_columns(fitted, name, int(chosen))
    if chosen == max(numbers) and not all_columns and _allowed(estimator, name, chosen, 1, n_samples):
        return "largest"
    return ""


def edge_in_words(name: str, side: str, setting: Mapping[str, Any], values: Sequence[Any]) -> str:
    """The end of a sentence that says on which side of those tried the value of a setting is."""
    if side == "smallest":
        return f"{name}={setting[name]} is the smallest value tried, smaller ones may be better"
    # Beside numbers None stands for no limit: that was tried as well.
    largest = "number tried beside None" if any(value is None for value in values) else "value tried"
    return f"{name}={setting[name]} is the largest {largest}, larger ones may be better"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _allowed(estimator: Any, name: str, value: Any, side: int, n_samples: int) -> bool:
    """Whether values beyond this one may be set."""
    *owners, own_name = name.split("__")
    if side > 0 and own_name in AT_MOST_ROWS and value >= n_samples - 1:
        return False
    ranges, whole = _ranges(estimator, owners, own_name, value), isinstance(value, int | np.integer)
    if ranges is None:
        # Of learners that do not say what they allow: counts begin at one, and numbers do not change their sign.
        return side > 0 or value > (1 if whole else 0)
    further = value + side if whole else value
    return any(_beyond(found, further, side, whole) for found in ranges)


def _ranges(estimator: Any, owners: list[str], name: str, value: Any) -> list[Any] | None:
    """The ranges that a learner of scikit-learn declares for numbers of this kind; None where it declares nothing."""
    declared = getattr(_owned(estimator, owners), "_parameter_constraints", None)
    if not isinstance(declared, dict) or not isinstance(declared.get(name), list):
        return None
    ranges = [each for each in declared[name] if hasattr(each, "left") and hasattr(each, "closed")]
    kinds = [each for each in ranges if isinstance(value, each.type)]
    return kinds or None


def _owned(learner: Any, owners: list[str]) -> Any:
    """What the parameters of a learner lead to: itself, a step of a pipeline, a step of that; None if nothing."""
    for owner in owners:
        known = learner.get_params(deep=False) if hasattr(learner, "get_params") else {}
        learner = known.get(owner, dict(getattr(learner, "steps", None) or []).get(owner))
    return learner


def _takes_all_columns(fitted: Any, name: str, value: int) -> bool:
    """Whether a fitted step has no more columns than the value of a parameter that counts columns."""
    *owners, own_name = name.split("__")
    step = _owned(fitted, owners)
    counts = own_name in AT_MOST_COLUMNS or (own_name == "n_components" and isinstance(step, COMPONENTS_OF_COLUMNS))
    columns = getattr(step, "n_features_in_", None)
    return counts and columns is not None and value >= columns


def _beyond(found: Any, further: Any, side: int, whole: bool) -> bool:
    """Whether a range has values further out: the next whole number, or any real number."""
    end = found.left if side < 0 else found.right
    if end is None:
        return True
    closed = found.closed in ("both", "left" if side < 0 else "right")
    inside = further > end if side < 0 else further < end
    return bool(inside or (whole and closed and further == end))
