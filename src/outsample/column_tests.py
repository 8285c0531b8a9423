"""Which columns carry signal? Every column tested against the same permutations, corrected for their number.

The correction compares each column with the largest statistic of a permutation (Westfall & Young 1993), so it knows
how the columns hang together: a thousand copies of one column cost nothing.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.checks import whole_number
from outsample.choosing_schemes import choose_scheme, looks_real
from outsample.draws import LabelDraws
from outsample.learners import is_pairwise
from outsample.losses import Floats
from outsample.problem import LABEL_DRAWS, pose
from outsample.running import child_seed, seed_sequence
from outsample.significance_record import at_least, pvalue_of
from outsample.statistics import InSample
from outsample.target import check_kind
from outsample.threads import one_blas_thread

Array = NDArray[Any]

MEMORY = 256 * 2**20


@dataclass(frozen=True, eq=False)
class ColumnTests:
    """One test per column.

    Attributes
    ----------
    statistic : (columns,) on the real labels.
    pvalue : (columns,) of each column alone.
    adjusted : (columns,) p-values for all at once: the chance of any false alarm among those below a level is at
        most that level.
    columns : their names, or their positions.
    n_draws, exact : permutations, and whether these are all.
    name : what the statistic is.
    """

    statistic: Floats
    pvalue: Floats
    adjusted: Floats
    columns: tuple[Any, ...]
    n_draws: int
    exact: bool
    name: str
    seconds: float = 0.0

    def significant(self, level: float = 0.05) -> tuple[Any, ...]:
        """The columns whose adjusted p-value is at most `level`, the strongest first."""
        order = np.argsort(-self.statistic, kind="stable")
        return tuple(self.columns[j] for j in order if self.adjusted[j] <= level)

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values."""
        arrays = {name: getattr(self, name).tolist() for name in ("statistic", "pvalue", "adjusted")}
        words = {name: getattr(self, name) for name in ("n_draws", "exact", "name", "seconds")}
        return arrays | words | {"columns": list(self.columns)}

    def to_frame(self) -> Any:
        """A pandas table, one row per column, the strongest first."""
        import pandas as pd

        numbers = {"statistic": self.statistic, "pvalue": self.pvalue, "adjusted": self.adjusted}
        frame = pd.DataFrame(numbers, index=pd.Index(self.columns, name="column"))
        return frame.sort_values("statistic", ascending=False, kind="stable")

    def __str__(self) -> str:
        found = self.significant()
        named = ", ".join(str(c) for c in found[:10]) + (", …" if len(found) > 10 else "")
        return (
            f"{len(found)} of {len(self.columns)} columns carry signal at level 0.05, all columns considered"
            + (f": {named}" if found else "")
            + f"\n{self.name}, {self.n_draws} {'different' if self.exact else 'random'} permutations"
        )

    def _repr_html_(self) -> str:
        lines = "<br>".join(html.escape(line) for line in str(self).splitlines())
        return f"<p>{lines}</p>{self.to_frame().head(20).to_html()}"


def permutation_test_columns(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_draws: int = 999,
    groups: Any = None,
    scheme: Any = None,
    block_size: int | None = None,
    random_state: Any = None,
) -> ColumnTests:
    """Test every column of X, with p-values corrected for testing them all.

    Parameters
    ----------
    estimator : the learner fitted to each column alone, its in-sample score the statistic; None for the share of
        variance that column and labels share: squared correlation, or for classes the share between class means.
    X, y : the data; y is taken as numbers where they are not whole or take more than 20 values, else as classes.
    n_draws, groups, scheme, block_size, random_state : as in `permutation_test`; all columns meet the same draws.
    """
    start = time.perf_counter()
    count = whole_number("n_draws", n_draws)
    table, columns = _table(X)
    seed = seed_sequence(random_state)
    labels, measure, name = _shared(table, y) if estimator is None else _one_by_one(estimator, table, y, seed)
    draws = LabelDraws(choose_scheme(labels, groups, scheme, block_size), labels, count, child_seed(seed, LABEL_DRAWS))
    with one_blas_thread:
        found = _counted(measure, labels, draws)
    return replace(found, columns=columns, name=name, seconds=time.perf_counter() - start)


def _table(X: Any) -> tuple[Floats, tuple[Any, ...]]:
    names = getattr(X, "columns", None)
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    try:
        table = np.asarray(dense, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("X must be a table of numbers; encode its other columns first") from None
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError(f"X must be a table without missing or infinite values, got shape {table.shape}")
    return table, tuple(range(table.shape[1])) if names is None else tuple(names)


Measure = Callable[[Array], Floats]


def _shared(table: Floats, y: Any) -> tuple[Array, Measure, str]:
    """(labels, function from label vectors to the statistics (draws, columns), its name), X standardised once."""
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


def _squared_correlation(unit: Floats, y: Floats) -> tuple[Array, Measure, str]:
    centred = y - y.mean()
    total = float((centred**2).sum())
    return centred, lambda Y: np.asarray((Y @ unit) ** 2 / total), "squared correlation"


def _share_between_classes(unit: Floats, y: Array) -> tuple[Array, Measure, str]:
    codes, sizes = np.unique(y, return_inverse=True, return_counts=True)[1:]
    if len(sizes) < 2:
        raise ValueError("y is constant, so no column can say anything about it")

    def between(Y: Array) -> Floats:
        members = (np.equal(Y, c).astype(np.float64) for c in range(len(sizes)))
        return np.asarray(sum((rows @ unit) ** 2 / size for rows, size in zip(members, sizes, strict=True)))

    return codes, between, "share of variance between classes"


def _one_by_one(estimator: Any, table: Floats, y: Any, seed: np.random.SeedSequence) -> tuple[Array, Measure, str]:
    if is_pairwise(estimator):
        raise ValueError(
            f"estimator: {type(estimator).__name__} reads pairs of rows, which cannot be tested column by column; "
            "use permutation_test"
        )
    tests = [InSample(pose(estimator, table[:, [j]], y, random_state=seed)) for j in range(table.shape[1])]
    return tests[0].labels, lambda Y: np.stack([test(Y) for test in tests], axis=1), tests[0].name


def _counted(measure: Measure, labels: Array, draws: LabelDraws) -> ColumnTests:
    """Step-down max-T: column by column from the strongest, against the largest statistic of itself and the weaker."""
    observed = measure(labels[None])[0]
    order = np.argsort(-observed, kind="stable")
    alone, together = np.zeros(len(observed)), np.zeros(len(observed))
    batch = max(1, MEMORY // (16 * (len(observed) + len(labels))))
    for i in range(0, len(draws), batch):
        values = measure(draws[i : min(i + batch, len(draws))])
        alone += at_least(values, observed).sum(axis=0)
        largest = np.maximum.accumulate(values[:, order[::-1]], axis=1)[:, ::-1]
        together += at_least(largest, observed[order]).sum(axis=0)
    adjusted = np.empty(len(observed))
    adjusted[order] = np.maximum.accumulate(_pvalues(together, draws))
    return ColumnTests(observed, _pvalues(alone, draws), adjusted, (), len(draws), draws.exhaustive, "")


def _pvalues(counts: Floats, draws: LabelDraws) -> Floats:
    return np.array([pvalue_of(int(count), len(draws), draws.exhaustive) for count in counts])
