"""Run a study with a store and print its table to the last digit: python killed_study.py STORE trials|splits."""

from __future__ import annotations

import sys

from outsample.datasets import plane_problem
from outsample.running.progress import silent
from outsample.studies.polynomials import table4
from outsample.studies.splits import Budget, Work, regrets

N_SPLITS = 40
N_TRIALS = 50_000


def table_of(store, kind, n_jobs=1):
    """Every number as text that loses nothing."""
    if kind == "trials":
        result = table4.run(N_TRIALS, seed=2, store=store, n_jobs=n_jobs, progress=silent)
        return [float(finding.ours).hex() for finding in result.findings]
    work = Work(plane_problem(0.2), "simulated", "k-NN", Budget(labels=20, left_out=40))
    (found,) = regrets([work], N_SPLITS, 2, store=store, n_jobs=n_jobs, progress=silent)
    return [float(value).hex() for value in found.errors.ravel()]


if __name__ == "__main__":
    print(" ".join(table_of(sys.argv[1], sys.argv[2])))
