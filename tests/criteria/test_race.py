"""The race against plain folds, against scikit-learn's own folds, and against simulation."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import combinations

import joblib
import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.datasets import make_classification, make_regression
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import PoissonRegressor
from sklearn.model_selection import KFold, StratifiedKFold, TimeSeriesSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import GridSearch, Race, RandomizedSearch, estimate
from outsample.evidence.standings import dispensable, expected_loss, gaps_of_all_rows, standings

GRID = {"C": [0.01, 0.1, 1.0, 10.0], "gamma": [0.001, 0.03, 1.0]}
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def table():
    return make_classification(300, 8, n_informative=4, flip_y=0.1, random_state=0)


def raced(X, y, estimator=None, grid=GRID, **settings):
    settings.setdefault("criterion", Race(FOLDS))
    return GridSearch(SVC() if estimator is None else estimator, grid, random_state=0, refit=False, **settings).fit(
        X, y
    )


def split_scores(search):
    names = [name for name in search.cv_results_ if name.startswith("split") and name.endswith("_test_score")]
    return np.stack([search.cv_results_[f"split{k}_test_score"] for k in range(len(names))], axis=1)


def test_scores_of_folds_are_those_of_scikit_learn(table):
    X, y = table
    search = raced(X, y)
    for setting, scores in zip(search.cv_results_["params"], split_scores(search), strict=True):
        own = cross_val_score(SVC(**setting), X, y, cv=FOLDS)
        known = ~np.isnan(scores)
        np.testing.assert_array_equal(scores[known], own[known])
    assert np.isnan(split_scores(search)).any()


def test_without_dropping_it_chooses_what_all_folds_choose(table):
    X, y = table
    whole = raced(X, y, criterion=Race(FOLDS, confidence=1 - 1e-12, tolerance=0))
    assert whole.cv_results_["n_splits"].min() >= 4
    means = [cross_val_score(SVC(**setting), X, y, cv=FOLDS).mean() for setting in whole.cv_results_["params"]]
    assert whole.best_score_ == pytest.approx(max(means), abs=1e-15)


def test_fewer_fits_and_the_winner_has_all_folds(table):
    X, y = table
    search = raced(X, y)
    results = search.cv_results_
    assert search.n_fits_ == results["n_splits"].sum() < 60
    assert results["n_splits"][search.best_index_] == 5
    assert results["rank_test_score"][search.best_index_] == 1
    assert search.best_score_ == results["mean_test_score"][search.best_index_]
    short = raced(X, y, criterion=Race(FOLDS, finish=False))
    assert short.n_fits_ <= search.n_fits_
    assert short.best_params_ == search.best_params_


def test_dropping_one_never_changes_the_numbers_of_another(table):
    X, y = table
    all_of_them = raced(X, y)
    alone = raced(X, y, grid={"C": [0.1, 1.0], "gamma": [0.03]})
    by_setting = dict(zip(map(str, all_of_them.cv_results_["params"]), split_scores(all_of_them), strict=True))
    for setting, scores in zip(map(str, alone.cv_results_["params"]), split_scores(alone), strict=True):
        both = ~np.isnan(scores) & ~np.isnan(by_setting[setting])
        assert both.any()
        np.testing.assert_array_equal(scores[both], by_setting[setting][both])


def test_the_order_of_the_grid_does_not_matter(table):
    X, y = table
    backwards = {name: values[::-1] for name, values in reversed(GRID.items())}
    one, other = raced(X, y), raced(X, y, grid=backwards)
    assert one.best_score_ == other.best_score_
    assert one.n_fits_ == other.n_fits_
    numbers = [
        sorted(
            (str(sorted(s.items())), n) for s, n in zip(f.cv_results_["params"], f.cv_results_["n_splits"], strict=True)
        )
        for f in (one, other)
    ]
    assert numbers[0] == numbers[1]


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers which rows it was fitted to, and refuses to predict any of them; X has the number of the row."""

    def __init__(self, error=0.1):
        self.error = error

    def fit(self, X, y):
        self.classes_, self.seen_ = np.unique(y), set(X[:, 0])
        return self

    def predict(self, X):
        assert not self.seen_ & set(X[:, 0])
        wrong = np.random.default_rng(int(1000 * self.error)).random(len(X)) < self.error
        return np.where(wrong, 1 - X[:, 1], X[:, 1]).astype(int)


