"""Make the notebooks of examples/ from three scripts of the gallery, run: `python docs/notebooks.py`.

The picture of the README is that of the first one.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent.parent / "examples"
PICTURE = Path(__file__).parent / "_static" / "swap.png"
NOTEBOOKS = ("start_here", "which_learner", "honest_error")


def text_cell(text: str) -> dict[str, Any]:
    """A cell of Markdown from the few forms of reStructuredText that examples use."""
    text = re.sub(r"^(.+)\n=+$", r"# \1", text, flags=re.MULTILINE)
    text = re.sub(r"^(.+)\n-+$", r"## \1", text, flags=re.MULTILINE)
    text = re.sub(r":doc:`([^<`]+?) <[^`]+>`", r"\1", text)
    text = re.sub(r":doc:`/?([^`]+)`", r"\1", text)
    return {"cell_type": "markdown", "metadata": {}, "source": text.replace("``", "`").strip()}


def cells(script: str) -> list[dict[str, Any]]:
    """The cells of a script of the gallery: its docstring, then a text and a code cell for every `# %%`."""
    head = ast.get_docstring(ast.parse(script)) or ""
    found = [text_cell(head)]
    for block in script.split("# %%\n")[1:]:
        lines = block.splitlines()
        n_text = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
        found.append(text_cell("\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:n_text])))
        if code := "\n".join(lines[n_text:]).strip():
            found.append({"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": code})
    return [{"id": f"cell-{i}", **cell} for i, cell in enumerate(found)]


def run(code: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, shows and draws."""
    import matplotlib.pyplot as plt

    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue()})
    if hasattr(value, "to_frame"):
        value = value.to_frame()
    if hasattr(value, "_repr_html_") and hasattr(value, "columns"):
        outputs.append(_shown({"text/html": value._repr_html_(), "text/plain": repr(value)}))
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, dpi=90, bbox_inches="tight")
        outputs.append(_shown({"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": "a figure"}))
    plt.close("all")
    return outputs


def _shown(data: dict[str, str]) -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {}, "data": data}


def notebook(name: str) -> dict[str, Any]:
    """The notebook of one script, every cell run."""
    made = cells((EXAMPLES / f"plot_{name}.py").read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in made:
        if cell["cell_type"] == "code":
            cell["outputs"] = run(cell["source"], names)
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def picture_of(made: dict[str, Any]) -> str:
    """The first picture of a notebook, as it stands in the file."""
    outputs = (output for cell in made["cells"] for output in cell.get("outputs", ()))
    return next(str(output["data"]["image/png"]) for output in outputs if "image/png" in output.get("data", {}))


def main() -> None:
    """Write all of them."""
    import matplotlib

    matplotlib.use("agg")
    for name in NOTEBOOKS:
        made = notebook(name)
        text = json.dumps(made, indent=1, ensure_ascii=False)
        (EXAMPLES / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")
        if name == NOTEBOOKS[0]:
            PICTURE.write_bytes(base64.b64decode(picture_of(made)))


if __name__ == "__main__":
    main()
