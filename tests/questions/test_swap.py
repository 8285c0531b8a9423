"""The swap: whatever works around GridSearchCV works around GridSearch; truth is GridSearchCV."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import itertools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_multilabel_classification
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import IsolationForest, StackingClassifier, VotingClassifier
from sklearn.exceptions import FitFailedWarning, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
    cross_val_score,
)
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from outsample import CrossValidation, GridSearch, RandomizedSearch

pytestmark = pytest.mark.filterwarnings("ignore:`TargetEncoder:FutureWarning")

TREE = DecisionTreeClassifier(random_state=0)
LEAVES = {"max_leaf_nodes": [7, 2, 30]}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200], y[:200]


def check_equal(ours, theirs):
    """Same table, to the type of each column, the same choice and the same model."""
    for name, column in theirs.cv_results_.items():
        mine = ours.cv_results_[name]
        if name == "params":
            assert mine == column
        elif name.endswith("_time"):
            assert mine.shape == column.shape
            assert mine.dtype == column.dtype
        elif isinstance(column, np.ma.MaskedArray):
            assert isinstance(mine, np.ma.MaskedArray)
            assert mine.dtype == column.dtype, name
            np.testing.assert_array_equal(mine.mask, column.mask)
            assert mine.tolist() == column.tolist()
        else:
            assert mine.dtype == column.dtype, name
            np.testing.assert_allclose(mine, column, rtol=1e-12, atol=1e-12, err_msg=name)
    for name in ("best_index_", "best_params_", "n_splits_", "multimetric_"):
        assert hasattr(ours, name) == hasattr(theirs, name)
        assert getattr(ours, name, None) == getattr(theirs, name, None)
    assert hasattr(ours, "best_score_") == hasattr(theirs, "best_score_")
    assert set(dir(theirs)) <= set(dir(ours))


def both(estimator, grid, X, y=None, fit_params=None, **options):
    """(our search, scikit-learn's), fitted and found to be equal."""
    kinds = (RandomizedSearch, RandomizedSearchCV) if "n_iter" in options else (GridSearch, GridSearchCV)
    pair = [Search(estimator, grid, **options).fit(X, y, **copy.deepcopy(fit_params or {})) for Search in kinds]
    check_equal(*pair)
    return pair


@pytest.mark.parametrize(("ours", "theirs"), [(GridSearch, GridSearchCV), (RandomizedSearch, RandomizedSearchCV)])
def test_every_argument_of_theirs_with_its_default(ours, theirs):
    assert issubclass(ours, theirs)
    mine = inspect.signature(ours).parameters
    for name, parameter in inspect.signature(theirs).parameters.items():
        assert mine[name].kind is parameter.kind
        assert mine[name].default is parameter.default or mine[name].default == parameter.default


def n_correct(estimator, X, y):
    return float((estimator.predict(X) == y).sum())


def two_numbers(estimator, X, y):
    predicted = estimator.predict(X)
    return {"right": accuracy_score(y, predicted), "f1": f1_score(y, predicted)}


def largest_accuracy(results):
    return int(np.argmax(results["mean_test_accuracy"]))


SCORINGS = {
    "none": (None, True),
    "name": ("roc_auc", True),
    "scorer": (make_scorer(f1_score), True),
    "function": (n_correct, True),
    "list": (["accuracy", "roc_auc"], "roc_auc"),
    "tuple": (("accuracy", "f1"), "f1"),
    "dict": ({"auc": "roc_auc", "n": n_correct}, "n"),
    "function of several": (two_numbers, "f1"),
    "several, none of them": (["accuracy", "roc_auc"], False),
    "several, a function": (["accuracy", "f1"], largest_accuracy),
    "not refitted": ("f1", False),
}


@pytest.mark.parametrize("what", SCORINGS)
@pytest.mark.parametrize("estimator", ["tree", "logistic"])
def test_scoring_and_refit_against_scikit_learn(what, estimator, cancer):
    scoring, refit = SCORINGS[what]
    model, grid = (
        (TREE, LEAVES)
        if estimator == "tree"
        else (make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.01, 1.0]})
    )
    X, y = cancer
    ours, theirs = both(model, grid, X, y, scoring=scoring, refit=refit, cv=3)
    if refit:
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if refit and not callable(refit):
        assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-12)
        assert ours.curve_.out_sample.min() == pytest.approx(-theirs.best_score_) or what == "none"


