"""How good will this model be on new data, and which model should I pick?"""

from ._version import __version__

__all__ = ["__version__"]
