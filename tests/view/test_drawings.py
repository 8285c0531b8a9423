"""Plots: what the result holds is what the artists show."""

from __future__ import annotations

import html
import json
import re
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample.rules import minimum, one_standard_error, oracle_terms
from outsample.view import axes, svg
from outsample.view.drawings import Level

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
    return [text.get_text().replace("\n", " ") for text in ax.get_legend().get_texts()]


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


@pytest.mark.parametrize(
    ("model", "grid", "across"),
    [
        (SVC(), {"C": [0.001, 0.1, 1.0, 10.0]}, "folds"),
        (RandomForestClassifier(48, random_state=0), {"max_features": [1, 4], "min_samples_leaf": [1, 60]}, "trees"),
    ],
)
def test_race_shows_every_candidate_until_it_left(model, grid, across, ax):
    search = outsample.GridSearch(model, grid, criterion="race", random_state=0, refit=False).fit(*IRIS)
    record = search.race_
    assert record.plot(ax) is ax
    drawn = [line.get_ydata() for line in ax.get_lines() if len(line.get_ydata()) and line.get_linestyle() == "-"]
    known = [record.risk[~np.isnan(record.risk[:, c]), c] for c in range(len(record.params))]
    expected = [values if record.loss is None else record.loss.reported(values) for values in known]
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, expected))
    assert ax.get_xlabel() == across
    ticks = record.order if across == "trees" else range(1, len(record.order) + 1)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [str(tick) for tick in ticks]
    assert any(text.startswith("won: ") for text in texts(ax))
    assert "dropped" in texts(ax)


def test_criteria_differ_in_colour_mark_and_dash(ax):
    criteria = ["permutation", "kfold", "holdout", "resubstitution"]
    compared = outsample.compare(DecisionTreeClassifier(), *IRIS, param_grid={"max_depth": [1, 2]}, criteria=criteria)
    lines = compared.plot(ax).get_lines()[::2]
    for look in ("get_color", "get_marker", "get_linestyle"):
        assert len({getattr(line, look)() for line in lines}) == len(criteria)
    assert all(compared.curves[name].estimand in text for name, text in zip(criteria, texts(ax), strict=True))


def test_the_null_distribution_shows_every_draw_and_what_was_observed(ax):
    model = DecisionTreeClassifier(max_leaf_nodes=3)
    test = outsample.permutation_test(model, *IRIS, n_draws=49, random_state=0)
    assert test.plot(ax) is ax
    assert sum(bar.get_height() for bar in ax.patches) == 49
    assert ax.get_lines()[0].get_xdata()[0] == test.statistic


def test_a_grid_of_two_parameters_is_a_map(ax):
    grid = {"max_leaf_nodes": [2, 4, 8], "min_samples_leaf": [1, 5]}
    search = outsample.GridSearch(DecisionTreeClassifier(), grid, criterion="kfold", random_state=0).fit(*IRIS)
    assert search.plot(ax) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("max_leaf_nodes", "min_samples_leaf")
    shown = {text.get_text() for text in ax.texts}
    assert shown == {f"{value:.3g}" for value in search.curve_.out_sample}
    ring = next(patch for patch in ax.patches if patch.get_label() == "chosen")
    place = round(ring.get_x() + 0.5), round(ring.get_y() + 0.5)
    chosen = [grid[name].index(search.best_params_[name]) for name in ("max_leaf_nodes", "min_samples_leaf")]
    assert place == tuple(chosen)


def test_a_grid_of_three_parameters_shows_its_best_candidates(ax):
    grid = {"max_leaf_nodes": [2, 4], "min_samples_leaf": [1, 5], "criterion": ["gini", "entropy"]}
    search = outsample.GridSearch(DecisionTreeClassifier(), grid, criterion="kfold", random_state=0).fit(*IRIS)
    search.plot(ax)
    assert len(ax.get_yticklabels()) == 8
    first = next(text.get_text() for text in ax.get_yticklabels())
    assert first == ", ".join(str(search.best_params_[name]) for name in ax.get_title(loc="left").split(", "))


def test_a_grid_of_one_parameter_is_a_curve_with_its_short_name(ax):
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    grid = {"decisiontreeclassifier__max_leaf_nodes": [2, 3, 5]}
    search = outsample.GridSearch(model, grid, scoring="f1_macro", criterion="kfold", random_state=0).fit(*IRIS)
    search.plot(ax)
    assert ax.get_xlabel() == "max_leaf_nodes (simple to rich)"
    assert min(line.get_ydata().min() for line in ax.get_lines() if len(line.get_ydata()) == 3) > 0
    assert texts(ax)[-1] == f"minimum: {search.best_params_['decisiontreeclassifier__max_leaf_nodes']}"


