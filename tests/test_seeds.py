"""The table of the seeds names things that exist: public names, tests, studies, rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import outsample
from outsample.rules import RULES
from studies import STUDIES

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "docs" / "seeds.md"

pytestmark = pytest.mark.skipif(not TABLE.exists(), reason="the documents are not beside the tests")

# Classes that are met as results or arguments only, and what scikit-learn calls its own.
RESULTS = {"ErrorEstimate", "Complexity", "PermutationTest", "OracleTerms", "HypothesisSet"}
OTHERS = {"Ridge", "RidgeClassifier", "PredefinedSplit", "datasets"}


def rows():
    lines = TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else []
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    return [row for row in cells if row[0] not in ("where", "---")]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]} {row[1][:30]}")
def test_no_cell_is_empty_and_every_test_exists(row):
    assert len(row) == 4
    assert all(row)
    for file, name in re.findall(r"(tests/\S+\.py)::(\w+)", row[3]):
        source = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}", source, re.MULTILINE), f"{file} has no {name}"
    assert "::" in row[3] or "doctest" in row[3] or row[3] == "–"


def found(name):
    """What a dotted public name stands for."""
    thing = outsample
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]} {row[1][:30]}")
def test_every_public_name_exists(row):
    for quoted in re.findall(r"`([^`]+)`", row[2]):
        if quoted.startswith("python -m studies "):
            assert quoted.removeprefix("python -m studies ") in STUDIES
            continue
        if quoted.startswith('"'):
            assert row[2].startswith("rule") is (quoted.strip('"') in RULES)
            continue
        name = re.match(r"[A-Za-z_.]+", quoted).group(0)
        first, *rest = name.split(".")
        if ("=" in quoted and "(" not in quoted) or name in OTHERS:
            continue
        if first in RESULTS and rest:
            continue
        assert found(name) is not None


def test_attributes_of_results_exist():
    from outsample.questions.complexity import Complexity
    from outsample.questions.significance import PermutationTest
    from outsample.rules import OracleTerms

    fields = set(outsample.ErrorEstimate.__dataclass_fields__)
    assert {"out_sample", "draws", "draw_in_sample", "fold_variance"} <= fields
    assert isinstance(outsample.ErrorEstimate.draw_out_sample, property)
    assert "mean_product" in Complexity.__dataclass_fields__
    assert callable(PermutationTest.critical_value)
    assert callable(OracleTerms.tail_bound)
    assert isinstance(outsample.HypothesisSet.shatter_coefficient, property)
