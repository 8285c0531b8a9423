"""Which criterion to believe? Many criteria on one problem."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.criteria.base import Criterion, CriterionLike, as_criterion
from outsample.curve.error_estimate import ErrorEstimate, numeral
from outsample.curve.result import TableResult
from outsample.curve.risk_curve import RiskCurve, Rule
from outsample.data.tables import Table
from outsample.losses.choice import LossLike
from outsample.problem import Problem, ask
from outsample.questions.candidates import Branch, ParamGrid, Positions, candidates_of, checked_grids, filled
from outsample.questions.code import Name, code_of_call
from outsample.questions.contest import choice, least_first, permutation_optimism, problems_of
from outsample.rules import RuleLike, as_rule, minimum
from outsample.running.progress import Progress, TerminalProgress
from outsample.running.run import RandomState

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ("in_sample", "optimism", "out_sample", "standard_error", "monte_carlo_error", "n_fits", "seconds")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(TableResult):
    """What several criteria say of the same models, and the model each would choose.

    Attributes
    ----------
    curves : the risk curve of each criterion, by its name, in the order asked for; the same models in the same
        order in each.
    chosen : the place of the model that the rule chooses on each curve.
    rule : the rule's name.
    seconds : wall time of everything. A curve's own `seconds` are what its criterion would have taken alone: the
        work on X and the fit to the real labels are done once and counted in each.
    call : the Python code that gives it again, with X and y as the user has them.

    Examples
    --------
    >>> from outsample import compare
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> both = compare(Ridge(), X, y, param_grid={"alpha": [0.01, 0.1, 1]}, criteria=["kfold", "loo"], random_state=0)
    >>> both.chosen
    {'kfold': 2, 'loo': 2}
    """

    curves: dict[str, RiskCurve]
    chosen: dict[str, int]
    rule: str
    seconds: float
    call: str = ""

    told: ClassVar[str] = "rule chosen params estimates seconds"
    columns_of_words: ClassVar[int] = 2

    @property
    def estimates(self) -> dict[str, ErrorEstimate]:
        """The error estimate of each criterion's choice, in the scale of the user's loss."""
        return {name: curve.estimate(self.chosen[name]) for name, curve in self.curves.items()}

    @property
    def params(self) -> dict[str, dict[str, Any]]:
        """The setting each criterion chooses."""
        return {name: dict(curve.params[self.chosen[name]]) for name, curve in self.curves.items()}

    def to_frame(self) -> Any:
        """One row per criterion: the chosen setting, its errors, and what it cost.

        Returns
        -------
        pandas.DataFrame
            Indexed by criterion; columns params, in_sample, optimism, out_sample, standard_error,
            monte_carlo_error, n_fits, seconds. Errors that a criterion does not give are missing.
        """
        import pandas as pd

        rows = {
            name: {"params": self.params[name]} | {column: getattr(estimate, column) for column in COLUMNS}
            for name, estimate in self.estimates.items()
        }
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=["params", *COLUMNS])
        errors = ["standard_error", "monte_carlo_error"]
        return frame.astype(dict.fromkeys(errors, float)).rename_axis("criterion")

    def table(self) -> tuple[list[str], list[list[str]]]:
        """(headings, rows) as readable text."""
        headings = [
            "criterion",
            "chosen",
            "in-sample",
            "optimism",
            "out-sample",
            "± data",
            "± draws",
            "fits",
            "seconds",
        ]
        return headings, [self._line(name, estimate) for name, estimate in self.estimates.items()]

    def _line(self, name: str, estimate: ErrorEstimate) -> list[str]:
        setting = ", ".join(f"{key}={value}" for key, value in self.params[name].items())
        errors = (estimate.standard_error, estimate.monte_carlo_error)
        return [
            name,
            setting or "as given",
            *(numeral(value) for value in (estimate.in_sample, estimate.optimism, estimate.out_sample)),
            *("" if value is None else numeral(value, 2) for value in errors),
            str(estimate.n_fits),
            numeral(estimate.seconds, 2),
        ]

    def _above(self) -> str:
        first = next(iter(self.curves.values()))
        models = "1 model" if len(first) == 1 else f"{len(first)} models"
        return f"{first.loss.name} of {models} on {first.n_samples} rows, chosen by {self.rule}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Every criterion's curve over the models, its choice marked; returns the matplotlib Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import comparison_drawing

        return plotted(comparison_drawing(self), ax)

    def to_html(self, path: str | os.PathLike[str], X: Table | None = None, y: ArrayLike | None = None) -> None:
        """Write a report, one self-contained HTML file; with X and y it warns of what is special about them."""
        from outsample.view.page import write_report

        write_report(self, path, X=X, y=y)


def compare(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    param_grid: ParamGrid | None = None,
    criteria: Sequence[CriterionLike] = ("permutation", "kfold", "holdout", "resubstitution"),
    rule: RuleLike = "minimum",
    loss: LossLike = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    fast: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Estimate the same models by several criteria, and let each choose.

    The work on X and the fit to the real labels are done once for all criteria. Whether a criterion can serve the
    problem is checked for all of them before the first fit.

    Parameters
    ----------
    estimator : any scikit-learn compatible classifier, regressor or pipeline.
    X, y : the data.
    param_grid : dict of parameter values (or a list of dicts) to choose among; None for the estimator as it is. A
        parameter along which a path is known runs along it, the others are crossed with it.
    criteria : criteria or their names, such as "kfold" or `Permutation(100)`.
    rule : how each curve chooses, as in `GridSearch`; for rules that need an order of models that have none, they
        are ordered by their optimism on permuted labels.
    loss, sample_weight, groups, n_jobs, random_state, fast, progress : see `outsample.estimate`.

    Returns
    -------
    Comparison
        `to_frame()`, `plot()`, `to_html()`, and the choice of each criterion in `params`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> c = compare(Ridge(), X, y, param_grid={"alpha": [0.01, 0.1, 1]}, criteria=["kfold", "loo"], random_state=0)
    >>> c.params["loo"]
    {'alpha': 0.01}
    """
    start = time.perf_counter()
    named, chooser = _named(criteria), as_rule(rule)
    settings = [] if param_grid is None else _settings(estimator, param_grid)
    with TerminalProgress("compare") as bar:
        question = ask(
            filled(estimator, settings),
            X,
            y,
            loss=loss,
            sample_weight=sample_weight,
            groups=groups,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress or bar,
        )
        posed = problems_of(question, estimator, settings or [{}], fast)
        curves, positions = _curves(posed, named, chooser)
    return Comparison(
        curves=curves,
        chosen={name: choice(curve, positions, named[name], chooser) for name, curve in curves.items()},
        rule=rule if isinstance(rule, str) else getattr(rule, "__name__", repr(rule)),
        seconds=time.perf_counter() - start,
        call=_call(estimator, param_grid, named, rule, loss, random_state),
    )


