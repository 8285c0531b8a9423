"""Plots: what the result holds is what the artists show."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import plots
from outsample.rules import minimum, one_standard_error

mpl.use("Agg")

IRIS = load_iris(return_X_y=True)
RULES = ("minimum", "one-standard-error")


@pytest.fixture(scope="module")
def curve():
    grid = {"max_leaf_nodes": [2, 3, 5, 8]}
    return outsample.GridSearch(DecisionTreeClassifier(), grid, random_state=0, refit=False).fit(*IRIS).curve_


@pytest.fixture
def ax():
    return Figure().subplots()


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_validation_curve_shows_the_curve_and_every_choice(curve, ax):
    assert curve.plot(RULES, ax) is ax
    fitted, judged, *rings = ax.get_lines()
    np.testing.assert_array_equal(fitted.get_ydata(), curve.in_sample)
    np.testing.assert_array_equal(judged.get_ydata(), curve.out_sample)
    chosen = [int(ring.get_xdata()[0]) for ring in rings if ring.get_fillstyle() == "none"]
    assert chosen == [minimum(curve), one_standard_error(curve)]
    assert curve.estimand in texts(ax)
    assert texts(ax)[-2:] == [f"{rule}: {[2, 3, 5, 8][model]}" for rule, model in zip(RULES, chosen, strict=True)]
    assert ax.get_xlabel() == "max_leaf_nodes (simple to rich)"
    assert ax.get_ylabel() == "zero-one"


def test_criteria_differ_in_colour_mark_and_dash(ax):
    criteria = ["permutation", "kfold", "holdout", "resubstitution"]
    compared = outsample.compare(DecisionTreeClassifier(), *IRIS, param_grid={"max_depth": [1, 2]}, criteria=criteria)
    lines = plots.criteria_curves(compared, ax).get_lines()[::2]
    for look in ("get_color", "get_marker", "get_linestyle"):
        assert len({getattr(line, look)() for line in lines}) == len(criteria)
    assert all(compared.curves[name].estimand in text for name, text in zip(criteria, texts(ax), strict=True))


def test_the_null_distribution_shows_every_draw_and_what_was_observed(ax):
    model = DecisionTreeClassifier(max_leaf_nodes=3)
    test = outsample.permutation_test(model, *IRIS, n_draws=49, random_state=0)
    assert test.plot(ax) is ax
    assert sum(bar.get_height() for bar in ax.patches) == 49
    assert ax.get_lines()[0].get_xdata()[0] == test.statistic


def test_names_are_not_read_as_formulas(ax, curve):
    import dataclasses

    named = dataclasses.replace(curve, params=[{"$x^{": i} for i in range(len(curve))])
    plots.validation_curve(named, ax=ax).figure.canvas.draw()


@pytest.mark.parametrize("result", ["curve", "estimate", "comparison", "test", "audit", "complexity", "oracle"])
def test_every_result_shows_itself_in_a_notebook(result, curve):
    from outsample.rules import oracle_terms

    model = DecisionTreeClassifier(max_leaf_nodes=2)
    two = IRIS[0][:100], IRIS[1][:100]
    made = {
        "curve": lambda: curve,
        "estimate": lambda: curve.estimate(0),
        "comparison": lambda: outsample.compare(model, *two, criteria=["holdout"]),
        "test": lambda: outsample.permutation_test(model, *two, n_draws=9, random_state=0),
        "audit": lambda: outsample.audit(lambda X, y: 0.5, *two, n_draws=3),
        "complexity": lambda: outsample.permutation_complexity(model, *two, n_draws=5, random_state=0),
        "oracle": lambda: oracle_terms(curve),
    }
    assert made[result]()._repr_html_().startswith(("<table", "<p"))
