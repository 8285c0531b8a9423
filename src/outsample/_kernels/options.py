"""Numba's options, the same for every kernel."""

from __future__ import annotations

from typing import Any

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# Functions that only kernels call need no wrapper for Python either: they compile in half the time.
INNER = {**OPTIONS, "no_cpython_wrapper": True}

# Sums may be regrouped so that they use vector registers; infinities keep their meaning.
REGROUPED: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}}
