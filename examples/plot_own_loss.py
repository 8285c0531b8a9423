"""
Your own loss, and a scorer nobody has heard of
===============================================

``loss=`` takes a name, a cost matrix, a function, or any scorer of scikit-learn. Here a missed tumour costs ten
times a false alarm, and the best tree is another one.
"""

# %%
# A cost matrix
# -------------
# ``C[true class, predicted class]``, classes sorted: 0 is malignant, 1 is benign.

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch, estimate

X, y = load_breast_cancer(return_X_y=True)
tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
grid = {"max_leaf_nodes": range(2, 31)}
losses = {
    "every mistake alike": "zero-one",
    "a missed tumour costs ten": [[0, 10], [1, 0]],
    "a function": lambda truth, said: np.where(truth == said, 0.0, np.where(truth == 0, 10.0, 1.0)),
}
found = {name: GridSearch(tree, grid, loss=loss, random_state=0).fit(X, y) for name, loss in losses.items()}
for name, search in found.items():
    print(
        f"{name:27} {search.best_params_['max_leaf_nodes']:2} leaves, expected loss {search.estimate_.out_sample:.3f}"
    )

# %%
# The matrix and the function say the same thing, and give the same answer.
#
# An unknown scorer
# -----------------
# Scores come back in their own scale, greater is better.

f2 = make_scorer(fbeta_score, beta=2, pos_label=0)
result = estimate(
    DecisionTreeClassifier(max_leaf_nodes=6, random_state=0), X, y, loss=f2, criterion="kfold", random_state=0
)
print(f"F2 of malignant tumours on new data: {result.out_sample:.3f} (on the rows fitted: {result.in_sample:.3f})")

# %%
# The picture
# -----------

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
for (name, search), style in zip(list(found.items())[:2], ("o-", "s--"), strict=True):
    risk = search.curve_.out_sample
    leaves = [setting["max_leaf_nodes"] for setting in search.curve_.params]
    (line,) = ax.plot(leaves, risk / risk.min(), style, markersize=4, label=name)
    ax.plot(leaves[risk.argmin()], 1, "o", markersize=13, fillstyle="none", color=line.get_color())
ax.set_xlabel("leaves")
ax.set_ylabel("expected loss, relative to the best tree")
ax.legend(frameon=False)
