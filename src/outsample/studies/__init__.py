"""Studies: the paper's tables and figures, and what the library claims, checked. One file each."""

from outsample.studies.catalogue import STUDIES

__all__ = ["STUDIES"]
