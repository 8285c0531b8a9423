"""The notebook of the swap, run from the first cell to the last in a kernel of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
NOTEBOOK = REPOSITORY / "examples" / "the_swap.ipynb"

FACTS = """
import json
print(json.dumps({
    "is one": all(isinstance(search, GridSearchCV) for search in after.values()),
    "scores": comparison.pivot(index="table", columns="search", values="score on the other half").to_dict("index"),
    "fits": comparison.pivot(index="table", columns="search", values="fits").to_dict("index"),
    "logged": logged["settings logged"].to_dict(),
    "checks": found["section"].to_dict(),
}))
"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    for package in ("skore", "mlflow", "nbclient", "nbformat", "ipykernel"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    import nbclient
    import nbformat

    os.environ.setdefault("OUTSAMPLE_DATA", str(REPOSITORY / ".." / "shared" / "data"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.insert(-1, nbformat.v4.new_code_cell(FACTS))
    folder = tmp_path_factory.mktemp("notebook")
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})
    return client.execute()


def outputs(cell):
    """(kind, text) of everything that a cell shows."""
    for output in cell.get("outputs", []):
        if output["output_type"] == "stream":
            yield output["name"], output["text"]
        else:
            yield from output["data"].items()


@pytest.mark.filterwarnings("default")  # of Jupyter's own
def test_the_notebook_of_the_swap_runs(executed):
    shown = [dict(outputs(cell)) for cell in executed.cells]
    facts = json.loads(shown[-2]["stdout"])
    assert facts["is one"]
    assert {"breast cancer", "wine", "diabetes"} <= set(facts["scores"])
    for table, score in facts["scores"].items():
        assert score["GridSearch"] > score["GridSearchCV"] - 0.05, table
    fits = {name: sum(each[name] for each in facts["fits"].values()) for name in ("GridSearch", "GridSearchCV")}
    assert fits["GridSearch"] < fits["GridSearchCV"]
    assert facts["logged"] == dict.fromkeys(facts["scores"], 5)
    assert facts["checks"]["SKD014"] in ("issue", "passed")
    assert facts["checks"]["SKD015"] == "tip"
    assert any("Chosen among" in each.get("text/html", "") for each in shown)
    assert "kfold" in shown[-3]["stderr"]
    assert "ipywidgets" not in shown[-3]["stderr"]
