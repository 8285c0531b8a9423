"""Polynomials on random Legendre targets: Tables 3 and 4, Figures 3 and 6, all made of the same trials.

x is uniform on [−1, 1], f = Σ_{i ≤ d} a_i L_i with a_i normal, scaled so that E f² = 1, y = f + σε with σ² uniform on
(0, 1]. Degree, coefficients, noise variance and data are drawn anew in each trial. Four estimates select the order of a
polynomial, and the penalty of a ridge regression; the models are linear smoothers and the L_i orthogonal, so that every
estimate and the true error are formulas. The ranges of the degree and the grid of penalties are not printed in the
paper and were recovered by search.

Mean regrets are heavy-tailed: over a million trials they still range over two orders of magnitude from one seed to the
next. The mean without the largest 1 % and the median do settle, and are printed beside them. At order 20, and without
penalty, mean errors, biases and variances are dominated by rare data sets in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from outsample import penalties
from studies.shared import (
    AGREEMENT,
    Finding,
    Options,
    Result,
    agreement,
    drawn,
    finished,
    generator,
    mean_and_error,
    study,
)

METHODS = ("LOO-CV", "Perm.", "VC", "FPE")

# Trials that share one address of random numbers; a killed run loses at most so many.
BLOCK = 2000

GRID = np.geomspace(1 / 150, 266, 61)
SMALL = np.arange(0.005, 0.1001, 0.005)
N_WEIGHTS = 6


@dataclass(frozen=True)
class Setting:
    """One of the two experiments.

    Attributes
    ----------
    n : points per data set.
    highest : the degree of the target is uniform on 0 … highest.
    models : what is varied, (models,): orders, or penalties λ/N.
    sets : name → (first, one past the last) model to select from.
    address : of its random numbers.
    """

    name: str
    n: int
    highest: int
    models: np.ndarray
    sets: dict[str, tuple[int, int]]
    address: int


ORDER = Setting("order", 100, 30, np.arange(21.0), {"order": (0, 21)}, 0)
RIDGE_SETS = {"λ": (0, len(GRID) + 1), "λ without 0": (1, len(GRID) + 1)}
RIDGE = Setting("ridge", 15, 10, np.concatenate([[0.0], GRID, SMALL]), RIDGE_SETS, 1)


def draw_trials(rng: np.random.Generator, size: int, n: int, highest: int) -> tuple[np.ndarray, ...]:
    """(x, noise, coefficients, noise variance): (trials, n), (trials, n), (trials, highest + 1), (trials,)."""
    degree = rng.integers(highest + 1, size=size)
    powers = np.arange(highest + 1)
    mean_square = np.cumsum(1 / (2 * powers + 1))[degree]
    coefficients = rng.standard_normal((size, highest + 1)) / np.sqrt(mean_square)[:, None]
    coefficients[powers > degree[:, None]] = 0.0
    noise_variance = 1.0 - rng.random(size)
    return rng.uniform(-1.0, 1.0, (size, n)), rng.standard_normal((size, n)), coefficients, noise_variance


def estimates(setting: Setting, x: Any, noise: Any, coefficients: Any, noise_variance: Any) -> np.ndarray:
    """Estimates of the error of every model and the true error, (trials, models, methods + 1)."""
    columns = np.polynomial.legendre.legvander(x, setting.highest)
    y = np.einsum("tnk,tk->tn", columns, coefficients) + np.sqrt(noise_variance)[:, None] * noise
    if setting.name == "order":
        basis, triangle = np.linalg.qr(columns[:, :, : len(setting.models)])
        scores = np.einsum("tnk,tn->tk", basis, y)
        residuals = y[:, :, None] - np.cumsum(basis * scores[:, None], axis=2)
        leverages, dof = np.cumsum(basis**2, axis=2), np.broadcast_to(setting.models + 1, scores.shape)
        shared = np.ones_like(dof)
        weights = np.cumsum(np.linalg.inv(triangle) * scores[:, None], axis=2)
    else:
        basis, lengths, turned = np.linalg.svd(columns[:, :, :N_WEIGHTS], full_matrices=False)
        shrunk = lengths[:, :, None] ** 2 / (lengths[:, :, None] ** 2 + setting.models)
        scores = np.einsum("tnk,tn->tk", basis, y)
        residuals = y[:, :, None] - basis @ (shrunk * scores[:, :, None])
        leverages, dof = basis**2 @ shrunk, shrunk.sum(axis=1)
        shared = np.einsum("tk,tkm->tm", basis.sum(axis=1) ** 2, shrunk) / setting.n
        weights = turned.transpose(0, 2, 1) @ (shrunk * (scores / lengths)[:, :, None])
    in_sample = np.mean(residuals**2, axis=1)
    left_out = np.mean((residuals / (1 - leverages)) ** 2, axis=1)
    optimism = 2 * np.var(y, axis=1, ddof=1)[:, None] / setting.n * (dof - shared)
    off = np.zeros((*coefficients.shape, len(setting.models)))
    off[:, : weights.shape[1]] = weights
    off -= coefficients[:, :, None]
    truth = noise_variance[:, None] + np.einsum("tkm,k->tm", off**2, 1 / (2 * np.arange(off.shape[1]) + 1))
    of_formulas = [penalty(in_sample, dof, setting.n) for penalty in (penalties.vc, penalties.fpe)]
    return np.stack([left_out, in_sample + optimism, *of_formulas, truth], axis=2)


def _block(setting: Setting, size: int, seed: int, b: int) -> np.ndarray:
    """Selections and regrets of one block and its sums, in one row: positions, regrets, then sums of two powers."""
    data = draw_trials(generator(seed, setting.address, b), BLOCK, setting.n, setting.highest)
    table = estimates(setting, *(part[:size] for part in data))
    positions, regrets = [], []
    for first, end in setting.sets.values():
        truth = table[:, first:end, -1]
        best = truth.min(axis=1, keepdims=True)
        chosen = table[:, first:end, :-1].argmin(axis=1)
        positions.append(first + chosen)
        regrets.append((np.take_along_axis(truth, chosen, axis=1) - best) / best)
    sums = np.stack([table.sum(axis=0), (table**2).sum(axis=0)])
    return np.concatenate([np.ravel(positions), np.ravel(regrets), sums.ravel()])


@dataclass(frozen=True, eq=False)
class Trials:
    """Results of all trials of one setting.

    Attributes
    ----------
    positions, regrets : (sets, trials, methods) the model selected, and its relative regret.
    sizes : (blocks,) trials in each block.
    sums : (blocks, 2, models, methods + 1) sums of the estimates and of their squares; the truth comes last.
    """

    setting: Setting
    positions: np.ndarray
    regrets: np.ndarray
    sizes: np.ndarray
    sums: np.ndarray

    def __len__(self) -> int:
        return self.regrets.shape[1]

    def selected(self, name: str) -> np.ndarray:
        """Order or penalty selected from a set of models, (trials, methods)."""
        return self.setting.models[self.positions[list(self.setting.sets).index(name)]]

    def regret(self, name: str) -> np.ndarray:
        """Regret within a set of models, (trials, methods)."""
        return self.regrets[list(self.setting.sets).index(name)]

    def moment(self, function: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """(value, standard error) of a function of the mean sums (…, 2, models, methods + 1).

        The standard error is the jackknife's over blocks, nan with fewer than two of them.
        """
        total, blocks = self.sums.sum(axis=0), len(self.sizes)
        value = function(total / len(self))
        if blocks < 2:
            return value, np.full_like(value, np.nan)
        without = function((total - self.sums) / (len(self) - self.sizes)[:, None, None, None])
        spread = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
        return value, np.sqrt((blocks - 1) / blocks * spread)


def trials(setting: Setting, options: Options) -> Trials:
    """The trials of one setting; one store serves all studies that use them."""
    sizes = [BLOCK] * (options.n // BLOCK) + [options.n % BLOCK] * (options.n % BLOCK > 0)
    tasks = {f"{setting.name}/{b}/{size}": (setting, size, options.seed, b) for b, size in enumerate(sizes)}
    positions, regrets, sums = [], [], []
    for size, row in zip(sizes, finished(_block, tasks, options, study="trials", block=BLOCK), strict=True):
        numbers = len(setting.sets) * size * len(METHODS)
        shape = (len(setting.sets), size, len(METHODS))
        positions.append(row[:numbers].reshape(shape).astype(int))
        regrets.append(row[numbers : 2 * numbers].reshape(shape))
        sums.append(row[2 * numbers :].reshape(2, len(setting.models), len(METHODS) + 1))
    joined = (np.concatenate(parts, axis=1) for parts in (positions, regrets))
    return Trials(setting, *joined, np.array(sizes, dtype=float), np.stack(sums))


# Quantity of Table 3 → values in the order of METHODS.
SELECTED = {"average order": (9.29, 7.21, 5.56, 11.42), "average λ/N": (23.1, 9.57, 125.0, 18.1)}
# Regrets as fractions: the caption's per cent sign is a slip. Agreement is not judged: these means do not settle.
REGRETS = {"order": (540.0, 185.0, 508.0, 9560.0), "λ": (18.8, 5.96, 3.50, 51.3)}
REGRETS_WITHOUT_0 = (0.44, 0.39, 0.42, 0.87)
TRIMMED = 0.01


@study("trials", n=100_000, quick={"n": 20_000})
def table3(options: Options) -> Result:
    """Table 3: order selection (n = 100) and penalty selection (n = 15) on random Legendre targets."""
    order, ridge = trials(ORDER, options), trials(RIDGE, options)
    findings = (
        *_selections(order, "order", "average order"),
        *_regrets(order, "order", REGRETS["order"]),
        *_selections(ridge, "λ", "average λ/N"),
        *_regrets(ridge, "λ", REGRETS["λ"]),
    )
    notes = (
        "Mean regrets are heavy-tailed and do not settle at any number of trials: compare trimmed means and medians.",
        "Trimmed means leave out the largest 1 %.",
        AGREEMENT,
    )
    title = f"Table 3: order and penalty selected over {options.n} trials, and their regret [paper]"

    def tails(figure: Figure) -> None:
        """Share of trials in which the regret exceeds x."""
        axes = figure.subplots(1, 2)
        for ax, found, name in ((axes[0], order, "order"), (axes[1], ridge, "λ")):
            tail = np.geomspace(1.0, 1.0 / len(found), 400)
            for m, method in enumerate(METHODS):
                ax.loglog(np.quantile(found.regret(name)[:, m], 1 - tail), tail, label=method)
            ax.set(xlabel=f"regret of {name} selection", ylabel="share of trials above", xlim=(1e-3, None))
        axes[0].legend()

    return Result("table3", title, findings, notes, tails)


def _selections(found: Trials, name: str, quantity: str) -> Iterator[Finding]:
    """Average model selected by each estimate."""
    for m, method in enumerate(METHODS):
        value, error = mean_and_error(found.selected(name)[:, m])
        paper = SELECTED[quantity][m]
        yield Finding(quantity, "", method, value, error, paper, agreement(error, half_a_digit(paper)))


def half_a_digit(printed: float) -> float:
    """What rounding to the digits of a printed number may hide; trailing zeros up to two digits are taken as printed.

    >>> half_a_digit(9.29), half_a_digit(0.3), half_a_digit(125.0)
    (0.005, 0.005, 0.5)
    """
    _, digits, exponent = Decimal(f"{printed:g}").as_tuple()
    return 0.5 * 10.0 ** (int(exponent) - max(0, 2 - len(digits)))


def _regrets(found: Trials, name: str, paper: Sequence[float], judged: bool = False) -> Iterator[Finding]:
    """Mean, trimmed mean and median regret of each estimate; winsorised values give the error of a trimmed mean."""
    for m, method in enumerate(METHODS):
        ordered = np.sort(found.regret(name)[:, m])
        kept = max(1, len(ordered) - int(TRIMMED * len(ordered)))
        winsorised = mean_and_error(np.minimum(ordered, ordered[kept - 1]))[1] * len(ordered) / kept
        mean, error = mean_and_error(ordered)
        band = agreement(error, half_a_digit(paper[m])) if judged else float("nan")
        yield Finding(f"{name} regret", "mean", method, mean, error, paper[m], band)
        yield Finding(f"{name} regret", "1 % trimmed", method, float(ordered[:kept].mean()), winsorised)
        yield Finding(f"{name} regret", "median", method, float(np.median(ordered)))


@study("trials", n=100_000, quick={"n": 20_000})
def table4(options: Options) -> Result:
    """Table 4: penalty selection (n = 15) without λ = 0."""
    findings = tuple(_regrets(trials(RIDGE, options), "λ without 0", REGRETS_WITHOUT_0, judged=True))
    title = f"Table 4: regret of penalty selection without λ = 0 over {options.n} trials [paper]"
    return Result("table4", title, findings, (AGREEMENT,), drawn(findings, "regret"))


# Positions of the models in the table of Figure 3; the figure shows all.
SHOWN = {"order": (0, 2, 5, 10, 15), "ridge": (10, 20, 30, 40, 50, 61)}


@study("trials", n=100_000, quick={"n": 20_000})
def figure3(options: Options) -> Result:
    """Figure 3: mean of each estimate and of the true error along orders and penalties."""
    both = {setting.name: trials(setting, options) for setting in (ORDER, RIDGE)}
    averages = {name: found.moment(lambda sums: sums[..., 0, :, :]) for name, found in both.items()}
    findings = tuple(
        Finding("mean", f"{what} {both[name].setting.models[model]:.3g}", method, *(float(v[model, c]) for v in values))
        for (name, values), what in zip(averages.items(), ("order", "λ/N"), strict=True)
        for model in SHOWN[name]
        for c, method in enumerate((*METHODS, "true error"))
    )
    notes = (
        "The paper prints this as a figure only.",
        "Leave-one-out is nearly unbiased; permutation falls below the truth for rich models.",
    )

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 2)
        shown = (slice(0, 21), slice(1, len(GRID) + 1))
        for ax, (name, (average, _)), models in zip(axes, averages.items(), shown, strict=True):
            for c, method in enumerate((*METHODS, "true error")):
                style = "k--" if method == "true error" else "-"
                ax.semilogy(both[name].setting.models[models], average[models, c], style, label=method)
            ax.set(ylabel="mean squared error", ylim=(0.3, 30))
        axes[0].set(title="least squares", xlabel="order", xticks=range(0, 21, 5))
        axes[1].set(title="ridge regression", xlabel="λ/N", xscale="log")
        axes[0].legend()

    title = f"Figure 3: mean estimates and mean true error over {options.n} trials"
    return Result("figure3", title, findings, notes, draw)


# Figure 6. Quantity → values at these λ/N, one row per method.
PRINTED_PENALTIES = (0.0, 0.02, 0.04, 0.06)
MOMENTS = {
    "bias²": (
        (29400, 0.0051, 0.0017, 0.0009),
        (14100, 0.221, 0.062, 0.025),
        (13300, 6.13, 6.47, 6.36),
        (14100, 0.422, 0.18, 0.11),
    ),
    "variance": ((3.9e9, 3.89, 1.75, 1.17), (0.33, 0.32, 0.31, 0.30), (10.9, 9.1, 8.3, 7.8), (0.33, 0.31, 0.30, 0.29)),
}


def _variances(sums: np.ndarray) -> np.ndarray:
    return (sums[..., 1, :, :] - sums[..., 0, :, :] ** 2)[..., :-1]


def _squared_biases(sums: np.ndarray) -> np.ndarray:
    return (sums[..., 0, :, :-1] - sums[..., 0, :, -1:]) ** 2


@study("trials", n=100_000, quick={"n": 20_000})
def figure6(options: Options) -> Result:
    """Figure 6: squared bias and variance of each estimate near λ = 0."""
    ridge = trials(RIDGE, options)
    moments = {"bias²": ridge.moment(_squared_biases), "variance": ridge.moment(_variances)}
    findings = []
    for quantity, (value, error) in moments.items():
        for k, penalty in enumerate(PRINTED_PENALTIES):
            model = 0 if penalty == 0 else len(GRID) + 1 + int(np.argmin(np.abs(SMALL - penalty)))
            for m, method in enumerate(METHODS):
                paper = MOMENTS[quantity][m][k]
                numbers = float(value[model, m]), float(error[model, m])
                band = float("nan") if penalty == 0 else agreement(numbers[1], half_a_digit(paper))
                findings.append(Finding(quantity, f"λ/N = {penalty:g}", method, *numbers, paper, band))

    def draw(figure: Figure) -> None:
        ax = figure.subplots()
        models = slice(len(GRID) + 1, None)
        for m, method in enumerate(METHODS):
            together = sum(value[models, m] for value, _ in moments.values())
            ax.semilogy(ridge.setting.models[models], together, label=method)
        ax.set(xlabel="λ/N", ylabel="bias² + variance")
        ax.legend()

    title = f"Figure 6: squared bias and variance of the estimates over {options.n} trials [paper]"
    notes = ("At λ = 0 both settle at no number of trials, so agreement is not judged there.", AGREEMENT)
    return Result("figure6", title, tuple(findings), notes, draw)
