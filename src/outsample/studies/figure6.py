"""Figure 6: squared bias and variance of the four estimates where the penalty is small.

Without penalty both are dominated by rare data sets and settle at no number of trials.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from outsample.running.progress import Progress
from outsample.studies.catalogue import study_command
from outsample.studies.legendre import GRID, METHODS, PRINTED, RIDGE, SMALL, Trials, squared_biases, trials, variances
from outsample.studies.result import Finding, StudyResult, findings_of, written

# quantity → values at λ/N = 0, .02, .04, .06, one row per method
PAPER = {
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


def run(
    n: int = 100_000,
    seed: int = 0,
    store: Any = None,
    data_home: Any = None,
    out: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Squared bias and variance of each estimate near λ = 0; parameters as in `table3.run`."""
    ridge = trials(RIDGE, n, seed, store=store, n_jobs=n_jobs, progress=progress)
    rows = [_rows(ridge, "bias²", squared_biases), _rows(ridge, "variance", variances)]
    title = f"Figure 6: squared bias and variance of the estimates over {n} trials [paper]"
    notes = ("At λ = 0 both settle at no number of trials, so agreement is not judged there.",)
    return written(StudyResult("figure6", title, findings_of(rows), notes, _draw(ridge)), out)


def _rows(found: Trials, quantity: str, function: Any) -> Iterator[Finding]:
    value, error = found.moment(function)
    for k, penalty in enumerate((0.0, *PRINTED)):
        model = _small_model(penalty)
        for m, method in enumerate(METHODS):
            paper = float(PAPER[quantity][m, k])
            band = float("nan") if penalty == 0 else SHARE[quantity] * paper + DIGIT[quantity]
            numbers = float(value[model, m]), float(error[model, m])
            yield Finding(quantity, f"λ/N = {penalty:g}", method, *numbers, paper, band)


def _small_model(penalty: float) -> int:
    """Position of a small penalty among the models."""
    return 0 if penalty == 0 else len(GRID) + 1 + int(np.argmin(np.abs(SMALL - penalty)))


def _draw(found: Trials) -> Any:
    def draw(figure: Any) -> None:
        ax = figure.subplots()
        models = slice(len(GRID) + 1, None)
        together = (found.moment(squared_biases)[0] + found.moment(variances)[0])[models]
        for m, method in enumerate(METHODS):
            ax.semilogy(found.setting.models[models], together[:, m], label=method)
        ax.set(xlabel="λ/N", ylabel="bias² + variance")
        ax.legend()

    return draw


main = study_command(run, 100_000, "trials")

if __name__ == "__main__":
    main()
