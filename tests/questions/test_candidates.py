"""Grids become paths, and every setting of the grid is served exactly once."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from outsample.paths.refit import RefitPath
from outsample.questions.candidates import branches, candidates_of, checked_grids
from outsample.questions.contest import least_first


def served(parts):
    """(position, setting) of every model, in the order of the grid."""
    pairs = [(int(p), s) for part in parts for p, s in zip(part.positions, part.settings, strict=True)]
    return sorted(pairs, key=lambda pair: pair[0])


def check_complete(estimator, grid, **options):
    candidates = candidates_of(grid)
    parts = branches(estimator, candidates, **options)
    pairs = served(parts)
    assert [p for p, _ in pairs] == list(range(len(candidates)))
    assert [s for _, s in pairs] == candidates
    for part in parts:
        assert list(part.path.complexity) == sorted(part.path.complexity)
        for own, full in zip(part.path.params, part.settings, strict=True):
            assert own.items() <= full.items()
    return parts


def test_one_parameter():
    (part,) = check_complete(KNeighborsClassifier(), {"n_neighbors": [5, 1, 9]})
    assert [s["n_neighbors"] for s in part.settings] == [9, 5, 1]


def test_crossed_parameters_make_one_path_each():
    grid = {"criterion": ["gini", "entropy"], "max_leaf_nodes": [4, 2, 8], "min_samples_leaf": [1, 2]}
    parts = check_complete(DecisionTreeClassifier(random_state=0), grid)
    assert len(parts) == 4
    assert not any(isinstance(part.path, RefitPath) for part in parts)


def test_lists_of_grids():
    grids = [{"kernel": ["linear"], "C": [1, 2]}, {"kernel": ["rbf"], "gamma": [0.1, 0.2], "C": [1.0]}]
    check_complete(SVC(), grids)


def test_repeated_values():
    check_complete(KNeighborsClassifier(), {"n_neighbors": [3, 3, 1]})


def test_refits_when_asked():
    (part,) = check_complete(KNeighborsClassifier(), {"n_neighbors": [3, 1]}, fast=False)
    assert isinstance(part.path, RefitPath)


def test_estimators_as_values_are_not_changed():
    inner = [DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=2)]
    from sklearn.ensemble import BaggingClassifier

    before = [tree.get_params() for tree in inner]
    check_complete(BaggingClassifier(random_state=0), {"estimator": inner, "n_estimators": [2, 3]})
    assert [tree.get_params() for tree in inner] == before


def test_a_parameter_without_an_order_is_called_unordered():
    (part,) = branches(LogisticRegression(), candidates_of({"solver": ["lbfgs", "newton-cg"], "tol": [0.1, 0.01]}))
    assert not part.path.ordered
    np.testing.assert_array_equal(part.positions, np.arange(4))


def test_a_random_head_answers_as_its_pipeline_does():
    """What a randomised decomposition keeps while it is fitted is not what it makes of the same rows later."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    from outsample.paths.dispatch import find_path

    X, y = (part[:300] for part in load_digits(return_X_y=True))
    pca = PCA(5, svd_solver="randomized", iterated_power=0, random_state=0)
    pipeline = make_pipeline(pca, KNeighborsClassifier(3))
    for fast in (True, False):
        design = find_path(pipeline, fast=fast).bind(X, np.unique(y))
        np.testing.assert_array_equal(design.fitted(y[None])[0, 0], pipeline.fit(X, y).predict(X))


def test_models_that_differ_by_rounding_alone_keep_their_order():
    optimism = np.array([2e-17, 0.3, -1e-17, np.nan, 0.1])
    np.testing.assert_array_equal(least_first(optimism, scale=1.0), [0, 2, 4, 1, 3])
    np.testing.assert_array_equal(least_first(optimism, scale=1e-9), [2, 0, 4, 1, 3])


def test_parameters_that_a_booster_takes_but_does_not_list():
    lightgbm = pytest.importorskip("lightgbm")
    checked_grids(lightgbm.LGBMClassifier(), {"scale_pos_weight": [1.0, 2.0]})
    checked_grids(make_pipeline(StandardScaler(), lightgbm.LGBMClassifier()), {"lgbmclassifier__max_bin": [15, 255]})
    with pytest.raises(ValueError, match="no parameter"):
        checked_grids(make_pipeline(StandardScaler(), lightgbm.LGBMClassifier()), {"standardscaler__max_bin": [15]})
