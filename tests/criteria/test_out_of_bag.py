"""Out of bag against scikit-learn's own out-of-bag predictions, refits, enumeration and simulated truth."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from scipy.stats import norm
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

import outsample
from learners_that_count import COUNTER, counted
from outsample.criteria.out_of_bag import OutOfBag
from outsample.evidence.out_of_bag import OutOfBagFits, growths_of
from outsample.losses.base import weighted_mean
from outsample.problem import pose

N, TREES = 120, 30
KEPT = OutOfBag(keep_predictions=True)
RAW = OutOfBag(correction=False, keep_predictions=True)


def _data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 6))
    signal = X[:, 0] + X[:, 1] * X[:, 2]
    labels = {
        "two": np.array(["no", "yes"])[(signal + rng.normal(size=N) > 0).astype(int)],
        "three": np.digitize(signal + rng.normal(size=N), [-0.7, 0.7]) * 10,
        "real": signal + rng.normal(size=N),
        "outputs": np.c_[signal, -signal] + rng.normal(size=(N, 2)),
    }
    return X, labels, rng.integers(1, 4, size=N).astype(float)


X, LABELS, WEIGHT = _data()

CLASSIFIERS = {
    "forest": RandomForestClassifier(TREES, random_state=0),
    "extra trees": ExtraTreesClassifier(TREES, bootstrap=True, max_samples=0.5, random_state=0),
    "weighted classes": RandomForestClassifier(TREES, class_weight="balanced_subsample", random_state=0),
    "bag of trees": BaggingClassifier(n_estimators=TREES, random_state=0),
    "bag of neighbours": BaggingClassifier(KNeighborsClassifier(3), TREES, max_samples=0.7, random_state=0),
    "bag on columns": BaggingClassifier(
        LogisticRegression(), TREES, max_features=0.5, bootstrap_features=True, random_state=0
    ),
    "bag of voters": BaggingClassifier(LinearSVC(), TREES, random_state=0),
}
REGRESSORS = {
    "forest": RandomForestRegressor(TREES, random_state=0),
    "extra trees": ExtraTreesRegressor(TREES, bootstrap=True, max_samples=50, random_state=0),
    "bag of trees": BaggingRegressor(n_estimators=TREES, random_state=0),
    "bag of neighbours": BaggingRegressor(KNeighborsRegressor(3), TREES, max_features=3, random_state=0),
    "bag of lines": BaggingRegressor(Ridge(), TREES, random_state=0),
}


def _curve(estimator, y, criterion=KEPT, X=X, **asked):
    return criterion.curve(pose(estimator, X, y, random_state=0, **asked))


def _by_itself(estimator, y, weight=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).set_params(oob_score=True).fit(X, y, sample_weight=weight)


def _check_alike(ours, theirs):
    """Equal to the last digit; scikit-learn has zeros or nan for rows that all estimators saw."""
    unknown = np.isnan(ours) if ours.dtype.kind == "f" else ours < 0
    assert unknown.mean() < 0.05
    assert np.array_equal(ours[~unknown], theirs[~unknown])
    assert not np.nan_to_num(theirs[unknown]).any()


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("labels", ["two", "three"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_raw_predictions_of_classifiers_against_scikit_learn(name, labels, weight):
    estimator, y = CLASSIFIERS[name], LABELS[labels]
    theirs = _by_itself(estimator, y, weight).oob_decision_function_
    probabilities = hasattr(estimator, "predict_proba")
    ours = _curve(estimator, y, loss="neg_log_loss" if probabilities else "zero-one", sample_weight=weight)
    _check_alike(ours.out_of_fold[0], theirs if probabilities else theirs.argmax(axis=1))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_raw_predictions_of_regressors_against_scikit_learn(name, weight):
    theirs = _by_itself(REGRESSORS[name], LABELS["real"], weight).oob_prediction_
    ours = _curve(REGRESSORS[name], LABELS["real"], sample_weight=weight)
    _check_alike(ours.out_of_fold[0], theirs)


def test_several_outputs_against_scikit_learn():
    forest, y = REGRESSORS["forest"], LABELS["outputs"]
    curve = _curve(forest, y)
    assert np.array_equal(curve.out_of_fold[0], _by_itself(forest, y).oob_prediction_)
    assert curve.left_out.losses.shape == (1, N)


def test_decision_values_of_a_bag_against_its_estimators():
    bag, y = CLASSIFIERS["bag on columns"], LABELS["two"]
    curve = _curve(bag, y, RAW, loss="roc_auc")
    fitted = clone(bag).fit(X, y)
    won, met = 0.0, 0
    by_bags = zip(fitted.estimators_, fitted.estimators_samples_, fitted.estimators_features_, strict=True)
    said = [(np.isin(np.arange(N), bagged), it.decision_function(X[:, columns])) for it, bagged, columns in by_bags]
    above = y == np.unique(y)[1]
    for i, j in itertools.product(np.flatnonzero(above), np.flatnonzero(~above)):
        apart = [values[i] - values[j] for saw, values in said if not saw[i] and not saw[j]]
        if apart:
            won, met = won + (sum(apart) > 0) + (sum(apart) == 0) / 2, met + 1
    assert curve.out_sample[0] == pytest.approx(-won / met)


@pytest.mark.parametrize("table", ["frame", "sparse", "missing"])
def test_other_tables_than_arrays(table):
    forest, y = CLASSIFIERS["forest"], LABELS["three"]
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    other = {"frame": pd.DataFrame(X).add_prefix("c"), "sparse": sparse.csr_matrix(X), "missing": holes}[table]
    theirs = clone(forest).set_params(oob_score=True).fit(other, y).oob_decision_function_
    assert np.array_equal(_curve(forest, y, X=other, loss="log").out_of_fold[0], theirs)


@pytest.mark.parametrize("estimator", [CLASSIFIERS["forest"], CLASSIFIERS["bag on columns"]], ids=["forest", "bag"])
def test_sizes_from_one_fit_against_a_fit_of_each_size(estimator):
    y, sizes = LABELS["three"], [3, 10, TREES]
    grid = {"n_estimators": sizes}
    one = outsample.GridSearch(estimator, grid, criterion=KEPT, random_state=0, loss="log").fit(X, y)
    each = outsample.GridSearch(estimator, grid, criterion=KEPT, random_state=0, loss="log", fast=False).fit(X, y)
    assert (one.n_fits_, each.n_fits_) == (1, 3)
    assert np.array_equal(one.curve_.out_of_fold, each.curve_.out_of_fold, equal_nan=True)
    assert np.array_equal(one.curve_.out_sample, each.curve_.out_sample)
    assert np.array_equal(one.curve_.in_sample, each.curve_.in_sample)


@pytest.mark.parametrize(
    "estimator", [CLASSIFIERS["forest"], CLASSIFIERS["bag on columns"], REGRESSORS["extra trees"]], ids=str
)
def test_the_cut_ensemble_against_a_fit_of_that_size(estimator):
    y = LABELS["real" if estimator in REGRESSORS.values() else "three"]
    first = lambda curve: 0  # noqa: E731 — a rule that takes the smallest
    search = outsample.GridSearch(estimator, {"n_estimators": [7, TREES]}, criterion="oob", rule=first, random_state=0)
    model, plain = search.fit(X, y).best_estimator_, clone(estimator).set_params(n_estimators=7).fit(X, y)
    assert search.best_params_ == {"n_estimators": 7}
    assert len(model.estimators_) == len(model.estimators_samples_) == model.n_estimators == 7
    assert np.array_equal(model.estimators_samples_, plain.estimators_samples_)
    assert np.array_equal(model.predict(X), plain.predict(X))


def test_one_fit_a_setting_and_none_for_the_refit(monkeypatch):
    counted(monkeypatch, RandomForestClassifier, "forest")
    grid = {"max_features": [1, 3], "min_samples_leaf": [1, 5]}
    COUNTER.fits.clear()
    search = outsample.GridSearch(CLASSIFIERS["forest"], grid, criterion="oob", random_state=0).fit(X, LABELS["two"])
    assert COUNTER.fits == {"forest": 4}
    assert search.n_fits_ == 4
    plain = clone(CLASSIFIERS["forest"]).set_params(**search.best_params_).fit(X, LABELS["two"])
    assert np.array_equal(search.predict_proba(X), plain.predict_proba(X))


def test_the_refitted_model_is_seeded_as_any_other_refit():
    forest, y = RandomForestClassifier(10), LABELS["two"]
    pipeline = make_pipeline(StandardScaler(), forest)
    grid = {"randomforestclassifier__max_depth": [2]}
    searches = [
        outsample.GridSearch(pipeline, grid, criterion=criterion, random_state=5).fit(X, y)
        for criterion in ("oob", "resubstitution")
    ]
    assert np.array_equal(*(search.predict_proba(X) for search in searches))


def test_squared_loss_corrected_against_its_definition():
    forest, y = REGRESSORS["forest"], LABELS["real"]
    fitted = clone(forest).fit(X, y)
    opinions = np.stack([tree.predict(X) for tree in fitted.estimators_])
    for bag, row in zip(fitted.estimators_samples_, opinions, strict=True):
        row[bag] = np.nan
    m, s2 = (~np.isnan(opinions)).sum(axis=0), np.nanvar(opinions, axis=0, ddof=1)
    expected = (y - np.nanmean(opinions, axis=0)) ** 2 - s2 / m + s2 / TREES
    curve = _curve(forest, y)
    assert np.allclose(curve.left_out.losses[0], expected, rtol=1e-9, atol=1e-12)
    assert curve.out_sample[0] == pytest.approx(expected.mean())


def test_halves_agree_with_the_closed_form_of_squared_loss():
    forest, y = RandomForestRegressor(60, random_state=0), LABELS["real"]
    closed = _curve(forest, y).out_sample[0]
    raw = _curve(forest, y, RAW).out_sample[0]
    by_rows = _curve(forest, y, loss=lambda y, prediction: (y - prediction) ** 2).out_sample[0]
    by_sets = -_curve(forest, y, loss="r2").out_sample[0]
    assert by_rows == pytest.approx(closed, abs=0.1 * (raw - closed))
    assert (1 - by_sets) * np.var(y) == pytest.approx(closed, abs=0.2 * (raw - closed))


CENTERS = np.random.default_rng(99).normal(size=1000)


class _Noise(DecisionTreeRegressor):
    """An estimator whose opinion of a row is its center and chance."""

    def fit(self, X, y, sample_weight=None):
        self.values_ = CENTERS + np.random.default_rng(self.random_state).normal(size=len(CENTERS))
        return self

    def predict(self, X):
        return self.values_[np.asarray(X)[:, 0].astype(int)]


def _wrong_sign(y, prediction):
    return np.asarray((prediction > 0) != (y > 0), dtype=float)


@pytest.mark.parametrize("loss", ["squared", _wrong_sign], ids=["squared", "zero-one"])
def test_the_correction_against_the_known_risk_of_an_ensemble(loss):
    """Opinions are normal around known centers, so that the expected loss of a mean of 30 of them is known."""
    rows, size = np.arange(len(CENTERS), dtype=float)[:, None], 30
    raw, corrected = [], []
    for repeat in range(6):
        signs = np.where(CENTERS + 0.5 * np.random.default_rng(repeat).normal(size=len(CENTERS)) > 0, 1.0, -1.0)
        positive = norm.cdf(CENTERS * np.sqrt(size))
        of_rows = (
            (CENTERS - signs) ** 2 + 1 / size if loss == "squared" else np.where(signs > 0, 1 - positive, positive)
        )
        bag = BaggingRegressor(_Noise(), size, random_state=repeat)
        for found, correction in ((raw, False), (corrected, True)):
            estimate = _curve(bag, signs, OutOfBag(correction), X=rows, loss=loss).out_sample[0]
            found.append(estimate - np.mean(of_rows))
    assert np.mean(raw) > 0.005
    assert abs(np.mean(corrected)) < 0.35 * np.mean(raw)


def test_standard_errors_and_the_table_of_losses():
    curve = _curve(CLASSIFIERS["forest"], LABELS["two"], sample_weight=WEIGHT)
    losses = curve.left_out.losses[0]
    known = ~np.isnan(losses)
    assert curve.out_sample[0] == pytest.approx(float(weighted_mean(losses[known], WEIGHT[known])))
    assert 0.02 < curve.standard_error[0] < 0.08


def test_rows_that_all_trees_saw_do_not_count():
    forest, y = RandomForestClassifier(3, random_state=0), LABELS["two"]
    curve = _curve(forest, y, RAW)
    codes = curve.out_of_fold[0]
    known = codes >= 0
    assert 0 < (~known).sum() == np.isnan(curve.left_out.losses[0]).sum()
    assert curve.out_sample[0] == np.mean(np.unique(y)[codes[known]] != y[known])
    assert f"{(~known).sum()} of {N} rows were seen by all trees" in curve.notes[0]
    assert "raise n_estimators" in curve.notes[1]


def test_scorers_have_a_standard_error_where_some_rows_were_never_out_of_bag():
    forest, y = RandomForestClassifier(3, random_state=0), LABELS["two"]
    curve, raw = (_curve(forest, y, criterion, loss="accuracy") for criterion in (OutOfBag(), RAW))
    known = raw.out_of_fold[0] >= 0
    np.testing.assert_array_equal(np.isnan(curve.left_out.losses[0]), ~known)
    right = np.unique(y)[raw.out_of_fold[0][known]] == y[known]
    np.testing.assert_allclose(curve.standard_error, [right.std(ddof=1) / np.sqrt(known.sum())])


def test_rows_of_weight_zero_have_no_prediction():
    weight = np.where(np.arange(N) < 20, 0.0, 1.0)
    curve = _curve(CLASSIFIERS["forest"], LABELS["two"], sample_weight=weight)
    assert curve.out_of_fold.shape == (1, N)
    assert (curve.out_of_fold[0, :20] == -1).all()
    assert (curve.out_of_fold[0, 20:] >= 0).all()


@pytest.mark.parametrize(
    ("estimator", "asked", "said"),
    [
        (CLASSIFIERS["forest"], {"groups": np.arange(N) // 2}, "groups"),
        (ExtraTreesClassifier(10), {}, "bootstrap=False"),
        (BaggingClassifier(bootstrap=False, max_samples=0.5), {}, "bootstrap=False"),
        (GaussianNB(), {}, "GaussianNB"),
        (make_pipeline(SelectKBest(k=2), RandomForestClassifier(10)), {}, "SelectKBest"),
    ],
    ids=["groups", "extra trees", "pasting", "another learner", "a step that looks at y"],
)
def test_what_is_refused_in_one_sentence(estimator, asked, said):
    with pytest.raises(ValueError, match=said):
        outsample.estimate(estimator, X, LABELS["two"], criterion="oob", **asked)


@pytest.mark.parametrize("bad", [{"correction": "yes"}, {"n_draws": -1}, {"n_draws": 1.5}], ids=str)
def test_bad_arguments(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        OutOfBag(**bad)


def test_behind_steps_that_ignore_y():
    pipeline = make_pipeline(StandardScaler(), CLASSIFIERS["forest"])
    result = outsample.estimate(pipeline, X, LABELS["two"], criterion="oob", random_state=0)
    assert "earlier steps" in result.estimand
    assert abs(result.out_sample - _curve(CLASSIFIERS["forest"], LABELS["two"]).out_sample[0]) < 0.03


@pytest.mark.parametrize("grid", [{"max_depth": [2, 4, None]}, {"n_estimators": [5, TREES]}], ids=["settings", "sizes"])
def test_the_same_bits_for_any_number_of_workers(grid):
    def outcome(n_jobs, **config):
        with parallel_config(**config):
            search = outsample.GridSearch(
                CLASSIFIERS["forest"], grid, criterion=KEPT, loss="log", n_jobs=n_jobs, random_state=0
            ).fit(X, LABELS["three"])
        return search.curve_.out_sample, search.curve_.out_of_fold, search.predict_proba(X)

    alone = outcome(1)
    for other in (outcome(2), outcome(2, backend="loky")):
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(alone, other, strict=True))


def test_resumed_from_a_store(tmp_path, monkeypatch):
    grid, y = {"max_depth": [2, 4, None]}, LABELS["two"]

    def searched(store):
        return outsample.GridSearch(CLASSIFIERS["forest"], grid, criterion="oob", random_state=0, store=store).fit(X, y)

    plain, first = searched(None), searched(tmp_path / "store")
    counted(monkeypatch, RandomForestClassifier, "forest")
    COUNTER.fits.clear()
    again = searched(tmp_path / "store")
    assert COUNTER.fits == {"forest": 1}
    for other in (first, again):
        assert np.array_equal(other.curve_.out_sample, plain.curve_.out_sample)
        assert np.array_equal(other.predict(X), plain.predict(X))


def test_fits_beyond_memory_are_made_again():
    problem = pose(CLASSIFIERS["forest"], X, LABELS["two"], parameter="max_depth", values=[2, 4, None], random_state=0)
    problem.run.fits._memory = 1
    curve = OutOfBag().curve(problem)
    kept = problem.run.fits._fits
    assert len(kept) == 1
    assert kept[0].risk == curve.out_sample.min()


@pytest.mark.parametrize("loss", ["roc_auc", "f1_macro", "neg_brier_score", "accuracy"])
def test_scorers_judge_all_rows_together(loss):
    curve = _curve(CLASSIFIERS["forest"], np.unique(LABELS["two"], return_inverse=True)[1], loss=loss)
    raw = _curve(CLASSIFIERS["forest"], np.unique(LABELS["two"], return_inverse=True)[1], RAW, loss=loss)
    assert 0 < raw.out_sample[0] - curve.out_sample[0] < 0.06 or abs(raw.out_sample[0] - curve.out_sample[0]) < 0.02


@pytest.mark.parametrize("size", [3, TREES])
def test_honest_bootstrap_counts_rows_out_of_bag_only(size):
    forest = RandomForestClassifier(size, max_depth=2, random_state=0)
    search = outsample.GridSearch(forest, {"max_features": [2]}, criterion=RAW, honest="bootstrap", random_state=0)
    search.fit(X, LABELS["two"])
    assert search.honest_score_.out_sample == pytest.approx(search.estimate_.out_sample, abs=0.02)


def test_permuted_labels_take_the_pessimism_out_of_many_columns():
    """Labels that have nothing to do with 100 columns: the risk is one half, and out of bag is higher."""
    plain, calibrated = [], []
    for repeat in range(8):
        rng = np.random.default_rng(repeat)
        X, y = rng.normal(size=(30, 100)), rng.permutation(np.repeat([0, 1], 15))
        forest = RandomForestClassifier(TREES, random_state=repeat)
        plain.append(outsample.estimate(forest, X, y, criterion="oob", random_state=repeat).out_sample)
        found = outsample.estimate(forest, X, y, criterion=OutOfBag(n_draws=4), random_state=repeat)
        calibrated.append(found.out_sample)
        assert found.n_fits == 5
        assert found.monte_carlo_error > 0
    assert abs(np.mean(calibrated) - 0.5) < np.mean(plain) - 0.5


def test_growths_are_one_fit_for_all_sizes():
    problem = pose(
        CLASSIFIERS["forest"], X, LABELS["two"], parameter="n_estimators", values=[30, 5, 10], random_state=0
    )
    growths = growths_of(problem)
    assert [growth.sizes for growth in growths] == [(5, 10, 30)]
    fits = OutOfBagFits(problem, growths, True, 0)
    assert [len(found.risk) for found in fits.results(problem, None)] == [3]
