"""Penalties: the in-sample squared error corrected for the number of parameters. Pure functions, usable alone.

Every function takes `in_sample`, the mean squared error on the n samples fitted, and `dof`, the number of parameters
d (the trace of the smoother, if the fit is one), and returns an estimate of the mean squared error on new labels, in
the units of `in_sample`: never a log-likelihood, never a multiple of the noise variance. All arguments broadcast, so
one call serves a whole path of models. Where a formula has no finite value (as many parameters as samples) the
answer is infinity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from outsample.docstrings import described
from outsample.running.arrays import Floats

# A share 1 − d/n below this is zero up to rounding, because d is a sum of n rounded leverages.
_ROUNDING = 1e-9

_penalty = described(
    {
        "in_sample": "e_in, mean squared error on the rows fitted, or one per model.",
        "dof": "d, degrees of freedom of each model.",
        "n": "number of rows.",
        "sigma2": "the variance of the noise; None estimates it from each model.",
    },
    returns="array\n    The penalised error of each model, smaller is better.",
)


@_penalty
def fpe(in_sample: ArrayLike, dof: ArrayLike, n: ArrayLike) -> Floats:
    """Final prediction error, e_in (1 + d/n)/(1 − d/n) (Akaike 1970).

    Examples
    --------
    >>> float(fpe(1.0, 5, 20))
    1.6666666666666667
    """
    error, q, _ = _arrays(in_sample, dof, n)
    return _ratio(error * (1 + q), _left(q))


@_penalty
def gcv(in_sample: ArrayLike, dof: ArrayLike, n: ArrayLike) -> Floats:
    """Generalised cross-validation, e_in/(1 − d/n)² (Craven & Wahba 1979).

    Examples
    --------
    >>> float(gcv(1.0, 10, 20))
    4.0
    """
    error, q, _ = _arrays(in_sample, dof, n)
    return _ratio(error, _left(q) ** 2)


@_penalty
def mallows_cp(in_sample: ArrayLike, dof: ArrayLike, n: ArrayLike, sigma2: ArrayLike) -> Floats:
    """Mallows' Cp in units of squared error, e_in + 2 σ² d/n (Mallows 1973).

    The textbook's Cp = RSS/σ² − n + 2d is n/σ² times this, minus n: the same order of models.

    Parameters
    ----------
    sigma2 : the variance of the noise.

    Examples
    --------
    >>> float(mallows_cp(1.0, 5, 20, sigma2=2.0))
    2.0
    """
    error, q, _ = _arrays(in_sample, dof, n)
    return np.asarray(error + 2 * _noise(sigma2) * q)


@_penalty
def aic(in_sample: ArrayLike, dof: ArrayLike, n: ArrayLike, sigma2: ArrayLike | None = None) -> Floats:
    """Akaike's information criterion for Gaussian noise, in units of squared error (Akaike 1974).

    With `sigma2` known, −2 log-likelihood + 2d is RSS/σ² + 2d up to a constant; times σ²/n it is
    e_in + 2 σ² d/n, equal to `mallows_cp`. With `sigma2` None each model estimates its own noise:
    n ln e_in + 2d, on the scale of squared error e_in exp(2d/n).

    Examples
    --------
    >>> float(aic(1.0, 5, 20, sigma2=2.0))
    2.0
    >>> float(aic(1.0, 5, 20))
    1.6487212707001282
    """
    error, q, _ = _arrays(in_sample, dof, n)
    return np.asarray(error * np.exp(2 * q) if sigma2 is None else error + 2 * _noise(sigma2) * q)


@_penalty
def bic(in_sample: ArrayLike, dof: ArrayLike, n: ArrayLike, sigma2: ArrayLike | None = None) -> Floats:
    """Schwarz's Bayesian information criterion for Gaussian noise, in units of squared error (Schwarz 1978).

    e_in + ln(n) σ² d/n with `sigma2` known; with `sigma2` None e_in exp(ln(n) d/n). It ranks models by their
    posterior probability: its values are on the scale of a squared error, but above it for n > 7.

    Examples
    --------
    >>> float(bic(1.0, 5, np.e**2, sigma2=0.0))
    1.0
    """
    error, q, n_samples = _arrays(in_sample, dof, n)
    price = np.log(n_samples) * q
    return np.asarray(error * np.exp(price) if sigma2 is None else error + _noise(sigma2) * price)


@_penalty
def vc(in_sample: ArrayLike, dof: ArrayLike, n: ArrayLike) -> Floats:
    """Vapnik's penalised squared error, e_in/(1 − √(q − q ln q + ln n/(2n)))₊ with q = d/n.

    The practical form of Cherkassky, Shao, Mulier & Vapnik (1999); infinite where the bracket is not positive.

    Examples
    --------
    >>> bool(np.isinf(vc(1.0, 15, 20)))
    True
    """
    error, q, n_samples = _arrays(in_sample, dof, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        capacity = np.where(q > 0, q - q * np.log(q), 0.0) + np.log(n_samples) / (2 * n_samples)
    return _ratio(error, np.where(_left(q) > 0, 1 - np.sqrt(np.maximum(capacity, 0.0)), 0.0))


def _left(q: Floats) -> Floats:
    """1 − d/n, the share of degrees of freedom left for the error; 0 where it is zero up to rounding."""
    left = 1 - q
    return np.where(left > _ROUNDING, left, 0.0)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """The quotient; infinite where the denominator is not positive, also when the numerator is zero there."""
    positive = denominator > 0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), np.inf)


def _arrays(in_sample: ArrayLike, dof: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """(in-sample error, d/n, n) as arrays."""
    error, d, n_samples = (np.asarray(value, dtype=np.float64) for value in (in_sample, dof, n))
    _refuse("in_sample must not be negative", in_sample, (error < 0).any())
    _refuse("dof must be a number that is not negative", dof, ~(d >= 0).all())
    _refuse("n must be positive", n, ~(n_samples > 0).all())
    return error, d / n_samples, n_samples


def _noise(sigma2: ArrayLike) -> Floats:
    variance = np.asarray(sigma2, dtype=np.float64)
    _refuse("sigma2 must not be negative", sigma2, (variance < 0).any())
    return variance


def _refuse(rule: str, value: ArrayLike, broken: np.bool_) -> None:
    if broken:
        raise ValueError(f"{rule}, got {value!r}")
