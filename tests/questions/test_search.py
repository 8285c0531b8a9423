"""GridSearch as a user of GridSearchCV meets it."""

from __future__ import annotations

import itertools
import pickle
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import CrossValidation, GridSearch, Permutation, RandomizedSearch
from outsample.curve.risk_curve import PER_MODEL


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


SCIKIT_LEARN_CASES = {
    "tree": (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [7, 2, 30]}, "cancer", 5),
    "tree, two criteria": (
        DecisionTreeClassifier(random_state=0),
        {"max_leaf_nodes": [2, 5], "criterion": ["gini", "entropy"]},
        "iris",
        KFold(4, shuffle=True, random_state=1),
    ),
    "neighbours": (KNeighborsClassifier(), {"n_neighbors": list(range(1, 12))}, "iris", 5),
    "neighbours, regression": (KNeighborsRegressor(), {"n_neighbors": [1, 5, 20]}, "diabetes", 4),
    "ridge": (Ridge(), {"alpha": [0.01, 1.0, 100.0]}, "diabetes", 5),
    "lasso": (Lasso(), {"alpha": [0.1, 1.0, 10.0]}, "diabetes", 3),
    "logistic pipeline": (
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [0.01, 1.0, 10.0]},
        "iris",
        3,
    ),
    "polynomial": (
        make_pipeline(PCA(1), PolynomialFeatures(), LinearRegression()),
        {"polynomialfeatures__degree": [1, 2, 3]},
        "diabetes",
        3,
    ),
    "supervised step": (
        make_pipeline(SelectKBest(), KNeighborsClassifier()),
        {"selectkbest__k": [1, 2, 3], "kneighborsclassifier__n_neighbors": [1, 5]},
        "iris",
        3,
    ),
    "list of grids": (SVC(), [{"C": [1, 10], "gamma": [0.1]}, {"kernel": ["linear"]}], "iris", 3),
    "repeated": (
        DecisionTreeRegressor(random_state=0),
        {"max_leaf_nodes": [2, 9]},
        "diabetes",
        ShuffleSplit(3, random_state=0),
    ),
    "stratified": (
        DecisionTreeClassifier(random_state=0),
        {"max_leaf_nodes": [2, 9]},
        "iris",
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
    ),
}


@pytest.mark.parametrize("case", SCIKIT_LEARN_CASES)
@pytest.mark.parametrize("fast", [True, False])
def test_cross_validation_against_scikit_learn(case, fast, request):
    estimator, grid, data, cv = SCIKIT_LEARN_CASES[case]
    X, y = request.getfixturevalue(data)
    theirs = GridSearchCV(estimator, grid, cv=cv).fit(X, y)
    ours = GridSearch(estimator, grid, criterion=CrossValidation(cv), fast=fast).fit(X, y)
    assert set(theirs.cv_results_) <= set(ours.cv_results_)
    for key in ("mean_test_score", "std_test_score", "split0_test_score", "split1_test_score"):
        np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key], rtol=1e-9, err_msg=key)
    np.testing.assert_array_equal(ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"])
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    assert ours.n_splits_ == theirs.n_splits_
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y) == theirs.score(X, y)
    for name in (key for key in theirs.cv_results_ if key.startswith("param_")):
        assert ours.cv_results_[name].tolist() == theirs.cv_results_[name].tolist()


def test_cross_validation_on_sparse_input_against_scikit_learn(iris):
    X, y = sparse.csr_matrix(iris[0]), iris[1]
    grid = {"max_leaf_nodes": [2, 3, 9]}
    theirs = GridSearchCV(DecisionTreeClassifier(random_state=0), grid, cv=3).fit(X, y)
    ours = GridSearch(DecisionTreeClassifier(random_state=0), grid, criterion=CrossValidation(3)).fit(X, y)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


FAST_CASES = {
    "tree": (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 5, 9]}, "iris"),
    "neighbours": (KNeighborsClassifier(), {"n_neighbors": [1, 4, 9], "weights": ["uniform", "distance"]}, "iris"),
    "ridge": (Ridge(), {"alpha": [0.1, 1.0, 10.0]}, "diabetes"),
    "smoother behind a scaler": (
        make_pipeline(StandardScaler(), KNeighborsRegressor()),
        {"kneighborsregressor__n_neighbors": [2, 5]},
        "diabetes",
    ),
    "tree behind a scaler": (
        make_pipeline(StandardScaler(), DecisionTreeRegressor(random_state=0)),
        {"decisiontreeregressor__max_leaf_nodes": [2, 5]},
        "diabetes",
    ),
}


