"""Table 5 for this library's own criteria: ten fits each, beside ten folds, and leave-one-out with a thousand fits.

`auto` takes twenty fits for trees.

The splits are those of Table 5, and so are the learners and the held-out errors. Leave-one-out of trees leaves out a
thousand rows, or all there are, one at a time; k-NN leaves out all of them. All choose by the library's rule, ties to
the simplest model, where the paper's tables give ties to the largest tree.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import joblib
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from outsample.criteria.auto import Auto
from outsample.criteria.base import Criterion
from outsample.criteria.labels import Permutation
from outsample.criteria.rows_and_labels import RowsAndLabels
from outsample.criteria.two_stage import TwoStagePermutation
from outsample.datasets import Dataset
from outsample.paths.trees.best_first import BestFirstTreeClassifier
from outsample.problem import Problem, pose
from outsample.rules import minimum
from outsample.running.arrays import Array
from outsample.running.progress import Progress
from outsample.running.run import child_generator
from outsample.running.store import common_facts, finished_units
from outsample.studies.error_curves import Models, Neighbors, Trees
from outsample.studies.real_data import PLENTY
from outsample.studies.result import File, StudyResult, drawn_findings, findings_of, save
from outsample.studies.splits import (
    Regrets,
    claim_lines,
    last_minimum,
    real_sets,
    regret_findings,
    train_and_test,
)
from outsample.studies.study import study

N_FITS = 10
OURS: dict[str, Criterion] = {
    "permutation": Permutation(N_FITS),
    "two-stage": TwoStagePermutation(N_FITS),
    "rows-and-labels": RowsAndLabels(N_FITS),
    "auto": Auto(),
}
METHODS = ("LOO-CV", "10-fold", *OURS)
CLAIMS = tuple(
    (learner, ours, other)
    for learner in ("trees, gain per node", "k-NN")
    for ours in ("auto", "rows-and-labels")
    for other in ("LOO-CV", "10-fold", "permutation")
)


@dataclass(frozen=True)
class Learner:
    """A learner in the two forms that a split needs: error curves of all its models, and a path of the library."""

    models: Models
    estimator: BestFirstTreeClassifier | KNeighborsClassifier
    parameter: str
    values: range
    left_out: int

    def problem(self, X: Array, y: Array, seed: int) -> Problem:
        """Its models on one training set, simplest first."""
        return pose(self.estimator, X, y, parameter=self.parameter, values=list(self.values), random_state=seed)


LEARNERS: Mapping[str, Learner] = {
    "trees, gain per node": Learner(Trees(), BestFirstTreeClassifier(), "max_leaf_nodes", range(1, 101), PLENTY),
    "k-NN": Learner(Neighbors(), KNeighborsClassifier(), "n_neighbors", range(2, 31), 10**9),
}


@study("splits", n=2)
def criteria(
    n: int = 200,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    names: Sequence[str] | None = None,
) -> StudyResult:
    """Table 5 for this library's criteria: regret on the paper's real data with ten fits each.

    Parameters
    ----------
    n : random splits of each set, three quarters to train: the first n of Table 5.
    seed, store, n_jobs, progress : see `splits.regrets`.
    data_home : see `outsample.datasets.load`.
    out : folder to write to, or None.
    names : data sets; None is all eight.
    """
    cases = [(title, data, learner) for title, data in real_sets(names, data_home) for learner in LEARNERS]
    units = finished_units(
        _one,
        [(data, learner, seed, s) for _, data, learner in cases for s in range(n)],
        [
            f"{data.name}/{joblib.hash((data.X, data.y))[:12]}/{learner}/{s}"
            for _, data, learner in cases
            for s in range(n)
        ],
        facts=common_facts(seed, study="criteria", criteria=[repr(criterion) for criterion in OURS.values()]),
        store=store,
        n_jobs=n_jobs,
        progress=progress,
    )
    errors = [np.stack([unit[0] for unit in units[k * n : (k + 1) * n]]) for k in range(len(cases))]
    found = {(title, learner): Regrets(METHODS, of) for (title, _, learner), of in zip(cases, errors, strict=True)}
    rows = [regret_findings(of, learner, title, None, float("nan")) for (title, learner), of in found.items()]
    spent = f"{N_FITS} fits each, auto twice as many for trees, LOO-CV up to {PLENTY}"
    title = f"Table 5 for our criteria, {spent}, over {n} splits"
    findings, claims = findings_of(rows), tuple(claim_lines(CLAIMS, found))
    return save(StudyResult("criteria", title, findings, claims, drawn_findings(findings, "regret")), out)


def _one(data: Dataset, name: str, seed: int, s: int) -> tuple[Array]:
    """(1 + methods,) held-out error of the best model and of the one that each method chose, on one split."""
    rng = child_generator(np.random.SeedSequence(seed), zlib.crc32(data.name.encode()), s)
    train, test = train_and_test(len(data.y), rng)
    X, y, learner = data.X[train], data.y[train], LEARNERS[name]
    curves = learner.models.on(X, y)
    truth = curves.error_on(data.X[test], data.y[test])
    rows = rng.permutation(len(y))
    left_out = [curves.left_out(rows, min(learner.left_out, len(y))), curves.left_out(rows % N_FITS, N_FITS)]
    problem = learner.problem(X, y, int(rng.integers(2**31)))
    # The library's paths come simplest first, the curves in the order of the parameter.
    place = {value: k for k, value in enumerate(learner.values)}
    simplest_first = np.array([place[params[learner.parameter]] for params in problem.path.params])
    chosen = [last_minimum(curve[simplest_first][::-1]) for curve in left_out]
    chosen = [len(place) - 1 - k for k in chosen] + [minimum(criterion.curve(problem)) for criterion in OURS.values()]
    return (np.concatenate([[truth.min()], truth[simplest_first[chosen]]]),)
