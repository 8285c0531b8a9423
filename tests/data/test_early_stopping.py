from __future__ import annotations

import functools

import numpy as np
import pandas
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from outsample import CrossValidation, GridSearch
from outsample.data.early_stopping import stops_early, validation_rows
from outsample.data.learners import fit

SEEN = []


@pytest.fixture(autouse=True)
def nothing_seen_yet():
    SEEN.clear()


class Recorder(ClassifierMixin, BaseEstimator):
    """Stops early like the boosters, and notes which rows it was given; the first column numbers them."""

    def __init__(self, early_stopping_rounds=None, depth=1):
        self.early_stopping_rounds, self.depth = early_stopping_rounds, depth

    def fit(self, X, y, sample_weight=None, eval_set=None, eval_sample_weight=None):
        self.classes_ = np.unique(y)
        held_out = None if eval_set is None else eval_set[0]
        SEEN.append((np.asarray(X), y, sample_weight, held_out, eval_sample_weight))
        return self

    def predict(self, X):
        SEEN[-1] = (*SEEN[-1], np.asarray(X)[:, 0])
        return np.full(len(X), self.classes_[0])


def numbered(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.arange(n), rng.normal(size=(n, 3))])
    return X, np.where(X[:, 1] + rng.normal(size=n) > 0, "yes", "no")


def test_validation_rows_come_from_the_training_part_of_a_fold():
    X, y = numbered()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearch(Recorder(early_stopping_rounds=2), {"depth": [1, 2]}, criterion=CrossValidation(folds)).fit(
        X, y
    )
    tests = [set(X[test, 0]) for _, test in folds.split(X, y)]
    in_folds = [seen for seen in SEEN if len(seen) == 6 and set(seen[5]) in tests]
    assert len(in_folds) == 2 * 3
    for fitted, labels, _, (held_out, _), _, tested in in_folds:
        assert not set(held_out[:, 0]) & set(tested)
        assert not set(held_out[:, 0]) & set(fitted[:, 0])
        assert set(held_out[:, 0]) | set(fitted[:, 0]) | set(tested) == set(X[:, 0])
        assert len(held_out) == 4
        assert set(labels) == {"no", "yes"}
    last = search.best_estimator_.predict(X), SEEN[-1]
    assert len(last[1][0]) + len(last[1][3][0]) == len(X)


def test_weights_and_parameters_of_rows_follow():
    X, y = numbered()
    fit(Recorder(early_stopping_rounds=2), X, y, X[:, 0] + 1)
    fitted, _, weight, (held_out, _), (held_out_weight,) = SEEN[-1]
    np.testing.assert_array_equal(weight, fitted[:, 0] + 1)
    np.testing.assert_array_equal(held_out_weight, held_out[:, 0] + 1)
    fit(Recorder(early_stopping_rounds=2), X, y, params={"sample_weight": X[:, 0]})
    np.testing.assert_array_equal(SEEN[-1][2], SEEN[-1][0][:, 0])


def test_an_eval_set_of_the_user_is_passed_on():
    X, y = numbered()
    theirs = [(X[:5], y[:5])]
    fit(Recorder(early_stopping_rounds=2), X, y, params={"eval_set": theirs})
    assert len(SEEN[-1][0]) == len(X)
    assert SEEN[-1][3] is theirs[0]
    fit(make_pipeline(StandardScaler(), Recorder(early_stopping_rounds=2)), X, y, params={"recorder__eval_set": theirs})
    assert len(SEEN[-1][0]) == len(X)
    assert SEEN[-1][3] is theirs[0]


def test_without_early_stopping_nothing_is_held_out():
    X, y = numbered()
    fit(Recorder(), X, y)
    assert len(SEEN[-1][0]) == len(X)
    assert SEEN[-1][3] is None


