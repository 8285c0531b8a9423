"""Fits linear in y, for every model of a path at once, from one basis of the sample space.

With weights W = diag(w) and a basis L of n × r whose columns are orthonormal, LᵀWL = I, every model is
S_m = L diag(kept_m) Lᵀ W with 0 ≤ kept_m ≤ 1: a share of each direction is kept and the rest is lost. Ridge
keeps s²/(s² + α), least squares keeps all or nothing. The intercept is one more column, of which all is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
# Rows evaluated at a time; fixed, so that sums over rows have the same bits whatever the number of models and draws.
ROWS_AT_ONCE = 2048
# Numbers of a basis that is made once and kept; those of a larger one are made anew, which is faster than to have that
# much memory from the system.
_WORTH_KEEPING = 2**22


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
        basis: Floats | Directions,
        kept: Floats,
        lost: Floats,
        weight: Floats | None,
        constant: bool,
        limit: Callable[[], Floats] | None = None,
    ) -> None:
        if isinstance(basis, Directions) and basis.shape[0] * basis.shape[1] <= _WORTH_KEEPING:
            basis = basis.whole()
        self._source = basis
        self.kept, self.lost, self.weight = kept, lost, weight
        self.n_samples, self.n_directions = basis.shape
        self.constant, self._limit = constant, limit
        self._last: tuple[Floats, Floats] | None = None
        self._latest: tuple[slice, Floats] | None = None

    @cached_property
    def basis(self) -> Floats:
        """The whole basis, (n, r)."""
        return self._source.whole() if isinstance(self._source, Directions) else self._source

    def directions(self, rows: Any) -> Floats:
        """Some rows of the basis, (rows, r); those of the last slice are kept, because several ask for them."""
        if not isinstance(self._source, Directions) or not isinstance(rows, slice):
            return self._source[rows]
        latest = self._latest
        if latest is None or latest[0] != rows:
            self._latest = latest = rows, self._source[rows]
        return latest[1]

    def _projected(self, values: Floats) -> Floats:
        """Lᵀ times values."""
        source = self._source
        return np.asarray(source.projected(values) if isinstance(source, Directions) else source.T @ values)

    def coefficients(self, y: Floats) -> Floats:
        """Lᵀ W y, (r,) or (r, outputs).

        The mean goes to the constant alone, so that labels far from zero do not leak into directions that
        are orthogonal to it only up to rounding.
        """
        if not self.constant:
            return self._projected(self._weighted(y))
        mean = np.average(y, axis=0, weights=self.weight)
        coefficients = self._projected(self._weighted(y - mean))
        coefficients[0] += mean / self.directions(slice(1))[0, 0]
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
        for rows in self.row_blocks():
            fitted = scaled @ self.directions(rows).T
            sums[:, 0] += np.square(y[rows] - fitted) @ weight[rows]
            sums[:, 1] += np.square(fitted - center) @ weight[rows]
        return np.asarray(sums / weight.sum())

    def row_blocks(self) -> Iterator[slice]:
        """The rows, a few at a time: nothing of the size models × rows need be held."""
        n = self.n_samples
        return (slice(start, min(start + ROWS_AT_ONCE, n)) for start in range(0, n, ROWS_AT_ONCE))

    def leverages(self, rows: slice) -> Floats:
        """w_i Σ_k kept_k L_ik², the diagonal of S, at some rows, (models, rows)."""
        return np.asarray(self.kept @ self._energy(rows).T)

    def mean_leverage(self, weight: Floats | None) -> Floats:
        """Mean of the leverages under other weights, (models,): of each direction a model keeps the same everywhere."""
        total = np.zeros(self.n_directions)
        for rows in self.row_blocks():
            energy = self._energy(rows)
            total += energy.sum(axis=0) if weight is None else weight[rows] @ energy
        return np.asarray(self.kept @ total / (self.n_samples if weight is None else weight.sum()))

    def row_sums(self, rows: slice) -> Floats:
        """S 1 at some rows, (models, rows)."""
        basis = self.directions(rows)
        if self.constant:
            return np.broadcast_to(1.0, (len(self.kept), len(basis)))
        return combined(self.kept, self._sums, basis)

    @cached_property
    def _sums(self) -> Floats:
        """Lᵀ W 1, (r,)."""
        return self._projected(np.ones(self.n_samples) if self.weight is None else self.weight)

    def mean_row_sum(self, weight: Floats | None) -> Floats:
        """Mean of S 1 under other weights, (models,)."""
        if self.constant:
            return np.ones(len(self.kept))
        share = np.ones(self.n_samples) if weight is None else weight
        mean = self._projected(share) / share.sum()
        return np.asarray((self.kept * self._sums) @ mean)

    @cached_property
    def _highest(self) -> Floats:
        """Leverages of a model that keeps as much of each direction as any model does, (n,)."""
        most, highest = self.kept.max(axis=0), np.empty(self.n_samples)
        for rows in self.row_blocks():
            highest[rows] = self._energy(rows) @ most
        return highest

    def squared_norms(self, rows: slice) -> Floats:
        """Σ_j S_ij² at some rows, (models, rows): Σ_k kept_k² L_ik² without weights, else ‖row i of L kept LᵀW‖²."""
        basis = self.directions(rows)
        if self.weight is None:
            return np.asarray(np.square(self.kept) @ np.square(basis).T)
        each = (basis * kept for kept in self.kept)
        return np.stack([np.einsum("ik,ik->i", row @ self._metric, row) for row in each])

    @cached_property
    def _metric(self) -> Floats:
        """Lᵀ W² L, (r, r)."""
        assert self.weight is not None
        metric = np.zeros((self.n_directions,) * 2)
        for rows in self.row_blocks():
            scaled = self.directions(rows) * self.weight[rows, None]
            metric += scaled.T @ scaled
        return metric

    def _energy(self, rows: Any) -> Floats:
        """w_i L_ik² of some rows, (rows, r): the leverage of row i along direction k."""
        energy = np.square(self.directions(rows))
        if self.weight is not None:
            energy *= self.weight[rows, None]
        return np.asarray(energy)

    @cached_property
    def tight(self) -> NDArray[np.intp]:
        """Rows that some model may nearly interpolate: leverage near one in a model that keeps what any model keeps."""
        return np.flatnonzero(1.0 - self._highest < CANCELLATION)

    def tight_in(self, rows: slice) -> slice:
        """Which of the tight rows are among some rows."""
        return slice(*np.searchsorted(self.tight, (rows.start, rows.stop)))

    def slack(self, rows: slice) -> Floats:
        """1 − leverage at some rows, (models, rows), without cancellation where a row is nearly interpolated."""
        slack = self.leverages(rows)
        np.subtract(1.0, slack, out=slack)
        if len(self.tight):
            some = self.tight_in(rows)
            tight = self.tight[some]
            slack[:, tight - rows.start] = self._slack_outside[some] + self.lost @ self._energy(tight).T
        return slack

    @cached_property
    def _slack_outside(self) -> Floats:
        """1 − leverage at the tight rows of a fit that keeps the whole basis, (tight rows,)."""
        outside = np.zeros(len(self.tight))
        for some in chunks(self.directions(self.tight)):
            outside[some] = np.square(self.outside(self.tight[some])).sum(axis=1)
        return outside

    def outside(self, rows: NDArray[np.intp]) -> Floats:
        """Unit vectors of some rows minus their projections on the basis, (rows, n): rows of I − U Uᵀ with U = √W L.

        Projected twice, because U is orthonormal up to rounding only.
        """
        if self.reproduced[rows].all():
            return np.zeros((len(rows), self.n_samples))
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
        counted = np.ones(self.n_samples, bool) if self.weight is None else self.weight > 0
        return np.asarray(counted & (self.n_directions >= counted.sum()))

    def residuals(self, y: Floats, coefficients: Floats, rows: slice) -> Floats:
        """y − ŷ of one output at some rows, (models, rows), without cancellation where a row is nearly interpolated.

        Parameters
        ----------
        coefficients : those of y.
        """
        residuals = combined(self.kept, coefficients, self.directions(rows))
        np.subtract(y[rows], residuals, out=residuals)
        tight = self.tight[self.tight_in(rows)] if len(self.tight) else self.tight
        if len(tight):
            basis = self.directions(tight)
            # Exactly zero where the basis reproduces every label.
            outside = np.where(self.reproduced[tight], 0.0, y[tight] - basis @ coefficients)
            residuals[:, tight - rows.start] = outside + combined(self.lost, coefficients, basis)
        return residuals

    def of_models(self, models: Any) -> LinearFits:
        """The fits of some models."""
        return LinearFits(self._source, self.kept[models], self.lost[models], self.weight, self.constant, self._limit)


def combined(shares: Floats, coefficients: Floats, basis: Floats) -> Floats:
    """basis (shares ∘ coefficients) for every model, (models, rows[, outputs]).

    One product per output, so that the bits do not depend on how many label vectors came together.
    """
    if coefficients.ndim == 1:
        return np.asarray((shares * coefficients) @ basis.T)
    return np.stack([combined(shares, column, basis) for column in coefficients.T], axis=-1)


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Rows minus the weighted column means, computed a few at a time where they are needed, in double precision.

    Attributes
    ----------
    X : (n, p), of single or double precision.
    means : (p,) the means, zero without an intercept.
    weight : (n,) or None.
    """

    X: Array
    means: Floats
    weight: Floats | None

    @classmethod
    def of(cls, X: Array, weight: Floats | None, intercept: bool) -> CentredRows:
        """The rows of X."""
        means = np.zeros(X.shape[1])
        if intercept and weight is None:
            means = X.mean(axis=0, dtype=np.float64)
        elif intercept and weight is not None:
            for start in range(0, len(X), ROWS_AT_ONCE):
                rows = slice(start, start + ROWS_AT_ONCE)
                means += weight[rows] @ X[rows]
            means /= weight.sum()
        return cls(X, means, weight)

    def __getitem__(self, rows: Any) -> Floats:
        return np.asarray(self.X[rows] - self.means, dtype=np.float64)

    def scaled_blocks(self) -> Iterator[Floats]:
        """√w times the rows, a few at a time."""
        for rows in self.blocks():
            yield scaled_rows(self[rows], None if self.weight is None else self.weight[rows])

    def blocks(self) -> Iterator[slice]:
        """All rows, a few at a time."""
        return (slice(start, start + ROWS_AT_ONCE) for start in range(0, len(self.X), ROWS_AT_ONCE))


