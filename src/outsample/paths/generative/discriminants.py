"""Linear discriminant analysis along `shrinkage`, quadratic along `reg_param` and `shrinkage`, nearest centroids."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from scipy.linalg import eigh

from outsample.data.learners import with_params
from outsample.data.tables import Table
from outsample.paths.generative.design import (
    LEAST_SHARE,
    ROUNDING,
    CentredModels,
    ClassPath,
    LeftOutScorer,
    Scorer,
    double_table,
    is_number,
)
from outsample.paths.generative.statistics import ClassMoments
from outsample.running.arrays import Array, Floats, Rows

# Until 1.9, scikit-learn's solver "svd" divided sums of squares by n − K, and that of the quadratic kind by n_k − 1.
DIVIDES_BY_ROWS = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 9)

# Least eigenvalue of a covariance matrix whose columns have unit variance, for which nine digits are left.
LEAST_EIGENVALUE = 1e-6
# Ratio of the eigenvalues of a covariance matrix up to which scikit-learn's own solution has nine digits.
LARGEST_CONDITION = 1e6
# Distance of the rows from zero, in their smallest standard deviation, up to which means have ten digits of that.
LARGEST_OFFSET = 1e6


class LinearDiscriminantPath(ClassPath):
    """`LinearDiscriminantAnalysis` along `shrinkage`, every solver, dense X in double precision.

    The shrinkage "auto" and estimators of the covariance are refitted, and so is X whose columns are dependent or
    nearly so where some model does not shrink.
    """

    responses = frozenset({"predict", "predict_proba", "decision_function"})
    takes_weight = False

    @classmethod
    def serves(cls, estimator: Any, alone: bool) -> bool:
        known = estimator.solver in ("lsqr", "eigen") or (estimator.solver == "svd" and alone)
        return bool(known and estimator.covariance_estimator is None and is_number(estimator.tol, 0.0))

    @classmethod
    def accepts(cls, value: object) -> bool:
        return value is None or is_number(value, 0.0, 1.0)

    def models(self, X: Table) -> LinearDiscriminants | None:
        table, own = double_table(X), self.estimator
        if table is None or (own.solver == "svd" and any(value is not None for value in self.values)):
            return None
        shrinkage = np.array([value or 0.0 for value in self.values])
        return LinearDiscriminants(table.mean(axis=0), shrinkage, own.priors, own.solver, own.tol, own.n_components)


class LinearDiscriminants(CentredModels):
    """Normal densities with one covariance matrix, mixed with a multiple of the identity, for every shrinkage.

    Scores are logarithms of prior times density; those of more than two classes, as scikit-learn's, are less the
    density around an origin, which is zero, or the mean of the class means for the solver "svd".

    Parameters
    ----------
    shrinkage : (models,).
    solver, tol, n_components : of scikit-learn's estimator.
    """

    binary_link = True
    leaves_rows_out = True

    def __init__(
        self, origin: Floats, shrinkage: Floats, priors: Any, solver: str, tol: float, n_components: int | None
    ) -> None:
        super().__init__(origin, len(shrinkage), priors)
        self._shrinkage, self._solver, self._tol, self._n_components = shrinkage, solver, tol, n_components
        both = np.flatnonzero(shrinkage == 0), np.flatnonzero(shrinkage > 0)
        self._groups = [models for models in both if len(models)]

    def serves(self, n_classes: int) -> bool:
        few = self._n_components is None or self._n_components <= min(n_classes - 1, self.n_columns)
        return few and super().serves(n_classes)

    def statistics(self, table: Floats, codes: Array, n_classes: int, weight: Floats | None) -> ClassMoments:
        pooled = self._solver == "svd" or self.priors is None
        return ClassMoments.of(table, codes, n_classes, kind="pooled" if pooled else "classes")

    def scorer(self, statistics: ClassMoments, response: str) -> Scorer:
        within, means, prior = self._within(statistics), statistics.mean, self.prior(statistics.weight)
        coefficients = np.empty((self.n_models, *means.shape))
        constants = np.empty((self.n_models, len(means)))
        for models in self._groups:
            vectors, values = self._axes(models, within)
            spread = self._mixed(models, values, np.array([np.trace(within)]))[:, :, 0]
            along = means @ vectors
            inner = along / spread[:, None]
            constants[models] = np.log(prior) - 0.5 * (inner * along).sum(axis=2)
            if self._is_raw(response, len(means)):
                origin = (prior @ means if self._solver == "svd" else -self.origin) @ vectors
                inner = inner - (origin / spread)[:, None]
                constants[models] += 0.5 * (origin**2 / spread).sum(axis=1)[:, None]
            coefficients[models] = inner @ vectors.T
        if statistics.weight.sum() <= len(means) or not self._centres_are_apart(statistics, within):
            constants[:] = np.nan

        def scores(rows: Floats) -> Floats:
            linear = coefficients.reshape(-1, self.n_columns) @ rows.T
            return np.asarray(linear.reshape(*coefficients.shape[:2], -1) + constants[:, :, None])

        return scores

    def left_out_scorer(self, statistics: ClassMoments, response: str) -> LeftOutScorer:
        """Without row i the covariance matrix is B − g d dᵀ, d the deviation of the row from the mean of its class.

        Along the axes of B everything is diagonal, also with shrinkage, which adds a multiple of the identity; the
        inverse of the difference follows by the formula of Sherman and Morrison (1950).
        """
        n_classes, weight = len(statistics.mean), statistics.weight
        served = weight.sum() - 1 > n_classes and self._centres_are_apart(statistics, self._within(statistics))
        raw, known = self._is_raw(response, n_classes), dict[tuple[int, int], tuple[Floats, float, Floats, Floats]]()

        def scores(rows: Floats, codes: Array, of_rows: Floats) -> Floats:
            values = np.full((self.n_models, n_classes, len(rows)), np.nan)
            for code in np.unique(codes) if served else ():
                inside = np.flatnonzero(codes == code)
                for group, models in enumerate(self._groups):
                    if (group, code) not in known:
                        base, factor = self._without(statistics, int(code))
                        known[group, code] = base, factor, *self._axes(models, base)
                    found = self._of_class(models, statistics, int(code), known[group, code], rows[inside], raw)
                    values[np.ix_(models, np.arange(n_classes), inside)] = found
            return values

        return scores

    def _of_class(
        self,
        models: Rows,
        statistics: ClassMoments,
        code: int,
        known: tuple[Floats, float, Floats, Floats],
        rows: Floats,
        raw: bool,
    ) -> Floats:
        """Scores (models, K, rows) of rows of one class, each left out."""
        base, factor, vectors, values = known
        mean, left = statistics.mean, statistics.weight.copy()
        left[code] -= 1.0
        prior, lever, apart = self.prior(left), statistics.weight[code] / left[code], rows - mean[code]
        trace = np.trace(base) - factor * np.square(apart).sum(axis=1)
        others = np.delete(np.arange(len(mean)), code)
        shifts = mean[code] - mean[others]
        scale = 1.0
        if raw and self._solver == "svd":
            # From the mean of the class means, which follows the row, the deviation is `scale` times d plus a shift.
            scale = 1.0 - prior[code] + prior[code] * lever
            shifts = np.vstack([shifts, prior[others] @ shifts / scale])
        elif raw:
            shifts = np.vstack([shifts, mean[code] + self.origin])
        share = (1.0 - self._shrinkage[models, None]) * factor
        own, forms = self._forms(models, values, trace, apart @ vectors, shifts @ vectors, share)
        found = np.insert(forms[:, : len(others)], code, lever**2 * own, axis=1)
        found = np.log(prior)[:, None] - 0.5 * found
        return found + 0.5 * scale**2 * forms[:, len(others) :] if raw else found

    def _forms(
        self, models: Rows, values: Floats, trace: Floats, apart: Floats, shifts: Floats, share: Floats
    ) -> tuple[Floats, Floats]:
        """Quadratic forms of d (models, rows), and of d plus each shift (models, shifts, rows), in the inverse."""
        from outsample._kernels.left_out_rows import BLOCK, shifted_forms

        shrinkage = self._shrinkage[models, None]
        base, added = (1.0 - shrinkage) * values, shrinkage * trace / self.n_columns
        own = np.zeros(added.shape)
        mixed, fixed = np.zeros((2, len(base), len(shifts), added.shape[1]))
        columns = np.ascontiguousarray(apart.T), np.ascontiguousarray(shifts)
        shifted_forms(*columns, base, added, np.empty(BLOCK), own, mixed, fixed)
        left = 1.0 - share * own
        least, largest = base.min(axis=1, keepdims=True) + added, base.max(axis=1, keepdims=True) + added
        posed = left > LEAST_SHARE
        if shrinkage[0, 0] > 0:
            posed &= largest <= LARGEST_CONDITION * least * left
        else:
            posed &= least * left > LEAST_EIGENVALUE
        left = np.where(posed, left, np.nan)
        forms = own[:, None] + 2.0 * mixed + fixed + (share / left)[:, None] * np.square(own[:, None] + mixed)
        return own / left, forms

    def _is_raw(self, response: str, n_classes: int) -> bool:
        return response == "decision_function" and n_classes > 2

    def _within(self, statistics: ClassMoments) -> Floats:
        """The covariance matrix within classes, (p, p), before shrinkage."""
        if statistics.kind == "classes":
            return np.asarray(np.einsum("k,kij->ij", self.priors / statistics.weight, statistics.scatter))
        return statistics.scatter / self._divisor(statistics.weight.sum(), len(statistics.weight))

    def _without(self, statistics: ClassMoments, code: int) -> tuple[Floats, float]:
        """(B, g) of a class."""
        left = statistics.weight.copy()
        left[code] -= 1.0
        lever = statistics.weight[code] / left[code]
        if statistics.kind == "classes":
            shares = self.priors / left
            return np.einsum("k,kij->ij", shares, statistics.scatter), float(lever * shares[code])
        divisor = self._divisor(left.sum(), len(left))
        return statistics.scatter / divisor, float(lever / divisor)

    def _divisor(self, n: float, n_classes: int) -> float:
        """What pooled sums of squares of n rows are divided by."""
        return n - n_classes if self._solver == "svd" and not DIVIDES_BY_ROWS else n

    def _axes(self, models: Rows, within: Floats) -> tuple[Floats, Floats]:
        """Principal axes (p, p) of a covariance matrix, and what it is along them; not numbers where ill-posed.

        Without shrinkage columns are taken in units of their standard deviations.
        """
        if self._shrinkage[models[0]] > 0:
            values, vectors = np.linalg.eigh(within)
            return vectors, np.maximum(values, 0.0)
        scale = np.sqrt(np.diagonal(within))
        if not (scale > 0).all():
            return np.full_like(within, np.nan), np.full(len(within), np.nan)
        values, vectors = np.linalg.eigh(within / np.outer(scale, scale))
        posed = values[0] > max(LEAST_EIGENVALUE, 4 * self._tol**2 * (self._solver == "svd"))
        if self._solver != "svd":
            raw = np.linalg.eigvalsh(within)
            posed &= raw[-1] <= LARGEST_CONDITION * raw[0]
        return vectors / scale[:, None], values if posed else np.full_like(values, np.nan)

    def _mixed(self, models: Rows, values: Floats, trace: Floats) -> Floats:
        """Eigenvalues (models, p, rows) after shrinkage; not numbers where they are too far apart."""
        shrinkage = self._shrinkage[models, None, None]
        spread = (1.0 - shrinkage) * values[:, None] + shrinkage * trace / self.n_columns
        far = spread.max(axis=1) > LARGEST_CONDITION * spread.min(axis=1)
        return np.where(far[:, None] & (shrinkage > 0), np.nan, spread)

    def _centres_are_apart(self, statistics: ClassMoments, within: Floats) -> bool:
        """Whether the class means span as many directions as they can, with a margin.

        The solver "svd" drops directions in which they hardly differ.
        """
        if self._solver != "svd" or len(statistics.mean) == 2:
            return True
        prior = self.prior(statistics.weight)
        vectors, values = self._axes(self._groups[0], within)
        if np.isnan(values).any():
            return False
        white = (statistics.mean - prior @ statistics.mean) @ vectors / np.sqrt(values)
        singular = np.linalg.svd(white * np.sqrt(prior)[:, None], compute_uv=False)
        last = singular[min(len(prior) - 1, self.n_columns) - 1]
        return bool(last > max(4 * self._tol, 1e-6) * singular[0])

    def learned(self, model: Any, statistics: ClassMoments) -> Any:
        """The model, fitted by scikit-learn to a few rows with the same means, covariance matrix and priors.

        Of each class these are its mean plus and minus the principal axes of the covariance matrix within classes.
        """
        (n_classes, p), within = statistics.mean.shape, self._within(statistics)
        n = 2 * p * n_classes
        values, axes = np.linalg.eigh(within)
        divisor = self._divisor(n, n_classes)
        root = np.sqrt(divisor / (2 * n_classes) * np.maximum(values, 0.0))[:, None] * axes.T
        rows = np.concatenate([mean + sign * root for mean in statistics.mean + self.origin for sign in (1.0, -1.0)])
        fitted = with_params(model, {"priors": self.prior(statistics.weight)})
        fitted.fit(rows, np.repeat(np.arange(n_classes), 2 * p)).set_params(priors=model.priors)
        if self._solver != "eigen":
            return fitted
        # The axes that tell classes apart, which this solver finds, depend on the sizes of the classes.
        share, together = model.shrinkage or 0.0, statistics.together()
        mixed = [
            (1 - share) * matrix + share * np.trace(matrix) / p * np.eye(p)
            for matrix in (together.scatter / together.weight[0], within)
        ]
        values, axes = eigh(mixed[0] - mixed[1], mixed[1])
        shares = (values / values.sum())[::-1]
        fitted.explained_variance_ratio_ = shares[: len(fitted.explained_variance_ratio_)]
        fitted.scalings_ = axes[:, ::-1]
        return fitted


class QuadraticDiscriminantPath(ClassPath):
    """`QuadraticDiscriminantAnalysis` along `reg_param` or `shrinkage`, dense X in double precision.

    The shrinkage "auto" and estimators of the covariance are refitted. So are labels for which a covariance matrix is
    not of full rank, or nearly so, which scikit-learn refuses.
    """

    responses = frozenset({"predict", "predict_proba", "decision_function"})
    takes_weight = False

    @classmethod
    def serves(cls, estimator: Any, alone: bool) -> bool:
        return estimator.solver in ("svd", "eigen") and estimator.covariance_estimator is None

    @classmethod
    def accepts(cls, value: object) -> bool:
        return value is None or is_number(value, 0.0, 1.0)

    def models(self, X: Table) -> QuadraticDiscriminants | None:
        table, own = double_table(X), self.estimator
        settings = [{"reg_param": own.reg_param, "shrinkage": own.shrinkage, **params} for params in self.params]
        to_trace = own.solver == "eigen"
        valid = is_number(own.tol, 0.0) and all(
            is_number(setting["reg_param"], 0.0, 1.0)
            and (setting["shrinkage"] is None or (to_trace and is_number(setting["shrinkage"], 0.0, 1.0)))
            for setting in settings
        )
        if table is None or not valid:
            return None
        mixed = [setting["shrinkage"] or 0.0 if to_trace else setting["reg_param"] for setting in settings]
        return QuadraticDiscriminants(table.mean(axis=0), np.array(mixed), to_trace, own.priors, own.tol)


class QuadraticDiscriminants(CentredModels):
    """Normal densities with a covariance matrix per class, mixed with a multiple of the identity.

    Parameters
    ----------
    mixed : (models,) the share of the identity.
    to_trace : whether the identity is multiplied by the mean of the eigenvalues; otherwise by one.
    tol : least eigenvalue of a covariance matrix of full rank.
    """

    def __init__(self, origin: Floats, mixed: Floats, to_trace: bool, priors: Any, tol: float) -> None:
        super().__init__(origin, len(mixed), priors)
        self._mixed, self._to_trace, self._tol = mixed, to_trace, tol

    def statistics(self, table: Floats, codes: Array, n_classes: int, weight: Floats | None) -> ClassMoments:
        return ClassMoments.of(table, codes, n_classes, kind="classes")

    def scorer(self, statistics: ClassMoments, response: str) -> Scorer:
        n, p = statistics.weight, self.n_columns
        squares, axes = np.linalg.eigh(statistics.scatter)
        divisor = n if self._to_trace or DIVIDES_BY_ROWS else n - 1.0
        values = np.maximum(squares, 0.0) / divisor[:, None]
        target = values.mean(axis=1, keepdims=True) if self._to_trace else 1.0
        share = self._mixed[:, None, None]
        spread = (1.0 - share) * values + share * target
        least = spread.min(axis=2)
        offset = float(np.abs(self.origin).max(initial=0.0)) / LARGEST_OFFSET
        posed = (least > 1.001 * self._tol) & (least >= offset**2) & (spread.max(axis=2) <= LARGEST_CONDITION * least)
        # By singular values, of which there are no more than rows, scikit-learn refuses classes of fewer rows.
        posed &= n >= (2 if self._to_trace else max(p, 2))
        spread = np.where(posed[:, :, None], spread, np.nan)
        constant = np.log(self.prior(n)) - 0.5 * np.log(spread).sum(axis=2)
        inverse = 1.0 / spread

        def scores(rows: Floats) -> Floats:
            forms = [inverse[:, k] @ np.square((rows - mean) @ axes[k]).T for k, mean in enumerate(statistics.mean)]
            return np.asarray(constant[:, :, None] - 0.5 * np.stack(forms, axis=1))

        return scores


class NearestCentroidPath(ClassPath):
    """`NearestCentroid` along `shrink_threshold`, Euclidean metric, dense X."""

    responses = frozenset({"predict", "predict_proba", "decision_function"})
    takes_weight = False

    @classmethod
    def serves(cls, estimator: Any, alone: bool) -> bool:
        return bool(estimator.metric == "euclidean")

    @classmethod
    def accepts(cls, value: object) -> bool:
        return value is None or (is_number(value, 0.0) and value != 0)

    def models(self, X: Table) -> Centroids | None:
        table = double_table(X)
        if table is None or not np.ptp(table, axis=0).any():
            return None
        return Centroids(table.mean(axis=0), np.array([value or 0.0 for value in self.values]), self.estimator.priors)


class Centroids(CentredModels):
    """Distances to class means that are shrunken towards the mean of all rows, for every threshold.

    Scores are squared distances, negative. All answers but labels under equal priors are in units of the standard
    deviations within classes, plus twice the logarithms of the priors.

    Parameters
    ----------
    thresholds : (models,) zero for no shrinkage.
    priors : "uniform", "empirical" or (K,).
    """

    def __init__(self, origin: Floats, thresholds: Floats, priors: Any) -> None:
        super().__init__(origin, len(thresholds), priors)
        self._thresholds = thresholds

    def serves(self, n_classes: int) -> bool:
        named = isinstance(self.priors, str) and self.priors in ("uniform", "empirical")
        return named or (self.priors is not None and super().serves(n_classes))

    def prior(self, weight: Floats) -> Floats:
        if isinstance(self.priors, str):
            counts = weight if self.priors == "empirical" else np.ones(len(weight))
            return np.asarray(counts / counts.sum())
        return super().prior(weight)

    def statistics(self, table: Floats, codes: Array, n_classes: int, weight: Floats | None) -> ClassMoments:
        return ClassMoments.of(table, codes, n_classes)

    def scorer(self, statistics: ClassMoments, response: str) -> Scorer:
        weight, means, n = statistics.weight, statistics.mean, statistics.weight.sum()
        prior = self.prior(weight)
        plain = response == "predict" and bool(np.isclose(prior, 1.0 / len(prior)).all())
        squares = statistics.scatter.sum(axis=0)
        spread = np.sqrt(squares / (n - len(weight)))
        # A standard deviation of zero is none to scikit-learn, one of rounding is one.
        varies = squares > ROUNDING * n * statistics.together().scatter[0]
        unit = np.ones(self.n_columns) if plain else np.where(varies, spread, np.nan)
        overall = weight @ means / n
        errors = np.sqrt(1.0 / weight - 1.0 / n)[:, None] * (spread + np.median(spread))
        deviations = (means - overall) / errors
        level = 0.0 if plain else 2.0 * np.log(prior)[:, None]
        centres = np.stack([means] * self.n_models)
        for m in np.flatnonzero(self._thresholds > 0):
            kept = np.sign(deviations) * np.maximum(np.abs(deviations) - self._thresholds[m], 0.0)
            centres[m] = overall + errors * kept

        def scores(rows: Floats) -> Floats:
            values = np.empty((*centres.shape[:2], len(rows)))
            for place in np.ndindex(centres.shape[:2]):
                values[place] = -np.square((rows - centres[place]) / unit).sum(axis=1)
            return values + level

        return scores
