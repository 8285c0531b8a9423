"""All models of a path fitted to labels drawn around a reference, draw by draw."""

from __future__ import annotations

import numpy as np

from outsample.closed_forms import new_row_optimism
from outsample.learners import FitError
from outsample.losses import Floats, SquaredLoss
from outsample.problem import LABEL_DRAWS, LEARNER_DRAWS, Problem
from outsample.references import Reference, ValueReference
from outsample.running import child_generator, child_integer, spread

FRESH = 1


def optimism_around(problem: Problem, reference: Reference, draws: range, planned: int) -> tuple[Floats, int]:
    """(optimism of each draw, number of draws); one row and no draw where a linear smoother makes it exact.

    The exact one is that of new rows, see `new_row_optimism`.
    """
    smoother = problem.design.smoother if isinstance(problem.loss, SquaredLoss) else None
    if smoother is not None and isinstance(reference, ValueReference):
        return new_row_optimism(smoother, reference.variance, problem.weight)[None], 0
    return drawn_optimism(problem, reference, draws, planned=planned), len(draws)


def drawn_optimism(
    problem: Problem, reference: Reference, draws: range, stream: str = "reference", planned: int | None = None
) -> Floats:
    """Optimism of the fits to labels drawn around a reference, (draws, models).

    Parameters
    ----------
    draws : numbers of the draws; each has its own seed, shared with all other label draws of that number.
    stream : where finished draws are kept when the problem has a store.
    planned : draws the whole estimate takes, for the progress.
    """
    judge = _Judge(problem, reference)
    n_jobs = 1 if problem.design.batched else problem.n_jobs
    cost, planned = problem.design.fits_per_draw, planned or draws.stop
    results: list[Floats] = []
    for result in spread(judge, [(i,) for i in draws], n_jobs, problem.finished(stream)):
        results.append(result)
        problem.progress((draws.start + len(results)) * cost, planned * cost)
    return np.stack(results)


class _Judge:
    """Draws one label vector, fits every model to it and measures the optimism."""

    def __init__(self, problem: Problem, reference: Reference) -> None:
        self.design, self.loss, self.response = problem.design, problem.loss, problem.response
        self.weight, self.seed, self.reference = problem.weight, problem.seed, reference

    def __call__(self, i: int) -> Floats:
        labels = self.reference.draw(child_generator(self.seed, LABEL_DRAWS, i))
        try:
            fitted = self.design.fitted(labels[None], self.response, [child_integer(self.seed, LEARNER_DRAWS, i)])[0]
        except FitError as error:
            raise FitError(f"draw {i + 1}: {error}") from error
        rng = child_generator(self.seed, LABEL_DRAWS, i, FRESH)
        return self.reference.optimism(self.loss, labels, fitted, self.weight, rng)
