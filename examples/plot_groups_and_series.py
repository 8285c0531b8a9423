"""
Groups and series
=================

Rows that belong together (patients, sites, days) must not stand on both sides of a split. Say which by
``groups=``; the same word serves every criterion. For a series, hand over a splitter of scikit-learn.
"""

# %%
# Forty patients, ten visits each
# -------------------------------
# The label is a trait of the patient. Neighbours recognise patients, not the trait.

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier

from outsample import CrossValidation, GridSearch, estimate

rng = np.random.default_rng(0)
patient = np.repeat(np.arange(40), 10)
X = rng.normal(size=(40, 6))[patient] + 0.3 * rng.normal(size=(400, 6))
y = rng.integers(0, 2, 40)[patient]
knn = KNeighborsClassifier(3)

blind = estimate(knn, X, y, criterion="kfold", random_state=0)
told = estimate(knn, X, y, criterion="kfold", groups=patient, random_state=0)
print(f"rows taken as independent: error {blind.out_sample:.2f}; whole patients left out: {told.out_sample:.2f}")

search = GridSearch(knn, {"n_neighbors": range(1, 31)}, criterion="kfold", random_state=0).fit(X, y, groups=patient)
print(f"with groups the search finds nothing either: {search.estimate_.out_sample:.2f} by {search.best_params_}")

# %%
# A series
# --------
# Three years of made-up temperatures, seasons and a slow drift. A forest that has seen tomorrow predicts today well.

day = np.arange(1095)
temperature = 12 - 9 * np.cos(2 * np.pi * day / 365) + np.cumsum(rng.normal(0, 0.15, day.size))
T = np.column_stack([day % 365, day])
forest = RandomForestRegressor(30, min_samples_leaf=3, random_state=0)
shuffled = estimate(forest, T, temperature, criterion=CrossValidation(5, shuffle=True), random_state=0)
forward = estimate(forest, T, temperature, criterion=CrossValidation(TimeSeriesSplit(5)), random_state=0)
print(
    f"squared error, days shuffled: {shuffled.out_sample:.2f}; the past predicts the future: {forward.out_sample:.2f}"
)

# %%
# The picture
# -----------

import matplotlib.pyplot as plt

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
left.bar(["rows", "whole patients"], [blind.out_sample, told.out_sample], color=["#D55E00", "#0072B2"])
left.axhline(0.5, color="black", linestyle="--")
left.text(-0.4, 0.51, "guessing")
left.set_ylabel("estimated share of wrong labels")
left.set_xlabel("what is left out")
right.bar(["days at random", "the future"], [shuffled.out_sample, forward.out_sample], color=["#D55E00", "#0072B2"])
right.set_ylabel("estimated squared error")
right.set_xlabel("what is left out")