def _call(
    estimator: BaseEstimator,
    param_grid: ParamGrid | None,
    named: dict[str, Criterion],
    rule: RuleLike,
    loss: LossLike,
    random_state: RandomState,
) -> str:
    """The code that gives the comparison again, with the arguments that are not the usual ones."""
    given: dict[str, Any] = {"param_grid": param_grid, "criteria": list(named.values())}
    given |= {"rule": rule if rule != "minimum" else None, "loss": loss, "random_state": random_state}
    asked = {name: value for name, value in given.items() if value is not None}
    return code_of_call("c = outsample.compare", [estimator, Name("X"), Name("y")], asked, ["outsample"])


def _settings(estimator: BaseEstimator, param_grid: ParamGrid) -> list[dict[str, Any]]:
    checked_grids(estimator, param_grid)
    return candidates_of(param_grid)


def _named(criteria: Sequence[CriterionLike]) -> dict[str, Criterion]:
    """Criteria by name; those that share a name by all their settings."""
    if isinstance(criteria, str) or not criteria:
        raise ValueError(f"criteria must be a list of at least one criterion or name, got {criteria!r}")
    made = [as_criterion(criterion) for criterion in criteria]
    often = Counter(criterion.name for criterion in made)
    named = {c.name if often[c.name] == 1 else _described(c): c for c in made}
    if len(named) < len(made):
        raise ValueError(f"criteria must differ from each other, got {list(criteria)!r}")
    return named


def _described(criterion: Any) -> str:
    """The name with the settings that are not the default ones."""
    changed = [f for f in fields(criterion) if repr(getattr(criterion, f.name)) != repr(f.default)]
    inside = ", ".join(f"{f.name}={getattr(criterion, f.name)!r}" for f in changed)
    return f"{criterion.name}({inside})" if inside else str(criterion.name)


def _curves(
    posed: list[tuple[Problem, Branch]], named: dict[str, Criterion], rule: Rule
) -> tuple[dict[str, RiskCurve], Positions]:
    """(curve of each criterion over all models, where each model stands in the user's grid)."""
    shared = _seconds_shared([problem for problem, _ in posed], named)
    positions = np.concatenate([branch.positions for _, branch in posed])
    order = np.arange(len(positions))
    natural = len(posed) == 1 and posed[0][0].path.ordered
    if not natural and rule is not minimum:
        optimism = permutation_optimism(posed)
        order = least_first(optimism[positions], posed[0][0].scale)
    curves = {}
    for name, criterion in named.items():
        found = [replace(criterion.curve(problem), params=branch.settings) for problem, branch in posed]
        whole = RiskCurve.joined(found).take(order)
        curves[name] = replace(whole, seconds=whole.seconds + shared)
    return curves, positions[order]


def _seconds_shared(problems: list[Problem], named: dict[str, Criterion]) -> float:
    """Check every criterion, do the work that all of them share, and say how long that took."""
    start = time.perf_counter()
    for problem in problems:
        for criterion in named.values():
            criterion.check(problem)
    for problem in problems:
        problem.in_sample  # noqa: B018 — computed here once, kept by the problem
    return time.perf_counter() - start
