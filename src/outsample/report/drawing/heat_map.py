"""Estimates over two parameters, as coloured cells."""

from __future__ import annotations

import math

from markupsafe import Markup

from outsample.curve.words import number
from outsample.plots.elements import HeatMap
from outsample.report.drawing.frame import Frame, svg, text

# Height of a row; pixels that a digit takes in a cell.
ROW, DIGIT = 30, 6.6
# Share of the way to the worst value from which a cell's ink is dark on light.
PALE = 0.45


def heat_map(found: HeatMap, width: float, kind: str, name: str) -> Markup:
    """The map as an svg element, as high as its rows need."""
    n_rows, n_columns = found.values.shape
    left = 26 + 7.2 * max(len(label) for label in found.rows)
    row = ROW if n_rows <= 12 else 22
    height = 8 + row * n_rows + 46
    frame = Frame(width, height, 0.0, float(n_rows), n_columns, name, kind, left=left, right=8, top=8)
    cells = [_cell(frame, found, i, j) for i in range(n_rows) for j in range(n_columns)]
    every = math.ceil(n_columns * (7.2 * max(map(len, found.columns)) + 10) / (frame.end - left))
    labels = [
        *(text(left - 7, frame.y(n_rows - i - 0.5) + 4, label, "end") for i, label in enumerate(found.rows)),
        *(
            text(frame.x(j), height - 28, label, "middle")
            for j, label in enumerate(found.columns)
            if j % max(1, every) == 0
        ),
        text((left + frame.end) / 2, height - 8, found.across, "middle", "axis"),
        Markup('<text class="axis" transform="translate(13,{:.1f}) rotate(-90)" text-anchor="middle">{}</text>').format(
            8 + row * n_rows / 2, found.down
        ),
    ]
    return svg(frame, f"{found.what} over {found.down} and {found.across}", [*cells, *labels])


def _cell(frame: Frame, found: HeatMap, i: int, j: int) -> Markup:
    value = float(found.values[i, j])
    n_rows = found.values.shape[0]
    x, y = frame.x(j - 0.5), frame.y(n_rows - i)
    width, height = frame.x(1) - frame.x(0), frame.y(0) - frame.y(1)
    if math.isnan(value):
        return Markup('<rect class="empty" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            x + 1, y + 1, width - 2, height - 2
        )
    rank = float(found.rank[i, j])
    words = number(value, 3)
    title = f"{found.down} = {found.rows[i]}, {found.across} = {found.columns[j]}: {number(value)}"
    parts = [
        Markup("<title>{}</title>").format(title),
        Markup(
            '<rect class="heat" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill-opacity="{:.2f}"/>'
        ).format(x + 1, y + 1, width - 2, height - 2, 0.06 + 0.94 * (1 - rank)),
    ]
    if DIGIT * len(words) + 8 <= width:
        ink = "pale" if rank < PALE else "deep"
        parts.append(text(x + width / 2, y + height / 2 + 4, words, "middle", f"cell {ink}"))
    if (i, j) == found.chosen:
        parts.append(
            Markup('<rect class="ring" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="3"/>').format(
                x + 1, y + 1, width - 2, height - 2
            )
        )
    elif (i, j) in found.plausible:
        parts.append(Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="2.6"/>').format(x + 7, y + 7))
    return Markup("<g>{}</g>").format(Markup("").join(parts))
