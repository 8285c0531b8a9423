"""The page of a comparison of criteria: whether they agree, what each expects, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from outsample.curve.error_estimate import ErrorEstimate, numeral
from outsample.curve.risk_curve import RiskCurve
from outsample.curve.words import (
    Rename,
    Setting,
    aligned,
    amount,
    called_with_article,
    counted,
    decimals_of,
    in_words,
    interval_in_words,
    interval_of,
    joined,
)
from outsample.plots.elements import Answer, Bars, Cell, Content, Picture, Table
from outsample.plots.pictures import curve_chart
from outsample.questions.compare import Comparison
from outsample.running.arrays import Floats

NUMBERS = ("out-sample", "± data", "± draws", "in-sample", "optimism", "fits", "seconds")

MEANINGS = {
    "out-sample": "in-sample + optimism: what to expect on new rows from the same source.",
    "± data": "standard error: how far the number may be off because this data set is one of many; draws do not "
    "shrink it.",
    "± draws": "Monte-Carlo error: how far the number may be off because only so many resamples were drawn.",
    "in-sample": "the error on the rows the model was fitted to. It flatters: rich models fit noise.",
    "optimism": "how much the in-sample error flatters, as this criterion measures it.",
    "fits": "how often a learner was fitted; models that come from one fit count once.",
}

CURVES = (
    "A line per criterion; its ring is the model it chooses. Point at the chart, or focus it and use the arrow keys, "
    "for the numbers."
)
POINTS = "What each criterion expects of the model, with its 95 % interval where it gives one."


def comparison_content(found: Comparison, asked: list[tuple[str, str]], rename: Rename, call: str) -> Content:
    """What the page of a comparison says."""
    first = next(iter(found.curves.values()))
    settings = [rename(setting) for setting in first.params]
    several = len(first) > 1
    facts = {"rows": first.n_samples, "models": len(first), "measured by": first.loss.name, "rule": found.rule}
    numbers = number_cells(list(found.estimates.values()))
    rows = [
        [Cell(name), *([Cell(in_words(rename(found.params[name])))] if several else []), *cells]
        for name, cells in zip(found.estimates, numbers, strict=True)
    ]
    headings = ("criterion", "chosen", *NUMBERS) if several else ("criterion", *NUMBERS)
    chart = Picture(curve_chart(found.curves, found.chosen, settings), CURVES) if several else _points(found)
    return Content(
        title="Which criterion to believe?",
        answers=comparison_answers(found, rename),
        asked=[*asked, *((name, str(value)) for name, value in facts.items())],
        table=Table(headings, rows, words=2 if several else 1),
        table_title="The criteria",
        meanings=meanings_of(found.curves),
        code=call,
        pictures=[chart],
    )


def number_cells(estimates: Sequence[ErrorEstimate]) -> list[list[Cell]]:
    """The cells of each estimate, in the order of NUMBERS; errors of all with as many decimals each."""
    risks, errors, others = (
        ("out_sample", "in_sample", "optimism"),
        ("standard_error", "monte_carlo_error"),
        ("n_fits",),
    )
    values = {
        name: np.array([getattr(e, name) for e in estimates], dtype=np.float64) for name in (*risks, *errors, *others)
    }
    decimals = decimals_of(values["out_sample"], 4)
    of_errors = decimals_of(np.concatenate([values[name] for name in errors]), 2)
    columns = {name: numbers_in_cells(values[name], decimals) for name in risks}
    columns |= {name: numbers_in_cells(values[name], of_errors) for name in errors}
    columns |= {name: numbers_in_cells(values[name], 0) for name in others}
    columns["seconds"] = [Cell(numeral(e.seconds, 2), e.seconds) for e in estimates]
    order = ("out_sample", *errors, "in_sample", "optimism", *others, "seconds")
    return [list(row) for row in zip(*(columns[name] for name in order), strict=True)]


def numbers_in_cells(values: Floats, decimals: int) -> list[Cell]:
    """A column of numbers with as many decimals each."""
    return [
        Cell(text, value if math.isfinite(value) else None)
        for text, value in zip(aligned(values, decimals), values.tolist(), strict=True)
    ]


def meanings_of(curves: Mapping[str, RiskCurve]) -> list[tuple[str, str]]:
    """What the numbers mean, and what each criterion estimates; those that estimate the same in one line."""
    same: dict[str, list[str]] = {}
    for name, curve in curves.items():
        same.setdefault(curve.estimand, []).append(name)
    each = [(", ".join(names), f"estimates {estimand}.") for estimand, names in same.items()]
    return [*MEANINGS.items(), *each]


def _points(found: Comparison) -> Picture:
    estimates = found.estimates
    ends = [interval_of(estimate) or (math.nan, math.nan) for estimate in estimates.values()]
    low, high = np.array(ends).T
    values = np.array([estimate.out_sample for estimate in estimates.values()])
    loss = next(iter(estimates.values())).loss
    return Picture(Bars(list(estimates), values, low, high, loss, strong=frozenset(range(len(estimates)))), POINTS)


def comparison_answers(found: Comparison, rename: Rename) -> list[Answer]:
    """Which setting to use, what to expect, and what the criteria cost."""
    about_new_data = {name: e for name, e in found.estimates.items() if name != "resubstitution"} or found.estimates
    several = len(next(iter(found.curves.values()))) > 1
    sure = next((name for name, e in about_new_data.items() if interval_of(e) is not None), next(iter(about_new_data)))
    use = [_use({name: rename(setting) for name, setting in found.params.items()}, sure)] if several else []
    return [*use, _expect(about_new_data), _cost(found)]


def _use(settings: dict[str, Setting], sure: str) -> Answer:
    """The setting that most criteria choose, and who chooses others; of as many, that of the criterion `sure`."""
    chosen: dict[str, list[str]] = {}
    for criterion, setting in settings.items():
        chosen.setdefault(in_words(setting), []).append(criterion)
    most = max(chosen, key=lambda words: (len(chosen[words]), sure in chosen[words]))
    if len(chosen) == 1:
        return Answer("Use", most, "all criteria choose it")
    others = [f"{joined(names)}: {words}" for words, names in chosen.items() if words != most]
    who = f"chosen by {joined(chosen[most])}"
    return Answer("Use", most, f"{who}; the criteria disagree, {'; '.join(others)}")


def _expect(estimates: dict[str, ErrorEstimate]) -> Answer:
    """The range of the estimates, and the one that comes with an interval."""
    low = min(estimates, key=lambda name: estimates[name].out_sample)
    high = max(estimates, key=lambda name: estimates[name].out_sample)
    loss = estimates[low].loss
    called = "an error rate" if loss == "zero-one" else called_with_article(loss)
    ends = [amount(loss, estimates[name].out_sample) for name in (low, high)]
    sure = next((name for name, estimate in estimates.items() if interval_of(estimate) is not None), None)
    more = (
        ""
        if sure is None
        else f"{sure}: {amount(loss, estimates[sure].out_sample)}" + interval_in_words(estimates[sure])
    )
    if len(estimates) == 1 or ends[0] == ends[1]:
        return Answer("Expect", f"{called} of about {ends[0]} on new data", more)
    return Answer("Expect", f"{called} of {ends[0]} ({low}) to {ends[1]} ({high}) on new data", more)


def _cost(found: Comparison) -> Answer:
    fits = {name: curve.n_fits for name, curve in found.curves.items()}
    least, most = min(fits, key=lambda name: fits[name]), max(fits, key=lambda name: fits[name])
    if fits[least] == fits[most]:
        return Answer("Cost", f"{counted(fits[least], 'fit')} each")
    return Answer("Cost", f"{counted(fits[least], 'fit')} ({least}) to {counted(fits[most], 'fit')} ({most})")
