"""Ensembles along their size: 100 sizes × (the labels and 10 permutations), in fits of the largest size.

Both sides run on one thread and are counted in processor time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from measuring import milliseconds, side_by_side, table
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

from outsample.paths.dispatch import find_path

SHAPES = {569: 30, 4601: 57}
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


def row(estimator, parameter, n, repeats):
    """One line of the table."""
    X, y = make_classification(n, SHAPES[n], n_informative=5, flip_y=0.2, random_state=0)
    rng = np.random.default_rng(0)
    Y = np.stack([y] + [rng.permutation(y) for _ in range(PERMUTATIONS)])
    path = find_path(estimator, parameter, STAGES)
    largest = clone(estimator).set_params(**{parameter: STAGES[-1]})
    jobs = [lambda: clone(largest).fit(X, y), lambda: path.bind(X, np.array([0, 1])).fitted(Y)]
    one, every = side_by_side(jobs, repeats, time.process_time)
    return [
        f"{n} × {SHAPES[n]}",
        type(estimator).__name__,
        milliseconds(one),
        milliseconds(every),
        f"{every / one:.1f}",
    ]


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The table."""
    header = ["rows × columns", "estimator", "one fit", "all sizes, all labels", "in fits"]
    with threadpool_limits(1):
        rows = [row(*contender, 569, repeats) for contender in contenders()]
        if not quick:
            rows.append(row(*next(contenders()), 4601, repeats))
    yield from table(header, rows)
