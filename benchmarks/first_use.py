"""What the first search on a machine waits for while kernels are compiled, and the first one in a later process.

Each search runs in a process of its own, after all imports, on 500 × 10: once with nothing compiled, then with the
kernels kept on disk. Other families share these kernels or need none.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np
from measuring import milliseconds, table
from sklearn.linear_model import Lasso
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample

LEAVES = {"max_leaf_nodes": list(range(2, 51))}
CASES = {
    "trees, two classes": (DecisionTreeClassifier(random_state=0), LEAVES, 2),
    "trees, three classes": (DecisionTreeClassifier(random_state=0), LEAVES, 3),
    "trees, six classes": (DecisionTreeClassifier(random_state=0), LEAVES, 6),
    "trees, regression": (DecisionTreeRegressor(random_state=0), LEAVES, 0),
    "nearest neighbours": (KNeighborsClassifier(), {"n_neighbors": list(range(1, 51))}, 2),
    "lasso": (Lasso(), {"alpha": np.logspace(-3, 0, 20)}, 0),
}


def seconds_of(name):
    """One search by ten permutations."""
    learner, grid, n_classes = CASES[name]
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(500, 10)), rng.normal(size=500)
    y = rng.integers(0, n_classes, 500) if n_classes else X[:, 0] + noise
    start = time.perf_counter()
    outsample.GridSearch(learner, grid, criterion="permutation", refit=False, random_state=0).fit(X, y)
    return time.perf_counter() - start


def first_and_later(name):
    """Seconds of the first search ever and of the first one in a later process."""
    with tempfile.TemporaryDirectory() as folder:
        command, kept = [sys.executable, __file__, name], {**os.environ, "NUMBA_CACHE_DIR": folder}
        runs = [subprocess.run(command, env=kept, capture_output=True, text=True, check=True) for _ in range(2)]
    return [float(run.stdout) for run in runs]


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The table."""
    rows = []
    for name in list(CASES)[:: 4 if quick else 1]:
        first, later = zip(*(first_and_later(name) for _ in range(min(repeats, 3))), strict=True)
        rows.append([name, *(milliseconds(statistics.median(seconds)) for seconds in (first, later))])
    yield from table(["family", "first ever", "first in a later process"], rows)


if __name__ == "__main__":
    print(seconds_of(sys.argv[1]))
