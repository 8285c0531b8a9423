"""Row splits: which rows a model is fitted to, and which it is tested on.

scikit-learn's splitters make the splits. Added here are a check of every split before any fit, a seed for splitters
without one, whether the splits partition the rows, and splits that leave out one row each.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)

from outsample.data.tables import Table, n_rows
from outsample.running.arrays import Array, Rows

_SPLIT_GROUPS = "rows of one group are on both sides of a split, so the estimate is for new rows of known groups"


class Splitter(Protocol):
    """A splitter of scikit-learn or one that works like it."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[Any, Any]]:
        """Pairs of (rows to fit to, rows to test on)."""


FoldsLike = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]] | str | None
"""What a user may pass as cv: a number of folds, a splitter, a list of splits, a word, or None for the default."""


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to fit to and rows to test on, both as positions."""

    train: Rows
    test: Rows


@dataclass(frozen=True, eq=False)
class Splits:
    """All splits of one resampling.

    Attributes
    ----------
    folds : the splits.
    notes : sentences that a reader of the result should know.
    warned : what the splitter warned of, for example a class with fewer rows than folds.
    """

    folds: Sequence[Split]
    notes: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()

    def warn(self) -> None:
        """Issue the warnings of the splitter."""
        for message in self.warned:
            warnings.warn(message, UserWarning, stacklevel=2)

    def __len__(self) -> int:
        return len(self.folds)

    def partition(self, n: int) -> Rows | None:
        """(n,) the number of the fold that tests each row, if every row is tested once and trained on in all others.

        None if the splits are no partition: a row is never tested or tested twice, or a split leaves rows out of both
        its training and its test set (time series, gaps, random splits).
        """
        number = np.full(n, -1, dtype=np.intp)
        for k, fold in enumerate(self.folds):
            seen = np.zeros(n, bool)
            seen[fold.train] = seen[fold.test] = True
            if len(fold.train) + len(fold.test) != n or not seen.all() or (number[fold.test] >= 0).any():
                return None
            number[fold.test] = k
        return None if (number < 0).any() else number

    @property
    def tests(self) -> Sequence[Rows]:
        """The rows each split tests."""
        folds = self.folds
        return folds.tests if isinstance(folds, _OneRowOut) else [fold.test for fold in folds]

    @property
    def sizes(self) -> Rows:
        """(splits,) how many rows each split tests."""
        if isinstance(self.folds, _OneRowOut):
            return np.ones(len(self), np.intp)
        return np.fromiter(map(len, self.tests), np.intp, len(self))

    @property
    def tested(self) -> Rows:
        """The test rows of all splits, one split after the other."""
        folds = self.folds
        return folds.left_out if isinstance(folds, _OneRowOut) else np.concatenate([fold.test for fold in folds])

    def fold_of_rows(self, n: int) -> Rows | None:
        """(n,) the number of the fold that tests each row, −1 for rows never tested; None if a row is tested twice."""
        tested = self.tested
        if len(tested) > n or self.times_tested(n).max(initial=0) > 1:
            return None
        number = np.full(n, -1, dtype=np.intp)
        number[tested] = np.repeat(np.arange(len(self)), self.sizes)
        return number

    def same_tests(self, other: Splits) -> bool:
        """Whether every split tests the same rows as that of `other`."""
        return len(self) == len(other) and all(map(np.array_equal, self.tests, other.tests))

    def times_tested(self, n: int) -> Rows:
        """(n,) how often each row is tested."""
        return np.bincount(self.tested, minlength=n)


def cross_validation_splits(
    cv: FoldsLike, X: Table, y: Array, *, classifier: bool, groups: Array | None, seed: int, shuffle: bool = False
) -> Splits:
    """The splits of `cv`.

    Parameters
    ----------
    cv : a number of folds, a scikit-learn splitter, or a sequence of (train rows, test rows). A number gives the folds
        of scikit-learn: consecutive rows, stratified for classifiers; with groups, folds of whole groups.
    y : (n,) labels or class codes.
    seed : for random splitters whose random state is None.
    shuffle : whether the folds of a number are drawn at random instead of consecutive rows.
    """
    if is_number_of_folds(cv):
        _check_number_of_folds(int(cv), y, classifier, groups)
    splitter = _splitter(cv, y, classifier, groups, shuffle)
    if getattr(splitter, "random_state", 0) is None:
        splitter = copy.copy(splitter)
        splitter.random_state = seed
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pairs = list(splitter.split(X, y, groups))
    folds = tuple(_checked_split(k, pair, n_rows(X)) for k, pair in enumerate(pairs))
    if not folds:
        raise ValueError(f"cv: {splitter!r} gives no split")
    said = tuple(dict.fromkeys(m for w in caught if "groups parameter is ignored" not in (m := str(w.message))))
    return Splits(folds, (*said, *_notes_on_groups(folds, groups)), said)


def hold_out_split(
    test_size: float | int, X: Table, y: Array, *, classifier: bool, groups: Array | None, seed: int
) -> Splits:
    """One random split: of whole groups where there are groups, else stratified for classifiers."""
    if groups is not None:
        _check_test_size(test_size, len(np.unique(groups)), "groups")
        splitter: Any = GroupShuffleSplit(1, test_size=test_size, random_state=seed)
    else:
        _check_test_size(test_size, len(y), "rows")
        splitter = ShuffleSplit(1, test_size=test_size, random_state=seed)
        if classifier:
            _check_classes_on_both_sides(test_size, y)
            splitter = StratifiedShuffleSplit(1, test_size=test_size, random_state=seed)
    train, test = next(splitter.split(X, y, groups))
    return Splits((Split(np.sort(train), np.sort(test)),))


def among(splits: Splits, counted: Rows, n: int) -> Splits:
    """Splits of n rows restricted to the rows `counted`, which are renumbered from 0.

    Raises
    ------
    ValueError
        Where a training or test set becomes empty.
    """
    number = np.full(n, -1, dtype=np.intp)
    number[counted] = np.arange(len(counted))
    folds = []
    for k, fold in enumerate(splits.folds):
        train, test = (number[rows][number[rows] >= 0] for rows in (fold.train, fold.test))
        for name, rows in (("training", train), ("test", test)):
            if len(rows) == 0:
                raise ValueError(f"sample_weight is zero on all {name} rows of fold {k + 1}")
        folds.append(Split(train, test))
    return Splits(tuple(folds), splits.notes)


class _OneRowOut(Sequence[Split]):
    """Splits that leave out one row each, made on demand because together they have n² positions."""

    def __init__(self, n: int, left_out: Rows) -> None:
        self._every, self.left_out = np.arange(n), left_out

    def __len__(self) -> int:
        return len(self.left_out)

    @property
    def tests(self) -> Any:
        """The row each split tests, (splits, 1)."""
        return self.left_out[:, None]

    def __getitem__(self, k: Any) -> Any:
        row = self.left_out[k]
        return Split(np.delete(self._every, row), np.array([row], dtype=np.intp))


def one_row_out(n: int, left_out: Rows, groups: Array | None = None) -> Splits:
    """One split per row of `left_out`, which trains on all rows but that one."""
    splits_a_group = False
    if groups is not None:
        codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
        splits_a_group = bool(sizes[codes[left_out]].max() > 1)
    return Splits(_OneRowOut(n, left_out), (_SPLIT_GROUPS,) if splits_a_group else ())


def is_number_of_folds(cv: object) -> TypeGuard[int]:
    """Whether `cv` is a number of folds and not a splitter or a list of splits."""
    return isinstance(cv, int | np.integer) and not isinstance(cv, bool)


def _splitter(cv: FoldsLike, y: Array, classifier: bool, groups: Array | None, shuffle: bool) -> Any:
    if not is_number_of_folds(cv) or (groups is None and not shuffle):
        return check_cv(cv, y, classifier=classifier)
    if groups is None:
        return (StratifiedKFold if classifier else KFold)(cv, shuffle=shuffle)
    return (StratifiedGroupKFold if classifier else GroupKFold)(cv, shuffle=shuffle)


def _check_number_of_folds(cv: int, y: Array, classifier: bool, groups: Array | None) -> None:
    if cv > len(y):
        raise ValueError(f"cv={cv} asks for more folds than X has rows; use at most {len(y)}")
    if groups is not None:
        n_groups = len(np.unique(groups))
        if cv > n_groups:
            raise ValueError(f"cv={cv} asks for more folds than there are groups; use at most {n_groups}")
    largest = int(np.bincount(y).max()) if classifier else cv
    if cv > largest:
        raise ValueError(f"cv={cv} asks for more folds than any class has rows; use at most {largest}")


def _checked_split(k: int, pair: tuple[ArrayLike, ArrayLike], n: int) -> Split:
    train, test = (_positions(rows) for rows in pair)
    for name, rows in (("training", train), ("test", test)):
        if len(rows) == 0:
            raise ValueError(f"cv: fold {k + 1} has no {name} rows")
        if rows.min() < 0 or rows.max() >= n:
            raise ValueError(f"cv: the {name} rows of fold {k + 1} are not all between 0 and {n - 1}")
    trained = np.zeros(n, bool)
    trained[train] = True
    if trained[test].any():
        both = np.unique(test[trained[test]])
        raise ValueError(f"cv: fold {k + 1} tests {len(both)} rows that it also trains on, the first is row {both[0]}")
    return Split(train, test)


def _positions(rows: ArrayLike) -> Rows:
    """Row positions, from positions or a mask."""
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp)


def _notes_on_groups(folds: Sequence[Split], groups: Array | None) -> tuple[str, ...]:
    """A note where rows of one group are in the training and in the test set of a split."""
    if groups is None or not any(np.intersect1d(groups[f.train], groups[f.test]).size for f in folds):
        return ()
    return (_SPLIT_GROUPS,)


def _check_test_size(test_size: float | int, n: int, what: str) -> None:
    tested = int(np.ceil(test_size * n)) if isinstance(test_size, float) else test_size
    if not 1 <= tested < n:
        raise ValueError(f"test_size={test_size} leaves {n - tested} of {n} {what} to fit; use a smaller test_size")


def _check_classes_on_both_sides(test_size: float | int, y: Array) -> None:
    counts = np.bincount(y)
    n, k = len(y), len(counts)
    tested = int(np.ceil(test_size * n)) if isinstance(test_size, float) else test_size
    if counts.min() < 2:
        raise ValueError("a stratified hold-out needs two rows of every class, the smallest class has 1; use kfold")
    if min(tested, n - tested) < k:
        raise ValueError(
            f"test_size={test_size} gives {tested} rows to test and {n - tested} to fit; "
            f"a stratified hold-out needs at least {k} of each, one per class"
        )
