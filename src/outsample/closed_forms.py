"""Estimates for linear smoothers ŷ = S y, from leverages and row sums alone: no refit, nothing drawn.

Weights w, where given, weigh the samples in the risk; S is then the smoother of the weighted fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.losses import Floats, weighted_mean
from outsample.paths import Smoother

Array = NDArray[Any]


def permutation_optimism(smoother: Smoother, y: Array, weight: Floats | None = None) -> Floats:
    """Expected optimism over all permutations of y, squared error, (models,).

    (2σ̂²_y/n)(tr S − 1ᵀS1/n), σ̂²_y the unbiased variance of y (Magdon-Ismail & Mertsalov, Theorem 3); with weights
    the same sum over rows, weighted. Several outputs average.
    """
    n = len(y)
    variance = float(np.mean(np.var(y, axis=0, ddof=1)))
    return 2 * variance * weighted_mean(smoother.leverages - smoother.row_sums / n, weight)


def label_bootstrap_optimism(smoother: Smoother, y: Array, weight: Floats | None = None) -> Floats:
    """Expected optimism over labels drawn with replacement, squared error, (models,): 2 s²_y tr(S)/n (§2.3)."""
    variance = float(np.mean(np.var(y, axis=0)))
    return 2 * variance * weighted_mean(smoother.leverages, weight)
