"""python -m studies [NAME | all] [--quick] [--store FILE] [--out FOLDER] [--data FOLDER]: run a study and print it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from studies import STUDIES

QUICK_FOLDER = "reproduced"


def parser() -> argparse.ArgumentParser:
    """The command line of all studies."""
    told = argparse.ArgumentParser(
        prog="python -m studies", description="Run a study again.", argument_default=argparse.SUPPRESS
    )
    told.add_argument("name", nargs="?", help="the study, or all; without a name, list them")
    told.add_argument("-n", type=int, help="its size: trials, splits, problems, …")
    told.add_argument(
        "--quick", action="store_true", default=False, help=f"less than a minute, written to {QUICK_FOLDER}"
    )
    told.add_argument("--seed", type=int, help="seed of everything random, by default 0")
    told.add_argument("--store", help="file (for all: folder) in which finished work is kept, to go on later")
    told.add_argument("--out", help="folder for the table as CSV and text, and for the picture")
    told.add_argument("--data", help="folder of CSV files; otherwise OUTSAMPLE_DATA, otherwise OpenML")
    told.add_argument("--jobs", type=int, help="workers; by default one per core")
    told.add_argument("--sets", type=lambda text: tuple(text.split(",")), help="data sets, separated by commas")
    told.add_argument("--draws", type=int, help="label vectors drawn in table5, by default 1000")
    return told


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; 1 where some study could not be run."""
    given = vars(parser().parse_args(arguments))
    name, quick = given.pop("name", None), given.pop("quick")
    if name is None:
        for known, study in STUDIES.items():
            print(f"{known:10} {study.summary} ({study.n} {study.unit})")
        return 0
    if name not in (*STUDIES, "all"):
        print(f"there is no study {name!r}: use one of {', '.join(STUDIES)}, or all", file=sys.stderr)
        return 2
    given = ({"out": QUICK_FOLDER} if quick else {}) | given
    failed = []
    for one in STUDIES if name == "all" else [name]:
        own = dict(given)
        if name == "all" and "store" in given:
            Path(given["store"]).mkdir(parents=True, exist_ok=True)
            own["store"] = str(Path(given["store"]) / f"{one}.sqlite")
        try:
            print(STUDIES[one].run(quick, **own), flush=True)
        except (OSError, ValueError) as error:
            failed.append(one)
            print(f"{one} could not be run: {error}", file=sys.stderr, flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
