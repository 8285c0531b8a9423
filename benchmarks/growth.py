"""Processor seconds of a search as rows, columns, candidates and workers grow, by what `auto` takes of each learner."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from measuring import median_seconds, side_by_side, table
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch

ROWS = [1000, 10_000, 100_000, 1_000_000]
COLUMNS = [5, 20, 80, 320]
CANDIDATES = [5, 20, 80]
LEAST = {"rows": 2000, "columns": 20, "candidates": 20}

# Learner → (estimator, its grid for m candidates, criterion, most rows that are measured).
LEARNERS = {
    "tree": (
        DecisionTreeClassifier(random_state=0),
        lambda m: {"max_leaf_nodes": range(2, m + 2)},
        "rows-and-labels",
        10**6,
    ),
    "k-NN": (KNeighborsClassifier(), lambda m: {"n_neighbors": range(1, m + 1)}, "loo", 10**5),
    "ridge": (Ridge(), lambda m: {"alpha": np.logspace(-3, 3, m)}, "loo", 10**6),
    "logistic": (LogisticRegression(), lambda m: {"C": np.logspace(-3, 2, m)}, "alo", 10**5),
}


def data(rows, columns, name):
    """X and y with a signal in the first column; numbers for ridge, classes elsewhere."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    signal = X[:, 0] + rng.standard_normal(rows)
    return X, signal if name == "ridge" else (signal > 0).astype(int)


def seconds(name, rows, columns, candidates, repeats):
    """Median processor seconds of one search; "–" where it is not measured."""
    estimator, grid, criterion, most = LEARNERS[name]
    if rows > most:
        return "–"
    X, y = data(rows, columns, name)
    search = GridSearch(estimator, grid(candidates), criterion=criterion, random_state=0)
    once = repeats if rows < 100_000 else 1
    return f"{median_seconds(lambda: search.fit(X, y), once, time.process_time):.2g}"


def growth(what, values, repeats):
    """One table: learners down, values of what grows across."""
    for name, (_, _, criterion, _) in LEARNERS.items():
        seconds(name, 200, 5, 5, 1)  # compiles
        sizes = ({**LEAST, what: value} for value in values)
        yield [f"{name}, `{criterion}`", *(seconds(name, *size.values(), repeats) for size in sizes)]


def workers(repeats):
    """Wall seconds of refits, which is what workers share: a support vector machine over ten folds."""
    X, y = data(4000, 20, "classes")
    grid = {"C": [0.1, 1.0, 10.0]}
    jobs = [lambda n=n: GridSearch(SVC(), grid, criterion="kfold", n_jobs=n, random_state=0).fit(X, y) for n in (1, 2)]
    jobs[1]()  # starts the workers
    one, two = side_by_side(jobs, repeats)
    yield ["SVC, three settings, ten folds", f"{one:.2g}", f"{two:.2g}", f"{one / two:.2f}"]


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The tables."""
    rows = ROWS[: 2 if quick else None]
    for what, values in {"rows": rows, "columns": COLUMNS, "candidates": CANDIDATES}.items():
        yield from table([what, *(f"{value:,}" for value in values)], growth(what, values, repeats))
        yield ""
    yield from table(["workers (wall seconds)", "1", "2", "ratio"], workers(repeats))
