"""The report as one HTML file."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from numpy.typing import ArrayLike

from outsample import __version__
from outsample.checks import page_path
from outsample.curve.error_estimate import numeral
from outsample.data.tables import Table
from outsample.plots.elements import Bars, Chart, Content, HeatMap, Histogram, Picture, RaceChart
from outsample.report.cautions import cautions_about, notes_of
from outsample.report.content import content_of
from outsample.report.drawing.bars import bars, histogram
from outsample.report.drawing.heat_map import heat_map
from outsample.report.drawing.lines import MARKS, colour_of, dash_of, line_chart, race_chart, style_of

SIZES = {"wide": (760, 380), "narrow": (370, 330)}


def write_report(result: object, path: str | os.PathLike[str], **more: Any) -> None:
    """Write the report of a search, comparison, estimate, test or audit to a file; parameters as `report_page`."""
    page_path("path", path).write_text(report_page(result, **more), encoding="utf-8")


def report_page(
    result: object,
    *,
    X: Table | None = None,
    y: ArrayLike | None = None,
    asked: Mapping[str, Any] | None = None,
    names: Callable[[Any], dict[str, Any]] | None = None,
    call: str = "",
    grouped: bool = False,
) -> str:
    """The report as HTML; names given by the user are escaped, and the same result gives the same page.

    Parameters
    ----------
    result : a fitted search, or a Comparison, ErrorEstimate, PermutationTest or Audit.
    X, y : the data, for the cautions that need them.
    asked : facts to show under what was asked.
    names : function from a setting to the same setting under the names to show; by default the steps of pipelines
        are taken off.
    call : the command or Python code that gives this result again; by default code made from the result.
    grouped : whether rows that belong together were named.
    """
    content = content_of(result, dict(asked or {}), names, call)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    return environment.from_string(_asset("page.html")).render(
        content=content,
        cautions=cautions_about(result, X, y, grouped),
        notes=notes_of(result),
        style=Markup(_asset("style.css")),
        script=Markup(_asset("page.js")),
        pictures=[_shown(picture, f"p{i}") for i, picture in enumerate(content.pictures)],
        numbers=_numbers(content),
        versions=_versions(),
    )


def _asset(name: str) -> str:
    return files("outsample.report").joinpath(name).read_text(encoding="utf-8")


def _shown(picture: Picture, name: str) -> dict[str, Any]:
    drawing = picture.drawing
    return {
        "drawings": [_drawn(drawing, size, kind, name) for kind, size in SIZES.items()],
        "caption": picture.caption,
        "legend": _legend(drawing) if isinstance(drawing, Chart) else [],
    }


def _drawn(
    drawing: Chart | HeatMap | Bars | RaceChart | Histogram, size: tuple[float, float], kind: str, name: str
) -> Markup:
    if isinstance(drawing, Chart):
        return line_chart(drawing, size, kind, name)
    if isinstance(drawing, RaceChart):
        return race_chart(drawing, size, kind, name)
    if isinstance(drawing, Histogram):
        return histogram(drawing, size, kind, name)
    return (
        heat_map(drawing, size[0], kind, name) if isinstance(drawing, HeatMap) else bars(drawing, size[0], kind, name)
    )


def _legend(chart: Chart) -> list[dict[str, Any]]:
    styles = [style_of(chart, i) for i in range(len(chart.lines))]
    return [
        {
            "style": style,
            "name": line.name,
            "kind": line.kind,
            "colour": colour_of(style),
            "dash": dash_of(style),
            "mark": MARKS[(style - 1) % len(MARKS)],
        }
        for style, line in zip(styles, chart.lines, strict=True)
    ]


def _numbers(content: Content) -> dict[str, Any] | None:
    """The texts that the page shows under the pointer of its chart of lines."""
    chart = next((picture.drawing for picture in content.pictures if isinstance(picture.drawing, Chart)), None)
    if chart is None:
        return None
    lines = [
        {
            "name": line.name,
            "style": style_of(chart, i),
            "values": [
                _value_text(value, None if line.error is None else line.error[m]) for m, value in enumerate(line.values)
            ],
            "chosen": line.chosen,
        }
        for i, line in enumerate(chart.lines)
    ]
    return {"settings": list(chart.settings), "lines": lines}


def _value_text(value: float, error: float | None) -> str:
    if not np.isfinite(value):
        return "–"
    return numeral(value) if error is None or not np.isfinite(error) else f"{numeral(value)} ± {numeral(error, 2)}"


def _versions() -> str:
    import scipy
    import sklearn

    parts = {
        "outsample": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "Python": platform.python_version(),
    }
    return ", ".join(f"{name} {version}" for name, version in parts.items())
