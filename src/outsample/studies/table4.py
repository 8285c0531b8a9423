"""Table 4: selecting the penalty of a ridge regression when no penalty at all is not among the choices."""

from __future__ import annotations

from typing import Any

from outsample.running.progress import Progress
from outsample.studies.catalogue import study_command
from outsample.studies.legendre import RIDGE, trials
from outsample.studies.result import StudyResult, findings_of, written
from outsample.studies.table3 import regrets

PAPER = (0.44, 0.39, 0.42, 0.87)
BAND = (0.02, 0.02, 0.015, 0.03)


def run(
    n: int = 100_000,
    seed: int = 0,
    store: Any = None,
    data_home: Any = None,
    out: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Penalty selection (n = 15) without λ = 0; parameters as in `table3.run`."""
    ridge = trials(RIDGE, n, seed, store=store, n_jobs=n_jobs, progress=progress)
    rows = regrets(ridge, "λ without 0", PAPER, BAND)
    title = f"Table 4: regret of penalty selection without λ = 0 over {n} trials [paper]"
    return written(StudyResult("table4", title, findings_of([rows])), out)


main = study_command(run, 100_000, "trials")

if __name__ == "__main__":
    main()