def test_no_row_is_tested_by_a_fit_that_saw_it():
    y = np.arange(200) % 2
    X = np.stack([np.arange(200), y], axis=1).astype(float)
    search = raced(X, y, Recorder(), {"error": [0.02, 0.3, 0.5]}, criterion="race")
    assert search.best_params_ == {"error": 0.02}
    assert search.n_fits_ < 30


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_any_number_of_workers_gives_the_same_bits(table, backend):
    X, y = table
    with joblib.parallel_backend(backend):
        two = raced(X, y, n_jobs=2)
    one = raced(X, y)
    np.testing.assert_array_equal(split_scores(one), split_scores(two))
    assert one.best_params_ == two.best_params_


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "f1", "balanced_accuracy", "neg_log_loss", "r2"])
def test_nothing_to_find_ends_early_and_says_so(table, scoring):
    """The best of many is better than guessing by luck, now and then more than its errors allow for."""
    X, y = table
    learner, grid = (SVR() if scoring == "r2" else SVC()), GRID
    if scoring == "neg_log_loss":
        learner, grid = (
            HistGradientBoostingClassifier(max_iter=10),
            {"max_leaf_nodes": [3, 7], "learning_rate": [0.1, 1]},
        )
    permuted = [np.random.default_rng(seed).permutation(y) for seed in range(4)]
    searches = [raced(X, labels, learner, grid, scoring=scoring) for labels in permuted]
    assert max(search.n_fits_ for search in searches) < 5 * len(searches[0].race_.params)
    assert sum("guessing" in search.curve_.notes[-1] for search in searches) >= 3
    assert "guessing" not in raced(X, y, learner, grid, scoring=scoring).curve_.notes[-1]


def test_rare_classes_are_not_taken_for_nothing_to_find():
    """Three folds hold a handful of a class of one row in twenty-five, and most of its rows are beyond any learner."""
    rng = np.random.default_rng(0)
    y = (np.arange(600) % 25 == 0).astype(int)
    seen = np.where(rng.uniform(size=600) < 0.3, y, 0)
    X = np.stack([seen + 0.05 * rng.standard_normal(600), rng.standard_normal(600)], axis=1)
    search = GridSearch(SVC(), {"C": [1e-4, 1e-3, 1.0], "gamma": [0.1, 1.0]}, criterion="race", random_state=0).fit(
        X, y
    )
    assert "guessing" not in search.race_.ended
    assert search.best_params_["C"] == 1.0


def test_models_of_one_path_come_off_one_fit_per_fold(table):
    X, y = table
    # The tree's own setting, which takes part, is one of the path.
    tree = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0)
    search = raced(X, y, tree, {"max_leaf_nodes": range(2, 40)})
    assert search.n_fits_ <= 5
    search = raced(X, y, KNeighborsClassifier(), {"n_neighbors": range(1, 30)})
    assert search.n_fits_ == 1


def test_different_learners_race_against_each_other(table):
    X, y = table
    grid = [
        {"model": [KNeighborsClassifier()], "model__n_neighbors": [1, 5, 25]},
        {"model": [DecisionTreeClassifier(random_state=0)], "model__max_leaf_nodes": [2, 8]},
        {"model": [GaussianNB()]},
        {"model": [SVC()], "model__C": [0.1, 10.0]},
    ]
    pipeline = make_pipeline(StandardScaler(), SVC())
    pipeline.steps[1] = ("model", SVC())
    search = raced(X, y, pipeline, grid)
    for setting, scores in zip(search.cv_results_["params"], split_scores(search), strict=True):
        own = cross_val_score(clone(pipeline).set_params(**setting), X, y, cv=FOLDS)
        known = ~np.isnan(scores)
        np.testing.assert_allclose(scores[known], own[known], atol=1e-12)


def test_regression_scores_r2_as_scikit_learn_does():
    X, y = make_regression(200, 5, noise=30, random_state=0)
    folds = KFold(5)
    search = raced(X, y, SVR(), {"C": [0.1, 10.0, 1000.0]}, criterion=Race(folds))
    for setting, scores in zip(search.cv_results_["params"], split_scores(search), strict=True):
        known = ~np.isnan(scores)
        own = cross_val_score(SVR(**setting), X, y, cv=folds)
        np.testing.assert_allclose(scores[known], own[known], rtol=1e-12)
    assert search.best_params_ == {"C": 1000.0}


def test_an_own_score_races_by_folds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = rng.poisson(np.exp(X[:, 0])).astype(float)
    search = raced(X, y, PoissonRegressor(), {"alpha": [0.001, 1.0, 1000.0]}, criterion=Race(KFold(6)))
    assert search.best_params_["alpha"] == 0.001
    assert search.cv_results_["n_splits"].min() < 6


