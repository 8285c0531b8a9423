from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from outsample.running.run import child_generator, child_integer, child_seed, seed_sequence
from outsample.running.threads import one_blas_thread
from outsample.running.workers import results_of


def squared(x):
    time.sleep(0.002 * (5 - x % 5))
    return x * x


def blas_threads(x):
    time.sleep(0.01 * (x % 3))
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def failing(x):
    if x == 3:
        raise ZeroDivisionError("three")
    return x


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky", "multiprocessing"])
def test_results_come_in_the_order_of_the_tasks(backend):
    with joblib.parallel_config(backend):
        n_jobs = 1 if backend == "sequential" else 2
        assert list(results_of(squared, [(i,) for i in range(12)], n_jobs)) == [i * i for i in range(12)]


SERVED = """
import joblib
from outsample.running.workers import results_of

if __name__ == "__main__":
    with joblib.parallel_config("multiprocessing"):
        print(list(results_of(abs, [(-i,) for i in range(6)], 2)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a fork server")
@pytest.mark.parametrize("start", ["fork", "forkserver", "spawn"])
def test_workers_are_not_taken_for_orphans_however_they_are_started(start, tmp_path):
    """Those of a fork server, the usual way since Python 3.14, have another parent."""
    (tmp_path / "served.py").write_text(SERVED)
    environment = os.environ | {"JOBLIB_START_METHOD": start}
    command = [sys.executable, "-W", "ignore", str(tmp_path / "served.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[0, 1, 2, 3, 4, 5]\n", "")


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_linear_algebra_runs_on_one_thread_and_the_limit_is_lifted_after(backend):
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads(0)
        with joblib.parallel_config(backend):
            seen = list(results_of(blas_threads, [(i,) for i in range(12)], 3))
        assert {threads for unit in seen for threads in unit} == {1}
        assert blas_threads(0) == before


def test_linear_algebra_is_limited_whichever_thread_comes_first_and_goes_last():
    """The main thread has set limits before, another thread enters, and a third leaves after all others."""
    first_is_in, second_is_in, first_is_out = Event(), Event(), Event()

    def first():
        with one_blas_thread:
            first_is_in.set()
            second_is_in.wait(10)
            seen = blas_threads(0)
        first_is_out.set()
        return seen

    def second():
        first_is_in.wait(10)
        with one_blas_thread:
            second_is_in.set()
            first_is_out.wait(10)
            return blas_threads(0)

    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(2) as threads:
        outside = blas_threads(0)
        both = [threads.submit(work) for work in (first, second)]
        assert {count for seen in both for count in seen.result()} == {1}
        assert blas_threads(0) == outside


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_between_results_there_is_no_limit_on_linear_algebra(n_jobs):
    """A caller that is interrupted there may never ask for the next one."""
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads(0)
        with joblib.parallel_config("loky"):
            results = results_of(squared, [(i,) for i in range(4)], n_jobs)
            next(results)
            assert blas_threads(0) == before
            assert list(results) == [1, 4, 9]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_a_task_reaches_the_caller(n_jobs):
    with pytest.raises(ZeroDivisionError, match="three"):
        list(results_of(failing, [(i,) for i in range(6)], n_jobs))


def long_and_short(x, started):
    """The first task leaves a note and takes long, unless another process has left it before."""
    note = started / str(x)
    if x == 0 and not note.exists():
        note.write_text(str(os.getpid()))
        time.sleep(3)
    return x


def executor_manager():
    return next(thread for thread in threading.enumerate() if thread.name == "ExecutorManagerThread")


def end_thread(thread):
    """What an error in it does: it ends at the next line of Python that it comes to."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


@pytest.mark.timeout(60)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_tasks_of_a_dead_manager_thread_are_run_again_with_real_loky(tmp_path):
    """joblib alone waits for ever: workers are there, but nobody hands them tasks or takes their results."""
    with joblib.parallel_config("loky"):
        results = results_of(long_and_short, [(i, tmp_path) for i in range(12)], 2)
        killer = threading.Timer(1.5, lambda: end_thread(executor_manager()))
        killer.start()
        assert list(results) == list(range(12))
        assert list(results_of(squared, [(i,) for i in range(4)], 2)) == [0, 1, 4, 9]
    killer.join()


@pytest.mark.timeout(60)
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_tasks_of_a_killed_process_are_run_again(backend, tmp_path):
    def kill():
        while not (tmp_path / "0").exists() or not (tmp_path / "0").read_text():
            time.sleep(0.1)
        os.kill(int((tmp_path / "0").read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with joblib.parallel_config(backend):
        assert list(results_of(long_and_short, [(i, tmp_path) for i in range(12)], 2)) == list(range(12))
    killer.join()


class Kept(dict):
    def put(self, index, result):
        self[index] = result


def test_finished_tasks_are_not_run_again():
    kept = Kept({0: "old", 2: "old", 5: "old"})
    results = list(results_of(squared, [(i,) for i in range(6)], 1, kept))
    assert results == ["old", 1, "old", 9, 16, "old"]
    assert list(results_of(failing, [(i,) for i in range(6)], 1, kept)) == results


def test_no_tasks_no_results():
    assert list(results_of(squared, [], 2)) == []


@pytest.mark.parametrize("make", [lambda: 3, lambda: np.int64(3), lambda: np.random.SeedSequence(3)])
def test_equal_random_states_give_equal_seeds(make):
    assert child_integer(seed_sequence(make()), 1) == child_integer(np.random.SeedSequence(3), 1)


def test_generators_are_read_once():
    a, b = (seed_sequence(np.random.default_rng(5)).entropy for _ in range(2))
    c, d = (seed_sequence(np.random.RandomState(5)).entropy for _ in range(2))
    assert a == b
    assert c == d
    assert seed_sequence(None).entropy != seed_sequence(None).entropy


@pytest.mark.parametrize("bad", [-1, "zero", 1.5, True])
def test_random_state_that_is_none(bad):
    with pytest.raises(ValueError, match=f"random_state must be .* got {bad!r}"):
        seed_sequence(bad)


def test_children_have_fixed_addresses():
    seed = seed_sequence(0)
    assert child_integer(seed, 1, 2) == child_integer(child_seed(seed, 1), 2)
    assert child_generator(seed, 4).integers(1000) == child_generator(seed, 4).integers(1000)
    assert len({child_integer(seed, i) for i in range(1000)}) == 1000
    assert all(0 <= child_integer(seed, i) < 2**31 for i in range(100))
