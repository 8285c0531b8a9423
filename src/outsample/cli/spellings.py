"""Numbers, truth values and dates as people write them in tables, read as numbers; what was read is told."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

Say = Callable[[str], None]

PERCENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)\s*%")
THOUSANDS = re.compile(r"[-+]?\d{1,3}([,' \u00a0\u202f]\d{3})+(\.\d+)?")
CURRENCY = re.compile(
    r"[-+]?\s*[$€£¥]\s*[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?|[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?\s*[$€£¥]"
)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
YEAR_FIRST = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?")
YEAR_LAST = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})([T ].*)?")
TRUTHS = {"true": 1.0, "false": 0.0}
# Levels of a column that are looked at to see how it is written.
LOOKED_AT = 1000

SPELLED = {
    "percent signs are taken off": PERCENT,
    "currency signs are taken off": CURRENCY,
    "separators of thousands are taken off": THOUSANDS,
}


def as_written(column: pd.Series) -> list[str]:
    """The different texts of a column of words, without spaces around them."""
    return [str(level).strip() for level in column.cat.remove_unused_categories().cat.categories[:LOOKED_AT]]


def holds_dates(column: pd.Series) -> bool:
    """Whether a column of words holds dates, or dates with times."""
    words = as_written(column)
    return bool(words) and all(YEAR_FIRST.fullmatch(word) or YEAR_LAST.fullmatch(word) for word in words)


def read_numbers(X: pd.DataFrame, say: Say) -> pd.DataFrame:
    """The table with percentages, thousands, currencies, truth values and dates as numbers, each kind told once."""
    told: dict[str, list[str]] = {}
    read = {}
    for name in X:
        values, how = _column_as_numbers(X[name])
        if values is not None:
            read[name] = values
            told.setdefault(how, []).append(str(name))
    for how, names in told.items():
        say(f"{how}: {', '.join(names)}")
    return X.assign(**read) if read else X


def _column_as_numbers(column: pd.Series) -> tuple[pd.Series | None, str]:
    """(the column as numbers, what was done), None where it stays as it is."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype(np.int8), "true and false become 1 and 0"
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _days(column, str(column.name))
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return None, ""
    words = as_written(column)
    if words and all(word.lower() in TRUTHS for word in words):
        return _each(column, lambda word: TRUTHS[word.lower()]), "true and false become 1 and 0"
    if holds_dates(column):
        return _days(_dates(column), str(column.name))
    return _spelled(column, words)


def read_target(column: pd.Series, say: Say) -> pd.Series:
    """The target with percentages, thousands and currencies as numbers, which is told."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    values, how = _spelled(column, as_written(column))
    if values is None:
        return column
    say(f"{how}: {column.name}")
    return values


def _spelled(column: pd.Series, words: list[str]) -> tuple[pd.Series | None, str]:
    for how, form in SPELLED.items():
        if any(form.fullmatch(w) for w in words) and all(form.fullmatch(w) or NUMBER.fullmatch(w) for w in words):
            return _each(column, _plain_number), how
    return None, ""


def _each(column: pd.Series, reading: Callable[[str], float]) -> pd.Series:
    levels = {level: reading(str(level).strip()) for level in column.cat.categories}
    return column.map(levels).astype(np.float64)


def _plain_number(word: str) -> float:
    digits = re.sub(r"[^\d.eE+-]", "", word)
    return float(digits)


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
