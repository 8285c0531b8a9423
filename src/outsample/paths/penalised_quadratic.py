"""The exact minimum of a quadratic form with an elastic-net penalty."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from .base import Floats

_THRESHOLDS = (1e-6, 1e-9, 1e-13)
_MAX_SWEEPS = 100_000


def minimise(gram: Floats, linear: Floats, l1: float, l2: float, start: Floats, scale: float) -> Floats:
    """The b that minimises ½ bᵀGb − cᵀb + l1 |b|₁ + ½ l2 |b|², (p,).

    Coordinate descent finds which coefficients are not zero, and their signs; given these the minimum is
    the solution of one linear system. It is taken once it keeps the signs and no other coefficient wants
    to leave zero, which proves it optimal; otherwise descent goes on to a tighter threshold.

    Parameters
    ----------
    gram, linear : G (p, p) and c (p,).
    start : (p,) a nearby solution, not changed.
    scale : the size of b_j √G_jj that counts as one.
    """
    # Here, because the compiler is slow to import.
    from outsample._kernels.coordinate_descent import descend

    coef = start.copy()
    sweeps = 0
    for threshold in _THRESHOLDS:
        sweeps = descend(gram, linear, l1, l2, coef, threshold * scale, _MAX_SWEEPS)
        exact = solved_on_support(gram, linear, l1, l2, coef)
        if exact is not None:
            return exact
    if sweeps == _MAX_SWEEPS:
        warnings.warn("coordinate descent has not converged", ConvergenceWarning, stacklevel=2)
    return coef


def solved_on_support(gram: Floats, linear: Floats, l1: float, l2: float, coef: Floats) -> Floats | None:
    """The minimum among vectors with the signs of `coef`, if it is the minimum among all."""
    support = np.flatnonzero(coef)
    signs = np.sign(coef[support])
    exact = np.zeros_like(coef)
    if len(support):
        inner = gram[np.ix_(support, support)] + l2 * np.eye(len(support))
        try:
            exact[support] = cho_solve(cho_factor(inner), linear[support] - l1 * signs)
        except LinAlgError:
            return None
        if not np.array_equal(np.sign(exact[support]), signs):
            return None
    # A nearly singular system can be solved wrongly, so its equations are checked too.
    pull = linear - gram @ exact - l2 * exact
    pull[support] = np.abs(pull[support] - l1 * signs) + l1
    slack = 1e-11 * (l1 + float(np.abs(linear).max(initial=0.0)))
    return exact if float(np.abs(pull).max(initial=0.0)) <= l1 + slack else None
