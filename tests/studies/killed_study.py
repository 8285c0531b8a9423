"""Run a study with a store and print its table to the last digit: python killed_study.py STORE table4|splits."""

from __future__ import annotations

import sys

from outsample.datasets import plane_problem
from studies import STUDIES, regrets
from studies.shared import Options

N_TRIALS, N_SPLITS = 50_000, 40


def table_of(store, kind, jobs=1):
    """Every number as text that loses nothing."""
    if kind == "table4":
        result = STUDIES["table4"].run(n=N_TRIALS, seed=2, store=store, jobs=jobs)
        return [float(finding.ours).hex() for finding in result.findings]
    work = regrets.Work(plane_problem(0.2), "simulated", regrets.NEIGHBOURS, regrets.Budget(20, 40, True))
    (found,) = regrets.regrets({("", ""): work}, Options(N_SPLITS, 2, store, jobs=jobs)).values()
    return [float(value).hex() for value in found.errors.ravel()]


if __name__ == "__main__":
    print(" ".join(table_of(sys.argv[1], sys.argv[2])))
