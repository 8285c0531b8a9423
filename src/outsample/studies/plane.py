"""Regret on the two-dimensional problem: Table 7, as label noise grows, and as one class becomes rare (§4.3).

The paper draws its region without a formula and does not say which learner it used; here the region is that of
`outsample.datasets.PlaneProblem`, and both learners are shown. Of imbalance it reports, without numbers, that the
permutation estimate dominates the Rademacher estimate as it grows.

Table 7 is made twice. By the true error, regret is what a choice costs. On a quarter of the points held out, as in the
tables of real data, the best model is the luckiest of many on 75 points, and no choice comes near it: this is what the
paper's regrets of a quarter at every level of noise are made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from outsample.datasets import PlaneProblem, plane_problem
from outsample.running.progress import Progress
from outsample.studies.result import File, StudyResult, drawn_findings, findings_of, save
from outsample.studies.splits import Budget, Work, claim_lines, regret_findings, regrets
from outsample.studies.study import study

HELD_OUT = ", held out"
"""After the name of a learner: models are judged on a quarter of the points."""
BUDGETS = {
    "trees, gain per node": Budget(labels=30, left_out=300, folds=False),
    "k-NN": Budget(labels=30, left_out=300, folds=False),
}
"""All 300 points are left out; label estimates change little beyond 30 draws."""

# noise in per cent → (LOO-CV, Perm., Rad.)
NOISE_LEVELS = {
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

SHARES = (50, 40, 30, 20, 10)
"""Per cent of the points in the positive region, with 10 % of the labels flipped."""
NOISE = 0.1


@study("splits", n=10)
def table7(
    n: int = 1000,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Regret on 300 simulated points in two dimensions with 5 … 45 % of the labels flipped.

    Parameters
    ----------
    n : data sets at each level of noise.
    seed, store, n_jobs, progress : see `splits.regrets`.
    data_home : not used, the data are simulated.
    out : folder to write to, or None.
    """
    result = _plane_study(
        "table7",
        f"Table 7: regret against label noise over {n} data sets [paper, another region]",
        {f"noise {level} %": plane_problem(level / 100) for level in NOISE_LEVELS},
        {f"noise {level} %": printed for level, printed in NOISE_LEVELS.items()},
        n,
        seed,
        judges=("", HELD_OUT),
        store=store,
        n_jobs=n_jobs,
        progress=progress,
    )
    return save(result, out)


@study("splits", n=15)
def imbalance(
    n: int = 1000,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Regret on 300 simulated points in two dimensions, from balanced to one positive in ten, with 10 % noise.

    Parameters as in `table7`.
    """
    result = _plane_study(
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
    return save(result, out)


def _plane_study(
    name: str,
    title: str,
    problems: Mapping[str, PlaneProblem],
    paper: Mapping[str, Sequence[float]],
    n: int,
    seed: int,
    *,
    judges: Sequence[str] = ("",),
    store: File,
    n_jobs: int | None,
    progress: Progress | None,
) -> StudyResult:
    """Regret of both learners on each problem over n data sets of 300 points.

    Parameters
    ----------
    problems : case → problem.
    paper : case → (LOO-CV, Perm., Rad.), printed for comparison only: the paper's region is another.
    judges : "" for the true error, `HELD_OUT` for a quarter of the points.
    """
    shown = [(learner, judge) for judge in judges for learner in BUDGETS]
    works = {
        (case, learner + judge): Work(problem, case, learner, BUDGETS[learner], held_out=judge == HELD_OUT)
        for learner, judge in shown
        for case, problem in problems.items()
    }
    found = regrets(list(works.values()), n, seed, store=store, n_jobs=n_jobs, progress=progress)
    results = dict(zip(works, found, strict=True))
    rows = [
        regret_findings(regret, learner, case, paper.get(case), float("nan"))
        for (case, learner), regret in results.items()
    ]
    claims = [(learner + judge, "Perm.", other) for learner, judge in shown for other in ("LOO-CV", "Rad.")]
    own = "The region is this library's own, so the pattern is comparable, the digits are not."
    notes = (own, *claim_lines(claims, results))
    findings = findings_of(rows)
    return StudyResult(name, title, findings, notes, drawn_findings(findings, "regret", joined=True))
