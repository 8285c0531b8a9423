"""The race: ten folds' answer at a third of their fits, for any learner."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from outsample.checks import one_of, probability, whole_number
from outsample.criteria.base import Criterion
from outsample.criteria.cross_validation import CrossValidation, folds_for_all, pooled_curve
from outsample.curve.intervals import error_of_mean
from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import RiskCurve, mean_of_known
from outsample.data.learners import FitError, last_step, with_params
from outsample.evidence.fold_race import FoldRace
from outsample.evidence.out_of_bag import FEWEST_TREES_OF_PAIRS, objection_to_ranks
from outsample.evidence.race import RaceRun, Rules
from outsample.evidence.size_race import FEWEST, SizeRace
from outsample.paths.growing import objection_to_growth
from outsample.paths.out_of_bag import SIZE
from outsample.problem import Problem
from outsample.resampling.rows import Splits, is_number_of_folds
from outsample.running.arrays import Floats
from outsample.running.fits import counted_fits
from outsample.running.run import ROW_SPLITS, child_generator

# Address of the order of folds below that of row splits.
ORDER_OF_FOLDS = 6


@dataclass(frozen=True, eq=False)
class Race(Criterion):
    """All candidates, of all paths and learners of a grid, go through the same rounds, and losers are dropped.

    A round is a fold, in random order. After every fold each candidate is compared with the leader by the paired losses
    of all rows tested so far. One that is better than the leader with a probability below 1 − confidence is dropped.
    From the second fold on, so are candidates without which the best of the others is expected to be nearly as good
    after all folds; what is given away with them is half of `tolerance` at most. The race is over when one candidate is
    left; when nobody is better than guessing after three folds or more, as many as it takes to notice; or when little
    is expected to be lost by taking the leader now in place of the answer of all folds: together with what was given
    away, less than `tolerance` of the leader's risk (of a score, of what is missing to the best one). Whoever left and
    had lost less than the winner in the rounds that both went through comes back, as long as that is so; where a budget
    does not allow it, the last round counts at whose end nobody had to, and what came later is forgotten. Models of one
    path come off one fit per fold, and boosting is fitted to no more stages than those in the race have, so that only
    parameters that are refitted cost; steps that ignore y, and matrices of kernels, are made once per fold for all
    candidates that have the same. Of candidates that lose alike the simplest is kept. Estimates the error of a model
    fitted to the training share of the rows, as cross-validation does: the mean over the folds that a candidate was
    tested on, all of them for the winner.

    Forests and bags of 30 trees or more, beside other learners, are fitted once, to all rows, and judged on the rows of
    a fold by the trees that did not see them, as in `OutOfBag`; not where there is a budget.

    Forests and bags alone race over size instead: every candidate starts with few trees, those that can still win get
    more, and the winner all of them, which makes it the forest that a fit in one go gives. Rows out of bag judge them,
    so that the estimate is that of a forest of the full size fitted to all rows.

    `standard_error` takes the losses of rows as independent. How far dropped candidates came is in the record,
    `RiskCurve.race`. `in_sample` is known of a single model and of forests: no other candidate is fitted to all rows.

    Parameters
    ----------
    cv : number of folds, shuffled, stratified for classifiers as far as the smallest class allows, whole groups where
        the data have groups; or any splitter of scikit-learn, or pairs of (train rows, test rows).
    confidence : a candidate is dropped once it is worse than the leader with this probability.
    tolerance : share of the leader's risk (of a score such as r2: of what is missing to the best) that may be lost by
        ending early; 0 goes on until one candidate is left.
    finish : whether the winner is tested on the remaining folds too, for the sake of its estimate.
    batch_size : candidates that start together; each further batch races against those that remained. None for all.
    max_fits, max_seconds : budgets that end the race with the best so far.
    over : what a round brings: "folds", fitted to the other folds by every candidate; "size", for forests and bags
        alone; or "auto", which is size where all candidates are such and `cv` is a number, and folds elsewhere.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = {"C": [0.01, 0.1, 1, 10], "gamma": [0.001, 0.01, 0.1, 1]}
    >>> search = outsample.GridSearch(SVC(), grid, criterion=outsample.Race(), random_state=0).fit(X, y)
    >>> search.n_fits_ < 160  # ten folds of sixteen candidates
    True
    """

    cv: Any = 10
    confidence: float = 0.9
    tolerance: float = 0.01
    finish: bool = True
    batch_size: int | None = None
    max_fits: int | None = None
    max_seconds: float | None = None
    over: str = "auto"

    name: ClassVar[str] = "race"
    stands_for_scikit_learn: ClassVar[bool] = True
    asks_own_score: ClassVar[bool] = True
    joint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "cv", CrossValidation(self.cv).cv)
        object.__setattr__(self, "confidence", probability("confidence", self.confidence))
        if self.tolerance != 0:
            object.__setattr__(self, "tolerance", probability("tolerance", self.tolerance))
        for name in ("batch_size", "max_fits"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole_number(name, getattr(self, name)))
        limit = self.max_seconds
        if limit is not None and not (isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0):
            raise ValueError(f"max_seconds must be None or a positive number, got {limit!r}")

        object.__setattr__(self, "over", one_of("over", self.over, ("auto", "folds", "size")))

    def splits(self, problem: Problem) -> Splits:
        """The folds, which are the same for all candidates."""
        return folds_for_all(problem, self.cv)

    def _curve(self, problem: Problem) -> RiskCurve:
        splits = self.splits(problem)
        partition = splits.partition(problem.n_samples)
        whole_sets = problem.loss.reads_predictions and not problem.loss.per_row
        alone = len(problem.path) == 1 and not self.races_over_size([problem])
        if alone and whole_sets and partition is not None:
            return pooled_curve(self.name, problem, splits, partition)
        curve, failures = self.together([problem])
        if failures:
            raise next(iter(failures.values()))
        if len(curve) > 1 or not np.isnan(curve.in_sample).any():
            return curve
        # A single model is no race: one more fit tells its in-sample risk.
        return replace(
            curve,
            in_sample=problem.in_sample,
            optimism=curve.out_sample - problem.in_sample,
        )

    def together(self, problems: Sequence[Problem], first: int | None = None) -> tuple[RiskCurve, dict[int, FitError]]:
        start = time.perf_counter()
        run, curve = (self._over_size if self.races_over_size(problems) else self._over_folds)(problems, first)
        return replace(curve, seconds=time.perf_counter() - start), run.failures

    def races_over_size(self, problems: Sequence[Problem]) -> bool:
        """Whether rounds bring more trees; raises ValueError where they should and cannot."""
        if self.over == "folds" or (self.over == "auto" and not is_number_of_folds(self.cv)):
            return False
        reason = _why_not_size(problems)
        if reason is not None and self.over == "size":
            raise ValueError(f'over="size" {reason}; use over="folds" instead')
        return reason is None

    def _over_folds(self, problems: Sequence[Problem], first: int | None) -> tuple[RaceRun, RiskCurve]:
        splits = self.splits(problems[0])
        order = child_generator(problems[0].seed, ROW_SPLITS, ORDER_OF_FOLDS).permutation(len(splits))
        with counted_fits() as spent:
            run = FoldRace(problems, splits, order, self._rules, self._asks_trees)
            record = replace(run.run(first), n_fits=spent.n_fits)
        curve = RiskCurve.joined([self._by_folds(p, run, places) for p, places in _places(problems)])
        table = _table(run, problems[0]).within_size()
        notes = (*splits.notes, record.summary)
        return run, replace(curve, race=record, n_fits=record.n_fits, left_out=table, notes=notes)

    def _over_size(self, problems: Sequence[Problem], first: int | None) -> tuple[RaceRun, RiskCurve]:
        with counted_fits() as spent:
            run = SizeRace(problems, self._rules)
            record = replace(run.run(first), n_fits=spent.n_fits)
        curve = RiskCurve.joined([self._by_size(p, run, places) for p, places in _places(problems)])
        table = LeftOut(run.last_losses(), problems[0].weight).within_size()
        run.offer(record.leader)
        return run, replace(curve, race=record, n_fits=record.n_fits, left_out=table, notes=(record.summary,))

    @property
    def _asks_trees(self) -> bool:
        """Whether forests beside other learners are judged out of bag; budgets count the fits of folds."""
        limited = not (self.max_fits is self.max_seconds is self.batch_size is None)
        return self.over == "auto" and is_number_of_folds(self.cv) and not limited

    @property
    def _rules(self) -> Rules:
        return Rules(self.confidence, self.tolerance, self.finish, self.batch_size, self.max_fits, self.max_seconds)

    def _by_folds(self, problem: Problem, run: FoldRace, places: slice) -> RiskCurve:
        """The curve of one path, its models at `places` among all candidates."""
        unknown = np.full(len(problem.path), np.nan)
        return problem.curve(
            in_sample=unknown,
            out_sample=mean_of_known(np.ascontiguousarray(run.risks[:, places].T)),
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}, averaged over fits to {_share(run.splits, problem.n_samples)}",
            standard_error=np.array([run.error(c) for c in range(places.start, places.stop)]),
            variance_factor=problem.variance_factor_of_folds,
        )

    def _by_size(self, problem: Problem, run: SizeRace, places: slice) -> RiskCurve:
        """The same of forests."""
        found = run.found[places]
        return problem.curve(
            in_sample=np.array([np.nan if it is None else float(it.in_sample[0]) for it in found]),
            out_sample=np.array([np.nan if it is None else float(it.risk[0]) for it in found]),
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}, of an ensemble fitted to all rows",
            standard_error=_errors_of_rows(run.last_losses()[places], problem.weight),
        )


def _why_not_size(problems: Sequence[Problem]) -> str | None:
    """Why a race of these models cannot be over size; None where it can."""
    for problem in problems:
        if problem.groups is not None:
            return "cannot keep groups together: bags draw single rows"
        if problem.path.pairwise or not problem.loss.reads_predictions:
            return "needs a table of columns and a loss of predictions"
        if problem.loss.limitless:
            return f"needs a loss with a limit, and {problem.loss.name} has none where no tree names the class of a row"
        reason = objection_to_ranks(problem)
        if reason is not None:
            return reason
        fewest = FEWEST_TREES_OF_PAIRS if problem.loss.ranks else 2 * FEWEST
        for params in problem.path.params:
            learner = with_params(problem.path.estimator, params)
            reason = objection_to_growth(learner)
            if reason is not None:
                return reason
            if last_step(learner).get_params()[SIZE] < fewest:
                return f"needs forests of {fewest} trees or more"
    return None


def _errors_of_rows(losses: Floats, weight: Floats | None) -> Floats:
    """Standard error of the mean over the known losses of each candidate, (candidates,)."""
    errors = np.full(len(losses), np.nan)
    for c, known in enumerate(~np.isnan(losses)):
        if known.any():
            errors[c] = error_of_mean(losses[c, known][None], None if weight is None else weight[known])[0]
    return errors


def _share(splits: Splits, n: int) -> str:
    return f"{np.mean([len(fold.train) for fold in splits.folds]) / n:.0%} of the rows"


def _places(problems: Sequence[Problem]) -> list[tuple[Problem, slice]]:
    """(problem, places of its models among those of all)."""
    ends = np.cumsum([len(problem.path) for problem in problems])
    return [(p, slice(int(end) - len(p.path), int(end))) for p, end in zip(problems, ends, strict=True)]


def _table(run: FoldRace, problem: Problem) -> LeftOut:
    """Losses of the rows that each candidate was tested on; nan elsewhere."""
    splits, n = run.splits, problem.n_samples
    return LeftOut(
        run.losses_of_rows() if run.writes_losses else None,
        problem.weight,
        splits.fold_of_rows(n),
        run.risks,
        splits.sizes if problem.weight is None else None,
        groups=problem.groups,
    )
