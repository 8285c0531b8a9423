"""The result of a bound, and the checks and units all bounds share."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from outsample.running.arrays import Bools, Floats

SQUARED_PER_ZERO_ONE = 4.0

Numbers = float | Floats
"""One number, or one per model."""
Unit = TypeVar("Unit", float, Floats)


def from_squared_units(value: Unit) -> Unit:
    """A squared error on ±1 labels in 0–1 units: (y − g)² is 4 where the label is wrong and 0 elsewhere.

    The only conversion between the units of the theory (squared) and of the library (0–1).

    Parameters
    ----------
    value : a squared error, or several.

    Returns
    -------
    float or array
        A fourth of it.

    Examples
    --------
    >>> from_squared_units(0.4)
    0.1
    """
    return value / SQUARED_PER_ZERO_ONE


@dataclass(frozen=True, eq=False)
class Bound:
    """An upper bound that holds with probability at least 1 − delta over data sets.

    Attributes
    ----------
    value : the upper bound, with constants that the proof supports; above 1 it is reported as it is.
    in_sample : the observed error or complexity; value = in_sample + gap.
    gap : what the theorem adds.
    printed : the bound with the constants as the source prints them; equal to `value` where they are right.
    n : number of samples.
    delta : probability with which the bound may fail.
    bounds : which quantity is bounded, in words.
    theorem : where it comes from.
    assumptions : what must be true for it to hold.

    Examples
    --------
    >>> from outsample.bounds import rademacher_bound
    >>> limit = rademacher_bound(in_sample=0.1, complexity=0.05, n=2000)
    >>> limit.vacuous, limit.theorem
    (False, 'Bartlett & Mendelson 2002, Theorem 5')
    """

    value: Numbers
    in_sample: Numbers
    gap: Numbers
    printed: Numbers
    n: int
    delta: float
    bounds: str
    theorem: str
    assumptions: str

    @property
    def vacuous(self) -> bool | Bools:
        """Whether the bound says nothing, being at or above 1, which no error rate and no complexity exceeds anyway."""
        empty = np.asarray(self.value) >= 1.0
        return bool(empty) if empty.ndim == 0 else empty

    def __float__(self) -> float:
        return float(self.value)

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values."""
        numbers = {name: np.asarray(getattr(self, name)).tolist() for name in ("value", "in_sample", "gap", "printed")}
        words = {"n": self.n, "delta": self.delta, "vacuous": np.asarray(self.vacuous).tolist()}
        return numbers | words | {"bounds": self.bounds, "theorem": self.theorem, "assumptions": self.assumptions}

    def __str__(self) -> str:
        values = ", ".join(f"{v:.4g}" for v in np.ravel(self.value))
        verdict = "; vacuous: at or above 1 it says nothing" if np.all(self.vacuous) else ""
        return (
            f"{self.bounds} ≤ {values} with probability {1 - self.delta:.4g}{verdict}\n"
            f"by {self.theorem}, n = {self.n}\n"
            f"assumes {self.assumptions}"
        )

    def _repr_html_(self) -> str:
        first, *rest = (html.escape(line) for line in str(self).splitlines())
        return f"<p><strong>{first}</strong><br>{'<br>'.join(rest)}</p>"


def limit(
    observed: Numbers,
    gap: Numbers,
    *,
    n: int,
    delta: float,
    theorem: str,
    assumptions: str,
    printed_gap: Numbers | None = None,
    bounds: str = "out-sample error",
) -> Bound:
    """A bound from an observed quantity and the gap a theorem adds; `printed_gap` where the source prints another."""
    return Bound(
        value=as_number(observed + gap),
        in_sample=as_number(observed),
        gap=as_number(gap),
        printed=as_number(observed + (gap if printed_gap is None else printed_gap)),
        n=n,
        delta=delta,
        bounds=bounds,
        theorem=theorem,
        assumptions=assumptions,
    )


def as_number(value: ArrayLike) -> Numbers:
    """A float where there is one number, an array where there are several."""
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array


def deviation(n: float, delta: float, factor: float = 1.0) -> float:
    """√(factor · ln(1/delta) / n)."""
    return math.sqrt(factor * math.log(1 / delta) / n)


def check_rate(error: ArrayLike, name: str = "in_sample") -> Numbers:
    """An error rate in 0–1 units, or one per model."""
    rate = np.asarray(error, dtype=np.float64)
    if not np.all((rate >= 0) & (rate <= 1)):
        raise ValueError(
            f"{name} must be an error rate between 0 and 1, got {rate.tolist()}; squared errors of ±1 labels are four "
            "times as large: use from_squared_units"
        )
    return as_number(rate)


def check_complexity(complexity: ArrayLike) -> Numbers:
    """A mean correlation of labels and hypotheses, or one per model."""
    values = np.asarray(complexity, dtype=np.float64)
    if not np.all(np.abs(values) <= 1 + 1e-12):
        raise ValueError(f"complexity must be a correlation between -1 and 1, got {values.tolist()}")
    return as_number(values)
