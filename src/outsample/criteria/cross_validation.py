"""Hold-out and cross-validation: fit on some rows, judge on the others.

What they estimate is the error of models fitted to fewer rows than there are, so they err on the side of caution;
less so the more rows are kept for the fit.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import BaseShuffleSplit, KFold, StratifiedKFold

from outsample.checks import one_of
from outsample.criteria.base import Criterion, RowCriterion, held_out_certificates
from outsample.curve.intervals import effective_number, error_of_mean, of_units
from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import RiskCurve
from outsample.evidence.folds import OTHERS, length, moves_between, shuffled_folds
from outsample.evidence.rows import Tested, at_all_rows, evidence_of_folds, judged_risk, left_out_losses, split_seed
from outsample.paths.refit import RefitPath
from outsample.problem import Problem
from outsample.resampling.rows import Splits, among, cross_validation_splits, hold_out_split, is_number_of_folds
from outsample.running.arrays import Floats, Rows


@dataclass(frozen=True)
class HoldOut(RowCriterion):
    """A random share of the rows is held out; the models are fitted to the rest and judged on the rows held out.

    Stratified for classifiers; where the problem has groups, whole groups are held out.

    Estimates the error of the models fitted to the other rows: those very models, not the average over data sets.
    `standard_error` is the standard deviation of the held-out losses over the square root of their number, and the
    interval covers, approximately and in large samples, the error of those models over the choice of held-out rows.
    It knows nothing of how a fit to all rows, or to other data, would differ. For losses in [0, 1] and rows without
    groups `interval(level, method="hoeffding")` covers the same error with probability at least `level` at any sample
    size, for classifiers with the classes in the shares that they have here.

    Parameters
    ----------
    test_size : share of the rows (or groups) to hold out, between 0 and 1, or their number.
    keep_predictions : see `RowCriterion`.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> result = outsample.estimate(tree, X, y, criterion=outsample.HoldOut(0.3), random_state=0)
    >>> round(result.out_sample, 3)
    0.082
    """

    test_size: float | int = 0.25
    name: ClassVar[str] = "holdout"

    def __post_init__(self) -> None:
        size = self.test_size
        number = isinstance(size, int | float | np.number) and not isinstance(size, bool)
        whole = number and isinstance(size, int | np.integer)
        if not number or (whole and size < 1) or (not whole and not 0 < size < 1):
            raise ValueError(f"test_size must be a share between 0 and 1 or a number of rows, got {size!r}")
        object.__setattr__(self, "test_size", int(size) if whole else float(size))

    def splits(self, problem: Problem) -> Splits:
        return hold_out_split(
            self.test_size,
            problem.X,
            problem.y,
            classifier=problem.target.classes is not None,
            groups=problem.groups,
            seed=split_seed(problem),
        )

    def _record(self, problem: Problem, splits: Splits, found: Tested) -> RiskCurve:
        held_out, losses = splits.folds[0].test, found.left_out.losses
        independent = problem.loss.unit_interval and problem.groups is None
        fit = f"the model fitted to {problem.n_samples - len(held_out)} of {problem.n_samples} rows"
        weight, groups = (None if v is None else v[held_out] for v in (problem.weight, problem.groups))
        m = effective_number(len(held_out), of_units(np.zeros((1, len(held_out))), weight, groups)[1])
        error = None if losses is None else error_of_mean(losses[:, held_out], weight, groups)
        return self._row_curve(
            problem,
            splits,
            found,
            out_sample=found.fold_risks[0],
            meaning=f"of {fit}",
            standard_error=error,
            freedom=max(1, round(m) - 1),
            held_out=m if independent else None,
            variance_factor=None,
            certificates=held_out_certificates(problem, found.fold_risks[0], m, fit, of_all_rows=False)
            if independent
            else (),
            n_groups=None if groups is None else m,
        )


@dataclass(frozen=True, eq=False)
class CrossValidation(RowCriterion):
    """The rows are split several times; each time the models are fitted to some rows and judged on the others.

    The estimate is the mean over folds of the mean loss in each fold, the number that scikit-learn's GridSearchCV
    gives for the same folds; every model meets the same folds. Where the folds partition the rows and the path
    knows what its models would say of left-out rows (linear smoothers, nearest neighbours, naive Bayes, discriminant
    analysis), nothing is refitted.

    Estimates the error of a model fitted to the training share of the rows, averaged over training sets of that size.
    `standard_error` with error="naive" is σ̂/√K with σ̂² the sample variance of the K fold means. It takes the
    fold means as independent, which they are not: they share training rows, so the interval covers that average
    error less often than its level says, the less the more the folds overlap. With error="nadeau-bengio" the
    variance is (1/K + n_test/n_train) σ̂² (Nadeau & Bengio 2003), which allows for the overlap; derived for random
    splits, it is an approximation for partitions, on the wide side. Intervals use Student's t with K − 1 degrees
    of freedom. `monte_carlo_error` is what random folds that are seeded with the problem leave to chance: from the
    repeats of a splitter that has several, from further partitions where left-out predictions are free. One random
    partition that must be refitted does not show it: None.

    Parameters
    ----------
    cv : number of folds (scikit-learn's rule: consecutive, stratified for classifiers; folds of whole groups where
        the problem has groups), any scikit-learn splitter, or an iterable of (train rows, test rows). A splitter
        that draws at random and has no random state is seeded with the problem. Rows of weight zero are
        left out of the folds after the split, so that the folds are those of scikit-learn for all rows; with `shuffle`
        before it.
    error : "naive" or "nadeau-bengio".
    shuffle : whether the folds of a number are drawn at random, seeded with the problem, so that the order of the
        rows does not matter. The name "kfold" means ten such folds; `CrossValidation(10)` are those of GridSearchCV.
    correct_bias : whether to correct for fits to (K − 1)/K of the rows: the estimate is CV + e_in(f) − (1/K) Σ e(f₋ₖ),
        both errors over all rows, f fitted to all of them and f₋ₖ without fold k (Burman 1989). The error that remains
        is of order 1/(K n²) instead of 1/(K n), in smooth problems. Every fold must be refitted, K fits a path.
    pooled : judge what all folds say of the rows they left out together, in place of the mean over folds: a score such
        as r2 or F1 on the few rows of a fold is biased and varies much more than one on all rows. `standard_error` is
        then that of the losses of rows, or of their influence on the score. The folds must leave out every row once.
        Scores that rank rows, such as the area under the ROC curve, remain means over folds: what models that left
        out different rows say cannot be ranked together.
    keep_predictions : see `RowCriterion`.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> result = outsample.estimate(tree, X, y, criterion=outsample.CrossValidation(5), random_state=0)
    >>> round(result.out_sample, 3)
    0.065
    """

    cv: Any = 10
    error: Literal["naive", "nadeau-bengio"] = "naive"
    shuffle: bool = field(default=False, kw_only=True)
    correct_bias: bool = field(default=False, kw_only=True)
    pooled: bool = field(default=False, kw_only=True)
    name: ClassVar[str] = "kfold"
    stands_for_scikit_learn: ClassVar[bool] = True
    asks_own_score: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of("error", self.error, ("naive", "nadeau-bengio"))
        cv = self.cv
        if is_number_of_folds(cv):
            if cv < 2:
                raise ValueError(f"cv must be at least 2 folds, got {cv}")
        elif isinstance(cv, str) or (cv is not None and not hasattr(cv, "split")):
            object.__setattr__(self, "cv", _listed(cv))

    def for_learner(self, estimator: BaseEstimator) -> Criterion:
        """Folds as scikit-learn makes them for this estimator.

        A pipeline whose last step is still empty is no classifier to scikit-learn, so that a number of folds means
        folds that are not stratified.
        """
        if hasattr(estimator, "predict") or self.shuffle or not isinstance(self.cv, int | np.integer):
            return self
        return replace(self, cv=KFold(self.cv))

    def folds(self, estimator: BaseEstimator, random_state: int | None) -> Any:
        """`cv` as scikit-learn's own searches take it: shuffled folds as a splitter, random ones with a state."""
        if self.shuffle and is_number_of_folds(self.cv):
            return (StratifiedKFold if is_classifier(estimator) else KFold)(
                self.cv, shuffle=True, random_state=random_state
            )
        if random_state is None or getattr(self.cv, "random_state", 0) is not None:
            return self.cv
        splitter = copy.copy(self.cv)
        splitter.random_state = random_state
        return splitter

    def splits(self, problem: Problem) -> Splits:
        splits: Splits = problem.once(("splits", self), lambda: self._partition(problem, 0))
        return splits

    def _partition(self, problem: Problem, number: int) -> Splits:
        """The folds; for other numbers than 0, those that another seed would give."""
        whole = None if self.shuffle else problem.all_rows
        data, cv = problem if whole is None else whole, self.cv
        if self.pooled and problem.loss.ranks and is_number_of_folds(cv) and problem.target.classes is not None:
            # Rows of all classes in every fold, which is judged alone.
            cv = max(2, min(cv, int(np.bincount(problem.y).min())))
        splits = cross_validation_splits(
            cv,
            data.X,
            data.y,
            classifier=problem.target.classes is not None,
            groups=data.groups,
            seed=split_seed(problem, number),
            shuffle=self.shuffle,
        )
        return splits if whole is None else among(splits, whole.counted, len(whole.y))

    def _curve(self, problem: Problem) -> RiskCurve:
        if self.pooled:
            splits = self.splits(problem)
            return pooled_curve(self.name, problem, splits, _required_partition(splits, problem), self.keep_predictions)
        # GridSearchCV's own numbers come from fits that stop at the estimator's tolerance and break its own ties.
        if problem.path.solves_further or problem.design.tied:
            problem = problem.over(RefitPath.of(problem.path))
        if not self.correct_bias:
            return super()._curve(problem)
        splits = self.splits(problem)
        found = evidence_of_folds(problem, splits, partition=None, keep=self.keep_predictions, whole=True)
        return self._record(problem, splits, found)

    def left_out_alone(self, problem: Problem) -> LeftOut | None:
        if not self.pooled:
            return super().left_out_alone(problem)
        splits = self.splits(problem)
        partition = _required_partition(splits, problem)
        found = _pooled_evidence(problem, splits, partition)
        return left_out_losses(problem, found.predictions, partition)

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if self.pooled and self.correct_bias:
            raise ValueError("pooled=True and correct_bias=True exclude each other; leave one of them out")
        if self.pooled and not problem.loss.reads_predictions:
            raise ValueError("pooled=True needs a loss of predictions, not the estimator's own score; name a loss")
        if self.pooled:
            _required_partition(self.splits(problem), problem)
        if self.correct_bias and not problem.loss.reads_predictions:
            raise ValueError(
                "correct_bias=True needs a loss of predictions, not the estimator's own score; name a loss"
            )

    def _record(self, problem: Problem, splits: Splits, found: Tested) -> RiskCurve:
        K = len(splits)
        share = np.mean([len(fold.train) for fold in splits.folds]) / problem.n_samples
        # Models first, so that the mean adds in the same order as GridSearchCV's.
        risk = np.ascontiguousarray(found.fold_risks.T).mean(axis=1)
        meaning, table = f"averaged over fits to {share:.0%} of the rows", found.left_out
        if found.whole_risks is not None:
            risk = risk + problem.in_sample - found.whole_risks.mean(axis=0)
            meaning += ", corrected to fits to all of them"
            # Without risks of folds, whose mean would be taken for the estimate.
            table = replace(table, fold_risks=None, fold_sizes=None)
        return self._row_curve(
            problem,
            splits,
            replace(found, left_out=table),
            out_sample=risk,
            meaning=meaning,
            fold_variance=found.fold_risks.var(axis=0, ddof=1) if K > 1 else None,
            standard_error=self._standard_error(splits, found.left_out),
            monte_carlo_error=self._monte_carlo_error(problem, splits, found),
            freedom=K - 1 if K > 1 else max(1, len(splits.tested) - 1),
            variance_factor=None if self.error == "nadeau-bengio" else problem.variance_factor_of_folds,
        )

    def _monte_carlo_error(self, problem: Problem, splits: Splits, found: Tested) -> Floats | None:
        """What random folds leave to chance, (models,); None where nothing is random, and where it cannot be told."""
        seeded = self.shuffle or getattr(self.cv, "random_state", 0) is None
        if not seeded or splits.same_tests(self._partition(problem, 1)):
            return None
        repeats = len(splits) if isinstance(self.cv, BaseShuffleSplit) else getattr(self.cv, "n_repeats", 1)
        if repeats > 1:
            means = found.fold_risks.reshape(repeats, -1, found.fold_risks.shape[1]).mean(axis=1)
            return np.asarray(length(moves_between(means)) / np.sqrt(repeats))
        if found.refitted:
            return None
        return self._spread_of_partitions(problem, found.fold_risks.mean(axis=0))

    def _spread_of_partitions(self, problem: Problem, risk: Floats) -> Floats:
        """Standard deviation of the risk over partitions, of which one has given `risk`, without any fit."""
        risks = [risk]
        for number in range(1, OTHERS + 1):
            splits = self._partition(problem, number)
            found = evidence_of_folds(problem, splits, partition=splits.partition(problem.n_samples), number=number)
            risks.append(found.fold_risks.mean(axis=0))
        return length(moves_between(np.stack(risks)))

    def _standard_error(self, splits: Splits, table: LeftOut) -> Floats:
        risks = table.fold_risks
        assert risks is not None
        K = len(risks)
        if K < 2:
            # Folds cannot be compared with each other; the rows of the only one can.
            return np.full(risks.shape[1], np.nan) if table.losses is None else table.standard_error
        factor = 1 / K
        if self.error == "nadeau-bengio":
            factor += float(np.mean([len(fold.test) / len(fold.train) for fold in splits.folds]))
        return np.asarray(risks.std(axis=0, ddof=1) * np.sqrt(factor))


