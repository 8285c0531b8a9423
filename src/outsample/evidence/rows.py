"""Rows left out: every model of a path fitted to some rows and tested on the others, or known without refits."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from outsample.curve.left_out import LARGEST_TABLE, LeftOut
from outsample.data.learners import FitError
from outsample.data.tables import Table, split_rows
from outsample.losses.base import Loss
from outsample.losses.whole_set import risk_if_any, risk_of_scores
from outsample.paths.base import Design
from outsample.paths.preparation import Preparation, Shared, preparations_of
from outsample.problem import Problem
from outsample.resampling.rows import Split, Splits
from outsample.running.arrays import Array, Floats, Rows, chunks
from outsample.running.fits import counted_fits
from outsample.running.run import ROW_SPLITS, child_generator, child_integer, splitter_seed
from outsample.running.threads import cached_property, one_blas_thread
from outsample.running.workers import results_of

# Addresses below ROW_SPLITS; 0 and 1 are those of folds and hold-outs.
BAGS, BAG_LEARNERS, NESTED_FOLDS, NESTED_LEARNERS = range(2, 6)


class FitsOnRows:
    """Fits every model of a problem's path to some rows; picklable, with no more than workers need."""

    def __init__(self, problem: Problem, address: int, unit: str, planned: int) -> None:
        self.path, self.X, self.y = problem.path, problem.X, problem.y
        self.classes, self.response, self.pairwise = problem.target.classes, problem.response, problem.path.pairwise
        self.seed, self.address, self.unit, self.planned = problem.seed, address, unit, planned

    def predictions(self, number: int, train: Rows, weight: Floats | None, test: Rows) -> Array:
        """Answers (models, test rows[, classes or outputs]) after unit `number` of the work was fitted to `train`."""
        seed = child_integer(self.seed, ROW_SPLITS, self.address, number)
        try:
            X_train, X_test = split_rows(self.X, train, test, pairwise=self.pairwise)
            design = self.path.bind(X_train, self.classes, weight)
            return design.predict(self.y[train], X_test, self.response, seed)
        except Exception as error:
            raise FitError(f"{self.unit} {number + 1} of {self.planned}: {error}") from error


SPLIT_SEED, LEARNER_SEED = range(2)

# Address of the learners of further partitions, beyond those of any fold.
FURTHER = 2**31

# Sets of rows without which constants are found; where there are more folds, some are left out together.
PARTS = 10


@dataclass(frozen=True, eq=False)
class Tested:
    """What rows that were left out say of every model of a path, and what it cost.

    Attributes
    ----------
    left_out : their losses, and their predictions where they were asked for; predictions are those of the rows that
        count.
    refitted : whether models were fitted anew without the rows.
    whole_risks : (folds, models) risk on all rows, those fitted included, of each fold's models; None unless asked.
    """

    left_out: LeftOut
    refitted: bool
    whole_risks: Floats | None = None

    @property
    def fold_risks(self) -> Floats:
        """Risk of every model on the rows of each fold, (folds, models)."""
        assert self.left_out.fold_risks is not None
        return self.left_out.fold_risks

    @property
    def predictions(self) -> Array:
        """What every model said of the rows it was not fitted to, (models, n[, classes or outputs])."""
        assert self.left_out.predictions is not None
        return self.left_out.predictions


def split_seed(problem: Problem, partition: int = 0) -> int:
    """The seed of everything random about which rows are held out; others for further partitions of them."""
    return splitter_seed(problem.seed, ROW_SPLITS, SPLIT_SEED, *([partition] if partition else []))


def split_generator(problem: Problem) -> np.random.Generator:
    """The same randomness, for criteria that draw rows themselves."""
    return child_generator(problem.seed, ROW_SPLITS, SPLIT_SEED)


def evidence_of_folds(
    problem: Problem,
    splits: Splits,
    *,
    partition: Rows | None,
    keep: bool = False,
    pooled: bool = False,
    number: int = 0,
    whole: bool = False,
) -> Tested:
    """Fit every model to the training rows of every split and test it on the others.

    Nothing is refitted where the splits partition the rows and the path knows what its models would predict for rows
    left out.

    Parameters
    ----------
    partition : (n,) the fold of each row, when a row's prediction may come from a closed form over this partition.
    keep : whether to keep the predictions.
    pooled : keep the predictions and judge no fold: for losses of whole sets where folds are single rows.
    number : of the partition, where there are several.
    whole : judge the models of each fold on all rows too, for which every fold is refitted.
    """
    judge = None if pooled else FoldJudge(problem, splits)
    left_out = None if partition is None or whole else left_out_predictions(problem, partition)
    if left_out is not None:
        return _from_left_out(problem, splits, left_out, judge, keep or pooled)
    return _from_refits(problem, splits, judge, keep or pooled, number, whole)


