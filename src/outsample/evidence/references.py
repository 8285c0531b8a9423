"""All models of a path fitted to labels drawn around a reference, draw by draw."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from outsample.data.learners import FitError, fit, respond, seeded
from outsample.data.parameters import unknown_settings
from outsample.evidence.folds import least, length, mean_over_folds, moves_between, moves_of_folds, shuffled_folds
from outsample.evidence.rows import Tested, evidence_of_folds
from outsample.losses.base import Groups, label_variance, weighted_mean
from outsample.paths.base import Smoother
from outsample.paths.dispatch import find_path
from outsample.paths.linear.closed_forms import degrees_of_freedom, new_row_optimism
from outsample.problem import Problem
from outsample.resampling.references import (
    ClassReference,
    Reference,
    ValueReference,
    class_reference,
    noisy_labels,
    value_reference,
)
from outsample.resampling.rows import Splits
from outsample.running.arrays import Array, Floats
from outsample.running.run import LABEL_DRAWS, LEARNER_DRAWS, child_generator, child_integer
from outsample.running.workers import results_of

FRESH = 1

# Labels drawn together: from one draw to the next every row moves on by the golden section of its distribution, which
# spreads few draws evenly. Afterwards rows begin anew, so that many draws come to the mean of all.
TOGETHER = 5
GOLDEN_SECTION = (math.sqrt(5) - 1) / 2


def optimism_around(problem: Problem, reference: Reference, draws: range, planned: int) -> tuple[Floats, int]:
    """(optimism of each draw, number of draws); one row and no draw where a linear smoother makes it exact.

    The exact one is that of new rows, see `new_row_optimism`. Drawn labels are spread evenly: each is right on its
    own, and the mean over a few varies less than if they were independent.
    """
    smoother = problem.design.smoother if problem.loss.quadratic else None
    if smoother is not None and isinstance(reference, ValueReference):
        return new_row_optimism(smoother, reference.variance, problem.weight)[None], 0
    return drawn_optimism(problem, reference, draws, planned=planned, evenly=True), len(draws)


def error_around(reference: Reference, draws: Floats, exact: bool) -> Floats:
    """Monte-Carlo error of the mean optimism over draws, (models,): theirs, and that of the reference's noise."""
    by_reference = reference.relative_error * draws.mean(axis=0)
    return length(np.concatenate([moves_of_draws(draws, exact), by_reference[None]]))


def moves_of_draws(draws: Floats, exact: bool) -> Floats:
    """Independent moves of the mean over few draws (draws, models) that are left to chance, (moves, models).

    The root of the sum of their squares is the Monte-Carlo error: none where draws are exact, not a number for a
    single one. Draws that are spread evenly are taken as independent: what even spacing saves in the
    term of an optimism that is linear in the noise it adds to the quadratic one, and their mean varies by .85 to 1.25
    times as much.
    """
    if exact or len(draws) == 1:
        return np.full((1, draws.shape[1]), 0.0 if exact else np.nan)
    return moves_between(draws) / math.sqrt(len(draws))


def drawn_optimism(
    problem: Problem, reference: Reference, draws: range, *, planned: int | None = None, evenly: bool = False
) -> Floats:
    """Optimism of the fits to labels drawn around a reference, (draws, models).

    Parameters
    ----------
    draws : numbers of the draws; each has its own seed, shared with all other label draws of that number.
    planned : draws the whole estimate takes, for the progress.
    evenly : whether draws are spread evenly instead of independent.
    """
    fits = _ReferenceFits(problem, reference, draws.start if evenly else None)
    n_jobs = 1 if problem.design.batched else problem.n_jobs
    cost, planned = problem.design.fits_per_draw, planned or draws.stop
    results: list[Floats] = []
    finished = problem.finished("reference", reference, draws.start, evenly)
    for result in results_of(fits, [(i,) for i in draws], n_jobs, finished):
        results.append(result)
        problem.progress((draws.start + len(results)) * cost, planned * cost)
    return np.stack(results)


