"""What the report page says: in the user's words and scale, and with code that runs."""

from __future__ import annotations

import html
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample.curve.words import expectation, number
from outsample.view.cautions import cautions_about, notes_of
from outsample.view.content import content_of
from outsample.view.page import report_page, write_report
from outsample.view.svg import axis_labels, nice_ticks

EVIL = "<script>alert(1)</script>"
LEAVES = {"max_leaf_nodes": [2, 3, 4, 6, 8]}
IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def search():
    return outsample.GridSearch(DecisionTreeClassifier(), LEAVES, criterion="kfold", random_state=0).fit(*IRIS)


@pytest.fixture(scope="module")
def compared():
    criteria = ["permutation", "kfold", "holdout"]
    return outsample.compare(DecisionTreeClassifier(), *IRIS, param_grid=LEAVES, criteria=criteria, random_state=0)


def test_nothing_comes_from_elsewhere(search, compared):
    for result in (search, compared):
        text = report_page(result, asked={"target": EVIL}, call=EVIL)
        assert "src=" not in text
        assert "http:" not in text
        assert "https:" not in text
        assert "<script>alert" not in text


def test_numbers_inside_the_script_are_escaped():
    X = np.arange(30.0).reshape(-1, 1)
    y = np.resize([0, 1], 30)
    model = DecisionTreeClassifier()
    result = outsample.compare(model, X, y, param_grid={"max_depth": [1, 2]}, criteria=["holdout"], random_state=0)
    named = {name: replace(curve, params=[{f"</script>{EVIL}": 1}] * 2) for name, curve in result.curves.items()}
    text = report_page(replace(result, curves=named))
    assert text.count("</script>") == 2
    assert "\\u003c/script" in text


def text_of(page):
    """The words of a page without its marks, script and style."""
    body = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def code_in(page):
    return html.unescape(re.search(r"<pre><code>(.*?)</code></pre>", page, re.S).group(1))


def test_search_answers_first(search):
    page = report_page(search)
    words = text_of(page)
    chosen = f"max_leaf_nodes = {search.best_params_['max_leaf_nodes']}"
    assert f"Use {chosen} chosen among 5 candidates" in words
    assert words.index("Use") < words.index("Expect") < words.index("All candidates") < words.index("What the numbers")
    assert outsample.__version__ in words
    assert report_page(search) == page


@pytest.mark.parametrize(
    ("model", "grid", "chosen", "plausible", "said"),
    [
        (DecisionTreeClassifier(), {"max_leaf_nodes": [2, 3, 4, 6, 8]}, 4, range(5), "max_leaf_nodes = 2 to 8"),
        # The chosen one between others does not part their range; values that fall with complexity rise.
        (DecisionTreeClassifier(), {"max_leaf_nodes": range(2, 9)}, 6, [0, 2, 3, 4, 5], "max_leaf_nodes = 2, 4 to 7"),
        (KNeighborsClassifier(), {"n_neighbors": range(1, 8)}, 3, [1, 2, 3, 4, 6], "n_neighbors = 2 to 5, 7"),
    ],
)
def test_neighbouring_candidates_that_are_as_good_are_told_as_a_range(model, grid, chosen, plausible, said):
    told = outsample.GridSearch(model, grid, criterion="kfold", random_state=0).fit(*IRIS)
    told.best_params_, told.plausible_ = {next(iter(grid)): chosen}, np.array(plausible)
    as_good = next(answer for answer in content_of(told).answers if answer.label == "As good")
    assert as_good.short == said
    assert as_good.more == "4 other candidates cannot be told from it by these data"


def test_candidates_that_left_a_race_are_not_said_to_be_as_good():
    grid = {"svc__C": [0.001, 1.0, 10.0], "svc__gamma": [0.01, 0.1, 10.0]}
    raced = outsample.GridSearch(make_pipeline(StandardScaler(), SVC()), grid, criterion="race", random_state=0)
    raced.fit(*IRIS)
    dropped = np.isin(raced.race_.reason, ["worse", "close"])
    may_be_best = {*raced.plausible_.tolist()} & {*np.flatnonzero(dropped).tolist()}
    assert may_be_best
    as_good = next(answer for answer in content_of(raced).answers if answer.label == "As good")
    assert f"{len(may_be_best)} more left the race early" in as_good.more
    assert f"C = {raced.curve_.params[min(may_be_best)]['svc__C']}" not in as_good.short or not dropped.all()


