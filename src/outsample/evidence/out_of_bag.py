"""The rows that single estimators of an ensemble did not see: one fit to all rows, and every row left out of it.

A row is out of bag in m of M estimators, so that raw out-of-bag predictions are those of a smaller ensemble, which errs
more. What chance in the estimators adds to the risk falls like 1/m: exactly for squared errors, to the first order for
others, zero-one loss and scorers included. With the estimators that did not see a row split in two halves, the risk of
a half exceeds that of the whole by as much as the whole exceeds an endless ensemble, and the share (1 − m/M) of this
difference is subtracted. For squared errors the mean over all halves has a closed form, s²/m.

Scores that rank rows compare what estimators say of two rows, and out of bag every row would be judged by others: where
its own class is a little rarer than in those that judge the other row. Two rows are therefore compared by the
estimators that saw neither (Airola et al. 2011: leave-pair-out).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from outsample.data.learners import FitError, fit, last_step, respond, seeded, with_params
from outsample.losses.base import weighted_mean
from outsample.losses.scorers.ranks import Pairs
from outsample.losses.whole_set import ScorerLoss
from outsample.paths.dispatch import is_patched
from outsample.paths.out_of_bag import (
    SIZE,
    Votes,
    first_estimators,
    fitted_by_patch,
    no_votes,
    objection,
    opinions,
    own_unseen,
    read_by_ensemble,
    size_in_memory,
)
from outsample.problem import Problem
from outsample.running.arrays import Array, Bools, Floats, Rows
from outsample.running.kept_fits import setting_key
from outsample.running.run import ROW_SPLITS, child_generator
from outsample.running.workers import results_of

# Address below ROW_SPLITS of the halves of the estimators; lower ones are taken in `evidence.rows`.
HALVES = 6

# The estimators are split in two in at most so many ways, and in fewer where rows are many, which average over chance,
# too: about so many splits of a row in all. Scorers, which are computed for every half, get half as many.
MOST_SPLITS, SPLITS_IN_ALL = 8, 4000

# Trees below which rows are left out by too few of them: a row is out of bag in 37 % of the trees.
FEWEST_TREES = 30

# The same for scores that rank rows: two of them are out of bag in 14 % of the trees.
FEWEST_TREES_OF_PAIRS = 80

# Rows that are compared with each other, at most; more are compared within blocks of so many.
MOST_COMPARED = 1000

# Ways in which estimators that compare rows are split in two, and the share of a sum that is its rounding.
SPLITS_OF_PAIRS, ROUNDING = 2, 1e-5


@dataclass(frozen=True)
class Growth:
    """Models of a path that are beginnings of one ensemble.

    Attributes
    ----------
    models : their places on the path, smallest first.
    sizes : their numbers of estimators.
    """

    models: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Unseen:
    """What one fit says of rows out of bag, for every size of its ensemble.

    Attributes
    ----------
    predictions : (sizes, n[, classes or outputs]) raw; −1 for codes, nan for numbers, where all estimators saw the row.
    counts : (sizes, n) estimators that did not see the row; −1 where that is not known.
    in_sample : (sizes,) risk on the rows fitted.
    losses : (sizes, n) losses of rows, corrected if asked for, nan where all estimators saw it; of losses that rank
        rows their risk plus the influence of the row; no rows for other losses of whole sets.
    risk : (sizes,) their mean, or the risk of all of them together.
    """

    predictions: Array
    counts: Rows
    in_sample: Floats
    losses: Floats
    risk: Floats


def tells_out_of_bag(problem: Problem) -> bool:
    """Whether every model of a path is an ensemble that has enough estimators for the rows that they did not see.

    Not by a loss without limit: it hangs on the few rows whose class none of the estimators names, and those that did
    not see a row, a third of all, leave it out far more often than all of them do. On 46 tables with classes, twelve
    forests each, the log loss by ten folds was .097 off (root mean square), out of bag .165 and too high by .072,
    corrected .124, and the forests chosen by folds were the best ones (benchmarks/forest_choice.py).
    """
    loss = problem.loss
    if problem.groups is not None or problem.path.pairwise or not loss.reads_predictions or loss.limitless:
        return False
    learners = [with_params(problem.path.estimator, params) for params in problem.path.params]
    if objection_to_ranks(problem) is not None:
        return False
    fewest = FEWEST_TREES_OF_PAIRS if loss.ranks else FEWEST_TREES
    return all(objection(it) is None and last_step(it).get_params()[SIZE] >= fewest for it in learners)


def objection_to_ranks(problem: Problem) -> str | None:
    """Why a score that ranks rows cannot be computed out of bag; None where it can, and for other losses."""
    if not problem.loss.ranks:
        return None
    if not isinstance(problem.loss, ScorerLoss) or not problem.loss.ranks_pairs:
        return f"compares two rows at a time, which {problem.loss.name} cannot be computed from"
    learners = [last_step(with_params(problem.path.estimator, params)) for params in problem.path.params]
    if any(is_patched(type(learner)) for learner in learners):
        return f"ranks rows by trees that saw neither of two, and {type(learners[0]).__name__} does not tell its bags"
    return None


def gains_by_correction(problem: Problem) -> bool:
    """Whether losses out of bag are better corrected to the size of the ensemble: not those of 0 or 1 or without limit.

    What halves of the trees tell of losses that are 0 or 1 is noisy. On 26 tables with classes the raw errors of
    forests were nearer to the held-out ones (by .0001 ± .0028 too high, corrected ones .0020 too low), and the forests
    chosen by them better, by .0012 ± .0006 (benchmarks/forest_choice.py). Of losses without limit the correction may
    take away more than there is.
    """
    return not problem.loss.unit_interval and not problem.loss.limitless


def out_of_bag(problem: Problem) -> Unseen:
    """What one fit per ensemble says of rows out of bag; the fits are kept for the refit."""
    growths = growths_of(problem)
    return by_model(growths, kept_fits(problem, growths, gains_by_correction(problem)))


def kept_fits(problem: Problem, growths: Sequence[Growth], corrected: bool) -> Iterator[Unseen]:
    """What fits to the real labels say of rows out of bag, one after the other; they are kept for the refit."""
    fits = OutOfBagFits(problem, growths, corrected, problem.real_seed)
    for g, unseen in enumerate(fits.results(problem, problem.n_jobs)):
        if g in fits.models:
            _offer(problem, growths[g], unseen, fits.models.pop(g))
        yield unseen


def growths_of(problem: Problem) -> list[Growth]:
    """The models of a path by the fits that give them: one for all sizes of an ensemble, unless all are refitted."""
    path = problem.path
    learners = [last_step(with_params(path.estimator, params)) for params in path.params]
    sizes = [int(learner.get_params()[SIZE]) for learner in learners]
    if path.refits or any(is_patched(type(learner)) for learner in learners):
        return [Growth((i,), (size,)) for i, size in enumerate(sizes)]
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    return [Growth(tuple(order), tuple(sizes[i] for i in order))]


def by_model(growths: Sequence[Growth], found: Iterator[Unseen] | Sequence[Unseen]) -> Unseen:
    """The evidence of several fits as one, in the order of the models."""
    order = np.argsort([model for growth in growths for model in growth.models])
    parts = zip(*(vars(unseen).values() for unseen in found), strict=True)
    return Unseen(*(np.concatenate(arrays)[order] for arrays in parts))


def _offer(problem: Problem, growth: Growth, unseen: Unseen, model: Any) -> None:
    """Keep a fitted ensemble for the refit, for every size that was asked for."""
    models = {}
    for place, size in zip(growth.models, growth.sizes, strict=True):
        key = setting_key(with_params(problem.path.estimator, problem.path.params[place]))
        if key is not None:
            models[key] = partial(first_estimators, model, size)
    risk = float(np.nanmin(unseen.risk)) if np.isfinite(unseen.risk).any() else np.inf
    problem.run.fits.offer(risk, size_in_memory(model), models)


class OutOfBagFits:
    """Fits ensembles to all rows and judges them on rows out of bag; picklable.

    Attributes
    ----------
    models : the fitted ensemble of each growth that was fitted in this process; the caller takes them out.
    """

    def __init__(self, problem: Problem, growths: Sequence[Growth], corrected: bool, seed: int) -> None:
        self.estimator, self.params, self.growths = problem.path.estimator, problem.path.params, growths
        self.X, self.labels, self.weight, self.seed = problem.X, problem.data.labels, problem.weight, seed
        self.judge = OutOfBagJudge(problem, corrected)
        self.patched = is_patched(type(last_step(with_params(self.estimator, self.params[0]))))
        self.models: dict[int, Any] = {}

    def results(self, problem: Problem, n_jobs: int | None, name: str = "out of bag") -> Iterator[Unseen]:
        """The evidence of every growth, in order.

        Fits are spread over workers: threads, unless another back end is set, because trees grow without Python's
        global lock and threads hand fitted models on without a copy. A single fit has all workers for itself; patched
        forests have threads of their own.
        """
        finished = problem.finished(name, self.judge.corrected, self.seed)
        alone = len(self.growths) == 1
        inside = {"n_jobs": n_jobs} if alone and n_jobs is not None else {}
        with joblib.parallel_config(prefer="threads", **inside):
            tasks = [(g,) for g in range(len(self.growths))]
            results = results_of(self, tasks, 1 if alone or self.patched else n_jobs, finished, batch_size=1)
            for arrays in results:
                yield Unseen(*arrays)

    def __call__(self, g: int) -> tuple[Array, ...]:
        growth = self.growths[g]
        learner = with_params(self.estimator, self.params[growth.models[-1]])
        try:
            work = fitted_by_patch if self.patched else fit
            model = work(seeded(learner, self.seed), self.X, self.labels, self.weight)
            judged = self.judge.own_answers if self.patched else self.judge.answers
            found = judged(model, self.X, growth.sizes)
        except Exception as error:
            raise FitError(f"{type(learner).__name__} failed: {error}") from error
        self.models[g] = model
        return found


class OutOfBagJudge:
    """Turns what the estimators of an ensemble say into losses of rows and risks; picklable."""

    def __init__(self, problem: Problem, corrected: bool) -> None:
        self.loss, self.y, self.weight = problem.loss, problem.y, problem.weight
        self.response, self.classes, self.corrected = problem.response, problem.target.classes, corrected
        self.seed = problem.seed

    def answers(self, model: BaseEstimator, X: Any, sizes: Sequence[int]) -> tuple[Array, ...]:
        """The arrays of `Unseen` for the beginnings of an ensemble of these sizes, ascending."""
        points = [(size, size) for size in sizes]
        return self.further_answers(last_step(model), read_by_ensemble(model, X), points, None)[0]

    def further_answers(
        self, ensemble: BaseEstimator, Z: Any, points: Sequence[tuple[int, int]], votes: Votes | None
    ) -> tuple[tuple[Array, ...], Votes | None]:
        """(the arrays of `Unseen` at some points of an ensemble, the votes of all its estimators).

        Parameters
        ----------
        Z : the rows as the ensemble reads them, behind the earlier steps of its pipeline.
        points : (number of estimators that are asked, number that the ensemble will have when it is finished),
            ascending: losses are corrected to the second.
        votes : those of the first estimators, which are then not asked again.
        """
        found, counted = [], 0 if votes is None else votes.size
        for opinion, unseen in opinions(ensemble, Z, self.response, counted):
            votes = self._no_votes(ensemble, opinion) if votes is None else votes
            votes.add(opinion, unseen)
            found += [self._judged(votes, size) for asked, size in points if asked == votes.size]
        return tuple(np.stack(arrays) for arrays in zip(*found, strict=True)), votes

    def own_answers(self, model: BaseEstimator, X: Any, sizes: Sequence[int]) -> tuple[Array, ...]:
        """The same from the out-of-bag predictions of the ensemble itself, which does not tell its bags."""
        unseen, known = own_unseen(last_step(model))
        fitted = respond(model, X, self.response, self.classes)
        raw = self._response(unseen, known)
        risk, losses = self._risk(known, raw), self._losses(known, raw)
        found = raw, np.where(known, -1, 0), self.loss.risk(self.y, fitted, self.weight), losses, risk
        return tuple(np.asarray(array)[None] for array in found)

    def _no_votes(self, ensemble: BaseEstimator, opinion: Array) -> Votes:
        rng = child_generator(self.seed, ROW_SPLITS, HALVES)
        squares = self.corrected and self.loss.quadratic
        n_splits = min(MOST_SPLITS, max(2, SPLITS_IN_ALL // len(self.y))) // (1 if self.loss.per_row else 2)
        halved, ranks = self.corrected and not squares and not self.loss.ranks, self.loss.ranks
        around = self.y if squares else None
        return no_votes(ensemble, opinion, self.response, n_splits if halved else 0, rng, around, ranks)

    def _judged(self, votes: Votes, size: int) -> tuple[Array, ...]:
        """The arrays of `Unseen` by these votes, the losses those of an ensemble of this size."""
        known = votes.count > 0
        raw = self._response(votes.unseen, known)
        in_sample = self.loss.risk(self.y, self._response(votes.everyone), self.weight)
        if isinstance(self.loss, ScorerLoss) and self.loss.ranks:
            rng = child_generator(self.seed, ROW_SPLITS, HALVES)
            risk, losses = Compared(self.loss, self.y, self.weight, votes).judged(size if self.corrected else None, rng)
            return raw, votes.count.copy(), in_sample, losses, risk
        losses = self._losses(known, raw)
        if not self.loss.per_row:
            return raw, votes.count.copy(), in_sample, losses, self._set_risk(votes, raw, size)
        if self.corrected and known.any():
            losses = losses - self._pull(votes, losses) * (1 / np.maximum(votes.count, 1) - 1 / size)
        risk = np.asarray(weighted_mean(losses[known], self._weight(known)) if known.any() else np.nan)
        return raw, votes.count.copy(), in_sample, losses, risk

    def _response(self, mean: Floats, known: Array | None = None) -> Array:
        """What an ensemble answers whose estimators say this on average, (..., n[, classes or outputs])."""
        if self.response == "predict_proba":
            # Means of shares may exceed one in the last digit, which some scorers refuse.
            return np.minimum(mean, 1.0)
        if self.classes is None or self.response != "predict":
            return mean
        codes = np.argmax(mean, axis=-1)
        return codes if known is None else np.where(known, codes, -1)

    def _weight(self, rows: Array) -> Floats | None:
        return None if self.weight is None else self.weight[rows]

    def _risk(self, rows: Array, predicted: Array) -> Array:
        """Raw risk on some rows, given the predictions of all; nan without rows."""
        if not rows.any():
            return np.array(np.nan)
        return np.asarray(self.loss.risk(self.y[rows], predicted[rows], self._weight(rows)))

    def _losses(self, known: Array, raw: Array) -> Floats:
        """Raw losses of rows, (n,), nan where they are not known; none for losses of whole sets."""
        if not self.loss.per_row:
            return np.empty(0)
        losses = np.full(len(self.y), np.nan)
        if known.any():
            losses[known] = self.loss.pointwise(self.y[known], raw[known])
        return losses

    def _pull(self, votes: Votes, losses: Floats) -> Floats:
        """What chance in a single estimator adds to the loss of each row, (n,).

        Rows that one estimator alone did not see take the mean of the others.
        """
        twice = votes.count > 1
        if not twice.any():
            return np.zeros(len(losses))
        if self.loss.quadratic:
            spread = votes.variance[twice]
            pull = spread if spread.ndim == 1 else spread.mean(axis=1)
        else:
            means, counts = votes.halves
            halves, shares = self._response(means[:, :, twice]), counts[:, :, twice] / votes.count[twice]
            of_halves = (self.loss.pointwise(self.y[twice], halves) * shares).sum(axis=1).mean(axis=0)
            pull = votes.count[twice] * (of_halves - losses[twice])
        found = np.full(len(losses), weighted_mean(pull, self._weight(twice)))
        found[twice] = pull
        return found

    def _set_risk(self, votes: Votes, raw: Array, size: int) -> Array:
        """Risk of all rows together; halves are compared with the whole on the rows that have both."""
        known, twice = votes.count > 0, votes.count > 1
        risk = self._risk(known, raw)
        if not self.corrected or not twice.any():
            return risk
        means, counts = votes.halves
        halves = self._response(means[:, :, twice])
        of_halves = self.loss.risk(self.y[twice], halves, self._weight(twice)).mean()
        whole = risk if twice.all() else self._risk(twice, raw)
        more = np.mean(1 / counts[:, :, twice]) - np.mean(1 / votes.count[twice])
        less = np.mean(1 / votes.count[known]) - 1 / size
        return np.asarray(risk - (of_halves - whole) * less / more)


class Compared:
    """Rows compared two by two, by the estimators that saw neither."""

    def __init__(self, loss: ScorerLoss, y: Array, weight: Floats | None, votes: Votes) -> None:
        self.loss, self.y, self.weight = loss, y, weight
        self.opinions, self.blind = np.stack(votes.opinions or []), np.stack(votes.blind)

    def judged(self, size: int | None, rng: np.random.Generator) -> tuple[Array, Floats]:
        """(risk, losses of rows (n,)), corrected to an ensemble of `size` unless that is None."""
        blocks = self._blocks()
        risks, losses = np.empty((len(blocks), 1)), np.full((1, len(self.y)), np.nan)
        more = []
        for k, rows in enumerate(blocks):
            counts, sums = self._sums(rows, slice(None))
            risks[k], losses[0, rows] = self._risk(rows, counts > 0, sums)
            if size is not None:
                more.append(np.mean([self._more(rows, counts, sums, size, rng) for _ in range(SPLITS_OF_PAIRS)]))
        losses = self.loss.joined(losses, risks, blocks, self.y, self.weight)[0]
        surplus = float(np.mean(more)) if more else 0.0
        return np.asarray(risks.mean() - surplus), losses - surplus

    def _blocks(self) -> list[Rows]:
        """Rows that some estimator did not see, as one block, or dealt to several class by class."""
        known = np.flatnonzero(self.blind.any(axis=0))
        classes = np.bincount(self.y[known])
        n_blocks = max(1, min(-(-len(known) // MOST_COMPARED), int(classes[classes > 0].min())))
        dealt = np.random.default_rng(0).permutation(known)
        dealt = dealt[np.argsort(self.y[dealt], kind="stable")]
        return [np.sort(dealt[k::n_blocks]) for k in range(n_blocks)]

    def _sums(self, rows: Rows, estimators: Any) -> tuple[Floats, Callable[[int], Floats]]:
        """(estimators that saw neither of two rows, a function that gives the sum over them of the score of the first
        one for a class), (rows, rows) each."""
        blind = self.blind[estimators][:, rows].astype(np.float32)
        said = self.opinions[estimators][:, rows]

        def of_class(c: int) -> Floats:
            return np.asarray((blind * self.loss.scores_of(said, c)).T @ blind)

        return blind.T @ blind, of_class

    def _risk(self, rows: Rows, known: Bools, sums: Callable[[int], Floats]) -> tuple[float, Floats]:
        """(risk of some rows, their values in it)."""

        def ranking(c: int) -> Pairs:
            held = sums(c)
            apart = held - held.T
            # Sums in single precision: what differs by rounding is a tie.
            above = np.where(np.abs(apart) <= ROUNDING * np.abs(held).max(), 0.5, apart > 0)
            return Pairs(np.where(known, above, 0.0), known)

        weight = None if self.weight is None else self.weight[rows]
        return self.loss.of_pairs(self.y[rows], ranking, weight)

    def _more(
        self, rows: Rows, counts: Floats, sums: Callable[[int], Floats], size: int, rng: np.random.Generator
    ) -> float:
        """How much more the risk is by so few estimators than by `size` of them, from a half of them and the other."""
        half = rng.permutation(len(self.blind)) < len(self.blind) // 2
        counts_of_half, sums_of_half = self._sums(rows, half)
        others = counts - counts_of_half
        known = (counts_of_half > 0) & (others > 0)
        if not known.any():
            return 0.0
        halves = [
            self._risk(rows, known, sums_of_half)[0],
            self._risk(rows, known, lambda c: sums(c) - sums_of_half(c))[0],
        ]
        pull = np.mean(halves) - self._risk(rows, known, sums)[0]
        fewer = np.mean([np.mean(1 / held[known]) for held in (counts_of_half, others)]) - np.mean(1 / counts[known])
        return float(pull * (np.mean(1 / counts[counts > 0]) - 1 / size) / fewer)
