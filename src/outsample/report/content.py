"""What a report says: numbers and sentences, before any of it becomes a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from outsample.curve import ErrorEstimate, RiskCurve
from outsample.losses import Floats
from outsample.numerals import numeral

Setting = dict[str, Any]
Rename = Callable[[Any], Setting]


@dataclass(frozen=True, eq=False)
class Line:
    """One line of the chart, over the models.

    Attributes
    ----------
    name : what it is called in the legend.
    values : (models,) not-a-number leaves a gap.
    error : (models,) half the height of its band, or None.
    chosen : the model marked on it, or None.
    kind : "criterion" or "in-sample".
    """

    name: str
    values: Floats
    error: Floats | None = None
    chosen: int | None = None
    kind: str = "criterion"


@dataclass(frozen=True, eq=False)
class Chart:
    """Lines over models, simplest first.

    Attributes
    ----------
    lines : the first one that is "in-sample", if any, bounds the optimism band of a single criterion.
    settings : the setting of every model in words.
    ticks : short labels of the models.
    across, up : what the axes are.
    """

    lines: Sequence[Line]
    settings: Sequence[str]
    ticks: Sequence[str]
    across: str
    up: str


@dataclass(frozen=True, eq=False)
class Histogram:
    """A distribution and where the real data stand in it."""

    values: Floats
    observed: float
    across: str
    observed_name: str = "the real labels"


@dataclass(frozen=True)
class Table:
    """Headings and rows of text; the first `words` columns are words, the others numbers."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 2


@dataclass(frozen=True, eq=False)
class Content:
    """Everything on the page."""

    title: str
    answer: str
    asked: Sequence[tuple[str, str]]
    table: Table
    meanings: Sequence[tuple[str, str]]
    reproduce: str
    chart: Chart | None = None
    histogram: Histogram | None = None
    cautions: Sequence[str] = ()
    facts: dict[str, Any] = field(default_factory=dict)


MEANINGS = {
    "in-sample": "the error on the rows the model was fitted to. It flatters: rich models fit noise.",
    "optimism": "how much the in-sample error flatters, as this criterion measures it.",
    "out-sample": "in-sample + optimism: what to expect on new rows from the same source.",
    "± data": "standard error: how far the number may be off because this data set is one of many; draws do not "
    "shrink it.",
    "± draws": "Monte-Carlo error: how far the number may be off because only so many resamples were drawn.",
    "fits": "learning episodes spent; models that come from one fit count once.",
}


def in_words(setting: Setting) -> str:
    """A setting as one line."""
    return ", ".join(f"{name} = {_short(value)}" for name, value in setting.items()) or "the model as given"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def chart_of(
    curves: dict[str, RiskCurve], chosen: dict[str, int], rename: Rename, with_band: bool = False
) -> Chart | None:
    """The chart of curves over the same models; nothing to draw for a single model."""
    first = next(iter(curves.values()))
    if len(first) < 2:
        return None
    settings = [rename(setting) for setting in first.params]
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    fitted = Line("in-sample", _reported(first, first.in_sample), kind="in-sample")
    lines = [
        Line(name, _reported(curve, curve.out_sample), curve.standard_error if with_band else None, chosen[name])
        for name, curve in curves.items()
    ]
    return Chart(
        lines=[fitted, *lines],
        settings=[in_words(setting) for setting in settings],
        ticks=[", ".join(_short(setting.get(name, "–")) for name in names) for setting in settings],
        across=", ".join(names) + (" (simple → rich)" if first.ordered else ""),
        up=first.loss.name,
    )


def _reported(curve: RiskCurve, values: Floats) -> Floats:
    shown = np.asarray(curve.loss.reported(values), dtype=np.float64)
    return np.where(np.isfinite(shown), shown, np.nan)


NUMBERS = ("in-sample", "optimism", "out-sample", "± data", "± draws", "fits", "seconds")


def numbers_of(estimate: ErrorEstimate) -> list[str]:
    """The cells of an estimate, in the order of NUMBERS."""
    errors = (estimate.standard_error, estimate.monte_carlo_error)
    return [
        *(numeral(value) for value in (estimate.in_sample, estimate.optimism, estimate.out_sample)),
        *("–" if value is None else numeral(value, 2) for value in errors),
        str(estimate.n_fits),
        numeral(estimate.seconds, 2),
    ]


def expected(estimate: ErrorEstimate) -> str:
    """What to expect on new data, in words."""
    bar = "" if estimate.standard_error is None else f" ± {_amount(estimate, estimate.standard_error)}"
    value = _amount(estimate, estimate.out_sample)
    if estimate.loss == "zero-one":
        return f"wrong on about {value}{bar} of new rows"
    return f"an out-sample {estimate.loss} of about {value}{bar}"


def _amount(estimate: ErrorEstimate, value: float) -> str:
    return f"{numeral(100 * value, 3)} %" if estimate.loss == "zero-one" else numeral(value)