def test_a_pipeline_transforms_the_validation_rows():
    X, y = numbered()
    pipeline = make_pipeline(StandardScaler(), Recorder(early_stopping_rounds=2))
    assert fit(pipeline, X, y, X[:, 0] + 1) is pipeline
    fitted, _, weight, (held_out, _), _ = SEEN[-1]
    numbers = StandardScaler().fit(X).inverse_transform(np.concatenate([fitted, held_out]))[:, 0]
    assert sorted(np.round(numbers)) == list(range(60))
    np.testing.assert_allclose(weight, np.round(numbers[: len(fitted)]) + 1)
    assert len(pipeline.predict(X)) == len(X)


def test_a_share_of_every_class_and_none_of_a_class_of_one_row():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2, 3], [300, 100, 20, 1]))
    held_out = validation_rows(Recorder(), y)
    np.testing.assert_array_equal(np.bincount(y[held_out], minlength=4), [30, 10, 2, 0])
    for counts in ([1, 1], [2, 1], [2, 2], [9, 9], [1, 30, 1]):
        y = np.repeat(np.arange(len(counts)), counts)
        left = np.delete(y, validation_rows(Recorder(), y))
        assert len(np.unique(left)) == len(counts)
        assert len(left) < len(y) or max(counts) == 1
    assert len(validation_rows(Recorder(), y[:1])) == 0


def test_values_are_spread_evenly():
    y = np.random.default_rng(0).normal(size=500)
    held_out = validation_rows(GradientBoostingRegressor(), y)
    assert len(held_out) == 50
    assert abs(np.median(y[held_out]) - np.median(y)) < 0.05


def test_learners_that_hold_out_rows_themselves_are_left_alone():
    assert not stops_early(GradientBoostingClassifier(n_iter_no_change=3))
    assert not stops_early(HistGradientBoostingClassifier(early_stopping=True))


def boosters():
    """{name: (package, class, settings that ask for early stopping)}."""
    return {
        "xgboost": ("xgboost", "XGBClassifier", {"early_stopping_rounds": 2, "n_jobs": 1}),
        "lightgbm": ("lightgbm", "LGBMClassifier", {"early_stopping_round": 2, "n_jobs": 1, "verbose": -1}),
        "catboost": (
            "catboost",
            "CatBoostClassifier",
            {"early_stopping_rounds": 2, "thread_count": 1, "verbose": 0, "allow_writing_files": False},
        ),
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.parametrize("name", boosters())
def test_boosters_never_see_the_rows_they_are_tested_on(name, frame, weighted, monkeypatch):
    package, kind, settings = boosters()[name]
    kind = getattr(pytest.importorskip(package), kind)
    X, y = numbered(120)
    if name == "xgboost":
        y = (y == "yes").astype(int)
    fits = []
    own = kind.fit

    def recorded(self, X, y, sample_weight=None, eval_set=None, **more):
        fits.append((np.asarray(X)[:, 0], eval_set, sample_weight))
        return own(self, X, y, sample_weight=sample_weight, eval_set=eval_set, **more)

    monkeypatch.setattr(kind, "fit", functools.wraps(own)(recorded))
    folds = StratifiedKFold(3)
    grid = {"n_estimators": [300], "learning_rate": [0.3, 0.5]}
    search = GridSearch(kind(**settings), grid, criterion=CrossValidation(folds), loss="log", random_state=0)
    table = pandas.DataFrame(X, columns=list("abcd")) if frame else X
    search.fit(table, y, **({"sample_weight": X[:, 0] + 1} if weighted else {}))
    trains = {tuple(train) for train, _ in folds.split(X, y)} | {tuple(range(len(X)))}
    for fitted, eval_set, _ in fits:
        held_out = _numbers(eval_set)
        assert not set(held_out) & set(fitted)
        assert tuple(sorted(int(i) for i in (*fitted, *held_out))) in trains
    assert len(fits) == 2 * (3 + 1) + 1
    best = search.best_estimator_
    rounds = getattr(best, "best_iteration", None) if name == "xgboost" else best.best_iteration_
    assert 0 < rounds < 299


def _numbers(eval_set):
    """The first column of an eval_set, whatever it came in."""
    if isinstance(eval_set, list):
        return np.asarray(eval_set[0][0])[:, 0]
    return np.asarray(eval_set.get_features())[:, 0]
