from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression, LogisticRegression

from outsample.data.samples import as_target

CLASSIFIER, REGRESSOR = LogisticRegression(), LinearRegression()
CODES = [1, 0, 1, 1, 0]

CLASS_LABELS = {
    "list of strings": (["b", "a", "b", "b", "a"], ["a", "b"]),
    "bools": (np.array([True, False, True, True, False]), [False, True]),
    "ints": (np.array([7, -2, 7, 7, -2]), [-2, 7]),
    "floats of integer value": (np.array([2.0, 1.0, 2.0, 2.0, 1.0]), [1.0, 2.0]),
    "boxed strings": (np.array(["b", "a", "b", "b", "a"], dtype=object), ["a", "b"]),
    "pandas": (pd.Series(["b", "a", "b", "b", "a"], index=[9, 3, 5, 1, 2]), ["a", "b"]),
    "pandas categorical": (pd.Series(["b", "a", "b", "b", "a"], dtype="category"), ["a", "b"]),
    "bare categorical": (pd.Categorical(["b", "a", "b", "b", "a"]), ["a", "b"]),
    "pandas nullable integers": (pd.Series([5, 4, 5, 5, 4], dtype="Int64"), [4, 5]),
    "pandas nullable truth": (pd.Series([True, False, True, True, False], dtype="boolean"), [False, True]),
    "boxed integers": (np.array([5, 4, 5, 5, 4], dtype=object), [4, 5]),
    "polars": (pl.Series(["b", "a", "b", "b", "a"]), ["a", "b"]),
    "polars categorical": (pl.Series(["b", "a", "b", "b", "a"], dtype=pl.Categorical), ["a", "b"]),
}


@pytest.mark.parametrize("name", CLASS_LABELS)
def test_class_labels_of_any_kind(name):
    labels, classes = CLASS_LABELS[name]
    target = as_target(labels, CLASSIFIER, 5)
    assert target.values.tolist() == CODES
    assert target.classes.tolist() == classes
    assert (target.n_classes, target.n_outputs) == (2, 1)


def test_unboxed_numbers_are_what_learners_accept():
    """scikit-learn refuses integers in boxes as class labels."""
    target = as_target(pd.Series([5, 4, 5, 5, 4], dtype="Int64"), CLASSIFIER, 5)
    assert target.classes.dtype.kind == "i"
    LogisticRegression().fit(np.arange(5.0)[:, None], target.classes[target.values])


@pytest.mark.parametrize(
    "labels",
    [[1, 2, 4], np.array([1, 2, 4]), pd.Series([1, 2, 4], dtype="Int64"), pl.Series([1.0, 2.0, 4.0])],
)
def test_real_labels_of_any_kind(labels):
    target = as_target(labels, REGRESSOR, 3)
    assert target.values.dtype == np.float64
    assert target.values.tolist() == [1, 2, 4]
    assert target.classes is None
    assert target.n_classes is None


@pytest.mark.parametrize("table", [np.array, pd.DataFrame, pl.DataFrame])
def test_a_column_is_a_vector_and_a_warning_says_so(table):
    labels = table([[5], [4], [5], [5], [4]]) if table is np.array else table({"y": [5, 4, 5, 5, 4]})
    with pytest.warns(DataConversionWarning, match="column"):
        target = as_target(labels, CLASSIFIER, 5)
    assert target.values.tolist() == CODES


def test_several_outputs():
    target = as_target(pd.DataFrame({"a": [1, 2, 3], "b": [0, 0, 0]}), REGRESSOR, 3)
    assert target.values.shape == (3, 2)
    assert target.n_outputs == 2


BAD = {
    "lengths": ([0, 1], CLASSIFIER, 3, ValueError, "X has 3 rows and y has 2 labels"),
    "two rows": ([0, 1], CLASSIFIER, 2, ValueError, "X has 2 .*at least 3 are needed"),
    "nan": ([0.0, np.nan, 1.0], CLASSIFIER, 3, ValueError, "y has 1 missing or infinite labels, the first in row 1"),
    "infinite": ([0.0, 1.0, np.inf], REGRESSOR, 3, ValueError, "missing or infinite labels, the first in row 2"),
    "None": (["a", None, "b"], CLASSIFIER, 3, ValueError, "y has 1 missing .* row 1"),
    "pandas NA": (pd.Series([1, None, 2], dtype="Int64"), CLASSIFIER, 3, ValueError, "y has 1 missing .* row 1"),
    "nan in the second output": (np.array([[1, 2], [3, np.nan], [5, 6]]), REGRESSOR, 3, ValueError, "first in row 1"),
    "constant class": (["a"] * 3, CLASSIFIER, 3, ValueError, "y is constant: it has one class only, 'a', so"),
    "constant value": ([2.5] * 3, REGRESSOR, 3, ValueError, "y is constant: every label is 2.5, so"),
    "constant outputs": (np.ones((3, 2)), REGRESSOR, 3, ValueError, "y is constant"),
    "real values": ([0.5, 1.0, 2.0], CLASSIFIER, 3, ValueError, "values, but LogisticRegression is a classifier"),
    "words": (["a", "b", "c"], REGRESSOR, 3, ValueError, "not numeric, but LinearRegression is a regressor"),
    "mixed": (np.array(["a", 1, 2], dtype=object), CLASSIFIER, 3, ValueError, "mixes labels .* int, str"),
    "many labels": (np.eye(3, dtype=int), CLASSIFIER, 3, ValueError, "y has 3 columns; a classifier needs one"),
    "three axes": (np.zeros((3, 1, 2)), REGRESSOR, 3, ValueError, r"one or two dimensions, got shape \(3, 1, 2\)"),
    "a number": (7, CLASSIFIER, 3, ValueError, "y must be a sequence of labels, got int"),
    "sparse": (sparse.csr_array(np.eye(3)), CLASSIFIER, 3, ValueError, "y must be a sequence of labels, got csr_array"),
    "clusters": ([0, 1, 1], KMeans(), 3, ValueError, "KMeans is neither a classifier nor a regressor"),
    "a class": (
        [0, 1, 1],
        LogisticRegression,
        3,
        TypeError,
        r"the class LogisticRegression; use LogisticReg.*\(\)",
    ),
    "no learner": ([0, 1, 1], "tree", 3, TypeError, "scikit-learn's conventions, got 'tree'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_labels_in_one_sentence(name):
    labels, learner, n, kind, sentence = BAD[name]
    with pytest.raises(kind, match=sentence) as caught:
        as_target(labels, learner, n)
    assert "\n" not in str(caught.value)
