"""The pages of an estimate, a permutation test and an audit."""

from __future__ import annotations

import math

from outsample.curve.error_estimate import ErrorEstimate, numeral
from outsample.curve.words import amount, counted, doubt, expectation, number
from outsample.plots.elements import Answer, Cell, Content, Histogram, Picture, Table
from outsample.questions.audit import Audit
from outsample.questions.significance import PermutationTest
from outsample.report.comparison import MEANINGS, NUMBERS, number_cells

NULL = "The bars are what labels without information give."


def estimate_content(found: ErrorEstimate, asked: list[tuple[str, str]], call: str) -> Content:
    """What the page of one estimate says."""
    facts = {"rows": found.n_samples, "measured by": found.loss, "criterion": found.criterion}
    return Content(
        title="How good will this model be on new data?",
        answers=estimate_answers(found),
        asked=[*asked, *((name, str(value)) for name, value in facts.items())],
        table=Table(("criterion", *NUMBERS), [[Cell(found.criterion), *number_cells([found])[0]]]),
        table_title="The numbers",
        meanings=[*MEANINGS.items(), (found.criterion, f"estimates {found.estimand}.")],
        code=call,
    )


def estimate_answers(found: ErrorEstimate) -> list[Answer]:
    """What to expect, and the number not to be misled by."""
    expected = Answer("Expect", expectation(found), doubt(found))
    if math.isnan(found.in_sample):
        return [expected]
    as_root = found.loss == "squared" and found.out_sample > 0
    said = f"off by {number(math.sqrt(found.in_sample), 3)}" if as_root else amount(found.loss, found.in_sample)
    fitted = f"{said} on the rows it was fitted to"
    return [expected, Answer("Do not believe", fitted, "such a number flatters")]


def test_content(found: PermutationTest, asked: list[tuple[str, str]], call: str) -> Content:
    """What the page of a permutation test says."""
    draws = len(found.null)
    cells = [
        Cell(found.name),
        *(Cell(numeral(value), float(value)) for value in (found.statistic, found.pvalue)),
        *(Cell(str(value), float(value)) for value in (draws, found.n_fits)),
        Cell(numeral(found.seconds, 2), found.seconds),
    ]
    return Content(
        title="Is there anything there?",
        answers=test_answers(found),
        asked=[*asked, ("alternative", found.alternative)],
        table=Table(("statistic", "value", "p-value", "permutations", "fits", "seconds"), [cells]),
        table_title="The numbers",
        meanings=[
            ("statistic", f"{found.name}, on the real labels; the bars are its values on permuted ones."),
            ("p-value", "how often labels without information would reach the statistic of the real ones."),
        ],
        code=call,
        pictures=[Picture(Histogram(found.null, found.statistic, found.name.partition(" of ")[0]), NULL)],
    )


def test_answers(found: PermutationTest) -> list[Answer]:
    """Whether there is anything there."""
    many = counted(len(found.null), "permutation")
    return [Answer("Answer", _verdict(found), f"p = {found.pvalue:.3g} over {many} of the labels")]


def _verdict(found: PermutationTest) -> str:
    if found.pvalue <= 0.05:
        return "the labels carry information about the columns"
    return "this test cannot tell" if found.notes else "there is no sign of signal"


def audit_content(found: Audit, asked: list[tuple[str, str]], call: str) -> Content:
    """What the page of an audit says."""
    numbers = (found.reported, found.no_information, found.optimism, found.corrected, found.pvalue)
    return Content(
        title="Is the procedure honest?",
        answers=[Answer("Answer", *_parted(found.sentence))],
        asked=asked,
        table=Table(
            ("reported", "no information", "optimism", "corrected", "p-value"),
            [[Cell(numeral(value), float(value)) for value in numbers]],
            words=0,
        ),
        table_title="The numbers",
        meanings=[
            ("reported", "the error the procedure reports on the real labels."),
            ("no information", "the error of the best constant guess: on shuffled labels nothing honest is below it."),
            ("optimism", "how far below that the procedure reports on shuffled labels."),
            ("corrected", "reported + optimism."),
        ],
        code=call,
        pictures=[Picture(Histogram(found.draws, found.reported, "error reported on shuffled labels"), NULL)],
    )


def _parted(text: str) -> tuple[str, str]:
    """The first sentence of a text, and the others."""
    first, _, rest = text.partition(". ")
    return (f"{first}.", rest) if rest else (text, "")