def test_parameters_that_only_some_candidates_have_stand_by_their_names():
    grids = [
        {"model": [KNeighborsClassifier()], "model__n_neighbors": [1, 3]},
        {"model": [DecisionTreeClassifier(random_state=0)], "model__max_leaf_nodes": [2, 4]},
    ]
    pipe = Pipeline([("scale", StandardScaler()), ("model", KNeighborsClassifier())])
    words = text_of(report_page(outsample.GridSearch(pipe, grids, random_state=0).fit(*IRIS)))
    assert "KNeighborsClassifier n_neighbors = 3" in words
    assert "KNeighborsClassifier, n_neighbors = 3" in words
    assert "–, " not in words


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc"])
def test_a_column_that_is_the_answer_is_looked_for(scoring):
    y = np.resize([0, 1], 120)
    X = np.column_stack([np.random.default_rng(0).normal(size=120), y])
    found = outsample.GridSearch(DecisionTreeClassifier(), LEAVES, scoring=scoring, random_state=0).fit(X, y)
    assert any("no new row is predicted wrongly" in text for text in cautions_about(found))
    honest = outsample.GridSearch(DecisionTreeClassifier(), LEAVES, scoring=scoring, random_state=0).fit(X[:, :1], y)
    assert not any("no new row is predicted wrongly" in text for text in cautions_about(honest))


def test_a_share_is_not_written_as_a_count():
    grid = {"max_features": [0.5, 1.0], "min_samples_leaf": [1, 2], "max_depth": [2, 3]}
    found = outsample.GridSearch(DecisionTreeClassifier(random_state=0), grid, criterion="kfold", random_state=0)
    words = text_of(report_page(found.fit(*IRIS)))
    assert "2, 1.0, 1" in words
    assert "2, 1, 1" not in words


def test_of_criteria_that_all_disagree_the_one_with_an_interval_is_followed():
    X, y = load_breast_cancer(return_X_y=True)
    grid = {"n_neighbors": range(1, 41)}
    criteria = ["permutation", "kfold"]
    found = outsample.compare(KNeighborsClassifier(), X, y, param_grid=grid, criteria=criteria, random_state=0)
    assert found.params["permutation"] != found.params["kfold"]
    use = content_of(found).answers[0]
    assert use.short == f"n_neighbors = {found.params['kfold']['n_neighbors']}"
    assert any(text.startswith("By permutation, 1 of 40 models fit") for text in cautions_about(found))
    assert not any("permuted labels almost" in note for note in notes_of(found))


def test_every_candidate_is_in_the_table(search):
    page = report_page(search)
    rows = re.findall(r"<tr.*?</tr>", page.partition("<tbody>")[2].partition("</tbody>")[0], re.S)
    assert len(rows) == len(search.curve_)
    estimates = [float(value) for row in rows for value in re.findall(r'data-value="([^"]*)"', row)[1:2]]
    np.testing.assert_allclose(sorted(estimates), sorted(search.curve_.out_sample))


def test_scores_are_shown_as_the_user_asked_for_them():
    two = IRIS[0][:, :1], IRIS[1] == 1
    model = make_pipeline(StandardScaler(), KNeighborsClassifier())
    grid = {"kneighborsclassifier__n_neighbors": [1, 5, 15], "kneighborsclassifier__weights": ["uniform", "distance"]}
    found = outsample.GridSearch(model, grid, scoring="roc_auc", criterion="kfold", random_state=0).fit(*two)
    words = text_of(report_page(found).replace("<pre>", "<script>").replace("</pre>", "</script>"))
    assert f"a roc_auc of about {found.honest_score_.out_sample:.4g} on new data" in words
    assert not re.search(r"[-−]0\.\d", words)
    assert "__" not in words
    assert "n_neighbors = " in words


