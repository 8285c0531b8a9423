"""What all results share: plain values, tables in print and in notebooks, and a notebook's page made of the print."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np


class Result:
    """A frozen record that says in print what was found; a notebook shows the same."""

    def _named(self, names: str) -> dict[str, Any]:
        """Attributes by name as plain Python values."""
        return {name: plain(getattr(self, name)) for name in names.split()}

    def _repr_html_(self) -> str:
        first, *rest = (html.escape(line) for line in str(self).splitlines())
        return f"<p><strong>{first}</strong><br>{'<br>'.join(rest)}</p>"


def plain(value: Any) -> Any:
    """A value as plain Python values: arrays as lists, results as dictionaries."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.to_dict() if isinstance(value, Result) and hasattr(value, "to_dict") else value


def table_in_print(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 0) -> list[str]:
    """The lines of a table, its columns aligned to the right but for the first ones."""
    lines = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(c.ljust(w) if j < left else c.rjust(w) for j, (c, w) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    ]


def table_in_html(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", below: str = "") -> str:
    """The same as a page of a notebook, with a caption and a sentence below."""

    def line(cells: Sequence[str], mark: str) -> str:
        return f"<tr>{''.join(f'<{mark}>{html.escape(cell)}</{mark}>' for cell in cells)}</tr>"

    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "".join(line(row, "td") for row in rows)
    sentence = f"<p>{html.escape(below)}</p>" if below else ""
    return f"<table>{above}{line(heads, 'th')}{body}</table>{sentence}"
