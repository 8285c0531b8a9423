"""Learning curves: the numbers of scikit-learn for the same splits, bars from left-out losses."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.model_selection import learning_curve as of_scikit_learn
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import outsample

mpl.use("Agg")

SIZES = [0.2, 0.5, 1.0]


def shuffled(X, y):
    """Rows in a random order, so that the first ones of a training set have all classes."""
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@pytest.mark.parametrize(
    ("model", "data", "scoring"),
    [
        (GaussianNB(), load_iris, "accuracy"),
        (make_pipeline(StandardScaler(), LogisticRegression()), load_breast_cancer, "roc_auc"),
        (Ridge(), load_diabetes, "r2"),
    ],
)
def test_errors_against_scikit_learn_on_the_same_splits(model, data, scoring):
    X, y = shuffled(*data(return_X_y=True))
    folds = (KFold if scoring == "r2" else StratifiedKFold)(4)
    sizes, train, test = of_scikit_learn(model, X, y, train_sizes=SIZES, cv=folds, scoring=scoring)
    found = outsample.learning_curve(model, X, y, train_sizes=SIZES, cv=folds, loss=scoring, shuffle=False)
    np.testing.assert_array_equal(found.train_sizes, sizes)
    np.testing.assert_allclose(found.out_sample, test.mean(axis=1), rtol=1e-9)
    np.testing.assert_allclose(found.in_sample, train.mean(axis=1), rtol=1e-9)


def test_bars_come_from_the_losses_of_rows_left_out():
    X, y = shuffled(*load_iris(return_X_y=True))
    found = outsample.learning_curve(GaussianNB(), X, y, train_sizes=[60], cv=KFold(3), shuffle=False)
    wrong = np.concatenate(
        [
            GaussianNB().fit(X[train[:60]], y[train[:60]]).predict(X[test]) != y[test]
            for train, test in KFold(3).split(X)
        ]
    )
    assert found.estimates[0].standard_error == pytest.approx(wrong.std(ddof=1) / np.sqrt(len(y)))
    low, high = found.intervals[0]
    assert low < found.out_sample[0] < high


def test_every_training_set_has_the_classes_in_proportion_and_is_inside_the_next():
    seen = []

    class Watched(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append((set(map(tuple, X)), np.unique(y, return_counts=True)[1]))
            return super().fit(X, y, sample_weight)

    X, y = load_iris(return_X_y=True)
    outsample.learning_curve(Watched(), X, y, train_sizes=[9, 30, 90], cv=3, random_state=0)
    for _, counts in seen[:3]:
        assert counts.tolist() == [3, 3, 3]
    for fold in range(3):
        small, middle, large = (seen[size * 3 + fold][0] for size in range(3))
        assert small <= middle <= large


def test_same_seed_same_curve_for_any_number_of_jobs():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_features=1)
    one, two = (outsample.learning_curve(model, X, y, random_state=3, n_jobs=n).to_frame() for n in (1, 2))
    assert one.equals(two)
    assert list(one.columns) == ["in_sample", "out_sample", "standard_error", "low", "high", "n_fits"]


def test_its_words_and_its_picture():
    X, y = load_iris(return_X_y=True)
    found = outsample.learning_curve(GaussianNB(), X, y, train_sizes=[20, 100], random_state=0)
    assert str(found).splitlines()[0] == "zero-one over rows fitted to"
    assert "From 20 to 100 rows, zero-one went from" in str(found)
    new, fitted = found.plot().get_lines()
    np.testing.assert_array_equal(new.get_ydata(), found.out_sample)
    np.testing.assert_array_equal(fitted.get_xdata(), [20, 100])
    assert found.to_dict()["train_sizes"] == [20, 100]


@pytest.mark.parametrize("sizes", [[0], [1000], [0.0, 1.0], [1.5], [], "all"])
def test_sizes_that_cannot_be_are_refused_in_one_sentence(sizes):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="train_sizes must be"):
        outsample.learning_curve(GaussianNB(), X, y, train_sizes=sizes)
