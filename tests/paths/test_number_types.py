"""How numbers are stored changes neither the path nor the answer; truth is the table of doubles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.tree import DecisionTreeClassifier

import outsample

LEARNERS = {
    "trees": (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 3, 5]}),
    "neighbours": (KNeighborsClassifier(), {"n_neighbors": [1, 5, 9]}),
    "naive Bayes": (GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}),
    "linear discriminants": (LinearDiscriminantAnalysis(solver="lsqr"), {"shrinkage": [0.1, 0.5]}),
    "quadratic discriminants": (QuadraticDiscriminantAnalysis(), {"reg_param": [0.1, 0.5]}),
    "centroids": (NearestCentroid(), {"shrink_threshold": [0.1, 1.0]}),
    "logistic": (LogisticRegression(max_iter=1000), {"C": [0.1, 1.0]}),
    "ridge": (Ridge(), {"alpha": [0.1, 1.0]}),
    "lasso": (Lasso(), {"alpha": [0.1, 1.0]}),
}
STORED = {
    "single": lambda X: X.astype(np.float32),
    "big-endian": lambda X: X.astype(">f8"),
    "single big-endian": lambda X: X.astype(">f4"),
    "frame": lambda X: pd.DataFrame(X.astype(np.float32)),
}


@pytest.mark.parametrize("criterion", ["auto", "permutation"])
@pytest.mark.parametrize("name", LEARNERS)
def test_every_storage_takes_the_path_of_doubles(name, criterion):
    learner, grid = LEARNERS[name]
    X, y = (load_diabetes if name in ("ridge", "lasso") else load_iris)(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    found = {
        kind: outsample.GridSearch(learner, grid, criterion=criterion, random_state=0).fit(cast(X), y)
        for kind, cast in {"double": lambda X: X, **STORED}.items()
    }
    double = found.pop("double")
    for kind, search in found.items():
        assert (search.path_, search.n_fits_, search.curve_.criterion) == (
            double.path_,
            double.n_fits_,
            double.curve_.criterion,
        ), kind
        np.testing.assert_allclose(search.curve_.out_sample, double.curve_.out_sample, rtol=1e-6, err_msg=kind)
