"""How far three calls walk through the library: the files whose functions they enter, one after the other.

What a reader who follows a call meets: Python functions of `outsample` entered in the main thread, in the second of two
runs, each where it is entered first. Not counted are properties, methods with double underscores, lambdas,
comprehensions and module-level code. A switch is an entry into another file of the library than the entry before. One
thread does all work, so that the counts do not depend on how threads share it.
"""

from __future__ import annotations

import csv
import inspect
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType

import numpy as np
from measuring import table
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import outsample
from outsample import GridSearch, cli, estimate

HOME = Path(outsample.__file__).parent


def lines(repeats: int, quick: bool, show: bool = False) -> Iterator[str]:
    """The table and, with `show`, the files of every call in the order they are entered."""
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        walks = {name: walk(call) for name, call in calls(Path(folder)).items()}
    rows = [[f"`{name}`", str(len(set(files))), str(len(files) - 1)] for name, files in walks.items()]
    yield from table(["call", "files", "switches"], rows)
    for name, files in walks.items() if show else ():
        yield f"`{name}`: {' → '.join(files)}"
        yield ""


def calls(folder: Path) -> dict[str, Callable[[], object]]:
    """A search along one path, an estimate by refitting, and a search on the command line."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    file = folder / "table.csv"
    with file.open("w", newline="") as opened:
        csv.writer(opened).writerows([["a", "b", "c", "d", "y"], *np.column_stack([X, y]).tolist()])
    select = ["select", str(file), "--target", "y", "--model", "tree", "--grid", "max_leaf_nodes=2:50"]

    def command() -> None:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            cli.app(select, standalone_mode=False)

    return {
        "GridSearch(tree, max_leaf_nodes 2 … 50).fit(X, y)": lambda: GridSearch(
            DecisionTreeClassifier(), {"max_leaf_nodes": range(2, 51)}
        ).fit(X, y),
        "estimate(GaussianNB(), X, y)": lambda: estimate(GaussianNB(), X, y),
        "outsample select FILE --target y --model tree --grid max_leaf_nodes=2:50": command,
    }


def walk(call: Callable[[], object]) -> list[str]:
    """Files of the functions that the second run of a call enters, in order; the same file in a row is one."""
    call()
    entered: list[str] = []
    known = properties()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or code in known or code.co_name.startswith(("<", "__")):
            return
        known.add(code)
        file = Path(code.co_filename)
        if HOME in file.parents:
            entered.append(str(file.relative_to(HOME)))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [file for file, _ in groupby(entered)]


def properties() -> set[CodeType]:
    """Code of the properties, cached or not, of all classes of the library that are loaded."""
    loaded = [module for name, module in sys.modules.items() if name.partition(".")[0] == "outsample"]
    classes = {value for module in loaded for value in vars(module).values() if isinstance(value, type)}
    members = [member for owner in classes for member in vars(owner).values()]
    functions = [getattr(member, name, None) for member in members for name in ("fget", "func", "_compute")]
    return {function.__code__ for function in functions if inspect.isfunction(function)}
