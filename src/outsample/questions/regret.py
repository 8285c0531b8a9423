"""Which criterion to trust on your own data? Each chooses models on random parts of it, judged on the rows held out."""

from __future__ import annotations

import reprlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import train_test_split

from outsample.checks import number_of_jobs, whole_number
from outsample.criteria.base import CRITERIA, Criterion, CriterionLike, as_criterion
from outsample.curve.result import table_in_print
from outsample.data.learners import check_learner, encode, is_pairwise
from outsample.data.tables import Table, as_table, n_rows, split_rows
from outsample.losses.choice import LossLike
from outsample.problem import Problem, pose
from outsample.questions.candidates import branches, candidates_of
from outsample.questions.compare import Comparison, compare
from outsample.rules import RuleLike
from outsample.running.arrays import Array, Floats
from outsample.running.progress import Progress, silent
from outsample.running.run import child_integer
from outsample.running.store import StorePath, common_facts, finished_units

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("regret", "median_regret", "regret_error", "relative_error", "relative_error_error", "held_out_error")


def ratio_of_means(numerator: Array, denominator: Array) -> tuple[float, float]:
    """(Σ numerator / Σ denominator, standard error by the delta method) over paired samples (n,)."""
    n, below = len(numerator), float(np.mean(denominator))
    ratio = float(np.mean(numerator)) / below
    if n < 2:
        return ratio, float("nan")
    return ratio, float(np.std(numerator - ratio * denominator, ddof=1) / np.sqrt(n) / below)


