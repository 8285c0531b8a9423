"""Plots: a record goes in, matplotlib Axes come out. Colours for colour-blind readers, marks and dashes for grey."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from outsample.questions.contest import checked_choice
from outsample.rules import as_rule
from outsample.running.arrays import Floats

if TYPE_CHECKING:
    from outsample.curve.error_estimate import ErrorEstimate
    from outsample.curve.risk_curve import RiskCurve
    from outsample.questions.compare import Comparison
    from outsample.questions.significance import PermutationTest


# Okabe & Ito's colours, the palest ones darkened so that a thin line is seen on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D00", "#3A9BD0", "#000000", "#6A4FBF")
MARKERS = "osD^vP*X"
STYLES = ("-", "--", ":", "-.")
HATCHES = ("", "//", "..", "xx")


@dataclass(frozen=True, eq=False)
class ValidationRecord:
    """What a validation curve shows.

    Attributes
    ----------
    in_sample, out_sample : (models,) in the scale of the user's loss; not-a-number leaves a gap.
    error : (models,) standard error of out_sample, or None.
    chosen : rule → the model it chooses.
    labels, across, up, estimand : words for the axes and the legend.
    """

    in_sample: Floats
    out_sample: Floats
    error: Floats | None
    chosen: dict[str, int]
    labels: Sequence[str]
    across: str
    up: str
    estimand: str


def validation_record(curve: RiskCurve, rules: Iterable[Any] = ("minimum",)) -> ValidationRecord:
    """The numbers of a validation curve, with the choice of each rule (names or functions of a curve)."""
    labels, across = _models(curve)
    return ValidationRecord(
        in_sample=_shown(curve, curve.in_sample),
        out_sample=_shown(curve, curve.out_sample),
        error=curve.standard_error,
        chosen={str(getattr(rule, "__name__", rule)): checked_choice(as_rule(rule)(curve), curve) for rule in rules},
        labels=labels,
        across=across,
        up=f"{curve.loss.name}",
        estimand=curve.estimand,
    )


def validation_curve(curve: RiskCurve, rules: Iterable[Any] = ("minimum",), ax: Any = None) -> Any:
    """In-sample error, optimism as a band, the estimate with its standard error, and each rule's choice."""
    record, ax = validation_record(curve, rules), _axes(ax)
    place = np.arange(len(record.labels))
    ax.fill_between(place, record.in_sample, record.out_sample, color=COLOURS[1], alpha=0.12, label="optimism")
    ax.plot(place, record.in_sample, ":", color="#555555", label="in-sample")
    ax.plot(place, record.out_sample, "-", color=COLOURS[0], marker="o", markersize=3, label=_plain(record.estimand))
    if record.error is not None:
        ax.errorbar(place, record.out_sample, record.error, fmt="none", ecolor=COLOURS[0], alpha=0.35, elinewidth=1)
    for i, (rule, model) in enumerate(record.chosen.items()):
        ring = MARKERS[i % len(MARKERS)]
        ax.plot(
            place[model], record.out_sample[model], ring, markersize=11 + 3 * i, fillstyle="none", color="black",
            label=f"{rule}: {record.labels[model]}",
        )  # fmt: skip
    _name_axes(ax, record.labels, record.across, record.up)
    return _legend(ax)


def criteria_curves(comparison: Comparison, ax: Any = None) -> Any:
    """One line per criterion over the models, simplest first, with a ring around each criterion's choice."""
    ax = _axes(ax)
    first = next(iter(comparison.curves.values()))
    place = np.arange(len(first))
    for i, (name, curve) in enumerate(comparison.curves.items()):
        risk, best = _shown(curve, curve.out_sample), comparison.chosen[name]
        ax.plot(place, risk, **_look(i), markersize=4, label=f"{name}: {curve.estimand}")
        ax.plot(place[best], risk[best], "o", markersize=11, fillstyle="none", color=_look(i)["color"])
    _name_axes(ax, *_models(first), f"out-sample {first.loss.name}")
    return _legend(ax)


def permuted_fits(estimate: ErrorEstimate, ax: Any = None) -> Any:
    """The optimism of every draw, and their mean, which the criterion adds to the in-sample error."""
    if estimate.draws is None:
        raise ValueError(f"criterion {estimate.criterion!r} keeps no draws; use one that draws labels, or permutation")
    return _distribution(
        estimate.draws,
        estimate.optimism,
        across=f"optimism of {estimate.loss} on one draw of labels",
        observed=f"mean, added to the in-sample error: {estimate.optimism:.3g}",
        ax=ax,
    )


