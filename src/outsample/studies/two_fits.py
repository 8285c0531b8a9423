"""Table 1: a linear and a quartic fit to a few points, and to the same points with their labels permuted.

The paper shows one data set as a picture. Here it is drawn from a line plus noise, so that the true error of both fits
is known in closed form.

The slides print numbers for their own points, also a picture. Over all permutations of n labels of variance s², least
squares on p columns beside the constant has a mean e_in of s²(1 − p/(n − 1)) and a mean e_out of s²(1 + p/(n − 1)),
whatever the points are. The slides' .12 and .05 for p = 1 and 4 leave n = 7 only, with s² near .144, and then their
other numbers on permuted labels follow; such points are used beside ours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from outsample.datasets import LegendreProblem
from outsample.running.arrays import Floats
from outsample.running.progress import Progress
from outsample.running.run import child_generator
from outsample.studies.result import Draw, File, Finding, StudyResult, findings_of, save
from outsample.studies.study import study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE = LegendreProblem(np.array([0.0, 1.0]), noise_variance=0.5)
N_POINTS = 15
MODELS = {"linear": 1, "quartic": 4}
SLIDES = {
    "linear": {"e_in": 0.02, "mean e_in": 0.12, "mean e_out": 0.17, "ê_gen": 0.05, "ê_out": 0.07, "e_out": 0.11},
    "quartic": {"e_in": 0.002, "mean e_in": 0.05, "mean e_out": 0.24, "ê_gen": 0.19, "ê_out": 0.192, "e_out": 0.256},
}
"""What the slides print for their own points."""
SLIDES_POINTS, SLIDES_VARIANCE = 7, 0.144
ROUNDING = 0.0051
"""Half a unit of the last digit of the slides."""
N_SHOWN = 6
"""Permuted data sets in the figure, as in the paper."""


@dataclass(frozen=True, eq=False)
class _Fit:
    """Least squares on L_0 … L_degree at fixed points."""

    columns: Floats

    @classmethod
    def at(cls, x: Floats, degree: int) -> _Fit:
        return cls(np.asarray(np.polynomial.legendre.legvander(x, degree), dtype=np.float64))

    def weights(self, y: Floats) -> Floats:
        return np.asarray(np.linalg.lstsq(self.columns, y, rcond=None)[0])

    @property
    def basis(self) -> Floats:
        """Orthonormal columns that span the same space, (n, degree + 1)."""
        return np.asarray(np.linalg.qr(self.columns)[0])

    def fitted(self, Y: Floats) -> Floats:
        """(draws, n) fitted values of label vectors (draws, n)."""
        return np.asarray(Y @ self.basis @ self.basis.T)

    def expected_optimism(self, y: Floats) -> float:
        """Mean optimism over all permutations of y, (2σ̂²_y/n)(tr S − 1ᵀS1/n) with 1ᵀS1 = n (Theorem 3)."""
        mean_leverage = (self.basis**2).sum(axis=1).mean()
        return float(2 * np.var(y, ddof=1) * (mean_leverage - 1 / len(y)))


@study("permutations", n=10_000)
def table1(
    n: int = 100_000,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Linear against quartic on permuted data.

    Parameters
    ----------
    n : permutations averaged; the six of the paper are the first.
    seed : of the data and of the permutations.
    store, data_home, n_jobs, progress : not used, it takes a second.
    out : folder to write to, or None.
    """
    X, y = LINE.sample(N_POINTS, child_generator(np.random.SeedSequence(seed), 0))
    rng = child_generator(np.random.SeedSequence(seed), 1)
    permuted = rng.permuted(np.broadcast_to(y, (n, N_POINTS)), axis=1)
    groups = [_rows(name, _Fit.at(X[:, 0], degree), y, permuted) for name, degree in MODELS.items()]
    findings = findings_of([*groups, *map(_slides_rows, MODELS)])
    title = f"Table 1: {N_POINTS} points about a line, {n} permutations of their labels [slides]"
    notes = (
        _verdict(findings),
        f"Slides: all permutations of {SLIDES_POINTS} labels of variance {SLIDES_VARIANCE}, which alone give "
        "their means; ✓: equal to the printed digits. Their true e_out, .11 and .256, needs the target, not printed.",
    )
    return save(StudyResult("table1", title, findings, notes, _draw(X[:, 0], y, permuted)), out)


