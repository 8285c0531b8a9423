"""LeadingColumns and ForwardStepwise keep scikit-learn's conventions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from outsample.estimators import ForwardStepwise, LeadingColumns


@parametrize_with_checks([LeadingColumns(), ForwardStepwise()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_leading_columns():
    X = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(LeadingColumns(2).fit_transform(X), X[:, :2])
    np.testing.assert_array_equal(LeadingColumns(9).fit_transform(X), X)
    np.testing.assert_array_equal(LeadingColumns().fit_transform(X), X)
    assert LeadingColumns(3).fit_transform(sparse.csr_matrix(X)).shape == (3, 3)
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert LeadingColumns(2).fit(frame).get_feature_names_out().tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="n_columns"):
        LeadingColumns(0).fit(X)