@pytest.mark.parametrize("case", FAST_CASES)
def test_fast_false_gives_the_same_results(case, request):
    """Linear smoothers replace draws by their exact mean, so those agree up to Monte-Carlo error only."""
    estimator, grid, data = FAST_CASES[case]
    X, y = request.getfixturevalue(data)
    quick = GridSearch(estimator, grid, criterion="permutation", random_state=0).fit(X, y)
    slow = GridSearch(estimator, grid, criterion="permutation", random_state=0, fast=False).fit(X, y)
    assert slow.path_ == "RefitPath"
    assert quick.path_ != "RefitPath"
    np.testing.assert_allclose(quick.cv_results_["in_sample"], slow.cv_results_["in_sample"], rtol=1e-9)
    if (quick.curve_.monte_carlo_error == 0).all():
        difference = np.abs(quick.cv_results_["optimism"] - slow.cv_results_["optimism"])
        assert (difference < 5 * slow.cv_results_["monte_carlo_error"]).all()
    else:
        np.testing.assert_allclose(quick.cv_results_["out_sample"], slow.cv_results_["out_sample"], rtol=0.01)


def test_attributes(cancer):
    X, y = cancer
    names = np.array(["benign", "malignant"])[1 - y]
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    search = GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": range(2, 8)}, random_state=0).fit(frame, names)
    assert list(search.classes_) == ["benign", "malignant"]
    assert search.n_features_in_ == 30
    assert list(search.feature_names_in_) == list(frame.columns)
    assert search.n_fits_ == 22, "with the estimator's own setting on ten folds it would be more than 5 × 6"
    assert search.path_ == "TreePath"
    assert search.refit_time_ > 0
    assert set(search.predict(frame)) <= set(names)
    np.testing.assert_allclose(search.predict_proba(frame).sum(axis=1), 1)
    assert not hasattr(search, "decision_function")
    assert len(search.curve_) == 6
    assert list(search.curve_.complexity) == [2, 3, 4, 5, 6, 7]
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    np.testing.assert_allclose(search.cv_results_["out_sample"], 1 - search.cv_results_["mean_test_score"])
    np.testing.assert_allclose(
        search.cv_results_["out_sample"], search.cv_results_["in_sample"] + search.cv_results_["optimism"]
    )
    assert "estimates" in str(search.estimate_)


def test_one_standard_error_needs_the_error_not_the_deviation(cancer):
    X, y = cancer
    grid = {"max_leaf_nodes": range(2, 20)}
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearch(tree, grid, criterion=CrossValidation(10), rule="one-standard-error").fit(X, y)
    curve = search.curve_
    best = int(np.argmin(curve.out_sample))
    deviation = search.cv_results_["std_test_score"][best]
    np.testing.assert_allclose(curve.standard_error[best], deviation / np.sqrt(9))
    within = curve.out_sample <= curve.out_sample[best] + deviation / np.sqrt(9)
    assert search.best_params_["max_leaf_nodes"] == curve.complexity[np.flatnonzero(within)[0]]


def test_rules_and_callables(cancer):
    X, y = cancer
    grid = {"max_leaf_nodes": range(2, 10)}
    tree = DecisionTreeClassifier(random_state=0)
    assert GridSearch(tree, grid, rule=lambda c: 3, random_state=0).fit(X, y).best_params_ == {"max_leaf_nodes": 5}


@pytest.mark.parametrize("returned", [99, 8, -1, 0.5, 3.0, np.nan, True, None, "3", np.array([3])])
def test_a_rule_that_returns_no_place_of_a_model(returned, iris):
    grid = {"max_leaf_nodes": range(2, 10)}
    with pytest.raises(ValueError, match="rule must return the place of a model, a whole number from 0 to 7, it ret"):
        GridSearch(DecisionTreeClassifier(), grid, rule=lambda curve: returned).fit(*iris)
    curve = GridSearch(DecisionTreeClassifier(), grid, random_state=0).fit(*iris).curve_
    with pytest.raises(ValueError, match="rule must return the place of a model"):
        curve.plot(rules=[lambda curve: returned])


