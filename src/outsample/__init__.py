"""How good will this model be on new data, and which model should I pick?"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from outsample._public import *
else:

    def _names() -> dict[str, object]:
        """The public names and what they stand for, loaded at first use: `--help` must not wait for scikit-learn."""
        from outsample import _public

        return {name: value for name, value in vars(_public).items() if not name.startswith("_")}

    def __getattr__(name: str) -> object:
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        names = _names()
        if name == "__all__":
            return sorted([*names, "__version__"])
        if name not in names:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return names[name]

    def __dir__() -> list[str]:
        return sorted([*_names(), "__version__"])
