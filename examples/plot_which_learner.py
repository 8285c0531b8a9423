"""
Which learner?
==============

Learners are compared on the same left-out rows, tuned or not, and the differences get intervals of their own: a
lead that could be luck is called so.
"""

# %%
# Five learners, one call
# -----------------------

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import GridSearch

X, y = load_breast_cancer(return_X_y=True)
models = {
    "tree, tuned": GridSearch(DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": range(2, 31)}, random_state=0),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(7)),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "naive Bayes": GaussianNB(),
    "forest": RandomForestClassifier(50, random_state=0),
}
contest = outsample.compare_models(models, X, y, random_state=0)
contest.to_frame()

# %%
# The best, and those that cannot be told from it:

print(contest.best, "| may be the best:", contest.plausible)

# %%
# Every pair, corrected for resampling:

contest.differences().head()

# %%
# The picture
# -----------

contest.plot()
