"""`verdict_`: one sentence about what tuning brought, and what there is to do."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import ParameterGrid, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import Auto, CrossValidation, GridSearch, LeaveOneOut, OutOfBag, Race, RandomizedSearch
from outsample.curve.intervals import Difference
from outsample.problem import ask
from outsample.questions.contest import outcome_of
from outsample.questions.grid_edges import edge, edge_in_words
from outsample.questions.own_setting import with_reference
from outsample.rules import minimum

OWN = "the estimator's own setting"


@pytest.fixture(scope="module")
def table():
    return make_classification(300, 8, n_informative=4, flip_y=0.05, class_sep=1.5, random_state=0)


def verdict(estimator, grid, table, **options):
    return str(GridSearch(estimator, grid, random_state=0, **options).fit(*table).verdict_)


def test_one_sentence(table):
    said = verdict(KNeighborsClassifier(), {"n_neighbors": [3, 5, 15, 41]}, table, criterion="loo")
    assert said[0].isupper()
    assert said.endswith(".")
    assert ". " not in said
    assert "\n" not in said


def test_tuning_that_helps(table):
    stump = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0)
    said = verdict(stump, {"max_leaf_nodes": [2, 8, 12, 16]}, table, criterion="kfold")
    assert f"uning beats {OWN} (max_leaf_nodes=2) by" in said
    assert "±" in said
    assert "(accuracy)" in said or "(zero-one)" in said


def test_tuning_that_does_not(table):
    X, y = table
    noise = np.random.default_rng(0).integers(0, 2, len(y))
    said = verdict(KNeighborsClassifier(), {"n_neighbors": [5, 6, 7, 8]}, (X, noise), criterion="loo")
    assert said.startswith("Nothing tried is clearly better than guessing")
    assert f"beats {OWN}" not in said.replace("not beat", "")
    chosen = verdict(Ridge(alpha=0.01), {"alpha": [0.01, 1000.0]}, load_diabetes(return_X_y=True), criterion="loo")
    assert chosen.startswith(f"Tuning brings nothing: {OWN} (alpha=0.01) was chosen")


def test_the_gain_is_corrected_for_having_chosen_among_many():
    """Forty candidates on labels that are noise: the best seems better than the default by chance."""
    from outsample.questions.verdict import Found, _gain

    rng = np.random.default_rng(1)
    search = GridSearch(KNeighborsClassifier(), {"n_neighbors": list(range(1, 41))}, criterion="loo", random_state=0)
    X, y = rng.standard_normal((150, 2)), rng.integers(0, 2, 150)
    search.fit(X, y)
    found = Found(
        search._decisive_outcome,
        search.estimator,
        search.cv_results_["params"],
        search.best_index_,
        None,
        {},
        None,
        minimum,
    )
    default = 4
    losses = search.curve_.left_out.losses
    places = [int(p["n_neighbors"]) for p in search.curve_.params]
    plain = losses[places.index(5)].mean() - losses[places.index(search.best_params_["n_neighbors"])].mean()
    assert plain > 0
    assert _gain(found, default).value < plain - 0.01


def test_the_error_of_the_gain_is_that_of_all_choices():
    """The penalty chosen predicts nearly the same as the default; others might have been chosen."""
    scaled = make_pipeline(StandardScaler(), Ridge())
    grid = {"ridge__alpha": np.logspace(-3, 4, 30)}
    search = GridSearch(scaled, grid, scoring="r2", random_state=0).fit(*load_diabetes(return_X_y=True))
    assert str(search.verdict_).startswith("Tuning does not beat the estimator's own setting (ridge__alpha=1.0)")


def test_a_difference_in_the_last_digits_is_none(monkeypatch):
    """Without losses of single rows, as beyond a million rows, the sign of a score's gain is that of the score."""
    from outsample.questions import verdict as module

    own = f"{OWN} (alpha=1.0)"
    for gain, said in (
        (1e-12, f"Tuning brings nothing: {own} does as well"),
        (0.02, f"By loo the chosen candidate is better than {own} by 0.02 (r2)"),
        (-0.02, f"By loo the chosen candidate is worse than {own} by 0.02 (r2)"),
    ):
        monkeypatch.setattr(module, "_gain", lambda found, place, gain=gain: Difference(gain, float("nan"), 1.0))
        grid = {"alpha": [0.01, 1.0, 30.0]}
        assert verdict(Ridge(), grid, load_diabetes(return_X_y=True), scoring="r2", criterion="loo").startswith(said)