class NeverFitted(KNeighborsClassifier):
    def fit(self, X, y):
        raise AssertionError("bad arguments are to be refused before any fit")


NEVER = NeverFitted()
REFUSED = {
    "refit": (GridSearch(NEVER, {"n_neighbors": [1]}, refit=3), "The 'refit' parameter of GridSearch must be"),
    "error_score": (GridSearch(NEVER, {"n_neighbors": [1]}, error_score="foo"), "'error_score' .*Got 'foo' instead"),
    "error_score None": (GridSearch(NEVER, {"n_neighbors": [1]}, error_score=None), "'error_score' .*Got None instead"),
    "scoring": (GridSearch(NEVER, {"n_neighbors": [1]}, scoring="foo"), "'scoring' parameter .*Got 'foo' instead"),
    "two words for one thing": (
        GridSearch(NEVER, {"n_neighbors": [1]}, scoring="accuracy", loss="zero-one"),
        "loss='zero-one' and scoring='accuracy' say the same thing",
    ),
    "two ways to split": (
        GridSearch(NEVER, {"n_neighbors": [1]}, cv=3, criterion="632"),
        "cv=3 asks for cross-validation, criterion='632' says itself how rows are split; give one of them",
    ),
    "several metrics": (
        GridSearch(NEVER, {"n_neighbors": [1]}, scoring=["accuracy", "f1_macro"]),
        "refit must be set to a scorer key",
    ),
    "key": (GridSearch(NEVER, {1: [1]}), "param_grid: the name of a parameter is text, got 1"),
    "key of many": (
        GridSearch(NEVER, [{"n_neighbors": [1]}, {None: [1]}]),
        "the name of a parameter is text, got None",
    ),
    "key of a distribution": (RandomizedSearch(NEVER, {(1,): [1]}), "param_distributions: the name of a parameter is"),
    "grid": (GridSearch(NEVER, 5), "param_grid must be a dict of parameter values or a list of them, got 5"),
    "text": (GridSearch(NEVER, "n_neighbors"), "param_grid must be a dict of parameter values"),
    "pairs": (GridSearch(NEVER, [("n_neighbors", [1])]), "param_grid must be a dict of parameter values"),
} | {
    f"n_iter {n!r}": (RandomizedSearch(NEVER, {"n_neighbors": [1, 2]}, n_iter=n), f"n_iter must be a whole .*got {n!r}")
    for n in (0, -1, 2.5, True, "3", None)
}


@pytest.mark.parametrize("what", REFUSED)
def test_bad_arguments_are_refused_before_any_fit(what, iris):
    search, sentence = REFUSED[what]
    with pytest.raises(ValueError, match=sentence):
        search.fit(*iris)


def test_numbers_and_truth_values_of_numpy_are_accepted(iris):
    grid = {"n_neighbors": [1, 3]}
    GridSearch(KNeighborsClassifier(), grid, refit=np.True_, error_score=np.float64(0)).fit(*iris)
    RandomizedSearch(KNeighborsClassifier(), grid, n_iter=np.int64(2)).fit(*iris)
    assert GridSearch(KNeighborsClassifier(), grid, rule=lambda curve: np.int64(1)).fit(*iris).best_index_ == 0


def test_open_ended_family_stops_by_itself(diabetes):
    X, y = diabetes
    model = make_pipeline(PolynomialFeatures(), LinearRegression())
    grid = {"polynomialfeatures__degree": itertools.count(0)}
    search = GridSearch(model, grid, criterion="permutation", rule="first-local-minimum").fit(X[:, [2]], y)
    assert search.best_params_["polynomialfeatures__degree"] < 8
    assert 8 <= len(search.curve_) < 200


def test_open_ended_family_of_neighbours_ends_with_the_data(iris):
    X, y = iris
    search = GridSearch(
        KNeighborsClassifier(), {"n_neighbors": itertools.count(1)}, rule="first-local-minimum", random_state=0
    )
    first = search.fit(X, y).best_params_
    assert search.fit(X, y).best_params_ == first
    assert (np.diff(search.curve_.complexity) >= 0).all()


