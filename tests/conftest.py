"""Where the real data sets are, if they are anywhere, and how a command is run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from outsample import cli

BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


@pytest.fixture
def data_home():
    """Folder of the real data sets; the test is skipped where there is none."""
    home = Path(os.environ.get("OUTSAMPLE_DATA", BESIDE_THE_REPOSITORY))
    if not (home / "wdbc.csv").is_file():
        pytest.skip(f"no real data in {home}: name a folder of CSV files in OUTSAMPLE_DATA")
    return home


@pytest.fixture
def command(monkeypatch, capsys):
    """(exit code, standard output, standard error) of a command, without a new process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["outsample", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        return left.value.code, said.out, said.err

    return run
