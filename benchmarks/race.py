"""The race against ten folds and other ways to save fits, on losses recorded once by `recorded_losses.py`.

python benchmarks/race.py FOLDER --data TABLES [--write]

Every rule sees the same folds of the same tables, split by split. The race is the library's own, run on a learner that
repeats what was recorded. --write puts the table into RACE.md between its marks, and the picture into race.svg.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from recorded_losses import split_rows, tables
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from outsample import GridSearch, Race

HERE = Path(__file__).parent
NAMES = {
    "svc": "SVC, 25",
    "forest": "forest, 12",
    "boosting": "boosting, 27",
    "mlp": "MLP, 6",
    "svc200": "SVC, 200",
}
Choice = tuple[int, float]
"""The candidate chosen, and the fits that this took."""


@dataclass(frozen=True)
class Recording:
    """What one learner lost on one split of one table.

    Attributes
    ----------
    fold10, fold5 : (n,) the fold of each row.
    losses10, losses5 : (candidates, n) losses of rows left out; those of five folds are None for many candidates.
    held_out : (candidates, test rows) losses of the refitted candidates.
    y : (n,) the labels.
    """

    family: str
    table: str
    split: int
    classes: bool
    fold10: np.ndarray
    losses10: np.ndarray
    fold5: np.ndarray | None
    losses5: np.ndarray | None
    held_out: np.ndarray
    y: np.ndarray

    @property
    def by_fold(self) -> np.ndarray:
        """(candidates, folds) mean loss on each of ten folds."""
        return np.stack([self.losses10[:, self.fold10 == k].mean(axis=1) for k in range(10)], axis=1)

    @property
    def rng(self) -> np.random.Generator:
        """Randomness of a rule, the same for all of them."""
        return np.random.default_rng(self.split)


def recordings(folder: Path, data: Path) -> Iterator[Recording]:
    """All that has been recorded."""
    labels = {name: (classes, y, len(X)) for name, classes, X, y in tables(data)}
    for file in sorted(folder.glob("*.npz")):
        family, table, split = file.stem.split("-")
        held = np.load(file)
        classes, y, n = labels[table]
        train, _ = split_rows(n, y, classes, int(split), len(held["fold10"]))
        five = (held["fold5"], held["losses5"]) if "fold5" in held else (None, None)
        yield Recording(
            family, table, int(split), classes, held["fold10"], held["losses10"], *five, held["held_out"], y[train]
        )


class Replay(BaseEstimator):
    """A learner that repeats recorded losses: X has the numbers of the rows."""

    recording: Recording

    def __init__(self, candidate: int = 0) -> None:
        self.candidate = candidate

    def fit(self, X: np.ndarray, y: np.ndarray) -> Replay:
        """Learn nothing."""
        self.classes_ = np.unique(self.recording.y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels that lose what was recorded."""
        rows = X[:, 0].astype(int)
        y, losses = self.recording.y[rows], self.recording.losses10[self.candidate, rows]
        if not self.recording.classes:
            return y + np.sqrt(losses)
        return np.where(losses > 0, np.where(y == self.classes_[0], self.classes_[1], self.classes_[0]), y)


def race(recording: Recording, **settings: float) -> Choice:
    """The library's own race."""
    search = raced(recording, **settings)
    return search.best_params_["candidate"], search.n_fits_


def raced(recording: Recording, **settings: float) -> GridSearch:
    """A search by the library's own race, over the candidates recorded."""
    kind = ClassifierMixin if recording.classes else RegressorMixin
    learner = type("Replay", (kind, Replay), {"recording": recording})
    rows = np.arange(len(recording.y))
    folds = [(rows[recording.fold10 != k], rows[recording.fold10 == k]) for k in range(10)]
    search = GridSearch(
        learner(),
        {"candidate": list(range(len(recording.losses10)))},
        criterion=Race(folds, **settings),
        loss="zero-one" if recording.classes else "squared",
        refit=False,
        random_state=recording.split,
    )
    return search.fit(rows[:, None].astype(float), recording.y)


