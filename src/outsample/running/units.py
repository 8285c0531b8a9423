"""Short names for values: equal values have equal names in every process, others do not.

Objects are told apart by what they hold, not by where they are in memory. Learners count by their class and
parameters, functions by what they do, arrays by their numbers; printed text, which is cut short, counts nowhere.
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

LETTERS = 32

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, itertools.count)
_NAMED = (type, types.BuiltinFunctionType, np.ufunc)

# Parameters that change how fast or how talkative a learner is, not what it learns.
_WITHOUT_EFFECT = frozenset({"n_jobs", "verbose", "progress"})


def fingerprint(*values: Any) -> str:
    """A name for these values together, made of hexadecimal digits.

    Raises
    ------
    ValueError
        When a value is of a kind that cannot be compared between processes.
    """
    digest = hashlib.sha256()
    _tell(values, digest.update)
    return digest.hexdigest()[:LETTERS]


def _tell(value: Any, write: Callable[[bytes], None]) -> None:
    """Write what a value consists of; every part says its kind and how many parts follow."""
    kind, parts = _parts(value)
    write(f"({kind} {len(parts)})".encode())
    for part in parts:
        if isinstance(part, bytes):
            write(b"%d:" % len(part) + part)
        else:
            _tell(part, write)


def _parts(value: Any) -> tuple[str, list[Any]]:
    """(kind, parts) of a value: bytes that say everything, or further values."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, np.generic | np.ndarray):
        return kind, _parts_of_array(np.asarray(value))
    if isinstance(value, _PLAIN):
        return kind, [repr(value).encode()]
    if isinstance(value, _NAMED):
        return kind, [f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}".encode()]
    if isinstance(value, tuple | list):
        return kind, list(value)
    if isinstance(value, set | frozenset):
        return kind, sorted(fingerprint(member).encode() for member in value)
    if isinstance(value, dict):
        return kind, _sorted_pairs(value.items())
    inner = _inner_values(value)
    return kind, [_by_pickling(value)] if inner is None else _sorted_pairs(inner.items())


def _parts_of_array(array: np.ndarray[Any, Any]) -> list[Any]:
    if array.dtype.hasobject:
        return [array.shape, list(array.ravel())]
    return [array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()]


def _sorted_pairs(pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
    return sorted(f"{fingerprint(key)} {fingerprint(value)}".encode() for key, value in pairs)


def _inner_values(value: Any) -> dict[str, Any] | None:
    """What a learner, a record or a function consists of, by name; None for other objects."""
    if hasattr(value, "get_params") and type(value).__name__ != "FrozenEstimator":
        params = value.get_params(deep=False)
        return {name: param for name, param in params.items() if name not in _WITHOUT_EFFECT}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(value, "dist") and hasattr(value, "kwds"):
        # A distribution of scipy also holds the state of numpy's generator, which differs between processes.
        return {"distribution": type(value.dist), "arguments": value.args, "keywords": value.kwds}
    if isinstance(value, functools.partial):
        return {"function": value.func, "arguments": value.args, "keywords": value.keywords}
    if isinstance(value, types.MethodType):
        return {"function": value.__func__, "owner": value.__self__}
    if isinstance(value, types.FunctionType):
        return _inner_values_of_function(value)
    return None


def _inner_values_of_function(function: types.FunctionType) -> dict[str, Any]:
    """What a function does: its code, its defaults, and the values it closed over."""
    return {
        "name": f"{function.__module__}.{function.__qualname__}",
        "code": _code(function.__code__),
        "defaults": (function.__defaults__, function.__kwdefaults__),
        "closure": [cell.cell_contents for cell in function.__closure__ or ()],
    }


def _code(code: types.CodeType) -> tuple[Any, ...]:
    constants = [_code(part) if isinstance(part, types.CodeType) else part for part in code.co_consts]
    return code.co_code, code.co_names, constants


def _by_pickling(value: Any) -> bytes:
    try:
        return str(joblib.hash(value)).encode()
    except Exception as error:
        if hasattr(value, "__dict__"):
            return fingerprint(vars(value)).encode()
        raise ValueError(f"{value!r} cannot be told from other values of {type(value).__name__}: {error}") from error
