"""A fitted search: what it keeps, and how that is shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from outsample.bounds.record import SAME_FIT
from outsample.curve.error_estimate import ErrorEstimate
from outsample.curve.race_record import RaceRecord
from outsample.curve.risk_curve import RiskCurve
from outsample.data.tables import Table
from outsample.losses.base import Loss
from outsample.questions.contest import Outcome
from outsample.questions.honest import corrected_for_choice
from outsample.questions.results import CvResults, answer_in_html, results_frame
from outsample.questions.verdict import Found, Verdict, plausible_positions, verdict_of
from outsample.rules import OracleTerms, RuleLike, as_rule, oracle_terms, penalized
from outsample.running.arrays import Array, Rows
from outsample.running.threads import cached_property

if TYPE_CHECKING:
    import pandas as pd


class Fitted:
    """What a search of scikit-learn has beside its own attributes once it is fitted."""

    estimator: Any
    rule: RuleLike
    refit: Any
    error_score: Any

    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float
    best_estimator_: Any
    cv_results_: CvResults
    curve_: RiskCurve
    estimate_: ErrorEstimate
    oracle_terms_: OracleTerms
    race_: RaceRecord
    n_fits_: int
    n_splits_: int
    path_: str
    loss_: Loss
    scorer_: Any
    refit_time_: float
    multimetric_: bool

    def _keep(self, decisive: Outcome, honest: ErrorEstimate | None, groups: Array | None = None) -> None:
        """Keep what was found; `groups` where rows belong together."""
        for name in ("oracle_terms_", "estimate_", "race_", "plausible_", "verdict_"):
            vars(self).pop(name, None)
        if self.refit:
            # Models judged before are not the one that is fitted again, to all rows.
            again = [
                known.known(dict.fromkeys({SAME_FIT} & set(known.assumptions), False))
                for known in decisive.curve.certificates
            ]
            decisive = replace(decisive, curve=replace(decisive.curve, certificates=again))
        curve, self._decisive_outcome, self._groups = decisive.curve, decisive, groups
        self._honest_score = honest
        self.curve_, self.path_, self.n_fits_, self.loss_ = curve, curve.path, curve.n_fits, curve.loss
        if curve.fold_risks is not None:
            self.n_splits_ = len(curve.fold_risks)
        else:
            vars(self).pop("n_splits_", None)
        if self.refit or not self.multimetric_:
            self.estimate_ = curve.estimate(decisive.model_at(self.best_index_))
        if curve.race is not None:
            record = curve.race.take(np.argsort(decisive.positions, kind="stable"))
            self.race_ = replace(record, loss=curve.loss)
        if as_rule(self.rule) is penalized:
            self.oracle_terms_ = oracle_terms(curve)
            if hasattr(self, "estimate_"):
                self.estimate_ = replace(self.estimate_, certificate=self.oracle_terms_.tail_bound())

    @property
    def honest_score_(self) -> ErrorEstimate:
        """The error of the chosen model, corrected for having chosen it: by `honest`, else from the left-out losses."""
        self._check_chosen("honest_score_")
        if self._honest_score is None:
            self._honest_score = self._corrected_for_choice()
        return self._honest_score

    def _check_chosen(self, name: str) -> None:
        check_is_fitted(self)
        if not hasattr(self, "best_index_"):
            raise AttributeError(f"there is no {name}: several metrics with refit=False choose no candidate")

    def _corrected_for_choice(self) -> ErrorEstimate:
        curve, place = self.curve_, self._decisive_outcome.model_at(self.best_index_)
        found = corrected_for_choice(curve, place, np.random.default_rng(0), self._groups)
        if found is None:
            raise AttributeError(
                f"honest_score_ needs losses of rows left out, which criterion {curve.criterion!r} does not have here; "
                'use honest="nested"'
            )
        in_sample = self.estimate_.in_sample
        return replace(found, in_sample=in_sample, optimism=found.out_sample - in_sample)

    @cached_property
    def plausible_(self) -> Rows:
        """Positions in `cv_results_` of the candidates that may be the best, at level 0.95; the chosen one among them.

        A confidence set for the candidate of least expected loss, from the losses of rows left out: valid however many
        candidates tie. Criteria that leave no rows out have none.
        """
        check_is_fitted(self)
        chosen = getattr(self, "best_index_", None)
        return plausible_positions(self._decisive_outcome, self._groups, chosen)

    @cached_property
    def verdict_(self) -> Verdict:
        """Does tuning beat the estimator's own setting, is the grid too narrow, was the choice close: print it.

        "x ± y" is the gain and its standard error, paired on the rows left out and corrected for having chosen the best
        of many. Where the estimator's own setting is not in the grid and was not tried, the sentence says so.
        """
        self._check_chosen("verdict_")
        return verdict_of(
            Found(
                outcome=self._decisive_outcome,
                estimator=self.estimator,
                settings=self.cv_results_["params"],
                chosen=self.best_index_,
                plausible=self.plausible_ if hasattr(self, "plausible_") else None,
                values=self._listed_values(),
                groups=self._groups,
                rule=as_rule(self.rule),
                error_score=self.error_score,
                fitted=getattr(self, "best_estimator_", None),
            )
        )

    def _listed_values(self) -> dict[str, list[Any]]:
        """By parameter, the values that the user listed in the grid of the chosen candidate."""
        given = getattr(self, "param_grid", None) or getattr(self, "param_distributions", {})
        setting = self.cv_results_["params"][self.best_index_]
        for grid in [given] if isinstance(given, Mapping) else given:
            listed = {name: list(values) for name, values in grid.items() if hasattr(values, "__len__")}
            named = {name: repr(value) for name, value in setting.items()}
            if set(grid) == set(setting) and all(named[name] in map(repr, values) for name, values in listed.items()):
                return listed
        return {}

    def results_frame(self) -> pd.DataFrame:
        """`cv_results_` as a tidy table: a row per setting, its parameters first, then scores, errors and times.

        Where rows were left out, `plausible` says which candidates may be the best.
        """
        check_is_fitted(self)
        frame = results_frame(self.cv_results_)
        if hasattr(self, "plausible_"):
            times = next(i for i, name in enumerate(frame.columns) if name.endswith("_time"))
            frame.insert(times, "plausible", np.isin(np.arange(len(frame)), self.plausible_))
        return frame

    def plot(self, ax: Any = None) -> Any:
        """A curve over one parameter, a heat map over two, or the best candidates; returns the matplotlib Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import search_drawing

        check_is_fitted(self)
        return plotted(search_drawing(self), ax)

    def to_html(self, path: str | os.PathLike[str], X: Table | None = None, y: ArrayLike | None = None) -> None:
        """Write a report, one self-contained HTML file; with X and y it warns of what is special about them."""
        from outsample.view.page import write_report

        check_is_fitted(self)
        write_report(self, path, X=X, y=y)

    def _html_repr(self) -> str:
        """scikit-learn's diagram, and below it what the search found."""
        diagram = estimator_html_repr(self)
        return f"{diagram}{answer_in_html(self)}" if hasattr(self, "estimate_") else diagram
