"""The problem a criterion judges: data, a path of models, a loss; and what is computed once for all criteria."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from outsample.curve import RiskCurve
from outsample.data.learners import is_pairwise, takes_weight
from outsample.data.tables import Table, as_pairs, as_table, n_rows, rows
from outsample.data.target import Target, as_target
from outsample.losses.base import RELATIVE_ROUNDING, Loss, Statistic, weighted_mean
from outsample.losses.choice import choose_loss
from outsample.paths.base import Design, Path
from outsample.paths.dispatch import find_path
from outsample.running.arrays import Array, Floats, chunks
from outsample.running.progress import Progress, silent
from outsample.running.seeds import RandomState, child_integer, seed_sequence
from outsample.running.store import StoredUnits, UnitStore
from outsample.running.threads import cached_property, one_blas_thread
from outsample.running.units import fingerprint

MEMORY_BUDGET = 512 * 2**20

LARGEST_WEIGHT = 1e75

LABEL_DRAWS, LEARNER_DRAWS, REAL_FIT, ROW_SPLITS = range(4)


@dataclass(frozen=True, eq=False)
class AllRows:
    """The data as they came, where some rows have weight zero.

    A row of weight zero is no data: a problem has the other rows only. What names rows by their number, such as folds
    that a user lists, names these.

    Attributes
    ----------
    X, y, groups : all rows; y as in `Target.values`.
    counted : positions of the rows of positive weight.
    """

    X: Any
    y: Array
    groups: Array | None
    counted: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, path and loss, ready for any criterion.

    Attributes
    ----------
    X, target, weight, groups : the rows that count, those of positive weight. A weight of None means that all weights
        are one; weights that are all equal to another number matter to some learners, and stay.
    memory : bytes that predictions of one batch of draws may take.
    seed : root of all randomness; what is drawn from it has fixed addresses, so that every criterion, path and
        worker sees the same draws.
    """

    path: Path
    X: Any
    target: Target
    loss: Loss
    response: str
    weight: Floats | None
    groups: Array | None
    seed: np.random.SeedSequence
    n_jobs: int | None = None
    memory: int = MEMORY_BUDGET
    progress: Progress = silent
    store: UnitStore | None = None
    all_rows: AllRows | None = None

    @property
    def y(self) -> Array:
        """Labels as codes or real values, (n,) or (n, outputs)."""
        return self.target.values

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.target.values)

    @property
    def effective_n(self) -> float:
        """Number of equally weighted rows that carry the same information."""
        return float(self.n_samples) if self.weight is None else self.weight.sum() ** 2 / (self.weight**2).sum()

    @cached_property
    def label_weight(self) -> Floats | None:
        """What labels are drawn in proportion to, (n,): the weights, None where they are all equal."""
        return None if self.weight is None or np.ptp(self.weight) == 0 else self.weight

    @property
    def fitted_width(self) -> int:
        """Numbers that one prediction of one row consists of: classes, outputs or just one."""
        if self.response == "predict":
            return self.target.n_outputs
        return self.target.n_classes or 1

    @cached_property
    def scale(self) -> float:
        """The risk of predicting without looking at X, see `Loss.scale`."""
        return self.loss.scale(self.y, self.weight)

    @cached_property
    def rounding(self) -> float:
        """The risk that rounding alone may make of none: where risks are as small, or as close, digits are chance."""
        if self.target.classes is not None:
            return RELATIVE_ROUNDING * self.scale
        return self.loss.rounding(self.y)

    @property
    def statistic(self) -> Statistic | None:
        """The summary of a fit that the loss is computed from; None where predictions themselves are shorter."""
        n_classes = self.target.n_classes or 0
        long = self.loss.statistic == "confusion" and n_classes**2 > self.n_samples
        return None if long else self.loss.statistic

    @property
    def real_seed(self) -> int:
        """The learner's seed for the fit to the real labels."""
        return child_integer(self.seed, REAL_FIT)

    @cached_property
    def design(self) -> Design:
        """The path bound to all of X."""
        with one_blas_thread:
            return self.path.bind(self.X, self.target.classes, self.weight)

    @cached_property
    def fitted(self) -> Array:
        """In-sample predictions on the real labels, (models, n[, classes or outputs])."""
        return self._kept("fitted", lambda: self.design.fitted(self.y[None], self.response, [self.real_seed])[0])

    @cached_property
    def in_sample(self) -> Floats:
        """Risk of every model on the data it was fitted to, (models,)."""
        if self.response == "score":
            return self._kept("score", lambda: -self.design.scores(self.y, self.real_seed, None, self.y, self.weight))
        # Counting saves writing predictions down, but a loss whose standard error reads them has them anyway.
        if self.loss.unit_interval and self.design.lean(self.statistic):
            return np.asarray(self.loss.judged(self._confusion, self.y)[0][0])
        fitted = self.fitted
        return np.concatenate([self.loss.risk(self.y, fitted[part], self.weight) for part in chunks(fitted)])

    @cached_property
    def _confusion(self) -> Floats:
        return self._kept("confusion", lambda: self.design.confusions(self.y[None], [self.real_seed]))

    def _kept(self, name: str, compute: Callable[[], Array]) -> Array:
        """A fit to the real labels, taken from the store where it is there already."""
        finished = self.finished(name)
        known = None if finished is None else finished.get(0)
        if known is None:
            with one_blas_thread:
                known = np.asarray(compute(), order="C")
            if finished is not None:
                finished.put(0, known)
        return np.asarray(known)

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """What `compute` gives, computed the first time only: for criteria that share their resamples."""
        if key not in self._remembered:
            self._remembered[key] = compute()
        return self._remembered[key]

    @cached_property
    def _remembered(self) -> dict[Any, Any]:
        return {}

    def finished(self, kind: str, *details: Any) -> StoredUnits | None:
        """The finished units of one kind of work on this path, None where nothing is kept.

        Their address is made of all that tells them from other units of the same store: the models, what is read of
        them, and `details`. What is fixed for a whole store, such as the data, is no part of it.
        """
        if self.store is None:
            return None
        return StoredUnits(self.store, f"{kind}/{fingerprint(self._models, self.response, *details)}")

    @cached_property
    def _models(self) -> str:
        return fingerprint(self.path.name, self.path.estimator, self.path.params)

    def standard_error(self, out_sample: Floats) -> Floats | None:
        """Standard error of a risk at the level `out_sample`, (models,); None for losses of whole sets.

        Binomial for zero-one loss. Otherwise the in-sample losses, enlarged so that their mean is out_sample:
        not a number where the fit has no loss but rounding, or the estimate is not finite.
        """
        if self.loss.unit_interval:
            share = np.clip(out_sample, 0.0, 1.0)
            return np.asarray(np.sqrt(share * (1 - share) / self.effective_n))
        deviation = self._deviation_of_losses
        if deviation is None:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            enlarged = deviation * np.maximum(1.0, out_sample / self.in_sample)
        known = (self.in_sample > self.rounding) & np.isfinite(out_sample)
        return np.asarray(np.where(known, enlarged, np.nan) / np.sqrt(self.effective_n))

    @cached_property
    def _deviation_of_losses(self) -> Floats | None:
        """Standard deviation of the in-sample losses, (models,)."""
        fitted, squares = self.fitted, []
        for part in chunks(fitted):
            try:
                losses = self.loss.pointwise(self.y, fitted[part])
            except TypeError:
                return None
            spread = losses - self.in_sample[part, None]
            squares.append(weighted_mean(np.square(spread, out=spread), self.weight))
        return np.asarray(np.sqrt(np.concatenate(squares)))

    def on(self, path: Path) -> Problem:
        """The same problem over another path."""
        return replace(self, path=path)

    def curve(
        self,
        *,
        out_sample: Floats,
        criterion: str,
        estimand: str,
        n_fits: int,
        in_sample: Floats | None = None,
        limit: bool = False,
        **more: Any,
    ) -> RiskCurve:
        """A risk curve over this problem's path.

        Estimates beyond the range of the loss, such as a share of wrong labels below zero, which a difference of
        averages can be, become the nearest value that the loss can have.

        Parameters
        ----------
        in_sample : where the criterion has fitted the models itself.
        limit : whether out_sample is an upper limit, which ranks models also where it exceeds the range of the loss.
        """
        in_sample = self.in_sample if in_sample is None else in_sample
        least, greatest = self.loss.range
        out_sample = np.clip(out_sample, least, np.inf if limit else greatest)
        return RiskCurve(
            complexity=self.path.complexity,
            params=self.path.params,
            in_sample=in_sample,
            optimism=out_sample - in_sample,
            out_sample=out_sample,
            loss=self.loss,
            criterion=criterion,
            estimand=estimand,
            n_fits=n_fits,
            n_samples=self.n_samples,
            path=self.path.name,
            ordered=self.path.ordered,
            scale=self.scale,
            rounding=self.rounding,
            **more,
        )


