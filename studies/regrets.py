"""What choices cost: Tables 5, 6 and 7, Figure 5, imbalance, choosing by bounds, and Table 5 for our own criteria.

On each training set every criterion chooses one model of a path; the chosen and the best model are judged by their
error on held-out rows, or by their true error. Regret is a ratio of means over splits:
Σ (e_out(chosen) − e_out(best)) / Σ e_out(best).

Grids, ties and scaling are not printed in the paper; they were recovered by search (docs/reproduction.md). Trees have
1 … 100 leaves and grow once by the largest information gain per node and once, as in scikit-learn, by the gain weighted
with the node's share of the rows; k-NN reads raw features, k = 2 … 30. Ties go to the largest value of the parameter.
For Table 5 trees spend 1000 label draws, or as many as asked for, and leave out 1000 rows, or all there are; k-NN,
where fits are free, leaves out all rows and draws 100 label vectors.

The paper draws the region of its simulated problem without a formula; here it is `outsample.datasets.PlaneProblem`.
Table 7 is made by the true error, and once more on a quarter of the points held out: there the best model is the
luckiest of many on 75 points, and no choice comes near it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample.datasets import DATASETS, Dataset, PlaneProblem, load, plane_problem
from studies.shared import (
    AGREEMENT,
    Finding,
    Options,
    Result,
    agreement,
    drawn,
    finished,
    generator,
    mean_and_error,
    study,
    with_sets,
)

EVERY_ROW, FREE_DRAWS, PLENTY = 10**9, 100, 1000
N_FOLDS, N_POINTS, GRID_SIDE = 10, 300, 100
HELD_OUT = ", held out"

# Splits from which on a standard error over them can decide a claim.
FEWEST_SPLITS = 20

# Estimates that differ by less are tied: they are sums of counts.
EQUAL = 1e-12

Criteria = Mapping[str, Any]


@dataclass(frozen=True)
class Learner:
    """Models along one parameter."""

    estimator: BaseEstimator
    parameter: str
    values: range

    @property
    def grid(self) -> dict[str, list[int]]:
        """As a search takes it."""
        return {self.parameter: list(self.values)}


PER_NODE, WEIGHTED, NEIGHBOURS = "trees, gain per node", "trees, weighted gain", "k-NN"
SMALL_TREES = "trees of 2 … 30 leaves"
LEARNERS = {
    PER_NODE: Learner(outsample.BestFirstTreeClassifier(), "max_leaf_nodes", range(1, 101)),
    WEIGHTED: Learner(DecisionTreeClassifier(criterion="entropy", random_state=0), "max_leaf_nodes", range(2, 101)),
    NEIGHBOURS: Learner(KNeighborsClassifier(), "n_neighbors", range(2, 31)),
    SMALL_TREES: Learner(outsample.BestFirstTreeClassifier(), "max_leaf_nodes", range(2, 31)),
}
OF_THE_PAPER = (PER_NODE, WEIGHTED, NEIGHBOURS)


def of_the_paper(labels: int, left_out: int, folds: bool, n: int) -> Criteria:
    """The paper's estimates with so many label draws and rows left out, on n rows."""
    alone = outsample.LeaveOneOut(left_out if left_out < n else None)
    tenfold = {"10-fold": outsample.CrossValidation(KFold(N_FOLDS, shuffle=True))} if folds else {}
    drawn_labels = {"Perm.": outsample.Permutation(labels), "Rad.": outsample.Rademacher(labels)}
    return {"LOO-CV": alone, **tenfold, **drawn_labels}


