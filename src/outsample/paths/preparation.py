"""What is done to X before a learner is fitted, whatever the labels: candidates that agree on it can share it.

These are the leading steps of a pipeline that ignore y, and the kernel matrix of a support vector machine.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from outsample.data.learners import with_params
from outsample.data.parameters import unknown_settings
from outsample.data.steps import fit_leading_steps, is_random, split_pipeline, transformed
from outsample.paths.base import Path
from outsample.paths.dispatch import public_name
from outsample.paths.penalised.support_vectors import KERNELS, Kernel, double
from outsample.paths.refit import PipelinePath, RefitPath
from outsample.running.run import MEMORY_BUDGET
from outsample.running.units import fingerprint

_MACHINES = frozenset(f"sklearn.svm.{name}" for name in ("SVC", "NuSVC", "SVR", "NuSVR"))

# With fewer columns libsvm's own kernel, which is computed only where the solver looks, takes no longer than the matrix
# does, and it is not sure that anybody shares that. Measured on 100 to 4000 rows.
_FEWEST_COLUMNS = 10
# Bytes of a matrix; every worker holds one.
_LARGEST_MATRIX = MEMORY_BUDGET // 4


@dataclass(frozen=True, eq=False)
class Preparation(ABC):
    """Work on the X of a fold that comes before a path.

    Attributes
    ----------
    key : the same for the same work.
    rest : the path of the same models on the tables that the work makes.
    """

    key: str
    rest: Path

    @abstractmethod
    def __call__(self, X_train: Any, X_test: Any) -> tuple[Any, Any] | None:
        """(the rows to fit, the rows to predict) as `rest` reads them; None where these tables are left as they are."""


@dataclass(frozen=True, eq=False)
class LeadingSteps(Preparation):
    """Leading steps of a pipeline that ignore y."""

    steps: Pipeline

    def __call__(self, X_train: Any, X_test: Any) -> tuple[Any, Any]:
        fitted, made, _ = fit_leading_steps(self.steps, X_train)
        return made, transformed(fitted, X_test)


@dataclass(frozen=True, eq=False)
class KernelMatrix(Preparation):
    """The kernel of a support vector machine between all rows, where the table is not too large."""

    machine: BaseEstimator

    def __call__(self, X_train: Any, X_test: Any) -> tuple[Any, Any] | None:
        try:
            train, test = double(X_train), double(X_test)
        except (ValueError, TypeError):
            return None
        if train.shape[1] < _FEWEST_COLUMNS or train.shape[1] != test.shape[1]:
            return None
        if (train.shape[0] + test.shape[0]) * train.shape[0] * train.dtype.itemsize > _LARGEST_MATRIX:
            return None
        return self._matrices(train, test)

    def _matrices(self, train: Any, test: Any) -> tuple[Any, Any] | None:
        """Both matrices; None where the machine itself is to say what is wrong with its kernel."""
        try:
            with np.errstate(all="ignore"):
                kernel = Kernel(self.machine, train)
                matrices = kernel(train, train), kernel(test, train)
        except (ValueError, TypeError):
            return None
        return matrices if all(np.isfinite(matrix).all() for matrix in matrices) else None


class Shared:
    """The tables of one fold as the candidates of a round read them; each thread keeps those it made last.

    Those who ask for the same should ask one after the other. A copy in another process begins empty.
    """

    def __init__(self) -> None:
        self._here = threading.local()

    def __reduce__(self) -> tuple[type[Shared], tuple[()]]:
        return Shared, ()

    def prepared(
        self,
        path: Path,
        preparations: Sequence[Preparation],
        origin: Hashable,
        tables: Callable[[], tuple[Any, Any]],
    ) -> tuple[Path, Any, Any]:
        """(path of the same models, X of the rows to fit, X of the rows to predict) after all that can be shared.

        Parameters
        ----------
        origin : the same for the same tables, which `tables` gives.
        """
        X_train, X_test = self._made(0, origin, tables)
        for level, preparation in enumerate(preparations, start=1):
            made = self._made(level, preparation.key, partial(preparation, X_train, X_test))
            if made is None:
                break
            path, (X_train, X_test) = preparation.rest, made
        return path, X_train, X_test

    def _made(self, level: int, key: Hashable, make: Callable[[], Any]) -> Any:
        """What this thread made last on a level, if it was made of the same; else it is made now."""
        last: list[tuple[Hashable, Any]] = vars(self._here).setdefault("last", [])
        if level >= len(last) or last[level][0] != key:
            del last[level:]
            last.append((key, make()))
        return last[level][1]


def preparations_of(path: Path) -> list[Preparation]:
    """What comes before the fits of a path, in order; empty where there is nothing, or settings cannot be set."""
    try:
        if type(path) is PipelinePath and path.leading is not None and not is_random(path.leading):
            steps = LeadingSteps(fingerprint(path.leading), path.last, path.leading)
            return [steps, *preparations_of(path.last)]
        if type(path) is RefitPath and len(path) == 1:
            return _of_model(with_params(path.estimator, path.params[0]))
    except (ValueError, TypeError, AttributeError):
        # The fit will say what is wrong with the setting.
        pass
    return []


def _of_model(model: Any) -> list[Preparation]:
    """The same of a model that is refitted."""
    found: list[Preparation] = []
    leading, learner, _ = split_pipeline(model)
    if leading is not None:
        found.append(LeadingSteps(fingerprint(leading), RefitPath.over(learner, [{}]), leading))
    if public_name(type(learner)) in _MACHINES and learner.kernel in KERNELS and not unknown_settings(learner):
        rest = RefitPath.over(learner, [{"kernel": "precomputed"}])
        found.append(KernelMatrix(fingerprint(*_parameters_of_kernel(learner)), rest, learner))
    return found


def _parameters_of_kernel(machine: Any) -> list[Any]:
    """The name of a kernel and the values that it depends on."""
    read = {"linear": [], "rbf": ["gamma"], "sigmoid": ["gamma", "coef0"], "poly": ["gamma", "coef0", "degree"]}
    return [machine.kernel, *(getattr(machine, name) for name in read[machine.kernel])]
