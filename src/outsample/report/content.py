"""What a report says, in numbers and sentences, before it becomes a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from outsample.curve.error_estimate import ErrorEstimate, numeral
from outsample.curve.risk_curve import RiskCurve
from outsample.questions.audit import Audit
from outsample.questions.compare import Comparison
from outsample.questions.significance import PermutationTest
from outsample.rules import RULES
from outsample.running.arrays import Floats

Setting = dict[str, Any]
Rename = Callable[[Any], Setting]


@dataclass(frozen=True, eq=False)
class Line:
    """One line of the chart, over the models.

    Attributes
    ----------
    name : what it is called in the legend.
    values : (models,) not-a-number leaves a gap.
    error : (models,) half the height of its band, or None.
    chosen : the model marked on it, or None.
    kind : "criterion" or "in-sample".
    """

    name: str
    values: Floats
    error: Floats | None = None
    chosen: int | None = None
    kind: str = "criterion"


@dataclass(frozen=True, eq=False)
class Chart:
    """Lines over models, simplest first.

    Attributes
    ----------
    lines : the first one that is "in-sample", if any, bounds the optimism band of a single criterion.
    settings : the setting of every model in words.
    ticks : short labels of the models.
    across, up : what the axes are.
    """

    lines: Sequence[Line]
    settings: Sequence[str]
    ticks: Sequence[str]
    across: str
    up: str


@dataclass(frozen=True, eq=False)
class Histogram:
    """A distribution under permuted labels, and the value observed on the real ones."""

    values: Floats
    observed: float
    across: str


@dataclass(frozen=True)
class TextTable:
    """Headings and rows of text; the first `words` columns are words, the others numbers."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 2


@dataclass(frozen=True, eq=False)
class Content:
    """Everything on the page."""

    title: str
    answer: str
    asked: Sequence[tuple[str, str]]
    table: TextTable
    meanings: Sequence[tuple[str, str]]
    reproduce: str
    chart: Chart | None = None
    histogram: Histogram | None = None


MEANINGS = {
    "in-sample": "the error on the rows the model was fitted to. It flatters: rich models fit noise.",
    "optimism": "how much the in-sample error flatters, as this criterion measures it.",
    "out-sample": "in-sample + optimism: what to expect on new rows from the same source.",
    "± data": "standard error: how far the number may be off because this data set is one of many; draws do not "
    "shrink it.",
    "± draws": "Monte-Carlo error: how far the number may be off because only so many resamples were drawn.",
    "fits": "how often a learner was fitted; models that come from one fit count once.",
}


def in_words(setting: Setting) -> str:
    """A setting as one line."""
    return ", ".join(f"{name} = {_short(value)}" for name, value in setting.items()) or "the model as given"


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def chart_of(
    curves: dict[str, RiskCurve], chosen: dict[str, int], rename: Rename, with_band: bool = False
) -> Chart | None:
    """The chart of curves over the same models; nothing to draw for a single model."""
    first = next(iter(curves.values()))
    if len(first) < 2:
        return None
    settings = [rename(setting) for setting in first.params]
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    fitted = Line("in-sample", _loss_values(first, first.in_sample), kind="in-sample")
    lines = [
        Line(name, _loss_values(curve, curve.out_sample), curve.standard_error if with_band else None, chosen[name])
        for name, curve in curves.items()
    ]
    return Chart(
        lines=[fitted, *lines],
        settings=[in_words(setting) for setting in settings],
        ticks=[", ".join(_short(setting.get(name, "–")) for name in names) for setting in settings],
        across=", ".join(names) + (" (simple → rich)" if first.ordered else ""),
        up=first.loss.name,
    )


def _loss_values(curve: RiskCurve, values: Floats) -> Floats:
    shown = np.asarray(curve.loss.reported(values), dtype=np.float64)
    return np.where(np.isfinite(shown), shown, np.nan)


NUMBERS = ("in-sample", "optimism", "out-sample", "± data", "± draws", "fits", "seconds")


def numbers_of(estimate: ErrorEstimate) -> list[str]:
    """The cells of an estimate, in the order of NUMBERS."""
    errors = (estimate.standard_error, estimate.monte_carlo_error)
    return [
        *(numeral(value) for value in (estimate.in_sample, estimate.optimism, estimate.out_sample)),
        *("–" if value is None else numeral(value, 2) for value in errors),
        str(estimate.n_fits),
        numeral(estimate.seconds, 2),
    ]


