"""Rules: from a risk curve to the chosen model, and the theory of penalised selection.

A rule is a function of a `RiskCurve`, whose models are ordered from the simplest, that returns the position of a model;
`as_rule` finds one by name. The rule "penalized" follows Bartlett, Boucheron & Lugosi (2002), §2. If each estimate R_k
satisfies P[e_out(k) > R_k + ε] ≤ γ e^{−2mε²}, then the model that minimises R_k + √(ln k/m), k counted from the
simplest, has with probability 1 − δ an error of at most that minimum plus √(ln(2γ/δ)/(2m)), however many models there
are. `oracle_terms` gives the terms of the inequality for its expected error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from outsample.bounds.record import ORDERED, SAME_FIT, Certificate
from outsample.checks import entry, probability, whole_number
from outsample.curve.result import table_in_html
from outsample.curve.risk_curve import RiskCurve, Rule
from outsample.losses.base import RELATIVE_ROUNDING
from outsample.running.arrays import Floats

# Steps in a row above the running minimum after which "first-local-minimum" stops.
PATIENCE = 3


def minimum(curve: RiskCurve) -> int:
    """The model of least estimated risk; of ties, up to rounding, the simplest."""
    risk = _comparable(curve.out_sample)
    return int(np.flatnonzero(risk <= risk.min() + _rounding(curve))[0])


def one_standard_error(curve: RiskCurve) -> int:
    """The simplest model whose risk is within one standard error (not standard deviation) of the minimum."""
    error = _needed_error(curve, "one-standard-error")
    risk = _comparable(curve.out_sample)
    best = minimum(curve)
    limit = risk[best] + np.nan_to_num(error[best])
    return int(np.flatnonzero(risk <= limit)[0])


def _needed_error(curve: RiskCurve, rule: str) -> Floats:
    if curve.standard_error is None:
        raise ValueError(
            f'rule "{rule}" needs a standard error, which criterion {curve.criterion!r} does not give; '
            'use rule "minimum", or a criterion such as "permutation" or "kfold"'
        )
    if not np.isfinite(curve.standard_error).any():
        raise ValueError(
            f'rule "{rule}" needs a standard error, which a single fold without losses of rows does not give; use rule '
            '"minimum", or more folds'
        )
    return curve.standard_error


def one_standard_error_literal(curve: RiskCurve) -> int:
    """The simplest model such that all richer ones have a risk within its own standard error of its risk.

    So reads the lecture of Duchi (§2.3): "the least complex model for which all the more complex models have CV(k)
    within one standard error". Where a richer model is much worse, as beyond the minimum of a U-shaped curve, the
    choice is richer than that one; `one_standard_error` looks at the minimum only and is simpler there.
    """
    error = _needed_error(curve, "one-standard-error-literal")
    risk = _comparable(curve.out_sample)
    slack = np.nan_to_num(error) + _rounding(curve)
    last = len(risk) - 1
    for k in range(last):
        richer = risk[k + 1 :][np.isfinite(risk[k + 1 :])]
        if np.isfinite(risk[k]) and (np.abs(richer - risk[k]) <= slack[k]).all():
            return k
    return last if np.isfinite(risk[last]) else minimum(curve)


def percentile(curve: RiskCurve) -> int:
    """The model at the percentile of estimated risks that left-out rows favour (Ng 1997).

    The model of least risk among many is the luckiest, not the best. For every row, models are ranked by their risk on
    the other rows, and the loss on this row of the model of each rank is noted; the rank of least mean loss is chosen,
    and the model that has this rank on all rows. Rank 0 is the rule "minimum", and wins ties.
    """
    table = curve.left_out
    if table is None or table.losses is None:
        raise ValueError(
            f'rule "percentile" needs the losses of rows left out, which criterion {curve.criterion!r} does not give '
            'here; use a criterion such as "kfold" or "loo" and a loss that every row has'
        )
    # Of models that were left out only in part, and of rows that not all have left out, nothing is compared.
    known = np.flatnonzero(~np.isnan(table.losses).all(axis=1))
    losses = table.losses[known]
    rows = ~np.isnan(losses).any(axis=0)
    losses = losses[:, rows]
    weight = np.ones(losses.shape[1]) if table.weight is None else table.weight[rows]
    if losses.size == 0:
        return minimum(curve)
    rank = _favoured_rank(losses, weight)
    return int(known[_ranked(losses @ weight)[rank]])


def _favoured_rank(losses: Floats, weight: Floats) -> int:
    """The rank whose model, chosen without a row, loses least on it; the first of ties."""
    weighted = losses * weight
    total = weighted.sum(axis=1)
    at_rank = np.zeros(len(losses))
    for row in range(losses.shape[1]):
        at_rank += weighted[_ranked(total - weighted[:, row]), row]
    least = at_rank.min()
    return int(np.flatnonzero(at_rank <= least + RELATIVE_ROUNDING * abs(least))[0])


def _ranked(risk: Floats) -> Any:
    """Positions of models by risk, the simplest of equals first; sums that differ by rounding are equal."""
    unit = RELATIVE_ROUNDING * max(float(np.abs(risk).max()), np.finfo(np.float64).tiny)
    return np.argsort(np.round(risk / unit / 100), kind="stable")


@dataclass(frozen=True)
class FirstLocalMinimum:
    """The first significant local minimum in the order in which the grid is written; the minimum where there is none.

    The walk begins at the first value of the grid, be it a list or endless, and ends where `significant_minimum` has
    found one. A curve that belongs to no grid is walked from its first model.

    Parameters
    ----------
    patience : models in a row whose risk must be above the running minimum by more than their error.

    Examples
    --------
    >>> from outsample import GridSearch
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> search = GridSearch(KNeighborsClassifier(), {"n_neighbors": range(1, 60)}, rule=FirstLocalMinimum(patience=10))
    """

    patience: int = PATIENCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "patience", whole_number("patience", self.patience))

    def __call__(self, curve: RiskCurve) -> int:
        order = np.arange(len(curve)) if curve.written is None else np.argsort(curve.written, kind="stable")
        walk = curve.take(order)
        found = significant_minimum(walk, self.patience)
        return int(order[minimum(walk) if found is None else found])


first_local_minimum = FirstLocalMinimum()
"""The first significant local minimum, with the usual patience."""


def significant_minimum(curve: RiskCurve, patience: int = PATIENCE) -> int | None:
    """The running minimum at the first point where the risk has been above it for `patience` models in a row.

    A model is above it if its risk exceeds the running minimum by more than its error: the Monte-Carlo error where
    labels are drawn, because all models share the data and the draws, else the standard error. None where that never
    happens; a longer curve is then needed.
    """
    risk, error, rounding = _comparable(curve.out_sample), _error(curve), _rounding(curve)
    best, above = 0, 0
    for k in range(1, len(risk)):
        if risk[k] < risk[best] - rounding:
            best, above = k, 0
        else:
            above = above + 1 if risk[k] > risk[best] + error[k] else 0
        if above >= patience:
            return best
    return None


def penalized(curve: RiskCurve, m: float | None = None) -> int:
    """The model of least R_k + √(ln k/m), k counted from the simplest, m that of the criterion; see `oracle_terms`."""
    return oracle_terms(curve, m=m).chosen


def penalized_fast(curve: RiskCurve, m: float | None = None) -> int:
    """The model of least R_k + 2 ln k/m, for estimates with P[e_out > R + ε] ≤ γ e^{−mε} (Theorem 2).

    Of the criteria here "expected-discrepancy" has such an m, n/4096, as printed in Theorem 10, which is not called
    proved. For others give m: `functools.partial(penalized_fast, m=…)`.
    """
    return oracle_terms(curve, m=m, fast=True).chosen


def _comparable(risk: Floats) -> Floats:
    """The risks with nan replaced by infinity."""
    return np.where(np.isnan(risk), np.inf, risk)


def _rounding(curve: RiskCurve) -> float:
    """Differences up to this are rounding. It follows from the least risk, because the others may be of any size."""
    finite = curve.out_sample[np.isfinite(curve.out_sample)]
    return max(curve.rounding, RELATIVE_ROUNDING * abs(float(finite.min()))) if len(finite) else 0.0


def _error(curve: RiskCurve) -> Floats:
    """Monte-Carlo error of each model, else its standard error, else zero, (models,)."""
    for error in (curve.monte_carlo_error, curve.standard_error):
        if error is not None:
            return np.nan_to_num(error)
    return np.zeros(len(curve))


RULES: dict[str, Rule] = {
    "minimum": minimum,
    "one-standard-error": one_standard_error,
    "one-standard-error-literal": one_standard_error_literal,
    "percentile": percentile,
    "first-local-minimum": first_local_minimum,
    "penalized": penalized,
    "penalized-fast": penalized_fast,
}

RuleLike = Rule | str
"""What a user may pass as a rule: a function of a curve, or a name."""


def as_rule(rule: RuleLike) -> Rule:
    """A rule from its name or a function of a risk curve."""
    if callable(rule):
        return rule
    return entry("rule", rule, RULES, instead=" or a function of a risk curve")


@dataclass(frozen=True)
class SampleSize:
    """How sharply a criterion's estimates concentrate: P[e_out > R + ε] ≤ gamma e^{−2mε²}, or gamma e^{−mε} if fast.

    Attributes
    ----------
    m : number of independent losses whose mean would concentrate as sharply.
    gamma : the factor of the exponential.
    source : the theorem, or the reason for the convention.
    """

    m: float
    gamma: float
    source: str


_DRAWN = "a convention: the deviation of its complexity, without the factor 2 that would make it a bound"
_LEFT_OUT = "a convention: every row is judged once by a model that did not see it"
_NOT_OF_ALL_ROWS = (
    *("kfold", "loo", "alo", "oob", "race", "nested-kfold"),
    *("bootstrap", "bag-bootstrap", "632", "632+", "optimism-bootstrap"),
)
_NO_THEOREM = "a convention: as for the VC bound, for want of a theorem of its own"
_WITHOUT_THEOREM = (
    *("resubstitution", "covariance", "rows-and-labels", "auto"),
    *("fpe", "aic", "bic", "cp", "gcv", "vc", "validation", "holdout"),
)

# (m/n, γ, why) of criteria about which no theorem speaks, or not here. Others have it from their certificates.
_CONVENTIONS: dict[str, tuple[float, float, str]] = {
    "discrepancy": (1 / 21, 3, "Bartlett, Boucheron & Lugosi, Theorem 8, which is for equal weights"),
    "expected-discrepancy": (1 / 9, 2, "Bartlett, Boucheron & Lugosi, Theorem 9, which is for equal weights"),
    "permutation": (1 / 25, 2, _DRAWN),
    "label-bootstrap": (1 / 25, 2, _DRAWN),
    "two-stage": (1 / 25, 2, _DRAWN),
    "rademacher": (1 / 9, 2, _DRAWN),
    **dict.fromkeys(_NOT_OF_ALL_ROWS, (1, 1, _LEFT_OUT)),
    **dict.fromkeys(_WITHOUT_THEOREM, (1 / 2, 1, _NO_THEOREM)),
}

# Theorem 10 takes a multiple of the expected discrepancy whose factor cannot be read in the copy we have. No factor can
# make its tail right for all n: for a single hypothesis of error ½, e_out − e_in is the deviation of a coin. If the
# multiple is C/√n, it exceeds it by ε = C/√n with probability of about e^{−8C²}, which is more than 9 e^{−nε/4096} once
# √n exceeds 4096 (8C + ln 9/C). So it is never called proved.
_FAST: dict[str, tuple[float, float, str]] = {
    "expected-discrepancy": (1 / 4096, 9, "Bartlett, Boucheron & Lugosi, Theorem 10, as printed"),
}

BOUNDED = "losses are between 0 and 1"
THEOREM = "a theorem says how rarely the estimate of each model is too low"


def convention(criterion: str, n: int, *, fast: bool = False) -> SampleSize:
    """The m and γ that are taken for a criterion, by name, and n samples where no theorem gives them.

    Parameters
    ----------
    fast : the m of the fast-rate form, P[e_out > R + ε] ≤ γ e^{−mε}.

    Raises
    ------
    ValueError
        For a criterion whose m is not known.
    """
    known = _FAST if fast else _CONVENTIONS
    if criterion not in known:
        name = "penalized-fast" if fast else "penalized"
        function = name.replace("-", "_")
        raise ValueError(
            f'rule "{name}" knows no m for criterion {criterion!r}, only for {", ".join(known)}; give one with '
            f"functools.partial(outsample.rules.{function}, m=…)"
        )
    share, gamma, source = known[criterion]
    return SampleSize(share * n, gamma, source)


def log_term(n_models: int, m: float, *, fast: bool = False, loss_range: float = 1.0) -> Floats:
    """√(ln k/m), or 2 ln k/m in the fast-rate form, for k = 1 … n_models, (models,), times the range of the loss."""
    if not m > 0:
        raise ValueError(f"m must be positive, got {m!r}")
    logarithm = np.log(np.arange(1, n_models + 1))
    return np.asarray(loss_range * (2 * logarithm / m if fast else np.sqrt(logarithm / m)))


def penalized_risk(risk: ArrayLike, m: float, *, fast: bool = False, loss_range: float = 1.0) -> Floats:
    """R_k + √(ln k/m), (models,), simplest first (Theorem 1); with `fast` R_k + 2 ln k/m (Theorem 2).

    The fast form holds for estimates with P[e_out > R + ε] ≤ γ e^{−mε}.
    """
    estimates = np.asarray(risk, dtype=np.float64)
    return np.asarray(estimates + log_term(len(estimates), m, fast=fast, loss_range=loss_range))


@dataclass(frozen=True, eq=False)
class OracleTerms:
    """The oracle inequality, term by term, (models,) simplest first.

    E e_out(chosen) − e* ≤ min_k (complexity_k + log_term_k + approximation_k) + remainder.

    Attributes
    ----------
    approximation : error of the best of each class minus the least possible. It cannot be observed; the in-sample
        error minus the least on the curve stands in for it.
    complexity : R_k − e_in(k), both of the same fit; not a number where R_k is of fits to some of the rows, whose
        in-sample error is not known.
    log_term : √(ln k/m), the cost of choosing among k models.
    remainder : √(ln(2γe)/(2m)), or ln(2γe)/m in the fast-rate form.
    penalized : (models,) what the rule minimises, R_k + log_term. R_k is the criterion's estimate; where that is a
        limit at some δ, the estimate that the theorem penalises, because m and γ pay for δ.
    size : the criterion's m and γ.
    chances : the guarantee of the chosen model, without its deviation, which depends on δ; see `tail_bound`.
    loss_range : what the logarithmic term and the remainder are multiplied by; 1 for losses in [0, 1].
    fast : whether these are the terms of the fast-rate form (Theorem 2).
    """

    approximation: Floats
    complexity: Floats
    log_term: Floats
    remainder: float
    penalized: Floats
    size: SampleSize
    chances: Certificate
    loss_range: float = 1.0
    fast: bool = False

    @property
    def total(self) -> Floats:
        """Sum of the three terms, (models,)."""
        return self.approximation + self.complexity + self.log_term

    @property
    def chosen(self) -> int:
        """The position of the model of least penalised risk, the simplest of ties."""
        return int(np.argmin(np.where(np.isnan(self.penalized), np.inf, self.penalized)))

    def tail_bound(self, delta: float = 0.05) -> Certificate:
        """What the error of the chosen model exceeds with probability at most δ, however many models there are.

        Its penalised risk plus √(ln(2γ/δ)/(2m)) (Theorem 1), or plus ln(2γ/δ)/m in the fast-rate form (Theorem 2). A
        guarantee where it is `proved`.
        """
        tail = math.log(2 * self.size.gamma / probability("delta", delta))
        gap = self.loss_range * (tail / self.size.m if self.fast else math.sqrt(tail / (2 * self.size.m)))
        value = self.chances.in_sample + gap
        return replace(self.chances, value=value, printed=value, gap=gap, delta=delta)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain Python values."""
        arrays = ("approximation", "complexity", "log_term", "penalized", "total")
        return {name: getattr(self, name).tolist() for name in arrays} | {
            "remainder": self.remainder,
            "chosen": self.chosen,
            "m": self.size.m,
            "gamma": self.size.gamma,
            "source": self.size.source,
            "certificate": self.tail_bound().to_dict(),
        }

    def _repr_html_(self) -> str:
        names = ("approximation", "complexity", "log_term", "total", "penalized")
        rows = [
            [f"{k} (chosen)" if k == self.chosen else str(k), *(f"{getattr(self, name)[k]:.4g}" for name in names)]
            for k in range(len(self.penalized))
        ]
        basis = f"remainder {self.remainder:.4g}; m = {self.size.m:.4g}: {self.size.source}"
        return table_in_html(["model", *(name.replace("_", " ") for name in names)], rows, below=basis)


