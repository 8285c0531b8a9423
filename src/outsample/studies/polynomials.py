"""Polynomials on random Legendre targets: Tables 3 and 4, Figures 3 and 6, all made of the same trials.

Four estimates select the order of a polynomial, and the penalty of a ridge regression. Mean regrets are heavy-tailed:
over a million trials they still range over two orders of magnitude from one seed to the next. The mean without the
largest 1 % and the median do settle, and are printed beside them. At order 20, and without penalty, mean errors, biases
and variances are dominated by rare data sets in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from outsample.questions.regret import summary
from outsample.running.arrays import Floats
from outsample.running.progress import Progress
from outsample.studies.legendre import (
    GRID,
    METHODS,
    ORDER,
    PRINTED,
    RIDGE,
    SMALL,
    Trials,
    means,
    squared_biases,
    trials,
    variances,
)
from outsample.studies.result import Draw, File, Finding, StudyResult, drawn_findings, findings_of, save
from outsample.studies.study import study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Table 3. Quantity of the paper → (values in the order of METHODS, largest difference that counts as agreement).
SELECTED = {
    "average order": ((9.29, 7.21, 5.56, 11.42), (0.06, 0.05, 0.06, 0.07)),
    "average λ/N": ((23.1, 9.57, 125.0, 18.1), (0.8, 0.45, 1.8, 0.8)),
}
# Regrets as fractions: the caption's per cent sign is a slip. Agreement is not judged: these means do not settle.
REGRETS = {"order": (540.0, 185.0, 508.0, 9560.0), "λ": (18.8, 5.96, 3.50, 51.3)}
NOTES = (
    "Mean regrets are heavy-tailed and do not settle at any number of trials: compare trimmed means and medians.",
    "Trimmed means leave out the largest 1 %.",
)

# Table 4: regrets without λ = 0, and the largest difference that counts as agreement.
REGRETS_WITHOUT_0 = ((0.44, 0.39, 0.42, 0.87), (0.02, 0.02, 0.015, 0.03))

# Figure 3: positions of the models in the table; the figure shows all.
ALONG = (*METHODS, "true error")
SHOWN = {"order": (0, 2, 5, 10, 15), "ridge": (10, 20, 30, 40, 50, 61)}

# Figure 6. Quantity → values at λ/N = 0, .02, .04, .06, one row per method.
MOMENTS = {
    "bias²": np.array(
        [
            [29400, 0.0051, 0.0017, 0.0009],
            [14100, 0.221, 0.062, 0.025],
            [13300, 6.13, 6.47, 6.36],
            [14100, 0.422, 0.18, 0.11],
        ]
    ),
    "variance": np.array(
        [[3.9e9, 3.89, 1.75, 1.17], [0.33, 0.32, 0.31, 0.30], [10.9, 9.1, 8.3, 7.8], [0.33, 0.31, 0.30, 0.29]]
    ),
}
# What counts as agreement: a share of the printed value, and what its last digit may hide.
SHARE, DIGIT = {"bias²": 0.05, "variance": 0.05}, {"bias²": 0.001, "variance": 0.005}


@study("trials", n=20_000)
def table3(
    n: int = 100_000,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Order selection (n = 100) and penalty selection (n = 15) on random Legendre targets.

    Parameters
    ----------
    n : trials of each.
    seed, store, n_jobs, progress : see `legendre.trials`; one store serves all studies of these trials.
    data_home : not used, the data are simulated.
    out : folder to write to, or None.
    """
    order = trials(ORDER, n, seed, store=store, n_jobs=n_jobs, progress=progress)
    ridge = trials(RIDGE, n, seed, store=store, n_jobs=n_jobs, progress=progress)
    rows = [
        _selections(order, "order", "average order"),
        _regrets(order, "order", REGRETS["order"]),
        _selections(ridge, "λ", "average λ/N"),
        _regrets(ridge, "λ", REGRETS["λ"]),
    ]
    title = f"Table 3: order and penalty selected over {n} trials, and their regret [paper]"
    return save(StudyResult("table3", title, findings_of(rows), NOTES, _draw_tails(order, ridge)), out)


def _selections(found: Trials, name: str, quantity: str) -> Iterator[Finding]:
    """Average model selected by each estimate."""
    paper, band = SELECTED[quantity]
    for m, method in enumerate(METHODS):
        of = summary(found.selected(name)[:, m])
        yield Finding(quantity, "", method, of.mean, of.standard_error, paper[m], band[m])


def _regrets(
    found: Trials, name: str, paper: Sequence[float], band: Sequence[float] = (float("nan"),) * 4
) -> Iterator[Finding]:
    """Mean, trimmed mean and median regret of each estimate."""
    for m, method in enumerate(METHODS):
        of = summary(found.regret(name)[:, m])
        yield Finding(f"{name} regret", "mean", method, of.mean, of.standard_error, paper[m], band[m])
        yield Finding(f"{name} regret", "1 % trimmed", method, of.trimmed, of.trimmed_standard_error)
        yield Finding(f"{name} regret", "median", method, of.median)


