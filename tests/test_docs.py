"""Every public name is documented as numpydoc asks, and every snippet of the README and the documents runs."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import doctest
import importlib
import inspect
import itertools
import json
import re
import sys
from pathlib import Path

import distributed
import numpy as np
import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import outsample

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"

pytestmark = pytest.mark.skipif(not (DOCS / "conf.py").exists(), reason="reads the files of the repository")

# Docstring there, summary there and on one line, parameters all documented and none invented, what is returned with a
# description, an example. Types stand in signatures and descriptions follow the colon: PR04 to PR10 do not apply.
CHECKS = {"GL08", "GL09", "SS01", "SS03", "SS04", "SS06", "PR01", "PR02", "RT01", "RT03", "YD01", "EX01"}


@contextlib.contextmanager
def docs_on_the_path():
    """The modules that build the site can be imported."""
    sys.path.insert(0, str(DOCS))
    try:
        yield
    finally:
        sys.path.remove(str(DOCS))


def public_names():
    """Dotted names of everything public, those of the two public modules included."""
    with docs_on_the_path():
        groups = importlib.import_module("site_pages").public_names()
    return sorted({name for names in groups.values() for name in names})


def thing(name):
    found = outsample
    for part in name.split("."):
        found = getattr(found, part)
    return found


def documented_attributes(record):
    """Names in the Attributes sections of a class and of its parents."""
    sections = (get_doc_object(kind)["Attributes"] for kind in record.__mro__[:-1])
    return {name.strip() for section in sections for entry in section for name in entry.name.split(",")}


@pytest.mark.parametrize("name", public_names() if (DOCS / "conf.py").exists() else [])
def test_numpydoc_finds_nothing_missing(name):
    errors = [(code, text) for code, text in validate(f"outsample.{name}")["errors"] if code in CHECKS]
    if dataclasses.is_dataclass(thing(name)) and not issubclass(thing(name), outsample.Criterion):
        # Results are made by the library: their fields are described as attributes.
        fields = {field.name for field in dataclasses.fields(thing(name)) if not field.name.startswith("_")}
        assert sorted(fields - documented_attributes(thing(name))) == []
        errors = [error for error in errors if error[0] != "PR01"]
    assert errors == []


def test_the_reference_lists_every_public_name():
    listed = {name.split(".")[0] for name in public_names()} | set(vars(outsample.bounds))
    assert sorted(set(dir(outsample)) - listed - {"__version__", "bounds", "penalties"}) == []


def test_the_gallery_has_a_place_for_every_script():
    with docs_on_the_path():
        order = importlib.import_module("site_pages").GALLERY
    scripts = [path.stem.removeprefix("plot_") for path in (REPOSITORY / "examples").glob("plot_*.py")]
    assert sorted(order) == sorted(scripts)


def test_undocumented_parameters_are_seen():
    assert inspect.getdoc(undocumented)
    assert {"PR01", "RT01", "EX01"} <= {code for code, _ in validate(f"{__name__}.undocumented")["errors"]}


def undocumented(parameter):
    """Return what is given."""
    return parameter


PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{page.name}" for page in sorted(DOCS.glob("*.md")))]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets(page):
    """The Python snippets of a page; those with prompts lose their prompts and what they print."""
    for text in FENCE.findall((REPOSITORY / page).read_text(encoding="utf-8")):
        yield doctest.script_from_examples(text) if text.startswith(">>> ") else text


def stock():
    """Names that pages use without making them: data, a learner of each kind, what scikit-learn calls its own."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    return {
        "outsample": outsample,
        "np": np,
        "X": X[:200],
        "y": y[:200],
        "X_new": X[200:],
        "itertools": itertools,
        "X_train": X[:150],
        "y_train": y[:150],
        "X_validation": X[150:250],
        "y_validation": y[150:250],
        "X_test": X[250:],
        "y_test": y[250:],
        "estimator": DecisionTreeClassifier(random_state=0),
        "GridSearch": outsample.GridSearch,
        "DecisionTreeClassifier": DecisionTreeClassifier,
        "Pipeline": Pipeline,
        "KNeighborsClassifier": KNeighborsClassifier,
        "StandardScaler": StandardScaler,
        "SVC": SVC,
        "loss": "zero-one",
        "model": GaussianNB().fit(X[:150], y[:150]),
        "RandomForestClassifier": RandomForestClassifier,
        "LogisticRegression": LogisticRegression,
        "tree": DecisionTreeClassifier(random_state=0),
        "grid": {"max_leaf_nodes": range(2, 9)},
    }


@pytest.mark.parametrize("page", [page for page in PAGES if any(snippets(page))])
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    with contextlib.ExitStack() as stack:
        given, names = stock(), {}
        if any("Client(address)" in text for text in snippets(page)):
            cluster = distributed.LocalCluster(1, processes=False, threads_per_worker=2, dashboard_address=":0")
            given["address"] = stack.enter_context(cluster)
        for number, text in enumerate(snippets(page)):
            names.update(given)  # what a snippet names anew is its own, what else it makes serves those that follow
            exec(compile(text, f"{page}, snippet {number}", "exec"), names)


def test_a_snippet_that_is_wrong_fails():
    with pytest.raises(AttributeError):
        exec("outsample.no_such_name(X, y)", stock())


def test_the_fits_that_pages_name_are_those_it_takes():
    X, y = load_breast_cancer(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0)
    search = outsample.GridSearch(tree, {"max_leaf_nodes": range(2, 51)}, random_state=0).fit(X, y)
    for page in ("README.md", "docs/index.md"):
        said = re.findall(r"(\d+) fits, where five folds take (\d+)", (REPOSITORY / page).read_text(encoding="utf-8"))
        assert said == [(str(search.n_fits_), str(5 * 49))], page
    kept = (REPOSITORY / "examples" / "start_here.ipynb").read_text(encoding="utf-8")
    assert f"{search.n_fits_} fits" in kept, "python docs/notebooks.py makes it anew"
    with docs_on_the_path():
        made = importlib.import_module("notebooks")
    picture = base64.b64decode(made.picture_of(json.loads(kept)))
    assert made.PICTURE.read_bytes() == picture, "the picture of the README is that of the notebook"


@pytest.mark.parametrize("name", ["start_here", "which_learner", "honest_error"])
def test_notebooks_are_the_scripts_of_the_gallery(name):
    with docs_on_the_path():
        made = importlib.import_module("notebooks")
    kept = json.loads((made.EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    script = (made.EXAMPLES / f"plot_{name}.py").read_text(encoding="utf-8")
    assert [cell["source"] for cell in kept] == [cell["source"] for cell in made.cells(script)]
    # Every cell that prints or draws has its output; the scripts themselves are run when the site is built.
    assert all(cell["outputs"] for cell in kept if cell["cell_type"] == "code" and "print(" in cell["source"])
    assert sum("image/png" in str(cell.get("outputs")) for cell in kept) == 1
