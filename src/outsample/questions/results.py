"""The result of a search as the table that scikit-learn users know, `cv_results_`: written, and read back."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import RiskCurve, in_words, mean_of_known
from outsample.losses.base import Loss
from outsample.paths.order import complexity_of, simplest_first
from outsample.questions.contest import Outcome
from outsample.questions.metrics import ONE
from outsample.running.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

CvResults = dict[str, Any]

GRID_ORDER = "These models have no natural order of complexity; they stand in the order of the grid."

TIMES = ("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time")

OURS = ("in_sample", "optimism", "out_sample", "standard_error", "monte_carlo_error")
"""Columns beside those of scikit-learn, on the scale of the user's loss."""


def results_table(outcomes: Mapping[str, Outcome], train: bool = False) -> CvResults:
    """The columns of `cv_results_`, each with one entry per setting in the order of the user's grid.

    Scores are greater-is-better. Models of a path share fits, so that no setting has times of its own: they are nan.

    Parameters
    ----------
    outcomes : by the name of the metric, "score" where there is one only.
    train : whether to give scores on the rows fitted: those of the fit to all rows.
    """
    first = next(iter(outcomes.values()))
    settings = [dict(first.curve.params[i]) for i in _back(first)]
    table: CvResults = {name: np.full(len(settings), np.nan) for name in TIMES}
    table |= _parameter_columns(settings)
    table["params"] = settings
    for name, outcome in outcomes.items():
        table |= _scores(outcome, name, train)
    if first.default is not None:
        table["is_default"] = np.arange(len(settings)) == first.default
    return table | our_columns(outcomes)


def results_frame(results: CvResults) -> pd.DataFrame:
    """`cv_results_` as a tidy table: a row per setting, its parameters first, then scores and times, no splits."""
    import pandas as pd

    prefix = "param_"
    columns: dict[str, Any] = {
        name.removeprefix(prefix): pd.Series(values.filled(None) if values.dtype == object else values)
        for name, values in results.items()
        if name.startswith(prefix)
    }
    others = (name for name in results if name != "params" and not name.startswith((prefix, "split")))
    for name in sorted(others, key=lambda name: name.endswith("_time")):
        columns[name if name not in columns else f"{name}_"] = results[name]
    return pd.DataFrame(columns)


def answer_in_html(search: Any) -> str:
    """The chosen setting and its error on new data, of a fitted search."""
    setting = html.escape(in_words(search.best_params_))
    honest = getattr(search, "honest_score_", None)
    of_search = "" if honest is None else f"<p><b>Of the whole search:</b></p>{honest._repr_html_()}"
    chosen = f"<b>Chosen among {len(search.curve_)}:</b> {setting}"
    return f"<div><p>{chosen}</p>{search.estimate_._repr_html_()}{of_search}</div>"


def _back(outcome: Outcome) -> NDArray[np.intp]:
    """For each setting of the grid the place of its model in the curve."""
    return np.argsort(outcome.positions, kind="stable")


def our_columns(outcomes: Mapping[str, Outcome]) -> CvResults:
    """The columns beside those of scikit-learn, with the name of the metric behind theirs where there are several."""
    columns = {}
    for metric, outcome in outcomes.items():
        back, report = _back(outcome), outcome.curve.loss.reported
        for name in OURS:
            values = getattr(outcome.curve, name)
            values = np.full(len(back), np.nan) if values is None else values[back]
            # Standard errors have no sign.
            own = values if name.endswith("error") else np.asarray(report(values))
            columns[name if metric == ONE else f"{name}_{metric}"] = own
    return columns


def _parameter_columns(settings: list[dict[str, Any]]) -> CvResults:
    """The param_* columns, masked where a setting does not have the parameter."""
    names = dict.fromkeys(name for setting in settings for name in setting)
    return {f"param_{name}": _column(name, settings) for name in names}


def _column(name: str, settings: list[dict[str, Any]]) -> Any:
    """The values as scikit-learn types them: numbers as numbers, texts and everything else as objects."""
    given = {i: setting[name] for i, setting in enumerate(settings) if name in setting}
    try:
        together = np.array(list(given.values()))
    except ValueError:  # sequences of different lengths
        together = np.empty(0, dtype=object)
    kind = together.dtype if together.dtype.kind != "U" and together.ndim == 1 else np.dtype(object)
    column = np.ma.MaskedArray(np.empty(len(settings), dtype=kind), mask=True)
    for i, value in given.items():
        column[i] = value
    return column


