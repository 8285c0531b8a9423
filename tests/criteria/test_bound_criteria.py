"""Criteria that are bounds against the pure functions they call."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import bounds
from outsample.criteria.bounds import DiscrepancyBound, MarginBound, PermutationBound, RademacherBound, VCBound
from outsample.hypotheses import HypothesisSet, stump_hypotheses
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
    draws = {} if bound is bounds.maximal_discrepancy_bound else {"n_draws": criterion.n_draws}
    if bound is bounds.permutation_bound:
        draws["mean_label"] = 2 * y.mean() - 1
    expected = bound(in_sample=problem.in_sample, n=60, **{argument: measured.value}, **draws)
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


def test_vc_entropy_bound_against_pure_function():
    problem, *_ = tree_problem()
    by_dimension = outsample.VCEntropyBound(dimension=[2, 4, 30]).curve(problem)
    expected = bounds.empirical_vc_bound(in_sample=problem.in_sample, dimension=[2, 4, 30], n=60)
    assert by_dimension.out_sample == pytest.approx(expected.value)
    by_count = outsample.VCEntropyBound(log_shatter=lambda params: 3.0 * params["max_leaf_nodes"]).curve(problem)
    expected = bounds.vc_entropy_bound(in_sample=problem.in_sample, log_shatter=[6, 12, 90], n=60)
    assert by_count.out_sample == pytest.approx(expected.value)
    assert by_count.certificates[0].m == 60 / 80


def test_vc_entropy_bound_counts_stumps_and_lines():
    X, y = data(30)
    stump = outsample.estimate(outsample.StumpClassifier(), X, y, criterion="vc-entropy-bound", random_state=0)
    labellings = stump_hypotheses(X).shatter_coefficient
    expected = bounds.vc_entropy_bound(in_sample=stump.in_sample, log_shatter=np.log(labellings), n=30)
    assert stump.out_sample == pytest.approx(expected.value)
    line = outsample.estimate(LogisticRegression(), X, y, criterion="vc-entropy-bound", random_state=0)
    expected = bounds.vc_entropy_bound(in_sample=line.in_sample, log_shatter=bounds.log_dichotomies(30, 3), n=30)
    assert line.out_sample == pytest.approx(expected.value)
    with pytest.raises(ValueError, match="does not know in how many ways DecisionTreeClassifier"):
        outsample.estimate(DecisionTreeClassifier(), X, y, criterion="vc-entropy-bound")


def test_effective_dimension_in_the_vc_entropy_bound():
    X, y = data(40)
    criterion = outsample.VCEntropyBound(dimension="effective", n_draws=10)
    found = outsample.estimate(LogisticRegression(), X, y, criterion=criterion, random_state=0)
    assert any("not proved" in note for note in found.notes)
    assert found.n_fits > 10
    seed = pose(LogisticRegression(), X, y, random_state=0).seed
    h = outsample.effective_vc_dimension(LogisticRegression(), X, n_draws=10, random_state=seed).value
    expected = bounds.empirical_vc_bound(in_sample=found.in_sample, dimension=h, n=40)
    assert found.out_sample == pytest.approx(expected.value)
    with pytest.raises(ValueError, match="not both"):
        outsample.VCEntropyBound(log_shatter=1.0, dimension=2.0)


def separable(X, labels):
    """Whether a hyperplane with an intercept separates the labels, by linear programming."""
    Z = labels[:, None] * np.column_stack([X, np.ones(len(X))])
    return linprog(np.zeros(Z.shape[1]), A_ub=-Z, b_ub=-np.ones(len(X)), bounds=(None, None)).status == 0


@pytest.mark.parametrize(("n", "d"), [(5, 1), (6, 2), (5, 3)])
def test_dichotomies_and_dimension_of_hyperplanes_against_enumeration(n, d):
    X = np.random.default_rng(0).normal(size=(n, d))
    labellings = [s for s in itertools.product([-1.0, 1.0], repeat=n) if separable(X, np.array(s))]
    assert np.exp(bounds.log_dichotomies(n, d + 1)) == pytest.approx(len(labellings))
    found = outsample.empirical_vc_dimension(LogisticRegression(), X)
    assert found == HypothesisSet(np.array(labellings)).vc_dimension() == d + 1


def test_empirical_dimension_of_points_in_a_subspace():
    line = np.outer(np.arange(6.0), [1.0, 2.0, -1.0]) + 5
    assert outsample.empirical_vc_dimension(LogisticRegression(), line) == 2
    assert outsample.empirical_vc_dimension(outsample.StumpClassifier(), line[:, :1]) == 2
    assert outsample.empirical_vc_dimension(stump_hypotheses(line)) == 2
    with pytest.raises(ValueError, match="use effective_vc_dimension"):
        outsample.empirical_vc_dimension(DecisionTreeClassifier(), line)


def test_margin_bound_of_kernel_machines_as_a_criterion():
    X, y = data()
    found = outsample.estimate(SVC(), X, y, criterion=MarginBound(), random_state=0)
    assert found.out_sample == pytest.approx(bounds.kernel_margin_bound(SVC().fit(X, y), X, y).value)
