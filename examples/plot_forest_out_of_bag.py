"""
A forest tuned out of bag
=========================

Every tree of a forest leaves out about a third of the rows. Those rows judge it, so that *one* fit per setting is
enough, and the fit of the winner is the model you get: nothing is refitted.
"""

# %%
# Nine settings, nine fits
# ------------------------

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from outsample import GridSearch

X, X_new, y, y_new = train_test_split(*load_breast_cancer(return_X_y=True), test_size=0.3, random_state=0)
forest = RandomForestClassifier(random_state=0)
grid = {"max_features": [2, 5, 10], "min_samples_leaf": [1, 3, 9]}
search = GridSearch(forest, grid, criterion="oob", random_state=0).fit(X, y)

print(f"{search.n_fits_} fits for {len(search.curve_)} settings; GridSearchCV(cv=5) takes 46")
print(search.best_params_, f"error on new rows {1 - search.best_estimator_.score(X_new, y_new):.3f}")
print(search.estimate_)

# %%
# How many trees?
# ---------------
# The number of trees costs nothing at all: smaller forests are the first trees of the largest one.

sizes = [5, 10, 20, 40, 80, 160]
by_size = GridSearch(forest, {"n_estimators": sizes}, criterion="oob", random_state=0).fit(X, y)
print(f"{len(sizes)} sizes from {by_size.n_fits_} fit")

# %%
# The picture
# -----------
# What is estimated from the rows that each tree did not see, against the error on rows that no tree saw.

import matplotlib.pyplot as plt

new = [1 - RandomForestClassifier(m, random_state=0).fit(X, y).score(X_new, y_new) for m in sizes]
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
curve = by_size.curve_
ax.errorbar(
    sizes, curve.out_sample, curve.standard_error, fmt="o-", color="#0072B2", capsize=3, label="out of bag, one fit"
)
ax.plot(sizes, new, "s--", color="#D55E00", label="new rows, six fits")
ax.set_xscale("log")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.set_xlabel("trees in the forest")
ax.set_ylabel("share of wrong labels")
ax.legend(frameon=False)
