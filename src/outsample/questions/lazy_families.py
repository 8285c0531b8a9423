"""Classifiers of which nothing more is asked, to judge and to refit them, than sums over the rows of every class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from sklearn.base import BaseEstimator

from outsample.paths.generative.design import ClassModels
from outsample.paths.generative.inputs import usable_priors
from outsample.running.arrays import Array, Floats, Rows


class ClassSums(Protocol):
    """What is known of some rows of every class; it adds up over rows."""

    @property
    def weight(self) -> Floats:
        """Rows of every class, (K,)."""

    def __add__(self, other: Self, /) -> Self: ...

    def among(self, places: Rows, n_classes: int) -> Self:
        """The same of more classes, of which these are the ones at `places` and the others have no rows."""


@dataclass(frozen=True, eq=False)
class Group(ABC):
    """Settings that differ in the value of one parameter only; picklable.

    Attributes
    ----------
    places : their positions.
    models : of all of them.
    """

    places: Rows
    models: ClassModels

    @abstractmethod
    def statistics(self, sums: Any) -> Any:
        """What the models know of rows with these sums."""

    @abstractmethod
    def read(self, X: Floats) -> Any:
        """Rows as the models read them."""


class Family(ABC):
    """Settings of classifiers that are known from sums of the same kind; picklable.

    Attributes
    ----------
    parameter : the one that a group shares its work over.
    doubt : what rows are in doubt about.

    Parameters
    ----------
    models : all settings.
    origin : (p,) a place near to the rows.
    """

    parameter: ClassVar[str]
    doubt: ClassVar[str] = "a choice between classes that rounding decides"

    @abstractmethod
    def __init__(self, models: Sequence[Any], origin: Floats) -> None: ...

    @staticmethod
    @abstractmethod
    def serves(model: Any) -> bool:
        """Whether every parameter of a model is known."""

    @abstractmethod
    def sums(self, X: Floats, codes: Array, n_classes: int) -> Any:
        """`ClassSums` of a few rows."""

    @abstractmethod
    def group(self, models: Sequence[BaseEstimator], places: Rows, whole: Any) -> Group:
        """The models at these places, which differ in the one parameter; `whole` are the sums of all rows."""

    @abstractmethod
    def learned(self, model: BaseEstimator, group: Group, whole: Any) -> BaseEstimator:
        """The model as it would have been fitted to rows of classes 0, 1, … with these sums."""


def check_priors(name: str, priors: Any, n_classes: int, sum_to_one: bool) -> None:
    """Refuse priors that are not None and not one positive number per class."""
    if not usable_priors(priors, n_classes, sum_to_one):
        more = " that add up to one" if sum_to_one else ""
        raise ValueError(f"{name} must be {n_classes} positive numbers{more}, got {priors!r}")
