"""The study of imbalance of §4.3: permutation against Rademacher as one class becomes rare.

The paper reports that the permutation estimate dominates as the imbalance grows, without numbers.
"""

from __future__ import annotations

from typing import Any

from outsample.datasets import plane_problem
from outsample.running.progress import Progress
from outsample.studies.catalogue import study_command
from outsample.studies.plane import plane_study
from outsample.studies.result import StudyResult, written

SHARES = (50, 40, 30, 20, 10)
"""Per cent of the points in the positive region."""
NOISE = 0.1


def run(
    n: int = 1000,
    seed: int = 0,
    store: Any = None,
    data_home: Any = None,
    out: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Regret on 300 simulated points in two dimensions, from balanced to one positive in ten, with 10 % noise.

    Parameters as in `table7.run`.
    """
    result = plane_study(
        "imbalance",
        f"Imbalance: regret against the share of positives over {n} data sets",
        {f"{share} % positive": plane_problem(NOISE, share / 100) for share in SHARES},
        {},
        n,
        seed,
        store=store,
        n_jobs=n_jobs,
        progress=progress,
    )
    return written(result, out)


main = study_command(run, 1000, "splits")

if __name__ == "__main__":
    main()
