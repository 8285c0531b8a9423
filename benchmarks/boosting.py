"""Ensembles along their size: 100 sizes × (the labels and 10 permutations), in fits of the largest size to them.

Then a search over 8 settings of LightGBM (`num_leaves` × `learning_rate`) and 8 numbers of stages up to 200 by
ROC AUC, against GridSearchCV(cv=5) over the same candidates, and over all 200 stages against `lgb.cv` with the same
folds and settings. Nobody refits. All sides run on one thread and are counted in processor time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from measuring import milliseconds, side_by_side, table, times
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
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from threadpoolctl import threadpool_limits

from outsample import CrossValidation, GridSearch
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
        from catboost import CatBoostClassifier
        from lightgbm import LGBMClassifier
        from xgboost import XGBClassifier
    except ImportError:
        return
    yield LGBMClassifier(random_state=0, n_jobs=1, verbose=-1), "n_estimators"
    yield XGBClassifier(random_state=0, n_jobs=1), "n_estimators"
    quiet = {"verbose": 0, "allow_writing_files": False}
    yield CatBoostClassifier(random_seed=0, thread_count=1, learning_rate=0.1, **quiet), "iterations"


def row(estimator, parameter, n, repeats):
    """One line of the table."""
    X, y = make_classification(n, SHAPES[n], n_informative=5, flip_y=0.2, random_state=0)
    rng = np.random.default_rng(0)
    Y = np.stack([y] + [rng.permutation(y) for _ in range(PERMUTATIONS)])
    path = find_path(estimator, parameter, STAGES)
    largest = clone(estimator).set_params(**{parameter: STAGES[-1]})
    jobs = [lambda: [clone(largest).fit(X, labels) for labels in Y], lambda: path.bind(X, np.array([0, 1])).fitted(Y)]
    fits, every = side_by_side(jobs, repeats, time.process_time)
    one = fits / len(Y)
    return [
        f"{n} × {SHAPES[n]}",
        type(estimator).__name__,
        milliseconds(one),
        milliseconds(every),
        f"{every / one:.1f}",
    ]


SETTINGS = {"num_leaves": [7, 15, 31, 63], "learning_rate": [0.05, 0.1]}
MOST_STAGES = 200


def searches(n, repeats):
    """Lines of the table of searches over settings × stages of LightGBM."""
    import lightgbm

    X, y = make_classification(n, 20, n_informative=5, flip_y=0.1, random_state=0)
    learner = lightgbm.LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
    some, every = range(25, MOST_STAGES + 1, 25), range(1, MOST_STAGES + 1)

    def ours(criterion, stages):
        grid = SETTINGS | {"n_estimators": list(stages)}
        return GridSearch(learner, grid, criterion=criterion, loss="roc_auc", refit=False, random_state=0).fit(X, y)

    def grid_search():
        grid = SETTINGS | {"n_estimators": list(some)}
        return GridSearchCV(learner, grid, scoring="roc_auc", cv=5, refit=False).fit(X, y)

    def lgb_cv():
        folds = list(StratifiedKFold(5).split(X, y))
        for setting in ParameterGrid(SETTINGS):
            fixed = {"objective": "binary", "metric": "auc", "num_threads": 1, "verbose": -1, "seed": 0}
            data = lightgbm.Dataset(X, y, params={"verbose": -1})
            lightgbm.cv(fixed | setting, data, num_boost_round=MOST_STAGES, folds=folds)

    jobs = {
        ("rows-and-labels", "8 stages"): (lambda: ours("rows-and-labels", some), grid_search, "GridSearchCV"),
        ("CrossValidation(5)", "8 stages"): (lambda: ours(CrossValidation(5), some), grid_search, "GridSearchCV"),
        ("CrossValidation(5)", "200 stages"): (lambda: ours(CrossValidation(5), every), lgb_cv, "lgb.cv"),
    }
    peers = {job: side_by_side([job], 1, time.process_time)[0] for job in (grid_search, lgb_cv)}
    for (criterion, stages), (own, peer, name) in jobs.items():
        seconds = side_by_side([own], repeats, time.process_time)[0]
        cells = [f"{n} × 20", criterion, stages, f"{seconds:.3g} s", name, f"{peers[peer]:.3g} s"]
        yield [*cells, times(peers[peer], seconds)]


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The tables."""
    header = ["rows × columns", "estimator", "one fit", "all sizes, all labels", "in fits"]
    with threadpool_limits(1):
        rows = [row(*contender, 569, repeats) for contender in contenders()]
        if not quick:
            rows.append(row(*next(contenders()), 4601, repeats))
        yield from table(header, rows)
        header = ["rows × columns", "criterion", "candidates per setting", "time", "peer", "its time", "ratio"]
        found = list(searches(1000 if quick else 2000, 1 if quick else min(repeats, 3)))
        yield from table(header, found)