@dataclass(frozen=True, eq=False)
class Work:
    """A learner on a problem, and the criteria that choose.

    Attributes
    ----------
    criteria : how many rows there are → the criteria by their names.
    held_out : whether models of simulated data are judged on a quarter of the points, like those of real data, instead
        of by their true error.
    largest : whether ties go to the largest value of the parameter; otherwise to the simplest model, as in the library.
    """

    problem: Dataset | PlaneProblem
    name: str
    learner: str
    criteria: Callable[[int], Criteria]
    held_out: bool = False
    largest: bool = True

    @property
    def unit(self) -> str:
        """Its name in a store."""
        told = joblib.hash((self.problem, self.criteria(0), self.held_out, self.largest))[:16]
        return f"{self.name}/{self.learner}/{told}"

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the criteria."""
        return tuple(self.criteria(0))


def one_split(work: Work, seed: int, s: int) -> np.ndarray:
    """Errors of the best model and of the chosen ones, and the values of the parameter that were chosen."""
    problem, learner = work.problem, LEARNERS[work.learner]
    rng = generator(seed, zlib.crc32(work.name.encode()), s)
    if isinstance(problem, Dataset):
        X, y = problem.X, problem.y
    else:
        X, y = problem.sample(N_POINTS, rng)
    if isinstance(problem, Dataset) or work.held_out:
        order = rng.permutation(len(y))
        train, test = order[: 3 * len(order) // 4], order[3 * len(order) // 4 :]
        truth = outsample.ValidationSet(X[test], y[test])
        X, y = X[train], y[train]
    else:
        points, region, share = problem.grid(GRID_SIDE)
        truth = outsample.ValidationSet(points, region, share * len(share))
    random_state = int(rng.integers(2**31))
    asked = {"truth": truth, **work.criteria(len(y))}
    curves = curves_of(learner, X, y, asked, random_state)
    errors = curves["truth"].out_sample
    if isinstance(problem, PlaneProblem) and not work.held_out:
        errors = problem.risk_from_wrong(errors)
    values = np.array([params[learner.parameter] for params in curves["truth"].params])
    chosen = []
    for name in work.methods:
        estimate = curves[name].out_sample
        tied = np.flatnonzero(estimate <= estimate.min() + EQUAL)
        chosen.append(tied[np.argmax(values[tied])] if work.largest else tied[0])
    return np.concatenate([[errors.min()], errors[chosen], values[chosen]])


def curves_of(learner: Learner, X: Any, y: Any, criteria: Criteria, random_state: int) -> dict[str, Any]:
    """The risk curve of each criterion, over the same models in the same order."""
    found = outsample.compare(
        learner.estimator, X, y, param_grid=learner.grid, criteria=list(criteria.values()), random_state=random_state
    )
    return dict(zip(criteria, found.curves.values(), strict=True))


@dataclass(frozen=True, eq=False)
class Regrets:
    """Errors over splits: of the best model, then of the one each method chose; and the values that were chosen."""

    methods: tuple[str, ...]
    errors: np.ndarray
    values: np.ndarray

    def regret(self, method: str) -> tuple[float, float]:
        """(regret as a ratio of means, its standard error)."""
        return ratio_of_means(self._of(method) - self.errors[:, 0], self.errors[:, 0])

    def lead(self, method: str, other: str) -> tuple[float, float]:
        """(regret of `other` minus that of `method`, standard error of paired splits): positive if `method` leads."""
        return ratio_of_means(self._of(other) - self._of(method), self.errors[:, 0])

    def _of(self, method: str) -> np.ndarray:
        return self.errors[:, 1 + self.methods.index(method)]


def ratio_of_means(numerator: np.ndarray, denominator: np.ndarray) -> tuple[float, float]:
    """(Σ numerator / Σ denominator, standard error by the delta method) over paired samples."""
    ratio = float(numerator.mean() / denominator.mean())
    return ratio, mean_and_error(numerator - ratio * denominator)[1] / float(denominator.mean())


def regrets(works: Mapping[tuple[str, str], Work], options: Options) -> dict[tuple[str, str], Regrets]:
    """What choices cost on n splits of each piece of work, by (case, learner).

    Every split has random numbers of its own at an address made of the problem's name and its number, so that all
    learners and all studies see the same splits.
    """
    names = {key: work.unit for key, work in works.items()}
    tasks = {f"{names[key]}/{s}": (work, options.seed, s) for key, work in works.items() for s in range(options.n)}
    found = dict(zip(tasks, finished(one_split, tasks, options, study="splits"), strict=True))
    table = {key: np.stack([found[f"{name}/{s}"] for s in range(options.n)]) for key, name in names.items()}
    sizes = {key: 1 + len(work.methods) for key, work in works.items()}
    return {key: Regrets(works[key].methods, t[:, : sizes[key]], t[:, sizes[key] :]) for key, t in table.items()}


def findings_of(
    results: Mapping[tuple[str, str], Regrets], paper: Mapping[tuple[str, str], Sequence[float]], judged: bool = False
) -> tuple[Finding, ...]:
    """Regret of each criterion beside the paper's, learner by learner; `judged` where agreement is to be marked.

    Agreement is not judged on the simulated problem: the paper's region is another.
    """
    nothing = (float("nan"),) * 9

    def finding(learner: str, case: str, method: str, value: float, error: float, printed: float) -> Finding:
        band = agreement(error, ROUNDING) if judged and case != SIMULATED else float("nan")
        return Finding(learner, case, method, value, error, printed, band)

    return tuple(
        finding(learner, case, method, *found.regret(method), printed)
        for wanted in dict.fromkeys(learner for _, learner in results)
        for (case, learner), found in results.items()
        if learner == wanted
        for method, printed in zip(found.methods, paper.get((case, learner), nothing), strict=False)
    )


def claim_lines(claims: Iterable[tuple[str, str, str]], results: Mapping[tuple[str, str], Regrets]) -> Iterator[str]:
    """One line per claim (learner, method, other) that the method costs less: where it holds, fails, is undecided.

    Decided where the lead is more than two standard errors of the paired difference, on enough splits to know these.
    """
    for learner, method, other in claims:
        heard: dict[str, list[str]] = {"holds": [], "fails": [], "undecided": []}
        for (case, of), found in results.items():
            if of == learner:
                lead, error = found.lead(method, other)
                known = abs(lead) > 2 * error and len(found.errors) >= FEWEST_SPLITS
                word = ("holds" if lead > 0 else "fails") if known else "undecided"
                heard[word].append(f"{case} ({lead:+.3f}±{error:.3f})")
        told = "; ".join(f"{word}: {', '.join(cases)}" for word, cases in heard.items() if cases)
        yield f"{method} ≤ {other} with {learner}: {told or 'not studied'}"


def real_sets(options: Options) -> tuple[dict[str, Dataset], tuple[str, ...]]:
    """(the data sets by their titles in the paper, a sentence for each that cannot be had)."""
    found, missing = {}, []
    for name in with_sets(options, (*DATASETS, SIMULATED.lower())):
        if name != SIMULATED.lower():
            try:
                found[DATASETS[name].title] = load(name, options.data)
            except (OSError, ValueError) as error:
                missing.append(f"{DATASETS[name].title} is left out: {error}")
    return found, tuple(missing)


# Half a unit of the last digit of the paper.
ROUNDING = 0.005
SIMULATED = "Simulated"
PAIRED = "Differences ± standard error of paired splits; positive: the first leads."

# Table 6: data set → (LOO-CV, 10-fold, Perm., Rad.) for trees, (LOO-CV, Perm., Rad.) for k-NN.
TABLE6 = {
    "Abalone": ((0.12, 0.13, 0.02, 0.02), (0.24, 0.09, 0.12)),
    "Ionosphere": ((0.24, 0.21, 0.18, 0.19), (0.49, 0.75, 0.84)),
    "M.Mass": ((0.23, 0.13, 0.06, 0.06), (0.15, 0.11, 0.12)),
    "Parkinsons": ((0.25, 0.31, 0.34, 0.40), (0.34, 0.32, 0.44)),
    "Pima Indians Diabetes": ((0.18, 0.18, 0.07, 0.07), (0.16, 0.12, 0.15)),
    "Spambase": ((0.28, 0.09, 0.07, 0.07), (0.44, 0.43, 0.54)),
    "Transfusion": ((0.19, 0.13, 0.08, 0.09), (0.17, 0.12, 0.19)),
    "WDBC": ((0.31, 0.40, 0.24, 0.37), (0.55, 0.33, 0.50)),
}
CLAIMS6 = (
    *((learner, "Perm.", other) for learner in (PER_NODE, WEIGHTED) for other in ("LOO-CV", "10-fold", "Rad.")),
    (NEIGHBOURS, "Perm.", "LOO-CV"),
    (NEIGHBOURS, "Perm.", "Rad."),
)

# Table 5: data set → (LOO-CV, Perm., Rad.) for trees and for k-NN.
TABLE5 = {
    "Abalone": ((0.05, 0.02, 0.02), (0.04, 0.04, 0.04)),
    "Ionosphere": ((0.17, 0.16, 0.17), (0.17, 0.70, 0.83)),
    "M.Mass": ((0.09, 0.05, 0.05), (0.09, 0.11, 0.11)),
    "Parkinsons": ((0.24, 0.34, 0.41), (0.25, 0.33, 0.43)),
    "Pima Indians Diabetes": ((0.09, 0.07, 0.07), (0.11, 0.11, 0.14)),
    "Spambase": ((0.07, 0.06, 0.07), (0.19, 0.43, 0.55)),
    "Transfusion": ((0.10, 0.08, 0.09), (0.09, 0.12, 0.19)),
    "WDBC": ((0.20, 0.23, 0.34), (0.21, 0.34, 0.51)),
    SIMULATED: ((0.16, 0.15, 0.15), (0.21, 0.21, 0.21)),
}
CLAIMS5 = (
    (PER_NODE, "Perm.", "LOO-CV"),
    (PER_NODE, "Perm.", "Rad."),
    (NEIGHBOURS, "LOO-CV", "Perm."),
    (NEIGHBOURS, "Perm.", "Rad."),
)


def _paper(table: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> dict[tuple[str, str], Sequence[float]]:
    return {(case, of): printed[of == NEIGHBOURS] for case, printed in table.items() for of in OF_THE_PAPER}


def _on_real_data(name: str, title: str, works: Any, paper: Any, claims: Any, options: Options, notes: Any) -> Result:
    results = regrets(works, options)
    findings = findings_of(results, paper, judged=True)
    told = (AGREEMENT, PAIRED, *claim_lines(claims, results), *notes)
    return Result(name, title, findings, told, drawn(findings, "regret"))


@dataclass(frozen=True)
class Budget:
    """How many label draws and rows left out the paper's estimates may spend, and whether ten folds are one of them."""

    labels: int
    left_out: int
    folds: bool

    def __call__(self, n: int) -> Criteria:
        return of_the_paper(self.labels, self.left_out, self.folds, n)


