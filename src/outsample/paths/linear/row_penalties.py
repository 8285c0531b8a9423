"""Ridge fits whose penalty differs a little from row to row, as it does where a scaler follows the rows left out.

With G the sums of products of centred columns, c those with y, d a row and D the diagonal of its own penalty, leverages
dᵀ(G + αD)⁻¹d and fits dᵀ(G + αD)⁻¹c are wanted for every row and α. D is close to the identity, for which everything is
diagonal along the axes of G. The difference is a series in I − D whose terms are products of matrices over many rows.

The difference is a smooth function of α, a sum of functions α/((λ + α)(μ + α)) with λ and μ about the eigenvalues of G.
Few values of α therefore determine it for all others: it is computed at one α after the other until it is known
beforehand what the next one brings.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import qr, solve_triangular

from outsample.running.arrays import Bools, Floats, Rows
from outsample.running.threads import cached_property

# Relative error at which a series ends.
_SOLVED = 1e-12
# Error of what is known beforehand, in leverages and in shares of the largest fit, at which no further α is computed.
_KNOWN = 1e-12
# Functions that differ by less, in shares of the largest, are the same.
_ROUNDING = 1e-15
# Rows for which a term of the series is not smaller than the one before by this factor are solved directly.
_SLOW = 0.2
# Factors of that number between which rows are taken together.
_FACTORS = np.array([0.03, 0.15, 1.0])
# Numbers in a block of rows, and in a stack of matrices that are solved together.
_BLOCK, _STACK = 2**16, 2**20
# Eigenvalues between which functions of α are told apart, and how far beyond those of G they go.
_EIGENVALUES, _BEYOND = 64, 1.25


class RowPenalties:
    """Leverages and fits of rows, each with a penalty of its own.

    Parameters
    ----------
    values, axes : eigenvalues (p,) and eigenvectors (p, p) of G.
    own : (p,) which eigenvalues are more than rounding; rows have no component in the other directions.
    products, covariances : (p, p), (p, outputs), G and c.
    alphas : (models,)
    """

    def __init__(
        self, values: Floats, axes: Floats, own: Bools, products: Floats, covariances: Floats, alphas: Floats
    ) -> None:
        self._values, self._axes, self._own = values, axes, own
        self._products, self._covariances, self._alphas = products, covariances, alphas
        self._along_axes = axes[:, own].T @ covariances

    def blocks(self, rows: Floats, squares: Floats) -> Iterator[tuple[Rows, Floats, Floats]]:
        """(which rows, their leverages (models, some), their fits (models, some, outputs)), all rows block by block.

        Parameters
        ----------
        rows : (rows, p), from the mean of all rows, or from zero without an intercept.
        squares : (rows, p), the diagonal of D.
        """
        p = rows.shape[1]
        farthest = np.maximum(squares.max(axis=1, initial=1.0) - 1.0, 1.0 - squares.min(axis=1, initial=1.0))
        order = np.argsort(farthest, kind="stable")
        # Rows that need about as many terms come together.
        bounds = _SLOW / max(_share(self._alphas.max(initial=0.0), self._values), _SOLVED) * _FACTORS
        *near, far = np.split(order, np.searchsorted(farthest[order], bounds))
        for part in near:
            for some in _stacks(part, _BLOCK // max(1, p)):
                yield some, *self._of_near(rows[some], squares[some])
        for some in _stacks(far, _STACK // max(1, p * p * len(self._alphas))):
            yield some, *self._of_far(rows[some], squares[some])

    def _of_near(self, rows: Floats, squares: Floats) -> tuple[Floats, Floats]:
        """Leverages and fits of rows whose D are close to each other, the middle of which is taken for the identity."""
        middle = 0.5 * float(squares.min() + squares.max()) if squares.size else 1.0
        alphas, change = self._alphas * middle, 1.0 - squares / middle
        gains = 1.0 / (self._values[self._own] + alphas[:, None])
        along = rows @ self._axes[:, self._own]
        leverages = gains @ np.square(along).T
        fits = np.stack([(gains * known) @ along.T for known in self._along_axes.T], axis=-1)
        more = self._differences(rows, change, alphas, fits)
        leverages += more[..., 0]
        fits += more[..., 1:]
        return leverages, fits

    def _differences(self, rows: Floats, change: Floats, alphas: Floats, fits: Floats) -> Floats:
        """What the change of the identity adds to leverages and fits, (models, rows, 1 + outputs)."""
        order, triangle = self._told_apart
        known = np.zeros((len(triangle), len(rows), 1 + fits.shape[2]))
        within = _KNOWN * np.append(1.0, np.abs(fits).max(axis=(0, 1), initial=0.0))
        n = 0
        while n < len(known):
            known[n] = self._series(rows, change, float(alphas[order[n]]))
            n += 1
            if n > 1 and (np.abs(self._unexpected(known[:n])).max(axis=0, initial=0.0) <= within).all():
                break
        shares = np.empty((len(order), n))
        shares[order] = solve_triangular(triangle[:n, :n], triangle[:n]).T
        return np.tensordot(shares, known[:n], 1)

    def _unexpected(self, known: Floats) -> Floats:
        """The last of some differences (n, rows, 1 + outputs) minus what was known of it from those before."""
        _, triangle = self._told_apart
        last = len(known) - 1
        shares = solve_triangular(triangle[:last, :last], triangle[:last, last])
        return np.asarray(known[last] - np.tensordot(shares, known[:last], 1))

    @cached_property
    def _told_apart(self) -> tuple[Rows, Floats]:
        """(all values of α, those first which say most of functions of α; their triangular factor (n, models)).

        The first n values determine the functions at all others up to rounding.
        """
        own = self._values[self._own]
        low, high = (own.min() / _BEYOND, own.max() * _BEYOND) if len(own) else (1.0, 1.0)
        eigenvalues = np.geomspace(low, high, _EIGENVALUES)[:, None]
        functions = eigenvalues * self._alphas / np.square(eigenvalues + self._alphas)
        _, triangle, order = qr(functions, mode="economic", pivoting=True)
        size = np.abs(np.diagonal(triangle))
        return order, triangle[size > _ROUNDING * size.max(initial=0.0)]

    def _series(self, rows: Floats, change: Floats, alpha: float) -> Floats:
        """What the change adds at one α, (rows, 1 + outputs): Σ αᵏ xᵀ(PC)ᵏPd, x = d or c.

        P = (G + αI)⁻¹, and C is the diagonal matrix of the changes.
        """
        more = np.zeros((len(rows), 1 + self._covariances.shape[1]))
        if alpha == 0.0:
            return more
        inverse = (self._axes / (self._values + alpha)) @ self._axes.T
        coefficients = alpha * (inverse @ self._covariances)
        rate = float(np.abs(change).max(initial=0.0)) * _share(alpha, self._values)
        term = rows @ inverse
        rest = change * term
        more[:, 0] = alpha * np.einsum("ij,ij->i", term, rest)
        more[:, 1:] = rest @ coefficients
        inverse *= alpha
        error = rate**2
        while error > _SOLVED:
            # Two terms of the leverages, and one of the fits.
            np.matmul(rest, inverse, out=term)
            more[:, 0] += alpha * np.einsum("ij,ij->i", rest, term)
            np.multiply(change, term, out=rest)
            more[:, 0] += alpha * np.einsum("ij,ij->i", term, rest)
            more[:, 1:] += rest @ coefficients
            error *= rate
        return more

    def _of_far(self, rows: Floats, squares: Floats) -> tuple[Floats, Floats]:
        """Leverages and fits of rows whose D are far from the identity: a system of p equations each for every α."""
        p = rows.shape[1]
        matrices = np.broadcast_to(self._products, (len(self._alphas), len(rows), p, p)).copy()
        diagonal = np.arange(p)
        matrices[..., diagonal, diagonal] += self._alphas[:, None, None] * squares
        solved = np.linalg.solve(matrices, rows[..., None])[..., 0]
        return np.einsum("ij,mij->mi", rows, solved), solved @ self._covariances


def _share(alpha: float, values: Floats) -> float:
    """The largest share of a direction that the penalty takes, α/(λ + α)."""
    return alpha / (max(float(values.min(initial=np.inf)), 0.0) + alpha) if alpha > 0 else 0.0


def _stacks(rows: Rows, step: int) -> Iterator[Rows]:
    """Rows, some at a time."""
    step = max(1, step)
    return (rows[start : start + step] for start in range(0, len(rows), step))
