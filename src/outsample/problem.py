"""The problem a criterion judges: data × loss × path × run; and what is computed once for all criteria.

A `Question` is what is asked of every model: data, loss and run. A `Problem` is a question about one path, made once
the path is known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.curve.intervals import effective_number, of_units
from outsample.curve.left_out import LARGEST_TABLE, moments_of_losses
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import with_params
from outsample.data.samples import AllRows, Data, Target, as_data
from outsample.data.stability import STABLE, variance_factor
from outsample.data.tables import Table
from outsample.losses.base import RELATIVE_ROUNDING, Loss, SufficientStatistic, weighted_mean
from outsample.losses.choice import choose_loss
from outsample.losses.jackknife import NOTE as JACKKNIFE
from outsample.losses.whole_set import risk_of_scores
from outsample.paths.base import Design, Path
from outsample.paths.dispatch import find_path
from outsample.running.arrays import Array, Floats, chunks
from outsample.running.fits import Remembered
from outsample.running.progress import Progress, silent
from outsample.running.run import REAL_FIT, RandomState, Run, StoredUnits, as_run, child_integer
from outsample.running.threads import cached_property, one_blas_thread
from outsample.running.units import fingerprint

# Folds that criteria take unless they are told.
USUAL_FOLDS = 10


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of every model: its loss on new data like these.

    Attributes
    ----------
    data : the rows that count.
    loss : what a prediction costs.
    response : the method of a learner whose answers the loss reads, such as "predict_proba".
    run : randomness, workers, store.
    """

    data: Data
    loss: Loss
    response: str
    run: Run

    @property
    def X(self) -> Table:  # noqa: N802 — the name of the literature
        """The table of samples."""
        return self.data.X

    @property
    def y(self) -> Array:
        """Labels as codes or real values, (n,) or (n, outputs)."""
        return self.data.y

    @property
    def target(self) -> Target:
        """The labels, with the names of classes."""
        return self.data.target

    @property
    def weight(self) -> Floats | None:
        """Weights of the rows, (n,), None where all are one."""
        return self.data.weight

    @property
    def groups(self) -> Array | None:
        """Which rows belong together, (n,)."""
        return self.data.groups

    @property
    def all_rows(self) -> AllRows | None:
        """The rows as they came, None where all of them count."""
        return self.data.all_rows

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.data.n_samples

    @property
    def effective_n(self) -> float:
        """Number of equally weighted rows that carry the same information."""
        return self.data.effective_n

    @property
    def independent_n(self) -> float:
        """Number of equally weighted rows, or groups of them, that are independent of each other."""
        return effective_number(self.n_samples, of_units(np.zeros((1, self.n_samples)), self.weight, self.groups)[1])

    @property
    def label_weight(self) -> Floats | None:
        """What labels are drawn in proportion to, (n,)."""
        return self.data.label_weight

    @property
    def seed(self) -> np.random.SeedSequence:
        """Root of all randomness."""
        return self.run.seed

    @property
    def n_jobs(self) -> int | None:
        """Workers for work that is not batched."""
        return self.run.n_jobs

    @property
    def progress(self) -> Progress:
        """Called with (fits done, fits planned)."""
        return self.run.progress

    @property
    def real_seed(self) -> int:
        """The learner's seed for the fit to the real labels."""
        return child_integer(self.seed, REAL_FIT)

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
    def statistic(self) -> SufficientStatistic | None:
        """The summary of a fit that the loss is computed from; None where predictions themselves are shorter."""
        n_classes = self.target.n_classes or 0
        long = self.loss.statistic == "confusion" and n_classes**2 > self.n_samples
        return None if long else self.loss.statistic

    def over(self, path: Path) -> Problem:
        """The question asked of the models of a path."""
        return Problem(**{field.name: getattr(self, field.name) for field in fields(Question)}, path=path)


