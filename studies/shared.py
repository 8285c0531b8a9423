"""What the studies share: how a study is declared and run, its findings as a table, a picture and files, kept work."""

from __future__ import annotations

import io
import json
import math
import sqlite3
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import Any

import joblib
import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import outsample

MARKS = {"yes": " ✓", "no": " ✗", "": ""}
PRINTED = "printed in the paper"
WIDTH, HEIGHT = 9.0, 4.5

# Ratio of the largest to the smallest value of a panel above which its axis is logarithmic, if it is its own.
LOGARITHMIC = 30.0

Draw = Callable[[Figure], None]


@dataclass(frozen=True)
class Options:
    """What a study is run with.

    Attributes
    ----------
    n : its size: trials, splits, problems.
    store : SQLite file in which finished work is kept, so that a run that was stopped goes on where it was.
    out : folder for the table as CSV and text, and for the picture.
    data : folder of CSV files; otherwise OUTSAMPLE_DATA, otherwise OpenML.
    jobs : workers.
    sets : names of data sets; empty for all.
    draws : label vectors that are drawn, where a study has a choice.
    """

    n: int
    seed: int = 0
    store: str | None = None
    out: str | None = None
    data: str | None = None
    jobs: int | None = None
    sets: tuple[str, ...] = ()
    draws: int = 1000


