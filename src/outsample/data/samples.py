"""The data of a problem: labels as class codes or real values; X, labels, weights and groups as one value.

Everything a user hands over is checked here, once, against X and the learner.
"""

from __future__ import annotations

import datetime
import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.exceptions import DataConversionWarning

from outsample.data.lazy import in_memory_only, is_lazy
from outsample.data.learners import check_learner, is_pairwise, takes_weight
from outsample.data.tables import Table, as_pairs, as_table, n_rows, rows
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import cached_property

FEWEST_ROWS = 3

# Whole numbers of more distinct values than this are real values, unless the learner is a classifier.
MOST_CLASSES = 20

LARGEST_LABEL, LEAST_SPREAD = 1e75, 1e-75
"""Largest |y| and least range of y: standard errors of squared losses have fourth powers, which overflow or vanish."""

_NO_LABELS: dict[str, tuple[type, ...]] = {
    "complex numbers": (complex, np.complexfloating),
    "dates": (datetime.date, np.datetime64),
    "durations": (datetime.timedelta, np.timedelta64),
}


@dataclass(frozen=True, eq=False)
class Target:
    """Labels as the library computes with them.

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


def as_target(y: ArrayLike | None, estimator: BaseEstimator, n_samples: int) -> Target:
    """y as a `Target`, after checking it against the number of rows of X and the kind of learner.

    Raises
    ------
    ValueError
        For lengths that differ, too few rows, missing or infinite labels, a constant y, and labels that are
        not of the learner's kind.
    """
    classifying = _is_classifier(estimator)
    labels = _as_array(y)
    if len(labels) != n_samples:
        raise ValueError(f"X has {n_samples} rows and y has {len(labels)} labels; they must be equally many")
    if n_samples < FEWEST_ROWS:
        raise ValueError(f"X has {n_samples} samples; at least {FEWEST_ROWS} are needed")
    check_kind(labels)
    _check_complete(labels)
    return _classes(labels, estimator) if classifying else _real_values(labels, estimator)


def as_test_target(y: ArrayLike | None, model: BaseEstimator, n_samples: int) -> Target:
    """Labels of rows on which a fitted model is evaluated, of any number, which may all be equal.

    The classes are those of the model and those that occur in y only.

    Raises
    ------
    ValueError
        For lengths that differ, no rows, missing or infinite labels, and labels that are not of the model's kind.
    """
    classifying = _is_classifier(model)
    labels = _as_array(y)
    if len(labels) != n_samples:
        raise ValueError(f"X has {n_samples} rows and y has {len(labels)} labels; they must be equally many")
    if n_samples == 0:
        raise ValueError("X has no rows; at least one is needed")
    check_kind(labels)
    _check_complete(labels)
    if not classifying:
        return Target(_as_floats(labels, model), None)
    return _known_classes(labels, model)


def _known_classes(labels: Array, model: BaseEstimator) -> Target:
    known = getattr(model, "classes_", None)
    if labels.ndim != 1 or known is None or isinstance(known, list):
        raise ValueError(
            f"{type(model).__name__} must be a fitted classifier of one label per row, whose classes_ say which labels"
        )
    known = np.asarray(known)
    if {known.dtype.kind, labels.dtype.kind} & set("US") and {known.dtype.kind, labels.dtype.kind} & set("fiub"):
        raise ValueError(
            f"y has labels such as {labels.tolist()[0]!r}, the classes of the model are {known.tolist()[:5]}"
        )
    try:
        classes = np.union1d(known, labels)
        return Target(np.searchsorted(classes, labels), classes)
    except TypeError:
        raise ValueError(f"y has labels of another kind than the classes of the model, {known.tolist()[:5]}") from None


def _is_classifier(estimator: BaseEstimator) -> bool:
    """Whether the learner is a classifier; raises where it is neither a classifier nor a regressor."""
    check_learner(estimator)
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(
            f"estimator: {type(estimator).__name__} is neither a classifier nor a regressor, so its error on new "
            "labels is not defined"
        )
    return bool(is_classifier(estimator))


def _as_array(y: ArrayLike | None) -> Array:
    if y is None:
        raise ValueError("an estimate requires y to be passed, but the target y is None")
    labels = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if labels.ndim == 0:
        raise ValueError(f"y must be a sequence of labels, got {type(y).__name__}")
    if labels.ndim == 2 and labels.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it is taken as one",
            DataConversionWarning,
            stacklevel=2,
        )
        labels = labels[:, 0]
    if labels.ndim > 2:
        raise ValueError(f"y must have one or two dimensions, got shape {labels.shape}")
    return _plain(np.asarray(labels))


def _plain(labels: Array) -> Array:
    """Object arrays of numbers or truth values, as of pandas' nullable types, as plain arrays; others unchanged."""
    if labels.dtype.kind != "O" or _missing(labels).any():
        return labels
    kinds = {type(label) for label in labels.ravel()}
    if not all(issubclass(kind, Real | np.bool_) for kind in kinds):
        return labels
    return np.array(labels.tolist())


