"""Families of models, each served from one fit where that is possible."""

from __future__ import annotations

from outsample.paths.base import Design, Path, Smoother
from outsample.paths.dispatch import find_path
from outsample.paths.refit import RefitPath

__all__ = ["Design", "Path", "RefitPath", "Smoother", "find_path"]
