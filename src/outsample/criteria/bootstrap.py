"""The bootstrap of rows: bags drawn with replacement, judged on the rows they miss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from outsample.checks import one_of, whole_number
from outsample.criteria.base import Criterion
from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import with_params
from outsample.evidence.rows import BAG_LEARNERS, BAGS, FitsOnRows
from outsample.problem import Problem
from outsample.resampling.bags import (
    OutOfBag,
    by_unit,
    draw_bags,
    drawing_units,
    out_of_bag,
    weight_632,
    weight_632_plus,
    weight_repeats,
)
from outsample.running.arrays import Array, Floats
from outsample.running.run import ROW_SPLITS, child_seed
from outsample.running.workers import results_of

Counts = NDArray[np.intp]

Kind = Literal["oob", "bags", "632", "632+", "optimism"]
NAMES = {"oob": "bootstrap", "bags": "bag-bootstrap", "632": "632", "632+": "632+", "optimism": "optimism-bootstrap"}
MEANINGS = {
    "oob": "of models fitted to bags of rows, judged on the rows they miss (pessimistic: a bag holds 63% of the rows)",
    "bags": "of models fitted to bags of rows, the mean over bags of the risk on the rows each misses (pessimistic: a "
    "bag holds 63% of the rows)",
    "632": "as .368 of the in-sample and .632 of the out-of-bag risk (too low for models that fit any labels)",
    "632+": "as a mean of in-sample and out-of-bag risk that leans to the latter the more the model overfits",
    "optimism": "its optimism measured between bags and the sample they were drawn from (too small for models that "
    "fit any labels)",
}


@dataclass(frozen=True)
class Bootstrap(Criterion):
    """Fit to bags of rows drawn with replacement, judge on rows outside the bags.

    * "oob": each row's mean loss over the bags that miss it, then the mean over rows (Efron & Tibshirani's Err^(1)).
    * "bags": the mean over bags of the risk on the rows that each misses; `fold_variance` is its variance over bags.
      The same limit as "oob", with the bags that miss more rows counting no more than others. It has no standard error.
    * "632": .368 e_in + .632 e_oob (Efron 1983).
    * "632+": the weight of e_oob grows with the overfitting rate R = (e_oob − e_in)/(γ − e_in), γ the risk without
      information, the mean loss over all pairs of a label and a prediction (Efron & Tibshirani 1997). For any
      loss with such a crossed mean, not only zero-one.
    * "optimism": e_in + mean over bags of (risk on all rows − risk on the bag) (Efron 1983, Harrell).

    Where groups are given, whole groups are drawn. A bag is fitted as distinct rows with weights where that is the
    same fit (see `resampling.bags.weight_repeats`), and as repeated rows otherwise. Rows that no bag misses are left
    out of the average. A scorer judges the rows outside each bag as one set, and the bags are averaged.

    Estimates the expected loss on a new sample of the model fitted to all rows. `standard_error` is the infinitesimal
    jackknife after the bootstrap (Efron & Tibshirani 1997, §5), for "632" and "632+" with the influence of rows on
    the in-sample risk added and their weights taken as fixed; for "optimism" the spread of the in-sample losses,
    enlarged to the level of the estimate. Of scorers it is the spread of the score plus influence that each row has in
    the bags that miss it, for "oob" only. Its interval covers the estimate's own expectation over
    data sets: the bias of "oob" (upwards) and of "632" and "optimism" (downwards, for models that overfit) is not in
    it. `monte_carlo_error` is what finitely many bags add.

    Parameters
    ----------
    n_bags : number of bags, at least 2.
    kind : see above.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> result = outsample.estimate(tree, X, y, criterion=outsample.Bootstrap(20, kind="632+"), random_state=0)
    >>> round(result.out_sample, 3)
    0.065
    """

    n_bags: int = 100
    kind: Kind = "oob"

    def __post_init__(self) -> None:
        one_of("kind", self.kind, NAMES)
        object.__setattr__(self, "n_bags", whole_number("n_bags", self.n_bags, 2))

    @property
    def name(self) -> str:  # type: ignore[override]
        """The word for it in results."""
        return NAMES[self.kind]

    def _curve(self, problem: Problem) -> RiskCurve:
        units = drawing_units(problem.n_samples, problem.groups)
        bags = draw_bags(units, self.n_bags, child_seed(problem.seed, ROW_SPLITS, BAGS))
        if self.kind == "optimism":
            return self._by_optimism(problem, bags)
        if self.kind == "bags" or not problem.loss.per_row:
            return self._by_sets(problem, bags)
        return self._by_rows(problem, bags, units)

    def _by_rows(self, problem: Problem, bags: Counts, units: NDArray[np.intp]) -> RiskCurve:
        losses = (
            problem.loss.pointwise(problem.y[bag == 0], predicted)
            for bag, predicted in zip(bags, _outside(problem, bags), strict=True)
        )
        found = problem.once(("out of bag", self.n_bags), lambda: out_of_bag(bags, losses, problem.weight, units))
        return self._record(
            problem,
            self._mixed(problem, found.risk),
            standard_error=self._standard_error(problem, found, self._weight(problem, found.risk), units),
            monte_carlo_error=self._carried(problem, found.risk, found.monte_carlo_error),
            left_out=LeftOut(found.by_row, problem.weight, groups=problem.groups),
        )

    def _mixed(self, problem: Problem, risk: Floats) -> Floats:
        """The estimate from the out-of-bag risk, (models,)."""
        weight = self._weight(problem, risk)
        return np.asarray((1 - weight) * problem.in_sample + weight * risk)

    def _carried(self, problem: Problem, risk: Floats, error: Floats) -> Floats:
        """Error of the estimate from that of the out-of-bag risk: the weight of "632+" moves with it, too."""
        low, high = (self._mixed(problem, risk + sign * error) for sign in (-1, 1))
        return np.asarray(np.abs(high - low) / 2)

    def _standard_error(self, problem: Problem, found: OutOfBag, weight: Floats, units: NDArray[np.intp]) -> Floats:
        if self.kind == "oob":
            return found.standard_error()
        losses = problem.loss.pointwise(problem.y, problem.fitted) - problem.in_sample[:, None]
        share = np.ones(problem.n_samples) if problem.weight is None else problem.weight
        return found.standard_error(1 - weight, by_unit(losses * share / share.sum(), units))

    def _by_sets(self, problem: Problem, bags: Counts) -> RiskCurve:
        judged, sizes, sums, often = (
            [],
            [],
            np.zeros((len(problem.path), problem.n_samples)),
            np.zeros(problem.n_samples),
        )
        for out, predicted in zip(bags == 0, _outside(problem, bags), strict=True):
            # Nothing can be ranked where a class is missing.
            if out.any() and not (problem.loss.ranks and _lacks_a_class(problem, out)):
                weight = None if problem.weight is None else problem.weight[out]
                judged.append(problem.loss.risk(problem.y[out], predicted, weight))
                sizes.append(out.sum())
                sums[:, out] += problem.loss.row_values(problem.y[out], predicted, weight)
                often += out
        if not judged:
            raise ValueError(
                f"y: no bag leaves out rows of every class, as {problem.loss.name} needs; raise n_bags or use more rows"
            )
        risks = np.stack(judged)
        risk, error = risks.mean(axis=0), risks.std(axis=0, ddof=1) / np.sqrt(len(risks))
        rows = np.divide(sums, often, out=np.full_like(sums, np.nan), where=often > 0)
        known = None if problem.weight is not None else np.array(sizes)
        whole = LeftOut(rows, problem.weight, fold_sizes=known, groups=problem.groups)
        table = None if np.isnan(sums).any() else whole
        note = f"{problem.loss.name} judges whole sets: the rows outside each bag are one set, bags are averaged"
        return self._record(
            problem,
            self._mixed(problem, risk),
            standard_error=table.standard_error if table is not None and self.kind == "oob" else None,
            monte_carlo_error=self._carried(problem, risk, error),
            left_out=table,
            fold_variance=risks.var(axis=0, ddof=1) if len(risks) > 1 else None,
            notes=() if problem.loss.per_row else (note,),
        )

    def _weight(self, problem: Problem, risk: Floats) -> Floats:
        """Weight of the out-of-bag risk, (models,)."""
        if self.kind in ("oob", "bags"):
            return np.ones(len(risk))
        if self.kind == "632":
            return weight_632(len(risk))
        no_information = problem.loss.crossed_mean(problem.y, problem.fitted, problem.weight, problem.label_weight)
        return weight_632_plus(problem.in_sample, risk, np.asarray(no_information))

    def _by_optimism(self, problem: Problem, bags: Counts) -> RiskCurve:
        optimism = []
        everywhere = np.ones(bags.shape, dtype=bool)
        for bag, predicted in zip(bags, _predictions(problem, bags, everywhere), strict=True):
            inside = np.repeat(np.arange(len(bag)), bag)
            weight = None if problem.weight is None else problem.weight[inside]
            on_bag = problem.loss.risk(problem.y[inside], predicted[:, inside], weight)
            optimism.append(problem.loss.risk(problem.y, predicted, problem.weight) - on_bag)
        drawn = np.stack(optimism)
        out_sample = problem.in_sample + drawn.mean(axis=0)
        return self._record(
            problem,
            out_sample,
            standard_error=problem.standard_error(out_sample),
            monte_carlo_error=drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn)),
            draws=drawn,
        )

    def _record(self, problem: Problem, out_sample: Floats, **more: Any) -> RiskCurve:
        return problem.curve(
            out_sample=out_sample,
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}, {MEANINGS[self.kind]}",
            **more,
        )


def _lacks_a_class(problem: Problem, rows: NDArray[np.bool_]) -> bool:
    """Whether none of these rows has the label of some class."""
    classes = problem.target.classes
    return classes is not None and len(np.unique(problem.y[rows])) < len(classes)


def _outside(problem: Problem, bags: Counts) -> Iterator[Array]:
    """Predictions of each bag's models for the rows outside it."""
    return _predictions(problem, bags, bags == 0)