def check_kind(labels: Array) -> None:
    """Raise ValueError for labels that are neither classes nor real numbers: complex numbers, dates and durations."""
    kinds = {type(label) for label in labels.ravel()} if labels.dtype.kind == "O" else {labels.dtype.type}
    for what, types in _NO_LABELS.items():
        if any(issubclass(kind, types) for kind in kinds):
            # scikit-learn's estimator checks look for these words.
            known = "Complex data not supported: " if complex in types else ""
            raise ValueError(f"{known}y holds {what}, which are neither classes nor real numbers; make them so first")


def _missing(labels: Array) -> NDArray[np.bool_]:
    """Where labels in an object array are None, nan or pandas' NA or NaT; of the same shape."""
    absent = [v is None or type(v).__name__ in ("NAType", "NaTType") or v != v for v in labels.ravel()]
    return np.array(absent, dtype=bool).reshape(labels.shape)


def _check_complete(labels: Array) -> None:
    if labels.dtype.kind in "fc":
        bad = ~np.isfinite(labels)
    elif labels.dtype.kind == "O":
        bad = _missing(labels)
    else:
        return
    if bad.any():
        row = int(np.argwhere(bad)[0, 0])
        raise ValueError(f"y has {int(bad.sum())} missing or infinite labels, the first in row {row}")


def _classes(labels: Array, estimator: BaseEstimator) -> Target:
    if labels.ndim != 1:
        raise ValueError(f"y has {labels.shape[1]} columns; a classifier needs one label per row")
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.round(labels)):
        raise ValueError(f"y holds continuous values, but {type(estimator).__name__} is a classifier; use a regressor")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise ValueError(f"y mixes labels that have no common order: {', '.join(kinds)}") from None
    if len(classes) == 1:
        raise ValueError(f"y is constant: it has one class only, {classes.tolist()[0]!r}, so there is nothing to learn")
    return Target(codes.reshape(-1), classes)


def _as_floats(labels: Array, estimator: BaseEstimator) -> Floats:
    try:
        return labels.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"y is not numeric, but {type(estimator).__name__} is a regressor") from None


def _real_values(labels: Array, estimator: BaseEstimator) -> Target:
    values = _as_floats(labels, estimator)
    if (values == values[0]).all():
        raise ValueError(f"y is constant: every label is {float(values.ravel()[0])!r}, so there is nothing to learn")
    largest = float(np.abs(values).max())
    if largest > LARGEST_LABEL:
        raise ValueError(f"y has values up to {largest:.3g}, beyond {LARGEST_LABEL:g} their powers overflow; rescale y")
    spread = float(np.ptp(values, axis=0).max())
    if spread < LEAST_SPREAD:
        raise ValueError(f"y varies by {spread:.3g} only, below {LEAST_SPREAD:g} its powers vanish; rescale y")
    return Target(values, None)


def looks_real(y: Array) -> bool:
    """Whether labels are taken as real numbers where no learner says so: not whole, or of more than 20 values."""
    if y.dtype.kind not in "fiu":
        return False
    return not np.array_equal(y, np.round(y)) or len(np.unique(y)) > MOST_CLASSES


class OwnLabels:
    """Permuted labels in the form in which the user gave y: array, list, Series, or any table.

    Attributes
    ----------
    codes : (n,) a number for each label, equal where labels are equal.
    """

    def __init__(self, y: Any) -> None:
        self._y = list(y) if isinstance(y, tuple) else y
        values = np.asarray(y)
        if values.ndim == 0:
            raise ValueError(f"y must be a sequence of labels, got {type(y).__name__}")
        check_kind(values)
        # numpy 1.26 has no np.unique along an axis for object arrays, such as strings of pandas.
        axis = None if values.ndim == 1 else 0
        distinct = np.unique(values, axis=axis, return_index=True, return_inverse=True)
        self._first: NDArray[np.intp] = distinct[1]
        self.codes: NDArray[np.intp] = distinct[2].reshape(-1)

    def labels_of(self, codes: Array) -> Any:
        """The labels that a vector of codes stands for, as the same kind as y and with its index where it has one."""
        labels = rows(self._y, self._first[codes])
        return labels.set_axis(self._y.index) if hasattr(labels, "set_axis") else labels


# Squares of sums of larger weights overflow; squares of weights below the inverse become zero.
LARGEST_WEIGHT = 1e75


@dataclass(frozen=True, eq=False)
class AllRows:
    """The data as the user gave them, where some rows have weight zero.

    `Data` holds the rows of positive weight only. Row numbers that come from the user, such as those in a list of
    folds, refer to all rows.

    Attributes
    ----------
    X, y, groups : all rows; y as in `Target.values`.
    counted : positions of the rows of positive weight.
    """

    X: Table
    y: Array
    groups: Array | None
    counted: Rows


