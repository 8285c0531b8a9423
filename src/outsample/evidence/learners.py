"""The losses of whole learners on rows left out, searches included: fold by fold, every learner on the same folds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import get_config

from outsample.curve.left_out import LeftOut
from outsample.data.learners import FitError, fit, respond, seeded
from outsample.data.tables import split_rows
from outsample.evidence.rows import LEARNER_SEED, FoldJudge
from outsample.problem import Problem
from outsample.resampling.rows import Splits
from outsample.running.arrays import Array, Floats
from outsample.running.run import ROW_SPLITS, child_integer
from outsample.running.workers import results_of


@dataclass(frozen=True, eq=False)
class Judged:
    """What learners lost on rows left out, and what that took.

    Attributes
    ----------
    left_out : the losses, a row of the table per learner.
    n_fits : fits of each learner over all folds, those inside searches counted.
    seconds : wall time of each.
    train_share : share of the rows that a fit gets, on average.
    """

    left_out: LeftOut
    n_fits: tuple[int, ...]
    seconds: tuple[float, ...]
    train_share: float


def left_out_by_learners(problems: Sequence[Problem], splits: Splits) -> Judged:
    """Fit every learner to the training rows of every fold and judge it on the others.

    Parameters
    ----------
    problems : the same data; of each the path is one learner as it is.
    """
    first, K = problems[0], len(splits)
    fits = LearnerFolds(problems, splits)
    tables = [_Table(problem, splits) for problem in problems]
    n_fits, seconds = np.zeros(len(problems), dtype=np.intp), np.zeros(len(problems))
    tasks = [(i, k) for k in range(K) for i in range(len(problems))]
    for done, ((i, k), found) in enumerate(zip(tasks, results_of(fits, tasks, first.n_jobs), strict=True)):
        tables[i].add(k, *found[:2])
        n_fits[i] += found[2]
        seconds[i] += found[3]
        first.progress(done + 1, len(tasks))
    joined = LeftOut.joined([table.finished() for table in tables])
    assert joined is not None
    share = float(np.mean([len(fold.train) for fold in splits.folds])) / first.n_samples
    return Judged(joined, tuple(n_fits.tolist()), tuple(seconds.tolist()), share)


class LearnerFolds:
    """Fits a learner to the training rows of a fold and tests it on the others; picklable."""

    def __init__(self, problems: Sequence[Problem], splits: Splits) -> None:
        first = problems[0]
        self.data, self.seed, self.splits = first.data, first.seed, splits
        self.learners = [(p.path.estimator, p.response, p.path.pairwise, FoldJudge(p, splits)) for p in problems]

    def __call__(self, which: int, k: int) -> tuple[Floats, Floats, int, float]:
        """(risk on the fold, (1,); losses of its rows, (1, rows), empty where there are none; fits; seconds)."""
        start, fold, data = time.perf_counter(), self.splits.folds[k], self.data
        estimator, response, pairwise, judge = self.learners[which]
        learner = seeded(estimator, child_integer(self.seed, ROW_SPLITS, LEARNER_SEED, k))
        X_train, X_test = split_rows(data.X, fold.train, fold.test, pairwise=pairwise)
        weight = None if data.weight is None else data.weight[fold.train]
        try:
            model = fit(learner, X_train, data.labels[fold.train], weight, self._groups(learner, fold.train))
            predicted = respond(model, X_test, response, data.target.classes)[None]
        except Exception as error:
            raise FitError(f"{type(estimator).__name__}, fold {k + 1} of {len(self.splits)}: {error}") from error
        losses = judge.losses(fold.test, predicted) if judge.writes_losses else np.empty((1, 0))
        return judge.risk(fold.test, predicted), losses, fits_inside(model), time.perf_counter() - start

    def _groups(self, learner: Any, train: Array) -> dict[str, Any]:
        """What a search is told of groups: ours, and those of scikit-learn whose splitter asks for them."""
        if self.data.groups is None or get_config().get("enable_metadata_routing", False):
            return {}
        asks = getattr(learner, "keeps_groups", False) or _asks_for_groups(getattr(learner, "cv", None))
        return {"groups": self.data.groups[train]} if asks else {}


def _asks_for_groups(splitter: object) -> bool:
    if not hasattr(splitter, "split") or not hasattr(splitter, "get_metadata_routing"):
        return False
    return splitter.get_metadata_routing().split.requests.get("groups") is True


def fits_inside(model: Any) -> int:
    """How often learners were fitted to make a model: once, or as often as its search says, and the refit."""
    if hasattr(model, "n_fits_") and hasattr(model, "best_params_"):
        return int(model.n_fits_) + 1
    if hasattr(model, "cv_results_") and hasattr(model, "n_splits_"):
        return len(model.cv_results_["params"]) * int(model.n_splits_) + 1
    steps = getattr(model, "steps", None)
    return fits_inside(steps[-1][1]) if steps else 1


class _Table:
    """The table of one learner, filled fold by fold."""

    def __init__(self, problem: Problem, splits: Splits) -> None:
        self._problem, self._splits = problem, splits
        self._risks = np.full((len(splits), 1), np.nan)
        self._sums = np.zeros((1, problem.n_samples))
        self._complete = True

    def add(self, k: int, risk: Floats, losses: Floats) -> None:
        test = self._splits.folds[k].test
        self._risks[k] = risk
        self._complete &= losses.shape[1] == len(test) and not np.isnan(losses).any()
        if self._complete:
            self._sums[:, test] += losses

    def finished(self) -> LeftOut:
        problem, splits = self._problem, self._splits
        often = splits.times_tested(problem.n_samples)
        with np.errstate(invalid="ignore"):
            losses = np.where(often > 0, self._sums / often, np.nan) if self._complete else None
        sizes = splits.sizes if problem.weight is None else None
        fold = splits.fold_of_rows(problem.n_samples)
        return LeftOut(losses, problem.weight, fold, self._risks, sizes, groups=problem.groups)
