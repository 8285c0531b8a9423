"""scikit-learn's own `fit` around evidence of ours.

`GridSearchCV.fit` checks arguments, calls callbacks, chooses, refits and sets the attributes that users and other
packages know; loggers wrap it. So a search of ours goes through it as well. Only its loop has nothing to do there: it
is run once, on a stand-in that fits nothing, and its table is replaced by that of our evidence.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from outsample.data.tables import Table


@contextmanager
def standing_in(search: Any, **stand_ins: Any) -> Iterator[None]:
    """Other values of some attributes while the context lasts; a search that is pickled meanwhile keeps its own."""
    own = {name: getattr(search, name) for name in stand_ins}
    vars(search).update(stand_ins)
    search._stood_in_for = own
    try:
        yield
    finally:
        del search._stood_in_for
        vars(search).update(own)


def own_state(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a search without what stands in for its own attributes."""
    own = state.get("_stood_in_for", {})
    return {name: value for name, value in (state | own).items() if name not in ("_stood_in_for", "_told")}


def stand_ins(search: Any, estimator: BaseEstimator, several: bool, scorer: Any) -> dict[str, Any]:
    """Arguments with which scikit-learn's loop does one evaluation that costs nothing; others stay as they are."""
    return {
        "estimator": estimator,
        "scoring": _ToldScorer(scorer, search.scoring, several),
        "cv": _OneSplit(search.cv),
        "n_jobs": 1,
        "verbose": 0,
        "return_train_score": False,
    }


def told_estimator(estimator: BaseEstimator, chosen: Callable[[], BaseEstimator | None]) -> Any:
    """The estimator as it is, except that clones of it fit nothing until `chosen` gives the model to be refitted."""
    stand_in = copy.copy(estimator)
    stand_in.__sklearn_clone__ = lambda: _Told(chosen)
    return stand_in


def fitted_by(model: Any, fit: Callable[[Any], Any]) -> Any:
    """The model, whose next `fit` is this function of it."""

    def once(*data: Any, **params: Any) -> Any:
        del model.fit
        return fit(model)

    model.fit = once
    return model


class _Told(BaseEstimator):  # type: ignore[misc]
    """Stands for the estimator in scikit-learn's loop, and becomes the chosen model when that is to be refitted."""

    def __init__(self, chosen: Callable[[], Any] | None = None) -> None:
        self.chosen = chosen

    def __sklearn_clone__(self) -> _Told:
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Where workers are far away, it travels without what it stands for.
        return {"chosen": None}

    def set_params(self, **params: Any) -> Any:
        """The chosen model once there is one: parameters are set for the loop, and then for the refit."""
        found = None if self.chosen is None else self.chosen()
        return self if found is None else found

    def fit(self, X: Table, y: Any = None, **params: Any) -> _Told:
        """Does nothing."""
        return self


class _ToldScorer:
    """Scores the stand-in with any number, and other models as the search does."""

    def __init__(self, scorer: Any, shown: object, several: bool) -> None:
        self._scorer, self._shown, self._several = scorer, repr(shown), several

    def __call__(self, model: BaseEstimator, X: Table, y: Any = None, **params: Any) -> Any:
        if isinstance(model, _Told):
            return dict.fromkeys(self._scorer, 0.0) if self._several else 0.0
        if self._several:
            return {name: scorer(model, X, y, **params) for name, scorer in self._scorer.items()}
        return self._scorer(model, X, y, **params)

    def __repr__(self) -> str:
        return self._shown


class _OneSplit:
    """A splitter with one split, of one row."""

    def __init__(self, shown: object) -> None:
        self._shown = repr(shown)

    def get_n_splits(self, *data: Any, **params: Any) -> int:
        """One."""
        return 1

    def split(self, *data: Any, **params: Any) -> list[tuple[Any, Any]]:
        """The first row, as training set and as test set."""
        return [(np.zeros(1, np.intp), np.zeros(1, np.intp))]

    def __repr__(self) -> str:
        return self._shown
