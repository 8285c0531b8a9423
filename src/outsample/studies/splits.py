"""Model selection over random splits: what Tables 5, 6 and 7 and the study of imbalance are made of.

On each training set every estimate selects one of the models of a learner; the selected and the best model are judged
by their true or held-out error. Regret is a ratio of means over splits: Σ (e_out(selected) − e_out(best)) /
Σ e_out(best).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import joblib
import numpy as np
from numpy.typing import NDArray

from outsample.checks import whole_number
from outsample.datasets import DATASETS, Dataset, PlaneProblem, load
from outsample.questions.regret import ratio_of_means
from outsample.running.arrays import Array, Floats
from outsample.running.progress import Progress
from outsample.running.run import child_generator
from outsample.running.store import common_facts, finished_units
from outsample.studies.error_curves import ErrorCurves, Models, Neighbors, Trees
from outsample.studies.result import File, Finding

if TYPE_CHECKING:
    pass

N_FOLDS = 10
EQUAL = 1e-12
"""Estimates that differ by less are tied: they are sums of counts."""


@dataclass(frozen=True)
class Budget:
    """How many fits each estimate may spend.

    Attributes
    ----------
    labels : label draws of permutation and Rademacher.
    left_out : points left out one at a time; as many as there are, if fewer.
    folds : whether 10-fold cross-validation is one of the estimates.
    """

    labels: int
    left_out: int
    folds: bool = True

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the estimates, in the paper's order."""
        return ("LOO-CV", "10-fold", "Perm.", "Rad.") if self.folds else ("LOO-CV", "Perm.", "Rad.")


def estimates(curves: ErrorCurves, y: Array, budget: Budget, rng: np.random.Generator) -> Floats:
    """Out-sample error of every model by every estimate, (methods, models)."""
    n = len(y)
    alone = rng.permutation(n)
    folds = rng.permutation(n) % N_FOLDS
    permuted = np.stack([rng.permutation(y) for _ in range(budget.labels)])
    signs = rng.integers(2, size=(budget.labels, n))
    in_sample, _ = curves.fits(y[None])
    found = [curves.left_out(alone, min(budget.left_out, n))]
    if budget.folds:
        found.append(curves.left_out(folds, N_FOLDS))
    found.append(in_sample[0] + permutation_optimism(curves, y, permuted))
    found.append(in_sample[0] + rademacher_optimism(curves, signs))
    return np.stack(found)


def permutation_optimism(curves: ErrorCurves, y: Array, permuted: Array) -> Floats:
    """Mean over permutations of the error on all pairs minus the error in sample, (models,)."""
    in_sample, positive = curves.fits(permuted)
    share = y.mean()
    return np.asarray(np.mean(share * (1 - positive) + (1 - share) * positive - in_sample, axis=0))


def rademacher_optimism(curves: ErrorCurves, signs: Array) -> Floats:
    """R/2, half the mean correlation with random signs, in units of zero-one loss, (models,)."""
    in_sample, _ = curves.fits(signs)
    return np.asarray(np.mean(0.5 - in_sample, axis=0))


def last_minimum(curve: Floats) -> int:
    """Position of the smallest value; the last of those that are tied."""
    return int(np.flatnonzero(curve <= curve.min() + EQUAL)[-1])


def selected_errors(
    models: Models,
    X: Array,
    y: Array,
    errors: Callable[[ErrorCurves], Floats],
    budget: Budget,
    rng: np.random.Generator,
) -> tuple[Floats, NDArray[np.int64]]:
    """(e_out of the best model and of those selected, positions of those selected): (1 + methods,), (methods,)."""
    curves = models.on(X, y)
    truth = errors(curves)
    chosen = np.array([last_minimum(curve) for curve in estimates(curves, y, budget, rng)])
    return np.concatenate([[truth.min()], truth[chosen]]), chosen


def train_and_test(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(a random three quarters of n rows, the others)."""
    order = rng.permutation(n)
    return order[: 3 * n // 4], order[3 * n // 4 :]


def one_split(
    X: Array, y: Array, models: Models, budget: Budget, rng: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """Selection on a random three quarters of the rows, judged on the last quarter; see `selected_errors`."""
    train, test = train_and_test(len(y), rng)
    return selected_errors(models, X[train], y[train], lambda curves: curves.error_on(X[test], y[test]), budget, rng)


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


LEARNERS: dict[str, Models] = {
    "trees, gain per node": Trees(per_node=True),
    "trees, weighted gain": Trees(per_node=False),
    "k-NN": Neighbors(),
}
N_SIMULATED = 300
GRID_SIDE = 100


@dataclass(frozen=True, eq=False)
class Work:
    """A learner on a problem: a data set to be split, or a simulation to be drawn from.

    Attributes
    ----------
    held_out : whether models of simulated data are judged on a quarter of the points, like those of real data, instead
        of by their true error.
    """

    problem: Dataset | PlaneProblem
    name: str
    learner: str
    budget: Budget
    held_out: bool = False

    @property
    def unit(self) -> str:
        """Its name in a store."""
        fits = self.budget
        if isinstance(self.problem, Dataset):
            own = joblib.hash((self.problem.X, self.problem.y))[:12]
        else:
            own = "simulated, held out" if self.held_out else "simulated"
        return f"{self.name}/{own}/{self.learner}/{fits.labels}-{fits.left_out}-{int(fits.folds)}"


def real_sets(names: Sequence[str] | None, data_home: File) -> Iterator[tuple[str, Dataset]]:
    """(title in the paper, data) of the named sets, by default of all eight."""
    for name in DATASETS if names is None else names:
        data = load(name, data_home)
        yield DATASETS[name].title, data


def regrets(
    works: Sequence[Work],
    n: int,
    seed: int,
    *,
    store: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Regrets]:
    """Errors of selected models over n splits of each piece of work.

    Every split has its own child seed at an address made of the problem's name and its number, so all learners and all
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
    return [Regrets(work.budget.methods, found) for work, found in zip(works, errors, strict=True)]


def _one(work: Work, seed: int, s: int) -> tuple[Array, ...]:
    rng = child_generator(np.random.SeedSequence(seed), zlib.crc32(work.name.encode()), s)
    models, problem = LEARNERS[work.learner], work.problem
    if isinstance(problem, Dataset):
        return one_split(problem.X, problem.y, models, work.budget, rng)
    X, y = problem.sample(N_SIMULATED, rng)
    if work.held_out:
        return one_split(X, y, models, work.budget, rng)
    points, region, probability = problem.grid(GRID_SIDE)
    return selected_errors(
        models,
        X,
        y,
        lambda curves: problem.risk_from_wrong(curves.error_on(points, region, probability)),
        work.budget,
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
    """One line per claim (learner, method, other): where it holds, where it fails, where it is undecided."""
    for learner, method, other in claims:
        heard: dict[str, list[str]] = {"holds": [], "fails": [], "undecided": []}
        for (case, of), found in results.items():
            if of == learner:
                word, lead = verdict(found, method, other)
                heard[word].append(f"{case} ({lead})")
        told = "; ".join(f"{word}: {', '.join(cases)}" for word, cases in heard.items() if cases)
        yield f"{method} ≤ {other} with {learner}: {told or 'not studied'}"
