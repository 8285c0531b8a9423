"""What a regret study found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from outsample.studies.summaries import ratio_of_means

Floats = NDArray[np.float64]

COLUMNS = ("regret", "median_regret", "regret_error", "relative_error", "relative_error_error", "held_out_error")


@dataclass(frozen=True, eq=False)
class RegretStudy:
    """Held-out errors of the models that criteria chose, over random splits.

    Regret is what a choice costs against the model that was best on the held-out rows, as a share of the best model's
    mean error over splits. The best of many models on few rows is lucky, so that no criterion can bring it to zero.

    Attributes
    ----------
    criteria : their names.
    baseline : the criterion that held-out errors are compared with.
    errors : (learner, data set) → (splits, 1 + criteria), the held-out error of the best model, then of each choice.
    n_fits : (learner, data set) → (criteria,), mean number of learning episodes.
    """

    criteria: tuple[str, ...]
    baseline: str
    errors: Mapping[tuple[str, str], Floats]
    n_fits: Mapping[tuple[str, str], Floats]

    def to_frame(self) -> pd.DataFrame:
        """One row per learner, data set and criterion.

        Columns: regret (mean), median_regret and regret_error (standard error of the mean) over splits;
        relative_error, the mean held-out error over that of the baseline, with the standard error of the paired
        splits; held_out_error; n_fits.
        """
        rows = {
            (*case, name): [*self._judged(errors, c), self.n_fits[case][c]]
            for case, errors in self.errors.items()
            for c, name in enumerate(self.criteria)
        }
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=[*COLUMNS, "n_fits"])
        frame.index = pd.MultiIndex.from_tuples(list(rows), names=["learner", "data", "criterion"])
        return frame

    def _judged(self, errors: Floats, c: int) -> list[float]:
        best, chosen = errors[:, 0], errors[:, 1 + c]
        base = errors[:, 1 + self.criteria.index(self.baseline)]
        excess = (chosen - best) / best.mean() if best.any() else np.where(chosen > best, np.inf, 0.0)
        regret = ratio_of_means(chosen - best, best) if best.any() else (float(excess.max()), np.nan)
        relative = ratio_of_means(chosen, base) if base.any() else (np.nan, np.nan)
        return [regret[0], float(np.median(excess)), regret[1], *relative, float(chosen.mean())]

    def overall(self) -> pd.DataFrame:
        """One row per learner and criterion, averaged over data sets with equal weight.

        Columns: regret and relative_error with standard errors; worst_excess, the most by which its regret exceeds
        that of the best criterion on any one set.
        """
        frame = self.to_frame()
        lead = frame["regret"] - frame.groupby(level=["learner", "data"], sort=False)["regret"].transform("min")
        groups = frame.assign(worst_excess=lead).groupby(level=["learner", "criterion"], sort=False)

        def error_of_mean(column: str) -> Any:
            return groups[column].agg(lambda errors: float(np.sqrt(np.sum(errors**2)) / len(errors)))

        return pd.DataFrame(
            {
                "regret": groups["regret"].mean(),
                "regret_error": error_of_mean("regret_error"),
                "relative_error": groups["relative_error"].mean(),
                "relative_error_error": error_of_mean("relative_error_error"),
                "worst_excess": groups["worst_excess"].max(),
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Bars of the regret of every criterion on every data set, with standard errors; returns the Axes."""
        from matplotlib import pyplot as plt

        from outsample.plots import COLOURS, HATCHES

        axes = plt.subplots(layout="constrained")[1] if ax is None else ax
        regret, width = self._by_case("regret"), 0.8 / len(self.criteria)
        errors = self._by_case("regret_error").fillna(0.0)
        for c, name in enumerate(self.criteria):
            places = np.arange(len(regret)) + (c - (len(self.criteria) - 1) / 2) * width
            style = {"color": COLOURS[c % len(COLOURS)], "hatch": HATCHES[c // len(COLOURS) % len(HATCHES)]}
            axes.bar(places, regret[name], width, yerr=errors[name], label=name, **style)
        axes.set_xticks(np.arange(len(regret)), self._titles(), rotation=30, ha="right")
        axes.set_ylabel("regret")
        axes.legend()
        return axes

    def _by_case(self, column: str) -> pd.DataFrame:
        table = self.to_frame()[column].unstack("criterion")
        return table.reindex(index=list(self.errors), columns=list(self.criteria))

    def _titles(self) -> list[str]:
        alone = len({learner for learner, _ in self.errors}) == 1
        return [data if alone else f"{learner}, {data}" for learner, data in self.errors]

    def __str__(self) -> str:
        regret, error = self._by_case("regret"), self._by_case("regret_error")
        splits = len(next(iter(self.errors.values())))
        lines = [f"regret ± standard error over {splits} splits"]
        rows = [["", *self.criteria]]
        for title, case in zip(self._titles(), self.errors, strict=True):
            rows.append([title, *(f"{regret.loc[case, c]:.3f} ± {error.loc[case, c]:.3f}" for c in self.criteria)])
        overall = self.overall()
        for learner in dict.fromkeys(learner for learner, _ in self.errors):
            rows += _overall_rows(learner, overall.loc[learner], self.criteria, self.baseline)
        return "\n".join([*lines, *_aligned(rows)])

    __repr__ = __str__


def _overall_rows(learner: str, overall: pd.DataFrame, criteria: Sequence[str], baseline: str) -> list[list[str]]:
    def cells(column: str) -> list[str]:
        return [f"{overall.loc[c, column]:.3f} ± {overall.loc[c, column + '_error']:.3f}" for c in criteria]

    return [
        [f"{learner}, mean regret", *cells("regret")],
        [f"{learner}, mean error / {baseline}'s", *cells("relative_error")],
    ]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
