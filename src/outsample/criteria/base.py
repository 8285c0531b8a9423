"""A criterion estimates the out-sample risk of every model of a path; criteria have names.

The module of a named criterion is loaded when it is asked for.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from outsample.bounds.record import SAME_FIT, UNSEEN, Certificate
from outsample.bounds.uniform import holdout_bound
from outsample.checks import entry
from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import FitError, usual_score
from outsample.evidence.rows import Tested, at_all_rows, evidence_of_folds
from outsample.losses.base import RELATIVE_ROUNDING
from outsample.losses.whole_set import OwnScore
from outsample.problem import Problem
from outsample.resampling.rows import Splits
from outsample.running.arrays import Floats
from outsample.running.fits import counted_fits


class Criterion(ABC):
    """An immutable value: what to estimate and how. Randomness is passed in with the problem, never stored.

    Subclasses are frozen dataclasses with a `name` and a `_curve`.

    Attributes
    ----------
    name : the word for it in results.
    stands_for_scikit_learn : whether its numbers and ties are those of scikit-learn's own searches.
    asks_own_score : whether searches are by the estimators' own `score` by default; it can ask fitted models for it.
    draws_labels : whether the optimism of its curves is measured on labels that carry no information.
    joint : whether it judges all paths of a search together, so that models of different paths meet; see `together`.

    Examples
    --------
    >>> import outsample
    >>> isinstance(outsample.Permutation(30), outsample.Criterion)
    True
    """

    name: ClassVar[str]
    stands_for_scikit_learn: ClassVar[bool] = False
    asks_own_score: ClassVar[bool] = False
    draws_labels: ClassVar[bool] = False
    joint: ClassVar[bool] = False

    def default_loss(self, learners: Iterable[Any]) -> Any:
        """The loss of a search over these learners that names none; None for the library's own default.

        A criterion that can ask for the estimators' own `score` does so, as scikit-learn's searches do. Accuracy and r2
        are computed from predictions, which the fast paths give.
        """
        if not self.asks_own_score:
            return None
        usual = {usual_score(learner) for learner in learners}
        if len(usual) > 1 or usual == {None}:
            return OwnScore()
        return "r2" if usual == {"r2"} else None

    def curve(self, problem: Problem) -> RiskCurve:
        """The risk curve of the problem's path."""
        if not problem.loss.reads_predictions and not self.asks_own_score:
            raise ValueError(f"criterion {self.name!r} needs a loss of predictions, not the estimator's own score")
        start = time.perf_counter()
        with counted_fits() as spent:
            self.check(problem)
            found = self._curve(problem)
        table = None if found.left_out is None else found.left_out.within_size()
        return replace(found, left_out=table, n_fits=spent.n_fits, seconds=time.perf_counter() - start)

    def left_out_alone(self, problem: Problem) -> LeftOut | None:
        """The table of losses of rows left out that comes with a curve, without the curve.

        None where the criterion leaves no rows out, or is in doubt about some.
        """
        curve = self.curve(problem)
        in_doubt = curve.in_doubt is not None and bool((curve.in_doubt > 0).any())
        return None if in_doubt else curve.left_out

    def settled(self, problems: Sequence[Problem]) -> tuple[Criterion, tuple[str, ...]]:
        """(the criterion that judges problems which are to be compared, sentences about it).

        Itself, for most.
        """
        return self, ()

    def together(self, problems: Sequence[Problem], first: int | None = None) -> tuple[RiskCurve, dict[int, FitError]]:
        """(one curve over the models of all problems, in their order; why models could not be fitted, by their place).

        For criteria that are `joint`. The problems ask the same question of different paths. Whatever budget there is,
        the model at place `first` takes part.
        """
        raise NotImplementedError

    def reads_all_off_one_fit(self, problem: Problem) -> bool:
        """Whether it is known that one fit tells about rows left out by all models, so that one more costs little."""
        return False

    def for_one_more(self, problem: Problem, curve: RiskCurve) -> Criterion | None:
        """What judges a single model on the rows and folds of a curve; None where it takes more fits than there are."""
        return self

    def check(self, problem: Problem) -> None:  # noqa: B027 — most criteria serve every problem
        """Raise ValueError, before any fit, when this problem lacks what the criterion needs."""

    def for_learner(self, estimator: BaseEstimator) -> Criterion:
        """The criterion as it is meant for an estimator, before the settings of a grid are known."""
        return self

    def keeping_predictions(self) -> Criterion:
        """The criterion that also keeps the predictions of rows left out, where it leaves rows out."""
        return self

    @abstractmethod
    def _curve(self, problem: Problem) -> RiskCurve: ...


CriterionLike = Criterion | type[Criterion] | str
"""What a user may call a criterion: a value, a class, which stands for its defaults, or a name."""


