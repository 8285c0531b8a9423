"""What a page says of each result: answers, drawings and tables, before they become HTML or lines of a terminal."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from outsample.curve.error_estimate import ErrorEstimate, interval_of, numeral
from outsample.curve.race_record import CLOSE, WORSE
from outsample.curve.risk_curve import RiskCurve
from outsample.curve.words import (
    Setting,
    aligned,
    amount,
    called_with_article,
    counted,
    decimals_of,
    doubt,
    expectation,
    in_words,
    interval_in_words,
    is_number,
    joined,
    parameter_names,
    parted_names,
    root,
    shortened,
    value_in_words,
    without_steps,
)
from outsample.questions.audit import Audit
from outsample.questions.code import code_of_search
from outsample.questions.compare import Comparison
from outsample.questions.compare_models import ModelComparison
from outsample.questions.significance import PermutationTest
from outsample.rules import RULES
from outsample.running.arrays import Floats
from outsample.view.drawings import (
    Drawing,
    audit_drawing,
    comparison_drawing,
    differences_drawing,
    learners_drawing,
    name_of,
    null_drawing,
    place_of,
    plausible_places,
    race_drawing,
    ranked,
    reported,
    search_drawing,
)

# Columns of numbers with the digits that the usual one of them has; all others hold whole numbers.
RISKS, ERRORS = ("out-sample", "estimate", "in-sample", "optimism"), ("± data", "± draws")
# Characters of a line of a terminal.
TERMINAL_WIDTH = 100
# More candidates than these are told as ranges, or counted.
FEW = 3
# The power of ten of a number as Python writes it.
POWER = re.compile(r"e[+]?(-?)0*(?=\d)")

TERMS = {
    "out-sample": "in-sample + optimism: what to expect on new rows from the same source.",
    "estimate": "what to expect of this candidate on new rows from the same source.",
    "± data": "standard error: how far the number may be off because this data set is one of many; draws do not "
    "shrink it.",
    "± draws": "Monte-Carlo error: how far the number may be off because only so many resamples were drawn.",
    "in-sample": "the error on the rows the model was fitted to. It flatters: rich models fit noise.",
    "optimism": "how much the in-sample error flatters, as this criterion measures it.",
    "folds": "parts of the rows on which the candidate was tried before the race dropped it.",
    "trees": "trees that the candidate got before the race dropped it.",
    "may be best": "by these data, no other one is better beyond doubt (level 0.95).",
    "95 % interval": "where the error on new data is to be expected; this data set is one of many.",
    "fits": "how often a learner was fitted; models that come from one fit count once.",
    "statistic": "its value on the real labels; the bars are its values on permuted ones.",
    "p-value": "how often labels without information would do as well as the real ones.",
    "reported": "the error the procedure reports on the real labels.",
    "no information": "the error of the best constant guess: on shuffled labels nothing honest is below it.",
    "corrected": "reported + optimism.",
}
PAIRS = (
    "Paired on the same rows left out, and corrected for the training rows that folds share; Holm's p-values are "
    "adjusted for all pairs."
)


@dataclass(frozen=True)
class Answer:
    """One answer: a word or two that name the question, the answer in short, and what there is to add."""

    label: str
    short: str
    more: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, and the number by which the column is sorted where it holds numbers."""

    text: str
    number: float | None = None


