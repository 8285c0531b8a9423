"""Forests that race over their number of trees, against the same choice by all trees of all forests.

python benchmarks/size_race.py FOLDER --data TABLES

For tables of 500 to 5000 rows and 13 forests of 100 trees, FOLDER gets one file per table with the out-of-bag losses of
every row by the first 13, 25, 50 and 100 trees, corrected to 100, and the losses of every forest on the rows held out.
A file that is there is not made again. The rules of the race are then tried on what was recorded.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from recorded_losses import keep, losses_of, split_rows, tables
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import ParameterGrid

from outsample.evidence.out_of_bag import OutOfBagJudge
from outsample.evidence.standings import expected_loss, gaps_of_all_trees, standings
from outsample.paths.refit import RefitPath
from outsample.problem import ask

SETTINGS = [*ParameterGrid({"max_features": [0.1, 0.3, 0.6, 1.0], "min_samples_leaf": [1, 5, 20]}), {}]
TREES = (13, 25, 50, 100)
MOST_ROWS = 1000


def record(classes: bool, X: np.ndarray, y: np.ndarray, split: int) -> dict[str, np.ndarray]:
    """Losses out of bag, (forests, numbers of trees, rows), and held out, (forests, rows)."""
    train, test = split_rows(len(y), y, classes, split, min(MOST_ROWS, 2 * len(y) // 3))
    labels = np.unique(y, return_inverse=True)[1] if classes else y
    out_of_bag, held_out = [], []
    for setting in SETTINGS:
        forest = clone(
            RandomForestClassifier(100, random_state=0) if classes else RandomForestRegressor(100, random_state=0)
        )
        forest.set_params(**setting)
        problem = ask(forest, X[train], labels[train], random_state=0).over(RefitPath.over(forest, [{}]))
        forest.fit(X[train], labels[train])
        points = [(trees, TREES[-1]) for trees in TREES]
        arrays, _ = OutOfBagJudge(problem, True).further_answers(forest, X[train], points, None)
        out_of_bag.append(arrays[3])
        held_out.append(losses_of(forest, X[test], labels[test], classes))
    return {"L": np.array(out_of_bag), "H": np.array(held_out)}


def race(losses: np.ndarray, rounds: tuple[int, ...], confidence: float, tolerance: float = 0.01) -> tuple[int, float]:
    """(the forest that wins, forests of the full size that this costs) by these rounds, as places in `TREES`."""
    alive, cost, before = np.arange(len(losses)), 0.0, 0
    for i, r in enumerate(rounds):
        cost += len(alive) * (TREES[r] - before)
        before = TREES[r]
        stand = standings(_known(losses[alive, r])[0])
        leader = alive[stand.leader]
        if TREES[r] == TREES[-1]:
            break
        keep_on = stand.probability >= 1 - confidence
        keep_on[stand.leader] = True
        alive = alive[keep_on]
        if len(alive) == 1:
            break
        if i:
            earlier = rounds[i - 1]
            further = (1 / TREES[r] - 1 / TREES[-1]) / (1 / TREES[earlier] - 1 / TREES[r])
            pair, place = _known(losses[alive, earlier], losses[alive, r]), int(np.flatnonzero(alive == leader)[0])
            if expected_loss(gaps_of_all_trees(*pair, None, further, place)) < tolerance * stand.risk.min():
                break
    return int(leader), (cost + TREES[-1] - before) / TREES[-1]


def _known(*values: np.ndarray) -> list[np.ndarray]:
    """The rows that every forest has left out."""
    known = ~np.isnan(np.concatenate(values)).any(axis=0)
    return [each[:, known] for each in values]


def lines(folder: Path) -> Iterator[str]:
    """The table: rules, forests that they cost, held-out error against the choice by all trees."""
    yield "| first trees | confidence | forests of 13 | held-out error / that by all trees | worst table |"
    yield "|---|---|---|---|---|"
    files = [np.load(file) for file in sorted(folder.glob("*.npz"))]
    for rounds in ((0, 1, 2, 3), (1, 2, 3), (2, 3)):
        for confidence in (0.9, 0.95, 0.99):
            costs, ratios = [], []
            for held in files:
                errors = held["H"].mean(axis=1) + (0.5 / held["H"].shape[1] if held["classes"] else 0.0)
                chosen, cost = race(held["L"], rounds, confidence)
                costs.append(cost)
                ratios.append(errors[chosen] / errors[np.nanmean(held["L"][:, -1], axis=1).argmin()])
            log = np.log(ratios)
            error = log.std(ddof=1) / np.sqrt(len(log))
            figures = f"{np.mean(costs):.1f} | {np.exp(log.mean()):.3f} ± {error:.3f} | {max(ratios):.2f}"
            yield f"| {TREES[rounds[0]]} | {confidence} | {figures} |"


def main() -> None:
    """Record what is not recorded yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("OUTSAMPLE_DATA", ".")) / "suite")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for number, (name, classes, X, y) in enumerate(tables(options.data)):
        file = options.folder / f"{name}-{number % 2}.npz"
        if not file.exists():
            keep(file, classes=classes, **record(classes, X, y, number % 2))
    print("\n".join(lines(options.folder)))


if __name__ == "__main__":
    main()