def test_endless_grid_without_the_rule_for_it(iris):
    with pytest.raises(ValueError, match=r'n_neighbors has no last value; only rule "first-local-minimum"'):
        GridSearch(KNeighborsClassifier(), {"n_neighbors": itertools.count(1)}).fit(*iris)


def test_models_without_an_order_are_ordered_by_optimism(iris):
    X, y = iris
    grid = {"max_leaf_nodes": [2, 3, 6], "criterion": ["gini", "entropy"]}
    tree = DecisionTreeClassifier(random_state=0)
    curve = GridSearch(tree, grid, criterion="permutation", random_state=0).fit(X, y).curve_
    assert (np.diff(curve.optimism) >= 0).all()
    assert any("no natural order" in note for note in curve.notes)


def test_order_is_measured_for_row_criteria_when_the_rule_needs_it(iris):
    X, y = iris
    grid = {"max_leaf_nodes": [2, 3, 6], "criterion": ["gini", "entropy"]}
    search = GridSearch(
        DecisionTreeClassifier(random_state=0),
        grid,
        criterion=CrossValidation(5),
        rule="one-standard-error",
        random_state=0,
    ).fit(X, y)
    assert (np.diff(search.curve_.complexity) >= 0).all()
    assert search.n_fits_ == 2 * (5 + 1) + 2 * 11


def test_scorer_as_loss(cancer):
    X, y = cancer
    tree = DecisionTreeClassifier(random_state=0)
    grid = {"max_leaf_nodes": [2, 8]}
    theirs = GridSearchCV(tree, grid, cv=5, scoring="roc_auc").fit(X, y)
    ours = GridSearch(tree, grid, criterion=CrossValidation(5), loss="roc_auc").fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-12)
    np.testing.assert_allclose(ours.cv_results_["out_sample"], theirs.cv_results_["mean_test_score"], rtol=1e-12)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y))


def test_sample_weight_is_used_in_fit_and_loss(diabetes):
    X, y = diabetes
    weight = np.random.default_rng(0).uniform(0.1, 3, len(y))
    search = GridSearch(Ridge(), {"alpha": [1.0, 10.0]}, loss="squared").fit(X, y, sample_weight=weight)
    for alpha, in_sample in zip([10.0, 1.0], search.curve_.in_sample, strict=True):
        model = Ridge(alpha=alpha).fit(X, y, sample_weight=weight)
        assert in_sample == pytest.approx(np.average((y - model.predict(X)) ** 2, weights=weight))
    plain = Ridge(**search.best_params_).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(search.predict(X), plain.predict(X))


@pytest.mark.parametrize("routing", [False, True])
def test_metadata_routing(diabetes, routing):
    X, y = diabetes
    weight = np.ones(len(y))
    with config_context(enable_metadata_routing=routing):
        inner = Ridge()
        if routing:
            inner.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearch(inner, {"alpha": [1.0, 10.0]}).fit(X, y, sample_weight=weight)
        scaler = StandardScaler().set_fit_request(sample_weight=False) if routing else StandardScaler()
        pipeline = make_pipeline(scaler, GridSearch(inner, {"alpha": [1.0, 10.0]}))
        name = "sample_weight" if routing else "gridsearch__sample_weight"
        pipeline.fit(X, y, **{name: weight})
    assert search.best_params_ == GridSearch(Ridge(), {"alpha": [1.0, 10.0]}).fit(X, y).best_params_


def test_unknown_fit_parameter(iris):
    grid = {"n_neighbors": [1]}
    with pytest.raises(ValueError, match="unexpected keyword argument 'colour'"):
        GridSearch(KNeighborsClassifier(), grid).fit(*iris, colour="red")
    with pytest.raises(TypeError, match=r"fit was given colour, .* criterion '632' does not pass it on; use cv="):
        GridSearch(KNeighborsClassifier(), grid, criterion="632").fit(*iris, colour="red")


