"""Tables from files: CSV with any common delimiter, gzipped or not, Parquet, and standard input."""

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
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from outsample.checks import nearest

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = (",", ";", "\t", "|", " ")
SAMPLE = 2**16
IN_MEMORY = 64 * 2**20
LONG_FILE = 50 * 2**20
DECIMAL_COMMA = re.compile(r"-?\d+,\d+")


def read_table(source: str) -> pd.DataFrame:
    """The table in a file, or on standard input for "-", as a pandas DataFrame; text columns become categories.

    Raises
    ------
    ValueError
        One sentence for a file that is missing, empty, ragged, damaged or not UTF-8.
    """
    name = "standard input" if source == "-" else source
    if _is_endless(source):
        raise ValueError(f"{name} is a device, not a file with a table")
    with _byte_file(source, name) as (file, size):
        frame = _parquet(file, name) if _starts_with(file, b"PAR1") else _csv(file, name, size)
    if not len(frame):
        raise ValueError(f"{name}: the table has column names but no rows")
    frame.columns = [str(column).strip() for column in frame.columns]
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"{name} has {(frame.columns == twice).sum()} columns named {twice!r}; names must differ")
    return _with_categories(frame)


def _is_endless(source: str) -> bool:
    """Whether a source is a device such as /dev/zero; terminals and the null device end."""
    try:
        found = os.stat(sys.stdin.fileno() if source == "-" else source)
    except (OSError, ValueError):
        return False
    if not (stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)):
        return False
    return not os.path.samestat(found, os.stat(os.devnull)) and not (source == "-" and sys.stdin.isatty())


@contextmanager
def _byte_file(source: str, name: str) -> Iterator[tuple[BinaryIO, int]]:
    """(a seekable file of bytes, unpacked where it was gzipped; its size on disk)."""
    with _standard_input() if source == "-" else _named_file(source) as raw:
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        if not _starts_with(raw, b"\x1f\x8b"):
            yield raw, size
            return
        with tempfile.TemporaryFile() as unpacked:
            try:
                shutil.copyfileobj(gzip.GzipFile(fileobj=raw, mode="rb"), unpacked, 2**20)
            except (EOFError, OSError) as error:
                raise ValueError(f"{name}: the gzip file is damaged: {error}") from error
            unpacked.seek(0)
            yield unpacked, size


@contextmanager
def _standard_input() -> Iterator[BinaryIO]:
    """Standard input as a file that can be read twice; beyond 64 MB it waits on disk."""
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy, 2**20)
        yield cast(BinaryIO, copy)


def _named_file(source: str) -> BinaryIO:
    path = Path(source)
    if path.is_dir():
        raise ValueError(f"{source} is a directory; name a file in it")
    if not path.exists():
        neighbours = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        near = nearest(path.name, neighbours)
        hint = f"; did you mean {path.with_name(near[0])}?" if near else ""
        raise ValueError(f"{source}: there is no such file{hint}")
    try:
        return path.open("rb")
    except PermissionError:
        raise ValueError(f"{source} may not be read: permission denied") from None


def _starts_with(file: BinaryIO, magic: bytes) -> bool:
    found = file.read(len(magic)) == magic
    file.seek(0)
    return found


def _parquet(file: BinaryIO, source: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(file)
    except ImportError:
        raise ValueError(f"{source}: reading Parquet needs pyarrow; install outsample[parquet]") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{source} cannot be read as Parquet: {_first_line(error)}") from error


def _csv(file: BinaryIO, source: str, size: int) -> pd.DataFrame:
    import pandas as pd

    delimiter, decimal = _delimiter_and_decimal(file, source)
    file.seek(0)
    with warnings.catch_warnings(), _with_bar(file, size) as watched:
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        try:
            frame = pd.read_csv(
                watched,
                sep=delimiter,
                decimal=decimal,
                encoding="utf-8-sig",
                skipinitialspace=True,
            )
        except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise ValueError(f"{source} cannot be read as a table: {_first_line(error)}") from error
    frame.attrs["decimal"] = decimal
    return frame


def _delimiter_and_decimal(file: BinaryIO, source: str) -> tuple[str, str]:
    """The delimiter and the decimal mark; the whole file is read once, so that an error message can name the line."""
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    line = 0
    try:
        sample = text.read(SAMPLE)
        if not sample.strip():
            raise ValueError(f"{source} is empty")
        if "\0" in sample:
            line = sample.partition("\0")[0].count("\n") + 1
            raise ValueError(f"{source} is not text: line {line} has a NUL character")
        delimiter = _delimiter(sample)
        text.seek(0)
        reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True)
        names = next(row for row in reader if row)
        _check_names(names, source)
        for row in reader:
            line = reader.line_num
            if row and len(row) != len(names):
                raise ValueError(f"{source} is ragged: line {line} has {len(row)} fields, the header has {len(names)}")
    except UnicodeDecodeError:
        raise ValueError(f"{source} is not UTF-8 (near line {line + 1}); convert it, for example with iconv") from None
    except csv.Error as error:
        raise ValueError(f"{source} cannot be read as a table: {error} in line {line + 1}") from None
    finally:
        text.detach()
    return delimiter, _decimal(sample, delimiter)


def _delimiter(sample: str) -> str:
    """The delimiter that splits the first lines into the most fields, equally many in each; a comma if none does."""
    lines = [line for line in sample.splitlines()[:50] if line.strip()]
    lines = lines[:-1] if len(sample) == SAMPLE and len(lines) > 1 else lines

    def fields_each(delimiter: str) -> tuple[float, int]:
        counts = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
        count, often = counts.most_common(1)[0]
        return (often / len(lines), count) if count > 1 else (0.0, 1)

    best = max(DELIMITERS, key=fields_each)
    return best if fields_each(best)[1] > 1 else ","


def _decimal(sample: str, delimiter: str) -> str:
    """The decimal mark: a comma where commas stand inside numbers and do not separate fields, else a point."""
    if delimiter == ",":
        return "."
    fields = [field.strip() for line in sample.splitlines()[1:50] for field in line.split(delimiter)]
    return "," if any(DECIMAL_COMMA.fullmatch(field) for field in fields) else "."


def _check_names(names: list[str], source: str) -> None:
    stripped = [name.strip() for name in names]
    twice = [name for name, often in Counter(stripped).items() if often > 1 and name]
    if twice:
        raise ValueError(f"{source} has {stripped.count(twice[0])} columns named {twice[0]!r}; names must differ")


@contextmanager
def _with_bar(file: BinaryIO, size: int) -> Iterator[Any]:
    """The file; a long one shows a progress bar while it is read in a terminal."""
    if size < LONG_FILE or not sys.stderr.isatty():
        yield file
        return
    from rich.console import Console
    from rich.progress import wrap_file

    total = file.seek(0, io.SEEK_END)
    file.seek(0)
    with wrap_file(file, total, description="reading", console=Console(stderr=True), transient=True) as watched:
        yield watched


def _with_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Text as categories: each distinct value is held once, however many the rows."""
    import pandas as pd

    for name in frame.columns:
        column = frame[name]
        if column.dtype == object:
            column = column.map(str, na_action="ignore")
        if pd.api.types.is_string_dtype(column.dtype):
            frame[name] = column.astype("category")
    return frame


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
