"""The whole path fitted to some rows and asked about others: the unit of work of criteria that resample rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from outsample.data.learners import FitError
from outsample.data.tables import split_rows
from outsample.losses.whole_set import SetLoss
from outsample.paths.base import Design
from outsample.problem import ROW_SPLITS, Problem
from outsample.resampling.rows import Split, Splits
from outsample.running.arrays import Array, Floats, Rows, chunks
from outsample.running.seeds import child_generator, child_integer
from outsample.running.threads import one_blas_thread
from outsample.running.workers import spread

# Addresses below ROW_SPLITS; 0 and 1 are those of folds and hold-outs.
BAGS, BAG_LEARNERS, NESTED_FOLDS, NESTED_LEARNERS = range(2, 6)


class FitsOnRows:
    """Fits every model of a problem's path to some rows; picklable, with no more than workers need."""

    def __init__(self, problem: Problem, address: int, unit: str, planned: int) -> None:
        self.path, self.X, self.y = problem.path, problem.X, problem.y
        self.classes, self.response, self.pairwise = problem.target.classes, problem.response, problem.path.pairwise
        self.seed, self.address, self.unit, self.planned = problem.seed, address, unit, planned

    def predictions(self, number: int, train: Rows, weight: Floats | None, test: Rows) -> Array:
        """Answers (models, test rows[, classes or outputs]) after unit `number` of the work was fitted to `train`."""
        seed = child_integer(self.seed, ROW_SPLITS, self.address, number)
        try:
            X_train, X_test = split_rows(self.X, train, test, pairwise=self.pairwise)
            design = self.path.bind(X_train, self.classes, weight)
            return design.predict(self.y[train], X_test, self.response, seed)
        except Exception as error:
            raise FitError(f"{self.unit} {number + 1} of {self.planned}: {error}") from error


SPLIT_SEED, LEARNER_SEED = range(2)

# Address of the learners of further partitions, beyond those of any fold.
FURTHER = 2**31


@dataclass(frozen=True, eq=False)
class Tested:
    """What held-out rows said.

    Attributes
    ----------
    risks : (folds, models) risk of every model on the rows of each fold, which it never saw; None where only all
        rows together can be judged.
    out_of_fold : (models, n[, classes or outputs]) predictions, if they were asked for; −1 (codes) or nan where a
        row was never tested.
    n_fits : learning episodes, the fit to all rows included.
    """

    risks: Floats | None
    out_of_fold: Array | None
    n_fits: int


def split_seed(problem: Problem, partition: int = 0) -> int:
    """The seed of everything random about which rows are held out; others for further partitions of them."""
    return child_integer(problem.seed, ROW_SPLITS, SPLIT_SEED, *([partition] if partition else []))


def split_generator(problem: Problem) -> np.random.Generator:
    """The same randomness, for criteria that draw rows themselves."""
    return child_generator(problem.seed, ROW_SPLITS, SPLIT_SEED)


def judged_on_folds(
    problem: Problem,
    splits: Splits,
    *,
    partition: Rows | None,
    keep: bool = False,
    weighted: bool = True,
    pooled: bool = False,
    number: int = 0,
) -> Tested:
    """Judge every model on the test rows of every split.

    Parameters
    ----------
    partition : (n,) the fold of each row, when a row's prediction may come from a closed form over this partition.
    keep : whether to keep the predictions.
    weighted : whether sample weights weigh the losses within a fold.
    pooled : keep the predictions and judge no fold, for folds too small to be judged.
    number : of the partition, where there are several.
    """
    risk = None if pooled else _FoldRisk(problem, weighted)
    left_out = None if partition is None else _left_out(problem, partition)
    if left_out is not None:
        return _from_left_out(problem, splits, left_out, risk, keep or pooled)
    return _from_refits(problem, splits, risk, keep or pooled, number)


class _FoldRisk:
    """Risk of every model on the rows of a fold, (models,)."""

    def __init__(self, problem: Problem, weighted: bool) -> None:
        self.loss, self.y, self.weight = problem.loss, problem.y, problem.weight if weighted else None

    def __call__(self, test: Rows, predicted: Array) -> Floats:
        weight = None if self.weight is None else self.weight[test]
        return np.asarray(self.loss.risk(self.y[test], predicted, weight), dtype=np.float64)

    def of_each(self, splits: Splits, predicted: Array, keep: bool) -> Floats:
        """Risk of every model on the rows of every fold, (folds, models), given what they say of all rows.

        Predictions that are not to be kept may be written over.
        """
        tested = splits.tested
        if len(tested) > len(splits) or self.weight is not None or isinstance(self.loss, SetLoss):
            return np.stack([self(test, predicted[:, test]) for test in splits.tests])
        if not np.array_equal(tested, np.arange(len(self.y))):
            predicted = predicted[:, tested]
        reused = not keep and predicted.dtype == np.float64 and predicted.ndim == 2
        labels, losses = self.y[tested], predicted if reused else np.empty(predicted.shape[:2])
        for part in chunks(predicted):
            losses[part] = self.loss.pointwise(labels, predicted[part])
        return losses.T


