"""A path is a sequence of models ordered from simple to rich; a design is a path bound to one X.

Resampling labels leaves X alone. So everything that depends on X only is done once, in `Path.bind`, and all
label draws and all models of the path then go through one design in batches.

Shapes: the sample is the last axis, the model the one before, draws lead; classes or outputs trail.
Class labels are integer codes 0 … K−1 inside the library; `classes` decodes them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from outsample.data.learners import is_pairwise
from outsample.data.tables import Table
from outsample.losses.base import Groups, weighted_mean
from outsample.paths.order import complexity_of, simplest_first
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.fits import Spent, count_spent, new_key
from outsample.running.threads import cached_property

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

    from outsample.data.scalers import Rescaling


class Draws(Protocol):
    """Label vectors that are drawn when they are asked for; otherwise like an array (draws, n)."""

    @property
    def ndim(self) -> int:
        """Axes of the whole stack."""

    def __len__(self) -> int:
        """The number of draws."""

    def __getitem__(self, index: Any) -> Array:
        """One label vector, or a stack of them for a slice."""


@dataclass(frozen=True)
class Smoother:
    """What closed forms need of ŷ = S y, for each model of a path: never the n × n matrix itself.

    Attributes
    ----------
    leverages : (models, n)
        The diagonal of S.
    row_sums : (models, n)
        S 1, all ones when the smoother reproduces constants.
    norms : how to compute `squared_norms` and `left_out_norms`, which few need; None for smoothers that are neither
        least squares nor that with a quadratic penalty.
    slacks : how to compute `slack` where leverages may be near one; None where their difference from one will do.
    """

    leverages: Floats
    row_sums: Floats
    norms: Callable[[], tuple[Floats, Floats]] | None = None
    slacks: Callable[[], Floats] | None = None

    @property
    def squared_norms(self) -> Floats | None:
        """Σ_j S_ij², (models, n), None where they are not known."""
        return None if self._norms is None else self._norms[0]

    @property
    def left_out_norms(self) -> Floats | None:
        """Σ_{j≠i} (S_ij/(1 − S_ii))², (models, n): of the weights that a fit without row i has there.

        Infinite where a row is fitted by itself alone, None where they are not known.
        """
        return None if self._norms is None else self._norms[1]

    @cached_property
    def slack(self) -> Floats:
        """1 − leverages, (models, n)."""
        return np.asarray(1.0 - self.leverages if self.slacks is None else self.slacks())

    @cached_property
    def _norms(self) -> tuple[Floats, Floats] | None:
        return None if self.norms is None else self.norms()

    def mean_leverage(self, weight: Floats | None) -> Floats:
        """Weighted mean of the leverages, (models,)."""
        return np.asarray(weighted_mean(self.leverages, weight))

    def mean_row_sum(self, weight: Floats | None) -> Floats:
        """Weighted mean of the row sums, (models,)."""
        return np.asarray(weighted_mean(self.row_sums, weight))

    def mean_excess(self, weight: Floats | None) -> Floats | None:
        """Weighted mean of what `left_out_norms` exceed `squared_norms` by, (models,); None where these are not known.

        The variance of a fit at rows it has not seen beyond that at its own rows, in units of the noise variance.
        """
        if self.squared_norms is None or self.left_out_norms is None:
            return None
        return np.asarray(weighted_mean(np.maximum(self.left_out_norms - self.squared_norms, 0.0), weight))

    @property
    def trace(self) -> Floats:
        """Effective degrees of freedom tr S, (models,)."""
        return np.asarray(self.leverages.sum(axis=-1))

    @property
    def total(self) -> Floats:
        """1ᵀ S 1, (models,)."""
        return np.asarray(self.row_sums.sum(axis=-1))


RowBlocks = Iterator[tuple[slice, Array]]
"""(rows, answers (models, rows)) of block after block of rows; the answers may be written over."""


class Path(ABC):
    """A sequence of models that differ in the parameters set on one scikit-learn estimator.

    Attributes
    ----------
    estimator : the prototype; never fitted, never changed.
    params : the parameters each model sets on the prototype, simplest model first.
    complexity : (models,), non-decreasing: larger is richer.
    ordered : whether `complexity` is a natural order; otherwise it is only the position in the grid.
    responses : the prediction methods this path can serve.
    takes_weight : whether it serves weighted fits.
    solves_further : whether models are solved beyond the tolerance of the estimator, so that they differ from
        scikit-learn's own within that tolerance.
    same_digits : whether its answers are scikit-learn's own up to the order in which numbers are added, so that scores
        agree to 1e-12; other fast paths solve the same equations in another way, which is as exact but differs more.
    from_one_fit : whether one fit per label vector holds all its models, however many there are.
    refits : whether every model is fitted by scikit-learn on its own, so that the path saves nothing.
    """

    responses: frozenset[str] = frozenset({"predict"})
    takes_weight: bool = True
    solves_further: bool = False
    same_digits: bool = False
    from_one_fit: bool = False
    refits: ClassVar[bool] = False

    def __init__(
        self, estimator: BaseEstimator, params: Sequence[dict[str, Any]], complexity: Floats, ordered: bool
    ) -> None:
        self.estimator: Any = estimator
        self.params = tuple(params)
        self.complexity, self.ordered = complexity, ordered

    @abstractmethod
    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        """The path bound to X; `classes` is None for regression."""

    def __len__(self) -> int:
        return len(self.params)

    @property
    def pairwise(self) -> bool:
        """Whether X holds a number for every pair of rows, so that its columns follow the rows fitted.

        The models of a path agree on it: settings that do not are put on different paths.
        """
        return is_pairwise(self.estimator, self.params[0])

    def pieces(self) -> list[tuple[Path, Rows]]:
        """Paths that together have the same models, each with their places; apart where every model costs its own fit.

        What is fitted apart can be left away one by one.
        """
        return [(self, np.arange(len(self)))]

    def first_models(self, n_models: int) -> Path:
        """The path of the first models alone, where these take less to fit without the richer ones; else this path.

        What they answer is the same.
        """
        return self

    def with_own_ties(self) -> Path:
        """This path, free to settle ties between equally good fits by a rule of its own, if that is faster.

        For estimates that need not have the digits of scikit-learn, which settles ties by its random state.
        """
        return self

    @property
    def name(self) -> str:
        """The word for this path in results, e.g. "TreePath"."""
        return type(self).__name__


class GridPath(Path):
    """A path over the values of one parameter, sorted from simple to rich; equal complexities keep the user's order.

    The fast paths are of this kind. `paths.dispatch` lists the estimators and the parameter each is for; `serves` and
    `accepts` say whether the settings and the values are among those it can handle.
    """

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[Any]) -> None:
        complexity, ordered = complexity_of(parameter, values)
        order = simplest_first(complexity)
        self.parameter, self.values = parameter, tuple(values[i] for i in order)
        super().__init__(estimator, [{parameter: value} for value in self.values], complexity[order], ordered)

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        """Whether the path handles an estimator of a type listed for it with its present settings.

        Parameters
        ----------
        alone : the estimator is judged as it is, one model at the present value of the parameter.
        """
        return True

    @classmethod
    def accepts(cls, value: object) -> bool:
        """Whether the path handles this value of the parameter; others are refitted by scikit-learn."""
        return True


@dataclass(frozen=True)
class Abilities:
    """What a design can do beyond `fitted` and `predict`.

    Attributes
    ----------
    batched : one call with many label vectors is the fast way, because the kernel uses threads itself; otherwise
        draws are better distributed over workers, one at a time.
    sums : the statistics, "confusion" or "moments", that are computed without writing all predictions down.
    streams : `confusions` and `moments` take label vectors that are drawn when they are asked for.
    smoother : every fit is linear in y, and `smoother` gives the leverages (regression only).
    groups : `grouped` gives the answers to groups of rows that all models answer alike (classification only).
    leaves_out : `left_out_predictions` predicts rows left out without refitting.
    leaves_folds_out_only : it does so from sums over the other folds, which costs as much for a row as for a fold.
    scores : `scores` asks each fitted model for its own score.
    coefficients : models are linear, and `fitted_coefficients` gives their coefficients on the columns of `table`.
    row_blocks : `fitted_blocks` and `left_out_blocks` answer for a few rows at a time.
    """

    batched: bool = True
    sums: frozenset[str] = frozenset()
    streams: bool = False
    groups: bool = False
    smoother: bool = False
    leaves_out: bool = False
    leaves_folds_out_only: bool = False
    scores: bool = False
    coefficients: bool = False
    row_blocks: bool = False


class Design(ABC):
    """A path bound to one X: label vectors in, predictions of every model out.

    Attributes
    ----------
    n_samples, n_models : sizes.
    fits_per_draw : fits of a learner that one label vector is expected to cost.
    table : X as linear models read it, behind the earlier steps of a pipeline, (n, p); only with `coefficients`.
    """

    fits_per_draw: int = 1
    n_samples: int
    n_models: int
    classes: Array | None
    weight: Floats | None
    table: Any
    _learned: tuple[Array, Spent] | None = None

    @property
    def abilities(self) -> Abilities:
        """What this design can do beyond `fitted` and `predict`."""
        return Abilities()

    @abstractmethod
    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        """In-sample predictions after fitting each label vector of Y.

        Parameters
        ----------
        Y : (draws, n) class codes or real values; (draws, n, outputs) for several outputs.
        response : "predict" (codes or values), "predict_proba" (trailing axis of K classes) or
            "decision_function" (n, or n × K above two classes).
        seeds : one integer per draw, for learners whose own `random_state` is None.

        Returns
        -------
        (draws, models, n) or (draws, models, n, K or outputs)
        """

    def _learn(self, y: Array) -> None:
        """Count a label vector that a kernel of ours is fitted to.

        What else is asked about the first one, the real labels where these are asked for, is read off the same fit.
        """
        first = self._learned is None
        if self._learned is None:
            self._learned = y, Spent(1.0).behind(new_key())
        known, spent = self._learned
        count_spent(spent if first or np.may_share_memory(y, known) else Spent(1.0))

    def grouped(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Iterator[Groups]:
        """The same answers as `fitted`, for each label vector in turn, as groups of rows that have them in common."""
        raise TypeError(f"{type(self).__name__} answers rows one by one")

    @abstractmethod
    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        """Predictions on X_new after fitting y, (models, n_new[, K or outputs])."""

    def scores(
        self, y: Array, seed: int | None, X_new: Table | None, y_new: Array, weight_new: Floats | None
    ) -> Floats:
        """What each model's own `score` says of new rows after fitting y, (models,); greater is better.

        X_new None means the rows fitted. Only refitted models can be asked.
        """
        raise TypeError(f"{type(self).__name__} has predictions only; a model's own score needs the fitted model")

    @property
    def smoother(self) -> Smoother | None:
        """Leverages and row sums of the fits, None where they are not all linear in y."""
        return None

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        """Prediction for each row by the models fitted to the rows of all other folds, without refitting.

        Parameters
        ----------
        y : (n,) codes or real values; (n, outputs) for several outputs.
        folds : (n,) integer number of each row's fold; `numpy.arange(n)` is leave-one-out.

        Returns
        -------
        (models, n[, K or outputs]), computed anew, so that the caller may write to it; or None: this design has no
        shortcut, refit on the other rows.
        """
        return None

    def knows_rows_left_out(self, y: Array, response: str = "predict") -> bool:
        """Whether `left_out_predictions` has a shortcut for single rows and these labels."""
        return self.abilities.leaves_out and not self.abilities.leaves_folds_out_only

    def fitted_coefficients(self, y: Array) -> Iterator[tuple[Floats, Floats]]:
        """(coefficients (K, p), constants (K,)) of each model after fitting y, on the columns of `table`.

        K is 1 for regression and two classes.
        """
        raise TypeError(f"{type(self).__name__} has no coefficients")

    def fitted_blocks(self, y: Array, models: slice = slice(None)) -> RowBlocks:
        """In-sample predictions of some models of a path after fitting y, a few rows at a time.

        Where the design declares `row_blocks`: for answers that together are too large to be held.
        """
        raise TypeError(f"{type(self).__name__} has no answers for a few rows at a time")

    def left_out_blocks(self, y: Array, models: slice = slice(None)) -> RowBlocks:
        """What some models say of each row without having seen it, a few rows at a time, as in `fitted_blocks`."""
        raise TypeError(f"{type(self).__name__} has no answers for a few rows at a time")

    def leaves_out_behind(self, scaler: StandardScaler) -> bool:
        """Whether `left_out_behind` has a shortcut."""
        return False

    def leaves_rows_out_behind(self, scaler: StandardScaler) -> bool:
        """Whether it costs little for single rows too."""
        return self.leaves_out_behind(scaler)

    def left_out_behind(self, scales: Rescaling, y: Array, response: str = "predict") -> tuple[Array, Rows] | None:
        """`left_out_predictions` where a scaler has made X, which is fitted anew to the rows of all other folds.

        Parameters
        ----------
        scales : the folds, and the scaler without each of them.

        Returns
        -------
        (predictions (models, n[, K or outputs]), folds that must be refitted, as positions in `scales`); or None: no
        shortcut for these folds.
        """
        return None

    def confusions(self, Y: Any, seeds: Sequence[int] | None = None) -> Floats:
        """Weighted shares of (drawn label a, predicted label b), (draws, models, K, K), each summing to one.

        All that zero-one loss and loss matrices need. Y is an array, or `Draws` where the design `streams`.
        """
        return confusion_shares(Y, self.fitted(Y, "predict", seeds), self._n_classes, self.weight)

    def moments(self, Y: Any, center: float, seeds: Sequence[int] | None = None) -> Floats:
        """Weighted means of (y* − ĝ)² and (ĝ − center)², (draws, models, 2): all that squared loss needs.

        Y is an array, or `Draws` where the design `streams`.
        """
        fitted = self.fitted(Y, "predict", seeds)
        in_sample = np.average((Y[:][:, None] - fitted) ** 2, axis=2, weights=self.weight)
        around_center = np.average((fitted - center) ** 2, axis=2, weights=self.weight)
        return np.stack([in_sample, around_center], axis=-1)

    @property
    def tied(self) -> bool:
        """Whether ties in X leave open what scikit-learn's own estimator would predict."""
        return False

    @property
    def batched(self) -> bool:
        """Whether many label vectors are best given in one call, see `Abilities`."""
        return self.abilities.batched

    @property
    def streams(self) -> bool:
        """Whether `confusions` and `moments` take label vectors that are drawn when they ask for them."""
        return self.abilities.streams

    @property
    def _n_classes(self) -> int:
        if self.classes is None:
            raise TypeError("confusions need a classifier, this design was bound for regression")
        return len(self.classes)


def confusion_shares(Y: Array | Draws, predicted: Array, n_classes: int, weight: Floats | None) -> Floats:
    """Weighted shares of (label, prediction) pairs, (draws, models, K, K), from codes.

    Parameters
    ----------
    Y : (draws, n) label codes.
    predicted : (draws, models, n) predicted codes.
    """
    draws, models, n = predicted.shape
    shares = np.empty((draws, models, n_classes, n_classes))
    total = float(n) if weight is None else float(weight.sum())
    for d in range(draws):
        for m in range(models):
            cell = Y[d] * n_classes + predicted[d, m]
            counts = np.bincount(cell, weights=weight, minlength=n_classes**2)
            shares[d, m] = counts.reshape(n_classes, n_classes) / total
    return shares
