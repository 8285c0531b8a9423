"""From what a user calls a reference to label distributions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.closed_forms import degrees_of_freedom
from outsample.criteria.random_folds import least, length, mean_over_folds, moves_of_folds, shuffled_folds
from outsample.criteria.row_engine import judged_on_folds
from outsample.learners import fit, respond, seeded
from outsample.losses import Floats
from outsample.paths import Smoother, find_path
from outsample.problem import Problem
from outsample.references import Reference, ValueReference, class_reference, noisy_labels, value_reference
from outsample.splits import Splits

Array = NDArray[Any]

FOLDS = 5
# How far a sum of leverages may be from the whole number that it is.
ROUNDING = 1e-9
NAMES = ("auto", "richest", "cross-fitted")


def choose_reference(problem: Problem, reference: Any, shrink: float) -> Reference:
    """The reference of a problem.

    "richest" is the richest model of a path of linear smoothers that leaves a degree of freedom over;
    "cross-fitted" the predictions for left-out rows by the model of the path that cross-validation likes best;
    "auto" the first where there is a smoother, else the second. Otherwise an estimator, or an array of means,
    probabilities (n, classes) or probabilities of the second class (n,).
    """
    if problem.target.n_outputs > 1:
        raise ValueError(f"reference: y has {problem.target.n_outputs} columns, one is needed; use reference=None")
    if isinstance(reference, str):
        return _named(problem, reference, shrink)
    if hasattr(reference, "fit"):
        return _of_estimator(problem, reference, shrink)
    return _given(problem, reference, shrink)


def _named(problem: Problem, name: str, shrink: float) -> Reference:
    if name not in NAMES:
        raise ValueError(f"reference must be None, an estimator, an array or one of {', '.join(NAMES)}, got {name!r}")
    if name == "cross-fitted":
        return _cross_fitted(problem, shrink)
    richest = _richest(problem, shrink)
    if richest is None and name == "richest":
        raise ValueError(
            'reference="richest" needs linear smoothers of which one leaves a degree of freedom over; '
            'use "cross-fitted"'
        )
    return _cross_fitted(problem, shrink) if richest is None else richest


def _richest(problem: Problem, shrink: float) -> ValueReference | None:
    smoother = problem.design.smoother
    if smoother is None or problem.response != "predict":
        return None
    freedom = _degrees_of_freedom(problem, smoother)
    usable = np.flatnonzero(problem.n_samples - freedom >= 1 - ROUNDING)
    if len(usable) == 0:
        return None
    k = usable[-1]
    return value_reference(
        problem.y,
        problem.fitted[k],
        degrees_of_freedom=float(freedom[k]),
        shrink=shrink,
        weight=problem.label_weight,
    )


def _degrees_of_freedom(problem: Problem, smoother: Smoother) -> Floats:
    """tr S, (models,), with weights n times the weighted mean leverage."""
    if problem.label_weight is None:
        return smoother.trace
    return degrees_of_freedom(smoother, problem.n_samples, problem.label_weight)


def _cross_fitted(problem: Problem, shrink: float) -> Reference:
    y, n_classes, weight = problem.y, problem.target.n_classes, problem.label_weight
    predicted, cost = _left_out(problem, splits := shuffled_folds(problem, FOLDS), 0)
    moves, more = moves_of_folds(problem, FOLDS, predicted, cost == 0, partial(_left_out, problem))
    risk = mean_over_folds(problem, splits, predicted)
    chosen, n_fits = least(risk), cost + more
    out, relative = predicted[chosen], float(length(moves)[chosen] / risk[chosen]) if risk[chosen] != 0 else 0.0
    if n_classes is None:
        reference = value_reference(y, out, shrink=shrink, n_fits=n_fits, weight=weight)
        return replace(reference, relative_error=abs(relative))
    codes = predicted_codes(out, problem.response)
    noisy = (noisy_labels(y, codes, n_classes, weight, factor) for factor in (1 - relative, 1.0, 1 + relative))
    low, found, high = (class_reference(y, p, shrink=shrink, n_fits=n_fits, weight=weight) for p in noisy)
    return found.between(low, high)


def _left_out(problem: Problem, splits: Splits, number: int) -> tuple[Array, int]:
    """(predictions for left-out rows, fits beside the one to all rows)."""
    partition = splits.partition(problem.n_samples)
    found = judged_on_folds(problem, splits, partition=partition, pooled=True, number=number)
    assert found.out_of_fold is not None
    return found.out_of_fold, found.n_fits - problem.design.fits_per_draw


def predicted_codes(out: Array, response: str) -> Array:
    """The classes behind labels, probabilities or decision values."""
    if response == "predict":
        return out
    return (out > 0).astype(np.intp) if out.ndim == 1 else out.argmax(axis=1)


def _of_estimator(problem: Problem, estimator: Any, shrink: float) -> Reference:
    classes = problem.target.classes
    if classes is not None and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"reference: {type(estimator).__name__} has no predict_proba, from which labels are drawn; "
            'use another estimator, or "cross-fitted"'
        )
    model = seeded(estimator, problem.real_seed)
    labels = problem.y if classes is None else classes[problem.y]
    fit(model, problem.X, labels, problem.weight)
    if classes is None:
        mean = respond(model, problem.X, "predict", None)
        freedom = _freedom(problem, estimator)
        return value_reference(
            problem.y, mean, degrees_of_freedom=freedom, shrink=shrink, n_fits=1, weight=problem.label_weight
        )
    probabilities = respond(model, problem.X, "predict_proba", classes)
    return class_reference(problem.y, probabilities, shrink=shrink, n_fits=1, weight=problem.label_weight)


def _freedom(problem: Problem, estimator: Any) -> float:
    """Degrees of freedom of a reference that is linear in y, else 0: its residuals are then taken as they are."""
    smoother = find_path(estimator, weighted=problem.weight is not None).bind(problem.X, None, problem.weight).smoother
    return 0.0 if smoother is None else float(_degrees_of_freedom(problem, smoother)[0])


def _given(problem: Problem, reference: Any, shrink: float) -> Reference:
    values, whole = np.asarray(reference, dtype=np.float64), problem.all_rows
    n, n_classes = problem.n_samples if whole is None else len(whole.y), problem.target.n_classes
    if n_classes == 2 and values.shape == (n,):
        values = np.stack([1 - values, values], axis=1)
    _check_shape(values, (n,) if n_classes is None else (n, n_classes))
    if whole is not None:
        values = values[whole.counted]
    if n_classes is None:
        return value_reference(problem.y, values, shrink=shrink, weight=problem.label_weight)
    if (values < 0).any() or not np.allclose(values.sum(axis=1), 1):
        raise ValueError("reference: probabilities must not be negative and must add up to one in every row")
    return class_reference(problem.y, values, shrink=shrink, weight=problem.label_weight)


def _check_shape(values: Floats, shape: tuple[int, ...]) -> None:
    if values.shape != shape or not np.isfinite(values).all():
        raise ValueError(f"reference must be finite and have shape {shape}, got {values.shape}")
