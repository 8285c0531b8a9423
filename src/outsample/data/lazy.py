"""Tables that do not fit into memory, read a block of rows at a time: Dask arrays and data frames, Parquet data sets.

A function is brought to every block, on the cluster where the table is Dask's, and its small results come back.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from outsample.running.arrays import Array, Floats
from outsample.running.threads import in_order, n_threads

# Rows that stand for the table where its columns and labels are checked.
_FEW = 100
# Rows that checks of a loss need.
_FEWEST = 3

BlockFunction = Callable[..., Any]
"""(X (rows, p), y (rows,), number of the first row, further arguments) → a small result, picklable."""


class LazyTable(ABC):
    """X and y in blocks of rows.

    Attributes
    ----------
    lengths : (blocks,) rows of each block.
    names : names of the columns, None where they have none.
    n_columns : number of columns.
    """

    lengths: Sequence[int]
    names: tuple[str, ...] | None
    n_columns: int

    @property
    def n_rows(self) -> int:
        """Number of rows of all blocks together."""
        return int(sum(self.lengths))

    @abstractmethod
    def joined(self, join: Callable[[Any, Any], Any], function: BlockFunction, *arguments: Any) -> Any:
        """The results of the function on every block, joined from first to last; no more than a few are held at once.

        `join` is handed None for blocks without rows.
        """

    def head(self) -> tuple[Floats, Array]:
        """(X, y) of the first rows, from as many blocks as it takes to have a few."""
        found: list[tuple[Floats, Array]] = []
        for i in np.flatnonzero(self.lengths).tolist():
            found.append(self._head_of_block(i))
            if sum(len(y) for _, y in found) >= _FEWEST:
                break
        if not found:
            raise ValueError("X has no rows")
        X, y = zip(*found, strict=True)
        return np.concatenate(X), np.concatenate(y)

    @abstractmethod
    def _head_of_block(self, i: int) -> tuple[Floats, Array]:
        """(X, y) of the first rows of a block."""

    @property
    def starts(self) -> list[int]:
        """Number of the first row of every block."""
        return [int(start) for start in np.cumsum(self.lengths) - self.lengths]


def is_lazy(X: object) -> bool:
    """Whether X is a table that is read a block at a time, or names one."""
    return isinstance(X, str | os.PathLike) or _library(X) in ("dask", "dask_expr") or _is_dataset(X)


def as_lazy(X: Any, y: Any) -> LazyTable:
    """The table of X, for which `is_lazy` holds, and its labels.

    Parameters
    ----------
    y : labels in memory, a Dask array or series; of data frames and Parquet data sets also the name of a column.
    """
    if isinstance(X, str | os.PathLike) or _is_dataset(X):
        return _ParquetTable(X, y)
    return _DaskTable(X, y)


def in_memory_only(what: str) -> str:
    """The sentence that says so."""
    return f"{what} needs X in memory, but X is read a block of rows at a time; load it first, or a sample of its rows"


class _DaskTable(LazyTable):
    """A Dask array or data frame; the work goes to its cluster where there is one, else to threads."""

    def __init__(self, X: Any, y: Any) -> None:
        import dask

        self._dask = dask
        parts, labels = self._of_frame(X, y) if hasattr(X, "columns") else self._of_array(X, y)
        self._blocks = list(zip(parts, labels, self.starts, strict=True))

    def _of_array(self, X: Any, y: Any) -> tuple[list[Any], list[Any]]:
        """(X, labels) of each block, to be computed."""
        if isinstance(y, str):
            raise ValueError(f"y={y!r} names a column, but X is an array; pass the labels themselves")
        if X.ndim != 2:
            raise ValueError(f"X must have two axes, got {X.ndim}")
        X = X.compute_chunk_sizes() if np.isnan(X.shape[0]) else X
        X = X.rechunk({1: -1})
        self.lengths, self.n_columns, self.names = X.chunks[0], int(X.shape[1]), None
        return list(X.to_delayed().ravel()), self._labels(y)

    def _of_frame(self, X: Any, y: Any) -> tuple[list[Any], list[Any]]:
        """The same of a data frame, block by block as it is divided."""
        label = _known(y, X.columns) if isinstance(y, str) else None
        columns = [name for name in X.columns if name != label]
        self.names, self.n_columns = tuple(map(str, columns)), len(columns)
        frames, part = list(X.to_delayed()), self._dask.delayed(_columns)
        self.lengths = self._dask.compute(*(self._dask.delayed(len)(frame) for frame in frames))
        tables = [part(frame, columns) for frame in frames]
        return tables, self._labels(y) if label is None else [part(frame, label) for frame in frames]

    def _labels(self, y: Any) -> list[Any]:
        """The labels of each block."""
        if hasattr(y, "to_dask_array"):
            y = y.to_dask_array().compute_chunk_sizes()
        _check_labels(y.shape if hasattr(y, "shape") else np.shape(y), self.n_rows)
        if _library(y) == "dask":
            return list(y.rechunk((tuple(self.lengths),)).to_delayed().ravel())
        values = np.asarray(y)
        return [values[first : first + n] for first, n in zip(self.starts, self.lengths, strict=True)]

    def joined(self, join: Callable[[Any, Any], Any], function: BlockFunction, *arguments: Any) -> Any:
        shared = self._dask.delayed(arguments)
        apply, later = self._dask.delayed(_applied), self._dask.delayed(join)
        return reduce(later, (apply(function, *block, shared) for block in self._blocks)).compute()

    def _head_of_block(self, i: int) -> tuple[Floats, Array]:
        found: tuple[Floats, Array] = self._dask.compute(self._dask.delayed(_first_rows)(*self._blocks[i]))[0]
        return found


def _columns(frame: Any, names: Any) -> Array:
    return np.asarray(frame[names])


class _ParquetTable(LazyTable):
    """A Parquet file or data set, read in threads, a row group at a time."""

    def __init__(self, X: Any, y: Any) -> None:
        data = X if _is_dataset(X) else _dataset(X)
        self._label = _known(y, data.schema.names) if isinstance(y, str) else None
        self._columns = [name for name in data.schema.names if name != self._label]
        self.names, self.n_columns = tuple(self._columns), len(self._columns)
        parts = [part for whole in data.get_fragments() for part in whole.split_by_row_group()]
        self.lengths = [sum(group.num_rows for group in part.row_groups) for part in parts]
        labels: list[Any] = [None] * len(parts)
        if self._label is None:
            _check_labels(np.shape(y), self.n_rows)
            values = np.asarray(y)
            labels = [values[first : first + n] for first, n in zip(self.starts, self.lengths, strict=True)]
        self._blocks = list(zip(parts, labels, self.starts, strict=True))

    def _read(self, part: Any, y: Any) -> tuple[Floats, Array]:
        table = part.to_table(columns=[*self._columns, *([] if self._label is None else [self._label])])
        X = np.column_stack([table.column(name).to_numpy() for name in self._columns])
        return X, y if self._label is None else table.column(self._label).to_numpy()

    def joined(self, join: Callable[[Any, Any], Any], function: BlockFunction, *arguments: Any) -> Any:
        return reduce(join, self._results(function, arguments))

    def _results(self, function: BlockFunction, arguments: tuple[Any, ...]) -> Iterator[Any]:
        def work(block: Any, thread: int) -> Any:
            part, y, start = block
            return _applied(function, *self._read(part, y), start, arguments)

        return in_order(work, self._blocks, n_threads())

    def _head_of_block(self, i: int) -> tuple[Floats, Array]:
        part, y, start = self._blocks[i]
        return _first_rows(*self._read(part, y), start)


def _applied(function: BlockFunction, X: Any, y: Any, start: int, arguments: tuple[Any, ...]) -> Any:
    """The function on one block, in double precision; None for a block without rows."""
    return function(_numbers("X", X), _numbers("y", y), start, *arguments) if len(X) else None


def _first_rows(X: Any, y: Any, start: int) -> tuple[Floats, Array]:
    return _numbers("X", X)[:_FEW], _numbers("y", y)[:_FEW]


def _numbers(name: str, values: Any) -> Floats:
    """Values of a block as doubles.

    Raises
    ------
    ValueError
        Where they are not finite real numbers.
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold real numbers where it is read a block at a time: {error}") from error
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} contains NaN or infinity")
    return numbers


def _check_labels(shape: tuple[Any, ...], n: int) -> None:
    if len(shape) != 1:
        raise ValueError(f"y must be one column of labels where X is read a block at a time, got shape {shape}")
    if not np.isnan(shape[0]) and shape[0] != n:
        raise ValueError(f"y has {shape[0]} labels, but X has {n} rows")


def _known(name: str, columns: Any) -> str:
    """The name of a column, if there is one of that name."""
    if name not in list(columns):
        raise ValueError(f"y={name!r} is none of the columns of X: {', '.join(map(str, columns))}")
    return name


def _library(X: object) -> str:
    return type(X).__module__.partition(".")[0]


def _is_dataset(X: object) -> bool:
    return _library(X) == "pyarrow" and hasattr(X, "get_fragments")


def _dataset(path: Any) -> Any:
    """The Parquet data set at a path."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"X={os.fspath(path)!r} is neither a table nor a Parquet file or folder that exists")
    try:
        import pyarrow.dataset
    except ImportError:
        raise ImportError("X is read from Parquet by pyarrow: pip install 'outsample[parquet]'") from None
    return pyarrow.dataset.dataset(path, format="parquet")