def folds_for_all(problem: Problem, cv: Any) -> Splits:
    """Folds that are the same for all candidates, shuffled where `cv` is their number."""
    if not is_number_of_folds(cv):
        return CrossValidation(cv).splits(problem)
    if problem.groups is None:
        return shuffled_folds(problem, int(cv))
    # Folds of whole groups, as many as there are groups at most.
    n_folds = min(int(cv), len(np.unique(problem.groups)))
    return CrossValidation(n_folds, shuffle=True).splits(problem)


def pooled_curve(
    name: str, problem: Problem, splits: Splits, partition: Rows, keep_predictions: bool = False
) -> RiskCurve:
    """The curve of criterion `name` that judges all left-out predictions together; `partition` has the fold of rows.

    Losses that rank rows judge fold by fold.
    """
    found = _pooled_evidence(problem, splits, partition)
    table = left_out_losses(problem, found.predictions, partition)
    known = table is not None and table.losses is not None
    if table is not None and keep_predictions:
        table = replace(table, predictions=at_all_rows(problem, found.predictions))
    share = np.mean([len(fold.train) for fold in splits.folds]) / problem.n_samples
    fits = f"fits to {share:.0%} of the rows"
    ranks = problem.loss.ranks
    how = f"averaged over {fits}" if ranks else f"of all left-out predictions together, by {fits}"
    return problem.curve(
        out_sample=judged_risk(problem, found.predictions, splits.tests),
        criterion=name,
        estimand=f"{problem.loss.on_new_data}, {how}",
        standard_error=table.standard_error if table is not None and known else None,
        variance_factor=problem.variance_factor_of_folds,
        left_out=table,
        notes=(*splits.notes, *([_ranked(problem, len(splits))] if ranks else [])),
    )


