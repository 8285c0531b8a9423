"""Do the bounds hold? Every bound, on simulated problems whose true errors are known, must fail in at most δ of them.

Points are uniform on [0, 1], labels follow a threshold and are flipped with a given probability; the hypothesis set is
all thresholds in both directions (VC dimension 2, 2n labellings of n points), its risk minimiser is found exactly, and
its out-sample error is a formula. The margin bound is checked on two Gaussian clouds, divided halfway between their
means.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.stats import norm

import outsample
from outsample import bounds as theorems
from outsample.hypotheses import HypothesisSet, threshold_hypotheses
from studies.shared import Finding, Options, Result, study

SETTINGS = ((30, 0.05), (30, 0.3), (100, 0.1), (300, 0.2))
N_DRAWS, THRESHOLD, DELTA = 30, 0.4, 0.05

Checked = tuple[str, float, Any]
"""(name of the bound, what it limits, the bound)."""


@study("problems", n=2000, quick={"n": 40})
def bounds(options: Options) -> Result:
    """How often each bound holds, on simulated problems with known errors."""
    rng = np.random.default_rng(options.seed)
    found: dict[str, list[tuple[float, float, float]]] = {}
    for k in range(options.n):
        for name, truth, bound in problem(*SETTINGS[k % len(SETTINGS)], rng):
            found.setdefault(name, []).append((truth, float(bound), float(bound.printed)))
    # P_out, the mean of P_in over the problems of one setting, against the bound of each of them.
    for name in [name for name in found if name.startswith("P_in")]:
        values = np.array(found.pop(name))
        values[:, 0] = values[:, 0].mean()
        found.setdefault("mean complexity", []).extend(map(tuple, values.tolist()))
    findings, fails = [], []
    for name, rows in found.items():
        truth, limit, printed = np.array(rows).T
        shares = {"held": truth <= limit, "held as printed": truth <= printed, "vacuous": limit >= 1}
        findings += [
            Finding("share of problems", name, method, float(share.mean())) for method, share in shares.items()
        ]
        findings += [
            Finding("mean", name, method, float(v.mean())) for method, v in (("bound", limit), ("truth", truth))
        ]
        if np.mean(truth <= limit) < 1 - DELTA:
            fails.append(name)
    verdict = f"these bounds fail too often: {', '.join(fails)}" if fails else "every bound holds"
    notes = (f"{verdict}: {options.n} problems, at least {1 - DELTA:g} required",)
    return Result("bounds", f"How often each bound held in {options.n} problems", tuple(findings), notes)


def problem(n: int, noise: float, rng: np.random.Generator) -> Iterator[Checked]:
    """Every bound on one problem."""
    x, y = thresholded(n, noise, rng)
    rule, hypotheses = outsample.StumpClassifier().fit(x[:, None], y), threshold_hypotheses(x)
    e_in, e_out = float((1 - hypotheses.maxima(y[None])[0]) / 2), true_error(rule, noise)
    size: dict[str, Any] = {"n": n, "delta": DELTA}
    yield from complexity_bounds(hypotheses, y, e_in, e_out, noise, rng)
    yield "VC dimension", e_out, theorems.vc_bound(in_sample=e_in, dimension=2, **size)
    yield "shatter coefficient", e_out, theorems.shatter_bound(in_sample=e_in, log_shatter=math.log(4 * n), **size)
    entropy = math.log(hypotheses.shatter_coefficient)
    yield "VC entropy", e_out, theorems.vc_entropy_bound(in_sample=e_in, log_shatter=entropy, **size)
    yield "empirical VC dimension", e_out, theorems.empirical_vc_bound(in_sample=e_in, dimension=2, **size)
    x_new, y_new = thresholded(n, noise, rng)
    held_out = float((rule.predict(x_new[:, None]) != y_new).mean())
    yield "hold-out", e_out, theorems.holdout_bound(holdout_error=held_out, n_holdout=n, delta=DELTA)
    yield margin(n, rng)


def complexity_bounds(
    hypotheses: HypothesisSet, y: np.ndarray, e_in: float, e_out: float, noise: float, rng: np.random.Generator
) -> Iterator[Checked]:
    """The bounds by labels drawn; maxima over the set of hypotheses are exact."""
    n = len(y)
    size: dict[str, Any] = {"n": n, "delta": DELTA}
    on_permutations = hypotheses.maxima(rng.permuted(np.tile(y, (N_DRAWS, 1)), axis=1))
    P_in, one = float(on_permutations.mean()), float(on_permutations[0])
    yield "permutation", e_out, theorems.permutation_bound(in_sample=e_in, complexity=P_in, n_draws=N_DRAWS, **size)
    yield "one permutation", P_in, theorems.one_permutation_bound(complexity=one, **size)
    yield f"P_in {n} {noise}", P_in, theorems.permutation_complexity_bound(complexity=P_in, **size)
    signs = rng.choice([-1.0, 1.0], (N_DRAWS, n))
    maxima = hypotheses.maxima(signs)
    R = float(maxima.mean())
    yield "Rademacher", e_out, theorems.rademacher_bound(in_sample=e_in, complexity=R, n_draws=N_DRAWS, **size)
    flipped = (signs != y).mean(axis=1)
    M = float(np.clip((maxima + 2 * flipped - 1).mean(), -1.0, 1.0))
    bound = theorems.expected_discrepancy_bound(in_sample=e_in, discrepancy=M, n_draws=N_DRAWS, **size)
    yield "expected discrepancy", e_out, bound
    half = np.where(rng.permutation(n) < n // 2, -y, y)
    D = float(hypotheses.maxima(half[None])[0])
    yield "maximal discrepancy", e_out, theorems.maximal_discrepancy_bound(in_sample=e_in, discrepancy=D, **size)


def thresholded(n: int, noise: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points and noisy labels ±1."""
    x = rng.random(n)
    return x, np.where(x > THRESHOLD, 1.0, -1.0) * np.where(rng.random(n) < noise, -1.0, 1.0)


def true_error(rule: Any, noise: float) -> float:
    """e_out of a fitted threshold: the noise, and the stretch where it is on the wrong side."""
    at = min(max(rule.threshold_, 0.0), 1.0)
    below = max(at - THRESHOLD, 0.0) if rule.below_ < 0 else min(at, THRESHOLD)
    above = max(0.0, THRESHOLD - at) if rule.above_ > 0 else 1.0 - max(at, THRESHOLD)
    return noise + (1 - 2 * noise) * float(below + above)


def margin(n: int, rng: np.random.Generator) -> Checked:
    """The margin bound on two Gaussian clouds."""
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
    return "margin", float(norm.sf(reach).mean()), theorems.linear_margin_bound(model, X, y, DELTA)
