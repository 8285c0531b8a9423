"""Trees by number of leaves: the splits scikit-learn makes, except where two splits gain equally."""

from __future__ import annotations

import numpy as np
import pytest
from contract import check_contract
from corner_cases import awkward_table, binary, real, smooth_table, three_classes, weights, with_holes
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import GridSearch
from outsample.paths.base import Design
from outsample.paths.dispatch import find_path
from outsample.paths.refit import RefitPath
from outsample.paths.trees import growth as tree_growth
from outsample.paths.trees.cuts import FittedTree
from outsample.paths.trees.growth import Grower, Stopping
from outsample.paths.trees.leaves import TreePath
from outsample.resampling.labels import FreePermutation, LabelDraws

SIZES = [2, 3, 5, 9, 20]


def impurity(y, weight, criterion):
    if criterion == "squared_error":
        return np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
    share = np.bincount(y, weight) / weight.sum()
    if criterion == "gini":
        return 1.0 - (share**2).sum()
    share = share[share > 0]
    return -(share * np.log2(share)).sum()


def gain(inside, left, y, weight, criterion):
    """Decrease of impurity × weight when the rows `inside` a node are split into `left` and the rest."""
    right = inside & ~left
    return sum(
        sign * weight[part].sum() * impurity(y[part], weight[part], criterion)
        for sign, part in ((1, inside), (-1, left), (-1, right))
    )


def splits_of(parent, leaf):
    """(rows of the node, those that go left) of split 1, 2, … of a tree whose nodes are numbered in order of growth."""
    inside = np.zeros((len(parent), len(leaf)), bool)
    inside[leaf, np.arange(len(leaf))] = True
    for node in range(len(parent) - 1, 0, -1):
        inside[parent[node]] |= inside[node]
    return [(inside[parent[node]], inside[node]) for node in range(1, len(parent), 2)]


def assert_same_splits_up_to_ties(estimator, X, y, weight=None):
    """The first split that differs from scikit-learn's gains exactly as much."""
    classes = np.unique(y) if isinstance(estimator, DecisionTreeClassifier) else None
    codes = y if classes is None else np.searchsorted(classes, y)
    stopping = Stopping.of(estimator, len(y), estimator.max_leaf_nodes)
    n_classes = 0 if classes is None else len(classes)
    grower = Grower(np.asarray(X, np.float32), estimator.criterion, stopping, n_classes, weight)
    (growth,) = grower.grow(codes[None], with_leaves=True)
    parent = np.zeros(len(growth.mass), int)
    parent[1::2] = parent[2::2] = growth.split
    tree = FittedTree(estimator, X, codes, classes, weight, None)
    ours, theirs = splits_of(parent, growth.leaf), splits_of(tree.parent, tree.leaf(X))
    held = np.ones(len(y)) if weight is None else weight
    for mine, other in zip(ours, theirs, strict=False):
        if np.array_equal(mine, other):
            continue
        mine_gain, other_gain = (gain(*split, codes, held, estimator.criterion) for split in (mine, other))
        scale = held.sum() * impurity(codes, held, estimator.criterion)
        assert mine_gain == pytest.approx(other_gain, rel=1e-9, abs=1e-11 * scale)
        return False
    extra = (ours[len(theirs) :] or theirs[len(ours) :])[:1]
    for split in extra:
        assert gain(*split, codes, held, estimator.criterion) == pytest.approx(0.0, abs=1e-12 * held.sum())
    return True


def tables():
    """Named tables with every kind of corner."""
    rng = np.random.default_rng(7)
    yield "smooth", rng.normal(size=(150, 4))
    yield "awkward", awkward_table(120)[0]
    yield "integers", rng.integers(0, 4, (200, 5)).astype(float)
    yield "constant", np.column_stack([np.ones(50), np.zeros(50)])
    yield "three rows", rng.normal(size=(3, 2))
    yield "one row", rng.normal(size=(1, 2))
    yield "closer than scikit-learn parts", rng.integers(0, 40, (150, 3)) * 6e-8
    yield "float32", rng.normal(size=(300, 3)).astype(np.float32)
    yield "large values", rng.normal(size=(150, 3)) * 1e30
    yield "many rows", np.round(rng.normal(size=(1500, 3)), 2)
    yield "mostly zero", rng.normal(size=(700, 4)) * (rng.random((700, 4)) < 0.1)


TABLES = dict(tables())


def labels_of(kind, X):
    if kind == "binary":
        return binary(X)
    if kind == "classes":
        return np.random.default_rng(1).integers(0, 4, len(X))
    if kind == "whole numbers":
        return np.round(3 * real(X))
    return real(X)