def expectation(estimate: ErrorEstimate) -> str:
    """What to expect on new data, in words."""
    bar = "" if estimate.standard_error is None else f" ± {_amount(estimate, estimate.standard_error)}"
    value = _amount(estimate, estimate.out_sample)
    if estimate.loss == "zero-one":
        return f"wrong on about {value}{bar} of new rows"
    return f"an out-sample {estimate.loss} of about {value}{bar}"


def _amount(estimate: ErrorEstimate, value: float) -> str:
    return f"{numeral(100 * value, 3)} %" if estimate.loss == "zero-one" else numeral(value)


def content_of(result: object, asked: Mapping[str, Any], rename: Rename, call: str) -> Content:
    """The content of the report of a result."""
    measured = not isinstance(result, PermutationTest | Audit)  # results that know their number of rows
    facts = [(name, str(value)) for name, value in asked.items() if not (measured and name == "rows")]
    if isinstance(result, Comparison):
        return _comparison(result, facts, rename, call or result.call)
    if isinstance(result, ErrorEstimate):
        return _estimate(result, facts, call)
    if isinstance(result, PermutationTest):
        return _test(result, facts, call)
    if isinstance(result, Audit):
        return _audit(result, facts, call)
    if hasattr(result, "curve_"):
        return _search(result, facts, rename, call)
    raise TypeError(f"there is no report of a {type(result).__name__}")


def _search(search: Any, asked: list[tuple[str, str]], rename: Rename, call: str) -> Content:
    curve, estimate = search.curve_, search.estimate_
    best = next(i for i, setting in enumerate(curve.params) if dict(setting) == search.best_params_)
    answer = (
        f"Use {in_words(rename(search.best_params_))}: {expectation(estimate)}. It was chosen among {len(curve)} "
        f"models by the rule {_name(search.rule)} on the estimates of {curve.criterion}."
    )
    if search.honest is not None:
        answer += f" Of the whole search, choosing included, expect {expectation(search.honest_score_)}."
    return Content(
        title="Which model?",
        answer=answer,
        asked=[*asked, *_asked_of(curve), ("rule", _name(search.rule))],
        table=_rules_table(curve, rename, _name(search.rule), best),
        meanings=_meanings({curve.criterion: curve}),
        reproduce=call or f"{search.__repr__(N_CHAR_MAX=10**6)}.fit(X, y)",
        chart=chart_of({curve.criterion: curve}, {curve.criterion: best}, rename, with_band=True),
    )


def _name(rule: object) -> str:
    return rule if isinstance(rule, str) else getattr(rule, "__name__", repr(rule))


def _asked_of(curve: RiskCurve) -> list[tuple[str, str]]:
    facts = {"rows": curve.n_samples, "models": len(curve), "loss": curve.loss.name, "criterion": curve.criterion}
    return [(name, str(value)) for name, value in facts.items()]


def _rules_table(curve: RiskCurve, rename: Rename, used: str, best: int) -> TextTable:
    """What each rule would choose; the one used first."""
    chosen = {used: best}
    for name, rule in RULES.items():
        try:
            chosen.setdefault(name, rule(curve))
        except ValueError:  # a rule that needs what this criterion does not give
            continue
    rows = [
        [name + (" (used)" if name == used else ""), in_words(rename(curve.params[i])), *numbers_of(curve.estimate(i))]
        for name, i in chosen.items()
    ]
    return TextTable(("rule", "chosen", *NUMBERS), rows)


def _comparison(found: Comparison, asked: list[tuple[str, str]], rename: Rename, call: str) -> Content:
    first = next(iter(found.curves.values()))
    rows = [
        [name, in_words(rename(found.params[name])), *numbers_of(estimate)]
        for name, estimate in found.estimates.items()
    ]
    facts = [fact for fact in _asked_of(first) if fact[0] != "criterion"]
    return Content(
        title="Which criterion to believe?",
        answer=_agreement(found, rename),
        asked=[*asked, *facts, ("rule", found.rule)],
        table=TextTable(("criterion", "chosen", *NUMBERS), rows),
        meanings=_meanings(found.curves),
        reproduce=call,
        chart=chart_of(found.curves, found.chosen, rename),
    )