def _predictions(problem: Problem, bags: Counts, asked: NDArray[np.bool_]) -> Iterator[Array]:
    """Predictions of each bag's models for the rows `asked` of them (bags, n), in the order of the bags."""
    fits = _BagFits(problem, len(bags))
    cost = problem.design.fits_per_draw
    tasks = ((b, bags[b], asked[b]) for b in range(len(bags)))
    finished = problem.finished("bags", len(bags), bool(asked.all()))
    for b, predicted in enumerate(results_of(fits, tasks, problem.n_jobs, finished)):
        problem.progress((b + 2) * cost, (len(bags) + 1) * cost)
        yield predicted


class _BagFits:
    """Fits the path to a bag, by weights or by repetition."""

    def __init__(self, problem: Problem, n_bags: int) -> None:
        self.fits = FitsOnRows(problem, BAG_LEARNERS, "bag", n_bags)
        self.weight = problem.weight
        self.nothing = problem.fitted[:, :0]
        self.by_weight = problem.path.takes_weight and all(
            weight_repeats(with_params(problem.path.estimator, params)) for params in problem.path.params
        )

    def __call__(self, number: int, bag: Counts, asked: NDArray[np.bool_]) -> Array:
        if not asked.any():
            return self.nothing
        inside = np.flatnonzero(bag) if self.by_weight else np.repeat(np.arange(len(bag)), bag)
        weight = None if self.weight is None else self.weight[inside]
        if self.by_weight:
            weight = np.asarray(bag[inside] * (1.0 if weight is None else weight), dtype=np.float64)
        return self.fits.predictions(number, inside, weight, np.flatnonzero(asked))
