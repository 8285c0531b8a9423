"""Linear discriminant analysis of rows that are left out, one at a time.

Without row i the covariance matrix within classes is B − g d dᵀ, d the deviation of the row from the mean of its class.
Along the axes of B everything is diagonal, also with shrinkage, which adds a multiple of the identity; the inverse of
the difference follows by the formula of Sherman and Morrison (1950).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from outsample.paths.generative.linear_discriminants import Axes, LinearDiscriminants, centres_are_apart
from outsample.paths.generative.statistics import ClassMoments
from outsample.running.arrays import Array, Bools, Floats, Rows


class LeftOutRows:
    """Scores of rows by some models of the path without them.

    Parameters
    ----------
    owner : all models.
    models : positions of those that share their axes.
    statistics : of all rows.
    codes : (n,) classes of the rows.
    response : what is asked of the models.
    """

    def __init__(
        self, owner: LinearDiscriminants, models: Rows, statistics: ClassMoments, codes: Array, response: str
    ) -> None:
        self.models, self._owner, self._statistics, self._codes = models, owner, statistics, codes
        self._raw = response == "decision_function" and owner.n_classes > 2
        self._bases: dict[int, tuple[Axes, float]] = {}

    def scores(self, block: Rows) -> tuple[Floats, Bools]:
        """(scores (models, K, rows), doubts (models, rows)) of a block of rows."""
        codes, rows = self._codes[block], self._owner.table[block]
        values = np.zeros((len(self.models), self._owner.n_classes, len(codes)))
        doubt = np.ones((len(self.models), len(codes)), bool)
        if self._statistics.weight.sum() - 1 <= self._owner.n_classes:
            return values, doubt
        for code in np.unique(codes):
            inside = np.flatnonzero(codes == code)
            if self._statistics.weight[code] > 1:
                values[:, :, inside], doubt[:, inside] = self._of_class(int(code), rows[inside])
        return values, doubt

    def _of_class(self, code: int, rows: Floats) -> tuple[Floats, Bools]:
        """The same for rows of one class."""
        owner, shrinkage, mean = self._owner, self._owner.shrinkage[self.models], self._statistics.mean
        axes, trace = self._base(code)
        factor = owner.without(self._statistics, code)[1]
        apart = rows - mean[code]
        base, added = axes.mixed(shrinkage, trace - factor * np.square(apart).sum(axis=1), rows.shape[1])
        centres = np.vstack([mean, -owner.center]) if self._raw and not owner.by_svd else mean
        shifts = (mean[code] - np.delete(centres, code, axis=0)) @ axes.vectors
        forms = _forms(axes.vectors.T @ apart.T, shifts, base, added, (1.0 - shrinkage) * factor)
        doubt = owner.unreliable(axes, base, added, forms.left)
        left = self._statistics.weight.copy()
        left[code] -= 1.0
        prior = owner.prior(left)
        lever = self._statistics.weight[code] / left[code]
        values = np.insert(forms.others[:, : owner.n_classes - 1], code, lever**2 * forms.own, axis=1)
        values = np.log(prior)[:, None] - 0.5 * values
        if owner.by_svd and owner.n_classes > 2:
            products = forms.products(shifts / np.sqrt(base[0]), code, lever)
            doubt |= ~centres_are_apart(products, prior, owner.tol, len(axes.values))
            if self._raw:
                values += 0.5 * np.einsum("rkl,k,l->r", products, prior, prior)
        elif self._raw:
            values += 0.5 * forms.others[:, -1:]
        return values, doubt

    def _base(self, code: int) -> tuple[Axes, float]:
        """(axes, trace) of the covariance matrix but for the row's own part; one for all where classes are pooled."""
        key = 0 if self._statistics.kind == "pooled" else code
        if key not in self._bases:
            base, _ = self._owner.without(self._statistics, code)
            self._bases[key] = self._owner.axes(self.models, base), float(np.trace(base))
        return self._bases[key]


@dataclass(frozen=True)
class _Forms:
    """Quadratic forms in the inverse of B − g d dᵀ, of deviations of rows from their own class mean and from others.

    Attributes
    ----------
    own : (models, rows) form of d.
    others : (models, others, rows) forms of d + f.
    left : (models, rows) 1 − g dᵀB⁻¹d: how much the row leaves of its own direction.
    mixed : (models, others, rows) fᵀB⁻¹d.
    factor : (models, 1) g.
    """

    own: Floats
    others: Floats
    left: Floats
    mixed: Floats
    factor: Floats

    def products(self, shifts: Floats, code: int, lever: float) -> Floats:
        """Inner products of deviations from all class means, (rows, K, K), of the only model.

        `shifts` are in units of B; the deviation from the row's own class, at place `code`, is `lever` times d.
        """
        own = self.own[0] * self.left[0]
        mixed = np.insert(self.mixed[0], code, 0.0, axis=0).T
        all_shifts = np.insert(shifts, code, 0.0, axis=0)
        factor = np.ones(len(all_shifts))
        factor[code] = lever
        products = (own[:, None, None] + mixed[:, :, None] + mixed[:, None, :]) + all_shifts @ all_shifts.T
        along = own[:, None] + mixed
        products += (self.factor[0, 0] / self.left[0])[:, None, None] * along[:, :, None] * along[:, None, :]
        return np.asarray(products * np.outer(factor, factor))


def _forms(apart: Floats, shifts: Floats, base: Floats, added: Floats, factor: Floats) -> _Forms:
    """Forms of rows `apart`, (r, rows), from their class mean, which is `shifts`, (others, r), from the others."""
    from outsample._kernels.left_out_rows import BLOCK, shifted_forms

    own = np.zeros(added.shape)
    mixed = np.zeros((len(base), len(shifts), added.shape[1]))
    fixed = np.zeros_like(mixed)
    shifted_forms(
        np.ascontiguousarray(apart), np.ascontiguousarray(shifts), base, added, np.empty(BLOCK), own, mixed, fixed
    )
    left = 1.0 - factor[:, None] * own
    others = own[:, None] + 2.0 * mixed + fixed
    others += (factor[:, None] / left)[:, None] * np.square(own[:, None] + mixed)
    return _Forms(own / left, others, left, mixed, factor[:, None])
