"""The report page, opened in a real browser from its file."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample.report.page import report_page, write_report
from outsample.report.svg import nice_ticks

EVIL = "<script>alert(1)</script>"
LEAVES = {"max_leaf_nodes": [2, 3, 4, 6, 8]}
IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def search():
    return outsample.GridSearch(DecisionTreeClassifier(), LEAVES, random_state=0).fit(*IRIS)


@pytest.fixture(scope="module")
def compared():
    criteria = ["permutation", "kfold", "holdout"]
    return outsample.compare(DecisionTreeClassifier(), *IRIS, param_grid=LEAVES, criteria=criteria, random_state=0)


@pytest.fixture(scope="module")
def pages(tmp_path_factory, search, compared):
    folder = tmp_path_factory.mktemp("pages")
    frame = pd.DataFrame(IRIS[0][:, :2], columns=["a", EVIL])
    search.to_html(folder / "search.html", frame, IRIS[1])
    write_report(compared, folder / "compared.html", X=frame, y=IRIS[1], asked={"target": EVIL}, call=f"run '{EVIL}'")
    test = outsample.permutation_test(DecisionTreeClassifier(max_leaf_nodes=2), *IRIS, n_draws=99, random_state=0)
    write_report(test, folder / "test.html")
    return folder


@pytest.fixture(scope="module")
def browser():
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("google-chrome")
    if driver is None or chromium is None:
        pytest.skip("needs chromium and chromedriver to open the report in a browser")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium to drive the browser")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
        *("--disable-component-update", "--disable-sync", "--window-size=1100,900"),
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    opened.set_page_load_timeout(60)
    yield opened
    opened.quit()


def visible(browser, selector):
    """How many of the elements a selector finds take up room on the page."""
    script = "return [...document.querySelectorAll(arguments[0])].filter(e => e.getClientRects().length > 0).length"
    return browser.execute_script(script, selector)


@pytest.mark.parametrize("name", ["search.html", "compared.html", "test.html"])
def test_page_opens_without_complaint_and_without_network(browser, pages, name):
    browser.get((pages / name).as_uri())
    assert [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"] == []
    asked = [
        message["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        for message in [json.loads(entry["message"])["message"]]
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert all(url.startswith(("file:", "data:")) for url in asked), asked
    assert visible(browser, "svg.chart") == 1


def test_a_criterion_can_be_switched_off_and_on(browser, pages):
    browser.get((pages / "compared.html").as_uri())
    shown = 'svg.wide g.line[data-line="2"]'
    assert visible(browser, shown) == 1
    box = browser.find_element("css selector", 'input[data-toggle="2"]')
    box.click()
    assert visible(browser, shown) == 0
    assert visible(browser, "svg.wide g.line.criterion") == 2
    box.click()
    assert visible(browser, shown) == 1


def test_pointing_at_a_model_shows_its_numbers(browser, pages, compared):
    from selenium.webdriver import ActionChains

    browser.get((pages / "compared.html").as_uri())
    chart = browser.find_element("css selector", "svg.wide")
    tip = browser.find_element("css selector", ".tip")
    assert not tip.is_displayed()
    ActionChains(browser).move_to_element(chart).perform()
    assert "max_leaf_nodes = 4" in tip.text
    for curve in compared.curves.values():
        assert f"{curve.out_sample[2]:.4g}" in tip.text
    browser.find_element("css selector", 'input[data-toggle="1"]').click()
    ActionChains(browser).move_to_element(chart).perform()
    assert "permutation" not in tip.text


def test_what_a_user_named_is_text(browser, pages):
    browser.get((pages / "compared.html").as_uri())
    assert EVIL in browser.find_element("css selector", ".asked").text
    assert EVIL in browser.find_element("css selector", "pre").text
    assert visible(browser, "main script") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_screens_and_both_colour_schemes(browser, pages, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        browser.get((pages / "search.html").as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") == 390
        assert (visible(browser, "svg.narrow"), visible(browser, "svg.wide")) == (1, 0)
        colours = browser.execute_script(
            "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
            ".map(c => c.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0))"
        )
        paper, ink = colours
        assert (paper > 600 > 200 > ink) if scheme == "light" else (paper < 100 < 600 < ink)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


# What the page says


def test_nothing_comes_from_elsewhere(pages):
    for page in pages.iterdir():
        text = page.read_text(encoding="utf-8")
        assert "src=" not in text
        assert "http:" not in text
        assert "https:" not in text
        assert "<script>alert" not in text


def test_numbers_inside_the_script_are_escaped():
    X = np.arange(30.0).reshape(-1, 1)
    y = np.resize([0, 1], 30)
    model = DecisionTreeClassifier()
    result = outsample.compare(model, X, y, param_grid={"max_depth": [1, 2]}, criteria=["holdout"], random_state=0)
    text = report_page(result, names=lambda setting: {f"</script>{EVIL}": 1})
    assert text.count("</script>") == 2
    assert "\\u003c/script" in text


def test_search_names_its_choice_every_rule_and_the_call(search):
    text = report_page(search)
    assert f"Use max_leaf_nodes = {search.best_params_['max_leaf_nodes']}:" in text
    for rule in ("minimum (used)", "one-standard-error", "first-local-minimum"):
        assert rule in text
    assert "GridSearch(estimator=DecisionTreeClassifier()" in text
    assert outsample.__version__ in text
    assert report_page(search) == text


def test_comparison_says_who_chooses_what(compared):
    text = report_page(compared)
    for name, curve in compared.curves.items():
        assert name in text
        assert f"{curve.out_sample[compared.chosen[name]]:.4g}" in text
    assert "outsample.compare(DecisionTreeClassifier()" in text


def test_one_model_and_scores():
    result = outsample.estimate(Ridge(), *load_diabetes(return_X_y=True), loss="r2", random_state=0)
    text = report_page(result)
    assert "Expect an out-sample r2 of about" in text
    assert "<svg" not in text


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
        "rademacher-bound is vacuous",
    ):
        assert sentence in text
    assert "belong together" not in report_page(result, X=X, y=y, grouped=True)


def test_the_richest_model_chosen_is_worth_a_word():
    result = outsample.GridSearch(
        DecisionTreeClassifier(), {"max_leaf_nodes": [2, 3, 4]}, criterion="resubstitution", random_state=0
    ).fit(*IRIS)
    assert "chooses the richest model of the grid" in report_page(result)


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


def test_page_of_a_saturated_test_says_that_it_cannot_tell(tmp_path):
    X, y = np.arange(40.0).reshape(-1, 1), np.random.default_rng(0).permutation(np.tile([0, 1], 20))
    blind = outsample.permutation_test(DecisionTreeClassifier(random_state=0), X, y, cv="in-sample", n_draws=19)
    write_report(blind, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "This test cannot tell: p = 1" in page
    assert "real labels can hardly do better" in page
    assert "no sign of signal" not in page
