"""Three disjoint sets: rows to fit, rows to choose with, and a sealed test set that counts the looks at it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.pipeline import Pipeline

from outsample.checks import is_integer
from outsample.curve.evaluation import Evaluation
from outsample.data.samples import as_groups, as_weight, looks_real
from outsample.data.tables import Table, as_table, lend, n_rows, rows
from outsample.losses.choice import LossLike
from outsample.questions.evaluate import evaluate
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.run import RandomState, child_generator, seed_sequence
from outsample.running.store import Store, StorePath
from outsample.running.units import fingerprint, row_keys

# Random orders in which groups are given to the three sets; the order that comes nearest to the sizes is kept.
ORDERS = 20

TRAIN, VALIDATION, TEST = range(3)

# Attributes in which learners of scikit-learn keep rows that they were fitted to.
KEPT = ("_fit_X", "X_train_", "X_fit_", "X_", "support_vectors_")
# Rows by chance the same in both tables, beyond those that are twins within the rows kept.
BY_CHANCE = 2


def split(
    X: Table,
    y: ArrayLike,
    validation_size: float | None = 0.2,
    test_size: float = 0.2,
    random_state: RandomState = 0,
    groups: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    stratify: bool | None = None,
    store: StorePath = None,
) -> Parts:
    """Split the data into rows to fit, rows to choose a model with, and a sealed test set.

    Parameters
    ----------
    X, y : the data, whose containers are kept: arrays, data frames, sparse matrices, lists.
    validation_size, test_size : shares of the rows, or numbers of rows where they are integers; validation_size may be
        None for no validation set.
    random_state : seed of the split. The same data and seed give the same test set in every process.
    groups : rows of one group stay together in one set; sizes are then met as nearly as the groups allow.
    sample_weight : one weight per row, handed on to each set; sizes are in rows.
    stratify : whether classes have the same shares in all sets; None does so unless y holds real numbers.
    store : path of a file in which looks at the test set are counted, for all processes that name it. Without it every
        object counts its own looks.

    Returns
    -------
    Parts
        `X_train`, `y_train`, `X_validation`, `y_validation`, and `test`, which can be evaluated only.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> parts = split(*load_breast_cancer(return_X_y=True))
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(parts.X_train, parts.y_train)
    >>> parts
    Parts(341 rows to fit, 114 to choose with, SealedTest(114 rows, not looked at))
    >>> result = parts.test.evaluate(tree)
    >>> parts.test
    SealedTest(114 rows, looked at once)
    """
    if stratify is not None and not isinstance(stratify, bool | np.bool_):
        raise ValueError(f"stratify must be True, False or None, got {type(stratify).__name__}; classes are those of y")
    X, y = as_table(X), list(y) if isinstance(y, tuple) else y
    n = n_rows(X)
    labels, named, weight = _labels(y, n), as_groups(groups, n), as_weight(sample_weight, n)
    sizes = _sizes(n, validation_size, test_size)
    rng = child_generator(seed_sequence(random_state), 0)
    codes = _classes(labels, stratify)
    part = _of_rows(codes, sizes, rng) if named is None else _of_groups(named, codes, sizes, rng)
    made = [_Part.of(X, y, weight, named, np.flatnonzero(part == which)) for which in (TRAIN, VALIDATION, TEST)]
    train, validation, test = made
    return Parts(
        X_train=train.X,
        y_train=train.y,
        X_validation=None if validation_size is None else validation.X,
        y_validation=None if validation_size is None else validation.y,
        test=SealedTest(test, store, known=_twins(X, part)),
        train_rows=train.rows,
        validation_rows=validation.rows,
        sample_weight_train=train.weight,
        sample_weight_validation=validation.weight,
        groups_train=train.groups,
        groups_validation=validation.groups,
    )


def seal(
    X: Table,
    y: ArrayLike,
    file: StorePath = None,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> SealedTest:
    """Seal a test set of one's own: it can be evaluated and nothing else, and it counts how often that was done.

    Parameters
    ----------
    X, y : the test set. Both are copied.
    file : path of a file in which looks are counted, for all processes that name it.
    sample_weight : one weight per row.
    groups : rows of one group belong together; intervals take groups as independent.

    Returns
    -------
    SealedTest
        The sealed set, with `evaluate`, `publish` and `judge`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> test = seal(X[::2], y[::2])
    >>> model = LogisticRegression(max_iter=500).fit(X[1::2], y[1::2])
    >>> result = test.judge(model.predict(test.publish()))
    >>> test
    SealedTest(75 rows, looked at once)
    """
    X, y = as_table(X), list(y) if isinstance(y, tuple) else y
    n = n_rows(X)
    _labels(y, n)
    own = _Part.of(X, y, as_weight(sample_weight, n), as_groups(groups, n), np.arange(n))
    return SealedTest(own, file)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some of the rows, in the user's containers."""

    X: Any
    y: Any
    weight: Floats | None
    groups: Array | None
    rows: Rows

    @staticmethod
    def of(X: Table, y: Any, weight: Floats | None, groups: Array | None, index: Rows) -> _Part:
        own = [None if values is None else values[index] for values in (weight, groups)]
        return _Part(rows(X, index), rows(y, index), own[0], own[1], index)


