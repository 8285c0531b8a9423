"""A plugin of pytest: whatever is collected imports our searches as those of scikit-learn, with all our defaults."""

from __future__ import annotations

import sklearn.model_selection

import outsample

sklearn.model_selection.GridSearchCV = outsample.GridSearch
sklearn.model_selection.RandomizedSearchCV = outsample.RandomizedSearch
