"""
A cluster with Dask
===================

Work goes through joblib, so that any of its back ends serves: threads, processes, or a Dask cluster. The answer is
the same to the last bit wherever it was computed.
"""

# %%
# The same search, here and on a cluster
# --------------------------------------
# This cluster is two threads of one machine; ``Client("tcp://scheduler:8786")`` is the only line that changes.

import joblib
import numpy as np
from distributed import Client
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

from outsample import GridSearch

X, y = load_digits(return_X_y=True)
X, y = X[:400], y[:400]
search = GridSearch(SGDClassifier(random_state=0), {"alpha": np.logspace(-5, 2, 8)}, criterion="kfold", random_state=0)
here = search.fit(X, y).curve_.out_sample

with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
    with joblib.parallel_config(backend="dask"):
        there = search.fit(X, y).curve_.out_sample
    print(len(client.scheduler_info()["workers"]), "worker")

print("the same to the last bit:", bool(np.array_equal(here, there)))

# %%
# The picture
# -----------

ax = search.curve_.plot()
ax.set_title("judged on a cluster: eight classifiers, ten folds each", fontsize="medium")