def null_distribution(test: PermutationTest, ax: Any = None) -> Any:
    """The statistic on permuted labels, and on the real ones."""
    observed = f"real labels: {test.statistic:.4g}, p = {test.pvalue:.3g}"
    return _distribution(test.null, test.statistic, across=test.name, observed=observed, ax=ax)


def _distribution(values: Floats, at: float, *, across: str, observed: str, ax: Any) -> Any:
    ax = _axes(ax)
    known = values[np.isfinite(values)]
    ax.hist(known, bins=min(40, 8 + len(known) // 20), color=COLOURS[0], alpha=0.55, edgecolor="white")
    ax.axvline(at, color=COLOURS[1], linestyle="--", linewidth=2, label=_plain(observed))
    ax.set_xlabel(across, parse_math=False)
    ax.set_ylabel("draws")
    return _legend(ax)


@dataclass(frozen=True, eq=False)
class BiasVariance:
    """Squared bias and variance of estimators, by name; the mean squared error is their sum."""

    names: Sequence[str]
    squared_bias: Floats
    variance: Floats
    of: str = "the estimate"


def bias_variance(record: BiasVariance, ax: Any = None) -> Any:
    """Stacked bars of squared bias and variance."""
    ax = _axes(ax)
    bias, variance = np.asarray(record.squared_bias), np.asarray(record.variance)
    place = np.arange(len(record.names))
    ax.bar(place, bias, color=COLOURS[1], hatch="//", edgecolor="white", label="bias²")
    ax.bar(place, variance, bottom=bias, color=COLOURS[0], edgecolor="white", label="variance")
    ax.set_xticks(place, record.names, parse_math=False)
    ax.set_ylabel(f"mean squared error of {record.of}", parse_math=False)
    return _legend(ax)


@dataclass(frozen=True, eq=False)
class Regrets:
    """Mean regret of criteria: excess of the chosen model's error over the best one's.

    Attributes
    ----------
    problems, criteria : names.
    regret : (problems, criteria), and `error` its standard error or None.
    """

    problems: Sequence[str]
    criteria: Sequence[str]
    regret: Floats
    error: Floats | None = None


def regret_bars(record: Regrets, ax: Any = None) -> Any:
    """One group of bars per problem, one bar per criterion."""
    ax = _axes(ax)
    regret = np.atleast_2d(record.regret)
    place, width = np.arange(len(record.problems)), 0.8 / len(record.criteria)
    for j, name in enumerate(record.criteria):
        at = place + (j - (len(record.criteria) - 1) / 2) * width
        error = None if record.error is None else np.atleast_2d(record.error)[:, j]
        ax.bar(
            at, regret[:, j], width, yerr=error, capsize=2, label=_plain(name), edgecolor="white",
            color=COLOURS[j % len(COLOURS)], hatch=HATCHES[j % len(HATCHES)],
        )  # fmt: skip
    ax.set_xticks(place, record.problems, parse_math=False)
    ax.set_ylabel("mean regret: error of the chosen model above the best one's")
    return _legend(ax)


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(8, 5), layout="constrained")[1]


def _look(i: int) -> dict[str, Any]:
    return {
        "color": COLOURS[i % len(COLOURS)],
        "marker": MARKERS[i % len(MARKERS)],
        "linestyle": STYLES[i % len(STYLES)],
    }


def _shown(curve: RiskCurve, values: Floats) -> Floats:
    """In the scale of the user's loss; infinite values leave a gap."""
    shown = np.asarray(curve.loss.reported(values), dtype=np.float64)
    return np.where(np.isfinite(shown), shown, np.nan)


def _models(curve: RiskCurve) -> tuple[list[str], str]:
    """(a label for every model, what they differ in)."""
    names = list(dict.fromkeys(name for setting in curve.params for name in setting))
    labels = [", ".join(_label(setting.get(name, "")) for name in names) for setting in curve.params]
    what = ", ".join(names) or "the model"
    return labels, f"{what} (simple to rich)" if curve.ordered and len(curve) > 1 else what


def _label(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _name_axes(ax: Any, labels: Sequence[str], across: str, up: str) -> None:
    ticks = list(range(0, len(labels), max(1, len(labels) // 12)))
    crowded = max(len(label) for label in labels) > 5
    ax.set_xticks(ticks, [labels[i] for i in ticks], rotation=45 if crowded else 0, parse_math=False)
    ax.set_xlabel(across, parse_math=False)
    ax.set_ylabel(up, parse_math=False)


def _plain(text: str) -> str:
    """Text that matplotlib leaves out of no legend: a leading underscore would hide it."""
    return text.lstrip("_") or text


def _legend(ax: Any) -> Any:
    legend = ax.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=1, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return ax
