"""Numba's options: one set for kernels, one for those that make no arrays; inner functions of either."""

from __future__ import annotations

from typing import Any

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# Functions that only kernels call need no wrapper for Python either: they compile in half the time.
INNER = {**OPTIONS, "no_cpython_wrapper": True}

# Kernels that make no arrays need not count who holds those they are lent: with twenty of them a call to an inner
# function would count longer than it works, and counting is a tenth of the time to compile.
LENT = {**OPTIONS, "_nrt": False}
LENT_INNER = {**INNER, "_nrt": False}

# Functions with a single caller become part of it before it is compiled, so that they are optimised once. That pays for
# those which mainly call others: the time to merge a function grows faster than its length. Kernels of real values run
# a twentieth slower with it, and do without.
MERGED = {**LENT_INNER, "inline": "always"}

# Sums may be regrouped so that they use vector registers; infinities keep their meaning.
REGROUPED: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}}
