"""Forests and bags: which of their estimators saw which rows, and what the others say of them.

A row is out of bag in about 37 % of the estimators. Their mean is a prediction of the row by an ensemble that never saw
it, of a third of the size.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from outsample.data.learners import fit, last_step
from outsample.data.parameters import unknown_settings
from outsample.data.steps import ignores_y, transformed
from outsample.data.tables import Table, rows
from outsample.paths.dispatch import is_patched, kind_of
from outsample.paths.ensembles import all_columns
from outsample.running.arrays import Array, Floats, Rows

_FORESTS = frozenset(
    f"sklearn.ensemble.{name}"
    for name in ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
)
_BAGS = frozenset({"sklearn.ensemble.BaggingClassifier", "sklearn.ensemble.BaggingRegressor"})
KNOWN = "RandomForest, ExtraTrees and Bagging"

SIZE = "n_estimators"

# Expected number of rows without an out-of-bag prediction that is as good as none.
RARE = 1e-3


def objection(estimator: BaseEstimator) -> str | None:
    """Why a learner, alone or at the end of a pipeline, has no honest out-of-bag predictions; None where it has."""
    ensemble = last_step(estimator)
    if kind_of(type(ensemble)) not in _FORESTS | _BAGS:
        return f"knows {KNOWN}, not {type(ensemble).__name__}"
    strangers = unknown_settings(ensemble)
    if strangers:
        return f"does not know what {strangers[0]} does to {type(ensemble).__name__}"
    if not ensemble.bootstrap:
        return f"needs rows that trees did not see, and bootstrap=False shows every tree all of them: {ensemble!r}"
    looking = [step for step in _leading_steps(estimator) if not ignores_y(step)]
    if looking:
        return f"fits the earlier steps of a pipeline once, to all rows, and {looking[0]!r} may look at their labels"
    return None


def _leading_steps(estimator: BaseEstimator) -> Iterator[Any]:
    while isinstance(estimator, Pipeline):
        *leading, (_, estimator) = estimator.steps
        yield from (step for _, step in leading)


def read_by_ensemble(model: BaseEstimator, X: Table) -> Any:
    """X as the earlier steps of a fitted pipeline hand it to its last one."""
    while isinstance(model, Pipeline):
        X = X if len(model.steps) == 1 else transformed(model[:-1], X)
        model = model.steps[-1][1]
    return X


def is_bag(ensemble: BaseEstimator) -> bool:
    """Whether an ensemble is a bag of any learners."""
    return kind_of(type(ensemble)) in _BAGS


def opinions(ensemble: BaseEstimator, X: Table, response: str, first: int = 0) -> Iterator[tuple[Array, Rows]]:
    """(what an estimator says of every row, the rows that it did not see), for the estimators of a fitted ensemble.

    All of them, or those from place `first` on. Class shares or votes, (n, classes), of classifiers, decision values
    where these are asked for, (n[, classes]), and values, (n[, outputs]), of regressors.
    """
    if kind_of(type(ensemble)) in _FORESTS:
        return _forest_opinions(ensemble, X, first)
    return _bag_opinions(ensemble, X, response, first)


def _unseen(bag: Rows, n: int) -> Rows:
    return np.flatnonzero(np.bincount(bag, minlength=n) == 0)


def _forest_opinions(forest: Any, X: Table, first: int) -> Iterator[tuple[Array, Rows]]:
    table = check_array(X, dtype=np.float32, accept_sparse="csr", ensure_all_finite=False)
    for tree, bag in zip(forest.estimators_[first:], forest.estimators_samples_[first:], strict=True):
        answer = tree.predict_proba if is_classifier(forest) else tree.predict
        yield answer(table, check_input=False), _unseen(bag, table.shape[0])


def _bag_opinions(bagging: Any, X: Table, response: str, first: int) -> Iterator[tuple[Array, Rows]]:
    """Unseen rows are predicted by themselves, as scikit-learn does: linear algebra rounds by the number of rows."""
    table = check_array(X, dtype=None, accept_sparse=["csr", "csc"], ensure_all_finite=False)
    n = table.shape[0]
    parts_of = (bagging.estimators_, bagging.estimators_samples_, bagging.estimators_features_)
    for estimator, bag, columns in zip(*(values[first:] for values in parts_of), strict=True):
        unseen = _unseen(bag, n)
        parts = [part for part in (unseen, np.setdiff1d(np.arange(n), unseen)) if len(part)]
        answers = [_opinion(bagging, estimator, rows(table, part)[:, columns], response) for part in parts]
        opinion = np.empty((n, *answers[0].shape[1:]))
        opinion[np.concatenate(parts)] = np.concatenate(answers)
        yield opinion, unseen


def _opinion(bagging: Any, estimator: Any, Z: Any, response: str) -> Array:
    if response == "decision_function":
        return np.asarray(estimator.decision_function(Z))
    if not is_classifier(bagging):
        return np.asarray(estimator.predict(Z))
    if hasattr(estimator, "predict_proba"):
        return all_columns(estimator.predict_proba(Z), estimator.classes_, bagging.n_classes_)
    return np.asarray(np.eye(bagging.n_classes_)[estimator.predict(Z)])


class Votes:
    """Sums over the estimators of a growing ensemble: of all opinions of a row, and of those that did not see it.

    Parameters
    ----------
    shape : (n[, classes or outputs]) of an opinion.
    by_sum : divide shares by their sum in place of the number of estimators, as scikit-learn's bags do out of bag.
    n_splits : also keep the sums of random halves of the estimators that did not see a row, in so many ways.
    rng : draws the halves.
    around : also keep sums of squares around these labels, of the shape of an opinion.
    kept : also keep every opinion, so that rows can be compared by those who saw neither.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        by_sum: bool,
        n_splits: int,
        rng: np.random.Generator,
        around: Floats | None,
        kept: bool = False,
    ) -> None:
        n = shape[0]
        self.opinions: list[Array] | None = [] if kept else None
        self.blind: list[Array] = []
        self.size, self._by_sum, self._rng, self._around = 0, by_sum, rng, around
        self._all, self._unseen, self.count = np.zeros(shape), np.zeros(shape), np.zeros(n, dtype=np.intp)
        self._squares = None if around is None else np.zeros(shape)
        self._half = np.zeros((n_splits, *shape))
        self._half_count = np.zeros((n_splits, n), dtype=np.intp)
        self._last = np.zeros((n_splits, n), dtype=bool)

    def add(self, opinion: Array, unseen: Rows) -> None:
        """Count one more estimator, which did not see the rows `unseen`."""
        own = opinion[unseen]
        self.size += 1
        if self.opinions is not None:
            self.opinions.append(opinion.astype(np.float32))
            self.blind.append(np.isin(np.arange(len(opinion)), unseen))
        self._all += opinion
        self._unseen[unseen] += own
        if self._squares is not None and self._around is not None:
            self._squares[unseen] += (own - self._around[unseen]) ** 2
        if len(self._half):
            self._split(own, unseen)
        self.count[unseen] += 1

    def _split(self, own: Array, unseen: Rows) -> None:
        """Of two estimators in a row that did not see a row, one goes to each half, by chance."""
        drawn = self._rng.integers(2, size=(len(self._half), len(unseen)), dtype=np.uint8).astype(bool)
        first = np.where(self.count[unseen] % 2 == 0, drawn, ~self._last[:, unseen])
        self._last[:, unseen] = first
        self._half[:, unseen] += first.reshape(*first.shape, *[1] * (own.ndim - 1)) * own
        self._half_count[:, unseen] += first

    @property
    def everyone(self) -> Floats:
        """Mean of all estimators for every row."""
        return self._all / self.size

    @property
    def unseen(self) -> Floats:
        """Mean of the estimators that did not see the row; nan where all saw it."""
        return self._mean(self._unseen, self.count)

    @property
    def halves(self) -> tuple[Floats, Rows]:
        """(means over either half of the estimators that did not see the row, how many these are), (splits, 2, n …)."""
        sums = np.stack([self._half, self._unseen - self._half], axis=1)
        counts = np.stack([self._half_count, self.count - self._half_count], axis=1)
        return self._mean(sums, counts), counts

    @property
    def variance(self) -> Floats:
        """Sample variance of the estimators that did not see the row, (n[, outputs]); nan where less than two did."""
        assert self._squares is not None
        assert self._around is not None
        count = self.count.reshape(-1, *[1] * (self._unseen.ndim - 1))
        with np.errstate(invalid="ignore", divide="ignore"):
            about = self._squares / count - (self._unseen / count - self._around) ** 2
            return np.asarray(np.where(count > 1, np.maximum(about, 0.0) * count / (count - 1), np.nan))

    def _mean(self, total: Floats, count: Rows) -> Floats:
        known = (count > 0).reshape(*count.shape, *[1] * (total.ndim - count.ndim))
        by = total.sum(axis=-1, keepdims=True) if self._by_sum else count.reshape(known.shape)
        return np.asarray(np.divide(total, by, out=np.full_like(total, np.nan), where=known))


