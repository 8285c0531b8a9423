"""Criteria that draw labels: refit on labels that carry no information, where the true error is known.

Draw y*, refit g*, and the optimism of that fit is the crossed mean of the labels it could have met minus its
in-sample error. Averaged over draws and added to the real in-sample error, it estimates the out-sample error
(Magdon-Ismail & Mertsalov, eq. 1–2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from outsample.checks import positive_number, whole_number
from outsample.criteria.base import Criterion
from outsample.curve.risk_curve import RiskCurve
from outsample.docstrings import described, example_of
from outsample.evidence.labels import measured_draws
from outsample.losses.base import RELATIVE_ROUNDING
from outsample.losses.whole_set import FRESH_LABELS, SetLoss
from outsample.paths.linear.closed_forms import label_bootstrap_optimism, permutation_optimism
from outsample.problem import Problem
from outsample.resampling.labels import FreePermutation, LabelDraws, LabelScheme, RademacherSigns, WithReplacement
from outsample.resampling.schemes import (
    CircularShift,
    PermutationOfBlocks,
    PermutationOfGroups,
    PermutationWithinGroups,
)
from outsample.running.arrays import Floats
from outsample.running.run import LABEL_DRAWS, child_seed

FIRST_ROUND = 10
MOST_DRAWS = 1000

_WORDS = {
    "n_draws": 'label vectors drawn and fitted, or "auto": until the Monte-Carlo error is small.',
    "tolerance": 'how small for "auto", as a share of the risk of predicting without looking at X.',
}


@dataclass(frozen=True)
class LabelCriterion(Criterion):
    """What all criteria over drawn labels share.

    Parameters
    ----------
    n_draws : number of label vectors drawn and refitted; "auto" draws until the Monte-Carlo error allows a choice.
    tolerance : for "auto": the Monte-Carlo error of the difference between any model and the best one (of the
        optimism itself, for a single model) at which to stop, relative to the risk of predicting without
        looking at X (`Loss.scale`).
    """

    n_draws: int | Literal["auto"] = 10
    tolerance: float = 0.01

    meaning: ClassVar[str]
    draws_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.n_draws, str) or self.n_draws != "auto":
            object.__setattr__(self, "n_draws", whole_number("n_draws", self.n_draws, instead='"auto" or '))
        positive_number("tolerance", self.tolerance)

    def scheme(self, problem: Problem) -> LabelScheme:
        """How labels are drawn for this problem."""
        raise NotImplementedError

    def exact_optimism(self, problem: Problem) -> Floats | None:
        """The average over all draws where a closed form gives it."""
        return None

    def check(self, problem: Problem) -> None:
        self.scheme(problem).check(problem.y, problem.target.n_classes)

    def _curve(self, problem: Problem) -> RiskCurve:
        scheme = self.scheme(problem)
        # Before any draw, so that a learner that fails on the real labels is not blamed on drawn ones.
        real = problem.in_sample
        exact = self.exact_optimism(problem)
        if exact is not None:
            return self._record(problem, real + exact, np.zeros_like(exact), n_draws=0)
        draws = self._draws(problem, scheme)
        until_settled = self.n_draws == "auto" and not draws.exhaustive
        if until_settled:
            optimism, in_sample = self._until_settled(problem, draws)
        else:
            optimism, in_sample = measured_draws(problem, draws, 0, len(draws))
        curve = self.curve_of_draws(problem, optimism, in_sample, _left_nothing_to_chance(draws, problem))
        if until_settled and not self._settled(problem, optimism):
            unsettled = f"Stopped after {len(optimism)} draws with a Monte-Carlo error above the tolerance."
            return replace(curve, notes=(*curve.notes, unsettled))
        return curve

    def curve_of_draws(
        self, problem: Problem, optimism: Floats, in_sample: Floats, exhaustive: bool = False
    ) -> RiskCurve:
        """The curve from the optimism and the in-sample error of every draw, (draws, models) each."""
        error = error_of_draws(optimism, exhaustive)
        out_sample = problem.in_sample + optimism.mean(axis=0)
        return self._record(problem, out_sample, error, len(optimism), draws=optimism, draw_in_sample=in_sample)

    def _draws(self, problem: Problem, scheme: LabelScheme) -> LabelDraws:
        planned = MOST_DRAWS if self.n_draws == "auto" else int(self.n_draws)
        return LabelDraws(scheme, problem.y, planned, child_seed(problem.seed, LABEL_DRAWS))

    def _until_settled(self, problem: Problem, draws: LabelDraws) -> Floats:
        """Draw in rounds, each as long as all before; (optimism, in-sample error), (2, draws, models)."""
        measured = np.empty((2, 0, len(problem.path)))
        while (done := measured.shape[1]) < len(draws) and not self._settled(problem, measured[0]):
            stop = min(max(FIRST_ROUND, 2 * done), len(draws))
            measured = np.concatenate([measured, measured_draws(problem, draws, done, stop)], axis=1)
        return measured

    def _settled(self, problem: Problem, optimism: Floats) -> bool:
        """Whether the Monte-Carlo error is small against the risk of predicting without looking at X."""
        if len(optimism) < FIRST_ROUND:
            return False
        compared = optimism
        if optimism.shape[1] > 1:
            best = int(np.argmin(problem.in_sample + optimism.mean(axis=0)))
            compared = optimism - optimism[:, [best]]
        error = error_of_draws(compared).max()
        return bool(error <= self.tolerance * problem.scale)

    def _record(self, problem: Problem, out_sample: Floats, error: Floats, n_draws: int, **measured: Any) -> RiskCurve:
        curve = problem.curve(
            out_sample=out_sample,
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}; {self.meaning}",
            standard_error=problem.standard_error(out_sample),
            monte_carlo_error=error,
            priced_at_guessing=True,
            guessing=problem.loss.guessing(problem.y, problem.weight),
            **measured,
        )
        return replace(curve, notes=(*_degeneracy(curve), *curve.notes))


def _degeneracy(curve: RiskCurve) -> tuple[str, ...]:
    """A loud sentence where estimates say nothing: models that fit any labels, or estimates that are all the same."""
    n, advice, out_sample = len(curve), 'use criterion="auto"', curve.out_sample
    fits_any = int(curve.fits_any_labels.sum())
    if fits_any:
        which = "this model fits" if n == 1 else f"{fits_any} of {n} models fit"
        return (
            f"DEGENERATE: {which} permuted labels almost without error, so that the estimate is that of guessing, "
            f"whatever the data say; {advice}.",
        )
    if n > 1 and np.ptp(out_sample) <= RELATIVE_ROUNDING * max(curve.scale, np.abs(out_sample).max()):
        return (f"DEGENERATE: all {n} models have the same estimate, so that nothing tells them apart; {advice}.",)
    return ()


def _left_nothing_to_chance(draws: LabelDraws, problem: Problem) -> bool:
    """Whether all arrangements were fitted, and each fit was judged on all of them or in closed form."""
    loss, plain = problem.loss, problem.weight is None and draws.scheme.rearranges
    closed = loss.per_row or (isinstance(loss, SetLoss) and (loss.additive or (plain and loss.knows_permuted_mean)))
    return draws.exhaustive and (closed or len(draws) <= FRESH_LABELS)


def error_of_draws(draws: Floats, exhaustive: bool = False) -> Floats:
    """Monte-Carlo error of the mean over draws, (models,): zero when these are all, nan for a single one."""
    if exhaustive or len(draws) < 2:
        return np.full(draws.shape[1], 0.0 if exhaustive else np.nan)
    return np.asarray(draws.std(axis=0, ddof=1) / np.sqrt(len(draws)))


@described(_WORDS, example=example_of("Permutation(20)", 0.094))
@dataclass(frozen=True)
class Permutation(LabelCriterion):
    """The permutation estimate: labels permuted, no label lost.

    Estimates the expected loss on a new sample. The noise is priced at the total variance of y, so the estimate
    is conservative where the signal is strong.

    With sample weights a row stays one observation: it gets one label, and its weight stays with its X. Labels are
    drawn as often as their weights say, up to one, and the optimism of a draw is
    Σ_i Σ_j w_i w_j ℓ(y_j, g*_i)/(Σw)² − Σ_i w_i ℓ(y*_i, g*_i)/Σw: both terms have the distribution of labels that
    the weighted sample has. Equal weights make it the permutation estimate itself.

    Parameters
    ----------
    groups : with groups given to the estimate: "within" permutes labels inside each group, "whole" lets groups
        exchange their labels; by default whole groups when y is constant within each, else within.
    block_size : consecutive blocks of this many rows exchange their labels.
    circular : shift the labels along a circle, for series.
    """

    groups: Literal["within", "whole"] | None = None
    block_size: int | None = None
    circular: bool = False

    name: ClassVar[str] = "permutation"
    meaning: ClassVar[str] = "its optimism is measured on permuted labels, where the true error is known"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups not in (None, "within", "whole"):
            raise ValueError(f'groups must be "within", "whole" or None, got {self.groups!r}')
        if sum([self.groups is not None, self.block_size is not None, self.circular]) > 1:
            raise ValueError("groups, block_size and circular exclude each other: give one of them")
        if self.block_size is not None:
            object.__setattr__(self, "block_size", whole_number("block_size", self.block_size))

    def scheme(self, problem: Problem) -> LabelScheme:
        if problem.groups is not None and (self.circular or self.block_size is not None):
            raise ValueError("groups cannot be kept together by block_size or circular: leave groups= or those out")
        if self.circular:
            return CircularShift()
        if self.block_size is not None:
            return PermutationOfBlocks(int(self.block_size), problem.label_weight)
        if problem.groups is None:
            if self.groups is not None:
                raise ValueError(f"groups={self.groups!r} needs the group of every row: pass groups= as well")
            return FreePermutation(problem.label_weight)
        within = PermutationWithinGroups(problem.groups, problem.label_weight)
        whole = self.groups == "whole" or (self.groups is None and within.count(problem.y) <= 1)
        return PermutationOfGroups(problem.groups, problem.label_weight) if whole else within

    def exact_optimism(self, problem: Problem) -> Floats | None:
        smoother = _smoother(problem)
        free = isinstance(self.scheme(problem), FreePermutation)
        return permutation_optimism(smoother, problem.y, problem.weight) if smoother and free else None


@described(_WORDS, example=example_of("LabelBootstrap(20)", 0.079))
@dataclass(frozen=True)
class LabelBootstrap(LabelCriterion):
    """Labels drawn with replacement from y: the twin of the permutation estimate with independent labels.

    With sample weights label j is drawn with probability w_j/Σw, whatever the row that gets it.
    """

    name: ClassVar[str] = "label-bootstrap"
    meaning: ClassVar[str] = "its optimism is measured on labels drawn with replacement"

    def scheme(self, problem: Problem) -> LabelScheme:
        _refuse_groups(self.name, problem)
        return WithReplacement(problem.label_weight)

    def exact_optimism(self, problem: Problem) -> Floats | None:
        smoother = _smoother(problem)
        return label_bootstrap_optimism(smoother, problem.y, problem.weight) if smoother else None


@described(_WORDS, example=example_of("Rademacher(20)", 0.122))
@dataclass(frozen=True)
class Rademacher(LabelCriterion):
    """Labels are coin flips; half the empirical Rademacher complexity of what the learner can fit. Two classes."""

    name: ClassVar[str] = "rademacher"
    meaning: ClassVar[str] = "its optimism is measured on labels that are coin flips"

    def scheme(self, problem: Problem) -> LabelScheme:
        _refuse_groups(self.name, problem)
        return RademacherSigns()


def _smoother(problem: Problem) -> Any:
    """The linear smoother behind the path, where squared loss makes closed forms exact."""
    return problem.design.smoother if problem.loss.quadratic else None


def _refuse_groups(name: str, problem: Problem) -> None:
    if problem.groups is not None:
        raise ValueError(f'groups: criterion {name!r} draws every label on its own; use "permutation"')


@described(_WORDS, example=example_of("Resubstitution()", 0.04))
@dataclass(frozen=True)
class Resubstitution(Criterion):
    """The in-sample error as it is: optimism taken as zero."""

    name: ClassVar[str] = "resubstitution"

    def _curve(self, problem: Problem) -> RiskCurve:
        return problem.curve(
            out_sample=problem.in_sample.copy(),
            criterion=self.name,
            estimand=f"the {problem.loss.name} loss on the very data the model was fitted to, not on new data",
        )
