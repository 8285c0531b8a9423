"""Nested cross-validation of Bates, Hastie & Tibshirani: pure functions of losses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from outsample.checks import whole_number
from outsample.criteria.base import Criterion
from outsample.curve.intervals import effective_number, of_units
from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import RiskCurve
from outsample.evidence.rows import NESTED_FOLDS, NESTED_LEARNERS, FitsOnRows
from outsample.losses.base import weighted_mean
from outsample.problem import Problem
from outsample.resampling.bags import drawing_units
from outsample.running.arrays import Array, Bools, Floats
from outsample.running.run import ROW_SPLITS, child_generator
from outsample.running.workers import results_of

Folds = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class NestedRepeat:
    """One random partition into K folds, for every model of a path.

    Attributes
    ----------
    outer : (models,) mean over rows of the loss of models fitted to the other K − 1 folds.
    inner : (models,) mean loss of models fitted to K − 2 folds.
    squared_gaps : (models,) mean over folds of (inner mean without the fold − mean of the fold)².
    fold_variance : (models,) mean over folds of the squared standard error of the fold's mean.
    row_variance : (models,) variance of the losses of single rows.
    """

    outer: Floats
    inner: Floats
    squared_gaps: Floats
    fold_variance: Floats
    row_variance: Floats


def nested_repeat(
    outer: Floats, inner: Floats, folds: Folds, weight: Floats | None = None, groups: Array | None = None
) -> NestedRepeat:
    """What one partition says.

    Parameters
    ----------
    outer : (models, n) loss of each row by the models fitted without its fold.
    inner : (K, models, n) loss of each row by the models fitted without its fold and without fold k; not read for
        rows of fold k itself.
    folds : (n,) fold of each row, 0 … K − 1.
    groups : (n,) rows that belong together, which are then what varies; None where each is alone.
    """
    w = np.ones(len(folds)) if weight is None else weight

    def units(losses: Floats, rows: Bools) -> tuple[Floats, Floats]:
        found, mass = of_units(losses[:, rows], w[rows], None if groups is None else groups[rows])
        return found, w[rows] if mass is None else mass

    gaps, variances, means, spreads, sizes = [], [], [], [], []
    for k in range(len(inner)):
        inside = folds == k
        (own, w_own), (rest, w_rest) = units(outer, inside), units(inner[k], ~inside)
        mean_in = weighted_mean(rest, w_rest)
        gaps.append((mean_in - weighted_mean(own, w_own)) ** 2)
        variances.append(_variance(own, w_own) / effective_number(len(w_own), w_own))
        means.append(mean_in)
        spreads.append(_variance(rest, w_rest))
        sizes.append(w_rest.sum())
    return NestedRepeat(
        outer=weighted_mean(outer, w),
        inner=np.average(means, axis=0, weights=sizes),
        squared_gaps=np.mean(gaps, axis=0),
        fold_variance=np.mean(variances, axis=0),
        row_variance=np.mean(spreads, axis=0),
    )


def _variance(losses: Floats, weight: Floats) -> Floats:
    """Unbiased variance of losses (models, rows); equal weights give the usual one."""
    spread = losses - weighted_mean(losses, weight)[:, None]
    total = weight.sum()
    return np.asarray((np.square(spread) * weight).sum(axis=-1) / (total - np.square(weight).sum() / total))


def nested_estimate(repeats: list[NestedRepeat], n_folds: int, effective_n: float) -> tuple[Floats, Floats]:
    """(risk, standard error), each (models,).

    The mean squared error of cross-validation is estimated by the mean squared gap minus what the fold's own mean
    varies (Bates, Hastie & Tibshirani 2024, Algorithm 1). Its root, brought from (K−1)/K n rows to n, is kept between
    the naive standard error and √K times it. The risk of models fitted to K − 2 folds is corrected for their smaller
    size by (1 + (K−2)/K) times its distance from ordinary cross-validation.
    """
    inner = np.mean([r.inner for r in repeats], axis=0)
    outer = np.mean([r.outer for r in repeats], axis=0)
    mean_squared_error = np.mean([r.squared_gaps - r.fold_variance for r in repeats], axis=0)
    naive = np.sqrt(np.mean([r.row_variance for r in repeats], axis=0) / effective_n)
    root = np.sqrt(np.maximum(mean_squared_error, 0.0) * (n_folds - 1) / n_folds)
    risk = inner - (1 + (n_folds - 2) / n_folds) * (inner - outer)
    return risk, np.clip(root, naive, np.sqrt(n_folds) * naive)


@dataclass(frozen=True)
class NestedCrossValidation(Criterion):
    """Cross-validation with the interval of Bates, Hastie & Tibshirani (2024).

    Inside the rows outside each fold, cross-validation is run once more, and its distance from the risk on the fold
    shows how wrong cross-validation is. Each pair of folds is left out once and serves both ways, so that one
    repeat costs K(K−1)/2 + K fits of the path.

    Estimates the loss on a new sample of the model fitted to all rows, corrected for the smaller size of the fits.
    `standard_error` estimates the root mean squared error of cross-validation around the error of *the very model
    fitted to these data*, so its interval covers that error and, being wider than the naive one, the error
    averaged over training sets as well. It is kept between the naive standard error and √K times it, and settles
    slowly: the paper uses 200 repeats. `monte_carlo_error` is what the random folds leave to chance in the estimate.

    Parameters
    ----------
    cv : number of folds K, at least 3. Folds are drawn at random, whole groups where the problem has groups.
    repeats : number of random partitions.

    References
    ----------
    S. Bates, T. Hastie and R. Tibshirani (2024), Cross-validation: what does it estimate and how well does it do it?,
    J. Am. Stat. Assoc. 119.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> nested = outsample.NestedCrossValidation(5, repeats=2)
    >>> result = outsample.estimate(Ridge(), X, y, criterion=nested, random_state=0)
    >>> low, high = result.interval(0.9)
    >>> low < result.out_sample < high
    True
    """

    cv: int = 10
    repeats: int = 10
    name: ClassVar[str] = "nested-kfold"

    def __post_init__(self) -> None:
        object.__setattr__(self, "cv", whole_number("cv", self.cv, 3))
        object.__setattr__(self, "repeats", whole_number("repeats", self.repeats))

    def check(self, problem: Problem) -> None:
        if not problem.loss.per_row:
            raise ValueError(
                f"criterion {self.name!r} needs one loss per sample, {problem.loss.name} judges whole sets; "
                'use "kfold" instead'
            )
        units = drawing_units(problem.n_samples, problem.groups)
        available = int(units.max()) + 1
        if 2 * self.cv > available:
            what = "rows" if problem.groups is None else "groups"
            raise ValueError(
                f"cv={self.cv} folds need at least two {what} each and there are {available}; "
                f"use at most {available // 2} folds"
            )

    def _curve(self, problem: Problem) -> RiskCurve:
        repeats, losses = [], np.zeros((len(problem.path), problem.n_samples))
        for repeat, outer in self._repeats(problem):
            repeats.append(repeat)
            losses += outer
        out_sample, standard_error = nested_estimate(repeats, self.cv, problem.independent_n)
        alone = np.stack([nested_estimate([r], self.cv, problem.independent_n)[0] for r in repeats])
        error = alone.std(axis=0, ddof=1) / np.sqrt(len(alone)) if len(alone) > 1 else np.full(alone.shape[1], np.nan)
        return problem.curve(
            out_sample=out_sample,
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}, of the model fitted to all rows",
            standard_error=standard_error,
            monte_carlo_error=error,
            left_out=LeftOut(losses / len(repeats), problem.weight, groups=problem.groups),
            variance_factor=None,
        )

    @property
    def _fits_per_repeat(self) -> int:
        return self.cv * (self.cv + 1) // 2

    def _repeats(self, problem: Problem) -> Iterator[tuple[NestedRepeat, Floats]]:
        """(what a repeat says, losses (models, n) by fits without the fold of each row), as they arrive."""
        units = drawing_units(problem.n_samples, problem.groups)
        folds = [_random_folds(units, self.cv, problem, r) for r in range(self.repeats)]
        left_out = [(k,) for k in range(self.cv)] + list(combinations(range(self.cv), 2))
        planned = self.repeats * len(left_out)
        tasks = ((r * len(left_out) + i, folds[r], out) for r in range(self.repeats) for i, out in enumerate(left_out))
        finished = problem.finished("nested folds", self.cv, self.repeats)
        results = results_of(_FoldFits(problem, planned), tasks, problem.n_jobs, finished)
        cost, models = problem.design.fits_per_draw, len(problem.path)
        for r in range(self.repeats):
            losses = np.zeros((self.cv, models, problem.n_samples))
            for i, out in enumerate(left_out):
                _note(losses, folds[r], out, next(results))
                problem.progress((r * len(left_out) + i + 2) * cost, (planned + 1) * cost)
            outer = np.take_along_axis(losses, folds[r][None, None], axis=0)[0]
            yield nested_repeat(outer, losses, folds[r], problem.weight, problem.groups), outer


def _note(losses: Floats, folds: Folds, out: tuple[int, ...], found: Floats) -> None:
    """Write down the losses of a fit without the folds `out`; [k, :, i] is row i without fold k and without its own."""
    asked = np.isin(folds, out)
    for k in out:
        others = folds[asked] != k if len(out) == 2 else np.ones(int(asked.sum()), dtype=bool)
        losses[k][:, np.flatnonzero(asked)[others]] = found[:, others]


def _random_folds(units: Folds, n_folds: int, problem: Problem, repeat: int) -> Folds:
    """Fold of each row, (n,), folds of equally many units up to one."""
    n_units = int(units.max()) + 1
    rng = child_generator(problem.seed, ROW_SPLITS, NESTED_FOLDS, repeat)
    of_unit = rng.permutation(np.arange(n_units) % n_folds)
    return np.asarray(of_unit[units], dtype=np.intp)


class _FoldFits:
    """Fits the path without some folds and gives the losses of their rows, (models, rows)."""

    def __init__(self, problem: Problem, planned: int) -> None:
        self.fits = FitsOnRows(problem, NESTED_LEARNERS, "fit", planned)
        self.loss, self.y, self.weight = problem.loss, problem.y, problem.weight

    def __call__(self, number: int, folds: Folds, out: tuple[int, ...]) -> Floats:
        asked = np.isin(folds, out)
        train = np.flatnonzero(~asked)
        weight = None if self.weight is None else self.weight[train]
        predicted = self.fits.predictions(number, train, weight, np.flatnonzero(asked))
        return np.asarray(self.loss.pointwise(self.y[asked], predicted), dtype=np.float64)
