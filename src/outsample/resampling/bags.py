"""Bootstrap bags of rows: how often each row is in, and whether a weight says the same as repeating a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample.running.arrays import Floats, Rows
from outsample.running.seeds import child_generator

Counts = NDArray[np.intp]

_SUMS_OVER_ROWS = (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    KernelRidge,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
_TREES = (DecisionTreeClassifier, DecisionTreeRegressor)


def draw_bags(units: Rows, n_bags: int, seed: np.random.SeedSequence) -> Counts:
    """How often each row is in each bag, (bags, n): as many units as there are, drawn with replacement.

    Parameters
    ----------
    units : (n,) number of the unit each row belongs to, its own or its group's.
    """
    n_units = int(units.max()) + 1
    drawn = [child_generator(seed, b).integers(n_units, size=n_units) for b in range(n_bags)]
    per_unit = np.stack([np.bincount(d, minlength=n_units) for d in drawn])
    return np.asarray(per_unit[:, units], dtype=np.intp)


def drawing_units(n: int, groups: NDArray[Any] | None) -> Rows:
    """The unit of each row, (n,): the row itself or its group."""
    units = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(n)
    return np.asarray(units, dtype=np.intp)


def weight_repeats(estimator: BaseEstimator) -> bool:
    """Whether fitting with whole-number weights is fitting with repeated rows.

    True for scikit-learn's own learners whose objective is a sum (or weighted mean) over rows, up to the tolerance
    of their solvers, and for trees that set no minimum number of rows. Everything else gets repeated rows: pipelines,
    whose earlier steps see no weights; learners that count rows (`min_samples_leaf`), draw them (forests), bin them
    (histograms) or scale by them (`gamma="scale"`, balanced class weights); learners not known here.
    """
    if type(estimator) in _TREES:
        return bool(estimator.min_samples_leaf == 1 and estimator.min_samples_split == 2)
    return type(estimator) in _SUMS_OVER_ROWS and getattr(estimator, "class_weight", None) != "balanced"


# Beyond this R the factor 1/(1 − .368 R) of .632+ is on its way through infinity to negative values.
LARGEST_OVERFITTING = 0.9 / 0.368


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """What rows said of models that never saw them.

    Attributes
    ----------
    risk : (models,) mean over rows of each row's mean loss over the bags that miss it.
    by_row : (models, n) those mean losses; nan for rows that no bag misses.
    share : (n,) weight of each row in the mean; 0 for rows that no bag misses.
    direct : (models, units) part of each unit's influence on `risk` through its own losses.
    influence : (models, units) all of it: the losses of others move with the bags, too.
    noise : (models,) what the finite number of bags adds to the sum of squared influences.
    monte_carlo_error : (models,) error of `risk` from the finite number of bags.
    """

    risk: Floats
    by_row: Floats
    share: Floats
    direct: Floats
    influence: Floats
    noise: Floats
    monte_carlo_error: Floats

    def standard_error(self, in_bag_weight: Floats | float = 0.0, in_sample: Floats | float = 0.0) -> Floats:
        """Infinitesimal-jackknife standard error of (1 − v) risk + v in-sample risk, (models,), v = `in_bag_weight`.

        The root of the sum of squared influences (Efron & Tibshirani 1997, §5, whose D̂_i = (2 + 1/(n−1))(Ê_i − Err)/n
        + cov(N_i, q) is the same number with exact bags; here its row part is taken out of the covariance, which
        leaves less Monte-Carlo noise). The noise of finitely many bags is subtracted, but never so much
        that less than the spread of the rows' own losses remains.

        Parameters
        ----------
        in_sample : (models, units) influence of each unit on the in-sample risk.
        """
        kept = np.asarray(1.0 - np.asarray(in_bag_weight))[..., None]
        in_bag = np.asarray(in_bag_weight)[..., None] * in_sample
        whole = np.square(kept * self.influence + in_bag).sum(axis=-1) - kept[..., 0] ** 2 * self.noise
        least = np.square(kept * self.direct + in_bag).sum(axis=-1)
        return np.asarray(np.sqrt(np.maximum(whole, least)))


def out_of_bag(
    multiplicity: NDArray[Any],
    losses: Iterable[NDArray[Any]],
    weight: Floats | None = None,
    units: NDArray[np.intp] | None = None,
) -> OutOfBag:
    """Average over rows first: each row over the bags that miss it, then over rows.

    Parameters
    ----------
    multiplicity : (bags, n) how often each row is in each bag.
    losses : for each bag, (models, rows out of it) the losses of those rows, in their order.
    weight : (n,) weight of each row in the mean.
    units : (n,) what was drawn: the number of each row's group; None when rows were drawn.

    Examples
    --------
    >>> bags = np.array([[2, 1, 0], [0, 1, 2], [0, 3, 0]])
    >>> found = out_of_bag(bags, [np.array([[1.0]]), np.array([[0.0]]), np.array([[1.0, 0.0]])])
    >>> found.by_row, found.risk
    (array([[0.5, nan, 0.5]]), array([0.5]))
    """
    out = multiplicity == 0
    times_out = out.sum(axis=0)
    share = np.where(times_out > 0, 1.0 if weight is None else weight, 0.0)
    if not share.any():
        raise ValueError("no row is out of any bag; draw more bags")
    share = share / share.sum()
    per_time = share / np.maximum(times_out, 1)
    totals: Any = 0.0
    per_bag = []
    for b, of_bag in enumerate(losses):
        full = np.zeros((len(of_bag), out.shape[1]))
        full[:, out[b]] = of_bag
        totals = totals + full
        per_bag.append(full @ per_time)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_row = totals / times_out
    known = np.where(times_out > 0, by_row, 0.0)
    risk = known @ share
    within = np.stack(per_bag) - (out * per_time) @ known.T
    return _judged(multiplicity, known, by_row, share, risk, within, np.arange(len(share)) if units is None else units)


def _judged(
    multiplicity: NDArray[Any],
    known: Floats,
    by_row: Floats,
    share: Floats,
    risk: Floats,
    within: Floats,
    units: NDArray[np.intp],
) -> OutOfBag:
    """`within` (bags, models): how far each bag moves the risk beyond which rows happen to be out of it."""
    drawn = multiplicity[:, np.unique(units, return_index=True)[1]].astype(np.float64)
    drawn -= drawn.mean(axis=0)
    direct = by_unit(share * (known - risk[:, None]), units)
    squares = np.square(within).sum(axis=0)
    n_bags = len(within)
    return OutOfBag(
        risk=risk,
        by_row=by_row,
        share=share,
        direct=direct,
        influence=direct + within.T @ drawn,
        noise=squares * np.square(drawn).sum() / n_bags,
        monte_carlo_error=np.sqrt(squares * n_bags / (n_bags - 1)) if n_bags > 1 else np.full(len(risk), np.nan),
    )


def by_unit(values: Floats, units: NDArray[np.intp]) -> Floats:
    """Sums over the rows of each unit, (models, units), of values (models, n)."""
    n_units = int(units.max()) + 1
    return np.stack([np.bincount(units, weights=row, minlength=n_units) for row in values])


def weight_632(models: int) -> Floats:
    """Weight of the out-of-bag risk in the .632 estimate, (models,)."""
    return np.full(models, 0.632)


def weight_632_plus(in_sample: Floats, out_of_bag_risk: Floats, no_information: Floats) -> Floats:
    """Weight of the out-of-bag risk in the .632+ estimate, (models,), so that it is (1 − v) in-sample + v out-of-bag.

    Efron & Tibshirani (1997): .632 estimate + (e' − e_in) · .368·.632·R/(1 − .368 R), with e' = min(e_oob, γ) and
    R = (e_oob − e_in)/(γ − e_in) where e_oob and γ exceed e_in, else 0. R is not capped at 1: where e_oob exceeds γ
    by chance it goes above 1 as often as it stays below, and that cap would bias the estimate downwards. It is kept
    below 2.45, before the pole at R = 1/.368; so the estimate goes to that of .632 when γ comes down to e_in, where
    predictions are all alike.

    Parameters
    ----------
    in_sample, out_of_bag_risk : (models,).
    no_information : (models,) γ, the crossed mean of all labels and the predictions of the full fit.

    Examples
    --------
    >>> one = np.ones(1)
    >>> weight_632_plus(0 * one, 0.5 * one, 0.5 * one), weight_632_plus(0.1 * one, 0.1 * one, 0.5 * one)
    (array([1.]), array([0.632]))
    """
    informative = (out_of_bag_risk > in_sample) & (no_information > in_sample)
    with np.errstate(invalid="ignore", divide="ignore"):
        overfitting = np.where(informative, (out_of_bag_risk - in_sample) / (no_information - in_sample), 0.0)
        bounded = np.minimum(out_of_bag_risk, no_information)
        part = np.where(informative, (bounded - in_sample) / (out_of_bag_risk - in_sample), 0.0)
    overfitting = np.minimum(overfitting, LARGEST_OVERFITTING)
    step = 0.368 * 0.632 * overfitting / (1 - 0.368 * overfitting)
    return np.asarray(0.632 + part * step)
