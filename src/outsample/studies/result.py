"""Results of studies: findings beside the numbers of the paper, printed as a table and written to files."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
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
        _save(self.draw or drawn_findings(self.findings), files[-1])
        return files


def save(result: StudyResult, out: File) -> StudyResult:
    """Write the result where a folder is given; returns the result."""
    if out is not None:
        result.write(out)
    return result


def drawn_findings(findings: Sequence[Finding]) -> Draw:
    """A figure of any findings: one panel per quantity, one colour per method, the printed values as crosses."""

    def draw(figure: Figure) -> None:
        quantities = list(dict.fromkeys(finding.quantity for finding in findings))
        columns = min(len(quantities), 3)
        axes = figure.subplots(-(-len(quantities) // columns), columns, squeeze=False).ravel()
        for ax, quantity in zip(axes, quantities, strict=False):
            own = [finding for finding in findings if finding.quantity == quantity]
            cases = list(dict.fromkeys(finding.case for finding in own))
            for m, method in enumerate(dict.fromkeys(finding.method for finding in own)):
                shown = [finding for finding in own if finding.method == method]
                places = [cases.index(finding.case) + 0.1 * m for finding in shown]
                errors = [0.0 if math.isnan(finding.standard_error) else finding.standard_error for finding in shown]
                ax.errorbar(places, [finding.ours for finding in shown], yerr=errors, fmt="o", label=method)
                ax.plot(places, [finding.paper for finding in shown], "kx")
            ax.set_xticks(range(len(cases)), cases, rotation=60, ha="right", fontsize="small")
            ax.set(title=quantity)
            ax.legend(fontsize="small")
        for ax in axes[len(quantities) :]:
            ax.set_visible(False)

    return draw


def findings_of(rows: Iterable[Finding | Iterable[Finding]]) -> tuple[Finding, ...]:
    """Findings and groups of findings as one flat tuple."""
    flat: list[Finding] = []
    for row in rows:
        flat.extend([row] if isinstance(row, Finding) else row)
    return tuple(flat)


def _save(draw: Draw, file: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure)
    figure.savefig(file, dpi=120)