def test_sample_weight_of_zero_is_no_row(table):
    X, y = table
    weight = np.ones(len(y))
    weight[::5] = 0
    keep = weight > 0
    criterion = Race(4)
    grid = {"C": [0.1, 1.0, 10.0]}
    some = GridSearch(SVC(), grid, criterion=criterion, random_state=0).fit(X[keep], y[keep])
    weighted = GridSearch(SVC(), grid, criterion=criterion, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(some.cv_results_["mean_test_score"], weighted.cv_results_["mean_test_score"])


@pytest.mark.parametrize("n", [6, 12, 30])
def test_few_rows_and_small_classes(n):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 2)), np.array([0, 1] + [0] * (n - 3) + [1])
    search = raced(X, y, criterion="race")
    assert np.isfinite(search.best_score_)


def test_one_candidate_and_all_tied(table):
    X, y = table
    one = raced(X, y, grid={"C": [1.0]})
    assert one.n_fits_ == 5
    assert "only one candidate" in one.curve_.race.ended
    tied = raced(X, y, DummyClassifier(), {"random_state": [0, 1, 2, 3]})
    assert tied.best_index_ == 0
    assert np.isfinite(tied.best_score_)


class Named(SVC):
    """A support vector machine with a parameter that changes nothing."""

    def __init__(self, name="", C=1.0):
        super().__init__(C=C)
        self.name = name


def test_of_candidates_that_lose_alike_the_first_is_kept():
    X, y = make_classification(1500, 4, flip_y=0.4, random_state=0)
    grid = {"C": [1.0], "name": ["a", "b", "c"]}
    record = raced(X, y, Named(name="a"), grid, criterion=Race(cv=10)).race_
    assert [params["name"] for params in record.params] == ["a", "b", "c"]
    assert "close" in record.reason[1:]
    assert record.leader == 0
    assert (record.n_splits[1:] < 10).all()


def test_where_errors_are_rare_losing_alike_on_half_of_the_folds_is_no_reason_to_leave():
    """Two settings err on one row of a thousand each, in the last fold; the third on none."""
    losses = np.zeros((3, 1000))
    losses[:, 3] = 1.0
    folds = [(np.delete(np.arange(1000), test), test) for test in np.split(np.arange(1000), 10)]
    # A race that drops nobody tells in which order the folds come.
    last = folds[repeated(losses, Race(folds, tolerance=0)).race_.order[-1]][1]
    losses[0, last[0]] = losses[1, last[1]] = 1.0
    search = repeated(losses, Race(folds))
    assert search.best_index_ == 2
    assert search.race_.n_splits.tolist() == [10, 10, 10]


def repeated(losses, criterion):
    """A race of settings that lose what was written down."""
    learner, rows = type("Repeats", (Repeats,), {"losses": losses})(), np.arange(float(losses.shape[1]))[:, None]
    grid, scoring = {"place": range(len(losses))}, "neg_mean_squared_error"
    search = GridSearch(learner, grid, criterion=criterion, scoring=scoring, refit=False, random_state=0)
    return search.fit(rows, rows[:, 0] % 9)


def test_a_single_estimator_is_judged_by_all_folds(table):
    X, y = table
    found = estimate(SVC(), X, y, criterion=Race(FOLDS), random_state=0)
    assert found.out_sample == pytest.approx(1 - cross_val_score(SVC(), X, y, cv=FOLDS).mean(), abs=1e-12)
    assert found.n_fits == 5 + 1  # and one on all rows, for its in-sample risk


def test_groups_stay_whole_and_series_are_respected(table):
    X, y = table
    groups = np.repeat(np.arange(30), 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_groups = GridSearch(SVC(), {"C": [0.1, 10.0]}, criterion=Race(5), random_state=0).fit(X, y, groups=groups)
    fold = by_groups.curve_.left_out.fold
    assert all(len(set(fold[groups == g])) == 1 for g in range(30))
    assert np.isfinite(by_groups.best_score_)
    series = raced(X, y, criterion=Race(TimeSeriesSplit(4)))
    assert np.isfinite(series.best_score_)


def test_settings_that_fail_are_named_and_the_others_race_on(table):
    X, y = table
    with pytest.warns(FitFailedWarning, match="was rejected"):
        search = raced(X, y, grid={"C": [-1.0, 1.0]})
    assert search.best_params_ == {"C": 1.0}
    assert search.curve_.race.reason[0] == "failed"
    assert np.isnan(search.cv_results_["mean_test_score"][0])
    with pytest.warns(FitFailedWarning, match="max_leaf_nodes"):
        search = raced(X, y, DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 8, -3]})
    assert search.best_params_["max_leaf_nodes"] in (2, 8)
    with pytest.raises(Exception, match="must be"):
        raced(X, y, grid={"C": [-1.0, 1.0]}, error_score="raise")
    with pytest.raises(ValueError, match="C"):
        raced(X, y, SVC(C=-1.0), grid={"C": [-1.0, -2.0]})
    with pytest.warns(FitFailedWarning, match="and 1 more"):
        own = raced(X, y, grid={"C": [-1.0, -2.0]})
    assert own.cv_results_["is_default"][own.best_index_]


