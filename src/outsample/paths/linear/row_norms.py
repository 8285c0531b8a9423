"""Squared norms of the rows of a linear smoother, and of the weights that rows have when they are left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from outsample.paths.linear.fits import CANCELLATION, LinearFits
from outsample.running.arrays import Floats, chunks

# A fit that loses less of every direction loses nothing: the squares of such numbers underflow.
_NO_LOSS = 1e-100


def row_norms(fits: LinearFits) -> tuple[Floats, Floats]:
    """(Σ_j S_ij², Σ_{j≠i} (S_ij/(1 − S_ii))²) of every model and row, both (models, n).

    The second are those of the weights that the other labels have in the prediction of row i by a fit without it. Where
    a model nearly interpolates, ‖S_i‖² − S_ii² cancels. There I − S, which off the diagonal is −S, is computed from
    what is lost: with v_i its row i the answer is ‖v_i‖²/v_ii² − 1. A model that loses nothing of any label is taken as
    the limit of a penalty that goes to zero, where that is known. Infinite where the fit of a row depends on its own
    label alone.
    """
    norms, leverages, slack = fits.squared_norms, fits.leverages, fits.slack(slice(None))
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = np.maximum(norms - np.square(leverages), 0.0) / np.square(slack)
    for some in chunks(fits.basis[fits.tight]):
        rows = fits.tight[some]
        left_out[:, rows] = np.where(slack[:, rows] < CANCELLATION, _of_tight(fits, rows, slack), left_out[:, rows])
    return norms, left_out


def _of_tight(fits: LinearFits, rows: NDArray[np.intp], slack: Floats) -> Floats:
    """The squared norms of left-out weights from what is lost, (models, rows)."""
    basis, outside = fits.basis[rows], fits.outside(rows)
    answer = np.zeros((len(fits.lost), len(rows)))
    for m in np.flatnonzero((slack[:, rows] < CANCELLATION).any(axis=1)):
        lost = fits.lost[m]
        own, along = slack[m, rows], basis * lost
        if lost.max(initial=0.0) < _NO_LOSS and fits.reproduced[rows].all() and fits.limit is not None:
            along = basis @ fits.limit
            own = (along * basis).sum(axis=1) * (1.0 if fits.weight is None else fits.weight[rows])
        length = np.sqrt(_squared_lengths(fits, rows, along, outside))
        ratio = np.divide(length, own, out=np.full(len(rows), np.inf), where=own > 0.0)
        answer[m] = np.square(ratio) - 1.0
    return np.maximum(answer, 0.0)


def _squared_lengths(fits: LinearFits, rows: NDArray[np.intp], along: Floats, outside: Floats) -> Floats:
    """‖v_i‖² of some rows, (rows,): `along` (rows, r) in the basis, `outside` (rows, n) of it."""
    if fits.weight is None:
        return np.asarray(np.square(along).sum(axis=1) + np.square(outside).sum(axis=1))
    root = np.sqrt(fits.weight)
    whole = along @ (fits.basis * fits.weight[:, None]).T + outside * root / root[rows, None]
    return np.asarray(np.square(whole).sum(axis=1))
