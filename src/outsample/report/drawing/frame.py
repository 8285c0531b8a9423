"""The plotting area of a picture, its axes and its svg element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from outsample.curve.words import number
from outsample.plots.ticks import nice_ticks
from outsample.running.arrays import Floats

# Worse values than so many times the spread of the better four fifths are cut off.
CUT_OFF = 4


@dataclass(frozen=True)
class Frame:
    """Maps places and values to positions in the drawing.

    Attributes
    ----------
    name : tells the clip path of one drawing of the page from those of others.
    kind : "wide" or "narrow".
    """

    width: float
    height: float
    low: float
    high: float
    count: int
    name: str = ""
    kind: str = "wide"
    left: float = 58
    right: float = 14
    top: float = 12
    bottom: float = 46

    @property
    def clip(self) -> str:
        """Reference to the clip path: lines are cut off outside the plotting area."""
        return f"url(#inside-{self.name}-{self.kind})"

    @property
    def end(self) -> float:
        """Right end of the plotting area."""
        return self.width - self.right

    def x(self, place: float) -> float:
        """Horizontal position of a model, by its place on the curve."""
        return self.left + (self.end - self.left) * (place + 0.5) / self.count

    def y(self, value: float) -> float:
        """Vertical position of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.height - self.bottom - (self.height - self.top - self.bottom) * share


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


def room_for(low: float, high: float) -> float:
    """Pixels left of the plotting area: the longest tick of the values, and what they are."""
    return 29 + 7 * max((len(number(value)) for value in nice_ticks(low, high)), default=4)


def svg(frame: Frame, label: str, inside: Sequence[Markup], focus: bool = False) -> Markup:
    """The svg element around what is drawn; `focus` for drawings that answer to the keyboard."""
    start, end = frame.x(-0.5), frame.x(frame.count - 0.5)
    return Markup(
        '<svg class="chart {}" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}"{} data-start="{:.2f}" '
        'data-end="{:.2f}"><defs><clipPath id="inside-{}-{}"><rect x="{:.1f}" y="{:.1f}" width="{:.1f}" '
        'height="{:.1f}"/></clipPath></defs>{}</svg>'
    ).format(
        *(frame.kind, frame.width, frame.height, label, Markup(' tabindex="0"') if focus else "", start, end),
        *(frame.name, frame.kind, frame.left, frame.top - 4, end - frame.left),
        frame.height - frame.top - frame.bottom + 4,
        Markup("").join(inside),
    )


def value_axis(frame: Frame, up: str) -> Iterator[Markup]:
    """Horizontal lines at round values, and what the values are."""
    for value in nice_ticks(frame.low, frame.high):
        at = frame.y(value)
        yield Markup('<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
            frame.left, frame.end, at, at
        )
        yield text(frame.left - 7, at + 4, number(value), "end")
    yield Markup(
        '<text class="axis" transform="translate(13,{:.1f}) rotate(-90)" text-anchor="middle">{}</text>'
    ).format((frame.top + frame.height - frame.bottom) / 2, up)


def place_axis(frame: Frame, labels: Sequence[tuple[float, str]], across: str) -> Iterator[Markup]:
    """Labels below the plotting area, and what they are."""
    for place, label in labels:
        half = 3.6 * len(label)
        at = min(max(frame.x(place), half + 2), frame.width - half - 2)
        yield text(at, frame.height - frame.bottom + 18, label, "middle")
    yield text((frame.left + frame.end) / 2, frame.height - 8, across, "middle", "axis")


def text(x: float, y: float, words: str, anchor: str, kind: str = "tick") -> Markup:
    """Words at a position."""
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(kind, x, y, anchor, words)
