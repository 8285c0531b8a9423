"""Charts as SVG, in a wide and a narrow form; colours come from the style sheet of the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from outsample.report.content import Chart, Histogram, Line
from outsample.running.arrays import Floats

COLOURS = 8
MOST_MARKERS = 25
# Marks that tell lines apart without colour, in units of their radius.
MARKS = (
    "M-1,0a1,1 0 1,0 2,0a1,1 0 1,0 -2,0Z",
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.3L1.3,0L0,1.3L-1.3,0Z",
    "M0,-1.2L1.15,.9H-1.15Z",
    "M0,1.2L1.15,-.9H-1.15Z",
    "M-.4,-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
)
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2")
RADIUS = 3.2


@dataclass(frozen=True)
class Frame:
    """The plotting area of a chart: maps models and values to positions in the drawing."""

    width: float
    height: float
    low: float
    high: float
    count: int
    kind: str = "wide"
    left: float = 54
    right: float = 14
    top: float = 12
    bottom: float = 46

    @property
    def clip(self) -> str:
        """Reference to the clip path: lines are cut off outside the plotting area."""
        return f"url(#inside-{self.kind})"

    def x(self, place: float) -> float:
        """Horizontal position of a model, by its place on the curve."""
        return self.left + (self.width - self.left - self.right) * (place + 0.5) / self.count

    def y(self, value: float) -> float:
        """Vertical position of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.height - self.bottom - (self.height - self.top - self.bottom) * share


def line_chart(chart: Chart, width: float, height: float, kind: str) -> Markup:
    """The chart as an svg element."""
    low, high = _limits([line.values for line in chart.lines])
    frame = Frame(width, height, low, high, len(chart.settings), kind)
    parts = [*_axes(frame, chart), *_bands(frame, chart)]
    parts += [_line(frame, line, i) for i, line in enumerate(chart.lines)]
    cross = Markup('<line class="cross" y1="{}" y2="{}" visibility="hidden"/>').format(
        frame.top, frame.height - frame.bottom
    )
    return _svg(frame, f"{chart.up} over {chart.across}", Markup("").join([*parts, cross]))


def _svg(frame: Frame, label: str, inside: Markup) -> Markup:
    start, end = frame.x(-0.5), frame.x(frame.count - 0.5)
    return Markup(
        '<svg class="chart {}" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}" tabindex="0" data-start="{:.2f}" '
        'data-end="{:.2f}"><defs><clipPath id="inside-{}"><rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
        "</clipPath></defs>{}</svg>"
    ).format(
        *(frame.kind, frame.width, frame.height, label, start, end, frame.kind),
        *(frame.left, frame.top - 4, end - frame.left, frame.height - frame.top - frame.bottom + 4),
        inside,
    )


def _limits(lines: Sequence[Floats]) -> tuple[float, float]:
    """Low and high end of the axis; a few models that are far worse than all others are cut off."""
    values = np.concatenate(lines)
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    usual = low + 4 * (float(np.quantile(values, 0.8)) - low)
    high = min(high, usual) if usual > low else high
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 0.1
    return (0.0 if 0 <= low <= 0.35 * high else low - margin), high + margin


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


def _axes(frame: Frame, chart: Chart) -> Iterator[Markup]:
    end = frame.width - frame.right
    for value in nice_ticks(frame.low, frame.high):
        at = frame.y(value)
        yield Markup('<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
            frame.left, end, at, at
        )
        yield _text(frame.left - 7, at + 4, f"{value:g}", "end")
    longest = max(len(tick) for tick in chart.ticks)
    room = max(1, int((end - frame.left) / (7.2 * longest + 12)))
    for place in range(0, frame.count, math.ceil(frame.count / room)):
        yield _text(frame.x(place), frame.height - frame.bottom + 18, chart.ticks[place], "middle")
    yield _text((frame.left + end) / 2, frame.height - 8, chart.across, "middle", "axis")
    yield Markup(
        '<text class="axis" transform="translate(13,{:.1f}) rotate(-90)" text-anchor="middle">{}</text>'
    ).format((frame.top + frame.height - frame.bottom) / 2, chart.up)


