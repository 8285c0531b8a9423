"""Threads beside the calling one: results in order, no waiting for each other, errors passed on."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from outsample.threads import in_stages, in_turn, over_slices, side_by_side


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_results_come_in_order(parts):
    assert side_by_side(lambda part: part**2, parts) == [part**2 for part in range(parts)]


def test_the_first_part_runs_in_the_calling_thread():
    names = side_by_side(lambda part: threading.current_thread().name, 2)
    assert names[0] == threading.current_thread().name
    assert names[1] != names[0]


def test_work_inside_work_does_not_wait_for_ever():
    inner = side_by_side(lambda part: side_by_side(lambda other: (part, other), 3), 4)
    assert inner == [[(part, other) for other in range(3)] for part in range(4)]


def test_errors_reach_the_caller():
    def fail(part):
        if part == 1:
            raise ValueError("part 1")

    with pytest.raises(ValueError, match="part 1"):
        side_by_side(fail, 3)


@pytest.mark.parametrize(("length", "parts"), [(10, 3), (2, 5), (1, 1)])
def test_slices_cover_everything_once(length, parts):
    seen = np.zeros(length, int)

    def visit(first, last):
        seen[first:last] += 1

    over_slices(visit, length, parts)
    assert (seen == 1).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    side_by_side(lambda part: part, 2)
    child = os.fork()
    if child == 0:
        os._exit(0 if side_by_side(lambda part: part, 2) == [0, 1] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_tasks_taken_in_turn_are_done_once_and_come_back_in_order(parts):
    done = []

    def work(task, part):
        done.append(task)
        return task**2, part < parts

    assert in_turn(work, range(12), parts) == [(task**2, True) for task in range(12)]
    assert sorted(done) == list(range(12))


def test_a_slow_task_does_not_hold_up_the_others():
    slow, others = threading.Event(), []

    def work(task, part):
        if task == 0:
            assert slow.wait(10)
        else:
            others.append(part)
            if len(others) == 5:
                slow.set()

    in_turn(work, range(6), 2)
    assert len(set(others)) == 1


def in_blocks(length, size):
    return [range(first, min(first + size, length)) for first in range(0, length, size)]


@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 3, 20])
def test_stages_prepare_every_block_and_do_every_task_once_in_order(parts, size):
    prepared, done = [], []

    def prepare(block):
        prepared.append(block)
        return [10 * k for k in block]

    def work(task, part):
        assert part < parts
        done.append(task)
        return task + 1

    blocks = in_blocks(17, size)
    assert list(in_stages(prepare, work, blocks, parts)) == [10 * k + 1 for k in range(17)]
    assert sorted(prepared, key=lambda block: block.start) == blocks
    assert sorted(done) == [10 * k for k in range(17)]


def test_stages_hand_results_on_while_others_are_still_done():
    seen = threading.Event()

    def work(task, part):
        if task == 5:
            assert seen.wait(10)
        return task

    results = in_stages(list, work, in_blocks(6, 1), 2)
    assert next(results) == 0
    seen.set()
    assert list(results) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("broken", ["prepare", "work"])
@pytest.mark.parametrize("parts", [1, 2])
def test_errors_in_stages_reach_the_caller(broken, parts):
    def fail(name, number):
        if name == broken and number == 4:
            raise ValueError(name)

    def prepare(block):
        fail("prepare", block.start)
        return list(block)

    def work(task, part):
        fail("work", task)
        return task

    with pytest.raises(ValueError, match=broken):
        list(in_stages(prepare, work, in_blocks(9, 2), parts))


def test_stages_left_early_begin_nothing_more():
    caller, left, late, done = threading.current_thread(), threading.Event(), [], []

    def prepare(block):
        if threading.current_thread() is not caller and block.start > 0:
            # Still preparing when nobody wants the results any more.
            assert left.wait(10)
            late.extend(block)
        return list(block)

    def work(task, part):
        done.append(task)
        return task

    results = in_stages(prepare, work, in_blocks(1000, 2), 2)
    assert next(results) == 0
    threading.Timer(0.2, left.set).start()
    results.close()
    assert len(done) < 1000
    assert not set(late) & set(done)
    assert side_by_side(lambda part: part, 2) == [0, 1]