def test_a_setting_that_was_not_tried_is_said_to_be_so(table):
    said = verdict(DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 4, 8]}, table, criterion="kfold")
    assert said.startswith("The estimator's own setting (max_leaf_nodes=None) was not tried: this search fits the grid")


def behind_scaler(learner):
    return make_pipeline(StandardScaler(), learner)


SEEDED = {"random_state": 0}
EVERY = [
    (DecisionTreeClassifier(**SEEDED), {"max_leaf_nodes": range(2, 20)}),
    (DecisionTreeRegressor(**SEEDED), {"max_leaf_nodes": [2, 3, 5]}),
    (behind_scaler(DecisionTreeClassifier(**SEEDED)), {"decisiontreeclassifier__max_leaf_nodes": [2, 3, 5, 8]}),
    (DecisionTreeClassifier(max_features="sqrt", **SEEDED), {"max_leaf_nodes": [2, 3, 5, 8]}),
    (DecisionTreeClassifier(**SEEDED), {"max_depth": [1, 2, 3, 4]}),
    (DecisionTreeRegressor(**SEEDED), {"ccp_alpha": [0.01, 0.03, 0.1]}),
    (GradientBoostingClassifier(n_estimators=20, **SEEDED), {"n_estimators": [5, 7, 10, 12]}),
    (KNeighborsClassifier(), {"n_neighbors": [1, 9]}),
    (behind_scaler(KNeighborsClassifier()), {"kneighborsclassifier__n_neighbors": [1, 9]}),
    (Ridge(), {"alpha": [0.1, 10.0]}),
    (Lasso(), {"alpha": [0.1, 0.2, 0.5]}),
    (behind_scaler(LogisticRegression()), {"logisticregression__C": [0.1, 10, 100]}),
    (RandomForestClassifier(50, **SEEDED), {"n_estimators": [30, 40, 60]}),
    (GaussianNB(), {"var_smoothing": [1e-3, 1e-1]}),
]


def data_for(estimator, table):
    X, y = table
    return (X, y) if is_classifier(estimator) else (X, X[:, 0] + y)


@pytest.mark.parametrize(("estimator", "grid"), EVERY, ids=lambda value: str(value)[:40])
def test_every_learner_is_compared_with_its_own_setting(table, estimator, grid):
    """The grid's own rows and numbers are those of a search that does not try it."""
    X, y = data_for(estimator, table)
    search = GridSearch(estimator, grid, random_state=0).fit(X, y)
    assert OWN in str(search.verdict_).replace("The", "the")
    assert "was not tried" not in search.verdict_
    assert "±" in search.verdict_ or "was chosen" in search.verdict_
    assert len(search.cv_results_["params"]) == len(ParameterGrid(grid))
    question = ask(estimator, X, y, loss=Auto().default_loss([estimator]), random_state=0)
    settings = list(ParameterGrid(grid))
    plain = outcome_of(question, estimator, settings, Auto(), minimum, True, np.nan)
    # Where one fit tells about all rows left out, it tells about the own setting too.
    assert plain.curve.n_fits < search.n_fits_ <= 5 * len(settings) or plain.curve.criterion == "loo"
    np.testing.assert_allclose(search.curve_.out_sample, plain.curve.out_sample, rtol=1e-12)