def test_settings_that_fail_on_a_path_without_refits_leave_the_others_racing(table):
    X, y = table
    X = np.column_stack([X, X[:, 0]])
    with pytest.warns(FitFailedWarning, match="not full rank"):
        search = raced(X, y, QuadraticDiscriminantAnalysis(), {"reg_param": [0.0, 0.1, 0.5]})
    assert np.isnan(search.cv_results_["mean_test_score"][0])
    assert search.best_params_["reg_param"] in (0.1, 0.5)


def test_budgets_end_it_with_the_best_so_far(table):
    X, y = table
    search = raced(X, y, criterion=Race(FOLDS, max_fits=14))
    assert search.n_fits_ <= 14
    assert "max_fits=14" in search.curve_.race.ended
    assert np.isfinite(search.best_score_)
    quick = raced(X, y, criterion=Race(FOLDS, max_seconds=1e-6))
    assert "max_seconds" in quick.curve_.race.ended
    assert np.isfinite(quick.best_score_)


def test_a_randomised_search_stays_within_its_budgets(table):
    X, y = table
    settings = {"C": stats.loguniform(0.01, 100), "gamma": stats.loguniform(0.001, 1)}
    for fits in (3, 25, 60):
        search = RandomizedSearch(
            SVC(), settings, n_iter=50, criterion=Race(5, max_fits=fits), random_state=0, refit=False
        ).fit(X, y)
        assert search.n_fits_ <= fits
        assert f"max_fits={fits}" in search.race_.ended
        assert (search.race_.reason == "untried").any()
        assert np.isfinite(search.best_score_)
        # The estimator's own setting always takes part.
        (own,) = np.flatnonzero(search.cv_results_["is_default"])
        assert search.cv_results_["n_splits"][own] >= 1
    unlimited = RandomizedSearch(SVC(), settings, n_iter=50, criterion=Race(5), random_state=0, refit=False).fit(X, y)
    assert unlimited.n_fits_ < 51 * 5 / 2
    assert not (unlimited.race_.reason == "untried").any()
    short = replace(Race(5), max_seconds=1e-6)
    quick = RandomizedSearch(SVC(), settings, n_iter=50, criterion=short, random_state=0, refit=False).fit(X, y)
    assert "max_seconds" in quick.race_.ended
    assert np.isfinite(quick.best_score_)


def test_a_round_that_time_cuts_short_does_not_count(table, monkeypatch):
    X, y = table
    clock = iter(range(1000))
    monkeypatch.setattr("outsample.evidence.race.time.perf_counter", lambda: next(clock))
    whole = {"C": [0.5, 1.0, 2.0, 4.0], "gamma": [0.03]}
    search = raced(X, y, grid=whole, criterion=Race(FOLDS, confidence=1 - 1e-12, tolerance=0, max_seconds=12))
    assert "max_seconds=12" in search.race_.ended
    assert set(search.race_.reason) == {""}
    assert set(search.cv_results_["n_splits"]) == {1}
    np.testing.assert_array_equal(np.isnan(search.race_.risk), False)


def test_rows_by_their_influence_on_a_score_of_whole_folds(table):
    X, y = table
    search = raced(X, y, scoring="roc_auc", grid={"C": [0.001, 1.0, 10.0], "gamma": [0.0001, 0.03]})
    for setting, scores in zip(search.cv_results_["params"], split_scores(search), strict=True):
        own = cross_val_score(SVC(**setting), X, y, cv=FOLDS, scoring="roc_auc")
        known = ~np.isnan(scores)
        np.testing.assert_allclose(scores[known], own[known], rtol=1e-12)
    # Scores of two folds would tell nothing; their 120 rows do.
    assert search.cv_results_["n_splits"].min() <= 2


