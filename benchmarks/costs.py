"""The cost map: what the swap costs beside GridSearchCV, for fifteen jobs, few settings and many, few rows and many.

    python benchmarks/costs.py --write benchmarks/COSTS.md     # everything, one command; goes on where it was
    python benchmarks/costs.py --jobs tree --rows 200          # some of it

Each cell is the processor time of `GridSearchCV(cv=5)` over that of `GridSearch`, both with their defaults, the same
grid and the refit, on one core in turn; the median of the repeats. Below 1 the swap costs more than it replaces.
Finished cells are kept in a file of records (`--records`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from lightgbm import LGBMClassifier
from measuring import machine, table
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from outsample import GridSearch

ROWS, WARM_UP = (200, 1000, 5000), 200


def powers(low: float, high: float, n: int) -> list[float]:
    """Powers of ten, evenly spaced."""
    return np.logspace(low, high, n).tolist()


def scaled(learner: BaseEstimator, **grid: Any) -> tuple[BaseEstimator, dict[str, Any]]:
    """A learner behind a scaler, and the grid of its parameters."""
    pipeline = make_pipeline(StandardScaler(), learner)
    return pipeline, {f"{pipeline.steps[-1][0]}__{name}": values for name, values in grid.items()}


def jobs() -> dict[str, tuple[BaseEstimator, dict[str, Any], int]]:
    """Estimator, grid and number of classes (0: numbers), by the name of the job."""
    tree, forest = DecisionTreeClassifier(random_state=0), RandomForestClassifier(100, random_state=0)
    boosted = HistGradientBoostingClassifier(random_state=0)
    light = LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)
    network = MLPClassifier(max_iter=200, random_state=0, early_stopping=True)
    stack = StackingClassifier(
        [("tree", DecisionTreeClassifier(max_depth=4)), ("line", LogisticRegression())],
        final_estimator=LogisticRegression(),
    )
    rates = [0.03, 0.1, 0.3]
    return {
        "tree, depth × rows per leaf": (tree, {"max_depth": list(range(1, 13)), "min_samples_leaf": [1, 5, 20]}, 2),
        "tree, 4 settings": (tree, {"max_depth": [3, 6], "min_samples_leaf": [1, 20]}, 2),
        "logistic, C": (*scaled(LogisticRegression(max_iter=2000), C=powers(-3, 3, 10)), 2),
        "logistic, C, five classes": (*scaled(LogisticRegression(max_iter=2000), C=powers(-3, 3, 10)), 5),
        "logistic, C × class weight": (
            *scaled(LogisticRegression(max_iter=2000), C=powers(-2, 2, 5), class_weight=[None, "balanced"]),
            2,
        ),
        "SVC, C × gamma": (*scaled(SVC(), C=powers(-1, 3, 5), gamma=powers(-3, 0, 5)), 2),
        "SVC, 4 settings": (*scaled(SVC(), C=[1, 10], gamma=[0.01, 0.1]), 2),
        "forest, 12 settings": (forest, {"min_samples_leaf": [1, 2, 5, 10], "max_features": ["sqrt", 0.3, 0.7]}, 2),
        "forest, 4 settings": (forest, {"min_samples_leaf": [1, 5], "max_features": ["sqrt", 0.5]}, 2),
        "histogram boosting, 4 settings": (boosted, {"learning_rate": [0.05, 0.1], "max_leaf_nodes": [15, 31]}, 2),
        "histogram boosting, 24 settings": (
            boosted,
            {
                "learning_rate": rates,
                "max_leaf_nodes": [7, 31],
                "l2_regularization": [0, 1],
                "min_samples_leaf": [10, 40],
            },
            2,
        ),
        "LightGBM, 12 settings": (
            light,
            {"learning_rate": rates, "num_leaves": [7, 31], "min_child_samples": [10, 40]},
            2,
        ),
        "network, 6 settings": (
            *scaled(network, hidden_layer_sizes=[(16,), (64,)], alpha=[1e-4, 1e-2, 1.0]),
            2,
        ),
        "neighbours, k × weights": (
            *scaled(KNeighborsClassifier(), n_neighbors=list(range(1, 31)), weights=["uniform", "distance"]),
            2,
        ),
        "Gaussian Bayes": (GaussianNB(), {"var_smoothing": powers(-9, 0, 10)}, 2),
        "stacking, 4 settings": (stack, {"final_estimator__C": [0.1, 1], "tree__max_depth": [3, 6]}, 2),
        "elastic net, alpha × ratio": (
            *scaled(ElasticNet(), alpha=powers(-3, 1, 8), l1_ratio=[0.1, 0.5, 0.9]),
            0,
        ),
        "ridge, alpha": (*scaled(Ridge(), alpha=powers(-3, 3, 24)), 0),
    }


def rows_and_labels(n: int, classes: int) -> tuple[Any, Any]:
    """A made table of twenty columns."""
    if classes == 0:
        return make_regression(n, 20, n_informative=8, noise=40.0, random_state=1)
    return make_classification(n, 20, n_informative=8, n_classes=classes, flip_y=0.1, class_sep=0.8, random_state=1)


def cell(estimator: BaseEstimator, grid: dict[str, Any], n: int, classes: int, repeats: int) -> dict[str, Any]:
    """Processor seconds of both searches and the fits of ours, medians of the repeats."""
    X, y = rows_and_labels(n, classes)
    measured = []
    for repeat in range(repeats):
        start = time.process_time()
        ours = GridSearch(clone(estimator), grid, random_state=repeat).fit(X, y)
        middle = time.process_time()
        GridSearchCV(clone(estimator), grid).fit(X, y)
        measured.append((middle - start, time.process_time() - middle))
    own, theirs = (statistics.median(column) for column in zip(*measured, strict=True))
    ratio = statistics.median(theirs / own for own, theirs in measured)
    return {
        "ratio": ratio,
        "ours": own,
        "theirs": theirs,
        "fits": int(ours.n_fits_),
        "planned": 5 * len(ParameterGrid(grid)),
        "criterion": ours.curve_.criterion,
    }


def run(names: list[str], rows: list[int], repeats: int, kept: Path) -> list[dict[str, Any]]:
    """All cells; those that the file does not have yet are measured and appended to it."""
    records = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = {(record["job"], record["rows"]) for record in records}
    for name in names:
        estimator, grid, classes = jobs()[name]
        GridSearch(clone(estimator), grid, random_state=0).fit(*rows_and_labels(WARM_UP, classes))  # compiles kernels
        for n in rows:
            if (name, n) in done:
                continue
            record = {"job": name, "rows": n, **cell(estimator, grid, n, classes, repeats)}
            records.append(record)
            with kept.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(record, file=sys.stderr, flush=True)
    return records


def report(records: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of COSTS.md."""
    rows = sorted({record["rows"] for record in records})
    known = {(record["job"], record["rows"]): record for record in records}
    yield "# The cost map"
    yield ""
    yield from (line.strip() for line in (__doc__ or "").splitlines()[6:9])
    yield "Made tables of twenty columns; kernels are compiled once and kept, which is not counted. `fits` are ours of"
    yield "those of five folds, at the most rows measured."
    yield ""
    yield f"{machine()}; {datetime.now(UTC):%B %Y}."
    yield ""
    cells = []
    for name in dict.fromkeys(record["job"] for record in records):
        found = [known.get((name, n)) for n in rows]
        last = next(record for record in reversed(found) if record is not None)
        shown = ["–" if record is None else f"{record['ratio']:.2g}" for record in found]
        kind = "classes" if is_classifier(jobs()[name][0]) else "numbers"
        cells.append([name, kind, *shown, f"{last['fits']} of {last['planned']}", last["criterion"]])
    yield from table(["job", "labels", *(f"{n} rows" for n in rows), "fits", "evidence"], cells)


def main() -> None:
    """Measure what is not recorded yet, and print or write the map."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", nargs="*", default=[""], help="jobs whose names contain one of these words")
    parser.add_argument("--rows", nargs="*", type=int, default=list(ROWS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--records", type=Path, default=Path("costs-records.jsonl"), help="where finished cells are kept"
    )
    parser.add_argument("--write", type=Path, help="write the map here")
    options = parser.parse_args()
    names = [name for name in jobs() if any(word in name for word in options.jobs)]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = "\n".join(report(run(names, options.rows, options.repeats, options.records)))
    if options.write:
        options.write.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