@pytest.mark.parametrize(("options", "fit"), [({"scoring": "roc_auc"}, {}), ({"scoring": "f1"}, {}), ({}, "weight")])
def test_any_score_and_weights_are_compared(table, options, fit):
    X, y = table
    given = {"sample_weight": np.arange(len(y)) // 2 + 1.0} if fit else {}
    grid = {"max_leaf_nodes": list(range(2, 12))}
    search = GridSearch(DecisionTreeClassifier(random_state=0), grid, random_state=0, **options)
    assert "was not tried" not in search.fit(X, y, **given).verdict_


@pytest.mark.parametrize(
    ("estimator", "grid", "options", "reason"),
    [
        (SVC(), {"C": [0.1, 10]}, {}, "this search fits the grid alone"),
        (DecisionTreeClassifier(), {"max_leaf_nodes": [2, 4]}, {}, "with it the search would take more fits than five"),
        (
            GradientBoostingClassifier(**SEEDED),
            {"n_estimators": [2, 4]},
            {},
            "it is so much larger than the candidates",
        ),
        (
            LinearDiscriminantAnalysis(solver="lsqr"),
            {"shrinkage": [0.1, 0.5]},
            {},
            "with it the search would take more fits than five",
        ),
        (DecisionTreeClassifier(), {"max_depth": [1, 2]}, {"cv": 3}, "this search fits the grid alone"),
    ],
)
def test_why_it_was_not_tried(table, estimator, grid, options, reason):
    assert f"was not tried: {reason}" in verdict(estimator, grid, table, **options)


def test_the_full_tree_has_the_error_of_scikit_learns(table):
    """A tree without a limit is grown once here; scikit-learn's ties fall elsewhere, and its error is the same."""
    ours, theirs = [], []
    for seed in range(8):
        X, y = make_classification(200, 8, n_informative=4, flip_y=0.1, random_state=seed)
        tree = DecisionTreeClassifier(random_state=seed)
        limits = [{"max_leaf_nodes": k} for k in range(2, 9)]
        _, found = reference((X, y), tree, limits, {"max_leaf_nodes": None}, Auto())
        ours.append(found.reference.losses.mean())
        theirs.append(1 - cross_val_score(tree, X, y, cv=5).mean())
    apart = np.subtract(ours, theirs)
    assert abs(apart.mean()) < 3 * apart.std(ddof=1) / np.sqrt(len(apart))
    assert np.corrcoef(ours, theirs)[0, 1] > 0.5


def test_criteria_without_rows_and_scikit_learns_loop(table):
    grid = {"max_leaf_nodes": [None, 2, 3, 8]}
    by_labels = verdict(DecisionTreeClassifier(random_state=0), grid, table, criterion="permutation")
    assert re.search("the chosen candidate is (better|worse) than .* and how surely cannot be said", by_labels)
    assert "may be the best" not in by_labels
    by_loop = verdict(DecisionTreeClassifier(random_state=0), grid, table, cv=5, return_train_score=True)
    assert "±" in by_loop


def in_words(estimator, name, chosen, values, n_samples, fitted=None):
    side = edge(estimator, name, chosen, values, n_samples, fitted)
    return side and edge_in_words(name, side, {name: chosen}, values)


@pytest.mark.parametrize(
    ("estimator", "name", "chosen", "values", "expected"),
    [
        (KNeighborsClassifier(), "n_neighbors", 1, [1, 3, 5], ""),
        (KNeighborsClassifier(), "n_neighbors", 3, [3, 5, 7], "n_neighbors=3 is the smallest value tried"),
        (KNeighborsClassifier(), "n_neighbors", 7, [3, 5, 7], "n_neighbors=7 is the largest value tried"),
        (KNeighborsClassifier(), "n_neighbors", 99, [3, 5, 99], ""),
        (DecisionTreeClassifier(), "max_leaf_nodes", 2, [2, 3, 4], ""),
        (
            DecisionTreeClassifier(),
            "max_depth",
            9,
            [None, 3, 5, 9],
            "max_depth=9 is the largest number tried beside None",
        ),
        (DecisionTreeClassifier(), "max_features", 1.0, [0.1, 0.5, 1.0], ""),
        (DecisionTreeClassifier(), "max_features", 0.1, [0.1, 0.5, 1.0], "max_features=0.1 is the smallest"),
        (DecisionTreeClassifier(), "criterion", "gini", ["gini", "entropy", "log_loss"], ""),
        (Lasso(), "alpha", 0, [0, 1, 2], ""),
        (Lasso(), "alpha", 0.0, [0.0, 1.0, 2.0], ""),
        (SVC(), "C", 0.01, [0.01, 1.0, 10.0], "C=0.01 is the smallest value tried, smaller ones may be better"),
        (SVC(), "C", 1.0, [0.01, 1.0, 10.0], ""),
        (SVC(), "C", 10.0, [1.0, 10.0], ""),
        (make_pipeline(StandardScaler(), SVC()), "svc__C", 10, [0.1, 1, 10], "svc__C=10 is the largest value tried"),
        (make_pipeline(KNeighborsClassifier()), "kneighborsclassifier__n_neighbors", 1, [1, 2, 3], ""),
        (object(), "depth", 1, [1, 2, 3], ""),
        (object(), "depth", 2, [2, 3, 4], "depth=2 is the smallest"),
        (SVC(), "shrinking", True, [True, False], ""),
    ],
)
def test_edges_of_the_grid(estimator, name, chosen, values, expected):
    said = in_words(estimator, name, chosen, values, 100)
    assert said.startswith(expected)
    assert bool(said) == bool(expected)


def test_edges_are_those_of_lists_not_of_draws(table):
    X, y = load_diabetes(return_X_y=True)
    drawn = RandomizedSearch(Ridge(), {"alpha": loguniform(1e3, 1e5)}, n_iter=5, criterion="loo", random_state=0)
    assert "value tried" not in drawn.fit(X, y).verdict_
    listed = GridSearch(Ridge(), {"alpha": [1e3, 1e4, 1e5]}, criterion="loo").fit(X, y)
    assert "alpha=1000.0 is the smallest value tried" in listed.verdict_


def test_how_many_are_as_good(table):
    assert "no other candidate may be the best" in verdict(
        DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 12]}, table, criterion="kfold"
    )
    same = verdict(Ridge(), {"alpha": [1.0, 1.0 + 1e-12]}, load_diabetes(return_X_y=True), criterion="loo")
    assert "nothing tells the 2 candidates apart" in same


