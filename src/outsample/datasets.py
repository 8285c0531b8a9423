"""Simulated problems whose true error is known, and the real data sets of the paper.

Polynomials, a region of the plane and Friedman's functions state their true risk: the expected loss of a given
predictor on a new sample, noise included. `load` reads the two-class data sets of the paper's Table 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import datasets as generators

from outsample.checks import entry
from outsample.running.arrays import Array, Floats
from outsample.running.run import RandomState, seed_sequence

__all__ = [
    "DATASETS",
    "Dataset",
    "FriedmanProblem",
    "LegendreProblem",
    "PlaneProblem",
    "friedman_problem",
    "legendre_problem",
    "load",
    "plane_problem",
]

Sample = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class LegendreProblem:
    """y = Σ a_i L_i(x) + σε with x uniform on [−1, 1] and ε standard normal; squared error.

    Attributes
    ----------
    coefficients : (degree + 1,) a_i
    noise_variance : σ²
    """

    coefficients: Floats
    noise_variance: float

    def sample(self, n: int, random_state: RandomState = None) -> Sample:
        """X (n, 1) and y (n,)."""
        rng = np.random.default_rng(seed_sequence(random_state))
        x = rng.uniform(-1.0, 1.0, n)
        noise = np.sqrt(self.noise_variance) * rng.standard_normal(n)
        return x[:, None], np.polynomial.legendre.legval(x, self.coefficients) + noise

    def true_risk(self, weights: ArrayLike) -> float:
        """Squared error of Σ w_i L_i on new data, in closed form: σ² + Σ (w_i − a_i)²/(2i + 1)."""
        given = np.asarray(weights, dtype=np.float64)
        size = max(len(given), len(self.coefficients))
        off = np.zeros(size)
        off[: len(given)] += given
        off[: len(self.coefficients)] -= self.coefficients
        return float(self.noise_variance + np.sum(off**2 / (2 * np.arange(size) + 1)))

    def true_risk_of(self, predict: Callable[[Array], Array], n_nodes: int = 200) -> float:
        """Squared error of any function of X (n, 1), by Gauss–Legendre quadrature.

        Exact for polynomials of degree below n_nodes − degree.
        """
        x, weights = np.polynomial.legendre.leggauss(n_nodes)
        off = np.asarray(predict(x[:, None])) - np.polynomial.legendre.legval(x, self.coefficients)
        return float(self.noise_variance + np.sum(weights * off**2) / 2)


def legendre_problem(max_degree: int = 30, random_state: RandomState = None) -> LegendreProblem:
    """A random problem of the paper's §4.1.

    The degree is uniform on 0 … max_degree, the coefficients are normal and scaled so that the target has mean square
    one over problems and inputs, the noise variance is uniform on (0, 1].
    """
    rng = np.random.default_rng(seed_sequence(random_state))
    degree = int(rng.integers(max_degree + 1))
    mean_square = np.sum(1 / (2 * np.arange(degree + 1) + 1))
    coefficients = rng.standard_normal(degree + 1) / np.sqrt(mean_square)
    return LegendreProblem(coefficients, float(1.0 - rng.random()))


@dataclass(frozen=True, eq=False)
class PlaneProblem:
    """Two classes in the unit square, labels flipped with a given probability; zero-one loss.

    The positive region lies below x₂ = ½ + ¼ sin 2πx₁, without a disc of radius 0.12 around (¼, ½) and with the
    same disc around (¾, ½): half of the square by symmetry. The paper draws its own region and gives no formula.

    Attributes
    ----------
    noise : probability that a label is flipped, below ½.
    positive_share : probability that a point lies in the positive region; within each region points are uniform.
    """

    noise: float = 0.0
    positive_share: float = 0.5

    RADIUS = 0.12

    def __post_init__(self) -> None:
        if not (0 <= self.noise < 0.5 and 0 < self.positive_share < 1):
            raise ValueError(
                f"noise must be in [0, 0.5) and positive_share in (0, 1), got {self.noise}, {self.positive_share}"
            )

    def region(self, X: ArrayLike) -> NDArray[np.int64]:
        """1 where a point lies in the positive region."""
        x, height = np.asarray(X, dtype=np.float64).T
        below = height < 0.5 + 0.25 * np.sin(2 * np.pi * x)
        in_disc = np.minimum((x - 0.25) ** 2, (x - 0.75) ** 2) + (height - 0.5) ** 2 < self.RADIUS**2
        return np.asarray(below != in_disc, dtype=np.int64)

    def sample(self, n: int, random_state: RandomState = None) -> Sample:
        """X (n, 2) and y (n,) in {0, 1}."""
        rng = np.random.default_rng(seed_sequence(random_state))
        wanted = (rng.random(n) < self.positive_share).astype(np.int64)
        X = np.empty((n, 2))
        missing = np.arange(n)
        while len(missing):
            X[missing] = rng.random((len(missing), 2))
            missing = missing[self.region(X[missing]) != wanted[missing]]
        flipped = rng.random(n) < self.noise
        return X, np.where(flipped, 1 - wanted, wanted)

    def grid(self, side: int = 150) -> tuple[Floats, NDArray[np.int64], Floats]:
        """(midpoints of side² cells, their region, their probability): what `true_risk` sums over."""
        axis = (np.arange(side) + 0.5) / side
        points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
        region = self.region(points)
        share = np.where(region == 1, self.positive_share, 1 - self.positive_share)
        return points, region, share / np.bincount(region)[region]

    def risk_from_wrong(self, wrong: ArrayLike) -> Floats:
        """Error rate on new noisy labels, from the probability of missing the region."""
        return np.asarray(self.noise + (1 - 2 * self.noise) * np.asarray(wrong, dtype=np.float64))

    def true_risk(self, predict: Callable[[Array], Array], side: int = 150) -> float:
        """Error rate of a classifier on new data, numerically: the midpoints of side × side cells stand for all points.

        A boundary of length b is misplaced by less than a cell, so the sum is off by at most b/side, and by far less
        where errors average out.
        """
        points, region, probability = self.grid(side)
        return float(self.risk_from_wrong(probability @ (np.asarray(predict(points)) != region)))


def plane_problem(noise: float = 0.0, positive_share: float = 0.5) -> PlaneProblem:
    """The two-dimensional classification problem; see `PlaneProblem`."""
    return PlaneProblem(noise, positive_share)


@dataclass(frozen=True, eq=False)
class FriedmanProblem:
    """One of Friedman's three regression functions with normal noise, drawn by scikit-learn's generators.

    Attributes
    ----------
    kind : 1, 2 or 3.
    noise : standard deviation of the noise.
    """

    kind: int = 1
    noise: float = 1.0

    def sample(self, n: int, random_state: RandomState = None) -> Sample:
        """X (n, 10 or 4) and y (n,)."""
        return self._draw(n, self.noise, random_state)

    def true_risk(self, predict: Callable[[Array], Array], n: int = 100_000) -> float:
        """Squared error on new data: noise² + the mean of (f − g)² over a fixed sample of n inputs (Monte Carlo)."""
        X, f = self._draw(n, 0.0, 0)
        return float(self.noise**2 + np.mean((np.asarray(predict(X)) - f) ** 2))

    def _draw(self, n: int, noise: float, random_state: RandomState) -> Sample:
        generator = getattr(generators, f"make_friedman{self.kind}")
        seed = int(seed_sequence(random_state).generate_state(1)[0])
        X, y = generator(n_samples=n, noise=noise, random_state=seed)
        return X, y


def friedman_problem(kind: int = 1, noise: float = 1.0) -> FriedmanProblem:
    """Friedman's problem 1, 2 or 3."""
    if kind not in (1, 2, 3):
        raise ValueError(f"kind must be 1, 2 or 3, got {kind}")
    return FriedmanProblem(kind, noise)


