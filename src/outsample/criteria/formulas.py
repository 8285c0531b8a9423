"""Criteria by formula: squared error of linear smoothers ŷ = S y, from one fit and the trace of S.

All estimate the expected squared error on new labels at the same X. With sample weights the degrees of freedom are n
times the weighted mean leverage, and n is the effective number of rows. The standard error is that of a mean squared
error at the estimated level over data sets, taking the in-sample losses, enlarged, as independent: it covers neither
the bias of the formula nor the choice of a model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import outsample.penalties as penalties
from outsample.criteria.base import Criterion
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import last_step
from outsample.docstrings import Thing, described, example_of
from outsample.paths.linear.closed_forms import degrees_of_freedom, noise_variance
from outsample.problem import Problem
from outsample.running.arrays import Floats


def _with_example(name: str, value: float) -> Callable[[Thing], Thing]:
    words = {"sigma2": "variance of the noise; None estimates it from the richest model of the path."}
    return described(words, example=example_of(f"{name}()", value, "ridge"))


@dataclass(frozen=True)
class FormulaCriterion(Criterion):
    """A penalty as a criterion.

    Attributes
    ----------
    penalty : of `outsample.penalties`, a function of the in-sample error, the degrees of freedom and n.
    """

    penalty: ClassVar[Callable[..., Floats]]

    def check(self, problem: Problem) -> None:
        if not problem.loss.quadratic:
            raise ValueError(
                f"criterion {self.name!r} is a formula for squared loss, the loss is {problem.loss.name!r}; "
                'use "permutation" or "kfold"'
            )
        if not problem.design.abilities.smoother:
            learner = type(last_step(problem.path.estimator)).__name__
            refitted = " on the refitting path" if problem.path.refits else ""
            raise ValueError(
                f"criterion {self.name!r} needs a linear smoother; {learner} is not known to be linear in y{refitted}; "
                'use "permutation" or "kfold"'
            )

    def _noise(self, in_sample: Floats, dof: Floats, n: float) -> dict[str, Any]:
        """The variance of the noise, for penalties that need it."""
        return {}

    def _curve(self, problem: Problem) -> RiskCurve:
        n = problem.effective_n
        smoother = problem.design.smoother
        assert smoother is not None
        dof = degrees_of_freedom(smoother, n, problem.weight)
        out_sample = type(self).penalty(problem.in_sample, dof, n, **self._noise(problem.in_sample, dof, n))
        return problem.curve(
            out_sample=out_sample,
            criterion=self.name,
            estimand=f"{problem.loss.on_new_data} at the same X, from the degrees of freedom of the fit",
            standard_error=problem.standard_error(out_sample),
        )


@dataclass(frozen=True)
class NoiseFormulaCriterion(FormulaCriterion):
    """Formulas that need the variance of the noise.

    Parameters
    ----------
    sigma2 : variance of the noise; None takes RSS/(n − tr S) of the richest model of the path, which must be rich
        enough to have no bias and poor enough to leave degrees of freedom over.
    """

    sigma2: float | None = None

    def __post_init__(self) -> None:
        if self.sigma2 is not None and not self.sigma2 >= 0:
            raise ValueError(f"sigma2 must be a variance or None, got {self.sigma2!r}")

    def _noise(self, in_sample: Floats, dof: Floats, n: float) -> dict[str, Any]:
        if self.sigma2 is not None:
            return {"sigma2": float(self.sigma2)}
        estimated = float(noise_variance(in_sample, dof, n)[-1])
        if np.isnan(estimated):
            raise ValueError(
                f"criterion {self.name!r}: the richest model has {dof[-1]:.4g} degrees of freedom for {n:.4g} rows, "
                "so it leaves no noise to measure; pass sigma2=, shorten the grid or use gcv"
            )
        return {"sigma2": estimated}


@_with_example("FPE", 3006.0)
@dataclass(frozen=True)
class FPE(FormulaCriterion):
    """Akaike's final prediction error, see `outsample.penalties.fpe`."""

    name: ClassVar[str] = "fpe"
    penalty = staticmethod(penalties.fpe)


@_with_example("GCV", 3007.0)
@dataclass(frozen=True)
class GCV(FormulaCriterion):
    """Generalised cross-validation, see `outsample.penalties.gcv`."""

    name: ClassVar[str] = "gcv"
    penalty = staticmethod(penalties.gcv)


@_with_example("VCPenalty", 4260.0)
@dataclass(frozen=True)
class VCPenalty(FormulaCriterion):
    """Vapnik's penalty with the degrees of freedom as VC dimension, see `outsample.penalties.vc`."""

    name: ClassVar[str] = "vc"
    penalty = staticmethod(penalties.vc)


@_with_example("MallowsCp", 3006.0)
@dataclass(frozen=True)
class MallowsCp(NoiseFormulaCriterion):
    """Mallows' Cp in units of squared error, see `outsample.penalties.mallows_cp`."""

    name: ClassVar[str] = "cp"
    penalty = staticmethod(penalties.mallows_cp)


@_with_example("AIC", 3006.0)
@dataclass(frozen=True)
class AIC(NoiseFormulaCriterion):
    """Akaike's information criterion with one noise variance for all models, see `outsample.penalties.aic`.

    For Gaussian noise of known variance it is Cp: the two criteria give the same curve.
    """

    name: ClassVar[str] = "aic"
    penalty = staticmethod(penalties.aic)


@_with_example("BIC", 3242.0)
@dataclass(frozen=True)
class BIC(NoiseFormulaCriterion):
    """Schwarz's criterion with one noise variance for all models, see `outsample.penalties.bic`."""

    name: ClassVar[str] = "bic"
    penalty = staticmethod(penalties.bic)