MODEL, TWO = DecisionTreeClassifier(max_leaf_nodes=2), (IRIS[0][:100], IRIS[1][:100])
RESULTS = {
    "curve": lambda: outsample.GridSearch(MODEL, {"max_depth": [1, 2]}, criterion="kfold").fit(*IRIS).curve_,
    "estimate": lambda: outsample.estimate(MODEL, *TWO, criterion="kfold", random_state=0),
    "evaluation": lambda: outsample.evaluate(MODEL.fit(*TWO), *TWO),
    "comparison": lambda: outsample.compare(MODEL, *TWO, criteria=["kfold", "holdout"], random_state=0),
    "learners": lambda: outsample.compare_models({"tree": MODEL, "knn": KNeighborsClassifier()}, *TWO, random_state=0),
    "test": lambda: outsample.permutation_test(MODEL, *TWO, n_draws=9, random_state=0),
    "audit": lambda: outsample.audit(lambda X, y: 0.5, *TWO, n_draws=3),
    "complexity": lambda: outsample.permutation_complexity(MODEL, *TWO, n_draws=5, random_state=0),
    "complexities": lambda: outsample.permutation_complexity(
        MODEL, *TWO, param="max_leaf_nodes", values=[2, 3], n_draws=5, random_state=0
    ),
    "columns": lambda: outsample.permutation_test_columns(None, *TWO, n_draws=49, random_state=0),
    "race": lambda: outsample.GridSearch(MODEL, {"max_depth": [1, 2, 3]}, criterion="race").fit(*IRIS).race_,
    "learning": lambda: outsample.learning_curve(MODEL, *IRIS, train_sizes=[30, 60], random_state=0),
    "vc": lambda: outsample.effective_vc_dimension(MODEL, IRIS[0], n_draws=5, random_state=0),
    "regret": lambda: outsample.regret_study(
        {"tree": (MODEL, {"max_depth": [1, 2]})}, {"iris": IRIS}, ["kfold", "holdout"], n_splits=2, n_jobs=1
    ),
    "oracle": lambda: oracle_terms(RESULTS["curve"]()),
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_drawn_alike_on_axes_and_on_pages_and_shows_itself_in_a_notebook(name, ax, monkeypatch):
    result, seen = RESULTS[name](), []
    draw = axes.plotted
    monkeypatch.setattr(axes, "plotted", lambda drawing, ax: seen.append(drawing) or draw(drawing, ax))
    if name != "oracle":
        assert result.plot(ax=ax) is ax
        ax.figure.canvas.draw()
        assert texts(ax)
        for kind in svg.SIZES:
            page = svg.drawn(seen[0], kind, "p")
            ElementTree.fromstring(str(page))
            assert "nan" not in page
            assert seen[0].across.name[:20] in html.unescape(page)
            marks = page.count('class="bar') + page.count('class="mark"') + page.count('class="stroke"')
            assert marks >= len([layer for layer in seen[0].layers if not isinstance(layer, Level)])
    if hasattr(result, "_repr_html_"):
        assert result._repr_html_().startswith(("<table", "<p"))


def test_a_curve_of_scores_shows_them_as_the_user_asked_for_them(ax):
    two = IRIS[0][:, :1], IRIS[1] == 1
    grid = {"n_neighbors": [5, 15]}
    search = outsample.GridSearch(KNeighborsClassifier(), grid, scoring="roc_auc", criterion="kfold", random_state=0)
    curve = search.fit(*two).curve_
    seen = {
        "print": [float(line.split()[3]) for line in str(curve).splitlines()[2:4]],
        "frame": curve.to_frame()["out_sample"],
        "json": [model["out_sample"] for model in json.loads(curve.to_json())["models"]],
        "notebook": [float(row) for row in re.findall(r"<tr>(?:<td.*?</td>){3}<td>(.*?)</td>", curve._repr_html_())],
        "plot": curve.plot(ax=ax).get_lines()[1].get_ydata(),
    }
    for shown in seen.values():
        np.testing.assert_allclose(shown, -curve.out_sample, rtol=1e-3)
    frame = curve.to_frame()
    np.testing.assert_allclose(frame["in_sample"] + frame["optimism"], frame["out_sample"])
    assert (frame["standard_error"] > 0).all()


def test_names_are_not_read_as_formulas(ax, curve):
    import dataclasses

    named = dataclasses.replace(curve, params=[{"$x^{": i} for i in range(len(curve))])
    named.plot(ax=ax).figure.canvas.draw()


def test_the_legend_stands_below_slanted_ticks():
    ax = Figure(figsize=(8, 5), layout="constrained").subplots()
    grid = {"n_neighbors": range(1, 26), "weights": ["uniform", "distance"]}
    outsample.GridSearch(KNeighborsClassifier(), grid, random_state=0).fit(*IRIS).curve_.plot(ax=ax, rules=RULES)
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    axis = ax.xaxis.get_tightbbox(canvas.get_renderer())
    assert ax.get_legend().get_window_extent().y1 <= axis.y0
