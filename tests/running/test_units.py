"""Fingerprints: the same for equal values in every process, different for others."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.metrics import make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from outsample import CrossValidation, Permutation
from outsample.running.units import fingerprint

TREE = DecisionTreeClassifier(max_depth=2)
LONG = np.arange(2000)

DIFFERENT = [
    *(None, True, 1, 1.0, "1", b"1", np.float64(1), np.float32(1), np.int64(1), 1j, "None", ""),
    *([1, 2], (1, 2), [[1], 2], [1, [2]], {1, 2}, {1: 2}, {2: 1}, [], (), {}, ["12"], ["1", "2"], range(3)),
    *(LONG, np.where(LONG == 900, 0, LONG), LONG.reshape(2, 1000), LONG.astype(float), LONG.astype(object)),
    *(TREE, clone(TREE).set_params(max_depth=3), [TREE], make_pipeline(TREE), make_pipeline(StandardScaler(), TREE)),
    *(FunctionTransformer(np.log1p), FunctionTransformer(np.expm1), FunctionTransformer(lambda x: x + 1)),
    *((lambda x: x + 2), (lambda x: x * 2), np.mean, np.median, max, min, int, float),
    *(stats.uniform(0, 1), stats.uniform(0, 2), stats.norm(0, 1), stats.loguniform(1, 2)),
    *(RBF(1.0), RBF(2.0), RBF(1.0) + WhiteKernel(1.0), itertools.count(2), itertools.count(2, 2)),
    *(Permutation(10), Permutation(11), CrossValidation(5), make_scorer(lambda a, b: 1.0), np.random.RandomState(0)),
]


def test_different_values_have_different_fingerprints():
    found = [fingerprint(value) for value in DIFFERENT]
    assert len(set(found)) == len(found)


def test_equal_values_have_equal_fingerprints_wherever_they_are_in_memory():
    shared = [1.5]
    assert fingerprint([shared, shared]) == fingerprint([[1.5], [1.5]])
    assert fingerprint(TREE) == fingerprint(clone(TREE))
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint(TREE.fit([[0], [1]], [0, 1])) == fingerprint(clone(TREE))


def test_how_fast_or_talkative_a_learner_is_does_not_matter():
    assert fingerprint(make_pipeline(TREE, verbose=True)) == fingerprint(make_pipeline(TREE))


def test_another_process_finds_the_same_fingerprints():
    folder = str(Path(__file__).parent)
    code = (
        f"import sys; sys.path.insert(0, {folder!r}); import {__name__} as t; print(*map(t.fingerprint, t.DIFFERENT))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == [fingerprint(value) for value in DIFFERENT], done.stderr


def test_values_that_cannot_be_told_apart_are_refused():
    with pytest.raises(ValueError, match="cannot be told from other values of generator"):
        fingerprint(i for i in range(3))
