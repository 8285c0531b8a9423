"""All label draws and all models of a path, in batches of bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from outsample.data.learners import FitError
from outsample.losses.base import Loss
from outsample.losses.whole_set import FRESH_LABELS, SetLoss
from outsample.problem import Problem
from outsample.resampling.labels import LabelDraws, Pool
from outsample.running.arrays import Array, Floats
from outsample.running.run import LEARNER_DRAWS, ChildIntegers
from outsample.running.workers import results_of

LABELS_AT_ONCE, DRAWS_AT_ONCE = 8 * 2**20, 16
"""Where nothing but labels is written down: more bytes only leave the processor's cache, unless draws are few."""


def measured_draws(problem: Problem, draws: LabelDraws, start: int, stop: int) -> Floats:
    """(optimism, in-sample error) of the fits to draws start … stop − 1, (2, stop − start, models).

    The optimism of the best constant, which has mean zero and which no learner can influence, is taken away (a control
    variate): for squared loss this leaves twice the covariance of fit and labels, (2/n) Σ (y*_i − ȳ)(g*_i − ȳ).
    """
    fits = _DrawnFits(problem, draws)
    size = _batch_size(problem, fits)
    batches = [range(i, min(i + size, stop)) for i in range(start, stop, size)]
    n_jobs = 1 if problem.design.batched else problem.n_jobs
    results, done = [], start
    finished = problem.finished("draws", draws.scheme, len(draws), start, stop, size)
    for result in results_of(fits, [(batch,) for batch in batches], n_jobs, finished):
        results.append(result)
        done += result.shape[1]
        problem.progress(done * problem.design.fits_per_draw, len(draws) * problem.design.fits_per_draw)
    return np.concatenate(results, axis=1)


