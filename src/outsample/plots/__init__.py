"""Plots of results on matplotlib Axes. Colours for colour-blind readers, markers and dashes for print in grey."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from outsample.curve.words import in_words, short_names, value_in_words
from outsample.questions.contest import checked_choice
from outsample.rules import RuleLike, as_rule
from outsample.running.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from outsample.curve.race_record import RaceRecord
    from outsample.curve.risk_curve import RiskCurve
    from outsample.questions.compare import Comparison
    from outsample.questions.compare_models import ModelComparison
    from outsample.questions.significance import PermutationTest


# Okabe & Ito's colours, the palest ones darkened so that a thin line is seen on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#3A9BD0", "#000000", "#6A4FBF")
MARKERS = "osD^vP*X"
STYLES = ("-", "--", ":", "-.")
HATCHES = ("", "//", "..", "xx")
LEGEND_WIDTH = 70
# Points that a character and a line of text take.
CHARACTER, LINE = 6.0, 14.0


def validation_curve(curve: RiskCurve, rules: Iterable[RuleLike] = ("minimum",), ax: Axes | None = None) -> Axes:
    """In-sample error, optimism as a band, the estimate with its standard error, and each rule's choice."""
    ax = _axes(ax)
    labels, across = _models(curve)
    place = np.arange(len(labels))
    in_sample, out_sample = _loss_values(curve, curve.in_sample), _loss_values(curve, curve.out_sample)
    ax.fill_between(place, in_sample, out_sample, color=COLOURS[1], alpha=0.12, label="optimism")
    ax.plot(place, in_sample, ":", color="#555555", label="in-sample")
    ax.plot(place, out_sample, "-", color=COLOURS[0], marker="o", markersize=3, label=_plain(curve.estimand))
    if curve.standard_error is not None:
        ax.errorbar(place, out_sample, curve.standard_error, fmt="none", ecolor=COLOURS[0], alpha=0.35, elinewidth=1)
    for i, rule in enumerate(rules):
        chosen = checked_choice(as_rule(rule)(curve), curve)
        ax.plot(
            place[chosen], out_sample[chosen], MARKERS[i % len(MARKERS)], markersize=11 + 3 * i, fillstyle="none",
            color="black", label=f"{getattr(rule, '__name__', rule)}: {labels[chosen]}",
        )  # fmt: skip
    _name_axes(ax, labels, across, curve.loss.name)
    return _legend(ax)


