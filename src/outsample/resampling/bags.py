"""Bootstrap bags of rows, and what follows from the losses of rows out of bag.

`draw_bags` draws the bags and `weight_repeats` says whether a learner may be given weights instead of repeated rows.
`out_of_bag` is the leave-one-out bootstrap risk with its standard error; `weight_632` and `weight_632_plus` combine it
with the in-sample risk (Efron 1983; Efron & Tibshirani 1997).
"""

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

from outsample.data.parameters import unknown_settings
from outsample.running.arrays import Floats, Rows
from outsample.running.run import child_generator

Counts = NDArray[np.intp]

# Learners whose objective is a sum or a weighted mean over rows.
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
    """How often each row is in each bag, (bags, n): all units drawn as often as there are units, with replacement.

    Parameters
    ----------
    units : (n,) the number of each row's unit, as from `drawing_units`.
    """
    n_units = int(units.max()) + 1
    drawn = [child_generator(seed, b).integers(n_units, size=n_units) for b in range(n_bags)]
    per_unit = np.stack([np.bincount(d, minlength=n_units) for d in drawn])
    return np.asarray(per_unit[:, units], dtype=np.intp)


def drawing_units(n: int, groups: NDArray[Any] | None) -> Rows:
    """The number of the unit that is drawn with each row, (n,): its group, or the row itself without groups."""
    units = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(n)
    return np.asarray(units, dtype=np.intp)


def weight_repeats(estimator: BaseEstimator) -> bool:
    """Whether a fit with whole-number weights is the same as one with repeated rows.

    True for scikit-learn's learners whose objective is a sum (or weighted mean) over rows, up to the tolerance of their
    solvers, and for trees without a minimum number of rows per node. All others get repeated rows: pipelines, whose
    earlier steps see no weights; learners that count rows (`min_samples_leaf`), draw them (forests), bin them
    (histograms) or scale by them (`gamma="scale"`, balanced class weights); and learners that are not known here.
    """
    if unknown_settings(estimator):
        return False
    if type(estimator) in _TREES:
        return bool(estimator.min_samples_leaf == 1 and estimator.min_samples_split == 2)
    return type(estimator) in _SUMS_OVER_ROWS and getattr(estimator, "class_weight", None) != "balanced"


# Largest relative overfitting rate R that .632+ uses: the factor 1/(1 − .368 R) has a pole at R = 1/.368 = 2.72.
LARGEST_OVERFITTING = 0.9 / 0.368


@dataclass(frozen=True, eq=False)
class OutOfBag:
    """The leave-one-out bootstrap: losses of rows under models fitted to bags without them.

    Attributes
    ----------
    risk : (models,) mean over rows of each row's mean loss over the bags that miss it.
    by_row : (models, n) those mean losses; nan for rows that are in every bag.
    share : (n,) weight of each row in the mean; 0 for rows that are in every bag.
    direct : (models, units) influence of each unit on `risk` through its own losses alone.
    influence : (models, units) its total influence: the bags it is in also change the losses of other rows.
    noise : (models,) bias of the sum of squared influences from the finite number of bags.
    monte_carlo_error : (models,) standard error of `risk` from the finite number of bags.
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

        The root of the sum of squared influences (Efron & Tibshirani 1997, §5). Their D̂_i = (2 + 1/(n−1))(Ê_i − Err)/n
        + cov(N_i, q) is the same number with infinitely many bags; here the row's own losses are taken out of the
        covariance, which leaves less Monte-Carlo noise. The noise of finitely many bags is subtracted, but the sum
        is at least that of the direct influences.

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
    """Out-of-bag risk and influences: the mean of each row over the bags that miss it, then the mean over rows.

    Parameters
    ----------
    multiplicity : (bags, n) how often each row is in each bag.
    losses : for each bag, (models, rows out of it) the losses of those rows, in row order.
    weight : (n,) weight of each row in the mean.
    units : (n,) the number of each row's unit of drawing; None where single rows were drawn.

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
    drawn_units = np.arange(len(share)) if units is None else units
    return _with_influences(multiplicity, known, by_row, share, risk, within, drawn_units)


def _with_influences(
    multiplicity: NDArray[Any],
    known: Floats,
    by_row: Floats,
    share: Floats,
    risk: Floats,
    within: Floats,
    units: NDArray[np.intp],
) -> OutOfBag:
    """The record of a risk with its influences.

    `within`, (bags, models), is each bag's contribution to the risk minus that of the mean losses of the rows out of
    it: what is due to the bag and not to which rows it misses.
    """
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
    """Sums of values, (models, n), over the rows of each unit, (models, units)."""
    n_units = int(units.max()) + 1
    return np.stack([np.bincount(units, weights=row, minlength=n_units) for row in values])


def weight_632(models: int) -> Floats:
    """Weight of the out-of-bag risk in the .632 estimate, (models,)."""
    return np.full(models, 0.632)


def weight_632_plus(in_sample: Floats, out_of_bag_risk: Floats, no_information: Floats) -> Floats:
    """Weight v of the out-of-bag risk in the .632+ estimate (1 − v) in-sample + v out-of-bag, (models,).

    Efron & Tibshirani (1997): .632 estimate + (e' − e_in) · .368·.632·R/(1 − .368 R), with e' = min(e_oob, γ) and
    R = (e_oob − e_in)/(γ − e_in) where e_oob and γ exceed e_in, else 0. Unlike theirs, R is not capped at 1: without
    signal e_oob is above γ as often as below, and the cap would bias the estimate downwards. R is capped at 2.45, below
    the pole at R = 1/.368. As γ decreases to e_in, where all predictions are equal, the estimate goes to that of .632.

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
        share = np.where(informative, (bounded - in_sample) / (out_of_bag_risk - in_sample), 0.0)
    overfitting = np.minimum(overfitting, LARGEST_OVERFITTING)
    step = 0.368 * 0.632 * overfitting / (1 - 0.368 * overfitting)
    return np.asarray(0.632 + share * step)
