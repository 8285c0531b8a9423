"""Twelve jobs as people have them, against GridSearchCV and its peers: held-out score, processor time, fits, lines.

    OUTSAMPLE_DATA=../shared/data python benchmarks/jobs.py --write benchmarks/JOBS.md      # everything, one command
    python benchmarks/jobs.py --jobs ridge knn --splits 1                                   # some of it

Every job is a table, a model and a grid. A third of the rows is held out; each method searches the others with one
worker, and the model it returns is scored on the rows held out. Processor time is that of the search alone. What is
finished is kept in a file of records (`--records`), so that an interrupted run goes on where it was. Jobs whose table
is not there, and peers that are not installed, are left out, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from job_peers import PEERS, Peer, UnavailableError
from job_specialists import NoRError
from job_tables import JOBS, Job, MissingError
from measuring import machine
from sklearn.metrics import get_scorer
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

INTRODUCTION = """
Twelve jobs as people have them. A third of the rows is held out; every method searches the same grid on the same other
rows with one worker (at most 2000 rows), and the model it returns is scored on the rows held out. `processor` is the
processor time of the search alone, `× less` how many times less of it outsample takes than that method (below 1: more),
`fits` the fits of a learner, `lines` what a user types after the imports. Medians over random divisions of the rows;
`against GridSearchCV` is the mean paired difference of the scores, ± its standard error where there are several
divisions. Every method has its defaults. Kernels are compiled once and kept, which is not counted.
`python benchmarks/jobs.py --write benchmarks/JOBS.md` makes it again.
"""
OURS, USUAL = "outsample", "GridSearchCV"
MOST_TRAINED = 2000
WARM_UP = 200
# Jobs of so many settings should take so many times less than GridSearchCV.
MANY, WANTED = 24, 3


def record_of(job: Job, peer: Peer, split: int) -> dict[str, object]:
    """One search: its held-out score, processor seconds and fits; or the reason why there is none."""
    X, y = job.load()
    classes = y if job.classification else None
    train, test = min(MOST_TRAINED, 2 * len(y) // 3), min(MOST_TRAINED, len(y) // 3)
    parts = train_test_split(X, y, train_size=train, test_size=test, stratify=classes, random_state=split)
    X_train, X_test, y_train, y_test = parts
    key: dict[str, object] = {"job": job.name, "peer": peer.name, "split": split}
    if peer.name == OURS:
        peer.search(job, X_train[:WARM_UP], y_train[:WARM_UP], split)  # kernels are compiled once and kept on disk
    start = time.process_time()
    try:
        found = peer.search(job, X_train, y_train, split)
        seconds = time.process_time() - start
        if found.elsewhere is not None:
            score, seconds = found.elsewhere(X_test, y_test)
        else:
            score = get_scorer(job.scoring)(found.model, X_test, y_test)
    except (UnavailableError, NoRError) as why:
        return key | {"missing": str(why)}
    return key | {"score": float(score), "seconds": seconds, "fits": found.fits, "chosen": found.chosen}


def main(arguments: list[str] | None = None) -> None:
    """Run what is not recorded yet, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", nargs="*", choices=[job.name for job in JOBS], help="some of the jobs")
    parser.add_argument("--peers", nargs="*", choices=[peer.name for peer in PEERS], help="some of the methods")
    parser.add_argument("--splits", type=int, default=3, help="random divisions into training and held-out rows")
    parser.add_argument("--records", type=Path, default=Path("jobs-records.jsonl"), help="where finished work is kept")
    parser.add_argument("--write", type=Path, help="write the table here")
    options = parser.parse_args(arguments)
    jobs = [job for job in JOBS if not options.jobs or job.name in options.jobs]
    peers = [peer for peer in PEERS if not options.peers or peer.name in options.peers]
    with threadpool_limits(1):
        records = run(jobs, peers, options.splits, options.records)
    text = "\n".join(report(jobs, records))
    if options.write:
        options.write.write_text(text + "\n", encoding="utf-8")
    print(text)


def run(jobs: list[Job], peers: list[Peer], splits: int, kept: Path) -> list[dict[str, object]]:
    """All records; those that the file does not have yet are made and appended to it."""
    records = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = {(r["job"], r["peer"], r["split"]) for r in records}
    for split in range(splits):
        for job in jobs:
            for peer in peers:
                if (job.name, peer.name, split) in done or not peer.serves(job):
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        record = record_of(job, peer, split)
                    except MissingError as why:
                        record = {"job": job.name, "peer": peer.name, "split": split, "missing": str(why)}
                records.append(record)
                with kept.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(record, file=sys.stderr, flush=True)
    return records


