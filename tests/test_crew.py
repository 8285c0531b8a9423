"""Threads that work together stay on different processors, and may use all of them afterwards."""

from __future__ import annotations

import os
import threading

import pytest

from outsample import crew
from outsample.crew import Crew
from outsample.threads import in_stages, threads_apart

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two processors of Linux"
)


@pytest.fixture
def one_thread():
    """A crew of one, and the number of its thread."""
    made = Crew(1, lambda: None)
    (first,) = made.start(lambda part: threading.get_native_id(), range(1))
    return made, first.result()


def processors(part):
    return os.sched_getaffinity(0)


def test_caller_and_thread_have_different_processors_while_they_are_apart(one_thread):
    made, member = one_thread
    before = os.sched_getaffinity(0), os.sched_getaffinity(member)
    for _ in range(3):
        with made.apart():
            (here,) = os.sched_getaffinity(0)
            (work,) = made.start(processors, range(1))
            assert work.result() == before[1] - {here}
        assert (os.sched_getaffinity(0), os.sched_getaffinity(member)) == before


def test_processors_are_given_back_after_an_error(one_thread):
    made, member = one_thread
    before = os.sched_getaffinity(0), os.sched_getaffinity(member)
    with pytest.raises(KeyboardInterrupt), made.apart():
        raise KeyboardInterrupt
    assert (os.sched_getaffinity(0), os.sched_getaffinity(member)) == before


def test_threads_that_are_made_meanwhile_may_use_every_processor():
    made, allowed = Crew(1, lambda: None), os.sched_getaffinity(0)
    with made.apart():
        (work,) = made.start(processors, range(1))
        assert work.result() == allowed


def test_a_second_caller_leaves_everything_as_it_is(one_thread):
    made, member = one_thread
    with made.apart():
        before = os.sched_getaffinity(0), os.sched_getaffinity(member)
        with made.apart():
            assert (os.sched_getaffinity(0), os.sched_getaffinity(member)) == before
        assert (os.sched_getaffinity(0), os.sched_getaffinity(member)) == before


def test_a_thread_with_no_other_processor_keeps_its_own(one_thread):
    made, member = one_thread
    allowed = os.sched_getaffinity(0)
    with made.apart():
        (here,) = os.sched_getaffinity(0)
    os.sched_setaffinity(member, {here})
    os.sched_setaffinity(0, {here})
    try:
        with made.apart():
            assert os.sched_getaffinity(member) == {here}
        assert os.sched_getaffinity(0) == {here}
    finally:
        os.sched_setaffinity(0, allowed)


def test_where_nobody_knows_the_processor_work_is_done_all_the_same(one_thread, monkeypatch):
    made, _ = one_thread
    monkeypatch.setattr(crew, "_where", None)
    allowed = os.sched_getaffinity(0)
    with made.apart():
        assert os.sched_getaffinity(0) == allowed
        assert [work.result() for work in made.start(lambda part: part**2, range(3))] == [0, 1, 4]


def test_work_in_stages_gives_processors_back_even_when_nobody_wants_the_rest():
    allowed = os.sched_getaffinity(0)
    with threads_apart():
        pass
    results = in_stages(lambda block: list(block), lambda task, part: task, [range(4), range(4, 8)], 2)
    assert next(results) == 0
    results.close()
    assert os.sched_getaffinity(0) == allowed