def test_batches_race_against_those_that_remained(table):
    X, y = table
    at_once, in_batches = raced(X, y), raced(X, y, criterion=Race(FOLDS, batch_size=4))
    both = ~np.isnan(split_scores(at_once)) & ~np.isnan(split_scores(in_batches))
    np.testing.assert_array_equal(split_scores(at_once)[both], split_scores(in_batches)[both])
    assert in_batches.cv_results_["n_splits"].min() >= 1
    assert in_batches.best_score_ == pytest.approx(at_once.best_score_, abs=0.02)


def test_other_rules_choose_among_those_that_remained(table):
    X, y = table
    search = raced(X, y, rule="one-standard-error")
    assert search.cv_results_["params"].index(search.best_params_) == search.best_index_
    record = search.curve_.race
    assert record.reason[[params == search.best_params_ for params in record.params].index(True)] == ""


@pytest.mark.parametrize("cv", [5, 10])
@pytest.mark.parametrize("seed", [2, 6, 15, 16])
def test_nobody_who_left_had_lost_less_than_the_winner_on_the_folds_of_both(seed, cv):
    X, y = make_regression(150, 6, n_informative=3, noise=60, random_state=seed)
    grid = {"max_depth": [2, 3, 4, 5, 6], "min_samples_leaf": [1, 3, 6, 10, 15], "max_features": [3, 6]}
    tree = DecisionTreeRegressor(random_state=0)
    search = GridSearch(tree, grid, criterion=Race(cv), loss="squared", refit=False).fit(X, y)
    folds = search.curve_.left_out.fold_risks
    assert nobody_had_lost_less(search)
    assert search.race_.n_fits <= cv * folds.shape[1]


def nobody_had_lost_less(search):
    """Than the winner, on the folds that both were tested on."""
    folds, leader = search.curve_.left_out.fold_risks, search.curve_.race.leader
    both = [~np.isnan(theirs + folds[:, leader]) for theirs in folds.T]
    assert folds.shape[1] == len(search.cv_results_["params"])
    return all(
        folds[met, leader].mean() <= theirs[met].mean() + 1e-9
        for theirs, met in zip(folds.T, both, strict=True)
        if met.any()
    )


@pytest.mark.parametrize("batch_size", [None, 20])
@pytest.mark.parametrize("seed", [2, 6])
def test_nor_where_a_budget_ended_it(seed, batch_size, monkeypatch):
    X, y = make_regression(150, 6, n_informative=3, noise=60, random_state=seed)
    grid = {"max_depth": [2, 3, 4, 5, 6], "min_samples_leaf": [1, 3, 6, 10, 15], "max_features": [3, 6]}
    tree = DecisionTreeRegressor(random_state=0)

    def search(**budget):
        race = Race(10, batch_size=batch_size, **budget)
        return GridSearch(tree, grid, criterion=race, loss="squared", refit=False).fit(X, y)

    whole = search().n_fits_
    for fits in range(30, whole, 23):
        cut = search(max_fits=fits)
        assert cut.n_fits_ <= fits
        assert nobody_had_lost_less(cut)
    clock = iter(range(10**6))
    monkeypatch.setattr("outsample.evidence.race.time.perf_counter", lambda: next(clock))
    for seconds in range(60, 2 * whole, 61):
        assert nobody_had_lost_less(search(max_seconds=seconds))


def test_ranks_agree_with_the_course_of_the_race(table):
    X, y = table
    record = raced(X, y).curve_.race
    assert record.ranks[record.leader] == 1
    left = record.reason != ""
    assert record.ranks[left].min() > len(record.remaining) - 1
    frame = record.to_frame()
    assert list(frame.columns) == ["C", "gamma", "n_splits", "reason", "gap", "error"]
    assert "candidates in each round" in str(record)


def test_boosting_stages_come_off_one_fit_per_fold(table):
    X, y = table
    boosting = HistGradientBoostingClassifier(random_state=0, early_stopping=False, max_leaf_nodes=4)
    search = raced(X, y, boosting, {"max_iter": [5, 10, 20, 40]})
    assert search.n_fits_ <= 5
    whole = raced(
        X, y, boosting, {"max_iter": [5, 10, 20, 40]}, criterion=Race(FOLDS, confidence=1 - 1e-12, tolerance=0)
    )
    losses = whole.curve_.left_out.losses
    best = int(np.argmin(losses.mean(axis=1)))
    assert whole.curve_.race.leader == best


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cv": 1}, "cv must be"),
        ({"confidence": 2.0}, "confidence"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"max_fits": 0}, "max_fits"),
        ({"max_seconds": "soon"}, "max_seconds"),
        ({"batch_size": 0.5}, "batch_size"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Race(**settings)


def test_standings_against_the_paired_t_test():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 200)) + np.array([[0.0], [0.05], [0.3], [1.0]])
    found = standings(values)
    for j in range(4):
        if j != found.leader:
            test = stats.ttest_rel(values[j], values[found.leader])
            assert found.gap[j] / found.error[j] == pytest.approx(test.statistic)
            # Student's quantile has the degrees of freedom of the rows that tell the two apart, about a third of these.
            assert found.probability[j] == pytest.approx(test.pvalue / 2, abs=0.01)
    repeated = standings(np.repeat(values, 3, axis=1)[:, ::1], np.full(600, 1 / 3))
    np.testing.assert_allclose(repeated.gap, found.gap)


