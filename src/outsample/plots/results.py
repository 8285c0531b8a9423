"""Pictures of single results: an estimate, an audit, a complexity, tests of columns, a learning curve."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from outsample.curve.words import interval_of, short_names, value_in_words
from outsample.plots import COLOURS, _axes, _legend
from outsample.running.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from outsample.curve.error_estimate import ErrorEstimate
    from outsample.questions.audit import Audit
    from outsample.questions.column_tests import ColumnTests
    from outsample.questions.complexity import Complexity
    from outsample.questions.learning_curve import LearningCurve

MOST_COLUMNS = 30


def error_estimate(estimate: ErrorEstimate, ax: Axes | None = None) -> Axes:
    """The error on the rows fitted to and on new rows, the latter with its 95 % interval where there is one."""
    ax = _axes(ax)
    if not math.isnan(estimate.in_sample):
        ax.plot(estimate.in_sample, 0, "s", color="#555555", markersize=8, label="on the rows fitted to")
        ax.plot([estimate.in_sample, estimate.out_sample], [0, 0], ":", color="#555555", label="optimism")
    ends = interval_of(estimate)
    if ends is not None:
        ax.plot(ends, [0, 0], "-", color=COLOURS[0], linewidth=3, alpha=0.5, label="95 % interval")
    ax.plot(estimate.out_sample, 0, "o", color=COLOURS[0], markersize=10, label="on new rows")
    ax.set_yticks([])
    ax.set_xlabel(f"{estimate.loss}, by {estimate.criterion}", parse_math=False)
    return _legend(ax)


def learning_curve(found: LearningCurve, ax: Axes | None = None) -> Axes:
    """Errors over the number of rows fitted to, on these and on new ones, with 95 % intervals."""
    ax = _axes(ax)
    sizes, (low, high) = found.train_sizes, found.intervals.T
    ax.fill_between(sizes, low, high, color=COLOURS[0], alpha=0.15, label="95 % interval")
    ax.plot(sizes, found.out_sample, "o-", color=COLOURS[0], label="on new rows")
    ax.plot(sizes, found.in_sample, "s:", color="#555555", label="on the rows fitted to")
    ax.set_xlabel("rows fitted to")
    ax.set_ylabel(found.estimates[0].loss, parse_math=False)
    return _legend(ax)


def audit(found: Audit, ax: Axes | None = None) -> Axes:
    """What the procedure reports on shuffled labels, on the real ones, and the best that is honest on shuffled ones."""
    marks = {f"best constant: {found.no_information:.4g}": found.no_information}
    return _distribution(found.draws, found.reported, "error reported on shuffled labels", marks, ax)


def complexity(found: Complexity, ax: Axes | None = None) -> Axes:
    """The values over draws and their mean; of several models the mean of each, with its Monte-Carlo error."""
    if found.single:
        ax = _axes(ax)
        _histogram(ax, np.ravel(found.draws))
        mean = float(found)
        ax.axvline(mean, color=COLOURS[1], linestyle="--", linewidth=2, label=f"mean: {mean:.4g}")
        ax.set_xlabel(f"{found.kind} of a draw", parse_math=False)
        ax.set_ylabel("draws")
        return _legend(ax)
    ax, place = _axes(ax), np.arange(len(found.params))
    error = np.zeros(len(place)) if found.monte_carlo_error is None else found.monte_carlo_error
    ax.errorbar(place, found.value, error, fmt="o-", color=COLOURS[0], markersize=4, label="mean ± Monte-Carlo error")
    names = [", ".join(value_in_words(value, name) for name, value in setting.items()) for setting in found.params]
    shown = place[:: max(1, len(place) // 12)]
    ax.set_xticks(shown, [names[i] for i in shown], parse_math=False)
    ax.set_xlabel(", ".join(short_names(found.params)(found.params[0])), parse_math=False)
    ax.set_ylabel(found.kind, parse_math=False)
    return _legend(ax)


def column_tests(found: ColumnTests, ax: Axes | None = None) -> Axes:
    """p-values of the columns on a logarithmic scale, adjusted for their number, the smallest at the top."""
    ax = _axes(ax)
    frame = found.to_frame().head(MOST_COLUMNS)
    place = np.arange(len(frame))[::-1]
    own, adjusted = (frame[name].to_numpy(np.float64) for name in ("pvalue", "adjusted"))
    ax.plot(own, place, "s", color="#555555", markersize=5, fillstyle="none", label="alone")
    ax.plot(adjusted, place, "o", color=COLOURS[0], markersize=7, label="adjusted for all columns")
    ax.axvline(0.05, color=COLOURS[1], linestyle="--", linewidth=1.5, label="0.05")
    ax.set_xscale("log")
    ax.set_yticks(place, [str(name) for name in frame.index], parse_math=False)
    ax.set_xlabel("p-value")
    return _legend(ax)


def _distribution(draws: Floats, observed: float, across: str, marks: dict[str, float], ax: Axes | None) -> Axes:
    ax = _axes(ax)
    _histogram(ax, draws)
    ax.axvline(observed, color=COLOURS[1], linestyle="--", linewidth=2, label=f"real labels: {observed:.4g}")
    for label, value in marks.items():
        ax.axvline(value, color="#555555", linestyle=":", linewidth=2, label=label)
    ax.set_xlabel(across, parse_math=False)
    ax.set_ylabel("draws")
    return _legend(ax)


def _histogram(ax: Any, draws: Floats) -> None:
    known = draws[np.isfinite(draws)]
    ax.hist(known, bins=min(40, 8 + len(known) // 20), color=COLOURS[0], alpha=0.55, edgecolor="white")
