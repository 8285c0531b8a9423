"""Estimates with their intervals, one line below the other; and distributions."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from outsample.curve.words import number
from outsample.plots.elements import Bars, Histogram
from outsample.plots.ticks import nice_ticks
from outsample.report.drawing.frame import Frame, svg, text

# Height of a line; pixels of a character.
ROW, CHARACTER = 26, 6.7


def bars(found: Bars, width: float, kind: str, name: str) -> Markup:
    """A point and a bar per line; names stand beside the bars, or above them where there is no room."""
    n = len(found.names)
    longest = CHARACTER * max(map(len, found.names))
    above = longest > 0.4 * width
    row = 40 if above else ROW
    top = 24 if found.heading else 6
    height = top + row * n + 46
    left = 14.0 if above else longest + 16
    low, high = _range(found)
    frame = Frame(width, height, low, high, 1, name, kind, left=left, right=16, top=top)

    def across(value: float) -> float:
        return left + (frame.end - left) * (min(max(value, low), high) - low) / (high - low)

    parts = [text(2, 14, found.heading, "start", "axis")]
    for value in nice_ticks(low, high, 5 if kind == "wide" else 3):
        parts.append(
            Markup('<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>').format(
                across(value), top, height - 46
            )
        )
        half = CHARACTER * len(number(value)) / 2
        at = min(max(across(value), half + 2), width - half - 2)
        parts.append(text(at, height - 28, number(value), "middle"))
    if found.reference is not None:
        parts.append(
            Markup('<line class="observed" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>').format(
                across(found.reference), top, height - 46
            )
        )
    for i, label in enumerate(found.names):
        y = top + row * i + (row * 0.72 if above else row / 2)
        words = _cut(label, int((width - left) / CHARACTER))
        parts.append(text(left, y - 11, words, "start") if above else text(left - 9, y + 4, words, "end"))
        parts.append(_bar(found, i, y, across))
    parts.append(text((left + frame.end) / 2, height - 8, found.across, "middle", "axis"))
    return svg(frame, f"{found.across} with intervals", parts)


def _range(found: Bars) -> tuple[float, float]:
    ends = [found.values, found.low, found.high, np.array([] if found.reference is None else [found.reference])]
    known = np.concatenate(ends)
    known = known[np.isfinite(known)]
    low, high = float(known.min()), float(known.max())
    margin = 0.05 * (high - low) or 0.1 * abs(high) or 0.1
    return low - margin, high + margin


def _bar(found: Bars, i: int, y: float, across: object) -> Markup:
    place = across
    assert callable(place)
    low, value, high = (float(values[i]) for values in (found.low, found.values, found.high))
    title = f"{found.names[i]}: {number(value)}"
    parts = []
    if np.isfinite(low) and np.isfinite(high):
        title += f" ({number(low)} to {number(high)})"
        parts.append(
            Markup('<line class="whisker" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
                place(low), place(high), y, y
            )
        )
    parts.append(Markup('<circle class="point" cx="{:.1f}" cy="{:.1f}" r="4.2"/>').format(place(value), y))
    kind = "strong" if i in found.strong else "weak"
    return Markup('<g class="bar-line {}"><title>{}</title>{}</g>').format(kind, title, Markup("").join(parts))


def _cut(label: str, most: int) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def histogram(record: Histogram, size: tuple[float, float], kind: str, name: str) -> Markup:
    """Bars of a distribution and a line where the real data stand."""
    width, height = size
    values = record.values[np.isfinite(record.values)]
    low, high = float(min(values.min(), record.observed)), float(max(values.max(), record.observed))
    pad = 0.04 * (high - low) or 0.5
    counts, edges = np.histogram(values, bins=min(40, 8 + len(values) // 20), range=(low - pad, high + pad))
    frame = Frame(width, height, 0.0, float(counts.max()) * 1.08, len(counts), name, kind)

    def across(value: float) -> float:
        return frame.x(-0.5 + len(counts) * (value - edges[0]) / (edges[-1] - edges[0]))

    columns = [
        Markup('<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            frame.x(i - 0.5) + 0.5, frame.y(c), frame.x(1) - frame.x(0) - 1, frame.y(0) - frame.y(c)
        )
        for i, c in enumerate(counts)
    ]
    ticks = [
        text(across(v), height - frame.bottom + 18, number(v), "middle") for v in nice_ticks(edges[0], edges[-1], 5)
    ]
    at = across(record.observed)
    side, shift = ("end", -6) if at > width / 2 else ("start", 6)
    seen = [
        Markup('<line class="observed" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>').format(
            at, at, frame.top, height - frame.bottom
        ),
        text(at + shift, frame.top + 10, f"the real labels: {record.observed:.4g}", side, "axis"),
        text(width / 2, height - 8, record.across, "middle", "axis"),
    ]
    return svg(frame, f"distribution of {record.across}", [*columns, *ticks, *seen])
