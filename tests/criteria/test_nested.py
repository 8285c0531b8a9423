"""Nested cross-validation against the algorithm written out with refits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

import outsample
from outsample import NestedCrossValidation
from outsample.criteria.nested import NestedRepeat, _random_folds, nested_estimate
from outsample.problem import pose
from outsample.resampling.bags import drawing_units


def _data(n=40):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + rng.normal(size=n)


def _losses(learner, X, y, train, test):
    return (y[test] - clone(learner).fit(X[train], y[train]).predict(X[test])) ** 2


def algorithm(learner, X, y, K, partitions):
    """Bates, Hastie & Tibshirani, Algorithm 1, with the corrections of their section 4; each fit on its own."""
    a, b, inner_errors, outer_errors = [], [], [], []
    for folds in partitions:
        for k in range(K):
            inner = [_losses(learner, X, y, (folds != k) & (folds != j), folds == j) for j in range(K) if j != k]
            outer = _losses(learner, X, y, folds != k, folds == k)
            a.append((np.concatenate(inner).mean() - outer.mean()) ** 2)
            b.append(outer.var(ddof=1) / len(outer))
            inner_errors.append(np.concatenate(inner))
            outer_errors.append(outer)
    nested, ordinary = np.concatenate(inner_errors).mean(), np.concatenate(outer_errors).mean()
    bias = (1 + (K - 2) / K) * (nested - ordinary)
    naive = np.sqrt(np.mean([e.var(ddof=1) for e in inner_errors]) / len(y))
    root = np.sqrt(max(0.0, np.mean(a) - np.mean(b))) * np.sqrt((K - 1) / K)
    return nested - bias, min(max(root, naive), np.sqrt(K) * naive)


@pytest.mark.parametrize("learner", [Ridge(1.0), DecisionTreeRegressor(max_leaf_nodes=5, random_state=0)])
@pytest.mark.parametrize("K", [4, 5])
def test_against_brute_force(learner, K):
    X, y = _data()
    problem = pose(learner, X, y, random_state=3)
    folds = [_random_folds(drawing_units(40, None), K, problem, r) for r in range(3)]
    risk, error = algorithm(learner, X, y, K, folds)
    curve = NestedCrossValidation(K, repeats=3).curve(problem)
    assert curve.out_sample[0] == pytest.approx(risk, rel=1e-9)
    assert curve.standard_error[0] == pytest.approx(error, rel=1e-9)
    assert curve.n_fits == 3 * (K + K * (K - 1) // 2) + 1


def test_bias_correction_against_closed_form():
    """Where the error falls like a + c/size, the corrected estimate is a + c/n."""
    n, K, a, c = 100, 5, 1.0, 7.0
    sizes = {"outer": n * (K - 1) / K, "inner": n * (K - 2) / K}
    repeat = NestedRepeat(
        **{name: np.array([a + c / size]) for name, size in sizes.items()},
        squared_gaps=np.ones(1),
        fold_variance=np.ones(1),
        row_variance=np.ones(1),
    )
    assert nested_estimate([repeat], K, n)[0][0] == pytest.approx(a + c / n, rel=1e-12)


def test_standard_error_stays_between_its_bounds():
    def error(gap):
        repeat = NestedRepeat(*(np.ones(1),) * 2, np.array([gap]), np.zeros(1), np.array([4.0]))
        return nested_estimate([repeat], 4, 100.0)[1][0]

    assert error(0.0) == pytest.approx(0.2)
    assert error(100.0) == pytest.approx(0.4)
    assert error(0.09) == pytest.approx(0.3 * np.sqrt(3 / 4))


def test_whole_path_and_weights_against_repeated_rows():
    """Weight 2 on every row changes nothing; single models agree with the path."""
    X, y = _data()
    problem = pose(Ridge(), X, y, parameter="alpha", values=[0.1, 10.0], random_state=0)
    curve = NestedCrossValidation(4, repeats=2).curve(problem)
    for params, risk, error in zip(curve.params, curve.out_sample, curve.standard_error, strict=True):
        alone = outsample.estimate(Ridge(**params), X, y, criterion=NestedCrossValidation(4, repeats=2), random_state=0)
        assert (risk, error) == pytest.approx((alone.out_sample, alone.standard_error), rel=1e-9)
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    plain, doubled = (
        outsample.estimate(
            tree, X, y, criterion=NestedCrossValidation(4, repeats=2), sample_weight=weight, random_state=0
        )
        for weight in (None, np.full(40, 2.0))
    )
    assert doubled.out_sample == pytest.approx(plain.out_sample, rel=1e-9)
    assert doubled.standard_error == pytest.approx(plain.standard_error, rel=1e-9)


def test_whole_groups_share_a_fold():
    X, y = _data()
    groups = np.arange(40) // 4
    problem = pose(Ridge(), X, y, groups=groups, random_state=0)
    folds = _random_folds(drawing_units(40, groups), 5, problem, 0)
    assert all(len(set(folds[groups == g])) == 1 for g in range(10))


def test_refusals():
    X, y = _data()
    labels = (y > 0).astype(int)
    with pytest.raises(ValueError, match="needs one loss per sample"):
        outsample.estimate(LogisticRegression(), X, labels, loss="roc_auc", criterion="nested-kfold")
    with pytest.raises(ValueError, match="use at most 20 folds"):
        outsample.estimate(Ridge(), X, y, criterion=NestedCrossValidation(30))
    with pytest.raises(ValueError, match="cv must be a whole number of at least 3"):
        NestedCrossValidation(2)