class FoldJudge:
    """Turns predictions of rows left out into losses of rows and risks of folds; picklable."""

    def __init__(self, problem: Problem, splits: Splits) -> None:
        self.loss, self.y, self.weight = problem.loss, problem.y, problem.weight
        self.alone = len(splits.tested) <= len(splits)
        numbers = len(problem.path) * problem.n_samples
        reads = self.loss.reads_predictions
        self.writes_losses = reads and ((self.alone and self.loss.per_row) or numbers <= LARGEST_TABLE)

    def risk(self, test: Rows, predicted: Array) -> Floats:
        """Risk of every model on the rows of a fold, (models,). The loss of a single row has no weight."""
        weight = None if self.weight is None or self.alone else self.weight[test]
        return np.asarray(self.loss.scored_risk(self.y[test], predicted, weight), dtype=np.float64)

    def losses(self, test: Rows, predicted: Array) -> Floats:
        """Losses of every model on the rows of a fold, (models, rows)."""
        weight = None if self.weight is None else self.weight[test]
        return self.loss.part_values(self.y[test], predicted, weight)

    def joined(self, losses: Floats | None, risks: Floats, splits: Splits) -> Floats | None:
        """The losses of rows in the mean over folds, (models, n), given what they are in their folds."""
        if losses is None or self.loss.per_row or len(splits.tested) > len(self.y):
            return losses
        return self.loss.joined(losses, risks, splits.tests, self.y, self.weight)

    def table(self, splits: Splits, predicted: Array, keep: bool) -> LeftOut:
        """The table of losses, given what every model says of all rows, each left out.

        Predictions that are not to be kept may be written over.
        """
        if not self.loss.per_row:
            return self._table_of_sets(splits, predicted)
        losses = self._all_losses(predicted, keep) if self.writes_losses else None
        if self.alone and losses is not None:
            tested = splits.tested
            every = np.array_equal(tested, np.arange(len(self.y)))
            return LeftOut(losses, fold_risks=losses.T) if every else _some(losses, tested)
        risks = np.stack([self.risk(test, predicted[:, test]) for test in splits.tests])
        return LeftOut(losses, fold_risks=risks)

    def _table_of_sets(self, splits: Splits, predicted: Array) -> LeftOut:
        """The same for losses of whole sets: each fold is a set, and its rows have its risk plus their influence."""
        risks = np.stack([self.risk(test, predicted[:, test]) for test in splits.tests])
        if not self.writes_losses:
            return LeftOut(None, fold_risks=risks)
        losses = np.full(predicted.shape[:2], np.nan)
        for test in splits.tests:
            losses[:, test] = self.losses(test, predicted[:, test])
        return LeftOut(_complete(self.joined(losses, risks, splits), splits.tested), fold_risks=risks)

    def _all_losses(self, predicted: Array, keep: bool) -> Floats:
        reused = not keep and self.alone and predicted.dtype == np.float64 and predicted.ndim == 2
        losses = predicted if reused else np.empty(predicted.shape[:2])
        for models in chunks(predicted):
            losses[models] = self.loss.pointwise(self.y, predicted[models])
        return losses


def _some(losses: Floats, tested: Rows) -> LeftOut:
    """A table of folds of one row, of which not every row is tested."""
    return LeftOut(_only(losses, tested), fold_risks=losses[:, tested].T)


def _complete(losses: Floats | None, tested: Rows) -> Floats | None:
    """The losses; None where they are not known for some of the rows that were tested."""
    return None if losses is None or np.isnan(losses[:, tested].sum()) else losses


def _only(losses: Floats, tested: Rows) -> Floats:
    """The losses of the rows that were tested; not a number elsewhere."""
    known = np.full_like(losses, np.nan)
    known[:, tested] = losses[:, tested]
    return known


def left_out_predictions(problem: Problem, partition: Rows) -> Array | None:
    """What every model says of every row, fitted to the other folds, without refits; None where it takes refits."""

    def compute() -> Array | None:
        with one_blas_thread:
            return problem.design.left_out_predictions(problem.y, partition, problem.response)

    # Whoever asks whether there is a shortcut for scores that rank rows need not take it twice.
    return problem.once(("left out", partition.tobytes()), compute) if problem.loss.ranks else compute()


