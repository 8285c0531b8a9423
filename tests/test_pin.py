"""A sample of the pin: public calls answer as they did when they were recorded; `tests/pin/record.py` has all of it."""

import sys
import zlib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "pin"))

from cases import cases
from record import WORDS, answer, decided, differing, recorded, reply

from questions import questions

# One search in so many is in the sample.
SPACING = 60

SAMPLE = [case for case in cases() if zlib.crc32(case.name.encode()) % SPACING == 0]


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_a_search_answers_as_it_was_recorded(case):
    fields = decided(case.name, differing(recorded()[case.name], answer(case)))
    assert [field for field in fields if field not in WORDS] == []


@pytest.mark.parametrize("name", questions())
def test_a_call_answers_as_it_was_recorded(name):
    fields = decided(name, differing(recorded()[name], reply(name)))
    assert [field for field in fields if field not in WORDS] == []
