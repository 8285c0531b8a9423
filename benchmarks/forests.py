"""Forests of 100 trees, 12 settings of `max_features` × `min_samples_leaf`, the chosen one refitted, by the race over
their number of trees and by out-of-bag errors of all of them, against GridSearchCV(cv=5) with the same forests.

Processor time on one core, and wall time with two workers on each side, plain and with the forests of
scikit-learn-intelex where it is installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from measuring import milliseconds, side_by_side, table, times
from sklearn.datasets import make_classification, make_friedman1

GRID = {"max_features": [2, 5, 10, 20], "min_samples_leaf": [1, 3, 10]}
SHAPES = {"quick": (500, 20), "full": (2000, 30)}


def jobs(kind: str, shape: tuple[int, int], n_jobs: int | None):
    """(the race, all forests out of bag, GridSearchCV); imported late, because scikit-learn may have been patched."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.model_selection import GridSearchCV

    from outsample import GridSearch

    if kind == "classes":
        X, y = make_classification(*shape, n_informative=8, flip_y=0.1, random_state=0)
        forest = RandomForestClassifier(100, random_state=0)
    else:
        X, y = make_friedman1(*shape, noise=2.0, random_state=0)
        forest = RandomForestRegressor(100, random_state=0)
    return [
        lambda: GridSearch(forest, GRID, criterion="race", n_jobs=n_jobs, random_state=0).fit(X, y),
        lambda: GridSearch(forest, GRID, criterion="oob", n_jobs=n_jobs, random_state=0).fit(X, y),
        lambda: GridSearchCV(forest, GRID, cv=5, n_jobs=n_jobs).fit(X, y),
    ]


def row(kind: str, shape: tuple[int, int], n_jobs: int | None, repeats: int, patched: bool = False) -> list[str]:
    """One line of the table."""
    clock = time.process_time if n_jobs is None else time.perf_counter
    if patched:
        race, oob, theirs = _in_a_patched_process(kind, shape, n_jobs, repeats)
    else:
        race, oob, theirs = side_by_side(jobs(kind, shape, n_jobs), repeats, clock)
    how = "processor" if n_jobs is None else f"wall, {n_jobs} workers"
    return [
        f"{shape[0]} × {shape[1]}",
        f"{kind}{', patched' if patched else ''}",
        how,
        milliseconds(theirs),
        milliseconds(oob),
        times(theirs, oob),
        milliseconds(race),
        times(theirs, race),
    ]


def _in_a_patched_process(kind: str, shape: tuple[int, int], n_jobs: int | None, repeats: int) -> list[float]:
    """Seconds of all sides where scikit-learn is patched: that cannot be undone for estimators already imported."""
    code = (
        "import json, sys; from sklearnex import patch_sklearn; patch_sklearn(verbose=False)\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from forests import jobs; from measuring import side_by_side\n"
        f"print(json.dumps(side_by_side(jobs({kind!r}, {shape!r}, {n_jobs!r}), {repeats})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The table."""
    shape = SHAPES["quick" if quick else "full"]
    rows = [row(kind, shape, None, repeats) for kind in ("classes", "regression")]
    rows.append(row("classes", shape, 2, repeats))
    if find_spec("sklearnex") is not None:
        rows.append(row("classes", shape, 2, repeats, patched=True))
    yield from table(["rows × columns", "labels", "time", "GridSearchCV(cv=5)", "out of bag", "", "race", ""], rows)
