"""Data lent to learners and functions so that the originals stay unchanged.

Learners get read-only views, or copies. A warning names a learner that writes into its copy.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

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
