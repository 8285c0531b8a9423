"""Criteria that are bounds against the pure functions they call."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import bounds
from outsample.criteria.bounds import DiscrepancyBound, MarginBound, PermutationBound, RademacherBound, VCBound
from outsample.problem import pose


def data(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def tree_problem(n=60):
    X, y = data(n)
    tree = DecisionTreeClassifier(random_state=0)
    return pose(tree, X, y, parameter="max_leaf_nodes", values=[2, 4, 30], random_state=1), X, y


@pytest.mark.parametrize(
    ("criterion", "bound", "complexity", "argument"),
    [
        (PermutationBound(n_draws=5), bounds.permutation_bound, outsample.permutation_complexity, "complexity"),
        (RademacherBound(n_draws=5), bounds.rademacher_bound, outsample.rademacher_complexity, "complexity"),
        (DiscrepancyBound(), bounds.maximal_discrepancy_bound, outsample.maximal_discrepancy, "discrepancy"),
    ],
)
def test_drawn_bounds_against_pure_functions(criterion, bound, complexity, argument):
    problem, X, y = tree_problem()
    measured = complexity(
        DecisionTreeClassifier(random_state=0),
        X,
        y,
        param="max_leaf_nodes",
        values=[2, 4, 30],
        n_draws=criterion.n_draws,
        random_state=1,
    )
    expected = bound(in_sample=problem.in_sample, n=60, **{argument: measured.value})
    curve = criterion.curve(problem)
    assert curve.out_sample == pytest.approx(expected.value)
    assert any("not proved" in note for note in curve.notes)


def test_no_warning_for_a_true_risk_minimiser():
    X, y = data()
    stump = outsample.estimate(outsample.StumpClassifier(), X, y, criterion="rademacher-bound", random_state=0)
    assert not any("not proved" in note for note in stump.notes)
    vacuous = outsample.estimate(outsample.StumpClassifier(), X, y, criterion="permutation-bound", random_state=0)
    assert any("vacuous" in note for note in vacuous.notes)


def test_vc_bound_against_pure_function():
    problem, *_ = tree_problem()
    curve = VCBound(dimension=lambda params: params["max_leaf_nodes"]).curve(problem)
    expected = bounds.vc_bound(in_sample=problem.in_sample, dimension=[2, 4, 30], n=60)
    assert curve.out_sample == pytest.approx(expected.value)
    same = VCBound(dimension=[2, 4, 30]).curve(problem)
    assert same.out_sample.tolist() == curve.out_sample.tolist()
    assert VCBound(dimension=5).curve(problem).out_sample.shape == (3,)


def test_linear_bounds_against_pure_functions():
    X, y = data()
    by_vc = outsample.estimate(LogisticRegression(), X, y, criterion="vc-bound", random_state=0)
    assert by_vc.out_sample == pytest.approx(bounds.vc_bound(in_sample=by_vc.in_sample, dimension=3, n=60).value)
    by_margin = outsample.estimate(LinearSVC(), X, y, criterion=MarginBound(delta=0.1), random_state=0)
    expected = bounds.linear_margin_bound(LinearSVC().fit(X, y), X, y, 0.1)
    assert by_margin.out_sample == pytest.approx(expected.value, rel=0.05)


def test_bounds_choose_models():
    X, y = data()
    tree = DecisionTreeClassifier(random_state=0)
    search = outsample.GridSearch(
        tree, {"max_leaf_nodes": [2, 4, 30]}, criterion=RademacherBound(n_draws=5), random_state=0
    ).fit(X, y)
    assert search.best_params_["max_leaf_nodes"] < 30
    table = outsample.compare(
        tree, X, y, param_grid={"max_leaf_nodes": [2, 4]}, criteria=["permutation-bound", "rademacher-bound"]
    ).to_frame()
    assert len(table) == 2


def test_bad_input():
    problem, X, y = tree_problem()
    with pytest.raises(ValueError, match="delta"):
        RademacherBound(delta=1.0)
    with pytest.raises(ValueError, match="n_draws"):
        PermutationBound(n_draws=0)
    with pytest.raises(ValueError, match="does not know the VC dimension of DecisionTreeClassifier"):
        VCBound().curve(problem)
    with pytest.raises(ValueError, match="2 entries for 3 models"):
        VCBound(dimension=[2, 4]).curve(problem)
    with pytest.raises(ValueError, match="two classes"):
        outsample.estimate(LogisticRegression(), X, np.arange(60) % 3, criterion="vc-bound")
    with pytest.raises(ValueError, match="equal weights"):
        outsample.estimate(LogisticRegression(), X, y, criterion="vc-bound", sample_weight=np.arange(1, 61))
    with pytest.raises(ValueError, match="no fitted linear classifier"):
        MarginBound().curve(problem)
