"""Figure 5: the smooth permutation curve against the jagged leave-one-out curve.

The paper shows them on its Diffusion data, which are not public; here they are shown on one split of abalone. How
jagged a curve is, is measured by its mean absolute second difference along the complexity.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from outsample.datasets import Dataset, load
from outsample.running.arrays import Array, Floats
from outsample.running.progress import Progress
from outsample.running.run import child_generator
from outsample.running.store import common_facts, finished_units
from outsample.studies.error_curves import Neighbors
from outsample.studies.result import Draw, File, Finding, StudyResult, findings_of, save
from outsample.studies.splits import LEARNERS, permutation_optimism
from outsample.studies.study import study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = dict[str, Floats]

SHOWN = ("trees, gain per node", "k-NN")
BLOCK = 20
"""Fits in one unit of work."""


@study("episodes", n=40)
def figure5(
    n: int = 200,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    names: Sequence[str] = ("abalone",),
) -> StudyResult:
    """Curves of the permutation and the leave-one-out estimate on one split of a real data set.

    Parameters
    ----------
    n : fits of each estimate: permutations, and rows left out.
    seed, store, n_jobs, progress : see `running.batch.finished_units`.
    data_home : see `outsample.datasets.load`.
    out : folder to write to, or None.
    names : the data set, a sequence of one.
    """
    data = load(names[0], data_home)
    tasks = [(data, learner, seed, b, min(BLOCK, n - b * BLOCK)) for learner in SHOWN for b in range(-(-n // BLOCK))]
    units = finished_units(
        _block,
        tasks,
        [f"{data.name}/{learner}/{b}/{size}" for _, learner, _, b, size in tasks],
        facts=common_facts(seed, study="curves", block=BLOCK),
        store=store,
        n_jobs=n_jobs,
        progress=progress,
    )
    curves = {
        learner: _curves([u for u, task in zip(units, tasks, strict=True) if task[1] == learner]) for learner in SHOWN
    }
    title = f"Figure 5: roughness of the curves on one split of {data.name}, {n} episodes"
    notes = ("In place of Diffusion, which is not public. Roughness: mean absolute second difference along the curve.",)
    findings = findings_of(_rows(learner, of) for learner, of in curves.items())
    return save(StudyResult("figure5", title, findings, notes, _draw(curves)), out)


def _block(data: Dataset, learner: str, seed: int, b: int, size: int) -> tuple[Array, ...]:
    """(weight, in-sample, held-out, left-out errors, permutation optimism) of one block of fits."""
    root, address = np.random.SeedSequence(seed), zlib.crc32(data.name.encode())
    order = child_generator(root, address, 0).permutation(len(data.y))
    train, test = order[: 3 * len(order) // 4], order[3 * len(order) // 4 :]
    y = data.y[train]
    curves = LEARNERS[learner].on(data.X[train], y)
    # The training rows are in random order: block b leaves out the b-th handful of them.
    alone = (np.arange(len(y)) - b * BLOCK) % len(y)
    rng = child_generator(root, address, 1, b)
    permuted = np.stack([rng.permutation(y) for _ in range(size)])
    in_sample, _ = curves.fits(y[None])
    parts = in_sample[0], curves.error_on(data.X[test], data.y[test]), curves.left_out(alone, size)
    return np.array([float(size)]), *parts, permutation_optimism(curves, y, permuted)


def _curves(units: Sequence[tuple[Array, ...]]) -> Curves:
    weight = np.concatenate([unit[0] for unit in units])
    left_out, optimism = (np.average([unit[k] for unit in units], axis=0, weights=weight) for k in (3, 4))
    return {"LOO-CV": left_out, "Perm.": units[0][1] + optimism, "held-out error": units[0][2]}


def _rows(learner: str, curves: Curves) -> Iterator[Finding]:
    for method, curve in curves.items():
        yield Finding("roughness", learner, method, float(np.mean(np.abs(np.diff(curve, 2)))))
    for method, curve in curves.items():
        off = curve - curves["held-out error"]
        yield Finding("mean distance from held-out error", learner, method, float(np.mean(np.abs(off))))


def _draw(curves: dict[str, Curves]) -> Draw:
    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, len(curves))
        for ax, (learner, of) in zip(axes, curves.items(), strict=True):
            models = LEARNERS[learner]
            neighbors = isinstance(models, Neighbors)
            first = models.least if isinstance(models, Neighbors) else 1
            for method, curve in of.items():
                ax.plot(first + np.arange(len(curve)), curve, label=method)
            ax.set(title=learner, xlabel="k, number of neighbours" if neighbors else "leaves", ylabel="error rate")
        axes[0].legend()

    return draw