def _draw_tails(order: Trials, ridge: Trials) -> Draw:
    def draw(figure: Figure) -> None:
        """Share of trials in which the regret exceeds x."""
        axes = figure.subplots(1, 2)
        for ax, found, name in ((axes[0], order, "order"), (axes[1], ridge, "λ")):
            tail = np.geomspace(1.0, 1.0 / len(found), 400)
            for m, method in enumerate(METHODS):
                ax.loglog(np.quantile(found.regret(name)[:, m], 1 - tail), tail, label=method)
            ax.set(xlabel=f"regret of {name} selection", ylabel="share of trials above", xlim=(1e-3, None))
        axes[0].legend()

    return draw


@study("trials", n=20_000)
def table4(
    n: int = 100_000,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Penalty selection (n = 15) without λ = 0; parameters as in `table3`."""
    ridge = trials(RIDGE, n, seed, store=store, n_jobs=n_jobs, progress=progress)
    rows = _regrets(ridge, "λ without 0", *REGRETS_WITHOUT_0)
    title = f"Table 4: regret of penalty selection without λ = 0 over {n} trials [paper]"
    findings = findings_of([rows])
    return save(StudyResult("table4", title, findings, draw=drawn_findings(findings, "regret")), out)


@study("trials", n=20_000)
def figure3(
    n: int = 100_000,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Mean of each estimate and of the true error along orders and penalties; parameters as in `table3`."""
    both = [trials(setting, n, seed, store=store, n_jobs=n_jobs, progress=progress) for setting in (ORDER, RIDGE)]
    title = f"Figure 3: mean estimates and mean true error over {n} trials"
    notes = (
        "The paper prints this as a figure only.",
        "Leave-one-out is nearly unbiased; permutation falls below the truth for rich models.",
    )
    return save(StudyResult("figure3", title, findings_of(map(_mean_errors, both)), notes, _draw_means(both)), out)


def _mean_errors(found: Trials) -> Iterator[Finding]:
    value, error = found.moment(means)
    what = "order" if found.setting.name == "order" else "λ/N"
    for model in SHOWN[found.setting.name]:
        for c, method in enumerate(ALONG):
            case = f"{what} {found.setting.models[model]:.3g}"
            yield Finding("mean", case, method, float(value[model, c]), float(error[model, c]))


def _draw_means(both: list[Trials]) -> Draw:
    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 2)
        last = len(GRID) + 1
        for ax, found, models in zip(axes, both, (slice(0, 21), slice(1, last)), strict=True):
            average, _ = found.moment(means)
            for c, method in enumerate(ALONG):
                style = "k--" if method == "true error" else "-"
                ax.semilogy(found.setting.models[models], average[models, c], style, label=method)
        axes[0].set(title="least squares", xlabel="order", ylabel="mean squared error", ylim=(0.3, 30))
        axes[0].set_xticks(range(0, 21, 5))
        axes[1].set(title="ridge regression", xlabel="λ/N", xscale="log", ylabel="mean squared error", ylim=(0.3, 30))
        axes[0].legend()

    return draw


@study("trials", n=20_000)
def figure6(
    n: int = 100_000,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Squared bias and variance of each estimate near λ = 0; parameters as in `table3`."""
    ridge = trials(RIDGE, n, seed, store=store, n_jobs=n_jobs, progress=progress)
    rows = [_moments(ridge, "bias²", squared_biases), _moments(ridge, "variance", variances)]
    title = f"Figure 6: squared bias and variance of the estimates over {n} trials [paper]"
    notes = ("At λ = 0 both settle at no number of trials, so agreement is not judged there.",)
    return save(StudyResult("figure6", title, findings_of(rows), notes, _draw_moments(ridge)), out)


def _moments(found: Trials, quantity: str, function: Callable[[Floats], Floats]) -> Iterator[Finding]:
    value, error = found.moment(function)
    for k, penalty in enumerate((0.0, *PRINTED)):
        model = _small_model(penalty)
        for m, method in enumerate(METHODS):
            paper = float(MOMENTS[quantity][m, k])
            band = float("nan") if penalty == 0 else SHARE[quantity] * paper + DIGIT[quantity]
            numbers = float(value[model, m]), float(error[model, m])
            yield Finding(quantity, f"λ/N = {penalty:g}", method, *numbers, paper, band)


def _small_model(penalty: float) -> int:
    """Position of a small penalty among the models."""
    return 0 if penalty == 0 else len(GRID) + 1 + int(np.argmin(np.abs(SMALL - penalty)))


def _draw_moments(found: Trials) -> Draw:
    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        models = slice(len(GRID) + 1, None)
        together = (found.moment(squared_biases)[0] + found.moment(variances)[0])[models]
        for m, method in enumerate(METHODS):
            ax.semilogy(found.setting.models[models], together[:, m], label=method)
        ax.set(xlabel="λ/N", ylabel="bias² + variance")
        ax.legend()

    return draw
