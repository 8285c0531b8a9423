"""What models lost on rows that they had not seen: the evidence of rows, as one table.

Every criterion that leaves rows out fills it. Standard errors, honest scores, paired comparisons and the choice of
plausible models read it, whatever the criterion: folds, single rows, bags, or formulas that need no refit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from outsample.curve.intervals import effective_number, error_of_mean, of_units, telling_rows
from outsample.losses.base import Loss, weighted_mean
from outsample.running.arrays import Array, Floats, Rows

# Numbers a table may have, models × rows: 128 MB. Larger ones are not kept with a result.
LARGEST_TABLE = 2**24

NO_LOSSES = (
    "losses of single rows are not known here: the loss is not defined on parts of the rows, or the table was too "
    "large to be kept"
)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Losses of rows by models that were fitted without them.

    A loss that judges whole sets, such as the area under the ROC curve, has no loss per row. Its rows have the risk of
    the set they were judged with plus their influence on it: a fold, the rows outside a bag, or all rows together where
    folds are single rows. Rows that are ranked have the mean risk of all folds, and what their fold differs by belongs
    to those that carry its level, above all to rare ones. The mean over each set is its risk, and spreads and paired
    differences of the rows are right to first order (for the area they are exactly those of DeLong).

    Attributes
    ----------
    losses : (models, n) mean loss of each row over the fits that left it out; nan where none did. None where the loss
        cannot be computed without some of the rows, and where the table would be larger than `LARGEST_TABLE`.
    weight : (n,) weight of each row in a mean, None where all are equal.
    fold : (n,) the fold in which each row was left out, −1 where in none; None where rows may be in several.
    fold_risks : (folds, models) risk on the rows of each fold, as the loss judges them together; None where rows are
        not left out in folds, or only all of them together can be judged.
    fold_sizes : (folds,) rows of each fold, or outside each bag where these are judged as sets; None where nothing is
        judged in sets, and where rows have weights.
    predictions : (models, rows[, classes or outputs]) what the models said of the rows, kept on request only; rows of
        weight zero included. Class codes are positions in the sorted classes; −1 (codes) or nan where a row was never
        left out.
    groups : (n,) rows that belong together: groups are independent, their rows need not be. None where rows are.
    """

    losses: Floats | None
    weight: Floats | None = None
    fold: Rows | None = None
    fold_risks: Floats | None = None
    fold_sizes: Rows | None = None
    predictions: Array | None = None
    groups: Array | None = None

    @property
    def risk(self) -> Floats:
        """Mean loss of the rows that were left out, (models,)."""
        losses, weight, _ = self._known()
        return np.asarray(weighted_mean(losses, weight))

    @property
    def standard_error(self) -> Floats:
        """Standard error of `risk`, taking rows, or groups of them, as independent, (models,)."""
        return error_of_mean(*self._known())

    @property
    def sizes_of_sets(self) -> Rows | None:
        """Rows of each fold, or outside each bag; None where they are not known, as of all rows together."""
        if self.fold is None:
            return self.fold_sizes
        return np.bincount(self.fold[self.fold >= 0])

    def difference(self, first: int, second: int) -> tuple[float, float]:
        """(mean, standard error) of the difference between the losses of two models on the rows that both left out.

        Positive where the first model is worse. Rows, or groups of them, are taken as independent; what both models
        lose alike on a row cancels, so that the difference is known better than either risk.
        """
        if self.losses is None:
            raise ValueError(NO_LOSSES)
        apart = LeftOut((self.losses[first] - self.losses[second])[None], self.weight, groups=self.groups)
        return float(apart.risk[0]), float(apart.standard_error[0])

    def rows_that_tell(self, model: int) -> float | None:
        """Number of rows, or groups, that decide the standard error of one model's risk; None where all lost alike."""
        if self.losses is None:
            raise ValueError(NO_LOSSES)
        losses, weight = of_units(*LeftOut(self.losses[[model]], self.weight, groups=self.groups)._known())
        with np.errstate(invalid="ignore"):
            apart = losses - weighted_mean(losses, weight)[:, None]
            return float(telling_rows(apart if weight is None else apart * weight)[0]) or None

    def within_size(self) -> LeftOut:
        """The table as it is kept with a result: without the losses where they are more than `LARGEST_TABLE`.

        Risks of folds of one row are the losses once more.
        """
        if self.losses is None or self.losses.size <= LARGEST_TABLE:
            return self
        alone = self.fold_risks is not None and self.fold_risks.size == self.losses.size
        return replace(self, losses=None, **({"fold_risks": None, "fold_sizes": None} if alone else {}))

    def take(self, models: Rows) -> LeftOut:
        """The table of some models, in this order."""
        return replace(
            self,
            losses=None if self.losses is None else self.losses[models],
            fold_risks=None if self.fold_risks is None else self.fold_risks[:, models],
            predictions=None if self.predictions is None else self.predictions[models],
        )

    def unknown(self, n_models: int) -> LeftOut:
        """A table of the same rows and folds for models of which nothing is known."""
        alike = self.take(np.zeros(n_models, dtype=np.intp))
        return replace(
            alike,
            losses=_nothing_like(alike.losses),
            fold_risks=_nothing_like(alike.fold_risks),
            predictions=_nothing_like(alike.predictions),
        )

    @staticmethod
    def joined(tables: Sequence[LeftOut | None]) -> LeftOut | None:
        """The models of several tables, in their order; None where one is missing.

        Columns that only some of them have are left away, as are predictions of different kinds, and losses where all
        of them together are too many.
        """
        known = [table for table in tables if table is not None]
        if len(known) < len(tables):
            return None
        numbers = sum(table.losses.size for table in known if table.losses is not None)
        return replace(
            known[0],
            losses=_stacked([table.losses for table in known], 0) if numbers <= LARGEST_TABLE else None,
            fold_risks=_stacked([table.fold_risks for table in known], 1),
            predictions=_stacked([table.predictions for table in known], 0),
        )

    def _known(self) -> tuple[Floats, Floats | None, Array | None]:
        """(losses, weights, groups) of the rows that were left out by all models."""
        if self.losses is None:
            raise ValueError(NO_LOSSES)
        known = ~np.isnan(self.losses).any(axis=0)
        if known.all():
            return self.losses, self.weight, self.groups
        weight, groups = (None if values is None else values[known] for values in (self.weight, self.groups))
        return self.losses[:, known], weight, groups


