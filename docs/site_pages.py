"""What the site adds to Sphinx: pages kept elsewhere in the repository, the public names, formulas as MathML."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import outsample._public

HERE = Path(__file__).parent
REPOSITORY = HERE.parent

# Pages of the site that are files of the repository.
KEPT_ELSEWHERE = {
    "house": "CONTRIBUTING.md",
    "changes": "CHANGELOG.md",
    "releasing": "RELEASING.md",
    "measured": "benchmarks/RESULTS.md",
    "jobs": "benchmarks/JOBS.md",
    "speed": "src/outsample/_kernels/SPEED.md",
}

# The gallery from the first thing to know to the last; tests see that no script is missing.
GALLERY = (
    *("start_here", "swap", "which_learner", "overtuning", "honest_error", "anything_there", "groups_and_series"),
    *("forest_out_of_bag", "boosting_stages", "race", "leave_one_out", "own_loss", "report", "dask"),
    *("permutation_complexity", "polynomial_degree", "figure_3", "figure_6"),
)

GROUPS = {
    "Questions": ("questions",),
    "Criteria": ("criteria",),
    "Results": ("curve",),
    "Estimators and hypotheses": ("estimators", "hypotheses", "paths"),
    "Bounds": ("bounds",),
    "Penalties": ("penalties",),
}


class GalleryOrder:
    """Sorts the scripts of the gallery; sphinx-gallery makes one for each folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> int:
        return GALLERY.index(name.removeprefix("plot_").removesuffix(".py"))


def text_of(name: str) -> str | None:
    """The text of a page that is kept elsewhere, its links turned into those of the site; None for other pages."""
    path = KEPT_ELSEWHERE.get(name)
    return None if path is None else (REPOSITORY / path).read_text(encoding="utf-8")


def with_links_of_the_site(text: str, folder: Path) -> str:
    """Links to files of the repository become links to the pages that show them."""
    for page, path in KEPT_ELSEWHERE.items():
        target = REPOSITORY / path
        for written in {_relative(target, folder), path}:
            text = text.replace(f"]({written}", f"]({page}.md")
    for written in (_relative(REPOSITORY / "README.md", folder), "README.md"):
        text = text.replace(f"]({written}", "](index.md")
    return text.replace("](docs/", "](").replace("](../docs/", "](")


def _relative(target: Path, folder: Path) -> str:
    return Path(os.path.relpath(target, folder)).as_posix()


def read(app: Any, name: str, source: list[str]) -> None:
    """Sphinx asks for the text of a page."""
    text = text_of(name)
    folder = HERE if text is None else (REPOSITORY / KEPT_ELSEWHERE[name]).parent
    if text is not None:
        app.env.note_dependency(str(REPOSITORY / KEPT_ELSEWHERE[name]))
    source[0] = with_links_of_the_site(source[0] if text is None else text, folder)


def public_names() -> dict[str, list[str]]:
    """The public names by group, from the one list of them; functions of the two public modules by their module."""
    groups: dict[str, list[str]] = {title: [] for title in GROUPS}
    for name, thing in vars(outsample._public).items():
        if name.startswith("_"):
            continue
        if inspect.ismodule(thing):
            groups[_group(thing.__name__)] += [f"{name}.{inner}" for inner in _names_of(thing)]
        elif (group := _group(thing.__module__)) != "Bounds":
            groups[group].append(name)
    return {title: sorted(names, key=str.lower) for title, names in groups.items()}


def _names_of(module: Any) -> list[str]:
    own = {
        name
        for name, thing in vars(module).items()
        if (getattr(thing, "__module__", "") or "").startswith(module.__name__)
    }
    return sorted(name for name in own if not name.startswith("_"))


def _group(module: str) -> str:
    room = module.split(".")[1]
    return next(title for title, rooms in GROUPS.items() if room in rooms)


def write_reference(app: Any, config: Any) -> None:
    """The page of all public names, made from `_public.py`; autosummary makes a page of each."""
    lines = ["API reference", "=============", "", ".. currentmodule:: outsample", ""]
    for title, names in public_names().items():
        lines += [title, "-" * len(title), "", ".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names] + [""]
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    text = "\n".join(lines)
    page = folder / "index.rst"
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def part_names_from_text(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """ "name : text" of parameters and attributes becomes a name and a text below it: types stand in the signature."""
    section, parted = "", []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below.startswith("---") and line.strip():
            section = line.strip()
        first, colon, text = line.partition(" : ")
        if section in ("Parameters", "Attributes") and colon and not line.startswith(" "):
            parted += [first, f"    {text}"]
        else:
            parted.append(line)
    lines[:] = parted


def show_inline(writer: Any, node: nodes.math) -> None:
    """A formula within a line."""
    writer.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def show_block(writer: Any, node: nodes.math_block) -> None:
    """A formula on a line of its own."""
    writer.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx about all of it. Browsers draw MathML themselves: no script, no fonts, no network."""
    app.connect("source-read", read)
    # Before Sphinx looks which pages there are.
    app.connect("config-inited", write_reference)
    # Before numpydoc, which takes what follows the colon for a type.
    app.connect("autodoc-process-docstring", part_names_from_text, priority=100)
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
