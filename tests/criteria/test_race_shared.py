"""What candidates of a race share on a fold: the numbers of fits that share nothing, and how often each is made."""

from __future__ import annotations

import gc
import weakref

import joblib
import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from learners_that_count import COUNTER, counted
from outsample import GridSearch, Race, RandomizedSearch
from outsample.evidence import fold_race
from outsample.paths import preparation

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
MACHINES = {"svc__C": [0.1, 1.0, 10.0, 100.0], "svc__gamma": [0.001, 0.01, 0.1]}
LEARNERS = [
    {"model": [LinearSVC(random_state=0)], "model__C": [0.01, 0.1, 1.0]},
    {"model": [MultinomialNB()], "model__alpha": [0.01, 0.1, 1.0]},
    {"model": [SVC()], "model__C": [1.0, 10.0]},
]


@pytest.fixture(scope="module")
def table():
    return make_classification(300, 12, n_informative=4, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    words = np.array([f"word{i}" for i in range(40)])
    texts = [" ".join(rng.choice(words[10 * c : 10 * c + 20], 6)) for c in y]
    return np.array(texts, dtype=object), y


def machines():
    return make_pipeline(StandardScaler(), SVC())


def text_model():
    return Pipeline([("words", TfidfVectorizer()), ("model", LinearSVC())])


def raced(X, y, estimator, grid, criterion=None, **settings):
    search = GridSearch(estimator, grid, criterion=criterion or Race(FOLDS), random_state=0, refit=False, **settings)
    return search.fit(X, y)


def record_of(search):
    race, losses = search.race_, search.curve_.left_out.losses
    return {"risk": race.risk, "reason": race.reason, "losses": losses, "fits": search.n_fits_}


def assert_alike(one, other, rtol=0.0, fits=True):
    first, second = record_of(one), record_of(other)
    for name, values in first.items():
        if name == "fits" and not fits:
            continue
        if name == "reason":
            assert list(values) == list(second[name])
        else:
            np.testing.assert_allclose(values, second[name], rtol=rtol, err_msg=name)
    assert one.best_index_ == other.best_index_


def alone(monkeypatch, *arguments, **settings):
    """The same search, its candidates fitted each for itself."""
    with monkeypatch.context() as changed:
        changed.setattr("outsample.evidence.rows.preparations_of", lambda path: [])
        return raced(*arguments, **settings)


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
@pytest.mark.parametrize("steps", [[], [StandardScaler()], [PCA(11, svd_solver="randomized")]], ids=str)
def test_machines_against_fits_that_share_nothing(table, monkeypatch, steps, scoring):
    model = make_pipeline(*steps, SVC())
    shared = raced(*table, model, MACHINES, scoring=scoring)
    assert_alike(shared, alone(monkeypatch, *table, model, MACHINES, scoring=scoring))


def test_regression_against_fits_that_share_nothing(monkeypatch):
    X, y = make_regression(200, 12, noise=30, random_state=0)
    model, grid = make_pipeline(StandardScaler(), SVR()), {"svr__C": [1.0, 100.0], "svr__epsilon": [0.1, 1.0, 10.0]}
    shared = raced(X, y, model, grid, Race(KFold(5)))
    assert_alike(shared, alone(monkeypatch, X, y, model, grid, Race(KFold(5))), rtol=1e-6)


def test_learners_over_the_same_words_against_fits_that_share_nothing(texts, monkeypatch):
    shared = raced(*texts, text_model(), LEARNERS)
    assert_alike(shared, alone(monkeypatch, *texts, text_model(), LEARNERS))


def test_weights_and_data_frames_against_fits_that_share_nothing(table, monkeypatch):
    import pandas as pd

    X, y = table
    frame, weight = pd.DataFrame(X).add_prefix("x"), np.random.default_rng(0).random(len(y))

    def search():
        model = machines().set_output(transform="pandas")
        found = GridSearch(model, MACHINES, criterion=Race(FOLDS), random_state=0, refit=False)
        return found.fit(frame, y, sample_weight=weight)

    shared = search()
    monkeypatch.setattr("outsample.evidence.rows.preparations_of", lambda path: [])
    assert_alike(shared, search())


def test_steps_are_fitted_once_per_fold(table, monkeypatch):
    counted(monkeypatch, StandardScaler, "scaler")
    COUNTER.fits.clear()
    race = raced(*table, machines(), MACHINES, Race(FOLDS, confidence=1 - 1e-12, tolerance=0)).race_
    assert race.n_splits.min() >= 3
    assert COUNTER.fits["scaler"] == 5


def test_words_are_counted_once_per_fold_for_all_learners(texts, monkeypatch):
    fits = []
    original = TfidfVectorizer.fit_transform

    def fit_transform(self, documents, y=None):
        fits.append(len(documents))
        return original(self, documents, y)

    monkeypatch.setattr(TfidfVectorizer, "fit_transform", fit_transform)
    raced(*texts, text_model(), LEARNERS)
    of_folds = [n for n in fits if n < 150]
    assert of_folds == [120] * 5


def test_a_kernel_matrix_is_made_once_per_fold_and_width(table, monkeypatch):
    made, original = [], preparation.Kernel.__call__

    def call(self, A, B):
        made.append(len(A))
        return original(self, A, B)

    monkeypatch.setattr(preparation.Kernel, "__call__", call)
    race = raced(*table, machines(), MACHINES, Race(FOLDS, confidence=1 - 1e-12, tolerance=0)).race_
    assert len(race.order) == 5
    # Three widths and that of the estimator itself, five folds, training and test rows.
    assert len(made) <= 4 * 5 * 2


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_any_number_of_workers_gives_the_same_bits(table, texts, backend):
    for X, y, model, grid in ((*table, machines(), MACHINES), (*texts, text_model(), LEARNERS)):
        with joblib.parallel_backend(backend):
            two = raced(X, y, model, grid, n_jobs=2)
        assert_alike(raced(X, y, model, grid), two)


def scores_of(search):
    """Scores on the folds by setting."""
    results = search.cv_results_
    scores = np.stack([results[f"split{k}_test_score"] for k in range(5)], axis=1)
    return dict(zip(map(str, results["params"]), scores, strict=True))


@pytest.mark.parametrize("grid", [{"svr__C": [10.0], "svr__gamma": [0.01]}, {"svr__C": [1.0, 10.0]}], ids=str)
def test_dropping_one_never_changes_the_numbers_of_another(grid):
    X, y = make_regression(200, 12, noise=30, random_state=0)
    model, criterion = make_pipeline(StandardScaler(), SVR()), Race(KFold(5), confidence=1 - 1e-12, tolerance=0)
    whole = raced(X, y, model, {"svr__C": [1.0, 10.0, 100.0], "svr__gamma": [0.01, "scale"]}, criterion)
    few = raced(X, y, model, {"svr__gamma": ["scale"], **grid}, criterion)
    known = {str(dict(sorted(setting.items()))): setting for setting in whole.cv_results_["params"]}
    for setting in few.cv_results_["params"]:
        one, other = scores_of(few)[str(setting)], scores_of(whole)[str(known[str(dict(sorted(setting.items())))])]
        both = ~np.isnan(one) & ~np.isnan(other)
        assert both.any()
        np.testing.assert_array_equal(one[both], other[both])


class StopError(Exception):
    """The search is interrupted."""


def laps_of(table, **settings):
    """(a search, how many laps it ran)."""
    laps, original = [], fold_race._Laps.__call__

    def call(self, entrant, fold, shared, n_models):
        laps.append(entrant)
        return original(self, entrant, fold, shared, n_models)

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(fold_race._Laps, "__call__", call)
        return raced(*table, machines(), MACHINES, **settings), len(laps)


def test_an_interrupted_race_goes_on_where_it_was(table, tmp_path):
    whole, n_laps = laps_of(table)

    def stop(done, planned):
        if done >= 7:
            raise StopError

    store = tmp_path / "race.outsample"
    with pytest.raises(StopError):
        raced(*table, machines(), MACHINES, store=store, progress=stop)
    resumed, n_more = laps_of(table, store=store)
    assert n_more == n_laps - 7
    assert_alike(whole, resumed, fits=False)
    assert whole.n_fits_ - resumed.n_fits_ == 7


def test_laps_of_several_workers_are_kept(table, tmp_path):
    store = tmp_path / "race.outsample"
    with joblib.parallel_backend("threading"):
        first = raced(*table, machines(), MACHINES, store=store, n_jobs=2)
    again, n_laps = laps_of(table, store=store)
    assert n_laps == 0
    assert_alike(first, again, fits=False)
    assert again.n_fits_ == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_settings_that_fail_leave_the_others_what_they_share(table, monkeypatch, n_jobs):
    model = make_pipeline(PCA(), SVC())
    grid = {"pca__n_components": [11, 99], "svc__C": [-1.0, 1.0, 10.0], "svc__gamma": [0.1, -1.0]}
    with joblib.parallel_backend("threading"), pytest.warns(FitFailedWarning, match="and 9 more") as shown:
        shared = raced(*table, model, grid, n_jobs=n_jobs)
    with pytest.warns(FitFailedWarning, match="and 9 more") as others:
        assert_alike(shared, alone(monkeypatch, *table, model, grid))
    assert str(shown[0].message) == str(others[0].message)


def test_a_search_at_random_against_fits_that_share_nothing(table, monkeypatch):
    settings = {"svc__C": loguniform(0.1, 100), "svc__gamma": loguniform(0.001, 0.1)}

    def search():
        found = RandomizedSearch(machines(), settings, n_iter=12, criterion=Race(FOLDS), random_state=0, refit=False)
        return found.fit(*table)

    shared = search()
    monkeypatch.setattr("outsample.evidence.rows.preparations_of", lambda path: [])
    assert_alike(shared, search())


def test_what_is_shared_is_released_after_the_round(table, monkeypatch):
    matrices, original = [], preparation.KernelMatrix.__call__

    def call(self, X_train, X_test):
        made = original(self, X_train, X_test)
        matrices.append(weakref.ref(made[0]))
        return made

    monkeypatch.setattr(preparation.KernelMatrix, "__call__", call)
    search = raced(*table, machines(), MACHINES)
    gc.collect()
    assert matrices
    assert not [matrix for matrix in matrices if matrix() is not None]
    assert search.race_ is not None


def test_a_path_off_one_fit_shares_the_steps_with_refits(table, monkeypatch):
    model = Pipeline([("scale", StandardScaler()), ("model", SVC())])
    grid = [{"model": [KNeighborsClassifier()], "model__metric": ["cosine"], "model__n_neighbors": [1, 5]}]
    grid += [{"model": [SVC()], "model__C": [1.0, 10.0]}]
    assert_alike(raced(*table, model, grid), alone(monkeypatch, *table, model, grid))
