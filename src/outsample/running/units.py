"""Fingerprints of values: equal values have equal fingerprints in every process, different values different ones.

They name the units of a store. A learner is identified by its class and parameters, an array by its numbers. Neither
memory addresses nor printed text, which numpy and pandas abbreviate, is used.

A class or function of an installed package is known by its name and the version of the package, own code, all that is
not installed, by what it does: the methods, constants and bases of a class, and the own functions, classes and
constants that they name, however far down; not comments. Lists and dictionaries of own code count as they were when
first seen, and attributes and globals that it assigns itself do not count: they hold what happened, not what was
written.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import itertools
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from outsample.running.arrays import Array

LETTERS = 32

# Types that `repr` describes completely, and types that are known by their qualified name.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, itertools.count)
_NAMED = (types.BuiltinFunctionType, np.ufunc)

# Of these every store knows the version.
_KNOWN = frozenset({"outsample", "sklearn", "numpy", "scipy", *sys.builtin_module_names})
_INSTALLED = {"site-packages", "dist-packages"}
# Of a class, what describes it, or depends on the version of Python.
_NO_CODE = frozenset(
    f"__{name}__"
    for name in (
        *("module", "qualname", "doc", "dict", "weakref", "annotations", "annotate", "annotate_func"),
        *("annotations_cache", "static_attributes", "firstlineno"),
    )
)
# Where descriptors and decorators keep functions.
_WRAPPED = ("__func__", "fget", "fset", "fdel", "func", "fn", "check", "py_func", "__wrapped__")
_seen: dict[int, tuple[Any, str]] = {}

# Parameters that change how fast a learner is or what it prints, not what it learns.
_WITHOUT_EFFECT = frozenset({"n_jobs", "verbose", "progress"})


def fingerprint(*values: object) -> str:
    """The fingerprint of these values together: 32 hexadecimal digits.

    Raises
    ------
    ValueError
        When a value is of a kind that cannot be compared between processes.
    """
    digest = hashlib.sha256()
    _write(values, digest.update)
    return digest.hexdigest()[:LETTERS]


def _write(value: object, write: Callable[[bytes], None]) -> None:
    """Write the components of a value, preceded by its type and their number so that no two values look the same."""
    kind, components = _components(value)
    write(f"({kind} {len(components)})".encode())
    for component in components:
        if isinstance(component, bytes):
            write(b"%d:" % len(component) + component)
        else:
            _write(component, write)


def _components(value: Any) -> tuple[str, list[Any]]:
    """(type, components) of a value; a component is bytes, or a value that has components itself."""
    kind = _identity(type(value))
    if isinstance(value, np.generic | np.ndarray):
        return kind, _components_of_array(np.asarray(value))
    if isinstance(value, _PLAIN):
        return kind, [repr(value).encode()]
    if isinstance(value, type | types.FunctionType):
        return kind, [_identity(value).encode()]
    if isinstance(value, _NAMED):
        return kind, [f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}".encode()]
    if isinstance(value, tuple | list):
        return kind, list(value)
    if isinstance(value, set | frozenset):
        return kind, sorted(fingerprint(element).encode() for element in value)
    if isinstance(value, dict):
        return kind, _sorted_pairs(value.items())
    if type(value).__name__ == "FrozenEstimator":
        return kind, [_hash_of_pickle(value), value.estimator]
    inner = _inner_values(value)
    return kind, [_hash_of_pickle(value)] if inner is None else _sorted_pairs(inner.items())


def _components_of_array(array: Array) -> list[Any]:
    if array.dtype.hasobject:
        return [array.shape, list(array.ravel())]
    return [array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()]


def _sorted_pairs(pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
    return sorted(f"{fingerprint(key)} {fingerprint(value)}".encode() for key, value in pairs)


def _inner_values(value: Any) -> dict[str, Any] | None:
    """The components of a learner, dataclass, distribution or method, by name; None for other objects."""
    if hasattr(value, "get_params"):
        params = value.get_params(deep=False)
        return {name: param for name, param in params.items() if name not in _WITHOUT_EFFECT}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(value, "dist") and hasattr(value, "kwds"):
        # A frozen distribution of scipy also holds numpy's global generator, whose state differs between processes.
        return {"distribution": type(value.dist), "arguments": value.args, "keywords": value.kwds}
    if isinstance(value, functools.partial):
        return {"function": value.func, "arguments": value.args, "keywords": value.keywords}
    if isinstance(value, types.MethodType):
        return {"function": value.__func__, "owner": value.__self__}
    return None


def _hash_of_pickle(value: object) -> bytes:
    """joblib's hash of the pickled object; the fingerprint of its attributes where it cannot be pickled."""
    try:
        return str(joblib.hash(value)).encode()
    except Exception as error:
        if hasattr(value, "__dict__"):
            return fingerprint(vars(value)).encode()
        raise ValueError(f"{value!r} cannot be told from other values of {type(value).__name__}: {error}") from error


def _identity(code: type | types.FunctionType) -> str:
    """Name and version of a class of a package, name and content of an own class and of any function."""
    version = package_version(code.__module__)
    name = _name(code)
    if version is not None and isinstance(code, type):
        return f"{name} {version}".rstrip()
    reached: dict[int, str] = {}
    todo: list[Any] = [code]
    while todo:
        one = todo.pop()
        if id(one) not in reached:
            parts, more = _of_class(one) if isinstance(one, type) else _of_function(one)
            reached[id(one)] = f"{_name(one)} {package_version(one.__module__)} {parts}"
            todo += more
    return f"{name} {hashlib.sha256(repr(list(reached.values())).encode()).hexdigest()}"