@dataclass(frozen=True)
class Study:
    """A study by its name: what runs it, what its size counts, and the size and options of its quick form."""

    compute: Callable[[Options], Result]
    unit: str
    n: int
    quick: Mapping[str, Any]

    @property
    def summary(self) -> str:
        """Its one line."""
        return (self.compute.__doc__ or "").strip().split("\n")[0]

    def run(self, quick: bool = False, **given: Any) -> Result:
        """The result with these options, written to the folder `out` where one is given."""
        options = Options(**({"n": self.n} | (dict(self.quick) if quick else {}) | given))
        for name, value in (("n", options.n), ("draws", options.draws)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
        result = self.compute(options)
        if options.out is not None:
            result.write(options.out)
        return result


STUDIES: dict[str, Study] = {}
"""Every study by its name."""


def study(unit: str, n: int, quick: Mapping[str, Any]) -> Callable[[Callable[[Options], Result]], Study]:
    """Decorator: the function is a study of n units; `quick` are the options with which it takes less than a minute."""

    def declared(compute: Callable[[Options], Result]) -> Study:
        STUDIES[compute.__name__] = Study(compute, unit, n, quick)
        return STUDIES[compute.__name__]

    return declared


@dataclass(frozen=True)
class Finding:
    """One number: what was measured, in which case, by which method, beside the printed value.

    Attributes
    ----------
    band : how far from the printed value still counts as agreement; nan where agreement cannot be judged.
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


AGREEMENT = "✓: within rounding and three standard errors of the paper."


def agreement(error: float, rounding: float) -> float:
    """The largest difference from a printed number that counts as agreement."""
    return rounding + 3 * error


@dataclass(frozen=True, eq=False)
class Result:
    """Findings of one study, in the order of printing; sentences on what was done; and its picture."""

    name: str
    title: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    draw: Draw | None = field(default=None, repr=False)

    def to_frame(self) -> pd.DataFrame:
        """One row per finding."""
        columns = [*(f.name for f in fields(Finding)), "agrees"]
        return pd.DataFrame([[*astuple(found), found.agrees] for found in self.findings], columns=columns)

    def value(self, quantity: str, method: str, case: str | None = None) -> Finding:
        """The finding of this name; the first, when no case is given."""
        for found in self.findings:
            if (found.quantity, found.method) == (quantity, method) and case in (None, found.case):
                return found
        raise KeyError(f"{self.name} has no {quantity!r} of {method!r}" + (f" for {case!r}" if case else ""))

    def __str__(self) -> str:
        return "\n".join(part for part in (self.title, text_table(self.findings), *self.notes) if part)

    def write(self, folder: str) -> None:
        """Write NAME.csv, NAME.txt and NAME.png."""
        home = Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        self.to_frame().to_csv(home / f"{self.name}.csv", index=False)
        (home / f"{self.name}.txt").write_text(f"{self}\n", encoding="utf-8")
        with mpl.rc_context({"backend": "agg"}):
            figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
            (self.draw or drawn(self.findings))(figure)
            # What stands in brackets at the end says what the brackets of the text are.
            figure.suptitle(textwrap.fill(self.title.partition(" [")[0], 100), fontsize="medium")
            figure.savefig(home / f"{self.name}.png", dpi=120)


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
    text = f"{value:.{0 if size >= 100 else 1 if size >= 20 else 2 if size >= 1 else 3}f}"
    return text.replace("0.", ".", 1) if size < 1 else text


def text_table(findings: Iterable[Finding]) -> str:
    """One line per quantity and case, one column per method; the paper's value in brackets, ✓ or ✗ for agreement."""
    found = list(findings)
    methods = list(dict.fromkeys(f.method for f in found))
    lines = {(f.quantity, f.case): [""] * len(methods) for f in found}
    for f in found:
        error = "" if math.isnan(f.standard_error) else f"±{number(f.standard_error)}"
        paper = "" if math.isnan(f.paper) else f" [{number(f.paper)}]"
        lines[f.quantity, f.case][methods.index(f.method)] = f"{number(f.ours)}{error}{paper}{MARKS[f.agrees]}"
    rows = [["", *methods], *([f"{quantity}, {case}".strip(", "), *line] for (quantity, case), line in lines.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in aligned)


def drawn(findings: Sequence[Finding], value: str = "", *, joined: bool = False) -> Draw:
    """A picture of any findings: one panel per quantity, one colour per method, the printed values as crosses.

    Parameters
    ----------
    value : what the values of all panels are; "" where every panel has its own.
    joined : whether cases are steps along a scale, so that a line joins the values of a method.
    """

    def draw(figure: Figure) -> None:
        quantities = list(dict.fromkeys(f.quantity for f in findings))
        methods = list(dict.fromkeys(f.method for f in findings))
        columns = 2 if len(quantities) == 4 else min(len(quantities), 3)
        lines = -(-len(quantities) // columns)
        figure.set_size_inches(WIDTH, max(HEIGHT, 3.2 * lines + 0.8))
        axes = figure.subplots(lines, columns, squeeze=False).ravel()
        for ax, quantity in zip(axes, quantities, strict=False):
            _panel(ax, [f for f in findings if f.quantity == quantity], methods, joined, own_scale=not value)
            ax.set(title=quantity, ylabel=value)
        for ax in axes[len(quantities) :]:
            ax.set_visible(False)
        legend_below(figure)

    return draw


def _panel(ax: Axes, findings: Sequence[Finding], methods: Sequence[str], joined: bool, own_scale: bool) -> None:
    """Values of one quantity over its cases; a method has the same colour in every panel."""
    cases = list(dict.fromkeys(f.case for f in findings))
    apart = 0.0 if joined else min(0.15, 0.7 / len(methods))
    for m, method in enumerate(methods):
        shown = [f for f in findings if f.method == method]
        if not shown:
            continue
        places = [cases.index(f.case) + apart * (m - (len(methods) - 1) / 2) for f in shown]
        form: dict[str, Any] = {"color": f"C{m}", "markersize": 5.0}
        errors = np.nan_to_num([f.standard_error for f in shown])
        ax.errorbar(places, [f.ours for f in shown], errors, fmt="o-" if joined else "o", label=method, **form)
        if not all(math.isnan(f.paper) for f in shown):
            ax.plot(places, [f.paper for f in shown], "x", label=PRINTED, **form)
    values = [f.ours for f in findings if math.isfinite(f.ours)]
    lowest = min((f.ours - float(np.nan_to_num(f.standard_error)) for f in findings), default=0.0)
    if own_scale and lowest > 0 and max(values) > LOGARITHMIC * min(values):
        ax.set_yscale("log")
    ax.set_xticks(range(len(cases)), cases, rotation=40, ha="right", rotation_mode="anchor", fontsize="small")
    ax.set_xlim(-0.6, len(cases) - 0.4)


def legend_below(figure: Figure) -> None:
    """One legend for all panels of a figure, below them, each label once."""
    known: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    if PRINTED in known:
        known[PRINTED] = Line2D([], [], color="black", marker="x", linestyle="none")
    labels = sorted(known, key=PRINTED.__eq__)
    if labels:
        figure.legend([known[label] for label in labels], labels, loc="outside lower center", ncols=6, fontsize="small")


def generator(seed: int, *address: int) -> np.random.Generator:
    """The random numbers at an address below a seed, whatever else is run."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=address))


def mean_and_error(values: Any) -> tuple[float, float]:
    """Mean of a sample and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else math.nan


def finished(
    work: Callable[..., np.ndarray], tasks: Mapping[str, tuple[Any, ...]], options: Options, **facts: Any
) -> list[np.ndarray]:
    """work(*task) of every task, in order; what the store has under the name of a task is not computed again.

    Parameters
    ----------
    facts : settings that the numbers depend on beside the seed; a store begun with others is refused.
    """
    if options.store is None:
        return list(_computed(work, list(tasks.values()), options.jobs))
    with sqlite3.connect(options.store, isolation_level=None) as kept:
        _begin(kept, options.store, {"seed": options.seed, "outsample": outsample.__version__, **facts})
        known = dict(kept.execute("SELECT name, array FROM units").fetchall())
        missing = [name for name in tasks if name not in known]
        for name, array in zip(missing, _computed(work, [tasks[name] for name in missing], options.jobs), strict=True):
            written = io.BytesIO()
            np.save(written, array, allow_pickle=False)
            known[name] = written.getvalue()
            kept.execute("INSERT OR REPLACE INTO units VALUES (?, ?)", (name, known[name]))
    return [np.load(io.BytesIO(known[name]), allow_pickle=False) for name in tasks]


def _computed(work: Callable[..., np.ndarray], tasks: Sequence[tuple[Any, ...]], jobs: int | None) -> Iterator[Any]:
    workers = joblib.cpu_count() if jobs is None else jobs
    parallel = joblib.Parallel(n_jobs=workers, return_as="generator", batch_size=1)
    yield from parallel(joblib.delayed(work)(*task) for task in tasks)


def _begin(kept: sqlite3.Connection, path: str, facts: dict[str, Any]) -> None:
    """Write down what a new store is about; refuse one that is about something else."""
    kept.execute("CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT)")
    kept.execute("CREATE TABLE IF NOT EXISTS units (name TEXT PRIMARY KEY, array BLOB)")
    for name, value in facts.items():
        kept.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, json.dumps(value)))
        (known,) = kept.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        if known != json.dumps(value):
            raise ValueError(f"store: {path} was begun with other {name}; use another file or remove it")


def with_sets(options: Options, known: Sequence[str]) -> tuple[str, ...]:
    """The names of the data sets asked for, by default all that are known."""
    for name in options.sets:
        if name not in known:
            raise ValueError(f"sets: {name!r} is unknown: use some of {', '.join(known)}")
    return options.sets or tuple(known)
