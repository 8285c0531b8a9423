"""The studies by name, and a command line for each."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

from outsample.checks import entry
from outsample.running.progress import silent

P = ParamSpec("P")
R = TypeVar("R")

# Study → the module of this package that holds a `Study` of that name.
STUDIES = {
    "table1": "two_fits",
    "table2": "problems",
    "table3": "polynomials",
    "table4": "polynomials",
    "table5": "real_data",
    "table6": "real_data",
    "table7": "plane",
    "figure1": "faces",
    "figure3": "polynomials",
    "figure4": "problems",
    "figure5": "roughness",
    "figure6": "polynomials",
    "imbalance": "plane",
    "coverage": "coverage",
    "bounds": "guarantees",
    "degrees": "degrees",
    "selection": "selection",
    "criteria": "own_criteria",
}


QUICK_FOLDER = "reproduced"
"""Where quick studies leave their picture unless told otherwise."""


@dataclass(frozen=True)
class Study(Generic[P, R]):
    """A study: a function that runs it, and a command line for that function.

    Attributes
    ----------
    run : its first parameter n is the size of the study; the result prints as a table. Studies of the paper have
        run(n=…, seed=0, store=None, data_home=None, out=None, n_jobs=None, progress=None) -> StudyResult.
    unit : what n counts, in the plural.
    quick : parameters with which it takes less than a minute.
    """

    run: Callable[P, R]
    unit: str
    quick: Mapping[str, Any]

    def main(self, arguments: list[str] | None = None) -> None:
        """Run the study with options of the command line, by default those of the process, and print the result."""
        given = vars(self._parser().parse_args(arguments))
        short = given.pop("quick")
        run: Callable[..., R] = self.run
        print(run(**(self.short if short else {}) | given))

    @property
    def short(self) -> dict[str, Any]:
        """Parameters of the quick form: few units, and a folder for the picture."""
        return {"out": QUICK_FOLDER} | dict(self.quick)

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=f"outsample reproduce {self.run.__name__}",
            description=(self.run.__doc__ or "").strip().split("\n")[0],
            argument_default=argparse.SUPPRESS,
        )
        for name, parameter in inspect.signature(self.run).parameters.items():
            flags, settings = self._option(name, parameter.default)
            parser.add_argument(*flags, dest=name, **settings)
        sizes = ", ".join(f"{name} = {value}" for name, value in self.quick.items())
        told = f"a picture in less than a minute, in the folder {QUICK_FOLDER} unless --out names one: {sizes}"
        parser.add_argument("--quick", action="store_true", default=False, help=told)
        return parser

    def _option(self, name: str, default: object) -> tuple[tuple[str, ...], dict[str, Any]]:
        if name == "n":
            return ("-n", f"--{self.unit}"), {"type": int, "help": f"number of {self.unit}, by default {default}"}
        return OPTIONS[name]


def study(unit: str, **quick: object) -> Callable[[Callable[P, R]], Study[P, R]]:
    """Decorator: the function is the `run` of a study of n units, and `quick` are parameters for less than a minute."""
    return lambda run: Study(run, unit, quick)


def study_named(name: str) -> Study[..., Any]:
    """The study of this name."""
    module = import_module(f"outsample.studies.{entry('study', name, STUDIES)}")
    found: Study[..., Any] = getattr(module, name)
    return found


EVERYTHING = "all"
"""Stands for all studies, one after the other."""


def run_all(arguments: list[str] | None = None) -> None:
    """Run every study with the options that all of them share; one that cannot be run does not stop the others."""
    given = vars(_shared_parser().parse_args(arguments))
    short, folder, failed = given.pop("quick"), given.pop("store", None), []
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
    for name in STUDIES:
        found = study_named(name)
        stored = {} if folder is None else {"store": Path(folder) / f"{name}.sqlite"}
        settings = (found.short if short else {}) | given | stored
        known = inspect.signature(found.run).parameters
        print(f"== {name}", flush=True)
        try:
            print(found.run(**{key: value for key, value in settings.items() if key in known}), flush=True)
        except (OSError, ValueError) as error:
            failed.append(name)
            print(f"{name} could not be run: {error}", flush=True)
    if failed:
        raise ValueError(f"{len(failed)} of {len(STUDIES)} studies could not be run: {', '.join(failed)}")


def _shared_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"outsample reproduce {EVERYTHING}",
        description="Every study, one after the other, with its own size.",
        argument_default=argparse.SUPPRESS,
    )
    for name in ("seed", "data_home", "out", "n_jobs", "progress"):
        flags, settings = OPTIONS[name]
        parser.add_argument(*flags, dest=name, **settings)
    told = "folder of SQLite files, one per study: a run that was stopped goes on where it was"
    parser.add_argument("--store", dest="store", help=told)
    told = f"every study in less than a minute, its picture in the folder {QUICK_FOLDER} unless --out names one"
    parser.add_argument("--quick", action="store_true", default=False, help=told)
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


# Parameter of `run` → its flags, and the settings of argparse.
OPTIONS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "seed": (("--seed",), {"type": int, "help": "seed of everything random, by default 0"}),
    "store": (("--store",), {"help": "SQLite file: a run that was stopped goes on where it was"}),
    "data_home": (("--data-home",), {"help": "folder of CSV files; otherwise OUTSAMPLE_DATA, otherwise OpenML"}),
    "out": (("--out",), {"help": "folder for the table as CSV and text, and the figure"}),
    "n_jobs": (("--jobs",), {"type": int, "help": "workers; by default one per core"}),
    "progress": (("--quiet",), {"action": "store_const", "const": silent, "help": "no progress bar"}),
    "names": (("--sets",), {"type": _names, "help": "data sets, separated by commas"}),
    "learners": (("--learners",), {"type": _names, "help": "trees, k-NN or both, separated by commas"}),
    "draws": (("--draws",), {"type": int, "help": "label draws for trees, by default 1000"}),
    "level": (("--level",), {"type": float, "help": "nominal coverage, by default 0.9"}),
    "delta": (("--delta",), {"type": float, "help": "how often a bound may fail, by default 0.05"}),
}
