"""Model selection over random splits: what Tables 5, 6 and 7 and the study of imbalance are made of.

Each split fits a family to the training part, lets every estimate select a model, and judges the selected and the
best model by their true or held-out error. Regret is a ratio of means over splits: Σ (e_out(selected) − e_out(best)) /
Σ e_out(best).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from outsample.checks import whole_number
from outsample.datasets import DATASETS, Dataset, PlaneProblem, load
from outsample.questions.regret import ratio_of_means
from outsample.running.arrays import Array, Floats
from outsample.running.batch import common_facts, finished_units
from outsample.running.progress import Progress
from outsample.running.seeds import child_generator
from outsample.studies.error_curves import Bound, Family, Neighbors, Trees
from outsample.studies.result import Finding

N_FOLDS = 10
EQUAL = 1e-12
"""Estimates that differ by less are tied: they are sums of counts."""


@dataclass(frozen=True)
class Episodes:
    """How many fits each estimate may spend; None leaves it out.

    Attributes
    ----------
    labels : label draws of permutation and Rademacher.
    left_out : points left out one at a time; as many as there are, if fewer.
    folds : whether 10-fold cross-validation takes part.
    """

    labels: int
    left_out: int
    folds: bool = True

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the estimates, in the paper's order."""
        return ("LOO-CV", "10-fold", "Perm.", "Rad.") if self.folds else ("LOO-CV", "Perm.", "Rad.")


def estimates(bound: Bound, y: Array, episodes: Episodes, rng: np.random.Generator) -> Floats:
    """Out-sample error of every model by every estimate, (methods, models)."""
    n = len(y)
    alone = rng.permutation(n)
    folds = rng.permutation(n) % N_FOLDS
    permuted = np.stack([rng.permutation(y) for _ in range(episodes.labels)])
    signs = rng.integers(2, size=(episodes.labels, n))
    in_sample, _ = bound.drawn(y[None])
    curves = [bound.left_out(alone, min(episodes.left_out, n))]
    if episodes.folds:
        curves.append(bound.left_out(folds, N_FOLDS))
    curves.append(in_sample[0] + permutation_optimism(bound, y, permuted))
    curves.append(in_sample[0] + rademacher_optimism(bound, signs))
    return np.stack(curves)


def permutation_optimism(bound: Bound, y: Array, permuted: Array) -> Floats:
    """Mean over permutations of the error on all pairs minus the error in sample, (models,)."""
    in_sample, positive = bound.drawn(permuted)
    share = y.mean()
    return np.asarray(np.mean(share * (1 - positive) + (1 - share) * positive - in_sample, axis=0))


def rademacher_optimism(bound: Bound, signs: Array) -> Floats:
    """R/2, half the mean correlation with random signs, in units of zero-one loss, (models,)."""
    in_sample, _ = bound.drawn(signs)
    return np.asarray(np.mean(0.5 - in_sample, axis=0))


def last_minimum(curve: Floats) -> int:
    """Position of the smallest value; the last of those that are tied."""
    return int(np.flatnonzero(curve <= curve.min() + EQUAL)[-1])


def selected_errors(
    family: Family, X: Array, y: Array, errors: Callable[[Bound], Floats], episodes: Episodes, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """(e_out of the best model and of those selected, positions of those selected): (1 + methods,), (methods,)."""
    bound = family.bound(X, y)
    truth = errors(bound)
    chosen = np.array([last_minimum(curve) for curve in estimates(bound, y, episodes, rng)])
    return np.concatenate([[truth.min()], truth[chosen]]), chosen


def one_split(
    X: Array, y: Array, family: Family, episodes: Episodes, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """Selection on a random three quarters of the rows, judged on the last quarter; see `selected_errors`."""
    order = rng.permutation(len(y))
    train, test = order[: 3 * len(y) // 4], order[3 * len(y) // 4 :]
    return selected_errors(family, X[train], y[train], lambda bound: bound.error_on(X[test], y[test]), episodes, rng)


@dataclass(frozen=True, eq=False)
class Regrets:
    """Errors of selected models over splits.

    Attributes
    ----------
    methods : the estimates.
    errors : (splits, 1 + methods) e_out of the best model, then of the one each estimate selected.
    """

    methods: tuple[str, ...]
    errors: Floats

    def regret(self, method: str) -> tuple[float, float]:
        """(regret as a ratio of means, its standard error)."""
        best = self.errors[:, 0]
        return ratio_of_means(self._of(method) - best, best)

    def lead(self, method: str, other: str) -> tuple[float, float]:
        """(regret of `other` minus that of `method`, standard error of paired splits): positive if `method` leads."""
        return ratio_of_means(self._of(other) - self._of(method), self.errors[:, 0])

    def _of(self, method: str) -> Floats:
        return np.asarray(self.errors[:, 1 + self.methods.index(method)])


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
