"""A race: all candidates go through the same rounds, and after every round those that can no longer win are dropped.

A round is a fold that all are tested on (`evidence.fold_race`), or more trees for every forest (`evidence.size_race`).
The numbers of a candidate never depend on the others: folds, and the seeds of learners, are the same for all, and a
candidate that is dropped keeps the numbers it had. None of those dropped has lost less than the winner in the rounds
that both went through: who has comes back.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from outsample.curve.intervals import error_of_mean
from outsample.curve.race_record import ALIKE, CLOSE, FAILED, REMAINED, UNTRIED, WORSE, RaceRecord
from outsample.data.learners import FitError
from outsample.evidence.standings import Standings, dispensable, expected_loss, standings
from outsample.losses.base import weighted_mean
from outsample.paths.refit import RefitPath
from outsample.problem import Problem
from outsample.running.arrays import Array, Bools, Floats, Rows

NOTHING_TO_FIND = "there may be nothing to find"

# Share of the tolerated loss that candidates may take with them that leave before the race is over.
EARLY = 0.5

# A race is over for want of a lead on guessing only where a candidate that had come this share of the way from guessing
# to the best possible value would have been noticed. Where one row in twenty-five is of the rare class, three folds are
# not enough for that: on recorded losses of support vector machines, races that ended there chose models of up to 1.7
# times the error (benchmarks/RACE.md).
NOTICEABLE = 0.25

Lap = tuple[Array, Array, Array]
"""Of one fit: how many fits it cost, the risk of every model in the round, (models,), their losses, (models, rows).

The richest models are missing where they were not asked for.
"""

Seen = tuple[Floats, Floats | None]
"""Losses of some candidates on the rows, or groups, that all of them have met, (candidates, rows); their weights."""


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
    """Models that come off one fit per round.

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
            piece = problem if path is problem.path else problem.over(path)
            found.append(Entrant(piece, start + models))
        start += len(problem.path)
    return found