@dataclass(frozen=True, eq=False)
class Directions:
    """Rows times axes, computed a few at a time where they are needed: a basis that need not be held.

    Attributes
    ----------
    rows : (n, p)
    axes : (p, r)
    constant : whether the constant direction stands in front of these.
    """

    rows: CentredRows
    axes: Floats
    constant: bool

    @property
    def shape(self) -> tuple[int, int]:
        """(n, number of directions)."""
        return len(self.rows.X), self.axes.shape[1] + self.constant

    @property
    def _level(self) -> float:
        """The constant direction."""
        weight = self.rows.weight
        return float((self.shape[0] if weight is None else weight.sum()) ** -0.5)

    def __getitem__(self, rows: Any) -> Floats:
        """Some rows of the basis, (rows, r)."""
        own = self.rows[rows]
        if not self.constant:
            return own @ self.axes
        found = np.empty((len(own), self.shape[1]))
        found[:, 0] = self._level
        found[:, 1:] = own @ self.axes
        return found

    def whole(self) -> Floats:
        """The basis, (n, r)."""
        found = np.empty(self.shape)
        for rows in self.rows.blocks():
            found[rows] = self[rows]
        return found

    def projected(self, values: Floats) -> Floats:
        """The transposed basis times values (n,) or (n, outputs), (r,) or (r, outputs)."""
        total = np.zeros((len(self.axes), *values.shape[1:]))
        for rows in self.rows.blocks():
            total += self.rows[rows].T @ values[rows]
        found = self.axes.T @ total
        return np.concatenate([self._level * values.sum(axis=0)[None], found]) if self.constant else found


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


