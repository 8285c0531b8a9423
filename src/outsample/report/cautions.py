"""Cautions that a reader of a result needs, given its numbers and its data."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from outsample.curve.error_estimate import ErrorEstimate
from outsample.curve.risk_curve import RiskCurve
from outsample.data.samples import looks_real
from outsample.data.tables import Table
from outsample.questions.significance import PermutationTest
from outsample.running.arrays import Array

FEW_ROWS = 100
# Share of the most frequent class from which classes are called unequal.
UNEQUAL = 0.75
# Cells of the largest table that is searched for repeated rows.
LARGEST_SEARCHED = 20_000_000
# Names of columns that usually say which rows belong together.
BELONGING = re.compile(
    r"(^|[_\s.-])(id|subject|patient|person|group|site|batch|user|customer|session|household)s?$", re.I
)


def cautions_about(
    result: object, X: Table | None = None, y: ArrayLike | None = None, grouped: bool = False
) -> list[str]:
    """Sentences a reader of the result should see; those about X and y where they are given."""
    curves = _curves(result)
    estimates = _estimates(result)
    found = [*_about_curves(curves, _chosen(result)), *_about_estimates(estimates)]
    if isinstance(result, PermutationTest):
        found += result.notes
    if y is not None:
        found += _about_classes(np.asarray(y), estimates)
    if X is not None:
        found += _about_columns(X, grouped)
    return list(dict.fromkeys(found))


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
        setting = next(i for i, p in enumerate(result.curve_.params) if dict(p) == result.best_params_)
        return {result.curve_.criterion: setting}
    return dict(getattr(result, "chosen", {}))


def _about_curves(curves: dict[str, RiskCurve], chosen: dict[str, int]) -> Iterator[str]:
    for name, curve in curves.items():
        if len(curve) > 2 and curve.ordered and chosen[name] == len(curve) - 1:
            yield f"{name} chooses the richest model of the grid; a longer grid may hold a better one."
        limit = float(curve.out_sample[chosen[name]])
        if "bound" in name and limit >= 1:
            yield f"{name} is vacuous: a limit of {limit:.3g} on an error rate says nothing, though it ranks models."


def _about_estimates(estimates: list[ErrorEstimate]) -> Iterator[str]:
    for found in estimates:
        if found.n_samples < FEW_ROWS:
            yield f"{found.n_samples} rows are few: another sample of that size may give quite different numbers."
        for note in found.notes:
            yield note[0].upper() + note[1:].rstrip(".") + "."


def _about_classes(y: Array, estimates: list[ErrorEstimate]) -> Iterator[str]:
    if looks_real(y):
        return
    counts = np.unique(y, return_counts=True)[1]
    rate = 1 - counts.max() / counts.sum()
    if rate < 1 - UNEQUAL:
        yield f"Classes are unequal: always guessing the most frequent one is wrong on only {100 * rate:.3g} % of rows."
    for found in estimates:
        if found.loss == "zero-one" and found.out_sample >= rate:
            yield (
                f"By {found.criterion} the model is no better than always guessing the most frequent class, which "
                f"errs on {100 * rate:.3g} % of rows."
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
