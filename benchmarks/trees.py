"""Decision trees of 2 … 50 leaves, label permutations: how many times faster than the usual ways.

    python benchmarks/trees.py [--quick]

Prints Markdown. Every ratio compares times of one run, medians of several. The job is the whole job: preparing X,
the fit to the real labels and to M permutations, the error of all 49 sizes. Where the slow side would take minutes
it is measured at four sizes on one fold and interpolated in between; such ratios carry a star.

On a machine that is busy with other work, `--cpu` compares processor time instead, with one thread for LightGBM.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample.paths import find_path

SIZES = list(range(2, 51))
FOLDS = 10
PATIENCE = 25.0
"""Seconds a slow side may take before it is interpolated."""


def problem(n, d, kind="binary", seed=0):
    """(X, y): a smooth signal in three columns under noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    if kind == "real":
        return X, score
    return X, (score > 0).astype(int) if kind == "binary" else np.searchsorted([-0.7, 0.7], score)


def learner(kind):
    return DecisionTreeRegressor() if kind == "real" else DecisionTreeClassifier(criterion="entropy")


def our_job(X, y, kind, draws, sizes=SIZES):
    """In-sample statistics of every size, for the real labels and `draws` permutations."""
    rng = np.random.default_rng(1)
    Y = np.stack([y] + [rng.permutation(y) for _ in range(draws)])
    classes = None if kind == "real" else np.unique(y)
    design = find_path(learner(kind), "max_leaf_nodes", sizes).bind(X, classes)
    return design.moments(Y, float(np.mean(y))) if kind == "real" else design.confusions(Y)


CLOCK = time.perf_counter


def seconds(job, repeats=1):
    """Median time of a job."""
    times = []
    for _ in range(repeats):
        start = CLOCK()
        job()
        times.append(CLOCK() - start)
    return statistics.median(times)


def both_cores():
    """Processor time of one thread is worth half of it on two cores; wall time is what it is."""
    return 0.5 if CLOCK is time.process_time else 1.0