ENVIRONMENT = "OUTSAMPLE_DATA"
SHARE_TOLERANCE = 0.006
NOT_PUBLIC = {"diffusion": "Diffusion, the ninth set of the paper, was never made public."}


class Dataset(NamedTuple):
    """A two-class problem: X (n, d) float64, y (n,) in {0, 1}, and its name."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    name: str


@dataclass(frozen=True)
class Source:
    """Where a set comes from and what it must look like (the paper's Table 2).

    Attributes
    ----------
    title : the paper's name of it.
    n, d : rows and columns.
    positive : share of class 1.
    openml : its number on OpenML, None where OpenML has no complete copy.
    is_positive : labels as OpenML has them → whether they are class 1.
    dropped : columns that the paper does not use.
    """

    title: str
    n: int
    d: int
    positive: float
    openml: int | None
    is_positive: Callable[[Array], Array]
    dropped: tuple[str, ...] = ()


def _equal_to(label: str) -> Callable[[Array], Array]:
    return lambda labels: labels.astype(str) == label


DATASETS = {
    "abalone": Source("Abalone", 4177, 7, 0.498, 183, lambda rings: rings.astype(float) >= 10, ("Sex",)),
    "ionosphere": Source("Ionosphere", 351, 34, 0.641, 59, _equal_to("g")),
    "mammographic_mass": Source("M.Mass", 830, 5, 0.486, None, _equal_to("1")),
    "parkinsons": Source("Parkinsons", 195, 22, 0.754, 1488, _equal_to("2")),
    "pima": Source("Pima Indians Diabetes", 768, 8, 0.349, 37, _equal_to("tested_positive")),
    "spambase": Source("Spambase", 4601, 57, 0.394, 44, _equal_to("1")),
    "blood_transfusion": Source("Transfusion", 748, 4, 0.238, 1464, _equal_to("2")),
    "wdbc": Source("WDBC", 569, 30, 0.373, 1510, _equal_to("2")),
}
"""The paper's sets, in the order of its tables. Mammographic mass: OpenML's copy lacks the BI-RADS column."""


def load(name: str, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """One of the sets of the paper's Table 2.

    Parameters
    ----------
    name : key of `DATASETS`.
    data_home : folder with NAME.csv (a header, numbers, the last column `target` in {0, 1}); by default the folder that
        the environment variable OUTSAMPLE_DATA names. Without either, OpenML is asked through scikit-learn.

    Raises
    ------
    ValueError
        When there is no such set, or its size is not that of Table 2.
    """
    if name.lower() in NOT_PUBLIC:
        raise ValueError(NOT_PUBLIC[name.lower()])
    entry("data set", name, DATASETS)
    home = data_home or os.environ.get(ENVIRONMENT)
    X, y = _from_folder(Path(home), name) if home else _from_openml(name)
    return _as_in_table_2(Dataset(X, y, name))


def _from_folder(home: Path, name: str) -> tuple[Array, Array]:
    file = home / f"{name}.csv"
    if not file.is_file():
        raise ValueError(f"there is no {file.name} in {home}; give a folder that has it as data_home")
    table = np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.float64, ndmin=2)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(np.int64)


def _from_openml(name: str) -> tuple[Array, Array]:
    from sklearn.datasets import fetch_openml

    source = DATASETS[name]
    if source.openml is None:
        raise ValueError(
            f"OpenML has no complete copy of {source.title}: put {name}.csv, made from the UCI repository, in a "
            f"folder and give it as data_home or in {ENVIRONMENT}"
        )
    found = fetch_openml(data_id=source.openml, as_frame=True, parser="auto")
    table = found.data.drop(columns=[column for column in source.dropped if column in found.data])
    return table.to_numpy(np.float64), source.is_positive(found.target.to_numpy()).astype(np.int64)


def _as_in_table_2(data: Dataset) -> Dataset:
    """The data set; an error where its size or its share of ones is not that of Table 2."""
    source = DATASETS[data.name]
    if data.X.shape != (source.n, source.d):
        found = " × ".join(map(str, data.X.shape))
        raise ValueError(f"{data.name} must be {source.n} × {source.d} as in the paper's Table 2, got {found}")
    if not np.isin(data.y, (0, 1)).all() or abs(data.y.mean() - source.positive) > SHARE_TOLERANCE:
        raise ValueError(f"{data.name} must have a share {source.positive} of ones among zeros in its last column")
    return data