def _from_left_out(problem: Problem, splits: Splits, left_out: Array, judge: FoldJudge | None, keep: bool) -> Tested:
    problem.progress(1, 1)
    table = LeftOut(None) if judge is None else judge.table(splits, left_out, keep)
    kept = None
    if keep:
        kept, tested = missing(left_out, problem.n_samples), splits.tested
        kept[:, tested] = left_out[:, tested]
    return Tested(_completed(table, problem, splits, kept), refitted=False)


def _from_refits(
    problem: Problem, splits: Splits, judge: FoldJudge | None, keep: bool, number: int, whole: bool = False
) -> Tested:
    fits = FoldFits(problem, splits.folds, judge, keep, number, whole)
    done, risks, kept = problem.design.fits_per_draw, [], None
    whole_risks: list[Floats] = []
    sums = np.zeros((len(problem.path), problem.n_samples)) if judge is not None and judge.writes_losses else None
    details = (judge is None, keep, *([whole] if whole else []))
    finished = problem.finished(f"folds/{number}" if number else "folds", *details)
    results = results_of(fits, [(k,) for k in range(len(splits))], problem.n_jobs, finished)
    for k, (cost, fold_risk, losses, *predicted) in enumerate(results):
        done += int(cost)
        problem.progress(done, done + int(cost) * (len(splits) - k - 1))
        risks.append(fold_risk)
        test = splits.folds[k].test
        if sums is not None and losses.size:
            sums[:, test] += losses
        if keep:
            kept = missing(predicted[0], problem.n_samples) if kept is None else kept
            kept[:, test] = predicted[0]
        if whole:
            whole_risks.append(predicted[-1])
    often = splits.times_tested(problem.n_samples)
    with np.errstate(invalid="ignore"):
        known = None if sums is None or problem.response == "score" else np.where(often > 0, sums / often, np.nan)
    if not problem.loss.per_row:
        known = known if judge is None else judge.joined(known, np.stack(risks), splits)
        known = _complete(known, splits.tested)
    table = LeftOut(known, fold_risks=None if judge is None else np.stack(risks))
    table = _completed(table, problem, splits, kept)
    return Tested(table, True, np.stack(whole_risks) if whole else None)


def _completed(table: LeftOut, problem: Problem, splits: Splits, kept: Array | None) -> LeftOut:
    """The table with what is known of its rows, whatever the losses came from."""
    return replace(
        table,
        weight=problem.weight,
        groups=problem.groups,
        fold=splits.fold_of_rows(problem.n_samples),
        fold_sizes=splits.sizes if problem.weight is None and table.fold_risks is not None else None,
        predictions=kept,
    )


def left_out_losses(
    problem: Problem, predicted: Array, fold: Rows | None = None, tested: Rows | None = None
) -> LeftOut | None:
    """The table of losses, given what every model says of every row, left out; or of the rows `tested` only.

    A loss of whole sets judges these rows together, and each has that risk plus its influence on it; one that ranks
    rows judges fold by fold. None where influences cannot be computed.
    """
    if problem.loss.ranks and fold is not None:
        losses = in_folds(problem, predicted, [np.flatnonzero(fold == k) for k in range(int(fold.max()) + 1)])[1]
        return None if np.isnan(losses).any() else LeftOut(losses, problem.weight, fold, groups=problem.groups)
    if tested is None:
        losses = problem.loss.row_values(problem.y, predicted, problem.weight)
        tested = np.arange(problem.n_samples)
    else:
        weight = None if problem.weight is None else problem.weight[tested]
        losses = np.full((len(predicted), problem.n_samples), np.nan)
        losses[:, tested] = problem.loss.row_values(problem.y[tested], predicted[:, tested], weight)
    if not problem.loss.per_row and _complete(losses, tested) is None:
        return None
    return LeftOut(losses, problem.weight, fold, groups=problem.groups)


def in_folds(problem: Problem, predicted: Array, tests: Sequence[Rows]) -> tuple[Floats, Floats]:
    """(mean over folds of the risk of every model, (models,); the values of rows in it, (models, n)).

    Of losses of whole sets, given what every model says of all rows, those of a fold without having seen it.
    """
    loss, y, weight = problem.loss, problem.y, problem.weight
    risks, rows = [], np.full(predicted.shape[:2], np.nan)
    for test in tests:
        own = y[test], predicted[:, test], None if weight is None else weight[test]
        risks.append(np.asarray(loss.risk(*own), dtype=np.float64))
        rows[:, test] = loss.part_values(*own)
    return np.mean(risks, axis=0), loss.joined(rows, np.stack(risks), tests, y, weight)


