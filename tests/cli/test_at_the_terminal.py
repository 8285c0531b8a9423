"""Progress, silence, Ctrl-C and SIGTERM, closed streams and plain ones, each seen from outside the process."""

from __future__ import annotations

import json
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
from outsample.running.progress import TerminalProgress

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


LINUX = pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="reads the process table of Linux")
COMMAND = [sys.executable, "-m", "outsample"]


def _left_alive(pids, seconds=60):
    """Which of these processes still live after waiting for their end."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and any(_alive(pid) for pid in pids):
        time.sleep(0.1)
    return [pid for pid in pids if _alive(pid)]


def _stopped(command, number, to_the_group=False, started="working"):
    """(exit code, standard error, workers that were there, those that stayed) of a command that was told to stop."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout.readline().startswith(started)
        workers = _descendants(process.pid)
        (os.killpg if to_the_group else os.kill)(process.pid, number)
        code = process.wait(timeout=60)
        left = _left_alive(workers)
        return code, process.communicate()[1], workers, left
    finally:
        for pid in (process.pid, *_descendants(process.pid)):
            if _alive(pid):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stderr.close()


@LINUX
@pytest.mark.parametrize("to_the_group", [True, False], ids=["whole group", "process alone"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_control_c_leaves_no_orphan(n_jobs, to_the_group):
    work = script(0.05, 10_000, n_jobs, ", progress=working")
    code, _, workers, left = _stopped(work, signal.SIGINT, to_the_group)
    assert code != 0
    assert n_jobs == 1 or len(workers) >= 2
    assert not left


@LINUX
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_script_that_is_killed_leaves_no_worker(number):
    code, _, workers, left = _stopped(script(0.05, 10_000, 2, ", progress=working"), number)
    assert code == -number
    assert len(workers) >= 2
    assert not left


# A learner for the command line that says when it is at work; workers write to the same standard output.
AT_WORK = """
import time
from sklearn.tree import DecisionTreeClassifier

class AtWork(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None):
        print("working", flush=True)
        time.sleep(0.2)
        return super().fit(X, y, sample_weight)
"""


def _long_command(folder, *more):
    (folder / "at_work.py").write_text(AT_WORK)
    (folder / "table.csv").write_text("a,y\n" + "".join(f"{i * i % 7},{'uv'[i % 2]}\n" for i in range(20)))
    asked = ["--target", "y", "--model", "at_work.AtWork", "--criterion", "permutation:10000", *more]
    return [*COMMAND, "estimate", str(folder / "table.csv"), *asked]


@LINUX
@pytest.mark.parametrize(
    ("number", "word", "jobs", "to_the_group"),
    [
        (signal.SIGINT, "interrupted", "2", True),
        (signal.SIGINT, "interrupted", "1", False),
        (signal.SIGTERM, "terminated", "2", False),
        (signal.SIGTERM, "terminated", "2", True),
    ],
)
def test_a_command_that_is_stopped_says_so_in_one_line(tmp_path, monkeypatch, number, word, jobs, to_the_group):
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    code, err, _, left = _stopped(_long_command(tmp_path, "--jobs", jobs), number, to_the_group)
    assert (code, err) == (128 + number, f"outsample: {word}\n")
    assert not left


@pytest.mark.parametrize("module", ["outsample.cli", "typer"])
def test_control_c_while_the_command_is_loaded_says_so_in_one_line(module):
    interrupted = (
        "import sys, importlib.abc\n"
        "class Finder(importlib.abc.MetaPathFinder):\n"
        f"    def find_spec(self, name, *_):\n        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from outsample.__main__ import main\nmain()"
    )
    run = subprocess.run([sys.executable, "-c", interrupted], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (130, "outsample: interrupted\n")


def _in_a_shell(line, **environment):
    """(exit code, standard output, standard error) of a line typed into a shell, `outsample` being the command."""
    line = line.replace("outsample", f"'{sys.executable}' -m outsample")
    run = subprocess.run(["bash", "-c", line], capture_output=True, timeout=120, env=os.environ | environment)
    return run.returncode, run.stdout.decode(), run.stderr.decode()


ESTIMATE = "outsample estimate table.csv --target y --criterion kfold:3"


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    _long_command(tmp_path)
    monkeypatch.chdir(tmp_path)


def test_a_bare_command_prints_its_help():
    code, out, err = _in_a_shell("outsample")
    assert (code, err) == (0, "")
    assert (0, out, err) == _in_a_shell("outsample --help")
    assert out.startswith("Usage: outsample")


PLAIN = [
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "LANG": "C"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
]


@pytest.mark.parametrize("environment", PLAIN)
def test_terminals_that_know_only_ascii_are_answered(in_a_folder, environment):
    code, out, err = _in_a_shell(f"{ESTIMATE} && outsample --help && outsample select --help", **environment)
    assert (code, err) == (0, "")
    assert ("±" if environment.get("LANG") else "+-") in out


def test_json_on_an_ascii_terminal_is_the_same_answer(in_a_folder):
    os.rename("table.csv", "täble.csv")
    line = f"{ESTIMATE.replace('table', 'täble')} --json"
    plain, whole = (
        json.loads(_in_a_shell(line, PYTHONIOENCODING=encoding)[1])["asked"] for encoding in ("ascii", "utf-8")
    )
    assert plain == whole
    assert plain["file"] == "täble.csv"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "--jobs 2 --report page.html <&- >&- 2>&-"])
def test_closed_streams_end_quietly(in_a_folder, closed):
    code, out, err = _in_a_shell(f"{ESTIMATE} {closed}")
    assert (code, err) == (0, "")
    assert out.startswith("Expect") or " >&-" in f" {closed}"


def test_a_closed_standard_input_is_named():
    assert _in_a_shell("outsample estimate - --target y <&-") == (2, "", "outsample: standard input is empty\n")


def test_what_is_wrong_is_not_said_on_the_answer(in_a_folder):
    assert _in_a_shell("outsample estimate table.csv --target nothing 2>&-") == (2, "", "")


def test_a_full_disk_is_named(in_a_folder):
    assert _in_a_shell(f"{ESTIMATE} > /dev/full") == (2, "", "outsample: [Errno 28] No space left on device\n")