def no_votes(
    ensemble: BaseEstimator,
    opinion: Array,
    response: str,
    n_splits: int,
    rng: np.random.Generator,
    around: Floats | None,
    kept: bool,
) -> Votes:
    """Votes for opinions of this kind, before the first one."""
    shares = response != "decision_function" and is_classifier(ensemble)
    by_sum = shares and is_bag(ensemble)
    return Votes(opinion.shape, by_sum, n_splits, rng, around, kept)


def fitted_by_patch(model: Any, X: Table, y: Array, weight: Floats | None) -> Any:
    """Fit a forest of scikit-learn-intelex, which does not tell its bags, so that it keeps its out-of-bag predictions.

    They are computed beside the trees and do not change them.
    """
    forest = last_step(model)
    asked = forest.oob_score
    forest.set_params(oob_score=asked or True)
    with warnings.catch_warnings():
        # It says so wherever some class has no vote, and we say it where a row has none.
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        fit(model, X, y, weight)
    forest.set_params(oob_score=asked)
    return model


def own_unseen(forest: Any) -> tuple[Floats, Array]:
    """(out-of-bag predictions of a patched forest, (n[, classes or outputs]); whether a row has one, (n,)).

    Raises
    ------
    ValueError
        For regression where the trees are so few that rows are likely to have none: their prediction is 0, which may
        also be that of a row that has one.
    """
    if is_classifier(forest):
        shares = np.asarray(forest.oob_decision_function_, dtype=np.float64)
        return shares, shares.sum(axis=1) > 0
    values = np.asarray(forest.oob_prediction_, dtype=np.float64)
    n, share = len(values), forest.max_samples
    drawn = n if share is None else int(share) if isinstance(share, Integral) else round(n * float(share))
    always_seen = (1.0 - (1.0 - 1.0 / n) ** drawn) ** int(forest.n_estimators)
    if n * always_seen > RARE:
        raise ValueError(
            f"n_estimators={forest.n_estimators} is too few here: a forest of scikit-learn-intelex does not tell which "
            "rows all its trees saw"
        )
    return values, np.ones(n, dtype=bool)


