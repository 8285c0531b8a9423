"""Many splits of many problems, each kept in the store when it is done."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from outsample.checks import whole_number
from outsample.datasets import DATASETS, Dataset, PlaneProblem, load
from outsample.progress import Progress
from outsample.running import child_generator
from outsample.studies.error_curves import Family, Neighbors, Trees
from outsample.studies.result import Finding
from outsample.studies.split_study import Episodes, Regrets, one_split, selected_errors
from outsample.studies.units import common_facts, finished_units

Array = NDArray[Any]

FAMILIES: dict[str, Family] = {
    "trees, gain per node": Trees(per_node=True),
    "trees, weighted gain": Trees(per_node=False),
    "k-NN": Neighbors(),
}
N_SIMULATED = 300
GRID_SIDE = 100


@dataclass(frozen=True, eq=False)
class Work:
    """One family on one problem: a data set to be split, or a simulation to be drawn."""

    problem: Dataset | PlaneProblem
    name: str
    family: str
    episodes: Episodes

    @property
    def unit(self) -> str:
        """Its name in a store."""
        spent = self.episodes
        own = joblib.hash((self.problem.X, self.problem.y))[:12] if isinstance(self.problem, Dataset) else "simulated"
        return f"{self.name}/{own}/{self.family}/{spent.labels}-{spent.left_out}-{int(spent.folds)}"


def real_sets(names: Sequence[str] | None, data_home: Any) -> Iterator[tuple[str, Dataset]]:
    """(title in the paper, data) of the named sets, by default of all eight."""
    for name in DATASETS if names is None else names:
        data = load(name, data_home)
        yield DATASETS[name].title, data


def regrets(
    works: Sequence[Work],
    n: int,
    seed: int,
    *,
    store: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Regrets]:
    """Errors of selected models over n splits of each piece of work.

    Every split has its own child seed at an address made of the problem's name and its number, so all families and all
    studies see the same splits.
    """
    n = whole_number("the number of splits", n)
    units = finished_units(
        _one,
        [(work, seed, s) for work in works for s in range(n)],
        [f"{unit}/{s}" for unit in [work.unit for work in works] for s in range(n)],
        facts=common_facts(seed, study="splits", simulated=N_SIMULATED, grid=GRID_SIDE),
        store=store,
        n_jobs=n_jobs,
        progress=progress,
    )
    errors = [np.stack([unit[0] for unit in units[w * n : (w + 1) * n]]) for w in range(len(works))]
    return [Regrets(work.episodes.methods, part) for work, part in zip(works, errors, strict=True)]


def _one(work: Work, seed: int, s: int) -> tuple[Array, ...]:
    rng = child_generator(np.random.SeedSequence(seed), zlib.crc32(work.name.encode()), s)
    family, problem = FAMILIES[work.family], work.problem
    if isinstance(problem, Dataset):
        return one_split(problem.X, problem.y, family, work.episodes, rng)
    X, y = problem.sample(N_SIMULATED, rng)
    points, region, probability = problem.grid(GRID_SIDE)
    return selected_errors(
        family,
        X,
        y,
        lambda bound: problem.risk_from_wrong(bound.error_on(points, region, probability)),
        work.episodes,
        rng,
    )


def regret_findings(
    found: Regrets, quantity: str, case: str, paper: Iterable[float] | None, band: float
) -> Iterator[Finding]:
    """Regret of each estimate beside the paper's."""
    printed = [float("nan")] * len(found.methods) if paper is None else list(paper)
    for method, value in zip(found.methods, printed, strict=True):
        yield Finding(quantity, case, method, *found.regret(method), value, band)


def verdict(found: Regrets, method: str, other: str) -> tuple[str, str]:
    """(“holds”, “fails” or “undecided”, the lead with its standard error) for the claim method ≤ other.

    Decided where the lead is more than two standard errors of the paired difference.
    """
    lead, error = found.lead(method, other)
    word = "holds" if lead > 2 * error else "fails" if lead < -2 * error else "undecided"
    return word, f"{lead:+.3f}±{error:.3f}"


def claim_lines(claims: Iterable[tuple[str, str, str]], results: dict[tuple[str, str], Regrets]) -> Iterator[str]:
    """One line per claim (family, method, other): where it holds, where it fails, where it is undecided."""
    for family, method, other in claims:
        heard: dict[str, list[str]] = {"holds": [], "fails": [], "undecided": []}
        for (case, of), found in results.items():
            if of == family:
                word, lead = verdict(found, method, other)
                heard[word].append(f"{case} ({lead})")
        told = "; ".join(f"{word}: {', '.join(cases)}" for word, cases in heard.items() if cases)
        yield f"{method} ≤ {other} with {family}: {told or 'not studied'}"
