"""Rules: from a risk curve to the chosen model, and the theory of penalised selection.

A rule is a function of a `RiskCurve`, whose models are ordered from the simplest, that returns the position of a model;
`as_rule` finds one by name. The rule "penalized" follows Bartlett, Boucheron & Lugosi (2002), §2. If each estimate R_k
satisfies P[e_out(k) > R_k + ε] ≤ γ e^{−2mε²}, then the model that minimises R_k + √(ln k/m), k counted from the
simplest, has with probability 1 − δ an error of at most that minimum plus √(ln(2γ/δ)/(2m)), however many models there
are. `oracle_terms` gives the terms of the inequality for its expected error.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from outsample.checks import entry, probability
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


def first_local_minimum(curve: RiskCurve, patience: int = PATIENCE) -> int:
    """The first significant local minimum in the direction of growing complexity; the minimum where there is none."""
    found = significant_minimum(curve, patience)
    return minimum(curve) if found is None else found


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

    Of the criteria here "expected-discrepancy" has such an m, n/4096, as printed in Theorem 10; see `sample_size` for
    why it is not called proved. For others give m: `functools.partial(penalized_fast, m=…)`.
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
    proved : whether a theorem says so; otherwise m is a convention.
    source : the theorem, or the reason for the convention.
    """

    m: float
    gamma: float
    proved: bool
    source: str


def _size(share: float, gamma: float, source: str, proved: bool = True) -> tuple[float, float, bool, str]:
    """(m/n, γ, proved, source) of a criterion."""
    return share, gamma, proved, source


_DRAWN = "the deviation of its complexity, without the factor 2 that would make it a bound"
_LEFT_OUT = "every row is judged once by a model that did not see it"
_LEAVE_ROWS_OUT = (
    *("kfold", "loo", "alo", "oob", "race", "nested-kfold"),
    *("bootstrap", "bag-bootstrap", "632", "632+", "optimism-bootstrap"),
)
_NO_THEOREM = "as for the VC bound, for want of a theorem of its own"
_WITHOUT_THEOREM = (
    *("resubstitution", "covariance", "rows-and-labels", "auto"),
    *("fpe", "aic", "bic", "cp", "gcv", "vc", "validation", "holdout"),
)

_SHARES: dict[str, tuple[float, float, bool, str]] = {
    "vc-bound": _size(1 / 2, 1, "Bartlett, Boucheron & Lugosi (5)"),
    "vc-entropy-bound": _size(1 / 80, 2, "Bartlett, Boucheron & Lugosi, Theorem 6"),
    "margin-bound": _size(math.log(2) / 8, 4, "Bartlett, Boucheron & Lugosi, Theorem 7"),
    "discrepancy": _size(1 / 21, 3, "Bartlett, Boucheron & Lugosi, Theorem 8"),
    "discrepancy-bound": _size(1 / 21, 3, "Bartlett, Boucheron & Lugosi, Theorem 8"),
    "expected-discrepancy": _size(1 / 9, 2, "Bartlett, Boucheron & Lugosi, Theorem 9"),
    "rademacher-bound": _size(1 / 9, 2, "Bartlett, Boucheron & Lugosi, Theorem 9"),
    # Lemma 3 of Magdon-Ismail & Mertsalov: one sample moves P_in by 4/n, and sup (e_out − e_in) by 1/n in 0–1 units;
    # McDiarmid with deviations 4ε/5 and ε/5 gives 2 e^{−2nε²/25}.
    "permutation-bound": _size(1 / 25, 2, "Magdon-Ismail & Mertsalov, Lemma 3, and McDiarmid's inequality"),
    "permutation": _size(1 / 25, 2, _DRAWN, proved=False),
    "label-bootstrap": _size(1 / 25, 2, _DRAWN, proved=False),
    "two-stage": _size(1 / 25, 2, _DRAWN, proved=False),
    "rademacher": _size(1 / 9, 2, _DRAWN, proved=False),
    **{name: _size(1, 1, _LEFT_OUT, proved=False) for name in _LEAVE_ROWS_OUT},
    **{name: _size(1 / 2, 1, _NO_THEOREM, proved=False) for name in _WITHOUT_THEOREM},
}

# Theorem 10 takes a multiple of the expected discrepancy whose factor cannot be read in the copy we have. No factor can
# make its tail right for all n: for a single hypothesis of error ½, e_out − e_in is the deviation of a coin. If the
# multiple is C/√n, it exceeds it by ε = C/√n with probability of about e^{−8C²}, which is more than 9 e^{−nε/4096} once
# √n exceeds 4096 (8C + ln 9/C). So it is never called proved.
_FAST_SHARES: dict[str, tuple[float, float, bool, str]] = {
    "expected-discrepancy": _size(1 / 4096, 9, "Bartlett, Boucheron & Lugosi, Theorem 10, as printed", proved=False),
}


