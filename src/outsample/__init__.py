"""How good will this model be on new data, and which model should I pick?"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from outsample._public import *
else:
    # Loaded at first use: the command line must answer `--help` before scikit-learn is there.

    def _public_names() -> dict[str, object]:
        """The public names and what they stand for."""
        from outsample import _public

        return {name: value for name, value in vars(_public).items() if not name.startswith("_")}

    def __getattr__(name: str) -> object:
        from importlib import import_module
        from importlib.util import find_spec

        if name == "__all__":
            return __dir__()
        if not name.startswith("__") and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        names = {} if name.startswith("_") else _public_names()
        if name not in names:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = names[name]
        return names[name]

    def __dir__() -> list[str]:
        return sorted([*_public_names(), "__version__"])
