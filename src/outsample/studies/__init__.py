"""Studies: the paper's tables and figures, and what the library claims, checked. One file each."""

from __future__ import annotations

from outsample.studies.catalogue import STUDIES

__all__ = ["STUDIES"]