def sample_size(criterion: str, n: int, held_out: float | None = None, *, fast: bool = False) -> SampleSize:
    """The m and γ of a criterion, by name, for n samples; for a hold-out set m is its number of losses, `held_out`.

    Parameters
    ----------
    fast : the m of the fast-rate form, P[e_out > R + ε] ≤ γ e^{−mε}.

    Raises
    ------
    ValueError
        For a criterion whose m is not known.
    """
    if held_out is not None and not fast:
        return SampleSize(float(held_out), 1.0, True, "Hoeffding's inequality on held-out losses")
    known = _FAST_SHARES if fast else _SHARES
    if criterion not in known:
        name = "penalized-fast" if fast else "penalized"
        function = name.replace("-", "_")
        raise ValueError(
            f'rule "{name}" knows no m for criterion {criterion!r}, only for {", ".join(known)}; give one with '
            f"functools.partial(outsample.rules.{function}, m=…)"
        )
    share, gamma, proved, source = known[criterion]
    return SampleSize(share * n, gamma, proved, source)


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
    complexity : R_k − e_in(k).
    log_term : √(ln k/m), the cost of choosing among k models.
    remainder : √(ln(2γe)/(2m)), or ln(2γe)/m in the fast-rate form.
    penalized : (models,) what the rule minimises, R_k + log_term.
    size : the criterion's m and γ.
    loss_range : what the logarithmic term and the remainder are multiplied by; 1 for losses in [0, 1].
    fast : whether these are the terms of the fast-rate form (Theorem 2).
    """

    approximation: Floats
    complexity: Floats
    log_term: Floats
    remainder: float
    penalized: Floats
    size: SampleSize
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

    def tail_bound(self, delta: float = 0.05) -> float:
        """What the error of the chosen model exceeds with probability at most δ, however many models there are.

        Its penalised risk plus √(ln(2γ/δ)/(2m)) (Theorem 1), or plus ln(2γ/δ)/m in the fast-rate form (Theorem 2). A
        guarantee where `size.proved`, and for losses in [0, 1].
        """
        tail = math.log(2 * self.size.gamma / probability("delta", delta))
        deviation = tail / self.size.m if self.fast else math.sqrt(tail / (2 * self.size.m))
        return float(self.penalized[self.chosen] + self.loss_range * deviation)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain Python values."""
        arrays = ("approximation", "complexity", "log_term", "penalized", "total")
        return {name: getattr(self, name).tolist() for name in arrays} | {
            "remainder": self.remainder,
            "chosen": self.chosen,
            "m": self.size.m,
            "gamma": self.size.gamma,
            "proved": self.size.proved,
            "source": self.size.source,
        }

    def _repr_html_(self) -> str:
        names = ("approximation", "complexity", "log_term", "total", "penalized")
        head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in ("model", *names))
        body = "".join(
            f"<tr><td>{k}{' (chosen)' if k == self.chosen else ''}</td>"
            + "".join(f"<td>{getattr(self, name)[k]:.4g}</td>" for name in names)
            + "</tr>"
            for k in range(len(self.penalized))
        )
        basis = f"remainder {self.remainder:.4g}; m = {self.size.m:.4g}: {self.size.source}"
        return f"<table><tr>{head}</tr>{body}</table><p>{html.escape(basis)}</p>"


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
    if m is None:
        size = sample_size(curve.criterion, curve.n_samples, curve.held_out, fast=fast)
    else:
        gamma = _SHARES[curve.criterion][1] if curve.criterion in _SHARES else 1.0
        size = SampleSize(float(m), gamma, proved=False, source="given")
    loss_range = _loss_range(curve)
    price = log_term(len(curve), size.m, fast=fast, loss_range=loss_range)
    tail = math.log(2 * size.gamma * math.e)
    return OracleTerms(
        approximation=curve.in_sample - np.nanmin(curve.in_sample),
        complexity=curve.out_sample - curve.in_sample,
        log_term=price,
        remainder=loss_range * (tail / size.m if fast else math.sqrt(tail / (2 * size.m))),
        penalized=curve.out_sample + price,
        size=size,
        loss_range=loss_range,
        fast=fast,
    )


def _loss_range(curve: RiskCurve) -> float:
    """A stand-in for the range of the loss; 1 for losses in [0, 1] and for scores, whose risks are negative."""
    known = curve.in_sample[np.isfinite(curve.in_sample)]
    if curve.loss.unit_interval or (known < 0).any():
        return 1.0
    largest = float(known.max(initial=0.0))
    return (min(largest, curve.scale) if curve.scale > 0 else largest) or curve.scale or 1.0