def test_lives_inside_other_tools(iris):
    X, y = iris
    search = GridSearch(KNeighborsClassifier(), {"n_neighbors": [1, 5, 15]}, random_state=0)
    assert cross_val_score(search, X, y, cv=3).mean() > 0.9
    assert make_pipeline(StandardScaler(), search).fit(X, y).score(X, y) > 0.9
    outer = GridSearchCV(search, {"estimator__weights": ["uniform", "distance"]}, cv=3).fit(X, y)
    assert outer.best_score_ > 0.9
    within = GridSearch(search, {"estimator__weights": ["uniform", "distance"]}, random_state=0).fit(X, y)
    assert within.best_estimator_.best_params_["n_neighbors"] in (1, 5, 15)


def test_clone_and_pickle(iris):
    X, y = iris
    search = GridSearch(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, criterion=Permutation(3), random_state=0)
    assert clone(search).get_params()["criterion"] == search.criterion
    again = pickle.loads(pickle.dumps(search.fit(X, y)))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_same_answer_for_any_n_jobs(iris):
    X, y = iris
    grid = {"max_depth": [1, 2, 3]}
    one = GridSearch(DecisionTreeClassifier(), grid, random_state=3, fast=False).fit(X, y)
    two = GridSearch(DecisionTreeClassifier(), grid, random_state=3, fast=False, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.curve_.out_sample, two.curve_.out_sample)
    np.testing.assert_array_equal(one.curve_.draws, two.curve_.draws)


def test_randomized_search(iris):
    X, y = iris
    search = RandomizedSearch(
        DecisionTreeClassifier(),
        {"max_leaf_nodes": list(range(2, 30)), "criterion": ["gini", "entropy"]},
        n_iter=7,
        random_state=0,
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 7
    assert "TreePath" in search.path_
    again = clone(search).fit(X, y)
    assert again.cv_results_["params"] == search.cv_results_["params"]
    np.testing.assert_array_equal(again.curve_.out_sample, search.curve_.out_sample)


def test_a_generator_as_random_state_seeds_the_sampled_settings(iris):
    distributions = {"n_neighbors": range(1, 60)}
    for make in (np.random.default_rng, np.random.RandomState, np.random.SeedSequence):
        options = {"n_iter": 5, "criterion": "resubstitution"}
        searches = [
            RandomizedSearch(KNeighborsClassifier(), distributions, random_state=make(7), **options).fit(*iris)
            for _ in range(2)
        ]
        assert searches[0].cv_results_["params"] == searches[1].cv_results_["params"]


def test_refit_false(iris):
    search = GridSearch(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, refit=False).fit(*iris)
    assert search.best_params_["n_neighbors"] in (1, 5)
    with pytest.raises(AttributeError, match="has no attribute 'predict'") as caught:
        search.predict(iris[0])
    assert "refit=False" in str(caught.value.__cause__)


def test_predict_before_fit():
    with pytest.raises(NotFittedError):
        GridSearch(KNeighborsClassifier(), {"n_neighbors": [1]}).predict([[1.0]])


@pytest.mark.parametrize("folds", [KFold(5, shuffle=True, random_state=0), ShuffleSplit(4, random_state=1), 7])
@pytest.mark.parametrize("learner", ["trees", "neighbours", "stages"])
@pytest.mark.parametrize("seed", range(4))
def test_scores_below_one_half_equal_scikit_learns_to_the_last_digit(learner, folds, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(63, 3)), np.arange(63) % 5
    estimator, grid = {
        "trees": (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [9, 2, 30, 5]}),
        "neighbours": (KNeighborsClassifier(), {"n_neighbors": [1, 3, 8, 20]}),
        "stages": (GradientBoostingClassifier(random_state=0, max_depth=1), {"n_estimators": [1, 2, 4]}),
    }[learner]
    ours = GridSearch(estimator, grid, criterion=CrossValidation(folds), refit=False, random_state=0).fit(X, y)
    theirs = GridSearchCV(estimator, grid, cv=folds).fit(X, y)
    for column in ("mean_test_score", "std_test_score", "split0_test_score", "rank_test_score"):
        np.testing.assert_array_equal(ours.cv_results_[column], theirs.cv_results_[column])
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_score_ == theirs.best_score_


