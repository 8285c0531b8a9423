"""Losses of a whole set of samples: scikit-learn's scorers, and functions that return one number for all samples.

They have no loss per sample, so their crossed mean is estimated from the same predictions and freshly drawn labels,
which costs no fit. Scores are greater-is-better. A scorer becomes a risk here by changing its sign, and `reported`
changes it back; the rest of the library knows risks only.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer_names
from sklearn.utils import ClassifierTags, RegressorTags, Tags

from outsample.data.tables import Table, lend
from outsample.losses.base import LABELS, Loss, as_losses
from outsample.running.arrays import Array, Floats

# Label vectors drawn for one crossed mean.
FRESH_LABELS = 20

SCORE_RANGES = {
    **dict.fromkeys(("accuracy", "balanced_accuracy", "top_k_accuracy", "average_precision", "roc_auc"), (0.0, 1.0)),
    **dict.fromkeys(("f1", "jaccard", "precision", "recall"), (0.0, 1.0)),
    **dict.fromkeys(("r2", "explained_variance", "d2_"), (-np.inf, 1.0)),
    "matthews_corrcoef": (-1.0, 1.0),
    "neg_": (-np.inf, 0.0),
}
"""(worst, best) score, by the beginning of scikit-learn's name of the scorer."""


class SetLoss(Loss):
    """A risk of all labels and predictions together.

    `trailing` says whether predictions have an axis of classes or outputs after that of the samples.
    """

    trailing: bool = False
    per_row = False

    @property
    def on_new_data(self) -> str:
        return f"the {self.name} on a large set of new samples"

    def set_risk(self, y: Array, prediction: Array, weight: Floats | None) -> float:
        """The risk of one set of predictions, (n) or (n, classes or outputs)."""
        raise NotImplementedError

    def pointwise(self, y: Array, prediction: Array) -> Array:
        raise TypeError(f"{self.name} judges a whole set of predictions; it has no loss per sample")

    def risk(self, y: Array, prediction: Array, weight: Floats | None = None) -> Array:
        lead = prediction.shape[: prediction.ndim - (2 if self.trailing else 1)]
        own = y.shape[y.ndim - self._label_axes() :]
        Y = np.broadcast_to(y, lead + own)
        risks = [self.set_risk(Y[i], prediction[i], weight) for i in np.ndindex(lead)]
        return np.asarray(risks, dtype=np.float64).reshape(lead)

    def crossed_mean(
        self, y: Array, prediction: Array, weight: Floats | None = None, label_weight: Floats | None = None
    ) -> Array:
        rng = np.random.default_rng(0)
        n = prediction.shape[-2 if self.trailing else -1]
        fresh = np.stack([_fresh_labels(y, n, label_weight, rng) for _ in range(FRESH_LABELS)])
        return self.mean_over_fresh(fresh, prediction, weight)

    def mean_over_fresh(self, fresh: Array, prediction: Array, weight: Floats | None = None) -> Array:
        """Mean risk of the predictions against each label vector of `fresh`, (fresh, n)."""
        return np.asarray(np.mean([self.risk(labels, prediction, weight) for labels in fresh], axis=0))

    def _label_axes(self) -> int:
        """Number of axes of one label vector."""
        return 1


def _fresh_labels(pool: Array, n: int, weight: Floats | None, rng: np.random.Generator) -> Array:
    """n labels of a pool: permuted where there are n without weights, else drawn with replacement."""
    if weight is not None:
        return rng.choice(pool, n, p=weight / weight.sum())
    return rng.permutation(pool) if len(pool) == n else rng.choice(pool, n)


@dataclass(frozen=True)
class SetFunctionLoss(SetLoss):
    """A user's function of all labels and all predictions that returns one number, smaller is better."""

    function: Callable[[Any, Any], Any]
    classes: Any = None
    multioutput: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def trailing(self) -> bool:  # type: ignore[override]
        return self.multioutput

    def for_labels(self, classes: Array | None, n_outputs: int) -> Loss:
        return replace(self, classes=classes, multioutput=n_outputs > 1)

    def takes_weight(self) -> bool:
        try:
            parameters = inspect.signature(self.function).parameters
        except (TypeError, ValueError):
            return False
        return "sample_weight" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    def set_risk(self, y: Array, prediction: Array, weight: Floats | None) -> float:
        if self.classes is not None:
            y, prediction = self.classes[y], self.classes[prediction]
        weighted: dict[str, Any] = {} if weight is None else {"sample_weight": weight}
        returned = lend(self.function, partial(self.function, **weighted), y, prediction, names=LABELS)
        return float(as_losses(returned, self.name))

    def _label_axes(self) -> int:
        return 2 if self.multioutput else 1


