"""Compiled kernels: plain arrays in, plain arrays out. Callers validate every index beforehand.

The first call ever of a kernel compiles it, which takes seconds; whoever watches a terminal is told once.
"""

from __future__ import annotations

import sys
from typing import Any

from numba.core import event


class _SayCompiling(event.Listener):  # type: ignore[misc]
    """Tells once per process that kernels are being compiled."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: Any) -> None:
        ours = event.data["dispatcher"].py_func.__module__.startswith(f"{__name__}.")
        if ours and not self._said and sys.stderr.isatty():
            self._said = True
            print("outsample: compiling, once on this machine …", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


event.register("numba:compile", _SayCompiling())