def reference(table, estimator, settings, own, criterion):
    question = ask(estimator, *table, random_state=0)
    outcome = outcome_of(question, estimator, settings, criterion, minimum, True, np.nan)
    return outcome, with_reference(outcome, question, estimator, own, criterion)


def test_the_reference_has_the_losses_it_would_have_as_a_candidate(table):
    """Exact left-out rows from one fit, and rows out of bag."""
    neighbours = [{"n_neighbors": k} for k in (1, 9, 15)]
    plain, found = reference(table, KNeighborsClassifier(), neighbours, {"n_neighbors": 5}, LeaveOneOut())
    among, _ = reference(table, KNeighborsClassifier(), [*neighbours, {"n_neighbors": 5}], {}, LeaveOneOut())
    place = next(i for i, setting in enumerate(among.curve.params) if setting["n_neighbors"] == 5)
    assert np.array_equal(found.reference.losses[0], among.curve.left_out.losses[place])
    assert len(found.curve) == 3
    assert found.curve.n_fits == plain.curve.n_fits + 1
    forest = RandomForestClassifier(40, random_state=0)
    settings = [{"max_depth": d} for d in (1, 2, 3, 4)]
    _, found = reference(table, forest, settings, {"max_depth": None}, OutOfBag())
    assert np.isfinite(found.reference.losses).mean() > 0.9


def test_a_race_of_ones_own_says_when_it_dropped_the_default(table):
    said = verdict(SVC(C=1e-4), {"C": [1.0, 10.0]}, table, criterion="race")
    assert said.startswith("Tuning probably beats the estimator's own setting (C=0.0001): the race dropped it after")
    assert "1 fold, when it was worse by" in said
    with pytest.warns(FitFailedWarning):
        said = verdict(SVC(C=-1.0), {"C": [1.0, 10.0]}, table, criterion="race")
    assert said.startswith("The estimator's own setting (C=-1.0) was rejected")


