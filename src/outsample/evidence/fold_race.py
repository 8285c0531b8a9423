"""A race over folds: in every round candidates are fitted to the training rows of a fold and tested on the others."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from outsample.curve.intervals import error_of_mean, of_units
from outsample.data.learners import FitError
from outsample.evidence.out_of_bag import Unseen, out_of_bag, tells_out_of_bag
from outsample.evidence.race import Entrant, Lap, RaceRun, Rules, Seen
from outsample.evidence.rows import FoldFits, FoldJudge, left_out_predictions
from outsample.evidence.standings import gaps_of_all_rows
from outsample.losses.base import weighted_mean
from outsample.paths.preparation import Shared
from outsample.problem import Problem
from outsample.resampling.rows import Splits
from outsample.running.arrays import Array, Bools, Floats, Rows
from outsample.running.dealing import dealt
from outsample.running.fits import counted_fits
from outsample.running.run import StoredUnits
from outsample.running.workers import results_of

# Rows on which candidates must have been tested before one is dropped by a score of whole sets: the influence of single
# rows on r2 or F1 is a first-order approximation, which says little of the error on a handful of rows.
ROWS_OF_A_SCORE = 30

# Folds after which candidates leave because little is lost without them. On recorded losses of four learners, with one
# fold, choices were worse where errors are rare (benchmarks/RACE.md).
FOLDS_OF_SPARING = 2

# Folds after which a race in which nobody is better than guessing is over.
FOLDS_OF_GUESSING = 3


class FoldRace(RaceRun):
    """A race whose rounds are folds, in a random order.

    Attributes
    ----------
    splits : the folds.
    by_trees : whether forests and bags are judged on the rows of a fold by the trees that did not see them.
    risks : (folds, candidates) risk on each fold, nan where a candidate was not tested.
    writes_losses : whether single rows have losses; otherwise folds are judged as a whole.
    """

    unit = "fold"

    def __init__(
        self, problems: Sequence[Problem], splits: Splits, order: Rows, rules: Rules, by_trees: bool = False
    ) -> None:
        super().__init__(problems, rules, order)
        self.splits = splits
        self.risks = np.full((len(splits), len(self.params)), np.nan)
        self._fits, self._known = _Laps(self.entrants, splits), _KnownLaps(self.entrants, splits, by_trees)
        self.writes_losses = self._known.judges[0].writes_losses
        self.spent = self._known.spent
        self._weights = [self._weight(fold) for fold in order]
        self._of_paths: dict[tuple[int, int], Lap] = {}

    def _laps(self, entrants: list[int], r: int, alive: Rows) -> Iterator[tuple[int, Lap | FitError]]:
        fold = int(self.rounds[r])
        yield from ((e, self._known.lap(e, fold)) for e in entrants if e in self._known)
        needed = {e: self._needed(e, alive) for e in entrants if e not in self._known}
        # A fit of a path has told of models, too, that had left and come back.
        told = {e: self._of_paths[e, fold] for e in needed if self._has_told(e, fold, needed[e])}
        yield from ((e, (np.array(0), *lap[1:])) for e, lap in told.items())
        for e, found in self._refitted({e: n for e, n in needed.items() if e not in told}, fold):
            if not isinstance(found, FitError) and len(self.entrants[e].candidates) > 1:
                self._of_paths[e, fold] = found
            yield e, found

    def _has_told(self, e: int, fold: int, needed: int) -> bool:
        """Whether so many models of an entrant have been tested on a fold."""
        return (e, fold) in self._of_paths and len(self._of_paths[e, fold][1]) >= needed

    def _refitted(self, needed: Mapping[int, int], fold: int) -> Iterator[tuple[int, Lap | FitError]]:
        refitted = list(needed)
        kept = _KeptLaps({e: self.entrants[e].problem for e in refitted}, fold, self.splits)
        kept.laps = {e: lap for e, lap in kept.laps.items() if len(lap[1]) >= needed[e]}
        yield from kept.laps.items()
        missing, n_jobs = [e for e in refitted if e not in kept.laps], self.problem.n_jobs
        units = [tuple(missing[i] for i in unit) for unit in dealt([self._fits.keys(e) for e in missing], n_jobs)]
        kept.units = units
        results = results_of(_Round(self._fits, fold, needed), [(unit,) for unit in units], n_jobs, kept)
        for unit, laps in zip(units, results, strict=False):
            yield from zip(unit, laps, strict=True)

    def _needed(self, e: int, alive: Rows) -> int:
        """How many models of an entrant, from the simplest on, hold all that are alive."""
        return int(np.flatnonzero(np.isin(self.entrants[e].candidates, alive)).max(initial=0)) + 1

    def _cost(self, entrants: list[int], r: int) -> float:
        return float(sum(e not in self._known for e in entrants))

    def _cost_nothing(self, alive: Rows, worse: Bools) -> Bools:
        known = [self.entrants[e].candidates for e in range(len(self.entrants)) if e in self._known]
        return np.isin(alive, np.concatenate(known) if known else [])

    def _renewed(self) -> None:
        self._fits = _Laps(self.entrants, self.splits)

    def _note_risk(self, candidate: int, r: int, risk: float) -> None:
        self.risks[self.rounds[r], candidate] = risk

    def _forget(self, n_rounds: int) -> None:
        super()._forget(n_rounds)
        self.risks[self.rounds[n_rounds:]] = np.nan

    def _amounts(self) -> Rows:
        return np.asarray(np.sum(~np.isnan(self.risks), axis=0))

    def _seen(self, candidates: Rows, r: int) -> Seen:
        losses = self._losses_until(candidates, r)
        if self.problem.groups is None or not self.writes_losses:
            return losses, self._weight_until(r)
        tested = np.concatenate([self.splits.folds[fold].test for fold in self.rounds[: r + 1]])
        return of_units(losses, self._weight_until(r), self.problem.groups[tested])

    def error(self, candidate: int) -> float:
        """Standard error of the mean loss of a candidate so far; not a number where it was not tested."""
        r = len(self.values[candidate]) - 1
        return float(error_of_mean(*self._seen(np.array([candidate]), r))[0]) if r >= 0 else float("nan")

    def _gaps_to_come(self, alive: Rows, place: int, r: int) -> Floats | None:
        total = float(sum(weight.sum() for weight in self._weights))
        return gaps_of_all_rows(*self._seen(alive, r), total, place)

    def _sizes_of_sets(self, r: int) -> Rows | None:
        return np.array([len(self.splits.folds[fold].test) for fold in self.rounds[: r + 1]])

    def _may_spare(self, r: int) -> bool:
        return r + 1 >= FOLDS_OF_SPARING

    def _so_far(self, r: int) -> str:
        return "1 fold" if r == 0 else f"{r + 1} folds"

    def _may_be_guessing(self, r: int) -> bool:
        return r + 1 >= FOLDS_OF_GUESSING

    def _knows_errors(self, r: int) -> bool:
        if self.problem.loss.per_row or not self.writes_losses:
            return True
        return sum(len(self.splits.folds[fold].test) for fold in self.rounds[: r + 1]) >= ROWS_OF_A_SCORE

    def _weight(self, fold: int) -> Floats:
        """Weights of the losses of a fold: of its rows, or of all of them where they are judged together."""
        test, weight = self.splits.folds[fold].test, self.problem.weight
        of_rows = np.ones(len(test)) if weight is None else weight[test]
        return of_rows if self.writes_losses else np.array([of_rows.sum()])

    def losses_of_rows(self) -> Floats:
        """(candidates, n) mean loss of each row over the folds that tested it; nan where none did."""
        table, times = (np.zeros((len(self.params), self.problem.n_samples)) for _ in range(2))
        for c, values in enumerate(self.values):
            if not values:
                continue
            tests = [self.splits.folds[fold].test for fold in self.rounds[: len(values)]]
            ends = np.cumsum([len(test) for test in tests])
            losses = np.split(self._losses_until([c], len(values) - 1)[0], ends[:-1])
            for test, own in zip(tests, losses, strict=True):
                table[c, test] += own
                times[c, test] += 1
        with np.errstate(invalid="ignore"):
            return table / times

    def _losses_until(self, candidates: Sequence[int] | Rows, r: int) -> Floats:
        """Losses of the rows of rounds 0 … r, one round after the other, (candidates, rows)."""
        values = np.stack([np.concatenate(self.values[c][: r + 1]) for c in candidates])
        problem, folds = self.problem, self.rounds[: r + 1]
        if problem.loss.per_row or not self.writes_losses:
            return values
        tests = [self.splits.folds[fold].test for fold in folds]
        ends = np.cumsum([len(test) for test in tests])
        places = [np.arange(end - len(test), end) for test, end in zip(tests, ends, strict=True)]
        risks, y = self.risks[folds][:, list(candidates)], problem.y[np.concatenate(tests)]
        return problem.loss.joined(values, risks, places, y, self._weight_until(r))

    def _weight_until(self, r: int) -> Floats | None:
        """Weights of the losses of rounds 0 … r, None where all are one."""
        if self.problem.weight is None and self.writes_losses:
            return None
        return np.concatenate(self._weights[: r + 1])


class _Laps:
    """Fits an entrant to the training rows of a fold and tests it on the others; picklable."""

    def __init__(self, entrants: Sequence[Entrant], splits: Splits) -> None:
        self.fits = [FoldFits(it.problem, splits.folds, FoldJudge(it.problem, splits), False, 0) for it in entrants]

    def keys(self, entrant: int) -> tuple[Hashable, ...]:
        """What tells the tables that an entrant is fitted to from those of others; empty where none is prepared."""
        fits = self.fits[entrant]
        keys = tuple(preparation.key for preparation in fits.preparations)
        return (fits.pairwise, *keys) if keys else ()

    def __call__(self, entrant: int, fold: int, shared: Shared, n_models: int) -> Lap | FitError:
        try:
            cost, risks, losses = self.fits[entrant](fold, shared, n_models)
        except FitError as error:
            return error
        return cost, risks, _of_units(losses, risks)


class _Round:
    """The laps of some entrants on one fold; what they share is kept as long as this is, which is one round."""

    def __init__(self, laps: _Laps, fold: int, needed: Mapping[int, int]) -> None:
        self.laps, self.fold, self.needed, self.shared = laps, fold, needed, Shared()

    def __call__(self, entrants: Sequence[int]) -> list[Lap | FitError]:
        return [self.laps(entrant, self.fold, self.shared, self.needed[entrant]) for entrant in entrants]


class _KnownLaps:
    """What is known of rows left out without a fit per fold, computed once for all folds, by the place of the entrant.

    Paths that leave rows out without refits; and, `by_trees`, ensembles whose trees did not see all rows.

    Attributes
    ----------
    spent : fits that this took.
    """

    def __init__(self, entrants: Sequence[Entrant], splits: Splits, by_trees: bool) -> None:
        partition = splits.partition(entrants[0].problem.n_samples)
        self.tests = [fold.test for fold in splits.folds]
        self.judges = {e: FoldJudge(entrant.problem, splits) for e, entrant in enumerate(entrants)}
        self.weight = entrants[0].problem.weight
        self.predictions: dict[int, Array] = {}
        self.losses: dict[int, Floats] = {}
        with counted_fits() as spent:
            for e, it in enumerate(entrants):
                if partition is not None:
                    self._ask(e, it.problem, partition, by_trees)
        self.spent = spent.parts

    def _ask(self, entrant: int, problem: Problem, partition: Rows, by_trees: bool) -> None:
        unseen = _of_trees(problem) if by_trees else None
        predicted = _free(problem, partition) if unseen is None else unseen.predictions
        if predicted is not None:
            self.predictions[entrant] = predicted
            if unseen is not None and problem.loss.per_row:
                self.losses[entrant] = unseen.losses

    def __contains__(self, entrant: int) -> bool:
        return entrant in self.predictions

    def lap(self, entrant: int, fold: int) -> Lap:
        """The risks and losses of an entrant on a fold, without a fit."""
        test, judge = self.tests[fold], self.judges[entrant]
        if entrant in self.losses:
            losses = self.losses[entrant][:, test]
            weight = None if self.weight is None or judge.alone else self.weight[test]
            risks = np.asarray(weighted_mean(losses, weight))
        else:
            predicted = self.predictions[entrant][:, test]
            losses = judge.losses(test, predicted) if judge.writes_losses else np.empty(0)
            risks = judge.risk(test, predicted)
        return np.array(0), risks, _of_units(losses if judge.writes_losses else np.empty(0), risks)


def _of_trees(problem: Problem) -> Unseen | None:
    """What trees say of the rows that they did not see; None where there are none, or all saw some row.

    What a third of the trees loses more than all of them is about what fits to all rows gain on fits to nine folds.
    Scores that rank rows need one model for all rows of a fold.
    """
    if problem.loss.ranks or not tells_out_of_bag(problem):
        return None
    try:
        found = out_of_bag(problem)
    except FitError:
        # The fits to folds will say why.
        return None
    return found if (found.counts != 0).all() else None


def _of_units(losses: Floats, risks: Floats) -> Floats:
    """Losses of the rows of a fold, (models, rows); where rows have none, the risk of the fold as one unit.

    A scorer may have a value on a fold, but no influence of single rows: all of them then stand for the whole.
    """
    if not losses.size:
        return risks[:, None]
    return np.where(np.isnan(losses), risks[:, None], losses)


def _free(problem: Problem, partition: Rows) -> Array | None:
    """Predictions for rows left out that take no refit, (models, n[, …]); None where models are refitted."""
    try:
        if problem.path.refits or not problem.design.abilities.leaves_out:
            return None
        return left_out_predictions(problem, partition)
    except (FitError, ValueError, TypeError):
        # Some value cannot be read, or fitted; the fits will say which.
        return None


class _KeptLaps:
    """The laps of one round in a store, those of a unit of work together.

    Attributes
    ----------
    laps : those that were finished before, by entrant.
    units : the entrants of every unit that is worked on now.
    """

    def __init__(self, problems: Mapping[int, Problem], fold: int, splits: Splits) -> None:
        self.fold, self.units = fold, list[tuple[int, ...]]()
        stored = {e: problem.finished("laps", splits.tests) for e, problem in problems.items()}
        self.stored: dict[int, StoredUnits] = {e: units for e, units in stored.items() if units is not None}
        known = {e: units.get(fold) for e, units in self.stored.items()}
        self.laps: dict[int, Any] = {e: lap for e, lap in known.items() if lap is not None}

    def get(self, index: int) -> Any | None:
        """None: a unit has only laps that are not finished."""
        return None

    def put(self, index: int, result: Any) -> None:
        """Keep the laps of a unit; failures are tried again."""
        for entrant, lap in zip(self.units[index], result, strict=True):
            if entrant in self.stored and not isinstance(lap, FitError):
                self.stored[entrant].put(self.fold, lap)
