"""What the candidates of a search are judged by: one loss or scorer, or several under their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring, get_scorer, make_scorer

from outsample.data.learners import encode, respond
from outsample.data.tables import Table
from outsample.losses.base import Loss
from outsample.losses.choice import LossLike
from outsample.losses.whole_set import OwnScore, ScorerLoss

ONE = "score"
"""The name of the only metric where it has none of its own, as in `mean_test_score`."""

Scoring = str | Callable[..., Any] | Sequence[str] | Mapping[str, str | Callable[..., Any]] | None
"""What scikit-learn's searches take as `scoring`."""

_Scorer = type(make_scorer(len))


def several(scoring: Scoring) -> dict[str, Any] | None:
    """Name → scorer or name of one, where there are several metrics; a function that returns several is not known."""
    if isinstance(scoring, Mapping):
        return dict(scoring)
    return {name: name for name in scoring} if isinstance(scoring, list | tuple | set) else None


def metrics_of(estimator: BaseEstimator, loss: LossLike, scoring: Scoring) -> dict[str, Any]:
    """Name → loss, scorer or name of one; None stands for the default. Raises for what scikit-learn rejects."""
    if loss is not None and scoring is not None:
        raise ValueError(f"loss={loss!r} and scoring={scoring!r} say the same thing; give one of them")
    if several(scoring) is None:
        return {ONE: scoring if loss is None else loss}
    check_scoring(estimator, scoring)
    return several(scoring) or {}


def reads_predictions(scoring: Scoring) -> bool:
    """Whether metrics are names or scorers, which read predictions; any other function may look at the estimator."""
    metrics = (several(scoring) or {ONE: scoring}).values()
    return all(metric is None or isinstance(metric, str | _Scorer) for metric in metrics)


def scorer_of(estimator: BaseEstimator, loss: LossLike, scoring: Scoring, chosen: Loss) -> Any:
    """What `score` of a fitted search calls: a scorer, a dict of them, or the loss that was chosen."""
    named = several(scoring)
    if named is not None:
        return {name: check_scoring(estimator, metric) for name, metric in named.items()}
    if loss is not None or (scoring is None and not hasattr(estimator, "score")):
        return LossScorer(chosen)
    return check_scoring(estimator, scoring)


def loss_of(scoring: Scoring, name: str) -> Loss:
    """The loss that a metric of scikit-learn's own loop stands for."""
    metric = (several(scoring) or {ONE: scoring}).get(name, scoring)
    if metric is None:
        return OwnScore()
    scorer: Any = get_scorer(metric) if isinstance(metric, str) else metric
    label = metric if isinstance(metric, str) else getattr(metric, "__name__", None) or str(metric)
    return ScorerLoss(scorer, label if name == ONE else name)


@dataclass(frozen=True)
class LossScorer:
    """A scorer that gives the score of a loss: accuracy for zero-one loss, else minus the risk."""

    loss: Loss

    def __call__(self, model: BaseEstimator, X: Table, y: Any) -> float:
        return float(self.loss.score(risk_on(model, X, y, self.loss)))


def risk_on(model: BaseEstimator, X: Table, y: ArrayLike, loss: Loss) -> float:
    """Risk of a fitted scikit-learn model on X, y."""
    classes = getattr(model, "classes_", None)
    labels = np.asarray(y)
    codes = labels if classes is None else encode(labels, np.asarray(classes))
    response = next(r for r in loss.responses if hasattr(model, r))
    return float(loss.risk(codes, respond(model, X, response, classes)))
