"""The studies by name, and a command line for each."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
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
    "figure3": "polynomials",
    "figure4": "problems",
    "figure5": "roughness",
    "figure6": "polynomials",
    "imbalance": "plane",
    "coverage": "coverage",
    "bounds": "guarantees",
    "degrees": "degrees",
    "selection": "selection",
}


@dataclass(frozen=True)
class Study(Generic[P, R]):
    """A study: a function that runs it, and a command line for that function.

    Attributes
    ----------
    run : its first parameter n is the size of the study; the result prints as a table. Studies of the paper have
        run(n=…, seed=0, store=None, data_home=None, out=None, n_jobs=None, progress=None) -> StudyResult.
    unit : what n counts, in the plural.
    """

    run: Callable[P, R]
    unit: str

    def main(self, arguments: list[str] | None = None) -> None:
        """Run the study with options of the command line, by default those of the process, and print the result."""
        run: Callable[..., R] = self.run
        print(run(**vars(self._parser().parse_args(arguments))))

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=f"outsample reproduce {self.run.__name__}",
            description=(self.run.__doc__ or "").strip().split("\n")[0],
        )
        for name, parameter in inspect.signature(self.run).parameters.items():
            flags, settings = self._option(name, parameter.default)
            parser.add_argument(*flags, dest=name, default=parameter.default, **settings)
        return parser

    def _option(self, name: str, default: object) -> tuple[tuple[str, ...], dict[str, Any]]:
        if name == "n":
            return ("-n", f"--{self.unit}"), {"type": int, "help": f"number of {self.unit}, by default {default}"}
        return OPTIONS[name]


def study(unit: str) -> Callable[[Callable[P, R]], Study[P, R]]:
    """Decorator: the function is the `run` of a study of n units."""
    return lambda run: Study(run, unit)


def study_named(name: str) -> Study[..., Any]:
    """The study of this name."""
    module = import_module(f"outsample.studies.{entry('study', name, STUDIES)}")
    found: Study[..., Any] = getattr(module, name)
    return found


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
    "draws": (("--draws",), {"type": int, "help": "label draws for trees, by default 1000"}),
    "level": (("--level",), {"type": float, "help": "nominal coverage, by default 0.9"}),
    "delta": (("--delta",), {"type": float, "help": "how often a bound may fail, by default 0.05"}),
}
