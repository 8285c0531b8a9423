"""Numbers, truth values and dates as people write them in tables, read as numbers; what was read is told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from outsample.data.samples import MOST_CLASSES

Say = Callable[[str], None]

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
YEAR_FIRST = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?")
YEAR_LAST = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})([T ].*)?")
TRUTHS = {"true": 1.0, "false": 0.0}
# Words of a column that are looked at to see whether they may be numbers.
LOOKED_AT = 1000
# Columns of more different words than this are more than a few categories.
FEW_WORDS = 10
SHOWN = 3


@dataclass(frozen=True)
class _Number:
    """A number as it was written: its value, its unit ("%", a currency or nothing), and what was read into it."""

    value: float
    unit: str
    how: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Read:
    """A column of words as numbers: the values, the cells that are none, which are missing, and what was done."""

    values: pd.Series
    strange: pd.Series
    how: tuple[str, ...]

    def tell(self, say: Say, kind: str = "numbers") -> None:
        """Name the cells that could not be read: column, row, content."""
        if len(self.strange):
            cells = [f"{text!r} in row {row + 1}" for row, text in self.strange.items()]
            more = f" and {len(cells) - SHOWN} more" if len(cells) > SHOWN else ""
            many = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            say(
                f"column {self.values.name!r} holds {kind} but for {many}, taken as missing: "
                f"{', '.join(cells[:SHOWN])}{more}"
            )


def as_written(column: pd.Series) -> list[str]:
    """The different texts of a column of words, without spaces around them."""
    return [str(level).strip() for level in column.cat.remove_unused_categories().cat.categories]


def holds_dates(column: pd.Series) -> bool:
    """Whether a column of words holds dates, or dates with times."""
    words = as_written(column)
    return bool(words) and all(_is_date(word) for word in words)


def _is_date(word: str) -> bool:
    return bool(YEAR_FIRST.fullmatch(word) or YEAR_LAST.fullmatch(word))


def read_numbers(X: pd.DataFrame, say: Say, decimal: str = ".") -> pd.DataFrame:
    """The table with numbers, truth values and dates as people write them as numbers, each kind told once.

    Cells that are no numbers, in a column of numbers but for them, are missing, and told with their row.

    Parameters
    ----------
    decimal : the decimal mark where a column does not tell, "." or ",".
    """
    told: dict[str, list[str]] = {}
    read = {}
    for name in X:
        found = _column_as_numbers(X[name], decimal)
        if found is not None:
            read[name] = found.values
            found.tell(say, "dates" if any(how.startswith("dates") for how in found.how) else "numbers")
            for how in found.how:
                told.setdefault(how, []).append(str(name))
    for how, names in told.items():
        say(f"{how}: {', '.join(names)}")
    return X.assign(**read) if read else X


def _column_as_numbers(column: pd.Series, decimal: str) -> _Read | None:
    """The column as numbers, None where it stays as it is."""
    none = pd.Series(dtype=object)
    if pd.api.types.is_bool_dtype(column.dtype):
        return _Read(column.astype(np.int8), none, ("true and false become 1 and 0",))
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        values, how = _days(column, str(column.name))
        return _Read(values, none, (how,))
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return None
    words = as_written(column)
    if words and all(word.lower() in TRUTHS for word in words):
        values = _each(column, lambda word: TRUTHS[word.lower()])
        return _Read(values, none, ("true and false become 1 and 0",))
    return _as_dates(column, words) or _as_numbers(column, words, decimal)


def _as_dates(column: pd.Series, words: list[str]) -> _Read | None:
    others = {word for word in words if not _is_date(word)}
    if len(others) == len(words) or not _are_few(column, others):
        return None
    strange = _cells(column, others)
    dates = column.drop(strange.index).cat.remove_unused_categories()
    values, how = _days(_dates(dates), str(column.name))
    return _Read(values.reindex(column.index), strange, (how,))


def read_target(column: pd.Series, say: Say, decimal: str = ".") -> pd.Series:
    """The target with numbers as people write them as numbers, which is told; words among few classes are a class."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    found = _as_numbers(column, as_written(column), decimal)
    if found is None or (len(found.strange) and found.values.nunique() <= MOST_CLASSES):
        return column
    found.tell(say)
    for how in found.how:
        say(f"{how}: {column.name}")
    return found.values


