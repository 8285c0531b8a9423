"""X in any form that users pass (numpy, pandas, polars, scipy sparse, list): its rows, and how it is lent to learners.

Learners get read-only views, or copies, so that the user's data stay unchanged. A warning names a learner that writes
into its copy.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy import sparse

from outsample.running.arrays import Rows


class Table(Protocol):
    """What a user calls X: an array, a data frame of any library, a sparse matrix, a list of rows."""

    def __len__(self) -> int:
        """Number of rows; sparse matrices say it as their shape only."""


def n_rows(X: object) -> int:
    """Number of samples in X."""
    if not hasattr(X, "shape") and not hasattr(X, "__len__") and hasattr(X, "__array__"):
        X = np.asarray(X)
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) > 0:
        return int(shape[0])
    try:
        return len(X)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"X must be a table of samples, got {type(X).__name__}") from None


def n_columns(X: Table) -> int:
    """Number of columns of X; one where its rows are single things, such as texts."""
    shape = np.shape(X)  # type: ignore[call-overload]
    return int(shape[1]) if len(shape) > 1 else 1


def as_table(X: Any) -> Any:
    """X unchanged where its rows can be taken, else as one of the tables that learners know.

    Raises
    ------
    ValueError
        For a table without columns, and for complex numbers, in words that scikit-learn uses.
    """
    if isinstance(X, tuple):
        X = list(X)
    elif type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    elif not hasattr(X, "shape") and not hasattr(X, "__len__") and hasattr(X, "__array__"):
        X = np.asarray(X)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    empty = isinstance(X, list) and len(X) and isinstance(X[0], list | tuple | np.ndarray) and np.size(X[0]) == 0
    if empty or (len(shape) == 2 and shape[1] == 0):
        raise ValueError(f"X has 0 feature(s) (shape=({n_rows(X)}, 0)) while a minimum of 1 is required.")
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError(f"Complex data not supported: X holds numbers of type {X.dtype}")
    return X


def rows(X: Any, index: Rows, columns: Rows | None = None) -> Any:
    """The rows of X at `index`, and of these the columns at `columns` (None for all), as the same kind of table."""
    if hasattr(X, "iloc"):
        return X.iloc[index] if columns is None else X.iloc[index, columns]
    if isinstance(X, list):
        return [X[i] for i in index]
    taken = X.tocsr()[index] if sparse.issparse(X) else X[index]
    return taken if columns is None else taken[:, columns]


def stacked(first: Any, second: Any) -> Any:
    """The rows of one table and then those of another of the same kind."""
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    if hasattr(first, "iloc"):
        import pandas as pd

        return pd.concat([first, second])
    if hasattr(first, "vstack"):
        return first.vstack(second)
    if isinstance(first, list | tuple):
        return [*first, *second]
    return np.concatenate([np.asarray(first), np.asarray(second)])


def split_rows(X: Table, train: Rows, test: Rows, *, pairwise: bool) -> tuple[Any, Any]:
    """(X of the rows to fit, X of the rows to predict).

    Pairwise X, a kernel matrix or distances, has a column for every row; the columns are those of the rows to fit.
    """
    columns = train if pairwise else None
    return rows(X, train, columns), rows(X, test, columns)


def as_pairs(X: Any, learner: str) -> Any:
    """Pairwise X, checked to have a row and a column for every sample; lists become arrays."""
    pairs = np.asarray(X) if isinstance(X, list) else X
    shape = np.shape(pairs)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"X must be a square table for {learner}, which reads a number for every pair, got {shape}")
    return pairs


T = TypeVar("T")

NAMES = ("X", "y", "sample_weight")


def lend(borrower: object, work: Callable[..., T], *data: Any, names: tuple[str, ...] = NAMES) -> T:
    """work(*data), with the data left unchanged whatever the learner does.

    Arrays are lent as read-only views, which cost nothing. Other tables are lent as copies, and so are arrays for a
    learner that fails on read-only views. A warning names a learner that has written into its copy, unless a parameter
    such as `copy=False` allows it to.

    Parameters
    ----------
    borrower : the learner or function that works on the data, for the warning.
    data : X, y and the weights, as many as `work` takes.
    names : what the data are called in the warning.
    """
    try:
        return _result(borrower, work, data, [_protected(item) for item in data], names)
    except (ValueError, TypeError) as error:
        if not any(word in str(error) for word in ("read-only", "readonly")):
            raise
    return _result(borrower, work, data, [copy.deepcopy(item) for item in data], names)


def _protected(item: Any) -> Any:
    """The item in a form that can be written into, or refuses it, without changing the original."""
    if isinstance(item, np.ndarray):
        view = item.view()
        view.flags.writeable = False
        return view
    if sparse.issparse(item) or hasattr(item, "iloc"):
        return item.copy()
    return list(item) if isinstance(item, list) else item


def _result(
    borrower: object, work: Callable[..., T], data: tuple[Any, ...], given: list[Any], names: tuple[str, ...]
) -> T:
    """work(*given), with a warning where one of the items given now differs from the data."""
    result = work(*given)
    for name, item, own in zip(names, data, given, strict=False):
        changed = own is not item and not _is_read_only(own) and not same(own, item)
        if changed and not _may_write(borrower):
            learner = getattr(borrower, "__name__", type(borrower).__name__)
            message = f"{learner} writes into {name}; it worked on a copy, and your data are unchanged"
            warnings.warn(message, UserWarning, stacklevel=4)
    return result


def _is_read_only(item: object) -> bool:
    return isinstance(item, np.ndarray) and not item.flags.writeable


def _may_write(borrower: object) -> bool:
    """Whether a parameter of the learner or of one of its steps, such as `copy_X=False`, lets it overwrite its data."""
    if not hasattr(borrower, "get_params"):
        return False
    params = borrower.get_params(deep=True).items()
    return any(name.rpartition("__")[2].startswith("copy") and value is False for name, value in params)


def same(now: Any, then: Any) -> bool:
    """Whether a table or label vector still has the values it had; nan equals nan."""
    if hasattr(now, "equals"):
        return bool(now.equals(then))
    if sparse.issparse(now):
        return _same_sparse(now, then)
    a, b = np.asarray(now), np.asarray(then)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))


def _same_sparse(now: Any, then: Any) -> bool:
    if now.shape != then.shape:
        return False
    if now.format == then.format and now.format in ("csr", "csc"):
        inside = ("data", "indices", "indptr")
        if all(same(getattr(now, name), getattr(then, name)) for name in inside):
            return True
    # The same numbers may be stored in another order. Entries that are nan differ from themselves, in both alike.
    return bool((now != then).nnz == (then != then).nnz)
