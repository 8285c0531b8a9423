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

import numpy as np
from matplotlib.figure import Figure
from numpy.polynomial import legendre

from outsample.datasets import LegendreProblem
from studies.shared import Finding, Options, Result, generator, mean_and_error, study

LINE = LegendreProblem(np.array([0.0, 1.0]), noise_variance=0.5)
N_POINTS, MODELS = 15, {"linear": 1, "quartic": 4}

# What the slides print for their own points; their true e_out needs the target, which is not printed.
SLIDES = {
    "linear": {"e_in": 0.02, "mean e_in": 0.12, "mean e_out": 0.17, "ê_gen": 0.05, "ê_out": 0.07},
    "quartic": {"e_in": 0.002, "mean e_in": 0.05, "mean e_out": 0.24, "ê_gen": 0.19, "ê_out": 0.192},
}
SLIDES_POINTS, SLIDES_VARIANCE = 7, 0.144
ROUNDING = 0.0051
N_SHOWN = 6


def slides_data() -> tuple[np.ndarray, np.ndarray]:
    """(x, y) of as many points as in the slides, with their variance and their e_in of both fits."""
    x = np.linspace(-1, 1, SLIDES_POINTS)
    basis, _ = np.linalg.qr(legendre.legvander(x, 5))
    linear, quartic = (SLIDES[name]["e_in"] for name in MODELS)
    parts = np.array([SLIDES_VARIANCE - linear, linear - quartic, quartic])
    return x, basis[:, [1, 2, 5]] @ np.sqrt(SLIDES_POINTS * parts)


def rows(name: str, x: np.ndarray, y: np.ndarray, permuted: np.ndarray) -> Iterator[Finding]:
    """Errors of one fit to the labels as they are, and to permuted ones."""
    columns = legendre.legvander(x, MODELS[name])
    basis, _ = np.linalg.qr(columns)
    fitted = permuted @ basis @ basis.T
    in_sample = np.mean((permuted - fitted) ** 2, axis=1)
    # Labels of permuted data say nothing of x: every label goes with every prediction (Theorem 1).
    out_sample = np.var(y) + np.mean((fitted - y.mean()) ** 2, axis=1)
    e_in = float(np.mean((y - basis @ (basis.T @ y)) ** 2))
    # Theorem 3 with 1ᵀS1 = n.
    exact = float(2 * np.var(y, ddof=1) * ((basis**2).sum(axis=1).mean() - 1 / len(y)))
    drawn = out_sample - in_sample
    yield Finding("real data", "e_in", name, e_in)
    yield Finding("permuted", "mean e_in", name, *mean_and_error(in_sample))
    yield Finding("permuted", "mean e_out", name, *mean_and_error(out_sample))
    yield Finding("ê_gen", "over permutations", name, *mean_and_error(drawn))
    yield Finding("ê_gen", "over the first six", name, *mean_and_error(drawn[:N_SHOWN]))
    yield Finding("ê_gen", "Theorem 3", name, exact)
    yield Finding("ê_out", "e_in + ê_gen", name, e_in + exact)
    yield Finding("true e_out", "", name, LINE.true_risk(np.linalg.lstsq(columns, y, rcond=None)[0]))


def of_slides(name: str) -> Iterator[Finding]:
    """The numbers of the slides beside those of seven points of their variance, over all permutations."""
    x, y = slides_data()
    cases = {"e_in": "e_in", "mean e_in": "mean e_in", "mean e_out": "mean e_out"}
    cases |= {"Theorem 3": "ê_gen", "e_in + ê_gen": "ê_out"}
    for found in rows(name, x, y, np.array(list(itertools.permutations(y)))):
        if found.case in cases:
            printed = cases[found.case]
            yield Finding("slides", printed, name, found.ours, paper=SLIDES[name][printed], band=ROUNDING)


@study("permutations", n=100_000, quick={"n": 10_000})
def table1(options: Options) -> Result:
    """Table 1: linear against quartic on permuted data; the six permutations of the paper's picture are the first."""
    X, y = LINE.sample(N_POINTS, generator(options.seed, 0))
    permuted = generator(options.seed, 1).permuted(np.broadcast_to(y, (options.n, N_POINTS)), axis=1)
    ours = [found for name in MODELS for found in rows(name, X[:, 0], y, permuted)]
    findings = (*ours, *(found for name in MODELS for found in of_slides(name)))

    def least(quantity: str) -> str:
        return min((f for f in findings if f.quantity == quantity), key=lambda f: f.ours).method

    notes = (
        f"The permutation estimate selects the {least('ê_out')} fit; the {least('true e_out')} fit is the better one.",
        f"Slides: all permutations of {SLIDES_POINTS} labels of variance {SLIDES_VARIANCE}, which alone give "
        "their means; ✓: equal to the printed digits. Their true e_out, .11 and .256, needs the target, not printed.",
    )

    def draw(figure: Figure) -> None:
        axes = figure.subplots(2, 4, sharex=True, sharey=True)
        axes[1, 0].axis("off")
        line = np.linspace(-1, 1, 200)
        places = [axes[0, 0], *axes[0, 1:], *axes[1, 1:]]
        for k, (ax, labels) in enumerate(zip(places, [y, *permuted[:N_SHOWN]], strict=True)):
            ax.plot(X[:, 0], labels, "k.")
            for name, degree in MODELS.items():
                ax.plot(line, legendre.legval(line, legendre.legfit(X[:, 0], labels, degree)), label=name)
            ax.set(title=f"permuted, {k}" if k else "real data", xlabel="x" if k > 3 else "")
        axes[0, 0].set(xlabel="x", ylabel="y", ylim=(y.min() - 1, y.max() + 1))
        axes[0, 0].tick_params(labelbottom=True)
        axes[1, 0].legend(*axes[0, 0].get_legend_handles_labels(), loc="center")

    title = f"Table 1: {N_POINTS} points about a line, {options.n} permutations of their labels [slides]"
    return Result("table1", title, findings, notes, draw)
