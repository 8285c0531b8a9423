"""The commands demo, datasets and warmup: what comes with the library; and where the studies are."""

from __future__ import annotations

import pkgutil
import time
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd

# name → (function of sklearn.datasets, one line)
DATASETS = {
    "breast-cancer": ("load_breast_cancer", "569 rows, 30 columns, 2 classes"),
    "iris": ("load_iris", "150 rows, 4 columns, 3 classes"),
    "wine": ("load_wine", "178 rows, 13 columns, 3 classes"),
    "digits": ("load_digits", "1797 rows, 64 columns, 10 classes"),
    "diabetes": ("load_diabetes", "442 rows, 10 columns, numbers to predict"),
}


def datasets(
    name: Annotated[str | None, typer.Argument(help="Print this one as CSV; without a name, list them.")] = None,
) -> None:
    """Data sets that need no network, as CSV."""
    if name is None:
        for known, (_, line) in DATASETS.items():
            print(f"{known:15}{line}")
        return
    print(embedded_table(name).to_csv(index=False), end="")


def embedded_table(name: str) -> pd.DataFrame:
    """A data set of scikit-learn; the last column is `target`, with class names in place of their numbers."""
    from sklearn import datasets as known

    from outsample.checks import entry

    function, _ = entry("data set", name, DATASETS)
    found = getattr(known, function)(as_frame=True)
    if name == "digits" or not hasattr(found, "target_names"):
        return found.frame
    return found.frame.assign(target=found.target_names[found.target.to_numpy()])


def reproduce() -> None:
    """Where the studies are: beside the library, in its repository."""
    print("The studies are in the folder `studies` of the repository: from a checkout, python -m studies lists them.")


def warmup() -> None:
    """Compile all kernels at once, for images and CI."""
    from outsample import _kernels

    own = f"{_kernels.__name__}."
    for kernel in pkgutil.walk_packages(_kernels.__path__, own):
        compiled = getattr(import_module(kernel.name), "warmup", None)
        if compiled is not None:
            start = time.perf_counter()
            compiled()
            print(f"{kernel.name.removeprefix(own)}: {time.perf_counter() - start:.1f} s")


REPORT = "outsample-demo.html"


def demo(
    report: Annotated[str, typer.Option(help="Where to write the report.", metavar="FILE")] = REPORT,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
) -> None:
    """The swap on three embedded tables, against rows held out; writes a report."""
    from outsample.cli.demonstration import demonstration
    from outsample.cli.session import check_outputs

    check_outputs([], report=report)
    demonstration(report, seed)
