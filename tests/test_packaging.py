"""What the package says of itself is true: versions, the README's examples and names, the embedded job."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import outsample
from outsample.criteria.base import CRITERIA

REPOSITORY = Path(__file__).parents[1]
README = REPOSITORY / "README.md"
CRITERIA_PAGE = REPOSITORY / "docs" / "which-criterion.md"

pytestmark = pytest.mark.skipif(not README.exists(), reason="reads the files of the repository")


def test_the_version_is_written_in_one_place():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert "version" in project["dynamic"]
    assert f"version: {outsample.__version__}\n" in (REPOSITORY / "CITATION.cff").read_text()
    assert outsample.__version__ in (REPOSITORY / "CHANGELOG.md").read_text()


def test_every_criterion_is_on_the_page_that_says_which_to_take():
    table = CRITERIA_PAGE.read_text(encoding="utf-8").split("## All of them")[1]
    strings, classes = zip(
        *((row.split("|")[1], row.split("|")[2]) for row in table.split("\n") if row.startswith("| `")), strict=True
    )
    named = {name for cell in strings for name in re.findall(r"`([^`]+)`", cell)}
    assert sorted(set(CRITERIA) - named) == []
    assert sorted(named - set(CRITERIA)) == []
    assert [name for cell in classes for name in re.findall(r"`(\w+)`", cell) if not hasattr(outsample, name)] == []


def test_the_readme_fits_on_one_screen():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 70


@pytest.mark.skipif(not (REPOSITORY / ".ci").exists(), reason="the source archive has no .ci")
def test_the_test_command_of_ci_is_that_of_the_readme():
    command = re.search(r"bin/(pytest.*)", README.read_text(encoding="utf-8")).group(1)
    assert f"$bin/{command}" in (REPOSITORY / ".ci" / "run").read_text().replace('"', "")


def test_what_the_source_archive_names_exists():
    archive = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]
    assert [name for name in archive["include"] if not (REPOSITORY / name.lstrip("/")).exists()] == []


def test_every_link_of_the_readme_leads_somewhere():
    for page in (README, REPOSITORY / "CONTRIBUTING.md", *(REPOSITORY / "docs").glob("*.md")):
        links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
        # Pages of the gallery and the reference are made when the site is built, which checks links to them.
        here = [link for link in links if "://" not in link and not link.startswith(("gallery/", "reference/"))]
        missing = [link for link in here if not (page.parent / link).exists()]
        assert missing == [], page


@pytest.mark.parametrize("name", sorted(outsample.__all__))
def test_public_names_are_there_and_say_what_they_are(name):
    assert getattr(outsample, name) is not None
    assert name == "__version__" or getattr(outsample, name).__doc__


def test_the_embedded_job(tmp_path):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-m", "outsample", "demo"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        cwd=tmp_path,
    )
    assert "GridSearchCV" in run.stdout
    assert "Report: file://" in run.stdout
    assert list(tmp_path.glob("*.html"))