class _ReferenceFits:
    """Draws one label vector, fits every model to it and measures the optimism.

    Parameters
    ----------
    even_from : the draw from which on labels are spread evenly; None for independent draws.
    """

    def __init__(self, problem: Problem, reference: Reference, even_from: int | None) -> None:
        self.design, self.loss, self.response = problem.design, problem.loss, problem.response
        self.weight, self.seed, self.reference = problem.weight, problem.seed, reference
        self.even_from = even_from

    def __call__(self, i: int) -> Floats:
        labels = self.reference.judged_by(self.loss, self.reference.labels_at(self._levels(i)))
        seeds = [child_integer(self.seed, LEARNER_DRAWS, i)]
        groups = None
        try:
            if self.design.abilities.groups and self.weight is None:
                groups = next(iter(self.design.grouped(labels[None], self.response, seeds)))
                fitted = groups.answers
            else:
                fitted = self.design.fitted(labels[None], self.response, seeds)[0]
        except FitError as error:
            raise FitError(f"draw {i + 1}: {error}") from error
        return self._optimism(i, labels, fitted, groups)

    def _optimism(self, i: int, labels: Array, fitted: Array, groups: Groups | None) -> Floats:
        """Optimism of the fits to draw i, from the answers to all rows, or to groups of them."""
        if groups is not None and isinstance(self.reference, ClassReference):
            rng = child_generator(self.seed, LABEL_DRAWS, i, FRESH)
            found = self.reference.optimism_of_groups(self.loss, labels, groups, rng)
            if found is not None:
                return found
        if groups is not None:
            fitted = groups.answers[:, groups.group]
        rng = child_generator(self.seed, LABEL_DRAWS, i, FRESH)
        return self.reference.optimism(self.loss, labels, fitted, self.weight, rng)

    def _levels(self, i: int) -> Floats:
        """Where every row stands in its distribution at draw i, (n,)."""
        moved = 0 if self.even_from is None else (i - self.even_from) % TOGETHER
        start = child_generator(self.seed, LABEL_DRAWS, i - moved).random(self.reference.n_samples)
        return np.asarray((start + moved * GOLDEN_SECTION) % 1.0)


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
        problem.fitted_by(k),
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
    found = _left_out(problem, splits := shuffled_folds(problem, FOLDS), 0)
    predicted = found.predictions
    moves = moves_of_folds(
        problem, FOLDS, predicted, not found.refitted, lambda *other: _left_out(problem, *other).predictions
    )
    risk = mean_over_folds(problem, splits, predicted)
    chosen = least(risk)
    out, relative = predicted[chosen], float(length(moves)[chosen] / risk[chosen]) if risk[chosen] != 0 else 0.0
    if n_classes is None:
        reference = value_reference(y, out, shrink=shrink, weight=weight)
        return replace(reference, relative_error=abs(relative))
    codes = predicted_codes(out, problem.response)
    noisy = (noisy_labels(y, codes, n_classes, weight, factor) for factor in (1 - relative, 1.0, 1 + relative))
    low, middle, high = (class_reference(y, p, shrink=shrink, weight=weight) for p in noisy)
    return middle.between(low, high)


def _left_out(problem: Problem, splits: Splits, number: int) -> Tested:
    """Predictions for left-out rows."""
    partition = splits.partition(problem.n_samples)
    return evidence_of_folds(problem, splits, partition=partition, pooled=True, number=number)


def predicted_codes(out: Array, response: str) -> Array:
    """The classes behind labels, probabilities or decision values."""
    if response == "predict":
        return out
    return (out > 0).astype(np.intp) if out.ndim == 1 else out.argmax(axis=1)


def _of_estimator(problem: Problem, estimator: BaseEstimator, shrink: float) -> Reference:
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
        return value_reference(problem.y, mean, degrees_of_freedom=freedom, shrink=shrink, weight=problem.label_weight)
    probabilities = respond(model, problem.X, "predict_proba", classes)
    return class_reference(problem.y, probabilities, shrink=shrink, weight=problem.label_weight)


def _freedom(problem: Problem, estimator: BaseEstimator) -> float:
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


HALVINGS = 50

# How far sums of equal numbers may differ, relative to the numbers.
RISK_ROUNDING = 64 * float(np.finfo(np.float64).eps)

# Learners that predict the first class of greatest frequency, to the letter.
VOTERS = frozenset({DecisionTreeClassifier, ExtraTreeClassifier, KNeighborsClassifier, RandomForestClassifier})


