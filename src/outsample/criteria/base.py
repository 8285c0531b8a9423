"""A criterion estimates the out-sample risk of every model of a path."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

from sklearn.base import is_regressor

from outsample.curve import RiskCurve
from outsample.problem import Problem


class Criterion(ABC):
    """An immutable value: what to estimate and how. Randomness is passed in with the problem, never stored.

    Subclasses are frozen dataclasses with a `name` and a `_curve`.
    """

    name: ClassVar[str]
    stands_for_scikit_learn: ClassVar[bool] = False

    def default_loss(self, estimator: Any) -> Any:
        """The loss of a search that names none; None for the library's own default.

        A criterion that stands for scikit-learn's own searches scores as they do: regressors by r2.
        """
        return "r2" if self.stands_for_scikit_learn and is_regressor(estimator) else None

    def curve(self, problem: Problem) -> RiskCurve:
        """The risk curve of the problem's path."""
        start = time.perf_counter()
        self.check(problem)
        return replace(self._curve(problem), seconds=time.perf_counter() - start)

    def check(self, problem: Problem) -> None:  # noqa: B027 — most criteria serve every problem
        """Raise ValueError, before any fit, when this problem lacks what the criterion needs."""

    @abstractmethod
    def _curve(self, problem: Problem) -> RiskCurve: ...
