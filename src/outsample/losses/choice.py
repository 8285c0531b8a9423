"""The `Loss` that a user's argument stands for: a name, scorer, matrix, function or None."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer, get_scorer_names

from outsample.checks import entry
from outsample.data.learners import takes_weight
from outsample.data.samples import Target
from outsample.data.tables import lend
from outsample.losses.base import LABELS, Loss, as_losses
from outsample.losses.pointwise import AbsoluteLoss, CallableLoss, LogLoss, MatrixLoss, SquaredLoss, ZeroOneLoss
from outsample.losses.whole_set import OwnScore, ScorerLoss, SetFunctionLoss

NAMED: dict[str, Loss] = {
    "zero-one": ZeroOneLoss(),
    "squared": SquaredLoss(),
    "absolute": AbsoluteLoss(),
    "log": LogLoss(),
}
RESPONSES = ("predict", "predict_proba", "decision_function")

LossLike = Loss | str | Callable[..., Any] | ArrayLike | None
"""What a user may pass as a loss: a name, a matrix of costs, a function, a scorer; None for the default."""


def choose_loss(loss: LossLike, target: Target, estimator: BaseEstimator, weighted: bool = False) -> tuple[Loss, str]:
    """(the loss for these labels, the prediction method of the learner that it needs).

    Raises
    ------
    ValueError
        For an unknown name, or a loss that is not for this learner, these labels or weights.
    """
    named = as_loss(loss, target)
    _check_task(named, target, estimator)
    chosen = named.for_labels(target.classes, target.n_outputs)
    if isinstance(chosen, OwnScore):
        if weighted and not takes_weight(estimator, "score"):
            raise ValueError(f"sample_weight: the score of {type(estimator).__name__} takes no weights; name a loss")
        return chosen, "score"
    available = tuple(r for r in RESPONSES if hasattr(estimator, r))
    if isinstance(chosen, ScorerLoss):
        chosen = chosen.with_response(available)
    if weighted and not chosen.takes_weight():
        raise ValueError(f"sample_weight: loss {chosen.name!r} takes no weights; leave them out or use another loss")
    for response in chosen.responses:
        if response in available:
            return chosen, response
    raise ValueError(
        f"loss {chosen.name!r} needs {' or '.join(chosen.responses)}, which {type(estimator).__name__} does not offer"
    )


def as_loss(loss: LossLike, target: Target) -> Loss:
    """A `Loss` from None, a name, a scorer, a matrix, a function or a `Loss`."""
    if loss is None:
        return NAMED["squared" if target.classes is None else "zero-one"]
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        return _named_loss(loss)
    if callable(loss):
        return _function_loss(loss, target)
    return MatrixLoss(loss)


def _named_loss(name: str) -> Loss:
    scorers = get_scorer_names()
    if name in scorers and name not in NAMED:
        return ScorerLoss(get_scorer(name), name)
    return entry("loss", name, NAMED, instead=" or the name of a scikit-learn scorer", more=scorers)


def _function_loss(function: Callable[..., Any], target: Target) -> Loss:
    """The loss of a user's function, told apart by trying it with the labels as predictions.

    A scorer takes (estimator, X, y). A loss takes (y, prediction) and returns one number per sample, or one for all.
    """
    if n_required_arguments(function) >= 3:
        return ScorerLoss(function, _name_of_scorer(function))
    some = target.values if target.classes is None else target.classes[target.values]
    name = getattr(function, "__name__", type(function).__name__)
    try:
        result = np.asarray(lend(function, function, some, some, names=LABELS))
    except Exception as error:
        raise ValueError(f"loss {name!r} fails on the labels of y as predictions: {error}") from error
    as_losses(result, name)
    if result.ndim > 1 or result.shape not in ((), (len(some),)):
        raise ValueError(
            f"loss {name!r} must return one number, or one per sample, shape ({len(some)},); it returned {result.shape}"
        )
    return SetFunctionLoss(function) if result.ndim == 0 else CallableLoss(function)


def _name_of_scorer(scorer: Callable[..., Any]) -> str:
    """What results call a scorer that has no name of its own: its function, and the arguments that it passes on.

    Those of a function that is better where it is smaller begin with "neg_", as scikit-learn's own do.
    """
    function = getattr(scorer, "_score_func", None)
    name, passed = getattr(function, "__name__", ""), getattr(scorer, "_kwargs", None)
    if type(scorer) is not type(get_scorer("accuracy")) or not name.isidentifier() or not isinstance(passed, dict):
        return getattr(scorer, "__name__", None) or str(scorer)
    sign = "neg_" if getattr(scorer, "_sign", 1) < 0 else ""
    arguments = ", ".join(f"{argument}={value!r}" for argument, value in passed.items())
    return f"{sign}{name}({arguments})" if arguments else sign + name


def n_required_arguments(function: Callable[..., Any]) -> int:
    """Number of positional arguments without a default; 2 where the function does not tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is inspect.Parameter.empty for p in parameters)


def _check_task(loss: Loss, target: Target, estimator: BaseEstimator) -> None:
    kind = "regression" if target.classes is None else "classification"
    if loss.task not in ("any", kind):
        what = "a regressor" if kind == "regression" else "a classifier"
        default = "squared" if kind == "regression" else "zero-one"
        raise ValueError(
            f"loss {loss.name!r} is for {loss.task}, but {type(estimator).__name__} is {what}; "
            f'use for example "{default}"'
        )