def row_norms(fits: LinearFits, rows: slice) -> tuple[Floats, Floats]:
    """(Σ_j S_ij², Σ_{j≠i} (S_ij/(1 − S_ii))²) of every model at some rows, both (models, rows).

    The second are those of the weights that the other labels have in the prediction of row i by a fit without it. Where
    a model nearly interpolates, ‖S_i‖² − S_ii² cancels. There I − S, which off the diagonal is −S, is computed from
    what is lost: with v_i its row i the answer is ‖v_i‖²/v_ii² − 1. A model that loses nothing of any label is taken as
    the limit of a penalty that goes to zero, where that is known. Infinite where the fit of a row depends on its own
    label alone.
    """
    norms, leverages, slack = fits.squared_norms(rows), fits.leverages(rows), fits.slack(rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = np.maximum(norms - np.square(leverages), 0.0) / np.square(slack)
    tight = fits.tight[fits.tight_in(rows)]
    for some in chunks(fits.directions(tight)):
        at = tight[some] - rows.start
        left_out[:, at] = np.where(
            slack[:, at] < CANCELLATION, _of_tight(fits, tight[some], slack[:, at]), left_out[:, at]
        )
    return norms, left_out


def _of_tight(fits: LinearFits, rows: NDArray[np.intp], slack: Floats) -> Floats:
    """The squared norms of left-out weights from what is lost, (models, rows); `slack` is that of these rows."""
    basis, outside = fits.directions(rows), fits.outside(rows)
    answer = np.zeros((len(fits.lost), len(rows)))
    for m in np.flatnonzero((slack < CANCELLATION).any(axis=1)):
        lost = fits.lost[m]
        own, along = slack[m], basis * lost
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
