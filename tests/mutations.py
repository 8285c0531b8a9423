"""Would the tests notice? One constant, operator or sign of a formula is changed at a time, and its tests are run.

    python tests/mutations.py

changes the modules in `TESTS` as they stand in the memory of a process, never their files, and lists the changes that
no test noticed. What was noticed is kept in a file of JSON lines and not tried again while the function stays as it is:

    python tests/mutations.py --only rules.py --jobs 2 --minutes 10 --records mutations.jsonl
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import hashlib
import importlib
import json
import os
import resource
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from _pytest import runner

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "outsample"

_BOUNDS = ("tests/bounds/test_bounds.py", "tests/test_penalized.py")
_RULES = ("tests/test_rules.py", "tests/test_penalized.py", "tests/test_certificates.py")
# Module → the tests that are to notice, the quickest first; the examples in the module itself come before them.
TESTS: dict[str, tuple[str, ...]] = {
    "bounds/concentration.py": ("tests/bounds/test_concentration.py", "tests/bounds/test_exchangeability.py"),
    "bounds/margins.py": ("tests/bounds/test_margins.py", *_BOUNDS),
    "bounds/permutation.py": _BOUNDS,
    "bounds/record.py": (*_BOUNDS, "tests/test_certificates.py"),
    "bounds/uniform.py": _BOUNDS,
    "penalties.py": ("tests/test_penalties.py",),
    "rules.py": _RULES,
    "criteria/formulas.py": ("tests/criteria/test_formulas.py", "tests/criteria/test_weights.py"),
    "criteria/bounds.py": (
        "tests/criteria/test_bound_criteria.py",
        "tests/criteria/test_discrepancy.py",
        "tests/test_penalized.py",
    ),
    "criteria/bootstrap.py": ("tests/criteria/test_bootstrap.py",),
    "criteria/labels.py": ("tests/criteria/test_labels.py", "tests/criteria/test_monte_carlo_error.py"),
}

# Module and change → why it changes no answer.
EQUIVALENT: dict[str, str] = {
    "bounds/uniform.py:gaussian_bound: G + (deviation(n * draws, share, 2) if draws < math.inf else 0.0) → "
    "G + (deviation(n * draws, share, 2) if draws <= math.inf else 0.0)": "the deviation of endless draws is 0",
    "bounds/uniform.py:log_dichotomies: r >= n → r > n": "2 Σ C(n − 1, k) over all k is 2ⁿ",
    "bounds/margins.py:_kernel_margins: float(np.ravel(_dense(model.dual_coef_)) @ (decision[model.support_] - b)) → "
    "float(np.ravel(_dense(model.dual_coef_)) @ (decision[model.support_] + b))": "these coefficients sum to 0",
    "bounds/margins.py:voting_margins: zip(weights / weights.sum(), ballots, strict=True) → "
    "zip(weights / weights.sum(), ballots, strict=False)": "there are as many weights as voters",
    "bounds/margins.py:_voters: zip(model.weights, model.estimators, strict=True) → "
    "zip(model.weights, model.estimators, strict=False)": "scikit-learn refuses to fit with other numbers of weights",
    "penalties.py:_left: np.where(left > _ROUNDING, left, 0.0) → np.where(left >= _ROUNDING, left, 0.0)": "a tolerance",
    "penalties.py:_ratio: np.where(positive, numerator / np.where(positive, denominator, 1.0), np.inf) → "
    "np.where(positive, numerator / np.where(positive, denominator, 2.0), np.inf)": "infinity stands there",
    "rules.py:_ranked: np.argsort(np.round(risk / unit / 100), kind='stable') → "
    "np.argsort(np.round(risk / unit / 101), kind='stable')": "a tolerance, one per cent wider",
}

# Seconds of computing, not of waiting, after which the tests of a change are taken to run for ever, which is noticed.
LIMIT = 120

_OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
_COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_PAIRS = ("min max", "minimum maximum", "nanmin nanmax", "argmin argmax", "ceil floor", "any all")
_NAMES = {a: b for pair in _PAIRS for a, b in (pair.split(), pair.split()[::-1])}


@dataclass(frozen=True)
class Mutant:
    """A module with one change: `name` says where and what, `source` is the whole, `key` the function it is in."""

    name: str
    source: str
    key: str


def mutants(source: str) -> Iterator[Mutant]:
    """Every module that differs from this one by one constant, operator, comparison or sign."""
    tree = ast.parse(source)
    seen: dict[str, int] = {}
    for statement in tree.body:
        before = ast.unparse(statement)
        where = getattr(statement, "name", "module")
        for parents, node in _walk(statement, ()):
            for changed in _changes(node):
                original = copy.copy(node.__dict__)
                around = _shown(parents, node)
                text = ast.unparse(around)
                node.__dict__.update(changed)
                name = f"{where}: {text} → {ast.unparse(around)}"
                mutated = ast.unparse(tree)
                node.__dict__.clear()
                node.__dict__.update(original)
                seen[name] = seen.get(name, 0) + 1
                if seen[name] > 1:
                    name += f" ({seen[name]})"
                yield Mutant(name, mutated, hashlib.sha256(f"{name}\n{before}".encode()).hexdigest()[:16])


def _walk(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[tuple[tuple[ast.AST, ...], ast.AST]]:
    """All nodes with what they are in, but for annotations, which are never run."""
    yield parents, node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _walk(child, (*parents, node))


def _shown(parents: tuple[ast.AST, ...], node: ast.AST) -> ast.AST:
    """The node, or where that is short the expression it is in."""
    around = node
    for parent in reversed(parents):
        if isinstance(parent, ast.stmt) or len(ast.unparse(parent)) > 90:
            break
        around = parent
    return around


def _changes(node: ast.AST) -> Iterator[dict[str, object]]:
    """What may stand in place of the fields of a node."""
    if isinstance(node, ast.Constant):
        yield from ({"value": value} for value in _other_constants(node.value))
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in _OPERATORS:
        yield {"op": _OPERATORS[type(node.op)]()}
    elif isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in _COMPARISONS[type(op)]:
                yield {"ops": [*node.ops[:i], other(), *node.ops[i + 1 :]]}
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        # Twice is not at all: a sign, a negation or an inversion is lost.
        yield {"operand": ast.UnaryOp(node.op, node.operand)}
    elif isinstance(node, ast.Name) and node.id in _NAMES:
        yield {"id": _NAMES[node.id]}
    elif isinstance(node, ast.Attribute) and node.attr in _NAMES:
        yield {"attr": _NAMES[node.attr]}


def _other_constants(value: object) -> list[object]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, float):
        # A tolerance is to be visible; other numbers are doubled.
        return [0.1 if 0 < abs(value) < 1e-6 else 2 * value if value else 1.0]
    return []


def changed(module: types.ModuleType, source: str) -> None:
    """Give the functions and constants of a loaded module the meaning they have in another source of it."""
    other: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(source, str(module.__file__), "exec"), other)
    inner: dict[int, types.CodeType] = {}
    _take_over(vars(module), other, module.__name__, inner)
    # Functions that were made inside others, such as those that a decorator has put around functions of other modules.
    for thing in gc.get_objects() if inner else ():
        if isinstance(thing, types.FunctionType) and id(thing.__code__) in inner:
            thing.__code__ = inner[id(thing.__code__)]


def _take_over(old: dict[str, Any], new: dict[str, Any], home: str, inner: dict[int, types.CodeType]) -> None:
    for name, value in new.items():
        known = old.get(name)
        if isinstance(value, type) and value.__module__ == home:
            _take_over(dict(vars(known)), dict(vars(value)), home, inner)
        elif isinstance(value, dict) and name != "__builtins__":
            known.update({key: of for key, of in value.items() if isinstance(of, (tuple, float, int))})
        elif isinstance(value, (bool, int, float, tuple)) and value != known:
            for each in [m for m in sys.modules.values() if vars(m).get(name) is known]:
                setattr(each, name, value)
        else:
            for before, after in zip(_functions(known), _functions(value), strict=True):
                if after.__module__ == home:
                    codes = [
                        [c for c in f.__code__.co_consts if isinstance(c, types.CodeType)] for f in (before, after)
                    ]
                    inner.update({id(a): b for a, b in zip(*codes, strict=True)})
                    before.__code__ = after.__code__
                    before.__defaults__, before.__kwdefaults__ = after.__defaults__, after.__kwdefaults__
                    for cell, other in zip(before.__closure__ or (), after.__closure__ or (), strict=True):
                        if not isinstance(other.cell_contents, type):
                            cell.cell_contents = other.cell_contents


def _functions(thing: object) -> list[types.FunctionType]:
    inside = (thing.fget, thing.fset) if isinstance(thing, property) else (getattr(thing, "__func__", thing),)
    return [f for f in inside if isinstance(f, types.FunctionType)]


@dataclass
class Trial:
    """A plugin of pytest that runs the tests it has collected once as things are, and once for every mutant.

    Every mutant lives and dies in the memory of a process of its own; no file is touched.
    """

    name: str
    todo: list[Mutant]
    jobs: int
    end: float
    noticed: Callable[[Mutant], None]
    unnoticed: list[str] = field(default_factory=list)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of running the tests."""
        items = self._quickest_first(session)
        running: dict[int, Mutant] = {}
        while running or (self.todo and time.monotonic() < self.end):
            if self.todo and len(running) < self.jobs and time.monotonic() < self.end:
                mutant = self.todo.pop(0)
                running[self._fork(mutant, items)] = mutant
                continue
            child, status = os.wait()
            mutant = running.pop(child)
            if os.waitstatus_to_exitcode(status) == 0:
                self.unnoticed.append(mutant.name)
                print(f"{self.name}:{mutant.name}", flush=True)
            else:
                self.noticed(mutant)
        return True

    def _quickest_first(self, session: pytest.Session) -> list[pytest.Item]:
        """The tests, after they have passed with the module as it is; what has run once is not run again here."""
        reading, writing = os.pipe()
        same = Mutant("no change", (PACKAGE / self.name).read_text(encoding="utf-8"), "")
        child = self._fork(same, session.items, writing)
        os.close(writing)
        with os.fdopen(reading) as told:
            took = [float(line) for line in told]
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
            raise session.Failed(f"{session.items[len(took)].nodeid} fails as things are")
        return [item for _, item in sorted(zip(took, session.items, strict=True), key=lambda pair: pair[0])]

    def _fork(self, mutant: Mutant, items: list[pytest.Item], writing: int | None = None) -> int:
        """A process that ends with 0 where no test notices; it writes how long each test took."""
        child = os.fork()
        if child == 0:
            code = 1
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
                for stream in (1, 2):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
                changed(importlib.import_module(_dotted(self.name)), mutant.source)
                for item in items:
                    begin = time.process_time()
                    if any(report.failed for report in runner.runtestprotocol(item, log=False, nextitem=None)):
                        os._exit(1)
                    if writing is not None:
                        os.write(writing, f"{time.process_time() - begin}\n".encode())
                code = 0
            finally:
                os._exit(code)
        return child


