"""Leave-one-out, over all rows or a random few."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from outsample.checks import whole_number
from outsample.criteria.base import RowCriterion
from outsample.criteria.cross_validation import folds_for_all, pooled_curve
from outsample.curve.intervals import error_of_mean
from outsample.curve.left_out import LeftOut, moments_of_losses
from outsample.curve.risk_curve import RiskCurve
from outsample.evidence.rows import Tested, evidence_of_folds, left_out_losses, split_generator
from outsample.losses.base import weighted_mean
from outsample.problem import Problem
from outsample.resampling.rows import Splits, one_row_out
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import one_blas_thread

# Stratified folds that take the place of single rows for scores that rank rows.
FOLDS_OF_RANKS = 10


@dataclass(frozen=True)
class LeaveOneOut(RowCriterion):
    """Every row, or a random few, is predicted by models fitted to all the others.

    Exact and without refitting for linear smoothers, nearest neighbours, naive Bayes and discriminant analysis, unless
    the table is ill-posed. With sample weights the losses of the left-out rows are weighted. A scorer that judges a
    whole set judges all left-out predictions together; each row then has that score and its influence on it in place of
    a loss. One that ranks rows, such as the area under the ROC curve, cannot: without a row its own class is rarer, so
    that every row would be ranked against its class. It is the mean over ten stratified folds in place of single rows,
    exact and without refitting for the same learners.

    Estimates the error of a model fitted to n − 1 rows. `standard_error` is the standard deviation of the n losses
    over √n. It takes the losses as independent; they are nearly so for stable learners, and the interval then covers
    the expected error over data sets a little more often than its level says, because the spread of the losses
    contains differences between rows that the mean averages out. It is no guarantee for unstable learners.
    With a budget, `monte_carlo_error` is what the choice of the B rows adds; the interval covers both.

    Parameters
    ----------
    budget : how many rows to leave out, chosen at random; None for all.
    keep_predictions : see `RowCriterion`.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = outsample.estimate(Ridge(), X, y, criterion=outsample.LeaveOneOut(), random_state=0)
    >>> round(result.out_sample, 0)
    3328.0
    """

    budget: int | None = None
    name: ClassVar[str] = "loo"

    def __post_init__(self) -> None:
        if self.budget is not None:
            object.__setattr__(self, "budget", whole_number("budget", self.budget, instead="None or "))

    def check(self, problem: Problem) -> None:
        available = problem.n_samples
        if self.budget is not None and self.budget > available:
            what = "rows" if problem.all_rows is None else "rows of positive weight"
            raise ValueError(
                f"budget={self.budget} asks for more left-out rows than the {available} {what}; use at most {available}"
            )
        if self.budget is not None and problem.loss.ranks:
            raise ValueError(
                f"budget={self.budget}: {problem.loss.name} ranks rows, and single rows left out cannot be ranked "
                'together; use budget=None or criterion "kfold"'
            )

    def splits(self, problem: Problem) -> Splits:
        if problem.loss.ranks:
            return folds_for_all(problem, FOLDS_OF_RANKS)
        return one_row_out(problem.n_samples, self._left_out(problem), problem.groups)

    def _left_out(self, problem: Problem) -> Rows:
        if self.budget is None:
            return np.arange(problem.n_samples)
        return np.sort(split_generator(problem).choice(problem.n_samples, self.budget, replace=False))

    def _curve(self, problem: Problem) -> RiskCurve:
        if problem.loss.ranks:
            splits = self.splits(problem)
            partition = splits.fold_of_rows(problem.n_samples)
            assert partition is not None
            return pooled_curve(self.name, problem, splits, partition, self.keep_predictions)
        if self.budget is None and not self.keep_predictions:
            if problem.in_row_blocks:
                return self._in_row_blocks(problem)
            if problem.one_model_at_a_time:
                return self._one_by_one(problem)
        splits = self.splits(problem)
        found = evidence_of_folds(
            problem,
            splits,
            partition=np.arange(problem.n_samples),
            keep=self.keep_predictions,
            pooled=not problem.loss.per_row,
        )
        return self._record(problem, splits, found)

    def _record(self, problem: Problem, splits: Splits, found: Tested) -> RiskCurve:
        left_out = self._left_out(problem)
        weight, groups = (None if v is None else v[left_out] for v in (problem.weight, problem.groups))
        more: dict[str, Any] = {}
        if found.left_out.fold_risks is None:
            out_sample = problem.loss.risk(problem.y[left_out], found.predictions[:, left_out], weight)
            table = left_out_losses(problem, found.predictions, tested=left_out)
            if table is not None and table.losses is not None:
                more = self._errors(problem, table.losses[:, left_out], weight, groups)
                found = replace(found, left_out=replace(found.left_out, losses=table.losses))
        else:
            losses = found.fold_risks.T
            out_sample = weighted_mean(losses, weight)
            more = self._errors(problem, losses, weight, groups)
        n = problem.n_samples
        return self._row_curve(problem, splits, found, out_sample, f"averaged over fits to {n - 1} of {n} rows", **more)

    def _in_row_blocks(self, problem: Problem) -> RiskCurve:
        """The curve where the losses of all models and rows are too many to be held."""
        with one_blas_thread:
            blocks = problem.design.left_out_blocks(problem.y)
            risk, _, error = moments_of_losses(problem.loss, problem.y, problem.weight, blocks)
        return self._without_table(problem, risk, error)

    def _one_by_one(self, problem: Problem) -> RiskCurve:
        """The same where a loss judges all left-out predictions of a model together."""
        found = [self._of_one(problem, model) for model in range(len(problem.path))]
        risk, error = np.array(found).T
        return self._without_table(problem, risk, error)

    def _of_one(self, problem: Problem, model: int) -> tuple[float, float]:
        """(risk, standard error) of one model."""
        with one_blas_thread:
            blocks = problem.design.left_out_blocks(problem.y, slice(model, model + 1))
            predicted = np.concatenate([values[0] for _, values in blocks])
        values = problem.loss.row_values(problem.y, predicted[None], problem.weight)
        risk = float(problem.loss.risk(problem.y, predicted, problem.weight))
        return risk, float(error_of_mean(values, problem.weight, problem.groups)[0])

    def _without_table(self, problem: Problem, risk: Floats, error: Floats) -> RiskCurve:
        n = problem.n_samples
        problem.progress(1, 1)
        return problem.curve(
            out_sample=risk,
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}, averaged over fits to {n - 1} of {n} rows",
            standard_error=error,
            freedom=max(1, n - 1),
            left_out=LeftOut(None, problem.weight),
            notes=one_row_out(n, np.arange(n), problem.groups).notes,
        )

    def _errors(self, problem: Problem, losses: Floats, weight: Floats | None, groups: Array | None) -> dict[str, Any]:
        """The error of the mean of B of n losses, s²/B = s²/n + s²(1/B − 1/n): over data, and over the choice."""
        error = error_of_mean(losses, weight, groups)
        freedom = max(1, losses.shape[1] - 1)
        if self.budget is None:
            return {"standard_error": error, "freedom": freedom}
        share = losses.shape[1] / problem.n_samples
        return {
            "standard_error": error * np.sqrt(share),
            "monte_carlo_error": error * np.sqrt(1 - share),
            "freedom": freedom,
        }
