"""The shape of an interval around an estimate, by the range that the loss can have.

An estimate with limits on both sides, such as a share of errors or an area under the ROC curve, has Wilson's interval
at the number of rows that would know it as well as its standard error says; it stays within the limits, and is not a
point where no error was seen. One with a limit on one side, such as a squared error or r2, has an interval that is
symmetric in the logarithm of its distance from that limit: losses are skewed. Everything else is estimate ± quantile ×
error.
"""

from __future__ import annotations

import math


def shaped_interval(
    center: float,
    error: float,
    quantile: float,
    limits: tuple[float, float],
    rows: float,
    units: float | None = None,
) -> tuple[float, float]:
    """(low, high) around `center`.

    Parameters
    ----------
    error : standard error of `center`, everything included.
    quantile : of the normal distribution or Student's, for the wanted level.
    limits : least and greatest possible value, infinite where there is none.
    rows : equally weighted rows that are behind the estimate, which limit what can be known of one near a limit.
    units : those of them that are independent, which tell of an estimate at a limit; all unless given.

    Examples
    --------
    >>> [round(end, 3) for end in shaped_interval(0.1, 0.03, 1.96, (0.0, 1.0), 100)]
    [0.055, 0.174]
    >>> [round(end, 3) for end in shaped_interval(0.0, 0.0, 1.96, (0.0, 1.0), 100)]
    [0.0, 0.037]
    >>> [round(end, 2) for end in shaped_interval(4.0, 1.0, 1.96, (0.0, math.inf), 100)]
    [2.45, 6.53]
    """
    low, high = limits
    units = rows if units is None else units
    if math.isfinite(low) and math.isfinite(high):
        start, end = _wilson((center - low) / (high - low), error / (high - low), quantile, rows, units)
        return low + (high - low) * start, low + (high - low) * end
    if math.isfinite(low) and center > low:
        factor = _factor(quantile * error / (center - low))
        return low + (center - low) / factor, low + (center - low) * factor
    if math.isfinite(high) and center < high:
        factor = _factor(quantile * error / (high - center))
        return high - (high - center) * factor, high - (high - center) / factor
    return center - quantile * error, center + quantile * error


# An error that is far larger than the distance from the limit says little of orders of magnitude: beyond this power the
# exponential function goes on along its tangent, so that the far end is some seven times that of estimate ± error.
_TANGENT_FROM = 2.0


def _factor(power: float) -> float:
    """By how much an end is further from the limit than the estimate, or nearer."""
    return math.exp(min(power, _TANGENT_FROM)) * (1 + max(0.0, power - _TANGENT_FROM))


# An interval may stand for so many times the rows there are. The area A under a ROC curve that is nearly 1 is known as
# well as a share of twice its m positive rows (its variance is then (1 − A)/(2 m), Hanley & McNeil 1982). The standard
# error may be much smaller by luck, because hardly any pair of rows is out of order.
MOST_PER_ROW = 2.0


def _wilson(share: float, error: float, quantile: float, rows: float, units: float) -> tuple[float, float]:
    """Wilson's interval for a share, at the number of rows that its standard error stands for."""
    share = min(max(share, 0.0), 1.0)
    spread = share * (1 - share)
    n = min(spread / error**2, MOST_PER_ROW * rows) if spread > 0 and error > 0 else max(units, 1.0)
    weight = quantile**2 / n
    middle = (share + weight / 2) / (1 + weight)
    half = quantile / (1 + weight) * math.sqrt(spread / n + weight / (4 * n))
    # The end at a limit is known; computed, it would be off by rounding.
    low = max(0.0, middle - half) if share > 0 else 0.0
    return low, min(1.0, middle + half) if share < 1 else 1.0
