"""A drawing as an svg element of a page, wide or narrow. Colours are classes, which the style sheet turns dark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from outsample.curve.words import number
from outsample.running.arrays import Floats
from outsample.view.drawings import Cells, Columns, Drawing, Level, Series

SIZES = {"wide": (760.0, 380.0), "narrow": (370.0, 330.0)}
# Pixels of a character and of the space between two labels, right of the plotting area and below it.
CHARACTER, SPACE, RIGHT, BOTTOM = 7.2, 12, 16, 46
# Height of a row of points, of points below their names, of cells, and of cells of many rows.
ROW, TALL_ROW, CELL, FLAT_CELL, MANY_ROWS = 26, 40, 30, 22, 12
# Worse values than so many times the spread of the better four fifths are cut off.
CUT_OFF = 4
# Values whose ratios vary less than their differences lie on a logarithmic scale; from this ratio on it is worth one.
LOGARITHMIC = 8.0
# Share of the way to the worst value from which a cell's ink is dark on light.
PALE = 0.45
COLOURS, MOST_MARKS, RADIUS = 7, 25, 3.2
# Marks that tell lines apart without colour, in units of their radius.
MARKS = (
    "M-1,0a1,1 0 1,0 2,0a1,1 0 1,0 -2,0Z",
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.3L1.3,0L0,1.3L-1.3,0Z",
    "M0,-1.2L1.15,.9H-1.15Z",
    "M0,1.2L1.15,-.9H-1.15Z",
    "M-.4,-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
)
CROSS = "M-1,-1L1,1M-1,1L1,-1"
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2")


@dataclass(frozen=True)
class Scale:
    """Positions of numbers between two ends of the drawing."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = np.log([self.low, self.high, value]) if self.log else (self.low, self.high, value)
        return float(self.start + (self.end - self.start) * (at - low) / (high - low))

    def ticks(self, most: int) -> list[float]:
        """Round numbers between the ends."""
        return powers_between(self.low, self.high, most) if self.log else nice_ticks(self.low, self.high, most)


@dataclass(frozen=True)
class Frame:
    """The plotting area of a drawing; `clip` is the name of the path that cuts lines off outside of it."""

    drawing: Drawing
    width: float
    height: float
    x: Scale
    y: Scale
    clip: str
    above: bool = False

    @classmethod
    def of(cls, drawing: Drawing, kind: str, name: str) -> Frame:
        """The area of one size; drawings with labels on the left are as high as their rows need."""
        (width, height), rows = SIZES[kind], len(drawing.up.labels)
        top, above = 24 if drawing.heading else 12, False
        if rows:
            cells = any(isinstance(layer, Cells) for layer in drawing.layers)
            longest = CHARACTER * max(map(len, drawing.up.labels))
            above = not cells and longest > 0.4 * width
            flat = FLAT_CELL if rows > MANY_ROWS else CELL
            height = top + rows * (flat if cells else TALL_ROW if above else ROW) + BOTTOM
            y = Scale(-0.5, rows - 0.5, top, height - BOTTOM)
            left = 14.0 if above else longest + (26 if drawing.up.name else 16)
        else:
            low, high = _limits(drawing, upright=True)
            y = Scale(low, high, height - BOTTOM, top, drawing.up.log)
            left = 29 + 7 * max((len(number(value)) for value in y.ticks(6)), default=4)
        places = len(drawing.across.labels)
        ends = (-0.5, places - 0.5) if places else _limits(drawing, upright=False)
        x = Scale(*ends, left, width - RIGHT, drawing.across.log)
        return cls(drawing, width, height, x, y, f"inside-{name}-{kind}", above)

    @property
    def top(self) -> float:
        return min(self.y.start, self.y.end)

    @property
    def bottom(self) -> float:
        return self.height - BOTTOM

    def at(self, place: float, value: float) -> tuple[float, float]:
        """Where a value at a place is drawn."""
        return (self.x(value), self.y(place)) if self.drawing.sideways else (self.x(place), self.y(value))


def _limits(drawing: Drawing, upright: bool) -> tuple[float, float]:
    """Low and high end of an axis of numbers."""
    of_values = upright != drawing.sideways
    axis = drawing.up if upright else drawing.across
    if of_values and axis.better and not drawing.sideways:
        lines = [layer.values for layer in drawing.layers if isinstance(layer, Series)]
        return limits(np.concatenate(lines), worse_is_up=axis.better == "low")
    found: list[Any] = []
    for layer in drawing.layers:
        if isinstance(layer, Series):
            found += [layer.values, layer.low, layer.high] if of_values else [layer.at]
        elif isinstance(layer, Columns):
            heights = layer.heights if layer.errors is None else layer.heights + layer.errors
            found += [heights, [0.0]] if of_values else [layer.left, layer.left + layer.width]
        elif isinstance(layer, Level) and not upright:
            found.append([layer.at])
    known = np.concatenate([np.asarray(values, dtype=np.float64) for values in found if values is not None])
    known = np.log(known[known > 0]) if axis.log else known[np.isfinite(known)]
    low, high = float(known.min()), float(known.max())
    margin = 0.05 * (high - low) or 0.1 * abs(high) or 0.1
    low, high = (0.0 if low == 0 and upright else low - margin), high + margin
    return (math.exp(low), math.exp(high)) if axis.log else (low, high)


