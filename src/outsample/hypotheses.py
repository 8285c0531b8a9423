"""Hypothesis sets whose risk minimiser is found exactly: finite sets, one-dimensional thresholds, stumps.

With a true maximum over the set, the theory of complexities and bounds can be checked, not only run.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from outsample.data.samples import as_weight
from outsample.data.tables import Table
from outsample.running.arrays import Array, Floats


def minimises_training_error(estimator: BaseEstimator) -> bool:
    """Whether a learner says that it minimises the training error; in a pipeline other steps look at the data, too."""
    return bool(getattr(estimator, "minimises_training_error", False))


class HypothesisSet:
    """A finite set of two-class hypotheses, given by what each predicts on the n samples.

    Parameters
    ----------
    predictions : (hypotheses, n), labels of two classes.
    classes : the two classes, sorted; by default those that occur, and with a single one −1 and 1.

    Attributes
    ----------
    signs : (hypotheses, n), −1 for the first class and +1 for the second.

    Examples
    --------
    >>> three = HypothesisSet([[0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> three.shatter_coefficient
    3
    """

    minimises_training_error: ClassVar[bool] = True

    def __init__(self, predictions: ArrayLike, classes: ArrayLike | None = None) -> None:
        matrix = np.asarray(predictions)
        if matrix.ndim != 2 or matrix.size == 0:
            raise ValueError(f"predictions must have shape (hypotheses, samples), got {matrix.shape}")
        known = np.unique(matrix) if classes is None else np.unique(classes)
        if len(known) == 1 and known[0] in (-1, 1):
            known = np.array([-1, 1])
        if len(known) != 2:
            raise ValueError(
                f"predictions must be labels of two classes, got {len(known)}: {known.tolist()[:10]}; "
                "with more classes use the permutation estimate"
            )
        second = matrix == known[1]
        if not (second | (matrix == known[0])).all():
            raise ValueError(f"predictions hold labels that are not among the classes {known.tolist()}")
        self.classes = known
        self.signs = np.where(second, 1.0, -1.0)

    def __len__(self) -> int:
        return len(self.signs)

    @property
    def n_samples(self) -> int:
        """Number of samples each hypothesis labels."""
        return int(self.signs.shape[1])

    def closed_under_negation(self) -> HypothesisSet:
        """These hypotheses and their negations."""
        return HypothesisSet(np.vstack([self.signs, -self.signs]), classes=(-1, 1))

    def best(self, labels: Array) -> NDArray[np.intp]:
        """Which hypothesis agrees most with each label vector, the first of equals; labels (draws, n) are ±1."""
        return np.asarray((labels @ self.signs.T).argmax(axis=1))

    def maxima(self, labels: Array) -> Floats:
        """max_h (1/n) Σ labels_i h(x_i) for each label vector, (draws,)."""
        return np.asarray((labels @ self.signs.T).max(axis=1) / self.n_samples)

    @property
    def shatter_coefficient(self) -> int:
        """Number of different labellings of these samples."""
        return len(_distinct(self.signs))

    def vc_dimension(self) -> int:
        """The VC dimension restricted to these samples: the most of them that are labelled in every way.

        Searches all subsets of samples of one size after the other: for small sets.
        """
        labellings = self.signs[_distinct(self.signs)] > 0
        size = 0
        while 2 ** (size + 1) <= len(labellings) and _shatters(labellings, size + 1):
            size += 1
        return size


def _distinct(signs: Floats) -> NDArray[np.intp]:
    """Positions of the different rows of a sign matrix, each once, in order."""
    packed = np.packbits(signs > 0, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])


def _shatters(labellings: NDArray[np.bool_], size: int) -> bool:
    powers = 2 ** np.arange(size)
    return any(
        len(np.unique(labellings[:, rows] @ powers)) == 2**size
        for rows in map(list, itertools.combinations(range(labellings.shape[1]), size))
    )


def threshold_hypotheses(x: ArrayLike) -> HypothesisSet:
    """All labellings of the points x, (n,), by sign(x − t) and its negation, constants included; VC dimension 2."""
    return stump_hypotheses(np.asarray(x, dtype=np.float64).reshape(-1, 1))


def stump_hypotheses(X: Table) -> HypothesisSet:
    """All labellings of the rows of X, (n, features), by one threshold on one feature, in both directions."""
    table = np.asarray(X, dtype=np.float64)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise ValueError(f"X must be a finite table of shape (samples, features), got shape {table.shape}")
    above = [np.unique(table[:, j])[:, None] < table[:, [j]].T for j in range(table.shape[1])]
    labellings = 2.0 * np.vstack(above) - 1.0
    both = np.vstack([labellings, -labellings])
    return HypothesisSet(both[_distinct(both)], classes=(-1, 1))


class StumpClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One threshold on one feature, found by exhaustive search: minimises the training error, any classes.

    Ties go to the first feature, then to the lowest threshold. With a single feature this is the
    one-dimensional threshold classifier.

    Attributes
    ----------
    feature_, threshold_, below_, above_ : `below_` is predicted where column `feature_` of X is at most `threshold_`,
        else `above_`.

    Examples
    --------
    >>> stump = StumpClassifier().fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> stump.predict([[1.5], [3.5]])
    array([0, 1])
    """

    minimises_training_error: ClassVar[bool] = True

    def fit(self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None) -> StumpClassifier:
        """Search all features and thresholds; with weights the weighted training error is minimised."""
        table, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        one_hot: Array = np.eye(len(self.classes_), dtype=np.intp)[codes]
        weight = as_weight(sample_weight, len(table))
        if weight is not None:
            # Rows of weight zero are no rows: they would shift thresholds.
            counted = weight > 0
            table, one_hot = table[counted], one_hot[counted] * weight[counted, None]
        right = -1.0
        for j in range(table.shape[1]):
            found = _best_cut(table[:, j], one_hot)
            if found[0] > right:
                right, self.threshold_, below, above = found
                self.feature_ = j
                self.below_, self.above_ = self.classes_[below], self.classes_[above]
        return self

    def predict(self, X: Table) -> Array:
        """One class per row."""
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(np.where(table[:, self.feature_] <= self.threshold_, self.below_, self.above_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def _best_cut(x: Floats, one_hot: Array) -> tuple[float, float, int, int]:
    """(rows, or weight, classified right, threshold, class below, class above) of the best cut of one feature."""
    order = np.argsort(x, kind="stable")
    ordered, below = x[order], np.cumsum(one_hot[order], axis=0)
    total = below[-1]
    ends = np.append(np.flatnonzero(ordered[1:] > ordered[:-1]), len(x) - 1)
    right = below[ends].max(axis=1) + (total - below[ends]).max(axis=1)
    cut = int(np.argmax(right))
    end = ends[cut]
    threshold = ordered[end] if end == len(x) - 1 else _between(ordered[end], ordered[end + 1])
    return float(right[cut]), float(threshold), int(below[end].argmax()), int((total - below[end]).argmax())


def _between(low: float, high: float) -> float:
    """A number that is at least low and below high, their middle unless rounding makes it high."""
    middle = low / 2 + high / 2
    return float(middle if low <= middle < high else low)