FOLDS = {
    "number": 4,
    "splitter": KFold(3, shuffle=True, random_state=1),
    "overlapping": ShuffleSplit(4, random_state=0),
    "in time": TimeSeriesSplit(3),
    "pairs": [(np.arange(50, 150), np.arange(50)), (np.arange(100), np.arange(100, 150))],
}


@pytest.mark.parametrize("folds", FOLDS)
@pytest.mark.parametrize("train", [False, True])
def test_cv_of_any_kind_against_scikit_learn(folds, train, iris):
    order = np.random.default_rng(0).permutation(150)
    X, y = iris[0][order], iris[1][order]
    for model, grid in ((TREE, LEAVES), (KNeighborsClassifier(), {"n_neighbors": [1, 4], "weights": ["uniform"]})):
        both(model, grid, X, y, cv=FOLDS[folds], return_train_score=train)


def test_an_iterator_of_folds_serves_both_ways(iris):
    X, y = iris
    for model, grid in ((TREE, LEAVES), (SVC(), {"C": [0.1, 1.0]})):
        folds = list(StratifiedKFold(3).split(X, y))
        ours = GridSearch(model, grid, cv=(pair for pair in folds)).fit(X, y)
        check_equal(ours, GridSearchCV(model, grid, cv=folds).fit(X, y))


def test_fast_paths_serve_cv_where_they_give_the_same_numbers(iris):
    X, y = iris
    noisy = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)
    for model, grid, path in (
        (TREE, LEAVES, "TreePath"),
        (KNeighborsClassifier(), {"n_neighbors": range(1, 9)}, "NeighborsPath"),
        (Ridge(), {"alpha": [0.1, 1.0]}, "RefitPath"),
    ):
        assert GridSearch(model, grid, cv=3).fit(noisy, y).path_ == path
    several = GridSearch(TREE, LEAVES, cv=3, scoring=["accuracy", "f1_macro"], refit="f1_macro").fit(X, y)
    assert several.path_ == "TreePath"


def test_masked_columns_of_lists_texts_and_learners(iris):
    X, y = iris
    grid = [
        {"max_leaf_nodes": [2, 5], "criterion": ["gini", "entropy"]},
        {"max_depth": [2, None], "class_weight": [None, {0: 2.0, 1: 1.0, 2: 1.0}]},
    ]
    both(TREE, grid, X, y, cv=3)
    pipeline = Pipeline([("reduce", PCA(random_state=0)), ("tree", TREE)])
    grid = [{"reduce": [PCA(2, random_state=0), "passthrough"]}, {"tree__max_leaf_nodes": [3]}]
    ours, theirs = (Search(pipeline, grid, cv=3).fit(X, y) for Search in (GridSearch, GridSearchCV))
    for name in ("param_reduce", "param_tree__max_leaf_nodes"):
        assert ours.cv_results_[name].dtype == theirs.cv_results_[name].dtype
        np.testing.assert_array_equal(ours.cv_results_[name].mask, theirs.cv_results_[name].mask)


def test_randomized_search_against_scikit_learn(iris):
    X, y = iris
    for model, distributions in (
        (TREE, {"max_leaf_nodes": stats.randint(2, 40), "criterion": ["gini", "entropy"]}),
        (SVC(), {"C": stats.loguniform(0.01, 10), "gamma": [0.1, 1.0]}),
    ):
        both(model, distributions, X, y, n_iter=5, cv=3, random_state=4)
        pair = [
            Search(model, distributions, n_iter=4, cv=3, random_state=np.random.RandomState(1)).fit(X, y)
            for Search in (RandomizedSearch, RandomizedSearchCV)
        ]
        check_equal(*pair)


def test_failures_are_those_of_scikit_learn(iris):
    X, y = iris
    grid = {"n_neighbors": [1, -3]}
    tables = []
    for Search in (GridSearch, GridSearchCV):
        with pytest.warns(FitFailedWarning, match="fits failed"):
            tables.append(Search(KNeighborsClassifier(), grid, cv=3, error_score=-2.0).fit(X, y).cv_results_)
    np.testing.assert_array_equal(tables[0]["mean_test_score"], tables[1]["mean_test_score"])
    for Search, kind in itertools.product((GridSearch, GridSearchCV), ("raise", np.nan)):
        with pytest.raises(ValueError, match="n_neighbors"):
            Search(KNeighborsClassifier(), {"n_neighbors": [-3]}, cv=3, error_score=kind).fit(X, y)


