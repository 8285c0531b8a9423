"""Learners and transformers that tell how often they were fitted."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.feature_selection import SelectKBest
from sklearn.preprocessing import StandardScaler


class Counter:
    """Counts by name, within this process."""

    fits: dict[str, int]

    def __init__(self) -> None:
        self.fits = {}

    def count(self, name: str) -> None:
        self.fits[name] = self.fits.get(name, 0) + 1


COUNTER = Counter()


class CountingClassifier(ClassifierMixin, BaseEstimator):
    """Predicts the majority on either side of the first column's median."""

    def fit(self, X, y, sample_weight=None):
        COUNTER.count("classifier")
        self.classes_ = np.unique(y)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.cut_ = np.median(np.asarray(X)[:, 0])
        right = np.asarray(X)[:, 0] > self.cut_
        votes = [[weight[(y == c) & side].sum() for c in self.classes_] for side in (~right, right)]
        self.votes_ = self.classes_[np.argmax(votes, axis=1)]
        return self

    def predict(self, X):
        return self.votes_[(np.asarray(X)[:, 0] > self.cut_).astype(int)]


class CountingRegressor(RegressorMixin, BaseEstimator):
    """Predicts the mean on either side of the first column's median; any number of outputs."""

    def fit(self, X, y):
        COUNTER.count("regressor")
        self.cut_ = np.median(X[:, 0])
        right = X[:, 0] > self.cut_
        self.means_ = np.stack([y[~right].mean(axis=0), y[right].mean(axis=0)])
        return self

    def predict(self, X):
        return self.means_[(X[:, 0] > self.cut_).astype(int)]


class CountingTransformer(TransformerMixin, BaseEstimator):
    """Passes X on. Not one of scikit-learn's, so the library must assume that it looks at y."""

    def fit(self, X, y=None):
        COUNTER.count("transformer")
        return self

    def transform(self, X):
        return X


def counted(monkeypatch, kind, name):
    """Let fits of one of scikit-learn's own transformers be counted; its type stays what it is."""
    original = kind.fit

    def fit(self, *args, **kwargs):
        COUNTER.count(name)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(kind, "fit", fit)


def count_scaler_and_selector(monkeypatch):
    """StandardScaler as "scaler", SelectKBest as "selector"."""
    counted(monkeypatch, StandardScaler, "scaler")
    counted(monkeypatch, SelectKBest, "selector")
