"""Do the intervals hold? Large real tables as populations: samples are drawn, models fitted, the rest is the truth.

    OUTSAMPLE_DATA=… python benchmarks/intervals.py RECORD.jsonl [--draws 10] [--sizes 100 300] [--searched]
        [--losses roc_auc …]

RECORD keeps every finished line, so that an interrupted run goes on; the summary is printed at the end. Tables are
those of `suite/` with at least 4000 rows. For every learner and loss: how often `interval(0.95)` of the default
criterion covers the error of the model fitted to the sample, and its width relative to the narrowest interval of
constant width, estimate ± c, that would cover as often as it should. With --searched the model is that of a search, and
the interval that of `honest_score_`.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample

LEAST_ROWS, MOST_TESTED = 4000, 8000

NEIGHBORS = {
    "classification": {"kneighborsclassifier__n_neighbors": range(1, 31)},
    "regression": {"kneighborsregressor__n_neighbors": range(1, 31)},
}

# Searches whose chosen model is judged; small grids, as people have them.
SEARCHES = {
    "classification": {
        "tree": (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": range(2, 31)}),
        "knn": (
            make_pipeline(StandardScaler(), KNeighborsClassifier()),
            NEIGHBORS["classification"],
        ),
        "logistic": (
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
            {"logisticregression__C": np.logspace(-3, 2, 8)},
        ),
        "svc": (make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 1, 10], "svc__gamma": [0.01, 0.1, 1]}),
    },
    "regression": {
        "tree": (DecisionTreeRegressor(random_state=0), {"max_leaf_nodes": range(2, 31)}),
        "knn": (
            make_pipeline(StandardScaler(), KNeighborsRegressor()),
            NEIGHBORS["regression"],
        ),
        "ridge": (make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": np.logspace(-2, 3, 12)}),
    },
}

LEARNERS = {
    "classification": {
        "tree of 8": DecisionTreeClassifier(max_leaf_nodes=8, random_state=0),
        "full tree": DecisionTreeClassifier(random_state=0),
        "knn": make_pipeline(StandardScaler(), KNeighborsClassifier(7)),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "naive bayes": GaussianNB(),
        "forest": RandomForestClassifier(100, random_state=0),
        "svc": make_pipeline(StandardScaler(), SVC()),
        "boosting": HistGradientBoostingClassifier(max_iter=30, random_state=0),
    },
    "regression": {
        "tree of 8": DecisionTreeRegressor(max_leaf_nodes=8, random_state=0),
        "full tree": DecisionTreeRegressor(random_state=0),
        "knn": make_pipeline(StandardScaler(), KNeighborsRegressor(7)),
        "ridge": make_pipeline(StandardScaler(), Ridge()),
        "forest": RandomForestRegressor(100, random_state=0),
        "svr": make_pipeline(StandardScaler(), SVR()),
        "boosting": HistGradientBoostingRegressor(max_iter=30, random_state=0),
    },
}
SLOW = ("forest", "boosting", "svc", "svr")

# Log loss of votes of seven neighbours, or of pure leaves, is infinite in principle.
UNBOUNDED_LOG = ("full tree", "knn", "naive bayes", "svc", "tree of 8")


def losses_of(kind: str, learner: str, n_classes: int) -> list[str]:
    """The losses that a learner is judged by."""
    if kind == "regression":
        return ["squared", "r2"]
    losses = ["zero-one", *([] if learner in UNBOUNDED_LOG else ["log"])]
    return losses + (["roc_auc", "f1"] if n_classes == 2 else [])


def truth_of(model: object, X: np.ndarray, y: np.ndarray, loss: str) -> tuple[float, float]:
    """(error of a fitted model on the rest of the population, its standard error)."""
    found = outsample.evaluate(model, X, y, loss=loss)
    return found.out_sample, found.standard_error or 0.0


def tables(folder: Path) -> list[tuple[str, str, np.ndarray, np.ndarray]]:
    """(kind, name, X, y) of the large tables."""
    found = []
    for kind in LEARNERS:
        for file in sorted((folder / "suite" / kind).glob("*.csv")):
            frame = pd.read_csv(file)
            if len(frame) >= LEAST_ROWS:
                y = frame.pop("target").to_numpy()
                found.append((kind, file.stem, frame.to_numpy(dtype=float), y))
    return found


def sample_of(y: np.ndarray, n: int, seed: int, classes: bool) -> np.ndarray:
    """Rows of a random sample that holds every class at least five times, or as often as it can."""
    rng = np.random.default_rng(seed)
    for _ in range(50):
        rows = rng.choice(len(y), n, replace=False)
        if not classes or np.bincount(y[rows].astype(int), minlength=int(y.max()) + 1).min() >= 5:
            return rows
    return rows


def lines_of(
    kind: str,
    table: str,
    X: np.ndarray,
    y: np.ndarray,
    learner: str,
    n: int,
    draw: int,
    searched: bool,
    wanted: list[str] | None,
) -> list[dict]:
    """What one learner's estimates on one sample say, and what is true, for every loss, or for those wanted."""
    losses = [loss for loss in losses_of(kind, learner, len(np.unique(y))) if wanted is None or loss in wanted]
    if not losses:
        return []
    rows = sample_of(y, n, zlib.crc32(f"{table}/{n}/{draw}".encode()), kind == "classification")
    rest = np.setdiff1d(np.arange(len(y)), rows)[:: max(1, (len(y) - n) // MOST_TESTED)]
    Xs, ys = X[rows], y[rows]
    if kind == "classification" and len(np.unique(ys)) < len(np.unique(y)):
        rest = rest[np.isin(y[rest], np.unique(ys))]
    found = []
    if not searched:
        model = LEARNERS[kind][learner].fit(Xs, ys)
    for loss in losses:
        if searched:
            estimator, grid = SEARCHES[kind][learner]
            search = outsample.GridSearch(estimator, grid, loss=loss, random_state=draw).fit(Xs, ys)
            model, estimate = search.best_estimator_, search.honest_score_
        else:
            estimate = outsample.estimate(LEARNERS[kind][learner], Xs, ys, loss=loss, random_state=draw)
        truth, error = truth_of(model, X[rest], y[rest], loss)
        try:
            low, high = estimate.interval(0.95)
        except ValueError:
            low = high = float("nan")
        line = {"kind": kind, "table": table, "learner": learner, "n": n, "draw": draw, "loss": loss}
        line |= {"criterion": estimate.criterion, "estimate": estimate.out_sample, "in_sample": estimate.in_sample}
        line |= {"se": estimate.standard_error, "mc": estimate.monte_carlo_error, "low": low, "high": high}
        found.append(line | {"truth": truth, "truth_se": error, "searched": searched})
    return found


def main() -> None:
    """Run what is not in the record yet, and print the summary."""
    parser = argparse.ArgumentParser()
    parser.add_argument("record", type=Path)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--slow-draws", type=int, default=4)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--searched", action="store_true")
    parser.add_argument("--learners", nargs="+", default=None)
    parser.add_argument("--losses", nargs="+", default=None)
    arguments = parser.parse_args()
    folder = Path(os.environ.get("OUTSAMPLE_DATA", "../shared/data"))
    known = (
        [json.loads(line) for line in arguments.record.read_text().splitlines()] if arguments.record.exists() else []
    )
    done = {(r["table"], r["learner"], r["n"], r["draw"], r["searched"]) for r in known}
    warnings.simplefilter("ignore")
    populations = tables(folder)
    with arguments.record.open("a") as record:
        for draw in range(arguments.draws):
            for n in arguments.sizes:
                for kind, table, X, y in populations:
                    for learner in (SEARCHES if arguments.searched else LEARNERS)[kind]:
                        if (table, learner, n, draw, arguments.searched) in done or len(y) < 3 * n:
                            continue
                        if learner in SLOW and draw >= arguments.slow_draws:
                            continue
                        if arguments.learners and learner not in arguments.learners:
                            continue
                        searched, wanted = arguments.searched, arguments.losses
                        for line in lines_of(kind, table, X, y, learner, n, draw, searched, wanted):
                            record.write(json.dumps(line) + "\n")
                        record.flush()
    print(summary(arguments.record))


def summary(record: Path) -> str:
    """Coverage and width by learner, size and loss, averaged over tables."""
    frame = pd.read_json(record, lines=True)
    # The truth is known up to its own standard error, which is not the interval's fault.
    inside = (frame.low - frame.truth_se <= frame.truth) & (frame.truth <= frame.high + frame.truth_se)
    frame = frame.assign(covered=inside, width=frame.high - frame.low, miss=(frame.estimate - frame.truth).abs())
    spread = (np.square(frame.miss) - np.square(frame.truth_se)) / np.square(frame.se)
    frame = frame.assign(spread=spread)
    rows = []
    for (learner, loss, n), group in frame.groupby(["learner", "loss", "n"]):
        by_table = group.groupby("table")
        best = by_table["miss"].quantile(0.95) * 2
        rows.append(
            {
                "learner": learner,
                "loss": loss,
                "n": n,
                "intervals": len(group),
                "covered": by_table["covered"].mean().mean(),
                "least covered table": by_table["covered"].mean().min(),
                "width / best": (by_table["width"].mean() / best).median(),
                "spread": group["spread"].median() / 0.455,
                "refused": group["low"].isna().mean(),
            }
        )
    return pd.DataFrame(rows).round(3).to_string(index=False)


if __name__ == "__main__":
    main()
