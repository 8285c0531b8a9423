"""A comparison drawn, and written as one self-contained HTML file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from outsample.comparing import Comparison
    from outsample.curve import RiskCurve

# Okabe & Ito's colours, told apart by colour-blind readers; markers tell them apart in black and white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#8C8C00")
MARKERS = "osD^vP*X"
STYLES = ("-", "--", ":", "-.")

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{ title }}</title>
<style>
body { font-family: sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; } th, td { padding: .3em .7em; text-align: right; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; } tr:nth-child(even) { background: #f3f3f3; }
svg { max-width: 100%; height: auto; }
</style>
</head>
<body>
<h1>{{ title }}</h1>
<table>
<tr>{% for cell in headings %}<th>{{ cell }}</th>{% endfor %}</tr>
{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</table>
{{ plot }}
<h2>What each number estimates</h2>
<dl>{% for name, estimand in estimands %}<dt><b>{{ name }}</b></dt><dd>{{ estimand }}</dd>
{% endfor %}</dl>
{% for note in notes %}<p>{{ note }}</p>
{% endfor %}</body>
</html>
"""


def draw(comparison: Comparison, ax: Any = None) -> Any:
    """One line per criterion over the models, simplest first, with a ring around each criterion's choice."""
    import matplotlib.pyplot as plt

    if ax is None:
        ax = plt.subplots(figsize=(8, 5), layout="constrained")[1]
    first = next(iter(comparison.curves.values()))
    place = np.arange(len(first))
    for i, (name, curve) in enumerate(comparison.curves.items()):
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        style = STYLES[i // len(COLOURS) % len(STYLES)]
        risk = _finite(curve.loss.reported(curve.out_sample))
        ax.plot(place, risk, style, color=colour, marker=marker, markersize=4, label=f"{name}: {curve.estimand}")
        best = comparison.chosen[name]
        ax.plot(place[best], risk[best], "o", markersize=11, fillstyle="none", color=colour)
    _label(ax, first)
    legend = ax.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=1, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return ax


def _finite(risk: Any) -> Any:
    """Infinite risks leave a gap."""
    return np.where(np.isfinite(risk), risk, np.nan)


def _label(ax: Any, curve: RiskCurve) -> None:
    names = list(dict.fromkeys(name for setting in curve.params for name in setting))
    step = max(1, len(curve) // 12)
    ticks = range(0, len(curve), step)
    labels = [", ".join(str(curve.params[i].get(name, "")) for name in names) for i in ticks]
    ax.set_xticks(list(ticks), labels, rotation=0 if len(names) < 2 else 45, parse_math=False)
    what = ", ".join(names) or "the model"
    ax.set_xlabel(f"{what} (simple to rich)" if curve.ordered and len(curve) > 1 else what, parse_math=False)
    ax.set_ylabel(f"out-sample {curve.loss.name}", parse_math=False)


def page(comparison: Comparison) -> str:
    """The whole page; everything a user named is escaped."""
    from jinja2 import Environment
    from markupsafe import Markup

    headings, rows = comparison.table()
    curves = comparison.curves
    template = Environment(autoescape=True).from_string(PAGE)
    return template.render(
        title=str(comparison).splitlines()[0],
        headings=headings,
        rows=rows,
        plot=Markup(_svg(comparison)),
        estimands=[(name, curve.estimand) for name, curve in curves.items()],
        notes=list(dict.fromkeys(note for curve in curves.values() for note in curve.notes)),
    )


def write_page(comparison: Comparison, path: Any) -> None:
    """Write the page to a file."""
    Path(path).write_text(page(comparison), encoding="utf-8")


def _svg(comparison: Comparison) -> str:
    """The plot as an svg element, without the XML prologue; matplotlib escapes the text in it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    draw(comparison, figure.subplots())
    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": "outsample"}):  # the same comparison gives the same file
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
