"""How large the library is, beside ceilings that may only be lowered: what is added is paid for by what it replaces."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import outsample

ROOT = Path(outsample.__file__).parent

# Lower these when the library has become smaller; never raise them.
CEILINGS = {
    "lines": 47_400,
    "files": 213,
    "functions": 3_440,
    "private functions used once": 516,
    "names defined in several modules": 139,
}


@cache
def measured():
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree)]
    functions = [(path, node.name) for path, node in nodes if isinstance(node, ast.FunctionDef)]
    uses = Counter(node.id for _, node in nodes if isinstance(node, ast.Name))
    uses += Counter(node.attr for _, node in nodes if isinstance(node, ast.Attribute))
    kernels = ROOT / "_kernels"
    private = [
        name
        for path, name in functions
        if name.startswith("_") and not name.startswith("__") and kernels not in path.parents
    ]
    homes = Counter(
        name
        for tree in trees.values()
        for name in {
            node.name.lstrip("_").lower() for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
    )
    return {
        "lines": sum(path.read_text(encoding="utf-8").count("\n") for path in trees),
        "files": len(trees),
        "functions": len(functions),
        "private functions used once": sum(uses[name] <= 1 for name in private),
        "names defined in several modules": sum(count > 1 for count in homes.values()),
    }


@pytest.mark.parametrize("what", CEILINGS)
def test_the_library_is_no_larger_than_it_was(what):
    assert measured()[what] <= CEILINGS[what]
