"""Results as one self-contained HTML file: no network, no scripts from elsewhere."""

from __future__ import annotations

from outsample.report.page import report_page, write_report

__all__ = ["report_page", "write_report"]