def _agreement(found: Comparison, rename: Rename) -> str:
    about_new_data = {name: e for name, e in found.estimates.items() if name != "resubstitution"} or found.estimates
    errors = [estimate.out_sample for estimate in about_new_data.values()]
    spread = f"stimates of its error on new data run from {numeral(min(errors), 3)} to {numeral(max(errors), 3)}."
    settings = {name: rename(setting) for name, setting in found.params.items()}
    if len(next(iter(found.curves.values()))) == 1:
        return f"The criteria's e{spread}"
    if len({in_words(setting) for setting in settings.values()}) == 1:
        return f"All criteria choose {in_words(next(iter(settings.values())))}. E{spread}"
    return f"The criteria disagree{_choices(settings)}. E{spread.replace('its error', 'the error')}"


def _choices(settings: dict[str, dict[str, Any]]) -> str:
    """Which criteria choose which setting; where settings have one parameter, it is named once."""
    parameters = {name for setting in settings.values() for name in setting}
    alone = next(iter(parameters)) if len(parameters) == 1 else None
    chosen: dict[str, list[str]] = {}
    for criterion, setting in settings.items():
        words = in_words(setting) if alone is None else in_words(setting).partition(" = ")[2]
        chosen.setdefault(words, []).append(criterion)
    said = [
        f"{' and '.join(names)} {'choose' if len(names) > 1 else 'chooses'} {words}" for words, names in chosen.items()
    ]
    return (f" on {alone}: " if alone is not None else ": ") + "; ".join(said)


def _estimate(found: ErrorEstimate, asked: list[tuple[str, str]], call: str) -> Content:
    facts = {"rows": found.n_samples, "loss": found.loss, "criterion": found.criterion}
    return Content(
        title="How good will this model be on new data?",
        answer=f"Expect {expectation(found)}; on the rows it was fitted to, the {found.loss} is "
        f"{numeral(found.in_sample)}.",
        asked=[*asked, *((name, str(value)) for name, value in facts.items())],
        table=TextTable(("criterion", *NUMBERS), [[found.criterion, *numbers_of(found)]], words=1),
        meanings=[*MEANINGS.items(), (found.criterion, f"estimates {found.estimand}.")],
        reproduce=call,
    )


def _meanings(curves: Mapping[str, RiskCurve]) -> list[tuple[str, str]]:
    return [*MEANINGS.items(), *((name, f"estimates {curve.estimand}.") for name, curve in curves.items())]


def _test(found: PermutationTest, asked: list[tuple[str, str]], call: str) -> Content:
    cells = [found.name, numeral(found.statistic), numeral(found.pvalue), str(len(found.null)), str(found.n_fits)]
    return Content(
        title="Is there anything there?",
        answer=f"{_verdict(found)}: p = {found.pvalue:.3g} over {len(found.null)} permutations of the labels.",
        asked=[*asked, ("alternative", found.alternative)],
        table=TextTable(
            ("statistic", "value", "p-value", "permutations", "fits", "seconds"),
            [[*cells, numeral(found.seconds, 2)]],
            words=1,
        ),
        meanings=[
            ("statistic", f"{found.name}, on the real labels; the bars are its values on permuted ones."),
            ("p-value", "how often labels without information would reach the statistic of the real ones."),
        ],
        reproduce=call,
        histogram=Histogram(found.null, found.statistic, found.name),
    )


def _verdict(found: PermutationTest) -> str:
    if found.pvalue <= 0.05:
        return "The labels carry information about the columns"
    return "This test cannot tell" if found.notes else "There is no sign of signal"


def _audit(found: Audit, asked: list[tuple[str, str]], call: str) -> Content:
    cells = [numeral(v) for v in (found.reported, found.no_information, found.optimism, found.corrected, found.pvalue)]
    return Content(
        title="Is the procedure honest?",
        answer=found.sentence,
        asked=asked,
        table=TextTable(("reported", "no information", "optimism", "corrected", "p-value"), [cells], words=0),
        meanings=[
            ("reported", "the error the procedure reports on the real labels."),
            ("no information", "the error of the best constant guess: on shuffled labels nothing honest is below it."),
            ("optimism", "how far below that the procedure reports on shuffled labels."),
            ("corrected", "reported + optimism."),
        ],
        reproduce=call,
        histogram=Histogram(found.draws, found.reported, "error reported on shuffled labels"),
    )
