"""Pictures of a search: a curve over one parameter, a heat map over two, the best candidates of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from outsample.curve.words import short_names
from outsample.plots import COLOURS, _axes, _legend, validation_curve
from outsample.plots.elements import Bars, HeatMap
from outsample.plots.pictures import best_candidates, heat_map_of, parameter_names, place_of, plausible_models

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A map of more cells has no numbers in them.
MOST_NUMBERS = 120
# Characters that fit below a map.
MOST_CHARACTERS = 60


def search(found: Any, ax: Axes | None = None) -> Axes:
    """The picture that fits the grid, the chosen candidate marked."""
    curve, rename = found.curve_, short_names(found.curve_.params)
    settings = [rename(setting) for setting in curve.params]
    chosen, plausible = place_of(curve, found.best_params_), plausible_models(found)
    over_two = heat_map_of(curve, settings, chosen, plausible)
    if over_two is not None:
        return heat_map(over_two, ax)
    if len(parameter_names(settings)) > 1:
        return bars(best_candidates(curve, settings, chosen, plausible), ax)
    rule = found.rule
    named = rule if isinstance(rule, str) else getattr(rule, "__name__", "chosen")

    def chooses(_: Any) -> int:
        return chosen

    chooses.__name__ = named
    return validation_curve(curve, [chooses], ax)


def heat_map(found: HeatMap, ax: Axes | None = None) -> Axes:
    """Estimates over two parameters; the stronger the colour the better."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    ax = _axes(ax)
    ax.imshow(1 - found.rank, cmap=colormaps["Blues"], vmin=-0.15, vmax=1.1, aspect="auto")
    if found.values.size <= MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(found.values):
            if np.isfinite(value):
                ink = "white" if found.rank[i, j] < 0.4 else "black"
                ax.text(j, i, f"{value:.3g}", ha="center", va="center", fontsize="small", color=ink)
    if found.chosen is not None:
        i, j = found.chosen
        ring = Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor=COLOURS[1], linewidth=3, label="chosen")
        ax.add_patch(ring)
    if found.plausible:
        rows, columns = np.array(found.plausible).T
        label = "may be the best"
        ax.plot(columns - 0.38, rows - 0.33, "o", color=COLOURS[1], markersize=4, linestyle="none", label=label)
    crowded = sum(map(len, found.columns)) > MOST_CHARACTERS
    ax.set_xticks(range(len(found.columns)), found.columns, rotation=45 if crowded else 0)
    ax.set_yticks(range(len(found.rows)), found.rows)
    ax.set_xlabel(found.across, parse_math=False)
    ax.set_ylabel(found.down, parse_math=False)
    ax.set_title(found.what, fontsize="medium", parse_math=False)
    return _legend(ax)


def bars(found: Bars, ax: Axes | None = None) -> Axes:
    """Estimates with bars, one line below the other; those that may be the best in colour."""
    ax = _axes(ax)
    place = np.arange(len(found.names))[::-1]
    for strong, colour, label in ((True, COLOURS[0], "may be the best"), (False, "#999999", "others")):
        mine = [i for i in range(len(place)) if (i in found.strong) == strong]
        if not mine:
            continue
        half = np.abs(np.stack([found.values - found.low, found.high - found.values]))[:, mine]
        drawn = np.nan_to_num(half)
        ax.errorbar(found.values[mine], place[mine], xerr=drawn, fmt="o", color=colour, capsize=2, label=label)
    ax.set_yticks(place, found.names, parse_math=False)
    ax.set_xlabel(found.across, parse_math=False)
    ax.set_title(found.heading, fontsize="medium", loc="left", parse_math=False)
    return _legend(ax)
