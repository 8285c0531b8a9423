"""The report page, opened in a real browser from its file."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample.view.page import write_report

EVIL = "<script>alert(1)</script>"
LEAVES = {"max_leaf_nodes": [2, 3, 4, 6, 8]}
IRIS = load_iris(return_X_y=True)
PAGES = ["search.html", "map.html", "many.html", "compared.html", "test.html", "forest.html", "learners.html"]
PAGES += ["models.html", "audit.html"]
TWO_PICTURES = ("map.html", "forest.html", "learners.html", "models.html")
SCREENS = {"wide": 1280, "narrow": 400}


@pytest.fixture(scope="module")
def compared():
    criteria = ["permutation", "kfold", "holdout"]
    return outsample.compare(DecisionTreeClassifier(), *IRIS, param_grid=LEAVES, criteria=criteria, random_state=0)


@pytest.fixture(scope="module")
def pages(tmp_path_factory, compared):
    folder = tmp_path_factory.mktemp("pages")
    frame = pd.DataFrame(IRIS[0][:, :2], columns=["a", EVIL])
    leaves = {"max_leaf_nodes": range(2, 30)}
    search = outsample.GridSearch(DecisionTreeClassifier(), leaves, criterion="kfold", random_state=0).fit(*IRIS)
    search.to_html(folder / "search.html", frame, IRIS[1])
    grid = {"svc__C": np.logspace(-2, 2, 5), "svc__gamma": np.logspace(-3, 0, 4)}
    raced = outsample.GridSearch(make_pipeline(StandardScaler(), SVC()), grid, criterion="race", random_state=0)
    raced.fit(*IRIS).to_html(folder / "map.html")
    three = {"max_depth": [2, None], "min_samples_leaf": [1, 5], "criterion": ["gini", "entropy"]}
    many = outsample.GridSearch(DecisionTreeClassifier(), three, criterion="kfold", random_state=0).fit(*IRIS)
    many.to_html(folder / "many.html")
    write_report(compared, folder / "compared.html", X=frame, y=IRIS[1], asked={"target": EVIL}, call=f"run '{EVIL}'")
    X, width = IRIS[0][:, :3], IRIS[0][:, 3]
    test = outsample.permutation_test(DecisionTreeRegressor(max_leaf_nodes=2), X, width, n_draws=99, random_state=0)
    write_report(test, folder / "test.html")
    sizes = {"max_features": [0.3, 0.6, 1.0], "min_samples_leaf": [1, 2, 4], "bootstrap": [True]}
    forest = RandomForestRegressor(random_state=0)
    raced = outsample.GridSearch(forest, sizes, loss="squared", random_state=0).fit(X[:, :2], 2000 * width)
    raced.to_html(folder / "forest.html")
    grids = [
        {"model": [KNeighborsClassifier()], "model__n_neighbors": [1, 3, 9]},
        {"model": [DecisionTreeClassifier(random_state=0)], "model__max_leaf_nodes": [2, 4]},
    ]
    pipe = Pipeline([("scale", StandardScaler()), ("model", SVC())])
    outsample.GridSearch(pipe, grids, random_state=0).fit(*IRIS).to_html(folder / "learners.html")
    contest = {"tree": DecisionTreeClassifier(random_state=0), "neighbours": KNeighborsClassifier(), "svm": SVC()}
    outsample.compare_models(contest, *IRIS, random_state=0).to_html(folder / "models.html")
    write_report(outsample.audit(lambda X, y: 0.1, *IRIS, random_state=0), folder / "audit.html")
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


def look(browser, page, width, scheme):
    """Open a page on a screen of this width and colour scheme."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 640}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get(page.as_uri())


# Texts of drawings that overlap each other, are cut off by their drawing, or are smaller than a reader can see.
BROKEN = """
const shown = [...document.querySelectorAll("svg.chart")].filter(s => s.getClientRects().length);
const broken = [];
for (const svg of shown) {
  const frame = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
  boxes.forEach(([words, a], i) => {
    const inside = a.left >= frame.left - 1 && a.right <= frame.right + 1 && a.bottom <= frame.bottom + 1;
    if (!inside) broken.push(`cut: ${words}`);
    if (a.height < 8) broken.push(`small: ${words}`);
    boxes.slice(i + 1).forEach(([other, b]) => {
      const apart = a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 2 || b.bottom <= a.top + 2;
      if (!apart) broken.push(`overlap: ${words} | ${other}`);
    });
  });
}
return broken;
"""

# Contrast of every text with the paper, by the formula of the Web Content Accessibility Guidelines.
PALE = """
const light = c => c.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
  .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const paper = light(getComputedStyle(document.body).backgroundColor);
const texts = "main p, main dt, main dd, main li, main td, main th, main h1, main h2, svg .tick, svg .axis";
return [...document.querySelectorAll(texts)]
  .filter(e => e.getClientRects().length)
  .map(e => [e.textContent, light(getComputedStyle(e)[e.closest("svg") ? "fill" : "color"])])
  .filter(([_, ink]) => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05) < 4.5)
  .map(([words]) => words);
"""


@pytest.mark.parametrize("name", PAGES)
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
    assert visible(browser, "svg.chart") == (2 if name in TWO_PICTURES else 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_broken_on_any_screen(browser, pages, name, screen, scheme):
    look(browser, pages / name, SCREENS[screen], scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= SCREENS[screen]
    other = "narrow" if screen == "wide" else "wide"
    assert visible(browser, f"svg.{screen}") >= 1
    assert visible(browser, f"svg.{other}") == 0
    assert browser.execute_script(BROKEN) == []
    assert browser.execute_script(PALE) == []
    dark = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, dark.strip("rgb()").split(","))) < 100) == (scheme == "dark")


def test_a_criterion_can_be_switched_off_and_on(browser, pages):
    look(browser, pages / "compared.html", 1280, "light")
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

    look(browser, pages / "compared.html", 1280, "light")
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


def column(browser, heading):
    """The texts below a heading of the table, from top to bottom."""
    heads = [head.text.split()[0] for head in browser.find_elements("css selector", "thead th")]
    place = heads.index(heading) + 1
    return [cell.text for cell in browser.find_elements("css selector", f"tbody td:nth-child({place})")]


def test_candidates_are_sorted_by_a_click(browser, pages):
    look(browser, pages / "map.html", 1280, "light")
    first = column(browser, "C")
    button = browser.find_element("css selector", "thead th button")
    button.click()
    rising = [float(text) for text in column(browser, "C")]
    assert rising == sorted(rising)
    assert sorted(map(float, first)) == rising
    button.click()
    assert [float(text) for text in column(browser, "C")] == rising[::-1]
    head = browser.find_element("css selector", "thead th")
    assert head.get_attribute("aria-sort") == "descending"


def test_what_a_user_named_is_text(browser, pages):
    browser.get((pages / "compared.html").as_uri())
    assert EVIL in browser.find_element("css selector", ".asked").text
    assert EVIL in browser.find_element("css selector", "pre").text
    assert visible(browser, "main script") == 0