@dataclass(frozen=True)
class ScorerLoss(SetLoss):
    """A scikit-learn scorer as a risk: minus the score."""

    scorer: Callable[..., Any]
    label: str
    classes: Any = None
    multioutput: bool = False
    response: str = "predict"

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.label

    @property
    def trailing(self) -> bool:  # type: ignore[override]
        if self.multioutput or self.response == "predict_proba":
            return True
        return self.response == "decision_function" and self.classes is not None and len(self.classes) > 2

    @property
    def responses(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.response,)

    @property
    def range(self) -> tuple[float, float]:
        named = self.label in get_scorer_names()
        known = [scores for start, scores in SCORE_RANGES.items() if named and self.label.startswith(start)]
        worst, best = known[0] if known else (-np.inf, np.inf)
        return -best, -worst

    def for_labels(self, classes: Array | None, n_outputs: int) -> Loss:
        return replace(self, classes=classes, multioutput=n_outputs > 1)

    def with_response(self, available: tuple[str, ...]) -> ScorerLoss:
        """This scorer with the prediction method that it calls on a learner that offers `available`.

        It is found by letting the scorer score a stand-in that records which method is called.
        """
        called = set(self._methods_called(available))
        if len(called) != 1:
            raise ValueError(
                f"loss {self.label!r}: a scorer must read exactly one of predict, predict_proba and "
                f"decision_function, it read {sorted(called) or 'none'}"
            )
        return replace(self, response=called.pop())

    def takes_weight(self) -> bool:
        try:
            self._methods_called((self.response,), sample_weight=np.ones(len(self._trial_codes())))
        except TypeError:
            return False
        return True

    def _trial_codes(self) -> Array:
        """Class codes of the few rows that the stand-in is scored on."""
        return np.tile(np.arange(2 if self.classes is None else len(self.classes)), 4)

    def _methods_called(self, available: tuple[str, ...], **weight: Array) -> list[str]:
        """The prediction methods that this scorer calls on a stand-in that offers `available` and is always right."""
        codes = self._trial_codes()
        labels = 1.5 + codes if self.classes is None else self.classes[codes]
        if self.multioutput:
            labels = np.stack([labels, labels[::-1]], axis=1)
        stand_in = _Recorder(available, labels, codes, self.classes)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.scorer(stand_in, np.arange(len(codes))[:, None], labels, **weight)
        except AttributeError:
            offered = " and ".join(available)
            raise ValueError(
                f"loss {self.label!r} needs a response the learner does not offer: it has {offered}"
            ) from None
        except ValueError as error:
            raise ValueError(f"loss {self.label!r} does not fit this learner and these labels: {error}") from error
        return stand_in.called

    def set_risk(self, y: Array, prediction: Array, weight: Floats | None) -> float:
        decode = self.classes is not None
        labels = self.classes[y] if decode else y
        if decode and self.response == "predict":
            prediction = self.classes[prediction]
        frozen = FrozenPredictions(self.response, prediction, self.classes)
        index = np.arange(len(labels))[:, None]
        weighted = {} if weight is None else {"sample_weight": weight}
        try:
            score = self.scorer(frozen, index, labels, **weighted)
        except ValueError as error:
            raise ValueError(f"loss {self.label!r} cannot be computed on {len(labels)} of the rows: {error}") from error
        if np.ndim(score) == 0 and np.isnan(score):
            raise ValueError(
                f"loss {self.label!r} cannot be computed on {len(labels)} of the rows: it is nan, as where labels lack "
                "a class"
            )
        return -float(as_losses(score, self.label))

    def reported(self, risk: Any) -> Any:
        return None if risk is None else -risk

    def _added_risk(self, y: Array, other: Array) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super()._added_risk(y, other)

    def _sure_prediction(self, y: Array) -> Array:
        if self.response == "predict":
            return y
        sure = np.eye(len(self.classes))[y]
        return sure if self.trailing else sure[:, 1]

    def _label_axes(self) -> int:
        return 2 if self.multioutput else 1


def risk_of_scores(scores: Floats) -> Floats:
    """Scores of estimators, greater is better, as risks, smaller is better."""
    return -scores


@dataclass(frozen=True)
class OwnScore(SetLoss):
    """The estimator's own `score` as a risk: minus the score.

    A `score` method may compute anything, so it is called on the fitted models: see `RefitDesign.scores`.
    """

    name = "score"
    responses = ("score",)
    reads_predictions = False

    def set_risk(self, y: Array, prediction: Array, weight: Floats | None) -> float:
        raise TypeError("the estimator's own score is asked of fitted models, not computed from predictions")

    def reported(self, risk: Any) -> Any:
        return None if risk is None else -risk


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
class _Recorder(BaseEstimator):  # type: ignore[misc]
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

    def fit(self, X: Table, y: ArrayLike) -> _Recorder:
        """Exists because scorers look for it; does nothing."""
        return self


def _tags(tags: Tags, classes: Array | None) -> Tags:
    if classes is None:
        tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
    else:
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
    return tags
