"""Ticks of axes: round numbers, as a person would write them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from outsample.curve.words import number
from outsample.running.arrays import Floats

# Pixels that a character and the space between two labels take.
CHARACTER, SPACE = 7.2, 12
# Values whose ratios vary less than their differences lie on a logarithmic scale; from this ratio on it is worth one.
LOGARITHMIC = 8.0


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between low and high.

    >>> nice_ticks(0.0, 0.23)
    [0.0, 0.05, 0.1, 0.15, 0.2]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [float(f"{i * step:.10g}") for i in range(first, math.floor(high / step + 1e-9) + 1)]


def axis_labels(labels: Sequence[str], values: Floats | None, width: float) -> list[tuple[float, str]]:
    """(place, label) of the ticks of an axis over models: every model where there is room, else round values.

    Parameters
    ----------
    labels : the label of each model.
    values : the number that each label stands for, in either order; None where they stand for something else.
    width : pixels of the axis.
    """
    room = max(2, int(width / (CHARACTER * max(map(len, labels)) + SPACE)))
    if len(labels) <= room:
        return list(enumerate(labels))
    if values is None:
        return [(place, labels[place]) for place in range(0, len(labels), math.ceil(len(labels) / room))]
    return _round_values(values, min(room, 10))


def _round_values(values: Floats, most: int) -> list[tuple[float, str]]:
    """Ticks at round values, between the models where no model has one."""
    places = np.arange(len(values))
    order = np.argsort(values)
    low, high = float(values.min()), float(values.max())
    if _is_logarithmic(values[order]):
        chosen = powers_between(low, high, most)
        at = np.interp(np.log(chosen), np.log(values[order]), places[order])
    else:
        chosen = nice_ticks(low, high, most - 1)
        at = np.interp(chosen, values[order], places[order])
    return [(float(place), number(value)) for place, value in zip(at, chosen, strict=True)]


def _is_logarithmic(ascending: Floats) -> bool:
    low, high = float(ascending[0]), float(ascending[-1])
    if low <= 0 or high < LOGARITHMIC * low:
        return False
    return bool(np.ptp(np.diff(np.log(ascending))) * high < np.ptp(np.diff(ascending)) * math.log(high / low))


def powers_between(low: float, high: float, most: int) -> list[float]:
    """Powers of ten between two positive numbers, or 1, 2 and 5 times them where these are few.

    >>> powers_between(0.01, 100, 6), powers_between(3, 70, 8)
    ([0.01, 0.1, 1.0, 10.0, 100.0], [5.0, 10.0, 20.0, 50.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    powers = range(first, last + 1)

    def inside(factors: Sequence[int]) -> list[float]:
        found = [float(f"{factor}e{power}") for power in powers for factor in factors]
        return [value for value in found if low * 0.999 <= value <= high * 1.001]

    finest = [values for factors in ((1, 2, 5), (1, 3), (1,)) if 2 <= len(values := inside(factors)) <= most]
    if finest and len(inside((1,))) < 3:
        return finest[0]
    tens = inside((1,))
    return tens[:: math.ceil(len(tens) / most)] if tens else [low, high]
