"""A race: all candidates go over the same folds, and after every fold those that can no longer win are dropped.

The numbers of a candidate never depend on the others: folds, and the seeds of learners in them, are the same for all,
and a candidate that is dropped keeps the numbers it had.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from outsample.curve.left_out import error_of_mean
from outsample.curve.race_record import ALIKE, FAILED, REMAINED, UNTRIED, WORSE, RaceRecord
from outsample.data.learners import FitError
from outsample.evidence.rows import FoldFits, FoldJudge, left_out_predictions
from outsample.evidence.standings import Standings, expected_loss, standings
from outsample.paths.refit import RefitPath
from outsample.problem import Problem
from outsample.resampling.rows import Splits
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.run import StoredUnits
from outsample.running.workers import results_of

# Two candidates that have lost alike on this share of all rows, and on so many that with 95 % confidence they differ on
# less than the tolerated share of them (the rule of three), need not be told apart. Fewer rows are not enough where
# errors are rare: on recorded losses of support vector machines, after a third of the rows the choice was 2 % worse.
ALIKE_ON, RULE_OF_THREE = 0.5, 3.0

# Folds after which a race in which nobody is better than guessing is over.
FOLDS_OF_GUESSING = 3

Lap = tuple[Array, Array, Array]
"""Of one fit: how many fits it cost, the risk of every model on the fold, (models,), their losses, (models, rows)."""


@dataclass(frozen=True)
class Rules:
    """When a candidate leaves and when a race is over; see `outsample.criteria.race.Race`."""

    confidence: float
    tolerance: float
    finish: bool
    batch_size: int | None
    max_fits: int | None
    max_seconds: float | None


@dataclass(frozen=True, eq=False)
class Entrant:
    """Models that come off one fit per fold.

    Attributes
    ----------
    problem : its path has these models and no others.
    candidates : (models,) their places among all candidates.
    """

    problem: Problem
    candidates: Rows


def entrants_of(problems: Sequence[Problem]) -> list[Entrant]:
    """The problems taken apart where their models are fitted one by one anyway."""
    found, start = [], 0
    for problem in problems:
        for path, models in problem.path.pieces():
            piece = problem if len(models) == len(problem.path) else problem.over(path)
            found.append(Entrant(piece, start + models))
        start += len(problem.path)
    return found


class RaceRun:
    """One race, from the first fold to the record of it.

    Attributes
    ----------
    values : of each candidate its losses in each round so far.
    risks : (folds, candidates) risk on each fold, nan where a candidate was not tested.
    failures : errors of candidates that could not be fitted, by candidate.
    n_fits : fits so far.
    writes_losses : whether single rows have losses; otherwise folds are judged as a whole.
    """

    def __init__(self, problems: Sequence[Problem], splits: Splits, order: Rows, rules: Rules) -> None:
        self.problem, self.splits, self.order, self.rules = problems[0], splits, order, rules
        self.entrants = entrants_of(problems)
        self.params = [params for problem in problems for params in problem.path.params]
        n = len(self.params)
        self.values: list[list[Floats]] = [[] for _ in range(n)]
        self.risks = np.full((len(splits), n), np.nan)
        self.failures: dict[int, FitError] = {}
        self._laps, self._known = _Laps(self.entrants, splits), _KnownLaps(self.entrants, splits)
        self.writes_losses = self._known.judges[0].writes_losses
        self.n_fits = self._known.n_fits
        self._started = time.perf_counter()
        self._reason = np.full(n, UNTRIED, dtype="U8")
        self._gap, self._error, self._chance = (np.full(n, np.nan) for _ in range(3))
        self._risk_by_round = np.full((len(splits), n), np.nan)
        self._weights = [self._weight(fold) for fold in order]
        self._ended = ""

    def run(self) -> RaceRecord:
        """All batches, one after the other, each against those that remained of the ones before."""
        n, size = len(self.params), self.rules.batch_size or len(self.params)
        alive, leader = np.empty(0, dtype=np.intp), -1
        for start in range(0, n, size):
            batch = np.arange(start, min(start + size, n))
            alive, leader = self._heat(np.concatenate([alive, batch]), leader)
            if self._budget_used(0):
                break
        if leader < 0:
            raise next(iter(self.failures.values()))
        self._reason[alive] = REMAINED
        rounds = 1 + max(np.flatnonzero(~np.isnan(self._risk_by_round).all(axis=1)), default=-1)
        if self.rules.finish:
            self._finish(leader)
        return RaceRecord(
            params=self.params,
            n_splits=(~np.isnan(self.risks)).sum(axis=0),
            reason=self._reason,
            gap=self._gap,
            error=self._error,
            probability=self._chance,
            risk=self._risk_by_round[:rounds],
            order=self.order[:rounds],
            leader=leader,
            ended=self._ended,
            n_fits=self.n_fits,
        )

    def _heat(self, alive: Rows, leader: int) -> tuple[Rows, int]:
        """(those that remain, the best of them) of some candidates, over as many folds as it takes."""
        for r in range(len(self.order)):
            if r and self._budget_used(self._fits_needed(alive, r)):
                return alive, leader
            self._extend(alive, r)
            alive = self._tested(alive, r)
            if not len(alive):
                return alive, leader
            stand = self._compare(alive, r)
            leader = int(alive[stand.leader])
            if r + 1 < len(self.order):
                alive = self._drop(alive, stand, r)
            over = self._why_over(alive, leader, r)
            if over:
                self._ended = over
                break
        return alive, leader

    def _tested(self, alive: Rows, r: int) -> Rows:
        """The candidates that were tested in round r; those that could not be fitted have left."""
        tested = np.array([len(self.values[c]) > r for c in alive], dtype=bool)
        self._reason[[c for c in alive[~tested] if int(c) in self.failures]] = FAILED
        return np.asarray(alive[tested])

    def _compare(self, alive: Rows, r: int) -> Standings:
        stand = standings(self._table(alive, r), self.weight_until(r))
        self._risk_by_round[r, alive] = stand.risk
        self._gap[alive], self._error[alive] = stand.gap, stand.error
        self._chance[alive] = stand.probability
        return stand

    def _drop(self, alive: Rows, stand: Standings, r: int) -> Rows:
        """Those that are still in the race; why the others are not is written down."""
        worse = stand.probability < 1 - self.rules.confidence
        worse[stand.leader] = False
        alike = ~worse & self._alike(self._table(alive, r), stand.leader)
        self._reason[alive[worse]], self._reason[alive[alike]] = WORSE, ALIKE
        return alive[~worse & ~alike]

    def _alike(self, table: Floats, leader: int) -> Array:
        """(candidates,) whether another one, which leads or comes first, has lost the same on every row, of enough."""
        m, all_rows = table.shape[1], sum(map(len, self._weights))
        if m < ALIKE_ON * all_rows or m * self.rules.tolerance < RULE_OF_THREE:
            return np.zeros(len(table), dtype=bool)
        first: dict[bytes, int] = {table[leader].tobytes(): leader}
        for i, row in enumerate(table):
            first.setdefault(row.tobytes(), i)
        return np.array([first[row.tobytes()] != i for i, row in enumerate(table)])

    def _why_over(self, alive: Rows, leader: int, r: int) -> str:
        """Why the race is over after round r; empty where it goes on."""
        folds = "1 fold" if r == 0 else f"{r + 1} folds"
        if r + 1 == len(self.order):
            return f"all {folds} were run"
        if len(alive) == 1:
            return "there is only one candidate" if len(self.params) == 1 else f"one candidate was left after {folds}"
        table, weight = self._table(alive, r), self.weight_until(r)
        place = int(np.flatnonzero(alive == leader)[0])
        risk = float(self._risk_by_round[r, leader])
        if expected_loss(table, weight, self._total, place) < self.rules.tolerance * abs(risk):
            return f"{len(alive)} candidates were as good as each other after {folds}"
        if r + 1 >= FOLDS_OF_GUESSING and self._guesses(table[place], weight, risk):
            return f"no candidate was better than guessing after {folds}: there may be nothing to find"
        return ""

    def _guesses(self, losses: Floats, weight: Floats | None, risk: float) -> bool:
        """Whether the leader is no better than the best of so many that predict without X would seem to be."""
        if not self.problem.loss.per_row or self.problem.scale <= 0 or len(losses) < 2:
            return False
        error = float(error_of_mean(losses[None], weight)[0])
        return bool(risk > self.problem.scale - stats.norm.ppf(1 - 0.5 / len(self.params)) * error)

    def _extend(self, alive: Rows, r: int) -> None:
        """Fit the entrants of candidates that have not been tested in round r, and write down what they lost."""
        fold, wanted = int(self.order[r]), self._needing(alive, r)
        for e in wanted:
            if e in self._known:
                self._note(e, r, self._known.lap(e, fold), alive)
        refitted = [e for e in wanted if e not in self._known]
        units = _Units([self.entrants[e].problem for e in refitted], fold, self.splits)
        results = results_of(self._laps, [(e, fold) for e in refitted], self.problem.n_jobs, units)
        for e, lap in zip(refitted, results, strict=False):
            self._note(e, r, lap, alive)
            if self._out_of_time():
                return
        if any(self._take_apart(e) for e in refitted if self._failed(e)):
            self._extend(alive, r)

    def _note(self, e: int, r: int, lap: Lap | FitError, alive: Rows) -> None:
        """Write down what the candidates of an entrant lost in round r, or why they could not be fitted."""
        candidates = self.entrants[e].candidates
        if isinstance(lap, FitError):
            self.failures |= {int(c): lap for c in candidates}
            return
        cost, risks, values = lap
        self.n_fits += int(cost)
        self.problem.progress(self.n_fits, max(self.n_fits, len(self.entrants) * len(self.order)))
        for c, risk, losses in zip(candidates, risks, values, strict=True):
            if c in alive and len(self.values[c]) == r:
                self.values[c].append(losses)
                self.risks[self.order[r], c] = risk

    def _failed(self, e: int) -> bool:
        return any(int(c) in self.failures for c in self.entrants[e].candidates)

    def _take_apart(self, e: int) -> bool:
        """Whether an entrant that failed has several models, which are then refitted one by one to find the culprit."""
        entrant = self.entrants[e]
        if len(entrant.candidates) == 1:
            return False
        for place, path in enumerate(p for p, _ in RefitPath.of(entrant.problem.path).pieces()):
            candidate = entrant.candidates[[place]]
            self.entrants.append(Entrant(entrant.problem.over(path), candidate))
            self.failures.pop(int(candidate[0]), None)
        self.entrants[e] = Entrant(entrant.problem, np.empty(0, dtype=np.intp))
        self._laps = _Laps(self.entrants, self.splits)
        return True

    def _finish(self, leader: int) -> None:
        """The folds that the winner has not been tested on, so that its error is known as well as may be."""
        for r in range(len(self.values[leader]), len(self.order)):
            if self._budget_used(1):
                return
            self._extend(np.array([leader]), r)
            if leader in self.failures:
                del self.failures[leader]
                return

    def _needing(self, alive: Rows, r: int) -> list[int]:
        """The entrants of candidates that have not been tested in round r."""
        lacking = {int(c) for c in alive if len(self.values[c]) == r and int(c) not in self.failures}
        return [e for e, entrant in enumerate(self.entrants) if not lacking.isdisjoint(entrant.candidates.tolist())]

    def _fits_needed(self, alive: Rows, r: int) -> int:
        return len(self._needing(alive, r))

    def _budget_used(self, further: int) -> bool:
        """Whether `further` fits are more than the budget allows."""
        fits, limit = self.n_fits + further, self.rules.max_fits
        if limit is not None and (fits > limit or (fits == limit and not further)):
            self._ended = f"the budget of max_fits={limit} was used up"
            return True
        return self._out_of_time()

    def _out_of_time(self) -> bool:
        limit = self.rules.max_seconds
        if limit is not None and time.perf_counter() - self._started > limit:
            self._ended = f"max_seconds={limit:g} were used up"
            return True
        return False

    def _table(self, alive: Rows, r: int) -> Floats:
        """(candidates, rows) losses in rounds 0 … r."""
        return np.stack([np.concatenate(self.values[c][: r + 1]) for c in alive])

    def _weight(self, fold: int) -> Floats:
        """Weights of the losses of a fold: of its rows, or of all of them where they are judged together."""
        test, weight = self.splits.folds[fold].test, self.problem.weight
        of_rows = np.ones(len(test)) if weight is None else weight[test]
        return of_rows if self.writes_losses else np.array([of_rows.sum()])

    def losses_of_rows(self) -> Floats:
        """(candidates, n) mean loss of each row over the folds that tested it; nan where none did."""
        table, times = (np.zeros((len(self.params), self.problem.n_samples)) for _ in range(2))
        for c, values in enumerate(self.values):
            for fold, losses in zip(self.order, values, strict=False):
                test = self.splits.folds[fold].test
                table[c, test] += losses
                times[c, test] += 1
        with np.errstate(invalid="ignore"):
            return table / times

    def weight_until(self, r: int) -> Floats | None:
        """Weights of the losses of rounds 0 … r, None where all are one."""
        if self.problem.weight is None and self.writes_losses:
            return None
        return np.concatenate(self._weights[: r + 1])

    @property
    def _total(self) -> float:
        return float(sum(weight.sum() for weight in self._weights))


class _Laps:
    """Fits an entrant to the training rows of a fold and tests it on the others; picklable."""

    def __init__(self, entrants: Sequence[Entrant], splits: Splits) -> None:
        self.fits = [FoldFits(it.problem, splits.folds, FoldJudge(it.problem, splits), False, 0) for it in entrants]

    def __call__(self, entrant: int, fold: int) -> Lap | FitError:
        try:
            cost, risks, losses = self.fits[entrant](fold)
        except FitError as error:
            return error
        return cost, risks, _of_units(losses, risks)


class _KnownLaps:
    """What paths say of rows left out without refits, computed once for all folds, by the place of the entrant."""

    def __init__(self, entrants: Sequence[Entrant], splits: Splits) -> None:
        partition = splits.partition(entrants[0].problem.n_samples)
        self.tests = [fold.test for fold in splits.folds]
        self.judges = {e: FoldJudge(entrant.problem, splits) for e, entrant in enumerate(entrants)}
        found = {} if partition is None else {e: _free(it.problem, partition) for e, it in enumerate(entrants)}
        self.predictions = {e: predicted for e, predicted in found.items() if predicted is not None}
        self.n_fits = sum(entrants[e].problem.design.fits_per_draw for e in self.predictions)

    def __contains__(self, entrant: int) -> bool:
        return entrant in self.predictions

    def lap(self, entrant: int, fold: int) -> Lap:
        """The risks and losses of an entrant on a fold, without a fit."""
        test, judge = self.tests[fold], self.judges[entrant]
        predicted = self.predictions[entrant][:, test]
        risks = judge.risk(test, predicted)
        losses = judge.losses(test, predicted) if judge.writes_losses else np.empty(0)
        return np.array(0), risks, _of_units(losses, risks)


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
    except (ValueError, TypeError):
        # The path cannot read some value; the fits will say which.
        return None


class _Units:
    """The finished laps of one round in a store."""

    def __init__(self, problems: Sequence[Problem], fold: int, splits: Splits) -> None:
        self.fold = fold
        self.stored: list[StoredUnits | None] = [problem.finished("laps", splits.tests) for problem in problems]

    def get(self, index: int) -> Any | None:
        """The lap of an entrant, None where it is not finished."""
        stored = self.stored[index]
        return None if stored is None else stored.get(self.fold)

    def put(self, index: int, result: Any) -> None:
        """Keep the lap of an entrant; failures are tried again."""
        stored = self.stored[index]
        if stored is not None and not isinstance(result, FitError):
            stored.put(self.fold, result)