def _scores(outcome: Outcome, name: str, train: bool) -> CvResults:
    """Scores on each split where there are splits, their mean, standard deviation (0 without splits) and rank."""
    curve, back = outcome.curve, _back(outcome)
    by_split = curve.fold_scores
    columns: CvResults = {}
    mean, deviation = curve.scores[back], np.zeros(len(back))
    if by_split is not None:
        columns |= {f"split{k}_test_{name}": by_split[back, k] for k in range(by_split.shape[1])}
        deviation = _deviation(by_split[back], mean, raced=curve.race is not None)
    if not isinstance(outcome.error_score, str):
        mean = np.where(np.isnan(mean), outcome.error_score, mean)
    columns |= {f"mean_test_{name}": mean, f"std_test_{name}": deviation, f"rank_test_{name}": _ranks(mean)}
    if curve.race is not None:
        columns |= {curve.race.amount: curve.race.n_splits[back], f"rank_test_{name}": curve.race.ranks[back]}
    if train:
        fitted = np.asarray(curve.loss.score(curve.in_sample))[back]
        columns |= {f"mean_train_{name}": fitted, f"std_train_{name}": np.zeros(len(back))}
    return columns


def _deviation(by_split: Floats, mean: Floats, raced: bool) -> Floats:
    """Standard deviation of the scores over splits, (settings,): those that a setting had, where it was in a race."""
    return np.sqrt(mean_of_known(np.square(by_split - mean[:, None]))) if raced else np.std(by_split, axis=1)


def _ranks(scores: Floats) -> NDArray[np.int32]:
    """Ranks from 1, the best; ties share the better rank and nan is last."""
    if np.isnan(scores).all():
        return np.ones(len(scores), dtype=np.int32)
    known = np.where(np.isnan(scores), np.nanmin(scores) - 1, scores)
    return (1 + np.searchsorted(np.sort(-known), -known)).astype(np.int32)


def outcome_of_results(results: dict[str, Any], metric: str, loss: Loss, n_samples: int) -> Outcome:
    """What a metric says of all settings; the chosen one is that of least risk.

    In-sample risks are those of training sets where the loop was asked for them, else not a number. The standard error
    is that of `CrossValidation` with error="naive".
    """
    risks = -_by_split(results, "test", metric)
    out_sample = -results[f"mean_test_{metric}"]
    in_sample = -results.get(f"mean_train_{metric}", np.full(len(out_sample), np.nan))
    settings, K = results["params"], len(risks)
    complexity, ordered = _order(settings)
    curve = RiskCurve(
        complexity=complexity,
        params=tuple(settings),
        in_sample=in_sample,
        optimism=out_sample - in_sample,
        out_sample=out_sample,
        loss=loss,
        criterion="kfold",
        estimand=f"{loss.on_new_data}, averaged over fits to the training rows of {K} splits",
        n_fits=K * len(settings),
        n_samples=n_samples,
        standard_error=_standard_error(risks),
        seconds=float(np.sum(results["mean_fit_time"] + results["mean_score_time"]) * K),
        path="RefitPath",
        ordered=ordered,
        freedom=K - 1 if K > 1 else None,
        left_out=LeftOut(None, fold_risks=risks),
        notes=() if ordered else (GRID_ORDER,),
    )
    positions = simplest_first(complexity)
    known = np.where(np.isnan(out_sample), np.inf, out_sample)[positions]
    return Outcome(curve.take(positions), positions, int(np.argmin(known)))


def _by_split(results: dict[str, Any], part: str, metric: str) -> Floats:
    """Scores on the rows of each split, (splits, settings)."""
    columns: list[Floats] = []
    while (name := f"split{len(columns)}_{part}_{metric}") in results:
        columns.append(results[name])
    return np.array(columns)


def _standard_error(risks: Floats) -> Floats:
    K = len(risks)
    with np.errstate(invalid="ignore"):
        return risks.std(axis=0, ddof=1) / np.sqrt(K) if K > 1 else np.full(risks.shape[1], np.nan)


def _order(settings: list[dict[str, Any]]) -> tuple[Floats, bool]:
    """(complexity of each setting, whether it is a natural order): that of the only parameter, else the grid's."""
    names = {name for setting in settings for name in setting}
    if len(names) == 1 and all(settings):
        (name,) = names
        return complexity_of(name, [setting[name] for setting in settings])
    return np.arange(len(settings), dtype=np.float64), len(settings) == 1