def criteria_curves(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """One line per criterion over the models, simplest first, with a ring around each criterion's choice."""
    ax = _axes(ax)
    first = next(iter(comparison.curves.values()))
    place = np.arange(len(first))
    for i, (name, curve) in enumerate(comparison.curves.items()):
        risk, best = _loss_values(curve, curve.out_sample), comparison.chosen[name]
        ax.plot(place, risk, **_look(i), markersize=4, label=f"{name}: {curve.estimand}")
        ax.plot(place[best], risk[best], "o", markersize=11, fillstyle="none", color=_look(i)["color"])
    _name_axes(ax, *_models(first), f"out-sample {first.loss.name}")
    return _legend(ax)


def learners(comparison: ModelComparison, ax: Axes | None = None) -> Axes:
    """The error of every learner with its interval, the least at the top; those that may be the best are filled."""
    ax = _axes(ax)
    frame = comparison.to_frame()
    order = np.argsort(comparison.curve.out_sample, kind="stable")[::-1]
    for place, i in enumerate(order):
        estimate, (low, high), may_be_best = frame.iloc[i][["estimate", "interval", "plausible"]]
        if np.isfinite([low, high]).all():
            ax.plot([low, high], [place, place], "-", color=COLOURS[0], linewidth=2)
        ax.plot(estimate, place, "o", color=COLOURS[0], markersize=8, fillstyle="full" if may_be_best else "none")
    ax.plot([], [], "o", color=COLOURS[0], label="may be the best")
    ax.plot([], [], "o", color=COLOURS[0], fillstyle="none", label="is not the best")
    ax.set_yticks(range(len(order)), [comparison.names[i] for i in order], parse_math=False)
    ax.set_xlabel(f"out-sample {comparison.curve.loss.name}, 95 % interval", parse_math=False)
    return _legend(ax)


def race(record: RaceRecord, ax: Axes | None = None) -> Axes:
    """The mean loss of every candidate after each round: those that left in grey with a cross, the winner in colour."""
    ax = _axes(ax)
    rounds = np.arange(1, len(record.order) + 1)
    over_size = record.unit != "fold"
    values = record.risk if record.loss is None else np.asarray(record.loss.reported(record.risk))
    for c in range(len(record.reason)):
        known = ~np.isnan(record.risk[:, c])
        if c == record.leader or not known.any():
            continue
        remained = record.reason[c] == ""
        colour = COLOURS[5] if remained else "#999999"
        ax.plot(rounds[known], values[known, c], "-", color=colour, linewidth=1, alpha=0.8, zorder=2 + remained)
        ax.plot(rounds[known][-1], values[known, c][-1], "o" if remained else "x", color=colour, markersize=4)
    ax.plot([], [], "x-", color="#999999", linewidth=1, label="dropped")
    if len(record.remaining) > 1:
        ax.plot([], [], "o-", color=COLOURS[5], linewidth=1, label="remained")
    won = in_words(short_names(record.params)(record.params[record.leader]))
    ax.plot(rounds, values[:, record.leader], "o-", color=COLOURS[1], linewidth=2, zorder=5, label=f"won: {won}")
    ax.set_xticks(rounds, [str(trees) for trees in record.order] if over_size else None)
    ax.set_xlabel(f"{record.unit}s")
    measured = "mean loss" if record.loss is None else record.loss.name
    ax.set_ylabel(f"{measured} of rows left out" if over_size else f"{measured} so far", parse_math=False)
    ax.set_title(f"{len(record.reason)} candidates, {record.n_fits} fits", fontsize="medium")
    return _legend(ax)


def null_distribution(test: PermutationTest, ax: Axes | None = None) -> Axes:
    """Histogram of the statistic on permuted labels, and a line at its value on the real ones."""
    ax = _axes(ax)
    known = test.null[np.isfinite(test.null)]
    ax.hist(known, bins=min(40, 8 + len(known) // 20), color=COLOURS[0], alpha=0.55, edgecolor="white")
    observed = f"real labels: {test.statistic:.4g}, p = {test.pvalue:.3g}"
    ax.axvline(test.statistic, color=COLOURS[1], linestyle="--", linewidth=2, label=observed)
    ax.set_xlabel(test.name, parse_math=False)
    ax.set_ylabel("draws")
    return _legend(ax)


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, new = plt.subplots(figsize=(8, 5), layout="constrained")
    return new  # type: ignore[no-any-return]


def _look(i: int) -> dict[str, Any]:
    return {
        "color": COLOURS[i % len(COLOURS)],
        "marker": MARKERS[i % len(MARKERS)],
        "linestyle": STYLES[i % len(STYLES)],
    }


def _loss_values(curve: RiskCurve, values: Floats) -> Floats:
    """Values in the units of the user's loss; not a number, which leaves a gap, where they are infinite."""
    shown = np.asarray(curve.loss.reported(values), dtype=np.float64)
    return np.where(np.isfinite(shown), shown, np.nan)


def _models(curve: RiskCurve) -> tuple[list[str], str]:
    """(a label for every model, what they differ in)."""
    names = list(dict.fromkeys(name for setting in curve.params for name in setting))
    labels = [", ".join(value_in_words(setting.get(name, ""), name) for name in names) for setting in curve.params]
    what = ", ".join(short_names([dict.fromkeys(names)])(dict.fromkeys(names))) or "the model"
    return labels, f"{what} (simple to rich)" if curve.ordered and len(curve) > 1 else what


def _name_axes(ax: Axes, labels: Sequence[str], across: str, up: str) -> None:
    ticks = list(range(0, len(labels), max(1, len(labels) // 12)))
    crowded = max(len(label) for label in labels) > 5
    slanted: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    ax.set_xticks(ticks, [labels[i] for i in ticks], parse_math=False, **slanted)
    ax.set_xlabel(across, parse_math=False)
    ax.set_ylabel(up, parse_math=False)


def _plain(text: str) -> str:
    """Text that matplotlib leaves out of no legend: a leading underscore would hide it."""
    return text.lstrip("_") or text


def _legend(ax: Axes) -> Axes:
    """A legend below the axes, their ticks and their label; long entries on several lines."""
    from matplotlib.transforms import ScaledTranslation

    handles, labels = ax.get_legend_handles_labels()
    wrapped = [textwrap.fill(label, LEGEND_WIDTH) for label in labels]
    columns = 2 if len(labels) > 2 and max(map(len, labels)) < LEGEND_WIDTH / 2 else 1
    legend = ax.legend(
        handles,
        wrapped,
        fontsize="small",
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + ScaledTranslation(0, -_height_below(ax) / 72, ax.figure.dpi_scale_trans),
        ncols=columns,
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return ax


def _height_below(ax: Axes) -> float:
    """Points that ticks and label of the horizontal axis take below it."""
    ticks = ax.get_xticklabels()
    longest = max((len(tick.get_text()) for tick in ticks), default=0)
    slanted = any(tick.get_rotation() for tick in ticks)
    return (0.7 * (CHARACTER * longest + LINE) if slanted else LINE) + (LINE if ax.get_xlabel() else 0) + 10
