"""Many criteria on one problem."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import CrossValidation, GridSearch, HoldOut, LeaveOneOut, Permutation, compare
from outsample.paths.refit import RefitDesign, RefitPath
from outsample.rules import minimum
from outsample.view.page import report_page

matplotlib.use("Agg")

IRIS = load_iris(return_X_y=True)
DIABETES = tuple(part[:120] for part in load_diabetes(return_X_y=True))
LEAVES = {"max_leaf_nodes": [2, 3, 5, 8]}
TREE = DecisionTreeClassifier(random_state=0)


@pytest.fixture(scope="module")
def compared():
    criteria = ["permutation", "kfold", "holdout", LeaveOneOut(5), "resubstitution"]
    return compare(TREE, *IRIS, param_grid=LEAVES, criteria=criteria, random_state=0)


def test_each_criterion_says_what_it_says_alone(compared):
    for name, criterion in {
        "permutation": Permutation(),
        "kfold": CrossValidation(shuffle=True),
        "holdout": HoldOut(),
    }.items():
        alone = GridSearch(TREE, LEAVES, criterion=criterion, random_state=0, refit=False).fit(*IRIS)
        np.testing.assert_array_equal(compared.curves[name].out_sample, alone.curve_.out_sample)
        assert compared.params[name] == alone.best_params_
        assert compared.curves[name].n_fits == alone.n_fits_


def test_choice_against_scikit_learn():
    theirs = GridSearchCV(TREE, LEAVES, cv=10).fit(*IRIS)
    ours = compare(TREE, *IRIS, param_grid=LEAVES, criteria=[CrossValidation(10)])
    assert ours.params["kfold"] == theirs.best_params_
    assert 1 - ours.estimates["kfold"].out_sample == pytest.approx(theirs.best_score_, abs=1e-15)


def test_frame_has_one_row_per_criterion(compared):
    frame = compared.to_frame()
    assert list(frame.index) == ["permutation", "kfold", "holdout", "loo", "resubstitution"]
    assert list(frame.columns) == [
        "params",
        "in_sample",
        "optimism",
        "out_sample",
        "standard_error",
        "monte_carlo_error",
        "n_fits",
        "seconds",
    ]
    np.testing.assert_allclose(frame["in_sample"] + frame["optimism"], frame["out_sample"])
    assert frame.loc["kfold", "n_fits"] == 11
    assert np.isnan(frame.loc["resubstitution", "standard_error"])
    assert (frame["seconds"] > 0).all()
    assert frame["seconds"].sum() > 0


def test_scores_are_reported_as_scores():
    frame = compare(Ridge(), *DIABETES, criteria=["loo"], loss="r2").to_frame()
    assert 0 < frame.loc["loo", "out_sample"] < frame.loc["loo", "in_sample"] < 1
    assert frame.loc["loo", "optimism"] < 0


def test_print_is_an_aligned_table(compared):
    lines = str(compared).splitlines()
    assert lines[0] == "zero-one of 4 models on 150 rows, chosen by minimum"
    at = lines[1].index("out-sample") + len("out-sample")
    for name, line in zip(compared.curves, lines[2:], strict=True):
        assert line.startswith(name)
        value = float(line[:at].split()[-1])
        assert value == pytest.approx(compared.estimates[name].out_sample, rel=1e-3)


def test_work_on_X_is_shared(monkeypatch):
    class OneModel(Ridge):
        pass

    bound, fitted = [], []
    bind, fit = RefitPath.bind, RefitDesign.fitted

    def counted_bind(self, X, *rest):
        bound.append(len(X))
        return bind(self, X, *rest)

    def counted_fit(self, Y, *rest):
        fitted.extend(Y.tolist())
        return fit(self, Y, *rest)

    monkeypatch.setattr(RefitPath, "bind", counted_bind)
    monkeypatch.setattr(RefitDesign, "fitted", counted_fit)
    X, y = DIABETES
    compare(OneModel(), X, y, criteria=["permutation", "kfold", "holdout", "resubstitution"], random_state=0)
    assert bound.count(120) == 1
    assert fitted.count(y.tolist()) == 1


def test_several_parameters_are_crossed():
    grid = {"alpha": [0.1, 1.0], "fit_intercept": [True, False]}
    result = compare(Ridge(), *DIABETES, param_grid=grid, criteria=[CrossValidation(10), "holdout"], random_state=0)
    theirs = GridSearchCV(Ridge(), grid, cv=10, scoring="neg_mean_squared_error").fit(*DIABETES)
    assert result.params["kfold"] == theirs.best_params_
    assert len(result.curves["kfold"]) == 4
    assert result.curves["kfold"].params == result.curves["holdout"].params


def test_rules_that_need_an_order_get_one():
    grid = {"alpha": [0.1, 1.0], "fit_intercept": [True, False]}
    result = compare(Ridge(), *DIABETES, param_grid=grid, criteria=["kfold"], rule="one-standard-error", random_state=0)
    permuted = compare(Ridge(), *DIABETES, param_grid=grid, criteria=["permutation"], random_state=0)
    curve = permuted.curves["permutation"]
    optimism = {str(setting): o for setting, o in zip(curve.params, curve.optimism, strict=True)}
    ordered = [optimism[str(setting)] for setting in result.curves["kfold"].params]
    assert ordered == sorted(ordered)


def test_without_a_grid_there_is_one_model():
    result = compare(TREE, *IRIS, criteria=["kfold"])
    assert result.params == {"kfold": {}}
    assert "as given" in str(result)


def test_criteria_of_one_name_are_told_apart():
    result = compare(TREE, *IRIS, criteria=["kfold", CrossValidation(5)])
    assert list(result.curves) == ["kfold(shuffle=True)", "kfold(cv=5)"]
    with pytest.raises(ValueError, match="criteria must differ"):
        compare(TREE, *IRIS, criteria=["kfold", "kfold"])


def test_any_rule_chooses():
    result = compare(TREE, *IRIS, param_grid=LEAVES, criteria=["kfold"], rule=lambda curve: len(curve) - 1)
    assert result.params["kfold"] == {"max_leaf_nodes": 8}
    assert compare(TREE, *IRIS, criteria=["kfold"], rule=minimum).rule == "minimum"


@pytest.mark.parametrize(
    ("criteria", "sentence"),
    [
        ([], "criteria must be a list of at least one"),
        ("kfold", "criteria must be a list of at least one"),
        (["kfolds"], "did you mean 'kfold'"),
        (["kfold", "gcv"], "'gcv' is a formula for squared loss"),
        (["kfold", "rademacher"], "Rademacher signs need two classes, y has 3 classes"),
        (["holdout", CrossValidation(60)], "cv=60 asks for more folds than any class has rows"),
    ],
)
def test_every_criterion_is_checked_before_any_fit(criteria, sentence):
    class Unfittable(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("a fit was made before the criteria were checked")

    with pytest.raises(ValueError, match=sentence):
        compare(Unfittable(), *IRIS, criteria=criteria)


def test_plot_has_one_labelled_line_per_criterion(compared):
    ax = compared.plot()
    labels = [" ".join(text.get_text().split()) for text in ax.get_legend().get_texts()]
    assert [label.split(":")[0] for label in labels] == list(compared.curves)
    for label, curve, line in zip(labels, compared.curves.values(), ax.get_lines()[::2], strict=True):
        assert curve.estimand in label
        np.testing.assert_allclose(line.get_ydata(), curve.out_sample)
    assert ax.get_ylabel() == "out-sample zero-one"
    matplotlib.pyplot.close(ax.figure)


def test_page_is_self_contained_and_escaped(tmp_path):
    def evil_loss(y, prediction):
        return (y - prediction) ** 2

    evil_loss.__name__ = "<script>alert($1)</script>"
    result = compare(Ridge(), *DIABETES, param_grid={"alpha": [0.1, 1.0]}, criteria=["kfold"], loss=evil_loss)
    result.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text == report_page(result)
    assert "<script>alert" not in text
    assert "<svg" in text
    assert "src=" not in text
    assert "<script" not in result._repr_html_()


def test_public_names():
    assert outsample.compare is compare
    assert isinstance(outsample.compare(TREE, *IRIS, criteria=["holdout"]), outsample.Comparison)


@pytest.mark.parametrize(
    "grid", [{"alpha": np.logspace(-1, 1, 3)}, [{"alpha": np.array([0.1, 1.0])}, {"alpha": [10.0]}]]
)
def test_the_call_can_be_made_again(grid):
    X, y = load_diabetes(return_X_y=True)
    first = compare(Ridge(), X, y, param_grid=grid, criteria=["gcv", CrossValidation(3)], random_state=0)
    names = {"X": X, "y": y}
    exec(first.call, names)
    again = names["c"]
    for name, curve in first.curves.items():
        np.testing.assert_array_equal(curve.out_sample, again.curves[name].out_sample)
