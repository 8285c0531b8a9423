"""Approximate leave-one-out against exact refits, and each learner's objective against its definition."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.metrics import hinge_loss, make_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR
from threadpoolctl import threadpool_limits

import outsample
from outsample.criteria.approximate import ApproximateLeaveOneOut
from outsample.data.learners import fit, respond
from outsample.paths.penalised.approximate import FirstSteps, LocalObjective, SharedTable
from outsample.paths.penalised.objectives import Labels, objectives_of
from outsample.paths.penalised.row_losses import Logistic
from outsample.problem import pose

N, P = 150, 4
TIGHT = {"tol": 1e-8, "max_iter": 5000}
DUAL = {"tol": 1e-8, "max_iter": 50_000, "random_state": 0}


def _data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, P))
    signal = X @ np.array([1.0, -0.5, 0.3, 0.0])
    labels = {
        "real": 1 + signal + rng.standard_t(4, size=N),
        "count": rng.poisson(np.exp(0.5 * signal)).astype(float),
        "positive": np.exp(0.5 * signal) * rng.gamma(3, 1 / 3, size=N),
        "two": np.array(["no", "yes"])[(0.3 + signal + rng.logistic(size=N) > 0).astype(int)],
        "three": np.argmax(np.c_[signal, X[:, 1], 0 * signal] + rng.gumbel(size=(N, 3)), axis=1),
    }
    return X, labels, rng.integers(1, 4, size=N).astype(float)


X, LABELS, WEIGHT = _data()

HINGE = make_scorer(hinge_loss, greater_is_better=False, response_method="decision_function")
LEARNERS = {
    "lasso": (Lasso(0.05, tol=1e-10), "real", None),
    "elastic net": (ElasticNet(0.1, tol=1e-10), "real", None),
    "huber": (HuberRegressor(tol=1e-8, max_iter=1000), "real", None),
    "huber without constant": (HuberRegressor(alpha=3.0, tol=1e-8, max_iter=1000, fit_intercept=False), "real", None),
    "poisson": (PoissonRegressor(alpha=0.1, **TIGHT), "count", None),
    "gamma": (GammaRegressor(alpha=0.1, **TIGHT), "positive", None),
    "tweedie": (TweedieRegressor(power=1.5, alpha=0.1, **TIGHT), "count", "absolute"),
    "tweedie, normal": (TweedieRegressor(alpha=0.1, **TIGHT), "real", None),
    "logistic": (LogisticRegression(**TIGHT), "two", "log"),
    "logistic, labels": (LogisticRegression(**TIGHT), "two", "zero-one"),
    "logistic, free": (LogisticRegression(C=np.inf, **TIGHT), "two", "log"),
    "logistic, l1": (LogisticRegression(C=0.3, l1_ratio=1, solver="saga", **TIGHT), "two", "log"),
    "logistic, elastic net": (LogisticRegression(C=0.3, l1_ratio=0.5, solver="saga", **TIGHT), "two", "log"),
    "logistic, liblinear": (LogisticRegression(solver="liblinear", intercept_scaling=2.0, **TIGHT), "two", "log"),
    "logistic, balanced": (LogisticRegression(class_weight="balanced", **TIGHT), "two", "log"),
    "multinomial": (LogisticRegression(**TIGHT), "three", "log"),
    "multinomial, free": (LogisticRegression(C=np.inf, **TIGHT), "three", "log"),
    "multinomial, l1": (LogisticRegression(C=0.5, l1_ratio=1, solver="saga", **TIGHT), "three", "log"),
    "squared hinge": (LinearSVC(C=0.1, **DUAL), "two", HINGE),
    "squared hinge, three": (LinearSVC(C=0.1, **DUAL), "three", "zero-one"),
    "support vector regression": (
        LinearSVR(C=0.1, epsilon=0.2, loss="squared_epsilon_insensitive", **DUAL),
        "real",
        None,
    ),
}
# Refits that take long and say little more are left to the definition below.
BRUTE_FORCE = [name for name in LEARNERS if name not in ("tweedie", "huber without constant", "logistic, elastic net")]


def left_out_by_refits(learner, X, y, weight, response, classes):
    """The prediction of each row by a fit to the others, (1, n[, K])."""
    rows = np.arange(len(y))
    answers = []
    with threadpool_limits(1):
        for i in rows:
            kept = rows != i
            model = fit(clone(learner), X[kept], y[kept], None if weight is None else weight[kept])
            answers.append(respond(model, X[[i]], response, classes)[0])
    return np.stack(answers)[None]


def exact_and_approximate(learner, y, loss, weight=None, X=X):
    problem = pose(learner, X, y, loss=loss, sample_weight=weight, random_state=0)
    exact = left_out_by_refits(learner, X, y, weight, problem.response, problem.target.classes)
    curve = ApproximateLeaveOneOut().curve(problem)
    return problem.loss.risk(problem.y, exact, problem.weight)[0], curve


@pytest.mark.parametrize("name", BRUTE_FORCE)
def test_within_one_percent_against_brute_force(name):
    learner, labels, loss = LEARNERS[name]
    exact, curve = exact_and_approximate(learner, LABELS[labels], loss)
    assert curve.out_sample[0] == pytest.approx(exact, rel=0.01)
    assert curve.n_fits <= (11 if "l1" in name or name in ("lasso", "elastic net") else 1)
    assert curve.in_doubt[0] == 0
    assert all("jackknife" in note for note in curve.notes)


@pytest.mark.parametrize("learner", [LinearRegression(), Ridge(5.0), Ridge(5.0, fit_intercept=False)])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_squared_loss_is_exact_against_brute_force(learner, weight):
    exact, curve = exact_and_approximate(learner, LABELS["real"], "absolute", weight)
    assert curve.out_sample[0] == pytest.approx(exact, rel=1e-9)


def test_several_outputs_are_exact_against_brute_force():
    Y = np.c_[LABELS["real"], LABELS["positive"]]
    exact, curve = exact_and_approximate(Ridge(alpha=np.array([1.0, 30.0])), Y, None)
    assert curve.out_sample[0] == pytest.approx(exact, rel=1e-9)


def test_penalty_scaled_by_rows_is_exact_against_brute_force():
    """Quadratic all the same: what leaves with a row is its share of the penalty, too."""
    learner = TweedieRegressor(power=0, alpha=2.0, **TIGHT)
    exact, curve = exact_and_approximate(learner, LABELS["real"], "squared")
    assert curve.out_sample[0] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("name", ["logistic", "multinomial", "poisson", "huber"])
def test_weights_against_brute_force(name):
    learner, labels, loss = LEARNERS[name]
    exact, curve = exact_and_approximate(learner, LABELS[labels], loss, WEIGHT)
    assert curve.out_sample[0] == pytest.approx(exact, rel=0.01)


def _fitted(name, weight):
    learner, labels, _ = LEARNERS[name]
    y = LABELS[labels]
    model = fit(clone(learner), X, y, None if weight is None else weight)
    classes, codes = np.unique(y, return_inverse=True) if is_classifier(learner) else (None, y)
    return model, objectives_of(model, SharedTable(X), Labels(codes, classes, np.ones(N) if weight is None else weight))


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("name", LEARNERS)
def test_objective_is_stationary_at_the_fit_against_definition(name, weight):
    """Gradient of the losses + gradient of the penalty = 0, with an L1 part of one size in every active column."""
    model, objectives = _fitted(name, weight)
    for k, objective in enumerate(objectives):
        coefficients = np.atleast_2d(model.coef_)
        coefficients = coefficients[[k]] if len(objectives) > 1 else coefficients
        of_losses = objective.gradient[:, : len(coefficients)].T @ X
        rest = (of_losses + objective.ridge * coefficients)[objective.active[: len(coefficients)]]
        l1 = _l1_strength(name, weight)
        scale = np.abs(objective.gradient).sum()
        signs = np.sign(coefficients)[objective.active[: len(coefficients)]]
        np.testing.assert_allclose(rest + l1 * signs, 0.0, atol=2e-5 * scale)
        if objective.constant_ridge == 0:
            constants = objective.gradient[:, objective.intercept].sum(axis=0)
            np.testing.assert_allclose(constants, 0.0, atol=2e-5 * scale)


def _l1_strength(name, weight):
    learner = LEARNERS[name][0]
    total = N if weight is None else weight.sum()
    if isinstance(learner, ElasticNet):
        return total * learner.alpha * learner.l1_ratio
    return learner.l1_ratio / learner.C if isinstance(learner, LogisticRegression) else 0.0


def test_balanced_class_weights_of_many_classes_against_definition():
    """liblinear weighs a class against an unweighted rest."""
    y = LABELS["three"]
    model = LinearSVC(C=0.1, class_weight={0: 1.0, 1: 2.0, 2: 0.5}, **DUAL).fit(X, y)
    for k, objective in enumerate(objectives_of(model, SharedTable(X), Labels(y, np.arange(3), np.ones(N)))):
        rest = objective.gradient[:, 0] @ X + objective.ridge * model.coef_[k]
        np.testing.assert_allclose(rest, 0.0, atol=1e-4)


@pytest.mark.parametrize("name", ["lasso", "poisson", "logistic", "multinomial", "squared hinge"])
def test_sparse_X_against_dense(name):
    learner, labels, loss = LEARNERS[name]
    ours = [
        outsample.estimate(learner, table, LABELS[labels], criterion="alo", loss=loss, random_state=0).out_sample
        for table in (X, sparse.csr_matrix(X))
    ]
    assert ours[1] == pytest.approx(ours[0], rel=1e-5)


def test_more_columns_than_rows_against_definition():
    """The Hessian of all columns, inverted as it stands, gives what the n-dimensional row space gives."""
    rng = np.random.default_rng(0)
    n, p, ridge = 12, 30, 0.7
    wide, predictor = rng.normal(size=(n, p)), rng.normal(size=(n, 1))
    losses = Logistic(rng.integers(0, 2, n).astype(float), rng.uniform(0.5, 2, n))
    objective = LocalObjective(
        SharedTable(wide), predictor, losses, np.ones((1, p), bool), np.ones(1, bool), ridge, share=1 / n
    )
    gradient, curvature = losses.gradient(predictor)[:, 0], losses.curvature(predictor)[:, 0, 0]
    Z = np.c_[wide, np.ones(n)]
    total = Z.T @ gradient
    expected = []
    for i in range(n):
        hessian = (Z * curvature[:, None]).T @ Z - curvature[i] * np.outer(Z[i], Z[i])
        hessian[np.diag_indices(p)] += ridge * (1 - 1 / n)
        expected.append(predictor[i, 0] + Z[i] @ np.linalg.solve(hessian, gradient[i] * Z[i] - total / n))
    np.testing.assert_allclose(FirstSteps(objective).predictors[:, 0], expected, rtol=1e-8)


def test_path_and_pipeline_against_brute_force():
    pipeline = make_pipeline(StandardScaler(), PCA(2), LogisticRegression(**TIGHT))
    values = [0.01, 0.1, 1.0]
    problem = pose(
        pipeline, X, LABELS["two"], parameter="logisticregression__C", values=values, loss="log", random_state=0
    )
    curve = ApproximateLeaveOneOut().curve(problem)
    Z = pipeline[:-1].fit_transform(X, LABELS["two"])
    for m, C in enumerate(values):
        exact, _ = exact_and_approximate(LogisticRegression(C=C, **TIGHT), LABELS["two"], "log", X=Z)
        assert curve.out_sample[m] == pytest.approx(exact, rel=0.01)
    assert curve.n_fits == 3
    assert "fitted once" in curve.estimand


@pytest.mark.parametrize(
    "selecting",
    [SelectKBest(k=10), make_pipeline(SelectKBest(k=10)), ColumnTransformer([("best", SelectKBest(k=10), slice(800))])],
    ids=["step", "in a pipeline", "in a column transformer"],
)
def test_steps_that_choose_columns_by_the_labels_see_no_row_that_is_left_out(selecting):
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(60, 800)), rng.integers(0, 2, 60)
    model = make_pipeline(selecting, LogisticRegression())
    with pytest.raises(ValueError, match=r'criterion "alo" fits the earlier steps .* may look at the labels'):
        outsample.estimate(model, noise, labels, criterion="alo")
    found = outsample.estimate(model, noise, labels, random_state=0)
    assert found.out_sample > 0.4  # .23 where the columns were chosen once, by all labels


def test_standard_error_against_definition():
    problem = pose(Ridge(1.0), X, LABELS["real"], random_state=0)
    curve = ApproximateLeaveOneOut().curve(problem)
    left_out = left_out_by_refits(Ridge(1.0), X, LABELS["real"], None, "predict", None)[0]
    losses = (LABELS["real"] - left_out) ** 2
    assert curve.standard_error[0] == pytest.approx(losses.std(ddof=1) / np.sqrt(N), rel=1e-9)


def test_a_row_that_decides_its_own_prediction_against_brute_force():
    lonely = np.zeros((40, 2))
    lonely[:, 0] = np.tile([1.0, -1.0], 20)
    lonely[0, 1] = 30.0
    y = np.random.default_rng(0).poisson(3.0, size=40).astype(float)
    exact, curve = exact_and_approximate(PoissonRegressor(alpha=1e-4, **TIGHT), y, "squared", X=lonely)
    assert curve.out_sample[0] == pytest.approx(exact, rel=0.01)
    assert curve.notes == ()


@pytest.mark.parametrize(
    ("learner", "separable"),
    [(LogisticRegression(C=np.inf), True), (LogisticRegression(solver="liblinear", max_iter=1), False)],
)
def test_what_stays_in_doubt_is_said(learner, separable):
    """Separated classes without a penalty, which have no minimum, and a fit that has not reached it."""
    y = (X[:, 0] > 0).astype(int) if separable else LABELS["two"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        problem = pose(learner, X, y, loss="log", random_state=0)
        curve = ApproximateLeaveOneOut().curve(problem)
    assert curve.in_doubt[0] == N
    assert f"doubtful for this model: without each of up to {N} rows" in curve.notes[0]


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (GaussianNB(), "GaussianNB"),
        (LinearSVC(loss="hinge"), "hinge"),
    ],
)
def test_unknown_learners_are_refused_with_what_would_work(learner, words):
    with pytest.raises(ValueError, match=f'{words}.*use "loo" or "kfold" instead'):
        outsample.estimate(learner, X, LABELS["two"], criterion="alo")


def test_groups_are_refused():
    with pytest.raises(ValueError, match="leaves out single rows"):
        outsample.estimate(Ridge(), X, LABELS["real"], criterion="alo", groups=np.arange(N) // 2)


def test_same_answer_for_any_number_of_jobs():
    runs = [
        outsample.estimate(LogisticRegression(), X, LABELS["three"], criterion="alo", n_jobs=jobs).out_sample
        for jobs in (1, 2)
    ]
    assert runs[0] == runs[1]


def _wide(p, weighted=False):
    rng = np.random.default_rng(p)
    wide = rng.normal(size=(20, p))
    return wide, wide[:, 0] + rng.normal(size=20), rng.integers(1, 4, size=20) / 2 if weighted else None


@pytest.mark.parametrize(
    "learner", [LinearRegression(), LinearRegression(fit_intercept=False), Ridge(1e-12, solver="svd")]
)
@pytest.mark.parametrize(("p", "weighted"), [(20, False), (30, False), (30, True)])
def test_fits_that_reproduce_every_label_against_refits(learner, p, weighted):
    wide, y, weight = _wide(p, weighted)
    counted = np.ones(20) if weight is None else weight
    refitted = [
        clone(learner).fit(wide[keep], y[keep], counted[keep]).predict(wide[~keep])[0]
        for keep in ~np.eye(20, dtype=bool)
    ]
    found = outsample.estimate(learner, wide, y, criterion="alo", sample_weight=weight)
    assert found.out_sample == pytest.approx(np.average((y - refitted) ** 2, weights=weight), rel=1e-6)
    assert found.standard_error > 0


def test_no_penalty_is_least_squares_of_minimum_norm():
    wide, y, _ = _wide(30)
    learners = LinearRegression(), Ridge(0.0, solver="svd")
    plain, ridge = (outsample.estimate(learner, wide, y, criterion="alo").out_sample for learner in learners)
    assert ridge == pytest.approx(plain)


def test_a_column_of_one_row_alone_against_refits():
    """Without its row the column is zero, and so is its coefficient."""
    own, y = np.column_stack([X, np.arange(N) == 3]), LABELS["real"]
    without = LinearRegression().fit(np.delete(own, 3, axis=0), np.delete(y, 3)).predict(own[[3]])[0]
    problem = pose(LinearRegression(), own, y, loss=lambda y, p: np.where(y == LABELS["real"][3], p, 0.0))
    assert N * ApproximateLeaveOneOut().curve(problem).out_sample[0] == pytest.approx(without)


@pytest.mark.parametrize("of", [np.asarray, sparse.csr_matrix])
def test_two_labels_reproduced_together_against_refits(of):
    wide, y, _ = _wide(30)
    both = np.column_stack([y, y**2])
    expected = outsample.estimate(LinearRegression(), wide, both, criterion="loo").out_sample
    assert outsample.estimate(LinearRegression(), of(wide), both, criterion="alo").out_sample == pytest.approx(expected)


def test_predictions_without_any_bound_raise_no_warning_of_numpy():
    """A lasso that hardly penalises fits 40 rows of 60 columns: some rows left out may say anything."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 60))
    y = X[:, 0] + 0.1 * rng.standard_normal(40)
    for alpha in (0.01, 1e-3):
        outsample.estimate(Lasso(alpha, max_iter=200_000), X, y, criterion="alo", loss="squared")


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error", "neg_mean_absolute_error"])
def test_rows_without_an_answer_are_in_doubt_and_make_settings_race(scoring, monkeypatch):
    """A row of rare categories may fit itself, so that nothing is known of it when it is left out."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y, grid = X[:, 0] + rng.normal(size=80), {"alpha": [0.001, 0.1]}
    answers = outsample.ApproximateLeaveOneOut._answers

    def with_a_hole(criterion, problem, models):
        in_sample, left_out, counts = answers(criterion, problem, models)
        left_out[-1, 7] = np.inf
        return in_sample, left_out, counts

    monkeypatch.setattr(outsample.ApproximateLeaveOneOut, "_answers", with_a_hole)
    found = outsample.GridSearch(Lasso(), grid, scoring=scoring, criterion="alo", refit=False).fit(X, y)
    assert found.curve_.in_doubt.tolist() == [0, 1]
    assert np.isinf(found.curve_.out_sample).tolist() == [False, True]
    search = outsample.GridSearch(Lasso(), grid, scoring=scoring, refit=False, random_state=0).fit(X, y)
    assert search.curve_.criterion == "race"
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
