"""The methods that do a job: the swap, scikit-learn's searches, optuna, and the specialist where there is one."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import job_specialists
import numpy as np
from job_tables import Job
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid, RandomizedSearchCV, StratifiedKFold

FOLDS = 5


class UnavailableError(Exception):
    """A method is not installed, or cannot do this job."""


@dataclass(frozen=True)
class Found:
    """What a method found.

    Attributes
    ----------
    model : fitted to all training rows; None where the work was done by another process.
    fits : fits of a learner, the last one included.
    elsewhere : for work of another process, a function of the rows held out that gives (score, processor seconds).
    """

    model: Any
    fits: float
    chosen: str
    elsewhere: Callable[[Any, Any], tuple[float, float]] | None = None


@dataclass(frozen=True)
class Peer:
    """A method: what it is called, what it does, and the code that a user writes."""

    name: str
    search: Callable[[Job, Any, Any, int], Found]
    code: str = ""
    only: tuple[str, ...] = ()

    def serves(self, job: Job) -> bool:
        """Whether the method is for this job."""
        return not self.only or any(name in job.specialists for name in self.only)

    def label(self, job: Job) -> str:
        """What the table calls it."""
        return self.name

    def lines(self, job: Job) -> int:
        """Lines that a user writes."""
        code = self.code or _body(job_specialists.SPECIALISTS[self.only[0]])
        return len([line for line in code.strip().splitlines() if line.strip()])


def _body(function: Callable[..., Any]) -> str:
    """The lines of a function without its head and docstring."""
    return inspect.getsource(function).split('"""')[-1]


def ours(job: Job, X: Any, y: Any, seed: int) -> Found:
    """The swap, with its defaults."""
    import outsample

    search = outsample.GridSearch(job.model(), job.grid, scoring=job.scoring, random_state=seed).fit(X, y)
    return Found(search.best_estimator_, search.n_fits_ + 1, str(search.best_params_))


def grid_search(job: Job, X: Any, y: Any, seed: int) -> Found:
    """GridSearchCV with its five folds."""
    search = GridSearchCV(job.model(), job.grid, scoring=job.scoring, cv=FOLDS).fit(X, y)
    return Found(search.best_estimator_, FOLDS * job.n_settings + 1, str(search.best_params_))


def halving(job: Job, X: Any, y: Any, seed: int) -> Found:
    """HalvingGridSearchCV with its defaults."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV

    search = HalvingGridSearchCV(job.model(), job.grid, scoring=job.scoring, cv=FOLDS, random_state=seed).fit(X, y)
    return Found(search.best_estimator_, FOLDS * sum(search.n_candidates_) + 1, str(search.best_params_))


def randomized(job: Job, X: Any, y: Any, seed: int) -> Found:
    """RandomizedSearchCV with its ten settings, fewer where the grid has no ten."""
    tried = min(10, job.n_settings)
    search = RandomizedSearchCV(
        job.model(), job.grid, n_iter=tried, scoring=job.scoring, cv=FOLDS, random_state=seed
    ).fit(X, y)
    return Found(search.best_estimator_, FOLDS * tried + 1, str(search.best_params_))


def optuna_search(job: Job, X: Any, y: Any, seed: int) -> Found:
    """Optuna's sampler with as many trials as the grid has settings, fold after fold with its median pruner."""
    try:
        import optuna
    except ImportError as error:
        raise UnavailableError("optuna is not installed") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    settings, scorer = list(ParameterGrid(job.grid)), get_scorer(job.scoring)
    folds = (StratifiedKFold if job.classification else KFold)(FOLDS)
    splits, fits = list(folds.split(X, y)), [1]

    def objective(trial: Any) -> float:
        if isinstance(job.grid, list):
            setting = settings[trial.suggest_int("setting", 0, len(settings) - 1)]
        else:
            places = {name: trial.suggest_int(name, 0, len(values) - 1) for name, values in job.grid.items()}
            setting = {name: job.grid[name][place] for name, place in places.items()}
        chosen[trial.number], scores = setting, []
        for step, (train, test) in enumerate(splits):
            model = clone(job.model()).set_params(**{name: clone(v, safe=False) for name, v in setting.items()})
            scores.append(scorer(model.fit(_rows(X, train), y[train]), _rows(X, test), y[test]))
            fits[0] += 1
            trial.report(float(np.mean(scores)), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(np.mean(scores))

    chosen: dict[int, Any] = {}
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed), pruner=optuna.pruners.MedianPruner()
    )
    study.optimize(objective, n_trials=job.n_settings)
    setting = chosen[study.best_trial.number]
    model = clone(job.model()).set_params(**{name: clone(v, safe=False) for name, v in setting.items()}).fit(X, y)
    return Found(model, fits[0], str(setting))


