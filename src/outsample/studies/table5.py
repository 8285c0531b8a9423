"""Table 5: regret on real data when fits are plentiful.

For trees every estimate may spend 1000 fits: 1000 label draws, 1000 left-out points or all there are. For k-NN, where
fits are free, all points are left out and 100 label vectors are drawn. Settings otherwise as in `table6`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from outsample.datasets import plane_problem
from outsample.running.progress import Progress
from outsample.studies.catalogue import study_command
from outsample.studies.result import StudyResult, findings_of, written
from outsample.studies.splits import Episodes, Work, claim_lines, real_sets, regret_findings, regrets
from outsample.studies.table6 import BAND, agreement_note, draw_regrets

EVERY_POINT = 10**9
EPISODES = {
    "trees, gain per node": Episodes(labels=1000, left_out=1000, folds=False),
    "k-NN": Episodes(labels=100, left_out=EVERY_POINT, folds=False),
}
SIMULATED = "simulated"
NOISE = 0.4

# data set → (LOO-CV, Perm., Rad.) for trees and for k-NN
PAPER = {
    "Abalone": ((0.05, 0.02, 0.02), (0.04, 0.04, 0.04)),
    "Ionosphere": ((0.17, 0.16, 0.17), (0.17, 0.70, 0.83)),
    "M.Mass": ((0.09, 0.05, 0.05), (0.09, 0.11, 0.11)),
    "Parkinsons": ((0.24, 0.34, 0.41), (0.25, 0.33, 0.43)),
    "Pima Indians Diabetes": ((0.09, 0.07, 0.07), (0.11, 0.11, 0.14)),
    "Spambase": ((0.07, 0.06, 0.07), (0.19, 0.43, 0.55)),
    "Transfusion": ((0.10, 0.08, 0.09), (0.09, 0.12, 0.19)),
    "WDBC": ((0.20, 0.23, 0.34), (0.21, 0.34, 0.51)),
    "Simulated": ((0.16, 0.15, 0.15), (0.21, 0.21, 0.21)),
}
CLAIMS = (
    ("trees, gain per node", "Perm.", "LOO-CV"),
    ("trees, gain per node", "Perm.", "Rad."),
    ("k-NN", "LOO-CV", "Perm."),
    ("k-NN", "Perm.", "Rad."),
)


def run(
    n: int = 1000,
    seed: int = 0,
    store: Any = None,
    data_home: Any = None,
    out: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    names: Sequence[str] | None = None,
) -> StudyResult:
    """Regret on the paper's real data with a thousand fits per estimate.

    A split of 800 rows takes seconds, one of spambase a minute: give fewer splits, or a store and time. Parameters as
    in `table6.run`; the name "simulated" stands for the two-dimensional problem with 40 % noise, whose region is
    this library's own.
    """
    works = _works(names, data_home)
    found = regrets([work for _, work in works], n, seed, store=store, n_jobs=n_jobs, progress=progress)
    results = {(title, work.family): part for (title, work), part in zip(works, found, strict=True)}
    rows = [
        regret_findings(results[case, family], family, case, PAPER[case][family == "k-NN"], _band(case))
        for family in EPISODES
        for case, of in results
        if of == family
    ]
    title = f"Table 5: regret with plenty of fits over {n} splits [paper]"
    notes = (agreement_note(), *claim_lines(CLAIMS, results))
    return written(StudyResult("table5", title, findings_of(rows), notes, draw_regrets(results)), out)


def _band(case: str) -> float:
    """Agreement is not judged on the simulated problem: the paper's region is another."""
    return float("nan") if case == "Simulated" else BAND


def _works(names: Sequence[str] | None, data_home: Any) -> list[tuple[str, Work]]:
    real = None if names is None else [name for name in names if name != SIMULATED]
    problems: list[tuple[str, str, Any]] = [(title, data.name, data) for title, data in real_sets(real, data_home)]
    if names is None or SIMULATED in names:
        problems.append(("Simulated", SIMULATED, plane_problem(NOISE)))
    return [
        (title, Work(problem, name, family, EPISODES[family]))
        for title, name, problem in problems
        for family in EPISODES
    ]


main = study_command(run, 1000, "splits")

if __name__ == "__main__":
    main()