@dataclass(frozen=True)
class RowCriterion(Criterion):
    """What all criteria over held-out rows share.

    Parameters
    ----------
    keep_predictions : whether the curve keeps `out_of_fold`, the prediction of every model for every tested row.
    """

    keep_predictions: bool = field(default=False, kw_only=True)

    def keeping_predictions(self) -> Criterion:
        return replace(self, keep_predictions=True)

    @abstractmethod
    def splits(self, problem: Problem) -> Splits:
        """The rows fitted and the rows held out; the same whenever and wherever it is asked."""

    def check(self, problem: Problem) -> None:
        n = problem.n_samples
        splits = self.splits(problem)
        splits.warn()
        if self.keep_predictions and not problem.loss.reads_predictions:
            raise ValueError(
                'keep_predictions=True, which honest="bootstrap" needs, goes with a loss of predictions, not with the '
                "estimator's own score; name a loss"
            )
        if self.keep_predictions and (often := splits.times_tested(n).max()) > 1:
            raise ValueError(
                f"keep_predictions=True needs splits that test every row at most once, some row is tested {often} times"
            )

    def _curve(self, problem: Problem) -> RiskCurve:
        splits = self.splits(problem)
        partition = splits.partition(problem.n_samples)
        found = evidence_of_folds(problem, splits, partition=partition, keep=self.keep_predictions)
        return self._record(problem, splits, found)

    @abstractmethod
    def _record(self, problem: Problem, splits: Splits, found: Tested) -> RiskCurve: ...

    def _row_curve(
        self, problem: Problem, splits: Splits, found: Tested, out_sample: Floats, meaning: str, **more: Any
    ) -> RiskCurve:
        predictions = at_all_rows(problem, found.left_out.predictions) if self.keep_predictions else None
        return problem.curve(
            out_sample=out_sample,
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}, {meaning}",
            left_out=replace(found.left_out, predictions=predictions),
            notes=splits.notes,
            **more,
        )


def held_out_certificates(
    problem: Problem, risk: Floats, m: float, fit: str, *, of_all_rows: bool
) -> tuple[Certificate, ...]:
    """What Hoeffding's inequality says of models judged on m rows, for losses between 0 and 1; one for each model.

    Parameters
    ----------
    of_all_rows : whether the models were fitted to all rows of the problem, as the one that is handed out is. Otherwise
        rows of the problem were held out, of each class a share, and it is with these shares that the limit holds.
    """
    found = holdout_bound(holdout_error=np.clip(risk, 0.0, 1.0), n_holdout=int(m + RELATIVE_ROUNDING * m))
    if not of_all_rows and problem.target.classes is not None:
        found = replace(found, bounds="out-sample error, with the classes in the shares that they have here,")
    known = found.known({UNSEEN: True} if of_all_rows else {UNSEEN: True, SAME_FIT: True}, fit)
    return tuple(known.at(model) for model in range(len(risk)))


@dataclass(frozen=True)
class Named:
    """A criterion that has a name: its class, and what the name settles of it."""

    module: str
    class_name: str
    settled: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> type[Criterion]:
        """The class."""
        found: type[Criterion] = getattr(import_module(f"outsample.criteria.{self.module}"), self.class_name)
        return found

    def __call__(self, *positional: Any, **named: Any) -> Criterion:
        """The criterion with these settings; its defaults for the others."""
        return self.kind(*positional, **{**self.settled, **named})


CRITERIA: dict[str, Named] = {
    "permutation": Named("labels", "Permutation"),
    "label-bootstrap": Named("labels", "LabelBootstrap"),
    "rademacher": Named("labels", "Rademacher"),
    "resubstitution": Named("labels", "Resubstitution"),
    "holdout": Named("cross_validation", "HoldOut"),
    "kfold": Named("cross_validation", "CrossValidation", {"shuffle": True}),
    "race": Named("race", "Race"),
    "loo": Named("leave_one_out", "LeaveOneOut"),
    "oob": Named("out_of_bag", "OutOfBag"),
    "alo": Named("approximate", "ApproximateLeaveOneOut"),
    "nested-kfold": Named("nested", "NestedCrossValidation"),
    "bootstrap": Named("bootstrap", "Bootstrap"),
    "bag-bootstrap": Named("bootstrap", "Bootstrap", {"kind": "bags"}),
    "632": Named("bootstrap", "Bootstrap", {"kind": "632"}),
    "632+": Named("bootstrap", "Bootstrap", {"kind": "632+"}),
    "optimism-bootstrap": Named("bootstrap", "Bootstrap", {"kind": "optimism"}),
    "fpe": Named("formulas", "FPE"),
    "aic": Named("formulas", "AIC"),
    "bic": Named("formulas", "BIC"),
    "cp": Named("formulas", "MallowsCp"),
    "gcv": Named("formulas", "GCV"),
    "vc": Named("formulas", "VCPenalty"),
    "discrepancy": Named("bounds", "MaximalDiscrepancy"),
    "expected-discrepancy": Named("bounds", "ExpectedDiscrepancy"),
    "covariance": Named("covariance", "CovariancePenalty"),
    "two-stage": Named("two_stage", "TwoStagePermutation"),
    "rows-and-labels": Named("rows_and_labels", "RowsAndLabels"),
    "auto": Named("auto", "Auto"),
    "permutation-bound": Named("bounds", "PermutationBound"),
    "rademacher-bound": Named("bounds", "RademacherBound"),
    "discrepancy-bound": Named("bounds", "DiscrepancyBound"),
    "vc-bound": Named("bounds", "VCBound"),
    "vc-entropy-bound": Named("bounds", "VCEntropyBound"),
    "margin-bound": Named("bounds", "MarginBound"),
}


def as_criterion(criterion: object) -> Criterion:
    """A criterion from its name (with its defaults), its class or itself."""
    if isinstance(criterion, Criterion):
        return criterion
    if isinstance(criterion, type) and issubclass(criterion, Criterion):
        return criterion()
    return entry("criterion", criterion, CRITERIA)()
