"""What happened in a race: who was dropped when, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outsample.losses.base import Loss
from outsample.running.arrays import Floats, Rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

REMAINED, WORSE, ALIKE, CLOSE, FAILED, UNTRIED = "", "worse", "alike", "close", "failed", "untried"
"""Why a candidate is no longer in a race; the empty string where it still is."""

_COLUMNS = ("n_splits", "reason", "gap", "error")


@dataclass(frozen=True, eq=False)
class RaceRecord:
    """The course of a race.

    Attributes
    ----------
    params : the setting of each candidate.
    n_splits : (candidates,) folds that each candidate was tested on, or trees it has got where size was the race.
    reason : (candidates,) why each left the race: "worse", "alike" (another forest, simpler or named first, lost the
        same on every row), "close" (without it little is lost, because it may be better than the others, but not by
        much), "failed", "untried" (the budget was used up before it began); "" where it was still in it
        at the end.
    gap : (candidates,) mean difference to the leader's losses on the rows that both were tested on, when the candidate
        left or the race ended; positive is worse, nan where nothing is known.
    error : (candidates,) standard error of `gap` around the mean over all rows of all folds.
    risk : (rounds, candidates) mean loss over the rows of all rounds so far; nan once a candidate had left.
    order : (rounds,) the fold of each round, or the trees of each forest after it.
    leader : the candidate that won.
    ended : why the race was over, as the end of a sentence.
    n_fits : fits spent; fits to fewer trees count as parts, rounded up together.
    unit : what a round brings, "fold" or "tree".
    loss : what was measured, for pictures on the scale that the user asked for; None for risks as they are.
    """

    params: Sequence[dict[str, Any]]
    n_splits: NDArray[np.intp]
    reason: NDArray[np.str_]
    gap: Floats
    error: Floats
    risk: Floats
    order: Rows
    leader: int
    ended: str
    n_fits: int
    unit: str = "fold"
    loss: Loss | None = None

    @property
    def amount(self) -> str:
        """The word for `n_splits` in tables."""
        return "n_splits" if self.unit == "fold" else f"n_{self.unit}s"

    @property
    def remaining(self) -> Rows:
        """The candidates that were still in the race when it ended."""
        return np.flatnonzero(self.reason == REMAINED)

    @property
    def standing(self) -> Floats:
        """(candidates,) mean loss on the rows that all remaining candidates were tested on; infinite for the others."""
        kept, last = self.remaining, np.full(len(self.reason), np.inf)
        common = np.flatnonzero(~np.isnan(self.risk[:, kept]).any(axis=1))
        last[kept] = self.risk[common[-1], kept]
        return last

    @property
    def ranks(self) -> NDArray[np.int32]:
        """(candidates,) from 1: the winner, the others that remained, then those that left, the last to leave first.

        Those that left after the same round are ordered by their gap to the leader. Equal ones share the better rank.
        """
        won, remained = np.arange(len(self.reason)) == self.leader, self.reason == REMAINED
        known = np.where(np.isnan(self.gap), np.inf, np.where(remained, self.standing, self.gap))
        keys = list(
            zip(~won, ~remained, np.where(remained, 0, -np.sum(~np.isnan(self.risk), axis=0)), known, strict=True)
        )
        return np.array([1 + sum(other < key for other in keys) for key in keys], dtype=np.int32)

    def take(self, candidates: Rows) -> RaceRecord:
        """The record of the same candidates in another order."""
        return replace(
            self,
            params=[self.params[i] for i in candidates],
            risk=self.risk[:, candidates],
            leader=int(np.flatnonzero(candidates == self.leader)[0]),
            **{name: getattr(self, name)[candidates] for name in _COLUMNS},
        )

    def to_frame(self) -> pd.DataFrame:
        """One line per candidate: its setting, its folds, why it left, its gap to the leader."""
        import pandas as pd

        settings = pd.DataFrame(list(self.params))
        columns = pd.DataFrame({name: getattr(self, name) for name in _COLUMNS})
        return pd.concat([settings, columns.rename(columns={"n_splits": self.amount})], axis=1)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The mean loss of every candidate after each round; returns the matplotlib Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import race_drawing

        return plotted(race_drawing(self), ax)

    def __str__(self) -> str:
        left = [int((~np.isnan(row)).sum()) for row in self.risk]
        return f"{self.summary}\ncandidates in each round: {', '.join(map(str, left))}"

    @property
    def summary(self) -> str:
        """The cost and the end of the race in one sentence."""
        n = len(self.reason)
        who = "1 candidate" if n == 1 else f"{n} candidates"
        fits = "1 fit" if self.n_fits == 1 else f"{self.n_fits} fits"
        return f"The race of {who} took {fits}, {self.n_fits / n:.1f} each, and was over because {self.ended}."
