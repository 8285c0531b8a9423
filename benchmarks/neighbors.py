"""Nearest neighbours, 50 values of k: the whole search by permutation against its peers.

Prints Markdown tables of wall-clock medians and ratios, every contender measured side by side in each repeat:
scikit-learn's GridSearchCV (cv=10, n_jobs=2, refit=False), one bare neighbour search, and for leave-one-out R's
`class::knn.cv`, one call per k, where Rscript is installed.

Usage: python benchmarks/neighbors.py [--repeats 5] [--rows 569 4601 20000] [--grid-search-up-to 4601]
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

import outsample
from outsample.paths import find_path

COLUMNS = {569: 30, 4601: 57, 20_000: 20}
KS = list(range(1, 51))
R_SCRIPT = """
suppressPackageStartupMessages(library(class))
d <- as.matrix(read.csv("{file}", header = FALSE))
X <- d[, -1]; y <- factor(d[, 1])
cat(system.time(for (k in 1:50) knn.cv(X, y, k = k))[["elapsed"]])
"""


def table(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A classification problem with n rows."""
    return make_classification(n, COLUMNS.get(n, 20), n_informative=8, flip_y=0.1, random_state=0)


def by_permutation(X: np.ndarray, y: np.ndarray) -> object:
    """Ten permutations, all k, the labels themselves and the choice."""
    search = outsample.GridSearch(
        KNeighborsClassifier(),
        {"n_neighbors": KS},
        criterion=outsample.Permutation(10),
        refit=False,
        random_state=0,
    )
    return search.fit(X, y)


def by_cross_validation(X: np.ndarray, y: np.ndarray) -> object:
    """scikit-learn's own search."""
    return GridSearchCV(KNeighborsClassifier(), {"n_neighbors": KS}, cv=10, n_jobs=2, refit=False).fit(X, y)


def one_search(X: np.ndarray, y: np.ndarray) -> object:
    """The neighbours alone."""
    return KNeighborsClassifier(KS[-1]).fit(X, y).kneighbors(X)


def by_leave_one_out(X: np.ndarray, y: np.ndarray) -> object:
    """Leave-one-out predictions of every k."""
    design = find_path(KNeighborsClassifier(), "n_neighbors", KS).bind(X, np.unique(y))
    return design.left_out_predictions(y, np.arange(len(y)))


def seconds(work: Callable[[np.ndarray, np.ndarray], object], X: np.ndarray, y: np.ndarray) -> float:
    """Wall time of one call."""
    start = perf_counter()
    work(X, y)
    return perf_counter() - start


def seconds_in_r(X: np.ndarray, y: np.ndarray) -> float:
    """Time R spends in knn.cv over all k, reading excluded; not a number without R or its package."""
    if shutil.which("Rscript") is None:
        return np.nan
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        np.savetxt(file, np.column_stack([y, X]), delimiter=",")
        script = R_SCRIPT.format(file=file.as_posix())
        done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=False)
    return float(done.stdout) if done.returncode == 0 else np.nan


def main(repeats: int, sizes: list[int], most: int) -> None:
    """Measure and print."""
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}\n")
    print("| rows × columns | permutation, s | GridSearchCV | one search | leave-one-out, s | knn.cv in R |")
    print("|---|---|---|---|---|---|")
    by_permutation(*table(200))
    for n in sizes:
        X, y = table(n)
        rounds = []
        for _ in range(repeats):
            measured = [seconds(by_permutation, X, y), seconds(one_search, X, y), seconds(by_leave_one_out, X, y)]
            measured.append(seconds(by_cross_validation, X, y) if n <= most else np.nan)
            measured.append(seconds_in_r(X, y) if n <= most else np.nan)
            rounds.append(measured)
        ours, bare, left_out, grid, in_r = (median(column) for column in zip(*rounds, strict=True))
        print(
            f"| {n} × {X.shape[1]} | {ours:.4f} | {grid / ours:.0f} × slower | permutation costs "
            f"{ours / bare:.2f} searches | {left_out:.4f} | {in_r / left_out:.0f} × slower |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, nargs="+", default=list(COLUMNS))
    parser.add_argument("--grid-search-up-to", type=int, default=4601)
    options = parser.parse_args()
    main(options.repeats, options.rows, options.grid_search_up_to)
