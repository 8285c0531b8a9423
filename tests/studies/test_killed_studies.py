"""A study that is killed and started again gives the same table to the last digit, and repeats nothing it had kept."""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("killed_study.py")


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("killed_study", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def units(store):
    """What the store holds, by unit."""
    if not store.exists():
        return {}
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        try:
            return dict(connection.execute("SELECT unit, rowid FROM units").fetchall())
        except sqlite3.OperationalError:
            return {}


def killed_after(store, kind, enough):
    """Start the study and send SIGKILL once it has kept so many units; what it had kept by then."""
    child = subprocess.Popen([sys.executable, str(SCRIPT), str(store), kind], stdout=subprocess.DEVNULL)
    while len(units(store)) < enough and child.poll() is None:
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    return units(store)


@pytest.mark.parametrize("kind", ["trials", "splits"])
def test_killed_and_resumed_to_the_last_digit(kind, study, tmp_path):
    store = tmp_path / "study.sqlite"
    kept = killed_after(store, kind, 3)
    planned = study.N_SPLITS if kind == "splits" else study.N_TRIALS // 2000
    assert 3 <= len(kept) < planned
    resumed = study.table_of(store, kind, n_jobs=2 if kind == "trials" else 1)
    assert resumed == study.table_of(None, kind)
    # A unit that is put again gets a new row: those kept before are still where they were.
    assert units(store).items() >= kept.items()


def test_a_store_of_another_seed_is_refused(study, tmp_path):
    from outsample.studies.polynomials import table4

    table4.run(100, seed=0, store=tmp_path / "study.sqlite", n_jobs=1)
    with pytest.raises(ValueError, match="other seed"):
        table4.run(100, seed=1, store=tmp_path / "study.sqlite", n_jobs=1)
