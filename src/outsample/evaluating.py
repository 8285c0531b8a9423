"""The risk of a fitted model on data it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from outsample.learners import encode, respond
from outsample.losses import Loss


def risk_on(model: Any, X: Any, y: Any, loss: Loss) -> float:
    """Risk of a fitted scikit-learn model on X, y."""
    classes = getattr(model, "classes_", None)
    labels = np.asarray(y)
    codes = labels if classes is None else encode(labels, np.asarray(classes))
    response = next(r for r in loss.responses if hasattr(model, r))
    return float(loss.risk(codes, respond(model, X, response, classes)))