CASES = [
    ("binary", "gini"),
    ("binary", "entropy"),
    ("classes", "gini"),
    ("classes", "log_loss"),
    ("real", "squared_error"),
    ("whole numbers", "squared_error"),
]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(("kind", "criterion"), CASES)
def test_first_difference_from_scikit_learn_is_a_true_tie(name, kind, criterion):
    X = TABLES[name]
    made = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    rng = np.random.default_rng(3)
    y = labels_of(kind, X)
    for draw in range(4):
        estimator = made(criterion=criterion, max_leaf_nodes=25, random_state=draw)
        assert_same_splits_up_to_ties(estimator, X, y, None if draw % 2 else weights(len(X)))
        y = rng.permutation(y)


@pytest.mark.parametrize(("kind", "criterion"), CASES[:5])
def test_tables_large_enough_to_open_few_bins(kind, criterion):
    X = np.random.default_rng(8).normal(size=(20_000, 3)).astype(np.float32)
    made = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    y = np.random.default_rng(9).permutation(labels_of(kind, X))
    assert_same_splits_up_to_ties(made(criterion=criterion, max_leaf_nodes=25, random_state=0), X, y)


@pytest.mark.parametrize(
    "limits",
    [
        {"max_depth": 3},
        {"min_samples_leaf": 7},
        {"min_samples_leaf": 0.04, "min_samples_split": 0.2},
        {"min_samples_split": 30},
        {"min_impurity_decrease": 0.01},
    ],
)
@pytest.mark.parametrize(("kind", "criterion"), CASES[:5])
def test_limits_of_growth(limits, kind, criterion):
    made = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    for name in ("smooth", "integers", "many rows"):
        estimator = made(criterion=criterion, max_leaf_nodes=25, random_state=0, **limits)
        assert_same_splits_up_to_ties(estimator, TABLES[name], labels_of(kind, TABLES[name]))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classifier_contract(criterion, weighted):
    X, X_new = smooth_table(400)
    weight = weights(400) if weighted else None
    path = find_path(DecisionTreeClassifier(criterion=criterion, random_state=0), "max_leaf_nodes", [9, 2, 3, 5])
    assert isinstance(path, TreePath)
    check_contract(path, X, binary(X), X_new, weight=weight)
    check_contract(path, X, three_classes(X), X_new, classes=np.array(["a", "b", "c"]), weight=weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("table", [smooth_table, awkward_table])
def test_regressor_contract(table, weighted):
    X, X_new = table(200)
    y = real(X) + 0.01 * np.arange(200)
    path = find_path(DecisionTreeRegressor(random_state=0), "max_leaf_nodes", [9, 2, 3, 500, 50])
    check_contract(path, X, y, X_new, responses=["predict"], weight=weights(200) if weighted else None)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_features=2, random_state=3),
        DecisionTreeClassifier(splitter="random", random_state=3),
        DecisionTreeClassifier(class_weight="balanced", random_state=3),
        DecisionTreeClassifier(min_weight_fraction_leaf=0.05, random_state=3),
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0, 0, -1], random_state=3),
        DecisionTreeRegressor(criterion="absolute_error", random_state=3),
        DecisionTreeRegressor(criterion="poisson", random_state=3),
    ],
)
def test_options_left_to_scikit_learn(estimator):
    X, X_new = awkward_table(80)
    is_classifier = isinstance(estimator, DecisionTreeClassifier)
    y = binary(X) if is_classifier else np.abs(real(X))
    path = find_path(estimator, "max_leaf_nodes", [2, 4, 11, 200])
    responses = ["predict", "predict_proba"] if is_classifier else ["predict"]
    check_contract(path, X, y, X_new, responses=responses)
    assert_statistics_agree(path, X, y)


@pytest.mark.parametrize("kind", ["missing", "sparse", "zero weights", "two outputs"])
def test_data_left_to_scikit_learn(kind):
    X, X_new = awkward_table(80)
    y, weight = real(X), None
    if kind == "missing":
        X = with_holes(X)
    elif kind == "sparse":
        X, X_new = sparse.csr_matrix(X), sparse.csr_matrix(X_new)
    elif kind == "zero weights":
        weight = weights(80) * (np.arange(80) % 3 > 0)
    else:
        y = np.column_stack([y, -(y**2)])
    path = find_path(DecisionTreeRegressor(random_state=1), "max_leaf_nodes", [2, 4, 11])
    check_contract(path, X, y, X_new, responses=["predict"], weight=weight)


