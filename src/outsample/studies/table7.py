"""Table 7: regret on the two-dimensional problem as label noise grows.

The paper draws its region without a formula and does not say which learner it used; here the region is that of
`outsample.datasets.PlaneProblem`, and both learners are shown.
"""

from __future__ import annotations

from typing import Any

from outsample.datasets import plane_problem
from outsample.running.progress import Progress
from outsample.studies.catalogue import study_command
from outsample.studies.plane import plane_study
from outsample.studies.result import StudyResult, written

# noise in per cent → (LOO-CV, Perm., Rad.)
PAPER = {
    5: (0.30, 0.28, 0.28),
    10: (0.28, 0.27, 0.27),
    15: (0.28, 0.25, 0.25),
    20: (0.28, 0.26, 0.26),
    25: (0.26, 0.25, 0.25),
    30: (0.24, 0.24, 0.24),
    35: (0.24, 0.23, 0.24),
    40: (0.25, 0.26, 0.26),
    45: (0.24, 0.26, 0.26),
}


def run(
    n: int = 1000,
    seed: int = 0,
    store: Any = None,
    data_home: Any = None,
    out: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Regret on 300 simulated points in two dimensions with 5 … 45 % of the labels flipped.

    Parameters
    ----------
    n : data sets at each level of noise.
    seed, store, n_jobs, progress : see `many_splits.regrets`.
    data_home : not used, the data are simulated.
    out : folder to write to, or None.
    """
    result = plane_study(
        "table7",
        f"Table 7: regret against label noise over {n} data sets [paper, another region]",
        {f"noise {level} %": plane_problem(level / 100) for level in PAPER},
        {f"noise {level} %": printed for level, printed in PAPER.items()},
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
