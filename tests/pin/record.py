"""The pin: what public calls answered when they were recorded, so that a rebuilt house gives the same answers.

    python tests/pin/record.py            # all cases against the record; what differs, by field
    python tests/pin/record.py --write    # make the record where there is none
    python tests/pin/record.py --again "tree, leaves | race"   # record again the cases whose names contain this

Labels are compared exactly, numbers to 1e-9, fits as counted, words by their kind (digits left away). A difference that
is meant is written into `decisions.json` by hand: which cases, which fields, and why.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from cases import CRITERIA, LOSSES, Case, cases
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier

from outsample import GridSearch
from questions import questions

RECORD, DECISIONS = Path(__file__).with_name("record.json.gz"), Path(__file__).with_name("decisions.json")

# Relative and absolute difference that numbers may have.
CLOSE = {"rtol": 1e-9, "atol": 1e-11}

# Fields whose words may change when the language does.
WORDS = ("error", "notes", "verdict")


def answer(case: Case) -> dict[str, Any]:
    """What a search says, as plain values."""
    kind = "labels" if is_classifier(case.learner.estimator) else "numbers"
    arguments = CRITERIA[case.criterion]() | {"loss": LOSSES[kind][case.loss]}
    search = GridSearch(clone(case.learner.estimator), case.learner.grid, random_state=3, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            search.fit(case.table.X, case.table.y, **case.table.fit_params)
        except Exception as error:
            return {"error": _kind(f"{type(error).__name__}: {error}")}
        return _told(search)


def _told(search: GridSearch) -> dict[str, Any]:
    curve = search.curve_
    said = {
        "n_fits": int(search.n_fits_),
        "path": search.path_,
        "criterion": curve.criterion,
        "best_index": int(search.best_index_),
        "notes": sorted({_kind(note) for note in curve.notes}),
        "verdict": _kind(_try(lambda: str(search.verdict_))),
        "plausible": _try(lambda: np.asarray(search.plausible_).tolist()),
        "interval": _try(lambda: _numbers(search.estimate_.interval())),
        "honest": _try(lambda: _numbers([search.honest_score_.out_sample, *search.honest_score_.interval()])),
        "mean_test_score": _numbers(search.cv_results_["mean_test_score"]),
        "rank": np.asarray(search.cv_results_["rank_test_score"]).tolist(),
    }
    for name in ("complexity", "in_sample", "out_sample", "standard_error", "monte_carlo_error"):
        values = getattr(curve, name)
        said[name] = None if values is None else _numbers(values)
    losses = None if curve.left_out is None else curve.left_out.losses
    if losses is not None:
        order = np.sin(np.arange(1, losses.shape[1] + 1))
        said["losses"] = _numbers(np.nan_to_num(losses, posinf=1e9) @ order)
        said["rows"] = np.isfinite(losses).sum(axis=1).tolist()
    return said


def reply(name: str) -> dict[str, Any]:
    """What another public call says, field by field."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            said = questions()[name]()
        except Exception as error:
            return {"error": _kind(f"{type(error).__name__}: {error}")}
    if hasattr(said, "columns"):
        said = {str(column): list(said[column]) for column in said.columns}
    elif hasattr(said, "to_dict"):
        said = said.to_dict()
    elif hasattr(said, "__dataclass_fields__"):
        said = {field: getattr(said, field) for field in said.__dataclass_fields__}
    elif not isinstance(said, dict):
        said = {"value": said}
    return {field: _plain(value) for field, value in said.items() if "seconds" not in field and "time" not in field}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _kind(value)
    try:
        return _numbers(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        return _kind(re.sub(r" at 0x\w+|np\.\w+", "", str(value)))


def _try(tell: Any) -> Any:
    try:
        return tell()
    except Exception as error:
        return _kind(f"{type(error).__name__}: {error}")


def _kind(words: str) -> str:
    """A sentence without its numbers."""
    return re.sub(r"[-−+]?\d+(\.\d+)?(e[-+]?\d+)?", "#", words)[:160]


def _numbers(values: Any) -> list[Any]:
    return [None if np.isnan(v) else float(f"{v:.13g}") for v in np.ravel(values).astype(float)]


def differing(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Fields that are not the same."""
    return [name for name in sorted({*was, *now}) if not _same(was.get(name), now.get(name))]


def _same(was: Any, now: Any) -> bool:
    numbers = isinstance(was, list) and isinstance(now, list) and not any(isinstance(v, str) for v in [*was, *now])
    if numbers:
        a, b = (np.array([np.nan if v is None else v for v in values], dtype=float) for values in (was, now))
        return a.shape == b.shape and bool(np.allclose(a, b, equal_nan=True, **CLOSE))
    return bool(was == now)


def decided(name: str, fields: list[str]) -> list[str]:
    """The fields of a case that differ without a decision that says why."""
    if not DECISIONS.exists():
        return fields
    for decision in json.loads(DECISIONS.read_text()):
        if all(part in name for part in decision["cases"]):
            fields = [f for f in fields if f not in decision["fields"]]
    return fields


def recorded() -> dict[str, Any]:
    """Answers by the name of their case."""
    with gzip.open(RECORD, "rt") as file:
        return dict(json.load(file))


def _write(answers: dict[str, Any]) -> None:
    with RECORD.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
        file.write(json.dumps(answers, separators=(",", ":"), allow_nan=True).encode())


def answers_of(part: str, n_jobs: int) -> dict[str, dict[str, Any]]:
    """Answers by name, of the cases and questions whose names contain something."""
    chosen = {case.name: delayed(answer)(case) for case in cases() if part in case.name}
    chosen |= {name: delayed(reply)(name) for name in questions() if part in name}
    return dict(zip(chosen, Parallel(n_jobs=n_jobs, batch_size=8, verbose=1)(chosen.values()), strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="make the record")
    parser.add_argument("--again", help="record again the cases whose names contain this")
    parser.add_argument("--only", default="", help="look at the cases whose names contain this")
    parser.add_argument("--words", action="store_true", help="compare words too")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    part = arguments.again or arguments.only
    answers = answers_of(part, arguments.jobs)
    if arguments.write or arguments.again:
        _write(answers if arguments.write else recorded() | answers)
        return 0
    was, counted, worst = recorded(), collections.Counter[str](), 0
    for name, now in answers.items():
        fields = decided(name, differing(was.get(name, {}), now))
        fields = [
            f for f in fields if arguments.words or f not in WORDS or ("error" in was.get(name, {})) != ("error" in now)
        ]
        if fields:
            worst += 1
            counted.update(fields)
            print(
                name, *(f"\n    {f}: {str(was.get(name, {}).get(f))[:150]} -> {str(now.get(f))[:150]}" for f in fields)
            )
    print(f"{len(answers)} cases, {worst} differ", dict(counted.most_common()))
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
