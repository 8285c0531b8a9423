"""How many fits were made, counted where they are made.

A fit is one call of a learner's `fit`, whatever it fits inside; or what stands for it in a kernel of ours: one tree,
decomposition or search per label vector, however many settings and rows left out are read off it, and one solution per
setting of a penalised model, also where it starts from another one. Trees that a race gives to a forest count as their
share of the largest forest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

new_key = itertools.count().__next__
"""A key of its own for every result that several may share."""


@dataclass(eq=False)
class Spent:
    """Fits that some work took.

    Attributes
    ----------
    alone : those that nobody else makes use of.
    shared : those behind results that are computed once, by the key of the result: they count once, however often it
        is asked for, and for everybody who asks.
    """

    alone: float = 0.0
    shared: dict[int, float] = field(default_factory=dict)

    @property
    def parts(self) -> float:
        """How many they are."""
        return self.alone + sum(self.shared.values())

    @property
    def n_fits(self) -> int:
        """The same, parts rounded up together."""
        return math.ceil(self.parts - 1e-9)

    def add(self, other: Spent) -> None:
        """Add what a part of the work took."""
        self.alone += other.alone
        self.shared = other.shared | self.shared

    def behind(self, key: int) -> Spent:
        """The same as what one shared result took."""
        return Spent(0.0, {**self.shared, key: self.alone})


_spent: ContextVar[Spent | None] = ContextVar("spent", default=None)


@contextmanager
def counted_fits() -> Iterator[Spent]:
    """Count the fits that are made while the context lasts; contexts around it count them too."""
    outer, own = _spent.get(), Spent()
    token = _spent.set(own)
    try:
        yield own
    finally:
        _spent.reset(token)
        if outer is not None:
            outer.add(own)


@contextmanager
def uncounted_fits() -> Iterator[None]:
    """Count no fits while the context lasts: those that a learner makes inside its own."""
    token = _spent.set(None)
    try:
        yield
    finally:
        _spent.reset(token)


def count_fits(number: float = 1.0) -> None:
    """Fits have been made here."""
    count_spent(Spent(number))


def count_spent(spent: Spent) -> None:
    """Something is made use of that took these fits."""
    now = _spent.get()
    if now is not None:
        now.add(spent)


class Remembered:
    """Results that are computed once, by name; whoever asks for one counts the fits behind it."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[Any, Spent]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __call__(self, name: Any, compute: Callable[[], Any]) -> Any:
        """The result, computed when it is asked for first."""
        if name not in self._found:
            with uncounted_fits(), counted_fits() as spent:
                result = compute()
            self._found.setdefault(name, (result, spent.behind(new_key())))
        result, behind = self._found[name]
        count_spent(behind)
        return result
