"""Nearest neighbours, 50 values of k, 10 permutations: the whole search against its peers."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measuring import milliseconds, side_by_side, table, times
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

import outsample

SHAPES = {569: 30, 4601: 57, 20_000: 20}
KS = list(range(1, 51))
MOST_FOR_GRID_SEARCH = 5_000
R_SCRIPT = """
suppressPackageStartupMessages(library(class))
d <- as.matrix(read.csv("{file}", header = FALSE))
X <- d[, -1]; y <- factor(d[, 1])
cat(system.time(for (k in 1:50) knn.cv(X, y, k = k))[["elapsed"]])
"""


def search(X, y, criterion):
    """A search over all k by a criterion, without a last fit."""
    grid = {"n_neighbors": KS}
    return outsample.GridSearch(KNeighborsClassifier(), grid, criterion=criterion, refit=False, random_state=0).fit(
        X, y
    )


def cross_validated(X, y):
    """scikit-learn's own search."""
    return GridSearchCV(KNeighborsClassifier(), {"n_neighbors": KS}, cv=10, n_jobs=2, refit=False).fit(X, y)


def seconds_in_r(X, y):
    """Time R spends in knn.cv over all k, reading excluded; None without R or its package."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        np.savetxt(file, np.column_stack([y, X]), delimiter=",")
        script = R_SCRIPT.format(file=file.as_posix())
        done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=False)
    return float(done.stdout) if done.returncode == 0 else None


def row(n, repeats):
    """One line of the table."""
    X, y = make_classification(n, SHAPES[n], n_informative=8, flip_y=0.1, random_state=0)
    searcher = KNeighborsClassifier(KS[-1]).fit(X, y)

    def permuted():
        return search(X, y, outsample.Permutation(10))

    permutation, left_out, bare = side_by_side(
        [permuted, lambda: search(X, y, outsample.LeaveOneOut()), lambda: searcher.kneighbors(X)], repeats
    )
    # scikit-learn's neighbour search leaves threads behind that are busy waiting: its grid search is compared apart.
    small = n <= MOST_FOR_GRID_SEARCH
    beside_grid, grid = side_by_side([permuted, lambda: cross_validated(X, y)], repeats) if small else (None, None)
    in_r = seconds_in_r(X, y) if small else None
    return [
        f"{n} × {X.shape[1]}",
        milliseconds(permutation),
        times(grid, beside_grid),
        f"{permutation / bare:.2f}",
        milliseconds(left_out),
        times(in_r, left_out),
    ]


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The table."""
    search(*make_classification(200, 20, random_state=0), outsample.Permutation(10))
    header = ["rows × columns", "permutation", "GridSearchCV(cv=10, n_jobs=2)", "in neighbour searches of scikit-learn"]
    header += ["leave-one-out", "knn.cv in R"]
    yield from table(header, [row(n, repeats) for n in SHAPES if n <= MOST_FOR_GRID_SEARCH or not quick])
