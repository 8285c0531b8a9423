"""Margins of kernel machines and of votes, against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import bounds

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=80) > 0, "yes", "no")
SIGNS = np.where(Y == "yes", 1.0, -1.0)


def lowest_bound(margins, radius):
    """The bound of Theorem 7 at every margin of the data, written out."""
    n = len(margins)
    tail = math.sqrt(4 / (n * math.log(2)) * math.log(4 / 0.05))
    return min(
        np.mean(margins < g) + 27.18 * radius / g * math.sqrt((math.log(n) ** 2 + 84) / n) + tail
        for g in margins[margins > 0]
    )


def test_linear_kernel_against_the_linear_bound():
    model = SVC(kernel="linear").fit(X, Y)
    assert bounds.kernel_margin_bound(model, X, Y).value == pytest.approx(bounds.linear_margin_bound(model, X, Y).value)


@pytest.mark.parametrize(
    ("model", "kernel"),
    [
        (SVC(gamma=0.7), lambda A, B: rbf_kernel(A, B, gamma=0.7)),
        (SVC(kernel="poly", degree=2, gamma="scale", coef0=1.0), "scale"),
        (SVC(kernel="poly", degree=2, gamma="auto", coef0=1.0), "auto"),
        (SVC(kernel=lambda A, B: (A @ B.T + 1) ** 2), lambda A, B: (A @ B.T + 1) ** 2),
    ],
)
def test_kernel_margins_against_the_kernel_matrix(model, kernel):
    if isinstance(kernel, str):
        gamma = 1 / (2 * X.var()) if kernel == "scale" else 0.5
        K = polynomial_kernel(X, degree=2, gamma=gamma, coef0=1.0)
    else:
        K = kernel(X, X)
    model.fit(X, Y)
    a = np.zeros(80)
    a[model.support_] = model.dual_coef_[0]
    b = model.intercept_[0]
    margins = SIGNS * (K @ a + b) / math.sqrt(a @ K @ a + b * b)
    expected = lowest_bound(margins, math.sqrt(np.diag(K).max() + 1))
    assert bounds.kernel_margin_bound(model, X, Y).value == pytest.approx(expected)
    pre = SVC(kernel="precomputed").fit(K, Y)
    assert bounds.kernel_margin_bound(pre, K, Y).value == pytest.approx(expected, rel=1e-6)


def test_kernel_machine_in_a_pipeline():
    model = make_pipeline(StandardScaler(), SVC()).fit(X, Y)
    scaled = StandardScaler().fit_transform(X)
    assert bounds.kernel_margin_bound(model, X, Y).value == pytest.approx(
        bounds.kernel_margin_bound(SVC().fit(scaled, Y), scaled, Y).value
    )


def test_pipelines_of_one_and_three_steps_against_the_last_step():
    plain = bounds.linear_margin_bound(LinearSVC().fit(X, Y), X, Y).value
    assert bounds.linear_margin_bound(make_pipeline(LinearSVC()).fit(X, Y), X, Y).value == plain
    long = make_pipeline(StandardScaler(), StandardScaler(with_mean=False), LinearSVC()).fit(X, Y)
    scaled = StandardScaler().fit_transform(X)
    expected = bounds.linear_margin_bound(LinearSVC().fit(scaled, Y), scaled, Y).value
    assert bounds.linear_margin_bound(long, X, Y).value == pytest.approx(expected)


def test_points_on_the_border_have_no_margin_and_one_margin_is_enough():
    two = np.array([[-1.0], [0.0], [1.0]])
    model = LogisticRegression().fit(two, [0, 0, 1])
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([0.0])
    found = bounds.linear_margin_bound(model, two, [0, 0, 1])
    assert found.value == pytest.approx(lowest_bound(np.array([1.0, 0.0, 1.0]), math.sqrt(2)))
    with pytest.raises(ValueError, match="no point is on its right side"):
        bounds.linear_margin_bound(model, two, [1, 1, 0])


def test_the_draws_behind_a_vote_count_once_each():
    found = bounds.voting_margin_bound(below=0.1, margin=0.2, complexity=0.05, n=400, n_draws=10)
    most = 0.05 + math.sqrt(2 * math.log(2 / 0.05) / 4000)
    assert found.value == pytest.approx(0.1 + 2 / 0.2 * most + 3 * math.sqrt(math.log(4 / 0.05) / 800))


def test_machines_without_a_feature_space_are_refused():
    with pytest.raises(ValueError, match="positive definite"):
        bounds.kernel_margin_bound(SVC(kernel="sigmoid").fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="no fitted kernel machine"):
        bounds.kernel_margin_bound(LogisticRegression().fit(X, Y), X, Y)


def test_margins_of_boosting_against_the_sum_of_weighted_votes():
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=12, random_state=0).fit(X, Y)
    weights = model.estimator_weights_[: len(model.estimators_)]
    votes = np.array([np.where(tree.predict(X) == "yes", 1.0, -1.0) for tree in model.estimators_])
    np.testing.assert_allclose(bounds.voting_margins(model, X, Y), SIGNS * (weights @ votes) / weights.sum())


@pytest.mark.parametrize("labels", [Y, np.where(Y == "yes", 2, 0), np.digitize(X[:, 0], [-0.5, 0.5]) - 1])
@pytest.mark.parametrize(
    "model",
    [
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=7, max_features=0.5, random_state=0),
        RandomForestClassifier(9, max_depth=2, random_state=0),
        VotingClassifier([("tree", DecisionTreeClassifier(max_depth=2)), ("bayes", GaussianNB())]),
    ],
)
def test_margins_of_votes_tell_which_points_the_majority_gets_wrong(model, labels):
    model.fit(X, labels)
    margins = bounds.voting_margins(model, X, labels)
    assert (np.abs(margins) <= 1 + 1e-12).all()
    columns = getattr(model, "estimators_features_", [np.arange(2)] * len(model.estimators_))
    codes = [voter.predict(X[:, own]).astype(int) for voter, own in zip(model.estimators_, columns, strict=True)]
    shares = np.stack([np.mean(np.array(codes) == c, axis=0) for c in range(len(model.classes_))])
    right = np.searchsorted(model.classes_, labels)
    own = shares[right, np.arange(80)]
    shares[right, np.arange(80)] = -1
    np.testing.assert_allclose(margins, own - shares.max(axis=0))


def test_voting_bound_against_its_formula_and_in_simulation():
    found = bounds.voting_margin_bound(below=0.1, margin=0.2, complexity=0.05, n=400, n_draws=math.inf)
    assert found.value == pytest.approx(0.1 + 2 / 0.2 * 0.05 + 3 * math.sqrt(math.log(2 / 0.05) / 800))
    drawn_once = bounds.voting_margin_bound(below=0.1, margin=0.2, complexity=0.05, n=400)
    most = 0.05 + math.sqrt(2 * math.log(2 / 0.05) / 400)
    assert drawn_once.value == pytest.approx(0.1 + 2 / 0.2 * most + 3 * math.sqrt(math.log(4 / 0.05) / 800))
    rng = np.random.default_rng(1)

    def drawn(n):
        points = rng.normal(size=(n, 2))
        return points, np.where(points.sum(axis=1) + 0.5 * rng.normal(size=n) > 0, 1, -1)

    train, test = drawn(300), drawn(4000)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=20, random_state=0).fit(*train)
    R = outsample.rademacher_complexity(outsample.StumpClassifier(), *train, n_draws=20, random_state=0).value
    below = np.mean(bounds.voting_margins(model, *train) <= 0.5)
    limit = bounds.voting_margin_bound(below=below, margin=0.5, complexity=R, n=300)
    assert np.mean(model.predict(test[0]) != test[1]) <= limit.value


def test_votes_of_dropped_members_do_not_count():
    members = [("tree", DecisionTreeClassifier(max_depth=1)), ("out", "drop"), ("bayes", GaussianNB())]
    model = VotingClassifier(members, weights=[1, 9, 3]).fit(X, Y)
    tree, bayes = (np.where(voter.predict(X) == (Y == "yes"), 1.0, -1.0) for voter in model.estimators_)
    assert (tree != bayes).any()
    np.testing.assert_allclose(bounds.voting_margins(model, X, Y), 0.25 * tree + 0.75 * bayes)


def test_sparse_tables_against_dense_ones():
    sparse = csr_matrix(X)
    for model in (SVC(kernel="linear"), LinearSVC(), LogisticRegression()):
        found = bounds.linear_margin_bound(model.fit(sparse, Y), sparse, Y).value
        assert found == pytest.approx(bounds.linear_margin_bound(model.fit(X, Y), X, Y).value)
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3, max_features=0.5, random_state=0)
    np.testing.assert_array_equal(
        bounds.voting_margins(bag.fit(sparse, Y), sparse, Y), bounds.voting_margins(bag.fit(X, Y), X, Y)
    )


LINEAR, KERNEL, VOTES = LinearSVC().fit(X, Y), SVC().fit(X, Y), AdaBoostClassifier(n_estimators=2).fit(X, Y)
ASKED = [(bounds.linear_margin_bound, LINEAR), (bounds.kernel_margin_bound, KERNEL), (bounds.voting_margins, VOTES)]


@pytest.mark.parametrize(("ask", "model"), ASKED)
def test_labels_the_model_does_not_know_are_refused(ask, model):
    with pytest.raises(ValueError, match=f"y must hold labels that {type(model).__name__} was fitted to"):
        ask(model, X, np.where(Y == "yes", 1, 0))
    with pytest.raises(ValueError, match=r"y must have one label per row of X, shape \(80,\), got \(5,\)"):
        ask(model, X, Y[:5])


def test_other_data_and_other_models_are_refused():
    with pytest.raises(ValueError, match="X has 1 columns, LinearSVC was fitted to 2"):
        bounds.linear_margin_bound(LINEAR, X[:, :1], Y)
    with pytest.raises(ValueError, match="own training data, 80 rows; it has 75 rows"):
        bounds.kernel_margin_bound(KERNEL, X[5:], Y[5:])
    with pytest.raises(ValueError, match="Ridge is no fitted linear classifier"):
        bounds.linear_margin_bound(Ridge().fit(X, X[:, 0]), X, Y)
    with pytest.raises(ValueError, match="SVR is no fitted kernel machine for classes"):
        bounds.kernel_margin_bound(SVR().fit(X, X[:, 0]), X, Y)
    for model in (AdaBoostClassifier(), RandomForestRegressor(2).fit(X, X[:, 0])):
        with pytest.raises(ValueError, match="no fitted classifier that votes"):
            bounds.voting_margins(model, X, Y)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="margin must be above 0"):
        bounds.voting_margin_bound(below=0.1, margin=0.0, complexity=0.1, n=10)
    with pytest.raises(ValueError, match="no fitted classifier that votes"):
        bounds.voting_margins(LogisticRegression().fit(X, Y), X, Y)
