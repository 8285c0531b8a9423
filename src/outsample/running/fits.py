"""Fits: how many were made, counted where they are made, and models that are kept so as not to be fitted again.

A fit is one call of a learner's `fit`, whatever it fits inside; or what stands for it in a kernel of ours: one tree,
decomposition or search per label vector, however many settings and rows left out are read off it, and one solution per
setting of a penalised model, also where it starts from another one. Trees that a race gives to a forest count as their
share of the largest forest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from outsample.running.units import fingerprint

MEMORY = 512 * 2**20

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


@dataclass(frozen=True, eq=False)
class _Kept:
    """One fit: its risk, its bytes, and for each setting that it serves the function that gives its model."""

    risk: float
    size: int
    models: Mapping[str, Callable[[], Any]]


class KeptFits:
    """The fits of least risk, as many as `memory` bytes hold, and always the best one.

    Which model will be chosen is known only when all are judged, and forests of large tables are too large to be all
    kept until then.
    """

    def __init__(self, memory: int = MEMORY) -> None:
        self._memory = memory
        self._fits: list[_Kept] = []

    def offer(self, risk: float, size: int, models: Mapping[str, Callable[[], Any]]) -> None:
        """Keep a fit of `size` bytes, if it is among the best.

        Parameters
        ----------
        models : for every setting that the fit serves, by its `setting_key`, the function that gives its fitted model,
            or None where it cannot.
        """
        self._fits = sorted([*self._fits, _Kept(risk, size, models)], key=lambda fit: fit.risk)
        while len(self._fits) > 1 and sum(fit.size for fit in self._fits) > self._memory:
            self._fits.pop()

    def take(self, key: str | None) -> Any | None:
        """The fitted model of a setting, None where it was not kept."""
        known = (fit.models[key] for fit in self._fits if key is not None and key in fit.models)
        model = next(known, None)
        return None if model is None else model()


def setting_key(estimator: object) -> str | None:
    """What tells the settings of an estimator from others; None where that cannot be told."""
    try:
        return fingerprint(estimator)
    except ValueError:
        return None
