"""Forests and bags: the first m members of a large ensemble are the ensemble of size m.

scikit-learn draws one seed per member, in order, so the members do not know how many will follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.utils import check_array

from .base import Array
from .onefit import OneFitPath, at_sizes

_FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)
_BAGS = (BaggingClassifier, BaggingRegressor)


class EnsemblePath(OneFitPath):
    """RandomForest, ExtraTrees and Bagging along `n_estimators`.

    One fit of the largest ensemble per label vector, then running means over its members, added in
    scikit-learn's order for one job. (With several jobs scikit-learn's own sums depend on which thread
    comes first, in the last digit.)
    """

    responses = frozenset({"predict", "predict_proba"})

    @classmethod
    def recognise(cls, estimator: Any, parameter: str | None) -> str | None:
        known = type(estimator) in _FORESTS + _BAGS
        return "n_estimators" if known and parameter in (None, "n_estimators") else None

    def richest(self) -> Any:
        """The largest ensemble, without the out-of-bag score nobody asks for here."""
        return super().richest().set_params(oob_score=False)

    def answers(self, model: Any, X: Any, response: str) -> Iterable[Array]:
        opinions = _forest_opinions(model, X) if type(model) in _FORESTS else _bag_opinions(model, X)
        means = at_sizes(_running_means(opinions), self.sizes)
        if is_classifier(model) and response == "predict":
            return (model.classes_[np.argmax(mean, axis=1)] for mean in means)
        return means


def _running_means(opinions: Iterable[Array]) -> Iterator[Array]:
    total: Any = 0.0
    for count, opinion in enumerate(opinions, 1):
        total = total + opinion
        yield total / count


def _forest_opinions(model: Any, X: Any) -> Iterator[Array]:
    """Class shares or values of each tree; X is turned into what trees read once, not once per tree."""
    X = check_array(X, dtype=np.float32, accept_sparse="csr", ensure_all_finite=False)
    for tree in model.estimators_:
        answer = tree.predict_proba if is_classifier(model) else tree.predict
        yield answer(X, check_input=False)


def _bag_opinions(model: Any, X: Any) -> Iterator[Array]:
    """Class shares, votes or values of each member on its own columns."""
    X = check_array(X, dtype=None, accept_sparse=["csr", "csc"], ensure_all_finite=False)
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        Z = X[:, columns]
        if not is_classifier(model):
            yield member.predict(Z)
        elif hasattr(member, "predict_proba"):
            yield _spread(member.predict_proba(Z), member.classes_, model.n_classes_)
        else:
            yield np.eye(model.n_classes_)[member.predict(Z)]


def _spread(shares: Array, seen: Array, n_classes: int) -> Array:
    """Shares of the classes a member saw, as columns of all classes; bags fit their members to codes."""
    if len(seen) == n_classes:
        return shares
    full = np.zeros((len(shares), n_classes))
    full[:, seen] = shares
    return full