def calibrated_reference(
    problem: Problem, predicted: Array, risk: float, frequencies: Floats | None = None, error: float = 0.0
) -> Reference | None:
    """The reference around the predictions of a model whose out-sample risk was estimated; None if it is constant.

    Class labels follow the frequencies, moved toward the shares of the classes; real labels are the predictions plus
    their residuals, made larger or smaller. How far, `risk` decides. None means that X says nothing: the predictions
    are the same for every row, or are expected to be no better than that.

    Parameters
    ----------
    predicted : (n[, classes]) as the problem's loss reads them, by the model fitted to all rows or to other rows.
    frequencies : (n, classes) class frequencies behind them; None for predictions that are believed as they are.
    error : Monte-Carlo error of `risk`.
    """
    if problem.target.n_classes is None:
        return _values(problem, predicted, risk, error)
    codes = predicted_codes(predicted, problem.response)
    ignored = float(problem.loss.crossed_mean(problem.y, predicted, problem.weight, problem.label_weight))
    if (codes == codes[0]).all() or risk >= ignored:
        return None
    if frequencies is None:
        frequencies = np.eye(problem.target.n_classes)[codes]
    believed = _expected_risk(problem, frequencies, predicted)
    # All three risks are those of the same predictions, and the risk is linear in the share that labels are mixed.
    shares = [_share(believed, min(risk + sign * error, ignored), ignored) for sign in (-1, 0, 1)]
    low, found, high = (
        class_reference(problem.y, frequencies, shrink=share, weight=problem.label_weight) for share in shares
    )
    return found.between(low, high)


def _share(believed: float, risk: float, ignored: float) -> float:
    """How far risk is on the way from what believed labels to what ignored predictions have; 0 before it begins."""
    return (risk - believed) / (ignored - believed) if believed < risk else 0.0


def has_frequencies(problem: Problem) -> bool:
    """Whether the learner predicts the class of which it gives the greatest frequency, so that either tells both."""
    if problem.target.classes is None or not problem.loss.per_row:
        return False
    learner = problem.path.estimator
    last = learner.steps[-1][1] if isinstance(learner, Pipeline) else learner
    votes = type(last) in VOTERS and not unknown_settings(last)
    return problem.response == "predict_proba" or (problem.response == "predict" and votes)


def _expected_risk(problem: Problem, frequencies: Floats, fitted: Array) -> float:
    """Risk of predictions on labels that follow the frequencies."""
    if not problem.loss.per_row:
        likeliest = ClassReference(frequencies).judged_by(problem.loss, frequencies.argmax(axis=1))
        return float(problem.loss.risk(likeliest, fitted, problem.weight))
    n, n_classes = frequencies.shape
    expected = sum(frequencies[:, c] * problem.loss.pointwise(np.full(n, c), fitted) for c in range(n_classes))
    return float(weighted_mean(np.asarray(expected), problem.weight))


def _values(problem: Problem, fitted: Floats, risk: float, error: float) -> Reference | None:
    y, weight = problem.y, problem.label_weight
    spread = math.sqrt(label_variance(y, weight))
    # Equal predictions differ by the rounding of labels, which are larger than their spread where they are far from 0.
    if np.ptp(fitted) <= max(1e-12 * spread, RISK_ROUNDING * float(np.abs(y).max())):
        return None
    residuals = (y - fitted) - np.average(y - fitted, weights=weight)
    if math.sqrt(label_variance(residuals, weight)) <= 1e-12 * spread:
        residuals = y - np.average(y, weights=weight)
    largest = spread / math.sqrt(label_variance(residuals, weight))
    if _risk_at(problem, fitted, residuals, largest) <= risk:
        return None
    enlarged = residuals * _enlargement(problem, fitted, residuals, risk, largest)
    # Residuals are enlarged in proportion to the risk, and so is the optimism around them.
    return ValueReference(fitted, enlarged, weight=weight, relative_error=abs(error / risk) if risk != 0 else 0.0)


def _enlargement(problem: Problem, fitted: Floats, residuals: Floats, risk: float, largest: float) -> float:
    """By how much residuals must be multiplied for the fitted values to have this risk, by halving."""
    low, high = 0.0, largest
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _risk_at(problem, fitted, residuals, middle) < risk:
            low = middle
        else:
            high = middle
    return high


def _risk_at(problem: Problem, fitted: Floats, residuals: Floats, factor: float) -> float:
    return float(problem.loss.risk(fitted + factor * residuals, fitted, problem.weight))