def _ranked(problem: Problem, n_folds: int) -> str:
    return (
        f"{problem.loss.name} ranks rows, and scores by models that left out other rows cannot be ranked together: it "
        f"is the mean over {n_folds} folds, each ranked by one model"
    )


def _pooled_evidence(problem: Problem, splits: Splits, partition: Rows) -> Tested:
    """What all folds say of the rows they left out; paths may settle ties themselves, which saves trees most time."""
    path = problem.path.with_own_ties()
    asked = problem if path is problem.path else problem.over(path)
    return evidence_of_folds(asked, splits, partition=partition, pooled=True)


def _required_partition(splits: Splits, problem: Problem) -> Rows:
    """The fold of every row, where the folds leave out each row once."""
    partition = splits.partition(problem.n_samples)
    if partition is None:
        raise ValueError("pooled=True needs folds that leave out every row once, and these do not; use pooled=False")
    return partition


def _listed(cv: Any) -> tuple[Any, ...]:
    """An iterable of splits, written down because the criterion may be used more than once."""
    try:
        pairs = tuple(cv)
    except TypeError:
        pairs = ("not pairs",)
    if not all(isinstance(p, tuple | list | np.ndarray) and len(p) == 2 for p in pairs):
        raise ValueError(f"cv must be a number of folds, a splitter or pairs of (train rows, test rows), got {cv!r}")
    return pairs
