"""The effective VC dimension of a learner, measured on random labels (Vapnik, Levin & Le Cun 1994).

On 2l rows with random labels the expected maximal difference between the errors on two halves is ξ(l) = E[1 − 2e'],
where e' is the training error. Its shape as a function of l is Φ(l/h); the h of the best fit is the effective
dimension. Vapnik, Levin & Le Cun calibrated the constants of Φ on linear classifiers trained with a smooth loss, for
which h is the number of columns plus one. An exact minimiser of the number of errors fits random labels better and gets
a larger h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator, is_classifier

from outsample.checks import number_of_jobs, whole_number
from outsample.curve.result import Result
from outsample.data.learners import check_learner
from outsample.data.tables import Table, as_table, n_rows, rows
from outsample.paths.base import Path
from outsample.paths.dispatch import find_path
from outsample.running.arrays import Floats
from outsample.running.fits import counted_fits
from outsample.running.run import RandomState, child_generator, child_integer, seed_sequence
from outsample.running.workers import results_of

# Constants of Φ from Vapnik, Levin & Le Cun (1994); k makes it continuous at τ = ½.
A, B, K = 0.16, 1.2, 0.14928
# Label vectors for each random subset of rows, which share the work that depends on X alone.
LABELS_PER_SUBSET = 5
# Smallest default half-size l, and number of default sizes.
SMALLEST, N_SIZES = 2, 8


def discrepancy_shape(tau: ArrayLike) -> Floats:
    """Φ(τ), of the shape of τ: 1 below τ = ½, then a (ln 2τ + 1)/(τ − k) · (√(1 + b (τ − k)/(ln 2τ + 1)) + 1).

    >>> discrepancy_shape([0.25, 0.5, 10.0]).round(3).tolist()
    [1.0, 1.0, 0.194]
    """
    ratio = np.asarray(tau, dtype=np.float64)
    beyond = np.maximum(ratio, 0.5)
    logarithm = np.log(2 * beyond) + 1
    value = A * logarithm / (beyond - K) * (np.sqrt(1 + B * (beyond - K) / logarithm) + 1)
    return np.where(ratio < 0.5, 1.0, value)


@dataclass(frozen=True, eq=False)
class EffectiveVC(Result):
    """A measured VC dimension.

    Attributes
    ----------
    value : the effective dimension h.
    standard_error : its Monte-Carlo error, from those of the discrepancies.
    sizes : (sizes,) half the number of rows, l.
    discrepancy : (sizes,) the measured ξ(l), with `monte_carlo_error` of each.
    fitted : (sizes,) Φ(l/h).
    lower_bound : whether the learner fitted random labels without error at every size, so that h is at least `value`.
    n_fits : number of fits.
    """

    value: float
    standard_error: float
    sizes: NDArray[np.intp]
    discrepancy: Floats
    monte_carlo_error: Floats
    lower_bound: bool
    n_fits: int

    told: ClassVar[str] = "value standard_error lower_bound n_fits sizes discrepancy monte_carlo_error fitted"

    @property
    def fitted(self) -> Floats:
        """Φ(l/h) at the sizes measured."""
        return discrepancy_shape(self.sizes / self.value)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        sign = "≥" if self.lower_bound else "="
        misfit = float(np.abs(self.fitted - self.discrepancy).max())
        return (
            f"effective VC dimension {sign} {self.value:.4g} ± {self.standard_error:.2g} (Monte Carlo), "
            f"{self.n_fits} fits\n"
            f"from the discrepancy on random labels at {len(self.sizes)} sizes up to {2 * self.sizes[-1]} rows; "
            f"largest misfit {misfit:.2g}"
        )

    def plot(self, ax: Any = None) -> Any:
        """Plot the measured discrepancies and the curve fitted to them; returns the Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import discrepancy_drawing

        return plotted(discrepancy_drawing(self), ax)


