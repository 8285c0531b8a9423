"""The report as one HTML file."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from numpy.typing import ArrayLike

from outsample import __version__
from outsample.curve.error_estimate import numeral
from outsample.data.tables import Table
from outsample.report.cautions import cautions_about
from outsample.report.content import Chart, Content, content_of
from outsample.report.svg import MARKS, colour_of, dash_of, histogram, line_chart

WIDE, NARROW = (760, 380), (370, 330)


def write_report(result: object, path: str | os.PathLike[str], **more: Any) -> None:
    """Write the report of a search, comparison, estimate, test or audit to a file; parameters as `report_page`."""
    Path(path).write_text(report_page(result, **more), encoding="utf-8")


def report_page(
    result: object,
    *,
    X: Table | None = None,
    y: ArrayLike | None = None,
    asked: Mapping[str, Any] | None = None,
    names: Callable[[Any], dict[str, Any]] = dict,
    call: str = "",
    grouped: bool = False,
) -> str:
    """The report as HTML; names given by the user are escaped, and the same result gives the same page.

    Parameters
    ----------
    result : a fitted search, or a Comparison, ErrorEstimate, PermutationTest or Audit.
    X, y : the data, for the cautions that need them.
    asked : facts to show under what was asked.
    names : function from a setting to the same setting under the names to show.
    call : the command or Python call that gives this result again.
    grouped : whether rows that belong together were named.
    """
    content = content_of(result, dict(asked or {}), names, call)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    return environment.from_string(_asset("page.html")).render(
        content=content,
        cautions=cautions_about(result, X, y, grouped),
        style=Markup(_asset("style.css")),
        script=Markup(_asset("chart.js")),
        drawings=_drawings(content),
        legend=_legend(content.chart),
        numbers=_numbers(content.chart),
        versions=_versions(),
    )


def _asset(name: str) -> str:
    return files("outsample.report").joinpath(name).read_text(encoding="utf-8")


def _drawings(content: Content) -> list[Markup]:
    sizes = {"wide": WIDE, "narrow": NARROW}
    if content.chart is not None:
        return [line_chart(content.chart, *size, kind) for kind, size in sizes.items()]
    if content.histogram is not None:
        return [histogram(content.histogram, *size, kind) for kind, size in sizes.items()]
    return []


def _legend(chart: Chart | None) -> list[dict[str, Any]]:
    if chart is None:
        return []
    return [
        {
            "place": i,
            "name": line.name,
            "kind": line.kind,
            "colour": colour_of(i),
            "dash": dash_of(i),
            "mark": MARKS[(i - 1) % len(MARKS)],
        }
        for i, line in enumerate(chart.lines)
    ]


def _numbers(chart: Chart | None) -> dict[str, Any] | None:
    """The texts that the page shows under the pointer."""
    if chart is None:
        return None
    lines = [
        {
            "name": line.name,
            "values": [
                _value_text(value, None if line.error is None else line.error[i]) for i, value in enumerate(line.values)
            ],
            "chosen": line.chosen,
        }
        for line in chart.lines
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
