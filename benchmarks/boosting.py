"""Ensembles along their size: every size and every label vector, against one fit of the largest.

Prints a Markdown table. Both sides run on one thread and are counted in processor time, so that the ratio
does not depend on how busy the machine is.

Usage: python benchmarks/boosting.py [--repeats 5] [--rows 4601] [--only Hist]
"""

from __future__ import annotations

import argparse
import platform
from statistics import median
from time import process_time

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from threadpoolctl import threadpool_limits

from outsample.paths import find_path

SHAPES = {569: 30, 4601: 57, 20_000: 20}
PERMUTATIONS = 10
STAGES = list(range(1, 101))


def contenders():
    """(estimator, its size parameter); LightGBM and XGBoost where they are installed."""
    yield HistGradientBoostingClassifier(early_stopping=False, random_state=0), "max_iter"
    for estimator in (
        GradientBoostingClassifier(random_state=0),
        AdaBoostClassifier(random_state=0),
        RandomForestClassifier(random_state=0),
        ExtraTreesClassifier(random_state=0),
        BaggingClassifier(random_state=0),
    ):
        yield estimator, "n_estimators"
    try:
        from lightgbm import LGBMClassifier
        from xgboost import XGBClassifier
    except ImportError:
        return
    yield LGBMClassifier(random_state=0, n_jobs=1, verbose=-1), "n_estimators"
    yield XGBClassifier(random_state=0, n_jobs=1), "n_estimators"


def seconds(work):
    """(processor time, result) of one call."""
    start = process_time()
    result = work()
    return process_time() - start, result


def measure(estimator, parameter, X, Y, repeats):
    """Median times of one fit of the largest size, and of all sizes for all label vectors, side by side."""
    path = find_path(estimator, parameter, STAGES)
    largest = clone(estimator).set_params(**{parameter: STAGES[-1]})
    one, every = [], []
    for _ in range(repeats):
        one.append(seconds(lambda: clone(largest).fit(X, Y[0]))[0])
        every.append(seconds(lambda: path.bind(X, np.array([0, 1])).fitted(Y))[0])
    return path.name, median(one), median(every), median(e / o for e, o in zip(every, one, strict=True))


def table(rows, columns, repeats, only):
    """The lines of one table."""
    X, y = make_classification(rows, columns, n_informative=5, flip_y=0.2, random_state=0)
    rng = np.random.default_rng(0)
    Y = np.stack([y] + [rng.permutation(y) for _ in range(PERMUTATIONS)])
    yield f"### {rows} × {columns}, {len(STAGES)} sizes, the labels and {PERMUTATIONS} permutations of them"
    yield ""
    yield "| estimator | path | one fit, s | all sizes × all labels, s | ratio |"
    yield "|---|---|---:|---:|---:|"
    for estimator, parameter in contenders():
        if only not in type(estimator).__name__:
            continue
        name, one, every, ratio = measure(estimator, parameter, X, Y, repeats)
        yield f"| {type(estimator).__name__} | {name} | {one:.3f} | {every:.2f} | {ratio:.1f} |"
    yield ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, choices=sorted(SHAPES), nargs="*", default=[569, 4601])
    parser.add_argument("--only", default="", help="part of an estimator's name")
    options = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, medians of {options.repeats}\n")
    with threadpool_limits(1):
        for rows in options.rows:
            for line in table(rows, SHAPES[rows], options.repeats, options.only):
                print(line, flush=True)


if __name__ == "__main__":
    main()