@study("splits", n=1000, quick={"n": 4})
def table6(options: Options) -> Result:
    """Table 6: regret on the paper's real data with ten fits per estimate."""
    data, missing = real_sets(options)
    works = {
        (title, learner): Work(of, of.name, learner, Budget(10, 10, learner != NEIGHBOURS))
        for title, of in data.items()
        for learner in OF_THE_PAPER
    }
    title = f"Table 6: regret with 10 fits over {options.n} splits [paper]"
    return _on_real_data("table6", title, works, _paper(TABLE6), CLAIMS6, options, missing)


@study("splits", n=1000, quick={"n": 2, "draws": 20})
def table5(options: Options) -> Result:
    """Table 5: regret on the paper's real data with a thousand fits per estimate, and on 300 simulated points.

    A split of 800 rows takes a second or two, one of spambase ten: give a store and time, or fewer label draws.
    """
    data, missing = real_sets(options)
    budgets = {PER_NODE: Budget(options.draws, PLENTY, False)}
    budgets[NEIGHBOURS] = Budget(min(options.draws, FREE_DRAWS), EVERY_ROW, False)
    works = {(t, learner): Work(of, of.name, learner, b) for t, of in data.items() for learner, b in budgets.items()}
    if not options.sets or SIMULATED.lower() in options.sets:
        plane = plane_problem(0.4)
        works |= {(SIMULATED, le): Work(plane, SIMULATED.lower(), le, b, held_out=True) for le, b in budgets.items()}
    title = (
        f"Table 5: regret with plenty of fits over {options.n} splits, {options.draws} label draws for trees [paper]"
    )
    return _on_real_data("table5", title, works, _paper(TABLE5), CLAIMS5, options, missing)


