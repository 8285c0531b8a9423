"""Coordinate descent for a quadratic form with an elastic-net penalty."""

from __future__ import annotations

import numpy as np
from numba import njit

from outsample._kernels.options import OPTIONS
from outsample.running.arrays import Floats


@njit(**OPTIONS)
def descend(gram: Floats, linear: Floats, l1: float, l2: float, coef: Floats, threshold: float, max_sweeps: int) -> int:
    """Minimise ½ bᵀGb − cᵀb + l1 |b|₁ + ½ l2 |b|² in place, starting at `coef`.

    Full sweeps find the coefficients that leave zero; the sweeps between them visit only those that are not zero.

    Parameters
    ----------
    gram : (p, p) symmetric, non-negative definite.
    linear : (p,) the vector c.
    l1, l2 : non-negative.
    coef : (p,) start, overwritten by the solution.
    threshold : stop when no step of a full sweep is larger, in units of b_j √(G_jj + l2).
    max_sweeps : largest number of sweeps.

    Returns
    -------
    Number of sweeps; `max_sweeps` when the threshold was not reached.
    """
    p = len(linear)
    pull = linear.copy()
    for j in range(p):
        if coef[j] != 0.0:
            for k in range(p):
                pull[k] -= coef[j] * gram[j, k]
    everything = True
    for sweep in range(max_sweeps):
        largest = 0.0
        for j in range(p):
            if not everything and coef[j] == 0.0:
                continue
            curvature = gram[j, j] + l2
            if curvature <= 0.0:
                continue
            target = pull[j] + gram[j, j] * coef[j]
            shrunk = max(abs(target) - l1, 0.0) / curvature
            step = (shrunk if target > 0.0 else -shrunk) - coef[j]
            if step != 0.0:
                coef[j] += step
                for k in range(p):
                    pull[k] -= step * gram[j, k]
                largest = max(largest, abs(step) * np.sqrt(curvature))
        if largest <= threshold:
            if everything:
                return sweep + 1
            everything = True
        else:
            everything = False
    return max_sweeps


def warmup() -> None:
    """Compile the kernel, or load it from disk."""
    descend(np.eye(1), np.ones(1), 0.1, 0.1, np.zeros(1), 1e-6, 10)