@cache
def package_version(module: str | None) -> str | None:
    """The version of the package of a module, empty where every store knows it, None where the module is own code."""
    top = str(module).partition(".")[0]
    if module is None or top in _KNOWN:
        return ""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return "" if top in sys.stdlib_module_names else None
    if _INSTALLED.intersection(Path(file).parts):
        return str(getattr(sys.modules.get(top), "__version__", None) or _version_of_distribution(top))
    return "" if Path(file).is_relative_to(sysconfig.get_path("stdlib")) else None


def _version_of_distribution(top: str) -> str:
    return ", ".join(sorted(metadata.version(name) for name in set(metadata.packages_distributions().get(top, []))))


def _name(code: Any) -> str:
    return f"{code.__module__}.{code.__qualname__}"


def _of_class(owner: type) -> tuple[list[Any], list[Any]]:
    """(content, own functions and classes that are met) of one class, its bases among them."""
    if package_version(owner.__module__) is not None:
        return [], []
    members = {name: value for name, value in vars(owner).items() if name not in _NO_CODE}
    family = [one for one in owner.__mro__ if package_version(one.__module__) is None]
    functions = [one for base in family for value in vars(base).values() for one in _code_in(value)]
    assigned = {name for one in functions if not isinstance(one, type) for name in _assigned(one.__code__)}
    written = {name: value for name, value in members.items() if name not in assigned or _code_in(value)}
    content, met = _all_described(written)
    return content, [*owner.__bases__, *met]


def _of_function(function: types.FunctionType) -> tuple[list[Any], list[Any]]:
    """The same of one function; what it names is followed where the function is an own one."""
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values(), *_cells(function)]
    values = _named(function) if package_version(function.__module__) is None else {}
    content, met = _all_described(values)
    parts = [(fingerprint(value), []) if _is_data(value) else _described(value) for value in held]
    content = [
        _text_of_code(function.__code__),
        [text for text, _ in parts],
        list(function.__kwdefaults__ or {}),
        content,
    ]
    return content, [*met, *(code for _, found in parts for code in found)]


def _is_data(value: Any) -> bool:
    return not _code_in(value) and not hasattr(value, "get_params") and not inspect.ismodule(value)


def _named(function: types.FunctionType) -> dict[str, Any]:
    """The globals that a function names, and what it may name of own modules among them."""
    names, known = sorted(_names(function.__code__)), function.__globals__
    found = {name: known[name] for name in names if name in known and name not in _assigned(function.__code__)}
    modules = [one for one in found.values() if inspect.ismodule(one) and package_version(one.__name__) is None]
    for module in modules:
        found |= {f"{module.__name__}.{name}": vars(module)[name] for name in names if name in vars(module)}
    return found


def _cells(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            yield None


def _all_described(values: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    described = [(name, *_described(value)) for name, value in values.items()]
    return [(name, text) for name, text, _ in described], [code for *_, met in described for code in met]


def _described(value: Any) -> tuple[str, list[Any]]:
    """(text of a constant, functions and classes in it); both empty for what cannot be told from its like."""
    code = _code_in(value)
    if code:
        return " ".join(map(_name, code)), code
    if isinstance(value, list | dict | set | np.ndarray):
        inner = value.values() if isinstance(value, dict) else [] if isinstance(value, np.ndarray) else value
        return _as_first_seen(value), [code for one in inner for code in _code_in(one)]
    if isinstance(value, tuple):
        parts = [_described(one) for one in value]
        return repr([text for text, _ in parts]), [code for _, found in parts for code in found]
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | frozenset | np.generic):
        return _constant(value), []
    if hasattr(value, "get_params"):
        return fingerprint(value.get_params(deep=False)), [type(value)]
    return "", [type(value)]


def _code_in(value: Any) -> list[Any]:
    """The class or function that a value is, or the functions that a descriptor, a method or a wrapper holds."""
    if isinstance(value, type | types.FunctionType):
        return [value]
    if inspect.ismodule(value):
        return []
    held = vars(type(value)).keys() | getattr(value, "__dict__", {}).keys()
    return [code for name in _WRAPPED if name in held for code in _code_in(getattr(value, name, None))]


def _as_first_seen(container: Any) -> str:
    if id(container) not in _seen:
        try:
            found = str(joblib.hash(container))
        except Exception:  # it holds what cannot be pickled
            found = ""
        _seen[id(container)] = container, found
    return _seen[id(container)][1]


def _constant(value: Any) -> str:
    """A text that is the same in every process."""
    if isinstance(value, types.CodeType):
        return _text_of_code(value)
    if isinstance(value, frozenset):
        return repr(sorted(map(_constant, value)))
    if isinstance(value, tuple):
        return repr([_constant(one) for one in value])
    return f"{type(value).__name__} {value!r}"


@cache
def _text_of_code(code: types.CodeType) -> str:
    return repr((code.co_code, code.co_names, [_constant(value) for value in code.co_consts]))


@cache
def _names(code: types.CodeType) -> frozenset[str]:
    """What code names besides its own variables, inner functions included."""
    inner = (_names(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return frozenset(code.co_names).union(*inner)


@cache
def _assigned(code: types.CodeType) -> frozenset[str]:
    """Attributes and globals that code assigns, inner functions included."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname in ("STORE_ATTR", "STORE_GLOBAL")}
    inner = (_assigned(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return frozenset(own).union(*inner)


def row_keys(X: Any) -> Array | None:
    """A number for each row, (n,), the same for the same numbers; None for tables that are not numbers."""
    try:
        table = None if np.iscomplexobj(X) else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if table is None or table.ndim != 2:
        return None
    bits = np.ascontiguousarray(table + 0.0).view(np.uint64)
    keys = np.full(len(bits), 1469598103934665603, dtype=np.uint64)
    for column in bits.T:
        keys = (keys ^ column ^ (column >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(32)
    return keys