# Table 7: noise in per cent → (LOO-CV, Perm., Rad.).
NOISE_LEVELS = {
    5: (0.30, 0.28, 0.28),
    10: (0.28, 0.27, 0.27),
    15: (0.28, 0.25, 0.25),
    20: (0.28, 0.26, 0.26),
    25: (0.26, 0.25, 0.25),
    30: (0.24, 0.24, 0.24),
    35: (0.24, 0.23, 0.24),
    40: (0.25, 0.26, 0.26),
    45: (0.24, 0.26, 0.26),
}
# Per cent of the points in the positive region, with 10 % of the labels flipped.
SHARES = (50, 40, 30, 20, 10)
ON_THE_PLANE = Budget(labels=30, left_out=N_POINTS, folds=False)


def _on_the_plane(
    name: str, title: str, problems: Mapping[str, PlaneProblem], paper: Any, judges: Sequence[str], options: Options
) -> Result:
    """Regret of both learners on each problem; the paper's values are shown only: its region is another."""
    learners = (PER_NODE, NEIGHBOURS)
    works = {
        (case, learner + judge): Work(problem, case, learner, ON_THE_PLANE, held_out=judge == HELD_OUT)
        for judge in judges
        for learner in learners
        for case, problem in problems.items()
    }
    results = regrets(works, options)
    findings = findings_of(results, {key: paper[key[0]] for key in works} if paper else {})
    claims = [
        (learner + judge, "Perm.", other) for judge in judges for learner in learners for other in ("LOO-CV", "Rad.")
    ]
    own = "The region is this library's own, so the pattern is comparable, the digits are not."
    return Result(name, title, findings, (own, *claim_lines(claims, results)), drawn(findings, "regret", joined=True))