def _left_out(problem: Problem, partition: Rows) -> Array | None:
    with one_blas_thread:
        return problem.design.left_out_predictions(problem.y, partition, problem.response)


def _from_left_out(problem: Problem, splits: Splits, left_out: Array, risk: _FoldRisk | None, keep: bool) -> Tested:
    n_fits = problem.design.fits_per_draw
    problem.progress(n_fits, n_fits)
    risks = None if risk is None else risk.of_each(splits, left_out, keep)
    if not keep:
        return Tested(risks, None, n_fits)
    kept, tested = _nothing(left_out, problem.n_samples), splits.tested
    kept[:, tested] = left_out[:, tested]
    return Tested(risks, kept, n_fits)


def _from_refits(problem: Problem, splits: Splits, risk: _FoldRisk | None, keep: bool, number: int) -> Tested:
    judge = _Judge(problem, splits.folds, risk, keep, number)
    risks, kept, n_fits = [], None, problem.design.fits_per_draw
    finished = problem.finished(f"folds/{number}" if number else "folds", risk is None, keep)
    results = spread(judge, [(k,) for k in range(len(splits))], problem.n_jobs, finished)
    for k, (cost, fold_risk, *predicted) in enumerate(results):
        n_fits += int(cost)
        problem.progress(n_fits, n_fits + int(cost) * (len(splits) - k - 1))
        risks.append(fold_risk)
        if keep:
            kept = _nothing(predicted[0], problem.n_samples) if kept is None else kept
            kept[:, splits.folds[k].test] = predicted[0]
    return Tested(None if risk is None else np.stack(risks), kept, n_fits)


def _nothing(predicted: Array, n: int) -> Array:
    """Room for the predictions of n rows, all of them still missing."""
    missing: Any = -1 if np.issubdtype(predicted.dtype, np.integer) else np.nan
    return np.full((len(predicted), n, *predicted.shape[2:]), missing, dtype=predicted.dtype)


def at_all_rows(problem: Problem, predicted: Array | None) -> Array | None:
    """Predictions for the rows that count, at their places among all rows; missing for rows of weight zero."""
    whole = problem.all_rows
    if predicted is None or whole is None:
        return predicted
    placed = _nothing(predicted, len(whole.y))
    placed[:, whole.counted] = predicted
    return placed


class _Judge:
    """Fits the whole path to the training rows of a fold and judges it on the test rows."""

    def __init__(
        self, problem: Problem, folds: Sequence[Split], risk: _FoldRisk | None, keep: bool, number: int
    ) -> None:
        self.path, self.X, self.y, self.weight = problem.path, problem.X, problem.y, problem.weight
        self.classes, self.response, self.seed = problem.target.classes, problem.response, problem.seed
        self.folds, self.risk, self.keep, self.pairwise = folds, risk, keep, problem.path.pairwise
        self.address = (ROW_SPLITS, LEARNER_SEED, *([FURTHER, number] if number else []))

    def __call__(self, k: int) -> tuple[Array, ...]:
        """(learning episodes, risk of every model if folds are judged, predictions if they are kept)."""
        fold = self.folds[k]
        seed = child_integer(self.seed, *self.address, k)
        try:
            if self.response == "score":
                return self._own_scores(fold, seed)
            predicted, cost = self._predictions(fold, seed)
        except Exception as error:
            raise FitError(f"fold {k + 1} of {len(self.folds)}: {error}") from error
        risk = np.empty(0) if self.risk is None else self.risk(fold.test, predicted)
        return (np.array(cost), risk, predicted) if self.keep else (np.array(cost), risk)

    def _predictions(self, fold: Split, seed: int) -> tuple[Array, int]:
        design, X_test = self._bound(fold)
        return design.predict(self.y[fold.train], X_test, self.response, seed), design.fits_per_draw

    def _own_scores(self, fold: Split, seed: int) -> tuple[Array, ...]:
        design, X_test = self._bound(fold)
        weight = None if self.weight is None else self.weight[fold.test]
        scores = design.scores(self.y[fold.train], seed, X_test, self.y[fold.test], weight)
        return np.array(design.fits_per_draw), -scores

    def _bound(self, fold: Split) -> tuple[Design, Any]:
        """(the path bound to the training rows, X of the test rows)."""
        weight = None if self.weight is None else self.weight[fold.train]
        X_train, X_test = split_rows(self.X, fold.train, fold.test, pairwise=self.pairwise)
        return self.path.bind(X_train, self.classes, weight), X_test
