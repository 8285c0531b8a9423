"""Which learner? Comparisons of learners and searches on the same rows left out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import GridSearch, compare_models

LEARNERS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "bayes": GaussianNB(),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "guess": DummyClassifier(),
}


@pytest.fixture(scope="module")
def table():
    return make_classification(240, 6, n_informative=3, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def compared(table):
    return compare_models(LEARNERS, *table, random_state=0)


def test_losses_against_scikit_learns_predictions_left_out(table):
    X, y = table
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    found = compare_models(LEARNERS, X, y, cv=folds, random_state=0)
    for i, model in enumerate(LEARNERS.values()):
        wrong = cross_val_predict(model, X, y, cv=folds) != y
        assert np.array_equal(found.curve.left_out.losses[i], wrong)
    assert np.allclose(found.to_frame().estimate, found.curve.left_out.losses.mean(axis=1))


def test_the_frame(compared):
    frame = compared.to_frame()
    assert list(frame.index) == list(LEARNERS)
    assert {"estimate", "interval", "n_fits", "seconds"} <= set(frame.columns)
    assert (frame.n_fits == 10).all()
    assert all(low < value < high for value, (low, high) in zip(frame.estimate, frame.interval, strict=True))
    assert compared.best == frame.estimate.idxmin()
    assert compared.best in compared.plausible
    assert "guess" not in compared.plausible


def test_differences_are_those_of_the_estimates(compared):
    frame, pairs = compared.to_frame(), compared.differences()
    assert len(pairs) == 6
    for pair in pairs.itertuples():
        assert pair.difference == pytest.approx(frame.estimate[pair.first] - frame.estimate[pair.second])
        low, high = pair.interval
        assert low < pair.difference < high
        assert (pair.p_value < 0.05) == (not low < 0 < high)
        assert pair.p_holm >= pair.p_value


def test_a_scorer_keeps_its_sign_and_whole_sets_have_intervals(table):
    X, y = table
    found = compare_models(LEARNERS, X, y, scoring="roc_auc", random_state=0)
    frame, pairs = found.to_frame(), found.differences()
    assert found.best == frame.estimate.idxmax()
    assert pairs.difference[0] == pytest.approx(frame.estimate["tree"] - frame.estimate["bayes"])
    assert np.isfinite(np.array(frame.interval.tolist())).all()
    fold = found.curve.left_out.fold
    said = np.empty(len(y))
    for k in range(10):
        said[fold == k] = GaussianNB().fit(X[fold != k], y[fold != k]).predict_proba(X[fold == k])[:, 1]
    by_fold = [roc_auc_score(y[fold == k], said[fold == k]) for k in range(10)]
    assert frame.estimate["bayes"] == pytest.approx(np.mean(by_fold), abs=1e-9)


def test_a_search_is_run_anew_in_every_fold_against_nested_cross_validation(table):
    X, y = table
    folds, inner = (
        KFold(4, shuffle=True, random_state=0),
        GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 25]}, cv=3),
    )
    ours = GridSearch(KNeighborsClassifier(), {"n_neighbors": [1, 5, 25]}, criterion="loo", random_state=0)
    found = compare_models(
        {"theirs": inner, "ours": ours, "piped": make_pipeline(ours)}, X, y, cv=folds, random_state=0
    )
    wrong = cross_val_predict(inner, X, y, cv=folds) != y
    assert np.array_equal(found.curve.left_out.losses[0], wrong)
    frame = found.to_frame()
    assert frame.n_fits["theirs"] == 4 * (3 * 3 + 1)
    assert (
        frame.n_fits["ours"]
        == frame.n_fits["piped"]
        == sum(ours.fit(X[train], y[train]).n_fits_ + 1 for train, _ in folds.split(X))
    )


def test_same_answer_for_any_number_of_workers_and_the_seed_decides(table):
    X, y = table
    one, two, other = (
        compare_models(LEARNERS, X, y, cv=4, random_state=seed, n_jobs=jobs) for seed, jobs in [(1, 1), (1, 2), (2, 1)]
    )
    assert np.array_equal(one.curve.left_out.losses, two.curve.left_out.losses)
    assert not np.array_equal(one.curve.left_out.fold, other.curve.left_out.fold)


def test_a_learner_named_twice_is_never_told_apart(table):
    twice = {"a": DecisionTreeClassifier(), "b": DecisionTreeClassifier()}
    found = compare_models(twice, *table, random_state=0)
    assert found.plausible == ["a", "b"]
    assert found.differences().p_value[0] == 1.0


def test_groups_stay_whole_also_in_searches_and_count_once(table):
    X, y = table
    groups = np.repeat(np.arange(60), 4).astype(str)
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, cv=GroupKFold(3))
    ours = GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": [2, 4]}, criterion="kfold")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare_models({"theirs": search, "ours": ours}, X, y, groups=groups, cv=5, random_state=0)
    fold = found.curve.left_out.fold
    assert all(len(set(fold[groups == g])) == 1 for g in set(groups))
    repeated = compare_models({"guess": DummyRegressor()}, X, X[:, 0].repeat(1), groups=groups, random_state=0)
    assert np.isfinite(repeated.to_frame().interval.iloc[0]).all()


def test_weights_are_used_in_fits_and_losses(table):
    X, y = table
    weight = np.where(np.arange(len(y)) < 200, 1.0, 0.0)
    weighted = compare_models(
        {"tree": DecisionTreeClassifier(random_state=0)}, X, y, sample_weight=weight, random_state=0
    )
    alone = compare_models({"tree": DecisionTreeClassifier(random_state=0)}, X[:200], y[:200], random_state=0)
    assert weighted.to_frame().estimate.tolist() == alone.to_frame().estimate.tolist()


def test_regression_and_splits_that_are_no_partition():
    X, y = load_diabetes(return_X_y=True)
    models = {"linear": LinearRegression(), "ridge": Ridge(10.0), "mean": DummyRegressor()}
    found = compare_models(models, X, y, random_state=0)
    assert found.best == "linear"
    assert "mean" not in found.plausible
    series = compare_models(models, X, y, cv=TimeSeriesSplit(5), scoring="r2", random_state=0)
    assert np.isfinite(series.differences().difference).all()


def test_equal_learners_are_rejected_no_more_often_than_they_should_be():
    """Two trees on columns of the same distribution, equally good over data sets; the study has more of them."""
    pair = {
        name: make_pipeline(FunctionTransformer(columns), DecisionTreeClassifier(max_leaf_nodes=6, random_state=0))
        for name, columns in {"first": _first_columns, "last": _last_columns}.items()
    }
    rejected = []
    for number in range(40):
        rng = np.random.default_rng(number)
        X = rng.standard_normal((80, 4))
        y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + rng.standard_normal(80) > 0
        rejected.append(compare_models(pair, X, y, cv=5, random_state=number).differences().p_value[0] < 0.05)
    assert np.sum(rejected) <= 6, "P(more than 6 of 40) is below 0.4 % at a level of 5 %"


def _first_columns(X):
    return X[:, :2]


def _last_columns(X):
    return X[:, 2:]


def test_print_plot_and_report(compared, table, tmp_path):
    assert compared.best in str(compared).splitlines()[1]
    assert "may be best" in compared._repr_html_()
    axes = compared.plot()
    at_the_top = 0 if axes.yaxis_inverted() else -1
    assert axes.get_yticklabels()[at_the_top].get_text() == compared.best
    compared.to_html(tmp_path / "report.html", *table)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Which learner?" in page
    assert "compare_models" in compared.call
    compare_models({"a": GaussianNB(), "b": GaussianNB()}, *table, cv=3).to_html(tmp_path / "tie.html", *table)
    assert "cannot be told from it by these data" in (tmp_path / "tie.html").read_text(encoding="utf-8")


def test_it_says_which_differences_it_is_about(compared, table):
    """Those of the learners, of whose errors the models fitted to these data have one each."""
    assert "differences are those of the learners, averaged over training sets of 216 rows" in str(compared)
    assert "differences" not in str(compare_models({"bayes": GaussianNB()}, *table, random_state=0))


def test_sentences():
    X, y = load_iris(return_X_y=True)
    clear = compare_models({"bayes": GaussianNB(), "guess": DummyClassifier()}, X, y, random_state=0)
    assert clear.sentence.endswith("no other may be.")
    tie = compare_models({"a": GaussianNB(), "b": GaussianNB()}, X, y, random_state=0)
    assert "nothing tells the 2 learners apart" in tie.sentence
    alone = compare_models({"bayes": GaussianNB()}, X, y, random_state=0)
    assert alone.differences().empty
    assert alone.sentence.startswith("bayes: zero-one")


@pytest.mark.parametrize(
    ("models", "error", "sentence"),
    [
        ({}, ValueError, "at least one"),
        ([GaussianNB()], ValueError, "dict of estimators by name"),
        ({"a": GaussianNB}, TypeError, r"models\['a'\] must be an object, got the class GaussianNB"),
        ({1: GaussianNB()}, ValueError, "name of a model is text"),
        ({"a": GaussianNB(), "b": LinearRegression()}, ValueError, "all classifiers or all regressors"),
    ],
)
def test_bad_models(table, models, error, sentence):
    with pytest.raises(error, match=sentence):
        compare_models(models, *table)


def test_a_fit_that_fails_names_the_learner(table):
    with pytest.raises(outsample.data.learners.FitError, match="DecisionTreeClassifier, fold 1 of 10"):
        compare_models({"bad": DecisionTreeClassifier(max_leaf_nodes=-1)}, *table, random_state=0)


def test_differences_stay_within_the_range_of_the_loss():
    """Two learners of which one row tells."""
    X, y = make_classification(250, 10, n_informative=5, n_redundant=0, flip_y=0.05, random_state=1)
    c = outsample.compare_models({"a": SVC(), "b": GaussianNB()}, X[:16], y[:16], random_state=0)
    low, high = c.differences()["interval"][0]
    assert -1.0 <= low < 0 < high <= 1.0
