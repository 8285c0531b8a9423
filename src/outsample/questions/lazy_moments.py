"""Gaussian naive Bayes and linear discriminant analysis, known from number, mean and scatter of the rows of a class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from outsample.data.lazy import in_memory_only
from outsample.data.learners import with_params
from outsample.paths.generative.gaussian_bayes import GaussianBayes, GaussianStatistics
from outsample.paths.generative.inputs import is_number
from outsample.paths.generative.linear_discriminants import DIVIDES_BY_ROWS, LinearDiscriminants
from outsample.paths.generative.statistics import ClassMoments, Kind
from outsample.questions.lazy_families import Family, Group, check_priors
from outsample.running.arrays import Array, Floats, Rows


class MomentFamily(Family):
    """What both have in common: their moments are taken from an origin near to the rows."""

    kind: Kind = "columns"

    def __init__(self, models: Sequence[Any], origin: Floats) -> None:
        self.origin = origin

    def sums(self, X: Floats, codes: Array, n_classes: int) -> ClassMoments:
        return ClassMoments.of(X - self.origin, codes, n_classes, kind=self.kind)

    @property
    def nothing(self) -> Floats:
        """Rows that stand for a table which is not in memory."""
        return np.zeros((2, len(self.origin)))


@dataclass(frozen=True, eq=False)
class _MomentGroup(Group):
    """Settings along one parameter, whose models read rows from an origin.

    Attributes
    ----------
    origin : (p,).
    """

    origin: Floats

    @abstractmethod
    def statistics(self, sums: ClassMoments) -> Any: ...

    def read(self, X: Floats) -> Floats:
        return np.asarray(X - self.origin)


class BayesFamily(MomentFamily):
    """`GaussianNB` along `var_smoothing`."""

    parameter = "var_smoothing"

    @staticmethod
    def serves(model: Any) -> bool:
        return is_number(model.var_smoothing, 0.0)

    def group(self, models: Sequence[Any], places: Rows, whole: ClassMoments) -> Group:
        priors, n_classes = models[places[0]].priors, len(whole.weight)
        check_priors("priors", priors, n_classes, sum_to_one=True)
        smoothing = np.array([models[i].var_smoothing for i in places], dtype=np.float64)
        return _BayesGroup(places, GaussianBayes(self.nothing, smoothing, n_classes, priors), self.origin)

    def learned(self, model: Any, group: Group, whole: ClassMoments) -> Any:
        largest = GaussianStatistics(whole, whole.together()).largest_variance
        model.epsilon_ = model.var_smoothing * largest
        model.theta_ = whole.mean + self.origin
        model.var_ = whole.scatter / whole.weight[:, None] + model.epsilon_
        model.class_count_ = whole.weight
        shares = whole.weight / whole.weight.sum()
        model.class_prior_ = shares if model.priors is None else np.asarray(model.priors, np.float64)
        return model


class _BayesGroup(_MomentGroup):
    def statistics(self, sums: ClassMoments) -> GaussianStatistics:
        return GaussianStatistics(sums, sums.together())


class DiscriminantFamily(MomentFamily):
    """`LinearDiscriminantAnalysis` along `shrinkage`; given priors weigh the sums of squares of the classes."""

    parameter = "shrinkage"

    def __init__(self, models: Sequence[Any], origin: Floats) -> None:
        super().__init__(models, origin)
        weighed = any(model.priors is not None and model.solver != "svd" for model in models)
        self.kind = "classes" if weighed else "pooled"

    @staticmethod
    def serves(model: Any) -> bool:
        shrunk = model.solver in ("lsqr", "eigen") and is_number(model.shrinkage, 0.0, 1.0)
        known = model.solver in ("svd", "lsqr", "eigen") and model.covariance_estimator is None
        return bool(known and (model.shrinkage is None or shrunk) and model.n_components is None)

    def group(self, models: Sequence[Any], places: Rows, whole: ClassMoments) -> Group:
        first, n_classes = models[places[0]], len(whole.weight)
        check_priors("priors", first.priors, n_classes, sum_to_one=True)
        shrinkage = np.array([models[i].shrinkage or 0.0 for i in places], dtype=np.float64)
        found = LinearDiscriminants(self.nothing, shrinkage, n_classes, first.priors, first.solver, first.tol)
        found = found.knowing(_covariance(whole), int(whole.weight.sum()))
        if not found.well_posed:
            raise ValueError(in_memory_only("a model whose columns are linearly dependent, or nearly,"))
        return _DiscriminantGroup(places, found, self.origin)

    def learned(self, model: Any, group: Group, whole: ClassMoments) -> Any:
        """The model, fitted by scikit-learn to a few rows with the same means, covariance matrix and priors.

        Of each class these are its mean plus and minus the principal axes of the covariance matrix within classes.
        """
        own, moments = group.models, group.statistics(whole)
        assert isinstance(own, LinearDiscriminants)
        (n_classes, p), within = moments.mean.shape, own.within(moments)
        n = 2 * p * n_classes
        divisor = n if DIVIDES_BY_ROWS or model.solver != "svd" else n - n_classes
        values, axes = np.linalg.eigh(within)
        root = np.sqrt(divisor / (2 * n_classes) * np.maximum(values, 0.0))[:, None] * axes.T
        rows = np.concatenate([mean + sign * root for mean in moments.mean + self.origin for sign in (1.0, -1.0)])
        fitted = with_params(model, {"priors": own.prior(moments.weight)})
        fitted.fit(rows, np.repeat(np.arange(n_classes), 2 * p)).set_params(priors=model.priors)
        if model.solver == "eigen":
            _learn_axes(fitted, _covariance(whole), within)
        return fitted


class _DiscriminantGroup(_MomentGroup):
    def statistics(self, sums: ClassMoments) -> ClassMoments:
        assert isinstance(self.models, LinearDiscriminants)
        if sums.kind == "pooled" or not (self.models.by_svd or self.models.priors is None):
            return sums
        return ClassMoments(sums.weight, sums.mean, sums.scatter.sum(axis=0), "pooled")


def _covariance(moments: ClassMoments) -> Floats:
    """Of all rows together, without regard to classes, (p, p)."""
    n = moments.weight.sum()
    apart = moments.mean - moments.weight @ moments.mean / n
    within = moments.scatter if moments.kind == "pooled" else moments.scatter.sum(axis=0)
    return np.asarray((within + (apart * moments.weight[:, None]).T @ apart) / n)


def _learn_axes(model: Any, total: Floats, within: Floats) -> None:
    """Write the axes that tell classes apart, which solver "eigen" finds, into a model: they depend on class sizes.

    Parameters
    ----------
    total, within : (p, p) covariance matrices of all rows, and within classes, before shrinkage.
    """
    share = model.shrinkage or 0.0
    mixed = [
        (1 - share) * matrix + share * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
        for matrix in (total, within)
    ]
    values, axes = eigh(mixed[0] - mixed[1], mixed[1])
    shares = (values / values.sum())[::-1]
    model.explained_variance_ratio_ = shares[: len(model.explained_variance_ratio_)]
    model.scalings_ = axes[:, ::-1]
