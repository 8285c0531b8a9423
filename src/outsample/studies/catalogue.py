"""Every study by its name on the command line."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

# name → module of this package; its `main` takes the remaining arguments as a list of strings. Those of the paper also
# have run(n=…, seed=0, store=None, data_home=None, out=None, n_jobs=None, progress=None) -> StudyResult.
STUDIES = {
    "table1": "table1",
    "table3": "table3",
    "table4": "table4",
    "table5": "table5",
    "table6": "table6",
    "table7": "table7",
    "figure3": "figure3",
    "figure5": "figure5",
    "figure6": "figure6",
    "imbalance": "imbalance",
    "coverage": "coverage",
    "bounds": "bounds_hold",
}


def study(name: str) -> ModuleType:
    """The module of a study."""
    if name not in STUDIES:
        raise ValueError(f"there is no study {name!r}; there are {', '.join(STUDIES)}")
    return import_module(f"outsample.studies.{STUDIES[name]}")