class Slow:
    """What the other ways cost on the same data."""

    def __init__(self, X, y, kind, quick):
        self.X, self.y, self.model, self.starred = X, y, learner(kind), False
        self.largest = seconds(lambda: self.fit(50, X, y), 1 if len(X) > 10_000 else 3)
        fold = slice(0, len(X) - len(X) // FOLDS)
        measured = [2, 8, 25, 50]
        times = [seconds(lambda s=s: self.fit(s, X[fold], y[fold])) for s in measured]
        self.per_fold = float(np.interp(SIZES, measured, times).sum())
        self.quick = quick

    def fit(self, size, X, y):
        return type(self.model)(**self.model.get_params()).set_params(max_leaf_nodes=size, random_state=0).fit(X, y)

    def grid_search(self):
        """Seconds of GridSearchCV(cv=10, n_jobs=2, refit=False)."""
        guess = self.per_fold * FOLDS / 2
        self.starred = guess > PATIENCE or self.quick or CLOCK is time.process_time
        if self.starred:
            return guess
        search = GridSearchCV(self.model, {"max_leaf_nodes": SIZES}, cv=FOLDS, n_jobs=2, refit=False)
        return seconds(lambda: search.fit(self.X, self.y))

    def naive(self, draws):
        """Every size refitted to every label vector, one thread."""
        return self.per_fold * FOLDS / (FOLDS - 1) * (draws + 1)

    def one_fit_per_draw(self, draws):
        """One largest tree per label vector, one thread."""
        return self.largest * (draws + 1)


def lightgbm_job(X, y, kind, draws):
    """One tree of 50 leaves per label vector, the binned data set made once; None without LightGBM."""
    try:
        import lightgbm
    except ImportError:
        return None
    objective = {"binary": "binary", "classes": "multiclass", "real": "regression"}[kind]
    options = {"objective": objective, "num_leaves": 50, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0.0}
    options |= {"verbose": -1, "num_threads": 1 if CLOCK is time.process_time else 2} | (
        {"num_class": 3} if kind == "classes" else {}
    )

    def job():
        rng = np.random.default_rng(1)
        data = lightgbm.Dataset(X, label=y, params=options).construct()
        for draw in range(draws + 1):
            data.set_label(y if draw == 0 else rng.permutation(y))
            lightgbm.train(options, data, num_boost_round=1)

    return job


def rpart_seconds(X, y, kind):
    """rpart's own ten-fold cross-validation of its pruning sequence; None without R."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        header = ",".join(f"x{j}" for j in range(X.shape[1])) + ",y"
        np.savetxt(table.name, np.column_stack([X, y]), delimiter=",", header=header, comments="")
        method = "anova" if kind == "real" else "class"
        script = (
            f'd <- read.csv("{table.name}"); library(rpart); '
            f'cat(system.time(rpart(y ~ ., d, method = "{method}", parms = list(split = "information"), '
            "control = rpart.control(cp = 0, minsplit = 2, minbucket = 1, xval = 10)))[3])"
        )
        done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else None


def ratio(slow, fast, starred=False):
    return "–" if slow is None else f"{slow / fast:.3g}{'*' if starred else ''}"


def row(n, d, kind, repeats, quick):
    """One line of the table."""
    X, y = problem(n, d, kind)
    ten, hundred = (both_cores() * seconds(lambda m=m: our_job(X, y, kind, m), repeats) for m in (10, 100))
    slow = Slow(X, y, kind, quick)
    grid = slow.grid_search()
    boosted = lightgbm_job(X, y, kind, 100)
    boosted = None if boosted is None else both_cores() * seconds(boosted)
    rpart = rpart_seconds(X, y, kind) if n <= 5000 else None
    cells = [
        f"{n} × {d} {kind}",
        f"{1e3 * ten:.1f} ms",
        f"{hundred / ten:.2f}",
        ratio(grid, ten, slow.starred),
        ratio(slow.naive(10), ten, True),
        ratio(slow.one_fit_per_draw(10), ten),
        ratio(slow.largest, ten),
        ratio(boosted, hundred),
        ratio(rpart, ten),
    ]
    print("| " + " | ".join(cells) + " |", flush=True)


def growth(repeats):
    """Exponents: how the time of the job grows when one number is doubled."""
    base = {"n": 20_000, "d": 10, "draws": 10, "leaves": 24}

    def cost(n, d, draws, leaves):
        X, y = problem(n, d)
        return seconds(lambda: our_job(X, y, "binary", draws, range(2, leaves + 1)), repeats)

    start = cost(**base)
    cells = [f"{np.log2(cost(**{**base, name: 2 * base[name]}) / start):.2f}" for name in base]
    print("\nGrowth of the whole job, exponent of each number (20 000 × 10, 10 permutations, 24 leaves):\n")
    print("| rows | columns | permutations | leaves |\n|---|---|---|---|\n| " + " | ".join(cells) + " |")


def peak_memory(n, d):
    """Megabytes of arrays the job makes beyond X and y, labels drawn included."""
    X, y = problem(n, d)
    our_job(X[:500], y[:500], "binary", 1)
    tracemalloc.start()
    our_job(X, y, "binary", 10)
    return tracemalloc.get_traced_memory()[1] / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, no 500 000 rows")
    parser.add_argument("--cpu", action="store_true", help="processor time, for busy machines")
    parser.add_argument("--memory", nargs=2, type=int, metavar=("ROWS", "COLUMNS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cpu:
        global CLOCK
        CLOCK = time.process_time
    if options.memory:
        print(f"{peak_memory(*options.memory):.0f}")
        return
    repeats = 3 if options.quick else 5
    our_job(*problem(500, 5), "binary", 1)
    our_job(*problem(500, 5, "real"), "real", 1)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print(
        "| data | ours, M = 10 | M = 100 / M = 10 | GridSearchCV | naive refits | one fit per draw "
        "| one fit of 50 leaves | LightGBM, M = 100 | rpart, xval = 10 |\n" + "|---" * 9 + "|"
    )
    shapes = [(569, 30), (4601, 57), (50_000, 20)] + ([] if options.quick else [(500_000, 20)])
    for shape in shapes:
        row(*shape, "binary", repeats, options.quick)
    for kind in ("classes", "real"):
        row(50_000, 20, kind, repeats, options.quick)
    growth(repeats)
    rows = "50000" if options.quick else "500000"
    command = [sys.executable, __file__, "--memory", rows, "20"]
    peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    print(f"\nPeak memory beyond X and y, 10 permutations × 49 sizes × {rows} rows × 20 columns: {peak} MB")


if __name__ == "__main__":
    main()
