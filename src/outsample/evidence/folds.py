"""Random folds of rows, and what their choice leaves to chance.

Another partition of the rows gives another cross-validated risk. With ℓ_i the left-out loss of row i, and V the mean
over rows of the variance of ℓ_i over training sets, the variance of the risk over partitions is close to V/n: rows are
judged by training sets that have most in common, but what another set changes in one row has little to do with what it
changes in the next. (Trees, naive Bayes, logistic regression, nearest neighbours with 60 to 1500 rows, 5 folds: the
spread is .84 to 1.25 times √(V/n).) So V is all that must be known, and it takes two left-out losses of the same row
by different training sets: one fold of a second partition is fitted for them. Where left-out predictions are free, a
few whole partitions are compared instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from outsample.evidence.rows import in_folds, split_seed
from outsample.losses.base import weighted_mean
from outsample.problem import Problem
from outsample.resampling.rows import Splits, cross_validation_splits
from outsample.running.arrays import Array, Floats, Rows

# Further partitions that are compared where left-out predictions are free.
OTHERS = 3

# Added to a number of disagreements, so that the root of the sum is nearly unbiased for that of its expectation.
QUARTER = 0.25

Answer = Callable[[Splits, int], Array]
"""(splits, number of the partition) → (left-out predictions (models, n[, classes]) of the tested rows, fits)."""


def shuffled_folds(problem: Problem, n_folds: int, partition: int = 0) -> Splits:
    """Random folds, stratified for classifiers as far as the smallest class allows; seeded with the problem.

    A score such as r2 does not exist on a single row, so folds judged by scores have two at least.
    """
    y, n_classes = problem.y, problem.target.n_classes
    most = problem.n_samples if problem.loss.per_row else max(2, problem.n_samples // 2)
    splitter = KFold(min(n_folds, most), shuffle=True)
    if n_classes is not None and (smallest := int(np.bincount(y).min())) > 1:
        splitter = StratifiedKFold(min(n_folds, smallest), shuffle=True)
    return cross_validation_splits(
        splitter, problem.X, y, classifier=n_classes is not None, groups=None, seed=split_seed(problem, partition)
    )


def mean_over_folds(problem: Problem, splits: Splits, predicted: Array) -> Floats:
    """Risk of every model on each fold, averaged over folds, (models,)."""
    return np.asarray(np.mean([_risk(problem, predicted, fold.test) for fold in splits.folds], axis=0))


def moves_of_folds(problem: Problem, n_folds: int, predicted: Array, free: bool, answer: Answer) -> Floats:
    """Moves of the cross-validated risk that the choice of folds leaves to chance, (moves, models).

    Moves are independent of each other, and each is one standard deviation long: the root of the sum of their squares
    is the Monte-Carlo error, and what moves together in several models is seen.

    Parameters
    ----------
    predicted : (models, n[, classes]) left-out predictions by the partition that is used.
    free : whether left-out predictions take no fit.
    answer : left-out predictions by other partitions.
    """
    if free:
        return _between_partitions(problem, n_folds, predicted, answer)
    fold = shuffled_folds(problem, n_folds, 1).folds[0]
    return _between_fits(problem, n_folds, predicted, answer(Splits((fold,)), 1), fold.test)


def moves_between(values: Floats) -> Floats:
    """Independent moves, together as long as the standard deviation of a few values (values, models) is.

    The standard deviation of few numbers is too small on average, by a factor known for normal ones.
    """
    m = len(values)
    expected = math.sqrt(2 / (m - 1)) * math.exp(math.lgamma(m / 2) - math.lgamma((m - 1) / 2))
    # Infinite risks have no moves that are numbers.
    with np.errstate(invalid="ignore"):
        return np.asarray((values - values.mean(axis=0)) / (math.sqrt(m - 1) * expected))


def length(moves: Floats) -> Floats:
    """Root of the sum of squares of independent moves (moves, models): their error together, (models,)."""
    return np.asarray(np.sqrt(np.square(moves).sum(axis=0)))


def _between_partitions(problem: Problem, n_folds: int, predicted: Array, answer: Answer) -> Floats:
    """What lies between the risks by several partitions."""
    partitions = [shuffled_folds(problem, n_folds, number) for number in range(OTHERS + 1)]
    answers = [predicted, *(answer(partitions[number], number) for number in range(1, OTHERS + 1))]
    risks = np.stack([mean_over_folds(problem, *pair) for pair in zip(partitions, answers, strict=True)])
    return moves_between(risks)


def _between_fits(problem: Problem, n_folds: int, first: Array, second: Array, tested: Rows) -> Floats:
    """√(V/n) from two left-out predictions of the tested rows, row by row where there is a loss per row."""
    if not problem.loss.per_row:
        apart = _first_risk(problem, n_folds, first, tested) - _risk(problem, second, tested)
        return np.asarray(apart[None] / np.sqrt(2 * n_folds))
    labels, share = problem.y[tested], np.ones(len(tested)) if problem.weight is None else problem.weight[tested]
    losses = (problem.loss.pointwise(labels, predicted[:, tested]) for predicted in (first, second))
    with np.errstate(invalid="ignore"):
        apart = np.subtract(*losses).T * np.sqrt(share / share.sum())[:, None]
    if problem.loss.unit_interval:
        apart = np.concatenate([apart, np.full((1, len(first)), np.sqrt(QUARTER / len(tested)))])
    # As few moves as there are models, with the same products.
    few = np.linalg.qr(apart, mode="r") if len(apart) > apart.shape[1] else apart
    return np.asarray(few / np.sqrt(2 * problem.effective_n))


def _first_risk(problem: Problem, n_folds: int, predicted: Array, tested: Rows) -> Floats:
    """Risk of the rows of a fold by another partition; of losses that rank rows what these add to that of all."""
    if not problem.loss.ranks:
        return _risk(problem, predicted, tested)
    weight = None if problem.weight is None else problem.weight[tested]
    rows = in_folds(problem, predicted, shuffled_folds(problem, n_folds).tests)[1]
    return np.asarray(weighted_mean(rows[:, tested], weight))


def _risk(problem: Problem, predicted: Array, test: Rows) -> Floats:
    weight = None if problem.weight is None else problem.weight[test]
    return np.asarray(problem.loss.risk(problem.y[test], predicted[:, test], weight))


def least(risk: Floats) -> int:
    """The model of least risk; ties go to the simplest, risks that are not numbers lose."""
    return int(np.argmin(np.where(np.isnan(risk), np.inf, risk)))
