"""`estimate` on every kind of label, table, learner and machine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from learners_that_count import (
    COUNTER,
    CountingClassifier,
    CountingRegressor,
    CountingTransformer,
    count_scaler_and_selector,
)
from outsample import Permutation
from outsample.problem import pose

RNG = np.random.default_rng(0)
X = RNG.normal(size=(36, 4))
BINARY = (X[:, 0] + 0.7 * RNG.normal(size=36) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=36), [-0.5, 0.5])
REAL = X[:, 0] + RNG.normal(size=36)
TWO_OUTPUTS = np.column_stack([REAL, 10 * X[:, 1] + RNG.normal(size=36)])


def name_of(case) -> str:
    """A name that is the same in every process: functions have an address in their text."""
    return getattr(case, "__name__", None) or str(case)


START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _the_same_data_in_any_order():
    """Tests draw from one generator; each starts where the module left it."""
    RNG.bit_generator.state = START


@pytest.fixture(autouse=True)
def _count_from_zero():
    COUNTER.fits.clear()


FEW = Permutation(3)


def numbers(result):
    return result.in_sample, result.optimism, result.out_sample, result.monte_carlo_error


LABELS = {
    "strings": np.array(["no", "yes"])[BINARY],
    "boxed strings": np.array(["no", "yes"], dtype=object)[BINARY],
    "list": np.array(["no", "yes"])[BINARY].tolist(),
    "bools": BINARY.astype(bool),
    "signs": 2 * BINARY - 1,
    "floats": BINARY + 4.0,
    "small integers": BINARY.astype(np.uint8),
    "categorical": pd.Series(np.array(["no", "yes"])[BINARY], dtype="category"),
    "nullable": pd.Series(BINARY, dtype="Int64"),
    "series": pd.Series(BINARY, index=RNG.permutation(36)),
}


@cache
def estimated_from_codes(loss):
    return numbers(
        outsample.estimate(LogisticRegression(), X, BINARY, loss=loss, criterion=FEW, random_state=0, fast=False)
    )


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("loss", ["zero-one", "log", "roc_auc"])
def test_any_kind_of_class_label(name, loss):
    learner, y = LogisticRegression(), LABELS[name]
    ours = outsample.estimate(learner, X, y, loss=loss, criterion=FEW, random_state=0, fast=False)
    assert numbers(ours) == estimated_from_codes(loss)


@pytest.mark.parametrize("fast", [True, False])
def test_any_kind_of_class_label_on_fast_paths(fast):
    for learner in (DecisionTreeClassifier(max_leaf_nodes=3, random_state=0), KNeighborsClassifier(3)):
        expected = outsample.estimate(learner, X, BINARY, random_state=0, fast=fast)
        for labels in LABELS.values():
            assert numbers(outsample.estimate(learner, X, labels, random_state=0, fast=fast)) == numbers(expected)


def tables():
    frame = pd.DataFrame(X, columns=list("abcd"), index=RNG.permutation(36))
    return {"pandas": frame, "sparse": sparse.csr_array(X), "columns": sparse.csc_matrix(X), "list": X.tolist()}


@pytest.mark.parametrize("name", tables())
def test_any_kind_of_table(name):
    learner = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    settings = {"criterion": "permutation", "random_state": 0}
    expected = outsample.estimate(learner, X, BINARY, fast=False, **settings)
    for fast in (False, True):
        ours = outsample.estimate(learner, tables()[name], BINARY, fast=fast, **settings)
        assert numbers(ours) == pytest.approx(numbers(expected), abs=1e-12)


def test_polars():
    pl = pytest.importorskip("polars")
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    ours = outsample.estimate(learner, pl.DataFrame(X), pl.Series(BINARY), random_state=0, fast=False)
    assert numbers(ours) == numbers(outsample.estimate(learner, X, BINARY, random_state=0, fast=False))


def test_columns_by_name():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["p", "q", "r"])[THREE])
    columns = ColumnTransformer([("scaled", StandardScaler(), ["a", "b"])], remainder="drop")
    ours = outsample.estimate(make_pipeline(columns, LogisticRegression()), frame, BINARY, random_state=0, fast=False)
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    assert numbers(ours) == pytest.approx(
        numbers(outsample.estimate(plain, X[:, :2], BINARY, random_state=0, fast=False))
    )


@pytest.mark.parametrize("loss", [None, "log", "roc_auc_ovr", "f1_macro", 1 - np.eye(3)], ids=name_of)
def test_three_classes(loss):
    names = np.array(["x", "y", "z"])[THREE]
    result = outsample.estimate(
        DecisionTreeClassifier(max_depth=2, random_state=0), X, names, loss=loss, random_state=0
    )
    fitted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, names)
    if loss is None or not isinstance(loss, str):
        assert result.in_sample == pytest.approx(np.mean(fitted.predict(X) != names))
    assert np.isfinite(result.out_sample)
    assert result.out_sample == pytest.approx(result.in_sample + result.optimism)


@pytest.mark.parametrize("loss", ["squared", "absolute", "r2"])
@pytest.mark.parametrize(
    "learner", [LinearRegression(), DecisionTreeRegressor(max_leaf_nodes=4, random_state=0)], ids=name_of
)
def test_several_outputs_average(learner, loss):
    """The outputs are drawn together and their losses are averaged."""
    both = outsample.estimate(learner, X, TWO_OUTPUTS, loss=loss, criterion=Permutation(5), random_state=0, fast=False)
    if isinstance(learner, LinearRegression) and loss != "r2":
        each = [
            outsample.estimate(learner, X, y, loss=loss, criterion=Permutation(5), random_state=0, fast=False)
            for y in TWO_OUTPUTS.T
        ]
        assert both.in_sample == pytest.approx(np.mean([e.in_sample for e in each]))
        assert both.optimism == pytest.approx(np.mean([e.optimism for e in each]))
    assert np.isfinite(both.out_sample)


def test_weights_of_rows_that_come_in_several_copies():
    """Integer weights are copies of rows, as far as the fit and the in-sample error go."""
    copies = RNG.integers(1, 4, 36)
    weighted = outsample.estimate(
        LogisticRegression(), X, BINARY, loss="log", sample_weight=copies, criterion="resubstitution", fast=False
    )
    repeated = outsample.estimate(
        LogisticRegression(),
        np.repeat(X, copies, axis=0),
        np.repeat(BINARY, copies),
        loss="log",
        criterion="resubstitution",
        fast=False,
    )
    assert weighted.in_sample == pytest.approx(repeated.in_sample, rel=1e-4)


@pytest.mark.parametrize("n_draws", [1, 7, 10])
@pytest.mark.parametrize("loss", ["zero-one", [[0, 1], [3, 0]], "accuracy", lambda y, g: (y != g) * 2.0], ids=name_of)
def test_cost_is_one_fit_per_draw_and_one_more(n_draws, loss):
    result = outsample.estimate(
        CountingClassifier(), X, BINARY, loss=loss, criterion=Permutation(n_draws), random_state=0
    )
    assert COUNTER.fits == {"classifier": n_draws + 1}
    assert result.n_fits == n_draws + 1


@pytest.mark.parametrize("loss", ["squared", "absolute", "r2"])
def test_cost_of_a_regression(loss):
    result = outsample.estimate(CountingRegressor(), X, REAL, loss=loss, criterion=Permutation(6), random_state=0)
    assert COUNTER.fits == {"regressor": 7}
    assert result.n_fits == 7


def test_cost_of_resubstitution_and_of_auto():
    assert outsample.estimate(CountingClassifier(), X, BINARY, criterion="resubstitution").n_fits == 1
    assert COUNTER.fits == {"classifier": 1}
    COUNTER.fits.clear()
    result = outsample.estimate(
        CountingClassifier(), X, BINARY, criterion=Permutation("auto", tolerance=0.05), random_state=0
    )
    assert COUNTER.fits == {"classifier": result.n_fits}


@pytest.mark.parametrize("learner", [CountingClassifier(), DecisionTreeClassifier(max_leaf_nodes=3)], ids=name_of)
def test_steps_that_ignore_y_are_fitted_once(learner, monkeypatch):
    count_scaler_and_selector(monkeypatch)
    outsample.estimate(make_pipeline(StandardScaler(), learner), X, BINARY, criterion="permutation", random_state=0)
    assert COUNTER.fits["scaler"] == 1


def test_steps_that_look_at_y_are_fitted_in_every_draw(monkeypatch):
    count_scaler_and_selector(monkeypatch)
    pipeline = make_pipeline(StandardScaler(), SelectKBest(f_classif, k=1), StandardScaler(), CountingClassifier())
    outsample.estimate(pipeline, X, BINARY, criterion=Permutation(5), random_state=0)
    assert COUNTER.fits == {"scaler": 1 + 6, "selector": 6, "classifier": 6}


def test_steps_from_elsewhere_may_look_at_y():
    pipeline = make_pipeline(CountingTransformer(), CountingClassifier())
    outsample.estimate(pipeline, X, BINARY, criterion=Permutation(5), random_state=0)
    assert COUNTER.fits == {"transformer": 6, "classifier": 6}


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("tail", [LogisticRegression(), KNeighborsClassifier(5), Ridge()], ids=name_of)
def test_a_head_fitted_once_changes_no_number(tail, fast, monkeypatch):
    y = REAL if isinstance(tail, Ridge) else BINARY
    pipeline = make_pipeline(StandardScaler(), PCA(2), tail)
    settings = {"criterion": "permutation", "random_state": 0}
    ours = outsample.estimate(pipeline, X, y, fast=fast, **settings)
    monkeypatch.setattr("outsample.data.steps.ignores_y", lambda step: False)
    whole = outsample.estimate(pipeline, X, y, fast=False, **settings)
    assert ours.in_sample == pytest.approx(whole.in_sample)
    # A linear smoother is averaged over all draws at once, the whole pipeline over ten.
    assert abs(ours.optimism - whole.optimism) <= (4 * whole.monte_carlo_error if ours.draws is None else 1e-12)


def test_the_learner_is_cloned_never_changed():
    learner = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2))
    outsample.estimate(learner, X, BINARY, random_state=0)
    assert not hasattr(learner[-1], "tree_")
    assert learner[-1].random_state is None


@pytest.mark.parametrize(
    "learner",
    [
        RandomForestClassifier(n_estimators=3),
        make_pipeline(GaussianRandomProjection(2), LogisticRegression()),
        GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2),
    ],
    ids=name_of,
)
def test_random_learners_give_one_answer_per_random_state(learner):
    one, again = (outsample.estimate(learner, X, BINARY, random_state=3, fast=False) for _ in range(2))
    assert numbers(one) == numbers(again)
    other = outsample.estimate(learner, X, BINARY, random_state=4, fast=False)
    assert numbers(one) != numbers(other)


def test_random_states_the_user_set_stay():
    seen = []

    class Noted(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(self.random_state)
            return super().fit(X, y, sample_weight)

    outsample.estimate(Noted(random_state=42), X, BINARY, criterion=Permutation(3), random_state=0)
    assert seen == [42] * 4
    seen.clear()
    outsample.estimate(Noted(), X, BINARY, criterion=Permutation(3), random_state=0)
    assert len(set(seen)) == 4


SAME_BITS = {
    "refitted classifier": (LogisticRegression(), BINARY, "log"),
    "refitted regressor": (Ridge(), REAL, "absolute"),
    "scores": (
        RandomForestClassifier(n_estimators=3),
        BINARY,
        make_scorer(roc_auc_score, response_method="predict_proba"),
    ),
}


@pytest.mark.parametrize("name", SAME_BITS)
def test_the_same_bits_for_any_jobs_and_back_end(name):
    learner, y, loss = SAME_BITS[name]
    arguments = {"loss": loss, "criterion": Permutation(6), "random_state": 1, "fast": False}
    expected = outsample.estimate(learner, X, y, n_jobs=1, **arguments)
    for backend, n_jobs in (("loky", 2), ("threading", 2), ("threading", 3)):
        with joblib.parallel_config(backend):
            ours = outsample.estimate(learner, X, y, n_jobs=n_jobs, **arguments)
        assert numbers(ours) == numbers(expected), backend
        np.testing.assert_array_equal(ours.draws, expected.draws)


@pytest.mark.parametrize(
    ("learner", "y", "loss"),
    [
        (DecisionTreeClassifier(max_leaf_nodes=4), BINARY, "zero-one"),
        (DecisionTreeClassifier(max_leaf_nodes=4), THREE, "log"),
        (DecisionTreeRegressor(max_leaf_nodes=4), REAL, "squared"),
        (KNeighborsClassifier(3), THREE, "zero-one"),
        (Ridge(), REAL, "absolute"),
        (LogisticRegression(), BINARY, "roc_auc"),
    ],
    ids=name_of,
)
def test_the_same_bits_for_any_batch_of_draws(learner, y, loss):
    problem = pose(learner, X, y, loss=loss, random_state=2)
    answers = [
        Permutation(12).curve(replace(problem, run=replace(problem.run, memory=memory)))
        for memory in (2**30, 20_000, 1)
    ]
    for other in answers[1:]:
        np.testing.assert_array_equal(other.out_sample, answers[0].out_sample)
        np.testing.assert_array_equal(other.draws, answers[0].draws)


def test_missing_values_reach_a_learner_that_takes_them():
    holed = X.copy()
    holed[::5, 1] = np.nan
    learner = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)
    assert np.isfinite(outsample.estimate(learner, holed, BINARY, criterion=Permutation(2), random_state=0).out_sample)


def test_more_draws_begin_with_the_same_draws():
    few, many = (
        outsample.estimate(LogisticRegression(), X, BINARY, criterion=Permutation(m), random_state=0, fast=False).draws
        for m in (3, 6)
    )
    np.testing.assert_array_equal(few, many[:3])


def test_an_own_function_may_be_a_step():
    pipeline = make_pipeline(FunctionTransformer(np.tanh), CountingClassifier())
    assert outsample.estimate(pipeline, X, BINARY, random_state=0).n_fits == 6


def test_the_call_of_the_readme():
    result = outsample.estimate(DecisionTreeClassifier(max_leaf_nodes=4), X, BINARY, random_state=0)
    assert result.out_sample == pytest.approx(result.in_sample + result.optimism)
    low, high = result.interval(0.95)
    assert low < result.out_sample < high
    assert len(str(result).split("\n")) >= 3


@pytest.mark.parametrize("criterion", ["permutation", "covariance"])
def test_draws_alone_make_no_interval_of_a_score_of_whole_sets(criterion):
    unknown = make_scorer(lambda y, predicted: float(np.median(y == predicted)) + np.mean(y == predicted) ** 2)
    found = outsample.estimate(LogisticRegression(), X, BINARY, loss=unknown, criterion=criterion, random_state=0)
    assert found.monte_carlo_error > 0
    with pytest.raises(ValueError, match=r"no interval: .*no standard error"):
        found.interval()


def test_a_single_draw_makes_no_interval():
    stump, noise = DecisionTreeClassifier(max_depth=1), np.random.default_rng(0).permutation(BINARY)
    found = outsample.estimate(stump, X, noise, criterion=Permutation(1), random_state=0)
    with pytest.raises(ValueError, match="no interval: criterion 'permutation' drew once"):
        found.interval()
