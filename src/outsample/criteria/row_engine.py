"""Every model of a path on every fold of rows: one fit per fold where the path is nested, none where a design
knows what its models would say of left-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.learners import FitError
from outsample.losses import Floats
from outsample.problem import ROW_SPLITS, Problem
from outsample.running import child_generator, child_integer, one_blas_thread, spread
from outsample.splits import Rows, Split, Splits
from outsample.tables import rows

Array = NDArray[Any]

SPLIT_SEED, LEARNER_SEED = range(2)


@dataclass(frozen=True, eq=False)
class Tested:
    """What held-out rows said.

    Attributes
    ----------
    risks : (folds, models) risk of every model on the rows of each fold, which it never saw.
    out_of_fold : (models, n[, classes or outputs]) predictions, if they were asked for; −1 (codes) or nan where a
        row was never tested.
    n_fits : learning episodes, the fit to all rows included.
    """

    risks: Floats
    out_of_fold: Array | None
    n_fits: int


def split_seed(problem: Problem) -> int:
    """The seed of everything random about which rows are held out."""
    return child_integer(problem.seed, ROW_SPLITS, SPLIT_SEED)


def split_generator(problem: Problem) -> np.random.Generator:
    """The same randomness, for criteria that draw rows themselves."""
    return child_generator(problem.seed, ROW_SPLITS, SPLIT_SEED)


def judged_on_folds(
    problem: Problem, splits: Splits, *, partition: Rows | None, keep: bool = False, weighted: bool = True
) -> Tested:
    """Judge every model on the test rows of every split.

    Parameters
    ----------
    partition : (n,) the fold of each row, when a row's prediction may come from a closed form over this partition.
    keep : whether to keep the predictions.
    weighted : whether sample weights weigh the losses within a fold.
    """
    left_out = None if partition is None else _left_out(problem, partition)
    if left_out is not None:
        return _from_left_out(problem, splits, left_out, keep, weighted)
    return _from_refits(problem, splits, keep, weighted)


def _left_out(problem: Problem, partition: Rows) -> Array | None:
    with one_blas_thread():
        return problem.design.left_out_predictions(problem.y, partition, problem.response)


def _from_left_out(problem: Problem, splits: Splits, left_out: Array, keep: bool, weighted: bool) -> Tested:
    weight = problem.weight if weighted else None
    risks = [
        problem.loss.risk(problem.y[f.test], left_out[:, f.test], None if weight is None else weight[f.test])
        for f in splits.folds
    ]
    n_fits = problem.design.fits_per_draw
    problem.progress(n_fits, n_fits)
    kept = None
    if keep:
        kept = _nothing(left_out, problem.n_samples)
        for fold in splits.folds:
            kept[:, fold.test] = left_out[:, fold.test]
    return Tested(np.stack(risks), kept, n_fits)


def _from_refits(problem: Problem, splits: Splits, keep: bool, weighted: bool) -> Tested:
    judge = _Judge(problem, splits.folds, keep, weighted)
    risks, kept, n_fits = [], None, problem.design.fits_per_draw
    results = spread(judge, [(k,) for k in range(len(splits))], problem.n_jobs, problem.finished("folds"))
    for k, (risk, cost, *predicted) in enumerate(results):
        risks.append(risk)
        n_fits += int(cost)
        problem.progress(n_fits, n_fits + int(cost) * (len(splits) - k - 1))
        if keep:
            kept = _nothing(predicted[0], problem.n_samples) if kept is None else kept
            kept[:, splits.folds[k].test] = predicted[0]
    return Tested(np.stack(risks), kept, n_fits)


def _nothing(predicted: Array, n: int) -> Array:
    """Room for the predictions of n rows, all of them still missing."""
    missing: Any = -1 if np.issubdtype(predicted.dtype, np.integer) else np.nan
    return np.full((len(predicted), n, *predicted.shape[2:]), missing, dtype=predicted.dtype)


class _Judge:
    """Fits the whole path to the training rows of a fold and judges it on the test rows."""

    def __init__(self, problem: Problem, folds: Sequence[Split], keep: bool, weighted: bool) -> None:
        self.path, self.X, self.y, self.weight = problem.path, problem.X, problem.y, problem.weight
        self.classes, self.loss, self.response = problem.target.classes, problem.loss, problem.response
        self.seed, self.folds, self.keep, self.weighted = problem.seed, folds, keep, weighted

    def __call__(self, k: int) -> tuple[Array, ...]:
        """(risk of every model, learning episodes, predictions if they are kept)."""
        fold = self.folds[k]
        test_weight = None if self.weight is None or not self.weighted else self.weight[fold.test]
        try:
            predicted, cost = self._predictions(fold, child_integer(self.seed, ROW_SPLITS, LEARNER_SEED, k))
        except Exception as error:
            raise FitError(f"fold {k + 1} of {len(self.folds)}: {error}") from error
        risk = np.asarray(self.loss.risk(self.y[fold.test], predicted, test_weight), dtype=np.float64)
        return (risk, np.array(cost), predicted) if self.keep else (risk, np.array(cost))

    def _predictions(self, fold: Split, seed: int) -> tuple[Array, int]:
        weight = None if self.weight is None else self.weight[fold.train]
        design = self.path.bind(rows(self.X, fold.train), self.classes, weight)
        predicted = design.predict(self.y[fold.train], rows(self.X, fold.test), self.response, seed)
        return predicted, design.fits_per_draw
