"""The covariance penalty against closed forms, against the permutation estimate, and against the truth."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample import CovariancePenalty, Permutation, generalized_degrees_of_freedom
from outsample.criteria.base import as_criterion
from outsample.problem import pose


def regression(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 2 * X[:, 0] + rng.normal(size=n)


def classification(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("reference", ["auto", "richest", LinearRegression()])
def test_least_squares_against_closed_form(reference):
    """2 σ̂² p/n with σ̂² = RSS/(n − p), nothing drawn."""
    X, y = regression()
    n, p = 60, 5
    residuals = y - LinearRegression().fit(X, y).predict(X)
    expected = 2 * (residuals @ residuals) / (n - p) * p / n
    estimate = outsample.estimate(LinearRegression(), X, y, criterion=CovariancePenalty(reference))
    assert estimate.optimism == pytest.approx(expected, rel=1e-9)
    assert estimate.monte_carlo_error == 0
    assert "generalised degrees of freedom: 5" in str(estimate)


def test_least_squares_drawn_against_closed_form():
    X, y = regression()
    exact = outsample.estimate(LinearRegression(), X, y, criterion=CovariancePenalty(LinearRegression()))
    drawn = outsample.estimate(
        LinearRegression(), X, y, criterion=CovariancePenalty(LinearRegression(), 300), random_state=0, fast=False
    )
    assert drawn.optimism == pytest.approx(exact.optimism, abs=4 * drawn.monte_carlo_error)
    assert drawn.n_fits == 302


def test_ridge_path_against_mallows():
    X, y = regression()
    problem = pose(Ridge(), X, y, parameter="alpha", values=[0.01, 1.0, 100.0], random_state=0)
    ours, mallows = CovariancePenalty("richest").curve(problem), as_criterion("cp").curve(problem)
    assert ours.out_sample == pytest.approx(mallows.out_sample, rel=1e-9)


@pytest.mark.parametrize(
    ("learner", "make"),
    [
        (DecisionTreeClassifier(max_leaf_nodes=4, random_state=0), classification),
        (KNeighborsClassifier(3), classification),
        (DecisionTreeRegressor(max_leaf_nodes=4, random_state=0), regression),
        (LinearRegression(), regression),
    ],
)
@pytest.mark.parametrize("n_draws", [7, "auto"])
def test_no_reference_against_permutation_to_the_last_bit(learner, make, n_draws):
    X, y = make()
    ours = outsample.estimate(learner, X, y, criterion=CovariancePenalty(None, n_draws), random_state=3)
    theirs = outsample.estimate(learner, X, y, criterion=Permutation(n_draws), random_state=3)
    assert (ours.out_sample, ours.optimism, ours.monte_carlo_error) == (
        theirs.out_sample,
        theirs.optimism,
        theirs.monte_carlo_error,
    )
    assert ours.criterion == "covariance"


def test_binary_penalty_against_the_truth_at_the_same_points():
    """With the true probabilities as reference, e_in + penalty is unbiased for the error on new labels at X."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    p = 1 / (1 + np.exp(-2 * X[:, 0]))
    difference = []
    for seed in range(60):
        y = (rng.random(40) < p).astype(int)
        rule = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
        fitted = rule.fit(X, y).predict(X)
        truth = np.where(fitted == 1, 1 - p, p).mean()
        estimate = outsample.estimate(rule, X, y, criterion=CovariancePenalty(p, 10), random_state=seed)
        difference.append(estimate.out_sample - truth)
    error = np.std(difference) / np.sqrt(60)
    assert abs(np.mean(difference)) < 3.5 * error
    assert error < 0.02


def test_a_fitted_reference_prices_residual_noise():
    """1-NN fits any labels: permutation says 2p(1 − p) whatever the data, a reference knows how clean they are."""
    X, y = classification(100)
    rule = KNeighborsClassifier(1)
    permuted = outsample.estimate(rule, X, y, criterion="permutation", random_state=0)
    around = outsample.estimate(rule, X, y, criterion="covariance", random_state=0)
    assert permuted.out_sample == pytest.approx(2 * y.mean() * (1 - y.mean()))
    assert around.out_sample < permuted.out_sample - 0.15