def test_a_choice_that_predicts_the_same_gains_nothing(table):
    """Trees of two hundred leaves are full trees here; nothing beyond 0 ± 0 is said of them."""
    said = verdict(DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": range(200, 204)}, table)
    assert said.startswith("Tuning brings nothing: the estimator's own setting (max_leaf_nodes=None) lost the same on")


def test_auto_adds_no_row_to_the_results(table):
    search = GridSearch(KNeighborsClassifier(), {"n_neighbors": [1, 9, 15]}, criterion=Auto(), random_state=0).fit(
        *table
    )
    assert len(search.cv_results_["params"]) == len(search.curve_) == 3
    assert "(n_neighbors=5)" in search.verdict_
    assert "was not tried" not in search.verdict_


def test_a_race_fits_its_candidates_alone(table):
    grid = {"C": [0.01, 0.1, 2.0, 10.0], "kernel": ["rbf"]}
    search = GridSearch(SVC(), grid, random_state=0).fit(*table)
    assert search.n_fits_ == search.race_.n_fits
    assert "(C=1.0, kernel=rbf) was not tried: this search fits the grid alone" in search.verdict_
    assert "was not tried" not in verdict(SVC(), grid | {"C": [0.01, 1.0, 2.0]}, table)


def test_the_default_is_found_whatever_the_type_of_its_number():
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearch(SVC(), {"C": [1, 100], "gamma": ["scale", 1e-3]}, criterion=Race(3), random_state=0).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.cv_results_["is_default"].tolist() == [True, False, False, False]


def test_a_second_fit_has_its_own(table):
    X, y = table
    search = GridSearch(KNeighborsClassifier(), {"n_neighbors": [1, 5, 15]}, criterion="loo")
    first = search.fit(X, y).verdict_
    assert search.fit(X, np.random.default_rng(0).integers(0, 2, len(y))).verdict_ != first


def test_several_metrics_without_refit_choose_nothing(table):
    search = GridSearch(
        KNeighborsClassifier(), {"n_neighbors": [1, 5]}, scoring=["accuracy", "f1"], refit=False, criterion="kfold"
    ).fit(*table)
    assert not hasattr(search, "verdict_")


def test_trees_without_limits_are_left_out_on_many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_100, 2))
    tree, grid = DecisionTreeRegressor(random_state=0), {"max_leaf_nodes": [2, 4, 8]}
    search = GridSearch(tree, grid, random_state=0, refit=False).fit(X, X[:, 0] + rng.normal(size=len(X)))
    assert search.n_fits_ == 6
    assert "was not tried: on more than 10000 rows a tree without limits" in search.verdict_


def test_one_fit_tells_about_the_reference_and_all_candidates():
    X, y = load_diabetes(return_X_y=True)
    learner, alphas = Ridge(), [0.1, 10.0, 100.0]
    search = GridSearch(learner, {"alpha": alphas}, loss="squared", refit=False).fit(X, y)
    among = GridSearch(learner, {"alpha": [*alphas, 1.0]}, loss="squared", refit=False).fit(X, y)
    assert search.n_fits_ == 1
    assert list(search.cv_results_["param_alpha"]) == alphas
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], among.cv_results_["mean_test_score"][:3], rtol=1e-11
    )
    place = next(i for i, setting in enumerate(among.curve_.params) if setting["alpha"] == 1.0)
    theirs = among.curve_.left_out.losses[place]
    np.testing.assert_allclose(search._decisive_outcome.reference.losses[0], theirs, rtol=1e-9)
    assert f"{OWN} (alpha=1.0)" in search.verdict_


