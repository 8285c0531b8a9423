"""
A report for your boss
======================

One file that opens in any browser, without a network: the answer in a sentence, the picture, every candidate in a
table that can be sorted, what to mind, what the numbers mean, and code that runs again.
"""

# %%
# One call
# --------

import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from outsample import GridSearch

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
learner = make_pipeline(StandardScaler(), KNeighborsClassifier())
grid = {
    "kneighborsclassifier__n_neighbors": range(1, 26, 2),
    "kneighborsclassifier__weights": ["uniform", "distance"],
}
search = GridSearch(learner, grid, random_state=0).fit(X, y)
report = Path(tempfile.mkdtemp()) / "report.html"
search.to_html(report, X, y)
print(f"{report.name}: {report.stat().st_size // 1000} kB, nothing to fetch")

# %%
# On the command line it is ``outsample select data.csv --target y --model knn --grid n_neighbors=1:25:2 --report
# report.html``.
#
# The picture
# -----------
# The page draws its own; in Python the same map of both parameters is one call away.

search.plot()
