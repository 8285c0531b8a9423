"""The two-stage estimate, and rows and labels."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample.criteria.covariance import CovariancePenalty
from outsample.criteria.labels import Permutation
from outsample.criteria.rows_and_labels import RowsAndLabels, share_seen, smoothed
from outsample.criteria.two_stage import TwoStagePermutation
from outsample.evidence.references import _ReferenceFits, calibrated_reference
from outsample.evidence.rows import split_seed
from outsample.paths.dispatch import find_path
from outsample.paths.linear.closed_forms import new_row_optimism
from outsample.problem import pose
from outsample.resampling.references import ClassReference, ValueReference

NEW = (TwoStagePermutation(), RowsAndLabels())


def noisy_halves(rng, n=150, noise=0.1):
    """Two classes divided by a line, each label wrong with a known chance."""
    X = rng.uniform(-1, 1, (n, 2))
    return X, ((X[:, 0] > 0) ^ (rng.random(n) < noise)).astype(int)


def posed(estimator, X, y, parameter=None, values=None, **settings):
    return pose(estimator, X, y, parameter=parameter, values=values, random_state=0, **settings)


def trees(X, y, **settings):
    learner = DecisionTreeClassifier(criterion="entropy", random_state=0)
    return posed(learner, X, y, "max_leaf_nodes", range(2, 12), **settings)


def test_a_constant_reference_is_the_permutation_estimate_to_the_last_bit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), (rng.random(80) < 0.3).astype(int)
    problem = posed(KNeighborsClassifier(), X, y, "n_neighbors", [2, 3, 5, 60])
    found, expected = TwoStagePermutation(7).curve(problem), Permutation(7).curve(problem)
    assert "permutation estimate" in found.notes[-1]
    assert np.array_equal(found.out_sample, expected.out_sample)
    assert np.array_equal(found.draws, expected.draws)
    assert (found.draws.std(axis=0)[-2:] > 0).all()
    assert np.array_equal(found.monte_carlo_error, expected.monte_carlo_error)
    assert found.n_fits == expected.n_fits == 8


def test_constant_closed_form_is_the_permutation_estimate():
    rng = np.random.default_rng(1)
    problem = posed(Ridge(), rng.normal(size=(50, 5)), rng.normal(size=50), "alpha", [1e8, 1e9])
    found, expected = TwoStagePermutation().curve(problem), Permutation().curve(problem)
    assert np.array_equal(found.out_sample, expected.out_sample)


@pytest.mark.parametrize("n_draws", [1, 0, 2.5, "auto", True])
def test_too_few_draws_are_refused(n_draws):
    with pytest.raises(ValueError, match="n_draws must be"):
        TwoStagePermutation(n_draws)


@pytest.mark.parametrize("episodes", [3, "ten", 4.5, True])
def test_too_few_episodes_are_refused(episodes):
    with pytest.raises(ValueError, match="episodes must be"):
        RowsAndLabels(episodes)


@pytest.mark.parametrize("criterion", NEW)
def test_groups_and_several_outputs_are_refused(criterion):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    with pytest.raises(ValueError, match="one column"):
        criterion.curve(posed(LinearRegression(), X, Y))
    with pytest.raises(ValueError, match="groups"):
        criterion.curve(posed(LinearRegression(), X, Y[:, 0], groups=np.arange(30) // 3))


def test_reference_has_the_risk_it_was_given_for_classes():
    X, y = noisy_halves(np.random.default_rng(2))
    problem = trees(X, y)
    frequencies = problem.design.fitted(y[None], "predict_proba")[0, 3]
    reference = calibrated_reference(problem, problem.fitted[3], 0.2, frequencies)
    assert isinstance(reference, ClassReference)
    predicted = reference.probabilities[np.arange(len(y)), problem.fitted[3]]
    assert 1 - predicted.mean() == pytest.approx(0.2)
    assert reference.probabilities.sum(axis=1) == pytest.approx(np.ones(len(y)))


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_reference_has_the_risk_it_was_given_for_values(loss):
    X, y = load_diabetes(return_X_y=True)
    problem = posed(DecisionTreeRegressor(random_state=0), X, y, "max_leaf_nodes", range(2, 6), loss=loss)
    risk = 1.1 * problem.in_sample[2]
    reference = calibrated_reference(problem, problem.fitted[2], risk)
    assert isinstance(reference, ValueReference)
    noisy = reference.mean + reference.residuals
    assert problem.loss.risk(noisy, reference.mean) == pytest.approx(risk)


def test_no_better_than_guessing_is_a_constant():
    X, y = noisy_halves(np.random.default_rng(3))
    problem = trees(X, y)
    assert calibrated_reference(problem, problem.fitted[3], 0.6) is None
    values = posed(LinearRegression(), X, X[:, 0], loss="squared")
    assert calibrated_reference(values, values.fitted[0], 2 * np.var(X[:, 0])) is None


def test_optimism_of_new_rows_against_known_random_design():
    """Least squares on normal X: the fit at a new row has variance σ²(1/n + (1 + 1/n) p/(n − p − 2)) on average."""
    rng, n, p, sigma = np.random.default_rng(0), 40, 8, 1.5
    found = []
    for _ in range(60):
        problem = posed(LinearRegression(), rng.normal(size=(n, p)), rng.normal(size=n))
        found.append(new_row_optimism(problem.design.smoother, sigma**2)[0])
    variance_at_new_rows = 1 / n + (1 + 1 / n) * p / (n - p - 2)
    exact = sigma**2 * ((p + 1) / n + variance_at_new_rows)
    fixed = 2 * sigma**2 * (p + 1) / n
    assert np.mean(found) == pytest.approx(exact, rel=0.02)
    assert exact > 1.1 * fixed


def test_optimism_of_new_rows_against_left_out_variance():
    """σ² Σ_j≠i (S_ij/(1 − S_ii))² from the smoother matrix itself, for ridge."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 6))
    problem = posed(Ridge(), X, rng.normal(size=25), "alpha", [0.1, 10.0])
    design = problem.design
    S = design.fitted(np.eye(25)).transpose(1, 2, 0)
    h = np.diagonal(S, axis1=1, axis2=2)
    norms = (S**2).sum(axis=2)
    expected = 2 * h.mean(axis=1) + ((norms - h**2) / (1 - h) ** 2 - norms).mean(axis=1)
    assert new_row_optimism(design.smoother, 1.0) == pytest.approx(expected)


