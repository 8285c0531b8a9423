"""What editors and type checkers see of the public names: searches return themselves, and unknown names are errors."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SNIPPET = """
from sklearn.tree import DecisionTreeClassifier
import outsample
from outsample import GridSearch

X, y = [[0.0], [1.0]] * 10, [0, 1] * 10
search = GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": range(2, 51)}).fit(X, y)
reveal_type(search)
reveal_type(search.best_params_)
reveal_type(search.curve_.out_sample)
reveal_type(outsample.estimate(DecisionTreeClassifier(), X, y).interval())
outsample.nothing
"""


@pytest.fixture
def snippet(tmp_path):
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    return file


def check(text):
    """The types that were asked for, and one error, whichever checker wrote them."""
    assert "GridSearch" in text
    assert re.search(r'"(builtins\.)?dict\[(builtins\.)?str, Any\]"', text)
    assert "float64" in text
    assert re.search(r'"(builtins\.)?tuple\[(builtins\.)?float, (builtins\.)?float\]"', text)
    errors = [line for line in text.splitlines() if "error:" in line and "sklearn" not in line]
    assert len(errors) == 1, text
    assert "nothing" in errors[0] or "no attribute" in errors[0]


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_sees_the_types_of_results(snippet):
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-error-summary", str(snippet)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=snippet.parent)
    check(done.stdout.replace("import-untyped", "sklearn"))


def test_pyright_sees_the_types_of_results(snippet):
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None or subprocess.run([pyright, "--version"], capture_output=True, timeout=300).returncode:
        pytest.skip("pyright is not installed, or cannot fetch its own program")
    command = [pyright, "--pythonpath", sys.executable, str(snippet)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=snippet.parent)
    check(done.stdout)
