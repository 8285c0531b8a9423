"""
Is there anything there?
========================

Two questions to ask before believing a result. Do the labels have anything to do with X? Is my own procedure
honest? Both are answered by permuting the labels.
"""

# %%
# A test
# ------
# 30 patients, 200 genes, one of them of use. The learner, model selection and all, is repeated for every permutation.

import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import outsample

rng = np.random.default_rng(1)
y = np.repeat([0, 1], 15)
genes = rng.normal(size=(30, 200))
genes[:, 0] += 2.5 * y
test = outsample.permutation_test(KNeighborsClassifier(3), genes[:, :5], y, n_draws=499, random_state=0)
print(test)

# %%
# Which columns? Corrected for asking 200 times:

columns = outsample.permutation_test_columns(None, genes, y, n_draws=499, random_state=0)
columns.to_frame().head(3)

# %%
# An audit
# --------
# The twenty best genes are chosen on *all* rows, and only then is there a cross-validation. The genes below are
# pure noise.

noise = rng.normal(size=(30, 2000))


def procedure(X, y):
    """What the script did: choose columns, then cross-validate."""
    best = SelectKBest(k=20).fit_transform(X, y)
    return 1 - cross_val_score(LogisticRegression(), best, y, cv=5).mean()


audit = outsample.audit(procedure, noise, y, n_draws=20, random_state=0)
print(audit)

# %%
# The picture
# -----------

import matplotlib.pyplot as plt

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
test.plot(ax=left)
left.set_title("there is something there", fontsize="medium")
right.hist(audit.draws, bins=np.linspace(0, 1, 21), color="#0072B2", alpha=0.6, label="reported on permuted labels")
right.axvline(audit.no_information, color="black", linestyle="--", label="the best possible there")
right.axvline(audit.reported, color="#D55E00", linewidth=2, label=f"reported: {audit.reported:.2f}")
right.set_title("a procedure that cheats", fontsize="medium")
right.set_xlabel("error that the procedure reports")
right.legend(fontsize="x-small", frameon=False)
