"""The criterion for those who do not want to choose one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from outsample.criteria.base import Criterion
from outsample.criteria.labels import Permutation
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.criteria.rows_and_labels import RowsAndLabels
from outsample.criteria.two_stage import TwoStagePermutation
from outsample.curve.risk_curve import RiskCurve
from outsample.problem import Problem


@dataclass(frozen=True)
class Auto(Criterion):
    """What the path gives exactly and for nothing, otherwise the best use of a few fits that was found.

    Linear smoothers with squared loss: the two-stage estimate in closed form. Paths that know left-out predictions
    without refitting: exact leave-one-out. Everything else: rows and labels, half the fits each. Labels in groups
    or in several columns: the permutation estimate. The notes of the result say which and why in one sentence.

    Estimates the expected loss on a new sample, in the sense of the criterion it takes.

    Parameters
    ----------
    episodes : fits per path to spend where nothing is free, at least 4.

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

    episodes: int = 10

    name: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "episodes", RowsAndLabels(self.episodes).episodes)

    def _curve(self, problem: Problem) -> RiskCurve:
        criterion, why = self.choice(problem)
        curve = criterion.curve(problem)
        note = f'criterion "auto" took "{criterion.name}" because {why}.'
        return replace(curve, notes=(note, *curve.notes))

    def choice(self, problem: Problem) -> tuple[Criterion, str]:
        """(criterion, the reason for it)."""
        if problem.groups is not None or problem.target.n_outputs > 1:
            what = "labels come in groups" if problem.groups is not None else "there are several columns of labels"
            return Permutation(self.episodes), f"{what}, which it can permute together"
        if problem.loss.quadratic and problem.design.abilities.smoother:
            reason = "the fit is linear in y, so that its optimism has a closed form and nothing is refitted"
            return TwoStagePermutation(self.episodes), reason
        if problem.design.abilities.leaves_out:
            return LeaveOneOut(), "the path knows what it would predict for left-out rows, so that nothing is refitted"
        return RowsAndLabels(self.episodes), f"nothing is free here and it makes the most of {self.episodes} episodes"
