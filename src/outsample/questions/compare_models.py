"""Which learner? Several learners or whole searches, judged on the same rows left out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from outsample.checks import is_integer
from outsample.criteria.race import Race
from outsample.curve.error_estimate import ErrorEstimate, numeral
from outsample.curve.intervals import Difference, difference_of_folds, difference_of_rows, holm, widening
from outsample.curve.plausible import plausible_by_folds, plausible_models
from outsample.curve.result import TableResult
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import check_learner
from outsample.data.stability import share_of_training, variance_factor
from outsample.data.tables import Table
from outsample.evidence.learners import Judged, left_out_by_learners
from outsample.losses.choice import LossLike
from outsample.paths.refit import RefitPath
from outsample.problem import Problem, ask
from outsample.questions.code import Name, code_of_call
from outsample.resampling.rows import FoldsLike
from outsample.running.arrays import Array
from outsample.running.progress import Progress, TerminalProgress
from outsample.running.run import RandomState

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LEVEL = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(TableResult):
    """Learners judged on the same rows left out.

    Attributes
    ----------
    curve : the risk of every learner, in the order given, with the losses of all rows in `left_out`.
    names : what the learners are called.
    n_fits, seconds : what each learner took, (models,): fits inside searches counted, wall time.
    train_size : rows of a training set, on average.
    shares : how much of the correction for shared training rows each learner needs, see `data.stability`.
    groups : (n,) rows that belong together, None where each is alone.
    call : the Python code that gives it again, with X and y as the user has them.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> c = outsample.compare_models({"bayes": GaussianNB(), "guess": DummyClassifier()}, X, y, random_state=0)
    >>> c.differences()[["first", "second", "difference"]].round(1).to_dict("records")
    [{'first': 'bayes', 'second': 'guess', 'difference': -0.6}]
    """

    curve: RiskCurve
    names: tuple[str, ...]
    n_fits: tuple[int, ...]
    seconds: tuple[float, ...]
    train_size: float
    shares: tuple[float, ...]
    groups: Array | None = None
    call: str = ""

    told: ClassVar[str] = "names best plausible estimates n_fits seconds sentence"

    @property
    def best(self) -> str:
        """The learner of least estimated error; of ties the first."""
        return self.names[int(np.argmin(self.curve.out_sample))]

    @property
    def plausible(self) -> list[str]:
        """The learners that may be the best, at level 0.95; see `GridSearch.plausible_`."""
        table = self._left_out
        if table.losses is not None:
            factor = self._widening(max(self.shares))
            found = plausible_models(table.losses, table.weight, self.groups, level=LEVEL, widening=factor)
        else:
            assert table.fold_risks is not None
            found = plausible_by_folds(table.fold_risks, self._test_share, level=LEVEL)
        return [name for name, may_be in zip(self.names, found, strict=True) if may_be]

    @property
    def estimates(self) -> dict[str, ErrorEstimate]:
        """The error of each learner on new data, in the scale of the loss."""
        found = {}
        for i, name in enumerate(self.names):
            found[name] = replace(self.curve.estimate(i), n_fits=self.n_fits[i], seconds=self.seconds[i])
        return found

    def to_frame(self) -> pd.DataFrame:
        """One row per learner: estimate, interval at level 0.95 as (low, high), n_fits, seconds, plausible."""
        import pandas as pd

        may_be_best = self.plausible
        rows = {
            name: {
                "estimate": estimate.out_sample,
                "interval": _interval(estimate),
                "n_fits": estimate.n_fits,
                "seconds": estimate.seconds,
                "plausible": name in may_be_best,
            }
            for name, estimate in self.estimates.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")

    def differences(self) -> pd.DataFrame:
        """All pairs of learners: by how much the error of the first exceeds that of the second.

        It is the difference of the learners, averaged over training sets of this size, not that of the models fitted to
        these very data. Paired: what both lose alike on a row cancels. Corrected for resampling: all rows are judged by
        models that share training rows, so that a difference varies more over data sets than its rows tell, see
        `outsample.curve.intervals`.

        Returns
        -------
        pandas.DataFrame
            Columns first, second, difference (in the scale of the loss), interval (low, high) at level 0.95, p_value
            (two-sided, of this pair alone) and p_holm (the same adjusted for all pairs by Holm's method).
        """
        import pandas as pd

        pairs = list(combinations(range(len(self.names)), 2))
        found = [self._difference(*pair) for pair in pairs]
        columns = {
            "first": [self.names[i] for i, _ in pairs],
            "second": [self.names[j] for _, j in pairs],
            "difference": [d.value for d in found],
            "interval": [self._possible(*d.interval(LEVEL)) for d in found],
            "p_value": [d.pvalue for d in found],
            "p_holm": holm(np.array([d.pvalue for d in found])),
        }
        return pd.DataFrame(columns)

    def _difference(self, first: int, second: int) -> Difference:
        table = self._left_out
        if table.losses is not None:
            rows = table.losses[first], table.losses[second]
            factor = self._widening(float(np.mean([self.shares[first], self.shares[second]])))
            found = difference_of_rows(*rows, table.weight, self.groups, factor)
        else:
            assert table.fold_risks is not None
            found = difference_of_folds(table.fold_risks[:, first], table.fold_risks[:, second], self._test_share)
        # A score is reported with its own sign; a difference of scores has the sign of the score.
        sign = float(self.curve.loss.reported(1.0)) - float(self.curve.loss.reported(0.0))
        return replace(found, value=sign * found.value)

    def _possible(self, low: float, high: float) -> tuple[float, float]:
        """The part of an interval that differences can have, given the range of the loss."""
        least, greatest = self.curve.loss.range
        return max(low, least - greatest), min(high, greatest - least)

    @property
    def _left_out(self) -> Any:
        assert self.curve.left_out is not None
        return self.curve.left_out

    def _widening(self, share: float) -> float:
        known = ~np.isnan(self._left_out.losses).any(axis=0)
        return widening(int(known.sum()), self.train_size, share)

    @property
    def _test_share(self) -> float:
        return max(0.0, self.curve.n_samples - self.train_size) / self.train_size

    def table(self) -> tuple[list[str], list[list[str]]]:
        """(headings, rows) as readable text, the least error first."""
        may_be_best, estimates = self.plausible, self.estimates
        lines = []
        for i in np.argsort(self.curve.out_sample, kind="stable"):
            name = self.names[i]
            low, high = _interval(estimates[name])
            lines.append(
                [
                    name,
                    numeral(estimates[name].out_sample),
                    "–" if np.isnan(low) else f"{numeral(low, 3)} to {numeral(high, 3)}",
                    "yes" if name in may_be_best else "no",
                    str(self.n_fits[i]),
                    numeral(self.seconds[i], 2),
                ]
            )
        return ["model", self.curve.loss.name, "95 % interval", "may be best", "fits", "seconds"], lines

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        others = [name for name in self.plausible if name != self.best]
        error = f"{self.curve.loss.name} {numeral(self.estimates[self.best].out_sample)}"
        if len(self.names) == 1:
            return f"{self.best}: {error}."
        if not others:
            return f"{self.best} is the best ({error}); no other may be."
        if len(others) == len(self.names) - 1:
            return f"{self.best} did best ({error}), but nothing tells the {len(self.names)} learners apart."
        return f"{self.best} did best ({error}); {_listed(others)} may be as good."

    def _below(self) -> list[str]:
        about = [self.sentence, f"estimates {self.curve.estimand}"]
        if len(self.names) > 1:
            rows = f"{self.train_size:.0f} rows"
            about.append(f"differences are those of the learners, averaged over training sets of {rows}")
        return [*about, *self.curve.notes]

    def plot(self, ax: Axes | None = None) -> Axes:
        """The error of every learner with its interval, those that may be the best filled; returns the Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import learners_drawing

        return plotted(learners_drawing(self), ax)

    def to_html(self, path: str | os.PathLike[str], X: Table | None = None, y: ArrayLike | None = None) -> None:
        """Write a report, one self-contained HTML file; with X and y it warns of what is special about them."""
        from outsample.view.page import write_report

        write_report(self, path, X=X, y=y, grouped=self.groups is not None)


def compare_models(
    models: Mapping[str, BaseEstimator],
    X: Table,
    y: ArrayLike,
    *,
    scoring: LossLike = None,
    cv: FoldsLike = 10,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    progress: Progress | None = None,
) -> ModelComparison:
    """Compare learners, or whole searches, on the same folds.

    A search is a learner: it is run anew on the training rows of every fold, so that its error is that of searching
    and using what was chosen.

    Parameters
    ----------
    models : estimators, pipelines or searches by name, all classifiers or all regressors; they are cloned.
    X, y : the data.
    scoring : a scorer of scikit-learn or a loss of ours, see `outsample.estimate`; by default zero-one loss for
        classifiers and squared loss for regressors.
    cv : number of folds, shuffled, stratified for classes, whole groups where there are groups; or a splitter.
    sample_weight : one weight per row, used in fits and in the loss.
    groups : rows that belong together; searches get them too.
    n_jobs : joblib workers; the answer does not depend on it.
    random_state : seed of the folds, and of learners whose own random state is not set; None as in `estimate`.
    progress : called with (fits done, fits planned); by default a bar on long runs in a terminal.

    Returns
    -------
    ModelComparison
        With `to_frame`, `differences`, `best`, `plausible`, `plot` and `to_html`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> c = compare_models({"bayes": GaussianNB(), "guess": DummyClassifier()}, X, y, random_state=0)
    >>> c.best, c.plausible
    ('bayes', ['bayes'])
    """
    _check(models)
    with TerminalProgress("models") as bar:
        problems: list[Problem] = []
        for estimator in models.values():
            question = ask(
                estimator,
                X,
                y,
                loss=scoring,
                sample_weight=sample_weight,
                groups=groups,
                random_state=problems[0].seed if problems else random_state,
                n_jobs=n_jobs,
                progress=progress or bar,
            )
            problems.append(question.over(RefitPath.over(estimator, [{}])))
        if is_integer(cv, problems[0].n_samples + 1):
            raise ValueError(f"cv={cv} asks for more folds than X has rows; use at most {problems[0].n_samples}")
        splits = Race(cv).splits(problems[0])
        judged = left_out_by_learners(problems, splits)
    return ModelComparison(
        curve=_curve(problems, judged, models, splits.notes),
        names=tuple(models),
        n_fits=judged.n_fits,
        seconds=judged.seconds,
        train_size=float(np.mean([len(fold.train) for fold in splits.folds])),
        shares=tuple(share_of_training(model) for model in models.values()),
        groups=problems[0].groups,
        call=_call(models, scoring, cv, random_state),
    )


def _check(models: object) -> None:
    if not isinstance(models, Mapping) or not models:
        raise ValueError(f"models must be a dict of estimators by name, with at least one, got {models!r}")
    for name, model in models.items():
        if not isinstance(name, str):
            raise ValueError(f"models: the name of a model is text, got {name!r}")
        check_learner(model, f"models[{name!r}]")
    kinds = {(is_classifier(model), is_regressor(model)) for model in models.values()}
    if len(kinds) > 1:
        raise ValueError("models must be all classifiers or all regressors")


def _curve(problems: Sequence[Problem], judged: Judged, models: Mapping[str, Any], notes: tuple[str, ...]) -> RiskCurve:
    """The risks of all learners as one curve; the learner is the parameter."""
    first, table = problems[0], judged.left_out
    error, unknown = None, np.full(len(problems), np.nan)
    if table.losses is not None:
        nothing = np.zeros(first.n_samples)
        alone = [difference_of_rows(losses, nothing, table.weight, first.groups, 1.0) for losses in table.losses]
        error = np.array([found.error for found in alone])
    assert table.fold_risks is not None
    out_sample = table.risk if table.losses is not None else table.fold_risks.mean(axis=0)
    base = first.curve(
        in_sample=np.full(1, np.nan),
        out_sample=out_sample[:1],
        criterion="kfold",
        estimand=f"{first.loss.on_new_data}, averaged over fits to {judged.train_share:.0%} of the rows",
        n_fits=sum(judged.n_fits),
        seconds=sum(judged.seconds),
        notes=notes,
    )
    return replace(
        base,
        complexity=np.arange(len(problems), dtype=np.float64),
        params=tuple({"model": name} for name in models),
        in_sample=unknown,
        optimism=unknown,
        out_sample=out_sample,
        standard_error=error,
        variance_factor=np.array([variance_factor(model) for model in models.values()]),
        left_out=table,
        ordered=False,
        path="RefitPath",
    )


def _interval(estimate: ErrorEstimate) -> tuple[float, float]:
    """The interval at level 0.95; not a number where there is none."""
    try:
        return estimate.interval(LEVEL)
    except ValueError:
        return float("nan"), float("nan")


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _call(models: Mapping[str, Any], scoring: object, cv: object, random_state: object) -> str:
    """The code that gives the comparison again, with the arguments that are not the usual ones."""
    given = {"scoring": scoring, "cv": None if cv == 10 else cv, "random_state": random_state}
    asked = {name: value for name, value in given.items() if value is not None}
    return code_of_call("c = outsample.compare_models", [dict(models), Name("X"), Name("y")], asked, ["outsample"])
