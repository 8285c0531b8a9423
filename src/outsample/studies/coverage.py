"""How often does a nominal 90 % interval cover the truth? Simulated data whose true errors are known.

Two truths are asked for: the error of the very model that was fitted to all rows, and the error expected over training
sets of this size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from threadpoolctl import threadpool_limits

import outsample
from outsample.running.arrays import Array, Floats
from outsample.running.progress import Progress
from outsample.running.store import common_facts, finished_units
from outsample.studies.result import Draw, File, Finding, StudyResult, legend_below, save
from outsample.studies.study import study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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

    name: str
    learner: BaseEstimator
    draw: Callable[[np.random.Generator], tuple[Floats, Array]]
    true_error: Callable[[Any], float]


def linear_gaussian(n: int = 60, p: int = 10) -> Simulation:
    """Least squares on y = xβ + noise; the true error is 1 + ‖β̂ − β‖² + constant², for standard normal x."""
    beta = np.linspace(1.0, 0.0, p)

    def draw(rng: np.random.Generator) -> tuple[Floats, Array]:
        X = rng.normal(size=(n, p))
        return X, X @ beta + rng.normal(size=n)

    def true_error(model: BaseEstimator) -> float:
        return float(1.0 + np.square(model.coef_ - beta).sum() + model.intercept_**2)

    return Simulation("regression", LinearRegression(), draw, true_error)


def logistic(n: int = 100, p: int = 5) -> Simulation:
    """Logistic regression, zero-one loss; the true error is the mean chance of a wrong label over many x."""
    beta = np.linspace(1.5, 0.0, p)
    points = np.random.default_rng(0).normal(size=(POINTS_FOR_TRUE_ERROR, p))
    chance = expit(points @ beta)

    def draw(rng: np.random.Generator) -> tuple[Floats, Array]:
        X = rng.normal(size=(n, p))
        return X, (rng.uniform(size=n) < expit(X @ beta)).astype(int)

    def true_error(model: BaseEstimator) -> float:
        return float(np.where(model.predict(points) == 1, 1 - chance, chance).mean())

    return Simulation("classification", LogisticRegression(), draw, true_error)


def usual_criteria() -> dict[str, tuple[Any, str]]:
    """Name → (criterion, kind of interval)."""
    hold_out, kfold, loo = outsample.HoldOut(), outsample.CrossValidation(10), outsample.LeaveOneOut()
    return {
        "auto, calibrated": (outsample.Auto(), "calibrated"),
        "kfold, calibrated": (kfold, "calibrated"),
        "loo, calibrated": (loo, "calibrated"),
        "rows-and-labels, calibrated": (outsample.RowsAndLabels(), "calibrated"),
        "covariance, calibrated": (outsample.CovariancePenalty(), "calibrated"),
        "two-stage, calibrated": (outsample.TwoStagePermutation(), "calibrated"),
        "632+, calibrated": (outsample.Bootstrap(30, "632+"), "calibrated"),
        "holdout, normal": (hold_out, "normal"),
        "holdout, Hoeffding": (hold_out, "hoeffding"),
        "kfold, naive": (kfold, "normal"),
        "kfold, Nadeau–Bengio": (outsample.CrossValidation(10, error="nadeau-bengio"), "normal"),
        "nested-kfold": (outsample.NestedCrossValidation(5, repeats=4), "normal"),
        "loo": (loo, "normal"),
        "alo": (outsample.ApproximateLeaveOneOut(), "normal"),
        "bootstrap": (outsample.Bootstrap(30), "normal"),
        "632": (outsample.Bootstrap(30, "632"), "normal"),
        "632+": (outsample.Bootstrap(30, "632+"), "normal"),
        "permutation": (outsample.Permutation(10), "normal"),
    }


@study("problems", n=5)
def coverage(
    n: int = 60,
    seed: int = 0,
    level: float = 0.9,
    store: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> str:
    """Coverage of nominal intervals on simulated data with known truth."""
    frame = coverage_study(n, level, random_state=seed, n_jobs=n_jobs, store=store, progress=progress)
    table = frame.to_string(index=False, float_format=lambda value: f"{value:.3f}")
    title = f"nominal {level:.0%} intervals over {n} data sets per simulation"
    save(StudyResult("coverage", title, tuple(_findings(frame)), draw=_draw(frame, level)), out)
    return f"{title}\n{table}"


def _findings(frame: pd.DataFrame) -> Iterator[Finding]:
    """Every number of the table: one panel of a figure per simulation and column."""
    for column in frame.columns[2:]:
        for simulation, interval, value in zip(frame["simulation"], frame["interval"], frame[column], strict=True):
            yield Finding(f"{simulation}: {column}", interval, column, float(value))


def _draw(frame: pd.DataFrame, level: float) -> Draw:
    """One panel per simulation: the coverage of both truths by each interval, and the level asked for."""

    def draw(figure: Figure) -> None:
        figure.set_size_inches(9.0, 6.0)
        simulations = list(dict.fromkeys(frame["simulation"]))
        axes = figure.subplots(1, len(simulations), squeeze=False)[0]
        for ax, simulation in zip(axes, simulations, strict=True):
            own = frame[frame["simulation"] == simulation]
            for shift, truth, error in ((-0.12, "this model", "± this"), (0.12, "expected", "± expected")):
                places = np.arange(len(own)) + shift
                label = f"of the error of {truth}" if truth == "this model" else "of the expected error"
                ax.errorbar(own[truth], places, xerr=own[error], fmt="o", markersize=4, label=label)
            ax.axvline(level, color="black", linestyle="--", label="level asked for")
            ax.set_yticks(range(len(own)), list(own["interval"]), fontsize="small")
            ax.invert_yaxis()
            ax.set(title=simulation, xlabel="coverage")
        legend_below(figure)

    return draw


def coverage_study(
    n_problems: int = 60,
    level: float = 0.9,
    simulations: tuple[Simulation, ...] | None = None,
    criteria: Mapping[str, tuple[Any, str]] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    store: File = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Coverage of the intervals of many criteria over simulated data sets.

    Parameters
    ----------
    n_problems : data sets drawn from each simulation.
    level : nominal coverage.
    simulations : by default a linear-Gaussian regression and a logistic classification.
    criteria : name → (criterion, "calibrated", "normal" or "hoeffding"); by default `usual_criteria()`. Hoeffding's
        intervals are left out where the loss is not zero-one.
    store, n_jobs, progress : see `running.store.finished_units`.

    Returns
    -------
    DataFrame
        One row per simulation and interval: coverage of the error of the fitted model and of the error expected over
        training sets, their binomial standard errors, the bias of the estimate and the mean width.
    """
    simulations = (linear_gaussian(), logistic()) if simulations is None else simulations
    criteria = usual_criteria() if criteria is None else criteria
    seeds = [np.random.SeedSequence([random_state, s]).spawn(n_problems + 1) for s in range(len(simulations))]
    units = finished_units(
        _one_data_set,
        [
            (simulation, criteria, level, seed)
            for simulation, own in zip(simulations, seeds, strict=True)
            for seed in own[:-1]
        ],
        [f"{s}/{simulation.name}/{k}" for s, simulation in enumerate(simulations) for k in range(n_problems)],
        facts=common_facts(random_state, study="coverage", level=level, criteria=[repr(c) for c in criteria.items()]),
        store=store,
        n_jobs=n_jobs,
        progress=progress,
    )
    rows: list[dict[str, Any]] = []
    for s, (simulation, own) in enumerate(zip(simulations, seeds, strict=True)):
        expected = _expected_error(simulation, own[-1])
        work = units[s * n_problems : (s + 1) * n_problems]
        truths = np.array([truth[0] for truth, _ in work])
        for name, found in zip(criteria, np.stack([intervals for _, intervals in work], axis=1), strict=True):
            if not np.isnan(found).all():
                rows.append({"simulation": simulation.name, "interval": name} | _coverage(found, truths, expected))
    return pd.DataFrame(rows)