NOISE = [
    (LogisticRegression(), {"C": [0.01, 0.1, 1]}, "roc_auc", 0.5),
    (behind_scaler(SVC()), {"svc__C": [0.1, 1, 10]}, "balanced_accuracy", 0.5),
    (GaussianNB(), {"var_smoothing": [1e-9, 0.1, 1]}, "neg_log_loss", -0.693),
    (behind_scaler(SVC()), {"svc__C": [0.1, 1, 10]}, "f1", 0.667),
    (Ridge(), {"alpha": [0.1, 1, 10]}, None, 0),
    (RandomForestRegressor(40, **SEEDED), {"min_samples_leaf": [1, 5, 20]}, "r2", 0),
    (Ridge(), {"alpha": [0.1, 1, 10]}, "neg_mean_absolute_error", None),
]


@pytest.mark.parametrize(("learner", "grid", "scoring", "guess"), NOISE, ids=lambda value: str(value)[:20])
def test_scores_of_labels_without_information_are_not_better_than_guessing(learner, grid, scoring, guess):
    rng = np.random.default_rng(3)
    X, classes = rng.standard_normal((150, 4)), np.tile([0, 1], 75)
    y = rng.permutation(classes) if is_classifier(learner) else rng.standard_normal(150)
    said = verdict(learner, grid, (X, y), scoring=scoring)
    assert said.startswith("Nothing tried is clearly better than guessing (")
    assert guess is None or f" {guess});" in said.split("guessing")[1]
    shown = 3 * X[:, 0] + 0.1 * rng.standard_normal(150)
    there = (shown > 0).astype(int) if is_classifier(learner) else shown
    assert "guessing" not in verdict(learner, grid, (X, there), scoring=scoring)


def test_a_gain_lost_by_having_chosen_says_where_it_was_measured(table):
    X, _ = table
    labels = np.random.default_rng(1).integers(0, 2, len(X))
    search = GridSearch(KNeighborsClassifier(), {"n_neighbors": range(1, 41)}, random_state=0).fit(X, labels)
    scores = search.cv_results_["mean_test_score"]
    assert scores.max() > scores[4]
    assert "on rows that it did not choose by, it did worse by" in search.verdict_


def test_the_number_of_columns_is_no_edge(table):
    X, y = table
    forest = ExtraTreesClassifier(30, bootstrap=True, **SEEDED)
    picked = make_pipeline(StandardScaler(), SelectKBest(k=8), GaussianNB())
    for learner, name in ((forest, "max_features"), (picked, "selectkbest__k")):
        model = learner.set_params(**{name: 8}).fit(X, y)
        assert in_words(learner, name, 8, [2, 4, 8], len(y), model) == ""
        model = learner.set_params(**{name: 4}).fit(X, y)
        assert in_words(learner, name, 4, [2, 3, 4], len(y), model).startswith(f"{name}=4 is the largest")
    said = verdict(picked, {"selectkbest__k": [1, 2, 8]}, (X, y))
    assert "is the largest value tried" not in said


def test_it_is_a_record_whose_text_is_the_sentence(table):
    stump = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0)
    search = GridSearch(stump, {"max_leaf_nodes": [2, 8, 12, 16]}, criterion="kfold", random_state=0).fit(*table)
    found = search.verdict_
    assert str(found) == repr(found) == found.sentence
    assert "uning beats" in found
    assert found.beats_default is found.beats_guessing is True
    assert found.interval[0] < found.gain < found.interval[1]
    assert found.default_params == {"max_leaf_nodes": 2}
    assert found.n_plausible == len(search.plausible_)
    by_labels = GridSearch(stump, {"max_leaf_nodes": [2, 8]}, criterion="permutation", random_state=0).fit(*table)
    assert by_labels.verdict_.gain == pytest.approx(-np.diff(by_labels.curve_.out_sample)[0])
    assert by_labels.verdict_.interval is by_labels.verdict_.beats_default is by_labels.verdict_.beats_guessing is None


WEAK = ("r2", "neg_root_mean_squared_error", "neg_mean_squared_error", "neg_mean_absolute_error", None)