def assert_statistics_agree(path, X, y, weight=None):
    """Statistics counted from the nodes are those of the predictions written down."""
    rng = np.random.default_rng(5)
    Y = np.stack([y, rng.permutation(y), rng.permutation(y)])
    if isinstance(path.estimator, DecisionTreeClassifier):
        design = path.bind(X, np.arange(int(y.max()) + 1), weight)
        np.testing.assert_allclose(design.confusions(Y), Design.confusions(design, Y), atol=1e-12)
        with pytest.raises(TypeError, match="classifier"):
            path.bind(X, None).confusions(Y)
    else:
        design = path.bind(X, None, weight)
        np.testing.assert_allclose(design.moments(Y, 0.3), Design.moments(design, Y, 0.3), atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kind", "criterion"), CASES)
def test_statistics_without_predictions(kind, criterion, weighted):
    made = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    X = awkward_table(90)[0]
    path = find_path(made(criterion=criterion), "max_leaf_nodes", SIZES)
    assert_statistics_agree(path, X, labels_of(kind, X), weights(90) if weighted else None)


def test_cross_validation_equals_grid_search():
    X = awkward_table(120)[0]
    y = three_classes(X)
    model = DecisionTreeClassifier(random_state=4)
    sizes = [2, 3, 4, 8, 30]
    folds = KFold(5)
    search = GridSearchCV(model, {"max_leaf_nodes": sizes}, cv=folds, refit=False).fit(X, y)
    path = find_path(model, "max_leaf_nodes", sizes)
    right = [
        (path.bind(X[train], np.arange(3)).predict(y[train], X[test]) == y[test]).mean(axis=1)
        for train, test in folds.split(X)
    ]
    np.testing.assert_array_equal(np.mean(right, axis=0), search.cv_results_["mean_test_score"])


def test_more_leaves_than_the_data_support_change_nothing():
    X, _ = smooth_table(40)
    y = binary(X)
    fitted = find_path(DecisionTreeClassifier(), "max_leaf_nodes", [40, 1000]).bind(X, np.arange(2)).fitted(y[None])[0]
    np.testing.assert_array_equal(fitted[0], y)
    np.testing.assert_array_equal(fitted[1], y)


def test_labels_of_one_class():
    X, X_new = smooth_table(40)
    design = find_path(DecisionTreeClassifier(), "max_leaf_nodes", [2, 5]).bind(X, np.array(["a", "b", "c"]))
    Y = np.ones((2, 40), int)
    assert (design.fitted(Y) == 1).all()
    assert (design.predict(Y[0], X_new, "predict_proba")[..., 1] == 1.0).all()
    np.testing.assert_array_equal(design.confusions(Y)[0, 0], np.diag([0.0, 1.0, 0.0]))


def test_served_or_left_to_refits():
    class Mine(DecisionTreeClassifier):
        pass

    assert isinstance(find_path(DecisionTreeClassifier(max_leaf_nodes=4)), TreePath)
    assert isinstance(find_path(DecisionTreeRegressor(), "max_leaf_nodes", [2, 3]), TreePath)
    for estimator, values in (
        (Mine(), [2, 3]),
        (DecisionTreeClassifier(ccp_alpha=0.1), [2, 3]),
        (DecisionTreeClassifier(), [2, None]),
    ):
        assert isinstance(find_path(estimator, "max_leaf_nodes", values), RefitPath)


def test_binding_does_no_work():
    X, _ = smooth_table(40)
    design = find_path(DecisionTreeClassifier(), "max_leaf_nodes", [2, 5]).bind(X, np.arange(2))
    design.predict(binary(X), X)
    assert design._grower is None
    design.confusions(binary(X)[None])
    assert design._grower is not None


def test_a_seed_stands_in_for_a_missing_random_state():
    X, X_new = awkward_table(80)
    model = DecisionTreeClassifier(splitter="random")
    path = find_path(model, "max_leaf_nodes", [2, 6, 12])
    design = path.bind(X, np.arange(2))
    first, again = (design.predict(binary(X), X_new, "predict_proba", seed=11) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    state = np.random.RandomState(0)
    shared = find_path(clone(model).set_params(random_state=state), "max_leaf_nodes", [2, 6])
    before = state.get_state()[2]
    shared.bind(X, np.arange(2)).predict(binary(X), X_new)
    assert state.get_state()[2] == before


@pytest.mark.parametrize(("kind", "criterion"), [CASES[1], CASES[3], CASES[4]])
def test_answers_do_not_depend_on_threads_or_memory(kind, criterion, monkeypatch):
    X = TABLES["many rows"]
    y = labels_of(kind, X)
    made = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    rng = np.random.default_rng(0)
    Y = np.stack([rng.permutation(y) for _ in range(9)])
    classes = None if kind == "real" else np.arange(int(y.max()) + 1)

    def fitted(threads, budget):
        monkeypatch.setattr(tree_growth, "MEMORY_BUDGET", budget)
        monkeypatch.setattr(tree_growth, "n_threads", lambda: threads)
        return find_path(made(criterion=criterion), "max_leaf_nodes", [2, 5, 30]).bind(X, classes).fitted(Y)

    reference = fitted(1, 2**29)
    for threads, budget in ((2, 2**29), (3, 2**29), (2, 1)):
        np.testing.assert_array_equal(fitted(threads, budget), reference)
    np.testing.assert_array_equal(np.concatenate([fitted(2, 2**29)[:4], fitted(2, 2**29)[4:]]), reference)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6, 1e9])