def pose(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike | None,
    *,
    parameter: str | None = None,
    values: Sequence[Any] | None = None,
    loss: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    fast: bool = True,
    progress: Progress = silent,
) -> Problem:
    """Check everything a user hands over, and state the problem.

    Raises
    ------
    ValueError, TypeError
        One sentence naming the parameter and the value, before any fit.
    """
    _check_jobs(n_jobs)
    X = as_table(X)
    n = n_rows(X)
    target = as_target(y, estimator, n)
    if is_pairwise(estimator):
        X = as_pairs(X, type(estimator).__name__)
    weight = _checked_weight(sample_weight, n, estimator)
    groups, all_rows = _checked_groups(groups, n), None
    if weight is not None and (weight == 0).any():
        all_rows = AllRows(X, target.values, groups, np.flatnonzero(weight))
        X, target, weight, groups = _rows_that_count(all_rows, target, weight, estimator)
    chosen, response = choose_loss(loss, target, estimator, weighted=sample_weight is not None)
    if weight is not None and (weight == 1).all():
        weight = None
    path = find_path(estimator, parameter, values, response=response, weighted=weight is not None, fast=fast)
    return Problem(
        path=path,
        X=X,
        target=target,
        loss=chosen,
        response=response,
        weight=weight,
        groups=groups,
        seed=seed_sequence(random_state),
        n_jobs=n_jobs,
        progress=progress,
        all_rows=all_rows,
    )


