"""Would more rows help? The error on new data over the number of rows that a model is fitted to."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.curve.error_estimate import ErrorEstimate, interval_of, numeral
from outsample.curve.left_out import LeftOut
from outsample.curve.result import TableResult
from outsample.data.tables import Table, split_rows
from outsample.evidence.rows import split_seed
from outsample.losses.choice import LossLike
from outsample.paths.refit import RefitPath
from outsample.problem import Problem, ask
from outsample.resampling.rows import FoldsLike, Split, Splits, cross_validation_splits
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.fits import counted_fits
from outsample.running.progress import Progress, TerminalProgress
from outsample.running.run import ROW_SPLITS, RandomState, child_generator, child_integer
from outsample.running.workers import results_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)
# Addresses of the order of training rows and of learners' seeds, below that of row splits.
ORDER, LEARNERS = 11, 12


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(TableResult):
    """The error on new data, and on the rows fitted to, over the number of rows fitted to.

    Attributes
    ----------
    train_sizes : (sizes,) rows that the models were fitted to.
    estimates : the ErrorEstimate for each size. Its bars come from the losses of the rows left out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> curve = learning_curve(GaussianNB(), *load_iris(return_X_y=True), train_sizes=[30, 120], random_state=0)
    >>> curve.to_frame().shape
    (2, 6)
    """

    train_sizes: Rows
    estimates: Sequence[ErrorEstimate]

    told: ClassVar[str] = "train_sizes estimates"
    columns_of_words: ClassVar[int] = 0

    @property
    def in_sample(self) -> Floats:
        """Mean error over folds on the rows fitted to, (sizes,), in the scale of the loss."""
        return np.array([estimate.in_sample for estimate in self.estimates])

    @property
    def out_sample(self) -> Floats:
        """Mean error over folds on the rows left out, (sizes,), in the scale of the loss."""
        return np.array([estimate.out_sample for estimate in self.estimates])

    @property
    def intervals(self) -> Floats:
        """(sizes, 2) low and high end of the 95 % intervals of `out_sample`; not a number where there is none."""
        return np.array([interval_of(estimate) or (math.nan, math.nan) for estimate in self.estimates])

    def to_frame(self) -> pd.DataFrame:
        """One row per size: in_sample, out_sample, standard_error, low, high, n_fits."""
        import pandas as pd

        low, high = self.intervals.T
        errors = [math.nan if e.standard_error is None else e.standard_error for e in self.estimates]
        columns = {"in_sample": self.in_sample, "out_sample": self.out_sample, "standard_error": errors}
        columns |= {"low": low, "high": high, "n_fits": [e.n_fits for e in self.estimates]}
        return pd.DataFrame(columns, index=pd.Index(self.train_sizes, name="train_size"))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Both errors over the number of rows, with bars; returns the matplotlib Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import learning_drawing

        return plotted(learning_drawing(self), ax)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """(headings, rows) as readable text."""
        rows = []
        for size, estimate in zip(self.train_sizes, self.estimates, strict=True):
            ends = interval_of(estimate)
            bar = "–" if ends is None else f"{numeral(ends[0], 3)} to {numeral(ends[1], 3)}"
            rows.append([str(size), numeral(estimate.in_sample), numeral(estimate.out_sample), bar])
        return ["rows", "in-sample", "out-sample", "95 % interval"], rows

    def _above(self) -> str:
        return f"{self.estimates[0].loss} over rows fitted to"

    def _below(self) -> tuple[str, ...]:
        return (self.sentence,)

    @property
    def sentence(self) -> str:
        """Whether the last rows still helped, judged on the same rows left out."""
        first, last = self.estimates[-2:] if len(self.estimates) > 1 else (self.estimates[0],) * 2
        if first is last:
            return f"{numeral(last.out_sample)} with {self.train_sizes[-1]} rows."
        less, more = self.train_sizes[-2:]
        return (
            f"From {less} to {more} rows, {last.loss} went from {numeral(first.out_sample)} to "
            f"{numeral(last.out_sample)}."
        )


def learning_curve(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    train_sizes: ArrayLike = SHARES,
    cv: FoldsLike = 5,
    shuffle: bool = True,
    loss: LossLike = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    progress: Progress | None = None,
) -> LearningCurve:
    """The error of a model over the number of rows that it is fitted to.

    Every fold is tested by models fitted to more and more of its training rows, each set of rows inside the next one.

    Parameters
    ----------
    estimator : any scikit-learn compatible classifier, regressor or pipeline; it is cloned, never changed.
    X, y : the data.
    train_sizes : numbers of rows, or shares of the smallest training set, to fit to.
    cv : number of folds, a splitter of scikit-learn, or (train rows, test rows) pairs.
    shuffle : whether training rows are taken in a random order, classes in proportion; otherwise in the order of the
        split, as scikit-learn's `learning_curve` does.
    loss : see `outsample.estimate`.
    sample_weight : one weight per row, used in the fit and in the loss.
    groups : rows that belong together, kept on one side of every split.
    n_jobs : joblib workers; the answer does not depend on it.
    random_state : seed of folds, orders and learners whose own random state is not set; None as in `estimate`.
    progress : called with (fits done, fits planned); by default a bar on long runs in a terminal.

    Returns
    -------
    LearningCurve
        Sizes, errors and intervals; `to_frame`, `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = learning_curve(GaussianNB(), X, y, train_sizes=[20, 60, 120], random_state=0)
    >>> curve.train_sizes.tolist()
    [20, 60, 120]
    """
    with TerminalProgress("learning curve") as bar:
        question = ask(
            estimator,
            X,
            y,
            loss=loss,
            sample_weight=sample_weight,
            groups=groups,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress or bar,
        )
        if question.response == "score":
            raise ValueError(
                "loss: a learning curve needs a loss that reads predictions, not the estimator's own score"
            )
        problem = question.over(RefitPath.over(estimator, [{}]))
        splits = _splits(problem, cv)
        sizes = _sizes(train_sizes, min(len(fold.train) for fold in splits.folds))
        orders = [_order(problem, fold, k) if shuffle else fold.train for k, fold in enumerate(splits.folds)]
        return LearningCurve(sizes, [_estimate(problem, splits, orders, int(size)) for size in sizes])


def _splits(problem: Problem, cv: FoldsLike) -> Splits:
    return cross_validation_splits(
        cv,
        problem.X,
        problem.y,
        classifier=problem.target.classes is not None,
        groups=problem.groups,
        seed=split_seed(problem),
        shuffle=True,
    )


def _sizes(train_sizes: ArrayLike, most: int) -> Rows:
    """Numbers of rows, ascending, from numbers or shares of `most`."""
    given = np.asarray(train_sizes)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iuf":
        raise ValueError(f"train_sizes must be a list of numbers of rows or of shares, got {train_sizes!r}")
    shares = given.dtype.kind == "f"
    sizes = np.unique((given * most).astype(np.intp) if shares else given.astype(np.intp))
    if (shares and not ((given > 0) & (given <= 1)).all()) or sizes[0] < 1 or sizes[-1] > most:
        raise ValueError(f"train_sizes must be shares in (0, 1] or numbers from 1 to {most}, got {train_sizes!r}")
    return sizes


def _order(problem: Problem, fold: Split, k: int) -> Rows:
    """The training rows in a random order in which every beginning has the classes in proportion."""
    rng = child_generator(problem.seed, ROW_SPLITS, ORDER, k)
    shuffled = rng.permutation(fold.train)
    if problem.target.classes is None:
        return np.asarray(shuffled)
    labels = problem.y[shuffled]
    place = np.empty(len(shuffled))
    for label in np.unique(labels):
        mine = np.flatnonzero(labels == label)
        place[mine] = (np.arange(len(mine)) + 0.5) / len(mine)
    return np.asarray(shuffled[np.argsort(place, kind="stable")])


def _estimate(problem: Problem, splits: Splits, orders: Sequence[Rows], size: int) -> ErrorEstimate:
    start = time.perf_counter()
    fits = _FitsToSome(
        problem, [Split(order[:size], fold.test) for order, fold in zip(orders, splits.folds, strict=True)]
    )
    with counted_fits() as spent:
        found = list(results_of(fits, [(k,) for k in range(len(splits))], problem.n_jobs))
    inside, outside = (np.array([each[part] for each in found]) for part in (0, 1))
    losses = _of_rows(problem.n_samples, splits, [each[2] for each in found])
    known = ~np.isnan(losses)
    table = LeftOut(losses[None], problem.weight, groups=problem.groups)
    curve = problem.curve(
        in_sample=np.array([inside.mean()]),
        out_sample=np.array([outside.mean()]),
        criterion="kfold",
        estimand=f"{problem.loss.on_new_data}, averaged over fits to {size} rows",
        n_fits=spent.n_fits,
        seconds=time.perf_counter() - start,
        standard_error=table.standard_error if known.sum() > 1 else None,
        left_out=table,
        notes=splits.notes,
    )
    return replace(curve.estimate(0), n_samples=int(known.sum()))


def _of_rows(n: int, splits: Splits, by_fold: Sequence[Floats]) -> Floats:
    """Mean loss of each row over the folds that tested it, (n,); not a number where none did."""
    total, often = np.zeros(n), np.zeros(n)
    for fold, losses in zip(splits.folds, by_fold, strict=True):
        np.add.at(total, fold.test, losses)
        np.add.at(often, fold.test, 1.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / often)


class _FitsToSome:
    """Fits the model to the training rows of a split and judges it on these and on the others; picklable."""

    def __init__(self, problem: Problem, splits: Sequence[Split]) -> None:
        self.path, self.X, self.y, self.weight = problem.path, problem.X, problem.y, problem.weight
        self.classes, self.response, self.seed = problem.target.classes, problem.response, problem.seed
        self.loss, self.splits = problem.loss, splits

    def __call__(self, k: int) -> tuple[float, float, Floats]:
        """(risk on the rows fitted to, risk on the rows left out, losses of these)."""
        split = self.splits[k]
        both = np.concatenate([split.train, split.test])
        X_train, X_both = split_rows(self.X, split.train, both, pairwise=self.path.pairwise)
        design = self.path.bind(X_train, self.classes, self._weight(split.train))
        seed = child_integer(self.seed, ROW_SPLITS, LEARNERS, k)
        predicted: Array = design.predict(self.y[split.train], X_both, self.response, seed)[0]
        inside, outside = predicted[: len(split.train)], predicted[len(split.train) :]
        risk = [
            float(self.loss.risk(self.y[rows], said, self._weight(rows)))
            for rows, said in ((split.train, inside), (split.test, outside))
        ]
        return risk[0], risk[1], self.loss.row_values(self.y[split.test], outside, self._weight(split.test))

    def _weight(self, rows: Rows) -> Floats | None:
        return None if self.weight is None else self.weight[rows]
