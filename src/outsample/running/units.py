"""Fingerprints of values: equal values have equal fingerprints in every process, different values different ones.

They name the units of a store. A learner is identified by its class and parameters, a function by its code, defaults
and closure, an array by its numbers. Neither memory addresses nor printed text, which numpy and pandas abbreviate, is
used.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import types
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import joblib
import numpy as np

from outsample.running.arrays import Array

LETTERS = 32

# Types that `repr` describes completely, and types that are known by their qualified name.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, itertools.count)
_NAMED = (type, types.BuiltinFunctionType, np.ufunc)

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
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, np.generic | np.ndarray):
        return kind, _components_of_array(np.asarray(value))
    if isinstance(value, _PLAIN):
        return kind, [repr(value).encode()]
    if isinstance(value, _NAMED):
        return kind, [f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}".encode()]
    if isinstance(value, tuple | list):
        return kind, list(value)
    if isinstance(value, set | frozenset):
        return kind, sorted(fingerprint(element).encode() for element in value)
    if isinstance(value, dict):
        return kind, _sorted_pairs(value.items())
    inner = _inner_values(value)
    return kind, [_hash_of_pickle(value)] if inner is None else _sorted_pairs(inner.items())


def _components_of_array(array: Array) -> list[Any]:
    if array.dtype.hasobject:
        return [array.shape, list(array.ravel())]
    return [array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()]


def _sorted_pairs(pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
    return sorted(f"{fingerprint(key)} {fingerprint(value)}".encode() for key, value in pairs)


def _inner_values(value: Any) -> dict[str, Any] | None:
    """The components of a learner, dataclass, distribution or function, by name; None for other objects."""
    if hasattr(value, "get_params") and type(value).__name__ != "FrozenEstimator":
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
    if isinstance(value, types.FunctionType):
        return _inner_values_of_function(value)
    return None


def _inner_values_of_function(function: types.FunctionType) -> dict[str, Any]:
    """The code of a function, its defaults and the values of its closure."""
    return {
        "name": f"{function.__module__}.{function.__qualname__}",
        "code": _code(function.__code__),
        "defaults": (function.__defaults__, function.__kwdefaults__),
        "closure": [cell.cell_contents for cell in function.__closure__ or ()],
    }


def _code(code: types.CodeType) -> tuple[Any, ...]:
    constants = [_code(value) if isinstance(value, types.CodeType) else value for value in code.co_consts]
    return code.co_code, code.co_names, constants


def _hash_of_pickle(value: object) -> bytes:
    """joblib's hash of the pickled object; the fingerprint of its attributes where it cannot be pickled."""
    try:
        return str(joblib.hash(value)).encode()
    except Exception as error:
        if hasattr(value, "__dict__"):
            return fingerprint(vars(value)).encode()
        raise ValueError(f"{value!r} cannot be told from other values of {type(value).__name__}: {error}") from error
