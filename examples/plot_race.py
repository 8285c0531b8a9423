"""
The race
========

Some learners have no short way: a support vector machine must be refitted for every setting and every fold. Then
candidates race. All go over the same folds; after each fold, those that can no longer win are dropped.
"""

# %%
# 36 candidates
# -------------

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from outsample import GridSearch

X, y = load_breast_cancer(return_X_y=True)
machine = make_pipeline(StandardScaler(), SVC())
grid = {"svc__C": np.logspace(-2, 3, 6), "svc__gamma": np.logspace(-5, 0, 6)}
search = GridSearch(machine, grid, criterion="race", random_state=0).fit(X, y)

print(search.best_params_, f"{search.best_score_:.3f}")
print(search.curve_.race)

# %%
# The picture
# -----------
# Grey lines end with a cross where a candidate was dropped; the winner runs to the end, so that its estimate is that of
# all ten folds.

search.curve_.race.plot()

# %%
# The record says of every candidate why it left, and how far behind it was then:

search.curve_.race.to_frame().head()
