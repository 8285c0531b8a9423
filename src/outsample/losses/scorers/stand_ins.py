"""Stand-ins for fitted estimators, which scorers are shown instead of a learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, RegressorTags, Tags

from outsample.data.tables import Table
from outsample.running.arrays import Array


class FrozenPredictions(BaseEstimator):  # type: ignore[misc]
    """Looks like a fitted estimator to a scorer, and returns predictions made earlier."""

    def __init__(self, response: str, predictions: Array, classes: Array | None) -> None:
        self.response, self.predictions, self.classes = response, predictions, classes
        if classes is not None:
            self.classes_ = classes

        frozen = predictions.view()
        frozen.flags.writeable = False

        def answer(X: Table) -> Array:
            return frozen

        answer.__name__ = response
        setattr(self, response, answer)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        return _tags(super().__sklearn_tags__(), self.classes)

    def fit(self, X: Table, y: ArrayLike) -> FrozenPredictions:
        """Exists because scorers look for it; does nothing."""
        return self


@dataclass
class Recorder(BaseEstimator):  # type: ignore[misc]
    """A stand-in for a fitted estimator that offers some prediction methods and records which are called."""

    available: tuple[str, ...]
    labels: Any
    codes: Any
    classes: Any
    called: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.classes is not None:
            self.classes_ = self.classes
        for response in self.available:
            setattr(self, response, self._answer(response))

    def _answer(self, response: str) -> Callable[[Any], Array]:
        def answer(X: Table) -> Array:
            self.called.append(response)
            if response == "predict":
                return np.asarray(self.labels)
            one_hot = np.eye(len(self.classes))[self.codes]
            if response == "decision_function" and len(self.classes) == 2:
                return np.asarray(one_hot[:, 1])
            return np.asarray(one_hot)

        answer.__name__ = response
        return answer

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        return _tags(super().__sklearn_tags__(), self.classes)

    def fit(self, X: Table, y: ArrayLike) -> Recorder:
        """Exists because scorers look for it; does nothing."""
        return self


def _tags(tags: Tags, classes: Array | None) -> Tags:
    if classes is None:
        tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
    else:
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
    return tags
