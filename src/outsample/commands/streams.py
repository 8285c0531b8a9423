"""Standard streams that are closed, or that know only ASCII."""

from __future__ import annotations

import codecs
import os
import sys
from typing import Any

IN_ASCII = {"±": "+-", "−": "-", "–": "-", "—": "-", "…": "...", "→": "->", "²": "^2", "·": "*", "×": "x"} | {
    "≤": "<=",
    "≥": ">=",
    "“": '"',
    "”": '"',
}


def prepare_streams() -> None:
    """Give closed streams the null device, and those that cannot write a character a way to say it."""
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        if getattr(sys, name) is None:
            setattr(sys, name, _null_device(number, mode))
    codecs.register_error("outsample.ascii", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="outsample.ascii")


def _null_device(number: int, mode: str) -> Any:
    """The null device under the number of a standard stream, so that no file opened later is taken for that."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.set_inheritable(number, True)
    return open(number, mode, encoding="utf-8")


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """What a stream cannot encode, spelled in ASCII; characters without a spelling by their number."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(IN_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text), error.end


def writes_every_character() -> bool:
    """Whether standard output knows all of Unicode."""
    return codecs.lookup(sys.stdout.encoding or "ascii").name.startswith("utf")