def moments_of_losses(loss: Loss, y: Array, weight: Floats | None, blocks: Iterable[tuple[slice, Array]]) -> Floats:
    """(Weighted) mean and standard deviation of the losses of rows, and the standard error of the mean, (3, models).

    Parameters
    ----------
    blocks : (rows, predictions (models, rows)), block after block: they need not be held together.
    """
    sums, squares, first = [], [], None
    for rows, predicted in blocks:
        losses = loss.pointwise(y[rows], predicted)
        if first is None:
            # Around the mean of the first rows, so that squares do not lose the digits of a small spread.
            first = np.nan_to_num(losses.mean(axis=1), posinf=0.0)
        share = np.ones(losses.shape[1]) if weight is None else weight[rows]
        with np.errstate(invalid="ignore"):
            apart = losses - first[:, None]
            sums.append(_powers(apart, share))
            squares.append(sums[-1] if weight is None else _powers(apart, share**2))
    assert first is not None
    by_weight, by_square = np.sum(sums, axis=0), np.sum(squares, axis=0)
    m = effective_number(len(y), weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        total, mean = by_weight[0], by_weight[1] / by_weight[0]
        spread = by_weight[2] / total - mean**2
        error = (by_square[2] - 2 * mean * by_square[1] + mean**2 * by_square[0]) / total**2 * m / (m - 1)
        return np.stack([mean + first, np.sqrt(np.maximum(spread, 0.0)), np.sqrt(np.maximum(error, 0.0))])


def _powers(values: Floats, weight: Floats) -> Floats:
    """Sums of weights, of weighted values and of their squares, (3, models)."""
    return np.stack([np.full(len(values), weight.sum()), values @ weight, np.square(values) @ weight])


def times_drawn(n: int, groups: Array | None, rng: np.random.Generator) -> Rows:
    """How often each of n rows is in a bag of as many, or the group of each in one of as many groups, (n,)."""
    if groups is None:
        return np.bincount(rng.integers(n, size=n), minlength=n)
    names, code = np.unique(groups, return_inverse=True)
    return times_drawn(len(names), None, rng)[code.reshape(-1)]


def _nothing_like(values: Array | None) -> Array | None:
    """As many values as these that stand for none: not a number, −1 for class codes."""
    return None if values is None else np.full_like(values, -1 if values.dtype.kind in "iu" else np.nan)


def _stacked(arrays: Sequence[Array | None], axis: int) -> Array | None:
    """Arrays one after the other; None where one is missing or has another shape."""
    known = [array for array in arrays if array is not None]
    alike = len(known) == len(arrays) and len({np.delete(a.shape, axis).tobytes() for a in known}) == 1
    return np.concatenate(known, axis=axis) if alike else None