def _expected_error(simulation: Simulation, seed: np.random.SeedSequence) -> float:
    rng = np.random.default_rng(seed)
    with threadpool_limits(1):
        fits = (clone(simulation.learner).fit(*simulation.draw(rng)) for _ in range(TRAINING_SETS_FOR_EXPECTATION))
        return float(np.mean([simulation.true_error(model) for model in fits]))


def _one_data_set(
    simulation: Simulation, criteria: Mapping[str, tuple[Any, str]], level: float, seed: np.random.SeedSequence
) -> tuple[Floats, Floats]:
    """(true error of the fit to all rows, (1,); estimate, low and high of every interval, nan where it has none)."""
    X, y = simulation.draw(np.random.default_rng(seed))
    intervals = np.full((len(criteria), 3), np.nan)
    known: dict[int, Any] = {}
    with threadpool_limits(1):
        for k, (criterion, method) in enumerate(criteria.values()):
            if id(criterion) not in known:
                known[id(criterion)] = outsample.estimate(
                    simulation.learner, X, y, criterion=criterion, random_state=int(seed.generate_state(1)[0])
                )
            result = known[id(criterion)]
            if method != "hoeffding" or result.loss == "zero-one":
                intervals[k] = (result.out_sample, *result.interval(level, method))
        return np.array([simulation.true_error(clone(simulation.learner).fit(X, y))]), intervals


def _coverage(found: Floats, truths: Floats, expected: float) -> dict[str, float]:
    estimate, low, high = found.T
    n = len(found)
    this_model = float(np.mean((low <= truths) & (truths <= high)))
    over_sets = float(np.mean((low <= expected) & (expected <= high)))
    return {
        "this model": this_model,
        "± this": np.sqrt(this_model * (1 - this_model) / n),
        "expected": over_sets,
        "± expected": np.sqrt(over_sets * (1 - over_sets) / n),
        "bias": float(estimate.mean() - expected),
        "mean width": float((high - low).mean()),
        "truth": expected,
    }