@dataclass(frozen=True, eq=False)
class Problem(Question):
    """A question about the models of one path, ready for any criterion.

    Attributes
    ----------
    path : the models, simplest first.
    """

    path: Path

    @cached_property
    def design(self) -> Design:
        """The path bound to all of X."""
        with one_blas_thread:
            return self.path.bind(self.X, self.target.classes, self.weight)

    @property
    def fitted(self) -> Array:
        """In-sample predictions on the real labels, (models, n[, classes or outputs])."""
        return np.asarray(self._stored("fitted", self._fitted))

    def _fitted(self) -> Array:
        return np.asarray(self.design.fitted(self.y[None], self.response, [self.real_seed])[0])

    @property
    def in_sample(self) -> Floats:
        """Risk of every model on the data it was fitted to, (models,)."""
        return np.asarray(self.once("in-sample", self._in_sample))

    def _in_sample(self) -> Floats:
        if self.response == "score":
            return self._stored(
                "score", lambda: risk_of_scores(self.design.scores(self.y, self.real_seed, None, self.y, self.weight))
            )
        # Counting saves writing predictions down, but a loss whose standard error reads them has them anyway.
        if self.loss.unit_interval and self.statistic in self.design.abilities.sums:
            return np.asarray(self.loss.risk_and_crossed_mean(self._confusion, self.y)[0][0])
        if self.in_row_blocks:
            return np.asarray(self._moments_of_losses[0])
        if self.one_model_at_a_time:
            return np.array([self.loss.risk(self.y, self.fitted_by(m), self.weight) for m in range(len(self.path))])
        fitted = self.fitted
        return np.concatenate([self.loss.risk(self.y, fitted[models], self.weight) for models in chunks(fitted)])

    @property
    def in_row_blocks(self) -> bool:
        """Whether answers of all models for all rows are too many to be held, and the design gives a few at a time."""
        return self.loss.per_row and self._too_large

    @property
    def one_model_at_a_time(self) -> bool:
        """The same where the loss judges whole sets, for which all answers of one model are held."""
        return not self.loss.per_row and self.loss.reads_predictions and self._too_large

    @property
    def _too_large(self) -> bool:
        large = len(self.path) * self.n_samples > LARGEST_TABLE and self.target.n_outputs == 1
        return large and self.response == "predict" and self.design.abilities.row_blocks

    def fitted_by(self, model: int) -> Array:
        """In-sample predictions of one model, (n[, classes or outputs])."""
        if not self._too_large:
            return np.asarray(self.fitted[model])
        with one_blas_thread:
            answers = self.design.fitted_blocks(self.y, slice(model, model + 1))
            return np.concatenate([values[0] for _, values in answers])

    @property
    def _moments_of_losses(self) -> Floats:
        """Mean and standard deviation of the in-sample losses, (2, models), a few rows at a time."""
        return np.asarray(self.once("moments", self._measured_moments))

    def _measured_moments(self) -> Floats:
        with one_blas_thread:
            return moments_of_losses(self.loss, self.y, self.weight, self.design.fitted_blocks(self.y))

    @property
    def _confusion(self) -> Floats:
        return self._stored("confusion", lambda: self.design.confusions(self.y[None], [self.real_seed]))

    def _stored(self, name: str, compute: Callable[[], Array]) -> Array:
        """A fit to the real labels, computed once, or taken from the store where it is there already."""
        return np.asarray(self.once(name, lambda: self._from_store(name, compute)))

    def _from_store(self, name: str, compute: Callable[[], Array]) -> Array:
        finished = self.finished(name)
        known = None if finished is None else finished.get(0)
        if known is None:
            with one_blas_thread:
                known = np.asarray(compute(), order="C")
            if finished is not None:
                finished.put(0, known)
        return np.asarray(known)

    def once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """What `compute` gives, computed the first time only: for criteria that share their resamples."""
        return self._remembered(key, compute)

    def knows(self, key: Hashable) -> bool:
        """Whether `once` has computed this."""
        return key in self._remembered

    @cached_property
    def _remembered(self) -> Remembered:
        return Remembered()

    def finished(self, kind: str, *details: Any) -> StoredUnits | None:
        """The finished units of one kind of work on this path, None where nothing is kept.

        Their address is made of all that tells them from other units of the same store: the models, what is read of
        them, and `details`. What is fixed for a whole store, such as the data, is no part of it.
        """
        if self.run.store is None:
            return None
        return StoredUnits(self.run.store, f"{kind}/{fingerprint(self._models, self.response, *details)}")

    @cached_property
    def _models(self) -> str:
        return fingerprint(self.path.name, self.path.estimator, self.path.params)

    def relabelled(self, y: Array) -> Problem:
        """The same models asked about other labels, by one worker; what depends on X alone is shared."""
        data = replace(self.data, target=Target(y, self.target.classes))
        other = replace(self, data=data, run=replace(self.run, n_jobs=1))
        vars(other)["design"] = self.design
        return other

    def standard_error(self, out_sample: Floats) -> Floats | None:
        """Standard error of a risk at the level `out_sample`, (models,); None for losses of whole sets nobody knows.

        Binomial for zero-one loss. Otherwise the spread of the in-sample losses, or influences, enlarged to the level
        of out_sample: not a number where the fit has no loss but rounding, or the estimate is not finite. In-sample
        losses do not tell how alike the rows of a group are, so a group counts as one row.
        """
        if self.loss.unit_interval:
            share = np.clip(out_sample, 0.0, 1.0)
            return np.asarray(np.sqrt(share * (1 - share) / self.independent_n))
        deviation = self._deviation_of_losses
        if deviation is None:
            return None
        perfect = 0.0 if self.loss.per_row else self.loss.range[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            enlarged = deviation * self._enlargement(out_sample - perfect, self.in_sample - perfect)
        known = (self.in_sample - perfect > self.rounding) & np.isfinite(out_sample)
        return np.asarray(np.where(known, enlarged, np.nan) / np.sqrt(self.independent_n))

    def _enlargement(self, out_sample: Floats, in_sample: Floats) -> Floats:
        """How much more losses spread at one risk than at another, both counted from the best one, (models,).

        Losses spread in proportion to their mean. Scores between a worst and a best one spread as shares p do, by
        √(p(1 − p)).
        """
        worst = np.subtract(*self.loss.range[::-1])
        if self.loss.per_row or not np.isfinite(worst):
            return np.maximum(1.0, out_sample / in_sample)
        shares = (np.clip(risk / worst, 0.0, 1.0) for risk in (out_sample, in_sample))
        spread, seen = (np.sqrt(share * (1 - share)) for share in shares)
        return np.asarray(spread / seen)

    @cached_property
    def _deviation_of_losses(self) -> Floats | None:
        """Standard deviation of the in-sample losses or influences, (models,)."""
        if not self.loss.per_row and (self.loss.jackknifed or not np.isfinite(self.loss.range[0])):
            return None
        if self.in_row_blocks:
            return np.asarray(self._moments_of_losses[1])
        fitted, squares = self.fitted, []
        for models in chunks(fitted):
            losses = self.loss.row_values(self.y, fitted[models], self.weight)
            spread = losses - self.in_sample[models, None]
            squares.append(weighted_mean(np.square(spread, out=spread), self.weight))
        return np.asarray(np.sqrt(np.concatenate(squares)))

    def curve(
        self,
        *,
        out_sample: Floats,
        criterion: str,
        estimand: str,
        in_sample: Floats | None = None,
        n_fits: int = 0,
        limit: bool = False,
        **more: Any,
    ) -> RiskCurve:
        """A risk curve over this problem's path.

        Estimates beyond the range of the loss, such as a share of wrong labels below zero, which a difference of
        averages can be, become the nearest value that the loss can have.

        Parameters
        ----------
        in_sample : where the criterion has fitted the models itself.
        n_fits : `Criterion.curve` counts them.
        limit : whether out_sample is an upper limit, which ranks models also where it exceeds the range of the loss.
        """
        in_sample = self.in_sample if in_sample is None else in_sample
        if self.loss.jackknifed and more.get("standard_error") is not None:
            more["notes"] = (*more.get("notes", ()), JACKKNIFE)
        own: dict[str, Any] = {"variance_factor": self._variance_factor, "rows_behind": self._rows_behind}
        if self.groups is not None:
            own["n_groups"] = self.independent_n
            note = f"{len(np.unique(self.groups))} groups are taken as independent, not their rows"
            more["notes"] = (*more.get("notes", ()), note)
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
            **(own | more),
        )

    @property
    def _variance_factor(self) -> Floats:
        """See `RiskCurve.variance_factor`: one for the learner, or one for each model where a grid chooses learners."""
        params = self.path.params
        if not any(hasattr(value, "get_params") for setting in params for value in setting.values()):
            return np.full(len(params), variance_factor(self.path.estimator))
        return np.array([variance_factor(with_params(self.path.estimator, setting)) for setting in params])

    @property
    def variance_factor_of_folds(self) -> Floats:
        """The same where rows are judged in folds.

        Rows that are ranked among those of their fold vary by which these are, and that is in the spread of their
        influences twice: where there is no information and a fold has m rows of either class, the variance is
        (m + 2)/(m + ½) times what it should be. No more than the factor of a stable learner is taken away for it
        (benchmarks/ranking.py).
        """
        if not self.loss.ranks:
            return self._variance_factor
        m = max(1.0, self._rows_behind / USUAL_FOLDS)
        return self._variance_factor / min(STABLE, (m + 2) / (m + 0.5))

    @property
    def _rows_behind(self) -> float:
        """Rows that decide a score: those of the smallest class, where classes are weighed against each other."""
        if self.loss.per_row or self.target.classes is None:
            return self.effective_n
        return float(np.bincount(self.y).min())


def pose(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike | None,
    *,
    parameter: str | None = None,
    values: Sequence[Any] | None = None,
    fast: bool = True,
    **asked: Any,
) -> Problem:
    """The problem of one estimator, or of the path along one of its parameters.

    Parameters
    ----------
    parameter, values : what runs along the path; None for the estimator as it is.
    fast : whether a path that knows the estimator may serve; False refits.
    asked : see `ask`.
    """
    question = ask(estimator, X, y, **asked)
    weighted = question.weight is not None
    path = find_path(estimator, parameter, values, response=question.response, weighted=weighted, fast=fast)
    return question.over(path)


def ask(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike | None,
    *,
    loss: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: Progress = silent,
) -> Question:
    """Check everything a user hands over, and state the question.

    Raises
    ------
    ValueError, TypeError
        One sentence naming the parameter and the value, before any fit.
    """
    run = as_run(random_state, n_jobs, progress)
    data = as_data(estimator, X, y, sample_weight, groups)
    chosen, response = choose_loss(loss, data.target, estimator, weighted=sample_weight is not None)
    return Question(data, chosen, response, run)
