"""y as the library sees it: class codes or real values, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

Array = NDArray[Any]

FEWEST_ROWS = 3


@dataclass(frozen=True, eq=False)
class Target:
    """Labels ready to be drawn.

    Attributes
    ----------
    values : (n,) class codes or real values, or (n, outputs).
    classes : the sorted class labels, None for regression.
    """

    values: Array
    classes: Array | None

    @property
    def n_classes(self) -> int | None:
        """Number of classes, None for regression."""
        return None if self.classes is None else len(self.classes)

    @property
    def n_outputs(self) -> int:
        """Number of outputs, 1 for a label vector."""
        return 1 if self.values.ndim == 1 else self.values.shape[1]


def as_target(y: Any, estimator: Any, n_samples: int) -> Target:
    """Check y against X and the learner, and encode it.

    Raises
    ------
    ValueError
        For lengths that differ, too few rows, missing or infinite labels, a constant y, and labels that are
        not of the learner's kind.
    """
    labels = _as_array(y)
    if len(labels) != n_samples:
        raise ValueError(f"X has {n_samples} rows and y has {len(labels)} labels; they must be equally many")
    if n_samples < FEWEST_ROWS:
        raise ValueError(f"X has {n_samples} rows; at least {FEWEST_ROWS} are needed")
    _check_complete(labels)
    if is_classifier(estimator):
        return _classes(labels, estimator)
    if is_regressor(estimator):
        return _real_values(labels, estimator)
    raise ValueError(
        f"estimator: {type(estimator).__name__} is neither a classifier nor a regressor, so its error on new "
        "labels is not defined"
    )


def _as_array(y: Any) -> Array:
    labels = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if labels.ndim == 0:
        raise ValueError(f"y must be a sequence of labels, got {type(y).__name__}")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim > 2:
        raise ValueError(f"y must have one or two dimensions, got shape {labels.shape}")
    return np.asarray(labels)


def _check_complete(labels: Array) -> None:
    if labels.dtype.kind in "fc":
        bad = ~np.isfinite(labels)
    elif labels.dtype.kind == "O":
        bad = np.array([v is None or v != v for v in labels.ravel()]).reshape(labels.shape)
    else:
        return
    if bad.any():
        row = int(np.argwhere(bad)[0, 0])
        raise ValueError(f"y has {int(bad.sum())} missing or infinite labels, the first in row {row}")


def _classes(labels: Array, estimator: Any) -> Target:
    if labels.ndim != 1:
        raise ValueError(f"y has {labels.shape[1]} columns; a classifier needs one label per row")
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.round(labels)):
        raise ValueError(f"y holds real values, but {type(estimator).__name__} is a classifier; use a regressor")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) == 1:
        raise ValueError(f"y is constant: every label is {classes[0]!r}, so there is nothing to learn")
    return Target(codes.reshape(-1), classes)


def _real_values(labels: Array, estimator: Any) -> Target:
    try:
        values = labels.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"y is not numeric, but {type(estimator).__name__} is a regressor") from None
    if (values == values[0]).all():
        raise ValueError(f"y is constant: every label is {values.ravel()[0]!r}, so there is nothing to learn")
    return Target(values, None)
