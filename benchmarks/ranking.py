"""How often does the interval around an area under the ROC curve cover that of the fitted model?

Two normal classes, three columns, one of which tells them apart by `gap`; linear discriminants, whose area is known,
and fifteen neighbours, judged on 1500 new rows. Samples of 50, 100 and 300 rows, half or a twentieth of them positive.
Beside the share that is covered stands the median width of the intervals.

    python benchmarks/ranking.py [--samples 300]
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

import outsample

SIZES, PREVALENCES, GAPS = (50, 100, 300), (0.05, 0.5), (1.2, 3.5)
LEARNERS = {"linear discriminant": LinearDiscriminantAnalysis(), "neighbours": KNeighborsClassifier(15)}


def sample(rng: np.random.Generator, n: int, prevalence: float, gap: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels; two rows at least are positive."""
    y = np.arange(n) < max(2, round(prevalence * n))
    X = rng.normal(size=(n, 3))
    X[y, 0] += gap
    return X, y.astype(int)


def true_area(model: object, gap: float, rng: np.random.Generator) -> float:
    """The area under the ROC curve of a fitted model on new rows."""
    if isinstance(model, LinearDiscriminantAnalysis):
        w = model.coef_[0]
        return float(norm.cdf(w[0] * gap / np.sqrt(2) / np.linalg.norm(w)))
    X, y = sample(rng, 1500, 0.5, gap)
    return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))


def main() -> None:
    """Print a line for every cell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=300)
    n_samples = parser.parse_args().samples
    for name, learner in LEARNERS.items():
        for n, prevalence, gap in [(n, p, g) for n in SIZES for p in PREVALENCES for g in GAPS]:
            rng, covered, widths = np.random.default_rng(n), [], []
            for _ in range(n_samples):
                X, y = sample(rng, n, prevalence, gap)
                low, high = outsample.estimate(learner, X, y, loss="roc_auc", random_state=0).interval()
                covered.append(low <= true_area(learner.fit(X, y), gap, rng) <= high)
                widths.append(high - low)
            cell = f"{name}, n = {n}, {prevalence:.0%} positive, gap {gap}"
            print(f"{cell}: {np.mean(covered):.3f}, {np.median(widths):.2f}", flush=True)


if __name__ == "__main__":
    main()
