from __future__ import annotations

import sys

import pytest

from outsample import cli


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