# Several metrics with evidence of our own.


def test_several_metrics_by_permutation_are_those_of_one_metric_each(cancer):
    X, y = cancer
    scoring = {"right": "accuracy", "auc": "roc_auc"}
    search = GridSearch(TREE, LEAVES, scoring=scoring, refit="auc", random_state=0).fit(X, y)
    assert search.multimetric_
    for name, metric in scoring.items():
        alone = GridSearch(TREE, LEAVES, scoring=metric, random_state=0).fit(X, y)
        for column in ("mean_test", "std_test", "rank_test"):
            np.testing.assert_array_equal(search.cv_results_[f"{column}_{name}"], alone.cv_results_[f"{column}_score"])
        np.testing.assert_array_equal(search.cv_results_[f"out_sample_{name}"], alone.cv_results_["out_sample"])
    assert search.best_params_ == alone.best_params_
    assert search.best_score_ == alone.best_score_
    assert search.score(X, y) == alone.score(X, y)
    assert search.estimate_.out_sample == alone.estimate_.out_sample
    with pytest.raises(ValueError, match="keeps the work of one metric"):
        GridSearch(TREE, LEAVES, scoring=scoring, refit="auc", store="never.db").fit(X, y)


@pytest.mark.parametrize("cv", [None, 3])
def test_a_list_of_one_metric_is_named_as_by_scikit_learn(cancer, cv):
    one = GridSearch(TREE, LEAVES, scoring=["accuracy"], refit="accuracy", cv=cv, random_state=0).fit(*cancer)
    assert one.multimetric_
    assert one.best_score_ == max(one.cv_results_["mean_test_accuracy"])


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("name", ["honest_score_", "verdict_"])
def test_what_needs_a_chosen_candidate_says_so(cancer, name, cv):
    search = GridSearch(TREE, LEAVES, scoring=["accuracy", "f1"], refit=False, cv=cv, random_state=0).fit(*cancer)
    with pytest.raises(AttributeError, match=f"there is no {name}: several metrics with refit=False"):
        getattr(search, name)


def test_candidates_that_share_fits_have_no_times_of_their_own(cancer):
    results = GridSearch(TREE, LEAVES, random_state=0).fit(*cancer).cv_results_
    for name in ("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time"):
        assert np.isnan(results[name]).all()


def test_a_function_chooses_by_our_table(cancer):
    X, y = cancer

    def simplest_within_two_percent(results):
        good = results["out_sample"] <= results["out_sample"].min() + 0.02
        return int(np.argmin(np.where(good, results["param_max_leaf_nodes"], np.inf)))

    for cv in (None, 3):
        search = GridSearch(TREE, LEAVES, refit=simplest_within_two_percent, cv=cv, random_state=0).fit(X, y)
        assert search.best_index_ == simplest_within_two_percent(search.cv_results_)
        assert search.best_params_ == search.cv_results_["params"][search.best_index_]
        assert not hasattr(search, "best_score_")
        expected = search.cv_results_["out_sample"][search.best_index_]
        assert search.estimate_.out_sample == pytest.approx(expected)


def test_train_scores_by_permutation_are_those_of_the_fit_to_all_rows(cancer):
    X, y = cancer
    search = GridSearch(TREE, LEAVES, return_train_score=True, random_state=0).fit(X, y)
    for i, params in enumerate(search.cv_results_["params"]):
        model = clone(TREE).set_params(**params).fit(X, y)
        assert search.cv_results_["mean_train_score"][i] == pytest.approx(model.score(X, y))


# Fit parameters and metadata.


