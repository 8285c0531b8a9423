"""A plugin of pytest: whatever is collected imports our searches, with `cv=` semantics, as those of scikit-learn."""

from __future__ import annotations

import numpy as np
import sklearn.model_selection

import outsample
from outsample.questions.search import keep_arguments


class GridSearchCV(outsample.GridSearch):
    """Ours, by five folds where none are given, as theirs."""

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=5,
        verbose=0,
        pre_dispatch="2*n_jobs",
        error_score=np.nan,
        return_train_score=False,
        criterion="auto",
        rule="minimum",
        loss=None,
        honest=None,
        random_state=None,
        store=None,
        fast=True,
        progress=None,
    ):
        keep_arguments(self, locals())


class RandomizedSearchCV(outsample.RandomizedSearch):
    """Ours, by five folds where none are given, as theirs."""

    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_iter=10,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=5,
        verbose=0,
        pre_dispatch="2*n_jobs",
        random_state=None,
        error_score=np.nan,
        return_train_score=False,
        criterion="auto",
        rule="minimum",
        loss=None,
        honest=None,
        store=None,
        fast=True,
        progress=None,
    ):
        keep_arguments(self, locals())


def pytest_configure():
    """Not at import: the search for doctests imports this file too, and we would be compared with ourselves."""
    sklearn.model_selection.GridSearchCV = GridSearchCV
    sklearn.model_selection.RandomizedSearchCV = RandomizedSearchCV
