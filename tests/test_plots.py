"""Plots: what the record holds is what the artists show."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import plots

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


def test_validation_record_holds_the_curve_and_every_choice(curve):
    record = plots.validation_record(curve, RULES)
    np.testing.assert_array_equal(record.out_sample, curve.out_sample)
    np.testing.assert_array_equal(record.in_sample, curve.in_sample)
    assert record.chosen["minimum"] == int(np.argmin(curve.out_sample))
    assert list(record.chosen) == list(RULES)
    assert record.labels == ["2", "3", "5", "8"]


def test_validation_curve_draws_the_record(curve, ax):
    assert curve.plot(RULES, ax) is ax
    fitted, judged, *rings = ax.get_lines()
    np.testing.assert_array_equal(fitted.get_ydata(), curve.in_sample)
    np.testing.assert_array_equal(judged.get_ydata(), curve.out_sample)
    chosen = plots.validation_record(curve, RULES).chosen
    assert [int(ring.get_xdata()[0]) for ring in rings if ring.get_fillstyle() == "none"] == list(chosen.values())
    assert curve.estimand in texts(ax)
    assert ax.get_xlabel() == "max_leaf_nodes (simple to rich)"
    assert ax.get_ylabel() == "zero-one"


def test_criteria_differ_in_colour_mark_and_dash(ax):
    criteria = ["permutation", "kfold", "holdout", "resubstitution"]
    compared = outsample.compare(DecisionTreeClassifier(), *IRIS, param_grid={"max_depth": [1, 2]}, criteria=criteria)
    lines = plots.criteria_curves(compared, ax).get_lines()[::2]
    for look in ("get_color", "get_marker", "get_linestyle"):
        assert len({getattr(line, look)() for line in lines}) == len(criteria)
    assert all(compared.curves[name].estimand in text for name, text in zip(criteria, texts(ax), strict=True))


def test_distributions_show_every_draw_and_what_was_observed(ax):
    model = DecisionTreeClassifier(max_leaf_nodes=3)
    test = outsample.permutation_test(model, *IRIS, n_draws=49, random_state=0)
    plots.null_distribution(test, ax)
    assert sum(bar.get_height() for bar in ax.patches) == 49
    assert ax.get_lines()[0].get_xdata()[0] == test.statistic
    other = Figure().subplots()
    estimate = outsample.estimate(model, *IRIS, random_state=0)
    plots.permuted_fits(estimate, other)
    assert sum(bar.get_height() for bar in other.patches) == len(estimate.draws)
    with pytest.raises(ValueError, match="keeps no draws"):
        plots.permuted_fits(outsample.estimate(model, *IRIS, criterion="holdout", random_state=0))


def test_bias_and_variance_add_up(ax):
    record = plots.BiasVariance(["loo", "permutation"], np.array([0.1, 0.4]), np.array([2.0, 0.3]), of="the optimism")
    plots.bias_variance(record, ax)
    bias, variance = ax.containers
    tops = [bar.get_y() + bar.get_height() for bar in variance]
    assert tops == pytest.approx([2.1, 0.7])
    assert [bar.get_height() for bar in bias] == [0.1, 0.4]
    assert texts(ax) == ["bias²", "variance"]


def test_regret_bars_stand_side_by_side(ax):
    record = plots.Regrets(
        ["iris", "wine"], ["kfold", "permutation"], np.array([[0.1, 0.2], [0.3, 0.4]]), np.full((2, 2), 0.01)
    )
    plots.regret_bars(record, ax)
    heights = [[bar.get_height() for bar in group] for group in ax.containers if hasattr(group, "patches")]
    assert heights == [[0.1, 0.3], [0.2, 0.4]]
    first, second = (group for group in ax.containers if hasattr(group, "patches"))
    assert first[0].get_hatch() != second[0].get_hatch()


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
