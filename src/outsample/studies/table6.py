"""Table 6: regret on real data when every estimate may spend ten fits.

Grids, ties and scaling are not printed in the paper; they were recovered by search (docs/reproduction.md). Trees of
1 … 100 leaves, once growing by the largest information gain per node and once, as scikit-learn does, by the gain
weighted with the node's share; k-NN on raw features with k = 2 … 30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from outsample.running.progress import Progress
from outsample.studies.catalogue import study_command
from outsample.studies.result import StudyResult, findings_of, written
from outsample.studies.splits import FAMILIES, Episodes, Regrets, Work, claim_lines, real_sets, regret_findings, regrets

EPISODES = {family: Episodes(labels=10, left_out=10, folds=family != "k-NN") for family in FAMILIES}
BAND = 0.06

# data set → (LOO-CV, 10-fold, Perm., Rad.) for trees, (LOO-CV, Perm., Rad.) for k-NN
PAPER = {
    "Abalone": ((0.12, 0.13, 0.02, 0.02), (0.24, 0.09, 0.12)),
    "Ionosphere": ((0.24, 0.21, 0.18, 0.19), (0.49, 0.75, 0.84)),
    "M.Mass": ((0.23, 0.13, 0.06, 0.06), (0.15, 0.11, 0.12)),
    "Parkinsons": ((0.25, 0.31, 0.34, 0.40), (0.34, 0.32, 0.44)),
    "Pima Indians Diabetes": ((0.18, 0.18, 0.07, 0.07), (0.16, 0.12, 0.15)),
    "Spambase": ((0.28, 0.09, 0.07, 0.07), (0.44, 0.43, 0.54)),
    "Transfusion": ((0.19, 0.13, 0.08, 0.09), (0.17, 0.12, 0.19)),
    "WDBC": ((0.31, 0.40, 0.24, 0.37), (0.55, 0.33, 0.50)),
}
TREES = ("trees, gain per node", "trees, weighted gain")
CLAIMS = (
    *((family, "Perm.", other) for family in TREES for other in ("LOO-CV", "10-fold", "Rad.")),
    ("k-NN", "Perm.", "LOO-CV"),
    ("k-NN", "Perm.", "Rad."),
)


def run(
    n: int = 1000,
    seed: int = 0,
    store: Any = None,
    data_home: Any = None,
    out: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    names: Sequence[str] | None = None,
) -> StudyResult:
    """Regret on the paper's real data with ten fits per estimate.

    Parameters
    ----------
    n : random splits of each set, three quarters to train.
    seed, store, n_jobs, progress : see `many_splits.regrets`.
    data_home : see `outsample.datasets.load`.
    out : folder to write to, or None.
    names : data sets; None is all eight.
    """
    works = [
        (title, Work(data, data.name, family, EPISODES[family]))
        for title, data in real_sets(names, data_home)
        for family in FAMILIES
    ]
    found = regrets([work for _, work in works], n, seed, store=store, n_jobs=n_jobs, progress=progress)
    results = {(title, work.family): part for (title, work), part in zip(works, found, strict=True)}
    return written(_result("table6", f"Table 6: regret with 10 fits over {n} splits [paper]", results), out)


def _result(name: str, title: str, results: dict[tuple[str, str], Regrets]) -> StudyResult:
    rows = [
        regret_findings(results[case, family], family, case, PAPER[case][family == "k-NN"], BAND)
        for family in FAMILIES
        for case, of in results
        if of == family
    ]
    notes = (agreement_note(), *claim_lines(CLAIMS, results))
    return StudyResult(name, title, findings_of(rows), notes, draw_regrets(results))


def agreement_note() -> str:
    """What the marks and the numbers of the claims mean."""
    return f"✓: within {BAND} of the paper. Differences ± standard error of paired splits; positive: the first leads."


def draw_regrets(results: dict[tuple[str, str], Regrets]) -> Any:
    """A figure of regrets with standard errors, one panel per family."""

    def draw(figure: Any) -> None:
        families = list(dict.fromkeys(family for _, family in results))
        axes = figure.subplots(1, len(families), squeeze=False)[0]
        for ax, family in zip(axes, families, strict=True):
            cases = [case for case, of in results if of == family]
            for m, method in enumerate(results[cases[0], family].methods):
                points = [results[case, family].regret(method) for case in cases]
                at = [k + 0.15 * m for k in range(len(cases))]
                values, errors = zip(*points, strict=True)
                ax.errorbar(at, values, yerr=errors, fmt="o", label=method)
            ax.set_xticks(range(len(cases)), cases, rotation=60, ha="right")
            ax.set(title=family)
        axes[0].set(ylabel="regret")
        axes[0].legend()

    return draw


main = study_command(run, 1000, "splits")

if __name__ == "__main__":
    main()
