"""How wrong is a model that is already fitted, on rows that it has not seen?"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.metrics import get_scorer, get_scorer_names

from outsample.checks import whole_number
from outsample.curve.evaluation import Evaluation
from outsample.curve.intervals import effective_number
from outsample.data.learners import check_learner, respond
from outsample.data.samples import Target, as_groups, as_test_target, as_weight
from outsample.data.tables import Table, as_table, lend, n_rows, rows
from outsample.losses.base import Loss
from outsample.losses.choice import LossLike, choose_loss, n_required_arguments
from outsample.losses.whole_set import OwnScore, SetLoss
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.run import RandomState, child_generator, seed_sequence

# Sets of rows drawn, at most, for each that is judged: a set may lack a class that the score needs.
TRIES = 20

CRITERION = "test set"


def evaluate(
    model: BaseEstimator,
    X: Table,
    y: ArrayLike | None,
    loss: LossLike = None,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_bags: int = 500,
    random_state: RandomState = 0,
) -> Evaluation:
    """The error of a fitted model on rows that it has not seen, with its interval.

    Nothing is fitted. Whether the model has seen the rows is for the caller to know; `split` keeps a sealed set.

    Parameters
    ----------
    model : a fitted classifier, regressor, pipeline or search; with a scorer that understands it, any fitted estimator.
    X, y : rows that were used neither to fit the model nor to choose it.
    loss : as in `estimate`: a name, a loss matrix, a function of (y, prediction), or any scikit-learn scorer; by
        default zero-one for classifiers and squared for regressors.
    sample_weight : one weight per row, used in the loss.
    groups : rows of one group belong together; the interval takes groups, not rows, as independent.
    n_bags : sets of rows drawn with replacement, where the loss judges a whole set and has no value per row.
    random_state : seed of these draws.

    Returns
    -------
    Evaluation
        An `ErrorEstimate` in the scale of the loss (a scorer's own scale, if loss is a scorer), whose `interval` is
        the one that fits the loss: see `Evaluation.interval`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X_train, y_train)
    >>> print(evaluate(tree, X_test, y_test))
    out-sample zero-one: 0.08392, 95 % interval 0.04411 to 0.142 (exact)
    on 143 rows that are taken to be new to the model
    estimates the expected zero-one loss on a new sample, of this model
    """
    start = time.perf_counter()
    whole_number("n_bags", n_bags, 2)
    rng = child_generator(seed_sequence(random_state), 0)
    check_learner(model, "model", ["fit"])
    judged = _Judged.of(model, X, y, loss, sample_weight, groups)
    return judged.evaluation(n_bags, rng, start)


def row_values(loss: Loss, y: Array, prediction: Array, weight: Floats | None) -> Floats | None:
    """One number per row whose mean is the risk, (n,); None where they are not known exactly.

    The loss of each row, or of a scorer that `losses.scorers` knows the score plus the influence of the row on it.
    """
    if loss.jackknifed:
        return None
    values = loss.row_values(y, prediction, weight)
    return values if np.isfinite(values).all() else None


@dataclass(frozen=True, eq=False)
class _Judged:
    """Predictions of a fitted model, and what is needed to judge them on all or some of the rows.

    Attributes
    ----------
    units : (n,) number of the group of each row; rows are groups of their own where none were given.
    """

    loss: Loss
    y: Array
    prediction: Array
    weight: Floats | None
    units: Rows
    grouped: bool

    @staticmethod
    def of(
        model: BaseEstimator,
        X: Table,
        y: ArrayLike | None,
        loss: LossLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> _Judged:
        X = as_table(X)
        n = n_rows(X)
        weight = as_weight(sample_weight, n)
        named = as_groups(groups, n)
        if not _predicts_labels(model, y) and (scorer := _scorer(loss)) is not None:
            chosen: Loss = ModelScore(scorer[0], scorer[1], model, X, y)
            labels, predicted = np.arange(n), np.arange(n)
        else:
            target = as_test_target(y, model, n)
            chosen, response = _chosen_loss(loss, target, model, weight is not None)
            labels, predicted = target.values, respond(model, X, response, target.classes)
        units = np.arange(n) if named is None else np.unique(named, return_inverse=True)[1].reshape(-1)
        counted = np.arange(n) if weight is None else np.flatnonzero(weight)
        return _Judged(chosen, labels, predicted, weight, units, named is not None)._taken(counted)

    def _taken(self, some: Rows) -> _Judged:
        weight = None if self.weight is None else self.weight[some]
        return _Judged(self.loss, self.y[some], self.prediction[some], weight, self.units[some], self.grouped)

    def risk(self) -> float:
        """Risk on all of the rows."""
        return float(self.loss.risk(self.y, self.prediction, self.weight))

    def evaluation(self, n_bags: int, rng: np.random.Generator, start: float) -> Evaluation:
        """The record of this model on these rows."""
        risk, values, loss = self.risk(), row_values(self.loss, self.y, self.prediction, self.weight), self.loss
        bags = self._risks_of_bags(n_bags, rng) if values is None and self._n_units > 1 else None
        error = self._error(values, bags)
        exact, effective = loss.unit_interval, self._effective_n(risk, error)
        nothing = loss.no_loss(risk, loss.rounding(self.y) if self.y.dtype.kind == "f" else 0.0)
        worst = loss.largest if nothing and loss.range[1] == np.inf else loss.range[1]
        least, greatest = sorted(float(loss.reported(end)) for end in (loss.range[0], worst))
        bounded = loss.per_row and np.isfinite(loss.range).all() and not self.grouped
        return Evaluation(
            in_sample=float("nan"),
            optimism=float("nan"),
            out_sample=float(loss.reported(risk)),
            monte_carlo_error=None,
            standard_error=error,
            n_fits=0,
            seconds=time.perf_counter() - start,
            loss=loss.name,
            criterion=CRITERION,
            estimand=f"{loss.on_new_data}, of this model",
            n_samples=len(self.y),
            freedom=self._freedom,
            held_out=effective if exact and bounded else None,
            notes=self._notes(),
            method="logit" if nothing and worst < np.inf and not exact else _method(loss, bags is not None),
            effective_n=effective,
            limits=(least, greatest),
            span=greatest - least if bounded else None,
            bags=None if bags is None else np.asarray(loss.reported(bags)),
            no_interval=loss.why_no_limit if nothing and worst == np.inf else None,
        )

    @property
    def _n_units(self) -> int:
        return len(np.unique(self.units))

    @property
    def _freedom(self) -> int | None:
        """Degrees of freedom of the standard error: independent units of equal weight, minus one."""
        units = self._n_units if self.grouped else int(effective_number(len(self.y), self.weight))
        return units - 1 if units > 1 else None

    def _error(self, values: Floats | None, bags: Floats | None) -> float | None:
        """Standard error of the risk, with groups taken as independent; None for a single one."""
        if self._freedom is None:
            return None
        if values is None:
            return None if bags is None else float(np.std(bags, ddof=1))
        weight = np.ones(len(values)) if self.weight is None else self.weight
        share = weight / weight.sum()
        sums = np.bincount(self.units, share * (values - share @ values))
        units = self._n_units if self.grouped else effective_number(len(values), self.weight)
        return float(np.sqrt((sums**2).sum() * units / (units - 1)))

    def _effective_n(self, risk: float, error: float | None) -> float:
        """Number of independent rows of equal weight that would know a share of errors as well."""
        rows = effective_number(len(self.y), self.weight)
        if not self.grouped:
            return rows
        if not self.loss.unit_interval or not error:
            # Nothing varies between groups, so nothing says how alike their rows are: each counts once.
            return float(self._n_units)
        return float(np.clip(risk * (1 - risk) / error**2, 1.0, rows))

    def _risks_of_bags(self, n_bags: int, rng: np.random.Generator) -> Floats:
        """Risk on sets of as many groups (or rows) as there are, drawn with replacement, (bags,)."""
        units = np.unique(self.units, return_inverse=True)[1].reshape(-1)
        members = np.split(np.argsort(units, kind="stable"), np.cumsum(np.bincount(units))[:-1])
        risks: list[float] = []
        for attempt in range(TRIES * n_bags):
            drawn = rng.integers(len(members), size=len(members))
            bag = np.concatenate([members[unit] for unit in drawn]) if self.grouped else drawn
            try:
                with warnings.catch_warnings():
                    # A score that is not defined on some bag warns, bag after bag; such bags are drawn again.
                    warnings.simplefilter("ignore")
                    risks.append(self._taken(bag).risk())
            except ValueError:
                if attempt + 1 == TRIES * n_bags:
                    raise
            if len(risks) == n_bags:
                break
        return np.array(risks)

    def _notes(self) -> tuple[str, ...]:
        if self._freedom is None:
            return ("a single row has no standard error",)
        if self.grouped:
            return (f"{self._n_units} groups are taken as independent, not their rows",)
        return ()


def _method(loss: Loss, drawn: bool) -> str:
    """The interval that fits a loss, as in `Evaluation.method`; `drawn` says whether rows were drawn."""
    if loss.unit_interval:
        return "exact"
    if drawn:
        return "bootstrap"
    return "normal" if loss.per_row or not np.isfinite(loss.range).all() else "logit"


def _chosen_loss(loss: LossLike, target: Target, model: BaseEstimator, weighted: bool) -> tuple[Loss, str]:
    if isinstance(loss, OwnScore):
        raise ValueError("loss must be a loss of predictions or a scorer, not the estimator's own score")
    return choose_loss(loss, target, model, weighted)


def _predicts_labels(model: BaseEstimator, y: Any) -> bool:
    """Whether the model predicts real values or one class per row, which losses and scorers are computed from."""
    if is_classifier(model):
        shape = np.shape(y)
        several = len(shape) > 1 and shape[1] > 1
        return not several and not isinstance(getattr(model, "classes_", None), list)
    return bool(is_regressor(model))


def _scorer(loss: LossLike) -> tuple[Callable[..., Any], str] | None:
    """(the scorer that a loss is, its name), None where it is none."""
    if isinstance(loss, str):
        return (get_scorer(loss), loss) if loss in get_scorer_names() else None
    if callable(loss) and n_required_arguments(loss) >= 3:
        return loss, getattr(loss, "__name__", None) or str(loss)
    return None


@dataclass(frozen=True, eq=False)
class ModelScore(SetLoss):
    """A scorer asked of the fitted model itself: of several labels per row, of clusters, of outliers.

    Labels and predictions are row numbers; the scorer gets those rows of X and y.
    """

    scorer: Callable[..., Any]
    label: str
    model: BaseEstimator
    X: Any
    y: Any

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.label

    def set_risk(self, y: Array, prediction: Array, weight: Floats | None) -> float:
        labels = None if self.y is None else rows(self.y, prediction)
        weighted = {} if weight is None else {"sample_weight": weight}
        return -float(lend(self.model, partial(self.scorer, self.model, **weighted), rows(self.X, prediction), labels))

    def reported(self, risk: Any) -> Any:
        return -risk