def _dotted(name: str) -> str:
    return ".".join((PACKAGE.name, *Path(name).with_suffix("").parts))


def survivors(modules: list[str], records: Path, jobs: int, seconds: float) -> tuple[int, int]:
    """How many changes no test noticed, which are printed; and for how many there was no time."""
    known = {json.loads(line)["key"] for line in records.read_text().splitlines()} if records.exists() else set()
    end, found, left = time.monotonic() + seconds, 0, 0
    with records.open("a") as kept:

        def noticed(mutant: Mutant) -> None:
            kept.write(json.dumps({"change": mutant.name, "key": mutant.key}) + "\n")
            kept.flush()

        for name in modules:
            todo = [m for m in mutants((PACKAGE / name).read_text(encoding="utf-8")) if m.key not in known]
            todo = [m for m in todo if f"{name}:{m.name}" not in EQUIVALENT]
            if todo and time.monotonic() < end:
                trial = Trial(name, todo, jobs, end, noticed)
                files = [str(PACKAGE / name), *(str(ROOT / file) for file in TESTS[name])]
                options = ["-s", "-p", "no:cacheprovider", "--no-header", "--rootdir", str(ROOT)]
                code = pytest.main([*options, *files], plugins=[trial])
                if code != 0:
                    raise SystemExit(f"the tests of {name} cannot be run or fail as things are ({code!r})")
                found += len(trial.unnoticed)
            left += len(todo)
    return found, left


def main() -> None:
    """Read the command line, try the changes and list those that no test noticed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", choices=sorted(TESTS), help="a module, instead of all")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--records", type=Path, default=Path("mutations.jsonl"), help="where to keep what was noticed")
    parser.add_argument("--count", action="store_true", help="only count the changes")
    given = parser.parse_args()
    modules = given.only or list(TESTS)
    if given.count:
        for module in modules:
            print(f"{module}: {sum(1 for _ in mutants((PACKAGE / module).read_text(encoding='utf-8')))}")
        return
    number, left = survivors(modules, given.records, given.jobs, 60 * given.minutes)
    print(f"{number} changes that no test noticed" + (f"; no time for {left} more" if left else ""))
    sys.exit(1 if number or left else 0)


if __name__ == "__main__":
    main()
