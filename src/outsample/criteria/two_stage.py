"""The two-stage estimate: permute and choose, then draw labels around the choice and measure the optimism again.

Permuted labels carry no information, so the permutation estimate prices overfitting at the total variance of y and
is too severe where the signal is strong. Labels drawn around a good model price it at the noise that is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from outsample.checks import whole_number
from outsample.criteria.base import Criterion
from outsample.criteria.labels import Permutation
from outsample.curve.risk_curve import RiskCurve, in_words
from outsample.data.learners import fit, respond, seeded, with_params
from outsample.docstrings import described as documented
from outsample.docstrings import example_of
from outsample.evidence.folds import least, length
from outsample.evidence.labels import measured_draws
from outsample.evidence.references import calibrated_reference, error_around, moves_of_draws, optimism_around
from outsample.problem import Problem
from outsample.resampling.labels import FreePermutation, LabelDraws
from outsample.running.arrays import Floats
from outsample.running.run import LABEL_DRAWS, child_seed

NOTHING_FOUND = "The first stage found nothing in X to draw labels around"
FEW_ROWS = "All arrangements of so few labels were fitted"


@documented({}, example=example_of("TwoStagePermutation()", 0.051))
@dataclass(frozen=True)
class TwoStagePermutation(Criterion):
    """The permutation estimate, repeated around the model it chooses.

    Stage one permutes the labels and takes the model of least estimated risk. Stage two draws labels around that
    model, with as much noise as its estimated risk says (`calibrated_reference`), refits all models to the same draws
    and measures their optimism again. Where stage one finds nothing in X, the rest of the draws are permutations too,
    and the result is the permutation estimate with `n_draws` to the last bit.

    Estimates the expected loss on a new sample: on new labels at the same X where labels are drawn. For linear
    smoothers and squared loss nothing is drawn or refitted: the optimism is exact, and that of least squares and of
    quadratic penalties includes what rows at new places add.

    `monte_carlo_error` is that of the labels drawn in stage two, and of the risk by which stage one sets their noise.

    Parameters
    ----------
    n_draws : label vectors drawn and refitted in both stages together, at least 2. Beside them the real labels are
        fitted, and the chosen model of a classifier once more for its class frequencies.
    """

    n_draws: int = 10

    name: ClassVar[str] = "two-stage"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_draws", whole_number("n_draws", self.n_draws, 2))

    def check(self, problem: Problem) -> None:
        refuse_groups_and_outputs(self.name, problem)

    def _curve(self, problem: Problem) -> RiskCurve:
        permutation = Permutation(self.n_draws)
        draws = LabelDraws(
            FreePermutation(problem.label_weight), problem.y, self.n_draws, child_seed(problem.seed, LABEL_DRAWS)
        )
        if permutation.exact_optimism(problem) is not None:
            whole = permutation.curve(problem)
            exact = self._second_stage(problem, whole.out_sample, np.zeros(len(whole)), 0)
            return exact or self._permutation(whole, NOTHING_FOUND)
        if draws.exhaustive:
            return self._permutation(permutation.curve(problem), FEW_ROWS)
        first = self.n_draws - self.n_draws // 2
        # The risk before any draw, so that a learner that fails on the real labels is not blamed on drawn ones.
        real = problem.in_sample
        permuted = measured_draws(problem, draws, 0, first)
        error = length(moves_of_draws(permuted[0], exact=False))
        curve = self._second_stage(problem, real + permuted[0].mean(axis=0), error, first)
        if curve is not None:
            return curve
        rest = measured_draws(problem, draws, first, self.n_draws)
        both = np.concatenate([permuted, rest], axis=1)
        return self._permutation(permutation.curve_of_draws(problem, both[0], both[1]), NOTHING_FOUND)

    def _second_stage(self, problem: Problem, risk: Floats, error: Floats, first: int) -> RiskCurve | None:
        """The curve measured around the best model of stage one; None where that is a constant.

        `risk` and its Monte-Carlo `error` are those of stage one, (models,).
        """
        chosen = least(risk)
        frequencies = _frequencies(problem, chosen)
        reference = calibrated_reference(
            problem, problem.fitted_by(chosen), float(risk[chosen]), frequencies, float(error[chosen])
        )
        if reference is None:
            return None
        optimism, drawn = optimism_around(problem, reference, range(first, self.n_draws), self.n_draws)
        out_sample = problem.in_sample + optimism.mean(axis=0)
        return problem.curve(
            out_sample=out_sample,
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data}; its optimism is measured on labels around a first choice",
            standard_error=problem.standard_error(out_sample),
            monte_carlo_error=error_around(reference, optimism, exact=drawn == 0),
            draws=optimism if drawn else None,
            notes=(described(problem, chosen, float(risk[chosen]), "permutation"),),
        )

    def _permutation(self, curve: RiskCurve, why: str) -> RiskCurve:
        return replace(curve, criterion=self.name, notes=(*curve.notes, f"{why}: this is the permutation estimate."))


def _frequencies(problem: Problem, model: int) -> Floats | None:
    """Class frequencies of a model at every row, (n, classes); None where it has none."""
    classes = problem.target.classes
    if classes is None or not problem.loss.per_row:
        return None
    if problem.response == "predict_proba":
        return problem.fitted_by(model)
    if problem.design.abilities.leaves_out and "predict_proba" in problem.path.responses:
        return np.asarray(problem.design.fitted(problem.y[None], "predict_proba")[0][model])
    estimator = seeded(with_params(problem.path.estimator, problem.path.params[model]), problem.real_seed)
    if not hasattr(estimator, "predict_proba"):
        return None
    fit(estimator, problem.X, classes[problem.y], problem.weight)
    return respond(estimator, problem.X, "predict_proba", classes)


def described(problem: Problem, chosen: int, risk: float, by: str) -> str:
    """The reference of the second stage, in words and on the scale of the user's loss."""
    setting = {name.rpartition("__")[2]: value for name, value in problem.path.params[chosen].items()}
    whom = f"the model with {in_words(setting)}" if setting else "the model as given"
    shown = float(problem.loss.reported(risk))
    return f"Labels were drawn around {whom}, whose {problem.loss.name} is {shown:.3g} by {by}."


def refuse_groups_and_outputs(name: str, problem: Problem) -> None:
    """Raise ValueError where labels around a reference cannot be drawn."""
    if problem.groups is not None:
        raise ValueError(f'groups: criterion {name!r} draws every label on its own; use "permutation"')
    outputs = problem.target.n_outputs
    if outputs > 1:
        raise ValueError(f'criterion {name!r} needs one column of labels, y has {outputs}; use "permutation"')
