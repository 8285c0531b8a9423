"""What the best constant prediction loses on the rows by which models were judged, to be paired with their losses."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import islice

import numpy as np

from outsample.curve.left_out import LeftOut
from outsample.losses.base import Loss
from outsample.losses.whole_set import risk_if_any
from outsample.running.arrays import Array, Floats, Rows

# Sets of rows without which constants are found; where there are more folds, some are left out together.
PARTS = 10


def guess_left_out(loss: Loss, y: Array, weight: Floats | None, table: LeftOut) -> LeftOut | None:
    """The table of the best constant, on the rows and folds of a table of models; None where there is no such constant.

    Of constants that labels decide, such as the mean, each fold gets that of the other rows. Which kind of constant is
    the best one, such as which class, is read off all rows.
    """
    if table.losses is None and table.fold_risks is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        risks = np.array([risk_if_any(loss, y, constant, weight) for constant in loss.constants(y, weight)])
        known = np.where(np.isfinite(risks), risks, np.inf)
        if not np.isfinite(known).any():
            return None
        try:
            return _judged(loss, y, weight, table, int(np.argmin(known)))
        except Exception:
            # A user's function, and some scores, are undefined on parts of the rows.
            return None


def _judged(loss: Loss, y: Array, weight: Floats | None, table: LeftOut, kind: int) -> LeftOut:
    said = _of_other_rows(loss, y, weight, table.fold, kind)
    losses, fold_risks = None, None
    if table.losses is not None:
        losses = np.full((1, len(y)), np.nan)
        for rows in _judged_together(loss, table):
            losses[0, rows] = loss.row_values(y[rows], said[rows], None if weight is None else weight[rows])
    elif table.fold is not None and table.fold_risks is not None:
        sets = [np.flatnonzero(table.fold == k) for k in range(len(table.fold_risks))]
        risks = [float(loss.risk(y[rows], said[rows], None if weight is None else weight[rows])) for rows in sets]
        fold_risks = np.array(risks)[:, None]
    return LeftOut(losses, table.weight, table.fold, fold_risks, table.fold_sizes)


def _of_other_rows(loss: Loss, y: Array, weight: Floats | None, fold: Rows | None, kind: int) -> Array:
    """What a kind of constant says of each row, from the rows of other folds; from all rows without folds."""
    said = np.array(_constant(loss, y, weight, kind))
    if fold is None:
        return said
    part, share = np.where(fold < 0, -1, fold % PARTS), np.ones(len(y)) if weight is None else weight
    for k in np.unique(part[part >= 0]):
        rest = np.where(part == k, 0.0, share)
        if rest.any():
            said[part == k] = _constant(loss, y, rest, kind)[part == k]
    return said


def _constant(loss: Loss, y: Array, weight: Floats | None, kind: int) -> Array:
    return next(islice(loss.constants(y, weight), kind, None))


def _judged_together(loss: Loss, table: LeftOut) -> Sequence[Rows]:
    """The sets of rows that a loss of whole sets judged: folds, or all rows; all rows at once for any other loss."""
    assert table.losses is not None
    fold = table.fold
    if loss.per_row or fold is None or table.fold_risks is None or len(table.fold_risks) >= (fold >= 0).sum():
        known = ~np.isnan(table.losses).all(axis=0)
        return [np.flatnonzero(known)]
    return [np.flatnonzero(fold == k) for k in range(len(table.fold_risks))]
