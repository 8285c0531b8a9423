"""Bounds in place of estimates for choosing a model: "generally inferior", the paper says (§4.3). Are they?

Trees of 2 … 30 leaves on 300 points of the two-dimensional problem of Table 7, whose true errors are known. A bound
adds the whole complexity where the estimate adds half of it, so that it chooses simpler trees.
"""

from __future__ import annotations

import numpy as np

from outsample.criteria.base import Criterion
from outsample.criteria.bounds import PermutationBound, RademacherBound
from outsample.criteria.discrepancy import ExpectedDiscrepancy
from outsample.criteria.labels import Permutation, Rademacher
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.datasets import PlaneProblem, plane_problem
from outsample.paths.trees.best_first import BestFirstTreeClassifier
from outsample.problem import pose
from outsample.rules import minimum
from outsample.running.arrays import Floats
from outsample.running.progress import Progress
from outsample.running.run import child_generator
from outsample.running.store import common_facts, finished_units
from outsample.studies.result import File, Finding, StudyResult, save
from outsample.studies.study import study

N_POINTS = 300
LEAVES = range(2, 31)
NOISES = (0.05, 0.2, 0.4)
CRITERIA: dict[str, Criterion] = {
    "Perm.": Permutation(10),
    "Perm. bound": PermutationBound(n_draws=10),
    "Rad.": Rademacher(10),
    "Rad. bound": RademacherBound(n_draws=10),
    "discrepancy": ExpectedDiscrepancy(10),
    "LOO-CV, 10 rows": LeaveOneOut(10),
}


@study("problems", n=4)
def selection(
    n: int = 100,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Regret of choosing trees by bounds and by the estimates they belong to.

    Parameters
    ----------
    n : data sets at each level of noise.
    seed : of the data and the draws.
    store : SQLite file, so that a run that was stopped goes on.
    data_home : not used, the data are simulated.
    out : folder to write to, or None.
    n_jobs, progress : as in the other studies.
    """
    tasks = [(noise, seed, i) for noise in NOISES for i in range(n)]
    names = [f"{noise}/{i}" for noise, _, i in tasks]
    facts = common_facts(seed, points=N_POINTS, leaves=list(LEAVES), criteria=list(CRITERIA), study="selection")
    units = finished_units(_regrets, tasks, names, facts=facts, store=store, n_jobs=n_jobs, progress=progress)
    table = np.array([unit[0] for unit in units]).reshape(len(NOISES), n, len(CRITERIA), 2)
    findings = tuple(
        Finding(quantity, f"noise {100 * noise:.0f} %", name, *_mean_and_error(table[k, :, c, q]))
        for q, quantity in enumerate(("regret", "leaves chosen"))
        for k, noise in enumerate(NOISES)
        for c, name in enumerate(CRITERIA)
    )
    title = f"Choosing among trees of 2 … 30 leaves, {n} data sets of {N_POINTS} points at each level of noise"
    return save(StudyResult("selection", title, findings, _verdicts(table)), out)


def _mean_and_error(values: Floats) -> tuple[float, float]:
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return float(values.mean()), error


def _verdicts(table: Floats) -> tuple[str, ...]:
    """One sentence for each bound and its estimate, over all levels of noise."""
    names = list(CRITERIA)
    said = []
    for estimate in ("Perm.", "Rad."):
        apart = table[:, :, names.index(f"{estimate} bound"), 0] - table[:, :, names.index(estimate), 0]
        mean, error = _mean_and_error(apart.ravel())
        word = "more" if mean > 0 else "less"
        said.append(f"{estimate} bound: {abs(mean):.3f} ± {error:.3f} {word} regret than the estimate itself.")
    return tuple(said)


def _regrets(noise: float, seed: int, i: int) -> tuple[Floats]:
    """(criteria, 2): regret of the tree chosen by each criterion, and its number of leaves."""
    plane: PlaneProblem = plane_problem(noise)
    rng = child_generator(np.random.SeedSequence(seed), round(100 * noise), i)
    X, y = plane.sample(N_POINTS, rng)
    problem = pose(BestFirstTreeClassifier(), X, y, parameter="max_leaf_nodes", values=list(LEAVES), random_state=rng)
    points, region, share = plane.grid(100)
    risks = plane.risk_from_wrong((problem.design.predict(problem.y, points) != region) @ share)
    found = []
    for criterion in CRITERIA.values():
        chosen = minimum(criterion.curve(problem))
        found.append((risks[chosen] / risks.min() - 1, problem.path.complexity[chosen]))
    return (np.array(found, dtype=np.float64),)
