"""The record of a measured complexity."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from outsample.losses import Floats
from outsample.numerals import numeral

WORDS = ("kind", "lower_bound", "sentence", "n_samples", "n_fits", "seconds")


@dataclass(frozen=True, eq=False)
class Complexity:
    """How well a hypothesis set, or each of a path, fits labels without information.

    Attributes
    ----------
    value : mean over draws of the largest correlation with the drawn labels, between −1 and 1; a float for one
        model, (models,) for a path, simplest first.
    monte_carlo_error : standard error of `value` over draws; 0.0 when all label vectors were used, None for a
        single draw.
    lower_bound : whether the learner may have missed the maximum, so that the complexity of its hypothesis set
        may be larger than `value`.
    mean_product : ȳ E[ḡ], the mean label times the mean prediction of the fits.
    draws : (draws, models) the correlation of each draw.
    exhaustive : whether every label vector that can be drawn was used.
    flipped : (draws,) share of rows where the drawn label is not the real one.
    n_samples, n_fits, seconds : what it cost.
    params : the setting of each model.
    """

    value: Any
    monte_carlo_error: Any
    kind: str
    lower_bound: bool
    draws: Floats = field(repr=False)
    flipped: Floats = field(repr=False)
    n_samples: int
    n_fits: int
    single: bool
    exhaustive: bool
    params: Sequence[dict[str, Any]] = ()
    mean_product: Any = 0.0
    seconds: float = 0.0

    @property
    def sentence(self) -> str:
        """What the number is, in words."""
        if self.lower_bound:
            return (
                "a lower bound on the complexity of the hypothesis set: the learner is not known to minimise the "
                "training error, so better fits to the drawn labels may exist"
            )
        return "the complexity of the hypothesis set: no hypothesis fits the drawn labels better"

    def __float__(self) -> float:
        return float(self.value)

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values."""
        numbers = {
            name: None if (value := getattr(self, name)) is None else np.asarray(value).tolist()
            for name in ("value", "monte_carlo_error", "mean_product")
        }
        words = {name: getattr(self, name) for name in WORDS}
        return numbers | words | {"n_draws": len(self.draws), "params": [dict(p) for p in self.params]}

    def __str__(self) -> str:
        values, errors = np.atleast_1d(self.value), self._errors()
        lines = [
            f"{self._setting(k)}{numeral(value)}"
            + ("" if errors is None else f" ± {numeral(errors[k], 2)} (Monte Carlo)")
            for k, value in enumerate(values)
        ]
        cost = f"n = {self.n_samples}, {len(self.draws)} draws, {self.n_fits} fits, {numeral(self.seconds, 2)} s"
        return "\n".join([f"{self.kind}: {lines[0]}", *lines[1:], cost, self.sentence])

    def _errors(self) -> Floats | None:
        return None if self.monte_carlo_error is None else np.atleast_1d(self.monte_carlo_error)

    def _setting(self, k: int) -> str:
        return "" if self.single else ", ".join(f"{name}={v}" for name, v in self.params[k].items()) + ": "

    def _repr_html_(self) -> str:
        first, *rest = (html.escape(line) for line in str(self).splitlines())
        return f"<p><strong>{first}</strong><br>{'<br>'.join(rest)}</p>"