@pytest.mark.parametrize("honest", [None, "permutation", "bootstrap"])
@pytest.mark.parametrize("criterion", ["permutation", CrossValidation(5, keep_predictions=True)])
def test_a_rejected_setting_shows_no_number_of_another_model(criterion, honest, iris):
    X, y = iris
    if honest == "bootstrap" and criterion == "permutation":
        return
    options = {"criterion": criterion, "honest": honest, "random_state": 0}
    with pytest.warns(FitFailedWarning):
        found = GridSearch(DecisionTreeClassifier(), {"max_depth": [1, -7, 4]}, **options).fit(X, y)
    good = GridSearch(DecisionTreeClassifier(), {"max_depth": [1, 4]}, **options).fit(X, y)
    rejected = next(i for i, params in enumerate(found.curve_.params) if params == {"max_depth": -7})
    axes = dict.fromkeys(PER_MODEL, -1) | {"fold_risks": 1, "out_of_fold": 0}
    for name, axis in axes.items():
        values = getattr(found.curve_, name)
        if values is not None and name not in ("complexity", "written"):
            own, others = np.take(values, rejected, axis), np.delete(values, rejected, axis)
            assert (np.isnan(own) if values.dtype.kind == "f" else own == -1).all(), name
            np.testing.assert_array_equal(others, getattr(good.curve_, name))
    if honest is not None:
        assert found.honest_score_.out_sample == good.honest_score_.out_sample


def test_rejected_values_get_the_error_score(iris):
    X, y = iris
    grid = {"n_neighbors": [1, 5, 1000]}
    with pytest.warns(FitFailedWarning, match=r"\{'n_neighbors': 1000\} was rejected"):
        search = GridSearch(KNeighborsClassifier(), grid, random_state=0).fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"][2])
    assert search.cv_results_["rank_test_score"][2] == 3
    assert search.best_params_["n_neighbors"] in (1, 5)
    with pytest.warns(FitFailedWarning):
        numbered = GridSearch(KNeighborsClassifier(), grid, random_state=0, error_score=-1.0).fit(X, y)
    assert numbered.cv_results_["mean_test_score"][2] == -1.0
    np.testing.assert_array_equal(
        numbered.cv_results_["mean_test_score"][:2], search.cv_results_["mean_test_score"][:2]
    )
    with pytest.raises(Exception, match="1000"):
        GridSearch(KNeighborsClassifier(), grid, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match=r"rejected the only setting, because .*KNeighborsClassifier failed: .*1000"):
        GridSearch(KNeighborsClassifier(), {"n_neighbors": [1000]}).fit(X, y)


def with_a_bad_value():
    components = make_pipeline(PCA(), LinearRegression())
    powers = make_pipeline(PolynomialFeatures(), LinearRegression())
    yield KNeighborsClassifier(), {"n_neighbors": [0, 3, 5]}
    yield KNeighborsRegressor(), {"n_neighbors": [2.5, 3, 5]}
    yield DecisionTreeRegressor(random_state=0), {"max_leaf_nodes": [-3, 3, 5]}
    yield DecisionTreeRegressor(random_state=0), {"max_depth": [0, 3, 5]}
    yield Ridge(), {"alpha": [-1.0, 1.0, 2.0]}
    yield PLSRegression(), {"n_components": [0, 1, 2]}
    yield components, {"pca__n_components": [-1, 1, 2]}
    yield powers, {"polynomialfeatures__degree": [-1, 1, 2]}


@pytest.mark.parametrize("criterion", [Permutation(3), CrossValidation(3)], ids=["permutation", "kfold"])
@pytest.mark.parametrize(
    ("estimator", "grid"), list(with_a_bad_value()), ids=lambda v: str(v) if isinstance(v, dict) else ""
)
def test_a_bad_value_spoils_no_other(estimator, grid, criterion, iris):
    X, y = iris[0][:, :3], iris[1] if is_classifier(estimator) else iris[0][:, 3]
    name, values = next(iter(grid.items()))
    with pytest.warns(FitFailedWarning, match="was rejected"):
        search = GridSearch(estimator, grid, criterion=criterion, refit=False, random_state=0).fit(X, y)
    good = GridSearch(estimator, {name: values[1:]}, criterion=criterion, refit=False, random_state=0).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isnan(scores[0])
    np.testing.assert_allclose(scores[1:], good.cv_results_["mean_test_score"], rtol=1e-12)
    assert good.path_ in search.path_
    assert search.curve_.ordered
    assert search.curve_.params[:-1] == good.curve_.params


