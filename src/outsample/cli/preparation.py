"""From a table to inputs and target: which columns are which, and what the pipeline must do to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api import types

from outsample.checks import did_you_mean, nearest, one_of
from outsample.cli.spellings import FEW_WORDS, holds_dates, read_numbers, read_target, words_amid_numbers
from outsample.cli.spellings import Say as Say
from outsample.data.samples import looks_real
from outsample.running.arrays import Array

TASKS = ("classification", "regression")
FEW_CLASSES = 20


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table divided into inputs and target.

    Attributes
    ----------
    X : pandas DataFrame of numbers and categories.
    y : (n,) the target.
    task : "classification" or "regression".
    target : the target's name.
    groups, weight : (n,) or None.
    categorical, incomplete : inputs that are categories; inputs of numbers with missing values.
    """

    X: pd.DataFrame
    y: Array
    task: str
    target: str
    groups: Array | None
    weight: Array | None
    categorical: tuple[str, ...]
    incomplete: tuple[str, ...]

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        target: str,
        *,
        drop: Sequence[str] = (),
        groups: str | None = None,
        weights: str | None = None,
        positive: str | None = None,
        task: str | None = None,
        say: Say = print,
    ) -> PreparedTable:
        """Divide a table into inputs and target; whatever is changed on the user's behalf is told through `say`.

        Raises
        ------
        ValueError
            One sentence for a column that is not there or cannot be an input, and for a target without information.
        """
        for name in (target, groups, weights, *drop):
            if name is not None:
                _check_name(frame, name)
        decimal = frame.attrs.get("decimal", ".")
        frame = frame.assign(**{target: read_target(frame[target], say, decimal)})
        frame = _complete(frame, [name for name in (target, groups, weights) if name], say)
        aside = {name for name in (target, groups, weights, *drop) if name is not None}
        X = _inputs(frame.drop(columns=list(aside)), decimal, say)
        y = _labels(frame[target], positive)
        kind = _task(y, target, task)
        if kind == "classification":
            _mention_copies(X, y, target, say)
        categorical = tuple(name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype))
        return cls(
            X=X,
            y=y.astype(np.float64) if kind == "regression" else y,
            task=kind,
            target=target,
            groups=None if groups is None else np.asarray(frame[groups].astype(object)),
            weight=None if weights is None else _weights(frame[weights]),
            categorical=categorical,
            incomplete=tuple(name for name in X if name not in categorical and X[name].isna().any()),
        )


def _check_name(frame: pd.DataFrame, name: str) -> None:
    if name in frame.columns:
        return
    hint = did_you_mean(nearest(name, map(str, frame.columns), cutoff=0.5)) or f"; it has {_listed(frame.columns)}"
    if all(re.fullmatch(r"[-+.\deE]+", str(column)) for column in frame.columns):
        hint = ": its first line holds numbers, but must hold the names of the columns"
    raise ValueError(f"the table has no column {name!r}{hint}")


