"""Every public name is documented as numpydoc asks, and every snippet of the README and the documents runs."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import outsample

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"

pytestmark = pytest.mark.skipif(not (DOCS / "conf.py").exists(), reason="reads the files of the repository")

# Docstring there, summary there and on one line, parameters all documented and none invented, what is returned with a
# description, an example. Types stand in signatures and descriptions follow the colon: PR04 to PR10 do not apply.
CHECKS = {"GL08", "GL09", "SS01", "SS03", "SS04", "SS06", "PR01", "PR02", "RT01", "RT03", "YD01", "EX01"}


def public_names():
    """Dotted names of everything public, those of the two public modules included."""
    sys.path.insert(0, str(DOCS))
    try:
        groups = importlib.import_module("site_pages").public_names()
    finally:
        sys.path.remove(str(DOCS))
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


def test_undocumented_parameters_are_seen():
    assert inspect.getdoc(undocumented)
    assert {"PR01", "RT01", "EX01"} <= {code for code, _ in validate(f"{__name__}.undocumented")["errors"]}


def undocumented(parameter):
    """Return what is given."""
    return parameter
