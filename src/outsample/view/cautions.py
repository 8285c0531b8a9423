"""Cautions that a reader of a result needs, given its numbers and its data."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from outsample.curve.error_estimate import ErrorEstimate
from outsample.curve.risk_curve import RiskCurve
from outsample.curve.words import counted, joined, sentence, without_steps
from outsample.data.samples import looks_real
from outsample.data.tables import Table
from outsample.questions.significance import PermutationTest
from outsample.running.arrays import Array
from outsample.view.drawings import place_of

SMALL_SAMPLE = 100
# Share of the most frequent class from which classes are called unequal.
UNEQUAL = 0.75
# Cells of the largest table that is searched for repeated rows.
LARGEST_SEARCHED = 20_000_000
# What differs between notes that say the same: numbers, quoted names, and the values of parameters.
NAMES_AND_NUMBERS = re.compile(r"\"[^\"]*\"|'[^']*'|\w+=[^,;\s]+|-?\d[\d.e+-]*")
# The value of a parameter beyond which there is no richer model.
LAST_VALUES = {
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
    estimates, found = _estimates(result), []
    rows = min((estimate.n_samples for estimate in estimates), default=SMALL_SAMPLE)
    if rows < SMALL_SAMPLE:
        found.append(f"{rows} rows are few: another sample of that size may give quite different numbers.")
    found += _about_curves(result)
    for estimate in estimates:
        useless = [note.removeprefix(USELESS) for note in estimate.notes if note.startswith(USELESS)]
        found += [sentence(n if len(estimates) == 1 else f"by {estimate.criterion}, {n}") for n in useless]
    # What no error at all is by each loss.
    best = {"zero-one": 0.0, **dict.fromkeys(SCORES, 1.0)}
    if any(e.criterion != "resubstitution" and best.get(e.loss) == e.out_sample for e in estimates):
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
    for note in dict.fromkeys(without_steps(note) for estimate in _estimates(result) for note in estimate.notes):
        if not note.startswith(USELESS):
            alike.setdefault(NAMES_AND_NUMBERS.sub("", note), []).append(sentence(note).rstrip(".") + ".")
    return [
        notes[0] if len(notes) == 1 else f"{notes[0]} So it is in {counted(len(notes) - 1, 'more case')}."
        for notes in alike.values()
    ]


def _estimates(result: object) -> list[ErrorEstimate]:
    if isinstance(result, ErrorEstimate):
        return [result]
    return [result.estimate_] if hasattr(result, "estimate_") else list(getattr(result, "estimates", {}).values())


def _about_curves(result: object) -> Iterator[str]:
    """Choices on the edge of the grid, of which searches tell in their verdict; limits that say nothing."""
    if hasattr(result, "curve_") and hasattr(result, "best_params_"):
        curve = result.curve_
        curves, chosen = {curve.criterion: curve}, {curve.criterion: place_of(curve, result.best_params_)}
    else:
        curves, chosen = getattr(result, "curves", {}), getattr(result, "chosen", {})
    told = hasattr(result, "verdict_")
    richest = [name for name, curve in curves.items() if not told and _could_be_richer(curve, chosen[name])]
    if richest:
        verb = "choose" if len(richest) > 1 else "chooses"
        yield f"{sentence(joined(richest))} {verb} the richest model of the grid; a longer grid may hold a better one."
    limits = {name: float(curve.out_sample[chosen[name]]) for name, curve in curves.items() if "bound" in name}
    vacuous = [name for name, limit in limits.items() if limit >= 1]
    if vacuous:
        yield (
            f"{sentence(joined(vacuous))} {'are' if len(vacuous) > 1 else 'is'} vacuous: a limit of "
            f"{min(limits[name] for name in vacuous):.3g} on an error rate says nothing, though it ranks models."
        )


def _could_be_richer(curve: RiskCurve, chosen: int) -> bool:
    """Whether the richest model was chosen and the grid could go on."""
    if len(curve) < 3 or not curve.ordered or chosen != len(curve) - 1:
        return False
    setting = curve.params[chosen].items()
    return not any(
        value is None or value == LAST_VALUES.get(name.rpartition("__")[2], object()) for name, value in setting
    )


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
