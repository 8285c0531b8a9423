"""What a script prints with the compiler on and with it off."""

from __future__ import annotations

import os
import subprocess
import sys


def printed_with_and_without_compiler(script: str) -> list[str]:
    """Standard output of a Python script, run twice in processes of its own; warnings are errors."""
    return [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", script],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in ("0", "1")
    ]
