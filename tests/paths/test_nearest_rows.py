"""All pairs compared in single precision first: the lists are those of double precision all the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier

from outsample.paths.nearest_rows import distances_to, nearest_rows
from outsample.paths.neighbor_lists import NeighborSearch


def by_sorting(X, k):
    """Neighbours and distances by (distance, row number), every pair computed from its differences."""
    distances = cdist(X, X)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(distances, order, axis=1)


def tables():
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((700, 6))
    yield "normal", normal
    yield "wide", rng.standard_normal((150, 400))
    yield "one column", rng.standard_normal((300, 1))
    yield "heavy tails", rng.standard_cauchy((400, 5)) ** 3
    yield "clusters far apart", normal * 1e-4 + rng.integers(0, 2, (700, 1)) * 1e3
    yield "one row far away", np.vstack([normal, np.full((1, 6), 1e9)])
    yield "far from zero", normal + 1e4
    yield "tiny", normal * 1e-140
    yield "huge", normal * 1e140


@pytest.mark.parametrize("k", [1, 7, 51, 140])
@pytest.mark.parametrize("name", [name for name, _ in tables()])
def test_same_neighbours_as_sorting_all_distances(name, k):
    X = dict(tables())[name]
    neighbours = nearest_rows(X, k)
    expected, exact = by_sorting(X, k)
    np.testing.assert_array_equal(neighbours, expected)
    np.testing.assert_allclose(distances_to(X, neighbours), exact, rtol=1e-12)


@pytest.mark.parametrize(("n", "levels"), [(300, 2), (300, 3), (60, 1000)])
@pytest.mark.parametrize("k", [1, 5, 60])
def test_equal_distances_in_order_of_row_number(n, levels, k):
    X = np.random.default_rng(1).integers(0, levels, (n, 3)).astype(float)
    neighbours = nearest_rows(X, k)
    squared = np.square(X[:, None] - X[None]).sum(axis=2)
    np.testing.assert_array_equal(neighbours, np.argsort(squared, axis=1, kind="stable")[:, :k])


@pytest.mark.parametrize("X", [np.ones((30, 2)), np.random.default_rng(0).standard_normal((30, 2)) + 1e9])
def test_left_to_scikit_learn_where_single_precision_could_mislead(X):
    assert nearest_rows(X, 3) is None
    neighbours, _ = NeighborSearch(KNeighborsClassifier(), X, 3).among_itself()
    assert neighbours.shape == (30, 4)


def test_a_rounding_error_of_scikit_learn_counts_as_a_tie():
    """Far from zero scikit-learn's own distances are off by more than neighbours differ."""
    near = np.random.default_rng(2).standard_normal((200, 20))
    assert not NeighborSearch(KNeighborsClassifier(), near, 10).tied()
    assert NeighborSearch(KNeighborsClassifier(), near + 1e5, 10).tied()
