"""
The honest error of a search
============================

The best of many estimates is an optimistic one: part of its lead is luck. Here there is nothing to learn at all,
and the best cross-validated score still promises something. ``honest_score_`` takes the luck out, at no further
fit.
"""

# %%
# Labels that are coin flips
# --------------------------

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from outsample import CrossValidation, GridSearch

rng = np.random.default_rng(0)
grid = {"n_neighbors": range(1, 41), "p": [1, 2]}
best, honest = [], []
for _ in range(30):
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 2, 60)
    search = GridSearch(KNeighborsClassifier(), grid, criterion=CrossValidation(5), honest="bootstrap", random_state=0)
    search.fit(X, y)
    best.append(1 - search.best_score_)
    honest.append(search.honest_score_.out_sample)

print(f"mean error of the best candidate {np.mean(best):.3f}; honest {np.mean(honest):.3f}; the truth is 0.500")

# %%
# The picture
# -----------
# Thirty data sets of pure noise. The error of the chosen model as the search reports it, and corrected for having
# chosen.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
bins = np.linspace(0.2, 0.7, 26)
ax.hist(best, bins, alpha=0.75, color="#D55E00", label="best candidate, as reported")
ax.hist(honest, bins, alpha=0.65, color="#0072B2", hatch="//", edgecolor="white", label="honest_score_")
ax.axvline(0.5, color="black", linestyle="--", label="the truth")
ax.set_xlabel("estimated share of wrong labels")
ax.set_ylabel("data sets")
ax.legend(frameon=False)
