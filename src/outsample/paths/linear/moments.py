"""Sums over rows that determine every ridge fit: they add up over blocks of rows, and a row or a fold is taken away.

With G the sums of squares and products of centred columns and c those with y, ridge is (G + αD)⁻¹c, D = diag(s²) where
a scaler stands before it and the identity otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from outsample.running.arrays import NUMBERS_AT_ONCE, Bools, Floats, Rows
from outsample.running.threads import cached_property

# Largest ratio of eigenvalues of G + αD for which sums of products keep the digits wanted.
_WELL_CONDITIONED = 1e6
# Eigenvalues of G below this share of the largest are rounding: columns are linearly dependent. Rows have no component
# in such a direction, so that its eigenvalue of G + αD, mere penalty, may be smaller.
_DEPENDENT = 1e-13
_PENALTY_ALONE = 1e10
# A row with less slack, 1 − leverage, is refitted: the formula divides by it.
_TOO_TIGHT = 1e-3
# Relative error at which the steps for single rows end.
_SOLVED = 1e-13
# Rows whose error shrinks by less than this factor in a step are solved directly.
_SLOW = 0.2
# Numbers in a stack of matrices that are solved together.
_STACK = 2**20


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted sums of rows, labels and their products; sums of blocks of rows add up.

    Attributes
    ----------
    weight : of all rows together, their number where all weights are one.
    rows : (p,) sum of the rows.
    y : (outputs,) sum of the labels.
    products : (p, p) sum of products of columns.
    covariances : (p, outputs) sum of products of columns and labels.
    squares : (outputs,) sum of squares of the labels.
    """

    weight: float
    rows: Floats
    y: Floats
    products: Floats
    covariances: Floats
    squares: Floats

    @classmethod
    def of(cls, rows: Floats, y: Floats, weight: Floats | None = None, products: Floats | None = None) -> Moments:
        """The sums of rows (n, p) with labels (n, outputs), both taken from an origin not far from their means."""
        total = float(len(rows)) if weight is None else float(weight.sum())
        share = np.ones(len(rows)) if weight is None else weight
        if products is None:
            products = rows.T @ rows if weight is None else (rows * weight[:, None]).T @ rows
        weighted = share[:, None] * y
        return cls(total, share @ rows, share @ y, products, rows.T @ weighted, (weighted * y).sum(axis=0))

    def __add__(self, other: Moments) -> Moments:
        return Moments(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def __sub__(self, other: Moments) -> Moments:
        return Moments(*(getattr(self, field.name) - getattr(other, field.name) for field in fields(self)))

    def moved(self, rows: Floats, y: float) -> Moments:
        """The sums of the same rows and labels with these added to each of them."""
        n = self.weight
        return Moments(
            n,
            self.rows + n * rows,
            self.y + n * y,
            self.products + np.outer(rows, self.rows) + np.outer(self.rows, rows) + n * np.outer(rows, rows),
            self.covariances + np.outer(rows, self.y) + y * (self.rows + n * rows)[:, None],
            self.squares + 2 * y * self.y + n * y**2,
        )

    def centred(self, intercept: bool) -> tuple[Floats, Floats, Floats, Floats]:
        """(products, covariances, mean of rows, mean of y) around the means; around zero without an intercept."""
        if not intercept:
            return self.products, self.covariances, np.zeros_like(self.rows), np.zeros_like(self.y)
        at, level = self.rows / self.weight, self.y / self.weight
        products = self.products - np.outer(at, self.rows)
        return products, self.covariances - np.outer(at, self.y), at, level


class RidgeOfProducts:
    """Ridge fits of every alpha from G and c, with the identity for D.

    Parameters
    ----------
    products : (p, p), G.
    covariances : (p, outputs), c.
    alphas : (models,)
    """

    def __init__(self, products: Floats, covariances: Floats, alphas: Floats) -> None:
        self.products, self.covariances, self.alphas = products, covariances, alphas
        self.values, self.axes = np.linalg.eigh(products)

    @property
    def sound(self) -> bool:
        """Whether the eigenvalues of G + αI, for every α, are close enough to each other to keep the digits wanted."""
        values, alphas = self.values, self.alphas
        largest, dependent = values.max(initial=0.0), self._dependent
        if dependent.any() and not (largest <= _PENALTY_ALONE * alphas).all():
            return False
        least = values[~dependent].min(initial=np.inf)
        return bool((largest + alphas <= _WELL_CONDITIONED * (least + alphas)).all())

    @cached_property
    def _dependent(self) -> Bools:
        """Which eigenvalues of G are rounding, because columns are linearly dependent."""
        values = self.values
        return np.asarray(values <= _DEPENDENT * len(values) * values.max(initial=0.0))

    def coefficients(self) -> Floats:
        """(G + αI)⁻¹c, (models, p, outputs)."""
        along = self.axes.T @ self.covariances
        gains = 1.0 / (self.values + self.alphas[:, None])
        return np.asarray(self.axes @ (gains[:, :, None] * along))

    def without_each(
        self, rows: Floats, y: Floats, weight: Floats, total: float | None, squares: Floats | None
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """(predictions of rows left out one by one (models, rows, outputs), rows for which digits are lost).

        With d the row and D without it, one solution t of (G + αD)t = d gives what the formula for a change of rank one
        needs. D is close to the identity, and P = (G + αI)⁻¹ is known, so that few steps of t ← P(d + α(I − D)t) reach
        the last digit.

        Parameters
        ----------
        rows, y : (rows, p), (rows, outputs), from the means of all rows, as predictions are; with no intercept from
            zero.
        total : sum of the weights of all rows where an intercept is fitted, else None.
        squares : (rows, p) the diagonal of D without each row; None where it is one throughout.
        """
        # What leaving a row out takes from sums of products around the mean, and how far it moves the mean.
        away = np.ones(len(y)) if total is None else total / (total - weight)
        level = 0.0 if total is None else -(weight / (total - weight))[:, None] * y
        own = (weight * away)[:, None] * y
        predictions = np.empty((len(self.alphas), *y.shape))
        doubtful = np.zeros(len(y), bool)
        every = self._plain_leverages(rows) if squares is None else self._leverages(rows, squares)
        for m, leverage, fit in every:
            slack = 1.0 - weight * away * leverage
            doubtful |= ~(slack > _TOO_TIGHT)
            slack[doubtful] = 1.0
            predictions[m] = level + (away / slack)[:, None] * (fit - leverage[:, None] * own)
        return predictions, doubtful

    def _plain_leverages(self, rows: Floats) -> Iterator[tuple[int, Floats, Floats]]:
        """The same as `_leverages` where D is the identity: along the axes of G everything is diagonal."""
        own = ~self._dependent
        along, known = rows @ self.axes[:, own], self.axes[:, own].T @ self.covariances
        gains = 1.0 / (self.values[own] + self.alphas[:, None])
        leverages = gains @ np.square(along).T
        for m, gain in enumerate(gains):
            yield m, leverages[m], along @ (gain[:, None] * known)

    def _leverages(self, rows: Floats, squares: Floats) -> Iterator[tuple[int, Floats, Floats]]:
        """(model, dᵀ(G + αD)⁻¹d (rows,), dᵀ(G + αD)⁻¹c (rows, outputs)) of every model."""
        change, covariances = 1.0 - squares, self.covariances
        farthest = np.abs(change).max(axis=1, initial=0.0)
        order = np.argsort(farthest)
        least, own = float(self.values.min(initial=np.inf)), ~self._dependent
        step = max(1, NUMBERS_AT_ONCE // max(1, rows.shape[1]))
        for m, alpha in enumerate(self.alphas):
            inverse = (self.axes / (self.values + alpha)) @ self.axes.T if own.all() or alpha > 0 else None
            first = (self.axes[:, own] / (self.values[own] + alpha)) @ self.axes[:, own].T
            known = first @ covariances
            leverage, fit = np.empty(len(rows)), np.empty((len(rows), covariances.shape[1]))
            share = alpha / (least + alpha) if alpha > 0 else 0.0
            slow = int(np.searchsorted(farthest[order] * share, _SLOW))
            for start in range(0, slow, step):
                some = order[start : min(start + step, slow)]
                d, changed = rows[some], alpha * change[some]
                t, rest = _few_steps(d @ first, changed, inverse, float(farthest[some[-1]] * share))
                # Errors of first order in that of t cancel: cᵀA⁻¹d ≈ cᵀt + wᵀ(d − At) with w near A⁻¹c.
                leverage[some] = np.einsum("ij,ij->i", d, t) + np.einsum("ij,ij->i", t, rest)
                fit[some] = t @ covariances + rest @ known
            for some in _in_stacks(order[slow:], rows.shape[1]):
                t = self._solved(alpha, rows[some], squares[some])
                leverage[some], fit[some] = np.einsum("ij,ij->i", rows[some], t), t @ covariances
            yield m, leverage, fit

    def _solved(self, alpha: float, rows: Floats, squares: Floats) -> Floats:
        """(G + αD)⁻¹d of some rows, (rows, p), one matrix each."""
        matrices = np.broadcast_to(self.products, (len(rows), *self.products.shape)).copy()
        diagonal = np.arange(rows.shape[1])
        matrices[:, diagonal, diagonal] += alpha * squares
        return np.asarray(np.linalg.solve(matrices, rows[..., None])[..., 0])


def _few_steps(t: Floats, changed: Floats, inverse: Floats | None, rate: float) -> tuple[Floats, Floats]:
    """(A⁻¹d, what is left of d), (rows, p) each, with A = inverse⁻¹ − diag(changed), from t = inverse d.

    The error shrinks by the factor `rate` in each step; at rate 0 there is none.
    """
    rest = changed * t
    error = rate
    while error * rate > _SOLVED:
        assert inverse is not None
        further = rest @ inverse
        t += further
        rest = changed * further
        error *= rate
    return t, rest


def _in_stacks(rows: Rows, p: int) -> Iterator[Rows]:
    """Rows, as many at a time as fit a stack of p × p matrices."""
    step = max(1, _STACK // max(1, p * p))
    return (rows[start : start + step] for start in range(0, len(rows), step))
