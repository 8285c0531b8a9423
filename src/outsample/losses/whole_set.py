"""Losses of a whole set of samples: scikit-learn's scorers, and functions that return one number for all samples.

They have no loss per sample. Scorers that `losses.scorers` knows are computed for all sets at once, with their mean
under permuted labels and the influence of every row. For others the crossed mean is estimated from the same
predictions and freshly drawn labels, which costs no fit, and influences come from leaving out groups of rows.

Scores are greater-is-better. A scorer becomes a risk here by changing its sign, and `reported` changes it back; the
rest of the library knows risks only.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer_names

from outsample.data.tables import lend
from outsample.losses.base import LABELS, RELATIVE_ROUNDING, Groups, Loss, SufficientStatistic, as_losses, class_shares
from outsample.losses.jackknife import jackknifed
from outsample.losses.scorers.form import Form
from outsample.losses.scorers.ranks import RankForm, Ranking
from outsample.losses.scorers.stand_ins import FrozenPredictions, Recorder
from outsample.running.arrays import Array, Floats, Rows, chunks
from outsample.running.threads import cached_property

# Label vectors drawn for one crossed mean.
FRESH_LABELS = 20
# Of the labels, tried as constant predictions beside the mean.
QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)

SCORE_RANGES = {
    **dict.fromkeys(("accuracy", "balanced_accuracy", "top_k_accuracy", "average_precision", "roc_auc"), (0.0, 1.0)),
    **dict.fromkeys(("f1", "jaccard", "precision", "recall"), (0.0, 1.0)),
    **dict.fromkeys(("r2", "explained_variance", "d2_"), (-np.inf, 1.0)),
    "matthews_corrcoef": (-1.0, 1.0),
    "neg_": (-np.inf, 0.0),
}
"""(worst, best) score, by the beginning of scikit-learn's name of the scorer."""


_AGREES: dict[Any, bool] = {}
"""Whether the form of a scorer was found to agree with it, by what tells scorers apart."""


