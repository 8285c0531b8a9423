"""Approximate leave-one-out against n exact refits, the one fit it starts from, and scikit-learn's own searches.

Processor time on one thread for single models; the risk is log loss or squared loss. Searches without refitting the
choice: wall time for logistic regression, processor time for the lasso, both sides on all processors.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from measuring import median_seconds, milliseconds, side_by_side, table, times
from sklearn.base import clone
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression, LogisticRegressionCV, PoissonRegressor
from threadpoolctl import threadpool_limits

from outsample import ApproximateLeaveOneOut, GridSearch
from outsample.data.learners import fit, respond
from outsample.problem import pose

CASES = [
    ("logistic, l2", LogisticRegression(C=1.0, max_iter=1000), "two", "log", 500, 20),
    ("logistic, l2", LogisticRegression(C=0.1, max_iter=1000), "two", "log", 1000, 200),
    ("multinomial", LogisticRegression(C=0.3, max_iter=1000), "three", "log", 500, 20),
    ("lasso", Lasso(0.02, tol=1e-6), "real", "squared", 500, 100),
    ("poisson", PoissonRegressor(alpha=0.1, max_iter=1000), "count", "squared", 500, 20),
]


def data(n, p, kind, seed=0):
    """(X, y) with labels of a kind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    signal = X @ rng.normal(size=p) / np.sqrt(p)
    if kind == "real":
        return X, signal + rng.normal(size=n)
    if kind == "count":
        return X, rng.poisson(np.exp(0.5 * signal)).astype(float)
    scores = np.column_stack([signal, X[:, 0], np.zeros(n)])[:, : 3 if kind == "three" else 2]
    return X, np.argmax(scores * 2 + rng.gumbel(size=scores.shape), axis=1)


def refitted(problem, learner, X, y):
    """The risk by n refits."""
    rows = np.arange(len(y))
    answers = [
        respond(fit(clone(learner), X[rows != i], y[rows != i]), X[[i]], problem.response, problem.target.classes)[0]
        for i in rows
    ]
    return float(problem.loss.risk(problem.y, np.stack(answers)[None])[0])


def row(name, learner, kind, loss, n, p, repeats):
    """One line of the table."""
    X, y = data(n, p, kind)
    problem = pose(learner, X, y, loss=loss, random_state=0)
    jobs = [lambda: fit(clone(learner), X, y), lambda: ApproximateLeaveOneOut().curve(problem)]
    one, approximate = side_by_side(jobs, repeats, time.process_time)
    exact = []
    refits = median_seconds(lambda: exact.append(refitted(problem, learner, X, y)), 1, time.process_time)
    difference = ApproximateLeaveOneOut().curve(problem).out_sample[0] / exact[0] - 1
    cells = [name, f"{n} × {p}", milliseconds(approximate), f"{approximate / one:.1f}", times(refits, approximate)]
    return [*cells, f"{difference:+.2%}"]


def searches(repeats, quick):
    """Lines of the second table: all values of one parameter against the specialist's five folds."""
    n = 1000 if quick else 5000
    X, y = data(n, 30, "two")
    Cs = np.logspace(-4, 4, 10)
    folds = {
        "Cs": Cs,
        "cv": 5,
        "refit": False,
        "use_legacy_attributes": False,
        "scoring": "neg_log_loss",
        "l1_ratios": (0,),
    }
    jobs = [
        lambda: GridSearch(LogisticRegression(), {"C": Cs}, criterion="alo", loss="log", refit=False).fit(X, y),
        lambda: LogisticRegressionCV(n_jobs=1, **folds).fit(X, y),
        lambda: LogisticRegressionCV(n_jobs=2, **folds).fit(X, y),
    ]
    for job in jobs:
        job()
    ours, *peers = side_by_side(jobs, repeats)
    for jobs_used, peer in zip((1, 2), peers, strict=True):
        name = f"LogisticRegressionCV(cv=5, n_jobs={jobs_used})"
        yield ["logistic, 10 values of C", f"{n} × 30", name, milliseconds(ours), times(peer, ours)]
    X, y = data(n, 50, "real")
    alphas = LassoCV(cv=5).fit(X, y).alphas_
    jobs = [
        lambda: GridSearch(Lasso(), {"alpha": alphas}, criterion="alo", refit=False).fit(X, y),
        lambda: LassoCV(cv=5, alphas=alphas).fit(X, y),
    ]
    ours, peer = side_by_side(jobs, repeats, time.process_time)
    yield ["lasso, 100 alphas", f"{n} × 50", "LassoCV(cv=5)", milliseconds(ours), times(peer, ours)]


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The table."""
    with threadpool_limits(1):
        rows = [row(*case, repeats) for case in CASES[: 1 if quick else None]]
    header = ["learner", "rows × columns", "approximate", "in fits", "n refits", "difference of the risks"]
    yield from table(header, rows)
    yield from table(["search", "rows × columns", "peer", "approximate", "peer takes"], list(searches(repeats, quick)))
