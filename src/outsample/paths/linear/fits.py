"""Fits linear in y, for every model of a path at once, from one basis of the sample space.

With weights W = diag(w) and a basis L of n × r whose columns are orthonormal, LᵀWL = I, every model is
S_m = L diag(kept_m) Lᵀ W with 0 ≤ kept_m ≤ 1: a share of each direction is kept and the rest is lost. Ridge
keeps s²/(s² + α), least squares keeps all or nothing. The intercept is one more column, of which all is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.running.arrays import Array, Floats, chunks
from outsample.running.threads import cached_property

# Where 1 − leverage is smaller, it is computed from the shares lost, because the difference cancels.
CANCELLATION = 1e-3
# A unit vector with no more than this of its squared length outside the span of the basis counts as inside: directions
# are known to ten digits.
_INSIDE = 1e-20
# Rows evaluated at a time where only sums over rows are kept; fixed, so that results have the same bits
# whatever the number of draws.
_ROW_BLOCK = 8192


class LinearFits:
    """Every fit of one basis.

    Parameters
    ----------
    basis : (n, r), orthonormal under the weights.
    kept : (models, r), the share of each direction that a model keeps.
    lost : (models, r), 1 − kept, computed by the caller without cancellation.
    weight : (n,) or None.
    constant : whether the first direction is the constant, of which every model then keeps all.
    limit : how to compute what a fit loses as its penalty goes to zero, (r, r) up to a factor: where the basis
        reproduces every label, I − S ∝ L limit Lᵀ W then. It stands for fits of minimum norm, which lose nothing. None
        where it is not known.
    """

    def __init__(
        self,
        basis: Floats,
        kept: Floats,
        lost: Floats,
        weight: Floats | None,
        constant: bool,
        limit: Callable[[], Floats] | None = None,
    ) -> None:
        self.basis, self.kept, self.lost, self.weight = basis, kept, lost, weight
        self.constant, self._limit = constant, limit
        self._last: tuple[Floats, Floats] | None = None

    def coefficients(self, y: Floats) -> Floats:
        """Lᵀ W y, (r,) or (r, outputs).

        The mean goes to the constant alone, so that labels far from zero do not leak into directions that
        are orthogonal to it only up to rounding.
        """
        if not self.constant:
            return np.asarray(self.basis.T @ self._weighted(y))
        mean = np.average(y, axis=0, weights=self.weight)
        coefficients = np.asarray(self.basis.T @ self._weighted(y - mean))
        coefficients[0] += mean / self.basis[0, 0]
        return coefficients

    def _weighted(self, y: Floats) -> Floats:
        return y if self.weight is None else (self.weight * y.T).T

    def fitted(self, y: Floats) -> Floats:
        """In-sample predictions, (models, n[, outputs]); read-only, because the last ones are kept for reuse."""
        last = self._last
        if last is None or not np.array_equal(last[0], y):
            answer = combined(self.kept, self.coefficients(y), self.basis)
            answer.flags.writeable = False
            self._last = last = y, answer
        return last[1]

    def moments(self, y: Floats, center: float) -> Floats:
        """Weighted means of (y − ĝ)² and (ĝ − center)², (models, 2), block of rows by block of rows."""
        scaled = self.kept * self.coefficients(y)
        sums = np.zeros((len(self.kept), 2))
        weight = np.ones(len(y)) if self.weight is None else self.weight
        for start in range(0, len(y), _ROW_BLOCK):
            rows = slice(start, start + _ROW_BLOCK)
            fitted = scaled @ self.basis[rows].T
            sums[:, 0] += np.square(y[rows] - fitted) @ weight[rows]
            sums[:, 1] += np.square(fitted - center) @ weight[rows]
        return np.asarray(sums / weight.sum())

    @property
    def leverages(self) -> Floats:
        """w_i Σ_k kept_k L_ik², the diagonal of S, (models, n)."""
        return self._leverages[0]

    @cached_property
    def row_sums(self) -> Floats:
        """S 1, (models, n)."""
        n = len(self.basis)
        return np.broadcast_to(1.0, (len(self.kept), n)) if self.constant else self.fitted(np.ones(n))

    @cached_property
    def _leverages(self) -> tuple[Floats, Floats]:
        """Of every model, (models, n), and of one that keeps as much of each direction as any model does, (n,)."""
        n, most = len(self.basis), self.kept.max(axis=0)
        leverages, highest = np.empty((len(self.kept), n)), np.empty(n)
        for rows in chunks(self.basis):
            energy = self._energy(rows)
            np.matmul(self.kept, energy.T, out=leverages[:, rows])
            np.matmul(energy, most, out=highest[rows])
        return leverages, highest

    @property
    def squared_norms(self) -> Floats:
        """Σ_j S_ij², (models, n): Σ_k kept_k² L_ik² without weights, else the norm of row i of L kept LᵀW."""
        if self.weight is None:
            return np.asarray(np.square(self.kept) @ np.square(self.basis).T)
        scaled = self.basis * self.weight[:, None]
        metric = scaled.T @ scaled
        rows = (self.basis * kept for kept in self.kept)
        return np.stack([np.einsum("ik,ik->i", row @ metric, row) for row in rows])

    def _energy(self, rows: Any) -> Floats:
        """w_i L_ik² of some rows, (rows, r): the leverage of row i along direction k."""
        energy = np.square(self.basis[rows])
        if self.weight is not None:
            energy *= self.weight[rows, None]
        return np.asarray(energy)

    @cached_property
    def tight(self) -> NDArray[np.intp]:
        """Rows that some model may nearly interpolate: leverage near one in a model that keeps what any model keeps."""
        return np.flatnonzero(1.0 - self._leverages[1] < CANCELLATION)

    def slack(self, models: slice) -> Floats:
        """1 − leverage of some models, (models, n), without cancellation where a row is nearly interpolated."""
        slack = 1.0 - self._leverages[0][models]
        tight = self.tight
        if len(tight):
            slack[:, tight] = self._slack_outside + self.lost[models] @ self._energy(tight).T
        return slack

    @cached_property
    def _slack_outside(self) -> Floats:
        """1 − leverage at the tight rows of a fit that keeps the whole basis, (tight rows,)."""
        outside = np.zeros(len(self.tight))
        for some in chunks(self.basis[self.tight]):
            outside[some] = np.square(self.outside(self.tight[some])).sum(axis=1)
        return outside

    def outside(self, rows: NDArray[np.intp]) -> Floats:
        """Unit vectors of some rows minus their projections on the basis, (rows, n): rows of I − U Uᵀ with U = √W L.

        Projected twice, because U is orthonormal up to rounding only.
        """
        if self.reproduced[rows].all():
            return np.zeros((len(rows), len(self.basis)))
        orthonormal = scaled_rows(self.basis, self.weight)
        outside = -orthonormal[rows] @ orthonormal.T
        outside[np.arange(len(rows)), rows] += 1.0
        outside -= (outside @ orthonormal) @ orthonormal.T
        outside[np.square(outside).sum(axis=1) <= _INSIDE] = 0.0
        return np.asarray(outside)

    @cached_property
    def limit(self) -> Floats | None:
        """What a fit loses as its penalty goes to zero, (r, r) up to a factor; None where that is not known."""
        return None if self._limit is None else self._limit()

    @cached_property
    def reproduced(self) -> NDArray[np.bool_]:
        """Rows whose label is reproduced whatever it is, (n,).

        They are the rows of positive weight, if the basis has as many directions, or none.
        """
        counted = np.ones(len(self.basis), bool) if self.weight is None else self.weight > 0
        return np.asarray(counted & (self.basis.shape[1] >= counted.sum()))

    def residuals(self, y: Floats) -> Floats:
        """y − ŷ for one output, (models, n), without cancellation where a row is nearly interpolated."""
        residuals = np.asarray(y - self.fitted(y))
        tight = self.tight
        if len(tight):
            basis, coefficients = self.basis[tight], self.coefficients(y)
            # Exactly zero where the basis reproduces every label.
            outside = np.where(self.reproduced[tight], 0.0, y[tight] - basis @ coefficients)
            residuals[:, tight] = outside + combined(self.lost, coefficients, basis)
        return residuals


def combined(shares: Floats, coefficients: Floats, basis: Floats) -> Floats:
    """basis (shares ∘ coefficients) for every model, (models, rows[, outputs]).

    One product per output, so that the bits do not depend on how many label vectors came together.
    """
    if coefficients.ndim == 1:
        return np.asarray((shares * coefficients) @ basis.T)
    return np.stack([combined(shares, column, basis) for column in coefficients.T], axis=-1)


def centred(X: Floats, weight: Floats | None, intercept: bool) -> tuple[Floats, Floats]:
    """(X minus its weighted column means, those means); the means are zero without an intercept."""
    if not intercept:
        return X, np.zeros(X.shape[1])
    means = np.average(X, axis=0, weights=weight)
    return X - means, means


def scaled_rows(X: Floats, weight: Floats | None) -> Floats:
    """√w X: weighted least squares as an unweighted problem."""
    return X if weight is None else X * np.sqrt(weight)[:, None]


def with_constant(directions: Floats, weight: Floats | None, n: int) -> Floats:
    """The basis with the constant direction in front; `n` and `weight` are those of the fitted rows."""
    total = float(n) if weight is None else float(weight.sum())
    return np.column_stack([np.full(len(directions), total**-0.5), directions])


def limit_of(directions: Floats, constant: bool) -> Floats:
    """What each direction loses as the penalty goes to zero, (r, r); with a constant, which loses nothing, in front."""
    return np.pad(directions, (int(constant), 0))


def as_targets(y: Array) -> Floats:
    """Real labels in double precision."""
    return np.asarray(y, dtype=np.float64)


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
