"""The result of a search as the table that scikit-learn users know: `cv_results_`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.questions.contest import Outcome
from outsample.running.arrays import Floats

CvResults = dict[str, Any]


def results_table(outcome: Outcome) -> CvResults:
    """The columns of `cv_results_`, each with one entry per setting in the order of the user's grid.

    Scores are greater-is-better. The models of a path share fits, so the time of a fit is the time of the whole search
    divided by the number of settings.
    """
    curve = outcome.curve
    back = np.argsort(outcome.positions, kind="stable")
    settings = [dict(curve.params[i]) for i in back]
    table: CvResults = _times(curve.seconds, len(settings))
    table |= _parameter_columns(settings)
    table["params"] = settings
    mean, deviation = _scores(outcome, back, table)
    failed = np.isnan(mean)
    mean = np.where(failed, outcome.error_score, mean) if not isinstance(outcome.error_score, str) else mean
    table["mean_test_score"], table["std_test_score"] = mean, deviation
    table["rank_test_score"] = _ranks(mean)
    for name in ("in_sample", "optimism", "out_sample", "standard_error", "monte_carlo_error"):
        values = getattr(curve, name)
        table[name] = np.full(len(back), np.nan) if values is None else _reported(outcome, name, values[back])
    return table


def _reported(outcome: Outcome, name: str, values: Floats) -> Floats:
    """Values on the scale of the user's loss; standard errors have no sign and stay as they are."""
    return values if name.endswith("error") else np.asarray(outcome.curve.loss.reported(values))


def _times(seconds: float, n_settings: int) -> CvResults:
    share, zero = np.full(n_settings, seconds / n_settings), np.zeros(n_settings)
    return {"mean_fit_time": share, "std_fit_time": zero, "mean_score_time": zero.copy(), "std_score_time": zero.copy()}


def _parameter_columns(settings: list[dict[str, Any]]) -> CvResults:
    """The param_* columns, masked where a setting does not have the parameter."""
    names = dict.fromkeys(name for setting in settings for name in setting)
    columns: CvResults = {}
    for name in names:
        given = [name in setting for setting in settings]
        values = [setting.get(name) for setting in settings]
        column = np.ma.masked_array(_column(values, all(given)), mask=[not g for g in given])
        columns[f"param_{name}"] = column
    return columns


def _column(values: list[Any], complete: bool) -> NDArray[Any]:
    """The values as an array: of numbers where all are numbers of one type, else of objects."""
    numeric = complete and all(isinstance(v, int | float | np.number | bool) for v in values)
    if numeric and len({type(v) for v in values}) == 1:
        return np.asarray(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _scores(outcome: Outcome, back: NDArray[np.intp], table: CvResults) -> tuple[Floats, Floats]:
    """(mean, standard deviation) of the score over splits, whose columns are added to the table; 0 without splits."""
    curve = outcome.curve
    mean, scores = curve.scores[back], curve.fold_scores
    if scores is None:
        return mean, np.zeros(len(back))
    by_split = scores[back]
    for k in range(by_split.shape[1]):
        table[f"split{k}_test_score"] = by_split[:, k]
    return mean, np.std(by_split, axis=1)


def _ranks(scores: Floats) -> NDArray[np.int32]:
    """Ranks from 1, the best; ties share the better rank and nan is last."""
    known = np.where(np.isnan(scores), np.nanmin(scores) - 1, scores)
    return (1 + np.searchsorted(np.sort(-known), -known)).astype(np.int32)
