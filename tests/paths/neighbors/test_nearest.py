"""Neighbours preselected in single precision are those of double precision."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier

from compiler_switch import printed_with_and_without_compiler
from outsample.paths.neighbors import nearest
from outsample.paths.neighbors.lists import NeighborSearch
from outsample.paths.neighbors.nearest import distances_to, nearest_rows


@pytest.fixture(params=["every row with all", "each pair once"])
def way(request, monkeypatch):
    """The way neighbours are found, for tables of any size; always with all threads."""
    fewest = 2 if request.param == "each pair once" else 10**9
    monkeypatch.setattr(nearest, "_MANY_ROWS", fewest)
    monkeypatch.setattr(nearest, "_MANY_COLUMNS", 0)
    monkeypatch.setattr(nearest, "_SMALL", 0)


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


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("k", [1, 7, 51, 140])
@pytest.mark.parametrize("name", [name for name, _ in tables()])
def test_same_neighbours_as_sorting_all_distances(name, k):
    X = dict(tables())[name]
    neighbours = nearest_rows(X, k)
    expected, exact = by_sorting(X, k)
    np.testing.assert_array_equal(neighbours, expected)
    np.testing.assert_allclose(distances_to(X, neighbours), exact, rtol=1e-12)


@pytest.mark.usefixtures("way")
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


@pytest.fixture
def left_over(monkeypatch):
    """How many rows each search by pairs leaves to the other way."""
    counts = []

    honest = nearest.settle_near_pairs

    def settle(*arguments):
        left = honest(*arguments)
        counts.append(len(left))
        return left

    monkeypatch.setattr(nearest, "settle_near_pairs", settle)
    return counts


@pytest.mark.parametrize(
    ("rank", "width", "fewest", "most"),
    [(11, 180, 0, 30), (4, 180, 600, 2500), (1, 180, 2800, 3100), (11, 40, 1000, 3100)],
)
def test_rows_with_lists_too_short_are_found_all_the_same(rank, width, fewest, most, left_over, monkeypatch):
    monkeypatch.setattr(nearest, "_rank_and_width", lambda k: (rank, width))
    X = np.random.default_rng(3).standard_normal((3100, 16))
    np.testing.assert_array_equal(nearest_rows(X, 30), by_sorting(X, 30)[0])
    assert fewest <= left_over[0] <= most


@pytest.mark.parametrize("rank", range(4, 9))
def test_equal_distances_about_the_limit_are_in_order_of_row_number(rank, left_over, monkeypatch):
    """Rounding puts some of the rows at the same distance within a limit and others beyond it."""
    monkeypatch.setattr(nearest, "_rank_and_width", lambda k: (rank, 400))
    X = np.random.default_rng(6).integers(0, 6, (3100, 16)).astype(float)
    squared = np.rint(cdist(X, X, "sqeuclidean"))
    np.testing.assert_array_equal(nearest_rows(X, 30), np.argsort(squared, axis=1, kind="stable")[:, :30])
    assert left_over[0] > 0


def test_lists_that_would_take_too_much_memory_are_not_made(left_over, monkeypatch):
    monkeypatch.setattr(nearest, "_MOST_BYTES", 10**6)
    X = np.random.default_rng(4).standard_normal((3100, 16))
    np.testing.assert_array_equal(nearest_rows(X, 5), by_sorting(X, 5)[0])
    assert left_over == [3100]


def test_many_equal_rows_are_left_to_exact_distances(left_over):
    X = np.repeat(np.random.default_rng(5).standard_normal((4, 16)), 800, axis=0)
    squared = np.square(X[:, None, :2] - X[None, :, :2]).sum(axis=2)
    np.testing.assert_array_equal(nearest_rows(X, 20), np.argsort(squared > 0, axis=1, kind="stable")[:, :20])
    assert left_over == [3200]


PAIRS_RUN = """
import numpy as np
from outsample.paths.neighbors import nearest
nearest._MANY_ROWS = nearest._MANY_COLUMNS = 2
rng = np.random.default_rng(0)
for X in (rng.standard_normal((90, 4)), rng.integers(0, 4, (90, 4)).astype(float)):
    print(nearest.nearest_rows(X, 9).tolist())
"""


def test_same_pairs_with_the_compiler_off():
    answers = printed_with_and_without_compiler(PAIRS_RUN)
    assert answers[0] == answers[1]
    assert len(answers[0]) > 1000
