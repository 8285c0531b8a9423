"""A drawing on matplotlib Axes. Colours for colour-blind readers, markers and dashes for print in grey."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from outsample.view.drawings import Cells, Columns, Drawing, Level, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito's colours, the palest ones darkened so that a thin line is seen on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#3A9BD0", "#000000", "#6A4FBF")
DARK, PALE = "#555555", "#999999"
MARKERS, STYLES, HATCHES = "osD^vP*X", ("-", "--", ":", "-."), ("", "//", "..", "xx")
Look = dict[str, Any]
LOOKS: dict[str, Look] = {
    "in-sample": {"color": DARK, "linestyle": ":", "marker": "s"},
    "won": {"color": COLOURS[1], "marker": "o", "linewidth": 2, "zorder": 5},
    "remained": {"color": COLOURS[5], "marker": "o", "linewidth": 1, "zorder": 3, "markevery": [-1]},
    "dropped": {"color": PALE, "marker": "x", "linewidth": 1, "zorder": 2, "markevery": [-1]},
    "strong": {"color": COLOURS[0], "marker": "o", "markersize": 7},
    "weak": {"color": PALE, "marker": "o", "markersize": 7, "fillstyle": "none"},
}
"""How each kind of `Series` looks, but for criteria."""

# A map of more cells has no numbers in them; characters below a map, in a label and in a line of a legend that fit.
MOST_NUMBERS, ACROSS_MAP, LABEL, LEGEND_WIDTH = 120, 60, 5, 70
# Points that a character and a line of text take.
CHARACTER, LINE = 6.0, 14.0


def plotted(drawing: Drawing, ax: Axes | None = None) -> Axes:
    """The drawing on these Axes, or on new ones; returns them."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(8, 5), layout="constrained")
    assert ax is not None
    for layer in drawing.layers:
        if isinstance(layer, Series):
            _draw_series(ax, drawing, layer)
        elif isinstance(layer, Columns):
            again, colour = divmod(layer.number - 1, len(COLOURS))
            look: Look = {"color": COLOURS[colour], "hatch": HATCHES[again % len(HATCHES)], "edgecolor": "white"}
            look |= {"alpha": 0.55, "align": "edge", "label": layer.name or None}
            ax.bar(layer.left, layer.heights, layer.width, yerr=layer.errors, **look)
        elif isinstance(layer, Level):
            colour_of, style = (COLOURS[1], "--") if layer.strong else (DARK, ":")
            ax.axvline(layer.at, linewidth=2, color=colour_of, linestyle=style, label=layer.name or None)
        else:
            _draw_cells(ax, layer)
    _name_axes(ax, drawing)
    return _legend(ax)


def _draw_series(ax: Axes, drawing: Drawing, line: Series) -> None:
    said = line.name if line.said is None else line.said
    label = said.lstrip("_") or said or None  # a leading underscore would keep it out of the legend
    look, along = _look(line), ("x" if drawing.sideways else "y")
    x, y = (line.values, line.at) if drawing.sideways else (line.at, line.values)
    if line.kind == "optimism":
        ax.fill_between(line.at, line.low, line.high, color=COLOURS[1], alpha=0.12, label=label)  # type: ignore[arg-type]
        return
    if line.low is not None and line.high is not None:
        if line.joined and not drawing.across.labels:
            ax.fill_between(line.at, line.low, line.high, color=look["color"], alpha=0.15, label=line.band or None)
        else:
            half = np.nan_to_num(np.abs([line.values - line.low, line.high - line.values]))
            bars: Look = {f"{along}err": half, "fmt": "none", "ecolor": look["color"], "label": line.band or None}
            width, alpha = (1, 0.35) if line.joined else (2, 0.6)
            ax.errorbar(x, y, elinewidth=width, alpha=alpha, **bars)
    ax.plot(x, y, label=label, **look)
    for i, (name, model) in enumerate(line.rings):
        ring: Look = {"color": "black" if name else look["color"], "fillstyle": "none", "label": name or None}
        ax.plot(x[model], y[model], MARKERS[i % len(MARKERS)], markersize=11 + 3 * i, **ring)


def _look(line: Series) -> Look:
    n = line.number - 1
    found = LOOKS.get(line.kind) or {
        "color": COLOURS[n % len(COLOURS)],
        "linestyle": STYLES[n % len(STYLES)],
        "marker": MARKERS[n % len(MARKERS)],
        "markersize": 4,
    }
    return found | ({} if line.marked else {"marker": ""}) | ({} if line.joined else {"linestyle": "none"})


def _draw_cells(ax: Axes, cells: Cells) -> None:
    """The stronger the colour the better."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    ax.imshow(1 - cells.rank, cmap=colormaps["Blues"], vmin=-0.15, vmax=1.1, aspect="auto")
    for (i, j), value in np.ndenumerate(cells.values):
        if np.isfinite(value) and cells.values.size <= MOST_NUMBERS:
            ink = "white" if cells.rank[i, j] < 0.4 else "black"
            ax.text(j, i, f"{value:.3g}", ha="center", va="center", fontsize="small", color=ink)
    if cells.chosen is not None:
        i, j = cells.chosen
        edge: Look = {"fill": False, "edgecolor": COLOURS[1], "linewidth": 3, "label": "chosen"}
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **edge))
    if cells.plausible:
        rows, columns = np.array(cells.plausible).T
        ax.plot(columns - 0.38, rows - 0.33, "o", color=COLOURS[1], markersize=4, label="may be the best")


def _name_axes(ax: Axes, drawing: Drawing) -> None:
    across, up, is_map = drawing.across, drawing.up, any(isinstance(layer, Cells) for layer in drawing.layers)
    if across.labels:
        shown = range(0, len(across.labels), 1 if is_map else max(1, len(across.labels) // 12))
        labels = [across.labels[i] for i in shown]
        crowded = sum(map(len, labels)) > ACROSS_MAP if is_map else max(map(len, labels)) > LABEL
        slanted: Look = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
        ax.set_xticks(list(shown), labels, parse_math=False, **slanted)
    if up.labels:
        ax.set_yticks(
            range(len(up.labels)) if any(up.labels) else [], up.labels if any(up.labels) else [], parse_math=False
        )
        ax.set_ylim(len(up.labels) - 0.5, -0.5)
    for axis, scale in ((across, ax.set_xscale), (up, ax.set_yscale)):
        if axis.log:
            scale("log")
    ax.set_xlabel(across.name, parse_math=False)
    ax.set_ylabel(up.name, parse_math=False)
    ax.set_title(drawing.heading, loc="left", fontsize="medium", parse_math=False)


def _legend(ax: Axes) -> Axes:
    """A legend below the axes, their ticks and their label; long entries on several lines."""
    from matplotlib.transforms import ScaledTranslation

    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return ax
    # Points that ticks and label of the horizontal axis take below it.
    ticks = ax.get_xticklabels()
    longest, slanted = max(len(tick.get_text()) for tick in ticks), any(tick.get_rotation() for tick in ticks)
    below = (0.7 * (CHARACTER * longest + LINE) if slanted else LINE) + (LINE if ax.get_xlabel() else 0) + 10
    legend = ax.legend(
        handles,
        [textwrap.fill(label, LEGEND_WIDTH) for label in labels],
        fontsize="small",
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + ScaledTranslation(0, -below / 72, ax.figure.dpi_scale_trans),
        ncols=2 if len(labels) > 2 and max(map(len, labels)) < LEGEND_WIDTH / 2 else 1,
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return ax
