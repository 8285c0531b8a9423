"""datasets, reproduce and warmup: what comes with the library."""

from __future__ import annotations

import difflib
import pkgutil
import time
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any

import typer

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
    if name not in DATASETS:
        raise ValueError(f"there is no data set {name!r}{_nearest(name, DATASETS)}; there are {', '.join(DATASETS)}")
    print(embedded(name).to_csv(index=False), end="")


def embedded(name: str) -> Any:
    """A data set as a table whose last column is `target`, class names in place of numbers."""
    from sklearn import datasets as known

    found = getattr(known, DATASETS[name][0])(as_frame=True)
    if name == "digits" or not hasattr(found, "target_names"):
        return found.frame
    return found.frame.assign(target=found.target_names[found.target.to_numpy()])


def reproduce(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The study; what follows goes to it, --help too.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
) -> None:
    """Run a study again: the paper's, and our own."""
    from outsample.studies.catalogue import STUDIES, study

    if name in (None, "--help"):
        print(context.get_help())
        print(f"studies: {', '.join(STUDIES)}")
        return
    if name not in STUDIES:
        raise ValueError(f"there is no study {name!r}{_nearest(name, STUDIES)}; there are {', '.join(STUDIES)}")
    study(name).main(list(context.args))


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f", did you mean {near[0]!r}?" if near else ""


def warmup() -> None:
    """Compile all kernels at once, for images and CI."""
    from outsample import _kernels

    for kernel in pkgutil.iter_modules(_kernels.__path__):
        compiled = getattr(import_module(f"{_kernels.__name__}.{kernel.name}"), "warmup", None)
        if compiled is not None:
            start = time.perf_counter()
            compiled()
            print(f"{kernel.name}: {time.perf_counter() - start:.1f} s")