def test_rows_on_which_candidates_agree_tell_nothing():
    values = np.zeros((2, 100))
    values[1, :3] = 1.0
    assert standings(values).probability[1] > 0.05
    values[1, 0] = 0.0
    values[1, 1] = 0.0
    assert standings(values).probability[1] == 0.5


def test_expected_loss_against_simulation():
    rng = np.random.default_rng(0)
    n, m = 400, 100
    means = np.array([0.0, 0.02, 0.1])
    lost, promised = [], []
    for _ in range(300):
        values = means[:, None] + rng.normal(size=(3, n)) * 0.5 + rng.normal(size=n)
        seen = values[:, :m]
        leader = int(seen.mean(axis=1).argmin())
        final = values.mean(axis=1)
        lost.append(final[leader] - final.min())
        promised.append(expected_loss(gaps_of_all_rows(seen, None, n, leader)))
    error = np.std(lost) / np.sqrt(len(lost))
    # Draws around the means so far are a little pessimistic, because the leader's mean is lucky.
    assert np.mean(lost) - 3 * error < np.mean(promised) < 2.5 * np.mean(lost)
    assert expected_loss(gaps_of_all_rows(values, None, n, 0)) == 0.0
    assert gaps_of_all_rows(values[:, :1], None, n, 0) is None


@pytest.mark.parametrize("most", [0.0, 0.01, 0.05, 0.2, 10.0])
def test_who_may_leave_against_all_subsets(most):
    gaps = np.random.default_rng(1).normal(size=(400, 6)) * [0.0, 1, 0.3, 0.2, 0.5, 0.1] + [0.0, 2, 0.1, 0.3, 0.0, 0.05]
    left, lost = dispensable(gaps, np.arange(6) == 0, most)
    kept = np.setdiff1d(np.arange(6), left)
    assert 0 in kept
    assert lost == pytest.approx(np.mean(gaps[:, kept].min(axis=1) - gaps.min(axis=1)))
    assert lost < max(most, 1e-300) or not len(left)
    losses = {
        others: np.mean(gaps[:, [0, *others]].min(axis=1) - gaps.min(axis=1))
        for size in range(6)
        for others in combinations(range(1, 6), size)
    }
    within = [others for others, loss in losses.items() if loss < most]
    # One after the other is not always the least that may stay, but one more at most on these.
    assert len(kept) - 1 <= min(map(len, within), default=5) + 1
    if most == 10.0:
        assert kept.tolist() == [0]


def test_who_is_to_stay_does():
    gaps = np.random.default_rng(1).normal(size=(400, 6))
    stays = np.array([True, False, True, False, True, False])
    assert dispensable(gaps, stays, 10.0)[0].tolist() == [1, 3, 5]


def test_of_candidates_that_may_leave_the_last_ones_do():
    gaps = np.zeros((50, 4))
    gaps[:, 1:3] = np.random.default_rng(0).normal(size=(50, 1))
    assert dispensable(gaps, np.arange(4) == 0, 0.01)[0].tolist() == [2, 3]


class Column(RegressorMixin, BaseEstimator):
    """Predicts one of the columns."""

    def __init__(self, number=0):
        self.number = number

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, self.number]


def columns_near(y, distances, rng):
    return np.stack([y + distance * rng.normal(size=len(y)) for distance in distances], axis=1)


