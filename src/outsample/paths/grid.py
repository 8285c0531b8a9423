"""Paths over the values of one parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Array, Design, Floats, Path
from .order import complexity_of, simplest_first
from .refit import RefitPath


class GridPath(Path):
    """A path over the values of one parameter, sorted from simple to rich."""

    def __init__(self, estimator: Any, parameter: str, values: Sequence[Any]) -> None:
        complexity, self.ordered = complexity_of(parameter, values)
        order = simplest_first(complexity)
        self.estimator, self.parameter = estimator, parameter
        self.values = tuple(values[i] for i in order)
        self.params = tuple({parameter: value} for value in self.values)
        self.complexity = complexity[order]

    def refitting(self, X: Any, classes: Array | None, weight: Floats | None) -> Design:
        """The same models refitted one by one, for an X this family has no fast way for."""
        return RefitPath(self.estimator, self.parameter, self.values).bind(X, classes, weight)
