"""Trials of polynomial regression on random Legendre targets: what Tables 3 and 4 and Figures 3 and 6 are made of.

x is uniform on [−1, 1], f = Σ_{i ≤ d} a_i L_i with a_i normal, scaled so that E f² = 1, y = f + σε with σ² uniform on
(0, 1]. Degree, coefficients, noise variance and data are drawn anew in each trial; see
`outsample.datasets.legendre_problem` for one of them. What the paper does not print was recovered by search: the ranges
of the degree, and the grid of penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from outsample.checks import whole_number
from outsample.running.arrays import Array, Floats
from outsample.running.progress import Progress
from outsample.running.run import child_generator
from outsample.running.store import common_facts, finished_units
from outsample.studies.result import File

METHODS = ("LOO-CV", "Perm.", "VC", "FPE")
BLOCK = 2000
"""Trials that share one child seed; a killed run loses at most so many."""

GRID = np.geomspace(1 / 150, 266, 61)
PRINTED = (0.02, 0.04, 0.06)
"""Penalties λ/N in the table of Figure 6."""
SMALL = np.arange(0.005, 0.1001, 0.005)
"""Penalties on which Figure 6 is drawn; the printed ones are among them."""


@dataclass(frozen=True)
class Setting:
    """One of the two experiments.

    Attributes
    ----------
    name : also the name of its units in a store.
    n : points per data set.
    highest : the degree of the target is uniform on 0 … highest.
    models : what is varied, (models,): orders, or penalties λ/N.
    sets : name → (first, one past the last) model to select from.
    address : of its child seeds, below the study's seed.
    """

    name: str
    n: int
    highest: int
    models: Floats
    sets: dict[str, tuple[int, int]]
    address: int


ORDER = Setting("order", 100, 30, np.arange(21.0), {"order": (0, 21)}, 0)
RIDGE = Setting(
    "ridge",
    15,
    10,
    np.concatenate([[0.0], GRID, SMALL]),
    {"λ": (0, len(GRID) + 1), "λ without 0": (1, len(GRID) + 1)},
    1,
)
N_WEIGHTS = 6


@dataclass(frozen=True, eq=False)
class Trials:
    """Results of all trials of one setting.

    Attributes
    ----------
    setting : Setting
    positions : (trials, sets, methods) model selected.
    regrets : (trials, sets, methods) (e_out(selected) − e_out(best))/e_out(best), a fraction, to seven digits.
    sizes : (blocks,) trials in each block.
    sums : (blocks, 2, models, methods + 1) sums of the estimates and of their squares; the truth comes last.
    """

    setting: Setting
    positions: Array
    regrets: Array
    sizes: Floats
    sums: Floats

    def __len__(self) -> int:
        return len(self.regrets)

    def selected(self, name: str) -> Floats:
        """Order or penalty selected from a set of models, (trials, methods)."""
        which = list(self.setting.sets).index(name)
        return np.asarray(self.setting.models[self.positions[:, which]])

    def regret(self, name: str) -> Floats:
        """Regret within a set of models, (trials, methods)."""
        return np.asarray(self.regrets[:, list(self.setting.sets).index(name)], dtype=np.float64)

    def moment(self, function: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        """(value, standard error) of a function of the mean sums (…, 2, models, methods + 1).

        The standard error is the jackknife's over blocks, not a number with fewer than two of them.
        """
        total, blocks = self.sums.sum(axis=0), len(self.sizes)
        value = function(total / len(self))
        if blocks < 2:
            return value, np.full_like(value, np.nan)
        without = function((total - self.sums) / (len(self) - self.sizes)[:, None, None, None])
        spread = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
        return value, np.sqrt((blocks - 1) / blocks * spread)


def means(sums: Floats) -> Floats:
    """Mean of each estimate and of the true error, (…, models, methods + 1); for `Trials.moment`."""
    return sums[..., 0, :, :]


def variances(sums: Floats) -> Floats:
    """Variance of each estimate over data sets, (…, models, methods)."""
    return np.asarray((sums[..., 1, :, :] - sums[..., 0, :, :] ** 2)[..., :-1])


def squared_biases(sums: Floats) -> Floats:
    """(mean estimate − mean true error)², (…, models, methods)."""
    average = sums[..., 0, :, :]
    return np.asarray((average[..., :-1] - average[..., -1:]) ** 2)


def trials(
    setting: Setting,
    n: int,
    seed: int = 0,
    *,
    store: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Trials:
    """Run n trials; the same numbers for any number of threads, and from one store for all studies that use them."""
    n = whole_number("the number of trials", n)
    sizes = [BLOCK] * (n // BLOCK) + [n % BLOCK] * (n % BLOCK > 0)
    blocks = finished_units(
        _block,
        [(setting, size, seed, b) for b, size in enumerate(sizes)],
        [f"{setting.name}/{b}/{size}" for b, size in enumerate(sizes)],
        facts=common_facts(seed, study="Legendre trials", block=BLOCK),
        store=store,
        n_jobs=n_jobs,
        threads=True,
        progress=progress,
    )
    return _trials(setting, blocks)


def _trials(setting: Setting, blocks: Sequence[tuple[Array, ...]]) -> Trials:
    positions, regrets, sums = zip(*blocks, strict=True)
    sizes = np.array([float(len(part)) for part in regrets])
    return Trials(setting, np.concatenate(positions), np.concatenate(regrets), sizes, np.stack(sums))


def _block(setting: Setting, size: int, seed: int, b: int) -> tuple[Array, ...]:
    """(positions, regrets, sums) of the first `size` trials of block b."""
    from outsample._kernels import legendre as kernel

    rng = child_generator(np.random.SeedSequence(seed), setting.address, b)
    data = tuple(part[:size] for part in draw_trials(rng, BLOCK, setting.n, setting.highest))
    sets = np.array(list(setting.sets.values()))
    positions = np.empty((size, len(sets), len(METHODS)), np.int16)
    regrets = np.empty(positions.shape, np.float32)
    sums = np.zeros((2, len(setting.models), len(METHODS) + 1))
    if setting.name == "order":
        kernel.order_trials(*data, len(setting.models), sets, positions, regrets, sums)
    else:
        kernel.ridge_trials(*data, N_WEIGHTS, setting.models, sets, positions, regrets, sums)
    return positions, regrets, sums


def draw_trials(rng: np.random.Generator, size: int, n: int, highest: int) -> tuple[Floats, Floats, Floats, Floats]:
    """(x, noise, coefficients, noise variance): (trials, n), (trials, n), (trials, highest + 1), (trials,)."""
    degree = rng.integers(highest + 1, size=size)
    powers = np.arange(highest + 1)
    mean_square = np.cumsum(1 / (2 * powers + 1))[degree]
    coefficients = rng.standard_normal((size, highest + 1)) / np.sqrt(mean_square)[:, None]
    coefficients[powers > degree[:, None]] = 0.0
    noise_variance = 1.0 - rng.random(size)
    return rng.uniform(-1.0, 1.0, (size, n)), rng.standard_normal((size, n)), coefficients, noise_variance