def first_estimators(model: BaseEstimator, size: int) -> Any | None:
    """A fitted ensemble, alone or at the end of a pipeline, cut to its first estimators; None where it cannot be cut.

    It is the model that a fit of this size gives. What is shared with the larger ensemble is not copied.
    """
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        own = first_estimators(last, size)
        whole = copy.copy(model)
        whole.steps = [*model.steps[:-1], (name, own)]
        return None if own is None else whole
    if model.n_estimators == size:
        return model
    # An out-of-bag score is that of the larger ensemble, and patched forests hold their trees elsewhere.
    if model.oob_score or is_patched(type(model)):
        return None
    smaller = copy.copy(model)
    smaller.n_estimators = size
    # The last one is where bags keep the seeds that `estimators_samples_` is made from.
    for name in ("estimators_", "estimators_features_", "_seeds"):
        if hasattr(model, name):
            setattr(smaller, name, getattr(model, name)[:size])
    return smaller


def size_in_memory(model: BaseEstimator) -> int:
    """About how many bytes a fitted ensemble takes."""
    ensemble = last_step(model)
    if is_patched(type(ensemble)):
        return len(pickle.dumps(ensemble))
    estimators = ensemble.estimators_
    if not hasattr(estimators[0], "tree_"):
        return len(pickle.dumps(estimators[0])) * len(estimators)
    nodes = sum(int(estimator.tree_.node_count) for estimator in estimators)
    return nodes * (64 + 8 * int(estimators[0].tree_.value[0].size))
