"""Imports go one way, and importing the library is cheap."""

from __future__ import annotations

import ast
import json
import statistics
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import outsample

ROOT = Path(outsample.__file__).parent

# The floors of the house, the lowest first; every module and folder of the library stands on one. A module leans on its
# own floor and on lower ones, never on a higher one.
FLOORS = (
    ("checks", "docstrings", "running"),
    ("data", "estimators"),
    ("losses", "curve", "bounds", "penalties", "hypotheses"),
    ("resampling", "_kernels"),
    ("paths",),
    ("problem",),
    ("evidence",),
    ("criteria",),
    ("rules", "datasets"),
    ("questions",),
    ("_public",),
    ("view",),
    ("cli",),
    ("__main__",),
)
ENDINGS = {"s", "es", "e", "er", "ers", "ed", "d", "ing", "ings", "ion", "ions", "ation", "y", "ies"}
# Imported inside functions only, where they are needed. numba may be imported by kernels, which are.
LAZY = {
    "matplotlib",
    "rich",
    "jinja2",
    "numba",
    "pandas",
    "polars",
    "dask",
    "distributed",
    "lightgbm",
    "xgboost",
    "catboost",
    "optuna",
}


def unit_of(path):
    """The module, or the package right under the library, that a file belongs to."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def executed_on_import(tree):
    """Statements that run when a module is imported: not those in functions, nor those for type checkers."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += node.orelse
            continue
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def imported_modules(path, nodes):
    """Absolute names of what import statements load."""
    package = ("outsample", *path.relative_to(ROOT).parts[:-1])
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def own_unit(name):
    """Which unit of the library an absolute name belongs to; None for other libraries and for the library's version."""
    first, _, rest = name.partition(".")
    if first != "outsample" or rest == "__version__":
        return None
    if not rest:
        return "_public"
    unit = rest.partition(".")[0]
    is_module = (ROOT / f"{unit}.py").exists() or (ROOT / unit / "__init__.py").exists()
    return unit if is_module else "_public"


def files():
    return sorted(ROOT.rglob("*.py"))


@cache
def graph():
    """unit → units it imports when it is imported."""
    edges = {}
    for path in files():
        nodes = executed_on_import(ast.parse(path.read_text()))
        units = {own_unit(name) for name in imported_modules(path, nodes)} - {None}
        edges.setdefault(unit_of(path), set()).update(units - {unit_of(path)})
    return edges


def reachable(edges, start):
    seen, waiting = set(), [start]
    while waiting:
        for unit in edges.get(waiting.pop(), ()):
            if unit not in seen:
                seen.add(unit)
                waiting.append(unit)
    return seen


def upward(edges):
    """Pairs (unit, unit of a higher floor that it leans on)."""
    floor = {unit: i for i, units in enumerate(FLOORS) for unit in units}
    return [(unit, other) for unit in edges for other in edges[unit] if floor[other] > floor[unit]]


def test_every_module_stands_on_a_floor():
    units = {unit_of(path) for path in files()} - {"__init__"}
    assert sorted(unit for floor in FLOORS for unit in floor) == sorted(units)


def test_imports_only_go_down():
    assert upward(graph()) == []


def test_an_import_that_goes_up_is_found():
    assert upward(graph() | {"losses": {"criteria"}}) == [("losses", "criteria")]


@cache
def module_graph():
    """module → modules of the library that it imports when it is imported."""
    names = {module_name(path): path for path in files()}
    edges = {}
    for name, path in names.items():
        wanted = imported_modules(path, executed_on_import(ast.parse(path.read_text())))
        found = {other if other in names else other.rpartition(".")[0] for other in wanted}
        edges[name] = {other for other in found if other in names} - {name, "outsample"}
    return edges


def module_name(path):
    parts = ("outsample", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def longest_chains(edges):
    """The longest chain of imports that begins with each module; fails where one comes back to itself."""
    known = {}

    def chain(module):
        if module not in known:
            known[module] = None
            below = [chain(other) for other in edges[module]]
            assert None not in below, f"{module} is in a cycle"
            known[module] = (module, *max(below, key=len, default=()))
        return known[module]

    return [chain(module) for module in edges]


def test_no_cycle_and_no_chain_of_more_than_fifteen_modules():
    longest = max(longest_chains(module_graph()), key=len)
    assert len(longest) <= 15, " → ".join(longest)


def test_a_cycle_is_found():
    with pytest.raises(AssertionError, match="cycle"):
        longest_chains({"a": {"b"}, "b": {"a"}})


def test_the_house_is_small_and_its_rooms_have_names_of_their_own():
    entries = [path for path in ROOT.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 26
    for folder in [ROOT, *(path for path in ROOT.rglob("*") if path.is_dir() and path.name != "__pycache__")]:
        names = sorted({path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()})
        words = [name.strip("_") for name in names if not name.startswith("__")]
        stems = [(a.removesuffix("e"), b) for a in words for b in words if a != b]
        alike = [(a, b) for a, b in stems if b.startswith(a) and b.removeprefix(a) in ENDINGS]
        assert alike == [], folder


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_module_may_import(path):
    tree = ast.parse(path.read_text())
    everything = list(imported_modules(path, ast.walk(tree)))
    private = [name for name in everything if name.startswith("sklearn.") and "._" in name]
    assert private == [], "scikit-learn's private modules are not ours to import"
    if unit_of(path) in reachable(graph(), "_public") - {"_kernels"}:
        now = {name.partition(".")[0] for name in imported_modules(path, executed_on_import(tree))}
        assert now & LAZY == set()


LOADED = """
import json, sys, time
import sklearn.metrics, sklearn.model_selection, sklearn.pipeline, sklearn.compose
before, start = set(sys.modules), time.perf_counter()
{statement}
seconds = time.perf_counter() - start
print(json.dumps([seconds, sorted(set(sys.modules) - before)]))
"""


def loaded_by(statement):
    code = LOADED.format(statement=statement)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    return json.loads(run.stdout)


@pytest.mark.parametrize("statement", ["import outsample", "from outsample import estimate, GridSearch"])
def test_nothing_heavy_is_loaded_beyond_scikit_learn(statement):
    _, modules = loaded_by(statement)
    assert {name.partition(".")[0] for name in modules} & LAZY == set()
    assert not any(name.startswith("outsample._kernels.") for name in modules)


def test_import_costs_less_than_half_a_second_more_than_scikit_learn():
    code = "import time; start = time.process_time(); import sklearn; a = time.process_time(); import outsample; "
    code += "outsample.__version__; b = time.process_time(); print(a - start, b - a)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    extra = statistics.median(float(run.stdout.split()[1]) for run in runs)
    assert extra < 0.5
