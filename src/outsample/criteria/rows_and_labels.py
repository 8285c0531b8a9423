"""Rows and labels together: half of the episodes are folds of rows, half are labels drawn around what the folds choose.

Folds are nearly unbiased but unstable: which rows fall together decides. Drawn labels are stable, but know of the real
labels only what the reference tells them. The errors of the two have little in common, so their mean beats both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from outsample.criteria.base import Criterion
from outsample.criteria.calibrated_reference import calibrated_reference
from outsample.criteria.discrepancy import error_of_mean
from outsample.criteria.label_engine import measured_draws
from outsample.criteria.reference_choice import shuffled_folds
from outsample.criteria.reference_engine import optimism_around
from outsample.criteria.row_engine import judged_on_folds
from outsample.criteria.two_stage import NOTHING_FOUND, described, least, refuse_groups_and_outputs
from outsample.curve import RiskCurve
from outsample.draws import FreePermutation, LabelDraws
from outsample.losses import Floats
from outsample.problem import LABEL_DRAWS, Problem
from outsample.running import child_seed


@dataclass(frozen=True)
class RowsAndLabels(Criterion):
    """The mean of cross-validation and of the optimism on labels drawn around the model it chooses.

    With `episodes` = 10: five random folds give a first curve and choose a model. Five label vectors are drawn around
    that model, with as much noise as its cross-validated risk says; all models are refitted to them, and their mean
    optimism plus the real in-sample risk is a second curve. The estimate is the mean of the two. Where the folds find
    nothing in X, the labels are permuted.

    Estimates the expected loss on a new sample. Linear smoothers with squared loss take no draws, paths that know
    left-out predictions take no folds: those halves are exact and free.

    Parameters
    ----------
    episodes : fits per model family beside the one to the real labels, at least 4; the larger half are folds.
    """

    episodes: int = 10

    name: ClassVar[str] = "rows-and-labels"

    def __post_init__(self) -> None:
        if isinstance(self.episodes, bool | str) or int(self.episodes) != self.episodes or self.episodes < 4:
            raise ValueError(f"episodes must be an integer of at least 4, got {self.episodes!r}")

    def check(self, problem: Problem) -> None:
        refuse_groups_and_outputs(self.name, problem)

    def _curve(self, problem: Problem) -> RiskCurve:
        n_draws = self.episodes // 2
        splits = shuffled_folds(problem, self.episodes - n_draws)
        found = judged_on_folds(problem, splits, partition=splits.partition(problem.n_samples))
        assert found.risks is not None
        by_rows = np.ascontiguousarray(found.risks.T).mean(axis=1)
        optimism, n_fits, note = self._label_half(problem, by_rows, n_draws)
        out_sample = (by_rows + problem.in_sample + optimism.mean(axis=0)) / 2
        return problem.curve(
            out_sample=out_sample,
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}; the mean of cross-validation and of drawn labels",
            n_fits=found.n_fits + n_fits,
            standard_error=problem.standard_error(out_sample),
            monte_carlo_error=error_of_mean(optimism, exhaustive=len(optimism) == 1) / 2,
            draws=optimism if len(optimism) > 1 else None,
            notes=(note,),
        )

    def _label_half(self, problem: Problem, risk: Floats, n_draws: int) -> tuple[Floats, int, str]:
        """(optimism of each draw, learning episodes, a sentence about them)."""
        chosen, cost = least(risk), problem.design.fits_per_draw
        reference = calibrated_reference(problem, chosen, float(risk[chosen]))
        if reference is None:
            draws = LabelDraws(FreePermutation(), problem.y, n_draws, child_seed(problem.seed, LABEL_DRAWS))
            permuted = measured_draws(problem, draws, 0, len(draws))[0]
            return permuted, len(draws) * cost, f"{NOTHING_FOUND}: they were permuted."
        optimism, drawn = optimism_around(problem, reference, range(n_draws), n_draws)
        return (
            optimism,
            drawn * cost + reference.n_fits,
            described(problem, chosen, float(risk[chosen]), "cross-validation"),
        )
