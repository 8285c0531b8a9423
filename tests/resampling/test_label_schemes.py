"""Label draws against enumeration: every arrangement listed once, and drawn equally often."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from outsample.resampling.labels import (
    FreePermutation,
    HalfFlips,
    LabelDraws,
    RademacherSigns,
    WithReplacement,
    _random_ones,
)
from outsample.resampling.schemes import (
    CircularShift,
    PermutationOfBlocks,
    PermutationOfGroups,
    PermutationWithinGroups,
)
from outsample.running.run import seed_sequence

SEED = seed_sequence(0)


def permutations_of(y):
    return itertools.permutations(y)


def within(groups):
    def arrangements(y):
        return (
            p
            for p in itertools.permutations(y)
            if all(sorted(np.array(p)[groups == g]) == sorted(y[groups == g]) for g in set(groups))
        )

    return arrangements


def of_parts(parts):
    """All orders in which whole parts of rows exchange their labels."""

    def arrangements(y):
        for order in itertools.permutations(range(len(parts))):
            drawn = y.copy()
            for rows, source in zip(parts, order, strict=True):
                drawn[rows] = y[parts[source]]
            yield drawn

    return arrangements


def shifts(y):
    return (np.concatenate([y[k:], y[:k]]) for k in range(len(y)))


def flips(y):
    for half in itertools.combinations(range(len(y)), len(y) // 2):
        yield [1 - label if i in half else label for i, label in enumerate(y)]


G = np.array(["b", "a", "b", "a", "b"])
PAIRS = np.array([0, 1, 0, 2, 1, 2])
SCHEMES = {
    "free": (FreePermutation(), np.array([0, 1, 2, 3]), permutations_of),
    "free, ties": (FreePermutation(), np.array([0, 1, 1, 0, 1]), permutations_of),
    "within": (PermutationWithinGroups(G), np.array([0, 1, 1, 0, 1]), within(G)),
    "whole, constant": (
        PermutationOfGroups(np.array([0, 0, 1, 2])),
        np.array([5, 5, 6, 7]),
        lambda y: ((a, a, b, c) for a, b, c in itertools.permutations([5, 6, 7])),
    ),
    "whole, vectors": (
        PermutationOfGroups(PAIRS),
        np.array([0, 1, 1, 1, 0, 0]),
        of_parts([np.array([0, 2]), np.array([1, 4]), np.array([3, 5])]),
    ),
    "blocks": (
        PermutationOfBlocks(2),
        np.array([0, 1, 1, 0, 1, 1, 9]),
        of_parts([np.r_[0, 1], np.r_[2, 3], np.r_[4, 5]]),
    ),
    "circular": (CircularShift(), np.array([0, 1, 1, 2]), shifts),
    "circular, periodic": (CircularShift(), np.array([0, 1, 0, 1]), shifts),
    "replacement": (WithReplacement(), np.array([0, 1, 3]), lambda y: itertools.product(y, repeat=len(y))),
    "signs": (RademacherSigns(), np.array([0, 0, 1]), lambda y: itertools.product([0, 1], repeat=len(y))),
    "flips": (HalfFlips(), np.array([0, 0, 1, 1]), flips),
    "flips, odd": (HalfFlips(), np.array([0, 1, 1, 1, 0]), flips),
}


def as_keys(vectors):
    return [tuple(int(v) for v in vector) for vector in vectors]


@pytest.mark.parametrize("name", SCHEMES)
def test_listing_against_brute_force(name):
    scheme, y, brute_force = SCHEMES[name]
    listed = as_keys(scheme.arrangements(y))
    assert len(listed) == scheme.count(y)
    expected = Counter(as_keys(brute_force(y)))
    assert set(listed) == set(expected)
    multiplicity = {Counter(listed)[key] / count for key, count in expected.items()}
    assert len(multiplicity) == 1, "arrangements are listed in other proportions than they are drawn"


@pytest.mark.parametrize("name", SCHEMES)
def test_draws_are_uniform_over_the_listing(name):
    scheme, y, _ = SCHEMES[name]
    expected = Counter(as_keys(scheme.arrangements(y)))
    n_draws = 40 * len(list(scheme.arrangements(y)))
    rng = np.random.default_rng(1)
    drawn = Counter(as_keys(scheme.draw(y, rng) for _ in range(n_draws)))
    assert set(drawn) <= set(expected)
    share = n_draws / sum(expected.values())
    observed = [drawn[key] for key in expected]
    assert stats.chisquare(observed, [share * count for count in expected.values()]).pvalue > 1e-4


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937])
@pytest.mark.parametrize("ones", range(1, 6))
def test_arranging_two_classes_is_as_good_as_shuffling(ones, bits):
    """Long label vectors are not shuffled; short ones made the same way show every arrangement equally often."""
    rng = np.random.Generator(bits(ones))
    drawn = Counter(_random_ones(ones, 6, rng).tobytes() for _ in range(4000))
    assert len(drawn) == math.comb(6, ones)
    assert stats.chisquare(list(drawn.values())).pvalue > 1e-3


@pytest.mark.parametrize("share", [0.001, 0.3, 0.5, 0.999])
def test_long_vectors_of_two_classes_keep_their_labels(share):
    y = np.arange(5000) < 5000 * share
    draws = LabelDraws(FreePermutation(), y.astype(np.int64), 40, SEED)
    drawn = draws[:40]
    assert drawn.dtype == np.int64
    assert (drawn.sum(axis=1) == y.sum()).all()
    # Each half of the rows has its share of the ones, up to six standard errors of the mean over draws.
    halves = drawn.reshape(40, 2, 2500).sum(axis=2)
    assert abs(halves[:, 0].mean() - y.sum() / 2) <= 6 * np.sqrt(y.sum() * (1 - share) / 4 / 40) + 0.5


@pytest.mark.parametrize("name", SCHEMES)
def test_pools_hold_the_labels_each_row_can_meet_in_their_proportions(name):
    scheme, y, _ = SCHEMES[name]
    listed = np.array(list(scheme.arrangements(y)))
    covered = []
    for pool in scheme.pools(y):
        rows = np.arange(len(y)) if pool.rows is None else pool.rows
        covered.extend(rows)
        for label in np.unique(listed):
            for row in rows:
                assert np.mean(pool.labels == label) == pytest.approx(np.mean(listed[:, row] == label))
    assert sorted(covered) == list(range(len(y)))


@pytest.mark.parametrize("name", SCHEMES)
def test_exhaustive_exactly_when_the_arrangements_are_no_more_than_the_draws(name):
    scheme, y, _ = SCHEMES[name]
    count = int(scheme.count(y))
    all_of_them = LabelDraws(scheme, y, count, SEED)
    assert all_of_them.exhaustive
    assert len(all_of_them) == count
    assert sorted(as_keys(all_of_them)) == sorted(as_keys(scheme.arrangements(y)))
    fewer = LabelDraws(scheme, y, count - 1, SEED) if count > 1 else None
    assert fewer is None or (not fewer.exhaustive and len(fewer) == count - 1)


LARGE = [
    FreePermutation(),
    PermutationWithinGroups(np.arange(24) % 4),
    PermutationOfGroups(np.arange(24) // 2),
    PermutationOfBlocks(3),
    CircularShift(),
    WithReplacement(),
    RademacherSigns(),
    HalfFlips(),
]


@pytest.mark.parametrize("scheme", LARGE, ids=lambda scheme: type(scheme).__name__)
def test_a_draw_does_not_depend_on_its_company(scheme):
    y = np.random.default_rng(0).integers(0, 2, 24)
    few, many = LabelDraws(scheme, y, 2, SEED), LabelDraws(scheme, y, 7, SEED)
    assert not many.exhaustive
    np.testing.assert_array_equal(few[:], many[:2])
    np.testing.assert_array_equal(many[3:5], np.stack([many[3], many[4]]))
    many.fresh(4, 3)
    np.testing.assert_array_equal(many[4], LabelDraws(scheme, y, 7, SEED)[4])


@pytest.mark.parametrize("name", [name for name, (scheme, _, _) in SCHEMES.items() if scheme.rearranges])
def test_schemes_that_rearrange_against_enumeration(name):
    scheme, y, enumerated = SCHEMES[name]
    for arrangement in enumerated(y):
        np.testing.assert_array_equal(np.sort(arrangement), np.sort(y))
    (pool,) = scheme.pools(y)
    assert pool.rows is None
    np.testing.assert_array_equal(pool.labels, y)


@pytest.mark.parametrize("n", [24, 3000])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_draws_made_later_are_the_same(n, n_classes):
    draws = LabelDraws(FreePermutation(), np.arange(n) % n_classes, 9, SEED)
    later = draws.later(range(2, 8))
    assert (len(later), later.ndim) == (6, 2)
    np.testing.assert_array_equal(later[1:4], draws[3:6])
    np.testing.assert_array_equal(np.stack(list(later)), draws[2:8])
    # Codes stay codes, never a mask, whatever their type.
    assert later[0].dtype.kind in "iu"


def test_draws_differ_from_each_other_and_between_seeds():
    y = np.arange(30)
    draws = LabelDraws(FreePermutation(), y, 5, SEED)
    assert len(set(as_keys(draws))) == 5
    assert as_keys(draws) != as_keys(LabelDraws(FreePermutation(), y, 5, seed_sequence(1)))
    assert set(as_keys(draws)).isdisjoint(as_keys(draws.fresh(0, 20)))


@given(st.lists(st.integers(0, 4), min_size=3, max_size=30), st.integers(0, 2**31), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_permuted_labels_never_lose_a_class(labels, seed, block):
    y = np.array(labels)
    groups = np.arange(len(y)) % 3
    rng = np.random.default_rng(seed)
    for scheme in [FreePermutation(), PermutationWithinGroups(groups), CircularShift(), PermutationOfBlocks(block)]:
        np.testing.assert_array_equal(np.sort(scheme.draw(y, rng)), np.sort(y))
    # Groups of different sizes may exchange one label each: no class is lost, but its number of rows may change.
    whole = PermutationOfGroups(groups)
    assert set(whole.draw(y, rng)) == set(y)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_number_of_distinct_permutations(labels):
    assert FreePermutation().count(np.array(labels)) == len(set(itertools.permutations(labels)))


def test_counts_too_large_for_a_double_are_infinite():
    assert FreePermutation().count(np.arange(400)) == math.inf
    assert WithReplacement().count(np.arange(400)) == math.inf
    assert RademacherSigns().count(np.arange(2000)) == math.inf
    assert not LabelDraws(FreePermutation(), np.arange(400), 10**9, SEED).exhaustive


@pytest.mark.parametrize("scheme", [FreePermutation(), WithReplacement(), CircularShift(), PermutationOfBlocks(2)])
def test_several_outputs_move_together(scheme):
    y = np.column_stack([np.arange(6), 10 * np.arange(6)])
    drawn = scheme.draw(y, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn[:, 1], 10 * drawn[:, 0])
    for arrangement in itertools.islice(scheme.arrangements(y), 20):
        np.testing.assert_array_equal(arrangement[:, 1], 10 * arrangement[:, 0])


def test_groups_of_different_sizes_keep_their_vectors():
    groups = np.array([0, 0, 1, 1, 2])
    y = np.array([1, 2, 3, 4, 5])
    listed = as_keys(PermutationOfGroups(groups).arrangements(y))
    assert sorted(listed) == [(1, 2, 3, 4, 5), (3, 4, 1, 2, 5)]


def test_labels_of_a_real_series_keep_their_order_on_the_circle():
    y = np.random.default_rng(0).normal(size=50)
    drawn = CircularShift().draw(y, np.random.default_rng(3))
    start = int(np.flatnonzero(y == drawn[0])[0])
    np.testing.assert_array_equal(drawn, np.r_[y[start:], y[:start]])


@pytest.mark.parametrize(
    ("scheme", "y", "n_classes", "sentence"),
    [
        (RademacherSigns(), np.arange(3), 3, "two classes, y has 3 classes"),
        (HalfFlips(), np.arange(3), 3, "two classes, y has 3 classes"),
        (RademacherSigns(), np.arange(3.0), None, "regression labels"),
        (PermutationWithinGroups(np.array([0, 0, 1])), np.array([1, 1, 0]), 2, "constant within every group"),
        (PermutationOfGroups(np.array([0, 0, 1])), np.array([0, 1, 0]), 2, "no two groups"),
        (PermutationOfBlocks(2), np.arange(3), 3, "block_size must leave at least two blocks of 3 rows, got 2"),
    ],
)
def test_labels_that_cannot_be_drawn_so(scheme, y, n_classes, sentence):
    with pytest.raises(ValueError, match=sentence):
        scheme.check(y, n_classes)


def test_a_draw_that_does_not_exist():
    with pytest.raises(IndexError, match="draw 3 of 3"):
        LabelDraws(FreePermutation(), np.arange(9), 3, SEED)[3]
