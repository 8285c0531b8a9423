"""
Overtuning, and the verdict
===========================

Is tuning worth it here? ``verdict_`` answers in a sentence: what it gained over the learner's own defaults, give or
take how much, whether the best value lies on the edge of the grid, and whether the choice was close.
"""

# %%
# Much to gain
# ------------
# A tree that is left alone grows until it has learned the noise by heart.

from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeRegressor

from outsample import GridSearch

grid = {"min_samples_leaf": range(1, 61, 3)}
tree = GridSearch(DecisionTreeRegressor(random_state=0), grid, criterion="kfold", loss="squared", random_state=0)
tree.fit(*load_diabetes(return_X_y=True))
print(tree.verdict_)

# %%
# Nothing to gain
# ---------------
# The best of sixty numbers of neighbours looks better than the default. That is luck, and the verdict says so.

neighbours = GridSearch(KNeighborsClassifier(), {"n_neighbors": range(1, 61)}, random_state=0)
neighbours.fit(*load_breast_cancer(return_X_y=True))
print(neighbours.verdict_)

# %%
# The picture
# -----------
# ``plausible_`` holds the positions of all candidates that cannot be told from the best, at level 0.95.

import matplotlib.pyplot as plt

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
searches = {"rows in a leaf, at least": tree, "neighbours": neighbours}
for ax, (across, search) in zip(axes, searches.items(), strict=True):
    settings = [next(iter(setting.values())) for setting in search.cv_results_["params"]]
    risk = -search.cv_results_["mean_test_score"]
    risk = 1 + risk if across == "neighbours" else risk
    may = list(search.plausible_)
    ax.plot(settings, risk, "o", color="#BBBBBB", markersize=4, label="cannot be the best")
    ax.plot(
        [settings[i] for i in may], risk[may], "o", color="#0072B2", markersize=5, label=f"may be the best: {len(may)}"
    )
    ax.plot(settings[search.best_index_], risk[search.best_index_], "*", color="#D55E00", markersize=15, label="chosen")
    ax.set_xlabel(across)
    ax.legend(frameon=False, fontsize="small")
axes[0].set_ylabel("squared error")
axes[1].set_ylabel("share of wrong labels")
