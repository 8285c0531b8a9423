"""Cautions that a reader of a result needs, given its numbers and its data."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from outsample.curve.error_estimate import ErrorEstimate
from outsample.curve.risk_curve import RiskCurve
from outsample.curve.words import joined, without_steps
from outsample.data.samples import looks_real
from outsample.data.tables import Table
from outsample.questions.significance import PermutationTest
from outsample.running.arrays import Array
from outsample.view.drawings import place_of

FEW_ROWS = 100
# Share of the most frequent class from which classes are called unequal.
UNEQUAL = 0.75
# Cells of the largest table that is searched for repeated rows.
LARGEST_SEARCHED = 20_000_000
# What differs between notes that say the same: numbers, quoted names, and the values of parameters.
NAMES_AND_NUMBERS = re.compile(r"\"[^\"]*\"|'[^']*'|\w+=[^,;\s]+|-?\d[\d.e+-]*")
# The value of a parameter beyond which there is no richer model.
RICHEST = {
    "n_neighbors": 1,
    "min_samples_leaf": 1,
    "min_samples_split": 2,
    "ccp_alpha": 0,
    "alpha": 0,
    "max_features": 1.0,
    "max_samples": 1.0,
}
# How a note begins that says that an estimate is of no use: it is a caution.
USELESS = "DEGENERATE: "
# Scores of which 1 is the most there can be.
SCORES = ("accuracy", "balanced_accuracy", "roc_auc", "f1", "f1_macro", "r2")
PERFECT = (
    "By these numbers no new row is predicted wrongly. That is rare: look for a column that is known only together "
    "with the answer, or is the answer in other words."
)
# Names of columns that usually say which rows belong together.
BELONGING = re.compile(
    r"(^|[_\s.-])(id|subject|patient|person|group|site|batch|user|customer|session|household)s?$", re.I
)


def cautions_about(
    result: object, X: Table | None = None, y: ArrayLike | None = None, grouped: bool = False
) -> list[str]:
    """Sentences a reader of the result should see; those about X and y where they are given."""
    estimates = _estimates(result)
    found = [*_about_size(estimates), *_about_curves(_curves(result), _chosen(result), hasattr(result, "verdict_"))]
    found += _about_uselessness(estimates)
    if any(_is_perfect(estimate) for estimate in estimates):
        found.append(PERFECT)
    if isinstance(result, PermutationTest):
        found += result.notes
    if y is not None:
        found += _about_classes(np.asarray(y), estimates)
    if X is not None:
        found += _about_columns(X, grouped)
    return list(dict.fromkeys(found))


def notes_of(result: object) -> list[str]:
    """How the numbers were found, as the criteria tell it; notes that differ in a name or a number only are one."""
    alike: dict[str, list[str]] = {}
    for note in _notes(result):
        if note.startswith(USELESS):
            continue
        alike.setdefault(NAMES_AND_NUMBERS.sub("", note), []).append(note[0].upper() + note[1:].rstrip(".") + ".")
    return [
        notes[0] if len(notes) == 1 else f"{notes[0]} So it is in {_times(len(notes) - 1)}." for notes in alike.values()
    ]


def _notes(result: object) -> list[str]:
    return list(dict.fromkeys(without_steps(note) for estimate in _estimates(result) for note in estimate.notes))


def _times(count: int) -> str:
    return "one more case" if count == 1 else f"{count} more cases"


def _curves(result: object) -> dict[str, RiskCurve]:
    if hasattr(result, "curve_"):
        return {result.curve_.criterion: result.curve_}
    return dict(getattr(result, "curves", {}))


def _estimates(result: object) -> list[ErrorEstimate]:
    if isinstance(result, ErrorEstimate):
        return [result]
    return [result.estimate_] if hasattr(result, "estimate_") else list(getattr(result, "estimates", {}).values())


def _chosen(result: object) -> dict[str, int]:
    """The model that each criterion chooses, by its place on the curve."""
    if hasattr(result, "curve_") and hasattr(result, "best_params_"):
        return {result.curve_.criterion: place_of(result.curve_, result.best_params_)}
    return dict(getattr(result, "chosen", {}))


def _about_size(estimates: list[ErrorEstimate]) -> Iterator[str]:
    rows = min((found.n_samples for found in estimates), default=FEW_ROWS)
    if rows < FEW_ROWS:
        yield f"{rows} rows are few: another sample of that size may give quite different numbers."


def _about_curves(curves: dict[str, RiskCurve], chosen: dict[str, int], told: bool) -> Iterator[str]:
    """`told` where the verdict of the search says whether the choice is on the edge of the grid."""
    richest = [name for name, curve in curves.items() if not told and _could_be_richer(curve, chosen[name])]
    if richest:
        verb = "choose" if len(richest) > 1 else "chooses"
        yield f"{_sentence(joined(richest))} {verb} the richest model of the grid; a longer grid may hold a better one."
    vacuous = {name: float(curve.out_sample[chosen[name]]) for name, curve in curves.items() if "bound" in name}
    vacuous = {name: limit for name, limit in vacuous.items() if limit >= 1}
    if vacuous:
        least = min(vacuous.values())
        yield (
            f"{_sentence(joined(list(vacuous)))} {'are' if len(vacuous) > 1 else 'is'} vacuous: a limit of {least:.3g} "
            "on an error rate says nothing, though it ranks models."
        )


def _could_be_richer(curve: RiskCurve, chosen: int) -> bool:
    """Whether the richest model was chosen and the grid could go on."""
    if len(curve) < 3 or not curve.ordered or chosen != len(curve) - 1:
        return False
    return not any(_is_last(name.rpartition("__")[2], value) for name, value in curve.params[chosen].items())


def _is_last(parameter: str, value: object) -> bool:
    """Whether no value of the parameter makes a richer model."""
    return value is None or value == RICHEST.get(parameter, object())


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _is_perfect(estimate: ErrorEstimate) -> bool:
    """Whether new rows are said to be predicted without an error."""
    best = {"zero-one": 0.0, **dict.fromkeys(SCORES, 1.0)}
    return estimate.criterion != "resubstitution" and best.get(estimate.loss) == estimate.out_sample


def _about_uselessness(estimates: list[ErrorEstimate]) -> list[str]:
    """What criteria say against their own estimates, by their names where there are several."""
    useless = [
        (e.criterion, note.removeprefix(USELESS)) for e in estimates for note in e.notes if note.startswith(USELESS)
    ]
    return [_sentence(note if len(estimates) == 1 else f"by {name}, {note}") for name, note in useless]


def _about_classes(y: Array, estimates: list[ErrorEstimate]) -> Iterator[str]:
    if looks_real(y):
        return
    counts = np.unique(y, return_counts=True)[1]
    rate = 1 - counts.max() / counts.sum()
    if rate < 1 - UNEQUAL:
        yield f"Classes are unequal: always guessing the most frequent one is wrong on only {100 * rate:.3g} % of rows."
    useless = [found.criterion for found in estimates if found.loss == "zero-one" and found.out_sample >= rate]
    if useless:
        yield (
            f"By {joined(useless)} the model is no better than always guessing the most frequent class, which errs on "
            f"{100 * rate:.3g} % of rows."
        )


def _about_columns(X: Table, grouped: bool) -> Iterator[str]:
    table = pd.DataFrame(X) if not hasattr(X, "toarray") else None
    if table is None or table.size > LARGEST_SEARCHED:
        return
    copies = int(table.duplicated().sum())
    if copies:
        yield (
            f"{copies} of {len(table)} rows repeat the inputs of another row. Where criteria split rows (kfold, loo, "
            "holdout, bootstrap) copies land on both sides and the estimate is too good; groups keep them together."
        )
    if not grouped:
        for name in table.columns:
            distinct = table[name].nunique()
            if BELONGING.search(str(name)) and 1 < distinct < len(table):
                yield (
                    f"Column {str(name)!r} looks as if it said which rows belong together, but is used as an ordinary "
                    "input; pass it as groups if rows of one group resemble each other."
                )
