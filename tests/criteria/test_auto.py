"""What `auto` takes, and that its numbers are those of what it takes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample import Auto, CrossValidation, GridSearch, Race, RowsAndLabels, estimate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
CLASSES = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
VALUES = np.exp(X[:, 0]) + RNG.random(60)

TAKEN = [
    (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 3, 4, 6, 8]}, "rows-and-labels"),
    (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 4]}, "kfold"),
    (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2]}, "race"),
    (DecisionTreeRegressor(random_state=0), {"max_leaf_nodes": [2, 4, 8]}, "kfold"),
    (KNeighborsClassifier(), {"n_neighbors": [1, 5]}, "loo"),
    (make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1.0]}, "kfold"),
    (QuadraticDiscriminantAnalysis(), {"reg_param": [0.1, 0.5]}, "kfold"),
    (GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, "loo"),
    (RandomForestClassifier(random_state=0), {"n_estimators": [30, 40]}, "oob"),
    (RandomForestClassifier(60, random_state=0), {"max_features": [1, 2]}, "race"),
    (BaggingRegressor(n_estimators=30, random_state=0), {"max_samples": [0.5, 1.0]}, "oob"),
    (RandomForestClassifier(10, random_state=0), {"max_features": [1, 2]}, "race"),
    (ExtraTreesClassifier(30, random_state=0), {"max_features": [1, 2]}, "race"),
    (LogisticRegression(), {"C": [0.1, 1.0]}, "alo"),
    (make_pipeline(StandardScaler(), Lasso()), {"lasso__alpha": [0.01, 0.1]}, "alo"),
    (HistGradientBoostingClassifier(max_leaf_nodes=3, random_state=0), {"max_iter": [2, 3, 5]}, "rows-and-labels"),
    (HistGradientBoostingRegressor(max_leaf_nodes=3, random_state=0), {"max_iter": [2, 5]}, "kfold"),
    (SVC(), {"C": [0.1, 1.0]}, "race"),
    (PoissonRegressor(), {"alpha": [0.1, 1.0]}, "race"),
    (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 4], "criterion": ["gini", "entropy"]}, "race"),
    (Ridge(), {"alpha": [0.1, 1.0], "fit_intercept": [True, False]}, "loo"),
]


def labels(learner):
    return CLASSES if learner.__sklearn_tags__().estimator_type == "classifier" else VALUES


@pytest.mark.parametrize(("learner", "grid", "taken"), TAKEN, ids=lambda value: str(value)[:40])
def test_what_is_taken_and_its_numbers_against_that_criterion(learner, grid, taken):
    y = labels(learner)
    ours = GridSearch(learner, grid, random_state=0).fit(X, y)
    assert ours.curve_.criterion == taken
    assert ours.curve_.notes[0].startswith(f'criterion "auto" took "{taken}": ')
    if taken != "race":  # which has the estimator's own setting as one more candidate
        scoring = None if y is CLASSES else "r2"
        # Folds of one path judge what they left out together.
        alike = CrossValidation(5, shuffle=True, pooled=True) if taken == "kfold" else taken
        alike = RowsAndLabels(20) if taken == "rows-and-labels" and "Tree" in str(learner) else alike
        named = GridSearch(learner, grid, criterion=alike, scoring=scoring, random_state=0).fit(X, y)
        np.testing.assert_array_equal(ours.curve_.out_sample, named.curve_.out_sample)


def test_settings_of_a_forest_race_over_its_trees_and_one_alone_is_judged_out_of_bag():
    forest = RandomForestClassifier(60, random_state=0)
    search = GridSearch(forest, {"max_features": [1, 2, 3]}, random_state=0).fit(X, CLASSES)
    assert "number of trees" in search.curve_.notes[0]
    assert search.n_fits_ <= 4
    assert outsample.estimate(forest, X, CLASSES, random_state=0).criterion == "oob"


def test_groups_are_kept_whole():
    groups = np.repeat(np.arange(12), 5)
    found = GridSearch(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, random_state=0).fit(X, CLASSES, groups=groups)
    assert found.curve_.criterion == "race"
    assert "groups" in found.curve_.notes[0]
    fold = found.curve_.left_out.fold
    assert all(len(set(fold[groups == group])) == 1 for group in range(12))


def test_one_model_of_several_outputs():
    both = np.stack([VALUES, -VALUES], axis=1)
    assert outsample.estimate(Ridge(), X, both).criterion == "loo"


def test_the_race_is_the_users():
    race = Race(cv=4, max_fits=5)
    search = GridSearch(SVC(), {"C": [0.1, 1.0, 10.0]}, criterion=Auto(race=race), random_state=0).fit(X, CLASSES)
    assert search.race_.n_fits <= 5
    with pytest.raises(ValueError, match="race must be a Race or None, got 4"):
        Auto(race=4)


def test_episodes_are_kept_to():
    search = GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": [2, 4, 8]}, criterion=Auto(6)).fit(X, CLASSES)
    assert search.n_fits_ <= 6 + 2 + 3, "and the own setting on three folds"


def test_trees_get_twenty_fits_and_stages_ten_where_five_folds_take_as_many():
    def note(learner, name, values):
        return GridSearch(learner, {name: values}, random_state=0).fit(X, CLASSES).curve_.notes[0]

    tree = DecisionTreeClassifier(max_depth=3)
    assert "20 of them" in note(tree, "max_leaf_nodes", [2, 3, 4, 5, 6])
    assert "10 of them" in note(tree, "max_leaf_nodes", [2, 3, 4])
    assert '"kfold"' in note(tree, "max_leaf_nodes", [2, 4])
    stages = HistGradientBoostingClassifier(max_leaf_nodes=3, random_state=0)
    assert "10 of them" in note(stages, "max_iter", [2, 3, 4, 5, 6])
    assert '"kfold"' in note(stages, "max_iter", [2, 5])


@pytest.mark.parametrize(("n", "fits"), [(3, 3 + 1 + 3), (7, 5 + 1)])
def test_rows_fewer_than_folds_leave_fits_for_the_own_setting(n, fits):
    tree, grid = DecisionTreeRegressor(random_state=0), {"max_leaf_nodes": [2, 3]}
    search = GridSearch(tree, grid, random_state=0).fit(X[:n], VALUES[:n])
    assert search.n_fits_ == fits


def test_scores_are_in_the_scale_of_scikit_learns_searches():
    ours, theirs = GridSearch(Ridge(), {"alpha": [1.0]}), GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=KFold(5))
    ours.fit(X, VALUES), theirs.fit(X, VALUES)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=0.2)
    assert ours.estimate_.loss == "r2"


def test_texts_are_rows_without_columns():
    X = np.array(["red apple pie", "green apple tart", "fast red car", "slow green car"] * 6, dtype=object)
    y = np.array([0, 0, 1, 1] * 6)
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    search = outsample.GridSearch(model, {"logisticregression__C": [0.1, 1.0]}, random_state=0).fit(X, y)
    assert search.best_score_ > 0.9


def test_ill_posed_tables_are_left_to_folds():
    """Columns of so different units that rounding decides, whichever row is left out."""
    ill = np.column_stack([X, RNG.normal(size=60) * 1e7])
    learner = LinearDiscriminantAnalysis(solver="lsqr")
    found = GridSearch(learner, {"shrinkage": [0.0, 1e-9]}, random_state=0).fit(ill, CLASSES)
    assert found.curve_.criterion == "race"
    assert "nearly ill-posed" in found.curve_.notes[0]


def test_settings_that_scikit_learn_refuses_are_left_to_folds():
    alike = np.column_stack([X, X[:, 0]])
    with pytest.warns(FitFailedWarning, match="not full rank"):
        found = GridSearch(QuadraticDiscriminantAnalysis(), {"reg_param": [0.0, 0.1]}).fit(alike, CLASSES)
    assert found.curve_.criterion == "kfold"


def test_rows_in_doubt_are_left_to_folds_and_all_fits_are_counted():
    """Separated classes without a penalty have no fit to start from."""
    separated = (X[:, 0] > 0).astype(int)
    learner = LogisticRegression(C=np.inf, max_iter=5000)
    found = outsample.estimate(learner, X, separated, random_state=0)
    assert found.criterion == "race"
    assert "in doubt" in found.notes[0]
    assert found.n_fits == 1 + 4


def test_settings_that_leave_rows_in_doubt_race_and_all_fits_are_counted():
    separated = (X[:, 0] > 0).astype(int)
    learner = LogisticRegression(max_iter=5000)
    search = GridSearch(learner, {"C": [1.0, np.inf]}, random_state=0).fit(X, separated)
    assert search.curve_.notes[0] == 'criterion "auto" took "race": approximate leave-one-out left rows in doubt.'
    assert search.curve_.n_fits >= search.race_.n_fits + 2


def test_of_many_settings_the_richest_alone_tells_that_rows_are_in_doubt():
    separated = (X[:, 0] > 0).astype(int)
    grid = {"C": [0.1, 1.0, 10.0, 100.0, np.inf]}
    search = GridSearch(LogisticRegression(max_iter=5000), grid, random_state=0).fit(X, separated)
    assert "in doubt" in search.curve_.notes[0]
    assert search.curve_.n_fits == 1 + search.race_.n_fits, "the estimator's own setting is a candidate"


@pytest.mark.parametrize("scaled", [False, True])
def test_the_richest_setting_is_fitted_once_and_the_numbers_are_those_of_approximate_leave_one_out(scaled):
    learner = make_pipeline(StandardScaler(), LogisticRegression()) if scaled else LogisticRegression()
    grid = {("logisticregression__C" if scaled else "C"): [0.01, 0.1, 1.0, 10.0, 30.0]}
    ours = GridSearch(learner, grid, random_state=0).fit(X, CLASSES)
    named = GridSearch(learner, grid, criterion="alo", random_state=0).fit(X, CLASSES)
    np.testing.assert_array_equal(ours.curve_.out_sample, named.curve_.out_sample)
    np.testing.assert_array_equal(ours.curve_.in_sample, named.curve_.in_sample)
    assert named.curve_.n_fits == 5
    assert ours.curve_.n_fits == 5


@pytest.mark.parametrize("scoring", ["roc_auc_ovr", "neg_log_loss", "balanced_accuracy"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_scores_of_trees_where_a_class_has_two_rows(scoring, seed):
    """Labels drawn around a tree lack such a class now and then, and these scores are not defined without it."""
    y = np.repeat([1, 2, 0], [2, 2, 56])
    X = np.random.default_rng(seed).normal(size=(60, 3)) + y[:, None]
    tree, grid = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3]}
    search = GridSearch(tree, grid, scoring=scoring, random_state=seed).fit(X, y)
    assert search.curve_.criterion == "rows-and-labels"
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_steps_that_read_the_labels_are_given_as_the_reason_for_folds():
    X, y = make_classification(80, 6, random_state=0)
    pipeline = make_pipeline(SelectKBest(k=3), LogisticRegression())
    search = GridSearch(pipeline, {"logisticregression__C": [0.1, 1]}, random_state=0).fit(X, y)
    assert search.curve_.criterion == "race"
    assert "a step before the learner may look at the labels" in search.curve_.notes[0]


@pytest.mark.parametrize("scoring", ["neg_log_loss", "d2_log_loss_score", None])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_forests_by_losses_without_limit_go_over_folds(scoring, n_classes):
    """Where none of the trees that did not see a row names its class, log loss is 36: it says little of all trees."""
    X, y = make_classification(150, 8, n_informative=5, n_classes=n_classes, random_state=0)
    forest = RandomForestClassifier(60, random_state=0)
    how = {"loss": "log"} if scoring is None else {"scoring": scoring}
    search = GridSearch(forest, {"max_depth": [2, 8]}, random_state=0, **how).fit(X, y)
    assert search.curve_.race.unit == "fold"
    assert "trees that did not see a row tell too little" in search.curve_.notes[0]
    assert GridSearch(forest, {"n_estimators": [30, 60]}, random_state=0, **how).fit(X, y).curve_.criterion == "kfold"
    with pytest.raises(ValueError, match="a loss with a limit"):
        GridSearch(forest, {"max_depth": [2, 8]}, criterion=Race(over="size"), **how).fit(X, y)


@pytest.mark.parametrize("scoring", ["neg_brier_score", "roc_auc", "accuracy", "average_precision"])
def test_forests_by_losses_with_a_limit_are_judged_out_of_bag(scoring):
    X, y = make_classification(150, 8, random_state=0)
    search = GridSearch(RandomForestClassifier(80, random_state=0), {"max_depth": [2, 8]}, scoring=scoring)
    assert search.fit(X, y).curve_.race.unit == "tree"


def test_log_loss_of_a_forest_against_the_rest_of_a_population():
    """It was at a tenth of the truth where losses out of bag were corrected to the number of trees."""
    X, y = make_classification(6000, 10, weights=[0.75], flip_y=0.05, random_state=1)
    forest, found, truth = RandomForestClassifier(100, random_state=0), [], []
    for start in range(0, 1000, 100):
        rows = np.arange(start, start + 100)
        found.append(estimate(forest, X[rows], y[rows], loss="log", random_state=0).out_sample)
        truth.append(log_loss(y[1000:], clone(forest).fit(X[rows], y[rows]).predict_proba(X[1000:])))
    apart = np.array(found) - truth
    assert abs(apart.mean()) < 3 * apart.std() / np.sqrt(10)
    assert min(found) > 0.3 * min(truth)


def _values(n, low, high):
    return np.logspace(low, high, n).tolist()


BUDGET = [
    (DecisionTreeClassifier(), lambda n: {"max_leaf_nodes": range(2, n + 2)}),
    (DecisionTreeRegressor(), lambda n: {"max_leaf_nodes": range(2, n + 2)}),
    (DecisionTreeClassifier(), lambda n: {"min_samples_leaf": range(1, n + 1)}),
    (DecisionTreeRegressor(), lambda n: {"max_depth": [2, 3][: n - n // 2], "min_samples_leaf": range(1, n // 2 + 2)}),
    (LogisticRegression(), lambda n: {"C": _values(n, -3, 3)}),
    (LogisticRegression(C=np.inf, max_iter=20), lambda n: {"tol": _values(n, -9, -3)}),
    (make_pipeline(StandardScaler(), Lasso()), lambda n: {"lasso__alpha": _values(n, -3, 0)}),
    (Ridge(), lambda n: {"alpha": _values(n, -3, 3)}),
    (SVC(), lambda n: {"C": _values(n, -1, 3)}),
    (SVC(), lambda n: {"gamma": _values(n, -1e-9, 1e-9)}),
    (KNeighborsClassifier(), lambda n: {"n_neighbors": range(1, n + 1)}),
    (GaussianNB(), lambda n: {"var_smoothing": _values(n, -9, 0)}),
    (QuadraticDiscriminantAnalysis(), lambda n: {"reg_param": np.linspace(0, 1, n).tolist()}),
    (RandomForestClassifier(8), lambda n: {"min_samples_leaf": range(1, n + 1)}),
    (RandomForestClassifier(50), lambda n: {"min_samples_leaf": range(1, min(n, 12) + 1)}),
    (HistGradientBoostingRegressor(max_iter=3), lambda n: {"learning_rate": _values(min(n, 12), -2, 0)}),
    (HistGradientBoostingClassifier(max_leaf_nodes=3), lambda n: {"max_iter": range(1, n + 1)}),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:Variables are collinear")
@pytest.mark.parametrize("n", [1, 2, 4, 12, 40])
@pytest.mark.parametrize(("learner", "grid"), BUDGET, ids=map(str, range(len(BUDGET))))
def test_no_search_takes_more_fits_than_five_folds_of_its_grid(learner, grid, n, monkeypatch):
    """Neither of those that are counted, nor of those that scikit-learn makes, the refit aside."""
    kind, fits = type(learner[-1] if hasattr(learner, "steps") else learner), []
    own = kind.fit

    def fit(self, X, *arguments, **named):
        # Without a table nothing is fitted: scikit-learn is asked whether it takes the parameters.
        if X is not None:
            fits.append(1)
        return own(self, X, *arguments, **named)

    monkeypatch.setattr(kind, "fit", fit)
    search = GridSearch(learner, grid(n), random_state=0).fit(X, labels(learner))
    candidates = len(search.cv_results_["params"])
    assert search.n_fits_ <= 5 * candidates
    assert len(fits) <= 5 * candidates + 1
