"""Threads that sleep wake on another processor than their caller's, and may use all of them once awake."""

from __future__ import annotations

import os
import threading

import pytest

from outsample import crew
from outsample.crew import Crew

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs two processors of Linux"
)


@pytest.fixture
def one_thread():
    """A crew of one that is awake, and its number."""
    made = Crew(1, lambda: None)
    (first,) = made.start(lambda part: threading.get_native_id(), range(1))
    return made, first.result()


@pytest.fixture
def rested(monkeypatch):
    """Every thread counts as having slept for long."""
    monkeypatch.setattr(crew, "_LONG", -1.0)


def processors(part):
    return os.sched_getaffinity(0)


def test_a_sleeping_thread_is_kept_away_from_one_processor_until_it_works(one_thread):
    made, member = one_thread
    allowed = os.sched_getaffinity(member)
    forbidden = min(allowed)
    made._keep_away_from(forbidden)
    made._keep_away_from(forbidden)
    assert os.sched_getaffinity(member) == allowed - {forbidden}
    (work,) = made.start(processors, range(1))
    assert work.result() == allowed


@pytest.mark.usefixtures("rested")
def test_work_begins_on_another_processor_than_the_callers(one_thread, monkeypatch):
    made, _ = one_thread
    kept_away = []
    monkeypatch.setattr(made, "_keep_away_from", kept_away.append)
    (work,) = made.start(processors, range(1))
    work.result()
    assert kept_away
    assert set(kept_away) <= os.sched_getaffinity(0)


@pytest.mark.usefixtures("rested")
def test_nothing_stays_closed_after_many_turns(one_thread):
    made, member = one_thread
    allowed = os.sched_getaffinity(member)
    for _ in range(50):
        assert made.start(processors, range(1))[0].result() == allowed


def test_the_only_processor_stays_open(one_thread):
    made, member = one_thread
    allowed = os.sched_getaffinity(member)
    os.sched_setaffinity(member, {min(allowed)})
    made._keep_away_from(min(allowed))
    assert os.sched_getaffinity(member) == {min(allowed)}


@pytest.mark.usefixtures("rested")
def test_where_nobody_knows_the_processor_work_is_done_all_the_same(one_thread, monkeypatch):
    made, _ = one_thread
    monkeypatch.setattr(crew, "_where", None)
    assert [work.result() for work in made.start(lambda part: part**2, range(3))] == [0, 1, 4]
