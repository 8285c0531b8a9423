"""
Start here
==========

outsample answers two questions. *How good will this model be on new data? Which model should I pick?* It takes any
scikit-learn estimator, and what you know of ``GridSearchCV`` is all you need to know: swap one name.
"""

# %%
# The swap
# --------
# A decision tree on real data, 569 tumours with 30 measurements each. Which size of tree?

import time

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import GridSearch

X, y = load_breast_cancer(return_X_y=True)
tree = DecisionTreeClassifier(random_state=0)
grid = {"max_leaf_nodes": range(2, 51)}
outsample.estimate(tree, X, y, random_state=0)  # compiles on first use; kept on disk

started = time.process_time()
theirs = GridSearchCV(tree, grid, cv=10).fit(X, y)
their_time = time.process_time() - started

started = time.process_time()
ours = GridSearch(tree, grid, random_state=0).fit(X, y)
our_time = time.process_time() - started

print(f"GridSearchCV: {theirs.best_params_}, 490 fits, {their_time:.2f} s of processor time")
print(
    f"GridSearch:   {ours.best_params_}, {ours.n_fits_} fits, {our_time:.2f} s: {their_time / our_time:.0f} times less"
)

# %%
# ``ours`` is a ``GridSearchCV``: ``best_estimator_``, ``best_score_``, ``cv_results_`` and ``predict`` are where they
# were. All 49 trees are read off one growth for each part of the rows, so that the fits do not grow with the grid.
#
# What to expect
# --------------
# ``estimate_`` is the error of the chosen model on new data, with its error bars:

print(ours.estimate_)

# %%
# The picture
# -----------
# Training error falls for ever; the error on new data does not. The band between them is the optimism.
# ``ours.curve_.plot()`` draws it in one call; here it is drawn by hand.

import matplotlib.pyplot as plt

curve, chosen = ours.curve_, ours.best_params_["max_leaf_nodes"]
leaves = [setting["max_leaf_nodes"] for setting in curve.params]
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.fill_between(leaves, curve.in_sample, curve.out_sample, color="#D55E00", alpha=0.12, label="optimism")
ax.plot(leaves, curve.in_sample, ":", color="#555555", label="training error")
ax.plot(leaves, curve.out_sample, "-", color="#0072B2", linewidth=2, label="error on new data, estimated")
mark = f"chosen: {chosen} leaves, {ours.n_fits_} fits for {len(leaves)} trees"
ax.plot(chosen, curve.out_sample[leaves.index(chosen)], "ko", markersize=11, fillstyle="none", label=mark)
ax.set_ylim(0)
ax.set_xlabel("leaves of the tree")
ax.set_ylabel("share of wrong labels")
ax.legend(frameon=False, fontsize=9)
ax.spines[["top", "right"]].set_visible(False)

# %%
# One model, no search
# --------------------
# The same question for a model as it is:

print(outsample.estimate(DecisionTreeClassifier(max_leaf_nodes=6, random_state=0), X, y, random_state=0))

# %%
# Where to go
# -----------
# - Which criterion for which data and learner? :doc:`/which-criterion` answers in one table. Without asking, ``"auto"``
#   takes the one that fits.
# - The guide goes by question: :doc:`estimate </estimate>`, :doc:`choose </choosing>`,
#   :doc:`compare learners </compare-models>`, :doc:`keep a test set sealed </three-sets>`,
#   :doc:`test and audit </audit>`, :doc:`complexity and guarantees </guarantees>`.
# - :doc:`/numbers` says what every number means and what its interval covers.
# - :doc:`The gallery </gallery/index>` has a script and a picture for each.
