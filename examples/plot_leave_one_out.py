"""
Leave-one-out in one pass
=========================

Leave each row out once: the least biased of all splits, and for most learners the most expensive. Linear models,
neighbours, naive Bayes and discriminants tell what they would have said of every row without it, from one pass.
"""

# %%
# 442 rows × 60 values of alpha, no refit
# ---------------------------------------

import time

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from outsample import GridSearch

X, y = load_diabetes(return_X_y=True)
alphas = np.logspace(-4, 2, 60)
search = GridSearch(Ridge(), {"alpha": alphas}, criterion="loo").fit(X, y)
print(f"{search.n_fits_} fit instead of {len(y) * len(alphas)}; best {search.best_params_}")

# %%
# It is not an approximation. One value of alpha, refitted 442 times by scikit-learn:

alpha = search.best_params_["alpha"]
started = time.process_time()
by_refits = np.mean((y - cross_val_predict(Ridge(alpha), X, y, cv=LeaveOneOut())) ** 2)
seconds = time.process_time() - started
print(
    f"difference to 442 refits: {abs(by_refits - search.curve_.out_sample.min()):.1e}; the refits took {seconds:.1f} s"
)

# %%
# The picture
# -----------

import matplotlib.pyplot as plt

curve = search.curve_
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
shown = [setting["alpha"] for setting in curve.params]
ax.plot(shown, curve.in_sample, ":", color="#555555", label="rows fitted")
ax.plot(shown, curve.out_sample, "-", color="#0072B2", label="each row left out once, exactly")
ax.plot(alpha, by_refits, "*", markersize=14, color="#D55E00", label="442 refits by scikit-learn")
ax.set_xscale("log")
ax.set_xlabel("alpha")
ax.set_ylabel("squared error")
ax.legend(frameon=False)
