"""Python code that gives a result again: imports and the call, with `X` and `y` as the user has them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn import config_context

from outsample.criteria.base import CRITERIA, Criterion, as_criterion
from outsample.running.arrays import Array

WIDTH = 100
# Arrays of fewer numbers are written out.
SHORT = 6
# Arguments of a search that do not change its result.
BESIDE = ("progress", "verbose", "n_jobs", "pre_dispatch", "store")


def code_of_search(search: Any) -> str:
    """Lines of Python that fit an equal search."""
    default = {name: p.default for name, p in inspect.signature(type(search).__init__).parameters.items()}
    given = {
        name: value
        for name, value in search.get_params(deep=False).items()
        if name in default and name not in BESIDE and not _same(value, default[name])
    }
    first = [given.pop(name) for name, usual in default.items() if usual is inspect.Parameter.empty and name in given]
    return code_of_call(f"search = outsample.{type(search).__name__}", first, given, ["outsample"], ".fit(X, y)")


class Name(str):
    """A name that the user's own script gives a value to."""


def code_of_call(
    start: str, places: Iterable[Any], named: Mapping[str, Any], modules: Iterable[str], after: str = ""
) -> str:
    """A call, with one argument a line where it is long, after the imports that it needs.

    Parameters
    ----------
    start : what stands before the bracket.
    places : arguments without a name.
    named : arguments by name.
    modules : modules to import whole.
    after : what stands behind the bracket.
    """
    places = list(places)
    with config_context(print_changed_only=True):
        arguments = [("", value, written(value)) for value in places]
        arguments += [(f"{name}=", value, written(value)) for name, value in named.items()]
        call = f"{start}({', '.join(name + text for name, _, text in arguments)}){after}"
        if len(call) > WIDTH:
            lines = (f"    {name}{_over_lines(value, text)}," for name, value, text in arguments)
            call = "\n".join([f"{start}(", *lines, f"){after}"])
    return "\n".join([*_imports(modules, [*places, *named.values()]), "", call])


def written(value: Any) -> str:
    """A value as Python reads it again: arrays as lists, functions and classes by name, distributions by their call."""
    if isinstance(value, Name):
        return str(value)
    if isinstance(value, np.ndarray):
        return _spaced(value) or written(value.tolist())
    if isinstance(value, Criterion):
        return _written_criterion(value)
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {written(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        inside = ", ".join(map(written, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if _is_distribution(value):
        given = [*map(written, value.args), *(f"{name}={written(inner)}" for name, inner in value.kwds.items())]
        return f"scipy.stats.{value.dist.name}({', '.join(given)})"
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _one_line(value.__repr__(N_CHAR_MAX=10**6) if _ours(value) else repr(value))
    return str(getattr(value, "__name__", None) or repr(value)) if callable(value) else repr(value)


def _over_lines(value: Any, text: str) -> str:
    """The text of an argument, one entry a line where it is a long dictionary."""
    if not isinstance(value, dict) or len(text) <= WIDTH - 8:
        return text
    entries = (f"        {key!r}: {written(inner)}," for key, inner in value.items())
    return "\n".join(["{", *entries, "    }"])


def _spaced(values: Array) -> str | None:
    """The call of numpy that gives these evenly spaced numbers exactly; None where there is none worth writing."""
    if values.ndim != 1 or values.dtype.kind != "f" or len(values) < SHORT or not np.isfinite(values).all():
        return None
    first, last = float(values[0]), float(values[-1])
    calls: dict[str, Callable[..., Array]] = {f"np.linspace({first:.10g}, {last:.10g}, {len(values)})": np.linspace}
    if first > 0 and last > 0:
        low, high = np.log10([first, last]).tolist()
        calls |= {
            f"np.logspace({low:.10g}, {high:.10g}, {len(values)})": np.logspace,
            f"np.geomspace({first:.10g}, {last:.10g}, {len(values)})": np.geomspace,
        }
    for call, function in calls.items():
        start, stop, count = (float(text) for text in call.partition("(")[2][:-1].split(","))
        if np.array_equal(function(start, stop, int(count)), values):
            return call
    return None


def _written_criterion(criterion: Any) -> str:
    """A criterion by its name, or as a call with the settings that are not the usual ones."""
    if criterion.name in CRITERIA and _same(as_criterion(criterion.name), criterion):
        return repr(criterion.name)
    changed = [f for f in fields(criterion) if f.init and not _same(getattr(criterion, f.name), f.default)]
    inside = ", ".join(f"{f.name}={written(getattr(criterion, f.name))}" for f in changed)
    return f"{type(criterion).__name__}({inside})"


def _ours(value: Any) -> bool:
    return "N_CHAR_MAX" in inspect.signature(type(value).__repr__).parameters


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _is_distribution(value: Any) -> bool:
    return hasattr(value, "rvs") and hasattr(value, "dist") and hasattr(value, "args")


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _imports(modules: Iterable[str], values: list[Any]) -> list[str]:
    """Import statements for whole modules and for the classes and functions that the values are made of."""
    needed = {*((module, "") for module in modules), *_needed(values, set())}
    whole = sorted(module for module, name in needed if not name)
    named: dict[str, list[str]] = {}
    for module, name in sorted(needed):
        if name:
            named.setdefault(module, []).append(name)
    return [
        *(f"import {module}" for module in whole),
        *(f"from {module} import {', '.join(names)}" for module, names in named.items()),
    ]


def _needed(values: Iterable[Any], seen: set[int]) -> Iterator[tuple[str, str]]:
    """(module, name) of everything that is written by name in the values."""
    for value in values:
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Mapping):
            yield from _needed(value.values(), seen)
        elif isinstance(value, list | tuple):
            yield from _needed(value, seen)
        elif _is_distribution(value):
            yield "scipy.stats", ""
        elif isinstance(value, np.ndarray) and (_spaced(value) or "").startswith("np."):
            yield "numpy as np", ""
        elif isinstance(value, Criterion):
            if written(value)[0] not in "'\"":
                yield from _where(type(value))
        elif isinstance(value, type) or inspect.isfunction(value):
            yield from _where(value)
        elif _is_object(value):
            yield from _where(type(value))
            yield from _needed(_parameters(value), seen)


def _parameters(value: Any) -> list[Any]:
    found = value.get_params(deep=False) if hasattr(value, "get_params") else vars(value)
    return list(found.values())


def _is_object(value: Any) -> bool:
    """Whether a value is written as the call of a class that must be imported."""
    plain = isinstance(value, np.generic | np.ndarray | str | bytes | range) or type(value).__module__ == "builtins"
    return not plain and repr(value).startswith(type(value).__name__ + "(")


def _where(named: Any) -> Iterator[tuple[str, str]]:
    """The shortest public module that has this class or function; nothing for names of the user's own script."""
    name, parts = named.__name__, named.__module__.split(".")
    if parts == ["__main__"]:
        return
    for end in range(1, len(parts) + 1):
        at = ".".join(parts[:end])
        if getattr(sys.modules.get(at), name, None) is named:
            yield at, name
            return
