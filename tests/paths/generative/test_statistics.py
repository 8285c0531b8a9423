"""Statistics of classes add up over blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from outsample.paths.generative.gaussian_bayes import GaussianBayes
from outsample.paths.generative.statistics import ClassCounts, ClassMoments


def table_and_codes(n=40, p=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n)
    codes[:15] = np.minimum(codes[:15], 1)
    return rng.normal(size=(n, p)) + 1e6 * codes[:, None], codes, rng.uniform(0.2, 3.0, n)


def assert_same(ours, theirs):
    for name in ("weight", "mean", "scatter"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["columns", "pooled", "classes"])
def test_moments_against_numpy(kind, weighted):
    X, codes, weight = table_and_codes()
    own = weight if weighted else None
    found = ClassMoments.of(X, codes, 3, own, kind)
    shares = weight if weighted else np.ones(len(X))
    for k in range(3):
        inside = codes == k
        mean = np.average(X[inside], axis=0, weights=shares[inside])
        products = np.cov(X[inside].T, aweights=shares[inside], ddof=0) * shares[inside].sum()
        np.testing.assert_allclose(found.mean[k], mean, rtol=1e-12)
        if kind == "columns":
            np.testing.assert_allclose(found.scatter[k], np.diag(products), rtol=1e-8)
        if kind == "classes":
            np.testing.assert_allclose(found.scatter[k], products, rtol=1e-8, atol=1e-8)
    if kind == "pooled":
        every = ClassMoments.of(X, codes, 3, own, "classes")
        np.testing.assert_allclose(found.scatter, every.scatter.sum(axis=0), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["columns", "pooled", "classes"])
def test_moments_of_blocks(kind, weighted):
    """The first block lacks a class."""
    X, codes, weight = table_and_codes()
    first, second = slice(0, 15), slice(15, None)
    parts = [ClassMoments.of(X[s], codes[s], 3, weight[s] if weighted else None, kind) for s in (first, second)]
    whole = ClassMoments.of(X, codes, 3, weight if weighted else None, kind)
    assert_same(parts[0] + parts[1], whole)


def test_all_classes_together():
    X, codes, _ = table_and_codes()
    together = ClassMoments.of(X, codes, 3).together()
    assert_same(together, ClassMoments.of(X, np.zeros(len(X), int), 1))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_counts_of_blocks(form):
    X, codes, weight = table_and_codes()
    X = np.round(np.abs(X))
    whole = ClassCounts.of(form(X), codes, 3, weight)
    parts = [ClassCounts.of(form(X[s]), codes[s], 3, weight[s]) for s in (slice(0, 15), slice(15, None))]
    np.testing.assert_allclose(whole.counts, [(X * weight[:, None])[codes == k].sum(axis=0) for k in range(3)])
    np.testing.assert_allclose((parts[0] + parts[1]).counts, whole.counts)


def test_statistics_of_a_path_add_up_to_its_fit():
    """Scores from blocks that were read one after the other are those of the whole table."""
    X, codes, _ = table_and_codes()
    models = GaussianBayes(X.mean(axis=0), np.array([1e-9, 1e-2]), None)
    table = models.read(X)
    whole = models.statistics(table, codes, 3, None)
    parts = [models.statistics(table[s], codes[s], 3, None) for s in (slice(0, 15), slice(15, None))]
    ours, theirs = (models.scorer(known, "predict")(table) for known in (parts[0] + parts[1], whole))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
