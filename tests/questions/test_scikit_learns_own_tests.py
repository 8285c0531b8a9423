"""scikit-learn's own tests of its searches, run on ours with `cv=` semantics."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXPECTED = {
    # It compares all attributes with those of another search, and ours has more: curve_, estimate_, n_fits_, …
    "test_custom_run_search",
    # They compare all columns of cv_results_, and ours has more: out_sample, standard_error, …
    "test_grid_search_cv_results",
    "test_random_search_cv_results",
    # They count the columns, with one metric and with two.
    "test_grid_search_cv_results_multimetric",
    "test_random_search_cv_results_multimetric",
}

HERE = Path(__file__).parent


def shipped(module):
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def failures(module, plugin, tmp_path, only=""):
    """(names of the tests that fail, how many passed) when a module of scikit-learn's tests runs with a plugin."""
    if not shipped(module):
        pytest.skip("scikit-learn was installed without its tests")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", plugin, "-p", "no:cacheprovider"]
    command += ["-p", "no:randomly", "--rootdir", str(tmp_path), "-W", "ignore", "-k", only, "--pyargs", module]
    path = os.pathsep.join([str(HERE), *(entry for entry in sys.path if entry)])
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, cwd=tmp_path, env=environment)
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout + done.stderr
    return set(re.findall(r"^FAILED .*::(\w+)", done.stdout, flags=re.MULTILINE)), int(passed[1])


def test_tests_of_searches(tmp_path):
    failed, passed = failures("sklearn.model_selection.tests.test_search", "searches_replaced", tmp_path)
    assert failed <= EXPECTED
    assert passed > 100


@pytest.mark.parametrize("plugin", ["searches_replaced", "searches_as_they_are"])
def test_metadata_routing_of_meta_estimators(plugin, tmp_path):
    """The second plugin replaces scikit-learn's searches by ours with all defaults, labels permuted."""
    module = "sklearn.tests.test_metaestimators_metadata_routing"
    failed, passed = failures(module, plugin, tmp_path, only="GridSearch or RandomizedSearch")
    assert not failed
    assert passed > 12