def judged_risk(problem: Problem, predicted: Array, tests: Sequence[Rows]) -> Floats:
    """Risk of every model on all rows together, (models,), each left out of the fits that judge it.

    The mean over folds of losses that rank rows: only scores of one model can be ranked together.
    """
    if problem.loss.ranks:
        return in_folds(problem, predicted, tests)[0]
    return np.asarray(problem.loss.risk(problem.y, predicted, problem.weight))


def missing(predicted: Array, n: int) -> Array:
    """Room for the predictions of n rows, all of them still missing: −1 for codes, nan for numbers."""
    nothing = -1 if np.issubdtype(predicted.dtype, np.integer) else np.nan
    return np.full((len(predicted), n, *predicted.shape[2:]), nothing, dtype=predicted.dtype)


def at_all_rows(problem: Problem, predicted: Array | None) -> Array | None:
    """Predictions for the rows that count, at their places among all rows; missing for rows of weight zero."""
    whole = problem.all_rows
    if predicted is None or whole is None:
        return predicted
    placed = missing(predicted, len(whole.y))
    placed[:, whole.counted] = predicted
    return placed


class FoldFits:
    """Fits the whole path to the training rows of a fold and tests it on the others; picklable."""

    def __init__(
        self,
        problem: Problem,
        folds: Sequence[Split],
        judge: FoldJudge | None,
        keep: bool,
        number: int,
        whole: bool = False,
    ) -> None:
        self.path, self.X, self.y, self.weight = problem.path, problem.X, problem.y, problem.weight
        self.classes, self.response, self.seed = problem.target.classes, problem.response, problem.seed
        self.folds, self.judge, self.keep, self.pairwise = folds, judge, keep, problem.path.pairwise
        self.every_row = np.arange(problem.n_samples) if whole else None
        self.address = (ROW_SPLITS, LEARNER_SEED, *([FURTHER, number] if number else []))

    def __call__(self, k: int, shared: Shared | None = None, n_models: int | None = None) -> tuple[Array, ...]:
        """(fits, risk of every model, its losses; predictions if they are kept, risk on all rows if asked for).

        Empty what is not asked for.

        Parameters
        ----------
        shared : what others have made of the X of this fold; None to do everything alone, as scikit-learn does.
        n_models : how many of the models, from the simplest on, are asked for; answers on the others may be missing.
        """
        with counted_fits() as spent:
            found = self._found(k, shared, n_models)
        return np.array(spent.parts), *found

    def _found(self, k: int, shared: Shared | None, n_models: int | None) -> tuple[Array, ...]:
        fold = self.folds[k]
        seed = child_integer(self.seed, *self.address, k)
        try:
            design, X_test = self._bound(fold, shared, n_models)
            if self.response == "score":
                return self._own_scores(design, X_test, fold, seed)
            predicted = design.predict(self.y[fold.train], X_test, self.response, seed)
            on_all = None if self.every_row is None else predicted
            predicted = predicted if on_all is None else on_all[:, fold.test]
        except Exception as error:
            raise FitError(f"fold {k + 1} of {len(self.folds)}: {error}") from error
        judge = self.judge
        risk = np.empty(0) if judge is None else judge.risk(fold.test, predicted)
        losses = np.empty(0) if judge is None or not judge.writes_losses else judge.losses(fold.test, predicted)
        found = (risk, losses, *([predicted] if self.keep else []))
        if on_all is None or judge is None:
            return found
        return (*found, np.asarray(judge.loss.risk(self.y, on_all, self.weight), dtype=np.float64))

    def _own_scores(self, design: Design, X_test: Table, fold: Split, seed: int) -> tuple[Array, ...]:
        weight = None if self.weight is None else self.weight[fold.test]
        scores = design.scores(self.y[fold.train], seed, X_test, self.y[fold.test], weight)
        return risk_of_scores(scores), np.empty(0)

    def _bound(self, fold: Split, shared: Shared | None, n_models: int | None) -> tuple[Design, Table]:
        """(the path bound to the training rows, X of the test rows, or of all where all are asked for)."""
        weight = None if self.weight is None else self.weight[fold.train]
        if shared is None:
            path, (X_train, X_test) = self.path, self._tables(fold)
        else:
            tables = partial(self._tables, fold)
            path, X_train, X_test = shared.prepared(self.path, self.preparations, self.pairwise, tables)
        path = path if n_models is None or n_models == len(path) else path.first_models(n_models)
        return path.bind(X_train, self.classes, weight), X_test

    def _tables(self, fold: Split) -> tuple[Table, Table]:
        asked = fold.test if self.every_row is None else self.every_row
        return split_rows(self.X, fold.train, asked, pairwise=self.pairwise)

    @cached_property
    def preparations(self) -> list[Preparation]:
        """What can be shared with others before the path is fitted."""
        return preparations_of(self.path)


