"""From what a user says of a study's design to how its labels may be permuted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.checks import whole_number
from outsample.draws import (
    CircularShift,
    FreePermutation,
    LabelScheme,
    PermutationOfBlocks,
    PermutationOfGroups,
    PermutationWithinGroups,
)
from outsample.tables import rows
from outsample.target import check_kind

Array = NDArray[Any]

MOST_CLASSES = 20
NAMES = ("within", "whole", "circular")


def choose_scheme(y: Array, groups: Any, scheme: Any, block_size: int | None) -> LabelScheme:
    """How the labels y, (n[, outputs]), may move under the null hypothesis.

    Parameters
    ----------
    groups : rows that belong together: pairs, persons, sites.
    scheme : "within" permutes inside each group (paired and blocked designs), "whole" lets groups exchange their
        labels, "circular" shifts a series; None is "whole" when y is constant within every group, else "within",
        and free permutation without groups. Or a `LabelScheme`.
    block_size : consecutive blocks of so many rows exchange their labels.
    """
    chosen = _chosen(y, _checked_groups(groups, len(y)), scheme, block_size)
    chosen.check(y, None)
    return chosen


def _chosen(y: Array, groups: Array | None, scheme: Any, block_size: int | None) -> LabelScheme:
    if sum([scheme is not None, block_size is not None]) > 1:
        raise ValueError("scheme and block_size exclude each other: give one of them")
    if isinstance(scheme, LabelScheme):
        return scheme
    if block_size is not None:
        return PermutationOfBlocks(whole_number("block_size", block_size))
    if scheme not in (None, *NAMES):
        raise ValueError(f"scheme must be None, a LabelScheme or one of {', '.join(NAMES)}, got {scheme!r}")
    if scheme == "circular":
        return CircularShift()
    if groups is None:
        if scheme is not None:
            raise ValueError(f"scheme={scheme!r} needs the group of every row: pass groups= as well")
        return FreePermutation()
    within = PermutationWithinGroups(groups)
    whole = scheme == "whole" or (scheme is None and within.count(y) <= 1)
    return PermutationOfGroups(groups) if whole else within


def _checked_groups(groups: Any, n: int) -> Array | None:
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups must have one entry per row, shape ({n},), got {labels.shape}")
    return labels


def looks_real(y: Array) -> bool:
    """Whether labels without a learner to say so are numbers: not whole, or of many different values."""
    if y.dtype.kind not in "fiu":
        return False
    return not np.array_equal(y, np.round(y)) or len(np.unique(y)) > MOST_CLASSES


class OwnLabels:
    """Permuted labels as the user's own kind of y: array, list, Series, anything that rows can be taken from.

    Attributes
    ----------
    codes : (n,) which labels are equal.
    """

    def __init__(self, y: Any) -> None:
        self._y = list(y) if isinstance(y, tuple) else y
        values = np.asarray(y)
        if values.ndim == 0:
            raise ValueError(f"y must be a sequence of labels, got {type(y).__name__}")
        check_kind(values)
        # numpy 1.26 knows no axis of objects, such as words of pandas.
        axis = None if values.ndim == 1 else 0
        distinct = np.unique(values, axis=axis, return_index=True, return_inverse=True)
        self._first: NDArray[np.intp] = distinct[1]
        self.codes: NDArray[np.intp] = distinct[2].reshape(-1)

    def decoded(self, codes: Array) -> Any:
        """The labels that a permuted vector of codes stands for, with the index of y where it has one."""
        labels = rows(self._y, self._first[codes])
        return labels.set_axis(self._y.index) if hasattr(labels, "set_axis") else labels
