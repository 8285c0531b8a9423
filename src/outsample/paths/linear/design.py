"""Designs whose fits are linear in y: closed forms and left-out predictions need no refit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from outsample.data.learners import constant_response, fit, is_pairwise, respond, with_params
from outsample.data.scalers import Rescaling
from outsample.data.tables import Table, n_rows, split_rows
from outsample.paths.base import Abilities, Design, Path, RowBlocks, Smoother, confusion_shares
from outsample.paths.linear.closed_forms import left_out, one_left_out
from outsample.paths.linear.fits import LinearFits, as_targets, combined, row_norms
from outsample.paths.linear.rescaled import RescaledRidge
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import cached_property


@dataclass(frozen=True)
class ModelBlock:
    """Models of a path that share one basis.

    Attributes
    ----------
    models : (models of the block,), their positions in the path.
    fits : their fits.
    evaluated : new X → (n_new, r), the basis at new rows.
    gains : (models of the block, r), what multiplies the coefficients at new rows.
    least_slack : (models of the block,), the slack, 1 − leverage for a single row, below which left-out rows are
        refitted; infinite where the closed form does not hold at all.
    """

    models: NDArray[np.intp]
    fits: LinearFits
    evaluated: Callable[[Any], Floats]
    gains: Floats
    least_slack: Floats


class LinearDesign(Design):
    """Regression by fits linear in y, bound to one X.

    Left-out predictions are exact. Scikit-learn refits the models where the closed form would lose digits: where a
    fold nearly determines its own fit, and where the numerical rank of the basis depends on the rows.

    Parameters
    ----------
    blocks : the models, those with the same basis together.
    refitted : position of a model → (estimator, X) to refit it on some of the rows; None when left-out predictions
        have no closed form because the basis itself depends on the rows.
    rescaled : how to make the same fits for a scaler before them that follows the rows; None where that is not known.
    """

    abilities = Abilities(sums=frozenset({"moments"}), smoother=True, row_blocks=True)

    def __init__(
        self,
        blocks: Sequence[ModelBlock],
        refitted: Callable[[int], tuple[Any, Any]] | None,
        classes: Array | None,
        weight: Floats | None,
        rescaled: Callable[[], RescaledRidge] | None = None,
    ) -> None:
        self.blocks = tuple(blocks)
        self.classes, self.weight = classes, weight
        self.n_models = sum(len(block.models) for block in self.blocks)
        self.n_samples = self.blocks[0].fits.n_samples
        self._refitted, self._make_rescaled = refitted, rescaled
        self.abilities = replace(self.abilities, leaves_out=refitted is not None)

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        if len(Y) == 1:
            return self._fitted_to(Y[0])[None]
        return np.stack([self._fitted_to(y) for y in Y])

    def _fitted_to(self, y: Array) -> Floats:
        self._learn(y)
        targets = as_targets(y)
        return self._over_blocks(lambda block: block.fits.fitted(targets))

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        self._learn(y)
        return self.linear_predictions(as_targets(y), X_new)

    def linear_predictions(self, targets: Floats, X_new: Table) -> Floats:
        """Real-valued predictions on X_new, (models, n_new[, outputs])."""

        def answer(block: ModelBlock) -> Floats:
            return combined(block.gains, block.fits.coefficients(targets), block.evaluated(X_new))

        return self._over_blocks(answer)

    @cached_property
    def smoother(self) -> Smoother | None:
        return _LinearSmoother(self)

    def fitted_blocks(self, y: Array, models: slice = slice(None)) -> RowBlocks:
        self._learn(y)
        blocks, targets = self._some(models), as_targets(y)
        scaled = [block.fits.kept * block.fits.coefficients(targets) for block in blocks]
        for rows in self.blocks[0].fits.row_blocks():
            parts = [share @ block.fits.directions(rows).T for share, block in zip(scaled, blocks, strict=True)]
            yield rows, joined(blocks, parts)

    def left_out_blocks(self, y: Array, models: slice = slice(None)) -> RowBlocks:
        self._learn(y)
        blocks, targets = self._some(models), as_targets(y)
        first = range(self.n_models)[models].start
        each = [one_left_out(block.fits, targets, block.least_slack) for block in blocks]
        for parts in zip(*each, strict=True):
            for block, (_, values, doubtful) in zip(blocks, parts, strict=True):
                for m, row in doubtful:
                    inside = np.arange(self.n_samples) == row
                    values[m, row - parts[0][0].start] = self._refit(first + block.models[m], targets, inside)[0]
            yield parts[0][0], joined(blocks, [values for _, values, _ in parts])

    def _some(self, models: slice) -> list[ModelBlock]:
        """The blocks of some models, whose positions are among these."""
        wanted, blocks = range(self.n_models)[models], []
        for block in self.blocks:
            here = np.flatnonzero((block.models >= wanted.start) & (block.models < wanted.stop))
            if len(here) == len(block.models) and wanted.start == 0:
                blocks.append(block)
            elif len(here):
                own = block.models[here] - wanted.start
                blocks.append(
                    replace(block, models=own, fits=block.fits.of_models(here), least_slack=block.least_slack[here])
                )
        return blocks

    def moments(self, Y: Array, center: float, seeds: Sequence[int] | None = None) -> Floats:
        if Y.ndim > 2:
            return super().moments(Y, center, seeds)
        return np.stack([self._moments_of(y, center) for y in Y])

    def _moments_of(self, y: Array, center: float) -> Floats:
        self._learn(y)
        targets = as_targets(y)
        return self._over_blocks(lambda block: block.fits.moments(targets, center))

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        if self._refitted is None:
            return None
        self._learn(y)
        return self.left_out_targets(as_targets(y), folds)

    def left_out_targets(self, targets: Floats, folds: Array) -> Floats:
        """Left-out predictions of real targets, (models, n[, outputs])."""
        if targets.ndim == 1:
            return self.left_out_values(targets, folds)
        return np.stack([self.left_out_values(column, folds) for column in targets.T], axis=-1)

    @cached_property
    def _rescaled(self) -> RescaledRidge | None:
        return None if self._make_rescaled is None else self._make_rescaled()

    def leaves_out_behind(self, scaler: StandardScaler) -> bool:
        # Beside an intercept, means that are subtracted change nothing. Without one they change the fit, and they
        # follow the rows.
        shifts_nothing = not scaler.with_mean or all(block.fits.constant for block in self.blocks)
        return shifts_nothing and self._rescaled is not None and (not scaler.with_std or self._rescaled.sound)

    def leaves_rows_out_behind(self, scaler: StandardScaler) -> bool:
        # Every row has units of its own, and with them a system of equations.
        return self.leaves_out_behind(scaler) and not scaler.with_std

    def left_out_behind(self, scales: Rescaling, y: Array, response: str = "predict") -> tuple[Array, Rows] | None:
        self._learn(y)
        return self.left_out_targets_behind(scales, as_targets(y))

    def left_out_targets_behind(self, scales: Rescaling, targets: Floats) -> tuple[Array, Rows] | None:
        """The same as `left_out_behind` of real targets."""
        if scales.plain:
            if self._refitted is None:
                return None
            return self.left_out_targets(targets, scales.fold), np.empty(0, np.intp)
        if self._rescaled is None or scales.doubtful.any():
            return None
        found = self._rescaled.left_out(targets, scales.fold)
        return None if found is None else (found, np.empty(0, np.intp))

    def left_out_values(self, targets: Floats, folds: Array) -> Floats:
        """Left-out predictions of one output, (models, n)."""

        def answer(block: ModelBlock) -> Floats:
            predictions, doubtful = left_out(block.fits, targets, folds, block.least_slack)
            for m, fold in doubtful:
                inside = folds == fold
                predictions[m, inside] = self._refit(block.models[m], targets, inside)
            return predictions

        return self._over_blocks(answer)

    def _refit(self, model: int, targets: Floats, inside: NDArray[np.bool_]) -> Floats:
        """Predictions of one model for the rows `inside`, refitted to the others."""
        assert self._refitted is not None
        estimator, X = self._refitted(model)
        train, test = np.flatnonzero(~inside), np.flatnonzero(inside)
        weight = None if self.weight is None else self.weight[train]
        X_train, X_test = split_rows(X, train, test, pairwise=is_pairwise(estimator))
        learner = fit(clone(estimator), X_train, targets[train], weight)
        return respond(learner, X_test, "predict", None)

    def _over_blocks(self, answer: Callable[[ModelBlock], Floats]) -> Floats:
        """The answers of all blocks, (models, …), in the order of the path."""
        return joined(self.blocks, [answer(block) for block in self.blocks])


def joined(blocks: Sequence[ModelBlock], answers: Sequence[Floats]) -> Floats:
    """The answers of several blocks of models, (models, …), in the order of the path."""
    if len(blocks) == 1:
        return answers[0]
    whole = np.empty((sum(map(len, answers)), *answers[0].shape[1:]))
    for block, values in zip(blocks, answers, strict=True):
        whole[block.models] = values
    return whole


class _LinearSmoother(Smoother):
    """Leverages of linear fits: means over rows by a few rows at a time, and tables (models, n) where asked for."""

    _design: LinearDesign

    def __init__(self, design: LinearDesign) -> None:
        vars(self).update(_design=design, norms=self._row_norms, slacks=None)

    @cached_property
    def leverages(self) -> Floats:
        return self._table(lambda block, rows: block.fits.leverages(rows))

    @cached_property
    def row_sums(self) -> Floats:
        return self._table(lambda block, rows: block.fits.row_sums(rows))

    @cached_property
    def slack(self) -> Floats:
        return self._table(lambda block, rows: block.fits.slack(rows))

    def _row_norms(self) -> tuple[Floats, Floats]:
        both = self._table(lambda block, rows: np.stack(row_norms(block.fits, rows), axis=1))
        return both[:, 0], both[:, 1]

    def mean_leverage(self, weight: Floats | None) -> Floats:
        return self._design._over_blocks(lambda block: block.fits.mean_leverage(weight))

    def mean_row_sum(self, weight: Floats | None) -> Floats:
        return self._design._over_blocks(lambda block: block.fits.mean_row_sum(weight))

    def mean_excess(self, weight: Floats | None) -> Floats | None:
        def mean(block: ModelBlock) -> Floats:
            sums = np.zeros(len(block.models))
            for rows in block.fits.row_blocks():
                norms, left_out = row_norms(block.fits, rows)
                excess = np.maximum(np.subtract(left_out, norms, out=left_out), 0.0, out=left_out)
                sums += excess.sum(axis=1) if weight is None else excess @ weight[rows]
            return sums / (self._design.n_samples if weight is None else weight.sum())

        return self._design._over_blocks(mean)

    @property
    def trace(self) -> Floats:
        return self.mean_leverage(None) * self._design.n_samples

    @property
    def total(self) -> Floats:
        return self.mean_row_sum(None) * self._design.n_samples

    def _table(self, values: Callable[[ModelBlock, slice], Floats]) -> Floats:
        """Values of every row, (models[, …], n)."""

        def answer(block: ModelBlock) -> Floats:
            return np.concatenate([values(block, rows) for rows in block.fits.row_blocks()], axis=-1)

        return self._design._over_blocks(answer)


class LinearClassifierDesign(Design):
    """Classification by the signs of linear fits to ±1 labels, bound to one X.

    Each label vector costs one product of its own. Label vectors that lack some classes are fitted to the classes they
    have, as scikit-learn would.
    """

    abilities = Abilities(sums=frozenset({"confusion"}), leaves_out=True)

    def __init__(
        self,
        path: Path,
        block: ModelBlock,
        refitted: Callable[[int], tuple[Any, Any]],
        X: Floats,
        classes: Array,
        weight: Floats | None,
        rescaled: Callable[[], RescaledRidge] | None = None,
    ) -> None:
        self._linear = LinearDesign([block], refitted, None, weight, rescaled)
        self._path, self._X = path, X
        self.classes, self.weight = classes, weight
        self._class_labels = classes
        self.n_samples, self.n_models = self._linear.n_samples, self._linear.n_models

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        fits = self._linear.blocks[0].fits
        return np.stack([self._answers(y, fits.fitted, self.n_samples, response) for y in Y])

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._answers(
            y, lambda targets: self._linear.linear_predictions(targets, X_new), n_rows(X_new), response
        )

    def confusions(self, Y: Array, seeds: Sequence[int] | None = None) -> Floats:
        shares = [confusion_shares(y[None], self.fitted(y[None]), len(self._class_labels), self.weight) for y in Y]
        return np.concatenate(shares)

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        def values(targets: Floats) -> Floats:
            return self._linear.left_out_targets(targets, folds)

        answers = self._answers(y, values, self.n_samples, response)
        for fold in _folds_holding_a_whole_class(y, folds):
            inside = folds == fold
            answers[:, inside] = self._refit(y, inside, response)
        return answers

    def leaves_out_behind(self, scaler: StandardScaler) -> bool:
        return self._linear.leaves_out_behind(scaler)

    def leaves_rows_out_behind(self, scaler: StandardScaler) -> bool:
        return self._linear.leaves_rows_out_behind(scaler)

    def left_out_behind(self, scales: Rescaling, y: Array, response: str = "predict") -> tuple[Array, Rows] | None:
        unknown = []

        def values(targets: Floats) -> Floats:
            found = self._linear.left_out_targets_behind(scales, targets)
            unknown.append(found is None)
            return np.zeros((self.n_models, *targets.shape)) if found is None else found[0]

        answers = self._answers(y, values, self.n_samples, response)
        whole_classes = np.array(_folds_holding_a_whole_class(y, scales.fold), dtype=np.intp)
        return None if any(unknown) else (answers, whole_classes)

    def _answers(self, y: Array, values: Callable[[Floats], Floats], n_answers: int, response: str) -> Array:
        """Responses of every model, (models, n_answers[, K]), from the real values of ±1 targets."""
        self._learn(y)
        n_classes = len(self._class_labels)
        seen = np.unique(y)
        if len(seen) == 1:
            one = constant_response(int(seen[0]), n_answers, response, n_classes)
            return np.stack([one] * self.n_models)
        if len(seen) == 2:
            return _two_class_response(values(np.where(y == seen[1], 1.0, -1.0)), seen, response, n_classes)
        raw = values(np.where(y[:, None] == seen, 1.0, -1.0))
        if response == "predict":
            return np.asarray(seen[raw.argmax(axis=-1)])
        return _in_class_columns(raw, raw, seen, n_classes)

    def _refit(self, y: Array, inside: NDArray[np.bool_], response: str) -> Array:
        """Answers of every model on the rows `inside`, refitted to the others."""
        labels = y[~inside]
        if (labels == labels[0]).all():
            one = constant_response(int(labels[0]), int(inside.sum()), response, len(self._class_labels))
            return np.stack([one] * self.n_models)
        weight = None if self.weight is None else self.weight[~inside]
        answers = []
        for params in self._path.params:
            model = with_params(self._path.estimator, params)
            fit(model, self._X[~inside], self._class_labels[labels], weight)
            answers.append(respond(model, self._X[inside], response, self._class_labels))
        return np.stack(answers)


def _two_class_response(raw: Floats, seen: Array, response: str, n_classes: int) -> Array:
    """Codes or decision values from the fits to −1 for the first class seen and 1 for the second."""
    if response == "predict":
        return np.asarray(seen[(raw > 0).astype(np.intp)])
    if n_classes == 2:
        return raw
    return _in_class_columns(raw, np.stack([-raw, raw], axis=-1), seen, n_classes)


def _in_class_columns(raw: Floats, columns: Floats, seen: Array, n_classes: int) -> Floats:
    """Decision values in the columns of the classes seen; the other classes get less than any value."""
    full = np.empty((*columns.shape[:-1], n_classes))
    full[:] = raw.reshape(len(raw), -1).min(axis=1).reshape(-1, *[1] * (full.ndim - 1)) - 1.0
    full[..., seen] = columns
    return full


def _folds_holding_a_whole_class(y: Array, folds: Array) -> list[int]:
    """Folds that hold all rows of some class, so that the other rows lack it."""
    whole = [np.unique(folds[y == code]) for code in np.unique(y)]
    return sorted({int(present[0]) for present in whole if len(present) == 1})