@dataclass(frozen=True, eq=False)
class Data:
    """The rows of positive weight.

    Attributes
    ----------
    X : table of samples.
    target : labels as codes or real values.
    weight : (n,) None where all weights are one. Weights that all equal another number are kept, because some learners
        depend on them.
    groups : (n,) the group of each row; rows of one group belong together. None without groups.
    all_rows : the data with the rows of weight zero; None where there are none.
    """

    X: Table
    target: Target
    weight: Floats | None = None
    groups: Array | None = None
    all_rows: AllRows | None = None

    @property
    def y(self) -> Array:
        """Labels as codes or real values, (n,) or (n, outputs)."""
        return self.target.values

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.target.values)

    @property
    def labels(self) -> Array:
        """Labels as the user gave them, (n,) or (n, outputs)."""
        classes = self.target.classes
        return self.y if classes is None else np.asarray(classes[self.y])

    @property
    def effective_n(self) -> float:
        """Number of equally weighted rows that carry the same information, (Σw)²/Σw² (Kish 1965)."""
        return float(self.n_samples) if self.weight is None else self.weight.sum() ** 2 / (self.weight**2).sum()

    @cached_property
    def label_weight(self) -> Floats | None:
        """Weights with which labels are drawn, (n,); None where all rows weigh the same."""
        return None if self.weight is None or np.ptp(self.weight) == 0 else self.weight


def as_data(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Data:
    """The data of a learner, after checking X, y, weights and groups.

    Raises
    ------
    ValueError, TypeError
        With one sentence that names the parameter and the value.
    """
    if is_lazy(X):
        raise TypeError(in_memory_only("this question"))
    X = as_table(X)
    n = n_rows(X)
    target = as_target(y, estimator, n)
    if is_pairwise(estimator):
        X = as_pairs(X, type(estimator).__name__)
    weight = _checked_weight(sample_weight, n, estimator)
    data = Data(X, target, weight, as_groups(groups, n))
    if weight is not None and (weight == 0).any():
        data = _without_zero_weights(data, weight, estimator)
    if data.weight is not None and (data.weight == 1).all():
        data = Data(data.X, data.target, None, data.groups, data.all_rows)
    return data


def _without_zero_weights(data: Data, weight: Floats, estimator: BaseEstimator) -> Data:
    """The data without the rows of weight zero and the classes that occur in those rows only."""
    counted = np.flatnonzero(weight)
    try:
        kept = as_target(data.labels[counted], estimator, len(counted))
    except ValueError as error:
        raise ValueError(f"sample_weight: without the rows of weight zero, {error}") from error
    return Data(
        rows(data.X, counted, counted if is_pairwise(estimator) else None),
        kept,
        weight[counted],
        None if data.groups is None else data.groups[counted],
        AllRows(data.X, data.y, data.groups, counted),
    )


def as_weight(sample_weight: ArrayLike | None, n: int) -> Floats | None:
    """One weight per row, (n,), finite, not negative and not all zero; None without weights."""
    if sample_weight is None:
        return None
    weight = _real_weight(sample_weight)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight must have one entry per row, shape ({n},), got {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError("sample_weight must be finite, non-negative and not all zero")
    largest = float(weight.max())
    if not 1 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight has {largest:.3g} as its largest value, squares of sums of such weights "
            f"{'overflow' if largest > 1 else 'vanish'}; rescale them"
        )
    return weight


def _checked_weight(sample_weight: ArrayLike | None, n: int, estimator: BaseEstimator) -> Floats | None:
    weight = as_weight(sample_weight, n)
    if weight is not None and not takes_weight(estimator):
        raise ValueError(
            f"sample_weight: {type(estimator).__name__} takes no weights in fit; "
            "leave them out or use a learner that takes them"
        )
    return weight


def _real_weight(sample_weight: ArrayLike) -> Floats:
    weight = np.asarray(sample_weight)
    try:
        if weight.dtype.kind in "fiubO":
            return weight.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"sample_weight must be real numbers, got {weight.dtype}")


def as_groups(groups: ArrayLike | None, n: int) -> Array | None:
    """The group of each of n rows as an array, (n,); None without groups."""
    if groups is None:
        return None
    labels = np.asarray(groups, dtype=None if hasattr(groups, "dtype") else object)
    if labels.shape != (n,):
        raise ValueError(f"groups must have one entry per row, shape ({n},), got {labels.shape}")
    if (absent := _missing(labels)).any():
        raise ValueError(f"groups has {int(absent.sum())} missing entries, the first in row {int(np.argmax(absent))}")
    try:
        np.unique(labels)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise ValueError(f"groups mixes entries that have no common order: {kinds}") from None
    if n and (labels == labels[0]).all():
        raise ValueError(
            f"groups has one group only, {labels.tolist()[0]!r}; at least two are needed, one to be left out"
        )
    return labels if hasattr(groups, "dtype") else np.array(labels.tolist())
