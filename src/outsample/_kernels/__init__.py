"""Compiled kernels: plain arrays in, plain arrays out. Callers validate every index beforehand.

The first call ever of a kernel compiles it, which takes seconds; whoever watches a terminal is told once.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

from numba.core import event


class _Compilation(event.Listener):  # type: ignore[misc]
    """Tells once per process that kernels are being compiled, and lets nobody look for garbage meanwhile.

    The compiler makes millions of objects that it keeps: looking through them again and again takes a tenth of its
    time.
    """

    def __init__(self) -> None:
        self._said, self._collects, self._depth = False, False, 0

    def on_start(self, event: Any) -> None:
        """One more function is compiled: a kernel, or one that it calls."""
        if self._depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        ours = event.data["dispatcher"].py_func.__module__.startswith(f"{__name__}.")
        if ours and not self._said and sys.stderr.isatty():
            self._said = True
            print("outsample: compiling, once on this machine …", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """The function is compiled, or could not be."""
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()


event.register("numba:compile", _Compilation())