def test_fit_parameters_against_scikit_learn(iris):
    X, y = iris
    rng = np.random.default_rng(0)
    weight, groups = rng.uniform(0.1, 2, 150), rng.integers(6, size=150)
    for model, grid in ((TREE, LEAVES), (LogisticRegression(max_iter=500), {"C": [0.1, 1.0]})):
        both(model, grid, X, y, {"sample_weight": weight}, cv=3)
        both(model, grid, X, y, {"groups": groups}, cv=GroupKFold(3))
    model = SGDClassifier(random_state=0, max_iter=5, tol=None)
    both(model, {"alpha": [1e-4, 1e-2]}, X, y == 1, {"coef_init": np.ones((1, 4))}, cv=3)
    pipeline = Pipeline([("scale", StandardScaler()), ("tree", TREE)])
    both(pipeline, {"tree__max_leaf_nodes": [2, 5]}, X, y, {"tree__sample_weight": weight}, cv=3)
    # Without cv=, weights and groups are for our own evidence; anything else is left to scikit-learn.
    ours = GridSearch(pipeline, {"tree__max_leaf_nodes": [2, 5]}).fit(X, y, tree__sample_weight=weight)
    theirs = GridSearchCV(pipeline, {"tree__max_leaf_nodes": [2, 5]}).fit(X, y, tree__sample_weight=weight)
    check_equal(ours, theirs)


class Listening(GaussianNB):
    """Keeps what it is given in fit and in score."""

    given: list[tuple[str, int]] = []  # noqa: RUF012 — shared by clones on purpose

    def fit(self, X, y, sample_weight=None, marks=None):
        self.given.append(("fit", None if marks is None else len(marks)))
        return super().fit(X, y, sample_weight)

    def score(self, X, y, sample_weight=None):
        self.given.append(("score", None if sample_weight is None else len(sample_weight)))
        return super().score(X, y, sample_weight)