def _rows(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def specialist(name: str) -> Callable[[Job, Any, Any, int], Found]:
    """The specialist of this name."""

    def search(job: Job, X: Any, y: Any, seed: int) -> Found:
        try:
            model, fits, chosen = job_specialists.SPECIALISTS[name](job, X, y)
        except ImportError as error:
            raise UnavailableError(f"{error.name or error} is not installed") from error
        return Found(model, fits, chosen)

    return search


def from_r(name: str) -> Callable[[Job, Any, Any, int], Found]:
    """A specialist in R, which tells its own processor time."""

    def search(job: Job, X: Any, y: Any, seed: int) -> Found:
        try:
            found = job_specialists.in_r(name, job, X, y)
        except job_specialists.NoRError as error:
            raise UnavailableError(str(error)) from error
        return Found(None, job_specialists.R_FITS[name], "", found)

    return search


def intelex(job: Job, X: Any, y: Any, seed: int) -> Found:
    """GridSearchCV patched by scikit-learn-intelex, in a process of its own."""
    command = [sys.executable, os.path.join(os.path.dirname(__file__), "job_patched.py"), job.name, str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError((done.stderr.strip().splitlines() or ["scikit-learn-intelex failed"])[-1])
    said = json.loads(done.stdout.strip().splitlines()[-1])
    return Found(None, FOLDS * job.n_settings + 1, said["chosen"], lambda X, y: (said["score"], said["seconds"]))


OPTUNA = """
def objective(trial):
    setting = {name: trial.suggest_categorical(name, values) for name, values in grid.items()}
    scores = []
    for step, (train, test) in enumerate(folds.split(X, y)):
        model = clone(estimator).set_params(**setting).fit(X[train], y[train])
        scores.append(scorer(model, X[test], y[test]))
        trial.report(np.mean(scores), step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return np.mean(scores)
study = optuna.create_study(direction="maximize", pruner=optuna.pruners.MedianPruner())
study.optimize(objective, n_trials=27)
model = clone(estimator).set_params(**study.best_params).fit(X, y)
"""

PEERS = [
    Peer("outsample", ours, "search = GridSearch(estimator, grid, scoring=scoring).fit(X, y)"),
    Peer("GridSearchCV", grid_search, "search = GridSearchCV(estimator, grid, scoring=scoring).fit(X, y)"),
    Peer("HalvingGridSearchCV", halving, "search = HalvingGridSearchCV(estimator, grid, scoring=scoring).fit(X, y)"),
    Peer("RandomizedSearchCV", randomized, "search = RandomizedSearchCV(estimator, grid, scoring=scoring).fit(X, y)"),
    Peer("optuna", optuna_search, OPTUNA),
    *(Peer(name, specialist(name), only=(name,)) for name in job_specialists.SPECIALISTS),
    *(Peer(name, from_r(name), job_specialists.R_CODE[name], only=(name,)) for name in job_specialists.R_CODE),
    Peer(
        "intelex",
        intelex,
        "patch_sklearn()\nsearch = GridSearchCV(estimator, grid, scoring=scoring).fit(X, y)",
        only=("intelex",),
    ),
]