def test_bad_values_leave_the_others_to_the_fast_path(iris):
    grid = {"n_neighbors": range(1, 181)}
    with pytest.warns(FitFailedWarning, match="was rejected"):
        search = GridSearch(
            KNeighborsClassifier(), grid, criterion="permutation", rule="one-standard-error", random_state=0
        ).fit(*iris)
    assert search.path_ == "NeighborsPath"
    assert search.n_fits_ < 10 * 11
    ks = [params["n_neighbors"] for params in search.curve_.params]
    assert ks[:150] == list(range(150, 0, -1))
    assert sorted(ks[150:]) == list(range(151, 181))
    assert np.isnan(search.curve_.out_sample[150:]).all()
    good = GridSearch(
        KNeighborsClassifier(),
        {"n_neighbors": range(1, 151)},
        criterion="permutation",
        rule="one-standard-error",
        random_state=0,
    ).fit(*iris)
    assert search.best_params_ == good.best_params_
    np.testing.assert_array_equal(search.curve_.out_sample[:150], good.curve_.out_sample)


def test_a_number_of_leaves_that_scikit_learn_rejects_is_never_chosen():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    with pytest.warns(FitFailedWarning, match="'max_leaf_nodes': 1"):
        search = GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": range(1, 9)}, random_state=0).fit(X, y)
    assert search.best_estimator_.max_leaf_nodes >= 2


@pytest.mark.parametrize("grid", [{}, []])
def test_empty_grid(grid, iris):
    with pytest.raises(ValueError, match="param_grid is empty"):
        GridSearch(KNeighborsClassifier(), grid).fit(*iris)


def test_unknown_parameter_lists_the_known_ones(iris):
    with pytest.raises(ValueError, match=r"KNeighborsClassifier has no parameter 'neighbours'; it has .*n_neighbors"):
        GridSearch(KNeighborsClassifier(), {"neighbours": [1]}).fit(*iris)


def test_an_unknown_parameter_of_a_pipeline_names_the_nearest_only(iris):
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    nearest = "'decisiontreeclassifier__max_leaf_nodes'"
    with pytest.raises(
        ValueError, match=rf"Pipeline has no parameter 'max_leaf_node'; did you mean {nearest}"
    ) as caught:
        GridSearch(pipeline, {"max_leaf_node": [2]}).fit(*iris)
    assert str(caught.value).count("__") <= 3
    with pytest.raises(ValueError, match=r"it has .*memory, .* and nested ones$"):
        GridSearch(pipeline, {"xyz": [2]}).fit(*iris)


def test_progress_is_told_fits_done_of_fits_planned(iris):
    seen = []
    search = GridSearch(
        DummyClassifier(),
        {"strategy": ["prior", "uniform"]},
        criterion="permutation",
        progress=lambda done, planned: seen.append((done, planned)),
        random_state=0,
    )
    search.fit(*iris)
    assert [done for done, _ in seen] == list(range(2, 21, 2))
    assert {planned for _, planned in seen} == {20}


def test_penalized_rule_reports_the_oracle_terms(cancer):
    X, y = cancer
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearch(
        tree, {"max_leaf_nodes": range(2, 8)}, criterion="discrepancy", rule="penalized", random_state=0
    )
    search.fit(X, y)
    terms = search.oracle_terms_
    np.testing.assert_allclose(
        terms.penalized, search.curve_.out_sample + np.sqrt(np.log(np.arange(1, 7)) / (569 / 21))
    )
    assert search.best_params_["max_leaf_nodes"] == 2 + int(np.argmin(terms.penalized))


def test_seconds_include_the_look_at_what_auto_should_take():
    X, y = make_classification(1500, 60, random_state=0)
    start = time.perf_counter()
    search = GridSearch(LogisticRegression(), {"C": [0.01, 0.1, 1, 10]}, refit=False, random_state=0).fit(X, y)
    elapsed = time.perf_counter() - start
    assert search.curve_.criterion == "alo"
    assert elapsed / 4 < search.curve_.seconds < elapsed
