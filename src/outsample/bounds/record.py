"""What a bound says, and the checks and units all bounds share."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from outsample.checks import whole_number

SQUARED_PER_ZERO_ONE = 4.0


def from_squared_units(value: Any) -> Any:
    """Squared error on ±1 labels in 0–1 units: (y − g)² is 4 where the label is wrong and 0 elsewhere.

    Every conversion between the units of the theory (squared) and of the library (0–1) is this one.
    """
    return value / SQUARED_PER_ZERO_ONE


@dataclass(frozen=True, eq=False)
class Bound:
    """An upper limit that holds with probability at least 1 − delta over data sets.

    Attributes
    ----------
    value : the limit, with constants that the proof supports; above 1 it is reported as it is.
    in_sample : the observed part; value = in_sample + gap.
    gap : what the theorem adds.
    printed : the limit with the constants as the source prints them; equal to `value` where they are right.
    n : samples.
    delta : probability with which the limit may fail.
    bounds : what is limited, in words.
    theorem : where it comes from.
    assumptions : what must be true for it to hold.
    """

    value: Any
    in_sample: Any
    gap: Any
    printed: Any
    n: int
    delta: float
    bounds: str
    theorem: str
    assumptions: str

    @property
    def vacuous(self) -> Any:
        """Whether the limit says nothing: no error rate and no complexity exceeds 1 anyway."""
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


def limit(observed: Any, gap: Any, *, n: int, delta: float, theorem: str, assumptions: str, **more: Any) -> Bound:
    """A bound from its observed part and what the theorem adds; `printed_gap` where the source prints another."""
    printed_gap = more.pop("printed_gap", gap)
    return Bound(
        value=as_number(observed + gap),
        in_sample=as_number(observed),
        gap=as_number(gap),
        printed=as_number(observed + printed_gap),
        n=n,
        delta=delta,
        bounds=more.pop("bounds", "out-sample error"),
        theorem=theorem,
        assumptions=assumptions,
    )


def as_number(value: Any) -> Any:
    """A float where there is one number, an array where there are several."""
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array


def deviation(n: float, delta: float, factor: float = 1.0) -> float:
    """√(factor · ln(1/delta) / n)."""
    return math.sqrt(factor * math.log(1 / delta) / n)


def check_delta(delta: float) -> float:
    """delta as a probability strictly between 0 and 1."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must be strictly between 0 and 1, got {delta!r}")
    return float(delta)


def check_size(n: Any, name: str = "n") -> int:
    """A positive whole number of samples."""
    return whole_number(name, n)


def check_rate(error: Any, name: str = "in_sample") -> Any:
    """An error rate, or several: 0–1 units."""
    rate = np.asarray(error, dtype=np.float64)
    if not np.all((rate >= 0) & (rate <= 1)):
        raise ValueError(
            f"{name} must be an error rate between 0 and 1, got {error!r}; squared errors of ±1 labels are four "
            "times as large: use from_squared_units"
        )
    return as_number(rate)


def check_complexity(complexity: Any) -> Any:
    """A mean correlation of labels and hypotheses, or several."""
    values = np.asarray(complexity, dtype=np.float64)
    if not np.all(np.abs(values) <= 1 + 1e-12):
        raise ValueError(f"complexity must be a correlation between -1 and 1, got {complexity!r}")
    return as_number(values)
