"""Checks of arguments, each with one sentence that names the parameter, the value given and what is allowed."""

from __future__ import annotations

import difflib
import math
import numbers
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeGuard, TypeVar

Entry = TypeVar("Entry")

# A pipeline may have a hundred parameters; a sentence lists no more than those of one scikit-learn estimator.
FEW_NAMES = 15

# More workers than any machine has; joblib overflows far beyond.
MOST_JOBS = 2**15


def is_integer(value: object, least: int) -> bool:
    """Whether a value is an integer of at least `least`; a float never is."""
    return isinstance(value, numbers.Integral) and _is_number(value) and value >= least


def whole_number(name: str, value: object, least: int = 1, *, instead: str = "") -> int:
    """`value` as an int of at least `least`.

    Parameters
    ----------
    name : the parameter's name, for the error message.
    instead : what else the parameter may be, for the error message: 'None or '.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> whole_number("n_draws", 10.0)
    10
    >>> whole_number("n_draws", float("inf"))
    Traceback (most recent call last):
    ...
    ValueError: n_draws must be a whole number of at least 1, got inf
    """
    if not _is_number(value) or not float(value).is_integer() or value < least:
        raise ValueError(f"{name} must be {instead}a whole number of at least {least}, got {value!r}")
    return int(value)


def probability(name: str, value: object) -> float:
    """`value` as a float strictly between 0 and 1.

    >>> probability("delta", 1)
    Traceback (most recent call last):
    ...
    ValueError: delta must be strictly between 0 and 1, got 1
    """
    if not _is_number(value) or not 0 < value < 1:
        raise ValueError(f"{name} must be strictly between 0 and 1, got {value!r}")
    return float(value)


def positive_number(name: str, value: object) -> float:
    """`value` as a float above 0."""
    if not _is_number(value) or not value > 0:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
    return float(value)


def finite_number(name: str, value: object) -> float:
    """`value` as a float that is neither infinite nor nan."""
    if not _is_number(value) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return float(value)


def number_of_jobs(value: object) -> None:
    """Raise ValueError for what is no number of workers, `n_jobs`."""
    if value is not None and not (is_integer(value, -MOST_JOBS) and value != 0 and value <= MOST_JOBS):  # type: ignore[operator]
        raise ValueError(f"n_jobs must be None or an integer other than 0, of at most {MOST_JOBS}, got {value!r}")


def truth(name: str, value: object) -> bool:
    """`value`, True or False.

    >>> truth("fast", "no")
    Traceback (most recent call last):
    ...
    ValueError: fast must be True or False, got 'no'
    """
    if type(value).__name__ not in ("bool", "bool_"):  # numpy's too, which is not loaded for this
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def page_path(name: str, value: str | os.PathLike[str]) -> Path:
    """`value` as the path of a page to write; a file that is there and is no page is someone's data, and is kept."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be the path of a file to write, got {value!r}")
    path = Path(value)
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(1024).lower()
        if head.strip() and b"<!doctype html" not in head and b"<html" not in head:
            raise ValueError(f"{name} {path}: this file is there already and is no HTML page; name another one")
    return path


def one_of(name: str, value: object, choices: Collection[str], *, instead: str = "") -> str:
    """`value`, one of the names that the parameter `name` may have.

    `instead` says what else it may be, for the error message: ' or None'.

    >>> one_of("honest", "nestd", ("nested", "bootstrap"), instead=" or None")
    Traceback (most recent call last):
    ...
    ValueError: honest must be one of nested, bootstrap or None, got 'nestd'; did you mean 'nested'?
    """
    if isinstance(value, str) and value in choices:
        return value
    hint = did_you_mean(nearest(value, choices))
    raise ValueError(f"{name} must be one of {', '.join(choices)}{instead}, got {value!r}{hint}")


def entry(
    kind: str, name: object, catalogue: Mapping[str, Entry], *, instead: str = "", more: Iterable[str] = ()
) -> Entry:
    """What a catalogue of criteria, rules, losses, … holds under a name.

    `instead` says what else may be given, for the error message: ' or a function'; `more` are names that are valid but
    too many to list.

    >>> entry("rule", "minimun", {"minimum": min})
    Traceback (most recent call last):
    ...
    ValueError: rule 'minimun' is unknown: use one of minimum; did you mean 'minimum'?
    """
    if isinstance(name, str) and name in catalogue:
        return catalogue[name]
    use = "use" if instead else "use one of"
    hint = did_you_mean(nearest(name, [*catalogue, *more]))
    raise ValueError(f"{kind} {name!r} is unknown: {use} {', '.join(catalogue)}{instead}{hint}")


def parameter_of(owner: str, name: str, known: Collection[str], *, few: int = FEW_NAMES) -> str:
    """`name`, a parameter that `owner` has; where it has more than `few`, an error names the nearest only.

    >>> parameter_of("Ridge", "alhpa", ["alpha", "tol"])
    Traceback (most recent call last):
    ...
    ValueError: Ridge has no parameter 'alhpa'; it has alpha, tol
    """
    if name in known:
        return name
    own = [other for other in sorted(known) if "__" not in other]
    it_has = f"; it has {', '.join(own)}{' and nested ones' if len(own) < len(known) else ''}"
    near = nearest(name, known, most=3, key=_last_part) if len(known) > few else []
    raise ValueError(f"{owner} has no parameter {name!r}{did_you_mean(near) or it_has}")


def _last_part(name: str) -> str:
    """The parameter's own name, without the steps of the pipeline that lead to it."""
    return name.rpartition("__")[2].lower()


def did_you_mean(names: Collection[str]) -> str:
    """Names to suggest, as the end of an error message; empty without any.

    >>> did_you_mean(["alpha", "gamma"])
    "; did you mean 'alpha' or 'gamma'?"
    """
    return f"; did you mean {' or '.join(map(repr, names))}?" if names else ""


def nearest(
    name: object, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6, key: Callable[[str], str] = str.lower
) -> list[str]:
    """Known names that are spelled like `name` as `key` reads them, the most alike first.

    >>> nearest("Alhpa", ["tol", "alpha"])
    ['alpha']
    """
    read: dict[str, list[str]] = {}
    for other in known:
        read.setdefault(key(other), []).append(other)
    alike = difflib.get_close_matches(key(str(name)), read, n=most, cutoff=cutoff)
    return [other for word in alike for other in read[word]][:most]