def effective_vc_dimension(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike | None = None,
    *,
    sizes: Sequence[int] | None = None,
    n_draws: int = 200,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    fast: bool = True,
) -> EffectiveVC:
    """The VC dimension that a classifier behaves as if it had, measured on random labels.

    Parameters
    ----------
    estimator : a classifier or pipeline.
    X : rows from which subsets are drawn.
    y : not used: labels are 0 or 1 with probability ½.
    sizes : half-sizes l, by default eight from 2 to half the rows, evenly spaced on a logarithmic scale.
    n_draws : label vectors at each size, five for each random subset of rows.
    random_state, n_jobs, fast : as in `estimate`.

    Returns
    -------
    EffectiveVC
        Its `value` is the dimension.

    Examples
    --------
    >>> import numpy as np
    >>> from outsample import StumpClassifier
    >>> X = np.random.default_rng(0).normal(size=(60, 1))
    >>> found = effective_vc_dimension(StumpClassifier(), X, n_draws=20, random_state=0)
    >>> 1 < found.value < 8
    True
    """
    check_learner(estimator)
    if not is_classifier(estimator):
        raise ValueError(
            f"effective VC dimension is defined for classifiers, {type(estimator).__name__} is none; for regression "
            "use generalized_degrees_of_freedom"
        )
    count = whole_number("n_draws", n_draws)
    number_of_jobs(n_jobs)
    X = as_table(X)
    halves = _checked_sizes(sizes, n_rows(X))
    subsets = max(2, -(-count // LABELS_PER_SUBSET))
    discrepancy = _Discrepancy(find_path(estimator, fast=fast), X, seed_sequence(random_state))
    tasks = [(int(half), i, k) for i, half in enumerate(halves) for k in range(subsets)]
    with counted_fits() as spent:
        values = np.array(list(results_of(discrepancy, tasks, n_jobs))).reshape(len(halves), subsets)
    mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(subsets)
    h = fitted_dimension(halves, mean)
    return EffectiveVC(
        value=h,
        standard_error=_error_of_dimension(halves, h, error),
        sizes=halves,
        discrepancy=mean,
        monte_carlo_error=error,
        lower_bound=bool((mean >= 1).all()),
        n_fits=spent.n_fits,
    )


def fitted_dimension(sizes: ArrayLike, discrepancy: ArrayLike) -> float:
    """The h whose Φ(l/h) fits the measured discrepancies best in least squares; 2 max(l) where all are 1."""
    halves, measured = np.asarray(sizes, dtype=np.float64), np.asarray(discrepancy, dtype=np.float64)

    def misfit(log_h: float) -> float:
        return float(((discrepancy_shape(halves / np.exp(log_h)) - measured) ** 2).sum())

    grid = np.linspace(np.log(0.1), np.log(2 * halves.max()), 400)
    best = int(np.argmin([misfit(g) for g in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(misfit, bounds=around, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x if found.fun < misfit(grid[best]) else grid[best]))


def _error_of_dimension(sizes: NDArray[np.intp], h: float, error: Floats) -> float:
    """Standard error of h by the delta method, from the errors of the discrepancies."""
    step = 1e-4 * h
    slope = (discrepancy_shape(sizes / (h + step)) - discrepancy_shape(sizes / (h - step))) / (2 * step)
    total = float((slope**2).sum())
    return float(np.sqrt(((slope * error) ** 2).sum()) / total) if total > 0 else float("nan")


def _checked_sizes(sizes: Sequence[int] | None, n: int) -> NDArray[np.intp]:
    most = n // 2
    if sizes is None:
        if most < SMALLEST + 1:
            raise ValueError(f"X has {n} rows; at least {2 * SMALLEST + 2} are needed")
        return np.unique(np.geomspace(SMALLEST, most, N_SIZES).round().astype(np.intp))
    halves = np.unique(np.array([whole_number("sizes", size) for size in sizes], dtype=np.intp))
    if len(halves) == 0 or halves[0] < 1 or halves[-1] > most:
        raise ValueError(f"sizes must be half-sizes between 1 and {most}, half the rows of X, got {list(sizes)}")
    return halves


class _Discrepancy:
    """Mean discrepancy of a few random label vectors on one random subset of rows."""

    def __init__(self, path: Path, X: Table, seed: np.random.SeedSequence) -> None:
        self.path, self.X, self.seed = path, X, seed
        self.pairwise = path.pairwise

    def __call__(self, half: int, size: int, subset: int) -> float:
        rng = child_generator(self.seed, size, subset)
        chosen = rng.permutation(n_rows(self.X))[: 2 * half]
        design = self.path.bind(rows(self.X, chosen, chosen if self.pairwise else None), np.array([0, 1]))
        labels = rng.integers(0, 2, (LABELS_PER_SUBSET, 2 * half))
        seeds = [child_integer(self.seed, size, subset, i) for i in range(LABELS_PER_SUBSET)]
        right = np.trace(design.confusions(labels, seeds), axis1=2, axis2=3)
        return float((2 * right[:, 0] - 1).mean())
