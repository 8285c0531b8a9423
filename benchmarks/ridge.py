"""Ridge, 100 alphas: in-sample fits, closed forms, leave-one-out and GCV, against one SVD of the same table.

Prints a Markdown table of medians, all sides measured in turn in each repeat. Counted in processor time on one
thread, so that the ratio does not depend on how busy the machine is.

Usage: python benchmarks/ridge.py [--repeats 5]
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable
from statistics import median
from time import process_time

import numpy as np
from sklearn.linear_model import Ridge, RidgeCV
from threadpoolctl import threadpool_limits

from outsample.paths import find_path

SHAPES = [(500, 20), (2000, 200), (20_000, 100), (300, 2000)]
ALPHAS = np.logspace(-3, 4, 100)


def every_criterion(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Out-sample error by permutation, leave-one-out and GCV for every alpha, (3, alphas)."""
    n = len(y)
    design = find_path(Ridge(), "alpha", list(ALPHAS)).bind(X)
    in_sample = np.square(y - design.fitted(y[None])[0]).mean(axis=1)
    smoother = design.smoother
    assert smoother is not None
    permutation = in_sample + 2 * y.var(ddof=1) / n * (smoother.trace - smoother.total / n)
    left_out = np.square(y - design.left_out_predictions(y, np.arange(n))).mean(axis=1)
    return np.stack([permutation, left_out, in_sample / (1 - smoother.trace / n) ** 2])


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = process_time()
    work()
    return process_time() - start


def main(repeats: int) -> None:
    """Measure and print."""
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, one thread\n")
    print("| rows × columns | all criteria, s | in SVDs of X | RidgeCV, same alphas |")
    print("|---|---|---|---|")
    rng = np.random.default_rng(0)
    for n, p in SHAPES:
        X = rng.standard_normal((n, p))
        y = X[:, 0] + rng.standard_normal(n)
        contenders: list[Callable[[], object]] = [
            lambda X=X, y=y: every_criterion(X, y),
            lambda X=X: np.linalg.svd(X, full_matrices=False),
            lambda X=X, y=y: RidgeCV(ALPHAS).fit(X, y),
        ]
        rounds = [[seconds(work) for work in contenders] for _ in range(repeats)]
        ours, svd, ridge_cv = (median(column) for column in zip(*rounds, strict=True))
        print(f"| {n} × {p} | {ours:.4f} | {ours / svd:.2f} | {ridge_cv / ours:.1f} × slower |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    with threadpool_limits(1):
        main(parser.parse_args().repeats)
