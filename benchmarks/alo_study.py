"""How far approximate leave-one-out is from n refits on simulated tables, where it leaves no doubt and where it does.

python benchmarks/alo_study.py 40        # tables per learner; prints a Markdown table

Tables differ in rows, columns, strength of the signal, sparsity of the truth, correlation, tails, balance of classes,
duplicated rows, collinear columns and weights; penalties from strong to nearly none. Exact leave-one-out refits by the
path of the learner, solved to convergence. Log and zero-one loss for classifiers, squared loss for regression.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict

import numpy as np
from measuring import table
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, PoissonRegressor
from sklearn.svm import LinearSVC

from outsample import ApproximateLeaveOneOut, LeaveOneOut
from outsample.problem import pose

TIGHT = {"tol": 1e-10, "max_iter": 20_000}
LEARNERS = {
    "logistic": (LogisticRegression(**TIGHT), "C", np.logspace(-3, 4, 5), "two"),
    "logistic, balanced": (LogisticRegression(class_weight="balanced", **TIGHT), "C", np.logspace(-2, 3, 3), "two"),
    "multinomial": (LogisticRegression(**TIGHT), "C", np.logspace(-3, 3, 4), "three"),
    "logistic, l1": (LogisticRegression(l1_ratio=1, solver="saga", **TIGHT), "C", np.logspace(-1, 1, 3), "two"),
    "squared hinge": (LinearSVC(dual=False, tol=1e-8, max_iter=100_000), "C", np.logspace(-3, 2, 4), "margin"),
    "poisson": (PoissonRegressor(tol=1e-8, max_iter=5000), "alpha", np.logspace(-4, 1, 4), "count"),
    "lasso": (Lasso(), "alpha", np.logspace(-3, 0, 5), "real"),
    "elastic net": (ElasticNet(l1_ratio=0.5), "alpha", np.logspace(-3, 0, 5), "real"),
}
LOSSES = {
    "margin": ("zero-one",),
    "two": ("log", "zero-one"),
    "three": ("log", "zero-one"),
    "count": ("squared",),
    "real": ("squared",),
}


def simulated(rng, kind):
    """(X, y, weight, what is special about them)."""
    n, special = int(rng.integers(25, 110)), rng.choice(["plain", "tails", "duplicates", "collinear", "wide", "coarse"])
    p = int(rng.integers(2, 12)) if special != "wide" else int(n * rng.uniform(1, 2))
    X = rng.standard_t(2, size=(n, p)) if special == "tails" else rng.normal(size=(n, p))
    if special == "collinear":
        X = np.column_stack([X, X[:, 0] + 1e-3 * rng.normal(size=n), X[:, 0]])
    if special == "coarse":
        X = (X > 0.8).astype(float)
    if special == "duplicates":
        X = X[rng.integers(0, n // 2, n)]
    truth = (
        rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < rng.choice([0.3, 1.0])) * rng.choice([0.3, 1, 3, 10])
    )
    signal = X @ truth / np.sqrt(X.shape[1]) + rng.choice([0.0, 2.0])
    weight = rng.integers(1, 5, n).astype(float) if rng.random() < 0.3 else None
    if kind == "real":
        return X, signal + (rng.standard_t(2, n) if rng.random() < 0.3 else rng.normal(size=n)), weight, special
    if kind == "count":
        return X, rng.poisson(np.exp(np.clip(0.5 * signal, -3, 3))).astype(float), weight, special
    scores = np.column_stack([signal, 0 * signal, X[:, 0]])[:, : 3 if kind == "three" else 2]
    y = np.argmax(scores + rng.gumbel(size=scores.shape) * rng.choice([0.01, 1.0]), axis=1)
    counts = np.bincount(y, minlength=scores.shape[1])
    return (X, y, weight, special) if counts.min() >= 2 else simulated(rng, kind)


def compared(name, seed):
    """Per loss and model: (special, loss, relative difference, rows in doubt, rows, refits, exact risk)."""
    learner, parameter, values, kind = LEARNERS[name]
    X, y, weight, special = simulated(np.random.default_rng([seed, len(name)]), kind)
    found = []
    for loss in LOSSES[kind]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            asked = {"loss": loss, "sample_weight": weight, "random_state": 0, "parameter": parameter, "values": values}
            problem = pose(learner, X, y, **asked)
            ours, exact = ApproximateLeaveOneOut().curve(problem), LeaveOneOut().curve(problem)
        for m in range(len(values)):
            off = ours.out_sample[m] - exact.out_sample[m]
            relative = off * len(y) if loss == "zero-one" else off / max(exact.out_sample[m], 1e-300)
            found.append(
                (special, loss, relative, int(ours.in_doubt[m]), ours.n_fits / len(values), problem.path.params[m])
            )
    return found


def main() -> None:
    """Print the table."""
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    names = sys.argv[2:] or list(LEARNERS)
    rows = []
    for name in names:
        by_loss = defaultdict(list)
        for seed in range(tables):
            for special, loss, off, doubt, fits, params in compared(name, seed):
                by_loss[loss].append((abs(off), doubt > 0, fits))
                limit = 1.5 if loss == "zero-one" else 0.01
                if not doubt and abs(off) > limit:
                    print(f"  {name} {loss} table {seed} {special} {params}: {off:+.4f}", file=sys.stderr)
        for loss, found in by_loss.items():
            off, doubt, fits = (np.array(column) for column in zip(*found, strict=True))
            sure = off[~doubt]
            unit = (lambda v: f"{v:.2g} rows") if loss == "zero-one" else (lambda v: f"{v:.3%}")
            beyond = (sure > (1.5 if loss == "zero-one" else 0.01)).mean() if len(sure) else 0.0
            worst = unit(sure.max()) if len(sure) else "–"
            cells = [name, loss, str(len(off)), f"{doubt.mean():.1%}", f"{beyond:.2%}", worst, f"{fits.mean():.2f}"]
            rows.append([*cells, unit(off[doubt].max()) if doubt.any() else "–"])
            print(cells, file=sys.stderr)
    header = [
        "learner",
        "loss",
        "models",
        "in doubt",
        "beyond 1 %",
        "worst without doubt",
        "fits a model",
        "worst in doubt",
    ]
    print("\n".join(table(header, rows)))


if __name__ == "__main__":
    main()