@study("data sets", n=1000, quick={"n": 4})
def table7(options: Options) -> Result:
    """Table 7: regret on 300 simulated points in two dimensions with 5 … 45 % of the labels flipped."""
    problems = {f"noise {level} %": plane_problem(level / 100) for level in NOISE_LEVELS}
    paper = {f"noise {level} %": printed for level, printed in NOISE_LEVELS.items()}
    title = f"Table 7: regret against label noise over {options.n} data sets [paper, another region]"
    return _on_the_plane("table7", title, problems, paper, ("", HELD_OUT), options)


@study("data sets", n=1000, quick={"n": 8})
def imbalance(options: Options) -> Result:
    """Regret on 300 simulated points, from balanced to one positive in ten, with 10 % noise (§4.3)."""
    problems = {f"{share} % positive": plane_problem(0.1, share / 100) for share in SHARES}
    title = f"Imbalance: regret against the share of positives over {options.n} data sets"
    return _on_the_plane("imbalance", title, problems, {}, ("",), options)


BY_BOUND = {
    "Perm.": outsample.Permutation(10),
    "Perm. bound": outsample.PermutationBound(n_draws=10),
    "Rad.": outsample.Rademacher(10),
    "Rad. bound": outsample.RademacherBound(n_draws=10),
    "discrepancy": outsample.ExpectedDiscrepancy(10),
    "LOO-CV, 10 rows": outsample.LeaveOneOut(10),
}


def by_bound(n: int) -> Criteria:
    """Bounds, and the estimates they belong to."""
    return BY_BOUND


@study("data sets", n=100, quick={"n": 3})
def selection(options: Options) -> Result:
    """Bounds in place of estimates for choosing: "generally inferior", the paper says (§4.3). Are they?

    A bound adds the whole complexity where the estimate adds half of it, so that it chooses simpler trees.
    """
    noises = (0.05, 0.2, 0.4)
    works = {
        (f"noise {100 * noise:.0f} %", SMALL_TREES): Work(
            plane_problem(noise), f"selection {noise}", SMALL_TREES, by_bound, largest=False
        )
        for noise in noises
    }
    results = regrets(works, options)
    findings = []
    for (case, _), found in results.items():
        for m, method in enumerate(found.methods):
            findings.append(Finding("regret", case, method, *found.regret(method)))
            findings.append(Finding("leaves chosen", case, method, *mean_and_error(found.values[:, m])))
    said = []
    for estimate in ("Perm.", "Rad."):
        errors = np.concatenate([found.errors for found in results.values()])
        together = Regrets(tuple(BY_BOUND), errors, np.empty(0))
        lead, error = together.lead(estimate, f"{estimate} bound")
        word = "more" if lead > 0 else "less"
        said.append(f"{estimate} bound: {abs(lead):.3f} ± {error:.3f} {word} regret than the estimate itself.")
    title = f"Choosing among {SMALL_TREES}, {options.n} data sets of {N_POINTS} points at each level of noise"
    return Result("selection", title, tuple(sorted(findings, key=lambda f: f.quantity, reverse=True)), tuple(said))