def _batch_size(problem: Problem, fits: _DrawnFits) -> int:
    """Draws per batch: one where single draws go to workers, else as many as the memory budget holds."""
    design = problem.design
    if not design.batched:
        return 1
    lean = fits.statistic in design.abilities.sums
    per_row = 1 if lean else design.n_models * problem.fitted_width
    within_memory = problem.run.memory // (8 * design.n_samples * (per_row + 1))
    per_label = 1 if fits.draws_later else 8
    within_cache = max(DRAWS_AT_ONCE, LABELS_AT_ONCE // (per_label * design.n_samples)) if lean else within_memory
    return max(1, min(within_memory, within_cache))


class _DrawnFits:
    """Fits a batch of drawn label vectors and measures the optimism of each fit.

    Attributes
    ----------
    draws_later : label vectors are needed only while they are fitted, so they are drawn only then.
    """

    def __init__(self, problem: Problem, draws: LabelDraws) -> None:
        self.design, self.loss, self.response = problem.design, problem.loss, problem.response
        self.weight, self.seed, self.draws = problem.weight, problem.seed, draws
        self.pools = draws.scheme.pools(problem.y)
        # Rows without weights that any label may meet, and labels that are only rearranged: a score of whole sets has a
        # mean over them that is known without further draws.
        plain = self.weight is None and len(self.pools) == 1 and self.pools[0].rows is None
        self.rearranged = plain and self.pools[0].weight is None and draws.scheme.rearranges
        self.statistic = None if self.loss.fixed_labels and not self.rearranged else problem.statistic
        summed_up = self.statistic in self.design.abilities.sums and len(self.pools) == 1 and problem.y.ndim == 1
        # Labels that are only rearranged have the same sums always, and leave a constant no optimism. Where predictions
        # are written down it is measured all the same: it has their rounding errors.
        no_optimism = summed_up and draws.scheme.rearranges and self.weight is None
        self.constant = None if no_optimism else _best_constants(self.loss, self.pools, problem.y)
        self.draws_later = summed_up and self.constant is None and self.design.streams

    def __call__(self, batch: range) -> Floats:
        Y = self.draws.later(batch) if self.draws_later else self.draws[batch.start : batch.stop]
        seeds = ChildIntegers(self.seed, LEARNER_DRAWS, batch)
        try:
            in_sample, no_information = self._errors(Y, seeds, batch)
        except FitError as error:
            if len(batch) > 1:
                return self._one_by_one(batch)
            raise FitError(f"draw {batch.start + 1} of {len(self.draws)}: {error}") from error
        optimism = no_information - in_sample - self._constant_optimism(Y)[:, None]
        return np.stack([optimism, in_sample])

    def _one_by_one(self, batch: range) -> Floats:
        """The batch again, draw by draw, so that the one that failed can be named."""
        return np.concatenate([self(range(i, i + 1)) for i in batch], axis=1)

    def _errors(self, Y: Any, seeds: Sequence[int], batch: range) -> tuple[Floats, Floats]:
        """(in-sample error, error against labels without information), each (draws, models)."""
        pool = self.pools[0]
        if len(self.pools) == 1 and Y.ndim == 2:
            if self.statistic == "confusion":
                return self.loss.risk_and_crossed_mean(self.design.confusions(Y, seeds), pool.labels, pool.weight)
            if self.statistic == "moments":
                center = float(np.average(pool.labels, weights=pool.weight))
                return self.loss.risk_and_crossed_mean(self.design.moments(Y, center, seeds), pool.labels, pool.weight)
        if self.design.abilities.groups and self.rearranged:
            return self._errors_of_groups(Y, seeds, batch)
        return self._errors_of_rows(Y, self.design.fitted(Y, self.response, seeds), batch)

    def _errors_of_rows(self, Y: Array, fitted: Array, batch: range) -> tuple[Floats, Floats]:
        """As `_errors`, from the answers to all rows, (draws, models, n[, classes])."""
        if isinstance(self.loss, SetLoss):
            return self._errors_of_sets(self.loss, Y, fitted, batch)
        in_sample = self.loss.risk(Y[:, None], fitted, self.weight)
        return in_sample, crossed_over_pools(self.loss, self.pools, fitted, self.weight, sample_axis=2)

    def _errors_of_groups(self, Y: Array, seeds: Sequence[int], batch: range) -> tuple[Floats, Floats]:
        """As `_errors`, for models that answer groups of rows alike."""
        assert self.design.classes is not None
        errors, pool, n_classes = [], self.pools[0].labels, len(self.design.classes)
        for d, groups in enumerate(self.design.grouped(Y, self.response, seeds)):
            in_sample = self.loss.risk_of_groups(groups, groups.masses(Y[d : d + 1], n_classes))
            expected = None if in_sample is None else self.loss.permuted_mean_of_groups(groups, pool)
            if in_sample is None or expected is None:
                fitted = groups.answers[None, :, groups.group]
                errors.append(self._errors_of_rows(Y[d : d + 1], fitted, batch[d : d + 1]))
            else:
                errors.append((in_sample, expected[None]))
        in_samples, without_information = zip(*errors, strict=True)
        return np.concatenate(in_samples), np.concatenate(without_information)

    def _errors_of_sets(self, loss: SetLoss, Y: Array, fitted: Array, batch: range) -> tuple[Floats, Floats]:
        """As `_errors`; where no mean over labels is known, each fit is judged on fresh ones.

        Losses of sets may be undefined on some labels.
        """
        errors = np.empty((2, len(batch), fitted.shape[1]))
        for d, i in enumerate(batch):
            try:
                errors[0, d] = loss.risk(Y[d], fitted[d], self.weight)
                errors[1, d] = self._without_information(loss, fitted[d], i)
            except ValueError as error:
                raise ValueError(f"draw {i + 1} of {len(self.draws)}: loss {loss.name!r} fails: {error}") from error
        return errors[0], errors[1]

    def _without_information(self, loss: SetLoss, fitted: Array, draw: int) -> Array:
        """Error of the fit to a draw against labels without information, (models,)."""
        if loss.additive:
            return crossed_over_pools(loss, self.pools, fitted, self.weight, sample_axis=1)
        exact = loss.permuted_mean(self.pools[0].labels, fitted) if self.rearranged else None
        return (
            loss.mean_over_fresh(self.draws.fresh(draw, FRESH_LABELS), fitted, self.weight) if exact is None else exact
        )

    def _constant_optimism(self, Y: Any) -> Floats:
        if self.constant is None:
            return np.zeros(len(Y))
        expected = crossed_over_pools(self.loss, self.pools, self.constant, self.weight, sample_axis=0)
        return np.asarray(expected - self.loss.risk(Y, self.constant, self.weight))


def crossed_over_pools(
    loss: Loss, pools: list[Pool], prediction: Array, weight: Floats | None, sample_axis: int
) -> Floats:
    """Crossed mean where different rows could have met different labels."""
    if len(pools) == 1 and pools[0].rows is None:
        return loss.crossed_mean(pools[0].labels, prediction, weight, pools[0].weight)
    total: Any = 0.0
    share = 0.0
    for pool in pools:
        rows = np.arange(prediction.shape[sample_axis]) if pool.rows is None else pool.rows
        own_weight = None if weight is None else weight[rows]
        size = float(len(rows)) if own_weight is None else float(own_weight.sum())
        crossed = loss.crossed_mean(pool.labels, np.take(prediction, rows, axis=sample_axis), own_weight, pool.weight)
        total, share = total + size * crossed, share + size
    return np.asarray(total / share)


def _best_constants(loss: Loss, pools: list[Pool], y: Array) -> Array | None:
    """For every row the best constant of the labels it could have met, (n[, outputs])."""
    constants = np.empty(y.shape)
    for pool in pools:
        best = loss.best_constant(pool.labels, pool.weight)
        if best is None:
            return None
        constants[slice(None) if pool.rows is None else pool.rows] = best
    return constants