@pytest.mark.parametrize(("parameter", "values"), [("max_leaf_nodes", [2, 4, 8, 40]), ("max_depth", [1, 2, 3, None])])
def test_labels_far_from_zero_get_the_trees_that_scikit_learn_grows(offset, parameter, values):
    """Its sums of squares lose their digits there: at 1e9 it finds no split at all, and the estimate must say so."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), offset + rng.normal(size=60)
    tree = DecisionTreeRegressor(random_state=0)
    design = find_path(tree, parameter, values).bind(X)
    refits = np.array([clone(tree).set_params(**{parameter: v}).fit(X, y).predict(X) for v in values])
    np.testing.assert_allclose(design.fitted(y[None])[0], refits, rtol=1e-14, atol=1e-9)
    in_sample = np.mean((y - refits) ** 2, axis=1)
    np.testing.assert_allclose(design.moments(y[None], y.mean())[0, :, 0], in_sample, rtol=1e-6, atol=1e-12)
    later = LabelDraws(FreePermutation(), y, 1, np.random.SeedSequence(0)).later(range(1))
    np.testing.assert_array_equal(design.moments(later, y.mean()), design.moments(later[:], y.mean()))


@pytest.mark.parametrize(
    ("estimator", "labels"),
    [
        (DecisionTreeClassifier(random_state=0), binary),
        (DecisionTreeClassifier(criterion="entropy", random_state=0, min_samples_leaf=4), three_classes),
        (DecisionTreeRegressor(random_state=0, max_depth=4), real),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("parameter", "values"), [("max_leaf_nodes", [2, 3, 5]), ("max_depth", [1, 2])])
def test_trees_grown_here_on_new_rows_against_scikit_learn_where_nothing_ties(
    estimator, labels, parameter, values, weighted
):
    X, X_new = smooth_table(n=300)
    y, weight = labels(X), weights(len(X)) if weighted else None
    classes = None if labels is real else np.unique(y)
    path = find_path(clone(estimator), parameter, values)
    X_new = np.concatenate([X_new, X])
    for response in ("predict",) if classes is None else ("predict", "predict_proba"):
        ours, theirs = (p.bind(X, classes, weight).predict(y, X_new, response) for p in (path.with_own_ties(), path))
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize(("parameter", "value"), [("max_leaf_nodes", 60), ("max_depth", None)])
def test_ties_do_not_favour_the_columns_that_come_first(parameter, value):
    """As scikit-learn's random ties: the error on new rows is the same whether what matters stands first or last."""
    changes = []
    for seed in range(40):
        X, y = make_friedman1(400, n_features=10, random_state=seed)
        path = find_path(DecisionTreeRegressor(), parameter, [value]).with_own_ties()
        errors = [
            np.mean((path.bind(T[:100]).predict(y[:100], T[100:], seed=seed)[0] - y[100:]) ** 2)
            for T in (X, X[:, ::-1])
        ]
        changes.append(errors[1] - errors[0])
    assert abs(np.mean(changes)) < 3 * np.std(changes) / np.sqrt(len(changes))


def test_new_rows_fall_where_the_same_rows_fell_when_the_tree_grew():
    X, _ = awkward_table()
    X = X.astype(np.float32)
    stopping = Stopping.of(DecisionTreeClassifier(), len(X), 30)
    (growth,) = Grower(X, "gini", stopping, 2, None).grow(binary(X)[None], with_leaves=True)
    assert len(growth.split) > 5
    np.testing.assert_array_equal(growth.leaves_of(X, X), growth.leaf)


@pytest.mark.parametrize(
    ("grid", "path"), [({"max_leaf_nodes": [2, 5, 9]}, "TreePath"), ({"max_depth": [1, 4, None]}, "DepthPath")]
)
def test_rows_and_labels_fit_no_tree_of_scikit_learn(monkeypatch, grid, path):
    X, _ = smooth_table(n=120)
    monkeypatch.setattr("outsample.paths.trees.leaves.FittedTree", None)
    monkeypatch.setattr("outsample.paths.refit.RefitDesign.predict", None)
    for learner, y, loss in (
        (DecisionTreeClassifier(), binary(X), "roc_auc"),
        (DecisionTreeClassifier(), three_classes(X), "zero-one"),
        (DecisionTreeRegressor(), real(X), "squared"),
    ):
        search = GridSearch(learner, grid, criterion="rows-and-labels", loss=loss, refit=False, random_state=0).fit(
            X, y
        )
        assert search.path_ == path
