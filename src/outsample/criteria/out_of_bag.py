"""Out of bag: every row judged by the trees of a forest that did not see it, from one fit to all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from sklearn.pipeline import Pipeline

from outsample.checks import whole_number
from outsample.criteria.base import Criterion
from outsample.curve.intervals import error_of_mean
from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import with_params
from outsample.evidence.out_of_bag import (
    Growth,
    OutOfBagFits,
    Unseen,
    by_model,
    gains_by_correction,
    growths_of,
    kept_fits,
    objection_to_ranks,
)
from outsample.evidence.rows import at_all_rows, left_out_losses
from outsample.paths.out_of_bag import objection
from outsample.problem import Problem
from outsample.running.arrays import Floats
from outsample.running.run import LABEL_DRAWS, LEARNER_DRAWS, child_generator, child_integer

# Below so many unseen trees per row on average the estimate is said to be rough.
FEW_TREES = 10


@dataclass(frozen=True)
class OutOfBag(Criterion):
    """Fit a forest or a bag once, to all rows, and judge every row by the trees that did not see it.

    Serves RandomForest, ExtraTrees with `bootstrap=True` and Bagging of any learner, classifiers and regressors, alone
    or at the end of a pipeline whose earlier steps ignore y, with any loss or scorer, with weights. All values of
    `n_estimators` come from one fit, and that fit is the refitted model of a search: nothing is fitted twice. Forests
    of scikit-learn-intelex do not tell which rows a tree saw; their own out-of-bag predictions are taken as they are.

    A row is out of bag in about m = .37 M of M trees. `correction` turns the loss of an ensemble of m trees into that
    of one of M: exact in expectation for squared loss, (y − f̄)² − s²/m + s²/M with the variance s² of the m trees; for
    other losses and scorers by comparing the m trees with random halves of them, see `evidence.out_of_bag`. For
    zero-one loss that brings more noise than it takes away, so that its raw errors are taken, scikit-learn's own. So
    are those of log loss, which has no limit where no tree names the class: they are too high, and criterion "auto"
    takes folds for it. Predictions that are kept are raw, those of scikit-learn's `oob_decision_function_` and
    `oob_prediction_`.

    Scores that rank rows, such as the area under the ROC curve and average precision, compare two rows by the trees
    that saw neither, .14 M of them: what is said of rows by different trees would rank every row below its own class,
    which its trees have seen less of. Beyond 1000 rows each is compared with as many as that.

    Estimates the expected loss on a new sample of the ensemble fitted to all rows. `standard_error` is the standard
    deviation of the left-out losses over √n, which takes them as independent. Where n is small and columns are many
    the estimate is too high, because the bags without a row lean to the other labels; `n_draws` measures that on
    permuted labels, where the risk is known to be that of guessing. Ten draws or more: each is as noisy as the estimate
    itself. (Forests of 60 trees, 40 rows, 200 columns, ten of them of use: too high by .06, by .02 with four draws.)

    Parameters
    ----------
    correction : whether to correct for the number of trees; None for all losses but zero-one and log.
    n_draws : number of permuted label vectors for the calibration, each of which costs another fit per setting; 0 for
        none.
    keep_predictions : whether the curve keeps `out_of_fold`, the raw out-of-bag predictions.

    References
    ----------
    L. Breiman (1996), Out-of-bag estimation; S. Janitza and R. Hornung (2018), On the overestimation of random
    forest's out-of-bag error, PLoS ONE 13.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0)
    >>> result = outsample.estimate(forest, X, y, criterion=outsample.OutOfBag(), random_state=0)
    >>> result.n_fits, result.out_sample < 0.1
    (1, True)
    """

    correction: bool | None = None
    n_draws: int = 0
    keep_predictions: bool = field(default=False, kw_only=True)

    name: ClassVar[str] = "oob"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_draws", whole_number("n_draws", self.n_draws, 0))
        if not isinstance(self.correction, bool | np.bool_ | None):
            raise ValueError(f"correction must be True, False or None, got {self.correction!r}")

    def keeping_predictions(self) -> Criterion:
        return replace(self, keep_predictions=True)

    def check(self, problem: Problem) -> None:
        if problem.groups is not None:
            raise ValueError(
                'groups: criterion "oob" cannot keep groups together, bags draw single rows; use "kfold", which can'
            )
        if problem.path.pairwise:
            raise ValueError(
                'X: criterion "oob" cannot leave a row out of precomputed kernels and distances; use "kfold"'
            )
        reason = objection_to_ranks(problem)
        if reason is not None:
            raise ValueError(f'criterion "oob" {reason}; use "kfold" instead')
        for params in problem.path.params:
            reason = objection(with_params(problem.path.estimator, params))
            if reason is not None:
                raise ValueError(f'criterion "oob" {reason}; use "kfold" instead')

    def _curve(self, problem: Problem) -> RiskCurve:
        growths = growths_of(problem)
        found = by_model(growths, self._fitted(problem, growths))
        calibration = self._calibration(problem, growths, found)
        out_sample = found.risk - calibration.mean(axis=0)
        table = self._table(problem, found, out_sample)
        head = ", the earlier steps of the pipeline fitted once to all rows" if _behind_others(problem) else ""
        return problem.curve(
            in_sample=found.in_sample,
            out_sample=out_sample,
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}, of an ensemble fitted to all rows{head}",
            standard_error=_standard_error(table),
            monte_carlo_error=_error_of_draws(calibration),
            left_out=table,
            notes=tuple(_remarks(problem, found)),
        )

    def _corrects(self, problem: Problem) -> bool:
        return gains_by_correction(problem) if self.correction is None else bool(self.correction)

    def _fitted(self, problem: Problem, growths: Sequence[Growth]) -> Iterator[Unseen]:
        """The evidence of every growth; its fit is kept as the refitted model."""
        for g, unseen in enumerate(kept_fits(problem, growths, self._corrects(problem))):
            problem.progress(g + 1, len(growths) * (1 + self.n_draws))
            yield unseen

    def _calibration(self, problem: Problem, growths: Sequence[Growth], real: Unseen) -> Floats:
        """What each vector of permuted labels says that the risk is too high by, (draws, models).

        That is how much higher than guessing it is there. Where the real labels are learned, bags lean less to the
        other ones: the share counts that the real risk has of the way from the least possible one to guessing.
        """
        if self.n_draws == 0:
            return np.zeros((1, len(problem.path)))
        pessimism = [self._on_permuted(problem, growths, draw) for draw in range(self.n_draws)]
        least, guessing = problem.loss.range[0], _guessing(problem, real)
        share = np.clip((real.risk - least) / (guessing - least), 0.0, 1.0) if np.isfinite(least) else 1.0
        return np.stack(pessimism) * share

    def _on_permuted(self, problem: Problem, growths: Sequence[Growth], draw: int) -> Floats:
        """How much higher than guessing the risk is on permuted labels, (models,)."""
        permuted = problem.relabelled(child_generator(problem.seed, LABEL_DRAWS, draw).permutation(problem.y))
        seed = child_integer(problem.seed, LEARNER_DRAWS, draw)
        fits = OutOfBagFits(permuted, growths, self._corrects(problem), seed)
        found = []
        for g, unseen in enumerate(fits.results(permuted, problem.n_jobs, f"permuted out of bag/{draw}")):
            fits.models.pop(g, None)
            problem.progress(len(growths) * (1 + draw) + g + 1, len(growths) * (1 + self.n_draws))
            found.append(unseen)
        every = by_model(growths, found)
        return every.risk - _guessing(problem, every)

    def _table(self, problem: Problem, found: Unseen, out_sample: Floats) -> LeftOut | None:
        """The losses of rows, moved so that their mean is the estimate.

        A loss of whole sets judges the rows that every model left out.
        """
        table, known = None, np.flatnonzero((found.counts != 0).all(axis=0))
        by_rows = problem.loss.per_row or problem.loss.ranks
        if not by_rows and len(known) > 1:
            everywhere = len(known) == problem.n_samples
            table = left_out_losses(problem, found.predictions, tested=None if everywhere else known)
        if by_rows:
            table = LeftOut(found.losses - (found.risk - out_sample)[:, None], problem.weight)
        elif table is not None and table.losses is not None:
            table = replace(table, losses=table.losses - (table.risk - out_sample)[:, None])
        if not self.keep_predictions:
            return table
        kept = at_all_rows(problem, found.predictions)
        return LeftOut(None, problem.weight, predictions=kept) if table is None else replace(table, predictions=kept)


def _guessing(problem: Problem, found: Unseen) -> Floats:
    """Risk of every model's predictions for labels that have nothing to do with them, (models,)."""
    risks = []
    for predictions, known in zip(found.predictions, found.counts != 0, strict=True):
        weight = None if problem.weight is None else problem.weight[known]
        risks.append(float(problem.loss.crossed_mean(problem.y, predictions[known], weight, problem.label_weight)))
    return np.array(risks)


