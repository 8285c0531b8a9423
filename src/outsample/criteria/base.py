"""A criterion estimates the out-sample risk of every model of a path."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

from outsample.curve import RiskCurve
from outsample.learners import usual_score
from outsample.problem import Problem
from outsample.scorers import OwnScore


class Criterion(ABC):
    """An immutable value: what to estimate and how. Randomness is passed in with the problem, never stored.

    Subclasses are frozen dataclasses with a `name` and a `_curve`.
    """

    name: ClassVar[str]
    stands_for_scikit_learn: ClassVar[bool] = False

    def default_loss(self, learners: Iterable[Any]) -> Any:
        """The loss of a search over these learners that names none; None for the library's own default.

        A criterion that stands for scikit-learn's own searches scores as they do, by the estimators' own `score`.
        Accuracy and r2 are computed from predictions, which the fast paths give.
        """
        if not self.stands_for_scikit_learn:
            return None
        usual = {usual_score(learner) for learner in learners}
        if len(usual) > 1 or usual == {None}:
            return OwnScore()
        return "r2" if usual == {"r2"} else None

    def curve(self, problem: Problem) -> RiskCurve:
        """The risk curve of the problem's path."""
        start = time.perf_counter()
        if isinstance(problem.loss, OwnScore) and not self.stands_for_scikit_learn:
            raise ValueError(f"criterion {self.name!r} needs a loss of predictions, not the estimator's own score")
        self.check(problem)
        return replace(self._curve(problem), seconds=time.perf_counter() - start)

    def check(self, problem: Problem) -> None:  # noqa: B027 — most criteria serve every problem
        """Raise ValueError, before any fit, when this problem lacks what the criterion needs."""

    @abstractmethod
    def _curve(self, problem: Problem) -> RiskCurve: ...
