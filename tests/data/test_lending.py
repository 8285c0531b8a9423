"""Learners that write into their data, or predict what no learner should: noticed, named, and nothing is damaged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample import Bootstrap, CrossValidation, GridSearch, NestedCrossValidation
from outsample.data.learners import FitError

X, y = (part[:60] for part in load_diabetes(return_X_y=True))
BINARY = (y > 130).astype(int)
FOLDS = KFold(3, shuffle=True, random_state=0)
CRITERIA = ["permutation", CrossValidation(3), "loo", Bootstrap(5), "rows-and-labels", NestedCrossValidation(3, 1)]


class WritesX(DecisionTreeRegressor):
    """Halves X in place before the fit."""

    def fit(self, X, y, sample_weight=None):
        if hasattr(X, "iloc"):
            X.iloc[:, 0] *= 0.5
        else:
            X *= 0.5
        return super().fit(X, y, sample_weight)


class HalvesX(DecisionTreeRegressor):
    """The same fit without damage."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(0.5 * X, y, sample_weight)


class WritesY(DecisionTreeRegressor):
    def fit(self, X, y, sample_weight=None):
        y[::2] = 0
        return super().fit(X, y, sample_weight)


class WritesWeight(DecisionTreeRegressor):
    def fit(self, X, y, sample_weight=None):
        sample_weight[::2] = 0
        return super().fit(X, y, sample_weight)


class WritesWhenAsked(DecisionTreeRegressor):
    def predict(self, X):
        X[:] = 0
        return super().predict(X)


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_a_learner_that_writes_into_x_is_named_and_judged_as_one_that_does_not(criterion):
    table, labels = X.copy(), y.copy()
    with pytest.warns(UserWarning, match="^WritesX writes into X; it worked on a copy, and your data are unchanged"):
        found = outsample.estimate(WritesX(random_state=0), table, labels, criterion=criterion, random_state=0)
    clean = outsample.estimate(HalvesX(random_state=0), X, y, criterion=criterion, random_state=0)
    assert (found.in_sample, found.out_sample) == (clean.in_sample, clean.out_sample)
    np.testing.assert_array_equal(table, X)
    np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize(
    ("learner", "name"),
    [(WritesX(), "X"), (WritesY(), "y"), (WritesWeight(), "sample_weight"), (WritesWhenAsked(), "X")],
)
def test_what_a_search_is_given_stays_as_it_is(learner, name):
    table, labels, weight = X.copy(), y.copy(), np.arange(1.0, 61)
    search = GridSearch(learner, {"max_depth": [1, 3]}, criterion=CrossValidation(3), random_state=0)
    with pytest.warns(UserWarning, match=f"{type(learner).__name__} writes into {name}"):
        search.fit(table, labels, sample_weight=weight)
    np.testing.assert_array_equal(table, X)
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(weight, np.arange(1.0, 61))


@pytest.mark.parametrize("kind", [pd.DataFrame, sparse.csr_matrix, sparse.csc_array])
def test_tables_of_other_kinds_stay_as_they_are(kind):
    table = kind(X.copy())
    with pytest.warns(UserWarning, match="WritesX writes into X"):
        outsample.estimate(WritesX(random_state=0), table, y, criterion="permutation", random_state=0)
    left = table.toarray() if sparse.issparse(table) else table.to_numpy()
    np.testing.assert_array_equal(left, X)


ALLOWED = {
    "scaler": (make_pipeline(StandardScaler(copy=False), Ridge()), {"ridge__alpha": [0.1, 1.0, 5.0]}),
    "scaler, refitted": (
        make_pipeline(RobustScaler(copy=False), DecisionTreeRegressor(random_state=0)),
        {"decisiontreeregressor__min_samples_leaf": [1, 5]},
    ),
    "grid in the head": (
        make_pipeline(MinMaxScaler(copy=False), PCA(copy=False), Ridge()),
        {"pca__n_components": [1, 2, 4]},
    ),
    "least squares": (make_pipeline(PCA(copy=False), LinearRegression(copy_X=False)), {"pca__n_components": [1, 3]}),
    "clusters": (make_pipeline(KMeans(3, copy_x=False, random_state=0), Ridge()), {"ridge__alpha": [0.1, 1.0]}),
    "ridge": (Ridge(copy_X=False), {"alpha": [0.1, 1.0]}),
    "lasso": (Lasso(copy_X=False), {"alpha": [0.1, 1.0]}),
    "partial least squares": (PLSRegression(copy=False), {"n_components": [1, 2, 3]}),
    "neighbours": (
        make_pipeline(StandardScaler(copy=False), KNeighborsRegressor()),
        {"kneighborsregressor__n_neighbors": [1, 5]},
    ),
}


@pytest.mark.parametrize("kind", [np.array, pd.DataFrame])
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("case", ALLOWED)
def test_what_may_overwrite_its_data_gives_the_numbers_of_grid_search_cv(case, fast, kind):
    estimator, grid = ALLOWED[case]
    table, labels = kind(X.copy()), y.copy()
    ours = GridSearch(estimator, grid, criterion=CrossValidation(FOLDS), fast=fast).fit(table, labels)
    theirs = GridSearchCV(estimator, grid, cv=FOLDS).fit(X.copy(), y.copy())
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-9)
    np.testing.assert_array_equal(np.asarray(table), X)
    np.testing.assert_array_equal(labels, y)