@pytest.mark.parametrize("scoring", WEAK)
def test_a_weak_but_sure_signal_is_better_than_guessing_whatever_the_score(scoring):
    """True r2 .12 on 500 rows, which permutation tests find with p = .005."""
    missed = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((500, 5))
        y = X @ [0.3, 0.2, 0.1, 0, 0] + rng.standard_normal(500)
        search = GridSearch(behind_scaler(Ridge()), {"ridge__alpha": np.logspace(-2, 4, 10)}, scoring=scoring)
        missed += not search.fit(X, y).verdict_.beats_guessing
    assert missed <= 1


def test_a_weak_signal_in_counts_is_better_than_guessing_by_deviance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    y = rng.poisson(np.exp(0.25 * X[:, 0])).astype(float)
    grid = {"alpha": [0.01, 0.1, 1.0]}
    search = GridSearch(PoissonRegressor(), grid, scoring="neg_mean_poisson_deviance", criterion="kfold")
    assert search.fit(X, y).verdict_.beats_guessing
    assert search.fit(X, rng.permutation(y)).verdict_.beats_guessing is False


@pytest.mark.parametrize(
    ("scoring", "strategy"),
    [("neg_mean_squared_error", "mean"), ("neg_mean_absolute_error", "median"), ("r2", "mean")],
)
def test_losses_of_the_best_constant_against_scikit_learns_dummy(scoring, strategy):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((75, 2)), rng.exponential(size=75)
    search = GridSearch(Ridge(), {"alpha": [1.0, 10.0]}, scoring=scoring, criterion=CrossValidation(5)).fit(X, y)
    outcome = search._decisive_outcome
    scored = cross_val_score(DummyRegressor(strategy=strategy), X, y, scoring=scoring)
    fold = outcome.curve.left_out.fold
    assert [-outcome.constant.losses[0, fold == k].mean() for k in range(5)] == pytest.approx(scored)


def test_losses_of_the_most_frequent_class_do_not_depend_on_folds(table):
    """Leaving out a row of the larger of two classes may make it the smaller one; that says nothing of guessing."""
    X, y = table
    search = GridSearch(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, criterion="loo").fit(X, y)
    most = np.bincount(y).argmax()
    assert np.array_equal(search._decisive_outcome.constant.losses[0], y != most)


@pytest.mark.parametrize(
    "options",
    [
        {"cv": 3},
        {"cv": 3, "error_score": 0.0},
        {"criterion": "kfold"},
        {"criterion": "loo"},
        {"criterion": "two-stage"},
        {"criterion": "permutation"},
        {},
    ],
)
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (KNeighborsClassifier(n_neighbors=500), {"n_neighbors": [500, 5, 9]}),
        (SVC(C=-1), {"C": [-1, 1.0, 10.0]}),
    ],
)
def test_an_own_setting_that_was_rejected_is_said_to_be_so(table, estimator, grid, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = GridSearch(estimator, grid, random_state=0, **options).fit(*table).verdict_
    assert f"he estimator's own setting ({next(iter(grid))}={grid[next(iter(grid))][0]}) was rejected" in found
    assert "nan" not in found
    assert found.gain is found.beats_default is None


def test_an_own_setting_beside_the_grid_that_is_rejected_is_said_to_be_so(table):
    assert "(max_depth=-1) was rejected: it cannot be fitted" in verdict(
        DecisionTreeClassifier(max_depth=-1), {"max_depth": range(1, 12)}, table
    )


def test_no_edge_is_named_where_nothing_can_become_better():
    rng = np.random.default_rng(0)
    X = np.r_[rng.standard_normal((50, 2)) - 20, rng.standard_normal((50, 2)) + 20]
    grid = {"C": [0.001, 0.01, 0.1]}
    for scoring in ("accuracy", "roc_auc", None):
        search = GridSearch(LogisticRegression(), grid, scoring=scoring, criterion="kfold").fit(
            X, np.repeat([0, 1], 50)
        )
        assert search.verdict_.edges == {}
        assert "value tried" not in search.verdict_
    noisy = GridSearch(Ridge(), {"alpha": [1e3, 1e4, 1e5]}, criterion="loo").fit(*load_diabetes(return_X_y=True))
    assert noisy.verdict_.edges == {"alpha": "smallest"}
