"""Tables of users: read from files, made numbers where people write numbers, and divided into inputs and target.

Files are CSV with any common delimiter, gzipped or not, Parquet, and standard input. Whatever is changed on the user's
behalf is told.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pandas as pd
from pandas.api import types

from outsample.checks import did_you_mean, nearest, one_of
from outsample.data.samples import MOST_CLASSES, looks_real
from outsample.running.arrays import Array

Say = Callable[[str], None]

DELIMITERS = (",", ";", "\t", "|", " ")
SAMPLE = 2**16
IN_MEMORY = 64 * 2**20
TASKS = ("classification", "regression")

CURRENCIES = "$€£¥"
# decimal mark → numbers written with it; thousands are set apart by one mark throughout, and begin with no zero.
NUMBERS = {
    mark: re.compile(
        rf"(?P<sign>[-+]?)\s*(?P<before>[{CURRENCIES}]?)\s*(?P<inner>[-+]?)"
        rf"(?P<digits>[1-9]\d{{0,2}}(?P<mark>[{other}'’ \u00a0\u202f])\d{{3}}((?P=mark)\d{{3}})*([{mark}]\d+)?"
        rf"|(\d+[{mark}]?\d*|[{mark}]\d+)([eE][-+]?\d+)?)\s*(?P<after>[{CURRENCIES}%]?)"
    )
    for mark, other in ((".", ","), (",", "."))
}
DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})([T ].*)?")
TRUTHS = {"true": 1.0, "false": 0.0}
TRUTHS_READ = ("true and false become 1 and 0",)
# Words of a column that are looked at to see whether they may be numbers.
LOOKED_AT = 1000
# Columns of more different words than this are more than a few categories.
FEW_WORDS = 10
SHOWN = 3


def read_table(source: str) -> pd.DataFrame:
    """The table in a file, or on standard input for "-", as a pandas DataFrame; text columns become categories.

    Raises
    ------
    ValueError
        One sentence for a file that is missing, empty, ragged, damaged or not UTF-8.
    """
    name = "standard input" if source == "-" else source
    with _opened(source, name) as raw:
        try:
            file = cast(BinaryIO, gzip.GzipFile(fileobj=raw, mode="rb")) if _starts_with(raw, b"\x1f\x8b") else raw
            frame = _parquet(file, name) if _starts_with(file, b"PAR1") else _csv(file, name)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{name}: the gzip file is damaged: {error}") from error
    if not len(frame):
        raise ValueError(f"{name}: the table has column names but no rows")
    frame.columns = [str(column).strip() for column in frame.columns]
    _check_names(frame.columns, name)
    for name in frame.columns:
        column = frame[name]
        text = column.map(str, na_action="ignore") if column.dtype == object else column
        if types.is_string_dtype(text.dtype):
            # Each distinct word is held once, however many the rows.
            frame[name] = text.astype("category")
    return frame


def _opened(source: str, name: str) -> BinaryIO:
    """The source as a file that can be read twice; what comes on standard input waits on disk beyond 64 MB."""
    path = Path(source)
    if source != "-" and "\0" not in source and not path.exists():
        neighbours = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        near = nearest(path.name, neighbours)
        hint = f"; did you mean {path.with_name(near[0])}?" if near else ""
        raise ValueError(f"{source}: there is no such file{hint}")
    if source != "-" and path.is_dir():
        raise ValueError(f"{source} is a directory; name a file in it")
    try:
        found = os.stat(sys.stdin.fileno() if source == "-" else source)
        device = (stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)) and not (
            os.path.samestat(found, os.stat(os.devnull)) or (source == "-" and sys.stdin.isatty())
        )
    except OSError:
        device = False
    if device:
        raise ValueError(f"{name} is a device, not a file with a table")
    if source != "-":
        try:
            return path.open("rb")
        except PermissionError:
            raise ValueError(f"{source} may not be read: permission denied") from None
    copy = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 — closed by who reads it
    shutil.copyfileobj(sys.stdin.buffer, copy, 2**20)
    return cast(BinaryIO, copy)


def _starts_with(file: BinaryIO, magic: bytes) -> bool:
    file.seek(0)
    found = file.read(len(magic)) == magic
    file.seek(0)
    return found


def _parquet(file: BinaryIO, source: str) -> pd.DataFrame:
    try:
        return pd.read_parquet(file)
    except ImportError:
        raise ValueError(f"{source}: reading Parquet needs pyarrow; install outsample[parquet]") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{source} cannot be read as Parquet: {_first_line(error)}") from error


def _csv(file: BinaryIO, source: str) -> pd.DataFrame:
    """The table of a CSV file; it is gone through once before, so that an error message can name the line."""
    text, line, names = io.TextIOWrapper(file, encoding="utf-8-sig", newline=""), 0, list[str]()
    try:
        sample = text.read(SAMPLE)
        if not sample.strip():
            raise ValueError(f"{source} is empty")
        if "\0" in sample:
            line = sample.partition("\0")[0].count("\n") + 1
            raise ValueError(f"{source} is not text: line {line} has a NUL character")
        delimiter, decimal = _dialect(sample)
        text.seek(0)
        for row in (reader := csv.reader(text, delimiter=delimiter, skipinitialspace=True)):
            line, names = reader.line_num, names or row
            if row and len(row) != len(names):
                raise ValueError(f"{source} is ragged: line {line} has {len(row)} fields, the header has {len(names)}")
    except UnicodeDecodeError:
        raise ValueError(f"{source} is not UTF-8 (near line {line + 1}); convert it, for example with iconv") from None
    except csv.Error as error:
        raise ValueError(f"{source} cannot be read as a table: {error} in line {line + 1}") from None
    finally:
        text.detach()
    _check_names([name.strip() for name in names if name.strip()], source)
    file.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        try:
            frame = pd.read_csv(file, sep=delimiter, decimal=decimal, encoding="utf-8-sig", skipinitialspace=True)
        except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise ValueError(f"{source} cannot be read as a table: {_first_line(error)}") from error
    frame.attrs["decimal"] = decimal
    return frame


def _dialect(sample: str) -> tuple[str, str]:
    """(delimiter, decimal mark) of the first lines.

    The delimiter splits them into the most fields, equally many in each. The decimal mark is a comma where commas stand
    inside numbers and do not separate fields.
    """
    lines = [line for line in sample.splitlines()[:50] if line.strip()]
    lines = lines[:-1] if len(sample) == SAMPLE and len(lines) > 1 else lines

    def fields_each(delimiter: str) -> tuple[float, int]:
        counts = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
        count, often = counts.most_common(1)[0]
        return (often / len(lines), count) if count > 1 else (0.0, 1)

    delimiter = max(DELIMITERS, key=fields_each)
    fields = (field.strip() for line in lines[1:] for field in line.split(delimiter))
    return delimiter, "," if delimiter != "," and any(re.fullmatch(r"-?\d+,\d+", f) for f in fields) else "."


def _check_names(names: Collection[str], source: str) -> None:
    (name, count), *_ = Counter(names).most_common(1) or [("", 1)]
    if count > 1:
        raise ValueError(f"{source} has {count} columns named {name!r}; names must differ")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


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
        needed = [name for name in (target, groups, weights) if name is not None]
        for name in (*needed, *drop):
            _check_column(frame, name)
        decimal = frame.attrs.get("decimal", ".")
        frame = frame.assign(**{target: _read_target(frame[target], say, decimal)})
        for name in needed:
            unknown = int(frame[name].isna().sum())
            if unknown == len(frame):
                raise ValueError(f"column {name!r} is empty")
            if unknown:
                say(f"{unknown} row{'s' * (unknown > 1)} without {name!r} left out")
                frame = frame[frame[name].notna()]
        X = _inputs(frame.drop(columns=list({*needed, *drop})), decimal, say)
        y = _labels(frame[target], positive)
        kind = _task(y, target, task)
        if kind == "classification":
            _mention_copies(X, y, target, say)
        if weights is not None and not types.is_numeric_dtype(frame[weights].dtype):
            raise ValueError(f"--weights: column {weights!r} does not hold numbers")
        categorical = tuple(name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype))
        return cls(
            X=X,
            y=y.astype(np.float64) if kind == "regression" else y,
            task=kind,
            target=target,
            groups=None if groups is None else np.asarray(frame[groups].astype(object)),
            weight=None if weights is None else np.asarray(frame[weights], dtype=np.float64),
            categorical=categorical,
            incomplete=tuple(name for name in X if name not in categorical and X[name].isna().any()),
        )


def _check_column(frame: pd.DataFrame, name: str) -> None:
    if name in frame.columns:
        return
    hint = did_you_mean(nearest(name, map(str, frame.columns), cutoff=0.5)) or f"; it has {_listed(frame.columns)}"
    if all(re.fullmatch(r"[-+.\deE]+", str(column)) for column in frame.columns):
        hint = ": its first line holds numbers, but must hold the names of the columns"
    raise ValueError(f"the table has no column {name!r}{hint}")


def _listed(names: Iterable[object], most: int = 12) -> str:
    shown = [repr(str(name)) for name in names]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def _inputs(X: pd.DataFrame, decimal: str, say: Say) -> pd.DataFrame:
    """The inputs as numbers and categories, without empty columns, numbers of rows and identifiers."""
    empty = [name for name in X if X[name].isna().all()]
    if empty:
        say(f"empty columns left out: {_listed(empty)}")
    numbered = [name for name in X if name.startswith("Unnamed: ") and _is_row_number(X[name])]
    if numbered:
        say("a column without a name that only numbers the rows is left out")
    X = _read_numbers(X.drop(columns=[*empty, *numbered]), decimal, say)
    wordy = {
        name: _words_amid_numbers(X[name])
        for name in X
        if isinstance(X[name].dtype, pd.CategoricalDtype)
        and X[name].nunique() > max(FEW_WORDS, X[name].notna().sum() / 2)
    }
    plain = [name for name, amid in wordy.items() if not amid]
    if plain:
        say(f"left out, because hardly two rows have the same value: {_listed(plain)}")
    for name in wordy.keys() - plain:
        say(f"left out, because among its numbers are many words, such as {_listed(wordy[name])}: {name!r}")
    X = X.drop(columns=list(wordy))
    if X.shape[1] == 0:
        raise ValueError("the table has no column left to predict from")
    for name in X:
        column = X[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            continue
        if not types.is_numeric_dtype(column.dtype):
            raise ValueError(f"column {name!r} holds {column.dtype}, not numbers or words; leave it out with --drop")
        if types.is_float_dtype(column.dtype) and np.isinf(column.to_numpy(np.float64, na_value=0.0)).any():
            raise ValueError(f"column {name!r} holds infinite values; leave those rows out, or the column with --drop")
        if _is_row_number(column) and len(column) > FEW_WORDS:
            hint = "if that says nothing about the target, leave it out with --drop"
            say(f"column {name!r} only numbers the rows; {hint}")
    return X.reset_index(drop=True)


def _is_row_number(column: pd.Series) -> bool:
    return bool(types.is_integer_dtype(column.dtype) and (column.diff().iloc[1:] == 1).all())


def _mention_copies(X: pd.DataFrame, y: Array, target: str, say: Say) -> None:
    """Tell of columns that hold the target in other words: each of their few values goes with one class only."""
    found, codes = np.unique(y, return_inverse=True)
    for name in X if len(found) <= MOST_CLASSES else ():
        if X[name].isna().any() or X[name].nunique() != len(found):
            continue
        if len(np.unique(np.column_stack([pd.factorize(X[name])[0], codes]), axis=0)) == len(found):
            say(
                f"column {name!r} is {target!r} in other words; if it is known only together with it, leave it out "
                f"with --drop {name}"
            )


def _labels(column: pd.Series, positive: str | None) -> Array:
    name = column.name
    timed = types.is_datetime64_any_dtype(column.dtype) or types.is_timedelta64_dtype(column.dtype)
    if isinstance(column.dtype, pd.CategoricalDtype):
        timed = all(DATE.fullmatch(word) for word in _cells(column))
    if timed:
        raise ValueError(f"the target {name!r} holds dates or times; turn it into numbers, such as days since a start")
    values = np.asarray(column.astype(object)) if not types.is_numeric_dtype(column.dtype) else column.to_numpy()
    found, counts = np.unique(values, return_counts=True)
    if len(found) == 1:
        raise ValueError(f"the target {name!r} has one value only, {found.tolist()[0]!r}, so there is nothing to learn")
    if positive is not None:
        matching = [label for label in found.tolist() if str(label) == positive or _same_number(label, positive)]
        if not matching:
            raise ValueError(f"the target {name!r} never is {positive!r}; it has {_listed(found.tolist())}")
        return np.asarray(values == matching[0], dtype=np.int64)
    if values.dtype == object and (len(found) > len(values) / 2 or counts.max() == 1):
        raise ValueError(f"the target {name!r} has {len(found)} different words in {len(values)} rows: no classes")
    return values


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


# Numbers, truth values and dates as people write them.


@dataclass(frozen=True)
class _Reading:
    """What the words of a column are read as; cells of other words are missing.

    Attributes
    ----------
    values : word → number.
    how : what was read into them, to be told.
    kind : "numbers" or "dates".
    """

    values: dict[str, float]
    how: tuple[str, ...]
    kind: str = "numbers"

    def of(self, column: pd.Series, say: Say) -> pd.Series:
        """The column as numbers; cells that cannot be read are named by column, row and content."""
        levels = {level: self.values.get(str(level).strip(), np.nan) for level in column.cat.categories}
        values = column.map(levels).astype(np.float64)
        strange = column[values.isna() & column.notna()].astype(str).str.strip()
        if len(strange):
            cells = [f"{text!r} in row {row + 1}" for row, text in strange.items()]
            more = f" and {len(cells) - SHOWN} more" if len(cells) > SHOWN else ""
            say(
                f"column {column.name!r} holds {self.kind} but for {len(cells)} cell{'s' * (len(cells) > 1)}, taken as "
                f"missing: {', '.join(cells[:SHOWN])}{more}"
            )
        return values


@dataclass(frozen=True)
class _Number:
    """A number as it was written: its value, its unit ("%", a currency or nothing), and what was read into it."""

    value: float
    unit: str
    how: tuple[str, ...]


def _cells(column: pd.Series) -> Counter[str]:
    """The words of a column, without spaces around them, and in how many cells they stand."""
    cells = Counter[str]()
    for level, count in column.value_counts(sort=False).items():
        if count:
            cells[str(level).strip()] += int(count)
    return cells


def _read_numbers(X: pd.DataFrame, decimal: str, say: Say) -> pd.DataFrame:
    """The table with numbers, truth values and dates as people write them as numbers, each kind told once.

    `decimal` is the decimal mark where a column does not tell.
    """
    read: dict[str, pd.Series] = {}
    told: dict[str, list[str]] = {}
    for name in X:
        column, how = X[name], tuple[str, ...]()
        if types.is_bool_dtype(column.dtype):
            read[name], how = column.astype(np.int8), TRUTHS_READ
        elif types.is_datetime64_any_dtype(column.dtype):
            read[name], how = _days(column)
        elif isinstance(column.dtype, pd.CategoricalDtype) and (cells := _cells(column)):
            found = _truths(cells) or _dates(cells, str(name)) or _numbers(cells, str(name), decimal)
            if found is not None:
                read[name], how = found.of(column, say), found.how
        for sentence in how:
            told.setdefault(sentence, []).append(str(name))
    for sentence, names in told.items():
        say(f"{sentence}: {', '.join(names)}")
    return X.assign(**read)


def _read_target(column: pd.Series, say: Say, decimal: str) -> pd.Series:
    """The target with numbers as people write them as numbers, which is told; words among few classes are a class."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    found = _numbers(_cells(column), str(column.name), decimal)
    if found is None or (len(found.values) < len(_cells(column)) and len(set(found.values.values())) <= MOST_CLASSES):
        return column
    values = found.of(column, say)
    for how in found.how:
        say(f"{how}: {column.name}")
    return values


