"""Build the site: `python docs/build.py` writes docs/_build. Warnings are errors, and nothing is fetched."""

from __future__ import annotations

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.cmd.build import build_main

DOCS = Path(__file__).parent
PAGES = DOCS / "_build"


class Links(HTMLParser):
    """The addresses a page refers to, and the places in it that can be referred to."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and ((tag == "a" and name == "href") or (tag in ("img", "script") and name == "src")):
                self.targets.append(value)
            if value and name == "id":
                self.places.add(value)


def links_of(page: Path) -> Links:
    """What a built page links to."""
    links = Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def pages_of(folder: Path) -> list[Path]:
    """The built pages, without the parts that the theme keeps beside its styles."""
    return [page for page in folder.resolve().rglob("*.html") if "_static" not in page.parts]


def broken_links(folder: Path) -> list[str]:
    """Every link between the built pages that leads nowhere, as "page: link"."""
    pages = {page: links_of(page) for page in pages_of(folder)}
    return sorted(
        {
            f"{page.name}: {link}"
            for page, links in pages.items()
            for link in links.targets
            if not leads(page, link, pages)
        }
    )


def leads(page: Path, link: str, pages: dict[Path, Links]) -> bool:
    """Whether a link of a page leads out of the site, to a file of it, or to a place on one of its pages."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return there.exists() and (
        not parts.fragment or there not in pages or unquote(parts.fragment) in pages[there].places
    )


def requests_at_loading(folder: Path) -> list[str]:
    """Scripts, styles and pictures that a page would fetch from elsewhere: there must be none."""
    outside = re.compile(r"<(?:script|link|img)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]+\"")
    return sorted(
        f"{page.name}: {found}"
        for page in pages_of(folder)
        for found in outside.findall(page.read_text(encoding="utf-8"))
    )


def main(arguments: list[str]) -> int:
    """Build the pages, then check their links; the exit code of the command."""
    os.environ.setdefault("MPLBACKEND", "agg")
    status = build_main(["-W", "--keep-going", "-q", "-b", "html", *arguments, str(DOCS), str(PAGES)])
    if status:
        return status
    wrong = broken_links(PAGES) + requests_at_loading(PAGES)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(pages_of(PAGES))} pages in {PAGES.name}, {len(wrong)} broken links")
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
