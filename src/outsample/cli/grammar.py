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
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from outsample.criteria.base import Criterion

PER_DECADE = 5
MOST_VALUES = 100_000
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
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()


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
    count = math.floor((high - low) / step + 1e-9) + 1
    if count > MOST_VALUES:
        raise ValueError(f"the range {low}:{high}:{step} has {count} values; at most {MOST_VALUES} are tried")
    whole = all(isinstance(part, int) for part in (low, step))
    return [low + i * step if whole else round(low + i * step, 12) for i in range(count)]


def _logarithmic(low: float, high: float, count: int | None) -> list[float]:
    if not 0 < low < high:
        raise ValueError(f"a logarithmic range runs upwards between positive numbers, got {low:g}..{high:g}")
    if count is None:
        count = round(PER_DECADE * math.log10(high / low)) + 1
    if not 2 <= count <= MOST_VALUES:
        raise ValueError(f"a logarithmic range has 2 to {MOST_VALUES} values, got {count}")
    ratio = math.log10(high / low)
    return [float(f"{low * 10 ** (ratio * i / (count - 1)):.12g}") for i in range(count)]


def named_texts(pairs: Iterable[str] | None, option: str) -> dict[str, str]:
    """name=text pairs as a dictionary."""
    named: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        if not equals or not name.strip() or not text.strip():
            raise ValueError(f"{option} takes name=value, got {pair!r}")
        named[name.strip()] = text
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
