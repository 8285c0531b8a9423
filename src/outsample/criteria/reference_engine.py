"""All models of a path fitted to labels drawn around a reference, draw by draw."""

from __future__ import annotations

import math

import numpy as np

from outsample.closed_forms import new_row_optimism
from outsample.criteria.random_folds import length, moves_between
from outsample.learners import FitError
from outsample.losses import Floats, SquaredLoss
from outsample.problem import LABEL_DRAWS, LEARNER_DRAWS, Problem
from outsample.references import Reference, ValueReference
from outsample.running import child_generator, child_integer, spread

FRESH = 1

# Labels drawn together: from one draw to the next every row moves on by the golden section of its distribution, which
# spreads few draws evenly. Afterwards rows begin anew, so that many draws come to the mean of all.
TOGETHER = 5
GOLDEN_SECTION = (math.sqrt(5) - 1) / 2


def optimism_around(problem: Problem, reference: Reference, draws: range, planned: int) -> tuple[Floats, int]:
    """(optimism of each draw, number of draws); one row and no draw where a linear smoother makes it exact.

    The exact one is that of new rows, see `new_row_optimism`. Drawn labels are spread evenly: each is right on its
    own, and the mean over a few varies less than if they were independent.
    """
    smoother = problem.design.smoother if isinstance(problem.loss, SquaredLoss) else None
    if smoother is not None and isinstance(reference, ValueReference):
        return new_row_optimism(smoother, reference.variance, problem.weight)[None], 0
    return drawn_optimism(problem, reference, draws, planned=planned, evenly=True), len(draws)


def error_around(reference: Reference, draws: Floats, exact: bool) -> Floats:
    """Monte-Carlo error of the mean optimism over draws, (models,): theirs, and that of the reference's noise."""
    by_reference = reference.relative_error * draws.mean(axis=0)
    return length(np.concatenate([moves_of_draws(draws, exact), by_reference[None]]))


def moves_of_draws(draws: Floats, exact: bool) -> Floats:
    """Independent moves of the mean over few draws (draws, models) that are left to chance, (moves, models).

    The root of the sum of their squares is the Monte-Carlo error: none where draws are exact, not a number for a
    single one. Draws that are spread evenly are taken as independent: what the spreading saves in the linear part of
    an optimism it adds to the quadratic one, and their mean varies by .85 to 1.25 times as much.
    """
    if exact or len(draws) == 1:
        return np.full((1, draws.shape[1]), 0.0 if exact else np.nan)
    return moves_between(draws) / math.sqrt(len(draws))


def drawn_optimism(
    problem: Problem, reference: Reference, draws: range, *, planned: int | None = None, evenly: bool = False
) -> Floats:
    """Optimism of the fits to labels drawn around a reference, (draws, models).

    Parameters
    ----------
    draws : numbers of the draws; each has its own seed, shared with all other label draws of that number.
    planned : draws the whole estimate takes, for the progress.
    evenly : whether draws are spread evenly instead of independent.
    """
    judge = _Judge(problem, reference, draws.start if evenly else None)
    n_jobs = 1 if problem.design.batched else problem.n_jobs
    cost, planned = problem.design.fits_per_draw, planned or draws.stop
    results: list[Floats] = []
    finished = problem.finished("reference", reference, draws.start, evenly)
    for result in spread(judge, [(i,) for i in draws], n_jobs, finished):
        results.append(result)
        problem.progress((draws.start + len(results)) * cost, planned * cost)
    return np.stack(results)


class _Judge:
    """Draws one label vector, fits every model to it and measures the optimism.

    Parameters
    ----------
    even_from : the draw from which on labels are spread evenly; None for independent draws.
    """

    def __init__(self, problem: Problem, reference: Reference, even_from: int | None) -> None:
        self.design, self.loss, self.response = problem.design, problem.loss, problem.response
        self.weight, self.seed, self.reference = problem.weight, problem.seed, reference
        self.even_from = even_from

    def __call__(self, i: int) -> Floats:
        labels = self.reference.labels_at(self._levels(i))
        try:
            fitted = self.design.fitted(labels[None], self.response, [child_integer(self.seed, LEARNER_DRAWS, i)])[0]
        except FitError as error:
            raise FitError(f"draw {i + 1}: {error}") from error
        rng = child_generator(self.seed, LABEL_DRAWS, i, FRESH)
        return self.reference.optimism(self.loss, labels, fitted, self.weight, rng)

    def _levels(self, i: int) -> Floats:
        """Where every row stands in its distribution at draw i, (n,)."""
        moved = 0 if self.even_from is None else (i - self.even_from) % TOGETHER
        start = child_generator(self.seed, LABEL_DRAWS, i - moved).random(self.reference.n_samples)
        return np.asarray((start + moved * GOLDEN_SECTION) % 1.0)
