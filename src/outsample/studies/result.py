"""Results of studies: findings beside the numbers of the paper, printed as a table and written to files."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Draws a figure of a study on an empty matplotlib figure.
Draw = Callable[["Figure"], None]
# A file or folder to read or write, or None.
File = str | os.PathLike[str] | None

MARKS = {"yes": " ✓", "no": " ✗", "": ""}


def number(value: float) -> str:
    """About three significant digits, without a leading zero, with an exponent only for the largest and smallest.

    >>> number(0.4417), number(-0.05), number(9.2871), number(540.0), number(3.9e9)
    ('.442', '-.050', '9.29', '540', '3.9e+09')
    """
    if math.isnan(value):
        return "–"
    size = abs(value)
    if size >= 1e5 or (0 < size < 5e-4):
        return f"{value:.2g}"
    if size >= 100:
        return f"{value:.0f}"
    text = f"{value:.1f}" if size >= 20 else f"{value:.2f}" if size >= 1 else f"{value:.3f}"
    return text.replace("0.", ".", 1) if size < 1 else text


def text_table(findings: Iterable[Finding]) -> str:
    """One line per quantity and case, one column per method; the paper's value in brackets, ✓ or ✗ for agreement."""
    listed = list(findings)
    methods = list(dict.fromkeys(finding.method for finding in listed))
    lines = {(finding.quantity, finding.case): [""] * len(methods) for finding in listed}
    for finding in listed:
        lines[finding.quantity, finding.case][methods.index(finding.method)] = _cell(finding)
    heads = ["", *methods]
    return _aligned(
        [heads, *([f"{quantity}, {case}".strip(", "), *cells] for (quantity, case), cells in lines.items())]
    )


def _cell(finding: Finding) -> str:
    error = "" if math.isnan(finding.standard_error) else f"±{number(finding.standard_error)}"
    paper = "" if math.isnan(finding.paper) else f" [{number(finding.paper)}]"
    return f"{number(finding.ours)}{error}{paper}{MARKS[finding.agrees]}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)


@dataclass(frozen=True)
class Finding:
    """One number of a study.

    Attributes
    ----------
    quantity : what was measured, e.g. "average order".
    case : data set or setting.
    method : the estimate it belongs to.
    ours : the value found.
    standard_error : over trials or splits.
    paper : the printed value, not a number where the paper prints none.
    band : how far from the printed value still counts as agreement; not a number where agreement cannot be judged.
    """

    quantity: str
    case: str
    method: str
    ours: float
    standard_error: float = math.nan
    paper: float = math.nan
    band: float = math.nan

    @property
    def agrees(self) -> str:
        """ "yes", "no", or "" where there is nothing to judge."""
        if math.isnan(self.paper) or math.isnan(self.band):
            return ""
        return "yes" if abs(self.ours - self.paper) <= self.band else "no"