@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_an_error_of_squares_is_told_in_the_unit_of_the_target(unit):
    X, y = load_diabetes(return_X_y=True)
    found = outsample.estimate(Ridge(), X, unit * y, criterion="loo", loss="squared")
    low, high = map(float, re.search(r"interval ([\d.e]+) to ([\d.e]+)", expectation(found)).groups())
    assert low < math.sqrt(found.out_sample) < high
    assert f"typically off by {number(math.sqrt(found.out_sample), 3)}" in text_of(report_page(found))
    fitted = content_of(found).answers[1].short
    assert fitted == f"off by {number(math.sqrt(found.in_sample), 3)} on the rows it was fitted to", (
        "a root beside a root"
    )


@pytest.mark.parametrize(
    ("estimator", "grid", "options"),
    [
        (DecisionTreeClassifier(), {"max_leaf_nodes": range(2, 9)}, {"criterion": "kfold"}),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            {"logisticregression__C": np.logspace(-2, 2, 7)},
            {"criterion": outsample.CrossValidation(5), "rule": "one-standard-error"},
        ),
        (
            KNeighborsClassifier(),
            [{"n_neighbors": [1, 3]}, {"weights": ["distance"]}],
            {"cv": 3, "scoring": "f1_macro"},
        ),
    ],
)
def test_the_code_on_the_page_gives_the_same_search_again(estimator, grid, options):
    first = outsample.GridSearch(estimator, grid, random_state=0, **options).fit(*IRIS)
    names = {"X": IRIS[0], "y": IRIS[1]}
    exec(code_in(report_page(first)), names)
    again = names["search"]
    assert again.best_params_ == first.best_params_
    np.testing.assert_array_equal(again.curve_.out_sample, first.curve_.out_sample)


def test_the_code_of_a_randomised_search_and_of_a_comparison_runs_again(compared):
    names = {"X": IRIS[0], "y": IRIS[1]}
    draws = {"max_leaf_nodes": scipy.stats.randint(2, 9)}
    first = outsample.RandomizedSearch(DecisionTreeClassifier(), draws, n_iter=4, criterion="kfold", random_state=1)
    exec(code_in(report_page(first.fit(*IRIS))), names)
    assert names["search"].best_params_ == first.best_params_
    exec(code_in(report_page(compared)), names)
    assert names["c"].params == compared.params


def test_the_page_of_learners_draws_differences_and_its_code_runs_again():
    learners = {"tree": DecisionTreeClassifier(), "knn": make_pipeline(StandardScaler(), KNeighborsClassifier())}
    found = outsample.compare_models(learners, *IRIS, random_state=0)
    page, names = report_page(found), {"X": IRIS[0], "y": IRIS[1]}
    assert f"zero-one: difference to {found.best}" in page
    exec(code_in(page), names)
    assert names["c"].to_frame()["estimate"].equals(found.to_frame()["estimate"])


def test_comparison_says_who_chooses_what(compared):
    words = text_of(report_page(compared))
    for name, curve in compared.curves.items():
        assert name in words
        assert f"{curve.out_sample[compared.chosen[name]]:.5f}" in words


def test_one_model_and_scores():
    result = outsample.estimate(Ridge(), *load_diabetes(return_X_y=True), loss="r2", random_state=0)
    text = report_page(result)
    assert "Expect an r2 of about" in text_of(text)
    assert "<svg" not in text


def test_notes_that_say_the_same_are_one():
    model, parts = DecisionTreeClassifier(max_leaf_nodes=3), [outsample.HoldOut(share) for share in (0.2, 0.3, 0.4)]
    found = outsample.compare(model, *IRIS, criteria=parts, random_state=0)
    noted = {
        name: replace(curve, notes=(f"Fitted to {i} rows with alpha={i}.", "Once."))
        for i, (name, curve) in enumerate(found.curves.items(), 5)
    }
    assert notes_of(replace(found, curves=noted)) == [
        "Fitted to 5 rows with alpha=5. So it is in 2 more cases.",
        "Once.",
    ]