def fold_effects(recording: Recording) -> Choice:
    """The race, and the choice among all candidates, each on the folds that it has not met as candidate and fold say.

    Risks are the sum of an effect of the candidate and one of the fold, by least squares over what was measured.
    """
    search = raced(recording)
    risks = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(10)])
    known, (k, c) = ~np.isnan(risks), np.indices(risks.shape)
    columns = np.concatenate(
        [k[known][:, None] == np.arange(10), c[known][:, None] == np.arange(risks.shape[1])], axis=1
    )
    of_candidates = np.linalg.lstsq(columns.astype(float), -risks[known], rcond=None)[0][10:]
    chosen = int(np.argmin(of_candidates))
    candidate = search.cv_results_["params"][chosen]["candidate"]
    return candidate, search.n_fits_ + int(np.isnan(risks[:, chosen]).sum())


def ten_folds(recording: Recording) -> Choice:
    """GridSearchCV(cv=10)."""
    return int(recording.by_fold.mean(axis=1).argmin()), 10.0 * len(recording.losses10)


def five_folds(recording: Recording) -> Choice | None:
    """GridSearchCV(cv=5)."""
    if recording.losses5 is None:
        return None
    means = [recording.losses5[:, recording.fold5 == k].mean(axis=1) for k in range(5)]
    return int(np.mean(means, axis=0).argmin()), 5.0 * len(recording.losses5)


def fold_means(recording: Recording) -> Choice:
    """Drop whoever is behind the leader by a paired t-test of fold means, level .05, after three folds or more."""
    by_fold, fits = recording.by_fold[:, recording.rng.permutation(10)], 0.0
    alive = np.arange(len(by_fold))
    for k in range(1, 11):
        fits += len(alive)
        seen = by_fold[alive, :k]
        leader = seen.mean(axis=1).argmin()
        if 3 <= k < 10 and len(alive) > 1:
            d = seen - seen[leader]
            bound = stats.t.ppf(0.95, k - 1) * d.std(axis=1, ddof=1) / np.sqrt(k)
            alive = alive[(d.mean(axis=1) <= bound) | (np.arange(len(alive)) == leader)]
        if len(alive) == 1:
            break
    return int(alive[by_fold[alive, :k].mean(axis=1).argmin()]), fits


def wilcoxon(recording: Recording) -> Choice:
    """optuna's WilcoxonPruner: one after the other, against the best so far by signed ranks of folds, p < .1."""
    by_fold, fits, best = recording.by_fold[:, recording.rng.permutation(10)], 0.0, -1
    for c in recording.rng.permutation(len(by_fold)):
        pruned = False
        for k in range(1, 11):
            fits += 1
            if best < 0 or k < 2 or not (d := by_fold[c, :k] - by_fold[best, :k]).any():
                continue
            worse = stats.wilcoxon(d, alternative="greater", zero_method="zsplit").pvalue < 0.1
            if worse and d.mean() > 0 and k < 10:
                pruned = True
                break
        if not pruned and (best < 0 or by_fold[c].mean() < by_fold[best].mean()):
            best = int(c)
    return best, fits


