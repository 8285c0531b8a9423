"""Numbers as people write them."""

from __future__ import annotations

WRITTEN_OUT = 1e9


def numeral(value: float, digits: int = 4) -> str:
    """A number in significant digits; large ones are written out: 123, not 1.2e+02.

    Examples
    --------
    >>> numeral(0.01234, 2), numeral(123.4, 2), numeral(29874.3), numeral(2e12)
    ('0.012', '123', '29874', '2e+12')
    """
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < WRITTEN_OUT else text
