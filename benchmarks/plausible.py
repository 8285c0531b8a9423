"""How often does the set of plausible models contain the best one, and how large is it? Against other argmin sets.

Tables of losses whose best model is known: all models tied, near-ties (risks that grow by half a standard error), and a
clear winner; losses of a row are correlated between models, as those of one learner's settings are. Share of the
tables whose set contains the best model, and mean share of the models that are in the set; of

- `plausible_models` with rows taken as independent (widening 1), and as searches use it (√2);
- the exponentially weighted test of Zhang, Lee & Lei (2024), λ = n^0.45/σ;
- the sample-splitting test of Kim & Ramdas (2025).

`--races` has the same tables behind a learner that repeats them: `plausible_` of races by ten folds, in which
candidates are dropped early and are compared on the rows that they have met.

`--searches` has real learners instead: `plausible_` of searches by ten folds, whose rows share training data. The best
candidate is that of least expected error over data sets of the size.

    python benchmarks/plausible.py RESULTS [--tables 500] [--races] [--searches]

Finished lines are kept in RESULTS, one JSON line each, and not computed again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from measuring import table
from paired import remembered
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import GridSearch
from outsample.curve.plausible import plausible_models

SIZES, MODELS = (100, 1000), (5, 20)
KINDS, SHAPES = ("zero-one", "squared"), ("ties", "near-ties", "clear winner")
LEAVES = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48]
SEARCHES = {
    "tree": (DecisionTreeClassifier(random_state=0), "max_leaf_nodes", LEAVES, True),
    "neighbours": (KNeighborsClassifier(), "n_neighbors", [1, 3, 5, 9, 15, 21, 31, 45, 61], True),
    "ridge": (Ridge(), "alpha", [0.01, 0.1, 1, 10, 30, 100, 300, 1000], False),
    "regression tree": (DecisionTreeRegressor(random_state=0), "max_leaf_nodes", LEAVES, False),
    "neighbours, regression": (KNeighborsRegressor(), "n_neighbors", [1, 2, 3, 5, 7, 9, 13, 17, 25, 45], False),
}


def losses_of(kind: str, shape: str, models: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """A table of losses, (models, n); the first model is the best, alone or among others."""
    latent = np.sqrt(0.9) * rng.standard_normal(n) + np.sqrt(0.1) * rng.standard_normal((models, n))
    gaps = {
        "ties": np.zeros(models),
        "near-ties": 0.5 * np.sqrt(0.2 / n) * np.arange(models),
        "clear winner": np.r_[0.0, np.full(models - 1, 12 * np.sqrt(0.2 / n))],
    }[shape]
    if kind == "zero-one":
        return (latent + gaps[:, None] > stats.norm.ppf(0.8)).astype(float)
    return np.square(latent * np.exp(gaps)[:, None])


def by_weights(losses: np.ndarray) -> np.ndarray:
    """The set of Zhang, Lee & Lei: a model against an exponentially weighted mean of the others."""
    n, mean = losses.shape[1], losses.mean(axis=1)
    leader = int(np.argmin(mean))
    spread = np.median(np.delete((losses - losses[leader]).std(axis=1), leader)) or 1.0
    without = (mean[:, None] * n - losses) / (n - 1)
    weight, found = np.exp(-(n**0.45) / spread * (without - without.min(axis=0))), []
    for r in range(len(losses)):
        others = np.delete(weight, r, axis=0)
        apart = losses[r] - (others * np.delete(losses, r, axis=0)).sum(axis=0) / others.sum(axis=0)
        found.append(apart.mean() * np.sqrt(n) <= stats.norm.ppf(0.95) * apart.std(ddof=1))
    return np.array(found)


def by_halves(losses: np.ndarray) -> np.ndarray:
    """The set of Kim & Ramdas: one half of the rows names the rival of a model, the other half judges the two."""
    order, found = np.random.default_rng(0).permutation(losses.shape[1]), []
    judging, naming = np.array_split(order, 2)
    for r in range(len(losses)):
        mean = losses[:, naming].mean(axis=1)
        mean[r] = np.inf
        apart = losses[r, judging] - losses[int(np.argmin(mean)), judging]
        found.append(apart.mean() * np.sqrt(len(judging)) <= stats.norm.ppf(0.95) * apart.std(ddof=1))
    return np.array(found)


METHODS = {
    "widening 1": lambda losses: plausible_models(losses, widening=1.0),
    "as in searches": plausible_models,
    "weights": by_weights,
    "halves": by_halves,
}


def contained(kind: str, shape: str, models: int, n: int, tables: int) -> list[float]:
    """Of each method: share of the tables whose set contains the best model, mean share of models in it."""
    found = {name: [] for name in METHODS}
    for number in range(tables):
        losses = losses_of(kind, shape, models, n, np.random.default_rng([models, n, number]))
        for name, method in METHODS.items():
            found[name].append(method(losses))
    return [share for sets in found.values() for share in (np.mean([s[0] for s in sets]), float(np.mean(sets)))]


class Replay(BaseEstimator):
    """A learner that repeats losses; X has the numbers of the rows, and labels alternate between 0 and 1."""

    losses: np.ndarray

    def __init__(self, model: int = 0) -> None:
        self.model = model

    def fit(self, X: np.ndarray, y: np.ndarray) -> Replay:
        """Learn nothing."""
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels that lose what is repeated."""
        rows = X[:, 0].astype(int)
        losses = self.losses[self.model, rows]
        return (rows % 2 + losses.astype(int)) % 2 if isinstance(self, ClassifierMixin) else rows % 2 + np.sqrt(losses)


