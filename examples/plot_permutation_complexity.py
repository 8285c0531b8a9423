"""
Permutation complexity and its bound
====================================

How well can a set of models fit labels that mean nothing? That is its complexity *on these data*, and with it
comes a bound on the error that holds with probability 95 % for all its models at once.
"""

# %%
# Complexity of one decision stump
# --------------------------------
# ``StumpClassifier`` searches all thresholds of all columns, so that the maximum in the definition is found.

import numpy as np
from sklearn.datasets import load_breast_cancer

import outsample

X, y = load_breast_cancer(return_X_y=True)
stump = outsample.StumpClassifier()
complexity = outsample.permutation_complexity(stump, X, y, n_draws=50, random_state=0)
fitted = outsample.estimate(stump, X, y, criterion="resubstitution")
bound = outsample.bounds.permutation_bound(
    in_sample=fitted.in_sample, complexity=complexity.value, n=len(y), delta=0.05
)
print(f"in-sample error {fitted.in_sample:.3f}, complexity {complexity.value:.3f} ± {complexity.monte_carlo_error:.3f}")
print(bound)

# %%
# The picture
# -----------
# More columns, more ways to fit noise: complexity grows; with more rows it falls, and the bound with it.

import matplotlib.pyplot as plt

rng = np.random.default_rng(0)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
columns = [1, 2, 4, 8, 16, 30]
values = [outsample.permutation_complexity(stump, X[:, :d], y, n_draws=30, random_state=0).value for d in columns]
left.plot(columns, values, "o-", color="#0072B2")
left.set_xlabel("columns")
left.set_ylabel("permutation complexity of stumps")
left.set_ylim(0)

sizes = [100, 200, 400, 800, 1600, 3200, 6400]
errors, limits = [], []
for n in sizes:
    Z = rng.normal(size=(n, 3))
    label = np.where(rng.random(n) < 0.1, 1, 0) ^ (Z[:, 0] > 0)
    error = outsample.estimate(stump, Z, label, criterion="resubstitution").in_sample
    value = outsample.permutation_complexity(stump, Z, label, n_draws=10, random_state=0).value
    errors.append(error)
    limits.append(outsample.bounds.permutation_bound(in_sample=error, complexity=value, n=n).value)
right.plot(sizes, limits, "s-", color="#D55E00", label="bound, 95 %")
right.plot(sizes, errors, "o-", color="#0072B2", label="in-sample error")
right.axhline(1, color="black", linestyle=":", label="above 1 it says nothing")
right.set_xscale("log")
right.set_xlabel("rows")
right.set_ylabel("error")
right.legend(frameon=False)
