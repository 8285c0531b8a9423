"""The error of a fitted model on rows that it has not seen, with the intervals that hold for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from outsample.checks import one_of, probability
from outsample.curve.error_estimate import ErrorEstimate, numeral
from outsample.curve.intervals import exact_interval, hoeffding_radius, inside, logit_interval
from outsample.running.arrays import Floats

METHODS = ("exact", "normal", "logit", "bootstrap", "hoeffding")


@dataclass(frozen=True, eq=False)
class Evaluation(ErrorEstimate):
    """The error of one fitted model, measured on rows that it was not fitted to.

    `in_sample` and `optimism` are not a number, because the rows that the model was fitted to are not known.

    Attributes
    ----------
    method : the interval that fits the loss: "exact" for zero-one loss, "normal" where every row has a loss or an
        influence value, "logit" for influence values of a score with a least and a greatest value, "bootstrap" for
        other losses of whole sets.
    effective_n : number of independent rows of equal weight that carry the same information.
    span : width of the range of a single loss; None where it is not bounded or not known.
    bags : the error on each set of rows drawn with replacement; None where no rows were drawn.
    looks : how often the sealed test set had been looked at, this look included; None for other rows.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> result = outsample.evaluate(tree.fit(X[:400], y[:400]), X[400:], y[400:])
    >>> result.method, round(result.out_sample, 3)
    ('exact', 0.112)
    """

    method: str = "normal"
    effective_n: float = math.nan
    span: float | None = None
    bags: Floats | None = field(default=None, repr=False)
    looks: int | None = None

    def interval(self, level: float = 0.95, method: str | None = None) -> tuple[float, float]:
        """(low, high) around out_sample, for the error of this model on new data.

        Parameters
        ----------
        level : wanted coverage; of a sealed test set, of the intervals of all looks together.
        method : None for the one that fits the loss.
            "exact" is the interval of Clopper & Pearson (1934) for the share of wrong predictions: its coverage is at
            least `level`. With weights or groups it is taken at the effective number of rows (Korn & Graubard 1998).
            "normal" is Student's t around the mean of the losses, or of the influence values of a score.
            "logit" is the same on the scale of log((s − a)/(b − s)) for a score s between a and b (Pepe 2003 for
            the area under the curve), which keeps its level near a and b. At a or b itself it is the exact interval
            of no error among as many rows.
            "bootstrap" has the percentiles of the error over sets of rows drawn with replacement, at the level that
            makes up for the divisor n and for Student's t (Hesterberg 2015).
            "hoeffding" is out_sample ± w √(ln(2/δ)/(2n)), δ = 1 − level, for losses of a range of width w: at least
            `level` for any n and any distribution.
        """
        level = probability("level", level)
        if self.looks is not None:
            # The shares 6/(π²k²) of all looks k = 1, 2, … add up to one.
            level = 1 - (1 - level) * 6 / (math.pi * self.looks) ** 2
        chosen = self.method if method is None else one_of("method", method, METHODS)
        if self.no_interval is not None and chosen != "hoeffding":
            raise ValueError(f"there is no interval that can be vouched for: {self.no_interval}")
        low, high = getattr(self, f"_{chosen}_interval")(level)
        return max(low, self.limits[0]), min(high, self.limits[1])

    def _exact_interval(self, level: float) -> tuple[float, float]:
        if self.method != "exact":
            raise self._refusal("exact", "zero-one loss", self.method)
        return exact_interval(self.out_sample, self.effective_n, level)

    def _normal_interval(self, level: float) -> tuple[float, float]:
        if self.standard_error is None or not self.freedom:
            raise ValueError(
                f"there is no interval: a standard error needs at least two rows, there are {self.n_samples}"
            )
        half = float(stats.t.ppf(0.5 + level / 2, self.freedom)) * self.standard_error
        return self.out_sample - half, self.out_sample + half

    def _logit_interval(self, level: float) -> tuple[float, float]:
        if self.method != "logit":
            raise self._refusal("logit", "scores with a least and a greatest value", self.method)
        width = self.limits[1] - self.limits[0]
        share = (self.out_sample - self.limits[0]) / width
        half = (self._normal_interval(level)[1] - self.out_sample) / width if inside(share) else 0.0
        low, high = logit_interval(share, half, self.effective_n, level)
        return self.limits[0] + low * width, self.limits[0] + high * width

    def _bootstrap_interval(self, level: float) -> tuple[float, float]:
        if self.bags is None or not self.freedom:
            raise self._refusal("bootstrap", "losses of whole sets", self.method)
        units = self.freedom + 1
        tail = stats.norm.cdf(math.sqrt(units / (units - 1)) * stats.t.ppf((1 - level) / 2, self.freedom))
        low, high = np.quantile(self.bags, [tail, 1 - tail])
        return float(low), float(high)

    def _hoeffding_interval(self, level: float) -> tuple[float, float]:
        if self.span is None:
            raise self._refusal("hoeffding", "independent losses in a bounded range", self.method)
        half = self.span * hoeffding_radius(self.effective_n, 1 - level)
        return self.out_sample - half, self.out_sample + half

    def _refusal(self, method: str, needs: str, instead: str) -> ValueError:
        return ValueError(f'method "{method}" is for {needs}, not for loss {self.loss!r} here; use "{instead}"')

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values; None for what is not known."""
        found = super().to_dict() | {"in_sample": None, "optimism": None}
        return found | {"method": self.method, "effective_n": self.effective_n, "looks": self.looks}

    def __str__(self) -> str:
        first = f"out-sample {self.loss}: {numeral(self.out_sample)}"
        try:
            low, high = self.interval(0.95)
        except ValueError:
            pass
        else:
            first += f", 95 % interval {numeral(low)} to {numeral(high)} ({self.method})"
        rows = "1 row" if self.n_samples == 1 else f"{self.n_samples} rows"
        return "\n".join(
            [first, f"on {rows} that are taken to be new to the model", f"estimates {self.estimand}", *self.notes]
        )
