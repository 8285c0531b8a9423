"""What all results share: plain values, and tables in print and in notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np


class Result:
    """A frozen record that says in print what was found; a notebook shows the same.

    Attributes
    ----------
    told : names of the attributes that `to_dict` has.
    """

    told: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values."""
        return {name: plain(getattr(self, name)) for name in self.told.split()}

    def _repr_html_(self) -> str:
        first, *rest = (html.escape(line) for line in str(self).splitlines())
        return f"<p>{'<br>'.join([f'<strong>{first}</strong>', *rest])}</p>"


class TableResult(Result):
    """A result that is a table, with a line above and sentences below; a notebook shows the first of them.

    Attributes
    ----------
    columns_of_words : how many columns are aligned to the left, as words are.
    """

    columns_of_words: ClassVar[int] = 1

    def table(self) -> tuple[list[str], list[list[str]]]:
        """(headings, rows) as readable text."""
        raise NotImplementedError

    def _above(self) -> str:
        return ""

    def _below(self) -> Sequence[str]:
        return ()

    def __str__(self) -> str:
        lines = table_in_print(*self.table(), self.columns_of_words)
        return "\n".join([*filter(None, [self._above()]), *lines, *self._below()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return table_in_html(*self.table(), self._above(), *self._below()[:1])


def plain(value: Any) -> Any:
    """A value as plain Python values: arrays as lists, results as dictionaries."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.to_dict() if isinstance(value, Result) else value


def table_in_print(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """The lines of a table, the first columns aligned to the left and the others to the right."""
    lines = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            c.ljust(w) if j < left else c.rjust(w) for j, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def table_in_html(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", below: str = "") -> str:
    """The same for a notebook, with a caption and a sentence below."""

    def line(cells: Sequence[str], mark: str) -> str:
        return f"<tr>{''.join(f'<{mark}>{html.escape(cell)}</{mark}>' for cell in cells)}</tr>"

    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "".join(line(row, "td") for row in rows)
    sentence = f"<p>{html.escape(below)}</p>" if below else ""
    return f"<table>{above}{line(heads, 'th')}{body}</table>{sentence}"
