"""Sums over rows that determine every ridge fit: they add up over blocks of rows, and a row is taken away.

With G the sums of squares and products of centred columns and c those with y, ridge is (G + αD)⁻¹c, D = diag(s²) where
a scaler stands before it and the identity otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from outsample.running.arrays import Bools, Floats, Rows, chunks
from outsample.running.threads import cached_property

# Largest ratio of eigenvalues of G + αD for which sums of products keep the digits wanted.
_WELL_CONDITIONED = 1e6
# Eigenvalues of G below this share of the largest are rounding: columns are linearly dependent. Rows have no component
# in such a direction, so that its eigenvalue of G + αD, mere penalty, may be smaller.
_DEPENDENT = 1e-13
_PENALTY_ALONE = 1e10
# Rows with less slack, 1 − leverage, are nearly determined by themselves: the formula divides by it.
_TOO_TIGHT = 1e-3
# Where the other rows have less than this share of a column's variance, the difference of sums has lost digits.
_TOO_LITTLE = 1e-4
# Where the variance of a column is a smaller share of its mean square, sums have lost digits.
_NEAR_CONSTANT = 1e-10
# Numbers in a stack of matrices that are solved together.
_STACK = 2**20
_EPS = float(np.finfo(np.float64).eps)


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

    def moved(self, rows: Floats, y: Floats) -> Moments:
        """The sums of the same rows and labels with these added to each of them."""
        n = self.weight
        return Moments(
            n,
            self.rows + n * rows,
            self.y + n * y,
            self.products + np.outer(rows, self.rows) + np.outer(self.rows, rows) + n * np.outer(rows, rows),
            self.covariances + np.outer(rows, self.y) + np.outer(self.rows + n * rows, y),
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
        found = np.linalg.eigh(products)
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

    @cached_property
    def coefficients(self) -> Floats:
        """(G + αI)⁻¹c, (models, p, outputs)."""
        along = self.axes.T @ self.covariances
        gains = 1.0 / (self.values + self.alphas[:, None])
        return np.asarray(self.axes @ (gains[:, :, None] * along))

    def without_each(
        self, rows: Floats, y: Floats, weight: Floats, total: float | None, squares: Floats | None
    ) -> tuple[Floats, Bools]:
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
        blocks = self._along_axes(rows) if squares is None else self._solved_row_by_row(rows, squares)
        for some, leverages, fits in blocks:
            slack = 1.0 - (weight * away)[some] * leverages
            tight = ~(slack > _TOO_TIGHT)
            doubtful[some] = tight.any(axis=0)
            slack[tight] = 1.0
            fits -= leverages[..., None] * own[some]
            fits *= (away[some] / slack)[..., None]
            predictions[:, some] = fits + level[some]
        return predictions, doubtful

    def _along_axes(self, rows: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """(which rows, dᵀ(G + αI)⁻¹d (models, some), dᵀ(G + αI)⁻¹c): along the axes of G everything is diagonal."""
        own = ~self._dependent
        axes, known = self.axes[:, own], self.axes[:, own].T @ self.covariances
        gains = 1.0 / (self.values[own] + self.alphas[:, None])
        for some in chunks(rows):
            along = rows[some] @ axes
            fits = np.stack([(gains * column) @ along.T for column in known.T], axis=-1)
            yield some, gains @ np.square(along).T, fits

    def _solved_row_by_row(self, rows: Floats, squares: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """The same where each row has a penalty of its own: a system of p equations for every row and α."""
        p = rows.shape[1]
        step = max(1, _STACK // max(1, p * p * len(self.alphas)))
        for start in range(0, len(rows), step):
            some = slice(start, min(start + step, len(rows)))
            matrices = np.broadcast_to(self.products, (len(self.alphas), some.stop - start, p, p)).copy()
            matrices[..., np.arange(p), np.arange(p)] += self.alphas[:, None, None] * squares[some]
            solved = np.linalg.solve(matrices, rows[some][..., None])[..., 0]
            yield some, np.einsum("ij,mij->mi", rows[some], solved), solved @ self.covariances


@dataclass(frozen=True, eq=False)
class RidgeOfMoments:
    """Ridge fits from sums over rows, with or without a scaler before them; picklable.

    Attributes
    ----------
    at, level : (p,) and (outputs,), where columns and labels are taken from.
    scale : (p,) unit of each column.
    live : columns that vary; the others have no coefficient.
    mean, variance : (p,) of each column in the eyes of the scaler; a variance of zero where it is constant.
    solved : fits to the columns that vary, in these units.
    n, total : rows fitted, and the sum of their weights.
    scaled, intercept : whether columns are taken in units of their standard deviations; whether there is an intercept.
    """

    at: Floats
    level: Floats
    scale: Floats
    live: Rows
    mean: Floats
    variance: Floats
    solved: RidgeOfProducts
    n: float
    total: float
    scaled: bool
    intercept: bool
    sound: bool

    @classmethod
    def of(
        cls,
        moments: Moments,
        scaled: bool,
        intercept: bool,
        alphas: Floats,
        origin: Floats,
        level: Any,
        unweighted: Moments | None = None,
    ) -> RidgeOfMoments:
        """The fits by sums from an origin of columns and labels; a scaler takes those without weights."""
        from_origin = moments if intercept else moments.moved(origin, np.atleast_1d(level))
        products, covariances, at, mean = from_origin.centred(intercept)
        of_scaler = moments if unweighted is None else unweighted
        squares, _, means, _ = of_scaler.centred(True)
        n, variance, means = of_scaler.weight, np.diagonal(squares) / of_scaler.weight, means + origin
        # As scikit-learn tells constant columns.
        varies = variance > n * _EPS * variance + np.square(n * means * _EPS)
        lost = varies & (variance < _NEAR_CONSTANT * np.diagonal(of_scaler.products) / n)
        live = np.flatnonzero(varies) if intercept else np.arange(len(variance))
        scale = np.where(varies & scaled, np.sqrt(np.maximum(variance, 0.0)), 1.0)
        units = scale[live]
        solved = RidgeOfProducts(
            products[np.ix_(live, live)] / np.outer(units, units), covariances[live] / units[:, None], alphas
        )
        sound = bool(not lost.any() and n > len(live) + 1 and solved.sound)
        own_level = mean + level if intercept else mean
        own_at, variance = at + origin if intercept else at, np.where(varies, variance, 0.0)
        total = moments.weight
        return cls(own_at, own_level, scale, live, means, variance, solved, n, total, scaled, intercept, sound)

    @property
    def coefficients(self) -> Floats:
        """Of the columns in units of `scale`, (models, p, outputs)."""
        found = self.solved.coefficients
        whole = np.zeros((len(found), len(self.scale), found.shape[2]))
        whole[:, self.live] = found
        return whole

    def _rows(self, X: Floats) -> Floats:
        """Rows of X in units of `scale`, from where they are taken, columns that vary only."""
        return np.asarray((X[:, self.live] - self.at[self.live]) / self.scale[self.live])

    def predictions(self, X: Floats) -> Floats:
        """Of every model, (models, rows, outputs)."""
        return np.asarray(self.level + self._rows(X) @ self.solved.coefficients)

    def left_out(self, X: Floats, y: Floats, weight: Floats) -> tuple[Floats, int]:
        """(predictions of rows left out one by one, number of rows for which digits are lost), y being (rows, outputs).

        Without a row of weight one the scaler has other variances, in units of which the columns are penalised.
        """
        squares = None
        if self.scaled:
            n, variance = self.n, self.variance[self.live]
            apart = np.square(X[:, self.live] - self.mean[self.live])
            # Where a column is constant, this share makes its unit stay what it is.
            share = np.divide(apart, variance, out=np.full_like(apart, 1 - 1 / n), where=variance > 0)
            squares = n / (n - 1) * (1 - share / (n - 1))
        total = self.total if self.intercept else None
        found, doubtful = self.solved.without_each(self._rows(X), y - self.level, weight, total, squares)
        if squares is not None:
            doubtful |= (squares < _TOO_LITTLE).any(axis=1)
        return found + self.level, int(doubtful.sum())
