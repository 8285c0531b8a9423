"""demo: everything at once, on data that come with scikit-learn."""

from __future__ import annotations

import time
from typing import Annotated

import typer

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
    from outsample.report import write_report

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
    criteria = ["permutation", "kfold", outsample.LeaveOneOut(50), outsample.Bootstrap(50, "632+"), "resubstitution"]
    compared = outsample.compare(tree, X, y, param_grid=grid, criteria=criteria, random_state=seed)
    print(_indented(compared))

    print("4  Is there anything there?")
    print(_indented(outsample.permutation_test(search.best_estimator_, X, y, n_draws=99, random_state=seed)))

    asked = {"data": "breast cancer", "model": "decision tree", "seed": seed}
    write_report(compared, report, X=X, y=y, asked=asked, call=compared.call)
    print(f"Report: {Path(report).resolve().as_uri()}\n{time.perf_counter() - start:.0f} seconds in all.")


def _indented(result: object) -> str:
    return "".join(f"   {line}\n" for line in str(result).splitlines())
