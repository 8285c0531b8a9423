"""What closed forms and shortcuts must reproduce, by refitting scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from outsample.data.learners import fit, respond
from outsample.data.tables import n_rows, rows


def smoother_matrix(path, X, weight=None):
    """S of every model, (models, n, n): column j is the fit to the j-th unit vector."""
    units = np.eye(n_rows(X))
    columns = []
    for params in path.params:
        model = clone(path.estimator).set_params(**params)
        columns.append([fit(clone(model), X, unit, weight).predict(X) for unit in units])
    return np.swapaxes(np.array(columns), 1, 2)


def refitted_left_out(path, X, y, folds, response="predict", classes=None, weight=None):
    """Predictions for each fold by every model refitted to the other rows, (models, n[, K])."""
    answers = None
    for fold in np.unique(folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        for m, params in enumerate(path.params):
            labels = y[train] if classes is None else classes[y[train]]
            model = clone(path.estimator).set_params(**params)
            fit(model, rows(X, train), labels, None if weight is None else weight[train])
            answer = respond(model, rows(X, test), response, classes)
            if answers is None:
                answers = np.empty((len(path), len(y), *answer.shape[1:]), answer.dtype)
            answers[m, test] = answer
    return answers


def check_smoother(path, X, weight=None, tolerance=1e-9):
    """Leverages and row sums against the full matrix."""
    matrix = smoother_matrix(path, X, weight)
    found = path.bind(X, None, weight).smoother
    np.testing.assert_allclose(found.leverages, np.diagonal(matrix, axis1=1, axis2=2), atol=tolerance)
    np.testing.assert_allclose(found.row_sums, matrix.sum(axis=2), atol=tolerance * 10)


def check_left_out(path, X, y, folds, weight=None, tolerance=1e-8):
    """Left-out predictions against refits, relative to the size of the predictions."""
    ours = path.bind(X, None, weight).left_out_predictions(y, folds)
    theirs = refitted_left_out(path, X, y, folds, weight=weight)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * max(1.0, np.abs(theirs).max()))
