"""Scorers as fast as losses: searches judged by a scorer, against GridSearchCV(cv=5) with the same scorer.

Trees of 2 … 50 leaves by rows and labels and by ten permutations, and 40 values of k behind a StandardScaler by
leave-one-out and by the same five folds. Processor time, no last fit on either side.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from measuring import milliseconds, side_by_side, table, times
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from outsample import CrossValidation, GridSearch

TREE = DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": list(range(2, 51))}
NEIGHBORS = (
    make_pipeline(StandardScaler(), KNeighborsClassifier()),
    {"kneighborsclassifier__n_neighbors": list(range(1, 41))},
)
SCORERS = {"roc_auc": "roc_auc", "f1": "f1", "log": "neg_log_loss"}
FOLDS = "five folds"


def rows(name, job, scorer, criteria, X, y, repeats):
    """Lines of the table: one per criterion; the peer is slow enough to be measured once."""
    estimator, grid = job

    def search(criterion):
        chosen = CrossValidation(5) if criterion == FOLDS else criterion
        return GridSearch(estimator, grid, criterion=chosen, loss=scorer, refit=False, random_state=0).fit(X, y)

    peer = GridSearchCV(estimator, grid, scoring=SCORERS[scorer], cv=5, refit=False)
    theirs = side_by_side([lambda: peer.fit(X, y)], 1, time.process_time)[0]
    for criterion in criteria:
        search(criterion)
        ours = side_by_side([lambda c=criterion: search(c)], repeats, time.process_time)[0]
        yield [name, scorer, criterion, milliseconds(ours), milliseconds(theirs), times(theirs, ours)]


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The table."""
    n = 1000 if quick else 5000
    X, y = make_classification(n, 20, n_informative=8, flip_y=0.1, random_state=0)
    found = []
    for scorer in SCORERS:
        found += rows("tree, 49 sizes", TREE, scorer, ("rows-and-labels", "permutation"), X, y, repeats)
    found += rows("neighbours, 40 values of k", NEIGHBORS, "roc_auc", ("loo", FOLDS), X, y, repeats)
    header = [f"{n} × 20", "scorer", "criterion", "ours", "GridSearchCV(cv=5)", ""]
    yield from table(header, found)