def _text(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(kind, x, y, anchor, text)


def _bands(frame: Frame, chart: Chart) -> Iterator[Markup]:
    """The optimism as a band between the in-sample line and the line of a single criterion."""
    criteria = [(i, line) for i, line in enumerate(chart.lines) if line.kind == "criterion"]
    fitted = [line for line in chart.lines if line.kind == "in-sample"]
    if len(criteria) == 1 and fitted:
        ((place, line),) = criteria
        shape = _between(frame, fitted[0].values, line.values)
        yield Markup('<path class="optimism" data-line="{}" clip-path="{}" d="{}"/>').format(place, frame.clip, shape)


def _between(frame: Frame, lower: Floats, upper: Floats) -> str:
    known = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper)).tolist()
    there = [f"{frame.x(i):.1f},{frame.y(upper[i]):.1f}" for i in known]
    back = [f"{frame.x(i):.1f},{frame.y(lower[i]):.1f}" for i in known[::-1]]
    return "M" + "L".join([*there, *back]) + "Z" if len(known) else ""


def _line(frame: Frame, line: Line, place: int) -> Markup:
    known = [i for i in range(frame.count) if np.isfinite(line.values[i])]
    points = [(frame.x(i), frame.y(float(line.values[i]))) for i in known]
    path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points) if points else ""
    parts = [
        Markup('<path class="stroke" clip-path="{}" stroke-dasharray="{}" d="{}"/>').format(
            frame.clip, dash_of(place), path
        )
    ]
    if line.error is not None:
        band = _between(frame, line.values - line.error, line.values + line.error)
        parts.insert(0, Markup('<path class="band" clip-path="{}" d="{}"/>').format(frame.clip, band))
    if line.kind == "criterion":
        every = math.ceil(len(points) / MOST_MARKERS) or 1
        parts += [mark(place, x, y) for x, y in points[::every] if y >= frame.top - 4]
    if line.chosen is not None and np.isfinite(line.values[line.chosen]):
        x, y = frame.x(line.chosen), frame.y(float(line.values[line.chosen]))
        parts.append(mark(place, x, y))
        parts.append(Markup('<circle class="chosen" cx="{:.1f}" cy="{:.1f}" r="8"/>').format(x, y))
    return Markup('<g class="line colour-{} {}" data-line="{}">{}</g>').format(
        colour_of(place), line.kind, place, Markup("").join(parts)
    )


def colour_of(place: int) -> int:
    """The number of a line's colour; 0 is for in-sample, the first."""
    return 0 if place == 0 else 1 + (place - 1) % (COLOURS - 1)


def dash_of(place: int) -> str:
    """The dashes of a line; in-sample, the first, is dotted."""
    return "2 4" if place == 0 else DASHES[(place - 1) % len(DASHES)]


def mark(place: int, x: float, y: float) -> Markup:
    """The mark of a line at a point."""
    return Markup('<path class="mark" transform="translate({:.1f},{:.1f}) scale({})" d="{}"/>').format(
        x, y, RADIUS, MARKS[(place - 1) % len(MARKS)]
    )


def histogram(record: Histogram, width: float, height: float, kind: str) -> Markup:
    """Bars of a distribution and a line where the real data stand."""
    values = record.values[np.isfinite(record.values)]
    low, high = float(min(values.min(), record.observed)), float(max(values.max(), record.observed))
    pad = 0.04 * (high - low) or 0.5
    counts, edges = np.histogram(values, bins=min(40, 8 + len(values) // 20), range=(low - pad, high + pad))
    frame = Frame(width, height, 0.0, float(counts.max()) * 1.08, len(counts), kind)

    def across(value: float) -> float:
        return frame.x(-0.5 + len(counts) * (value - edges[0]) / (edges[-1] - edges[0]))

    bars = [
        Markup('<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            frame.x(i - 0.5) + 0.5, frame.y(c), frame.x(1) - frame.x(0) - 1, frame.y(0) - frame.y(c)
        )
        for i, c in enumerate(counts)
    ]
    ticks = [
        _text(across(v), height - frame.bottom + 18, f"{v:g}", "middle") for v in nice_ticks(edges[0], edges[-1], 5)
    ]
    at = across(record.observed)
    side, shift = ("end", -6) if at > width / 2 else ("start", 6)
    seen = [
        Markup('<line class="observed" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>').format(
            at, at, frame.top, height - frame.bottom
        ),
        _text(at + shift, frame.top + 10, f"the real labels: {record.observed:.4g}", side, "axis"),
        _text(width / 2, height - 8, record.across, "middle", "axis"),
    ]
    return _svg(frame, f"distribution of {record.across}", Markup("").join([*bars, *ticks, *seen]))
