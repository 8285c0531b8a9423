"""Decision trees of 2 … 50 leaves, label permutations: how many times faster than the usual ways.

The job is the whole search: preparing X, the fit to the real labels and to M permutations, the error of all 49 sizes
and the choice, without a last fit. Where the slow side would take minutes it is measured at four sizes on one fold and
interpolated in between; such ratios carry a star.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import numpy as np
from measuring import median_seconds, milliseconds, side_by_side, table, times
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample

SIZES = list(range(2, 51))
FOLDS = 10
PATIENCE = 60.0
"""Seconds a slow side may take before it is interpolated."""

CLASSES, REAL = "three classes", "regression"
CASES = [
    (569, 30, "two classes"),
    (4601, 57, "two classes"),
    (50_000, 20, "two classes"),
    (50_000, 20, CLASSES),
    (50_000, 20, REAL),
    (500_000, 20, "two classes"),
]
OBJECTIVES = {CLASSES: {"objective": "multiclass", "num_class": 3}, REAL: {"objective": "regression"}}


def problem(n, d, kind="two classes", seed=0):
    """(X, y): a smooth signal in three columns under noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    if kind == REAL:
        return X, score
    return X, np.searchsorted([-0.7, 0.7], score) if kind == CLASSES else (score > 0).astype(int)


def learner(kind):
    """The tree of a kind of labels."""
    if kind == REAL:
        return DecisionTreeRegressor(random_state=0)
    return DecisionTreeClassifier(criterion="entropy", random_state=0)


def search(X, y, kind, draws, sizes=SIZES):
    """The whole job."""
    criterion = outsample.Permutation(draws)
    return outsample.GridSearch(
        learner(kind), {"max_leaf_nodes": list(sizes)}, criterion=criterion, refit=False, random_state=0
    ).fit(X, y)


class Slow:
    """What the other ways cost on the same data."""

    def __init__(self, X, y, kind):
        self.X, self.y, self.model = X, y, learner(kind)
        self.largest = median_seconds(lambda: self.fit(SIZES[-1], X, y), 1 if len(X) > 10_000 else 5)
        fold = slice(0, len(X) - len(X) // FOLDS)
        measured = [2, 8, 25, 50]
        seconds = [median_seconds(lambda s=s: self.fit(s, X[fold], y[fold])) for s in measured]
        self.per_fold = float(np.interp(SIZES, measured, seconds).sum())
        self.starred = self.per_fold * FOLDS / 2 > PATIENCE

    def fit(self, size, X, y):
        """One tree."""
        return clone(self.model).set_params(max_leaf_nodes=size).fit(X, y)

    def grid_search(self, repeats):
        """Seconds of GridSearchCV(cv=10, n_jobs=2, refit=False)."""
        if self.starred:
            return self.per_fold * FOLDS / 2
        rival = GridSearchCV(self.model, {"max_leaf_nodes": SIZES}, cv=FOLDS, n_jobs=2, refit=False)
        return median_seconds(lambda: rival.fit(self.X, self.y), repeats if len(self.X) < 1000 else 1)

    def naive(self, draws):
        """Every size refitted to every label vector, one thread."""
        return self.per_fold * FOLDS / (FOLDS - 1) * (draws + 1)


def lightgbm_seconds(X, y, kind, draws):
    """One tree of 50 leaves per label vector, the binned data set made once; None without LightGBM."""
    try:
        import lightgbm
    except ImportError:
        return None
    options = {"num_leaves": 50, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0.0, "verbose": -1, "num_threads": 2}
    options |= OBJECTIVES.get(kind, {"objective": "binary"})

    def job():
        rng = np.random.default_rng(1)
        data = lightgbm.Dataset(X, label=y, params=options).construct()
        for draw in range(draws + 1):
            data.set_label(y if draw == 0 else rng.permutation(y))
            lightgbm.train(options, data, num_boost_round=1)

    return median_seconds(job, 3 if len(X) < 10_000 else 1)


def rpart_seconds(X, y, kind):
    """rpart's own ten-fold cross-validation of its pruning sequence; None without R."""
    if shutil.which("Rscript") is None or len(X) > 5000:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        header = ",".join(f"x{j}" for j in range(X.shape[1])) + ",y"
        np.savetxt(file.name, np.column_stack([X, y]), delimiter=",", header=header, comments="")
        method = "anova" if kind == REAL else "class"
        script = (
            f'd <- read.csv("{file.name}"); library(rpart); '
            f'cat(system.time(rpart(y ~ ., d, method = "{method}", parms = list(split = "information"), '
            "control = rpart.control(cp = 0, minsplit = 2, minbucket = 1, xval = 10)))[3])"
        )
        done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else None


def row(n, d, kind, repeats):
    """One line of the table."""
    X, y = problem(n, d, kind)
    ten, hundred = side_by_side([lambda m=m: search(X, y, kind, m) for m in (10, 100)], repeats)
    slow = Slow(X, y, kind)
    return [
        f"{n} × {d}, {kind}",
        milliseconds(ten),
        f"{hundred / ten:.1f}",
        times(slow.grid_search(repeats), ten, slow.starred),
        times(slow.naive(10), ten, True),
        times(slow.largest, ten),
        times(lightgbm_seconds(X, y, kind, 100), hundred),
        times(rpart_seconds(X, y, kind), ten),
    ]


def growth(repeats) -> list[str]:
    """Exponents: how the time of the job grows when one number is doubled."""
    base = {"n": 20_000, "d": 10, "draws": 10, "leaves": 24}

    def cost(n, d, draws, leaves):
        X, y = problem(n, d)
        return median_seconds(lambda: search(X, y, "two classes", draws, range(2, leaves + 1)), repeats)

    start = cost(**base)
    cells = [f"{np.log2(cost(**{**base, name: 2 * base[name]}) / start):.2f}" for name in base]
    about = "Growth of the whole job, exponent of each number (20 000 × 10, 10 permutations, 24 leaves):"
    return [about, "", *table(["rows", "columns", "permutations", "leaves"], [cells])]


def peak_memory(n, d) -> str:
    """Largest resident memory of a process that makes X and y and does the job, and X's share of it."""
    X, y = problem(n, d)
    search(X, y, "two classes", 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{peak:.0f} MB for the whole process, of which X is {X.nbytes / 2**20:.0f} MB"


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The tables."""
    for kind in ("two classes", CLASSES, REAL):
        search(*problem(500, 5, kind), kind, 2)
    header = ["data", "M = 10", "M = 100, in times M = 10", "GridSearchCV(cv=10, n_jobs=2)", "naive refits"]
    header += ["one fit of 50 leaves", "LightGBM, M = 100", "rpart, xval = 10"]
    yield from table(header, [row(*case, repeats) for case in CASES if case[0] < 10_000 or not quick])
    yield from growth(repeats)
    n = 50_000 if quick else 500_000
    command = [sys.executable, __file__, str(n), "20"]
    peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    yield f"Peak memory of 10 permutations × 49 sizes × {n} rows × 20 columns: {peak}."
    yield ""


if __name__ == "__main__":
    print(peak_memory(*map(int, sys.argv[1:])))