@dataclass(frozen=True)
class Table:
    """Columns by their headings; the first `words` of them are words, the others numbers.

    Attributes
    ----------
    strong : rows that are set off from the others.
    note : a sentence below the table.
    """

    title: str
    columns: Mapping[str, Sequence[Cell]]
    words: int = 1
    strong: frozenset[int] = frozenset()
    note: str = ""

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The cells of each row."""
        return list(zip(*self.columns.values(), strict=True))


@dataclass(frozen=True, eq=False)
class Content:
    """What there is to say of a result, in the order of a page.

    Attributes
    ----------
    facts : what was asked, by name.
    terms : what columns of the first table mean here, where that is not what they mean elsewhere.
    estimands : what each criterion estimates.
    code : the command or Python code that gives the result again.
    """

    title: str
    answers: Sequence[Answer]
    facts: Mapping[str, Any]
    tables: Sequence[Table]
    terms: Mapping[str, str] = field(default_factory=dict)
    estimands: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    drawings: Sequence[Drawing] = ()

    @property
    def meanings(self) -> list[tuple[str, str]]:
        """What the columns of the first table and the criteria mean; criteria that estimate the same in one line."""
        same: dict[str, list[str]] = {}
        for name, estimand in self.estimands.items():
            same.setdefault(estimand, []).append(name)
        terms = {**TERMS, **self.terms}
        columns = [(name, terms[name]) for name in self.tables[0].columns if name in terms]
        return [*columns, *((", ".join(names), f"estimates {estimand}.") for estimand, names in same.items())]


def content_of(result: Any) -> Content:
    """What there is to say of a result."""
    if isinstance(result, Comparison):
        return _of_comparison(result)
    if isinstance(result, ModelComparison):
        return _of_learners(result)
    if isinstance(result, ErrorEstimate):
        return _of_estimate(result)
    if isinstance(result, PermutationTest):
        return _of_test(result)
    if isinstance(result, Audit):
        return _of_audit(result)
    if hasattr(result, "curve_"):
        return _of_search(result)
    raise TypeError(f"there is no report of a {type(result).__name__}")


def in_terminal(result: Any) -> str:
    """The answers as lines of a terminal: what each is about, the answer, what there is to add; then the numbers."""
    answers, lines = content_of(result).answers, []
    width = max(len(answer.label) for answer in answers) + 2
    for answer in answers:
        texts = [answer.short, *([f"({answer.more})"] if answer.more else [])]
        wrapped = [line for text in texts for line in textwrap.wrap(text, TERMINAL_WIDTH - width)]
        lines += [f"{'' if i else answer.label:{width}}{line}" for i, line in enumerate(wrapped)]
    return "\n".join([*lines, "", str(getattr(result, "estimate_", result))])


def _word_cells(texts: Iterable[str]) -> list[Cell]:
    return [Cell(text) for text in texts]


def _number_cells(values: Floats, decimals: int) -> list[Cell]:
    texts = zip(aligned(values, decimals), values.tolist(), strict=True)
    return [Cell(text, value if math.isfinite(value) else None) for text, value in texts]


def _aligned_columns(values: Mapping[str, Floats]) -> dict[str, list[Cell]]:
    """The cells of columns by their headings: risks, and errors, with as many decimals each."""
    risk = next(column for name, column in values.items() if name in RISKS)
    errors = [column for name, column in values.items() if name in ERRORS]
    decimals = dict.fromkeys(RISKS, decimals_of(risk, 4))
    decimals |= dict.fromkeys(ERRORS, decimals_of(np.concatenate(errors), 2) if errors else 0)
    return {name: _number_cells(column, decimals.get(name, 0)) for name, column in values.items()}


def _estimate_columns(estimates: Sequence[ErrorEstimate]) -> dict[str, list[Cell]]:
    fields = {
        "out-sample": "out_sample",
        "± data": "standard_error",
        "± draws": "monte_carlo_error",
        "in-sample": "in_sample",
        "optimism": "optimism",
        "fits": "n_fits",
    }
    values = {head: np.array([getattr(e, name) for e in estimates], dtype=float) for head, name in fields.items()}
    return _aligned_columns(values) | {"seconds": [Cell(numeral(e.seconds, 2), e.seconds) for e in estimates]}


def _of_estimate(found: ErrorEstimate) -> Content:
    answers = [Answer("Expect", expectation(found), doubt(found))]
    if not math.isnan(found.in_sample):
        as_root = found.loss == "squared" and found.out_sample > 0
        fitted = f"off by {root(found.in_sample)}" if as_root else amount(found.loss, found.in_sample)
        answers.append(Answer("Do not believe", f"{fitted} on the rows it was fitted to", "such a number flatters"))
    return Content(
        title="How good will this model be on new data?",
        answers=answers,
        facts={"rows": found.n_samples, "measured by": found.loss, "criterion": found.criterion},
        tables=[Table("The numbers", {"criterion": [Cell(found.criterion)], **_estimate_columns([found])})],
        estimands={found.criterion: found.estimand},
    )


def _of_test(found: PermutationTest) -> Content:
    draws = len(found.null)
    p = f"p = {found.pvalue:.3g} over {counted(draws, 'permutation')} of the labels"
    if found.pvalue <= 0.05:
        answer = "the labels carry information about the columns"
    else:
        answer = "this test cannot tell" if found.notes else "there is no sign of signal"
    numbers = {"value": found.statistic, "p-value": found.pvalue, "permutations": draws, "fits": found.n_fits}
    cells = {name: [Cell(numeral(value), float(value))] for name, value in numbers.items()}
    cells["seconds"] = [Cell(numeral(found.seconds, 2), found.seconds)]
    return Content(
        title="Is there anything there?",
        answers=[Answer("Answer", answer, p)],
        facts={"alternative": found.alternative},
        tables=[Table("The numbers", {"statistic": [Cell(found.name)], **cells})],
        drawings=[null_drawing(found)],
    )


def _of_audit(found: Audit) -> Content:
    first, _, rest = found.sentence.partition(". ")
    numbers = {
        "reported": found.reported,
        "no information": found.no_information,
        "optimism": found.optimism,
        "corrected": found.corrected,
        "p-value": found.pvalue,
    }
    cells = {name: [Cell(numeral(value), float(value))] for name, value in numbers.items()}
    return Content(
        title="Is the procedure honest?",
        answers=[Answer("Answer", f"{first}." if rest else first, rest)],
        facts={},
        tables=[Table("The numbers", cells, words=0)],
        terms={"optimism": "how far below that the procedure reports on shuffled labels."},
        drawings=[audit_drawing(found)],
    )


def _of_comparison(found: Comparison) -> Content:
    first, estimates = next(iter(found.curves.values())), found.estimates
    several, settings = len(first) > 1, shortened(first.params)
    chosen = {name: in_words(settings[place]) for name, place in found.chosen.items()}
    words = {"criterion": _word_cells(chosen)} | ({"chosen": _word_cells(chosen.values())} if several else {})
    about_new_data = {name: e for name, e in estimates.items() if name != "resubstitution"} or estimates
    sure = next((name for name, e in about_new_data.items() if interval_of(e) is not None), "")
    fits = {name: curve.n_fits for name, curve in found.curves.items()}
    least, most = min(fits, key=lambda name: fits[name]), max(fits, key=lambda name: fits[name])
    cost = f"{counted(fits[least], 'fit')} ({least}) to {counted(fits[most], 'fit')} ({most})"
    return Content(
        title="Which criterion to believe?",
        answers=[
            *([_use(chosen, sure or next(iter(about_new_data)))] if several else []),
            _expect(about_new_data, sure),
            Answer("Cost", cost if fits[least] < fits[most] else f"{counted(fits[least], 'fit')} each"),
        ],
        facts={"rows": first.n_samples, "models": len(first), "measured by": first.loss.name, "rule": found.rule},
        tables=[Table("The criteria", {**words, **_estimate_columns(list(estimates.values()))}, words=len(words))],
        estimands={name: curve.estimand for name, curve in found.curves.items()},
        code=found.call,
        drawings=[comparison_drawing(found, fitted=True)],
    )


def _use(chosen: Mapping[str, str], sure: str) -> Answer:
    """The setting that most criteria choose, and who chooses others; of as many, that of the criterion `sure`."""
    by_setting: dict[str, list[str]] = {}
    for criterion, setting in chosen.items():
        by_setting.setdefault(setting, []).append(criterion)
    most = max(by_setting, key=lambda setting: (len(by_setting[setting]), sure in by_setting[setting]))
    if len(by_setting) == 1:
        return Answer("Use", most, "all criteria choose it")
    others = [f"{joined(names)}: {setting}" for setting, names in by_setting.items() if setting != most]
    return Answer("Use", most, f"chosen by {joined(by_setting[most])}; the criteria disagree, {'; '.join(others)}")


def _expect(estimates: Mapping[str, ErrorEstimate], sure: str) -> Answer:
    """The range of the estimates, and the one that comes with an interval."""
    low = min(estimates, key=lambda name: estimates[name].out_sample)
    high = max(estimates, key=lambda name: estimates[name].out_sample)
    loss = estimates[low].loss
    called = "an error rate" if loss == "zero-one" else called_with_article(loss)
    said = {name: amount(loss, estimate.out_sample) for name, estimate in estimates.items()}
    more = f"{sure}: {said[sure]}{interval_in_words(estimates[sure])}" if sure else ""
    if said[low] == said[high]:
        return Answer("Expect", f"{called} of about {said[low]} on new data", more)
    return Answer("Expect", f"{called} of {said[low]} ({low}) to {said[high]} ({high}) on new data", more)


def _of_learners(found: ModelComparison) -> Content:
    headings, lines = found.table()
    estimates, plausible, name = found.estimates, found.plausible, found.curve.loss.name
    columns = {}
    for head, column in zip(headings, zip(*lines, strict=True), strict=True):
        columns[head] = _word_cells(POWER.sub(r"e\1", text) for text in column)
    columns[name] = [Cell(columns[name][i].text, estimates[line[0]].out_sample) for i, line in enumerate(lines)]
    strong = frozenset(i for i, line in enumerate(lines) if line[0] in plausible)
    good = [name for name in plausible if name != found.best]
    why = "cannot be told from it by these data" if good else "by these data it is better than all others"
    return Content(
        title="Which learner?",
        answers=[
            Answer("Use", found.best, f"the best of {counted(len(lines), 'learner')} on the same rows left out"),
            Answer("Expect", expectation(estimates[found.best])),
            Answer("As good", joined(good) if good else "no other learner", why),
        ],
        facts={"rows": found.curve.n_samples, "learners": len(lines), "measured by": name},
        tables=[Table("The learners", columns, strong=strong), *_pairs(found)],
        estimands={name: found.curve.estimand},
        code=found.call,
        drawings=[learners_drawing(found), *differences_drawing(found)],
    )


def _pairs(found: ModelComparison) -> list[Table]:
    """A table of the differences between the learners of each pair."""
    pairs = list(found.differences().itertuples())
    if not pairs:
        return []
    values = np.array([(pair.difference, *pair.interval) for pair in pairs], dtype=np.float64)
    decimals = decimals_of(values.ravel(order="F"), 3)
    low, high = (aligned(ends, decimals) for ends in values.T[1:])
    columns = {
        "pair": _word_cells(f"{pair.first} − {pair.second}" for pair in pairs),
        "difference": _number_cells(values[:, 0], decimals),
        "95 % interval": _word_cells(f"{a} to {b}" for a, b in zip(low, high, strict=True)),
        "p": [Cell(numeral(pair.p_value, 2), float(pair.p_value)) for pair in pairs],
        "p, Holm": [Cell(numeral(pair.p_holm, 2), float(pair.p_holm)) for pair in pairs],
    }
    return [Table("The differences", columns, note=PAIRS)]


def _of_search(search: Any) -> Content:
    curve = search.curve_
    settings = shortened(curve.params)
    chosen, race = place_of(curve, search.best_params_), curve.race
    drawings = [search_drawing(search)] if len(curve) > 1 else []
    return Content(
        title="Which model?",
        answers=_search_answers(search, settings, chosen),
        facts={
            "rows": curve.n_samples,
            "candidates": len(curve),
            "measured by": curve.loss.name,
            "criterion": curve.criterion,
            "fits": search.n_fits_,
            "seconds": numeral(curve.seconds, 2),
        },
        tables=[_candidates_table(search, settings, chosen)],
        estimands={curve.criterion: curve.estimand},
        code=code_of_search(search),
        drawings=[
            *drawings,
            *([race_drawing(replace(race, loss=curve.loss))] if race is not None and len(race.order) > 1 else []),
        ],
    )


def expected_of(search: Any) -> ErrorEstimate:
    """The error to expect: corrected for having chosen where rows were left out to do so, else of the chosen model."""
    found: ErrorEstimate = search.honest_score_ if hasattr(search, "honest_score_") else search.estimate_
    return found


def _search_answers(search: Any, settings: Sequence[Setting], chosen: int) -> list[Answer]:
    """The answers of a fitted search, the most wanted one first; those that its criterion can give."""
    rule, expected = name_of(search.rule), expected_of(search)
    by = f"with {counted(search.n_fits_, 'fit')}" + (f", by the rule {rule}" if rule != "minimum" else "")
    corrected = hasattr(search, "honest_score_")
    honest = "corrected for having chosen it" if corrected else "choosing it flatters this number"
    answers = [
        Answer("Use", in_words(settings[chosen]), f"chosen among {counted(len(settings), 'candidate')} {by}"),
        Answer("Expect", expectation(expected), doubt(expected) or honest),
    ]
    if hasattr(search, "plausible_"):
        answers.append(_as_good(search.curve_, settings, chosen, plausible_places(search)))
    if hasattr(search, "verdict_"):
        answers.append(Answer("Tuning gained", without_steps(str(search.verdict_))))
    return answers


def _as_good(curve: RiskCurve, settings: Sequence[Setting], best: int, plausible: frozenset[int]) -> Answer:
    """What cannot be told from the chosen model: the simplest first where models have an order, else the best."""
    may_be, race = sorted(plausible - {best}), curve.race
    # A race drops candidates that are worse, or hardly better than others, on the few rows they had met.
    others = [i for i in may_be if race is None or race.reason[i] not in (WORSE, CLOSE)]
    early = len(may_be) - len(others)
    met = [f"{early} more left the race early, on too few rows to be ruled out"] if early else []
    if not others:
        return Answer(
            "As good", "no other candidate", *(met or ["by these data the chosen one is better than all others"])
        )
    why = f"{counted(len(others), 'other candidate')} cannot be told from it by these data"
    if len(others) > FEW and curve.ordered and len(parameter_names(settings)) == 1:
        return Answer("As good", _runs(settings, others, best), "; ".join([why, *met]))
    if not curve.ordered:
        # After a race risks are means over different folds; gaps to the leader are not.
        behind = curve.out_sample if race is None else race.gap
        others.sort(key=lambda i: float(behind[i]))
    if len(others) > 1:
        why += ", the simplest first" if curve.ordered else ", the best first"
    told = others if len(others) <= FEW + 1 else others[:FEW]
    hidden = [f"and {len(others) - len(told)} more"] if len(others) > len(told) else []
    return Answer("As good", "; ".join([*(in_words(settings[i]) for i in told), *hidden]), "; ".join([why, *met]))


def _runs(settings: Sequence[Setting], places: Sequence[int], best: int) -> str:
    """Values of the only parameter, those that stand beside each other as from … to …: n_neighbors = 3 to 9, 12.

    The chosen one, `best`, does not part those on both sides of it.
    """
    ((name, first),), ((_, last),) = settings[0].items(), settings[-1].items()
    between = {best} if {best - 1, best + 1} <= set(places) else set()
    runs: list[list[int]] = []
    for i in sorted({*places, *between}):
        if runs and i == runs[-1][-1] + 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    if is_number(first) and is_number(last) and first > last:
        runs = [run[::-1] for run in runs[::-1]]
    said = [[value_in_words(settings[run[end]][name], name) for end in (0, -1)] for run in runs]
    return f"{name} = {', '.join(a if a == b else f'{a} to {b}' for a, b in said)}"


def _other_rules(search: Any, settings: Sequence[Setting], chosen: int) -> str:
    """What other rules would choose, where that differs."""
    differing: dict[int, list[str]] = {}
    for name, rule in RULES.items():
        try:
            place = rule(search.curve_)
        except ValueError:  # a rule that needs what this criterion does not give
            continue
        if place != chosen and name != name_of(search.rule):
            differing.setdefault(place, []).append(name)
    said = [f"{', '.join(names)}: {in_words(settings[place])}" for place, names in differing.items()]
    return f"Other rules would choose another candidate. {'; '.join(said)}." if said else ""


def _candidates_table(search: Any, settings: Sequence[Setting], chosen: int) -> Table:
    """A row per candidate, best first: its parameters, its numbers, and whether it may be the best."""
    curve, plausible, (shared, own) = search.curve_, plausible_places(search), parted_names(settings)
    values: dict[str, Floats | None] = {
        "estimate": reported(curve, curve.out_sample),
        "± data": curve.standard_error,
        "± draws": curve.monte_carlo_error,
        "in-sample": reported(curve, curve.in_sample),
    }
    if curve.race is not None:
        values[f"{curve.race.unit}s"] = curve.race.n_splits.astype(np.float64)
    order = ranked(curve, chosen)
    numbers = {name: known[order] for name, known in values.items() if known is not None and np.isfinite(known).any()}
    words = {}
    for name in shared:
        taken = [settings[i][name] for i in order]
        words[name] = [Cell(value_in_words(v, name), float(v) if is_number(v) else None) for v in taken]
    if own:
        rest = [{name: settings[i][name] for name in own if name in settings[i]} for i in order]
        words["parameters"] = _word_cells(in_words(setting, "–") for setting in rest)
    words = words or {"model": _word_cells(["as given"] * len(order))}
    last = {}
    if plausible:
        said = ["chosen" if i == chosen else "yes" if i in plausible else "–" for i in order]
        places = [float(i != chosen) + (i not in plausible) for i in order]
        last["may be best"] = list(map(Cell, said, places))
    note = _other_rules(search, settings, chosen)
    columns = {**words, **_aligned_columns(numbers), **last}
    return Table("All candidates", columns, words=len(words), strong=frozenset([0]), note=note)
