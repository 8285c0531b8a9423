"""What a page is made of, before it becomes HTML: answers, pictures, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from outsample.running.arrays import Floats


@dataclass(frozen=True)
class Answer:
    """One answer: a word or two that name the question, the answer in short, and what there is to add."""

    label: str
    short: str
    more: str = ""


@dataclass(frozen=True, eq=False)
class Line:
    """One line of a chart, over the models.

    Attributes
    ----------
    name : what it is called in the legend.
    values : (models,) not-a-number leaves a gap.
    error : (models,) half the height of its band, or None.
    chosen : the model marked on it, or None.
    kind : "criterion" or "in-sample".
    """

    name: str
    values: Floats
    error: Floats | None = None
    chosen: int | None = None
    kind: str = "criterion"


@dataclass(frozen=True, eq=False)
class Chart:
    """Lines over models, simplest first.

    Attributes
    ----------
    lines : the first one that is "in-sample", if any, bounds the optimism band of a single criterion.
    settings : the setting of every model in words.
    values : the value of the parameter in every model, where there is one parameter of numbers; None otherwise.
    across, up : what the axes are.
    """

    lines: Sequence[Line]
    settings: Sequence[str]
    ticks: Sequence[str]
    values: Floats | None
    across: str
    up: str


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Estimates over the values of two parameters.

    Attributes
    ----------
    values : (rows, columns) estimates; not-a-number leaves a cell empty.
    rank : (rows, columns) share of the way from the best estimate (0) to the worst one told apart (1).
    rows, columns : the values of the parameters in words.
    down, across : the names of the parameters.
    what : what the values are.
    chosen : row and column of the chosen model, None where it is not on the map.
    plausible : (rows, columns) of the cells that may be the best.
    """

    values: Floats
    rank: Floats
    rows: Sequence[str]
    columns: Sequence[str]
    down: str
    across: str
    what: str
    chosen: tuple[int, int] | None
    plausible: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, eq=False)
class Bars:
    """Estimates with their intervals, one line below the other.

    Attributes
    ----------
    names : what each line is about.
    values : (lines,) points.
    low, high : (lines,) ends of the bars; not-a-number where there is none.
    across : what the values are.
    heading : what the names are.
    strong : lines drawn in the first colour: the chosen ones, or those that may be the best.
    reference : a value marked by a vertical line, None for none.
    """

    names: Sequence[str]
    values: Floats
    low: Floats
    high: Floats
    across: str
    heading: str = ""
    strong: frozenset[int] = frozenset()
    reference: float | None = None


@dataclass(frozen=True, eq=False)
class RaceChart:
    """The course of a race.

    Attributes
    ----------
    values : (rounds, candidates) estimates so far; not-a-number once a candidate had left.
    settings : the candidates in words.
    leader : the one that won.
    rounds : what each round is called.
    across, up : what rounds and values are.
    """

    values: Floats
    settings: Sequence[str]
    leader: int
    rounds: Sequence[str]
    across: str
    up: str


@dataclass(frozen=True, eq=False)
class Histogram:
    """A distribution under permuted labels, and the value observed on the real ones."""

    values: Floats
    observed: float
    across: str


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawing with what it shows, in words."""

    drawing: Chart | HeatMap | Bars | RaceChart | Histogram
    caption: str


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, and the number by which the column is sorted where it holds numbers."""

    text: str
    number: float | None = None


@dataclass(frozen=True)
class Table:
    """Headings and rows; the first `words` columns are words, the others numbers.

    Attributes
    ----------
    strong : rows that are set off from the others.
    note : a sentence below the table.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: int = 1
    strong: frozenset[int] = frozenset()
    note: str = ""


@dataclass(frozen=True, eq=False)
class Content:
    """Everything on the page, in its order; `more` has tables that follow the first one, each with its title."""

    title: str
    answers: Sequence[Answer]
    asked: Sequence[tuple[str, str]]
    table: Table
    table_title: str
    meanings: Sequence[tuple[str, str]]
    code: str
    pictures: Sequence[Picture] = field(default=())
    more: Sequence[tuple[str, Table]] = field(default=())
