"""The script that changes formulas one at a time, on small ones; its runs over the package are not made here."""

from __future__ import annotations

import types

import pytest

from mutations import EQUIVALENT, PACKAGE, ROOT, TESTS, changed, mutants

SOURCE = """
LIMIT = 2.0

def gap(n, delta: float = 0.5):
    return -n + 2 * delta if n >= LIMIT and not delta > 1e-9 else max(n, 1)
"""


def test_every_constant_operator_comparison_and_sign_is_changed_once():
    found = {mutant.source.strip().splitlines()[-1].strip() for mutant in mutants(SOURCE)}
    expected = [
        "return --n + 2 * delta if",
        "return -n - 2 * delta if",
        "return -n + 3 * delta if",
        "return -n + 2 / delta if",
        "if n > LIMIT and",
        "if n < LIMIT and",
        "if n >= LIMIT or not",
        "not not delta > 1e-09",
        "not delta >= 1e-09",
        "not delta <= 1e-09",
        "not delta > 0.1",
        "else min(n, 1)",
        "else max(n, 2)",
    ]
    for line in expected:
        assert any(line in one for one in found), line
    # Of the two left, one changes the constant above, one the default.
    names = [mutant.name for mutant in mutants(SOURCE)]
    assert len(names) == len(set(names)) == len(expected) + 2


def test_a_loaded_module_takes_the_meaning_of_another_source():
    module = types.ModuleType("loaded")
    module.__file__ = "loaded.py"
    exec(SOURCE, vars(module))
    known = module.gap
    changed(module, SOURCE.replace("2.0", "9.0").replace("= 0.5", "= 7.0").replace("max(n, 1)", "n + 40"))
    assert module.gap is known
    assert (known(3), known(9), known(9, 0.0)) == (43, 49, -9)


@pytest.mark.parametrize("module", TESTS)
def test_modules_and_their_tests_exist(module):
    names = {f"{module}:{mutant.name}" for mutant in mutants((PACKAGE / module).read_text(encoding="utf-8"))}
    assert names
    assert all((ROOT / file).is_file() for file in TESTS[module])
    assert {key for key in EQUIVALENT if key.startswith(f"{module}:")} <= names
