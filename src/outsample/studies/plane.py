"""Model selection on the two-dimensional problem, at several settings of it: the noise and the imbalance study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from outsample.datasets import PlaneProblem
from outsample.running.progress import Progress
from outsample.studies.result import StudyResult, findings_of
from outsample.studies.splits import Episodes, Regrets, Work, claim_lines, regret_findings, regrets

EPISODES = {
    "trees, gain per node": Episodes(labels=30, left_out=300, folds=False),
    "k-NN": Episodes(labels=30, left_out=300, folds=False),
}
"""All 300 points are left out; label estimates change little beyond 30 draws."""


def plane_study(
    name: str,
    title: str,
    problems: Mapping[str, PlaneProblem],
    paper: Mapping[str, Sequence[float]],
    n: int,
    seed: int,
    *,
    store: Any,
    n_jobs: int | None,
    progress: Progress | None,
) -> StudyResult:
    """Regret of both families on each problem over n data sets of 300 points, judged by the true error.

    Parameters
    ----------
    problems : case → problem.
    paper : case → (LOO-CV, Perm., Rad.), printed for comparison only: the paper's region is another.
    """
    works = [Work(problem, case, family, EPISODES[family]) for case, problem in problems.items() for family in EPISODES]
    found = regrets(works, n, seed, store=store, n_jobs=n_jobs, progress=progress)
    results = {(work.name, work.family): part for work, part in zip(works, found, strict=True)}
    rows = [
        regret_findings(results[case, family], family, case, paper.get(case), float("nan"))
        for family in EPISODES
        for case in problems
    ]
    claims = [(family, "Perm.", other) for family in EPISODES for other in ("LOO-CV", "Rad.")]
    own = "The region is this library's own, so the pattern is comparable, the digits are not."
    notes = (own, *claim_lines(claims, results))
    return StudyResult(name, title, findings_of(rows), notes, _draw(results, list(problems)))


def _draw(results: dict[tuple[str, str], Regrets], cases: list[str]) -> Any:
    def draw(figure: Any) -> None:
        axes = figure.subplots(1, len(EPISODES))
        for ax, family in zip(axes, EPISODES, strict=True):
            for method in results[cases[0], family].methods:
                values, errors = zip(*(results[case, family].regret(method) for case in cases), strict=True)
                ax.errorbar(range(len(cases)), values, yerr=errors, label=method)
            ax.set_xticks(range(len(cases)), cases, rotation=45, ha="right")
            ax.set(title=family, ylabel="regret")
        axes[0].legend()

    return draw
