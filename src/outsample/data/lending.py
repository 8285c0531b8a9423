"""Data as they are lent to learners: to be read. A learner that writes gets copies of its own, and is named."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

T = TypeVar("T")

NAMES = ("X", "y", "sample_weight")


def lend(borrower: Any, work: Callable[..., T], *data: Any, names: tuple[str, ...] = NAMES) -> T:
    """work(*data), the data unchanged whatever the learner does to them.

    Arrays are lent as views that cannot be written to, which costs nothing. Other tables, and arrays for a learner
    that fails on such views, are lent as copies. A learner that has written into its copy is named in a warning,
    unless it was told that it may, by a parameter such as `copy=False`.

    Parameters
    ----------
    borrower : the learner or function that works on the data, to be named.
    data : X, y and the weights, as many as the work takes; or what `names` says.
    """
    try:
        return _watched(borrower, work, data, [_to_read(part) for part in data], names)
    except (ValueError, TypeError) as error:
        if not any(word in str(error) for word in ("read-only", "readonly")):
            raise
    return _watched(borrower, work, data, [copy.deepcopy(part) for part in data], names)


def _to_read(part: Any) -> Any:
    """The data such that writing into them leaves the original alone."""
    if isinstance(part, np.ndarray):
        view = part.view()
        view.flags.writeable = False
        return view
    if sparse.issparse(part) or hasattr(part, "iloc"):
        return part.copy()
    return list(part) if isinstance(part, list) else part


def _watched(
    borrower: Any, work: Callable[..., T], data: tuple[Any, ...], given: list[Any], names: tuple[str, ...]
) -> T:
    result = work(*given)
    for name, part, own in zip(names, data, given, strict=False):
        changed = own is not part and not _only_read(own) and not same(own, part)
        if changed and not _may_write(borrower):
            learner = getattr(borrower, "__name__", type(borrower).__name__)
            message = f"{learner} writes into {name}; it worked on a copy, and your data are unchanged"
            warnings.warn(message, UserWarning, stacklevel=4)
    return result


def _only_read(part: Any) -> bool:
    return isinstance(part, np.ndarray) and not part.flags.writeable


def _may_write(borrower: Any) -> bool:
    """Whether the learner or one of its steps was told that it may overwrite its data."""
    if not hasattr(borrower, "get_params"):
        return False
    told = borrower.get_params(deep=True).items()
    return any(name.rpartition("__")[2].startswith("copy") and value is False for name, value in told)


def same(now: Any, then: Any) -> bool:
    """Whether a table or label vector is what it was."""
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
    # The same numbers may be kept in another order; nan is no different from itself.
    return bool((now != then).nnz == (then != then).nnz)
