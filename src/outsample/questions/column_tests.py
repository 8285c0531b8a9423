"""Permutation tests of every column of X, with p-values adjusted for testing them all.

The adjustment is the step-down max-T procedure of Westfall & Young (1993): all columns share the same permutations, so
that the dependence between columns is accounted for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.checks import number_of_jobs, whole_number
from outsample.curve.result import Result
from outsample.data.learners import check_learner, is_pairwise
from outsample.data.samples import check_kind, looks_real
from outsample.data.tables import Table, as_table
from outsample.problem import pose
from outsample.questions.significance import NEARLY_SATURATED, at_least, pvalue_of
from outsample.questions.statistic import Statistic, score_of
from outsample.resampling.labels import LabelDraws
from outsample.resampling.rows import FoldsLike
from outsample.resampling.schemes import SchemeLike, choose_scheme
from outsample.running.arrays import Array, Floats
from outsample.running.run import LABEL_DRAWS, RandomState, child_seed, seed_sequence
from outsample.running.threads import one_blas_thread
from outsample.running.workers import results_of

# Bytes that the statistics of one batch of draws may take.
MEMORY = 256 * 2**20


def permutation_test_columns(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    n_draws: int = 999,
    cv: FoldsLike = None,
    groups: ArrayLike | None = None,
    scheme: SchemeLike = None,
    block_size: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> ColumnTests:
    """Test every column of X, with p-values corrected for testing them all.

    Parameters
    ----------
    estimator : the learner that is fitted to each column alone; its score is the statistic. None for the squared
        correlation of column and labels, or for classes the share of the column's variance between class means.
    X, y : the data. Without an estimator y is taken as numbers if it has values that are not whole or more than 20
        distinct values, else as classes.
    n_draws, cv, groups, scheme, block_size, random_state, n_jobs : as in `permutation_test`. All columns share the same
        draws; a learner is fitted to each column as often as there.

    Returns
    -------
    ColumnTests
        Statistics and p-values, plain and corrected, one per column; `to_frame()`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = permutation_test_columns(None, X, y, n_draws=99, random_state=0)
    >>> found.to_frame().shape[0]
    4
    """
    start = time.perf_counter()
    count = whole_number("n_draws", n_draws)
    number_of_jobs(n_jobs)
    if estimator is not None:
        check_learner(estimator)
    table, columns = _table(X)
    seed = seed_sequence(random_state)
    score = (
        _explained_share(table, y) if estimator is None else _OneByOne(estimator, table, y, cv, groups, seed, n_jobs)
    )
    allowed = choose_scheme(score.labels, groups, scheme, block_size)
    draws = LabelDraws(allowed, score.labels, count, child_seed(seed, LABEL_DRAWS))
    with one_blas_thread:
        found = _tests(score, draws)
    return replace(found, columns=columns, seconds=time.perf_counter() - start)


@dataclass(frozen=True, eq=False)
class ColumnTests(Result):
    """One permutation test per column.

    Attributes
    ----------
    statistic : (columns,) its values on the real labels.
    pvalue : (columns,) p-value of each column alone.
    adjusted : (columns,) p-values that control the family-wise error rate: with probability 1 − level no column
        without signal has an adjusted p-value of `level` or less.
    columns : names of the columns, or their positions.
    n_draws, exact : number of permutations, and whether these are all distinct ones.
    name : what the statistic is, in words.
    notes : sentences that a reader of the p-values should know.
    """

    statistic: Floats
    pvalue: Floats
    adjusted: Floats
    columns: tuple[Any, ...]
    n_draws: int
    exact: bool
    name: str
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    told: ClassVar[str] = "statistic pvalue adjusted n_draws exact name seconds columns notes"

    def significant(self, level: float = 0.05) -> tuple[Any, ...]:
        """The columns whose adjusted p-value is at most `level`, the strongest first."""
        order = np.argsort(-self.statistic, kind="stable")
        return tuple(self.columns[j] for j in order if self.adjusted[j] <= level)

    def to_frame(self) -> Any:
        """A pandas table, one row per column, the strongest first."""
        import pandas as pd

        numbers = {"statistic": self.statistic, "pvalue": self.pvalue, "adjusted": self.adjusted}
        frame = pd.DataFrame(numbers, index=pd.Index(self.columns, name="column"))
        return frame.sort_values("statistic", ascending=False, kind="stable")

    def plot(self, ax: Any = None) -> Any:
        """p-values of the columns, alone and adjusted for all; returns the matplotlib Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import columns_drawing

        return plotted(columns_drawing(self), ax)

    def __str__(self) -> str:
        found = self.significant()
        named = ", ".join(str(c) for c in found[:10]) + (", …" if len(found) > 10 else "")
        how = "different" if self.exact else "random"
        lines = (
            f"{len(found)} of {len(self.columns)} columns carry signal at level 0.05, all columns considered"
            + (f": {named}" if found else ""),
            f"{self.name}, {self.n_draws} {how} permutations",
        )
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        return f"{super()._repr_html_()}{self.to_frame().head(20).to_html()}"