@pytest.mark.parametrize("cv", [3, None])
def test_routing_with_aliases(cv, iris):
    X, y = iris
    weight = np.random.default_rng(0).uniform(0.1, 2, 150)
    with config_context(enable_metadata_routing=True):
        model = Listening().set_fit_request(sample_weight="w", marks=True).set_score_request(sample_weight="w")
        model.given.clear()
        search = GridSearch(model, {"var_smoothing": [1e-9, 1e-3]}, cv=cv).fit(X, y, w=weight, marks=np.arange(150))
    folds = search.n_splits_
    assert model.given[:-1] == [("fit", 150 - 150 // folds), ("score", 150 // folds)] * 2 * folds
    assert model.given[-1] == ("fit", 150)


def test_weights_are_used_only_where_they_are_requested(iris):
    X, y = iris
    weight = np.random.default_rng(0).uniform(0.01, 5, 150)
    expected = GridSearch(TREE, LEAVES, random_state=0).fit(X, y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        wanted = clone(TREE).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearch(wanted, LEAVES, random_state=0).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(search.curve_.out_sample, expected.curve_.out_sample)
        unwanted = clone(TREE).set_fit_request(sample_weight=False).set_score_request(sample_weight=False)
        for options in ({}, {"cv": 3}):
            with pytest.raises(UnsetMetadataPassedError, match="not explicitly set as requested or not requested"):
                GridSearch(TREE, LEAVES, **options).fit(X, y, sample_weight=weight)
            with pytest.raises(TypeError, match="not routed to any object"):
                GridSearch(unwanted, LEAVES, **options).fit(X, y, sample_weight=weight)
        # Weights for the score alone are scikit-learn's business.
        scored = clone(TREE).set_fit_request(sample_weight=False).set_score_request(sample_weight=True)
        both(scored, LEAVES, X, y, {"sample_weight": weight}, cv=3)
        check_equal(
            GridSearch(scored, LEAVES).fit(X, y, sample_weight=weight),
            GridSearchCV(scored, LEAVES).fit(X, y, sample_weight=weight),
        )


def test_groups_reach_our_own_criteria_through_routing(iris):
    X, y = iris
    groups = np.arange(150) % 6
    expected = GridSearch(TREE, LEAVES, random_state=0).fit(X, y, groups=groups)
    with config_context(enable_metadata_routing=True):
        search = GridSearch(TREE, LEAVES, random_state=0).fit(X, y, groups=groups)
        both(TREE, LEAVES, X, y, {"groups": groups}, cv=GroupKFold(3))
        by_criterion = GridSearch(TREE, LEAVES, criterion=CrossValidation(GroupKFold(3))).fit(X, y, groups=groups)
    np.testing.assert_array_equal(search.curve_.out_sample, expected.curve_.out_sample)
    theirs = GridSearchCV(TREE, LEAVES, cv=GroupKFold(3)).fit(X, y, groups=groups)
    np.testing.assert_allclose(by_criterion.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


# Any estimator.


def unsupervised():
    yield KMeans(random_state=0, n_init=1), {"n_clusters": [2, 4]}, None
    yield KernelDensity(), {"bandwidth": [0.1, 1.0]}, None
    yield PCA(random_state=0), {"n_components": [1, 2]}, None
    yield make_pipeline(StandardScaler(), KMeans(random_state=0, n_init=1)), {"kmeans__n_clusters": [2, 3]}, None
    yield IsolationForest(n_estimators=5, random_state=0), {"contamination": [0.1, 0.3]}, "f1"
    yield OneClassSVM(), {"nu": [0.1, 0.5]}, "accuracy"
    yield (
        TruncatedSVD(random_state=0),
        {"n_components": [1, 2]},
        lambda model, X, y=None: -np.sum(model.singular_values_),
    )


@pytest.mark.parametrize(("model", "grid", "scoring"), list(unsupervised()), ids=lambda value: type(value).__name__)
def test_estimators_that_predict_no_labels(model, grid, scoring, iris):
    X = iris[0][np.random.default_rng(0).permutation(150)]
    y = np.where(np.arange(150) % 7, 1, -1) if scoring in ("f1", "accuracy") else None
    for cv in (None, 3):
        ours, theirs = both(model, grid, X, y, scoring=scoring, cv=cv)
        assert ours.path_ == "RefitPath"
        assert ours.estimate_.out_sample == pytest.approx(theirs.best_score_)
        for method in ("predict", "transform", "score_samples"):
            assert hasattr(ours, method) == hasattr(theirs, method)


def supervised():
    first = ("tree", TREE)
    pair = [first, ("logistic", LogisticRegression())]
    yield VotingClassifier(pair), {"tree__max_depth": [1, 3]}
    yield StackingClassifier(pair, cv=2), {"tree__max_depth": [1, 3]}
    yield TunedThresholdClassifierCV(TREE, cv=2), {"estimator__max_leaf_nodes": [2, 5]}
    encoder = ColumnTransformer([("one", OneHotEncoder(handle_unknown="ignore"), ["colour"])], remainder="passthrough")
    yield make_pipeline(encoder, TREE), {"decisiontreeclassifier__max_leaf_nodes": [2, 5]}
    targets = ColumnTransformer([("t", TargetEncoder(cv=2, random_state=0), ["colour"])], remainder="passthrough")
    yield make_pipeline(targets, TREE), {"decisiontreeclassifier__max_leaf_nodes": [2, 5]}


@pytest.mark.parametrize(("model", "grid"), list(supervised()), ids=lambda value: type(value).__name__)
def test_estimators_around_others(model, grid, cancer):
    X, y = cancer
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["colour"] = pd.Categorical(np.array(["red", "green", "blue"])[(X[:, 4] * 1e4).astype(int) % 3])
    if isinstance(model, VotingClassifier | StackingClassifier | TunedThresholdClassifierCV):
        frame = frame[["a", "b", "c"]]
    ours, _ = both(model, grid, frame, y, cv=3)
    assert list(ours.feature_names_in_) == list(frame.columns)
    assert GridSearch(model, grid, random_state=0).fit(frame, y).best_score_ > 0.5


def test_a_threshold_is_tuned_around_a_search(cancer):
    X, y = cancer
    search = GridSearch(TREE, LEAVES, random_state=0)
    theirs = GridSearchCV(TREE, LEAVES, cv=3)
    for inner in (search, GridSearch(TREE, LEAVES, cv=3), theirs):
        tuned = TunedThresholdClassifierCV(inner, cv=2).fit(X, y)
    assert tuned.best_threshold_ == TunedThresholdClassifierCV(theirs, cv=2).fit(X, y).best_threshold_


def test_several_columns_of_classes():
    X, Y = make_multilabel_classification(80, 5, n_classes=3, random_state=0)
    for model, grid in (
        (TREE, LEAVES),
        (MultiOutputClassifier(LogisticRegression()), {"estimator__C": [0.1, 1.0]}),
        (ClassifierChain(LogisticRegression()), {"estimator__C": [0.1, 1.0]}),
    ):
        for cv in (None, 3):
            ours, theirs = both(model, grid, X, Y, cv=cv)
            np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_a_pipeline_with_a_cache(tmp_path, iris):
    X, y = iris
    model = make_pipeline(StandardScaler(), TREE, memory=str(tmp_path))
    both(model, {"decisiontreeclassifier__max_leaf_nodes": [2, 5]}, X, y, cv=3)


def test_containers_stay_as_they_are_given(iris):
    X, y = iris
    seen = set()

    class Looking(DecisionTreeClassifier):
        def fit(self, X, y, **params):
            seen.add((type(X), type(y)))
            return super().fit(np.asarray(X).reshape(len(X), -1), np.asarray(y), **params)

        def predict(self, X):
            return super().predict(np.asarray(X).reshape(len(X), -1))

    for table, labels in ((X.tolist(), y.tolist()), (pd.DataFrame(X), pd.Series(y)), (X.reshape(150, 2, 2), y)):
        seen.clear()
        both(Looking(random_state=0), LEAVES, table, labels, cv=3)
        assert seen == {(type(table), type(labels))}
    GridSearch(Looking(random_state=0), LEAVES).fit(X.reshape(150, 2, 2), y)
    both(TREE, LEAVES, sparse.csr_matrix(X), y, cv=3)


def test_pairwise_input(iris):
    X, y = iris
    kernel = X @ X.T
    for table in (kernel, kernel.tolist()):
        with contextlib.nullcontext() if isinstance(table, np.ndarray) else pytest.raises(ValueError, match="array"):
            both(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, table, y, cv=3)


def test_rules_and_honesty_where_only_scikit_learns_loop_serves(iris):
    X = iris[0][np.random.default_rng(0).permutation(150)]
    grid = {"bandwidth": [0.05, 0.2, 0.4, 1.0, 3.0]}
    search = GridSearch(KernelDensity(), grid, cv=5, rule="one-standard-error", honest="tibshirani").fit(X)
    curve = search.curve_
    within = curve.out_sample <= curve.out_sample.min() + curve.standard_error[np.argmin(curve.out_sample)]
    assert search.best_params_ == curve.params[np.flatnonzero(within)[0]]
    assert search.best_estimator_.bandwidth == search.best_params_["bandwidth"]
    assert search.honest_score_.out_sample <= search.estimate_.out_sample
    for option in ({"store": "never.db"}, {"honest": "nested"}, {"loss": "squared"}):
        with pytest.raises(ValueError, match=f"{next(iter(option))}=.* needs our own evidence"):
            GridSearch(KernelDensity(), grid, **option).fit(X)


def test_a_random_state_makes_a_search_by_scikit_learns_loop_repeatable(iris):
    X, y = iris
    options = {"cv": KFold(3, shuffle=True), "random_state": 5}
    for Search in (GridSearch, RandomizedSearch):
        more = {} if Search is GridSearch else {"n_iter": 2}
        model, grid = SGDClassifier(max_iter=3, tol=None), {"alpha": [1e-4, 1e-3, 1e-2]}
        one, two = (Search(model, grid, **options, **more).fit(X, y) for _ in range(2))
        np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
        np.testing.assert_array_equal(one.predict(X), two.predict(X))
        assert one.estimator is model
        assert model.random_state is None


def test_arguments_are_unchanged_after_an_error(iris):
    X, y = iris

    class Broken(DecisionTreeClassifier):
        def fit(self, X, y):
            raise RuntimeError("no fit today")

    for options in ({}, {"cv": 3}, {"criterion": CrossValidation(3), "verbose": 1}):
        search = GridSearch(Broken(), LEAVES, **options)
        before = search.get_params(deep=False)
        with pytest.raises((ValueError, RuntimeError), match="no fit today"):
            search.fit(X, y)
        assert search.get_params(deep=False) == before
        assert "_told" not in vars(search)


# What is shown.


def test_results_as_a_table(cancer):
    X, y = cancer
    for cv in (None, 3):
        search = GridSearch(TREE, {**LEAVES, "criterion": ["gini"]}, cv=cv, random_state=0).fit(X, y)
        frame = search.results_frame()
        assert list(frame.columns[:2]) == ["criterion", "max_leaf_nodes"]
        assert frame["max_leaf_nodes"].tolist() == [7, 2, 30]
        assert {"mean_test_score", "rank_test_score", "out_sample", "standard_error"} <= set(frame)
        assert not any(name.startswith("split") for name in frame)
        assert list(frame.columns[-1:]) == ["std_score_time"]


def test_a_curve_as_table_as_json_and_in_print(cancer):
    X, y = cancer
    grid = {"max_leaf_nodes": range(2, 120)}
    search = GridSearch(TREE, grid, criterion="permutation", random_state=0).fit(X, y)
    curve = search.curve_
    frame = curve.to_frame()
    assert frame["max_leaf_nodes"].tolist() == list(range(2, 120))
    np.testing.assert_array_equal(frame["out_sample"], curve.out_sample)
    read = json.loads(curve.to_json())
    assert read["criterion"] == "permutation"
    assert [model["params"]["max_leaf_nodes"] for model in read["models"]] == list(range(2, 120))
    np.testing.assert_allclose([model["optimism"] for model in read["models"]], curve.optimism)
    lines = str(curve).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    best = search.best_params_["max_leaf_nodes"]
    assert any(line.startswith(f"max_leaf_nodes={best} ") for line in lines)
    assert len(repr(curve)) < 100


def test_a_curve_of_scikit_learns_loop_as_json(iris):
    search = GridSearch(KMeans(random_state=0, n_init=1), {"n_clusters": [2, 3]}).fit(iris[0])
    assert json.loads(search.curve_.to_json())["models"][0]["in_sample"] is None
    assert "n_clusters=2" in str(search.curve_)
    assert "nan" not in str(search.estimate_)


def test_html_shows_the_fitted_search_with_its_answer(cancer):
    search = GridSearch(TREE, LEAVES, honest="permutation", random_state=0)
    assert "Chosen among" not in search._repr_mimebundle_()["text/html"]
    shown = search.fit(*cancer)._repr_mimebundle_()["text/html"]
    assert "sk-estimator" in shown or "sk-container" in shown
    assert f"max_leaf_nodes={search.best_params_['max_leaf_nodes']}" in shown
    assert "Chosen among 3" in shown
    assert "Of the whole search" in shown
    assert "Chosen among 3" in search._repr_html_()
    assert repr(search).startswith("GridSearch(estimator=DecisionTreeClassifier(random_state=0)")


@pytest.mark.parametrize(
    "options", [{}, {"cv": 3}, {"scoring": ["accuracy", "f1"], "refit": "f1"}, {"loss": "zero-one"}]
)
def test_a_fitted_search_is_pickled_and_used_by_others(options, cancer):
    X, y = cancer
    search = GridSearch(TREE, LEAVES, random_state=0, **options).fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    assert again.score(X, y) == search.score(X, y)
    assert clone(search).get_params().keys() == search.get_params().keys()
    assert cross_val_score(search, X, y, cv=2).min() > 0.7


def test_regression_trees_and_weights_of_a_frame():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    weight = pd.Series(np.random.default_rng(0).uniform(1, 2, len(y)))
    model = DecisionTreeRegressor(random_state=0)
    both(model, {"max_leaf_nodes": [3, 9]}, X, y, cv=4)
    both(model, {"max_leaf_nodes": [3, 9]}, X, y, {"sample_weight": weight}, cv=4)


def test_a_dozen_rows_of_regression(iris):
    X = iris[0][::13]
    for model, grid in ((Ridge(), {"alpha": [0.1, 1.0]}), (SVR(), {"C": [0.1, 1.0]})):
        for options in ({}, {"criterion": "race"}):
            search = GridSearch(model, grid, random_state=0, **options).fit(X[:, :2], X[:, 2])
            assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("grid", [{"C": [1e-5, 1e-4]}, [{"C": [1e-5]}, {"gamma": [1e-7]}]])
@pytest.mark.parametrize("search", [GridSearch, functools.partial(RandomizedSearch, n_iter=2)])
def test_the_estimators_own_setting_may_win_a_race(search, grid, tmp_path):
    """Where grids name different parameters, the own setting names none."""
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.array(["malignant", "benign"])[y]
    found = search(SVC(), grid, criterion="race", random_state=0).fit(X, labels)
    assert found.best_index_ == 2
    assert found.cv_results_["is_default"].tolist() == [False, False, True]
    assert found.best_params_ == ({"C": 1.0} if isinstance(grid, dict) else {})
    assert np.array_equal(found.predict(X), SVC().fit(X, labels).predict(X))
    assert str(found.verdict_).startswith("Tuning brings nothing: the estimator's own setting")
    assert found.results_frame()["rank_test_score"].tolist().index(1) == 2
    assert pickle.loads(pickle.dumps(found)).best_index_ == 2
    found.to_html(tmp_path / "report.html")
    found.plot()
    assert "Chosen among 3" in found._html_repr()
