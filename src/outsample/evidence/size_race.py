"""A race over size: every forest starts with few trees, those that can still win get more, the winner all of them.

Rows out of bag judge the forests, all of them from the first round on. The loss by the trees so far is corrected to
that of the full size, see `evidence.out_of_bag`, so that forests of different sizes meet on equal terms; losses that
are 0 or 1 are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from outsample.data.learners import FitError, seeded, with_params
from outsample.evidence.out_of_bag import Growth, OutOfBagJudge, Unseen, gains_by_correction, growths_of
from outsample.evidence.race import Entrant, Lap, RaceRun, Rules, Seen
from outsample.evidence.rows import left_out_losses
from outsample.evidence.standings import gaps_of_all_trees
from outsample.losses.base import weighted_mean
from outsample.paths.growing import Growing, SharedSteps, planted
from outsample.paths.out_of_bag import Votes, first_estimators, size_in_memory
from outsample.problem import Problem
from outsample.running.arrays import Array, Bools, Floats, Rows
from outsample.running.fits import count_fits, uncounted_fits
from outsample.running.kept_fits import MEMORY, setting_key
from outsample.running.run import StoredUnits
from outsample.running.workers import results_of

# Trees that every forest starts with, at least; the number doubles with every round. With 13 candidates of 100 trees on
# 29 tables of up to 1000 rows, 25 trees first take 6.9 forests in place of 13 and choose forests of 1.003 ± .003 of the
# held-out error by all trees; 13 trees first take 4.8 forests at 1.015 ± .010: single trees still decide too much.
# The study is benchmarks/size_race.py.
FEWEST = 24

# Two forests that have lost alike on so many rows that with 95 % confidence they differ on less than the tolerated
# share of them (the rule of three) need not be told apart.
RULE_OF_THREE = 3.0

State = tuple[Growing, Votes]

Point = tuple[int, int, int]
"""Trees that are asked, trees of the finished forest, place of the model on the path of its entrant."""


def rounds_up_to(size: int, fewest: int = FEWEST) -> Rows:
    """Trees after each round: the full size, half of it, a quarter, … as long as there are the `fewest`."""
    n = 1
    while size / 2**n >= fewest:
        n += 1
    return np.array([-(-size // 2**k) for k in reversed(range(n))])


class SizeRace(RaceRun):
    """A race whose rounds bring more trees.

    Attributes
    ----------
    full : (candidates,) trees that each forest has when it is finished.
    trees : (candidates,) trees that each has got.
    found : of each candidate what its trees so far say of rows out of bag; None before the first.
    """

    unit = "tree"

    def __init__(self, problems: Sequence[Problem], rules: Rules) -> None:
        growths = [growth for problem in problems for growth in growths_of(problem)]
        # Two rows that are ranked are both out of bag in 14 % of the trees, a row is in 37 %.
        fewest = FEWEST * (2 if problems[0].loss.ranks else 1)
        super().__init__(problems, rules, rounds_up_to(max(max(growth.sizes) for growth in growths), fewest))
        n = len(self.params)
        self.trees, self.full = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
        self.found: list[Unseen | None] = [None] * n
        self._told: list[list[tuple[int, Unseen]]] = [[] for _ in range(n)]
        self._states: dict[int, State] = {}
        self._renewed()

    def _renewed(self) -> None:
        self._growths = [growths_of(entrant.problem)[0] for entrant in self.entrants]
        self._work = _Growths(self.entrants, self._growths)
        for entrant, growth in zip(self.entrants, self._growths, strict=True):
            for place, size in zip(growth.models, growth.sizes, strict=True):
                if len(entrant.candidates):
                    self.full[entrant.candidates[place]] = size

    def last_losses(self) -> Floats:
        """(candidates, n) losses of rows out of bag by the trees that each candidate has got."""
        nothing = np.full(self.problem.n_samples, np.nan)
        return np.stack([values[-1] if values else nothing for values in self.values])

    def offer(self, candidate: int) -> None:
        """Hand on the forest of a candidate, if it is finished, so that nobody fits it again."""
        e = next(e for e, entrant in enumerate(self.entrants) if candidate in entrant.candidates)
        state, size = self._states.pop(e, None), int(self.full[candidate])
        key = setting_key(with_params(self.entrants[e].problem.path.estimator, self.params[candidate]))
        if state is None or key is None or state[0].size < size:
            return
        model = state[0].finished()
        self.problem.run.fits.offer(0.0, size_in_memory(model), {key: partial(first_estimators, model, size)})

    def _laps(self, entrants: list[int], r: int, alive: Rows) -> Iterator[tuple[int, Lap | FitError]]:
        """Forests grow in threads unless another back end is set: their trees need no copies there.

        A single forest has all workers for itself.
        """
        tasks = [(e, self._states.pop(e, None), self._points(e, r, alive)) for e in entrants]
        units = _Units([self.entrants[e].problem for e in entrants], [points for *_, points in tasks])
        n_jobs, alone = self.problem.n_jobs, len(entrants) == 1
        inside = {"n_jobs": n_jobs} if alone and n_jobs is not None else {}
        with joblib.parallel_config(prefer="threads", **inside):
            results = results_of(self._work, tasks, 1 if alone else n_jobs, units, batch_size=1)
            for (e, _, points), result in zip(tasks, results, strict=True):
                yield e, result if isinstance(result, FitError) else self._lap(e, points, *result)

    def _points(self, e: int, r: int, alive: Rows) -> list[Point]:
        """What the candidates of an entrant are asked in round r, as far as they still get trees."""
        entrant, growth, before = self.entrants[e], self._growths[e], self.rounds[r - 1] if r else 0
        return [
            (min(size, int(self.rounds[r])), size, place)
            for place, size in zip(growth.models, growth.sizes, strict=True)
            if size > before and entrant.candidates[place] in alive
        ]

    def _lap(self, e: int, points: list[Point], state: State | None, arrays: tuple[Array, ...]) -> Lap:
        """What the candidates of an entrant lose now; finished ones lose what they did."""
        entrant, (grown, *unseen) = self.entrants[e], arrays
        if state is not None:
            self._keep(e, state)
        for k, (asked, _, place) in enumerate(points):
            c = int(entrant.candidates[place])
            self._told[c].append((asked, Unseen(*(array[k : k + 1] for array in unseen))))
            self.trees[c], self.found[c] = self._told[c][-1]
        found = [self.found[int(c)] for c in entrant.candidates]
        risks = np.array([np.nan if it is None else float(it.risk[0]) for it in found])
        nothing = np.full(self.problem.n_samples, np.nan)
        values = np.stack([nothing if it is None else losses_of(entrant.problem, it) for it in found])
        return np.array(float(grown) / int(self.rounds[-1])), risks, values

    def _keep(self, e: int, state: State) -> None:
        """Keep a forest to grow on, and as many others as memory holds; what is not there is grown anew."""
        self._states[e] = state
        sizes = {e: size_in_memory(growing.model) for e, (growing, _) in self._states.items()}
        while len(self._states) > 1 and sum(sizes[e] for e in self._states) > MEMORY:
            self._states.pop(next(iter(self._states)))

    def _cost(self, entrants: list[int], r: int) -> float:
        most, before = int(self.rounds[-1]), int(self.rounds[r - 1]) if r else 0
        ends = [min(int(self.rounds[r]), max(self._growths[e].sizes)) for e in entrants]
        return sum(max(0, end - before) for end in ends) / most

    def _cost_nothing(self, alive: Rows, worse: Bools) -> Bools:
        """Finished forests, and those that are the first trees of a larger one that goes on.

        How a forest would do with more trees is extrapolated, which is no reason to drop one that is all there.
        """
        largest = np.zeros(len(self.params), dtype=np.intp)
        for entrant in self.entrants:
            going_on = np.intersect1d(alive[~worse], entrant.candidates)
            largest[entrant.candidates] = self.full[going_on].max(initial=0)
        return np.asarray((self.trees[alive] >= self.full[alive]) | (self.full[alive] < largest[alive]))

    def _repeats(self, alive: Rows, leader: int, r: int) -> Bools:
        """Forests that have lost the same on every row, of enough, when half of the trees have grown.

        Not those with trees to come that have been the first trees of another candidate, too.
        """
        table = self._seen(alive, r)[0]
        enough = table.shape[1] * self.rules.tolerance >= RULE_OF_THREE
        if 2 * int(self.rounds[r]) < int(self.rounds[-1]) or not enough:
            return np.zeros(len(alive), dtype=bool)
        first: dict[bytes, int] = {table[leader].tobytes(): leader}
        for i, row in enumerate(table):
            first.setdefault(row.tobytes(), i)
        same = np.array([first[row.tobytes()] != i for i, row in enumerate(table)])
        shared = np.zeros(len(self.params), dtype=bool)
        for entrant in self.entrants:
            shared[entrant.candidates] = len(np.intersect1d(alive, entrant.candidates)) > 1
        return np.asarray(same & ~(shared[alive] & (self.trees[alive] < self.full[alive])))

    def _forget(self, n_rounds: int) -> None:
        super()._forget(n_rounds)
        for c, told in enumerate(self._told):
            del told[n_rounds:]
            self.trees[c], self.found[c] = told[-1] if told else (0, None)

    def _amounts(self) -> Rows:
        return self.trees

    def _seen(self, candidates: Rows, r: int) -> Seen:
        values = self._losses(candidates, r)
        known = np.asarray(~np.isnan(values).any(axis=0))
        return values[:, known], self._weight(known)

    def _losses(self, candidates: Rows, r: int) -> Floats:
        return np.stack([self.values[c][r] for c in candidates])

    def _weight(self, known: Array) -> Floats | None:
        """Weights of the rows that every forest has left out."""
        return None if self.problem.weight is None else self.problem.weight[known]

    def _gaps_to_come(self, alive: Rows, place: int, r: int) -> Floats | None:
        if r == 0:
            return None
        earlier, later = self._losses(alive, r - 1), self._losses(alive, r)
        known = np.asarray(~np.isnan(earlier + later).any(axis=0))
        before, now, most = (float(self.rounds[k]) for k in (r - 1, r, -1))
        further = (1 / now - 1 / most) / (1 / before - 1 / now)
        return gaps_of_all_trees(earlier[:, known], later[:, known], self._weight(known), further, place)

    def _so_far(self, r: int) -> str:
        return f"{self.rounds[r]} trees"

    def _may_be_guessing(self, r: int) -> bool:
        return True  # Every round sees all rows.


def losses_of(problem: Problem, unseen: Unseen) -> Floats:
    """Losses of rows out of bag, (n,), their mean the risk; nan for rows that all trees saw.

    Where single rows have no losses, and no influence on that of all, each stands for the whole.
    """
    if problem.loss.per_row or problem.loss.ranks:
        return np.asarray(unseen.losses[0])
    known = np.flatnonzero(unseen.counts[0])
    losses = np.full(problem.n_samples, np.nan)
    losses[known] = unseen.risk[0]
    table = left_out_losses(problem, unseen.predictions, tested=known)
    if table is not None and table.losses is not None:
        weight = None if problem.weight is None else problem.weight[known]
        raw = table.losses[0, known]
        losses[known] += raw - weighted_mean(raw, weight)
    return losses


class _Growths:
    """Grows the forest of an entrant and asks it about rows out of bag; picklable."""

    def __init__(self, entrants: Sequence[Entrant], growths: Sequence[Growth]) -> None:
        first = entrants[0].problem
        self.X, self.labels, self.weight = first.X, first.data.labels, first.weight
        self.learners = [
            seeded(with_params(it.problem.path.estimator, it.problem.path.params[growth.models[-1]]), first.real_seed)
            for it, growth in zip(entrants, growths, strict=True)
        ]
        self.largest = max(max(growth.sizes) for growth in growths)
        self.judges = [OutOfBagJudge(entrant.problem, gains_by_correction(entrant.problem)) for entrant in entrants]
        self.ahead = SharedSteps(self.learners)

    def __call__(self, e: int, state: State | None, points: list[Point]) -> tuple[State | None, Any] | FitError:
        """(the forest with its new trees, how many these are and the arrays of `Unseen` at the points)."""
        if not points:
            return state, (np.array(0),)
        size = max(asked for asked, *_ in points)
        if state is not None and state[1].size >= min(asked for asked, *_ in points):
            state = None  # It was not asked then, by candidates that came later.
        try:
            with uncounted_fits():
                growing, votes, before = self._planted(e, size) if state is None else (*state, state[0].size)
                growing.grow(size, self.X, self.labels, self.weight)
            count_fits((size - before) / self.largest)
            Z = self.ahead.read(e, growing.model, self.X)
            asked = [(trees, finished) for trees, finished, _ in points]
            arrays, votes = self.judges[e].further_answers(growing.ensemble, Z, asked, votes)
        except Exception as error:
            failure = FitError(f"{type(self.learners[e]).__name__} failed: {error}")
            failure.__cause__ = error
            return failure
        return None if votes is None else (growing, votes), (np.array(size - before), *arrays)

    def _planted(self, e: int, size: int) -> tuple[Growing, None, int]:
        """(a forest of its first trees, no votes yet, no trees before)."""
        ahead = self.ahead.fitted(e, self.X, self.labels)
        return planted(clone(self.learners[e]), size, self.X, self.labels, self.weight, ahead), None, 0


class _Units:
    """The finished laps of one round in a store; forests are not kept there."""

    def __init__(self, problems: Sequence[Problem], points: Sequence[list[Point]]) -> None:
        pairs = zip(problems, points, strict=True)
        self.stored: list[StoredUnits | None] = [problem.finished("trees", asked) for problem, asked in pairs]

    def get(self, index: int) -> Any | None:
        """What the forest of an entrant said, None where it did not yet."""
        stored = self.stored[index]
        arrays = None if stored is None else stored.get(0)
        return None if arrays is None else (None, arrays if isinstance(arrays, tuple) else (arrays,))

    def put(self, index: int, result: Any) -> None:
        """Keep what a forest said; failures are tried again."""
        stored = self.stored[index]
        if stored is not None and not isinstance(result, FitError):
            stored.put(0, result[1])