def test_interpolated_rows_make_the_optimism_infinite():
    X = np.zeros((6, 1))
    X[0] = 1.0
    problem = posed(LinearRegression(), X, np.arange(6.0))
    assert np.isinf(new_row_optimism(problem.design.smoother, 1.0)).all()


def solved(matrix, right):
    """The solution of a linear system of fractions, exactly."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def exact_new_row_optimism(X, alpha, weight=None, intercept=True):
    """`new_row_optimism` of ridge, by refits without each row in exact arithmetic.

    With alpha = 0 those of minimum norm: of a penalty too small to be seen.
    """
    n, penalty = len(X), Fraction(alpha) or Fraction(1, 10**60)
    table = [[Fraction(float(value)) for value in row] for row in X]
    weight = [Fraction(1)] * n if weight is None else [Fraction(float(w)) for w in weight]
    kernel = [[sum(a * b for a, b in zip(first, second, strict=True)) for second in table] for first in table]

    def weights_at(i, rows):
        """The weights of the labels of some rows in the prediction for row i by the fit to them."""
        system = [[kernel[a][b] + (penalty / weight[a] if a == b else 0) for b in rows] for a in rows]
        right = [kernel[i][a] for a in rows]
        if intercept:
            system = [*([*row, Fraction(1)] for row in system), [Fraction(1)] * len(rows) + [Fraction(0)]]
            right = [*right, Fraction(1)]
        return solved(system, right)[: len(rows)]

    total = Fraction(0)
    for i in range(n):
        own = weights_at(i, range(n))
        left_out = weights_at(i, [j for j in range(n) if j != i])
        squares = sum(value**2 for value in own)
        total += weight[i] * (2 * own[i] + max(sum(value**2 for value in left_out) - squares, 0))
    return float(total / sum(weight))


def wide(n=8, p=11, seed=0):
    """More columns than rows, so that every label is reproduced."""
    return np.random.default_rng(seed).normal(size=(n, p))


def uneven(n=8):
    return np.random.default_rng(5).uniform(0.3, 3.0, n)


def optimism_of(learner, X, weight=None):
    return new_row_optimism(find_path(learner).bind(X, None, weight).smoother, 1.0, weight)[0]


@pytest.mark.parametrize("alpha", [1e-3, 1e-8, 1e-12, 1e-30, 1e-200])
@pytest.mark.parametrize("weight", [None, uneven()])
@pytest.mark.parametrize("intercept", [True, False])
def test_optimism_of_new_rows_of_nearly_interpolating_ridge_against_exact_refits(alpha, weight, intercept):
    X = wide()
    found = optimism_of(Ridge(alpha, solver="svd", fit_intercept=intercept), X, weight)
    assert found == pytest.approx(exact_new_row_optimism(X, alpha, weight, intercept), rel=1e-10)


@pytest.mark.parametrize("p", [7, 8, 11])
@pytest.mark.parametrize("weight", [None, uneven()])
@pytest.mark.parametrize("learner", [LinearRegression(), Ridge(0.0, solver="svd")])
def test_optimism_of_new_rows_of_least_squares_of_minimum_norm_against_exact_refits(p, weight, learner):
    X = wide(p=p)
    assert optimism_of(learner, X, weight) == pytest.approx(exact_new_row_optimism(X, 0, weight), rel=1e-9)


def test_optimism_of_new_rows_of_kernel_ridge_without_penalty_against_exact_refits():
    X = wide()
    found = optimism_of(KernelRidge(alpha=0.0), X)
    assert found == pytest.approx(exact_new_row_optimism(X, 0, intercept=False), rel=1e-9)


def test_rows_of_no_weight_add_nothing_to_the_optimism_of_new_rows_of_minimum_norm():
    X, weight = wide(12), np.arange(12) % 3 * 1.0
    kept = np.flatnonzero(weight)
    for learner in (LinearRegression(), Ridge(0.0), Ridge(1e-12, solver="svd")):
        assert optimism_of(learner, X, weight) == pytest.approx(optimism_of(learner, X[kept], weight[kept]), rel=1e-9)


@pytest.mark.parametrize("weight", [None, uneven(12)])
@pytest.mark.parametrize("far", [1e2, 1e4, 1e6])
def test_optimism_of_new_rows_where_one_row_is_nearly_fitted_by_itself_against_exact_refits(far, weight):
    """The other rows tell a little of what the coefficient of its column is."""
    X = wide(12, 3)
    X[0, 2] *= far
    for learner, alpha in ((LinearRegression(), 0), (Ridge(1e-9, solver="svd"), 1e-9)):
        assert optimism_of(learner, X, weight) == pytest.approx(exact_new_row_optimism(X, alpha, weight), rel=1e-7)


@pytest.mark.parametrize("alpha", [1e-6, 1e-12, 1e-18])
def test_a_penalty_makes_the_optimism_of_a_row_with_its_own_column_finite(alpha):
    X = wide(12, 3)
    X[:, 2] = 0.0
    X[0, 2] = 1.0
    assert optimism_of(Ridge(alpha, solver="svd"), X) == pytest.approx(exact_new_row_optimism(X, alpha), rel=1e-8)
    assert np.isinf(optimism_of(Ridge(0.0, solver="svd"), X))
    assert np.isinf(optimism_of(LinearRegression(), X))


@pytest.mark.parametrize(("criterion", "tolerance"), [(TwoStagePermutation(20), 0.12), (RowsAndLabels(20), 0.035)])
def test_one_neighbour_is_priced_at_the_noise_that_is_left(criterion, tolerance):
    """1-NN errs on 2·(1/10)·(9/10) of new labels; permutation says one half, and stage one keeps some of that."""
    values = [1, 9, 25]
    found, permuted = [], []
    for seed in range(8):
        X, y = noisy_halves(np.random.default_rng(seed), 200)
        problem = posed(KNeighborsClassifier(), X, y, "n_neighbors", values)
        found.append(criterion.curve(problem).out_sample[-1])
        permuted.append(Permutation(20).curve(problem).out_sample[-1])
    truth = 2 * 0.1 * 0.9
    assert np.mean(permuted) == pytest.approx(0.5, abs=0.01)
    assert np.mean(found) == pytest.approx(truth, abs=tolerance)


@pytest.mark.parametrize("criterion", NEW)
@pytest.mark.parametrize("loss", [None, "log", [[0, 1, 2], [1, 0, 1], [2, 1, 0]]])
def test_several_classes_and_losses(criterion, loss):
    X, y = load_wine(return_X_y=True)
    matrix = loss if loss is None or isinstance(loss, str) else np.array(loss, dtype=float)
    curve = criterion.curve(posed(KNeighborsClassifier(), X, y, "n_neighbors", [3, 9, 27], loss=matrix))
    assert np.isfinite(curve.out_sample).all()
    assert np.allclose(curve.in_sample + curve.optimism, curve.out_sample)
    assert (curve.out_sample > curve.in_sample - 0.05).all()


@pytest.mark.parametrize("criterion", NEW)
def test_regression_trees_of_any_loss(criterion):
    X, y = load_diabetes(return_X_y=True)
    for loss in ("squared", "absolute"):
        problem = posed(DecisionTreeRegressor(random_state=0), X, y, "max_leaf_nodes", [2, 5, 20], loss=loss)
        curve = criterion.curve(problem)
        assert (curve.optimism > 0).all()
        assert np.argmin(curve.out_sample) < 2


@pytest.mark.parametrize("criterion", NEW)
def test_linear_smoothers_take_no_draws(criterion):
    X, y = load_diabetes(return_X_y=True)
    curve = criterion.curve(posed(Ridge(), X, y, "alpha", [0.01, 0.1, 1.0]))
    assert curve.n_fits == 1
    assert curve.draws is None
    # Folds are random, even where they take no fit.
    assert ((curve.monte_carlo_error > 0) == isinstance(criterion, RowsAndLabels)).all()


def test_learners_without_frequencies_are_served():
    X, y = noisy_halves(np.random.default_rng(0))
    from sklearn.svm import LinearSVC

    found = outsample.estimate(LinearSVC(random_state=0), X, y, criterion=TwoStagePermutation(4), random_state=0)
    assert 0.05 < found.out_sample < 0.2
    assert found.n_fits == 5


@pytest.mark.parametrize("criterion", [TwoStagePermutation(4), RowsAndLabels(4), CovariancePenalty(n_draws=3)])
def test_jobs_and_stores_do_not_change_the_numbers(criterion, tmp_path):
    X, y = noisy_halves(np.random.default_rng(0), 80)
    settings = {"criterion": criterion, "random_state": 0, "refit": False}
    grid = {"C": [0.01, 1.0]}
    learner = LogisticRegression(solver="newton-cg")
    alone = outsample.GridSearch(learner, grid, fast=False, **settings).fit(X, y).curve_
    both = outsample.GridSearch(learner, grid, fast=False, n_jobs=2, **settings).fit(X, y).curve_
    assert np.array_equal(alone.out_sample, both.out_sample)
    for _ in range(2):
        store = tmp_path / "store.db"
        kept = outsample.GridSearch(learner, grid, fast=False, store=store, **settings).fit(X, y).curve_
        assert np.array_equal(alone.out_sample, kept.out_sample)


def test_strings_name_the_criteria():
    X, y = noisy_halves(np.random.default_rng(0), 60)
    for name in ("two-stage", "rows-and-labels", "auto"):
        grid = {"max_leaf_nodes": range(2, 6)}
        search = outsample.GridSearch(DecisionTreeClassifier(), grid, criterion=name, random_state=0).fit(X, y)
        assert search.curve_.out_sample.shape == (4,)


@pytest.mark.parametrize("criterion", [TwoStagePermutation(4), RowsAndLabels(4)])
def test_fast_paths_and_refits_agree(criterion):
    learner, grid = KNeighborsClassifier(), {"n_neighbors": [1, 4, 9]}
    X, y = noisy_halves(np.random.default_rng(0), 90)
    settings = {"criterion": criterion, "random_state": 0, "refit": False}
    curves = [outsample.GridSearch(learner, grid, fast=fast, **settings).fit(X, y).curve_ for fast in (True, False)]
    assert curves[0].out_sample == pytest.approx(curves[1].out_sample)


def test_smoothing_keeps_constants_and_lowers_noise():
    complexity = np.geomspace(1, 100, 60)
    flat = np.full(60, 0.3)
    assert smoothed(flat, complexity) == pytest.approx(flat)
    noise = np.random.default_rng(0).normal(size=60)
    assert smoothed(noise, complexity).std() < 0.6 * noise.std()
    apart = np.geomspace(1, 1e6, 5)
    assert smoothed(noise[:5], apart) == pytest.approx(noise[:5])


def test_models_without_an_order_are_not_smoothed():
    values = np.array([0.1, 0.4, 0.2])
    assert np.array_equal(smoothed(values, np.array([0.0, 1.0, 2.0])), values)


def test_unlimited_models_share_only_with_each_other():
    complexity, values = np.array([4.0, np.inf, np.inf]), np.array([0.1, 0.4, 0.2])
    assert smoothed(values, complexity) == pytest.approx([0.1, 0.3, 0.3])
    X, y = noisy_halves(np.random.default_rng(0), 60)
    assert np.isfinite(RowsAndLabels(4).curve(posed(DecisionTreeClassifier(random_state=0), X, y)).out_sample).all()


def test_labels_weigh_as_much_as_their_risk_is_seen():
    in_sample, optimism = np.array([0.0, 0.1, 0.3, 0.2]), np.array([0.2, 0.1, 0.0, -0.3])
    assert share_seen(in_sample, optimism) == pytest.approx([0.0, 0.5, 1.0, 1.0])
    assert share_seen(np.zeros(2), np.zeros(2)) == pytest.approx([1.0, 1.0])
    assert share_seen(np.array([-0.5, 0.5]), np.array([0.1, 0.5])) == pytest.approx([1.0, 1.0])


def test_a_model_that_fits_any_labels_is_judged_by_its_rows():
    X, y = noisy_halves(np.random.default_rng(1), 120)
    problem = posed(KNeighborsClassifier(), X, y, "n_neighbors", [1])
    folds = outsample.CrossValidation(StratifiedKFold(5, shuffle=True, random_state=split_seed(problem)))
    assert RowsAndLabels(10).curve(problem).out_sample == pytest.approx(folds.curve(problem).out_sample)


def drawn_labels(reference, n_draws, evenly):
    """The label vectors that a criterion draws around a reference, (draws, n)."""
    X = np.zeros((reference.n_samples, 1))
    problem = trees(X, np.arange(len(X)) % 2)
    judge = _ReferenceFits(problem, reference, 0 if evenly else None)
    return np.stack([reference.labels_at(judge._levels(i)) for i in range(n_draws)])


def test_few_draws_are_spread_evenly_over_the_distribution_of_every_row():
    shares = np.linspace(0.02, 0.98, 2000)
    reference = ClassReference(np.stack([1 - shares, shares], axis=1))
    even, free = (drawn_labels(reference, 5, evenly).mean(axis=0) - shares for evenly in (True, False))
    assert (even**2).mean() < 0.5 * (free**2).mean()
    # The number of draws that give a row its second class is wrong by less than two of five.
    assert np.abs(even).max() < 0.4 < np.abs(free).max()


@pytest.mark.parametrize("evenly", [True, False])
def test_every_single_draw_and_the_mean_of_many_follow_the_reference(evenly):
    shares = np.linspace(0.1, 0.6, 3000)
    reference = ClassReference(np.stack([1 - shares, shares / 3, 2 * shares / 3], axis=1))
    drawn = drawn_labels(reference, 400, evenly)
    for c in range(3):
        assert (drawn[7] == c).mean() == pytest.approx(reference.probabilities[:, c].mean(), abs=0.03)
        assert (drawn == c).mean(axis=0) == pytest.approx(reference.probabilities[:, c], abs=0.12)
    values = ValueReference(np.zeros(3000), np.array([-1.0, 0.0, 4.0]))
    assert np.var(drawn_labels(values, 400, evenly)) == pytest.approx(values.variance, rel=0.02)


def test_draws_around_a_reference_do_not_repeat():
    reference = ClassReference(np.full((200, 2), 0.5))
    drawn = drawn_labels(reference, 200, evenly=True)
    # Within a group of draws the golden section keeps them apart; groups begin anew.
    same = (drawn[:, None] == drawn[None]).mean(axis=2)[np.triu_indices(200, 1)]
    assert same.max() < 0.9


def test_luck_is_priced_only_where_there_is_a_choice():
    X, y = noisy_halves(np.random.default_rng(1), 120)
    # One neighbour fits any labels, so that only rows judge it; twice the same model is a choice all the same.
    problem = posed(KNeighborsClassifier(), X, y, "n_neighbors", [1, 1])
    folds = outsample.CrossValidation(StratifiedKFold(5, shuffle=True, random_state=split_seed(problem)))
    assert RowsAndLabels(10).curve(problem).out_sample == pytest.approx(1.075 * folds.curve(problem).out_sample)


@pytest.mark.parametrize("learner", [LinearRegression(), Ridge(0.0, solver="svd"), Ridge(1e-12, solver="svd")])
def test_fits_that_reproduce_every_label_are_judged_by_their_rows_alone(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 30))
    y = X[:, 0] + rng.normal(size=20)
    rows = outsample.CrossValidation(KFold(5, shuffle=True))
    expected, found = (outsample.estimate(learner, X, y, criterion=c, random_state=0) for c in (rows, RowsAndLabels()))
    assert found.out_sample == pytest.approx(expected.out_sample)
    assert found.standard_error > 0


def test_models_on_both_sides_of_interpolation_have_finite_risks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 30))
    learner = make_pipeline(outsample.LeadingColumns(), LinearRegression())
    problem = pose(learner, X, X[:, 0], parameter="leadingcolumns__n_columns", values=[1, 5, 19, 20, 30])
    assert np.isfinite(RowsAndLabels().curve(problem).out_sample).all()