def slides_data() -> tuple[Floats, Floats]:
    """(x, y) of as many points as in the slides, with their variance and their e_in of both fits."""
    x = np.linspace(-1, 1, SLIDES_POINTS)
    basis, _ = np.linalg.qr(np.polynomial.legendre.legvander(x, 5))
    linear, quartic = (SLIDES[name]["e_in"] for name in MODELS)
    parts = SLIDES_VARIANCE - linear, linear - quartic, quartic
    y = basis[:, [1, 2, 5]] @ np.sqrt(SLIDES_POINTS * np.array(parts))
    return x, np.asarray(y)


def _slides_rows(name: str) -> Iterator[Finding]:
    x, y = slides_data()
    permuted = np.array(list(itertools.permutations(y)))
    of_ours = {
        ("real data", "e_in"): "e_in",
        ("permuted", "mean e_in"): "mean e_in",
        ("permuted", "mean e_out"): "mean e_out",
        ("ê_gen", "Theorem 3"): "ê_gen",
        ("ê_out", "e_in + ê_gen"): "ê_out",
    }
    for finding in _rows(name, _Fit.at(x, MODELS[name]), y, permuted):
        printed = of_ours.get((finding.quantity, finding.case))
        if printed is not None:
            yield Finding("slides", printed, name, finding.ours, paper=SLIDES[name][printed], band=ROUNDING)


def _rows(name: str, fit: _Fit, y: Floats, permuted: Floats) -> Iterator[Finding]:
    fitted = fit.fitted(permuted)
    in_sample = np.mean((permuted - fitted) ** 2, axis=1)
    # Labels of permuted data say nothing of x: every label goes with every prediction (Theorem 1).
    out_sample = np.var(y) + np.mean((fitted - y.mean()) ** 2, axis=1)
    e_in = float(np.mean((y - fit.fitted(y[None])[0]) ** 2))
    exact = fit.expected_optimism(y)
    drawn = out_sample - in_sample
    yield Finding("real data", "e_in", name, e_in)
    for case, values in (("mean e_in", in_sample), ("mean e_out", out_sample)):
        yield Finding("permuted", case, name, float(values.mean()), _error(values))
    yield Finding("ê_gen", "over permutations", name, float(drawn.mean()), _error(drawn))
    yield Finding("ê_gen", "over the first six", name, float(drawn[:N_SHOWN].mean()), _error(drawn[:N_SHOWN]))
    yield Finding("ê_gen", "Theorem 3", name, exact)
    yield Finding("ê_out", "e_in + ê_gen", name, e_in + exact)
    yield Finding("true e_out", "", name, LINE.true_risk(fit.weights(y)))


def _error(values: Floats) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _verdict(findings: tuple[Finding, ...]) -> str:
    def least(quantity: str) -> str:
        return min((f for f in findings if f.quantity == quantity), key=lambda f: f.ours).method

    return (
        f"The permutation estimate selects the {least('ê_out')} fit; the {least('true e_out')} fit is the better one."
    )


def _draw(x: Floats, y: Floats, permuted: Floats) -> Draw:
    def draw(figure: Figure) -> None:
        axes = figure.subplots(2, 4, sharex=True, sharey=True)
        line = np.linspace(-1, 1, 200)
        shown = [y, *permuted[:N_SHOWN]]
        axes[1, 0].axis("off")
        places = [axes[0, 0], *axes[0, 1:], *axes[1, 1:]]
        for ax, labels in zip(places, shown, strict=True):
            ax.plot(x, labels, "k.")
            for name, degree in MODELS.items():
                weights = _Fit.at(x, degree).weights(labels)
                ax.plot(line, np.polynomial.legendre.legval(line, weights), label=name)
        axes[0, 0].set(title="real data", xlabel="x", ylabel="y", ylim=(y.min() - 1, y.max() + 1))
        axes[0, 0].tick_params(labelbottom=True)
        for k, ax in enumerate(places[1:], start=1):
            ax.set(title=f"permuted, {k}", xlabel="x" if k > 3 else "")
        axes[1, 0].legend(*axes[0, 0].get_legend_handles_labels(), loc="center")

    return draw
