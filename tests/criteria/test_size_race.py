"""The race over size against out-of-bag estimates, and grown forests against those fitted in one go."""

from __future__ import annotations

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification, make_friedman1
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from learners_that_count import COUNTER, counted
from outsample import GridSearch, OutOfBag, Race, RandomizedSearch, estimate
from outsample.evidence.size_race import rounds_up_to
from outsample.evidence.standings import expected_loss, gaps_of_all_trees
from outsample.paths.growing import objection_to_growth, planted

GRID = {"max_features": [1, 3, 8], "min_samples_leaf": [1, 10]}
FOREST = RandomForestClassifier(48, random_state=3)
PATIENT = {"confidence": 1 - 1e-12, "tolerance": 0}


@pytest.fixture(scope="module")
def table():
    return make_classification(300, 8, n_informative=4, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def numbers():
    return make_friedman1(200, 8, noise=2.0, random_state=0)


def raced(X, y, forest=FOREST, grid=GRID, criterion="race", **settings):
    return GridSearch(forest, grid, criterion=criterion, random_state=0, **settings).fit(X, y)


def assert_same_ensemble(one, other, X):
    """Equal in settings, in the seeds and bags of the estimators, and in what they predict, to the last bit."""
    assert repr(one.get_params(deep=False)) == repr(other.get_params(deep=False))
    seeds = [[e.random_state for e in ensemble.estimators_] for ensemble in (one, other)]
    assert seeds[0] == seeds[1]
    for bags in zip(one.estimators_samples_, other.estimators_samples_, strict=True):
        np.testing.assert_array_equal(*bags)
    assert getattr(one, "oob_score_", None) == getattr(other, "oob_score_", None)
    answer = "predict_proba" if hasattr(one, "predict_proba") else "predict"
    np.testing.assert_array_equal(getattr(one, answer)(X), getattr(other, answer)(X))


ENSEMBLES = {
    "forest": FOREST,
    "few features, weights by class": RandomForestClassifier(
        48, max_features=2, class_weight="balanced", random_state=1
    ),
    "own score out of bag": RandomForestClassifier(48, oob_score=True, random_state=1),
    "extra trees": ExtraTreesClassifier(48, bootstrap=True, max_samples=0.5, random_state=0),
    "bag of trees": BaggingClassifier(DecisionTreeClassifier(max_depth=3), 48, max_features=0.5, random_state=0),
    "bag of values": BaggingRegressor(None, 48, random_state=0),
    "values": RandomForestRegressor(48, random_state=0),
}


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("weighted", [False, True])
def test_grown_in_steps_is_fitted_in_one_go(table, name, weighted):
    X, y = table
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    whole = clone(ENSEMBLES[name]).fit(X, y, sample_weight=weight)
    growing = planted(clone(ENSEMBLES[name]), 5, X, y, weight)
    for size in (6, 20, 20, 48):
        growing.grow(size, X, y, weight)
        assert growing.size == size
    assert_same_ensemble(growing.finished(), whole, X)


def test_behind_steps_that_learn_from_the_rows(table):
    X, y = table
    model = make_pipeline(
        make_column_transformer((StandardScaler(), [0, 1, 2]), remainder="passthrough"), PCA(4), FOREST
    )
    whole = clone(model).fit(X, y)
    growing = planted(clone(model), 10, X, y, None)
    growing.grow(48, X, y, None)
    assert_same_ensemble(growing.finished()[-1], whole[-1], whole[:-1].transform(X))
    np.testing.assert_array_equal(growing.finished().predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_steps_before_forests_are_fitted_once_for_all_of_them(table, monkeypatch, n_jobs):
    X, y = table
    steps = make_column_transformer((StandardScaler(), [0, 1, 2]), remainder="passthrough"), PCA(4, random_state=0)
    model = make_pipeline(*steps, FOREST)
    grid = {"randomforestclassifier__max_features": [1, 2, 4], "randomforestclassifier__min_samples_leaf": [1, 10]}
    counted(monkeypatch, StandardScaler, "scaler")
    COUNTER.fits.clear()
    shared = raced(X, y, model, grid, n_jobs=n_jobs)
    assert COUNTER.fits["scaler"] <= n_jobs
    monkeypatch.setattr("outsample.paths.growing._key_of", lambda steps: None)
    alone = raced(X, y, model, grid)
    assert COUNTER.fits["scaler"] > 6
    np.testing.assert_array_equal(shared.race_.risk, alone.race_.risk)
    np.testing.assert_array_equal(shared.curve_.left_out.losses, alone.curve_.left_out.losses)
    np.testing.assert_array_equal(shared.predict_proba(X), alone.predict_proba(X))


def test_the_winner_is_the_forest_fitted_in_one_go(table):
    X, y = table
    search = raced(X, y)
    assert_same_ensemble(search.best_estimator_, clone(FOREST).set_params(**search.best_params_).fit(X, y), X)
    assert search.race_.unit == "tree"
    assert search.cv_results_["n_trees"][search.best_index_] == 48
    assert search.n_fits_ < 7


def test_without_dropping_it_is_the_out_of_bag_curve(table, numbers):
    for (X, y), forest, loss in [
        (table, FOREST, "zero-one"),
        (table, RandomForestClassifier(96, random_state=0), "roc_auc"),
        (numbers, RandomForestRegressor(48, random_state=0), "squared"),
        (numbers, RandomForestRegressor(48, random_state=0), "r2"),
    ]:
        whole = raced(X, y, forest, {"max_features": [1, 3, 8]}, Race(**PATIENT), loss=loss)
        settings = whole.cv_results_["params"]
        plain = GridSearch(
            forest, [{k: [v] for k, v in s.items()} for s in settings], criterion=OutOfBag(), loss=loss, random_state=0
        )
        plain.fit(X, y)
        by_setting = dict(zip(map(str, plain.curve_.params), plain.curve_.out_sample, strict=True))
        for setting, risk, trees in zip(
            whole.curve_.params, whole.curve_.out_sample, whole.curve_.race.n_splits, strict=True
        ):
            if trees == forest.n_estimators:
                assert risk == by_setting[str(setting)]
        assert (whole.curve_.race.n_splits == forest.n_estimators).sum() > 1
        assert whole.best_params_ == plain.best_params_


def test_dropping_one_never_changes_the_numbers_of_another(table):
    X, y = table
    every = raced(X, y)
    alone = raced(X, y, grid={"max_features": [1], "min_samples_leaf": [1, 10]})
    known = {
        str(s): (n, score)
        for s, n, score in zip(
            every.cv_results_["params"], every.cv_results_["n_trees"], every.cv_results_["mean_test_score"], strict=True
        )
    }
    compared = 0
    for s, n, score in zip(
        alone.cv_results_["params"], alone.cv_results_["n_trees"], alone.cv_results_["mean_test_score"], strict=True
    ):
        if str(s) in known and known[str(s)][0] == n:
            assert known[str(s)][1] == score
            compared += 1
    assert compared


def test_the_order_of_the_grid_does_not_matter(table):
    X, y = table
    backwards = {name: values[::-1] for name, values in reversed(GRID.items())}
    one, other = raced(X, y), raced(X, y, grid=backwards)
    numbers = [
        sorted(
            (str(sorted(s.items())), n) for s, n in zip(f.cv_results_["params"], f.cv_results_["n_trees"], strict=True)
        )
        for f in (one, other)
    ]
    assert numbers[0] == numbers[1]
    assert one.best_params_ == other.best_params_


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_any_number_of_workers_gives_the_same_bits(table, backend):
    X, y = table
    with joblib.parallel_backend(backend):
        two = raced(X, y, n_jobs=2)
    one = raced(X, y)
    for name in ("mean_test_score", "n_trees", "in_sample"):
        np.testing.assert_array_equal(one.cv_results_[name], two.cv_results_[name])
    assert_same_ensemble(one.best_estimator_.set_params(n_jobs=None), two.best_estimator_.set_params(n_jobs=None), X)


def test_a_store_gives_the_same_bits_and_the_same_forest(table, tmp_path):
    X, y = table
    plain = raced(X, y)
    for _ in range(2):
        kept = raced(X, y, store=tmp_path / "runs.db")
        np.testing.assert_array_equal(kept.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
        assert_same_ensemble(kept.best_estimator_, plain.best_estimator_, X)


def test_sizes_of_one_forest_come_off_one_growth(table):
    X, y = table
    search = raced(X, y, grid={"n_estimators": [48, 60, 96]})
    assert search.n_fits_ <= 2
    grown = {
        s["n_estimators"]: n for s, n in zip(search.cv_results_["params"], search.cv_results_["n_trees"], strict=True)
    }
    assert all(trees <= size for size, trees in grown.items())
    best = search.best_params_["n_estimators"]
    assert_same_ensemble(search.best_estimator_, clone(FOREST).set_params(n_estimators=best).fit(X, y), X)
    batches = RandomizedSearch(
        FOREST, {"n_estimators": [48, 60, 96]}, n_iter=3, criterion=Race(batch_size=2), random_state=0
    )
    assert np.isfinite(batches.fit(X, y).best_score_)


def test_smaller_forests_go_on_as_long_as_a_larger_one_of_the_same_trees_does(table):
    """They cost nothing, and a finished forest is not dropped for what a larger one is expected to become."""
    race = raced(*table, grid={"n_estimators": [48, 96, 192], "max_features": [1, 3, 8]}).race_
    for features in (1, 3, 8):
        sizes = [i for i, params in enumerate(race.params) if params["max_features"] == features]
        largest = max(sizes, key=lambda i: race.n_splits[i])
        for i in sizes:
            assert race.n_splits[i] == min(race.params[i]["n_estimators"], race.n_splits[largest])
    assert race.n_fits <= 3, "one for each number of features"


def test_sizes_of_one_forest_that_have_been_the_same_are_not_taken_for_alike(table):
    X, y = table
    race = raced(X, y, grid={"n_estimators": [100, 200]}, criterion=Race(**PATIENT), loss="zero-one").race_
    assert race.n_splits[:2].tolist() == [100, 200]


def test_zero_one_losses_are_raw_and_scikit_learns_own(table):
    X, y = table
    search = raced(X, y, grid={"max_features": [1, 8]})
    best = clone(FOREST).set_params(oob_score=True, **search.best_params_).fit(X, y)
    assert search.best_score_ == pytest.approx(best.oob_score_, abs=1e-15)


def test_budgets_end_it_with_the_best_so_far(table):
    X, y = table
    search = raced(X, y, criterion=Race(max_fits=3))
    assert search.n_fits_ <= 3
    assert "max_fits=3" in search.race_.ended
    assert np.isfinite(search.best_score_)
    assert len(search.best_estimator_.estimators_) == 48


def test_nothing_to_find_ends_early_and_says_so(table):
    X, y = table
    permuted = [np.random.default_rng(seed).permutation(y) for seed in range(4)]
    found = [raced(X, labels, grid={"max_features": [1, 3, 8]}, refit=False) for labels in permuted]
    # The best of several may seem better than guessing by chance, in one case of twenty or so.
    assert sum("guessing" in " ".join(search.curve_.notes) for search in found) >= 3
    assert min(search.n_fits_ for search in found) <= 3


def test_folds_where_size_is_no_race(table):
    X, y = table
    for forest, criterion in [
        (FOREST, Race(4, over="folds")),
        (FOREST, Race(KFold(4))),
        (RandomForestClassifier(10, random_state=0), Race(4)),
        (RandomForestClassifier(48, bootstrap=False, random_state=0), Race(4)),
    ]:
        search = raced(X, y, forest, {"min_samples_leaf": [1, 20]}, criterion, refit=False)
        assert search.race_.unit == "fold"
    by_groups = GridSearch(FOREST, {"min_samples_leaf": [1, 20]}, criterion=Race(4), random_state=0, refit=False)
    assert by_groups.fit(X, y, groups=np.arange(300) // 10).race_.unit == "fold"
    with pytest.raises(ValueError, match='over="size" knows RandomForest'):
        raced(X, y, SVC(), {"C": [1.0]}, Race(over="size"))
    with pytest.raises(ValueError, match="over must be one of"):
        Race(over="trees")


def test_ensembles_that_cannot_grow_are_told():
    nested = make_pipeline(StandardScaler(), make_pipeline(FOREST))
    generator = RandomForestClassifier(48, random_state=np.random.RandomState(0))
    for estimator, reason in [
        (SVC(), "knows RandomForest"),
        (generator, "random_state"),
        (BaggingClassifier(n_estimators=48, oob_score=True), "oob_score"),
        (nested, "pipelines within"),
        (RandomForestClassifier("many"), "whole number"),
    ]:
        assert reason in objection_to_growth(estimator)
    assert objection_to_growth(FOREST) is None


def test_settings_that_fail_are_named_and_the_others_race_on(table):
    X, y = table
    with pytest.warns(Warning, match="was rejected"):
        search = raced(X, y, grid={"min_samples_leaf": [-1, 1, 10]})
    assert search.best_params_["min_samples_leaf"] > 0
    assert search.race_.reason[0] == "failed"


def test_a_single_forest_costs_one_fit(table):
    X, y = table
    found = estimate(FOREST, X, y, criterion="race", random_state=0)
    assert found.n_fits == 1
    assert found.out_sample == estimate(FOREST, X, y, criterion="oob", random_state=0).out_sample


def test_no_warning_reaches_the_user(table):
    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raced(X, y, RandomForestClassifier(48, class_weight="balanced", random_state=0))


def test_trees_double_with_every_round():
    assert rounds_up_to(100).tolist()[-3:] == [25, 50, 100]
    assert rounds_up_to(7).tolist() == [7]
    assert (np.diff(rounds_up_to(333)) > 0).all()


def test_expected_loss_of_growing_against_simulation():
    rng = np.random.default_rng(0)
    n, sizes, lost, promised = 300, (25, 50, 100), [], []
    for _ in range(200):
        trees = rng.normal(size=(3, 100, n)) + np.array([0.0, 0.02, 0.2])[:, None, None]
        before, now, end = (trees[:, :size].mean(axis=1) for size in sizes)
        leader = int(now.mean(axis=1).argmin())
        lost.append(end.mean(axis=1)[leader] - end.mean(axis=1).min())
        further = (1 / 50 - 1 / 100) / (1 / 25 - 1 / 50)
        promised.append(expected_loss(gaps_of_all_trees(before, now, None, further, leader)))
    error = np.std(lost) / np.sqrt(len(lost))
    assert np.mean(lost) - 3 * error < np.mean(promised) < 4 * np.mean(lost) + 3 * error


def test_forests_that_memory_does_not_hold_are_grown_anew(table, monkeypatch):
    X, y = table
    kept = raced(X, y)
    monkeypatch.setattr("outsample.evidence.size_race.MEMORY", 1)
    anew = raced(X, y)
    np.testing.assert_array_equal(kept.cv_results_["mean_test_score"], anew.cv_results_["mean_test_score"])
    assert_same_ensemble(kept.best_estimator_, anew.best_estimator_, X)
    assert anew.n_fits_ > kept.n_fits_


def test_data_frames_names_of_classes_and_weights(table):
    X, y = table
    frame = pd.DataFrame(X, columns=list("abcdefgh")).assign(colour=np.where(X[:, 0] > 0, "red", "blue"))
    names = np.array(["no", "yes"])[y]
    columns = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model, grid = make_pipeline(columns, FOREST), {"randomforestclassifier__min_samples_leaf": [1, 20]}
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    search = GridSearch(model, grid, criterion="race", random_state=0).fit(frame, names, sample_weight=weight)
    assert search.race_.unit == "tree"
    keep = weight > 0
    whole = clone(model).set_params(**search.best_params_)
    whole.fit(frame[keep], names[keep], randomforestclassifier__sample_weight=weight[keep])
    np.testing.assert_array_equal(search.predict_proba(frame), whole.predict_proba(frame))
    assert set(search.predict(frame)) <= {"no", "yes"}