class SealedTest:
    """A test set that can be evaluated and nothing else; it counts how often that was done.

    Each look makes the next one worth less: a model chosen among several by their errors here has a lower error here
    than on new data. The interval of the k-th look takes the share 6/(π²k²) of the probability that it may be wrong, so
    that the intervals of all looks, however many there will be, hold together with the probability asked for: for
    models that do not depend on what earlier looks said.

    A model that kept rows it was fitted to, such as neighbours or a search of this library, is refused where these are
    rows of the test set. Of others it is not known what they have seen.

    Parameters
    ----------
    part : the rows of the test set, from `split` or `seal`.
    store : path of a file in which looks are counted, for all processes that name it.
    known : (n,) rows of the test set that also stand among the rows that are not sealed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from outsample import split
    >>> parts = split(*load_iris(return_X_y=True))
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(parts.X_train, parts.y_train)
    >>> result = parts.test.evaluate(tree)
    >>> parts.test.n_looks
    1
    """

    def __init__(self, part: _Part, store: StorePath = None, known: Array | None = None) -> None:
        self.__part, self.__store, self.__looks, self.__lock = part, store, 0, Lock()
        self.__new = np.arange(len(part.rows)) if known is None else np.flatnonzero(~known)
        if store is not None:
            with self.__opened():
                pass

    def evaluate(
        self, model: BaseEstimator, loss: LossLike = None, *, n_bags: int = 500, random_state: RandomState = 0
    ) -> Evaluation:
        """The error of a fitted model on the test set, with its interval: see `outsample.evaluate`.

        The look is counted before the result is returned; an evaluation that fails shows nothing and is not counted.
        """
        own = self.__part
        refuse_if_fitted_to(model, rows(own.X, self.__new))
        found = evaluate(
            model,
            own.X,
            own.y,
            loss,
            sample_weight=own.weight,
            groups=own.groups,
            n_bags=n_bags,
            random_state=random_state,
        )
        looks = self.__count()
        return replace(found, looks=looks, notes=(*found.notes, _on_looks(looks)))

    def publish(self) -> Any:
        """A copy of X, for predictions by whatever means; `judge` tells how wrong they are."""
        return rows(self.__part.X, np.arange(len(self)))

    def judge(
        self, predictions: ArrayLike, loss: LossLike = None, *, n_bags: int = 500, random_state: RandomState = 0
    ) -> Evaluation:
        """The error of predictions for the published rows, with its interval; this is a look.

        Parameters
        ----------
        predictions : (n,) labels or real values in the order of the rows, or (n, classes) probabilities, the classes
            in sorted order.
        loss, n_bags, random_state : as in `evaluate`.
        """
        model = _as_model(predictions, np.asarray(self.__part.y))
        return self.evaluate(model, loss, n_bags=n_bags, random_state=random_state)

    @property
    def n_looks(self) -> int:
        """How often the test set was looked at, by all processes where the looks are kept in a file."""
        if self.__store is None:
            return self.__looks
        with self.__opened() as store:
            return store.length("looks")

    def __count(self) -> int:
        if self.__store is not None:
            with self.__opened() as store:
                return store.append("looks", [np.array([time.time()])])
        with self.__lock:
            self.__looks += 1
            return self.__looks

    def __opened(self) -> Store:
        """The file of looks, checked to be that of this test set."""
        own = self.__part
        store = Store(self.__store)
        try:
            store.begin({"test set": fingerprint(own.X, own.y, own.weight, own.groups, own.rows)})
        except BaseException:
            store.__exit__()
            raise
        return store

    def __len__(self) -> int:
        return len(self.__part.rows)

    def __iter__(self) -> Iterator[NoReturn]:
        raise TypeError("the test set is sealed; it can be evaluated only, with its methods evaluate and judge")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.endswith("__lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__lock = Lock()

    def __repr__(self) -> str:
        return f"SealedTest({len(self)} rows, {_times(self.n_looks)})"


@dataclass(frozen=True, eq=False)
class Parts:
    """Three disjoint sets of rows.

    Attributes
    ----------
    X_train, y_train : rows to fit models to.
    X_validation, y_validation : rows to choose a model with; None where none were asked for.
    test : the sealed test set.
    train_rows, validation_rows : positions of these rows in the data.
    sample_weight_train, sample_weight_validation, groups_train, groups_validation : None where none were given.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from outsample import split
    >>> parts = split(*load_iris(return_X_y=True))
    >>> len(parts.y_train), len(parts.y_validation)
    (90, 30)
    """

    X_train: Any
    y_train: Any
    X_validation: Any
    y_validation: Any
    test: SealedTest
    train_rows: Rows = field(repr=False)
    validation_rows: Rows = field(repr=False)
    sample_weight_train: Floats | None = None
    sample_weight_validation: Floats | None = None
    groups_train: Array | None = None
    groups_validation: Array | None = None

    def __repr__(self) -> str:
        return f"Parts({len(self.train_rows)} rows to fit, {len(self.validation_rows)} to choose with, {self.test!r})"


def _times(looks: int) -> str:
    return {0: "not looked at", 1: "looked at once", 2: "looked at twice"}.get(looks, f"looked at {looks} times")


def _on_looks(looks: int) -> str:
    together = (
        f"test set {_times(looks)}: the intervals of all looks hold together, for models that do not depend on them"
    )
    return together + ("" if looks == 1 else "; one that was chosen by earlier looks has a larger error on new data")


class _Predicted(BaseEstimator):  # type: ignore[misc]
    """A model that says what it was told, whatever X is."""

    def __init__(self, said: Array) -> None:
        self.said = said

    def fit(self, X: Table, y: ArrayLike) -> _Predicted:
        """Learn nothing."""
        return self

    def predict(self, X: Table) -> Array:
        """What was predicted; one column as labels."""
        return self.said.reshape(len(self.said)) if self.said.size == len(self.said) else self.said


class _PredictedValues(RegressorMixin, _Predicted):  # type: ignore[misc]
    """Real values that were predicted."""


class _PredictedClasses(ClassifierMixin, _Predicted):  # type: ignore[misc]
    """Labels that were predicted."""

    classes_: Array


class _PredictedShares(_PredictedClasses):
    """Probabilities of classes that were predicted."""

    def predict(self, X: Table) -> Array:
        """The most probable class."""
        return np.asarray(self.classes_[self.said.argmax(axis=1)])

    def predict_proba(self, X: Table) -> Floats:
        """What was predicted."""
        return np.asarray(self.said, dtype=np.float64)


def _as_model(predictions: ArrayLike, y: Array) -> BaseEstimator:
    """The model that says these predictions, a classifier where y holds classes."""
    said = np.asarray(predictions)
    if said.ndim == 0 or len(said) != len(y):
        given = "none" if said.ndim == 0 else len(said)
        raise ValueError(f"predictions must be one for each of the {len(y)} published rows, there are {given}")
    if looks_real(y.reshape(len(y), -1)[:, 0]):
        return _PredictedValues(said)
    if said.ndim == 1 or said.shape[1] == 1:
        labels = _PredictedClasses(said)
        labels.classes_ = np.unique(np.concatenate([y.ravel(), said.ravel()]))
        return labels
    shares = _PredictedShares(said)
    shares.classes_ = np.unique(y)
    if said.shape[1] != len(shares.classes_):
        raise ValueError(
            f"predictions must have a column for each of the {len(shares.classes_)} classes of y, there are "
            f"{said.shape[1]}"
        )
    return shares


def _twins(X: Table, part: Rows) -> Array | None:
    """Which rows of the test set also stand among the others, (rows of the test set,); None where it is not known."""
    keys = row_keys(X)
    return None if keys is None else np.isin(keys[part == TEST], keys[part != TEST])


def _labels(y: Any, n: int) -> Array:
    labels = np.asarray(y)
    if labels.ndim == 0 or len(labels) != n:
        given = "no sequence" if labels.ndim == 0 else f"{len(labels)} labels"
        raise ValueError(f"y must have one label for each of the {n} rows of X, it has {given}")
    return labels


def _classes(labels: Array, stratify: bool | None) -> Rows:
    """The class of each row, (n,); one class for all where rows are not stratified."""
    several = labels.ndim > 1 and labels.shape[1] > 1
    flat = labels.reshape(len(labels), -1)[:, 0]
    if stratify and several:
        raise ValueError(f"stratify: y has {labels.shape[1]} columns, classes must be one column")
    chosen = not several and not looks_real(flat) if stratify is None else stratify
    if not chosen:
        return np.zeros(len(labels), dtype=np.intp)
    return np.unique(flat.astype(str) if flat.dtype.kind == "O" else flat, return_inverse=True)[1].reshape(-1)


def _sizes(n: int, validation_size: float | None, test_size: float) -> tuple[int, int, int]:
    """Number of rows to fit, to choose with and to test with."""
    validation = 0 if validation_size is None else _count("validation_size", validation_size, n)
    test = _count("test_size", test_size, n)
    if validation + test >= n:
        raise ValueError(
            f"validation_size={validation_size} and test_size={test_size} leave no row to fit of the {n} rows of X"
        )
    return n - validation - test, validation, test


def _count(name: str, size: float, n: int) -> int:
    if is_integer(size, 1):
        return int(size)
    if isinstance(size, float | np.floating) and 0 < size < 1:
        return max(1, round(size * n))
    raise ValueError(f"{name} must be a share between 0 and 1 or a number of rows of at least 1, got {size!r}")


def _of_rows(codes: Rows, sizes: tuple[int, int, int], rng: np.random.Generator) -> Rows:
    """The set of each row, (n,).

    Rows are put in a random order, class after class, and evenly spaced ones are taken, from a random start. So every
    row has the same chance, and of each class every set gets its share, rounded up or down.
    """
    order = rng.permutation(len(codes))
    order = order[np.argsort(rng.permutation(codes.max() + 1)[codes[order]], kind="stable")]
    part = np.full(len(codes), TRAIN)
    for which in (TEST, VALIDATION):
        rest = order[part[order] == TRAIN]
        part[rest[_evenly_spaced(len(rest), sizes[which], rng)]] = which
    return part


def _evenly_spaced(n: int, count: int, rng: np.random.Generator) -> Array:
    """Which `count` of n positions are taken, (n,) bool: systematic sampling from a random start."""
    return (np.arange(n) * count + rng.integers(n)) % n >= n - count


def _of_groups(groups: Array, codes: Rows, sizes: tuple[int, int, int], rng: np.random.Generator) -> Rows:
    """The set of each row, (n,), with groups kept whole; of several random orders the one that meets the sizes best."""
    members = np.unique(groups.astype(str) if groups.dtype.kind == "O" else groups, return_inverse=True)[1].reshape(-1)
    counts = np.zeros((members.max() + 1, codes.max() + 1))
    np.add.at(counts, (members, codes), 1)
    wanted = [which for which in (TRAIN, VALIDATION, TEST) if sizes[which]]
    if len(counts) < len(wanted):
        raise ValueError(f"groups: {len(counts)} groups cannot be split into {len(wanted)} sets")
    targets = np.array([sizes[which] for which in wanted])[:, None] * counts.sum(axis=0) / len(codes)
    found = [_in_order(counts, targets, rng.permutation(len(counts))) for _ in range(ORDERS)]
    nearest = min(found, key=lambda chosen: chosen[0])[1]
    return np.array(wanted)[nearest][members]


def _in_order(counts: Floats, targets: Floats, order: Rows) -> tuple[float, Rows]:
    """(distance from the targets, the set of each group) where groups, in this order, go where they fit best."""
    filled, chosen = np.zeros_like(targets), np.empty(len(counts), dtype=np.intp)
    for place, group in enumerate(order):
        added = (((filled + counts[group] - targets) ** 2 - (filled - targets) ** 2) / targets).sum(axis=1)
        empty = filled.sum(axis=1) == 0
        if empty.sum() >= len(order) - place:
            # As many groups left as sets without any: each of these sets gets one.
            added = np.where(empty, added, np.inf)
        chosen[group] = int(np.argmin(added))
        filled[chosen[group]] += counts[group]
    return float(((filled - targets) ** 2 / targets).sum()), chosen


def refuse_if_fitted_to(model: Any, X: Table) -> None:
    """ValueError where the rows that a model kept show that it was fitted to rows of X.

    Rows that are the same by chance, as in tables of few values, are no proof: more rows must be shared than are twins
    among those kept.
    """
    for kept, keys in _rows_kept(model, X):
        shared = int(np.isin(keys, kept).sum())
        if shared > len(kept) - len(np.unique(kept)) + BY_CHANCE:
            raise ValueError(
                f"model: it was fitted to at least {shared} of the {n_rows(X)} rows of the test set, as the rows that "
                "it kept show; judge a model that was fitted to others"
            )


def _rows_kept(model: Any, X: Any) -> Iterator[tuple[Array, Array]]:
    """(keys of rows that a model kept, keys of the rows of X as they come to it), for it and its members."""
    keys = row_keys(X)
    if keys is not None:
        tables = [row_keys(getattr(model, name)) for name in KEPT if hasattr(model, name)]
        yield from ((kept, keys) for kept in (*tables, getattr(model, "_keys_of_rows", None)) if kept is not None)
    if isinstance(model, Pipeline):
        Z = lend(model, model[:-1].transform, X) if len(model.steps) > 1 else X
        yield from _rows_kept(model.steps[-1][1], Z)
    members = () if hasattr(model, "estimators_features_") else getattr(model, "estimators_", ())
    single = (getattr(model, name, None) for name in ("best_estimator_", "estimator_", "base_estimator_"))
    for member in (*single, *np.ravel(members)):
        if hasattr(member, "get_params"):
            yield from _rows_kept(member, X)
