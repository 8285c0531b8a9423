"""
Boosting stages
===============

How many stages should boosting run? A run of 150 stages contains every shorter one. A search over the number of
stages is therefore one fit for each part of the rows, however many values the grid has, whatever the loss or
scorer.
"""

# %%
# 150 models per fit
# ------------------

from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

from outsample import GridSearch

X, y = load_diabetes(return_X_y=True)
boosting = GradientBoostingRegressor(learning_rate=0.1, max_depth=3, random_state=0)
search = GridSearch(boosting, {"n_estimators": range(1, 151)}, criterion="kfold", loss="squared", random_state=0)
search.fit(X, y)
print(f"{search.n_fits_} fits for 150 models; GridSearchCV(cv=10) takes 1500")
print(search.best_params_)

# %%
# The picture
# -----------
# Each further stage fits the training rows better. New rows disagree after a few dozen.

import matplotlib.pyplot as plt

curve = search.curve_
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
stages = [setting["n_estimators"] for setting in curve.params]
ax.plot(stages, curve.in_sample, ":", color="#555555", label="rows fitted")
ax.plot(stages, curve.out_sample, "-", color="#0072B2", label="rows left out, ten folds")
low, high = curve.out_sample - curve.standard_error, curve.out_sample + curve.standard_error
ax.fill_between(stages, low, high, color="#0072B2", alpha=0.15, label="± standard error")
ax.axvline(search.best_params_["n_estimators"], color="#D55E00", linestyle="--", label="chosen")
ax.set_xlabel("stages")
ax.set_ylabel("squared error")
ax.legend(frameon=False)