def test_a_classifier_may_overwrite_its_data_too():
    table = X.copy()
    for criterion in ("permutation", "loo", "alo"):
        learner = LogisticRegression() if criterion == "alo" else RidgeClassifier(copy_X=False)
        pipeline = make_pipeline(StandardScaler(copy=False), learner)
        found = outsample.estimate(pipeline, table, BINARY, criterion=criterion, random_state=0)
        kept = make_pipeline(StandardScaler(), learner)
        assert found.out_sample == outsample.estimate(kept, X, BINARY, criterion=criterion, random_state=0).out_sample
    np.testing.assert_array_equal(table, X)


class Answers(DecisionTreeClassifier):
    """A tree whose answers are spoilt."""

    def __init__(self, spoilt="nothing", max_depth=None):
        super().__init__(max_depth=max_depth)
        self.spoilt = spoilt

    def predict_proba(self, X):
        probabilities = super().predict_proba(X)
        if self.spoilt == "sums":
            probabilities[3] = [0.7, 0.7]
        if self.spoilt == "nan":
            probabilities[3] = np.nan
        if self.spoilt == "negative":
            probabilities[3] = [1.5, -0.5]
        return probabilities[:-1] if self.spoilt == "length" else probabilities

    def predict(self, X):
        classes = super().predict(X)
        return classes[:-1] if self.spoilt == "length" else classes


class Values(DecisionTreeRegressor):
    def __init__(self, spoilt="nothing", max_depth=None):
        super().__init__(max_depth=max_depth)
        self.spoilt = spoilt

    def predict(self, X):
        values = super().predict(X)
        spoilt = {
            "nan": np.where(np.arange(len(values)) == 1, np.nan, values),
            "infinite": np.where(np.arange(len(values)) == 1, np.inf, values),
            "length": values[:-1],
            "columns": np.stack([values, values], axis=1),
            "complex": values + 1j,
            "number": values.mean(),
        }
        return spoilt.get(self.spoilt, values)


SPOILT = [
    (Values("nan"), y, None, r"Values failed: predict gave values that are not finite, for 1 of \d+ rows"),
    (Values("infinite"), y, None, r"Values failed: predict gave values that are not finite, for 1 of \d+ rows"),
    (Values("length"), y, None, r"Values failed: predict gave \d+ predictions for \d+ rows"),
    (Values("number"), y, None, r"Values failed: predict gave 1 predictions for \d+ rows"),
    (Values("columns"), y, None, "Values failed: it predicted 2 columns where y has one"),
    (Values("complex"), y, None, "Values failed: predict gave complex numbers"),
    (Answers("length"), BINARY, None, r"Answers failed: predict gave \d+ predictions for \d+ rows"),
    (Answers("length"), BINARY, "log", r"Answers failed: predict_proba gave \d+ predictions for \d+ rows"),
    (Answers("sums"), BINARY, "log", "Answers failed: predict_proba gave no probabilities: those of row 3 are"),
    (Answers("negative"), BINARY, "log", "Answers failed: predict_proba gave no probabilities: those of row 3 are"),
    (Answers("nan"), BINARY, "roc_auc", r"Answers failed: predict_proba gave values that are not finite, for 1 of \d+"),
]


@pytest.mark.parametrize("criterion", ["permutation", "kfold", "632+", "two-stage"])
@pytest.mark.parametrize(("learner", "labels", "loss", "sentence"), SPOILT)
def test_predictions_that_are_none_are_named(learner, labels, loss, sentence, criterion):
    with pytest.raises(FitError, match=sentence) as caught:
        outsample.estimate(learner, X, labels, loss=loss, criterion=criterion, random_state=0)
    assert "\n" not in str(caught.value)


def test_a_setting_that_predicts_nan_is_scored_as_one_that_fails():
    search = GridSearch(Values(), {"spoilt": ["nothing", "nan"]}, criterion=CrossValidation(3), loss="r2")
    with pytest.warns(FitFailedWarning, match="Values failed: predict gave values that are not finite"):
        scores = search.fit(X, y).cv_results_["mean_test_score"]
    assert np.isfinite(scores[0])
    assert np.isnan(scores[1])


def test_an_audited_procedure_that_writes_is_named_and_damages_nothing():
    def procedure(table, labels):
        table[:] = 0
        return 0.5

    table = X.copy()
    with pytest.raises(ValueError, match="procedure modified X"):
        outsample.audit(procedure, table, BINARY)
    np.testing.assert_array_equal(table, X)


def test_a_statistic_that_writes_is_named_and_damages_nothing():
    def first_mean(table, labels):
        table[:, 0] -= 1
        return float(table[labels == 1, 0].mean())

    table = X.copy()
    with pytest.warns(UserWarning, match="first_mean writes into X"):
        outsample.permutation_test(None, table, BINARY, statistic=first_mean, n_draws=3, random_state=0)
    np.testing.assert_array_equal(table, X)


def in_place(labels, prediction):
    prediction -= labels
    return prediction**2


@pytest.mark.parametrize("criterion", ["permutation", "kfold", "632+"])
def test_a_loss_that_writes_is_named_and_damages_nothing(criterion):
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    with pytest.warns(UserWarning, match="in_place writes into prediction"):
        found = outsample.estimate(tree, X, y, loss=in_place, criterion=criterion, random_state=0)
    clean = outsample.estimate(tree, X, y, loss="squared", criterion=criterion, random_state=0)
    assert found.out_sample == pytest.approx(clean.out_sample)


def test_reading_is_not_writing():
    search = GridSearch(DecisionTreeRegressor(random_state=0), {"min_samples_leaf": [1, 5]}, criterion="kfold")
    for table in (X, pd.DataFrame(X), sparse.csr_matrix(X), np.asfortranarray(X)):
        assert search.fit(table, y).best_score_ is not None
