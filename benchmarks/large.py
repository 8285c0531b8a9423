"""Ridge on many rows: 50 alphas by leave-one-out at 4 000 000 × 20 in memory, and at 20 000 000 × 20 beyond it.

In memory: processor time and peak memory of a process of its own, above that of one which only makes X and y, against
plain numpy that computes the left-out errors of all 50 alphas from leverages, in blocks of rows. Beyond memory: a Dask
array that is made a block at a time, on a LocalCluster of two workers of 1 GB each, and the same search over a part
that fits, lazily and in memory, whose answers are compared.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
from measuring import median_seconds, milliseconds, table

ALPHAS = np.logspace(-3, 6, 50)
BLOCK = 16_384
IN_MEMORY = {"quick": 400_000, "full": 4_000_000}
BEYOND = {"quick": 2_000_000, "full": 20_000_000}
PART = 500_000
REPEATS = 3


def data(n: int):
    """(X, y), n × 20."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    return X, X @ rng.standard_normal(20) + 3 * rng.standard_normal(n)


def by_search(X, y):
    """Left-out mean squared errors of all alphas by the library."""
    from sklearn.linear_model import Ridge

    from outsample import GridSearch

    return GridSearch(Ridge(), {"alpha": ALPHAS}, criterion="loo", refit=False).fit(X, y).curve_.out_sample[::-1]


def by_leverages(X, y):
    """The same by plain numpy: one Gram matrix, then residuals over 1 − leverage, a block of rows at a time."""
    n, centre, level = len(y), X.mean(axis=0), y.mean()
    gram, moments = np.zeros((20, 20)), np.zeros(20)
    for start in range(0, n, BLOCK):
        Z = X[start : start + BLOCK] - centre
        gram += Z.T @ Z
        moments += Z.T @ (y[start : start + BLOCK] - level)
    values, axes = np.linalg.eigh(gram)
    shrunk = 1 / (values + ALPHAS[:, None])
    coefficients = shrunk * (axes.T @ moments)
    total = np.zeros(len(ALPHAS))
    for start in range(0, n, BLOCK):
        Z = (X[start : start + BLOCK] - centre) @ axes
        leverage = 1 / n + np.square(Z) @ shrunk.T
        residual = (y[start : start + BLOCK] - level)[:, None] - Z @ coefficients.T
        total += np.square(residual / (1 - leverage)).sum(axis=0)
    return total / n


def alone(way: str, n: int) -> dict[str, float | list[float]]:
    """Median seconds, peak memory in bytes and errors of one way, in this process."""
    X, y = data(n)
    # Imports and compilation are not part of the job.
    by_search(X[:1000], y[:1000])
    job = {"search": by_search, "leverages": by_leverages, "nothing": lambda X, y: np.zeros(1)}[way]
    found = []
    seconds = median_seconds(lambda: found.append(job(X, y)), REPEATS, time.process_time)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "peak": peak, "errors": found[0].tolist(), "x": X.nbytes}


def on_cluster(n: int) -> dict[str, float]:
    """Seconds of a search over a table made lazily on two workers, and its difference from memory on a part."""
    import dask.array as da
    import distributed
    from sklearn.linear_model import Ridge

    from outsample import GridSearch

    def made(rows):
        X = da.random.RandomState(0).normal(size=(rows, 20), chunks=(500_000, 20))
        return X, X.sum(axis=1) + 3 * da.random.RandomState(1).normal(size=rows, chunks=500_000)

    def search(X, y):
        return GridSearch(Ridge(), {"alpha": ALPHAS}, criterion="loo").fit(X, y).curve_.out_sample

    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GB", "dashboard_address": None}
    with distributed.LocalCluster(host="127.0.0.1", **options) as cluster, distributed.Client(cluster):
        start = time.perf_counter()
        search(*made(n))
        seconds = time.perf_counter() - start
        X, y = made(PART)
        lazy, whole = search(X, y), search(X.compute(), y.compute())
    return {"seconds": seconds, "difference": float(np.abs(lazy / whole - 1).max())}


def apart(*arguments: object) -> dict:
    """What a process of its own prints for these arguments."""
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The tables."""
    size = "quick" if quick else "full"
    n = IN_MEMORY[size]
    nothing, ours, numpy = (apart(way, n) for way in ("nothing", "search", "leverages"))
    more = (ours["peak"] - nothing["peak"]) / ours["x"]
    off = float(np.abs(np.array(ours["errors"]) / np.array(numpy["errors"]) - 1).max())
    cells = [f"{n:,} × 20", milliseconds(ours["seconds"]), f"{ours['seconds'] / numpy['seconds']:.2f}"]
    header = ["in memory", "processor time", "in times of numpy", "memory above X, in X", "relative difference"]
    yield from table(header, [[*cells, f"{more:.2f}", f"{off:.0e}"]])
    found = apart("cluster", BEYOND[size])
    cells = [f"{BEYOND[size]:,} × 20", f"{found['seconds']:.0f} s", f"{found['difference']:.0e}"]
    yield from table(["beyond memory", "wall time, two workers", f"difference on {PART:,} rows"], [cells])


if __name__ == "__main__":
    what, rows = sys.argv[1], int(sys.argv[2])
    print(json.dumps(on_cluster(rows) if what == "cluster" else alone(what, rows)))
