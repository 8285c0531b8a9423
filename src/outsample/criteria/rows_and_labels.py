"""Rows and labels together: half of the fits go to folds, half to labels drawn around what the folds say.

Folds are nearly unbiased but unstable: which rows fall together decides. Drawn labels are stable, but know of the real
labels only what the reference and the in-sample risk tell them. The errors of the two have little in common, so their
mean beats both; a model that fits any labels is left to the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from outsample.checks import whole_number
from outsample.criteria.base import Criterion
from outsample.criteria.two_stage import NOTHING_FOUND, described, refuse_groups_and_outputs
from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import RiskCurve
from outsample.evidence.folds import least, length, mean_over_folds, moves_of_folds, shuffled_folds
from outsample.evidence.labels import measured_draws
from outsample.evidence.references import calibrated_reference, has_frequencies, moves_of_draws, optimism_around
from outsample.evidence.rows import Tested, evidence_of_folds, judged_risk, left_out_losses
from outsample.problem import Problem
from outsample.resampling.labels import FreePermutation, LabelDraws
from outsample.resampling.rows import Splits
from outsample.running.arrays import Array, Floats
from outsample.running.run import LABEL_DRAWS, child_seed

# Distance of two logarithms of complexity, about a third, at which models share their optimism with weight exp(−1/2).
NEARNESS = 0.3

# Models whose weights are held in memory together.
SMOOTHED_AT_ONCE = 256

# Weight of drawn labels where all of the estimated risk is seen in-sample.
MOST_FOR_LABELS = 2 / 3

# What the optimism is multiplied by where there is a choice: the least of several estimates is too small by luck, and
# estimates of richer models, which vary more, have more of it.
FOR_LUCK = 1.075


@dataclass(frozen=True)
class RowsAndLabels(Criterion):
    """A mean of cross-validation and of the optimism on labels drawn around the model it chooses.

    With `episodes` = 10: five random folds give a first curve and choose a model. What that model says of the rows it
    never saw is the reference, with as much noise as its cross-validated risk says. Five label vectors are drawn around
    it, all models are refitted to them, and their mean optimism plus the real in-sample risk is a second curve. It
    weighs up to two thirds in the estimate: as much as the in-sample risk is of it, so that a model which fits any
    labels is judged by its rows alone. The optimism of the estimate is smooth in the complexity: models with nearly as
    many leaves or neighbours share theirs. Where there are several models, 7.5 % is added to it, because the one
    of least estimate is lucky. Where the folds find nothing in X, the labels are permuted.

    `monte_carlo_error` is that of the drawn labels, and of the random folds through all they decide. Where folds must
    be refitted, one more fold is fitted for it.

    Estimates the expected loss on a new sample. Linear smoothers with squared loss take no draws, paths that know
    left-out predictions take no folds: those halves are exact and free.

    Parameters
    ----------
    episodes : fits per path beside the one to the real labels, and one for the error bar where folds are
        refitted; at least 4; the larger half are folds.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> result = outsample.estimate(tree, X, y, criterion=outsample.RowsAndLabels(), random_state=0)
    >>> round(result.out_sample, 3)
    0.064
    """

    episodes: int = 10

    name: ClassVar[str] = "rows-and-labels"

    def __post_init__(self) -> None:
        object.__setattr__(self, "episodes", whole_number("episodes", self.episodes, 4))

    def check(self, problem: Problem) -> None:
        refuse_groups_and_outputs(self.name, problem)

    def left_out_alone(self, problem: Problem) -> LeftOut | None:
        asked, splits = _asked(problem), shuffled_folds(problem, self.n_folds)
        return _table(problem, splits, _said(problem, asked, _answer(asked, splits, 0).predictions))

    @property
    def n_folds(self) -> int:
        """How many folds there are, the larger half of the fits."""
        return self.episodes - self.episodes // 2

    def _curve(self, problem: Problem) -> RiskCurve:
        n_draws = self.episodes // 2
        left_out = _left_out(problem, self.n_folds)
        labels = _label_half(problem, left_out, n_draws)
        mix, by_labels = _Mix(problem), labels.optimism.mean(axis=0)
        out_sample = mix(left_out.risk, by_labels)
        table = _table(problem, left_out.splits, left_out.predicted)
        return problem.curve(
            out_sample=out_sample,
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}; a mean of cross-validation and of drawn labels",
            standard_error=_standard_error(problem, out_sample, table, left_out.risk),
            monte_carlo_error=_monte_carlo_error(mix, left_out, labels),
            draws=None if labels.exact else labels.optimism,
            variance_factor=problem.variance_factor_of_folds,
            left_out=table,
            notes=(labels.note,),
        )


def _standard_error(problem: Problem, out_sample: Floats, table: LeftOut | None, by_rows: Floats) -> Floats | None:
    """That of a risk at the level `out_sample`, (models,): of shares binomial, of other losses that of left-out rows.

    Losses of rows spread in proportion to their mean.
    """
    if problem.loss.unit_interval:
        return problem.standard_error(out_sample)
    if table is None or table.losses is None:
        return None
    if not problem.loss.per_row:
        return table.standard_error
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(table.standard_error * np.where(by_rows > 0, out_sample / by_rows, 1.0))


def _monte_carlo_error(mix: _Mix, left_out: _LeftOut, labels: _LabelHalf) -> Floats:
    """What folds and drawn labels leave to chance, (models,).

    Folds move the first curve, and the second one too: the risk of the model they choose sets the reference's noise.
    """
    by_labels, chosen = labels.optimism.mean(axis=0), least(left_out.risk)
    whole = float(length(left_out.moves)[chosen])
    relative = labels.relative_error / whole if whole > 0 else 0.0
    per_unit = relative * np.where(np.isfinite(by_labels), by_labels, 0.0)
    with np.errstate(invalid="ignore"):
        pairs = [(move, move[chosen] * per_unit) for move in left_out.moves]
        pairs += [(np.zeros_like(move), move) for move in moves_of_draws(labels.optimism, labels.exact)]
        ends = [[mix(left_out.risk + s * a, by_labels + s * b) for s in (-1, 1)] for a, b in pairs]
        return length(np.stack([(high - low) / 2 for low, high in ends]))


class _Mix:
    """The estimate from what rows and what labels say, (models,) each."""

    def __init__(self, problem: Problem) -> None:
        self.real, self.path = problem.in_sample, problem.path
        # Of scores the distance from the best one has shares, as a loss has.
        least = problem.loss.range[0]
        self.perfect = least if np.isfinite(least) else 0.0

    def __call__(self, by_rows: Floats, by_labels: Floats) -> Floats:
        """Out-sample risk from the cross-validated risk and the optimism on drawn labels."""
        weight = MOST_FOR_LABELS * share_seen(self.real - self.perfect, by_labels)
        # Labels that have no weight may have an infinite optimism, where least squares reproduces every label.
        counted = np.where(weight > 0, by_labels, 0.0)
        both = (1 - weight) * (by_rows - self.real) + weight * counted
        luck = FOR_LUCK if len(both) > 1 else 1.0
        return self.real + luck * (smoothed(both, self.path.complexity) if self.path.ordered else both)


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """What folds say: the folds, risk (models,), its moves left to chance (moves, models), predictions (models, n[,
    classes]), the frequencies behind them."""

    splits: Splits
    risk: Floats
    moves: Floats
    predicted: Array
    frequencies: Floats | None


@dataclass(frozen=True, eq=False)
class _LabelHalf:
    """What drawn labels say: the optimism of each draw (draws, models), whether it is exact, the relative error it has
    from the reference, a sentence."""

    optimism: Floats
    exact: bool
    relative_error: float
    note: str


def share_seen(in_sample: Floats, optimism: Floats) -> Floats:
    """How much of the risk that drawn labels estimate is seen in-sample, from 0 to 1, (models,).

    The rest comes from the reference alone. 1 where the loss can be negative, so that it has no shares.
    """
    whole = in_sample + optimism
    if (in_sample < 0).any():
        return np.ones_like(whole)
    return np.clip(np.divide(in_sample, whole, out=np.ones_like(whole), where=whole > 0), 0.0, 1.0)


def smoothed(optimism: Floats, complexity: Floats) -> Floats:
    """The optimism of every model averaged with that of models of similar complexity, (models,).

    Optimism is a smooth function of complexity, what folds say of it is not. Weights are normal in the logarithm of the
    complexity; as they are where complexities have no logarithm or some optimism is not finite.
    """
    if (complexity <= 0).any() or not np.isfinite(optimism).all():
        return optimism
    # Unlimited models, such as full trees, are infinitely far from all but each other.
    size, mean = np.log(complexity), np.empty_like(optimism)
    for start in range(0, len(size), SMOOTHED_AT_ONCE):
        some = slice(start, start + SMOOTHED_AT_ONCE)
        with np.errstate(invalid="ignore"):
            apart = np.where(np.equal.outer(size[some], size), 0.0, np.subtract.outer(size[some], size)) / NEARNESS
        weights = np.exp(-np.square(apart) / 2)
        mean[some] = (weights * optimism).sum(axis=1) / weights.sum(axis=1)
    return mean


def _left_out(problem: Problem, n_folds: int) -> _LeftOut:
    asked = _asked(problem)

    def read(splits: Splits, number: int) -> Array:
        return _said(problem, asked, _answer(asked, splits, number).predictions)

    found = _answer(asked, splits := shuffled_folds(problem, n_folds), 0)
    out = found.predictions
    predicted = _said(problem, asked, out)
    moves = moves_of_folds(problem, n_folds, predicted, not found.refitted, read)
    # A score of whole sets, such as r2 or F1, is biased on the few rows of a fold.
    pooled = problem.loss.reads_predictions and not problem.loss.per_row
    risk = judged_risk(problem, predicted, splits.tests) if pooled else mean_over_folds(problem, splits, predicted)
    return _LeftOut(splits, risk, moves, predicted, out if has_frequencies(problem) else None)


def _asked(problem: Problem) -> Problem:
    """The same models, free to settle ties themselves, which saves trees most of the time.

    A learner that votes is asked for frequencies: they hold its predictions, so that one fit per fold gives both.
    """
    path, response = problem.path.with_own_ties(), problem.response
    response = "predict_proba" if has_frequencies(problem) else response
    if path is problem.path and response == problem.response:
        return problem
    asked = replace(problem, path=path, response=response)
    if path is problem.path:
        vars(asked)["design"] = problem.design
    return asked


def _answer(asked: Problem, splits: Splits, number: int) -> Tested:
    """What fits without their folds say of rows."""
    return evidence_of_folds(asked, splits, partition=splits.partition(asked.n_samples), pooled=True, number=number)


def _said(problem: Problem, asked: Problem, out: Array) -> Array:
    """The predictions of the models, where they were asked for frequencies too."""
    return out.argmax(axis=-1) if asked.response != problem.response else out


def _table(problem: Problem, splits: Splits, predicted: Array) -> LeftOut | None:
    """The losses of rows, judged together unless the loss ranks them."""
    return left_out_losses(problem, predicted, splits.fold_of_rows(problem.n_samples) if problem.loss.ranks else None)


def _label_half(problem: Problem, left_out: _LeftOut, n_draws: int) -> _LabelHalf:
    chosen = least(left_out.risk)
    risk, error = float(left_out.risk[chosen]), float(length(left_out.moves)[chosen])
    frequencies = None if left_out.frequencies is None else left_out.frequencies[chosen]
    reference = calibrated_reference(problem, left_out.predicted[chosen], risk, frequencies, error)
    if reference is None:
        draws = LabelDraws(
            FreePermutation(problem.label_weight), problem.y, n_draws, child_seed(problem.seed, LABEL_DRAWS)
        )
        permuted = measured_draws(problem, draws, 0, len(draws))[0]
        note = f"{NOTHING_FOUND}: they were permuted."
        return _LabelHalf(permuted, draws.exhaustive, 0.0, note)
    optimism, drawn = optimism_around(problem, reference, range(n_draws), n_draws)
    note = described(problem, chosen, risk, "cross-validation")
    return _LabelHalf(optimism, drawn == 0, reference.relative_error, note)
