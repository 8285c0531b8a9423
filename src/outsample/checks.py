"""Checks of arguments that are made in more than one place: one sentence with the parameter and the value."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_integer(value: object, least: int) -> bool:
    """Whether a value is an integer of at least `least`."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


def whole_number(name: str, value: Any, least: int = 1, *, instead: str = "") -> int:
    """`value` as an int of at least `least`.

    Parameters
    ----------
    name : the parameter's name in the sentence that refuses it.
    instead : what else the parameter may be, for that sentence: 'None or '.

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
    whole = isinstance(value, float | np.floating) and float(value).is_integer() and value >= least
    if not whole and not is_integer(value, least):
        raise ValueError(f"{name} must be {instead}a whole number of at least {least}, got {value!r}")
    return int(value)
