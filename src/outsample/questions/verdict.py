"""What to make of a search: which candidates may be the best, and one sentence about tuning."""

from __future__ import annotations

import numpy as np

from outsample.curve.plausible import Chosen, plausible_by_folds, plausible_models
from outsample.curve.risk_curve import RiskCurve
from outsample.questions.contest import Outcome
from outsample.running.arrays import Array, Rows

MOST_FOLDS = 10


def plausible_positions(outcome: Outcome, groups: Array | None, chosen: int | None) -> Rows:
    """Positions in the user's order of the candidates that may be the best, ascending; the chosen one among them.

    Parameters
    ----------
    groups : (n,) the group of each row, None where rows are independent.

    Raises
    ------
    AttributeError
        Where no rows were left out, so that there is nothing to compare candidates by, row by row.
    """
    places = np.flatnonzero(_plausible(outcome.curve, groups))
    positions = set(outcome.positions[places].tolist()) | ({chosen} if chosen is not None else set())
    return np.array(sorted(positions), dtype=np.intp)


def _plausible(curve: RiskCurve, groups: Array | None) -> Chosen:
    table = curve.left_out
    if table is not None and table.losses is not None:
        return plausible_models(table.losses, table.weight, groups)
    if table is not None and table.fold_risks is not None and len(table.fold_risks) > 1:
        # The sizes of training sets are not known here: more than ten splits are taken for repeats of ten folds.
        return plausible_by_folds(table.fold_risks, 1 / (min(len(table.fold_risks), MOST_FOLDS) - 1))
    raise AttributeError(
        f"there is no plausible_: criterion {curve.criterion!r} has no losses of single rows, by which candidates are "
        'compared; use a criterion that leaves rows out, such as "auto", "race" or "kfold"'
    )
