"""Data to learn from: the public sets of the paper's Table 2, and simulated problems whose true error is known.

>>> from outsample.datasets import legendre_problem
>>> problem = legendre_problem(max_degree=3, random_state=0)
>>> X, y = problem.sample(20, random_state=1)
>>> X.shape, y.shape
((20, 1), (20,))
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outsample.simulated_problems import (
    FriedmanProblem,
    LegendreProblem,
    PlaneProblem,
    friedman_problem,
    legendre_problem,
    plane_problem,
)

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

Array = NDArray[Any]
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


def load(name: str, data_home: Any = None) -> Dataset:
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
    if name not in DATASETS:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(DATASETS)}")
    home = data_home or os.environ.get(ENVIRONMENT)
    X, y = _from_folder(Path(home), name) if home else _from_openml(name)
    return _checked(Dataset(X, y, name))


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


def _checked(data: Dataset) -> Dataset:
    """The data set, if it is the one of Table 2."""
    source = DATASETS[data.name]
    if data.X.shape != (source.n, source.d):
        found = " × ".join(map(str, data.X.shape))
        raise ValueError(f"{data.name} must be {source.n} × {source.d} as in the paper's Table 2, got {found}")
    if not np.isin(data.y, (0, 1)).all() or abs(data.y.mean() - source.positive) > SHARE_TOLERANCE:
        raise ValueError(f"{data.name} must have a share {source.positive} of ones among zeros in its last column")
    return data
