"""
The swap on real data
=====================

Six jobs as people have them, on tables that come with scikit-learn. Each is run twice: with
``GridSearchCV(cv=5)``, and with ``GridSearch`` in its place. A quarter of the rows is kept aside to see which
choice was better.
"""

# %%
# The jobs
# --------

import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch

scaled = make_pipeline(StandardScaler(), KNeighborsClassifier())
jobs = {
    "tree, 49 sizes": (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": range(2, 51)}, load_breast_cancer),
    "k-NN, 40 values": (KNeighborsClassifier(), {"n_neighbors": range(1, 41)}, load_breast_cancer),
    "scaler + k-NN, 30 values": (scaled, {"kneighborsclassifier__n_neighbors": range(1, 31)}, load_wine),
    "ridge, 50 values": (Ridge(), {"alpha": np.logspace(-4, 3, 50)}, load_diabetes),
    "k-NN regression, 40 values": (KNeighborsRegressor(), {"n_neighbors": range(1, 41)}, load_diabetes),
    "naive Bayes, 30 values": (GaussianNB(), {"var_smoothing": np.logspace(-12, 0, 30)}, load_breast_cancer),
}


def timed(search, X, y):
    """The fitted search, and the processor time it took."""
    started = time.process_time()
    search.fit(X, y)
    return search, time.process_time() - started


# %%
# Run them
# --------

rows = []
for name, (estimator, grid, load) in jobs.items():
    X, X_new, y, y_new = train_test_split(*load(return_X_y=True), test_size=0.25, random_state=0)
    theirs, their_time = timed(GridSearchCV(estimator, grid, cv=5), X, y)
    GridSearch(estimator, grid, random_state=0).fit(X, y)  # the first use compiles; kept on disk
    ours, our_time = timed(GridSearch(estimator, grid, random_state=0), X, y)
    # The score of the learner itself, accuracy or r2, of both choices on the rows that were kept aside.
    scores = theirs.best_estimator_.score(X_new, y_new), ours.best_estimator_.score(X_new, y_new)
    rows.append((name, their_time / our_time, *scores))
    print(f"{name:27}  {their_time / our_time:5.0f} times less   {scores[0]:.3f} → {scores[1]:.3f}")

# %%
# The picture
# -----------
# How many times less processor time each job takes, and the score of the chosen model on new rows, before and after.

import matplotlib.pyplot as plt

names, ratios, before, after = zip(*rows, strict=True)
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
bars = ax.barh(names, ratios, color="#0072B2")
ax.bar_label(bars, [f"{r:.0f} ×   {b:.3f} → {a:.3f}" for r, b, a in zip(ratios, before, after, strict=True)], padding=4)
ax.set_xscale("log")
ax.set_xlim(1, 40 * max(ratios))
ax.invert_yaxis()
ax.set_xlabel("times less processor time than GridSearchCV(cv=5)\nand the score on new rows, before → after")
ax.spines[["top", "right"]].set_visible(False)
