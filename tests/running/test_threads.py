"""Threads beside the calling one: results in order, no waiting for each other, errors passed on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from outsample import GridSearch, estimate
from outsample.running.threads import cached_property, in_order, in_turn, n_threads, over_slices, side_by_side


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


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_results_in_order_are_of_every_task_once(parts):
    done = []

    def work(task, part):
        assert part < parts
        done.append(task)
        return task + 1

    assert list(in_order(work, range(17), parts)) == list(range(1, 18))
    assert sorted(done) == list(range(17))


def test_results_are_handed_on_while_others_are_still_done():
    seen = threading.Event()

    def work(task, part):
        if part == 1 and task > 0:
            assert seen.wait(10)
        return task

    results = in_order(work, range(6), 2)
    assert next(results) == 0
    seen.set()
    assert list(results) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("error", [ValueError, IndexError])
def test_errors_of_tasks_reach_the_caller(parts, error):
    def work(task, part):
        if task == 4:
            raise error("task 4")
        return task

    with pytest.raises(error, match="task 4"):
        list(in_order(work, range(9), parts))


def test_nothing_more_is_begun_where_the_caller_leaves_early():
    left, late, done = threading.Event(), [], []

    def work(task, part):
        if part == 1 and task > 0:
            # Still at work when nobody wants the results any more.
            assert left.wait(10)
            late.append(task)
        elif task > 0:
            time.sleep(0.01)
        done.append(task)
        return task

    results = in_order(work, range(1000), 2)
    assert next(results) == 0
    threading.Timer(0.2, left.set).start()
    results.close()
    begun = len(done)
    assert begun < 1000
    assert len(late) <= 1
    assert side_by_side(lambda part: part, 2) == [0, 1]
    assert len(done) == begun


@pytest.fixture
def sixteen_processors(monkeypatch):
    """A machine of sixteen processors where nobody sets a limit."""
    monkeypatch.setattr(joblib, "cpu_count", lambda: 16)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    with threadpool_limits(16, user_api="openmp"):
        yield


@pytest.mark.usefixtures("sixteen_processors")
def test_all_processors_are_used_where_nobody_sets_a_limit():
    assert n_threads() == 16


@pytest.mark.usefixtures("sixteen_processors")
@pytest.mark.parametrize("name", ["NUMBA_NUM_THREADS", "OMP_NUM_THREADS"])
@pytest.mark.parametrize(("told", "threads"), [("3", 3), ("99", 16), ("5,2", 5), ("", 16), ("many", 16), ("0", 16)])
def test_threads_obey_the_environment(monkeypatch, name, told, threads):
    monkeypatch.setenv(name, told)
    assert n_threads() == threads


@pytest.mark.usefixtures("sixteen_processors")
def test_threads_obey_the_limits_of_joblib_and_threadpoolctl():
    with joblib.parallel_config("loky", inner_max_num_threads=3):
        assert n_threads() == 3
        with threadpool_limits(2):
            assert n_threads() == 2
    assert n_threads() == 16


def test_threads_of_a_worker_obey_joblib():
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        assert joblib.Parallel(2)(joblib.delayed(n_threads)() for _ in range(2)) == [1, 1]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_threads_obey_the_processors_the_process_is_given():
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    code += "from outsample.running.threads import n_threads; print(n_threads())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"


def noisy_classes(n=1500):
    return make_classification(n, 20, n_informative=8, flip_y=0.3, random_state=0)


@pytest.mark.parametrize(
    ("learner", "grid"),
    [
        (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 5, 20, 60]}),
        (KNeighborsClassifier(), {"n_neighbors": [1, 3, 10, 30]}),
    ],
)
def test_answers_are_the_same_for_any_number_of_threads(monkeypatch, learner, grid):
    def answer(threads):
        for module in ("paths.trees.growth", "paths.neighbors.votes", "paths.neighbors.nearest", "resampling.labels"):
            monkeypatch.setattr(f"outsample.{module}.n_threads", lambda: threads)
        return GridSearch(learner, grid, criterion="permutation", random_state=0).fit(*noisy_classes()).curve_.draws

    np.testing.assert_array_equal(answer(1), answer(2))
    np.testing.assert_array_equal(answer(1), answer(5))


def test_nobody_changes_the_processors_a_thread_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: pytest.fail("affinity"), raising=False)
    estimate(DecisionTreeClassifier(max_leaf_nodes=9), *noisy_classes(300), criterion="permutation")
    estimate(KNeighborsClassifier(), *noisy_classes(4000), criterion="permutation")


def test_threads_that_grow_trees_on_one_table_do_not_share_their_memory():
    """A grid that ends with None refits that value, so that draws go to workers, which all grow trees on one table."""
    grid = {"max_leaf_nodes": [2, 4, 8, 16, 32, 64, 128, None]}

    def answer(n_jobs):
        search = GridSearch(DecisionTreeClassifier(random_state=0), grid, random_state=0, n_jobs=n_jobs)
        return search.set_params(criterion="permutation").fit(*noisy_classes()).curve_.draws

    alone = answer(1)
    with joblib.parallel_config("threading"):
        for n_jobs in (2, 4, 2, 4):
            np.testing.assert_array_equal(answer(n_jobs), alone)


def test_an_attribute_of_one_object_does_not_wait_for_that_of_another():
    class Slow:
        def __init__(self, inner=None):
            self.inner = inner

        @cached_property
        def value(self):
            return 1 if self.inner is None else 1 + side_by_side(lambda part: self.inner.value, 2)[1]

    outer = Slow(Slow())
    assert (outer.value, outer.inner.value, vars(outer)["value"]) == (2, 1, 2)


JUDGED_ENSEMBLE_OF_SEARCHES = """
import joblib
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier
from outsample import GridSearch, estimate

X, y = make_classification(80, random_state=0)
search = GridSearch(DecisionTreeClassifier(random_state=0), {{"max_leaf_nodes": [2, 3, 4]}}, random_state=0)
ensemble = BaggingClassifier(search, n_estimators=4, n_jobs=2, random_state=0)
with joblib.parallel_config("threading"):
    print(estimate(ensemble, X, y, criterion="{}", random_state=0).out_sample)
"""


@pytest.mark.parametrize("criterion", ["permutation", "kfold"])
def test_an_ensemble_of_searches_in_threads_can_be_judged(criterion):
    code = JUDGED_ENSEMBLE_OF_SEARCHES.format(criterion)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert 0 < float(run.stdout) < 1, run.stderr
