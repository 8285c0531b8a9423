"""Do the bounds hold? Every bound, on simulated problems whose true errors are known, must fail in at most δ of them.

Points are uniform on [0, 1], labels follow a threshold and are flipped with a given probability; the hypothesis set is
all thresholds in both directions (VC dimension 2, 2n labellings of n points), its risk minimiser is found exactly, and
its out-sample error is a formula. The margin bound is checked on two Gaussian clouds, divided
halfway between their means.

    outsample reproduce bounds --problems 2000
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.stats import norm

import outsample.bounds as theorems
from outsample.bounds import Certificate
from outsample.hypotheses import HypothesisSet, StumpClassifier, threshold_hypotheses
from outsample.running.arrays import Array, Floats
from outsample.studies.result import File, Finding, StudyResult, save
from outsample.studies.study import study

SETTINGS = ((30, 0.05), (30, 0.3), (100, 0.1), (300, 0.2))
N_DRAWS = 30
THRESHOLD = 0.4


@dataclass(frozen=True, eq=False)
class BoundsHold:
    """How often each bound held.

    Attributes
    ----------
    names : the bounds.
    frequency : (bounds,) share of problems in which the truth was at most the bound.
    printed_frequency : (bounds,) the same with the constants as the sources print them.
    vacuous : (bounds,) share of problems in which the bound was at or above 1.
    mean : (bounds,) mean bound, and `truth` the mean of what it limits.
    n_problems, delta : how many problems, and how many failures are allowed, as a share.
    """

    names: tuple[str, ...]
    frequency: Floats
    printed_frequency: Floats
    vacuous: Floats
    mean: Floats
    truth: Floats
    n_problems: int
    delta: float

    @property
    def all_hold(self) -> bool:
        """Whether every bound held in at least 1 − delta of the problems."""
        return bool((self.frequency >= 1 - self.delta).all())

    def findings(self) -> tuple[Finding, ...]:
        """Every number of the table: how often each bound held and was vacuous, and its mean beside the truth."""
        columns = {
            ("share of problems", "held"): self.frequency,
            ("share of problems", "vacuous"): self.vacuous,
            ("mean", "bound"): self.mean,
            ("mean", "truth"): self.truth,
        }
        return tuple(
            Finding(quantity, name, column, float(value))
            for (quantity, column), values in columns.items()
            for name, value in zip(self.names, values, strict=True)
        )

    def __str__(self) -> str:
        head = f"{'bound':24}{'held':>8}{'printed':>9}{'vacuous':>9}{'mean':>8}{'truth':>8}"
        columns = (self.frequency, self.printed_frequency, self.vacuous, self.mean, self.truth)
        rows = [
            f"{name:24}{held:8.4f}{printed:9.4f}{vacuous:9.3f}{mean:8.3f}{truth:8.3f}"
            for name, held, printed, vacuous, mean, truth in zip(self.names, *columns, strict=True)
        ]
        verdict = "every bound holds" if self.all_hold else "some bound fails too often"
        return "\n".join([head, *rows, f"{verdict}: {self.n_problems} problems, at least {1 - self.delta:g} required"])


@study("problems", n=40)
def bounds(n: int = 200, seed: int = 0, delta: float = 0.05, out: File = None) -> BoundsHold:
    """How often each bound holds, on simulated problems with known errors."""
    found = _bounds_hold(n, seed, delta)
    save(StudyResult("bounds", f"How often each bound held in {n} problems", found.findings()), out)
    return found


def _bounds_hold(n: int, seed: int, delta: float) -> BoundsHold:
    rng = np.random.default_rng(seed)
    found: dict[str, list[tuple[float, float, float]]] = {}
    for k in range(n):
        for name, truth, bound in _one_problem(*SETTINGS[k % len(SETTINGS)], delta, rng):
            found.setdefault(name, []).append((truth, float(bound), float(bound.printed)))
    for n_rows, _ in SETTINGS:
        _check_mean_complexity(found, n_rows)
    table = {name: np.array(values) for name, values in found.items() if not name.startswith("P_in")}
    return BoundsHold(
        names=tuple(table),
        frequency=np.array([(t[:, 0] <= t[:, 1]).mean() for t in table.values()]),
        printed_frequency=np.array([(t[:, 0] <= t[:, 2]).mean() for t in table.values()]),
        vacuous=np.array([(t[:, 1] >= 1).mean() for t in table.values()]),
        mean=np.array([t[:, 1].mean() for t in table.values()]),
        truth=np.array([t[:, 0].mean() for t in table.values()]),
        n_problems=n,
        delta=delta,
    )


Checked = tuple[str, float, Certificate]


def _one_problem(n: int, noise: float, delta: float, rng: np.random.Generator) -> Iterator[Checked]:
    """(name, truth, bound) for every bound."""
    x, y = _thresholded(n, noise, rng)
    rule, hypotheses = StumpClassifier().fit(x[:, None], y), threshold_hypotheses(x)
    e_in, e_out = float((1 - hypotheses.maxima(y[None])[0]) / 2), _true_error(rule, noise)
    yield from _complexity_bounds(hypotheses, y, e_in, e_out, noise, delta, rng)
    size: dict[str, Any] = {"n": n, "delta": delta}
    yield "VC dimension", e_out, theorems.vc_bound(in_sample=e_in, dimension=2, **size)
    yield (
        "shatter coefficient",
        e_out,
        theorems.shatter_bound(in_sample=e_in, log_shatter=math.log(4 * n), **size),
    )
    entropy = math.log(hypotheses.shatter_coefficient)
    yield "VC entropy", e_out, theorems.vc_entropy_bound(in_sample=e_in, log_shatter=entropy, **size)
    yield "empirical VC dimension", e_out, theorems.empirical_vc_bound(in_sample=e_in, dimension=2, **size)
    x_new, y_new = _thresholded(n, noise, rng)
    held_out = float((rule.predict(x_new[:, None]) != y_new).mean())
    yield "hold-out", e_out, theorems.holdout_bound(holdout_error=held_out, n_holdout=n, delta=delta)
    yield _margin(n, delta, rng)


def _complexity_bounds(
    hypotheses: HypothesisSet, y: Array, e_in: float, e_out: float, noise: float, delta: float, rng: np.random.Generator
) -> Iterator[Checked]:
    n = len(y)
    size: dict[str, Any] = {"n": n, "delta": delta}
    on_permutations = hypotheses.maxima(rng.permuted(np.tile(y, (N_DRAWS, 1)), axis=1))
    P_in, one = float(on_permutations.mean()), float(on_permutations[0])
    yield "permutation", e_out, theorems.permutation_bound(in_sample=e_in, complexity=P_in, n_draws=N_DRAWS, **size)
    yield "one permutation", P_in, theorems.one_permutation_bound(complexity=one, **size)
    yield f"P_in {n} {noise}", P_in, theorems.permutation_complexity_bound(complexity=P_in, **size)
    coins = rng.choice([-1.0, 1.0], (N_DRAWS, n))
    on_coins = hypotheses.maxima(coins)
    R = float(on_coins.mean())
    yield "Rademacher", e_out, theorems.rademacher_bound(in_sample=e_in, complexity=R, n_draws=N_DRAWS, **size)
    flipped = (coins != y).mean(axis=1)
    M = float((on_coins + 2 * flipped - 1).mean())
    M = min(1.0, max(-1.0, M))
    yield (
        "expected discrepancy",
        e_out,
        theorems.expected_discrepancy_bound(in_sample=e_in, discrepancy=M, n_draws=N_DRAWS, **size),
    )
    half = np.where(rng.permutation(n) < n // 2, -y, y)
    D = float(hypotheses.maxima(half[None])[0])
    yield (
        "maximal discrepancy",
        e_out,
        theorems.maximal_discrepancy_bound(in_sample=e_in, discrepancy=D, **size),
    )


def _check_mean_complexity(found: dict[str, list[tuple[float, float, float]]], n: int) -> None:
    """P_out, the mean of P_in over the problems of one setting, against the bound of each of them."""
    for name in [key for key in found if key.startswith(f"P_in {n} ")]:
        values = found.pop(name)
        P_out = float(np.mean([truth for truth, _, _ in values]))
        found.setdefault("mean complexity", []).extend((P_out, limit, printed) for _, limit, printed in values)


def _thresholded(n: int, noise: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    x = rng.random(n)
    return x, np.where(x > THRESHOLD, 1.0, -1.0) * np.where(rng.random(n) < noise, -1.0, 1.0)


def _true_error(rule: StumpClassifier, noise: float) -> float:
    """e_out of a fitted threshold: the noise, and the stretch where it is on the wrong side."""
    low, high = rule.below_, rule.above_
    at = min(max(rule.threshold_, 0.0), 1.0)
    wrong = [
        (at - THRESHOLD if at > THRESHOLD else 0.0) if low < 0 else min(at, THRESHOLD),
        max(0.0, THRESHOLD - at) if high > 0 else 1.0 - max(at, THRESHOLD),
    ]
    return noise + (1 - 2 * noise) * float(sum(wrong))


def _margin(n: int, delta: float, rng: np.random.Generator) -> Checked:
    y = rng.choice([-1.0, 1.0], n)
    if abs(y.sum()) == n:
        y[0] = -y[0]
    center = np.array([1.0, 0.5])
    X = rng.normal(size=(n, 2)) + y[:, None] * center
    means = X[y > 0].mean(axis=0), X[y < 0].mean(axis=0)
    w = means[0] - means[1]
    b = -float(w @ (means[0] + means[1])) / 2
    model = SimpleNamespace(coef_=w, intercept_=b, classes_=np.array([-1.0, 1.0]))
    reach = np.array([w @ center + b, w @ center - b]) / np.linalg.norm(w)
    return "margin", float(norm.sf(reach).mean()), theorems.linear_margin_bound(model, X, y, delta)