def _table(X: Table) -> tuple[Floats, tuple[Any, ...]]:
    """(X as numbers, names or positions of its columns)."""
    X = as_table(X)
    names = getattr(X, "columns", None)
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    try:
        table = np.asarray(dense, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("X must be a table of numbers; encode its other columns first") from None
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError(f"X must be a table without missing or infinite values, got shape {table.shape}")
    return table, tuple(range(table.shape[1])) if names is None else tuple(names)


class Measure(Protocol):
    """A statistic of every column, for label vectors.

    Attributes
    ----------
    labels : (n,) the labels that are permuted, as class codes or numbers.
    name : what the statistic is, in words.
    """

    labels: Array
    name: str

    def __call__(self, Y: Array) -> Floats:
        """The statistic of every label vector and column, (draws, columns)."""

    def notes(self, usual: Floats) -> tuple[str, ...]:
        """Sentences for a reader, given the mean statistics over permuted labels, `usual`, (columns,)."""


class _ExplainedShare:
    """The share of each column's variance that labels explain; columns are standardised once."""

    def __init__(self, labels: Array, name: str, shares: Callable[[Array], Floats]) -> None:
        self.labels, self.name, self._shares = labels, name, shares

    def __call__(self, Y: Array) -> Floats:
        return self._shares(Y)

    def notes(self, usual: Floats) -> tuple[str, ...]:
        return ()


def _explained_share(table: Floats, y: ArrayLike) -> Measure:
    """Squared correlation for real labels, share of variance between classes for others."""
    centred = table - table.mean(axis=0)
    norm = np.sqrt((centred**2).sum(axis=0))
    flat = norm <= 1e-12 * np.abs(table).max(axis=0, initial=0.0)
    unit = np.where(flat, 0.0, centred / np.where(flat, 1.0, norm))
    labels = np.asarray(y)
    if labels.shape != (len(table),):
        raise ValueError(f"y must have one label per row, shape ({len(table)},), got {labels.shape}")
    check_kind(labels)
    if looks_real(labels):
        return _squared_correlation(unit, labels)
    return _share_between_classes(unit, labels)


def _squared_correlation(unit: Floats, y: Floats) -> Measure:
    centred = y - y.mean()
    total = float((centred**2).sum())
    return _ExplainedShare(centred, "squared correlation", lambda Y: np.asarray((Y @ unit) ** 2 / total))


def _share_between_classes(unit: Floats, y: Array) -> Measure:
    codes, sizes = np.unique(y, return_inverse=True, return_counts=True)[1:]
    if len(sizes) < 2:
        raise ValueError("y is constant, so no column can say anything about it")

    def between(Y: Array) -> Floats:
        of_class = (np.equal(Y, c).astype(np.float64) for c in range(len(sizes)))
        return np.asarray(sum((rows @ unit) ** 2 / size for rows, size in zip(of_class, sizes, strict=True)))

    return _ExplainedShare(codes, "share of variance between classes", between)


class _OneByOne:
    """The score of a learner fitted to each column alone."""

    def __init__(
        self,
        estimator: BaseEstimator,
        table: Floats,
        y: ArrayLike,
        cv: FoldsLike,
        groups: ArrayLike | None,
        seed: np.random.SeedSequence,
        n_jobs: int | None,
    ) -> None:
        if is_pairwise(estimator):
            raise ValueError(
                f"estimator: {type(estimator).__name__} reads pairs of rows, which cannot be tested column by column; "
                "use permutation_test"
            )
        self._scores = [
            score_of(pose(estimator, table[:, [j]], y, groups=groups, random_state=seed), cv)
            for j in range(table.shape[1])
        ]
        first = self._scores[0]
        self.labels, self.name, self._n_jobs = first.labels, first.name, 1 if first.batch > 1 else n_jobs

    def __call__(self, Y: Array) -> Floats:
        return np.stack(list(results_of(_score, [(score, Y) for score in self._scores], self._n_jobs)), axis=1)

    def notes(self, usual: Floats) -> tuple[str, ...]:
        reached = [score.saturation(float(mean)) for score, mean in zip(self._scores, usual, strict=True)]
        count = sum(share is not None and share >= NEARLY_SATURATED for share in reached)
        if not count:
            return ()
        return (
            f"To {count} of {len(reached)} columns the learner fits permuted labels nearly perfectly, so real labels "
            "can hardly do better and large p-values say nothing. Judge it on rows left out, as is the default.",
        )


def _score(score: Statistic, Y: Array) -> Floats:
    return score(Y)


def _tests(measure: Measure, draws: LabelDraws) -> ColumnTests:
    """The tests of all columns; adjusted p-values by step-down max-T.

    Each column is compared with the largest permuted statistic among itself and all columns of weaker real statistics.
    """
    observed = measure(measure.labels[None])[0]
    order = np.argsort(-observed, kind="stable")
    alone, together, total = np.zeros((3, len(observed)))
    batch = max(1, MEMORY // (16 * (len(observed) + len(measure.labels))))
    for i in range(0, len(draws), batch):
        values = measure(draws[i : min(i + batch, len(draws))])
        total += values.sum(axis=0)
        alone += at_least(values, observed).sum(axis=0)
        largest = np.maximum.accumulate(values[:, order[::-1]], axis=1)[:, ::-1]
        together += at_least(largest, observed[order]).sum(axis=0)
    adjusted = np.empty(len(observed))
    adjusted[order] = np.maximum.accumulate(_pvalues(together, draws))
    return ColumnTests(
        statistic=observed,
        pvalue=_pvalues(alone, draws),
        adjusted=adjusted,
        columns=(),
        n_draws=len(draws),
        exact=draws.exhaustive,
        name=measure.name,
        notes=measure.notes(total / len(draws)),
    )


def _pvalues(counts: Floats, draws: LabelDraws) -> Floats:
    return np.array([pvalue_of(int(count), len(draws), draws.exhaustive) for count in counts])
