"""Table 3: selecting the order of a polynomial, and the penalty of a ridge regression, by four estimates.

The paper's mean regrets are heavy-tailed: over a million trials they still range over two orders of magnitude from one
seed to the next. The mean without the largest 1 % and the median do settle, and are printed beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from outsample.questions.regret import summary
from outsample.running.progress import Progress
from outsample.studies.catalogue import study_command
from outsample.studies.legendre import METHODS, ORDER, RIDGE, Trials, trials
from outsample.studies.result import Finding, StudyResult, findings_of, written

# quantity of the paper → (values in the order of METHODS, largest difference that counts as agreement)
PAPER = {
    "average order": ((9.29, 7.21, 5.56, 11.42), (0.06, 0.05, 0.06, 0.07)),
    "average λ/N": ((23.1, 9.57, 125.0, 18.1), (0.8, 0.45, 1.8, 0.8)),
}
# Regrets as fractions: the caption's per cent sign is a slip. No band: these means do not settle.
PAPER_REGRETS = {"order": (540.0, 185.0, 508.0, 9560.0), "λ": (18.8, 5.96, 3.50, 51.3)}

NOTES = (
    "Mean regrets are heavy-tailed and do not settle at any number of trials: compare trimmed means and medians.",
    "Trimmed means leave out the largest 1 %.",
)


def run(
    n: int = 100_000,
    seed: int = 0,
    store: Any = None,
    data_home: Any = None,
    out: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Order selection (n = 100) and penalty selection (n = 15) on random Legendre targets.

    Parameters
    ----------
    n : trials of each.
    seed, store, n_jobs, progress : see `legendre_trials.trials`; one store serves all studies of these trials.
    data_home : not used, the data are simulated.
    out : folder to write to, or None.
    """
    order = trials(ORDER, n, seed, store=store, n_jobs=n_jobs, progress=progress)
    ridge = trials(RIDGE, n, seed, store=store, n_jobs=n_jobs, progress=progress)
    rows = [
        selections(order, "order", "average order"),
        regrets(order, "order", PAPER_REGRETS["order"]),
        selections(ridge, "λ", "average λ/N"),
        regrets(ridge, "λ", PAPER_REGRETS["λ"]),
    ]
    title = f"Table 3: order and penalty selected over {n} trials, and their regret [paper]"
    return written(StudyResult("table3", title, findings_of(rows), NOTES, _draw(order, ridge)), out)


def selections(found: Trials, name: str, quantity: str) -> Iterator[Finding]:
    """Average model selected by each estimate."""
    paper, band = PAPER[quantity]
    for m, method in enumerate(METHODS):
        of = summary(found.selected(name)[:, m])
        yield Finding(quantity, "", method, of.mean, of.standard_error, paper[m], band[m])


def regrets(
    found: Trials, name: str, paper: tuple[float, ...], band: tuple[float, ...] = (float("nan"),) * 4
) -> Iterator[Finding]:
    """Mean, trimmed mean and median regret of each estimate."""
    for m, method in enumerate(METHODS):
        of = summary(found.regret(name)[:, m])
        yield Finding(f"{name} regret", "mean", method, of.mean, of.standard_error, paper[m], band[m])
        yield Finding(f"{name} regret", "1 % trimmed", method, of.trimmed, of.trimmed_standard_error)
        yield Finding(f"{name} regret", "median", method, of.median)


def _draw(order: Trials, ridge: Trials) -> Any:
    def draw(figure: Any) -> None:
        """Share of trials in which the regret exceeds x."""
        import numpy as np

        axes = figure.subplots(1, 2)
        for ax, found, name in ((axes[0], order, "order"), (axes[1], ridge, "λ")):
            tail = np.geomspace(1.0, 1.0 / len(found), 400)
            for m, method in enumerate(METHODS):
                ax.loglog(np.quantile(found.regret(name)[:, m], 1 - tail), tail, label=method)
            ax.set(xlabel=f"regret of {name} selection", ylabel="share of trials above", xlim=(1e-3, None))
        axes[0].legend()

    return draw


main = study_command(run, 100_000, "trials")

if __name__ == "__main__":
    main()