def halving(recording: Recording) -> Choice:
    """Keep the better half after every fold."""
    by_fold, fits = recording.by_fold[:, recording.rng.permutation(10)], 0.0
    alive = np.arange(len(by_fold))
    for k in range(1, 11):
        fits += len(alive)
        alive = alive[np.argsort(by_fold[alive, :k].mean(axis=1), kind="stable")[: max(1, (len(alive) + 1) // 2)]]
        if len(alive) == 1:
            break
    return int(alive[0]), fits


def hold_outs(recording: Recording) -> Choice | None:
    """One hold-out of a fifth of the rows per candidate, another one for each: one of five folds, drawn."""
    if recording.losses5 is None:
        return None
    drawn = recording.rng.integers(5, size=len(recording.losses5))
    means = [losses[recording.fold5 == k].mean() for losses, k in zip(recording.losses5, drawn, strict=True)]
    return int(np.argmin(means)), float(len(means))


RULES: dict[str, Callable[[Recording], Choice | None]] = {
    "GridSearchCV(cv=10)": ten_folds,
    "GridSearchCV(cv=5)": five_folds,
    "race": race,
    "race and fold effects": fold_effects,
    "fold means, α = .05": fold_means,
    "Wilcoxon pruner": wilcoxon,
    "halving per fold": halving,
    "one hold-out each": hold_outs,
}


def outcomes(folder: Path, data: Path) -> pd.DataFrame:
    """One line per recording and rule: fits per candidate, held-out error, its ratio to that of ten folds' choice.

    Errors of classes have half an error added, so that a table without any has a ratio. `beyond` says whether the
    choice is worse than ten folds' by more than 10 % and two standard errors of the paired difference of held-out rows.
    """
    lines = []
    for recording in recordings(folder, data):
        reference, _ = ten_folds(recording)
        for name, rule in RULES.items():
            found = rule(recording)
            if found is not None:
                lines.append(_line(recording, name, *found, reference))
    return pd.DataFrame(lines)


def _line(recording: Recording, rule: str, chosen: int, fits: float, reference: int) -> dict[str, object]:
    of_both = recording.held_out[[chosen, reference]]
    extra = 0.5 / of_both.shape[1] if recording.classes else 0.0
    error, usual = of_both.mean(axis=1) + extra
    d = of_both[0] - of_both[1]
    clear = d.mean() > 2 * d.std(ddof=1) / np.sqrt(len(d))
    return {
        "family": recording.family,
        "table": recording.table,
        "split": recording.split,
        "rule": rule,
        "fits": fits / len(recording.losses10),
        "error": error,
        "ratio": error / usual,
        "beyond": bool(error > 1.1 * usual and clear),
    }


def summary(lines: pd.DataFrame) -> pd.DataFrame:
    """Per learner and rule: recordings, fits per candidate, geometric mean of the ratios and its error over tables."""
    rows = []
    for (family, rule), group in lines.groupby(["family", "rule"], sort=False):
        by_table = np.log(group["ratio"]).groupby(group["table"]).mean()
        rows.append(
            {
                "family": family,
                "rule": rule,
                "tables": len(by_table),
                "fits": group["fits"].mean(),
                "ratio": np.exp(by_table.mean()),
                "error": by_table.std(ddof=1) / np.sqrt(len(by_table)),
                "worst": group["ratio"].max(),
                "beyond": int(group["beyond"].sum()),
            }
        )
    return pd.DataFrame(rows)


def as_text(found: pd.DataFrame) -> str:
    """The summary as a table in Markdown."""
    head = (
        "| learner, candidates | tables | rule | fits per candidate | held-out error / cv=10 | worst | beyond 1.10 |\n"
    )
    lines = [head + "|---|---|---|---|---|---|---|"]
    for family in [name for name in NAMES if name in set(found["family"])]:
        for _, row in found[found["family"] == family].iterrows():
            lines.append(
                f"| {NAMES[family]} | {row['tables']} | {row['rule']} | {row['fits']:.2f} | {row['ratio']:.3f} ± "
                f"{row['error']:.3f} | {row['worst']:.2f} | {row['beyond']} |"
            )
    return "\n".join(lines)


def picture(found: pd.DataFrame, file: Path) -> None:
    """Fits against held-out error, one panel per learner."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "race"
    families = [name for name in NAMES if name in set(found["family"])]
    figure, panels = plt.subplots(
        1, len(families), figsize=(3.4 * len(families), 3.6), sharey=True, layout="constrained"
    )
    for ax, family in zip(np.atleast_1d(panels), families, strict=True):
        for i, (_, row) in enumerate(found[found["family"] == family].iterrows()):
            colour = "#d62728" if row["rule"] == "race" else f"C{i}" if i != 3 else "C9"
            ax.errorbar(row["fits"], row["ratio"], row["error"], fmt="o", color=colour, capsize=2, label=row["rule"])
        ax.axhline(1.0, color="#999999", linewidth=0.8, zorder=0)
        ax.set(title=NAMES[family], xlabel="fits per candidate", xlim=(0, 10.6))
    np.atleast_1d(panels)[0].set_ylabel("held-out error / that of cv=10")
    handles, labels = np.atleast_1d(panels)[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    """Print the table, and write it down if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("OUTSAMPLE_DATA", ".")) / "suite")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = outcomes(options.folder, options.data)
    found = summary(lines)
    print(as_text(found))
    print(lines[lines["beyond"] & (lines["rule"] == "race")].to_string(index=False))
    if options.write:
        page = HERE / "RACE.md"
        before, _, rest = page.read_text().partition("<!-- table -->\n")
        _, _, after = rest.partition("<!-- end -->")
        page.write_text(f"{before}<!-- table -->\n{as_text(found)}\n<!-- end -->{after}")
        picture(found, HERE / "race.svg")


if __name__ == "__main__":
    main()
