"""Families of models, each served from one fit where that is possible."""

from .base import Design, Path, Smoother
from .dispatch import find_path
from .refit import RefitPath

__all__ = ["Design", "Path", "RefitPath", "Smoother", "find_path"]
