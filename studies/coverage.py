"""How often does a nominal 90 % interval cover the truth? Simulated data whose true errors are known.

Two truths are asked for: the error of the very model that was fitted to all rows, and the error expected over training
sets of this size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from threadpoolctl import threadpool_limits

import outsample
from studies.shared import Finding, Options, Result, finished, legend_below, study

LEVEL = 0.9
TRAINING_SETS_FOR_EXPECTATION = 500
POINTS_FOR_TRUE_ERROR = 20_000


@dataclass(frozen=True, eq=False)
class Simulation:
    """A learner on data whose distribution is known.

    Attributes
    ----------
    draw : a new data set (X, y) from a generator.
    true_error : the expected loss of a fitted model on a new sample.
    """

    learner: BaseEstimator
    draw: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
    true_error: Callable[[Any], float]


def regression(n: int = 60, p: int = 10) -> Simulation:
    """Least squares on y = xβ + noise; the true error is 1 + ‖β̂ − β‖² + constant², for standard normal x."""
    beta = np.linspace(1.0, 0.0, p)

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, p))
        return X, X @ beta + rng.normal(size=n)

    def true_error(model: Any) -> float:
        return float(1.0 + np.square(model.coef_ - beta).sum() + model.intercept_**2)

    return Simulation(LinearRegression(), draw, true_error)


def classification(n: int = 100, p: int = 5) -> Simulation:
    """Logistic regression, zero-one loss; the true error is the mean chance of a wrong label over many x."""
    beta = np.linspace(1.5, 0.0, p)
    points = np.random.default_rng(0).normal(size=(POINTS_FOR_TRUE_ERROR, p))
    chance = expit(points @ beta)

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, p))
        return X, (rng.uniform(size=n) < expit(X @ beta)).astype(int)

    def true_error(model: Any) -> float:
        return float(np.where(model.predict(points) == 1, 1 - chance, chance).mean())

    return Simulation(LogisticRegression(), draw, true_error)


SIMULATIONS: dict[str, Callable[[], Simulation]] = {"regression": regression, "classification": classification}


def intervals() -> dict[str, tuple[Any, str]]:
    """Name → (criterion, kind of interval)."""
    holdout, kfold, corrected = outsample.HoldOut(), outsample.CrossValidation(10), outsample.Bootstrap(30, "632+")
    calibrated = {
        "auto": outsample.Auto(),
        "kfold": kfold,
        "loo": outsample.LeaveOneOut(),
        "rows-and-labels": outsample.RowsAndLabels(),
        "covariance": outsample.CovariancePenalty(),
        "two-stage": outsample.TwoStagePermutation(),
        "632+": corrected,
    }
    plain = {
        "holdout, normal": holdout,
        "kfold, naive": kfold,
        "kfold, Nadeau–Bengio": outsample.CrossValidation(10, error="nadeau-bengio"),
        "nested-kfold": outsample.NestedCrossValidation(5, repeats=4),
        "loo": outsample.LeaveOneOut(),
        "alo": outsample.ApproximateLeaveOneOut(),
        "bootstrap": outsample.Bootstrap(30),
        "632": outsample.Bootstrap(30, "632"),
        "632+": corrected,
        "permutation": outsample.Permutation(10),
    }
    return {
        **{f"{name}, calibrated": (criterion, "calibrated") for name, criterion in calibrated.items()},
        **{name: (criterion, "normal") for name, criterion in plain.items()},
        "holdout, Hoeffding": (holdout, "hoeffding"),
    }


@study("data sets", n=60, quick={"n": 5})
def coverage(options: Options) -> Result:
    """Coverage of nominal 90 % intervals on simulated data with known truth."""
    found = {name: coverage_of(name, options, intervals()) for name in SIMULATIONS}
    findings = tuple(
        Finding(f"{name}: {column}", interval, column, value, error)
        for name, table in found.items()
        for column in ("this model", "expected", "bias", "mean width")
        for interval, row in table.items()
        for value, error in [row[column]]
    )

    def draw(figure: Figure) -> None:
        """One panel per simulation: the coverage of both truths by each interval, and the level asked for."""
        figure.set_size_inches(9.0, 6.0)
        axes = figure.subplots(1, len(found), squeeze=False)[0]
        for ax, (name, table) in zip(axes, found.items(), strict=True):
            for shift, truth, label in (
                (-0.12, "this model", "of the error of this model"),
                (0.12, "expected", "of the expected error"),
            ):
                values, errors = zip(*(row[truth] for row in table.values()), strict=True)
                ax.errorbar(values, np.arange(len(table)) + shift, xerr=errors, fmt="o", markersize=4, label=label)
            ax.axvline(LEVEL, color="black", linestyle="--", label="level asked for")
            ax.set_yticks(range(len(table)), list(table), fontsize="small")
            ax.invert_yaxis()
            ax.set(title=name, xlabel="coverage")
        legend_below(figure)

    title = f"nominal {LEVEL:.0%} intervals over {options.n} data sets per simulation"
    return Result("coverage", title, findings, draw=draw)


def coverage_of(
    name: str, options: Options, criteria: Mapping[str, tuple[Any, str]], level: float = LEVEL
) -> dict[str, dict[str, tuple[float, float]]]:
    """Interval → coverage of both truths, bias and mean width, each with its standard error (nan: not computed)."""
    simulation = SIMULATIONS[name]()
    place = list(SIMULATIONS).index(name)
    tasks = {f"{name}/{k}": (name, criteria, level, options.seed, place, k) for k in range(options.n)}
    facts = {"study": "coverage", "level": level, "criteria": [repr(item) for item in criteria.items()]}
    table = np.stack(finished(one_data_set, tasks, options, **facts))
    rng = np.random.default_rng(np.random.SeedSequence([options.seed, place]))
    with threadpool_limits(1):
        fits = (clone(simulation.learner).fit(*simulation.draw(rng)) for _ in range(TRAINING_SETS_FOR_EXPECTATION))
        expected = float(np.mean([simulation.true_error(model) for model in fits]))
    found = {}
    for interval, (estimate, low, high, truth) in zip(criteria, table.transpose(1, 2, 0), strict=True):
        if np.isnan(estimate).all():
            continue
        shares = {"this model": (low <= truth) & (truth <= high), "expected": (low <= expected) & (expected <= high)}
        row = {key: (float(v.mean()), float(np.sqrt(v.mean() * (1 - v.mean()) / len(v)))) for key, v in shares.items()}
        row |= {"bias": (float(estimate.mean() - expected), np.nan), "mean width": (float((high - low).mean()), np.nan)}
        found[interval] = row
    return found


def one_data_set(
    name: str, criteria: Mapping[str, tuple[Any, str]], level: float, seed: int, place: int, k: int
) -> np.ndarray:
    """Estimate, low and high of every interval, nan where it has none, and the true error: (intervals, 4)."""
    simulation = SIMULATIONS[name]()
    address = np.random.SeedSequence([seed, place], spawn_key=(k,))
    X, y = simulation.draw(np.random.default_rng(address))
    found, known = np.full((len(criteria), 4), np.nan), {}
    with threadpool_limits(1):
        found[:, 3] = simulation.true_error(clone(simulation.learner).fit(X, y))
        for i, (criterion, method) in enumerate(criteria.values()):
            if id(criterion) not in known:
                state = int(address.generate_state(1)[0])
                known[id(criterion)] = outsample.estimate(
                    simulation.learner, X, y, criterion=criterion, random_state=state
                )
            result = known[id(criterion)]
            if method != "hoeffding" or result.loss == "zero-one":
                found[i, :3] = result.out_sample, *result.interval(level, method)
    return found
