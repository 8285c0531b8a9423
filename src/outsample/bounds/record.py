"""The result of a bound, and the checks and units all bounds share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from outsample.checks import probability, whole_number
from outsample.curve.result import Result
from outsample.docstrings import Thing, described
from outsample.running.arrays import Bools, Floats

SQUARED_PER_ZERO_ONE = 4.0

Numbers = float | Floats
"""One number, or one per model."""
Unit = TypeVar("Unit", float, Floats)


def from_squared_units(value: Unit) -> Unit:
    """A squared error on ±1 labels in 0–1 units: (y − g)² is 4 where the label is wrong and 0 elsewhere.

    The only conversion between the units of the theory (squared) and of the library (0–1).

    Parameters
    ----------
    value : a squared error, or several.

    Returns
    -------
    float or array
        A fourth of it.

    Examples
    --------
    >>> from_squared_units(0.4)
    0.1
    """
    return value / SQUARED_PER_ZERO_ONE


MAXIMISED = "the complexity is the maximum over the whole hypothesis set, found by minimising the training error"
COUNTED = "the hypothesis set was fixed before the data, with no more labellings or dimensions than given"
UNSEEN = "the rows held out are independent of each other, and of all that led to the model"
SAME_FIT = "the model in use is the fit that was judged; nothing was fitted again"
ORDERED = "the order of the models was fixed before the data"
"""What theorems assume of a procedure, beyond independent samples."""
OUT_SAMPLE_ERROR = "out-sample error"


@dataclass(frozen=True, eq=False)
class Certificate(Result):
    """An upper bound that holds with probability at least 1 − delta over data sets, and what has to be true for it.

    Attributes
    ----------
    value : the upper bound, with constants that the proof supports; above 1 it is reported as it is.
    in_sample : the observed error or complexity; value = in_sample + gap.
    gap : what the theorem adds.
    printed : the bound with the constants as the source prints them; equal to `value` where they are the same.
    n : number of samples, or of rows held out.
    delta : probability with which the bound may fail.
    bounds : which quantity is bounded, in words.
    theorem : where it comes from.
    fit : the fit whose error is bounded, in words.
    setting : what is taken for granted of the data, which no computation can check.
    assumptions : what must be true of the procedure → whether it is; None where that is not known here, as in a pure
        function, which is given numbers only.
    risk, m, gamma : the same theorem as penalised selection takes it: P[error > risk + ε] ≤ gamma e^{−2mε²}. Not a
        number for bounds on complexities.

    Examples
    --------
    >>> from outsample.bounds import rademacher_bound
    >>> limit = rademacher_bound(in_sample=0.1, complexity=0.05, n=2000)
    >>> limit.vacuous, limit.proved
    (False, False)
    >>> limit.not_proved[0].startswith("not known whether the complexity is the maximum over the whole hypothesis set")
    True
    """

    value: Numbers
    in_sample: Numbers
    gap: Numbers
    printed: Numbers
    n: int
    delta: float
    bounds: str
    theorem: str
    setting: str
    assumptions: Mapping[str, bool | None]
    fit: str = "the one whose numbers were given"
    risk: Numbers = math.nan
    m: float = math.nan
    gamma: float = math.nan

    told: ClassVar[str] = (
        "value in_sample gap printed risk n delta m gamma bounds theorem fit setting "
        "proved not_proved vacuous assumptions"
    )

    @property
    def proved(self) -> bool:
        """Whether all that the theorem assumes of the procedure is known to be true."""
        return all(holds is True for holds in self.assumptions.values())

    @property
    def not_proved(self) -> tuple[str, ...]:
        """What is assumed and not true, or not known to be."""
        words = {False: "not true that ", None: "not known whether "}
        return tuple(words[holds] + what for what, holds in self.assumptions.items() if holds is not True)

    @property
    def vacuous(self) -> bool | Bools:
        """Whether the bound says nothing, being at or above 1, which no error rate and no complexity exceeds anyway."""
        empty = np.asarray(self.value) >= 1.0
        return bool(empty) if empty.ndim == 0 else empty

    def known(self, assumptions: Mapping[str, bool | None], fit: str | None = None) -> Certificate:
        """The same with what is known of these assumptions, and of the fit."""
        return replace(self, assumptions={**self.assumptions, **assumptions}, fit=fit or self.fit)

    def at(self, model: int) -> Certificate:
        """The certificate of one of several models."""
        names = ("value", "in_sample", "gap", "printed", "risk")
        shape = np.shape(self.value)
        numbers: dict[str, Any] = {name: float(np.broadcast_to(getattr(self, name), shape)[model]) for name in names}
        return replace(self, **numbers)

    def for_best_of(self, k: int) -> Certificate:
        """The certificate where k models were judged on the same data and this one was chosen: a union bound."""
        if k == 1:
            return self
        value = as_number(self.risk + deviation(2 * self.m, self.delta / (self.gamma * k)))
        theorem = f"{self.theorem}; for all {k} models at once"
        return replace(self, value=value, gap=value - self.in_sample, printed=value, theorem=theorem)

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values."""
        return super().to_dict() | {"not_proved": self.not_proved}

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        values = ", ".join(f"{v:.4g}" for v in np.ravel(self.value))
        verdict = "; vacuous: at or above 1 it says nothing" if np.all(self.vacuous) else ""
        said = "; ".join(self.not_proved)
        return (
            f"{self.bounds} ≤ {values} with probability {1 - self.delta:.4g}{verdict}\n"
            f"by {self.theorem}, n = {self.n}; the fit: {self.fit}\n"
            f"takes for granted {self.setting}\n" + (f"not proved here: {said}" if said else "proved")
        )


