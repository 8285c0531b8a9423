"""`python -m outsample`: the main job on data that comes with scikit-learn."""

from __future__ import annotations

import time

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import outsample


def main() -> None:
    """Estimate, select, and hold both against rows that were never looked at."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, train_size=200, random_state=0, stratify=y)
    print(f"Breast cancer: {len(y)} rows to learn from, {len(y_new)} rows kept aside.\n")

    print("How good will a tree of 4 leaves be on new data?")
    tree = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=4, random_state=0)
    result = outsample.estimate(tree, X, y, random_state=0)
    print(_indented(str(result)))
    print(_indented(f"on the rows kept aside: {(tree.fit(X, y).predict(X_new) != y_new).mean():.4g}\n"))

    print("Which number of leaves, from 2 to 30?")
    start = time.perf_counter()
    search = outsample.GridSearch(tree, {"max_leaf_nodes": range(2, 31)}, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    print(_indented(_curve(search.curve_)))
    chosen = search.best_params_["max_leaf_nodes"]
    print(_indented(f"chosen: {chosen} leaves, after {search.n_fits_} fits for 29 models in {seconds:.2g} s"))
    print(_indented(f"on the rows kept aside: {(search.predict(X_new) != y_new).mean():.4g}"))


def _curve(curve: outsample.RiskCurve) -> str:
    """Some models of a risk curve as a table."""
    rows = ["leaves  in-sample  optimism  out-sample"]
    for i in (0, 1, 2, 3, 4, 8, 13, 18, 28):
        leaves = curve.params[i]["max_leaf_nodes"]
        numbers = curve.in_sample[i], curve.optimism[i], curve.out_sample[i]
        rows.append("{:6d}  {:9.3f}  {:8.3f}  {:10.3f}".format(leaves, *numbers))
    return "\n".join(rows)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


if __name__ == "__main__":
    main()