def limits(values: Floats, worse_is_up: bool = True) -> tuple[float, float]:
    """Low and high end of an axis; a few values that are far worse than all others are cut off."""
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return 0.0, 1.0
    known = known if worse_is_up else -known
    low, high = float(known.min()), float(known.max())
    usual = low + CUT_OFF * (float(np.quantile(known, 0.8)) - low)
    high = min(high, usual) if usual > low else high
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 0.1
    ends = (0.0 if 0 <= low <= 0.35 * high else low - margin), high + margin
    return ends if worse_is_up else (-ends[1], -ends[0])


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


def powers_between(low: float, high: float, most: int) -> list[float]:
    """Powers of ten between two positive numbers, or 1, 2 and 5 times them where these are few.

    >>> powers_between(0.01, 100, 6), powers_between(3, 70, 8)
    ([0.01, 0.1, 1.0, 10.0, 100.0], [5.0, 10.0, 20.0, 50.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)

    def inside(factors: Sequence[int]) -> list[float]:
        found = [float(f"{factor}e{power}") for power in powers for factor in factors]
        return [value for value in found if low * 0.999 <= value <= high * 1.001]

    tens = inside((1,))
    finest = [values for factors in ((1, 2, 5), (1, 3), (1,)) if 2 <= len(values := inside(factors)) <= most]
    if finest and len(tens) < 3:
        return finest[0]
    return tens[:: math.ceil(len(tens) / most)] if tens else [low, high]


def axis_labels(labels: Sequence[str], values: Floats | None, width: float) -> list[tuple[float, str]]:
    """(place, label) of the ticks of an axis over places: every place where there is room, else round values.

    Parameters
    ----------
    labels, values : of the places, see `Axis`.
    width : pixels of the axis.
    """
    room = max(2, int(width / (CHARACTER * max(map(len, labels)) + SPACE)))
    if len(labels) <= room:
        return list(enumerate(labels))
    if values is None:
        return [(place, labels[place]) for place in range(0, len(labels), math.ceil(len(labels) / room))]
    places, order, most = np.arange(len(values)), np.argsort(values), min(room, 10)
    ascending = values[order]
    low, high = float(ascending[0]), float(ascending[-1])
    log = low > 0 and high >= LOGARITHMIC * low
    if log:
        log = np.ptp(np.diff(np.log(ascending))) / math.log(high / low) < np.ptp(np.diff(ascending)) / high
    if log:
        chosen = powers_between(low, high, most)
        at = np.interp(np.log(chosen), np.log(ascending), places[order])
    else:
        chosen = nice_ticks(low, high, most - 1)
        at = np.interp(chosen, ascending, places[order])
    return [(float(place), number(value)) for place, value in zip(at, chosen, strict=True)]


def drawn(drawing: Drawing, kind: str, name: str) -> Markup:
    """The svg element of a drawing, "wide" or "narrow"; `name` tells it from others on the page."""
    frame = Frame.of(drawing, kind, name)
    parts = [*_vertical_axis(frame), *_horizontal_axis(frame, 6 if kind == "wide" else 3)]
    levels = [layer for layer in drawing.layers if isinstance(layer, Level)]
    for layer in drawing.layers:
        if isinstance(layer, Series):
            parts.append(_line_or_points(frame, layer))
        elif isinstance(layer, Columns):
            parts += _bars(frame, layer)
        elif isinstance(layer, Level):
            parts += _level(frame, layer, levels.index(layer))
        else:
            parts += _heat_map(frame, layer)
    if drawing.across.titles:
        parts.append(_line("cross", 0, frame.top, 0, frame.bottom, Markup(' visibility="hidden"')))
    values, places = (drawing.across, drawing.up) if drawing.sideways else (drawing.up, drawing.across)
    left, right = frame.x.start, frame.x.end
    return Markup(
        '<svg class="chart {}" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}"{} data-start="{:.2f}" '
        'data-end="{:.2f}"><defs><clipPath id="{}"><rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
        "</clipPath></defs>{}</svg>"
    ).format(
        *(kind, frame.width, frame.height, " over ".join(filter(None, (values.name, places.name, drawing.heading)))),
        *(Markup(' tabindex="0"') if drawing.across.titles else "", left, right, frame.clip),
        *(left, frame.top - 4, right - left, frame.bottom - frame.top + 4, Markup("").join(parts)),
    )


def legend(drawing: Drawing) -> list[dict[str, Any]]:
    """The lines that a page can switch off: how they look, and what they are called."""
    lines = [layer for layer in drawing.layers if isinstance(layer, Series) and layer.kind != "optimism"]
    return [
        {
            "name": line.name,
            "number": line.number,
            "colour": _colour(line.number),
            "dash": _dash(line.number),
            "mark": _mark(_mark_of(line), 15, 6) if line.marked else "",
        }
        for line in lines
        if drawing.across.titles
    ]


def _vertical_axis(frame: Frame) -> Iterator[Markup]:
    axis = frame.drawing.up
    yield text(2, 14, frame.drawing.heading, "start", "axis")
    for place, label in enumerate(axis.labels):
        y = frame.y(place)
        x, below, anchor = (frame.x.start, -9, "start") if frame.above else (frame.x.start - 8, 4, "end")
        yield text(x, y + below, _cut(label, frame.width), anchor)
    for value in [] if axis.labels else frame.y.ticks(6):
        y = frame.y(value)
        yield _line("grid", frame.x.start, y, frame.x.end, y)
        yield text(frame.x.start - 7, y + 4, number(value), "end")
    if axis.name:
        yield Markup(
            '<text class="axis" transform="translate(13,{:.1f}) rotate(-90)" text-anchor="middle">{}</text>'
        ).format((frame.top + frame.bottom) / 2, axis.name)


def _horizontal_axis(frame: Frame, most: int) -> Iterator[Markup]:
    axis, scale = frame.drawing.across, frame.x
    if axis.labels:
        ticks = axis_labels(axis.labels, axis.values, scale.end - scale.start)
    else:
        ticks = [(value, number(value)) for value in scale.ticks(most)]
    for value, label in ticks:
        half = 3.6 * len(label)
        at = min(max(scale(value), half + 2), frame.width - half - 2)
        if frame.drawing.sideways:
            yield _line("grid", scale(value), frame.top, scale(value), frame.bottom)
        yield text(at, frame.bottom + 18, label, "middle")
    name = _cut(axis.name, frame.width)
    half = CHARACTER * len(name) / 2
    at = max(half, min((scale.start + scale.end) / 2, frame.width - half))
    yield text(at, frame.height - 8, name, "middle", "axis")


def _cut(words: str, width: float) -> str:
    most = int(width / CHARACTER)
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _line_or_points(frame: Frame, line: Series) -> Markup:
    """A line with its band, its marks and its rings, or points with their bars."""
    known = np.flatnonzero(np.isfinite(line.values)).tolist()
    points = [frame.at(float(line.at[i]), float(line.values[i])) for i in known]
    parts = []
    if not line.joined:
        parts += [_point(frame, line, i, *point) for i, point in zip(known, points, strict=True)]
    else:
        if line.low is not None and line.high is not None:
            there = [frame.at(*pair) for pair in zip(line.at, line.high, strict=True) if np.isfinite(pair).all()]
            back = [frame.at(*pair) for pair in zip(line.at, line.low, strict=True) if np.isfinite(pair).all()]
            parts.append(_path("band", frame, [*there, *back[::-1]]))
        parts.append(
            _path("stroke", frame, points, _dash(line.number) if line.kind in ("criterion", "in-sample") else "")
        )
        at_end = line.kind in ("won", "remained", "dropped")
        marked = points[-1:] if at_end else points[:: math.ceil(len(points) / MOST_MARKS) or 1] if line.marked else []
        ringed = [frame.at(float(line.at[i]), float(line.values[i])) for _, i in line.rings if i in known]
        parts += [_mark(_mark_of(line), x, y) for x, y in [*marked, *ringed] if frame.top - 4 <= y <= frame.bottom + 4]
        parts += [Markup('<circle class="chosen" cx="{:.1f}" cy="{:.1f}" r="8"/>').format(x, y) for x, y in ringed]
    return Markup('<g class="line colour-{} {}" data-line="{}"><title>{}</title>{}</g>').format(
        _colour(line.number), line.kind, line.number, line.name, Markup("").join(parts)
    )


def _point(frame: Frame, line: Series, i: int, x: float, y: float) -> Markup:
    place, value, labels = float(line.at[i]), float(line.values[i]), frame.drawing.up.labels
    title, bar = f"{labels[int(place)] if labels else line.name}: {number(value)}", Markup("")
    if line.low is not None and line.high is not None and np.isfinite(line.low[i] + line.high[i]):
        low, high = float(line.low[i]), float(line.high[i])
        title += f" ({number(low)} to {number(high)})"
        bar = _line("whisker", *frame.at(place, low), *frame.at(place, high))
    return Markup("<g><title>{}</title>{}{}</g>").format(title, bar, _mark(_mark_of(line), x, y, 4))


def _bars(frame: Frame, columns: Columns) -> Iterator[Markup]:
    for i, (left, height) in enumerate(zip(columns.left.tolist(), columns.heights.tolist(), strict=True)):
        x, y, foot = frame.x(left), frame.y(height), frame.y(0.0)
        width = max(frame.x(left + columns.width) - x - 1, 0.5)
        yield _rect(f"bar colour-{_colour(columns.number)}", x + 0.5, min(y, foot), width, abs(foot - y))
        if columns.errors is not None:
            ends = frame.y(height - columns.errors[i]), frame.y(height + columns.errors[i])
            yield _line("whisker", x + width / 2, ends[0], x + width / 2, ends[1])


def _level(frame: Frame, level: Level, place: int) -> Iterator[Markup]:
    x = frame.x(level.at)
    yield _line("observed" if level.strong else "reference", x, frame.top, x, frame.bottom)
    side, shift = ("end", -6) if x > frame.width / 2 else ("start", 6)
    yield text(x + shift, frame.top + 10 + 16 * place, level.name, side, "axis")


def _heat_map(frame: Frame, cells: Cells) -> Iterator[Markup]:
    across, up = frame.drawing.across, frame.drawing.up
    width, height = frame.x(1) - frame.x(0) - 2, frame.y(1) - frame.y(0) - 2
    for (i, j), value in np.ndenumerate(cells.values):
        x, y, rank = frame.x(j - 0.5) + 1, frame.y(i - 0.5) + 1, float(cells.rank[i, j])
        if math.isnan(value):
            yield _rect("empty", x, y, width, height)
            continue
        words = number(float(value), 3)
        title = f"{up.name} = {up.labels[i]}, {across.name} = {across.labels[j]}: {number(float(value))}"
        opacity = Markup(' fill-opacity="{:.2f}"').format(0.06 + 0.94 * (1 - rank))
        parts = [Markup("<title>{}</title>").format(title), _rect("heat", x, y, width, height, opacity)]
        if 6.6 * len(words) + 6 <= width:
            ink = "pale" if rank < PALE else "deep"
            parts.append(text(x + width / 2, y + height / 2 + 4, words, "middle", f"cell {ink}"))
        if (i, j) == cells.chosen:
            parts.append(_rect("ring", x, y, width, height, Markup(' rx="3"')))
        elif (i, j) in cells.plausible:
            parts.append(Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="2.6"/>').format(x + 6, y + 6))
        yield Markup("<g>{}</g>").format(Markup("").join(parts))


def _colour(line: int) -> int:
    """The number of a line's colour; 0 is for in-sample."""
    return 0 if line == 0 else 1 + (line - 1) % COLOURS


