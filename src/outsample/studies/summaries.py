"""Averages that say how far to trust them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

TRIMMED = 0.01
"""Share of the largest values left out of a trimmed mean: rare disasters dominate plain means of regrets."""


@dataclass(frozen=True)
class Summary:
    """Mean, top-trimmed mean and median of a sample, the first two with standard errors."""

    mean: float
    standard_error: float
    trimmed: float
    trimmed_standard_error: float
    median: float


def summary(values: Array) -> Summary:
    """Summary of a sample (n,). The trimmed mean leaves out the largest 1 %; its error is that of winsorised values."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    kept = max(1, n - int(TRIMMED * n))
    spread = np.std(np.minimum(ordered, ordered[kept - 1]), ddof=1) if n > 1 else np.nan
    return Summary(
        mean=float(ordered.mean()),
        standard_error=float(np.std(ordered, ddof=1) / np.sqrt(n)) if n > 1 else np.nan,
        trimmed=float(ordered[:kept].mean()),
        trimmed_standard_error=float(spread / (kept / n) / np.sqrt(n)),
        median=float(np.median(ordered)),
    )


def ratio_of_means(numerator: Array, denominator: Array) -> tuple[float, float]:
    """(Σ numerator / Σ denominator, standard error by the delta method) over paired samples (n,)."""
    n, below = len(numerator), float(np.mean(denominator))
    ratio = float(np.mean(numerator)) / below
    if n < 2:
        return ratio, float("nan")
    return ratio, float(np.std(numerator - ratio * denominator, ddof=1) / np.sqrt(n) / below)