def _listed(names: Sequence[object], most: int = 12) -> str:
    shown = ", ".join(repr(str(name)) for name in list(names)[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _complete(frame: pd.DataFrame, needed: list[str], say: Say) -> pd.DataFrame:
    """The rows in which the target, the group and the weight are not missing."""
    for name in needed:
        unknown = int(frame[name].isna().sum())
        if unknown == len(frame):
            raise ValueError(f"column {name!r} is empty")
        if unknown:
            say(f"{_rows(unknown)} without {name!r} left out")
            frame = frame[frame[name].notna()]
    return frame


def _rows(count: int) -> str:
    return f"{count} row" + ("" if count == 1 else "s")


def _inputs(X: pd.DataFrame, decimal: str, say: Say) -> pd.DataFrame:
    empty = [name for name in X if X[name].isna().all()]
    if empty:
        say(f"empty columns left out: {_listed(empty)}")
    numbered = [name for name in X if name.startswith("Unnamed: ") and _is_row_number(X[name])]
    if numbered:
        say("a column without a name that only numbers the rows is left out")
    X = read_numbers(X.drop(columns=[*empty, *numbered]), say, decimal)
    wordy = {name: words_amid_numbers(X[name]) for name in X if _is_free_text(X[name])}
    plain = [name for name, amid in wordy.items() if not amid]
    if plain:
        say(f"left out, because hardly two rows have the same value: {_listed(plain)}")
    for name in wordy.keys() - plain:
        say(f"left out, because among its numbers are many words, such as {_listed(wordy[name])}: {name!r}")
    X = X.drop(columns=list(wordy))
    if X.shape[1] == 0:
        raise ValueError("the table has no column left to predict from")
    for name in X:
        _check_input(X[name], say)
    return X.reset_index(drop=True)


def _is_row_number(column: pd.Series) -> bool:
    return bool(types.is_integer_dtype(column.dtype) and (column.diff().iloc[1:] == 1).all())


def _check_input(column: pd.Series, say: Say) -> None:
    name = column.name
    if isinstance(column.dtype, pd.CategoricalDtype):
        return
    if not types.is_numeric_dtype(column.dtype):
        raise ValueError(f"column {name!r} holds {column.dtype}, not numbers or words; leave it out with --drop")
    if types.is_float_dtype(column.dtype) and np.isinf(column.to_numpy(np.float64, na_value=0.0)).any():
        raise ValueError(f"column {name!r} holds infinite values; leave those rows out, or the column with --drop")
    if _is_row_number(column) and len(column) > FEW_WORDS:
        say(f"column {name!r} only numbers the rows; if that says nothing about the target, leave it out with --drop")


def _is_free_text(column: pd.Series) -> bool:
    """Whether words are an identifier or free text: more different ones than half the rows."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return False
    return bool(column.nunique() > max(FEW_WORDS, column.notna().sum() / 2))


def _mention_copies(X: pd.DataFrame, y: Array, target: str, say: Say) -> None:
    """Tell of columns that hold the target in other words: each of their few values goes with one class only."""
    found, codes = np.unique(y, return_inverse=True)
    if len(found) > FEW_CLASSES:
        return
    for name in X:
        column = X[name]
        if column.isna().any() or column.nunique() != len(found):
            continue
        values = pd.factorize(column)[0]
        if len(np.unique(np.column_stack([values, codes]), axis=0)) == len(found):
            say(
                f"column {name!r} is {target!r} in other words; if it is known only together with it, leave it out "
                f"with --drop {name}"
            )


def _holds_times(column: pd.Series) -> bool:
    """Whether these are dates, times or durations, by their type or by how they are written."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return holds_dates(column)
    return bool(types.is_datetime64_any_dtype(column.dtype) or types.is_timedelta64_dtype(column.dtype))


def _labels(column: pd.Series, positive: str | None) -> Array:
    if _holds_times(column):
        raise ValueError(
            f"the target {column.name!r} holds dates or times; turn it into numbers, such as days since a start"
        )
    values = np.asarray(column.astype(object)) if not types.is_numeric_dtype(column.dtype) else column.to_numpy()
    found, counts = np.unique(values, return_counts=True)
    if len(found) == 1:
        raise ValueError(
            f"the target {column.name!r} has one value only, {found.tolist()[0]!r}, so there is nothing to learn"
        )
    if positive is not None:
        return _against_the_rest(values, found, positive, str(column.name))
    if values.dtype == object and (len(found) > len(values) / 2 or counts.max() == 1):
        raise ValueError(
            f"the target {column.name!r} has {len(found)} different words in {len(values)} rows: no classes"
        )
    return values


def _against_the_rest(values: Array, found: Array, positive: str, name: str) -> Array:
    """Labels of one class against the rest: 1 for the positive class, 0 for all others."""
    matching = [label for label in found.tolist() if str(label) == positive or _same_number(label, positive)]
    if not matching:
        raise ValueError(f"the target {name!r} never is {positive!r}; it has {_listed(found.tolist())}")
    return np.asarray(values == matching[0], dtype=np.int64)


def _same_number(label: object, text: str) -> bool:
    try:
        return float(label) == float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _task(y: Array, target: str, task: str | None) -> str:
    if task is None:
        return "regression" if looks_real(y) else "classification"
    one_of("--task", task, TASKS)
    if task == "regression" and y.dtype.kind not in "fiub":
        raise ValueError(f"the target {target!r} holds words, so the task cannot be regression")
    return task


def _weights(column: pd.Series) -> Array:
    if not types.is_numeric_dtype(column.dtype):
        raise ValueError(f"--weights: column {column.name!r} does not hold numbers")
    return np.asarray(column, dtype=np.float64)
