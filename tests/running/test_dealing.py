"""Tasks dealt out to workers: every one of them once, those that share together."""

from __future__ import annotations

import joblib
import pytest

from outsample.running.dealing import MOST_AT_A_TIME, dealt

SCALED = [(False, "scaler", gamma) for gamma in "abc" * 10]
MIXED = [("x",), (), ("x", "k"), ("y",), (), ("x", "k"), ("x",)]


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 16])
@pytest.mark.parametrize("keys", [[], [()] * 5, SCALED, MIXED], ids=len)
def test_every_task_is_done_once_and_the_first_one_first(keys, n_jobs):
    with joblib.parallel_backend("threading"):
        units = dealt(keys, n_jobs)
    assert sorted(place for unit in units for place in unit) == list(range(len(keys)))
    assert all(units[0][0] == 0 for _ in keys)
    for unit in units:
        assert len({keys[place] for place in unit}) == 1
        assert len(unit) == 1 or keys[unit[0]]


def test_a_single_worker_takes_one_after_the_other_those_that_share_in_a_row():
    units = dealt(MIXED, 1)
    assert units == [[0], [6], [2], [5], [1], [3], [4]]


def test_several_workers_take_some_at_a_time():
    with joblib.parallel_backend("threading"):
        units = dealt([("words",)] * 24, 2)
        assert [len(unit) for unit in units] == [6] * 4
        assert units[0] == [0, 4, 8, 12, 16, 20]
        assert max(len(unit) for unit in dealt([("words",)] * 200, 2)) <= MOST_AT_A_TIME
        assert max(len(unit) for unit in dealt([("words",)] * 24, 16)) == 1
