"""A criterion estimates the out-sample risk of every model of a path."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar

from outsample.curve import RiskCurve
from outsample.problem import Problem


class Criterion(ABC):
    """An immutable value: what to estimate and how. Randomness is passed in with the problem, never stored.

    Subclasses are frozen dataclasses with a `name` and a `_curve`.
    """

    name: ClassVar[str]

    def curve(self, problem: Problem) -> RiskCurve:
        """The risk curve of the problem's path."""
        start = time.perf_counter()
        self.check(problem)
        return replace(self._curve(problem), seconds=time.perf_counter() - start)

    def check(self, problem: Problem) -> None:  # noqa: B027 — most criteria serve every problem
        """Raise ValueError, before any fit, when this problem lacks what the criterion needs."""

    @abstractmethod
    def _curve(self, problem: Problem) -> RiskCurve: ...