def words_amid_numbers(column: pd.Series) -> list[str]:
    """Some of the words of a column that are no numbers, where half of its cells or more are; else none."""
    words = as_written(column)
    if not _look_like_numbers(words):
        return []
    found = _cells(column, {word for word in words if _number(word, ".") is None and _number(word, ",") is None})
    return list(dict.fromkeys(found))[:SHOWN] if 2 * len(found) <= column.notna().sum() else []


def _as_numbers(column: pd.Series, words: list[str], decimal: str) -> _Read | None:
    """A column of words as numbers, where it holds numbers but for a few cells.

    Raises
    ------
    ValueError
        For numbers in more than one unit.
    """
    if not _look_like_numbers(words):
        return None
    cells = Counter(column.dropna().astype(str).str.strip())
    read = _readings(cells, decimal)
    if not _are_few(column, set(words) - set(read)):
        return None
    alike = _of_one_unit(read, cells)
    if not _are_few(column, set(words) - set(alike)):
        examples = [next(iter(alike)), next(word for word in read if word not in alike)]
        raise ValueError(
            f"column {column.name!r} holds {examples[0]!r} and {examples[1]!r}, which are not in the same unit; "
            "write them alike, or leave the column out with --drop"
        )
    values = _each(column, lambda word: alike[word].value if word in alike else np.nan)
    how = dict.fromkeys(how for number in alike.values() for how in number.how)
    return _Read(values, _cells(column, set(words) - set(alike)), tuple(how))


def _look_like_numbers(words: list[str]) -> bool:
    """Whether half of the words are numbers, or more, as far as some of them tell."""
    looked_at = words[:: len(words) // LOOKED_AT + 1]
    found = sum(_number(word, ".") is not None or _number(word, ",") is not None for word in looked_at)
    return 0 < len(looked_at) <= 2 * found


def _readings(cells: Counter[str], decimal: str) -> dict[str, _Number]:
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
    if percent > units.total():
        kept = {"%"}
    else:
        money = [unit for unit, _ in units.most_common() if unit]
        kept = {"", *money[:1]}
    return {word: number for word, number in read.items() if number.unit in kept or word == "0"}


def _are_few(column: pd.Series, words: set[str]) -> bool:
    """Whether the cells with these words are few: a tenth, one of a few categories; or a single sign for missing."""
    n, found = int(column.notna().sum()), len(_cells(column, words))
    if not found:
        return True
    if column.nunique() <= FEW_WORDS:
        return found == 1 and n >= 5
    alone = len(words) == 1 and not any(c.isdigit() for c in "".join(words))
    return found <= (n // 2 if alone else max(1, n // 10))


def _cells(column: pd.Series, words: set[str]) -> pd.Series:
    """The cells of a column that hold one of these words, by their row."""
    levels = [level for level in column.cat.categories if str(level).strip() in words]
    return column[column.isin(levels)].astype(str).str.strip()


def _each(column: pd.Series, reading: Callable[[str], float]) -> pd.Series:
    levels = {level: reading(str(level).strip()) for level in column.cat.categories}
    return column.map(levels).astype(np.float64)


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


def _days(dates: pd.Series, name: str) -> tuple[pd.Series, str]:
    """Days since the first date, with fractions where there are times."""
    plain = dates.dt.tz_localize(None) if dates.dt.tz is not None else dates
    first = plain.min()
    days = (plain - first.normalize()) / pd.Timedelta(days=1)
    return days.astype(
        np.float64
    ), f"dates become days since {first:%Y-%m-%d}, and estimates are for days in between, not for the future"


def _dates(column: pd.Series) -> pd.Series:
    """The dates that the words stand for.

    Raises
    ------
    ValueError
        Where nothing tells whether the day or the month comes first, and for days that no calendar has.
    """
    words = as_written(column)
    last = [found for word in words if (found := YEAR_LAST.fullmatch(word))]
    if last and len(last) < len(words):
        raise ValueError(f"column {column.name!r} writes dates in more than one way; write them like 2024-01-31")
    day_first = any(int(found[1]) > 12 for found in last)
    if last and not day_first and not any(int(found[2]) > 12 for found in last):
        raise ValueError(
            f"column {column.name!r} holds dates such as {words[0]!r}, which may have the day or the month first; "
            "write them like 2024-01-31, or leave the column out with --drop"
        )
    texts = column.astype(object).where(column.notna(), None)
    try:
        return pd.to_datetime(texts, dayfirst=day_first, format="mixed", utc=True)
    except ValueError:
        raise ValueError(f"column {column.name!r} holds dates that cannot be read; leave it out with --drop") from None