def _behind_others(problem: Problem) -> bool:
    estimator = problem.path.estimator
    return isinstance(estimator, Pipeline) and len(estimator.steps) > 1


def _standard_error(table: LeftOut | None) -> Floats | None:
    """Spread of the left-out losses of each model over the root of their number, (models,)."""
    if table is None or table.losses is None:
        return None
    errors = []
    for losses in table.losses:
        known = ~np.isnan(losses)
        weight = None if table.weight is None else table.weight[known]
        errors.append(error_of_mean(losses[None, known], weight)[0] if known.any() else np.nan)
    return np.array(errors)


def _error_of_draws(calibration: Floats) -> Floats | None:
    n = len(calibration)
    return None if n < 2 else np.asarray(calibration.std(axis=0, ddof=1) / np.sqrt(n))


def _remarks(problem: Problem, found: Unseen) -> Iterator[str]:
    """What a reader of the numbers should know of bags."""
    counts = found.counts
    if (counts < 0).any():
        yield "forests of scikit-learn-intelex do not tell their bags: out-of-bag errors are raw, a little too high"
    never = (counts == 0).sum(axis=1)
    if never.any():
        yield f"{never.max()} of {problem.n_samples} rows were seen by all trees of an ensemble, and do not count there"
    trees = np.where(counts >= 0, counts, np.inf).mean(axis=1)
    if (trees < FEW_TREES).any():
        yield (
            f"a row is left out by {trees.min():.1f} trees on average in the smallest ensemble: below {FEW_TREES} the "
            "estimate is rough; raise n_estimators"
        )