def guess_left_out(loss: Loss, y: Array, weight: Floats | None, table: LeftOut) -> LeftOut | None:
    """The table of the best constant, on the rows and folds of a table of models; None where there is no such constant.

    Of constants that labels decide, such as the mean, each fold gets that of the other rows. Which kind of constant is
    the best one, such as which class, is read off all rows. Where rows are ranked, chance does better than a constant.
    """
    if table.losses is None and table.fold_risks is None:
        return None
    if loss.ranks:
        return _ranked_by_chance(loss, y, weight, table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        risks = np.array([risk_if_any(loss, y, constant, weight) for constant in loss.constants(y, weight)])
        known = np.where(np.isfinite(risks), risks, np.inf)
        if not np.isfinite(known).any():
            return None
        try:
            return _judged(loss, y, weight, table, int(np.argmin(known)))
        except Exception:
            # A user's function, and some scores, are undefined on parts of the rows.
            return None


def _ranked_by_chance(loss: Loss, y: Array, weight: Floats | None, table: LeftOut) -> LeftOut | None:
    """The same risk for all rows and folds: which of them have more luck does not depend on them."""
    risk = loss.guessing(y, weight, table.sizes_of_sets)
    losses, fold_risks = table.losses, table.fold_risks
    if np.isnan(risk):
        return None
    return replace(
        table,
        losses=None if losses is None else np.where(np.isnan(losses).all(axis=0), np.nan, risk)[None],
        fold_risks=None if fold_risks is None else np.full((len(fold_risks), 1), risk),
        predictions=None,
    )


def _judged(loss: Loss, y: Array, weight: Floats | None, table: LeftOut, kind: int) -> LeftOut:
    said = _of_other_rows(loss, y, weight, table.fold, kind)
    losses, fold_risks = None, None
    if table.losses is not None:
        losses = np.full((1, len(y)), np.nan)
        for rows in _judged_together(loss, table):
            losses[0, rows] = loss.row_values(y[rows], said[rows], None if weight is None else weight[rows])
    elif table.fold is not None and table.fold_risks is not None:
        sets = [np.flatnonzero(table.fold == k) for k in range(len(table.fold_risks))]
        risks = [float(loss.risk(y[rows], said[rows], None if weight is None else weight[rows])) for rows in sets]
        fold_risks = np.array(risks)[:, None]
    return LeftOut(losses, table.weight, table.fold, fold_risks, table.fold_sizes)


def _of_other_rows(loss: Loss, y: Array, weight: Floats | None, fold: Rows | None, kind: int) -> Array:
    """What a kind of constant says of each row, from the rows of other folds; from all rows without folds."""
    said = np.array(_constant(loss, y, weight, kind))
    if fold is None:
        return said
    part, share = np.where(fold < 0, -1, fold % PARTS), np.ones(len(y)) if weight is None else weight
    for k in np.unique(part[part >= 0]):
        rest = np.where(part == k, 0.0, share)
        if rest.any():
            said[part == k] = _constant(loss, y, rest, kind)[part == k]
    return said


def _constant(loss: Loss, y: Array, weight: Floats | None, kind: int) -> Array:
    return next(islice(loss.constants(y, weight), kind, None))


def _judged_together(loss: Loss, table: LeftOut) -> Sequence[Rows]:
    """The sets of rows that a loss of whole sets judged: folds, or all rows; all rows at once for any other loss."""
    assert table.losses is not None
    fold = table.fold
    if loss.per_row or fold is None or table.fold_risks is None or len(table.fold_risks) >= (fold >= 0).sum():
        known = ~np.isnan(table.losses).all(axis=0)
        return [np.flatnonzero(known)]
    return [np.flatnonzero(fold == k) for k in range(len(table.fold_risks))]
