"""
Polynomial degree
=================

The picture every course begins with: training error falls with the degree, validation error falls and rises again.
Here it is with the validation procedure of textbooks, ``outsample.validate``, and with leave-one-out beside it,
which needs no validation set.
"""

# %%
# Fifty points of a sine
# ----------------------

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import outsample

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(50, 1))
y = np.sin(3 * X[:, 0]) + rng.normal(0, 0.3, 50)
model = make_pipeline(PolynomialFeatures(), LinearRegression())
grid = {"polynomialfeatures__degree": range(1, 13)}

found = outsample.validate(model, grid, X[:30], y[:30], X[30:], y[30:])
print("chosen by a validation set of 20:", found.best_params)
search = outsample.GridSearch(model, grid, criterion="loo").fit(X, y)
print("chosen by leaving out one row at a time, all 50 fitted:", search.best_params_)

# %%
# The picture
# -----------

import matplotlib.pyplot as plt

degrees = list(grid["polynomialfeatures__degree"])
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.plot(degrees, found.curve.in_sample, "o:", color="#555555", label="training set")
left.plot(degrees, found.curve.out_sample, "s-", color="#D55E00", label="validation set")
left.plot(degrees, search.curve_.out_sample, "D--", color="#0072B2", label="leave-one-out, all rows")
left.set_yscale("log")
left.set_yticks([0.05, 0.1, 0.2, 0.4], ["0.05", "0.1", "0.2", "0.4"])
left.minorticks_off()
left.set_xlabel("degree")
left.set_ylabel("squared error")
left.legend(frameon=False)
line = np.linspace(-1, 1, 200)[:, None]
right.plot(X, y, ".", color="#999999")
right.plot(
    line, search.predict(line), color="#0072B2", label=f"degree {search.best_params_['polynomialfeatures__degree']}"
)
wild = model.set_params(polynomialfeatures__degree=12).fit(X[:30], y[:30])
right.plot(line, wild.predict(line), ":", color="#555555", label="degree 12, 30 points")
right.set_ylim(-2, 2)
right.set_xlabel("x")
right.set_xticks([-1, 0, 1])
right.legend(frameon=False)
