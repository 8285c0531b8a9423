"""The record of a permutation test, and how p-values are counted."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.losses import Floats
from outsample.numerals import numeral

ROUNDING = 1e-10
NEARLY_SATURATED = 0.9
ALTERNATIVES = ("greater", "less", "two-sided")


def at_least(null: Any, observed: Any) -> NDArray[np.bool_]:
    """Where the null value is at least the observed one; ties within rounding, and missing values, count."""
    values, reference = np.asarray(null, dtype=np.float64), np.asarray(observed, dtype=np.float64)
    slack = ROUNDING * np.maximum(np.abs(values), np.abs(reference))
    return np.asarray((values >= reference - slack) | np.isnan(values))


def pvalue_of(exceed: int, n_null: int, exact: bool) -> float:
    """Share of arrangements at least as extreme.

    All arrangements, the observed one among them: exceed/n. Random ones: (1 + exceed)/(1 + n), because the observed
    one is an arrangement too; valid at every level.
    """
    return exceed / n_null if exact else (1 + exceed) / (1 + n_null)


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """Whether labels carry information about X.

    Attributes
    ----------
    statistic : on the real labels.
    pvalue : probability, under the null hypothesis that labels are exchangeable, of a statistic at least as extreme.
    null : (draws,) the statistic on permuted labels.
    exact : whether these are all arrangements.
    stopped : whether drawing ended early because the decision was clear.
    name : what the statistic is.
    alternative : which statistics are extreme.
    n_fits, seconds : what it cost.
    saturation : of in-sample scores, how much of what a perfect fit gains over a constant guess the fits to permuted
        labels gain on average; near 1 the real labels can do no better. None where that is not known.
    """

    statistic: float
    pvalue: float
    null: Floats = field(repr=False)
    exact: bool
    stopped: bool
    name: str
    alternative: str
    n_fits: int
    seconds: float = 0.0
    saturation: float | None = None

    @property
    def monte_carlo_error(self) -> float:
        """How far the p-value may be from that of all arrangements."""
        return 0.0 if self.exact else math.sqrt(self.pvalue * (1 - self.pvalue) / (len(self.null) + 1))

    def critical_value(self, level: float = 0.05) -> float:
        """What the statistic must reach to be rejected at a level: a quantile of all values, the observed included.

        Infinite where there are too few values for that level. Of one-sided tests.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}")
        sign = -1.0 if self.alternative == "less" else 1.0
        values = np.sort(sign * (self.null if self.exact else np.append(self.null, self.statistic)))[::-1]
        allowed = math.floor(level * len(values) + ROUNDING)
        reached = [v for v in np.unique(values) if at_least(values, v).sum() <= allowed]
        return sign * (float(reached[0]) if reached else math.inf)

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values."""
        plain = (
            *("statistic", "pvalue", "monte_carlo_error", "exact", "stopped"),
            *("name", "alternative", "n_fits", "seconds", "saturation"),
        )
        return {name: getattr(self, name) for name in plain} | {"n_draws": len(self.null), "notes": list(self.notes)}

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences a reader of the p-value should know."""
        tied = at_least(self.null, self.statistic) & at_least(-self.null, -self.statistic)
        if len(tied) > 1 and tied.all():
            return ("Every permutation gives the same statistic, so this test cannot tell anything.", *self._advice)
        return self._advice

    @property
    def _advice(self) -> tuple[str, ...]:
        if self.saturation is None or self.saturation < NEARLY_SATURATED:
            return ()
        return (
            f"Fitted to permuted labels, the learner gains {100 * self.saturation:.3g} % of what a perfect fit would "
            "gain over a constant guess, so real labels can hardly do better and a large p-value says nothing. Judge "
            "it on rows left out, as is the default.",
        )

    def __str__(self) -> str:
        how = "all" if self.exact else "random"
        early = ", stopped early: the decision is clear" if self.stopped else ""
        usual = numeral(float(np.nanmean(self.null)))
        lines = (
            f"{self.name}: {numeral(self.statistic)}, p = {numeral(self.pvalue)} ({self.alternative})\n"
            f"{len(self.null)} {how} permutations{early}; under them {usual} on average, "
            f"{self.n_fits} fits, {numeral(self.seconds, 2)} s"
        )
        return "\n".join([lines, *self.notes])

    def _repr_html_(self) -> str:
        first, *rest = (html.escape(line) for line in str(self).splitlines())
        return f"<p><strong>{first}</strong><br>{'<br>'.join(rest)}</p>"
