"""Models that were fitted to all rows on the way to an answer, kept so that the chosen one is not fitted again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from outsample.running.units import fingerprint

MEMORY = 512 * 2**20


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