class RaceRun(ABC):
    """One race, from the first round to the record of it.

    Attributes
    ----------
    values : of each candidate its losses in each round so far.
    failures : errors of candidates that could not be fitted, by candidate.
    spent : fits so far; those to fewer trees count as parts.
    unit : the word for what a round brings.
    rounds : (rounds,) the fold of each round, or the trees that every forest has after it.
    """

    unit: str
    rounds: Rows

    def __init__(self, problems: Sequence[Problem], rules: Rules, rounds: Rows) -> None:
        self.problem, self.rules, self.rounds = problems[0], rules, rounds
        self.entrants = entrants_of(problems)
        self.params = [params for problem in problems for params in problem.path.params]
        n = len(self.params)
        self.values: list[list[Floats]] = [[] for _ in range(n)]
        self.failures: dict[int, FitError] = {}
        self.spent = 0.0
        self._started = time.perf_counter()
        self._reason = np.full(n, UNTRIED, dtype="U8")
        self._gap, self._error, self._chance = (np.full(n, np.nan) for _ in range(3))
        self._risk_by_round = np.full((len(rounds), n), np.nan)
        self._given_away = 0.0
        self._first: int | None = None
        self._budget_ended = False
        self._ended = ""

    @abstractmethod
    def _laps(self, entrants: list[int], r: int, alive: Rows) -> Iterator[tuple[int, Lap | FitError]]:
        """(entrant, what its models lose in round r) of some entrants; only models that are alive count."""

    @abstractmethod
    def _seen(self, candidates: Rows, r: int) -> Seen:
        """What the candidates have lost until the end of round r."""

    @abstractmethod
    def _gaps_to_come(self, alive: Rows, place: int, r: int) -> Floats | None:
        """Draws of what the candidates may lose after all rounds, less what the one at this place does.

        (draws, candidates); None where nothing can be said after round r.
        """

    @abstractmethod
    def _so_far(self, r: int) -> str:
        """What the candidates have been through after round r, in words."""

    @abstractmethod
    def _may_be_guessing(self, r: int) -> bool:
        """Whether a race in which nobody is better than guessing after round r is over."""

    def _sizes_of_sets(self, r: int) -> Rows | None:
        """Rows of each set judged until the end of round r; None where all are judged together."""
        return None

    def _may_spare(self, r: int) -> bool:
        """Whether candidates may leave after round r because little is lost without them."""
        return False

    def _knows_errors(self, r: int) -> bool:
        """Whether the errors of differences after round r can be trusted."""
        return True

    @abstractmethod
    def _amounts(self) -> Rows:
        """(candidates,) folds that each was tested on, or trees that it has got."""

    def _cost(self, entrants: list[int], r: int) -> float:
        """Fits that round r takes of some entrants."""
        return float(len(entrants))

    def _cost_nothing(self, alive: Rows, worse: Bools) -> Bools:
        """(alive,) whether no further round of a candidate takes a fit once the worse ones have left."""
        return np.zeros(len(alive), dtype=bool)

    def _repeats(self, alive: Rows, leader: int, r: int) -> Bools:
        """(alive,) whether a candidate may leave as it has been the same as another, which leads or comes first."""
        return np.zeros(len(alive), dtype=bool)

    def _renewed(self) -> None:  # noqa: B027 — not every race keeps something for its entrants
        """Called when some entrants have been taken apart."""

    @property
    def n_fits(self) -> int:
        """Fits so far, parts of them together."""
        return math.ceil(self.spent - 1e-9)

    def run(self, first: int | None = None) -> RaceRecord:
        """All batches, one after the other, each against those that remained of the ones before.

        The candidate `first` is in the first batch, and is fitted before all others.
        """
        self._first = first
        n, size = len(self.params), self.rules.batch_size or len(self.params)
        order = sorted(range(n), key=lambda c: (c != first, c))
        alive, leader = np.empty(0, dtype=np.intp), -1
        for start in range(0, n, size):
            batch = np.array(order[start : start + size])
            # In their own order, by which ties are decided.
            alive, leader = self._heat(np.sort(np.concatenate([alive, batch])), leader)
            if self._budget_ended or self._budget_used(0):
                break
        if leader < 0:
            raise next(iter(self.failures.values()))
        n_left = len(alive)
        alive, leader = self._with_returned(alive, leader)
        if self._budget_ended:
            alive, leader = self._settled(alive)
        elif len(alive) > n_left:
            self._ended += (
                f"; {len(alive) - n_left} that had left came back, because the winner had lost more than they"
            )
        self._reason[alive] = REMAINED
        n_rounds = 1 + max(np.flatnonzero(~np.isnan(self._risk_by_round).all(axis=1)), default=-1)
        ended = self._why_budget() or self._ended
        if self.rules.finish:
            self._finish(leader)
        r = len(self.values[leader]) - 1
        if n > 1 and NOTHING_TO_FIND not in ended and self._guesses(leader, r):
            ended = f"{ended}, and the best one is no better than guessing: {NOTHING_TO_FIND}"
        return RaceRecord(
            params=self.params,
            n_splits=self._amounts(),
            reason=self._reason,
            gap=self._gap,
            error=self._error,
            risk=self._risk_by_round[:n_rounds],
            order=self.rounds[:n_rounds],
            leader=leader,
            ended=ended,
            n_fits=self.n_fits,
            unit=self.unit,
        )

    def _heat(self, alive: Rows, leader: int) -> tuple[Rows, int]:
        """(those that remain, the best of them) of some candidates, over as many rounds as it takes."""
        for r in range(len(self.rounds)):
            if r and self._budget_used(self._cost(self._needing(alive, r), r)):
                self._budget_ended = True
                return alive, leader
            self._extend(alive, r)
            tested = self._tested(alive, r)
            self._budget_ended = self._out_of_time()
            if not len(tested):
                return tested, leader
            if r and self._budget_ended and self._needing(alive, r):
                return np.array([c for c in alive if int(c) not in self.failures]), leader
            stand = self._compare(tested, r)
            leader = int(tested[stand.leader])
            alive = self._drop(tested, stand, r) if r + 1 < len(self.rounds) else tested
            over = self._why_over(alive, leader, r)
            if over:
                self._ended = over
                break
        return alive, leader

    def _with_returned(self, alive: Rows, leader: int) -> tuple[Rows, int]:
        """(those that remain, the best of them) when nobody who left has lost less than the winner where both were.

        Who has goes through further rounds until it has lost more, or has been through all that the winner has.
        """
        last = len(self.values[leader]) - 1
        while not self._budget_ended:
            met = self._rounds_met()
            ahead = self._ahead(np.setdiff1d(np.flatnonzero(met), alive), met, leader)
            if not len(ahead):
                break
            back, r = ahead[met[ahead] == met[ahead].min()], int(met[ahead].min())
            if r > last:
                alive = np.sort(np.concatenate([alive, back]))
                leader = int(alive[self._compare(alive, last).leader])
                continue
            self._budget_ended = self._budget_used(self._cost(self._needing(back, r), r))
            if not self._budget_ended:
                self._extend(back, r)
            for c in self._tested(back, r):
                pair = standings(*self._seen(np.array([c, leader]), r))
                self._gap[c], self._error[c] = pair.gap[0], pair.error[0]
                self._risk_by_round[r, c] = self._risk_by_round[r, leader] + pair.risk[0] - pair.risk[1]
        return alive, leader

    def _ahead(self, left: Rows, met: Rows, leader: int) -> Rows:
        """Those of some candidates that had lost less than the leader in the rounds that they met."""
        risk = self._risk_by_round
        return np.asarray(left[risk[met[left] - 1, left] < risk[met[left] - 1, leader]])

    def _rounds_met(self) -> Rows:
        """(candidates,) rounds in which each was compared; 0 of those that failed."""
        met: Rows = np.sum(~np.isnan(self._risk_by_round), axis=0)
        met[list(self.failures)] = 0
        return met

    def _settled(self, alive: Rows) -> tuple[Rows, int]:
        """(those that remain, the best of them) where a budget allows nobody to come back.

        The last round counts whose best candidate had lost less than all that left before; what came later is
        forgotten, so that all is comparable that is kept.
        """
        met = self._rounds_met()
        for n_rounds in range(met.max(), 0, -1):
            here, before = np.flatnonzero(met >= n_rounds), np.flatnonzero((met > 0) & (met < n_rounds))
            leader = int(here[np.argmin(self._risk_by_round[n_rounds - 1, here])])
            if not len(self._ahead(before, met, leader)):
                break
        self._forget(n_rounds)
        alive = np.union1d(alive, np.append(np.flatnonzero(met > n_rounds), leader))
        self._compare(np.intersect1d(alive, here), n_rounds - 1)
        return alive, leader

    def _forget(self, n_rounds: int) -> None:
        """Keep only what so many rounds have told."""
        self._risk_by_round[n_rounds:] = np.nan
        for values in self.values:
            del values[n_rounds:]

    def _tested(self, alive: Rows, r: int) -> Rows:
        """The candidates that were tested in round r; those that could not be fitted have left."""
        tested = np.array([len(self.values[c]) > r for c in alive], dtype=bool)
        self._reason[[c for c in alive[~tested] if int(c) in self.failures]] = FAILED
        return np.asarray(alive[tested])

    def _compare(self, alive: Rows, r: int) -> Standings:
        stand = standings(*self._seen(alive, r))
        self._risk_by_round[r, alive] = stand.risk
        self._gap[alive], self._error[alive] = stand.gap, stand.error
        self._chance[alive] = stand.probability
        return stand

    def _drop(self, alive: Rows, stand: Standings, r: int) -> Rows:
        """Those that are still in the race; why the others are not is written down.

        Who costs nothing stays, so that it is judged when all is known.
        """
        worse = stand.probability < (1 - self.rules.confidence if self._knows_errors(r) else 0.0)
        worse[stand.leader] = False
        worse &= ~self._cost_nothing(alive, worse)
        alike = ~worse & self._repeats(alive, stand.leader, r)
        self._reason[alive[worse]], self._reason[alive[alike]] = WORSE, ALIKE
        return self._sparing(alive[~worse & ~alike], int(alive[stand.leader]), r)

    def _sparing(self, alive: Rows, leader: int, r: int) -> Rows:
        """Those of some candidates without which more would be lost than may be, until the race is over."""
        if len(alive) < 2 or not self._may_spare(r) or not self._knows_errors(r):
            return alive
        place = int(np.flatnonzero(alive == leader)[0])
        gaps = self._gaps_to_come(alive, place, r)
        may_be_lost = EARLY * self._tolerated(leader, r) - self._given_away
        if gaps is None or may_be_lost <= 0:
            return alive
        stays = self._cost_nothing(alive, np.zeros(len(alive), dtype=bool))
        stays[place] = True
        left, lost = dispensable(gaps, stays, may_be_lost)
        self._reason[alive[left]] = CLOSE
        self._given_away += lost
        return np.delete(alive, left)

    def _tolerated(self, leader: int, r: int) -> float:
        """What may be lost by all that is spared, in units of the risk."""
        return self.rules.tolerance * self._size(float(self._risk_by_round[r, leader]))

    def _why_over(self, alive: Rows, leader: int, r: int) -> str:
        """Why the race is over after round r; empty where it goes on."""
        so_far = self._so_far(r)
        if len(self.params) == 1:
            return "there is only one candidate"
        if self._may_be_guessing(r) and self._guesses(leader, r):
            return f"no candidate was better than guessing after {so_far}: {NOTHING_TO_FIND}"
        if r + 1 == len(self.rounds):
            return f"all {so_far} were run"
        if len(alive) == 1:
            return f"one candidate was left after {so_far}"
        gaps = self._gaps_to_come(alive, int(np.flatnonzero(alive == leader)[0]), r) if self._knows_errors(r) else None
        if gaps is not None and self._given_away + expected_loss(gaps) < self._tolerated(leader, r):
            alike = int((self._chance[alive] >= 1 - self.rules.confidence).sum())
            if alike == 1:
                return f"nobody else was likely to do much better after {so_far}"
            return f"{alike} candidates were as good as each other after {so_far}"
        return ""

    def _size(self, risk: float) -> float:
        """How large a risk is: its distance from the least there can be, of r2 or an accuracy what is missing to 1."""
        least = self.problem.loss.range[0]
        return risk - least if np.isfinite(least) else abs(risk)

    def _guesses(self, leader: int, r: int) -> bool:
        """Whether the leader is no better than the best of so many that predict without X would seem to be.

        False as long as errors are so large that even a much better leader would not stand out.
        """
        losses, weight = self._seen(np.array([leader]), r)
        guessing = float(self.problem.loss.guessing(self.problem.y, self.problem.weight, self._sizes_of_sets(r)))
        if np.isnan(guessing) or losses.shape[1] < 2 or not self._knows_errors(r):
            return False
        risk, error = float(np.asarray(weighted_mean(losses, weight))[0]), float(error_of_mean(losses, weight)[0])
        luck = stats.norm.ppf(1 - 0.5 / len(self.params)) * error
        return bool(risk > guessing - luck and luck < NOTICEABLE * self._size(guessing))

    def _extend(self, alive: Rows, r: int) -> None:
        """Fit the entrants of candidates that have not been tested in round r, and write down what they lost."""
        wanted = self._affordable(self._needing(alive, r), r)
        for e, lap in self._laps(wanted, r, alive):
            self._note(e, r, lap, alive)
            if self._out_of_time():
                return
        if any(self._take_apart(e) for e in wanted if self._failed(e)):
            self._extend(alive, r)

    def _note(self, e: int, r: int, lap: Lap | FitError, alive: Rows) -> None:
        """Write down what the candidates of an entrant lost in round r, or why they could not be fitted."""
        candidates = self.entrants[e].candidates
        if isinstance(lap, FitError):
            # In the order of the candidates, whichever was fitted first.
            self.failures = dict(sorted((self.failures | {int(c): lap for c in candidates}).items()))
            return
        cost, risks, values = lap
        self.spent += float(cost)
        planned, limit = len(self.entrants) * len(self.rounds), self.rules.max_fits
        self.problem.progress(self.n_fits, max(self.n_fits, planned if limit is None else min(planned, limit)))
        for c, risk, losses in zip(candidates, risks, values, strict=False):
            if c in alive and len(self.values[c]) == r:
                self.values[c].append(losses)
                self._note_risk(int(c), r, float(risk))

    def _note_risk(self, candidate: int, r: int, risk: float) -> None:  # noqa: B027 — folds have risks of their own
        """Called with the risk of a candidate in round r."""

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
        self._renewed()
        return True

    def _finish(self, leader: int) -> None:
        """The rounds that the winner has not been through, so that its error is known as well as may be."""
        for r in range(len(self.values[leader]), len(self.rounds)):
            if self._budget_used(self._cost(self._needing(np.array([leader]), r), r)):
                return
            self._extend(np.array([leader]), r)
            if leader in self.failures:
                del self.failures[leader]
                return

    def _needing(self, alive: Rows, r: int) -> list[int]:
        """The entrants of candidates that have not been tested in round r; that of the first candidate leads."""
        lacking = {int(c) for c in alive if len(self.values[c]) == r and int(c) not in self.failures}
        needing = [e for e, it in enumerate(self.entrants) if not lacking.isdisjoint(it.candidates.tolist())]
        return sorted(needing, key=lambda e: self._first not in self.entrants[e].candidates)

    def _affordable(self, entrants: list[int], r: int) -> list[int]:
        """The first of some entrants, as many as the budget of fits allows, and at least one of a whole race."""
        limit, kept = self.rules.max_fits, len(entrants)
        while limit is not None and kept > (self.spent == 0) and self.spent + self._cost(entrants[:kept], r) > limit:
            kept -= 1
        return entrants[:kept]

    def _why_budget(self) -> str:
        """The budget that kept some candidates from starting; empty where all have started."""
        started = np.array([bool(values) for values in self.values])
        if not ((self._reason == UNTRIED) & ~started).any():
            return ""
        return self._ended if self._out_of_time() else f"the budget of max_fits={self.rules.max_fits} was used up"

    def _budget_used(self, further: float) -> bool:
        """Whether `further` fits are more than the budget allows."""
        fits, limit = self.spent + further, self.rules.max_fits
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
