"""Approximate leave-one-out against n exact refits and against the one fit it starts from.

Run `python benchmarks/alo.py`. Times are processor seconds on one thread; the risk is log loss or squared loss.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor
from threadpoolctl import threadpool_limits

from outsample import ApproximateLeaveOneOut
from outsample.learners import fit, respond
from outsample.problem import pose


def data(n, p, kind, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    signal = X @ rng.normal(size=p) / np.sqrt(p)
    if kind == "real":
        return X, signal + rng.normal(size=n)
    if kind == "count":
        return X, rng.poisson(np.exp(0.5 * signal)).astype(float)
    scores = np.column_stack([signal, X[:, 0], np.zeros(n)])[:, : 3 if kind == "three" else 2]
    return X, np.argmax(scores * 2 + rng.gumbel(size=scores.shape), axis=1)


CASES = [
    ("logistic, l2", LogisticRegression(C=1.0, max_iter=1000), "two", "log", 500, 20),
    ("logistic, l2", LogisticRegression(C=0.1, max_iter=1000), "two", "log", 1000, 200),
    ("multinomial", LogisticRegression(C=0.3, max_iter=1000), "three", "log", 500, 20),
    ("lasso", Lasso(0.02, tol=1e-6), "real", "squared", 500, 100),
    ("poisson", PoissonRegressor(alpha=0.1, max_iter=1000), "count", "squared", 500, 20),
]


def refitted(problem, learner, X, y):
    rows = np.arange(len(y))
    answers = [
        respond(fit(clone(learner), X[rows != i], y[rows != i]), X[[i]], problem.response, problem.target.classes)[0]
        for i in rows
    ]
    return float(problem.loss.risk(problem.y, np.stack(answers)[None])[0])


def timed(function, repeats=1):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return result, min(times)


def main():
    print("| learner | n | p | one fit, s | alo, s | n refits, s | alo / fit | refits / alo | difference of risks |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, learner, kind, loss, n, p in CASES:
        X, y = data(n, p, kind)
        problem = pose(learner, X, y, loss=loss, random_state=0)
        with threadpool_limits(1):
            _, one = timed(lambda: fit(clone(learner), X, y), repeats=5)  # noqa: B023 — called at once
            curve, approximate = timed(lambda: ApproximateLeaveOneOut().curve(problem), repeats=5)  # noqa: B023
            exact, refits = timed(lambda: refitted(problem, learner, X, y))  # noqa: B023
        difference = curve.out_sample[0] / exact - 1
        print(
            f"| {name} | {n} | {p} | {one:.4f} | {approximate:.4f} | {refits:.2f} | {approximate / one:.1f} | "
            f"{refits / approximate:.0f} | {difference:+.2%} |"
        )


if __name__ == "__main__":
    main()
