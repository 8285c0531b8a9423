"""Figure 3: the four estimates against the true out-sample error, along the order and along the penalty.

At order 20, and without penalty, the mean true error is dominated by rare data sets and settles at no number of
trials; the figure shows means, on a logarithmic scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from outsample.running.progress import Progress
from outsample.studies.catalogue import study_command
from outsample.studies.legendre import GRID, METHODS, ORDER, RIDGE, Trials, means, trials
from outsample.studies.result import Finding, StudyResult, findings_of, written

COLUMNS = (*METHODS, "true error")
SHOWN = {"order": (0, 2, 5, 10, 15), "ridge": (10, 20, 30, 40, 50, 61)}
"""Positions of the models in the table; the figure shows all."""


def run(
    n: int = 100_000,
    seed: int = 0,
    store: Any = None,
    data_home: Any = None,
    out: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Mean of each estimate and of the true error along both families; parameters as in `table3.run`."""
    both = [trials(setting, n, seed, store=store, n_jobs=n_jobs, progress=progress) for setting in (ORDER, RIDGE)]
    title = f"Figure 3: mean estimates and mean true error over {n} trials"
    notes = (
        "The paper prints this as a figure only.",
        "Leave-one-out is nearly unbiased; permutation falls below the truth for rich models.",
    )
    return written(StudyResult("figure3", title, findings_of(map(_rows, both)), notes, _draw(both)), out)


def _rows(found: Trials) -> Iterator[Finding]:
    value, error = found.moment(means)
    what = "order" if found.setting.name == "order" else "λ/N"
    for model in SHOWN[found.setting.name]:
        for c, method in enumerate(COLUMNS):
            case = f"{what} {found.setting.models[model]:.3g}"
            yield Finding("mean", case, method, float(value[model, c]), float(error[model, c]))


def _draw(both: list[Trials]) -> Any:
    def draw(figure: Any) -> None:
        axes = figure.subplots(1, 2)
        last = len(GRID) + 1
        for ax, found, models in zip(axes, both, (slice(0, 21), slice(1, last)), strict=True):
            average, _ = found.moment(means)
            for c, method in enumerate(COLUMNS):
                style = "k--" if method == "true error" else "-"
                ax.semilogy(found.setting.models[models], average[models, c], style, label=method)
        axes[0].set(xlabel="order", ylabel="mean squared error", ylim=(0.3, 30))
        axes[1].set(xlabel="λ/N", xscale="log", ylim=(0.3, 30))
        axes[0].legend()

    return draw


main = study_command(run, 100_000, "trials")

if __name__ == "__main__":
    main()
