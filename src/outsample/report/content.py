"""What the page of a result says, whatever the result is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outsample.curve.error_estimate import ErrorEstimate
from outsample.curve.words import Rename, short_names
from outsample.plots.elements import Content
from outsample.questions.audit import Audit
from outsample.questions.compare import Comparison
from outsample.questions.compare_models import ModelComparison
from outsample.questions.significance import PermutationTest
from outsample.report.comparison import comparison_content
from outsample.report.learners import learners_content
from outsample.report.search import search_content
from outsample.report.single import audit_content, estimate_content, test_content


def content_of(result: object, asked: Mapping[str, Any], rename: Rename | None, call: str) -> Content:
    """The content of the page of a result; parameters as in `report_page`."""
    measured = not isinstance(result, PermutationTest | Audit)  # results that know their number of rows
    facts = [(name, str(value)) for name, value in asked.items() if not (measured and name == "rows")]
    if isinstance(result, Comparison):
        settings = next(iter(result.curves.values())).params
        return comparison_content(result, facts, rename or short_names(settings), call or result.call)
    if isinstance(result, ModelComparison):
        return learners_content(result, facts, call or result.call)
    if isinstance(result, ErrorEstimate):
        return estimate_content(result, facts, call)
    if isinstance(result, PermutationTest):
        return test_content(result, facts, call)
    if isinstance(result, Audit):
        return audit_content(result, facts, call)
    if hasattr(result, "curve_"):
        return search_content(result, facts, rename or short_names(result.curve_.params), call)
    raise TypeError(f"there is no report of a {type(result).__name__}")