def _rows_that_count(
    whole: AllRows, target: Target, weight: Floats, estimator: BaseEstimator
) -> tuple[Any, Target, Floats, Array | None]:
    """(X, target, weight, groups) without the rows of weight zero, and without classes that only those have."""
    counted = whole.counted
    labels = target.values if target.classes is None else target.classes[target.values]
    try:
        kept = as_target(labels[counted], estimator, len(counted))
    except ValueError as error:
        raise ValueError(f"sample_weight: without the rows of weight zero, {error}") from error
    X = rows(whole.X, counted, counted if is_pairwise(estimator) else None)
    return X, kept, weight[counted], None if whole.groups is None else whole.groups[counted]


def _check_jobs(n_jobs: Any) -> None:
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")


def _checked_weight(sample_weight: Any, n: int, estimator: BaseEstimator) -> Floats | None:
    if sample_weight is None:
        return None
    weight = _real_weight(sample_weight)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight must have one entry per row, shape ({n},), got {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError("sample_weight must be finite, non-negative and not all zero")
    largest = float(weight.max())
    if not 1 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight has {largest:.3g} as its largest value, squares of sums of such weights "
            f"{'overflow' if largest > 1 else 'vanish'}; rescale them"
        )
    if not takes_weight(estimator):
        raise ValueError(
            f"sample_weight: {type(estimator).__name__} takes no weights in fit; "
            "leave them out or use a learner that takes them"
        )
    return weight


def _real_weight(sample_weight: Any) -> Floats:
    weight = np.asarray(sample_weight)
    try:
        if weight.dtype.kind in "fiubO":
            return weight.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"sample_weight must be real numbers, got {weight.dtype}")


def _checked_groups(groups: Any, n: int) -> Array | None:
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups must have one entry per row, shape ({n},), got {labels.shape}")
    return labels
