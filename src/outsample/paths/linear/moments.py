"""Sums over rows that determine every ridge fit: they add up over blocks of rows, and a row or a fold is taken away.

With G the sums of squares and products of centred columns and c those with y, ridge is (G + αD)⁻¹c, D = diag(s²) where
a scaler stands before it and the identity otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from outsample.paths.linear.row_penalties import RowPenalties
from outsample.running.arrays import Bools, Floats, chunks
from outsample.running.threads import cached_property

# Largest ratio of eigenvalues of G + αD for which sums of products keep the digits wanted.
_WELL_CONDITIONED = 1e6
# Eigenvalues of G below this share of the largest are rounding: columns are linearly dependent. Rows have no component
# in such a direction, so that its eigenvalue of G + αD, mere penalty, may be smaller.
_DEPENDENT = 1e-13
_PENALTY_ALONE = 1e10
# A row with less slack, 1 − leverage, is refitted: the formula divides by it.
_TOO_TIGHT = 1e-3


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
    decomposed : eigenvalues and eigenvectors of G, where they are known.
    """

    def __init__(
        self,
        products: Floats,
        covariances: Floats,
        alphas: Floats,
        decomposed: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.products, self.covariances, self.alphas = products, covariances, alphas
        found = np.linalg.eigh(products) if decomposed is None else decomposed
        self.values: Floats = found[0]
        self.axes: Floats = found[1]

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

        With d the row and D without it, the formula for a change of rank one needs dᵀ(G + αD)⁻¹d and dᵀ(G + αD)⁻¹c.

        Parameters
        ----------
        rows, y : (rows, p), (rows, outputs), from the means of all rows, as predictions are; with no intercept from
            zero.
        total : sum of the weights of all rows where an intercept is fitted, else None.
        squares : (rows, p) the diagonal of D without each row; None where it is one throughout.
        """
        # What leaving a row out takes from sums of products around the mean, and how far it moves the mean.
        away = np.ones(len(y)) if total is None else total / (total - weight)
        level = np.zeros_like(y) if total is None else -(weight / (total - weight))[:, None] * y
        own = (weight * away)[:, None] * y
        predictions = np.empty((len(self.alphas), *y.shape))
        doubtful = np.zeros(len(y), bool)
        blocks = self._plain_leverages(rows) if squares is None else self._penalties.blocks(rows, squares)
        for some, leverages, fits in blocks:
            slack = 1.0 - (weight * away)[some] * leverages
            tight = ~(slack > _TOO_TIGHT)
            doubtful[some] = tight.any(axis=0)
            slack[tight] = 1.0
            fits -= leverages[..., None] * own[some]
            fits *= (away[some] / slack)[..., None]
            predictions[:, some] = fits + level[some]
        return predictions, doubtful

    @cached_property
    def _penalties(self) -> RowPenalties:
        return RowPenalties(self.values, self.axes, ~self._dependent, self.products, self.covariances, self.alphas)

    def _plain_leverages(self, rows: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """The same as `RowPenalties.blocks` where D is the identity: along the axes of G everything is diagonal."""
        own = ~self._dependent
        axes, known = self.axes[:, own], self.axes[:, own].T @ self.covariances
        gains = 1.0 / (self.values[own] + self.alphas[:, None])
        for some in chunks(rows):
            along = rows[some] @ axes
            fits = np.stack([(gains * column) @ along.T for column in known.T], axis=-1)
            yield some, gains @ np.square(along).T, fits
