"""The criterion for those who do not want to choose one: the cheapest evidence that can be trusted for the learner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from sklearn.tree import BaseDecisionTree

from outsample.criteria.approximate import ApproximateLeaveOneOut, set_unknowingly
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

# Folds, where folds are taken, and fits per candidate that nothing here takes more of: five folds chose as well as ten
# on all tables of docs/suite.md, and are what a search of scikit-learn takes.
FOLDS = 5
# Fits to all rows but one that a model may take where approximate leave-one-out leaves as many rows in doubt. With the
# fit to all rows they leave two fits of five to a race, should other models keep more rows in doubt.
REFITS = 2

# Models that all come off one fit are judged by folds alone where labels are numbers: there drawn labels make choices
# worse (1.024 ± .016 times the error of ten folds, folds alone .997 ± .005, on 28 tables), because what a small tree
# leaves of numbers is seldom noise. Where labels are classes, drawn labels halve the optimism of the estimate and make
# choices no worse: with ten fits 1.003 ± .010, with twenty .986 ± .009 times the error of ten folds, on 46 tables
# (benchmarks/tree_criteria.py). Trees, which take little time, get twenty where there are candidates enough.
FITS_OF_TREES, FITS_OF_OTHERS = 20, 10
# Fits beside these: to the real labels, and for the error bar.
FITS_BESIDE = 2

APPROXIMATE = ApproximateLeaveOneOut(REFITS)
IN_DOUBT = "approximate leave-one-out left rows in doubt"

# Approximate leave-one-out solves systems of the size of the rows or of the columns, whichever are fewer, times the
# classes; beyond this size, and for many classes of few rows each, of which most stay in doubt, folds are cheaper.
LARGEST_SYSTEM, MOST_CLASSES = 2000, 20
# Of more settings than these the richest is looked at first: where rows of it are in doubt, the others are spared.
FEW_SETTINGS = 3


@dataclass(frozen=True)
class Auto(Criterion):
    """The cheapest evidence that can be trusted for the learner, the path, the number of rows and the loss.

    ==================================================================  ================================================
    learner                                                             what is taken
    ==================================================================  ================================================
    nearest neighbours (behind a scaler too), linear smoothers,         `LeaveOneOut`: exact, from one fit; `Race` where
    Gaussian processes, linear discriminants, Gaussian, multinomial     the table and its labels are ill-posed
    and Bernoulli naive Bayes
    centroids, quadratic discriminants, complement and categorical      `CrossValidation`: five folds, exact from sums
    naive Bayes, ridge behind a scaler                                  over rows
    forests and bags that draw rows, of 30 trees or more; not by log    `OutOfBag`: one fit; several settings `Race`
    loss                                                                over their number of trees, judged out of bag
    penalised linear models (logistic, lasso, Poisson, …)               `ApproximateLeaveOneOut`: one fit per setting,
                                                                        refits for rows in doubt, `Race` for too many
    one path whose models all come off one fit (trees, stages of        `RowsAndLabels`: twenty fits for all trees, ten
    boosting), classes                                                  for all stages, where there are so many
    the same, numbers                                                   `CrossValidation`: five folds, left-out rows
                                                                        judged together
    everything else, grids over several of these, rows in groups        `Race`: five folds, losers are dropped early
    ==================================================================  ================================================

    Scores that rank rows, such as the area under the ROC curve, compare only what one model says of them: where rows
    are left out exactly, ten stratified folds are in place of single rows, at no further fit; forests of 80 trees or
    more compare two rows by the trees that saw neither; penalised linear models go over the folds of a race.

    No more fits are planned than five folds of all candidates take, which is what `GridSearchCV` does: where candidates
    are few, folds serve in place of `RowsAndLabels`.

    The notes of the result say in one sentence what was taken and why. Estimates the expected loss on a new sample, in
    the sense of the criterion it takes. In a search the default loss is the estimator's own score, as in scikit-learn.

    Parameters
    ----------
    episodes : fits per path that `RowsAndLabels` spends, at least 4, however few the candidates are; None for twenty
        where they are trees, and ten where they are not.
    race : the race that is run where nothing cheaper serves, with its folds and budgets; None for `Race(cv=5)`.

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
        return Race(cv=FOLDS) if self.race is None else self.race

    def _race_after(self, n_fits: int, candidates: int) -> Race:
        """The same where some of the fits that five folds of the candidates take have been spent."""
        race, left = self.race_taken, max(1, FOLDS * candidates - n_fits)
        if n_fits == 0 or race.cv != FOLDS:
            return race
        return replace(race, max_fits=left if race.max_fits is None else min(left, race.max_fits))

    def settled(self, problems: Sequence[Problem]) -> tuple[Criterion, tuple[str, ...]]:
        """The criterion for problems that are to be compared: one row left out by all of them, or a race."""
        taken, n_models = [self.choice(problem) for problem in problems], sum(len(p.path) for p in problems)
        names = {criterion.name for criterion, _ in taken}
        if names <= {LeaveOneOut.name, ApproximateLeaveOneOut.name}:
            pairs = zip(problems, taken, strict=True) if n_models > 1 else ()
            approximated = [p for p, (it, _) in pairs if it.name == ApproximateLeaveOneOut.name]
            return self._of_single_rows(approximated, n_models)
        criterion, why = taken[0]
        if names == {OutOfBag.name}:
            one_fit = len(problems) == 1 and (problems[0].path.from_one_fit or n_models == 1)
            if not one_fit and self.race_taken.races_over_size(problems):
                criterion, why = self.race_taken, "forests race over their number of trees, judged out of bag"
        elif len(problems) > 1 and names != {Race.name}:
            criterion, why = self.race_taken, f"the grid has {len(problems)} paths that it can compare"
        elif n_models == 1 and criterion.name == CrossValidation.name:
            criterion, why = self.race_taken, "of a single candidate no more than folds are needed"
        return criterion, (_note(criterion, why),)

    def _of_single_rows(self, approximated: Sequence[Problem], n_models: int) -> tuple[Criterion, tuple[str, ...]]:
        """Leave-one-out, where the problems that approximate it leave no row in doubt; else a race of all models."""
        n_fits = 0
        for problem in approximated:
            try:
                if len(problem.path) > FEW_SETTINGS and APPROXIMATE.leaves_richest_in_doubt(problem):
                    race = self._race_after(n_fits + 1, n_models)
                    return race, (_note(race, IN_DOUBT),)
                curve = self._approximate(problem)
            except (FitError, ValueError, TypeError):
                # Whoever cannot be fitted is found, and reported, one by one.
                continue
            n_fits += curve.n_fits
            if _in_doubt(curve):
                race = self._race_after(n_fits, n_models)
                return race, (_note(race, IN_DOUBT),)
        return self, ()

    def _approximate(self, problem: Problem) -> RiskCurve:
        """The curve by approximate leave-one-out, computed once."""
        curve: RiskCurve = problem.once(APPROXIMATE, lambda: APPROXIMATE.curve(problem))
        return curve

    def reads_all_off_one_fit(self, problem: Problem) -> bool:
        return self.choice(problem)[0].name == LeaveOneOut.name

    def _curve(self, problem: Problem) -> RiskCurve:
        criterion, why = self.choice(problem)
        approximate = criterion.name == ApproximateLeaveOneOut.name
        curve = self._approximate(problem) if approximate else criterion.curve(problem)
        if _in_doubt(curve):
            criterion, why = self._race_after(curve.n_fits, len(problem.path)), IN_DOUBT
            folds, _ = criterion.together([problem])
            curve = replace(folds, in_sample=curve.in_sample, optimism=folds.out_sample - curve.in_sample)
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
            return self.race_taken, "these labels are nearly ill-posed, and rows left out would take a fit each"
        if _votes_without_limit(problem):
            return self.race_taken, f"trees that did not see a row tell too little of its {problem.loss.name}"
        if step_that_reads_y(problem.path.estimator) is not None:
            why = "a step before the learner may look at the labels; in folds it never sees those of rows left out"
            return self.race_taken, why
        return self.race_taken, "no shortcut is known for this learner"

    def for_one_more(self, problem: Problem, curve: RiskCurve) -> Criterion | None:
        taken, planned = self._for_one_more(problem, curve)
        return taken if curve.n_fits + planned <= FOLDS * len(curve) else None

    def _for_one_more(self, problem: Problem, curve: RiskCurve) -> tuple[Criterion, int]:
        """(what judges a single model as those of a curve were judged, fits that it takes)."""
        if curve.criterion == OutOfBag.name:
            return OutOfBag(), 1
        if curve.criterion in (LeaveOneOut.name, ApproximateLeaveOneOut.name):
            exact = curve.criterion == LeaveOneOut.name
            if problem.design.knows_rows_left_out(problem.y, problem.response):
                return LeaveOneOut(), problem.design.fits_per_draw
            return (LeaveOneOut(), problem.n_samples) if exact else (APPROXIMATE, 1 + REFITS)
        on_one_path = self.on_one_path(problem, len(curve)) if curve.criterion == RowsAndLabels.name else None
        if on_one_path is not None:
            return on_one_path, on_one_path.n_folds
        table = curve.left_out
        assert table is not None
        assert table.fold is not None
        n_folds = int(table.fold.max()) + 1
        planned = problem.design.fits_per_draw if problem.design.abilities.leaves_out else n_folds
        return CrossValidation(n_folds, shuffle=True, pooled=table.fold_risks is None), planned

    def on_one_path(self, problem: Problem, n_models: int) -> RowsAndLabels | None:
        """The criterion for so many models that come off one fit; None where they are too few for its fits."""
        if self.episodes is not None:
            return RowsAndLabels(self.episodes)
        for episodes in (FITS_OF_TREES, FITS_OF_OTHERS) if _is_tree(problem) else (FITS_OF_OTHERS,):
            if episodes + FITS_BESIDE <= FOLDS * n_models:
                return RowsAndLabels(episodes)
        return None

    def _table(self, problem: Problem) -> list[tuple[Callable[[Problem], bool], Criterion, str]]:
        """What is taken, the first line that serves."""
        on_one_path, one_fit = self.on_one_path(problem, len(problem.path)), "one fit for each fold has all models"
        lines: list[tuple[Callable[[Problem], bool], Criterion, str]] = [
            (_leaves_out, LeaveOneOut(), "one fit tells exactly what would be predicted for rows left out"),
            (
                _leaves_folds_out,
                CrossValidation(min(FOLDS, problem.n_samples), shuffle=True, pooled=True),
                "sums over rows tell exactly what would be predicted for folds left out",
            ),
            (tells_out_of_bag, OutOfBag(), "trees tell about the rows that they did not see, from one fit per setting"),
            (_approximates, APPROXIMATE, "Newton steps from one fit per setting leave a row out"),
            (_one_fit, CrossValidation(min(FOLDS, problem.n_samples), shuffle=True, pooled=True), one_fit),
        ]
        if on_one_path is not None:
            enough = f"one fit has all models, and {on_one_path.episodes} of them are enough"
            lines.insert(4, (_one_fit_to_classes, on_one_path, enough))
        return lines


def _in_doubt(curve: RiskCurve) -> bool:
    """Whether the risk of some model is not known well, because some of its rows are in doubt."""
    return curve.in_doubt is not None and bool((curve.in_doubt > 0).any())


def _note(criterion: Criterion, why: str) -> str:
    return f'criterion "auto" took "{criterion.name}": {why}.'


def _leaves_out(problem: Problem) -> bool:
    """Whether left-out predictions of single rows are exact and free."""
    if not _knows_left_out(problem):
        return False
    if problem.loss.ranks:
        splits = LeaveOneOut().splits(problem)
        fold = splits.fold_of_rows(problem.n_samples)
        return fold is not None and left_out_predictions(problem, fold) is not None
    with one_blas_thread:
        return problem.design.knows_rows_left_out(problem.y, problem.response)


def _leaves_folds_out(problem: Problem) -> bool:
    """Whether left-out predictions are exact for folds, at the cost of a sum each."""
    return _knows_left_out(problem) and problem.design.abilities.leaves_folds_out_only


def _knows_left_out(problem: Problem) -> bool:
    """Whether left-out predictions are exact."""
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
    return small and problem.target.n_outputs == 1 and _accepts(APPROXIMATE, problem) and not set_unknowingly(problem)


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