@dataclass(frozen=True, eq=False)
class StudyResult:
    """Findings of one study; `print` shows them, `write` keeps them.

    Attributes
    ----------
    name : the study's, and that of its files.
    title : one line.
    findings : every number, in the order of printing.
    notes : sentences on what was done and what holds.
    draw : draws the study's figure on an empty matplotlib figure; None draws the findings as they are.
    """

    name: str
    title: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    draw: Draw | None = field(default=None, repr=False)

    def to_frame(self) -> pd.DataFrame:
        """One row per finding."""
        import pandas as pd

        columns = ("quantity", "case", "method", "ours", "standard_error", "paper", "band", "agrees")
        rows = [[getattr(finding, column) for column in columns] for finding in self.findings]
        return pd.DataFrame(rows, columns=list(columns))

    def value(self, quantity: str, method: str, case: str | None = None) -> Finding:
        """The finding of this name; the first, when no case is given."""
        for finding in self.findings:
            if (finding.quantity, finding.method) == (quantity, method) and case in (None, finding.case):
                return finding
        raise KeyError(f"{self.name} has no {quantity!r} of {method!r}" + (f" for {case!r}" if case else ""))

    def __str__(self) -> str:
        parts = [self.title, text_table(self.findings), *self.notes]
        return "\n".join(part for part in parts if part)

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write NAME.csv, NAME.txt and NAME.png; returns the files."""
        home = Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        files = [home / f"{self.name}.csv", home / f"{self.name}.txt"]
        self.to_frame().to_csv(files[0], index=False)
        files[1].write_text(f"{self}\n", encoding="utf-8")
        files.append(home / f"{self.name}.png")
        _save(self.draw or drawn_findings(self.findings), self.title, files[-1])
        return files


def save(result: StudyResult, out: File) -> StudyResult:
    """Write the result where a folder is given; returns the result."""
    if out is not None:
        result.write(out)
    return result


WIDTH, HEIGHT = 9.0, 4.5
"""Size of a figure in inches; a drawing may set another."""
PRINTED = "printed in the paper"
LOGARITHMIC = 30.0
"""Ratio of the largest to the smallest value of a panel above which its axis is logarithmic, if it is its own."""


def drawn_findings(findings: Sequence[Finding], value: str = "", *, joined: bool = False) -> Draw:
    """A figure of any findings: one panel per quantity, one colour per method, the printed values as crosses.

    Parameters
    ----------
    findings : what is drawn.
    value : what the values of all panels are, the label of the vertical axes; "" where every panel has its own.
    joined : whether cases are steps along a scale, so that a line joins the values of a method.
    """

    def draw(figure: Figure) -> None:
        quantities = list(dict.fromkeys(finding.quantity for finding in findings))
        methods = list(dict.fromkeys(finding.method for finding in findings))
        columns = 2 if len(quantities) == 4 else min(len(quantities), 3)
        lines = -(-len(quantities) // columns)
        figure.set_size_inches(WIDTH, max(HEIGHT, 3.2 * lines + 0.8))
        axes = figure.subplots(lines, columns, squeeze=False).ravel()
        for ax, quantity in zip(axes, quantities, strict=False):
            own = [finding for finding in findings if finding.quantity == quantity]
            _panel(ax, own, methods, joined, own_scale=not value)
            ax.set(title=quantity, ylabel=value)
        for ax in axes[len(quantities) :]:
            ax.set_visible(False)
        legend_below(figure)

    return draw


def _panel(ax: Axes, findings: Sequence[Finding], methods: Sequence[str], joined: bool, own_scale: bool) -> None:
    """Values of one quantity over its cases; a method has the same colour in every panel."""
    cases = list(dict.fromkeys(finding.case for finding in findings))
    apart = 0.0 if joined else min(0.15, 0.7 / len(methods))
    for m, method in enumerate(methods):
        shown = [finding for finding in findings if finding.method == method]
        if not shown:
            continue
        aside = apart * (m - (len(methods) - 1) / 2)
        places = [cases.index(finding.case) + aside for finding in shown]
        errors = [0.0 if math.isnan(finding.standard_error) else finding.standard_error for finding in shown]
        form: dict[str, Any] = {"color": f"C{m}", "markersize": 5.0}
        ours = [finding.ours for finding in shown]
        ax.errorbar(places, ours, yerr=errors, fmt="o-" if joined else "o", label=method, **form)
        if not all(math.isnan(finding.paper) for finding in shown):
            ax.plot(places, [finding.paper for finding in shown], "x", label=PRINTED, **form)
    spans = [(f.ours, 0.0 if math.isnan(f.standard_error) else f.standard_error) for f in findings]
    values = [value for value, _ in spans if math.isfinite(value)]
    positive = min((value - error for value, error in spans), default=0.0) > 0
    if own_scale and positive and max(values) > LOGARITHMIC * min(values):
        ax.set_yscale("log")
    ax.set_xticks(range(len(cases)), cases, rotation=40, ha="right", rotation_mode="anchor", fontsize="small")
    ax.set_xlim(-0.6, len(cases) - 0.4)


def legend_below(figure: Figure) -> None:
    """One legend for all panels of a figure, below them, each label once."""
    from matplotlib.lines import Line2D

    known: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    if PRINTED in known:
        known[PRINTED] = Line2D([], [], color="black", marker="x", linestyle="none")
    labels = sorted(known, key=PRINTED.__eq__)
    if labels:
        figure.legend([known[label] for label in labels], labels, loc="outside lower center", ncols=6, fontsize="small")


def findings_of(rows: Iterable[Finding | Iterable[Finding]]) -> tuple[Finding, ...]:
    """Findings and groups of findings as one flat tuple."""
    flat: list[Finding] = []
    for row in rows:
        flat.extend([row] if isinstance(row, Finding) else row)
    return tuple(flat)


def _save(draw: Draw, title: str, file: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure)
    # What stands in brackets at the end says what the brackets of the text are.
    figure.suptitle(textwrap.fill(title.partition(" [")[0], 100), fontsize="medium")
    figure.savefig(file, dpi=120)