def oracle_terms(curve: RiskCurve, *, m: float | None = None, fast: bool = False) -> OracleTerms:
    """The terms of the oracle inequality for a risk curve, with the criterion's own m unless one is given.

    The remainder follows from the tail 2γ e^{−2mε²} of Theorem 1, which gives ln(2γe); the paper prints ln(γe). For a
    loss that is not in [0, 1] the logarithmic term and the remainder are multiplied by the largest in-sample risk, at
    most by the risk of predicting without X.
    """
    if np.isnan(curve.in_sample).all():
        raise ValueError(
            f"rule: oracle terms need in-sample risks, and criterion {curve.criterion!r} fits no model to all rows; "
            'use criterion "kfold" or rule "minimum"'
        )
    theorems = () if fast or m is not None else curve.certificates
    if theorems:
        m, gamma = min(each.m for each in theorems), max(each.gamma for each in theorems)
        size = SampleSize(m, gamma, theorems[0].theorem)
        assumptions = {what: _all(each.assumptions.get(what, True) for each in theorems) for what in _assumed(theorems)}
    elif m is None:
        size, assumptions = convention(curve.criterion, curve.n_samples, fast=fast), {THEOREM: False}
    else:
        gamma = curve.certificates[0].gamma if curve.certificates else _CONVENTIONS.get(curve.criterion, (0.0, 1.0))[1]
        size, assumptions = SampleSize(float(m), gamma, "given"), {THEOREM: None}
    risk = np.array([each.risk for each in theorems]) if theorems else curve.out_sample
    loss_range = _loss_range(curve)
    price = log_term(len(curve), size.m, fast=fast, loss_range=loss_range)
    tail = math.log(2 * size.gamma * math.e)
    partial = curve.criterion in _NOT_OF_ALL_ROWS or any(SAME_FIT in each.assumptions for each in curve.certificates)
    penalized = risk + price
    return OracleTerms(
        approximation=curve.in_sample - np.nanmin(curve.in_sample),
        complexity=np.full(len(curve), np.nan) if partial else risk - curve.in_sample,
        log_term=price,
        remainder=loss_range * (tail / size.m if fast else math.sqrt(tail / (2 * size.m))),
        penalized=penalized,
        size=size,
        chances=Certificate(
            value=np.nan,
            in_sample=float(np.nanmin(penalized)),
            gap=np.nan,
            printed=np.nan,
            n=curve.n_samples,
            delta=np.nan,
            bounds=theorems[0].bounds if theorems else "out-sample error",
            theorem=f"Bartlett, Boucheron & Lugosi, Theorem {2 if fast else 1}, and {size.source}",
            setting=theorems[0].setting if theorems else "independent samples",
            assumptions=assumptions | {ORDERED: curve.ordered or len(curve) == 1, BOUNDED: curve.loss.unit_interval},
            fit=theorems[0].fit if theorems else "the one that the criterion judged",
            risk=float(np.nanmin(penalized)),
            m=size.m,
            gamma=2 * size.gamma,
        ),
        loss_range=loss_range,
        fast=fast,
    )


def _assumed(theorems: Sequence[Certificate]) -> dict[str, None]:
    """What any of these theorems assumes, in order."""
    return {what: None for each in theorems for what in each.assumptions}


def _all(answers: Iterable[bool | None]) -> bool | None:
    """False where one is false, else None where one is not known."""
    found = set(answers)
    return False if False in found else None if None in found else True


def _loss_range(curve: RiskCurve) -> float:
    """A stand-in for the range of the loss; 1 for losses in [0, 1] and for scores, whose risks are negative."""
    known = curve.in_sample[np.isfinite(curve.in_sample)]
    if curve.loss.unit_interval or (known < 0).any():
        return 1.0
    largest = float(known.max(initial=0.0))
    return (min(largest, curve.scale) if curve.scale > 0 else largest) or curve.scale or 1.0
