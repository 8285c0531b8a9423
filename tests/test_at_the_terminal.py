"""Progress, silence and Ctrl-C, each seen from outside the process."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample.progress import TerminalProgress

SLOW_WORK = textwrap.dedent(
    """
    import time
    import numpy as np
    from sklearn.tree import DecisionTreeClassifier
    import outsample

    class Slow(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            time.sleep({pause})
            return super().fit(X, y, sample_weight)

    X = np.arange(40.0).reshape(20, 2)
    y = np.tile([0, 1], 10)

    def working(done, planned):
        print("working", done, flush=True)

    result = outsample.estimate(
        Slow(max_depth=1), X, y, criterion=outsample.Permutation({n_draws}), random_state=0, n_jobs={n_jobs}{more}
    )
    print("done", result.n_fits, flush=True)
    """
)


def script(pause, n_draws, n_jobs=1, more=""):
    return [sys.executable, "-c", SLOW_WORK.format(pause=pause, n_draws=n_draws, n_jobs=n_jobs, more=more)]


def test_progress_is_called_after_every_draw():
    calls = []
    X, y = np.arange(20.0)[:, None], np.tile([0, 1], 10)
    learner = DecisionTreeClassifier(max_depth=1)
    outsample.estimate(
        learner,
        X,
        y,
        criterion=outsample.Permutation(5),
        random_state=0,
        fast=False,
        progress=lambda done, planned: calls.append((done, planned)),
    )
    assert calls == [(i, 5) for i in range(1, 6)]


def test_silent_where_the_output_is_no_terminal():
    run = subprocess.run(script(0.3, 6), capture_output=True, text=True, timeout=120, check=True)
    assert run.stdout == "done 7\n"
    assert run.stderr == ""


def test_short_work_shows_no_bar():
    with TerminalProgress("work") as progress:
        progress(1, 10)
        assert progress._bar is None


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_bar_where_the_output_is_a_terminal():
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        script(0.3, 10), stdout=theirs, stderr=theirs, env=os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    )
    os.close(theirs)
    shown = _everything(ours, 120)
    assert process.wait(timeout=60) == 0
    assert "permutation" in shown
    assert "/10 fits" in shown
    assert "done 11" in shown


def test_compiling_is_announced_the_first_time_only(tmp_path):
    import pty

    shown = []
    for _ in range(2):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", "from outsample._kernels import coordinate_descent; coordinate_descent.warmup()"],
            stdout=theirs,
            stderr=theirs,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        )
        os.close(theirs)
        shown.append(_everything(ours, 120))
        assert process.wait(timeout=60) == 0
    assert "compiling, once on this machine" in shown[0]
    assert "compiling" not in shown[1]


def _everything(descriptor, seconds):
    """What a terminal shows, colours aside, until the program at its other end closes it."""
    shown, until = b"", time.monotonic() + seconds
    while time.monotonic() < until:
        if not select.select([descriptor], [], [], 1.0)[0]:
            continue
        try:
            part = os.read(descriptor, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(descriptor)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())


def _descendants(pid):
    """Living processes started by `pid`, and by those."""
    found, to_ask = [], [pid]
    while to_ask:
        try:
            with open(f"/proc/{to_ask[0]}/task/{to_ask[0]}/children") as listing:
                children = [int(child) for child in listing.read().split()]
        except OSError:
            children = []
        to_ask = to_ask[1:] + children
        found += children
    return found


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="reads the process table of Linux")
@pytest.mark.parametrize("to_the_group", [True, False], ids=["whole group", "process alone"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_control_c_leaves_no_orphan(n_jobs, to_the_group):
    process = subprocess.Popen(
        script(0.05, 10_000, n_jobs, ", progress=working"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout.readline().startswith("working")
        workers = _descendants(process.pid)
        assert n_jobs == 1 or len(workers) >= 2
        if to_the_group:
            os.killpg(process.pid, signal.SIGINT)
        else:
            os.kill(process.pid, signal.SIGINT)
        assert process.wait(timeout=60) != 0
        until = time.monotonic() + 60
        while time.monotonic() < until and any(_alive(pid) for pid in workers):
            time.sleep(0.1)
        assert not [pid for pid in workers if _alive(pid)]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