def _words_amid_numbers(column: pd.Series) -> list[str]:
    """Some of the words of a column that are no numbers, where half of its cells or more are; else none."""
    cells = _cells(column)
    others = {word for word in cells if _number(word, ".") is None and _number(word, ",") is None}
    if not _look_like_numbers(cells) or 2 * sum(cells[word] for word in others) > cells.total():
        return []
    return [word for level in column.dropna().unique() if (word := str(level).strip()) in others][:SHOWN]


def _look_like_numbers(words: Collection[str]) -> bool:
    """Whether half of the words are numbers, or more, as far as some of them tell."""
    looked_at = list(words)[:: len(words) // LOOKED_AT + 1]
    found = sum(_number(word, ".") is not None or _number(word, ",") is not None for word in looked_at)
    return 0 < len(looked_at) <= 2 * found


def _are_few(cells: Counter[str], words: Collection[str]) -> bool:
    """Whether the cells with these words are few: a tenth, one of a few categories; or a single sign for missing."""
    n, found = cells.total(), sum(cells[word] for word in words)
    if len(cells) <= FEW_WORDS:
        return not found or (found == 1 and n >= 5)
    alone = len(words) == 1 and not any(c.isdigit() for c in "".join(words))
    return found <= (n // 2 if alone else max(1, n // 10))


def _truths(cells: Counter[str]) -> _Reading | None:
    values = {word: TRUTHS[word.lower()] for word in cells if word.lower() in TRUTHS}
    return _Reading(values, TRUTHS_READ) if len(values) == len(cells) else None


def _dates(cells: Counter[str], name: str) -> _Reading | None:
    """The words as days since the first date, where they are dates but for a few.

    Raises
    ------
    ValueError
        Where nothing tells whether the day or the month comes first, and for days that no calendar has.
    """
    found = {word: match for word in cells if (match := DATE.fullmatch(word))}
    if not found or not _are_few(cells, cells.keys() - found):
        return None
    last = [match for match in found.values() if match[2]]  # the year is last
    if last and len(last) < len(found):
        raise ValueError(f"column {name!r} writes dates in more than one way; write them like 2024-01-31")
    day_first = any(int(match[2]) > 12 for match in last)
    if last and not day_first and not any(int(match[3]) > 12 for match in last):
        raise ValueError(
            f"column {name!r} holds dates such as {next(iter(found))!r}, which may have the day or the month first; "
            "write them like 2024-01-31, or leave the column out with --drop"
        )
    try:
        dates = pd.to_datetime(pd.Series(list(found)), dayfirst=day_first, format="mixed", utc=True)
    except ValueError:
        raise ValueError(f"column {name!r} holds dates that cannot be read; leave it out with --drop") from None
    days, how = _days(dates)
    return _Reading(dict(zip(found, days, strict=True)), how, "dates")


def _days(dates: pd.Series) -> tuple[pd.Series, tuple[str, ...]]:
    """(days since the first date, with fractions where there are times; what was done)."""
    plain = dates.dt.tz_localize(None) if dates.dt.tz is not None else dates
    first = plain.min()
    days = ((plain - first.normalize()) / pd.Timedelta(days=1)).astype(np.float64)
    return days, (
        f"dates become days since {first:%Y-%m-%d}, and estimates are for days in between, not for the future",
    )


def _numbers(cells: Counter[str], name: str, decimal: str) -> _Reading | None:
    """The words as numbers, where they are numbers but for a few.

    Raises
    ------
    ValueError
        For numbers in more than one unit.
    """
    if not _look_like_numbers(cells):
        return None
    read = _with_one_mark(cells, decimal)
    if not _are_few(cells, cells.keys() - read):
        return None
    alike = _of_one_unit(read, cells)
    if not _are_few(cells, cells.keys() - alike):
        examples = [next(iter(alike)), next(word for word in read if word not in alike)]
        raise ValueError(
            f"column {name!r} holds {examples[0]!r} and {examples[1]!r}, which are not in the same unit; "
            "write them alike, or leave the column out with --drop"
        )
    how = dict.fromkeys(how for number in alike.values() for how in number.how)
    return _Reading({word: number.value for word, number in alike.items()}, tuple(how))


def _with_one_mark(cells: Counter[str], decimal: str) -> dict[str, _Number]:
    """What the words of a column are read as, with one decimal mark; words that are no numbers are not in it.

    The mark is the usual one unless more cells can be read with the other one only than speak for the usual one.
    """
    other = "." if decimal == "," else ","
    read = {word: n for word in cells if (n := _number(word, decimal))}
    decisive = sum(n for word, n in cells.items() if word not in read and _number(word, other))
    swapped = {word: n for word in cells if decisive and (n := _number(word, other))}
    against = sum(cells[word] for word, n in read.items() if word not in swapped or swapped[word].value != n.value)
    # A comma by itself, in a column of few values, may as well join two names: "1,23".
    told = decimal == "," or len(cells) > FEW_WORDS or any("." in word and "," in word for word in swapped)
    if decisive > against and told:
        read = swapped
    if any(word.startswith("(") for word in read) and any(n.value < 0 for w, n in read.items() if w[0] != "("):
        # A column that writes -12 means something else by (12).
        return {word: number for word, number in read.items() if not word.startswith("(")}
    return read


def _of_one_unit(read: dict[str, _Number], cells: Counter[str]) -> dict[str, _Number]:
    """The numbers in the most common unit; amounts may stand without their currency, and zero without any unit."""
    units = Counter[str]()
    for word, number in read.items():
        units[number.unit] += cells[word]
    percent = units.pop("%", 0)
    money = [unit for unit, _ in units.most_common() if unit]
    kept = {"%"} if percent > units.total() else {"", *money[:1]}
    return {word: number for word, number in read.items() if number.unit in kept or word == "0"}


def _number(word: str, decimal: str) -> _Number | None:
    """A word as a number, with this decimal mark; None where it is none."""
    bracketed = len(word) > 2 and word[0] == "(" and word[-1] == ")"
    found = NUMBERS[decimal].fullmatch((word[1:-1].strip() if bracketed else word).replace("\u2212", "-"))
    if found is None:
        return None
    signs = [bracketed, found["sign"], found["inner"]]
    if sum(map(bool, signs)) > 1 or (found["before"] and found["after"]):
        return None
    thousands, unit = found["mark"], found["before"] or found["after"]
    digits = found["digits"].replace(thousands, "") if thousands else found["digits"]
    value = float(digits.replace(decimal, "."))
    kinds = {
        "percent signs are taken off": unit == "%",
        "currency signs are taken off": unit in CURRENCIES and unit,
        "separators of thousands are taken off": thousands,
        "commas are read as decimal marks": decimal == "," and "," in digits,
        "numbers in brackets are read as negative": bracketed,
    }
    negative = bracketed or "-" in (found["sign"], found["inner"])
    return _Number(-value if negative else value, unit, tuple(how for how, so in kinds.items() if so))
