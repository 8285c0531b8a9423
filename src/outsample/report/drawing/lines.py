"""Lines over models, and the course of a race."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from markupsafe import Markup

from outsample.plots.elements import Chart, Line, RaceChart
from outsample.plots.ticks import axis_labels
from outsample.report.drawing.frame import Frame, limits, place_axis, room_for, svg, text, value_axis
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


def line_chart(chart: Chart, size: tuple[float, float], kind: str, name: str) -> Markup:
    """The chart as an svg element."""
    judged = np.concatenate([line.values for line in chart.lines if line.kind == "criterion"])
    fitted = np.concatenate([line.values for line in chart.lines])
    low, high = limits(fitted, worse_is_up=_worse_is_up(chart, judged))
    frame = Frame(*size, low, high, len(chart.settings), name, kind, left=room_for(low, high))
    labels = axis_labels(chart.ticks, chart.values, frame.end - frame.left)
    parts = [*value_axis(frame, chart.up), *place_axis(frame, labels, chart.across), *_bands(frame, chart)]
    parts += [_line(frame, line, style_of(chart, i)) for i, line in enumerate(chart.lines)]
    cross = Markup('<line class="cross" y1="{}" y2="{}" visibility="hidden"/>').format(
        frame.top, frame.height - frame.bottom
    )
    return svg(frame, f"{chart.up} over {chart.across}", [*parts, cross], focus=True)


def _worse_is_up(chart: Chart, judged: Floats) -> bool:
    """Whether greater values are worse: what was chosen is then among the smaller ones."""
    chosen = [line.values[line.chosen] for line in chart.lines if line.chosen is not None]
    known = judged[np.isfinite(judged)]
    return not len(known) or not chosen or float(np.nanmin(chosen)) <= float(np.median(known))


def style_of(chart: Chart, place: int) -> int:
    """The number of a line's colour, mark and dashes: 0 for in-sample, criteria from 1."""
    return place + (chart.lines[0].kind == "criterion")


def _bands(frame: Frame, chart: Chart) -> Iterator[Markup]:
    """The optimism as a band between the in-sample line and the line of a single criterion."""
    criteria = [(i, line) for i, line in enumerate(chart.lines) if line.kind == "criterion"]
    fitted = [line for line in chart.lines if line.kind == "in-sample"]
    if len(criteria) == 1 and fitted:
        ((place, line),) = criteria
        shape, style = _between(frame, fitted[0].values, line.values), style_of(chart, place)
        yield Markup('<path class="optimism" data-line="{}" clip-path="{}" d="{}"/>').format(style, frame.clip, shape)


def _between(frame: Frame, lower: Floats, upper: Floats) -> str:
    known = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper)).tolist()
    there = [f"{frame.x(i):.1f},{frame.y(upper[i]):.1f}" for i in known]
    back = [f"{frame.x(i):.1f},{frame.y(lower[i]):.1f}" for i in known[::-1]]
    return "M" + "L".join([*there, *back]) + "Z" if len(known) else ""


def _line(frame: Frame, line: Line, style: int) -> Markup:
    known = [i for i in range(frame.count) if np.isfinite(line.values[i])]
    points = [(frame.x(i), frame.y(float(line.values[i]))) for i in known]
    parts = [_stroke(frame, points, dash_of(style))]
    if line.error is not None:
        band = _between(frame, line.values - line.error, line.values + line.error)
        parts.insert(0, Markup('<path class="band" clip-path="{}" d="{}"/>').format(frame.clip, band))
    if line.kind == "criterion":
        every = math.ceil(len(points) / MOST_MARKERS) or 1
        inside = (frame.top - 4, frame.height - frame.bottom + 4)
        parts += [mark(style, x, y) for x, y in points[::every] if inside[0] <= y <= inside[1]]
    if line.chosen is not None and np.isfinite(line.values[line.chosen]):
        x, y = frame.x(line.chosen), frame.y(float(line.values[line.chosen]))
        parts.append(mark(style, x, y))
        parts.append(Markup('<circle class="chosen" cx="{:.1f}" cy="{:.1f}" r="8"/>').format(x, y))
    return Markup('<g class="line colour-{} {}" data-line="{}">{}</g>').format(
        colour_of(style), line.kind, style, Markup("").join(parts)
    )


def _stroke(frame: Frame, points: list[tuple[float, float]], dash: str = "") -> Markup:
    path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points) if points else ""
    return Markup('<path class="stroke" clip-path="{}" stroke-dasharray="{}" d="{}"/>').format(frame.clip, dash, path)


def colour_of(style: int) -> int:
    """The number of a line's colour; 0 is for in-sample."""
    return 0 if style == 0 else 1 + (style - 1) % (COLOURS - 1)


def dash_of(style: int) -> str:
    """The dashes of a line; in-sample is dotted."""
    return "2 4" if style == 0 else DASHES[(style - 1) % len(DASHES)]


def mark(style: int, x: float, y: float) -> Markup:
    """The mark of a line at a point."""
    return Markup('<path class="mark" transform="translate({:.1f},{:.1f}) scale({})" d="{}"/>').format(
        x, y, RADIUS, MARKS[(style - 1) % len(MARKS)]
    )


def race_chart(race: RaceChart, size: tuple[float, float], kind: str, name: str) -> Markup:
    """A line per candidate over the folds; those that left in grey, with a cross where they did."""
    rounds, candidates = race.values.shape
    last = race.values[-1]
    worse_is_up = bool(race.values[0, race.leader] <= np.nanmedian(race.values[0]))
    ends = limits(race.values.ravel(), worse_is_up)
    frame = Frame(*size, *ends, rounds, name, kind, left=room_for(*ends))
    labels = axis_labels(race.rounds, None, frame.end - frame.left)
    parts = [*value_axis(frame, race.up), *place_axis(frame, labels, race.across)]
    order = sorted(range(candidates), key=lambda c: (c == race.leader, bool(np.isfinite(last[c]))))
    for c in order:
        state = "won" if c == race.leader else "remained" if np.isfinite(last[c]) else "left"
        parts.append(_runner(frame, race.values[:, c], state, race.settings[c]))
    left = [int(np.isfinite(row).sum()) for row in race.values]
    parts.append(text(frame.end, frame.top + 2, f"{left[0]} → {left[-1]} candidates", "end"))
    return svg(frame, f"{race.up} over {race.across}", parts)


def _runner(frame: Frame, values: Floats, state: str, setting: str) -> Markup:
    points = [(frame.x(i), frame.y(float(v))) for i, v in enumerate(values) if np.isfinite(v)]
    parts = [Markup("<title>{}</title>").format(setting), _stroke(frame, points)]
    if points and frame.top - 4 <= points[-1][1] <= frame.height - frame.bottom + 4:
        x, y = points[-1]
        cross = Markup('<path class="end" transform="translate({:.1f},{:.1f})" d="M-3,-3L3,3M-3,3L3,-3"/>')
        parts.append(cross.format(x, y) if state == "left" else mark(1, x, y))
    return Markup('<g class="runner {}">{}</g>').format(state, Markup("").join(parts))
