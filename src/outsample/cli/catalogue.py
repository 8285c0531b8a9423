"""The commands demo, datasets, reproduce and warmup: what comes with the library."""

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


def reproduce(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The study; what follows goes to it, --help too.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
) -> None:
    """Run a study again: the paper's, and our own."""
    from outsample.studies.study import EVERYTHING, STUDIES, run_all, study_named

    if name is None or name == "--help":
        print(context.get_help())
        print(f"studies: {', '.join(STUDIES)}; {EVERYTHING} for all of them")
        return
    run = run_all if name == EVERYTHING else study_named(name).main
    run(list(context.args))


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
    """Everything at once, on embedded data; writes a report."""
    from pathlib import Path

    from sklearn.datasets import load_breast_cancer
    from sklearn.tree import DecisionTreeClassifier

    import outsample
    from outsample.report.page import write_report

    start = time.perf_counter()
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    tree = DecisionTreeClassifier(criterion="entropy")
    grid = {"max_leaf_nodes": list(range(2, 31))}
    print(f"Breast cancer: {len(y)} tumours, {X.shape[1]} measurements; benign or malignant? Decision trees.\n")

    print("1  How good will a tree of 12 leaves be on new patients?")
    twelve = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=12)
    print(_indented(outsample.estimate(twelve, X, y, random_state=seed)))

    print("2  How many leaves, of 2 to 30?")
    search = outsample.GridSearch(tree, grid, random_state=seed).fit(X, y)
    print(_indented(f"max_leaf_nodes = {search.best_params_['max_leaf_nodes']}\n{search.estimate_}"))

    print("3  Do other criteria agree, and what do they cost?")
    criteria: list[str | outsample.Criterion] = [
        "permutation",
        "kfold",
        outsample.LeaveOneOut(50),
        outsample.Bootstrap(50, "632+"),
        "resubstitution",
    ]
    compared = outsample.compare(tree, X, y, param_grid=grid, criteria=criteria, random_state=seed)
    print(_indented(compared))

    print("4  Is there anything there?")
    print(_indented(outsample.permutation_test(search.best_estimator_, X, y, n_draws=99, random_state=seed)))

    asked = {"data": "breast cancer", "model": "decision tree", "seed": seed}
    write_report(compared, report, X=X, y=y, asked=asked, call=compared.call)
    print(f"Report: {Path(report).resolve().as_uri()}\n{time.perf_counter() - start:.0f} seconds in all.")


def _indented(result: object) -> str:
    return "".join(f"   {line}\n" for line in str(result).splitlines())
