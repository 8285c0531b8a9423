"""The swap shown: GridSearchCV and GridSearch on the same rows of three tables, judged on rows that neither saw."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from outsample import GridSearch, evaluate
from outsample.cli.catalogue import embedded_table
from outsample.curve.error_estimate import ErrorEstimate, interval_of

# Tables whose searches need no kernel that is compiled at first use: name → (model, grid, score, words).
JOBS: dict[str, tuple[BaseEstimator, dict[str, Any], str, str]] = {
    "breast-cancer": (GaussianNB(), {"var_smoothing": np.logspace(-12, 0, 40)}, "accuracy", "naive Bayes, 40 settings"),
    "digits": (
        LinearDiscriminantAnalysis(solver="lsqr"),
        {"shrinkage": np.logspace(-4, 0, 25)},
        "accuracy",
        "discriminant analysis, 25 settings",
    ),
    "diabetes": (
        make_pipeline(StandardScaler(), Ridge()),
        {"ridge__alpha": np.logspace(-2, 4, 60)},
        "r2",
        "scaler and ridge, 60 settings",
    ),
}
HELD_OUT = 1 / 3


def demonstration(report: str, seed: int) -> None:
    """Print what both searches cost and what their models score on the rows held out, and write a report."""
    from outsample.view.content import expected_of
    from outsample.view.page import write_report

    start = time.perf_counter()
    _load_everything(seed)
    print("A third of the rows of each table is held out; both searches see the others and the same grid.\n")
    print(f"{'':36}{'GridSearchCV(cv=5)':>26}{'GridSearch, the swap':>26}")
    print(f"{'table, model':36}" + 2 * f"{'held out':>10}{'fits':>7}{'seconds':>9}")
    searches = [_compared(name, seed) for name in JOBS]
    print("\nWhat GridSearch expected on new rows, and what those held out gave, with 95 % intervals:")
    for name, search, seen in searches:
        print(f"  {name:15}{_with_interval(expected_of(search))}; these rows gave {_with_interval(seen)}")
    name, search, _ = searches[-1]
    write_report(search, report, asked={"data": name, "rows held out": "a third", "seed": seed})
    print("\nIn your script: from outsample import GridSearch, in place of GridSearchCV.")
    print(f"Report: {Path(report).resolve().as_uri()}\n{time.perf_counter() - start:.0f} seconds in all.")


def _load_everything(seed: int) -> None:
    """A first search, so that none of those that are timed waits for modules to be loaded."""
    rng = np.random.default_rng(seed)
    GridSearch(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, random_state=seed).fit(
        rng.normal(size=(40, 2)), np.arange(40) % 2
    )


def _compared(name: str, seed: int) -> tuple[str, GridSearch, ErrorEstimate]:
    """Both searches on one table: (its name, ours, what our model scores on the rows held out)."""
    model, grid, scoring, words = JOBS[name]
    frame = embedded_table(name)
    X, y = frame.drop(columns="target").to_numpy(np.float64), frame["target"].to_numpy()
    stratify = None if scoring == "r2" else y
    X, X_new, y, y_new = train_test_split(X, y, test_size=HELD_OUT, stratify=stratify, random_state=seed)
    usual = GridSearchCV(model, grid, scoring=scoring)
    ours = GridSearch(model, grid, scoring=scoring, random_state=seed)
    cells = []
    for search in (usual, ours):
        start = time.perf_counter()
        search.fit(X, y)
        seconds = time.perf_counter() - start
        fits = ours.n_fits_ if search is ours else usual.n_splits_ * len(usual.cv_results_["params"])
        cells.append(f"{search.score(X_new, y_new):>10.3f}{fits + 1:>7}{seconds:>9.2f}")
    print(f"{name}, {words}")
    print(f"{'':36}{''.join(cells)}")
    return name, ours, evaluate(ours.best_estimator_, X_new, y_new, loss=scoring)


def _with_interval(estimate: ErrorEstimate) -> str:
    ends = interval_of(estimate)
    bar = "" if ends is None else f" ({ends[0]:.3f} to {ends[1]:.3f})"
    return f"{estimate.loss} {estimate.out_sample:.3f}{bar}"