def test_no_advice_that_cannot_be_followed():
    grids = {"n_neighbors": [1, 2, 3]}, {"n_neighbors": [2, 3, 4]}
    advised, said = [], []
    for grid in grids:
        found = outsample.compare(KNeighborsClassifier(), *IRIS, param_grid=grid, criteria=["resubstitution"])
        advised.append("a longer grid may hold a better one" in report_page(found))
        search = outsample.GridSearch(KNeighborsClassifier(), grid, criterion="resubstitution").fit(*IRIS)
        said.append("smaller ones may be better" in text_of(report_page(search)))
    assert advised == said == [False, True]


def test_warnings_that_matter():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"patient_id": np.repeat(np.arange(20), 2), "a": rng.normal(size=40).round(1)})
    X.iloc[1] = X.iloc[0]
    y = np.resize([1] + 9 * [0], 40)
    model = DecisionTreeClassifier(max_leaf_nodes=8)
    result = outsample.compare(model, X, y, criteria=["permutation", "rademacher-bound"], random_state=0)
    text = report_page(result, X=X, y=y)
    for sentence in (
        "40 rows are few",
        "of 40 rows repeat the inputs of another row",
        "always guessing the most frequent one is wrong on only 10 % of rows",
        "no better than always guessing",
        "looks as if it said which rows belong together",
        "Rademacher-bound is vacuous",
    ):
        assert sentence in text
    assert "belong together" not in report_page(result, X=X, y=y, grouped=True)


def test_audit_and_unknown_results():
    honest = outsample.audit(lambda X, y: 0.5, np.zeros((20, 1)), np.resize([0, 1], 20))
    assert "no sign of a leak" in report_page(honest)
    with pytest.raises(TypeError, match="no report of a dict"):
        report_page({})


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 7e5), (0.0123, 0.0131), (-1e-9, 1e-9)])
def test_ticks_are_few_round_and_inside(low, high):
    ticks = nice_ticks(low, high)
    assert 2 <= len(ticks) <= 8
    assert low <= ticks[0] < ticks[-1] <= high


def test_ticks_are_round_values_between_the_models_where_no_model_has_one():
    alphas = np.logspace(-3.3, 2.2, 40)[::-1]
    labels = axis_labels([f"{a:.4g}" for a in alphas], alphas, 500)
    assert [words for _, words in labels] == ["0.001", "0.01", "0.1", "1", "10", "100"]
    for place, words in labels:
        between = np.interp(place, np.arange(40), np.log10(alphas))
        assert between == pytest.approx(math.log10(float(words)), abs=1e-9)
    assert [words for _, words in axis_labels([str(i) for i in range(2, 51)], np.arange(2.0, 51), 300)] == [
        *("10", "20", "30", "40", "50"),
    ]


def test_page_of_a_saturated_test_says_that_it_cannot_tell(tmp_path):
    X, y = np.arange(40.0).reshape(-1, 1), np.random.default_rng(0).permutation(np.tile([0, 1], 20))
    blind = outsample.permutation_test(DecisionTreeClassifier(random_state=0), X, y, cv="in-sample", n_draws=19)
    write_report(blind, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "this test cannot tell" in page
    assert "p = 1 over" in page
    assert "real labels can hardly do better" in page
    assert "no sign of signal" not in page


def test_an_estimate_that_says_nothing_is_not_to_be_relied_on():
    X, y = IRIS
    forest = RandomForestClassifier(20, random_state=0)
    found = outsample.estimate(forest, X, y, criterion="permutation", random_state=0)
    search = outsample.GridSearch(forest, {"max_depth": [40, 60]}, criterion="permutation", random_state=0).fit(X, y)
    for page in (report_page(found), report_page(search)):
        assert "not to be relied on: criterion 'permutation' estimates the error of guessing" in text_of(page)