def test_a_score_near_one_is_told_apart_by_what_is_missing_to_it():
    """Of r2 = .99 the hundredth is .0001: two models that may differ by .001 are not as good as each other."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    X = columns_near(y, [0.1, 0.1], rng)
    for scoring in ("r2", "neg_mean_squared_error"):
        search = GridSearch(Column(), {"number": [0, 1]}, scoring=scoring, criterion=Race(finish=False), random_state=0)
        assert search.fit(X, y).race_.n_splits.min() > 2


def test_scores_of_a_handful_of_rows_drop_nobody():
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    X = columns_near(y, [0.01, 3.0], rng)
    by_score, by_rows = (
        GridSearch(Column(), {"number": [0, 1]}, scoring=scoring, loss=loss, criterion="race", random_state=0).fit(X, y)
        for scoring, loss in [("r2", None), (None, "squared")]
    )
    assert by_score.race_.n_splits.tolist() == [10, 5]  # thirty of the sixty rows
    assert by_rows.race_.n_splits[1] < 5


def forests_beside_a_tree(tree, forest, **forest_grid):
    """(pipeline, grid of four trees and of forests, the settings that are forests)."""
    grid = [
        {"model": [tree], "model__max_leaf_nodes": [2, 4, 8, 16]},
        {"model": [forest], **{f"model__{name}": values for name, values in forest_grid.items()}},
    ]
    size = int(np.prod([len(values) for values in forest_grid.values()]))
    return Pipeline([("scale", StandardScaler()), ("model", tree)]), grid, slice(4, 4 + size)


def test_forests_beside_other_learners_are_judged_out_of_bag_from_one_fit_each_against_scikit_learn(table):
    X, y = table
    forest = RandomForestClassifier(60, random_state=0)
    pipeline, grid, forests = forests_beside_a_tree(
        DecisionTreeClassifier(random_state=0), forest, max_features=[2, 6], min_samples_leaf=[1, 5]
    )
    search = GridSearch(pipeline, grid, criterion=Race(), random_state=0).fit(X, y)
    assert search.n_fits_ <= 4 + 10 + 10 + 1, "four forests, ten folds of trees and of the own setting, the refit"
    scaled = StandardScaler().fit_transform(X)
    for setting, losses in zip(
        search.cv_results_["params"][forests], search.curve_.left_out.losses[forests], strict=True
    ):
        own = clone(setting["model"]).set_params(
            max_features=setting["model__max_features"],
            min_samples_leaf=setting["model__min_samples_leaf"],
            oob_score=True,
        )
        wrong = own.fit(scaled, y).oob_decision_function_.argmax(axis=1) != y
        known = ~np.isnan(losses)
        np.testing.assert_array_equal(losses[known], wrong[known])
    by_folds = GridSearch(pipeline, grid, criterion=Race(over="folds"), random_state=0).fit(X, y)
    assert by_folds.n_fits_ > search.n_fits_


def test_the_forest_that_wins_beside_other_learners_is_not_fitted_again():
    X, y = make_regression(150, 6, noise=20.0, random_state=0)
    forest = RandomForestRegressor(40, random_state=3)
    pipeline, grid, _ = forests_beside_a_tree(DecisionTreeRegressor(random_state=0), forest, max_features=[0.5, 1.0])
    search = GridSearch(pipeline, grid, criterion=Race(), loss="squared", random_state=0).fit(X, y)
    assert isinstance(search.best_params_["model"], RandomForestRegressor)
    again = clone(pipeline).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), again.predict(X))
    alone = GridSearch(forest, {"max_features": [0.5, 1.0]}, criterion="oob", loss="squared", random_state=0)
    # A scaler moves thresholds by rounding only; squared errors are corrected for the number of trees.
    assert -search.best_score_ == pytest.approx(alone.fit(X, y).curve_.out_sample.min(), rel=0.02)


def test_who_costs_nothing_is_seen_on_all_rows_before_it_is_judged(table):
    """Two errors in two folds are not worse than one, and waiting is free."""
    X, y = table
    forest = RandomForestClassifier(60, random_state=0)
    pipeline, grid, _ = forests_beside_a_tree(
        DecisionTreeClassifier(random_state=0), forest, max_features=[1, 6], max_depth=[1, 9]
    )
    search = GridSearch(pipeline, grid, criterion=Race(confidence=0.6), random_state=0).fit(X, y)
    race = search.race_
    fitted = np.array(
        [isinstance(params.get("model", pipeline["model"]), DecisionTreeClassifier) for params in race.params]
    )
    assert not (np.array(race.reason)[~fitted] == "worse").any()
    assert (race.n_splits[~fitted] >= len(race.order)).all()
    assert (np.array(race.reason)[fitted] == "worse").any(), "trees, which are fitted to every fold, leave"


def test_forests_are_fitted_to_folds_that_are_given_against_scikit_learn(table):
    X, y = table
    forest = RandomForestClassifier(30, random_state=0)
    pipeline, grid, forests = forests_beside_a_tree(DecisionTreeClassifier(random_state=0), forest, max_features=[2, 6])
    search = GridSearch(pipeline, grid, criterion=Race(KFold(4)), refit=False, random_state=0).fit(X, y)
    for setting, scores in zip(search.cv_results_["params"][forests], split_scores(search)[forests], strict=True):
        own = cross_val_score(clone(pipeline).set_params(**setting), X, y, cv=KFold(4))
        known = ~np.isnan(scores)
        assert known.any()
        np.testing.assert_array_equal(scores[known], own[known])


def test_a_budget_counts_the_fits_of_forests_to_folds(table):
    X, y = table
    forest = RandomForestClassifier(30, random_state=0)
    pipeline, grid, _ = forests_beside_a_tree(DecisionTreeClassifier(random_state=0), forest, max_features=[2, 6])
    assert GridSearch(pipeline, grid, criterion=Race(max_fits=12), refit=False, random_state=0).fit(X, y).n_fits_ <= 12


def test_forests_beside_other_learners_have_the_same_numbers_for_any_number_of_jobs(table):
    X, y = table
    forest = RandomForestClassifier(30, random_state=0)
    pipeline, grid, _ = forests_beside_a_tree(DecisionTreeClassifier(random_state=0), forest, max_features=[2, 6])
    alone, both = (
        GridSearch(pipeline, grid, criterion=Race(), scoring="roc_auc", random_state=0, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(split_scores(alone), split_scores(both))
    assert alone.best_params_ == both.best_params_


def test_what_is_spared_loses_no_more_than_is_tolerated():
    """Simulated losses of candidates that are alike, near and far: what races lose on average against all rows."""
    rng = np.random.default_rng(3)
    means = np.array([0.0, 0.0, 0.005, 0.01, 0.02, 0.05, 0.2]) + 0.5
    lost, risks, fits = [], [], []
    for _ in range(100):
        losses = np.maximum(0.0, means[:, None] + 0.3 * rng.normal(size=400) + 0.3 * rng.normal(size=(7, 400)))
        # So sure that nobody leaves for being worse.
        search = repeated(losses, Race(confidence=0.9999))
        record = search.race_
        assert (record.n_splits[record.reason == "close"] >= 2).all()
        lost.append(losses[search.best_index_].mean() - losses.mean(axis=1).min())
        risks.append(losses.mean(axis=1).min())
        fits.append(search.n_fits_)
    error = np.std(lost) / np.sqrt(len(lost))
    assert np.mean(lost) < 0.01 * np.mean(risks) + 2 * error
    assert np.mean(fits) < 30


class Repeats(RegressorMixin, BaseEstimator):
    """Losses that were written down: X has the numbers of the rows, whose labels begin anew after nine."""

    losses: np.ndarray

    def __init__(self, place=0):
        self.place = place

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return X[:, 0] % 9 + np.sqrt(self.losses[self.place, X[:, 0].astype(int)])


BOOSTING = {"max_iter": [5, 20, 60], "learning_rate": [0.1, 0.5]}


def boosted(X, y, confidence=0.9, **settings):
    race = Race(FOLDS, confidence=confidence)
    return raced(X, y, HistGradientBoostingClassifier(random_state=0), BOOSTING, criterion=race, **settings)


def stages_of_fits(patch):
    """A list that gets the number of stages of every boosting that is fitted."""
    stages, original = [], HistGradientBoostingClassifier.fit

    def fit(self, X, *arguments, **named):
        # Without a table nothing is fitted: scikit-learn is asked whether it takes the parameters.
        if X is not None:
            stages.append(self.max_iter)
        return original(self, X, *arguments, **named)

    patch.setattr(HistGradientBoostingClassifier, "fit", fit)
    return stages


def test_boosting_is_fitted_to_the_stages_that_can_still_win(table, monkeypatch):
    X, y = table
    stages = stages_of_fits(monkeypatch)
    search = boosted(X, y)
    dropped = search.race_.n_splits.min()
    assert dropped < 5
    # The first fold: the own setting of the learner is on the path of its learning rate.
    assert stages[:2] == [100, 60]
    assert min(stages) < 60
    for setting, scores in zip(search.cv_results_["params"], split_scores(search), strict=True):
        own = cross_val_score(HistGradientBoostingClassifier(random_state=0, **setting), X, y, cv=FOLDS)
        known = ~np.isnan(scores)
        np.testing.assert_array_equal(scores[known], own[known])
