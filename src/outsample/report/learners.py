"""The page of a comparison of learners: which to use, what to expect of it, what is as good."""

from __future__ import annotations

import re

import numpy as np

from outsample.curve.error_estimate import numeral
from outsample.curve.words import aligned, counted, decimals_of, expectation, joined
from outsample.plots.elements import Answer, Bars, Cell, Content, Picture, Table
from outsample.questions.compare_models import ModelComparison
from outsample.report.comparison import numbers_in_cells

# The power of ten of a number as Python writes it.
POWER = re.compile(r"e[+]?(-?)0*(?=\d)")
MEANINGS = {
    "95 % interval": "where the error on new data is to be expected; this data set is one of many.",
    "may be best": "no other learner is better beyond doubt, by the losses of the same rows left out (level 0.95).",
    "fits": "how often a learner was fitted over all folds, fits inside searches counted.",
}
BARS = "The error of each learner on rows left out, with its 95 % interval; strong: those that may be the best."

PAIRS = (
    "Paired on the same rows left out, and corrected for the training rows that folds share; Holm's p-values are "
    "adjusted for all pairs."
)
PAIRED = (
    "The differences to the best learner, row by row on the same rows left out, with their 95 % intervals: where a bar "
    "crosses the line, these data alone do not tell the two apart."
)


def learners_content(found: ModelComparison, asked: list[tuple[str, str]], call: str) -> Content:
    """What the page of a comparison of learners says."""
    headings, lines = found.table()
    loss, frame = found.curve.loss.name, found.to_frame()
    facts = {"rows": found.curve.n_samples, "learners": len(found.names), "measured by": loss}
    order = [line[0] for line in lines]
    rows = [
        [Cell(name), Cell(_short(value), float(frame.estimate[name])), *(Cell(_short(text)) for text in others)]
        for name, value, *others in lines
    ]
    return Content(
        title="Which learner?",
        answers=learners_answers(found),
        asked=[*asked, *((name, str(value)) for name, value in facts.items())],
        table=Table(headings, rows, strong=frozenset(i for i, name in enumerate(order) if name in found.plausible)),
        table_title="The learners",
        meanings=[(loss, f"estimates {found.curve.estimand}."), *MEANINGS.items()],
        code=call,
        pictures=[Picture(_bars(found, order), BARS), *_paired(found)],
        more=_pairs(found),
    )


def _short(text: str) -> str:
    """A number as pages write it, without the sign and the zeros of its exponent."""
    return POWER.sub(r"e\1", text)


def learners_answers(found: ModelComparison) -> list[Answer]:
    """Which learner to use, what to expect of it, and which are as good."""
    others = [name for name in found.plausible if name != found.best]
    good = joined(others) if others else "no other learner"
    why = "cannot be told from it by these data" if others else "by these data it is better than all others"
    return [
        Answer("Use", found.best, f"the best of {counted(len(found.names), 'learner')} on the same rows left out"),
        Answer("Expect", expectation(found.estimates[found.best])),
        Answer("As good", good, why),
    ]


def _bars(found: ModelComparison, order: list[str]) -> Bars:
    frame = found.to_frame().loc[order]
    low, high = np.array(frame["interval"].tolist(), dtype=np.float64).T
    strong = frozenset(np.flatnonzero(frame["plausible"]).tolist())
    return Bars(order, frame["estimate"].to_numpy(), low, high, found.curve.loss.name, "learner", strong)


def _paired(found: ModelComparison) -> list[Picture]:
    """By how much every other learner differs from the best one."""
    pairs = found.differences()
    mine = [pair for pair in pairs.itertuples() if found.best in (pair.first, pair.second)]
    if not mine:
        return []
    turned = [-1.0 if pair.first == found.best else 1.0 for pair in mine]
    names = [pair.second if pair.first == found.best else pair.first for pair in mine]
    values = np.array([turn * pair.difference for turn, pair in zip(turned, mine, strict=True)])
    ends = np.array([sorted(turn * end for end in pair.interval) for turn, pair in zip(turned, mine, strict=True)])
    order = np.argsort(np.abs(values), kind="stable")
    across = f"{found.curve.loss.name}: difference to {found.best}"
    strong = frozenset(i for i, place in enumerate(order) if names[place] in found.plausible)
    low, high = ends[order].T
    drawn = Bars([names[i] for i in order], values[order], low, high, across, "learner", strong, reference=0.0)
    return [Picture(drawn, PAIRED)]


def _pairs(found: ModelComparison) -> list[tuple[str, Table]]:
    """A table of the differences between the learners of each pair."""
    pairs = list(found.differences().itertuples())
    if not pairs:
        return []
    values = np.array([pair.difference for pair in pairs], dtype=np.float64)
    ends = np.array([pair.interval for pair in pairs], dtype=np.float64)
    decimals = decimals_of(np.concatenate([values, ends.ravel()]), 3)
    low, high = (aligned(column, decimals) for column in ends.T)
    rows = [
        [
            Cell(f"{pair.first} − {pair.second}"),
            *numbers_in_cells(values[[i]], decimals),
            Cell(f"{low[i]} to {high[i]}"),
            *(Cell(numeral(p, 2), float(p)) for p in (pair.p_value, pair.p_holm)),
        ]
        for i, pair in enumerate(pairs)
    ]
    headings = ("pair", "difference", "95 % interval", "p", "p, Holm")
    return [("The differences", Table(headings, rows, note=PAIRS))]
