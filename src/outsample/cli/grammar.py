"""What a user types after --set, --grid, --criterion and --criteria, as Python values.

A grid is one of

    max_leaf_nodes=2:50       every whole number from 2 to 50
    max_leaf_nodes=2:50:4     every fourth one
    criterion=gini,entropy    a list
    alpha=0.01..100           five values per power of ten, evenly spaced on a logarithmic scale
    alpha=0.01..100:9         nine of them
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from outsample.criteria.base import Criterion

PER_DECADE = 5
MOST_VALUES = 100_000
LARGEST = 2**63 - 1
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER}):({_NUMBER})(?::({_NUMBER}))?")
_LOGARITHMIC = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?::(\d+))?")
_WORDS = {"true": True, "false": False, "none": None}


def value_of(text: str) -> Any:
    """A number, truth value, None, list or tuple where the text is one, otherwise the text.

    >>> value_of("12"), value_of("none"), value_of("entropy"), value_of("(8, 8)")
    (12, None, 'entropy', (8, 8))
    """
    if text.strip().lower() in _WORDS:
        return _WORDS[text.strip().lower()]
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text.strip()
    if any(isinstance(part, int) and abs(part) > LARGEST for part in _parts(value)):
        raise ValueError(f"{text.strip()} is too large; whole numbers go up to {LARGEST}")
    return value


def _parts(value: Any) -> list[Any]:
    """The numbers in a value, which may be a list or a tuple of others."""
    return [part for inner in value for part in _parts(inner)] if isinstance(value, list | tuple) else [value]


def values_of(text: str) -> list[Any]:
    """The values of a grid.

    >>> values_of("2:10:4"), values_of("0:1:0.5"), values_of("gini,entropy"), values_of("1..100:3")
    ([2, 6, 10], [0.0, 0.5, 1.0], ['gini', 'entropy'], [1.0, 10.0, 100.0])
    """
    if found := _RANGE.fullmatch(text.strip()):
        low, high, step = found.groups()
        return _range(value_of(low), value_of(high), 1 if step is None else value_of(step))
    if found := _LOGARITHMIC.fullmatch(text.strip()):
        first, last, count = found.groups()
        return _logarithmic(float(first), float(last), None if count is None else int(count))
    values = [value_of(part) for part in text.split(",") if part.strip()]
    if not values:
        raise ValueError(f"a grid needs at least one value, got {text!r}; see outsample select --help")
    return values


def _range(low: float, high: float, step: float) -> list[float]:
    if step <= 0 or high < low:
        raise ValueError(f"a range runs upwards by a positive step, got {low}:{high}:{step}")
    if not all(map(math.isfinite, (low, high, step, (high - low) / step))):
        raise ValueError(f"a range has finite ends and a step that is not too small, got {low}:{high}:{step}")
    count = math.floor((high - low) / step + 1e-9) + 1
    if count > MOST_VALUES:
        raise ValueError(f"the range {low}:{high}:{step} has {count} values; at most {MOST_VALUES} are tried")
    whole = all(isinstance(part, int) for part in (low, step))
    return [low + i * step if whole else round(low + i * step, 12) for i in range(count)]


def _logarithmic(low: float, high: float, count: int | None) -> list[float]:
    if not sys.float_info.min <= low < high <= sys.float_info.max:
        raise ValueError(
            f"a logarithmic range runs upwards between positive numbers of 2.3e-308 to 1.7e308, got {low:g}..{high:g}"
        )
    first, ratio = math.log10(low), math.log10(high) - math.log10(low)
    if count is None:
        count = round(PER_DECADE * ratio) + 1
    if not 2 <= count <= MOST_VALUES:
        raise ValueError(f"a logarithmic range has 2 to {MOST_VALUES} values, got {count}")
    inside = [float(f"{10 ** (first + ratio * i / (count - 1)):.12g}") for i in range(1, count - 1)]
    return [low, *inside, high]


def named_values(pairs: Iterable[str] | None, option: str, read: Callable[[str], Any]) -> dict[str, Any]:
    """name=text pairs as a dictionary, each text as `read` has it."""
    named: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        if not equals or not name.strip() or not text.strip():
            raise ValueError(f"{option} takes name=value, got {pair!r}")
        try:
            named[name.strip()] = read(text)
        except ValueError as error:
            raise ValueError(f"{option} {pair}: {error}") from error
    return named


def criterion_of(text: str) -> Criterion:
    """A criterion from its name and settings: permutation, permutation:30, kfold:cv=5, 632+:n_bags=50."""
    from outsample.checks import entry
    from outsample.criteria.base import CRITERIA

    name, _, settings = text.strip().partition(":")
    criterion = entry("criterion", name, CRITERIA)
    positional, keyword = [], {}
    for part in filter(None, settings.split(":")):
        key, equals, value = part.partition("=")
        if equals:
            keyword[key] = value_of(value)
        else:
            positional.append(value_of(part))
    try:
        return criterion(*positional, **keyword)
    except TypeError:
        fields = ", ".join(inspect.signature(criterion.kind).parameters)
        raise ValueError(f"criterion {text!r} is not understood; {name} takes {fields or 'no settings'}") from None


def criteria_of(text: str) -> list[Criterion]:
    """Criteria from a list with commas."""
    named = [part for part in text.split(",") if part.strip()]
    if not named:
        raise ValueError("--criteria needs at least one criterion, such as permutation,kfold")
    return [criterion_of(part) for part in named]
