"""Tables read a block of rows at a time: the numbers and the refitted model of the same table in memory."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from outsample import CrossValidation, GridSearch, RandomizedSearch, compare, estimate, permutation_test

pytestmark = pytest.mark.filterwarnings("default")

ALPHAS = [0.01, 1.0, 100.0, 1e4]
SCALED = {"ridge__alpha": ALPHAS}


def _data(n=1503, p=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 10, p) + rng.normal(size=p)
    X[:, 1] = 3.0
    return X, X @ rng.normal(size=p) + 3 * rng.normal(size=n) + 1000


@pytest.fixture
def arrays():
    da = pytest.importorskip("dask.array", reason="the dask extra is not installed")
    X, y = _data()
    return X, y, da.from_array(X, chunks=(400, 3)), da.from_array(y, chunks=700)


def _compare(lazy, whole, X):
    assert [dict(p) for p in lazy.curve_.params] == [dict(p) for p in whole.curve_.params]
    for name in ("in_sample", "out_sample", "standard_error"):
        ours, theirs = getattr(lazy.curve_, name), getattr(whole.curve_, name)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(
        lazy.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"], rtol=1e-9, atol=1e-12
    )
    assert lazy.best_index_ == whole.best_index_
    check_is_fitted(lazy.best_estimator_)
    assert lazy.best_estimator_.n_features_in_ == X.shape[1]
    np.testing.assert_allclose(lazy.predict(X), whole.predict(X), rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "r2", "neg_mean_squared_error"])
@pytest.mark.parametrize("criterion", ["loo", CrossValidation(5), CrossValidation(KFold(3), error="nadeau-bengio")])
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (make_pipeline(StandardScaler(), Ridge()), SCALED),
        (make_pipeline(StandardScaler(with_mean=False), Ridge(fit_intercept=False)), SCALED),
        (make_pipeline(StandardScaler(with_std=False), Ridge()), {**SCALED, "ridge__solver": ["svd"]}),
        (Ridge(), {"alpha": ALPHAS}),
        (Ridge(fit_intercept=False), {"alpha": ALPHAS}),
        (make_pipeline(StandardScaler(), LinearRegression()), {"standardscaler__with_mean": [True]}),
    ],
    ids=str,
)
def test_dask_arrays_against_the_same_in_memory(arrays, estimator, grid, criterion, loss):
    X, y, lazy_X, lazy_y = arrays
    ours = GridSearch(estimator, grid, criterion=criterion, loss=loss).fit(lazy_X, lazy_y)
    whole = GridSearch(estimator, grid, criterion=criterion, loss=loss).fit(X, y)
    _compare(ours, whole, X)


LSQR = LinearDiscriminantAnalysis(solver="lsqr")
PRIORS = [0.2, 0.3, 0.5]


def _classes(n=603):
    """Rows of three classes, the first of which comes first."""
    rng = np.random.default_rng(1)
    y = np.concatenate([np.zeros(150, int), rng.integers(0, 3, n - 150)])
    return rng.normal(size=(n, 4)) * rng.uniform(0.5, 4, 4) + np.outer(y, [0.5, 0.3, 0, 1]) + 10, y


@pytest.mark.parametrize("loss", [None, "log"])
@pytest.mark.parametrize("criterion", ["loo", CrossValidation(KFold(4, shuffle=False))], ids=["loo", "folds"])
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (GaussianNB(), {"var_smoothing": [1e-9, 0.1, 1.0]}),
        (GaussianNB(priors=PRIORS), {"var_smoothing": [1e-9, 0.1]}),
        (LinearDiscriminantAnalysis(), {"tol": [1e-4]}),
        (LSQR, {"shrinkage": [None, 0.1, 0.9]}),
        (LinearDiscriminantAnalysis(solver="lsqr", priors=PRIORS), {"shrinkage": [None, 0.5]}),
        (LinearDiscriminantAnalysis(solver="eigen"), {"shrinkage": [None, 0.1, 0.9]}),
        (LinearDiscriminantAnalysis(solver="eigen", priors=PRIORS), {"shrinkage": [0.0, 0.5]}),
    ],
    ids=str,
)
def test_classes_against_the_same_in_memory(estimator, grid, criterion, loss):
    da = pytest.importorskip("dask.array", reason="the dask extra is not installed")
    X, y = _classes()
    lazy_X, lazy_y = da.from_array(X, chunks=(140, 3)), da.from_array(y, chunks=300)
    ours = GridSearch(estimator, grid, criterion=criterion, loss=loss).fit(lazy_X, lazy_y)
    whole = GridSearch(estimator, grid, criterion=criterion, loss=loss).fit(X, y)
    _compare(ours, whole, X)
    np.testing.assert_allclose(ours.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert ours.curve_.path == "ClassSums"
    _same_attributes(ours.best_estimator_, whole.best_estimator_)


def _same_attributes(ours, theirs):
    """All that scikit-learn has learned; axes may point either way, and beyond two, between three classes, any way."""
    names = [name for name in vars(theirs) if name.endswith("_")]
    assert set(names) <= set(vars(ours))
    for name in names:
        lazily, wholly = getattr(ours, name), getattr(theirs, name)
        lists = isinstance(wholly, list)
        for own, other in zip(lazily, wholly, strict=True) if lists else [(lazily, wholly)]:
            own, other = (np.abs(at[:, :2]) if name == "scalings_" else np.asarray(at) for at in (own, other))
            assert own.dtype == other.dtype, name
            np.testing.assert_allclose(own, other, rtol=1e-8, atol=1e-9, err_msg=name)


def _counts(n=603):
    """Rows of three classes that hold counts; some rows hold none, and a column is not zero in one row alone."""
    rng = np.random.default_rng(2)
    y = np.concatenate([np.zeros(150, int), rng.integers(0, 3, n - 150)])
    X = rng.poisson(rng.gamma(1, 1, (3, 6))[y]).astype(float)
    X[:, 5], X[::50] = 0.0, 0.0
    X[307, 5] = 2.0
    return X, y * 2 - 1


def _shares(n=603):
    X, y = _counts(n)
    return X * np.random.default_rng(3).uniform(0.1, 1.0, X.shape), y


def _categories(n=603):
    """Categories of which the largest are in every part of the rows but the first."""
    X, y = _counts(n)
    X[:, 5] = np.arange(n) % 2
    return np.minimum(X, np.where(np.arange(n) < 150, 1, [[3], [4], [3], [2], [2], [1]]).T), y


COUNT_ALPHAS = {"alpha": [1e-3, 1.0, 10.0]}


@pytest.mark.parametrize("loss", [None, "log"])
@pytest.mark.parametrize("criterion", ["loo", CrossValidation(KFold(4))], ids=["loo", "folds"])
@pytest.mark.parametrize(
    ("estimator", "grid", "table"),
    [
        (MultinomialNB(), COUNT_ALPHAS, _counts),
        (MultinomialNB(fit_prior=False), {"alpha": [np.arange(1.0, 7), np.full(6, 0.5)]}, _counts),
        (MultinomialNB(class_prior=PRIORS), COUNT_ALPHAS, _shares),
        (ComplementNB(), COUNT_ALPHAS, _counts),
        (ComplementNB(), {**COUNT_ALPHAS, "norm": [True, False]}, _shares),
        (BernoulliNB(), COUNT_ALPHAS, _counts),
        (BernoulliNB(fit_prior=False), {**COUNT_ALPHAS, "binarize": [0.3, 0.0]}, _shares),
        (CategoricalNB(), COUNT_ALPHAS, _categories),
        (CategoricalNB(class_prior=PRIORS), {**COUNT_ALPHAS, "min_categories": [None, 9]}, _categories),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_counts_against_the_same_in_memory(estimator, grid, table, criterion, loss):
    if criterion == "loo" and isinstance(estimator, ComplementNB | CategoricalNB):
        pytest.skip("these are left out in folds")
    da = pytest.importorskip("dask.array", reason="the dask extra is not installed")
    X, y = table()
    lazy_X, lazy_y = da.from_array(X, chunks=(140, 3)), da.from_array(y, chunks=300)
    ours = GridSearch(estimator, grid, criterion=criterion, loss=loss).fit(lazy_X, lazy_y)
    whole = GridSearch(estimator, grid, criterion=criterion, loss=loss).fit(X, y)
    if len(grid) == 1:
        _compare(ours, whole, X)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"], rtol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-12)
    _same_attributes(ours.best_estimator_, whole.best_estimator_)
    assert ours.curve_.path == "ClassSums"


def test_tables_of_other_things_than_counts_are_named():
    da = pytest.importorskip("dask.array", reason="the dask extra is not installed")
    X, y = _counts()
    rare, many = X.copy(), X.copy()
    rare[400, 2], many[400, 2] = 50.0, 1e9
    for estimator, table, said in (
        (MultinomialNB(), X - 1, "negative values, which are no counts or categories for MultinomialNB"),
        (CategoricalNB(), X - 1, "negative values, which are no counts or categories"),
        (CategoricalNB(), rare, "no training row has their largest category"),
        (CategoricalNB(), many, "X with numbers such as 1e"),
        (BernoulliNB(binarize=None), X, "X with numbers such as"),
        (ComplementNB(alpha=np.ones(5)), X, "one per column of X, which has 6"),
        (MultinomialNB(class_prior=[0.5, 0.5]), X, "class_prior must be 3 positive numbers"),
    ):
        with pytest.raises(ValueError, match=said):
            estimate(estimator, da.from_array(table, chunks=(200, -1)), y, criterion="auto")


def test_what_is_left_out_in_folds_alone():
    da = pytest.importorskip("dask.array", reason="the dask extra is not installed")
    X, y = _counts()
    lazy = da.from_array(X, chunks=(140, 3)), da.from_array(y, chunks=300)
    found = estimate(ComplementNB(), *lazy, criterion="auto")
    assert found.criterion == "kfold"
    folds = CrossValidation(KFold(5))
    assert found.out_sample == pytest.approx(estimate(ComplementNB(), X, y, criterion=folds).out_sample, rel=1e-12)
    with pytest.raises(ValueError, match="leave-one-out of ComplementNB needs X in memory"):
        estimate(ComplementNB(), *lazy, criterion="loo")


def test_counts_in_parquet_against_the_same_in_memory(tmp_path):
    pytest.importorskip("pyarrow", reason="the parquet extra is not installed")
    X, y = _counts()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.assign(t=y).to_parquet(tmp_path / "counts.parquet", row_group_size=100)
    ours = GridSearch(MultinomialNB(), COUNT_ALPHAS, criterion="auto").fit(tmp_path / "counts.parquet", "t")
    whole = GridSearch(MultinomialNB(), COUNT_ALPHAS, criterion="auto").fit(frame, y)
    _compare(ours, whole, frame)


def test_more_blocks_take_no_more_memory(tmp_path):
    pytest.importorskip("pyarrow", reason="the parquet extra is not installed")
    frame = pd.DataFrame(np.random.default_rng(0).poisson(1.0, (4000, 20)).astype(float)).add_prefix("c")
    most = []
    for blocks in (5, 50):
        whole = pd.concat([frame.assign(t=np.arange(4000) % 20)] * blocks, ignore_index=True)
        whole.to_parquet(tmp_path / f"{blocks}", row_group_size=4000)
        search, y = GridSearch(MultinomialNB(), COUNT_ALPHAS, criterion="loo", refit=False), "t"
        search.fit(tmp_path / f"{blocks}", y)
        tracemalloc.start()
        search.fit(tmp_path / f"{blocks}", y)
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] < 1.3 * most[0]


def test_settings_of_classes_that_weigh_them_in_several_ways():
    da = pytest.importorskip("dask.array", reason="the dask extra is not installed")
    (X, y), grid = _classes(), {"shrinkage": [0.1, 0.5], "priors": [PRIORS, None]}
    lazy, whole = (
        GridSearch(LSQR, grid, criterion="loo", loss="log").fit(table, y)
        for table in (da.from_array(X, chunks=(200, -1)), X)
    )
    np.testing.assert_allclose(lazy.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"], rtol=1e-9)


def test_rows_and_columns_of_classes_that_need_memory_say_so():
    da = pytest.importorskip("dask.array", reason="the dask extra is not installed")
    X, y = _classes()
    alike, alone, single = np.column_stack([X, X[:, 0]]), X.copy(), y.copy()
    alone[:, 1], alone[5, 1], single[7] = 0.0, 1e3, 3
    for estimator, table, labels in (
        (LSQR, alike, y),
        (LinearDiscriminantAnalysis(), alike, y),
        (GaussianNB(var_smoothing=0.0), alone, y),
        (GaussianNB(), X, single),
    ):
        with pytest.raises(ValueError, match="needs X in memory"):
            estimate(estimator, da.from_array(table, chunks=(200, -1)), labels, criterion="loo")
    with pytest.raises(ValueError, match="one class only"):
        estimate(GaussianNB(), da.from_array(X, chunks=(200, -1)), np.ones(len(X)), criterion="loo")


def test_labels_in_memory_settings_of_several_kinds_and_randomized_searches(arrays):
    X, y, lazy_X, _ = arrays
    grid = {"alpha": [1.0, 100.0], "fit_intercept": [True, False]}
    ours = GridSearch(Ridge(), grid, criterion="loo").fit(lazy_X, y)
    whole = GridSearch(Ridge(), grid, criterion="loo").fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"], rtol=1e-9)
    settings = {"n_iter": 3, "random_state": 0, "criterion": CrossValidation(5)}
    ours, whole = (RandomizedSearch(Ridge(), {"alpha": ALPHAS}, **settings).fit(T, y) for T in (lazy_X, X))
    _compare(ours, whole, X)


def test_auto_leaves_out_single_rows(arrays):
    X, y, lazy_X, lazy_y = arrays
    model = make_pipeline(StandardScaler(), Ridge())
    ours, whole = estimate(model, lazy_X, lazy_y, criterion="auto"), estimate(model, X, y, criterion="loo")
    assert ours.criterion == "loo"
    assert ours.out_sample == pytest.approx(whole.out_sample, rel=1e-10)
    assert ours.standard_error == pytest.approx(whole.standard_error, rel=1e-10)
    assert ours.interval(0.95) == pytest.approx(whole.interval(0.95), rel=1e-10)


@pytest.mark.parametrize("kind", ["path", "folder", "dataset", "frame", "labels apart", "series"])
def test_parquet_and_data_frames_against_the_same_in_memory(tmp_path, kind):
    dataset = pytest.importorskip("pyarrow.dataset", reason="the parquet extra is not installed")
    X, y = _data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    whole = frame.assign(t=y)
    for k, part in enumerate((whole.iloc[:752], whole.iloc[752:])):
        part.to_parquet(tmp_path / f"{k}.parquet", row_group_size=200)
    if kind == "path":
        frame, y = frame.iloc[:752], y[:752]
        table, label = tmp_path / "0.parquet", "t"
    elif kind == "folder":
        table, label = str(tmp_path), "t"
    elif kind == "dataset":
        table, label = dataset.dataset(tmp_path, format="parquet"), "t"
    elif kind == "labels apart":
        frame.to_parquet(tmp_path / "apart", row_group_size=300)
        table, label = tmp_path / "apart", y
    else:
        dd = pytest.importorskip("dask.dataframe", reason="the dask extra is not installed")
        table, label = dd.read_parquet(tmp_path, split_row_groups=True), "t"
        if kind == "series":
            table, label = table.drop(columns="t"), table["t"]
    model = make_pipeline(StandardScaler(), Ridge())
    ours = GridSearch(model, SCALED, criterion="loo").fit(table, label)
    _compare(ours, GridSearch(model, SCALED, criterion="loo").fit(frame, y), frame)
    assert list(ours.feature_names_in_) == list("abcde")


def test_a_cluster_of_two_processes_against_the_same_in_memory():
    distributed = pytest.importorskip("distributed", reason="the dask extra is not installed")
    import dask.array as da

    rows = da.random.RandomState(0).normal(size=(20_000, 6), chunks=(2_500, 6))
    y = rows.sum(axis=1) + da.random.RandomState(1).normal(size=20_000, chunks=2_500)
    model = make_pipeline(StandardScaler(), Ridge())
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster),
    ):
        ours = GridSearch(model, SCALED, criterion="auto").fit(rows, y)
        X, labels = rows.compute(), y.compute()
    _compare(ours, GridSearch(model, SCALED, criterion="loo", scoring="r2").fit(X, labels), X)


@pytest.mark.parametrize(
    ("what", "arguments", "said"),
    [
        (Lasso(), {}, "Lasso"),
        (Ridge(positive=True), {}, "positive"),
        (make_pipeline(MinMaxScaler(), Ridge()), {}, "MinMaxScaler"),
        (make_pipeline(StandardScaler(), Ridge(fit_intercept=False)), {}, "without an intercept"),
        (Ridge(), {"criterion": "permutation"}, "criterion 'permutation'"),
        (Ridge(), {"criterion": "kfold"}, "criterion 'kfold'"),
        (Ridge(), {"loss": "absolute"}, "loss 'absolute'"),
        (Ridge(), {"sample_weight": np.ones(1503)}, "sample_weight"),
        (LogisticRegression(), {}, "LogisticRegression"),
        (MultinomialNB(alpha=0.0), {}, "MultinomialNB"),
        (BernoulliNB(binarize=None), {}, "BernoulliNB(binarize=None)"),
        (LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"), {}, "eigen"),
        (GaussianNB(), {"criterion": CrossValidation(5)}, "criterion 'kfold'"),
        (GaussianNB(), {"loss": "roc_auc"}, "loss 'roc_auc'"),
        (GaussianNB(), {"loss": 1 - np.eye(3)}, "a loss matrix"),
    ],
    ids=str,
)
def test_what_needs_the_table_in_memory_says_so_in_one_sentence(arrays, what, arguments, said):
    *_, lazy_X, lazy_y = arrays
    with pytest.raises((TypeError, ValueError), match="needs X in memory") as found:
        estimate(what, lazy_X, lazy_y, **{"criterion": "auto", **arguments})
    assert said in str(found.value)


def test_other_questions_need_the_table_in_memory(arrays):
    *_, lazy_X, lazy_y = arrays
    with pytest.raises(TypeError, match="needs X in memory"):
        permutation_test(Ridge(), lazy_X, lazy_y)
    with pytest.raises(TypeError, match="needs X in memory"):
        compare(Ridge(), lazy_X, lazy_y, param_grid={"alpha": ALPHAS}, criteria=["loo"])


def test_bad_tables_are_named(arrays, tmp_path):
    X, y, lazy_X, lazy_y = arrays
    with pytest.raises(ValueError, match="y has 10 labels, but X has 1503 rows"):
        estimate(Ridge(), lazy_X, lazy_y[:10], criterion="loo")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.parquet"):
        estimate(Ridge(), tmp_path / "nowhere.parquet", "t", criterion="loo")
    with pytest.raises(ValueError, match="names a column"):
        estimate(Ridge(), lazy_X, "t", criterion="loo")
    import dask.array as da

    broken = X.copy()
    broken[700, 2] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        estimate(Ridge(), da.from_array(broken, chunks=(400, 5)), y, criterion="loo")
    alike = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match="linearly dependent"):
        estimate(LinearRegression(), da.from_array(alike, chunks=(400, 6)), y, criterion="loo")
    alone = X.copy()
    alone[:, 1], alone[9, 1] = 0.0, 1.0
    with pytest.raises(ValueError, match="needs X in memory"):
        estimate(make_pipeline(StandardScaler(), Ridge()), da.from_array(alone, chunks=(400, 5)), y, criterion="loo")


@pytest.mark.parametrize("first", [1, 2])
def test_a_first_block_of_hardly_any_rows_against_the_table_in_memory(first):
    da = pytest.importorskip("dask.array", reason="the dask extra is not installed")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    lazy = da.from_array(X, chunks=((first, 60 - first), 3)), da.from_array(y, chunks=((first, 60 - first),))
    assert estimate(GaussianNB(), *lazy).out_sample == estimate(GaussianNB(), X, y, criterion="loo").out_sample