class SetLoss(Loss):
    """A risk of all labels and predictions together.

    `trailing` says whether predictions have an axis of classes or outputs after that of the samples.
    """

    trailing: bool = False
    per_row = False

    @property
    def on_new_data(self) -> str:
        return f"the {self.name} on a large set of new samples"

    @property
    def jackknifed(self) -> bool:  # type: ignore[override]
        return True

    def set_risk(self, y: Array, prediction: Array, weight: Floats | None) -> float:
        """The risk of one set of predictions, (n) or (n, classes or outputs)."""
        raise NotImplementedError

    def pointwise(self, y: Array, prediction: Array) -> Array:
        raise TypeError(f"{self.name} judges a whole set of predictions; it has no loss per sample")

    def risk(self, y: Array, prediction: Array, weight: Floats | None = None) -> Array:
        Y, P = self._sets(y, prediction)
        lead = Y.shape[: Y.ndim - self._label_axes()]
        risks = [self.set_risk(Y[i], P[i], weight) for i in np.ndindex(lead)]
        return np.asarray(risks, dtype=np.float64).reshape(lead)

    def row_values(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        Y, P = self._sets(y, prediction)
        lead = Y.shape[: Y.ndim - self._label_axes()]
        rows = [self._jackknifed(Y[i], P[i], weight) for i in np.ndindex(lead)]
        return np.asarray(rows, dtype=np.float64).reshape(*lead, -1)

    def _jackknifed(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        """Row values of one set, (n,)."""

        def risk_of(rows: Rows) -> float:
            return self.set_risk(y[rows], prediction[rows], None if weight is None else weight[rows])

        return jackknifed(self.set_risk(y, prediction, weight), risk_of, len(y), weight)

    def _sets(self, y: Array, prediction: Array) -> tuple[Array, Array]:
        """Labels and predictions of every set, with the same leading axes."""
        own, said = y.ndim - self._label_axes(), prediction.ndim - (2 if self.trailing else 1)
        lead = np.broadcast_shapes(y.shape[:own], prediction.shape[:said])
        return np.broadcast_to(y, lead + y.shape[own:]), np.broadcast_to(prediction, lead + prediction.shape[said:])

    def guessing(self, y: Array, weight: Floats | None = None, sizes: Rows | None = None) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.ranks:
                n, times = np.unique([len(y)] if sizes is None else sizes, return_counts=True)
                return float(np.average([self.in_random_order(y, weight, int(m)) for m in n], weights=times))
            risks = [risk_if_any(self, y, constant, weight) for constant in self.constants(y, weight)]
        known = [risk for risk in risks if np.isfinite(risk)]
        return min(known, default=np.nan)

    def in_random_order(self, y: Array, weight: Floats | None, m: int) -> float:
        """Mean risk of m rows, with the shares of labels that y has, if chance ranks them."""
        rng, risks = np.random.default_rng(0), []
        in_order, places = np.argsort(y, kind="stable"), np.linspace(0, len(y) - 1, m).round().astype(np.intp)
        for _ in range(FRESH_LABELS):
            rows = in_order[places]
            of_rows = None if weight is None else weight[rows]
            risks.append(risk_if_any(self, y[rows], self._random_order(y[rows], rng), of_rows))
        return float(np.mean(risks))

    def _random_order(self, y: Array, rng: np.random.Generator) -> Array:
        """Predictions for rows with the labels y that have nothing to do with them."""
        return rng.permutation(y)

    def permuted_mean(self, y: Array, prediction: Array) -> Array | None:
        """Mean risk over all permutations of the labels y, (n[, outputs]); None where no closed form is known."""
        return None

    @property
    def knows_permuted_mean(self) -> bool:
        """Whether `permuted_mean` has a closed form."""
        return False

    @property
    def additive(self) -> bool:
        """Whether it is the mean of a loss per row, so that its crossed mean is exact for any pools and weights."""
        return False

    def crossed_mean(
        self, y: Array, prediction: Array, weight: Floats | None = None, label_weight: Floats | None = None
    ) -> Array:
        rng = np.random.default_rng(0)
        n = prediction.shape[-2 if self.trailing else -1]
        fresh = np.stack([_fresh_labels(y, n, label_weight, rng) for _ in range(FRESH_LABELS)])
        return self.mean_over_fresh(fresh, prediction, weight)

    def mean_over_fresh(self, fresh: Array, prediction: Array, weight: Floats | None = None) -> Array:
        """Mean risk of the predictions against each label vector of `fresh`, (fresh, n)."""
        return np.asarray(np.mean(self.risk_of_labels(fresh, prediction, weight), axis=0))

    def risk_of_labels(self, Y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        """Risk of the same predictions against each label vector of Y, (label vectors, ...)."""
        return np.stack([self.risk(labels, prediction, weight) for labels in Y])

    def _label_axes(self) -> int:
        """Number of axes of one label vector."""
        return 1


def risk_if_any(loss: Loss, y: Array, prediction: Array, weight: Floats | None) -> float:
    """The risk of one set of predictions; nan where the loss is not defined on them."""
    try:
        return float(loss.risk(y, prediction, weight))
    except Exception:
        # A user's function may be undefined on predictions that no learner makes.
        return np.nan


def _heeds_order_alone(loss: SetLoss, y: Array, prediction: Array) -> bool:
    """Whether a loss stays the same if predictions change and their order does not, and heeds the order."""
    if prediction.ndim > 1:
        # Other shares of the classes, in the same order of the rows for each of them.
        more = np.arange(prediction.shape[-1]) / 2
        moved, turned = (prediction + more) / (1 + more.sum()), prediction[::-1]
    else:
        moved, turned = np.exp(prediction), -prediction
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, same, other = (risk_if_any(loss, y, said, None) for said in (prediction, moved, turned))
    return bool(np.isclose(first, same, rtol=1e-9, atol=1e-12) and not np.isclose(first, other))


def _same_for_every_row(y: Array, classes: Array | None, weight: Floats | None) -> Iterator[Array]:
    """Each class, or the mean and some quantiles of the labels, for every row."""
    if classes is None:
        share = np.ones(len(y)) if weight is None else weight
        yield np.broadcast_to(np.average(y, axis=0, weights=share), y.shape)
        order = np.argsort(y, axis=0, kind="stable")
        ordered, below = np.take_along_axis(y, order, axis=0), np.cumsum(share[order], axis=0) / share.sum()
        for level in QUANTILES:
            # Between two labels where just this share of them is below.
            ends = [
                np.argmax(below >= level * (1 + tiny), axis=0)[None] for tiny in (-RELATIVE_ROUNDING, RELATIVE_ROUNDING)
            ]
            yield np.broadcast_to(
                np.mean([np.take_along_axis(ordered, end, axis=0)[0] for end in ends], axis=0), y.shape
            )
    else:
        yield from (np.full(len(y), code) for code in range(len(classes)))


def _fresh_labels(pool: Array, n: int, weight: Floats | None, rng: np.random.Generator) -> Array:
    """n labels of a pool: permuted where there are n without weights, else drawn with replacement."""
    if weight is not None:
        return rng.choice(pool, n, p=weight / weight.sum())
    return rng.permutation(pool) if len(pool) == n else rng.choice(pool, n)


@dataclass(frozen=True)
class SetFunctionLoss(SetLoss):
    """A user's function of all labels and all predictions that returns one number, smaller is better."""

    function: Callable[[Any, Any], Any]
    classes: Any = None
    multioutput: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def trailing(self) -> bool:  # type: ignore[override]
        return self.multioutput

    @cached_property
    def ranks(self) -> bool:  # type: ignore[override]
        """Found by trial."""
        if self.classes is not None or self.multioutput:
            return False
        y, prediction = np.random.default_rng(0).integers(1, 9, (2, 12)) / 2
        return _heeds_order_alone(self, y, prediction)

    def for_labels(self, classes: Array | None, n_outputs: int) -> Loss:
        return replace(self, classes=classes, multioutput=n_outputs > 1)

    def constants(self, y: Array, weight: Floats | None = None) -> Iterator[Array]:
        return _same_for_every_row(y, self.classes, weight)

    def takes_weight(self) -> bool:
        try:
            parameters = inspect.signature(self.function).parameters
        except (TypeError, ValueError):
            return False
        return "sample_weight" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    def set_risk(self, y: Array, prediction: Array, weight: Floats | None) -> float:
        if self.classes is not None:
            y, prediction = self.classes[y], self.classes[prediction]
        weighted: dict[str, Any] = {} if weight is None else {"sample_weight": weight}
        returned = lend(self.function, partial(self.function, **weighted), y, prediction, names=LABELS)
        return float(as_losses(returned, self.name))

    def _label_axes(self) -> int:
        return 2 if self.multioutput else 1


@dataclass(frozen=True)
class ScorerLoss(SetLoss):
    """A scikit-learn scorer as a risk: minus the score."""

    scorer: Callable[..., Any]
    label: str
    classes: Any = None
    multioutput: bool = False
    response: str = "predict"
    sign: int = 1
    form: Form | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.label

    @property
    def statistic(self) -> SufficientStatistic | None:  # type: ignore[override]
        return None if self.form is None else self.form.statistic

    @property
    def fixed_labels(self) -> bool:  # type: ignore[override]
        return True

    @property
    def jackknifed(self) -> bool:  # type: ignore[override]
        return self.form is None

    @property
    def additive(self) -> bool:
        return self.form is not None and self.form.additive

    @property
    def relative(self) -> bool:  # type: ignore[override]
        return self.form is not None and self.form.relative

    @property
    def knows_permuted_mean(self) -> bool:
        return self.form is not None and self.form.closed

    @property
    def trailing(self) -> bool:  # type: ignore[override]
        if self.multioutput or self.response == "predict_proba":
            return True
        return self.response == "decision_function" and self.classes is not None and len(self.classes) > 2

    @cached_property
    def ranks(self) -> bool:  # type: ignore[override]
        """Known of a form; of other scorers found by trial."""
        if self.form is not None or (self.response == "predict" and self.classes is not None):
            return self.form is not None and self.form.ranks
        y, prediction, _ = self._trial()
        return not self.multioutput and _heeds_order_alone(self, y, prediction)

    @property
    def responses(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.response,)

    @property
    def range(self) -> tuple[float, float]:
        named = self.label in get_scorer_names()
        known = [scores for start, scores in SCORE_RANGES.items() if named and self.label.startswith(start)]
        worst, best = known[0] if known else (-np.inf, np.inf)
        return -best, -worst

    @property
    def largest(self) -> float:
        if self.label == "neg_brier_score" and self.classes is not None:
            return 1.0 if len(self.classes) == 2 else 2.0
        return super().largest

    @cached_property
    def limitless(self) -> bool:  # type: ignore[override]
        """Found by trial: whether the risk keeps on growing as the probability of one true class goes to zero."""
        if self.response != "predict_proba" or self.classes is None or np.isfinite(self.range[1]):
            return False
        n_classes = len(self.classes)
        y, share, risks = np.tile(np.arange(n_classes), 2), 0.1 / n_classes, []
        for chance in (1e-3, 1e-6, 1e-12):
            said = np.full((len(y), n_classes), share)
            said[np.arange(len(y)), y] = 0.9 + share
            said[0] = (1 - chance) / (n_classes - 1)
            said[0, y[0]] = chance
            try:
                risks.append(float(self.risk(y, said)))
            except (TypeError, ValueError):
                # It cannot be computed on these few rows.
                return False
        return risks[2] - risks[1] > 0.5 * abs(risks[1] - risks[0])

    def for_labels(self, classes: Array | None, n_outputs: int) -> Loss:
        return replace(self, classes=classes, multioutput=n_outputs > 1)

    def with_response(self, available: tuple[str, ...]) -> ScorerLoss:
        """This scorer with the prediction method that it calls on a learner that offers `available`.

        It is found by letting the scorer score a stand-in that records which method is called.
        """
        called = set(self._methods_called(available))
        if len(called) != 1:
            raise ValueError(
                f"loss {self.label!r}: a scorer must read exactly one of predict, predict_proba and "
                f"decision_function, it read {sorted(called) or 'none'}"
            )
        chosen = replace(self, response=called.pop())
        from outsample.losses.scorers.table import form_of  # Loaded when a scorer is asked for.

        found = form_of(self.scorer, self.classes, self.multioutput, chosen.response)
        if found is None:
            return chosen
        known = replace(chosen, sign=found[0], form=found[1])
        # A scorer that has a form is scikit-learn's own, so that its text says all of it.
        classes = None if self.classes is None else tuple(self.classes.tolist())
        key = str(self.scorer), classes, self.multioutput, chosen.response
        if key not in _AGREES:
            _AGREES[key] = known.agrees_with_scorer()
        return known if _AGREES[key] else chosen

    def constants(self, y: Array, weight: Floats | None = None) -> Iterator[Array]:
        if self.response == "predict":
            yield from _same_for_every_row(y, self.classes, weight)
        elif self.classes is not None:
            shares = class_shares(y, len(self.classes), weight)
            shares = shares if self.response == "predict_proba" else np.zeros_like(shares)
            alike = np.broadcast_to(shares, (len(y), len(shares)))
            yield alike if self.trailing else alike[:, 1]

    def in_random_order(self, y: Array, weight: Floats | None, m: int) -> float:
        if weight is not None or not isinstance(self.form, RankForm):
            return super().in_random_order(y, weight, m)
        return -self.sign * self.form.in_random_order(class_shares(y, len(self.classes)) * m, m)

    def _random_order(self, y: Array, rng: np.random.Generator) -> Array:
        if self.classes is None:
            return super()._random_order(y, rng)
        return rng.dirichlet(np.ones(len(self.classes)), len(y)) if self.trailing else rng.normal(size=len(y))

    def agrees_with_scorer(self) -> bool:
        """Whether the form has the value of the scorer itself on trial: other versions may define a score otherwise."""
        assert self.form is not None
        y, prediction, weight = self._trial()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for share in (None, weight):
                try:
                    called = self.set_risk(y, prediction, share)
                except (TypeError, ValueError):
                    continue
                found = -self.sign * float(self.form.value(y, prediction, share))
                if not (np.isnan(found) or np.isclose(found, called, rtol=1e-9, atol=1e-12)):
                    return False
        return True

    def _trial(self) -> tuple[Array, Array, Floats]:
        """Labels, predictions and weights of a few rows; there are ties, and every class occurs."""
        rng = np.random.default_rng(0)
        if self.classes is None:
            shape = (12, 2) if self.multioutput else (12,)
            y, prediction = rng.integers(1, 9, shape) / 2, rng.integers(1, 9, shape) / 2
            return y, prediction, rng.uniform(0.5, 2, 12)
        n_classes = len(self.classes)
        y = np.tile(np.arange(n_classes), 6)
        weight = rng.uniform(0.5, 2, len(y))
        if self.response == "predict":
            return y, np.where(rng.random(len(y)) < 0.5, y, rng.integers(n_classes, size=len(y))), weight
        shares = rng.integers(1, 4, (len(y), n_classes)).astype(np.float64)
        shares /= shares.sum(axis=1, keepdims=True)
        return y, shares if self.trailing else shares[:, 1] - 0.5, weight

    def risk(self, y: Array, prediction: Array, weight: Floats | None = None) -> Array:
        if self.form is None:
            return super().risk(y, prediction, weight)
        return self._over_models(self._known_risk, y, prediction, weight, axis=-1)

    def scored_risk(self, y: Array, prediction: Array, weight: Floats | None = None) -> Array:
        # scikit-learn computes in the precision of the predictions; most forms always in double precision.
        single = prediction.dtype.kind == "f" and prediction.dtype != np.float64
        if self.form is None or not self.form.every_digit or weight is not None:
            return super().risk(y, prediction, weight)
        if single and not self.form.any_precision:
            return super().risk(y, prediction, weight)
        return self._over_models(self._scored_risk, y, prediction, weight, axis=-1)

    def _known_risk(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        assert self.form is not None
        return self._completed(y, prediction, weight, *self.form.value_and_warning(y, prediction, weight))

    def _scored_risk(self, y: Array, prediction: Array, weight: None) -> Floats:
        assert self.form is not None
        return self._completed(y, prediction, weight, *self.form.scored(y, prediction))

    def _completed(self, y: Array, prediction: Array, weight: Floats | None, score: Floats, why: str | None) -> Floats:
        """Risks of scores that the form knows, and of those that the scorer itself must be asked about."""
        risks = np.asarray(-self.sign * score)
        for i in self._undefined(risks):
            Y, P = self._sets(y, prediction)
            risks[i] = self.set_risk(Y[i], P[i], weight)
        if why is not None:
            message = f"loss {self.label!r} is ill-defined on some rows and has a fixed value there: {why}"
            warnings.warn(message, UndefinedMetricWarning, stacklevel=2)
        return risks

    def row_values(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        if self.form is None:
            return super().row_values(y, prediction, weight)
        return self._over_models(self._known_rows, y, prediction, weight, axis=-2)

    def part_values(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        if not isinstance(self.form, RankForm):
            return self.row_values(y, prediction, weight)
        return self._over_models(partial(self._known_rows, part=True), y, prediction, weight, axis=-2)

    def joined(self, rows: Floats, risks: Floats, tests: Sequence[Array], y: Array, weight: Floats | None) -> Floats:
        return self.form.joined(rows, risks, tests, y, weight) if isinstance(self.form, RankForm) else rows

    @property
    def ranks_pairs(self) -> bool:
        """Whether it can be computed from rows compared two by two."""
        return isinstance(self.form, RankForm)

    def scores_of(self, prediction: Array, c: int) -> Array:
        """What a loss that ranks pairs compares for class c, (..., n)."""
        assert isinstance(self.form, RankForm)
        return self.form.scores_of(prediction, c)

    def of_pairs(self, y: Array, ranking: Ranking, weight: Floats | None) -> tuple[float, Floats]:
        """(risk, `part_values` (n,)) of rows compared two by two."""
        assert isinstance(self.form, RankForm)
        score, values = self.form.of_pairs(y, ranking, weight)
        return -self.sign * float(score), -self.sign * values

    def _known_rows(self, y: Array, prediction: Array, weight: Floats | None, part: bool = False) -> Floats:
        assert self.form is not None
        values = self.form.part_values if part and isinstance(self.form, RankForm) else self.form.row_values
        rows = np.asarray(-self.sign * values(y, prediction, weight))
        for i in self._undefined(rows.sum(axis=-1)):
            Y, P = self._sets(y, prediction)
            rows[i] = self._jackknifed(Y[i], P[i], weight)
        return np.asarray(rows)

    def _over_models(
        self, function: Callable[..., Floats], y: Array, prediction: Array, weight: Floats | None, axis: int
    ) -> Floats:
        """What a function gives for a few models at a time, joined along the `axis` of models of its results.

        What it computes on the way is several times as large as the predictions.
        """
        of_models = prediction.ndim - (3 if self.trailing else 2)
        if of_models < 0:
            return function(y, prediction, weight)
        along = np.moveaxis(prediction, of_models, 0)
        own = y.ndim - self._label_axes() - 1
        parts = []
        for models in chunks(along):
            shared = own < 0 or y.shape[own] == 1
            labels = y if shared else y[(slice(None),) * own + (models,)]
            parts.append(function(labels, np.moveaxis(along[models], 0, of_models), weight))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)

    def risk_of_labels(self, Y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        if self.form is None or not self.form.takes_many_labels or prediction.ndim != (3 if self.trailing else 2):
            return super().risk_of_labels(Y, prediction, weight)
        return np.asarray(self.risk(Y[:, None], prediction, weight))

    @staticmethod
    def _undefined(values: Array) -> Iterator[tuple[int, ...]]:
        """The places of sets that the scorer itself must be asked about."""
        return (tuple(int(k) for k in place) for place in np.argwhere(np.isnan(values)))

    def permuted_mean(self, y: Array, prediction: Array) -> Array | None:
        mean = None if self.form is None else self.form.permuted_mean(y, prediction)
        return None if mean is None or np.isnan(mean).any() else -self.sign * mean

    def crossed_mean(
        self, y: Array, prediction: Array, weight: Floats | None = None, label_weight: Floats | None = None
    ) -> Array:
        mean = None if self.form is None else self.form.crossed_mean(y, prediction, weight, label_weight)
        if mean is None or np.isnan(mean).any():
            return super().crossed_mean(y, prediction, weight, label_weight)
        return np.asarray(-self.sign * mean)

    def risk_of_groups(self, groups: Groups, masses: Floats) -> Floats | None:
        complete = bool((masses.sum(axis=1) > 0).all())
        if self.form is None or not complete:
            return None
        labels, prediction = groups.rows(masses.shape[-1])
        score, why = self.form.value_and_warning(labels, prediction, masses.reshape(len(masses), 1, -1))
        return None if why is not None or np.isnan(score).any() else -self.sign * score

    def permuted_mean_of_groups(self, groups: Groups, y: Array) -> Floats | None:
        mean = None if self.form is None else self.form.permuted_mean(y, groups.answers, groups.sizes)
        return None if mean is None or np.isnan(mean).any() else -self.sign * mean

    def risk_and_crossed_mean(
        self, values: Floats, pool: Array, pool_weight: Floats | None = None
    ) -> tuple[Floats, Floats]:
        if self.form is None or self.form.statistic is None:
            return super().risk_and_crossed_mean(values, pool, pool_weight)
        score, mean = self.form.from_statistic(values, pool)
        return -self.sign * score, -self.sign * mean

    def takes_weight(self) -> bool:
        try:
            self._methods_called((self.response,), sample_weight=np.ones(len(self._trial_codes())))
        except TypeError:
            return False
        return True

    def _trial_codes(self) -> Array:
        """Class codes of the few rows that the stand-in is scored on."""
        return np.tile(np.arange(2 if self.classes is None else len(self.classes)), 4)

    def _methods_called(self, available: tuple[str, ...], **weight: Array) -> list[str]:
        """The prediction methods that this scorer calls on a stand-in that offers `available` and is always right."""
        codes = self._trial_codes()
        labels = 1.5 + codes if self.classes is None else self.classes[codes]
        if self.multioutput:
            labels = np.stack([labels, labels[::-1]], axis=1)
        stand_in = Recorder(available, labels, codes, self.classes)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.scorer(stand_in, np.arange(len(codes))[:, None], labels, **weight)
        except AttributeError:
            offered = " and ".join(available)
            raise ValueError(
                f"loss {self.label!r} needs a response the learner does not offer: it has {offered}"
            ) from None
        except ValueError as error:
            raise ValueError(f"loss {self.label!r} does not fit this learner and these labels: {error}") from error
        return stand_in.called

    def set_risk(self, y: Array, prediction: Array, weight: Floats | None) -> float:
        decode = self.classes is not None
        labels = self.classes[y] if decode else y
        if decode and self.response == "predict":
            prediction = self.classes[prediction]
        frozen = FrozenPredictions(self.response, prediction, self.classes)
        index = np.arange(len(labels))[:, None]
        weighted = {} if weight is None else {"sample_weight": weight}
        try:
            score = self.scorer(frozen, index, labels, **weighted)
        except ValueError as error:
            raise ValueError(f"loss {self.label!r} cannot be computed on {len(labels)} of the rows: {error}") from error
        if np.ndim(score) == 0 and np.isnan(score):
            raise ValueError(
                f"loss {self.label!r} cannot be computed on {len(labels)} of the rows: it is nan, as where labels lack "
                "a class"
            )
        return -float(as_losses(score, self.label))

    def reported(self, risk: Any) -> Any:
        return None if risk is None else -risk

    def _added_risk(self, y: Array, other: Array) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super()._added_risk(y, other)

    def _sure_prediction(self, y: Array) -> Array:
        if self.response == "predict":
            return y
        sure = np.eye(len(self.classes))[y]
        return sure if self.trailing else sure[:, 1]

    def _label_axes(self) -> int:
        return 2 if self.multioutput else 1


def risk_of_scores(scores: Floats) -> Floats:
    """Scores of estimators, greater is better, as risks, smaller is better."""
    return -scores


@dataclass(frozen=True)
class OwnScore(SetLoss):
    """The estimator's own `score` as a risk: minus the score.

    A `score` method may compute anything, so it is called on the fitted models: see `RefitDesign.scores`.
    """

    name = "score"
    responses = ("score",)
    reads_predictions = False

    def guessing(self, y: Array, weight: Floats | None = None, sizes: Rows | None = None) -> float:
        return np.nan

    def set_risk(self, y: Array, prediction: Array, weight: Floats | None) -> float:
        raise TypeError("the estimator's own score is asked of fitted models, not computed from predictions")

    def reported(self, risk: Any) -> Any:
        return None if risk is None else -risk
