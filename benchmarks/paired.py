"""Do the tests of `compare_models` keep their level? Pairs of learners that are equally good, on simulated data.

The two learners of a pair see different columns that have the same joint distribution with y, so that their expected
errors are equal although on any data set one of them is better. Rejections at 5 % should not exceed 5 %, and the 95 %
interval should cover zero, in 95 % of the data sets; beside it, the same without the correction for resampling. The
last lines have a true difference, known from large sets, which the interval should cover.

    python benchmarks/paired.py [--data-sets 500] [--write FILE]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measuring import table
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import compare_models
from outsample.curve.paired import difference_of_rows

SIZES = (100, 300)
CASES = {
    "tree": (DecisionTreeClassifier(random_state=0), True),
    "tree of 4 leaves": (DecisionTreeClassifier(max_leaf_nodes=4, random_state=0), True),
    "5 neighbours": (KNeighborsClassifier(5), True),
    "logistic": (LogisticRegression(), True),
    "linear regression": (LinearRegression(), False),
    "regression tree": (DecisionTreeRegressor(min_samples_leaf=5, random_state=0), False),
}


def data(n: int, classes: bool, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Six columns: y depends on the first three as on the last three."""
    X = rng.standard_normal((n, 6))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] + X[:, 4] * X[:, 5]
    y = signal + rng.standard_normal(n)
    return X, (y > 0).astype(int) if classes else y


def seeing(learner, columns):
    """The learner behind a step that keeps some columns."""
    return make_pipeline(FunctionTransformer(_Columns(columns)), learner)


class _Columns:
    def __init__(self, columns):
        self.columns = columns

    def __call__(self, X):
        return X[:, self.columns]


def rejections(learner, classes: bool, n: int, data_sets: int) -> tuple[float, float, float]:
    """Shares of data sets: p below 0.05 as reported, below 0.05 without the correction, more than one plausible."""
    pair = {"first": seeing(learner, slice(0, 3)), "second": seeing(learner, slice(3, 6))}
    corrected, naive, both = [], [], []
    for number in range(data_sets):
        X, y = data(n, classes, np.random.default_rng([n, number]))
        found = compare_models(pair, X, y, random_state=number)
        corrected.append(found.differences().p_value[0] < 0.05)
        losses = found.curve.left_out.losses
        naive.append(difference_of_rows(losses[0], losses[1], None, None, 1.0).pvalue < 0.05)
        both.append(len(found.plausible) == 2)
    return float(np.mean(corrected)), float(np.mean(naive)), float(np.mean(both))


def coverage(n: int, data_sets: int) -> float:
    """Share of data sets whose interval covers the true difference of two trees, of 4 leaves and fully grown."""
    pair = {
        "full": DecisionTreeClassifier(random_state=0),
        "small": DecisionTreeClassifier(max_leaf_nodes=4, random_state=0),
    }
    X_new, y_new = data(20_000, True, np.random.default_rng(0))
    true, found = [], []
    for number in range(data_sets):
        X, y = data(n, True, np.random.default_rng([n, number]))
        wrong = {name: np.mean(tree.fit(X, y).predict(X_new) != y_new) for name, tree in pair.items()}
        true.append(wrong["full"] - wrong["small"])
        found.append(compare_models(pair, X, y, random_state=number).differences().interval[0])
    low, high = np.array(found).T
    return float(np.mean((low <= np.mean(true)) & (np.mean(true) <= high)))


def lines(data_sets: int) -> Iterator[str]:
    """The table as Markdown."""
    rows = []
    for name, (learner, classes) in CASES.items():
        for n in SIZES:
            corrected, naive, both = rejections(learner, classes, n, data_sets)
            rows.append([name, str(n), f"{corrected:.3f}", f"{naive:.3f}", f"{both:.3f}"])
    yield from table(["learner, twice", "n", "rejected at .05", "without the correction", "both plausible"], rows)
    yield ""
    for n in SIZES:
        yield f"True difference of trees of 4 leaves and full ones, n = {n}: covered in {coverage(n, data_sets):.3f}."


def main() -> None:
    """Print the table and, if asked to, write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=500)
    parser.add_argument("--write", type=Path, metavar="FILE")
    options = parser.parse_args()
    said = []
    for line in lines(options.data_sets):
        print(line, flush=True)
        said.append(line)
    if options.write is not None:
        options.write.write_text("\n".join(said) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