def test_three_classes_and_other_losses():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * rng.normal(size=90), [-0.5, 0.5])]
    rule = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0)
    for loss in ("zero-one", "log", 1 - np.eye(3), "balanced_accuracy"):
        for reference in ("cross-fitted", LogisticRegression()):
            estimate = outsample.estimate(
                rule, X, y, criterion=CovariancePenalty(reference, 5), loss=loss, random_state=0
            )
            assert np.isfinite(estimate.out_sample)


def test_absolute_loss_is_judged_on_fresh_labels():
    X, y = regression()
    estimate = outsample.estimate(
        KNeighborsRegressor(3), X, y, criterion=CovariancePenalty(n_draws=10), loss="absolute", random_state=0
    )
    assert estimate.optimism > 0


def test_shrinking_all_the_way_ignores_the_reference():
    """With shrink = 1 the noise is the total variance: 2 σ̂²_y tr(S)/n."""
    X, y = regression()
    estimate = outsample.estimate(LinearRegression(), X, y, criterion=CovariancePenalty(shrink=1.0))
    assert estimate.optimism == pytest.approx(2 * np.var(y, ddof=1) * 5 / 60, rel=1e-9)


def test_degrees_of_freedom_against_trace():
    X, y = regression()
    ridge = generalized_degrees_of_freedom(Ridge(), X, y, param="alpha", values=[100.0, 0.1])
    centred = X - X.mean(axis=0)
    expected = [
        1 + np.trace(centred @ np.linalg.solve(centred.T @ centred + a * np.eye(4), centred.T)) for a in (100, 0.1)
    ]
    assert ridge.value == pytest.approx(expected, rel=1e-9)
    assert ridge.to_dict()["monte_carlo_error"] == [0.0, 0.0]
    tree = generalized_degrees_of_freedom(
        DecisionTreeRegressor(random_state=0), X, y, param="max_leaf_nodes", values=[2, 8], n_draws=20, random_state=0
    )
    assert tree.value[0] > 2
    assert tree.value[1] > tree.value[0]


def test_a_saturated_path_falls_back_to_cross_fitting():
    X, y = regression(n=12, d=11)
    estimate = outsample.estimate(LinearRegression(), X, y, criterion="covariance", random_state=0)
    assert np.isfinite(estimate.out_sample)
    with pytest.raises(ValueError, match="richest"):
        outsample.estimate(LinearRegression(), X, y, criterion=CovariancePenalty("richest"))


def test_bad_input():
    X, y = classification()
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)

    def run(**settings):
        return outsample.estimate(tree, X, y, criterion=CovariancePenalty(**settings), random_state=0)

    with pytest.raises(ValueError, match="shrink"):
        CovariancePenalty(shrink=2)
    with pytest.raises(ValueError, match="n_draws"):
        CovariancePenalty(n_draws=0)
    with pytest.raises(ValueError, match="auto"):
        CovariancePenalty(n_draws="auto")
    with pytest.raises(ValueError, match="reference must be None"):
        run(reference="nobody")
    with pytest.raises(ValueError, match="shape"):
        run(reference=np.ones(3))
    with pytest.raises(ValueError, match="add up to one"):
        run(reference=np.full((80, 2), 0.9))
    with pytest.raises(ValueError, match="predict_proba"):
        run(reference=LinearSVC())
    with pytest.raises(ValueError, match="groups"):
        outsample.estimate(tree, X, y, criterion="covariance", groups=np.arange(80) // 2)
    with pytest.raises(ValueError, match="columns"):
        outsample.estimate(LinearRegression(), X, X, criterion="covariance")


@pytest.mark.parametrize("learner", [LinearRegression(), Ridge(0.0, solver="svd")])
def test_one_degree_of_freedom_left_over_is_one_whatever_rounding_says(learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 18)), rng.normal(size=20)
    residuals = y - LinearRegression().fit(X, y).predict(X)
    expected = np.mean(residuals**2) + 2 * np.sum(residuals**2) * 19 / 20
    found = outsample.estimate(learner, X, y, criterion=CovariancePenalty("richest"))
    assert found.out_sample == pytest.approx(expected)
