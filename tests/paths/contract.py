"""The contract of every path: the same predictions as scikit-learn's own estimator at each setting.

Class codes equal to the letter, real values to 1e-9 (relative to the size of the values).
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone, is_classifier

from outsample.data.learners import fit, respond
from outsample.paths.base import Path


def assert_equal_predictions(ours, theirs, label="", within=1e-9):
    """Codes exactly, real values to 1e-9 of their size."""
    assert ours.shape == theirs.shape, f"{label}: shape {ours.shape} against {theirs.shape}"
    if np.issubdtype(theirs.dtype, np.integer):
        wrong = int((ours != theirs).sum())
        assert wrong == 0, f"{label}: {wrong} of {theirs.size} labels differ"
    else:
        scale = max(1.0, float(np.abs(theirs).max()))
        np.testing.assert_allclose(ours, theirs, rtol=within, atol=within * scale, err_msg=label)


def reference_predictions(path: Path, X, y, X_new, response, classes, weight=None):
    """scikit-learn's own answers at every setting of the path, (models, n_new[, K])."""
    answers = []
    for params in path.params:
        model = clone(path.estimator).set_params(**params)
        fit(model, X, y if classes is None else classes[y], weight)
        answers.append(respond(model, X_new, response, classes))
    return np.stack(answers)


def check_contract(path: Path, X, y, X_new=None, *, classes=None, responses=None, weight=None, n_draws=3, within=1e-9):
    """In-sample on several label vectors at once, and on new X.

    `y` are codes when `classes` is given. The estimator must have an integer random state if it draws.
    """
    if classes is None and is_classifier(path.estimator):
        classes = np.unique(y)
    rng = np.random.default_rng(0)
    Y = np.stack([y] + [rng.permutation(y) for _ in range(n_draws - 1)])
    design = path.bind(X, classes, weight)
    for response in responses or sorted(r for r in path.responses if hasattr(path.estimator, r)):
        ours = design.fitted(Y, response)
        for d in range(n_draws):
            theirs = reference_predictions(path, X, Y[d], X, response, classes, weight)
            assert_equal_predictions(ours[d], theirs, f"{path.name} {response} in-sample, draw {d}", within)
        if X_new is not None:
            theirs = reference_predictions(path, X, y, X_new, response, classes, weight)
            assert_equal_predictions(
                design.predict(y, X_new, response), theirs, f"{path.name} {response} on new X", within
            )
            alone = design.predict(y, X_new[:1], response)
            assert_equal_predictions(alone, theirs[:, :1], f"{path.name} {response} on one new row", within)


def setting_id(setting) -> str:
    """A name for a dictionary of options that is the same in every process: functions by their names."""
    return ", ".join(f"{name}={getattr(value, '__name__', value)}" for name, value in setting.items()) or "defaults"
