"""All benchmarks as Markdown: ratios against peers, every side measured in the same run, medians of repeats.

python benchmarks                              # everything against peers, about 20 minutes
python benchmarks trees neighbors --quick      # parts of it
python benchmarks --write benchmarks/RESULTS.md
python benchmarks walk --show                  # which files of the library three calls pass
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from measuring import machine

TITLES = {
    "trees": "Decision trees",
    "neighbors": "Nearest neighbours",
    "scorers": "Scorers",
    "ridge": "Ridge",
    "scaled": "Behind a scaler",
    "generative": "Naive Bayes and discriminant analysis",
    "boosting": "Ensembles",
    "forests": "Forests",
    "large": "Many rows",
    "compare": "Twelve criteria at once",
    "alo": "Approximate leave-one-out",
    "growth": "Growth",
    "first_use": "First use",
}
WALK = "walk"


def report(names: list[str], repeats: int, quick: bool) -> Iterator[str]:
    """The lines of the report."""
    yield "# Benchmarks"
    yield ""
    yield f"{machine()}."
    yield f"Medians of {repeats}, {datetime.now(UTC):%B %Y}. `n ×` means that the other side takes n times as long;"
    yield "a star marks a slow side that is partly interpolated."
    yield ""
    for name in names:
        module = import_module(name)
        yield f"## {TITLES[name]}"
        yield ""
        yield from module.__doc__.strip().splitlines()
        yield ""
        yield from module.lines(repeats, quick)


def main() -> None:
    """Measure, print and, if asked to, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*TITLES, WALK]
    parser.add_argument("names", nargs="*", choices=[*names, []], default=[], metavar="name", help=", ".join(names))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small data only")
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the report in a file as well")
    parser.add_argument("--show", action="store_true", help="with walk, also the files in order")
    options = parser.parse_args()
    lines = []
    if WALK in options.names:
        walked = import_module(WALK).lines(options.repeats, options.quick, options.show)
    else:
        walked = report(options.names or list(TITLES), options.repeats, options.quick)
    for line in walked:
        print(line, flush=True)
        lines.append(line)
    if options.write is not None:
        options.write.write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
