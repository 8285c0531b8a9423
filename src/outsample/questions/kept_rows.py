"""Which rows a fitted model was fitted to, as far as it kept them: neighbours, kernel machines, our own searches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from outsample.data.tables import Table, lend, n_rows
from outsample.running.arrays import Array

# Attributes in which learners of scikit-learn keep rows that they were fitted to.
KEPT = ("_fit_X", "X_train_", "X_fit_", "X_", "support_vectors_")
# Rows by chance the same in both tables, beyond those that are twins within the rows kept.
BY_CHANCE = 2


def row_keys(X: Any) -> Array | None:
    """A number for each row, (n,), the same for the same numbers; None for tables that are not numbers."""
    try:
        table = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if table.ndim != 2:
        return None
    bits = np.ascontiguousarray(table + 0.0).view(np.uint64)
    keys = np.full(len(bits), 1469598103934665603, dtype=np.uint64)
    for column in bits.T:
        keys = (keys ^ column ^ (column >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(32)
    return keys


def refuse_if_fitted_to(model: Any, X: Table) -> None:
    """ValueError where the rows that a model kept show that it was fitted to rows of X.

    Rows that are the same by chance, as in tables of few values, are no proof: more rows must be shared than are twins
    among those kept.
    """
    for kept, keys in _rows_kept(model, X):
        shared = int(np.isin(keys, kept).sum())
        if shared > len(kept) - len(np.unique(kept)) + BY_CHANCE:
            raise ValueError(
                f"model: it was fitted to at least {shared} of the {n_rows(X)} rows of the test set, as the rows that "
                "it kept show; judge a model that was fitted to others"
            )


def _rows_kept(model: Any, X: Any) -> Iterator[tuple[Array, Array]]:
    """(keys of rows that a model kept, keys of the rows of X as they come to it), for it and its members."""
    keys = row_keys(X)
    if keys is not None:
        tables = [row_keys(getattr(model, name)) for name in KEPT if hasattr(model, name)]
        yield from ((kept, keys) for kept in (*tables, getattr(model, "_keys_of_rows", None)) if kept is not None)
    if isinstance(model, Pipeline):
        Z = lend(model, model[:-1].transform, X) if len(model.steps) > 1 else X
        yield from _rows_kept(model.steps[-1][1], Z)
    members = () if hasattr(model, "estimators_features_") else getattr(model, "estimators_", ())
    single = (getattr(model, name, None) for name in ("best_estimator_", "estimator_", "base_estimator_"))
    for member in (*single, *np.ravel(members)):
        if hasattr(member, "get_params"):
            yield from _rows_kept(member, X)
