"""Every study by its name on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from outsample.running.progress import silent

# name → module of this package; its `main` takes the remaining arguments as a list of strings. Those of the paper also
# have run(n=…, seed=0, store=None, data_home=None, out=None, n_jobs=None, progress=None) -> StudyResult.
STUDIES = {
    "table1": "table1",
    "table3": "table3",
    "table4": "table4",
    "table5": "table5",
    "table6": "table6",
    "table7": "table7",
    "figure3": "figure3",
    "figure5": "figure5",
    "figure6": "figure6",
    "imbalance": "imbalance",
    "coverage": "coverage",
    "bounds": "bounds_hold",
}


def study(name: str) -> ModuleType:
    """The module of a study."""
    if name not in STUDIES:
        raise ValueError(f"there is no study {name!r}; there are {', '.join(STUDIES)}")
    return import_module(f"outsample.studies.{STUDIES[name]}")


class Main(Protocol):
    """A study on the command line."""

    def __call__(self, arguments: list[str] | None = None) -> None:
        """Run with these arguments, or with those of the process."""


def study_command(run: Callable[..., Any], default_n: int, unit: str) -> Main:
    """A `main` that reads the arguments of a study, runs it and prints the result."""

    def main(arguments: list[str] | None = None) -> None:
        """Run the study and print what it found."""
        asked = _parser(run, default_n, unit).parse_args(arguments)
        print(run(**_settings(asked)))

    return main


def _parser(run: Callable[..., Any], default_n: int, unit: str) -> argparse.ArgumentParser:
    about = (run.__doc__ or "").strip().split("\n")[0]
    parser = argparse.ArgumentParser(prog=f"outsample reproduce {run.__module__.rpartition('.')[2]}", description=about)
    parser.add_argument(
        "-n", f"--{unit}", dest="n", type=int, default=default_n, help=f"number of {unit}, by default {default_n}"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", help="SQLite file: a run that was stopped goes on where it was")
    parser.add_argument("--data-home", help="folder of CSV files; otherwise OUTSAMPLE_DATA, otherwise OpenML")
    parser.add_argument("--out", help="folder for the table as CSV and text, and the figure")
    parser.add_argument("--jobs", dest="n_jobs", type=int, help="workers; by default one per core")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    if "names" in run.__code__.co_varnames[: run.__code__.co_argcount + run.__code__.co_kwonlyargcount]:
        parser.add_argument("--sets", dest="names", type=_names, help="data sets, separated by commas")
    return parser


def _names(text: str) -> Sequence[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _settings(asked: argparse.Namespace) -> dict[str, Any]:
    settings = {name: value for name, value in vars(asked).items() if value is not None}
    settings["progress"] = silent if settings.pop("quiet") else None
    return settings
