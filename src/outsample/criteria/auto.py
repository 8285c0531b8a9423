"""The criterion for those who do not want to choose one: the cheapest evidence that can be trusted for the learner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from sklearn.tree import BaseDecisionTree

from outsample.criteria.approximate import ApproximateLeaveOneOut
from outsample.criteria.base import Criterion
from outsample.criteria.cross_validation import CrossValidation
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.criteria.out_of_bag import OutOfBag
from outsample.criteria.race import Race
from outsample.criteria.rows_and_labels import RowsAndLabels
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import FitError, last_step
from outsample.data.steps import step_that_reads_y
from outsample.data.tables import n_columns
from outsample.evidence.out_of_bag import tells_out_of_bag
from outsample.evidence.rows import left_out_predictions
from outsample.paths.out_of_bag import objection
from outsample.paths.trees.best_first import BestFirstTreeClassifier
from outsample.problem import Problem
from outsample.running.threads import one_blas_thread

# Random folds, where folds are taken; exact left-out rows may take as many fits of each model where some are in doubt.
# Models that all come off one fit are judged by folds alone where labels are numbers: there drawn labels make choices
# worse (1.024 ± .016 times the error of ten folds, folds alone .997 ± .005, on 28 tables), because what a small tree
# leaves of numbers is seldom noise. Where labels are classes, drawn labels halve the optimism of the estimate and make
# choices no worse: with ten fits 1.003 ± .010, with twenty .986 ± .009 times the error of ten folds, on 46 tables
# (benchmarks/tree_criteria.py). Trees, which take little time, get twenty.
FOLDS = 10
FITS_OF_TREES, FITS_OF_OTHERS = 20, 10

IN_DOUBT = "approximate leave-one-out left rows in doubt"

# Approximate leave-one-out solves systems of the size of the rows or of the columns, whichever are fewer, times the
# classes; beyond this size, and for many classes of few rows each, of which most stay in doubt, ten folds are cheaper.
LARGEST_SYSTEM, MOST_CLASSES = 2000, 20
# Of more settings than these the richest is looked at first: where rows of it are in doubt, the others are spared.
FEW_SETTINGS = 3


@dataclass(frozen=True)
class Auto(Criterion):
    """The cheapest evidence that can be trusted for the learner, the path, the number of rows and the loss.

    ==================================================================  ================================================
    learner                                                             what is taken
    ==================================================================  ================================================
    nearest neighbours, linear smoothers, naive Bayes, discriminants,   `LeaveOneOut`: exact, from one fit; `Race` where
    Gaussian processes; neighbours and ridge behind a scaler too        rows in doubt would take more fits than folds
    forests and bags that draw rows, of 30 trees or more; not by log    `OutOfBag`: one fit; several settings `Race`
    loss                                                                over their number of trees, judged out of bag
    penalised linear models (logistic, lasso, Poisson, …)               `ApproximateLeaveOneOut`: one fit per setting,
                                                                        refits for rows in doubt, `Race` for too many
    one path whose models all come off one fit (trees, stages of        `RowsAndLabels`: twenty fits for all trees, ten
    boosting), classes                                                  for all stages
    the same, numbers                                                   `CrossValidation`: ten folds, left-out rows
                                                                        judged together
    everything else, grids over several of these, rows in groups        `Race`: ten folds, losers are dropped early
    ==================================================================  ================================================

    Scores that rank rows, such as the area under the ROC curve, compare only what one model says of them: where rows
    are left out exactly, ten stratified folds are in place of single rows, at no further fit; forests of 80 trees or
    more compare two rows by the trees that saw neither; penalised linear models go over the folds of a race.

    The notes of the result say in one sentence what was taken and why. Estimates the expected loss on a new sample, in
    the sense of the criterion it takes. In a search the default loss is the estimator's own score, as in scikit-learn.

    Parameters
    ----------
    episodes : fits per path that `RowsAndLabels` spends, at least 4; None for twenty where they are trees, and ten
        where they are not.
    race : the race that is run where nothing cheaper serves, with its folds and budgets; None for `Race()`.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = outsample.GridSearch(Ridge(), {"alpha": [0.01, 0.1, 1, 10]}, criterion=outsample.Auto()).fit(X, y)
    >>> search.n_fits_
    1
    """

    episodes: int | None = None
    race: Race | None = None

    name: ClassVar[str] = "auto"
    asks_own_score: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.episodes is not None:
            object.__setattr__(self, "episodes", RowsAndLabels(self.episodes).episodes)
        if not isinstance(self.race, Race | None):
            raise ValueError(f"race must be a Race or None, got {self.race!r}")

    @property
    def race_taken(self) -> Race:
        """The race that is run where nothing cheaper serves."""
        return Race() if self.race is None else self.race

    def settled(self, problems: Sequence[Problem]) -> tuple[Criterion, tuple[str, ...], int]:
        """The criterion for problems that are to be compared: one row left out by all of them, or a race."""
        taken = [self.choice(problem) for problem in problems]
        names = {criterion.name for criterion, _ in taken}
        if names <= {LeaveOneOut.name, ApproximateLeaveOneOut.name}:
            several = sum(len(problem.path) for problem in problems) > 1
            pairs = zip(problems, taken, strict=True) if several else ()
            return self._of_single_rows([p for p, (it, _) in pairs if it.name == ApproximateLeaveOneOut.name])
        criterion, why = taken[0]
        if names == {OutOfBag.name}:
            one_fit = len(problems) == 1 and (problems[0].path.from_one_fit or len(problems[0].path) == 1)
            if not one_fit and self.race_taken.races_over_size(problems):
                criterion, why = self.race_taken, "forests race over their number of trees, judged out of bag"
        elif len(problems) > 1 and names != {Race.name}:
            criterion, why = self.race_taken, f"the grid has {len(problems)} paths that it can compare"
        return criterion, (_note(criterion, why),), 0

    def _of_single_rows(self, approximated: Sequence[Problem]) -> tuple[Criterion, tuple[str, ...], int]:
        """Leave-one-out, where the problems that approximate it leave no row in doubt; else a race."""
        n_fits = 0
        for problem in approximated:
            try:
                if len(problem.path) > FEW_SETTINGS and ApproximateLeaveOneOut().leaves_richest_in_doubt(problem):
                    return self.race_taken, (_note(self.race_taken, IN_DOUBT),), n_fits + 1
                curve = self._approximate(problem)
            except (FitError, ValueError, TypeError):
                # Whoever cannot be fitted is found, and reported, one by one.
                continue
            n_fits += curve.n_fits
            if _in_doubt(curve):
                return self.race_taken, (_note(self.race_taken, IN_DOUBT),), n_fits
        return self, (), 0

    def _approximate(self, problem: Problem) -> RiskCurve:
        """The curve by approximate leave-one-out, computed once."""
        criterion = ApproximateLeaveOneOut()
        curve: RiskCurve = problem.once(criterion, lambda: criterion.curve(problem))
        return curve

    def reads_all_off_one_fit(self, problem: Problem) -> bool:
        return self.choice(problem)[0].name == LeaveOneOut.name

    def _curve(self, problem: Problem) -> RiskCurve:
        criterion, why = self.choice(problem)
        approximate = criterion.name == ApproximateLeaveOneOut.name
        curve = self._approximate(problem) if approximate else criterion.curve(problem)
        if _in_doubt(curve):
            criterion, why = _folds(problem), IN_DOUBT
            folds = criterion.curve(problem)
            curve = replace(folds, n_fits=folds.n_fits + curve.n_fits)
        # A model that is judged alone, because others of its path could not be fitted, was in no race.
        return replace(curve, race=None, notes=(_note(criterion, why), *curve.notes))

    def choice(self, problem: Problem) -> tuple[Criterion, str]:
        """(criterion for the models of one path, the reason for it)."""
        if not problem.loss.reads_predictions:
            return self.race_taken, "the score is asked of fitted models, which folds can do"
        if problem.groups is not None:
            return self.race_taken, "it keeps groups of rows together"
        for serves, criterion, why in self._table(problem):
            if serves(problem):
                return criterion, why
        if problem.loss.ranks:
            return (
                self.race_taken,
                f"{problem.loss.name} ranks rows, which takes what one model says of several",
            )
        if _knows_left_out(problem):
            return self.race_taken, "rows left out would take more fits of scikit-learn than folds do"
        if _votes_without_limit(problem):
            return self.race_taken, f"trees that did not see a row tell too little of its {problem.loss.name}"
        if step_that_reads_y(problem.path.estimator) is not None:
            why = "a step before the learner may look at the labels; in folds it never sees those of rows left out"
            return self.race_taken, why
        return self.race_taken, "no shortcut is known for this learner"

    def on_one_path(self, problem: Problem) -> RowsAndLabels:
        return RowsAndLabels(self.episodes or (FITS_OF_TREES if _is_tree(problem) else FITS_OF_OTHERS))

    def _table(self, problem: Problem) -> list[tuple[Callable[[Problem], bool], Criterion, str]]:
        """What is taken, the first line that serves."""
        on_one_path = self.on_one_path(problem)
        return [
            (_leaves_out, LeaveOneOut(), "one fit tells exactly what would be predicted for rows left out"),
            (tells_out_of_bag, OutOfBag(), "trees tell about the rows that they did not see, from one fit per setting"),
            (_approximates, ApproximateLeaveOneOut(), "Newton steps from one fit per setting leave a row out"),
            (
                _one_fit_to_classes,
                on_one_path,
                f"one fit has all models, and {on_one_path.episodes} of them are enough",
            ),
            (_one_fit, _folds(problem, pooled=True), "one fit for each fold has all models"),
        ]


def _in_doubt(curve: RiskCurve) -> bool:
    """Whether the risk of some model is not known well, because some of its rows are in doubt."""
    return curve.in_doubt is not None and bool((curve.in_doubt > 0).any())


def _note(criterion: Criterion, why: str) -> str:
    return f'criterion "auto" took "{criterion.name}": {why}.'


def _folds(problem: Problem, pooled: bool = False) -> Criterion:
    """Random folds, as many as there are rows at most."""
    return CrossValidation(min(FOLDS, problem.n_samples), shuffle=True, pooled=pooled)


def _leaves_out(problem: Problem) -> bool:
    """Whether left-out predictions are exact and free, or take no more fits than folds would."""
    if not _knows_left_out(problem):
        return False
    if problem.loss.ranks:
        splits = LeaveOneOut().splits(problem)
        fold = splits.fold_of_rows(problem.n_samples)
        return fold is not None and left_out_predictions(problem, fold) is not None
    with one_blas_thread:
        fits = problem.design.fits_of_rows_left_out(problem.y, problem.response)
    return fits <= FOLDS * len(problem.path)


def _knows_left_out(problem: Problem) -> bool:
    """Whether left-out predictions are exact, and free but for rows in doubt."""
    try:
        return problem.design.abilities.leaves_out
    except (ValueError, TypeError):
        # The path cannot read some value of the grid; fits will say which.
        return False


def _approximates(problem: Problem) -> bool:
    if len(np.shape(problem.X)) < 2:  # type: ignore[call-overload]
        return False
    classes = problem.target.n_classes or 0
    system = min(problem.n_samples, n_columns(problem.X)) * (classes if classes > 2 else 1)
    small = system <= LARGEST_SYSTEM and classes <= MOST_CLASSES
    return small and problem.target.n_outputs == 1 and _accepts(ApproximateLeaveOneOut(), problem)


def _accepts(criterion: Criterion, problem: Problem) -> bool:
    """Whether a criterion finds nothing to object to."""
    try:
        criterion.check(problem)
    except (ValueError, TypeError):
        return False
    return True


def _is_tree(problem: Problem) -> bool:
    return isinstance(last_step(problem.path.estimator), BaseDecisionTree | BestFirstTreeClassifier)


def _one_fit_to_classes(problem: Problem) -> bool:
    return problem.target.classes is not None and _one_fit(problem) and not _votes_without_limit(problem)


def _votes_without_limit(problem: Problem) -> bool:
    """Whether estimators vote, and a row whose class none of them names loses any amount."""
    return problem.loss.limitless and objection(problem.path.estimator) is None


def _one_fit(problem: Problem) -> bool:
    return problem.path.from_one_fit and problem.target.n_outputs == 1