def report(jobs: list[Job], records: list[dict[str, object]]) -> list[str]:
    """The lines of JOBS.md."""
    lines = [
        "# The job table",
        "",
        *INTRODUCTION.strip().splitlines(),
        "",
        f"{machine()}; {datetime.now(UTC):%B %Y}.",
        "",
    ]
    lines += [*_summary(jobs, records), *_losses(jobs, records)]
    for job in jobs:
        lines += _section(job, [r for r in records if r["job"] == job.name])
    return lines


def _section(job: Job, records: list[dict[str, object]]) -> list[str]:
    known = [r for r in records if "missing" not in r]
    divisions = len({r["split"] for r in known if r["peer"] == OURS})
    measured = f"{job.what}; {job.scoring}; {divisions} division{'s' if divisions != 1 else ''}."
    lines = [f"## {job.title}", "", measured, ""]
    if not known:
        why = next((r["missing"] for r in records), "it was not run")
        return [*lines, f"Left out: {why}.", ""]
    ours = _median(known, OURS, "seconds")
    lines += [
        "| method | held-out score | against GridSearchCV | processor | × less | fits | lines |",
        "|---|---|---|---|---|---|---|",
    ]
    for peer in PEERS:
        mine = [r for r in known if r["peer"] == peer.name]
        if not mine:
            continue
        seconds = _median(known, peer.name, "seconds")
        cells = [
            peer.label(job),
            f"{_median(known, peer.name, 'score'):.4f}",
            _against(known, peer.name),
            f"{seconds:.3g} s",
            "" if ours is None or peer.name == OURS else f"{seconds / ours:.3g}",
            f"{_median(known, peer.name, 'fits'):.0f}",
            str(peer.lines(job)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    missing = Counter(f"{r['peer']}: {r['missing']}" for r in records if "missing" in r)
    return [*lines, "", *(f"Left out: {why}.  " for why in missing), ""]


def _median(records: list[dict[str, object]], peer: str, what: str) -> float:
    values = [float(r[what]) for r in records if r["peer"] == peer]  # type: ignore[arg-type]
    return statistics.median(values) if values else float("nan")


def _paired(records: list[dict[str, object]], peer: str) -> list[float]:
    """Differences of held-out scores to GridSearchCV on the same divisions."""
    scores = {(r["peer"], r["split"]): float(r["score"]) for r in records}  # type: ignore[arg-type]
    splits = sorted({r["split"] for r in records}, key=str)
    return [scores[peer, s] - scores[USUAL, s] for s in splits if (peer, s) in scores and (USUAL, s) in scores]


def _against(records: list[dict[str, object]], peer: str) -> str:
    if peer == USUAL:
        return ""
    apart = _paired(records, peer)
    if not apart:
        return "–"
    if len(apart) == 1:
        return f"{apart[0]:+.4f}"
    return f"{statistics.mean(apart):+.4f} ± {statistics.stdev(apart) / len(apart) ** 0.5:.4f}"


def _summary(jobs: list[Job], records: list[dict[str, object]]) -> list[str]:
    lines = [
        "## In short",
        "",
        "| job | settings | × less processor time than GridSearchCV(cv=5) | held-out score against it |",
        "|---|---|---|---|",
    ]
    for job in jobs:
        known = [r for r in records if r["job"] == job.name and "missing" not in r]
        if {OURS, USUAL} <= {r["peer"] for r in known}:
            ratio = _median(known, USUAL, "seconds") / _median(known, OURS, "seconds")
            lines.append(f"| {job.title} | {job.n_settings} | {ratio:.3g} | {_against(known, OURS)} |")
    return [*lines, ""]


def _losses(jobs: list[Job], records: list[dict[str, object]]) -> list[str]:
    """Where others took less processor time, and where the wanted factor was missed."""
    lines = ["## Where outsample loses", ""]
    for job in jobs:
        known = [r for r in records if r["job"] == job.name and "missing" not in r]
        ours = _median(known, OURS, "seconds")
        faster = [
            f"{peer.name} takes {_median(known, peer.name, 'seconds') / ours:.2g} of its processor time"
            for peer in PEERS
            if _median(known, peer.name, "seconds") < ours
        ]
        if job.n_settings >= MANY and _median(known, USUAL, "seconds") < WANTED * ours:
            faster.append(f"it takes less than {WANTED} times less than GridSearchCV")
        lines += [f"* {job.title}: {'; '.join(faster)}."] if faster else []
    waiting = [
        job.title for job in jobs if not {OURS, USUAL} <= {str(r["peer"]) for r in records if r["job"] == job.name}
    ]
    lines += [f"* Not measured yet: {'; '.join(waiting)}."] if waiting else []
    return [*lines, ""]


if __name__ == "__main__":
    main()
