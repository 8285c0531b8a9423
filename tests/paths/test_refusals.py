"""What scikit-learn refuses to fit has no estimate either: of all listed learners, bad parameters and bad data."""

from __future__ import annotations

from importlib import import_module
from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from outsample import GridSearch, estimate
from outsample.paths.dispatch import FAST_PATHS

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(0)
X, REAL = RNG.normal(size=(24, 3)).round(), RNG.random(24) + 0.1
CLASSES = np.arange(24) % 2
BAD = [-1, -1.5, "nonsense", [], None, True, 0, 2.5, np.nan]
# What is asked for by other means, or only looked at when it is used.
OTHERS = {"n_jobs", "verbose", "random_state", "estimator", "categorical_features", "oob_score"}
LISTED = [name for name in FAST_PATHS if name.startswith("sklearn.") and "pipeline" not in name]


def learner(name):
    module, _, kind = name.rpartition(".")
    kind = getattr(import_module(module), kind)
    small = {"n_estimators": 2, "max_iter": 3} if "ensemble" in module else {}
    return kind(**{key: value for key, value in small.items() if key in signature(kind).parameters})


def refusal(model, X, y):
    """What scikit-learn says, None where it fits."""
    try:
        clone(model).fit(X, y)
    except Exception as error:
        return error


def positive(name):
    """Rows that every learner of counts takes, too."""
    return np.abs(X) if "naive_bayes" in name else X


@pytest.mark.parametrize("name", LISTED)
def test_a_parameter_that_scikit_learn_refuses_has_no_estimate_against_its_own_words(name):
    model = learner(name)
    X, y = positive(name), CLASSES if is_classifier(model) else REAL
    tried = 0
    for parameter in model.get_params(deep=False).keys() - OTHERS:
        for value in BAD:
            bad = clone(model).set_params(**{parameter: value})
            said = refusal(bad, X, y)
            if type(said).__name__ != "InvalidParameterError":
                continue
            tried += 1
            for asked in (bad, make_pipeline(StandardScaler(with_mean=False), bad)):
                with pytest.raises(Exception, match="parameter of") as caught:
                    estimate(asked, X, y, criterion="kfold", random_state=0)
                assert str(said)[:60] in str(caught.value), (parameter, value)
    assert tried > 5


@pytest.mark.parametrize("name", LISTED)
def test_a_value_of_a_grid_that_scikit_learn_refuses_has_no_score(name):
    model = learner(name)
    X, y = positive(name), CLASSES if is_classifier(model) else REAL
    for parameter in FAST_PATHS[name]:
        for value in BAD:
            if refusal(clone(model).set_params(**{parameter: value}), X, y) is None:
                continue
            own = model.get_params()[parameter]
            search = GridSearch(model, {parameter: [own, value]}, cv=2, random_state=0, refit=False)
            scores = search.fit(X, y).cv_results_["mean_test_score"]
            assert np.isnan(scores[1]), (parameter, value)


TABLES = {
    "nan": np.where(np.arange(72).reshape(24, 3) == 5, np.nan, X),
    "infinite": np.where(np.arange(72).reshape(24, 3) == 5, np.inf, X),
    "negative": X - 5.0,
    "words": np.array([["a", "b", "c"]] * 24, dtype=object),
    "complex": X + 1j,
    "no columns": X[:, :0],
    "wide": RNG.normal(size=(24, 40)),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", LISTED)
def test_a_table_that_scikit_learn_refuses_has_no_estimate(name, table):
    model, X = learner(name), TABLES[table]
    y = CLASSES if is_classifier(model) else REAL
    if refusal(model, X, y) is not None:
        with pytest.raises(Exception, match=r"\w{3}"):
            estimate(model, X, y, criterion="kfold", random_state=0)


@pytest.mark.parametrize("criterion", ["loo", "kfold", "permutation", "auto"])
def test_quadratic_discriminants_of_fewer_rows_than_columns_are_refused_in_scikit_learns_words(criterion):
    X, y = np.random.default_rng(1).normal(size=(30, 42)), np.arange(30) % 2
    for share in (0.0, 0.5, 0.9):
        with pytest.raises(Exception, match="not full rank"):
            estimate(QuadraticDiscriminantAnalysis(reg_param=share), X, y, criterion=criterion, random_state=0)
    kept = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.5)
    assert 0 <= estimate(kept, X, y, criterion=criterion, random_state=0).out_sample <= 1


@pytest.mark.parametrize("criterion", ["loo", "kfold", "permutation", "auto"])
def test_a_threshold_below_zero_is_refused(criterion):
    with pytest.raises(Exception, match="The 'binarize' parameter of BernoulliNB must be"):
        estimate(BernoulliNB(binarize=-1.0), X, CLASSES, criterion=criterion, random_state=0)


def test_a_learner_without_a_fast_path_is_refused_as_it_was():
    with pytest.raises(Exception, match="The 'tol' parameter of LinearSVC"):
        estimate(LinearSVC(tol=-1.0), X, CLASSES, random_state=0)
