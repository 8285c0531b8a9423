"""The report as one HTML file: no network, no scripts from elsewhere."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
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
from outsample.view.cautions import cautions_about, notes_of
from outsample.view.content import content_of
from outsample.view.drawings import Drawing, Series
from outsample.view.svg import SIZES, drawn, legend


def write_report(result: object, path: str | os.PathLike[str], **more: Any) -> None:
    """Write the report of a search, comparison, estimate, test or audit to a file; parameters as `report_page`."""
    page_path("path", path).write_text(report_page(result, **more), encoding="utf-8")


def report_page(
    result: object,
    *,
    X: Table | None = None,
    y: ArrayLike | None = None,
    asked: Mapping[str, Any] | None = None,
    call: str = "",
    grouped: bool = False,
) -> str:
    """The report as HTML; names given by the user are escaped, and the same result gives the same page.

    Parameters
    ----------
    result : a fitted search, or a Comparison, ErrorEstimate, PermutationTest or Audit.
    X, y : the data, for the cautions that need them.
    asked : facts to show under what was asked.
    call : the command or Python code that gives this result again; by default code made from the result.
    grouped : whether rows that belong together were named.
    """
    content = content_of(result)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    return environment.from_string(_asset("page.html")).render(
        content=content,
        facts={name: value for name, value in (asked or {}).items() if name not in content.facts} | dict(content.facts),
        code=call or content.code,
        cautions=cautions_about(result, X, y, grouped),
        notes=notes_of(result),
        style=Markup(_asset("style.css")),
        script=Markup(_asset("page.js")),
        pictures=[_shown(drawing, f"p{i}") for i, drawing in enumerate(content.drawings)],
        numbers=next((_under_pointer(drawing) for drawing in content.drawings if drawing.across.titles), None),
        versions=_versions(),
    )


def _asset(name: str) -> str:
    return files("outsample.view").joinpath(name).read_text(encoding="utf-8")


def _shown(drawing: Drawing, name: str) -> dict[str, Any]:
    return {
        "drawings": [drawn(drawing, kind, name) for kind in SIZES],
        "caption": drawing.caption,
        "legend": legend(drawing),
    }


def _under_pointer(drawing: Drawing) -> dict[str, Any]:
    """The texts that the page shows under the pointer of a drawing of lines."""
    lines = [layer for layer in drawing.layers if isinstance(layer, Series) and layer.kind != "optimism"]
    return {
        "settings": list(drawing.across.titles),
        "lines": [
            {
                "name": line.name,
                "style": line.number,
                "values": [_value_text(line, i) for i in range(len(line.values))],
                "chosen": line.rings[0][1] if line.rings else None,
            }
            for line in lines
        ],
    }


def _value_text(line: Series, i: int) -> str:
    value = float(line.values[i])
    if not np.isfinite(value):
        return "–"
    error = np.nan if line.high is None else float(line.high[i]) - value
    return f"{numeral(value)} ± {numeral(error, 2)}" if np.isfinite(error) else numeral(value)


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
