"""The page of a search: which model to use, what to expect of it, what is as good, and what tuning gained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from outsample.curve.error_estimate import ErrorEstimate, numeral
from outsample.curve.race_record import CLOSE, WORSE, RaceRecord
from outsample.curve.risk_curve import RiskCurve
from outsample.curve.words import (
    Rename,
    Setting,
    counted,
    decimals_of,
    doubt,
    expectation,
    in_words,
    listed,
    on_users_scale,
    value_in_words,
    without_steps,
)
from outsample.plots.elements import Answer, Cell, Content, Table
from outsample.plots.pictures import (
    known_errors,
    parameter_names,
    parted_names,
    pictures_of,
    place_of,
    plausible_models,
    ranked,
)
from outsample.questions.code import code_of_search
from outsample.report.comparison import numbers_in_cells
from outsample.rules import RULES
from outsample.running.arrays import Floats

# Columns of the table that hold errors and scores; the others count.
MEASURED = ("estimate", "± data", "± draws", "in-sample")
# More candidates than these are told as ranges.
FEW = 3

MEANINGS = {
    "estimate": "what to expect of this candidate on new rows from the same source.",
    "in-sample": "the same on the rows the model was fitted to. It flatters: rich models fit noise.",
    "± data": "standard error: how far the estimate may be off because this data set is one of many.",
    "± draws": "Monte-Carlo error: how far it may be off because only so many resamples were drawn.",
    "folds": "parts of the rows on which the candidate was tried before the race dropped it.",
    "trees": "trees that the candidate got before the race dropped it.",
    "may be best": "by these data the candidate cannot be told from the best one (level 0.95).",
}


def search_content(search: Any, asked: list[tuple[str, str]], rename: Rename, call: str) -> Content:
    """What the page of a fitted search says."""
    curve = search.curve_
    chosen, plausible = place_of(curve, search.best_params_), plausible_models(search)
    settings = [rename(setting) for setting in curve.params]
    table = candidates_table(curve, settings, chosen, plausible, _other_rules(search, settings, chosen))
    return Content(
        title="Which model?",
        answers=answers_of(search, rename),
        asked=[*asked, *_facts(search)],
        table=table,
        table_title="All candidates",
        meanings=[
            *((name, text) for name, text in MEANINGS.items() if name in table.headings),
            (curve.criterion, f"estimates {curve.estimand}."),
        ],
        code=call or code_of_search(search),
        pictures=pictures_of(curve, settings, chosen, plausible),
    )


def answers_of(search: Any, rename: Rename) -> list[Answer]:
    """The answers of a fitted search, the most wanted one first; those that its criterion can give."""
    chosen = f"chosen among {counted(len(search.curve_), 'candidate')} {_by(search)}"
    answers = [Answer("Use", in_words(rename(search.best_params_)), chosen)]
    corrected = (
        "corrected for having chosen it" if hasattr(search, "honest_score_") else "choosing it flatters this number"
    )
    answers.append(Answer("Expect", expectation(expected_of(search)), doubt(expected_of(search)) or corrected))
    if hasattr(search, "plausible_"):
        answers.append(Answer("As good", *_as_good(search, rename)))
    if hasattr(search, "verdict_"):
        answers.append(Answer("Tuning gained", without_steps(str(search.verdict_))))
    return answers


def expected_of(search: Any) -> ErrorEstimate:
    """The error to expect: corrected for having chosen where rows were left out to do so, else of the chosen model."""
    found: ErrorEstimate = search.honest_score_ if hasattr(search, "honest_score_") else search.estimate_
    return found


def _by(search: Any) -> str:
    rule = name_of(search.rule)
    fits = counted(search.n_fits_, "fit")
    return f"with {fits}" if rule == "minimum" else f"with {fits}, by the rule {rule}"


def _as_good(search: Any, rename: Rename) -> tuple[str, str]:
    """What cannot be told from the chosen model: the simplest first where models have an order, else the best."""
    curve, best = search.curve_, place_of(search.curve_, search.best_params_)
    may_be = [i for i in sorted(plausible_models(search)) if i != best]
    others = [i for i in may_be if not _left_early(curve, i)]
    early = len(may_be) - len(others)
    met = f"{early} more left the race early, on too few rows to be ruled out" if early else ""
    if not others:
        return "no other candidate", met or "by these data the chosen one is better than all others"
    why = f"{counted(len(others), 'other candidate')} cannot be told from it by these data"
    if len(others) > FEW and curve.ordered and len(parameter_names(curve.params)) == 1:
        return _runs(curve, others, best, rename), "; ".join(filter(None, [why, met]))
    if not curve.ordered:
        # After a race risks are means over different folds; gaps to the leader are not.
        behind = curve.race.gap if isinstance(curve.race, RaceRecord) else curve.out_sample
        others.sort(key=lambda i: float(behind[i]))
    words = [in_words(rename(curve.params[i])) for i in others]
    order = ("the simplest first" if curve.ordered else "the best first") if len(others) > 1 else ""
    return listed(words), "; ".join(filter(None, [", ".join(filter(None, [why, order])), met]))


def _left_early(curve: RiskCurve, model: int) -> bool:
    """Whether a race dropped a candidate because it was worse, or hardly better than others, on the rows it had met."""
    return isinstance(curve.race, RaceRecord) and curve.race.reason[model] in (WORSE, CLOSE)


def _runs(curve: RiskCurve, places: Sequence[int], best: int, rename: Rename) -> str:
    """Values of the only parameter, those that stand beside each other as from … to …: n_neighbors = 3 to 9, 12.

    The chosen one, `best`, does not part those on both sides of it.
    """
    name, *_ = rename(curve.params[places[0]])
    values = [rename(setting)[name] for setting in curve.params]
    said = [value_in_words(value, name) for value in values]
    between = {best} if {best - 1, best + 1} <= set(places) else set()
    runs: list[list[int]] = []
    for i in sorted({*places, *between}):
        if runs and i == runs[-1][-1] + 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    rising = _is_number(values[0]) and _is_number(values[-1]) and values[0] > values[-1]
    ends = [(run[-1], run[0]) if rising else (run[0], run[-1]) for run in runs]
    texts = [said[a] if a == b else f"{said[a]} to {said[b]}" for a, b in (ends[::-1] if rising else ends)]
    return f"{name} = {', '.join(texts)}"


def name_of(rule: object) -> str:
    """What a rule is called."""
    return rule if isinstance(rule, str) else getattr(rule, "__name__", repr(rule))


def _facts(search: Any) -> list[tuple[str, str]]:
    curve = search.curve_
    facts = {
        "rows": curve.n_samples,
        "candidates": len(curve),
        "measured by": curve.loss.name,
        "criterion": curve.criterion,
        "fits": search.n_fits_,
        "seconds": numeral(curve.seconds, 2),
    }
    return [(name, str(value)) for name, value in facts.items()]


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
    if not differing:
        return ""
    said = [f"{', '.join(names)}: {in_words(settings[place])}" for place, names in differing.items()]
    return f"Other rules would choose another candidate. {'; '.join(said)}."


def candidates_table(
    curve: RiskCurve, settings: Sequence[Setting], chosen: int, plausible: frozenset[int], note: str
) -> Table:
    """A row per candidate, best first: its parameters, its numbers, and whether it may be the best."""
    shared, own = parted_names(settings)
    names = [*shared, *(["parameters"] if own else [])]
    columns: dict[str, Floats] = {
        "estimate": on_users_scale(curve, curve.out_sample),
        "± data": known_errors(curve.standard_error),
        "± draws": known_errors(curve.monte_carlo_error),
        "in-sample": on_users_scale(curve, curve.in_sample),
    }
    if curve.race is not None:
        columns[f"{curve.race.unit}s"] = curve.race.n_splits.astype(np.float64)
    columns = {name: values for name, values in columns.items() if np.isfinite(values).any()}
    order = ranked(curve, chosen)
    numbers = _number_cells({name: values[order] for name, values in columns.items()})
    rows = [
        [
            *(_parameter_cell(settings[i][name], name) for name in shared),
            *([Cell(in_words({name: settings[i][name] for name in own if name in settings[i]}, "–"))] if own else []),
            *cells,
            *([Cell(_standing(i, chosen, plausible), float(i != chosen) + (i not in plausible))] if plausible else []),
        ]
        for i, *cells in zip(order, *numbers, strict=True)
    ]
    return Table(
        (*(names or ["model"]), *columns, *(["may be best"] if plausible else [])),
        rows if names else [[Cell("as given"), *row] for row in rows],
        words=max(1, len(names)),
        strong=frozenset([0]),
        note=note,
    )


def _standing(i: int, chosen: int, plausible: frozenset[int]) -> str:
    return "chosen" if i == chosen else "yes" if i in plausible else "–"


def _number_cells(columns: dict[str, Floats]) -> list[list[Cell]]:
    """The cells of each column: estimates and their errors with as many decimals each, rounds as whole numbers."""
    decimals = {name: decimals_of(values, 2 if name.startswith("±") else 4) for name, values in columns.items()}
    same = {"in-sample": "estimate", "± draws": "± data"}
    return [
        numbers_in_cells(values, decimals.get(same.get(name, name), decimals[name]) if name in MEASURED else 0)
        for name, values in columns.items()
    ]


def _parameter_cell(value: Any, name: str) -> Cell:
    return Cell(value_in_words(value, name), float(value) if _is_number(value) else None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
