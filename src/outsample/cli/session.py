"""A session: what was asked, with its data read and its learner made; and how the answer is told."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from outsample.checks import page_path

OUTPUTS, INPUTS = ("report", "plot", "store"), ("script", "file")
PICTURES = (".png", ".svg", ".pdf")


class Session:
    """The options of a command by the names that the library has for them, with the data, and the learner if any.

    Attributes
    ----------
    given : what functions of the library may be given, by name.
    facts : what was asked, in plain values with stable names.
    """

    def __init__(self, command: str, asked: Mapping[str, Any]) -> None:
        from outsample.cli.grammar import criteria_of, criterion_of
        from outsample.cli.models import learner_for
        from outsample.cli.tables import PreparedTable, read_table
        from outsample.running.progress import silent

        check_outputs([asked[name] for name in INPUTS if name in asked], {name: asked.get(name) for name in OUTPUTS})
        self.command, self.asked = command, asked
        about = {name: asked.get(name) for name in ("groups", "weights", "positive", "task")}
        self.data = PreparedTable.of(
            read_table(asked["file"]), asked["target"], drop=asked["drop"] or (), say=self.say, **about
        )
        data = {"X": self.data.X, "y": self.data.y, "groups": self.data.groups, "sample_weight": self.data.weight}
        read = {"criterion": criterion_of, "criteria": criteria_of}
        self.given = dict(asked) | data | {name: read[name](asked[name]) for name in read if name in asked}
        if asked["quiet"]:
            self.given["progress"] = silent
        self.facts = {
            "file": asked["file"],
            "rows": len(self.data.y),
            "columns": self.data.X.shape[1],
            "target": self.data.target,
            "task": self.data.task,
            "model": asked.get("model"),
            "seed": asked["random_state"],
        }
        self.names: Callable[[Any], dict[str, Any]] = dict
        if "model" in asked:
            learner = learner_for(asked["model"], self.data, scale=asked["scale"], say=self.say)
            self.learner = learner.with_settings(asked["set"])
            self.given["estimator"], self.names = self.learner.estimator, self.learner.short_names

    def say(self, sentence: str) -> None:
        """Print a sentence on standard error, unless nothing but the answer is wanted."""
        if not self.asked["quiet"]:
            print(f"outsample: {sentence}", file=sys.stderr)

    def call(self, function: Callable[..., Any], **more: Any) -> Any:
        """What a function of the library answers, given all that it has a parameter for."""
        given = self.given | more
        return function(**{name: given[name] for name in inspect.signature(function).parameters if name in given})

    def tell(self, found: Any, said: Mapping[str, Any], more: Sequence[str] = ()) -> None:
        """Write the picture and the report where files are named, and print the answer as text or as JSON."""
        from outsample.curve.risk_curve import plain
        from outsample.view.content import in_terminal

        self._write(found)
        if self.asked["json"]:
            from outsample import __version__

            unicode = (sys.stdout.encoding or "ascii").lower().startswith("utf")
            whole = {"command": self.command, "version": __version__, "asked": self.facts} | dict(said)
            print(json.dumps(plain(whole), indent=2, ensure_ascii=not unicode, allow_nan=False))
        else:
            print("\n".join([str(found) if self.command == "audit" else in_terminal(found), *more]))

    def _write(self, found: Any) -> None:
        if self.asked["plot"] is not None:
            from matplotlib.figure import Figure

            figure = Figure(figsize=(8, 5.5), layout="constrained")
            found.plot(ax=figure.subplots())
            figure.savefig(self.asked["plot"], dpi=150)
        if self.asked["report"] is not None:
            from outsample.view.page import write_report

            more = {"asked": self.facts, "call": shlex.join(["outsample", *sys.argv[1:]])}
            grouped = self.data.groups is not None
            write_report(found, self.asked["report"], X=self.data.X, y=self.data.y, grouped=grouped, **more)


def check_outputs(inputs: Sequence[str], outputs: Mapping[str, str | None]) -> None:
    """Raise ValueError for outputs that cannot be written, or that are an input or one another, before any work.

    Parameters
    ----------
    inputs : files that are read; "-" is standard input.
    outputs : option → the file it names, None where it is not given.
    """
    files = {f"--{name}": path for name, path in outputs.items() if path is not None}
    for option, path in files.items():
        folder = Path(path).absolute().parent
        if not folder.is_dir():
            raise ValueError(f"{option} {path}: there is no folder {folder}")
        if Path(path).is_dir():
            raise ValueError(f"{option} {path}: this is a folder; name a file")
        if any(_are_one_file(read, written) for read in inputs for written in _written(option, path)):
            raise ValueError(f"{option} {path}: this file is read, and would be overwritten; name another one")
    for (option, path), (other, second) in combinations(files.items(), 2):
        if any(_are_one_file(one, two) for one in _written(option, path) for two in _written(other, second)):
            raise ValueError(f"{option} {path} and {other} {second} are the same file; name two")
    plot, report = outputs.get("plot"), outputs.get("report")
    if plot is not None and Path(plot).suffix.lower() not in PICTURES:
        raise ValueError(f"--plot {plot}: the name of a picture ends in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    if report is not None:
        page_path("--report", report)


def _written(option: str, path: str) -> list[str]:
    """The files that an option writes: SQLite keeps up to three beside a store."""
    return [path, *(f"{path}-{end}" for end in ("wal", "shm", "journal") if option == "--store")]


def _are_one_file(first: str, second: str) -> bool:
    """Whether two paths lead to one file, by links of any kind; a file that is not there yet is where its path ends."""
    try:
        return os.path.samefile(0 if first == "-" else first, second)
    except OSError:
        return first != "-" and os.path.realpath(first) == os.path.realpath(second)
