"""The choice does not depend on the unit of y, nor on where its zero is."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from outsample import GridSearch, LeadingColumns, Permutation
from outsample.criteria.base import CRITERIA, as_criterion
from outsample.criteria.bootstrap import Bootstrap
from outsample.criteria.nested import NestedCrossValidation
from outsample.problem import pose
from outsample.rules import RULES

POWERS = range(-12, 13, 3)
OF_CLASSES = re.compile("rademacher|discrepancy|-bound")
COLUMNS = "leadingcolumns__n_columns"
LEARNERS: dict[str, tuple[Any, str, Any]] = {
    "ridge": (Ridge(), "alpha", np.logspace(-3, 4, 8)),
    "neighbours": (KNeighborsRegressor(), "n_neighbors", [2, 3, 5, 9]),
    "least squares": (make_pipeline(LeadingColumns(), LinearRegression()), COLUMNS, [1, 2, 3, 4]),
    "lasso": (Lasso(), "alpha", np.logspace(-2, 0, 4)),
    "tree": (DecisionTreeRegressor(random_state=0), "max_leaf_nodes", [2, 3, 4, 6]),
}
CHEAPER = {
    "nested-kfold": NestedCrossValidation(3, repeats=2),
    **{name: Bootstrap(5, kind) for name, kind in [("bootstrap", "oob"), ("632", "632"), ("632+", "632+")]},
    "optimism-bootstrap": Bootstrap(5, "optimism"),
    "permutation, auto": Permutation("auto", tolerance=0.1),
}


CRITERIA_OF_VALUES = sorted(name for name in {*CRITERIA, *CHEAPER} if not OF_CLASSES.search(name))


def data(n=30):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] - X[:, 1] + rng.normal(size=n)


def choices(learner, criterion, factor=1.0, offset=0.0, loss=None):
    """The model each rule chooses, by the name of the rule."""
    estimator, parameter, values = LEARNERS[learner]
    X, y = data()
    penalties = np.asarray(values) * factor if learner == "lasso" else values
    problem = pose(
        estimator, X, factor * (y + offset), parameter=parameter, values=list(penalties), loss=loss, random_state=0
    )
    judge = CHEAPER[criterion] if criterion in CHEAPER else as_criterion(criterion)
    try:
        judge.check(problem)
    except ValueError as reason:
        pytest.skip(str(reason))
    curve = judge.curve(problem)
    lacking = {"penalized-fast"} | ({"penalized"} if np.isnan(curve.in_sample).all() else set())
    if curve.standard_error is None:
        lacking |= {"one-standard-error", "one-standard-error-literal"}
    if curve.left_out is None or curve.left_out.losses is None:
        lacking.add("percentile")
    return {name: rule(curve) for name, rule in RULES.items() if name not in lacking}


@pytest.mark.parametrize("learner", ["ridge", "neighbours", "least squares", "lasso"])
@pytest.mark.parametrize("criterion", CRITERIA_OF_VALUES)
def test_every_criterion_and_rule_chooses_the_same_in_any_unit_of_y(learner, criterion):
    found = choices(learner, criterion)
    assert all(choices(learner, criterion, factor=10.0**k) == found for k in POWERS)


@pytest.mark.parametrize("criterion", CRITERIA_OF_VALUES)
def test_trees_are_chosen_alike_in_units_that_scikit_learn_grows_them_alike_in(criterion):
    """Splits of equal gain are resolved by scikit-learn's rounding, which powers of two leave alone; it does not
    split leaves of variance below 2e-16, so that far smaller labels are fitted by constants."""
    found = choices("tree", criterion)
    assert all(choices("tree", criterion, factor=2.0**k) == found for k in (-15, -7, 7, 40))


@pytest.mark.parametrize("loss", ["absolute", "neg_mean_squared_error", "r2", lambda y, p: (y - p) ** 2])
def test_losses_of_every_kind_choose_the_same_in_any_unit_of_y(loss):
    for criterion in ("kfold", "covariance"):
        found = choices("ridge", criterion, loss=loss)
        assert all(choices("ridge", criterion, factor=factor, loss=loss) == found for factor in (1e-12, 1e12))


@pytest.mark.parametrize("loss", ["neg_mean_squared_error", lambda y, p: (y - p) ** 2])
def test_what_draws_are_settled_against_has_the_unit_of_the_loss(loss):
    X, y = data()
    small, large = (pose(Ridge(), X, factor * y, loss=loss).scale for factor in (1e-3, 1e3))
    assert large == pytest.approx(1e12 * small)
    assert small > 0


@pytest.mark.parametrize("learner", sorted(LEARNERS))
@pytest.mark.parametrize("criterion", ["permutation", "two-stage", "rows-and-labels", "kfold", "loo"])
def test_the_choice_does_not_depend_on_the_zero_of_y(learner, criterion):
    assert choices(learner, criterion, offset=1e3) == choices(learner, criterion)


@pytest.mark.parametrize("factor", [1e-12, 1e-7, 1e-5, 1.0, 1e12])
def test_search_over_ridge_penalties_chooses_the_same_in_any_unit_of_y(factor):
    X, y = data(60)
    search = GridSearch(Ridge(), {"alpha": np.logspace(-2, 4, 12)}, criterion="permutation", random_state=0)
    assert search.fit(X, factor * y).best_params_ == search.fit(X, y).best_params_
    assert search.best_params_["alpha"] < 100
