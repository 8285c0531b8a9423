"""The simplest nested family: the first columns of a table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class LeadingColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Keeps the first `n_columns` columns of X, all of them when None or when X has no more.

    Before a linear regression it makes the nested family of models x₁, (x₁, x₂), (x₁, x₂, x₃), …

    Parameters
    ----------
    n_columns : int or None
        Number of columns kept.

    Examples
    --------
    >>> import numpy as np
    >>> LeadingColumns(2).fit_transform(np.arange(6).reshape(2, 3))
    array([[0, 1],
           [3, 4]])
    """

    def __init__(self, n_columns: int | None = None) -> None:
        self.n_columns = n_columns

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check X; nothing is learned from it."""
        table = validate_data(self, X, accept_sparse=["csr", "csc"], ensure_all_finite="allow-nan")
        if self.n_columns is not None and self.n_columns < 1:
            raise ValueError(f"n_columns must be at least 1, got {self.n_columns}")
        kept = table.shape[1] if self.n_columns is None else self.n_columns
        self.n_columns_ = min(int(kept), int(table.shape[1]))
        return self

    def transform(self, X: Any) -> Any:
        """The first columns of X, (n, n_columns)."""
        check_is_fitted(self)
        table = validate_data(self, X, accept_sparse=["csr", "csc"], ensure_all_finite="allow-nan", reset=False)
        return table[:, : self.n_columns_]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns kept."""
        check_is_fitted(self)
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        return np.asarray(input_features, dtype=object)[: self.n_columns_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
