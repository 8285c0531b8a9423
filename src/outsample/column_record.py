"""The record of tests of many columns."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np

from outsample.losses import Floats


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
    notes : sentences a reader of the p-values should know.
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

    def significant(self, level: float = 0.05) -> tuple[Any, ...]:
        """The columns whose adjusted p-value is at most `level`, the strongest first."""
        order = np.argsort(-self.statistic, kind="stable")
        return tuple(self.columns[j] for j in order if self.adjusted[j] <= level)

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values."""
        arrays = {name: getattr(self, name).tolist() for name in ("statistic", "pvalue", "adjusted")}
        words = {name: getattr(self, name) for name in ("n_draws", "exact", "name", "seconds")}
        return arrays | words | {"columns": list(self.columns), "notes": list(self.notes)}

    def to_frame(self) -> Any:
        """A pandas table, one row per column, the strongest first."""
        import pandas as pd

        numbers = {"statistic": self.statistic, "pvalue": self.pvalue, "adjusted": self.adjusted}
        frame = pd.DataFrame(numbers, index=pd.Index(self.columns, name="column"))
        return frame.sort_values("statistic", ascending=False, kind="stable")

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
        lines = "<br>".join(html.escape(line) for line in str(self).splitlines())
        return f"<p>{lines}</p>{self.to_frame().head(20).to_html()}"