TEN = 10
OURS = {
    "permutation": outsample.Permutation(TEN),
    "two-stage": outsample.TwoStagePermutation(TEN),
    "rows-and-labels": outsample.RowsAndLabels(TEN),
    "auto": outsample.Auto(),
}


def our_own(n: int) -> Criteria:
    """Ten fits each, beside ten folds, and leave-one-out with a thousand fits."""
    alone = outsample.LeaveOneOut(PLENTY if n > PLENTY else None)
    return {"LOO-CV": alone, "10-fold": outsample.CrossValidation(KFold(N_FOLDS, shuffle=True)), **OURS}


@study("splits", n=200, quick={"n": 1})
def criteria(options: Options) -> Result:
    """Table 5 for this library's own criteria: ten fits each, beside ten folds and leave-one-out."""
    data, missing = real_sets(options)
    learners = (PER_NODE, NEIGHBOURS)
    works = {(t, le): Work(of, of.name, le, our_own, largest=False) for t, of in data.items() for le in learners}
    results = regrets(works, options)
    claims = [
        (learner, ours, other)
        for learner in learners
        for ours in ("auto", "rows-and-labels")
        for other in ("LOO-CV", "10-fold", "permutation")
    ]
    findings = findings_of(results, {})
    title = f"Table 5 for our criteria, {TEN} fits each, LOO-CV up to {PLENTY}, over {options.n} splits"
    notes = (PAIRED, *claim_lines(claims, results), *missing)
    return Result("criteria", title, findings, notes, drawn(findings, "regret"))


def one_set_of_curves(data: Dataset, learner: str, n: int, seed: int) -> np.ndarray:
    """Leave-one-out, permutation and held-out error along the parameter, on one split: (3, models)."""
    rng = generator(seed, zlib.crc32(data.name.encode()), 0)
    order = rng.permutation(len(data.y))
    train, test = order[: 3 * len(order) // 4], order[3 * len(order) // 4 :]
    rows = n if n < len(train) else None
    asked = {
        "LOO-CV": outsample.LeaveOneOut(rows),
        "Perm.": outsample.Permutation(n),
        "held-out error": outsample.ValidationSet(data.X[test], data.y[test]),
    }
    of = LEARNERS[learner]
    curves = curves_of(of, data.X[train], data.y[train], asked, int(rng.integers(2**31)))
    along = np.argsort([params[of.parameter] for params in curves["Perm."].params])
    return np.stack([curve.out_sample[along] for curve in curves.values()])


@study("fits", n=200, quick={"n": 40})
def figure5(options: Options) -> Result:
    """Figure 5: the smooth permutation curve against the jagged leave-one-out curve, on one split of a real data set.

    The paper shows them on its Diffusion data, which are not public. How jagged a curve is, is measured by its mean
    absolute second difference along the parameter.
    """
    data = load(options.sets[0] if options.sets else "abalone", options.data)
    shown, methods = (PER_NODE, NEIGHBOURS), ("LOO-CV", "Perm.", "held-out error")
    tasks = {f"{data.name}/{learner}/{options.n}": (data, learner, options.n, options.seed) for learner in shown}
    curves = dict(zip(shown, finished(one_set_of_curves, tasks, options, study="curves"), strict=True))
    findings = []
    for learner, found in curves.items():
        for method, curve in zip(methods, found, strict=True):
            rough = float(np.mean(np.abs(np.diff(curve, 2))))
            findings.append(Finding("roughness", learner, method, rough))
            distance = float(np.mean(np.abs(curve - found[-1])))
            findings.append(Finding("mean distance from held-out error", learner, method, distance))

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, len(curves))
        for ax, (learner, found) in zip(axes, curves.items(), strict=True):
            for method, curve in zip(methods, found, strict=True):
                ax.plot(LEARNERS[learner].values, curve, label=method)
            label = "k, number of neighbours" if learner == NEIGHBOURS else "leaves"
            ax.set(title=learner, xlabel=label, ylabel="error rate")
        axes[0].legend()

    title = f"Figure 5: roughness of the curves on one split of {data.name}, {options.n} fits of each estimate"
    notes = ("In place of Diffusion, which is not public. Roughness: mean absolute second difference along the curve.",)
    return Result("figure5", title, tuple(sorted(findings, key=lambda f: f.quantity, reverse=True)), notes, draw)