def contained_in_race(kind: str, shape: str, models: int, n: int, tables: int) -> list[float]:
    """Share of races whose set contains the best model, mean share of models in it, fits per candidate."""
    mixin = ClassifierMixin if kind == "zero-one" else RegressorMixin
    found, fits, rows = [], [], np.arange(n)
    for number in range(tables):
        losses = losses_of(kind, shape, models, n, np.random.default_rng([models, n, number]))
        # The best model is not the first in the grid, to which ties go.
        learner = type("Replay", (mixin, Replay), {"losses": losses[::-1]})
        search = GridSearch(
            learner(), {"model": list(range(models))}, criterion="race", loss=kind, refit=False, random_state=number
        )
        search.fit(rows[:, None].astype(float), rows % 2)
        found.append(np.isin(np.arange(models), search.plausible_)[::-1])
        fits.append(search.n_fits_ / models)
    return [float(np.mean([s[0] for s in found])), float(np.mean(found)), float(np.mean(fits))]


def contained_by_search(name: str, n: int, tables: int) -> list[float]:
    """Share of searches whose set contains the best candidate; the same of the best fitted model; mean share in it."""
    learner, parameter, values, classes = SEARCHES[name]
    values = [value for value in values if parameter != "n_neighbors" or value < 0.8 * n]
    rng, sets, true = np.random.default_rng(5), [], []
    X_new, y_new = _data(4000, classes, rng)
    for number in range(tables):
        X, y = _data(n, classes, rng)
        grid, loss = {parameter: values}, "zero-one" if classes else "squared"
        search = GridSearch(learner, grid, criterion="kfold", loss=loss, refit=False, random_state=number).fit(X, y)
        sets.append(np.isin(np.arange(len(values)), search.plausible_))
        said = [learner.set_params(**{parameter: value}).fit(X, y).predict(X_new) for value in values]
        true.append([np.mean(s != y_new) if classes else np.mean((s - y_new) ** 2) for s in said])
    best, fitted = int(np.argmin(np.mean(true, axis=0))), np.argmin(true, axis=1)
    found = np.array(sets)
    return [float(x) for x in (found[:, best].mean(), found[np.arange(tables), fitted].mean(), found.mean())]


def _data(n: int, classes: bool, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + rng.standard_normal(n)
    return X, (y > 0).astype(int) if classes else y


def main() -> None:
    """Compute what is not there yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--searches", action="store_true")
    parser.add_argument("--races", action="store_true")
    options = parser.parse_args()
    times, rows = options.tables, []
    if options.searches:
        for n in (100, 300, 1000):
            for name in SEARCHES:
                key = f"search {name} {n} {times}"
                found = remembered(options.results, key, lambda a=name, n=n: contained_by_search(a, n, times))
                rows.append([name, str(n), *(f"{share:.3f}" for share in found[:2]), f"{found[2]:.0%}"])
        print("\n".join(table(["search", "n", "has the best", "has the best fitted", "candidates in it"], rows)))
        return
    cases = [(k, s, m, n) for k in KINDS for s in SHAPES for m in MODELS for n in SIZES]
    if options.races:
        for case in cases:
            key = f"race {case} {times}"
            found = remembered(options.results, key, lambda c=case: contained_in_race(*c, times))
            words = [f"{found[0]:.3f}", f"{found[1]:.0%}", f"{found[2]:.1f}"]
            rows.append([case[0], case[1], str(case[2]), str(case[3]), *words])
        print("\n".join(table(["loss", "models are", "models", "n", "has the best", "in it", "fits"], rows)))
        return
    for case in cases:
        found = remembered(options.results, f"{case} {times}", lambda c=case: contained(*c, times))
        pairs = [f"{found[i]:.3f}, {found[i + 1]:.0%}" for i in range(0, len(found), 2)]
        rows.append([case[0], case[1], str(case[2]), str(case[3]), *pairs])
    print("\n".join(table(["loss", "models are", "models", "n", *METHODS], rows)))


if __name__ == "__main__":
    main()