WORDS = {
    "in_sample": "error rate on the data, or one per model.",
    "n": "number of samples.",
    "delta": "probability with which the bound may fail.",
    "n_draws": """label vectors that `complexity` is a mean of; the limit covers their error, and holds for more of them
    than are given. Infinity where it is the mean over all.""",
    "mean_label": "ȳ of labels −1 and 1, which lets draws of rare labels vary less; 0 is right for all.",
}
a_bound = described(
    WORDS,
    """Certificate
    Its `value` limits the quantity that `bounds` names with probability 1 − delta.""",
)
"""Completes the docstring of a function that gives a bound."""


def theorem(
    source: str, *assumptions: str, setting: str = "independent samples and two classes", bounds: str = OUT_SAMPLE_ERROR
) -> Callable[[Thing], Thing]:
    """A decorator of functions that give the numbers of a bound: it checks n and delta, and says what is assumed."""

    def declared(function: Thing) -> Thing:
        defaults = {p.name: p.default for p in signature(function).parameters.values() if p.default is not p.empty}

        @wraps(function)
        def checked(**arguments: Any) -> Certificate:
            arguments = defaults | arguments
            size = "n_holdout" if "n_holdout" in arguments else "n"
            if size in arguments:
                arguments[size] = whole_number(size, arguments[size])
            arguments["delta"] = probability("delta", arguments["delta"])
            found: Certificate = function(**arguments)
            return replace(
                found,
                n=arguments[size],
                delta=arguments["delta"],
                bounds=bounds,
                theorem=source,
                setting=setting,
                assumptions=dict.fromkeys(assumptions),
            )

        return cast(Thing, a_bound(checked))

    return declared


def limit(
    observed: Numbers,
    penalty: Numbers,
    margin: Numbers,
    *,
    printed: float | None = None,
    risk: Numbers | None = None,
    m: float = math.nan,
    gamma: float = math.nan,
) -> Certificate:
    """The numbers of a bound that adds a penalty and a deviation to what was observed; `theorem` adds the words.

    Parameters
    ----------
    margin, printed : the deviation, and that with the constants as the source prints them where they are others.
    risk : what takes the place of observed + penalty in penalised selection, which m and gamma are for.
    """
    gap = penalty + margin
    as_penalty = observed + penalty if risk is None else risk
    return Certificate(
        value=as_number(observed + gap),
        in_sample=as_number(observed),
        gap=as_number(gap),
        printed=as_number(observed + (gap if printed is None else penalty + printed)),
        n=0,
        delta=math.nan,
        bounds="",
        theorem="",
        setting="",
        assumptions={},
        risk=math.nan if math.isnan(m) else as_number(as_penalty),
        m=m,
        gamma=gamma,
    )


def number_of_draws(n_draws: float) -> float:
    """The number of label vectors behind a complexity, infinity for all of them."""
    return math.inf if n_draws == math.inf else whole_number("n_draws", n_draws, instead="infinity or ")


def as_number(value: ArrayLike) -> Numbers:
    """A float where there is one number, an array where there are several."""
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array


def deviation(n: float, delta: float, factor: float = 1.0) -> float:
    """√(factor · ln(1/delta) / n)."""
    return math.sqrt(factor * math.log(1 / delta) / n)


def check_rate(error: ArrayLike, name: str = "in_sample") -> Numbers:
    """An error rate in 0–1 units, or one per model."""
    rate = np.asarray(error, dtype=np.float64)
    if not np.all((rate >= 0) & (rate <= 1)):
        raise ValueError(
            f"{name} must be an error rate between 0 and 1, got {rate.tolist()}; squared errors of ±1 labels are four "
            "times as large: use from_squared_units"
        )
    return as_number(rate)


def check_complexity(complexity: ArrayLike) -> Numbers:
    """A mean correlation of labels and hypotheses, or one per model."""
    values = np.asarray(complexity, dtype=np.float64)
    if not np.all(np.abs(values) <= 1 + 1e-12):
        raise ValueError(f"complexity must be a correlation between -1 and 1, got {values.tolist()}")
    return as_number(values)
