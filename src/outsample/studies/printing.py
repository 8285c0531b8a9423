"""Findings as a text table: one line per quantity and case, one column per method, the paper's digits in brackets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

MARKS = {"yes": " ✓", "no": " ✗", "": ""}


def number(value: float) -> str:
    """About three digits, without leading zero or exponent where that can be.

    >>> number(0.4417), number(-0.05), number(9.2871), number(540.0), number(3.9e9)
    ('.442', '-.050', '9.29', '540', '3.9e+09')
    """
    if math.isnan(value):
        return "–"
    size = abs(value)
    if size >= 1e5 or (0 < size < 5e-4):
        return f"{value:.2g}"
    if size >= 100:
        return f"{value:.0f}"
    text = f"{value:.1f}" if size >= 20 else f"{value:.2f}" if size >= 1 else f"{value:.3f}"
    return text.replace("0.", ".", 1) if size < 1 else text


def text_table(findings: Iterable[Any]) -> str:
    """Findings in columns; ✓ and ✗ mark agreement with the number in brackets, the paper's."""
    listed = list(findings)
    methods = list(dict.fromkeys(finding.method for finding in listed))
    lines = {(finding.quantity, finding.case): [""] * len(methods) for finding in listed}
    for finding in listed:
        lines[finding.quantity, finding.case][methods.index(finding.method)] = _cell(finding)
    heads = ["", *methods]
    return _aligned(
        [heads, *([f"{quantity}, {case}".strip(", "), *cells] for (quantity, case), cells in lines.items())]
    )


def _cell(finding: Any) -> str:
    error = "" if math.isnan(finding.standard_error) else f"±{number(finding.standard_error)}"
    paper = "" if math.isnan(finding.paper) else f" [{number(finding.paper)}]"
    return f"{number(finding.ours)}{error}{paper}{MARKS[finding.agrees]}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)