@dataclass(frozen=True, eq=False)
class RegretStudy:
    """Held-out errors of the models that criteria chose, over random splits.

    Regret is what a choice costs against the model that was best on the held-out rows, as a share of the best model's
    mean error over splits. The best of many models on few rows is lucky, so that no criterion can bring it to zero.

    Attributes
    ----------
    criteria : their names.
    baseline : the criterion that held-out errors are compared with.
    errors : (learner, data set) → (splits, 1 + criteria), the held-out error of the best model, then of each choice.
    n_fits : (learner, data set) → (criteria,), mean number of learning episodes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from outsample import regret_study
    >>> learners = {"k-NN": (KNeighborsClassifier(), {"n_neighbors": range(1, 20)})}
    >>> study = regret_study(learners, {"iris": load_iris(return_X_y=True)}, ["kfold"], n_splits=2, n_jobs=1)
    >>> study.criteria
    ('kfold',)
    """

    criteria: tuple[str, ...]
    baseline: str
    errors: Mapping[tuple[str, str], Floats]
    n_fits: Mapping[tuple[str, str], Floats]

    def to_frame(self) -> pd.DataFrame:
        """One row per learner, data set and criterion.

        Columns: regret (mean), median_regret and regret_error (standard error of the mean) over splits;
        relative_error, the mean held-out error over that of the baseline, with the standard error of the paired
        splits; held_out_error; n_fits.
        """
        import pandas as pd

        rows = {
            (*case, name): [*self._row(errors, c), self.n_fits[case][c]]
            for case, errors in self.errors.items()
            for c, name in enumerate(self.criteria)
        }
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=[*COLUMNS, "n_fits"])
        frame.index = pd.MultiIndex.from_tuples(list(rows), names=["learner", "data", "criterion"])
        return frame

    def _row(self, errors: Floats, c: int) -> list[float]:
        """The columns of one criterion, from the held-out errors of the best model and of each choice."""
        best, chosen = errors[:, 0], errors[:, 1 + c]
        base = errors[:, 1 + self.criteria.index(self.baseline)]
        excess = (chosen - best) / best.mean() if best.any() else np.where(chosen > best, np.inf, 0.0)
        regret = ratio_of_means(chosen - best, best) if best.any() else (float(excess.max()), np.nan)
        relative = ratio_of_means(chosen, base) if base.any() else (np.nan, np.nan)
        return [regret[0], float(np.median(excess)), regret[1], *relative, float(chosen.mean())]

    def overall(self) -> pd.DataFrame:
        """One row per learner and criterion, averaged over data sets with equal weight.

        Columns: regret and relative_error with standard errors; worst_excess, the most by which its regret exceeds
        that of the best criterion on any one set.
        """
        import pandas as pd

        frame = self.to_frame()
        lead = frame["regret"] - frame.groupby(level=["learner", "data"], sort=False)["regret"].transform("min")
        groups = frame.assign(worst_excess=lead).groupby(level=["learner", "criterion"], sort=False)

        def error_of_mean(column: str) -> Any:
            return groups[column].agg(lambda errors: float(np.sqrt(np.sum(errors**2)) / len(errors)))

        return pd.DataFrame(
            {
                "regret": groups["regret"].mean(),
                "regret_error": error_of_mean("regret_error"),
                "relative_error": groups["relative_error"].mean(),
                "relative_error_error": error_of_mean("relative_error_error"),
                "worst_excess": groups["worst_excess"].max(),
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Bars of the regret of every criterion on every data set, with standard errors; returns the Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import regret_drawing

        return plotted(regret_drawing(self), ax)

    def _by_case(self, column: str) -> pd.DataFrame:
        table = self.to_frame()[column].unstack("criterion")
        return table.reindex(index=list(self.errors), columns=list(self.criteria))

    def _titles(self) -> list[str]:
        alone = len({learner for learner, _ in self.errors}) == 1
        return [data if alone else f"{learner}, {data}" for learner, data in self.errors]

    def __str__(self) -> str:
        regret, error = self._by_case("regret"), self._by_case("regret_error")
        splits = len(next(iter(self.errors.values())))
        lines = [f"regret ± standard error over {splits} splits"]
        rows = [["", *self.criteria]]
        for title, case in zip(self._titles(), self.errors, strict=True):
            rows.append([title, *(f"{regret.loc[case, c]:.3f} ± {error.loc[case, c]:.3f}" for c in self.criteria)])
        overall = self.overall()
        for learner in dict.fromkeys(learner for learner, _ in self.errors):
            rows += _overall_rows(learner, overall.loc[learner], self.criteria, self.baseline)
        return "\n".join([*lines, *table_in_print(rows[0], rows[1:], left=len(rows[0]))])

    __repr__ = __str__


def _overall_rows(learner: str, overall: pd.DataFrame, criteria: Sequence[str], baseline: str) -> list[list[str]]:
    def cells(column: str) -> list[str]:
        return [f"{overall.loc[c, column]:.3f} ± {overall.loc[c, column + '_error']:.3f}" for c in criteria]

    return [
        [f"{learner}, mean regret", *cells("regret")],
        [f"{learner}, mean error / {baseline}'s", *cells("relative_error")],
    ]


HELD_OUT = 0.25

# Criteria whose first setting is a number of fits.
BUDGETED = (
    "permutation",
    "label-bootstrap",
    "rademacher",
    "expected-discrepancy",
    "kfold",
    "loo",
    "two-stage",
    "rows-and-labels",
    "auto",
)


def regret_study(
    learners: Mapping[str, tuple[Any, Any]],
    datasets: Mapping[str, tuple[Any, Any]],
    criteria: Sequence[Any] | Mapping[str, Any] = ("permutation", "kfold", "two-stage", "rows-and-labels"),
    *,
    n_splits: int = 20,
    episodes: int | None = 10,
    rule: RuleLike = "minimum",
    loss: LossLike = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    store: StorePath = None,
    progress: Progress | None = None,
) -> RegretStudy:
    """Regret of every criterion with every learner on every data set.

    Each split fits all models of a learner to a random three quarters of the rows (stratified for class labels), lets
    every criterion choose, and compares the held-out error of its choice with that of the best model. All criteria
    and learners see the same splits.

    Parameters
    ----------
    learners : name → (estimator, param_grid).
    datasets : name → (X, y).
    criteria : criteria or their names, or a dict of them by any name.
    n_splits : number of random splits.
    episodes : fits that criteria given by name may spend where they take such a number: draws, folds, left-out rows.
        None leaves them at their defaults. Criteria given as objects spend what they say.
    rule, loss : as in `outsample.compare`.
    random_state : an integer; splits and draws have fixed addresses below it.
    n_jobs : workers over splits; the answer does not depend on it. None is one per core.
    store : a file that keeps every finished split, so that a study can be interrupted, and widened later: what is
        in it is not run again.
    progress : called with (splits done, splits planned).

    Returns
    -------
    RegretStudy
        `to_frame()`, `overall()`, `plot()`; print it for a table.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> learners = {"k-NN": (KNeighborsClassifier(), {"n_neighbors": range(1, 20)})}
    >>> study = regret_study(learners, {"wine": load_wine(return_X_y=True)}, ["permutation", "kfold"], n_splits=3)
    >>> bool((study.to_frame()["regret"] >= 0).all())
    True
    """
    n_splits = whole_number("n_splits", n_splits)
    number_of_jobs(n_jobs)
    if episodes is not None:
        episodes = whole_number("episodes", episodes, instead="None or ")
    named = _named(criteria, episodes)
    _check_pairs("learners", "(estimator, param_grid)", learners)
    _check_pairs("datasets", "(X, y)", datasets)
    for name, (estimator, _) in learners.items():
        check_learner(estimator, f"learners[{name!r}]")
    cases = {
        (learner, data): _Case(data, *learners[learner], *datasets[data], tuple(named.values()), rule, loss)
        for learner in learners
        for data in datasets
    }
    if not cases:
        raise ValueError("learners and datasets must name at least one each")
    units = finished_units(
        _one_split,
        [(case, random_state, s) for case in cases.values() for s in range(n_splits)],
        [f"{'/'.join(names)}/{case.fingerprint}/{s}" for names, case in cases.items() for s in range(n_splits)],
        facts=common_facts(random_state, study="regret"),
        store=store,
        n_jobs=n_jobs,
        progress=progress,
    )
    parts = {names: units[i * n_splits : (i + 1) * n_splits] for i, names in enumerate(cases)}
    return RegretStudy(
        criteria=tuple(named),
        baseline="kfold" if "kfold" in named else next(iter(named)),
        errors={names: np.stack([errors for errors, _ in part]) for names, part in parts.items()},
        n_fits={names: np.mean([fits for _, fits in part], axis=0) for names, part in parts.items()},
    )


def _named(criteria: Sequence[Any] | Mapping[str, Any], episodes: int | None) -> dict[str, Criterion]:
    given = criteria if isinstance(criteria, Mapping) else {_name(criterion): criterion for criterion in criteria}
    if isinstance(criteria, str) or not given or len(given) < len(criteria):
        raise ValueError(f"criteria must be a list of different criteria or names, or a dict of them, got {criteria!r}")
    return {name: _with_budget(criterion, episodes) for name, criterion in given.items()}


def _name(criterion: CriterionLike) -> str:
    return criterion if isinstance(criterion, str) else repr(as_criterion(criterion))


def _with_budget(criterion: CriterionLike, episodes: int | None) -> Criterion:
    if isinstance(criterion, str) and episodes is not None and criterion in BUDGETED:
        return CRITERIA[criterion](episodes)
    return as_criterion(criterion)


@dataclass(frozen=True, eq=False)
class _Case:
    """One learner on one data set."""

    data: str
    estimator: Any
    param_grid: Any
    X: Any
    y: Any
    criteria: tuple[Criterion, ...]
    rule: Any
    loss: Any

    @property
    def fingerprint(self) -> str:
        """Tells the numbers of this case from those of any other."""
        learner = (self.estimator, candidates_of(self.param_grid), repr(self.rule), repr(self.loss))
        return str(joblib.hash((learner, self.X, self.y, [repr(criterion) for criterion in self.criteria])))


def _one_split(case: _Case, seed: int, s: int) -> tuple[Array, ...]:
    """(held-out error of the best model and of each choice, (1 + criteria,); fits, (criteria,))."""
    address = np.random.SeedSequence(seed), zlib.crc32(case.data.encode()), s
    X, y = as_table(case.X), np.asarray(case.y)
    train, test = _two_parts(case.estimator, y, n_rows(X), child_integer(*address, 0))
    settings = {"loss": case.loss, "random_state": child_integer(*address, 1), "n_jobs": 1}
    X_train, X_test = split_rows(X, train, test, pairwise=is_pairwise(case.estimator))
    y_train = y[train]
    found = compare(
        case.estimator,
        X_train,
        y_train,
        param_grid=case.param_grid,
        criteria=case.criteria,
        rule=case.rule,
        progress=silent,
        **settings,
    )
    errors, models = _held_out(pose(case.estimator, X_train, y_train, **settings), case, X_test, y[test])
    chosen = [models.index(params) for params in found.params.values()]
    return np.concatenate([[errors.min()], errors[chosen]]), _fits(found)


def _check_pairs(parameter: str, pair: str, given: object) -> None:
    if not isinstance(given, Mapping) or not all(isinstance(v, tuple | list) and len(v) == 2 for v in given.values()):
        raise ValueError(f"{parameter} must be a dict from names to {pair}, got {reprlib.repr(given)}")


def _two_parts(estimator: BaseEstimator, y: Array, n: int, seed: int) -> tuple[Array, Array]:
    """(training rows, held-out rows); a class of a single row goes wherever it falls."""
    stratified = is_classifier(estimator) and np.unique(y, return_counts=True)[1].min() > 1
    strata = y if stratified else None
    train, test = train_test_split(np.arange(n), test_size=HELD_OUT, random_state=seed, stratify=strata)
    return train, test


def _held_out(problem: Problem, case: _Case, X: Table, y: Array) -> tuple[Floats, list[dict[str, Any]]]:
    """(held-out risk of every model, its setting)."""
    parts = branches(case.estimator, candidates_of(case.param_grid), response=problem.response)
    labels = y if problem.target.classes is None else encode(y, problem.target.classes)
    risks = []
    for part in parts:
        design = problem.over(part.path).design
        risks.append(problem.loss.risk(labels, design.predict(problem.y, X, problem.response, problem.real_seed)))
    return np.concatenate(risks), [dict(setting) for part in parts for setting in part.settings]


def _fits(found: Comparison) -> Floats:
    return np.array([curve.n_fits for curve in found.curves.values()], dtype=np.float64)