def _dash(line: int) -> str:
    """The dashes of a line; in-sample is dotted."""
    return "2 4" if line == 0 else DASHES[(line - 1) % len(DASHES)]


def _mark_of(line: Series) -> str:
    if line.kind in ("dropped", "in-sample"):
        return CROSS if line.kind == "dropped" else MARKS[1]
    return MARKS[max(line.number - 1, 0) % len(MARKS)]


def _mark(shape: str, x: float, y: float, radius: float = RADIUS) -> Markup:
    return Markup('<path class="mark" transform="translate({:.1f},{:.1f}) scale({})" d="{}"/>').format(
        x, y, radius, shape
    )


def _path(kind: str, frame: Frame, points: Sequence[tuple[float, float]], dash: str = "") -> Markup:
    shape = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points) if points else ""
    return Markup('<path class="{}" clip-path="url(#{})" stroke-dasharray="{}" d="{}"/>').format(
        kind, frame.clip, dash, shape
    )


def _line(kind: str, x1: float, y1: float, x2: float, y2: float, more: str = "") -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"{}/>').format(
        kind, x1, y1, x2, y2, more
    )


def _rect(kind: str, x: float, y: float, width: float, height: float, more: str = "") -> Markup:
    return Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"{}/>').format(
        kind, x, y, width, height, more
    )


def text(x: float, y: float, words: str, anchor: str, kind: str = "tick") -> Markup:
    """Words at a position; nothing for no words."""
    element = Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    return element.format(kind, x, y, anchor, words) if words else Markup("")
