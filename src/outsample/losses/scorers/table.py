"""Which form a scikit-learn scorer has: by the function it calls, the arguments it passes and the response it reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.metrics import get_scorer, get_scorer_names

from outsample.losses.scorers import corners, means, ranks
from outsample.losses.scorers import counts as count
from outsample.losses.scorers.form import Form
from outsample.losses.scorers.row_losses import (
    AmongFirst,
    BrierError,
    Deviance,
    LogError,
    PercentageError,
    Pinball,
    RowLoss,
    SquaredError,
    SquaredLogError,
)
from outsample.running.arrays import Array


@dataclass(frozen=True)
class Judged:
    """What a scorer is about.

    Attributes
    ----------
    arguments : what the scorer passes to its function, defaults included.
    classes : the sorted classes, None for regression.
    multioutput : whether there are several outputs.
    response : the method of a learner that the scorer reads.
    """

    arguments: dict[str, Any]
    classes: Array | None
    multioutput: bool
    response: str

    @property
    def n_classes(self) -> int:
        return 0 if self.classes is None else len(self.classes)

    @property
    def positive(self) -> int | None:
        """Code of the class `pos_label`; None where no class has that name."""
        named = self.arguments.get("pos_label")
        if named is None or self.classes is None:
            return None
        codes = [code for code, label in enumerate(self.classes.tolist()) if label == named]
        return codes[0] if len(codes) == 1 else None

    def has(self, **expected: Any) -> bool:
        """Whether arguments have these values, or are not among those of the function."""
        return all(_same(self.arguments.get(name, value), value) for name, value in expected.items())


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and not isinstance(one, np.ndarray) and bool(one == other))


def form_of(scorer: Any, classes: Array | None, multioutput: bool, response: str) -> tuple[int, Form] | None:
    """(sign, form) of a scorer made by `make_scorer`: the score is sign × form; None where it must be called."""
    if type(scorer) is not type(get_scorer("accuracy")):
        return None
    function: Any = getattr(scorer, "_score_func", None)
    sign = getattr(scorer, "_sign", None)
    passed = getattr(scorer, "_kwargs", None)
    make = next((make for known, make in KNOWN if known is function), None)
    if make is None or sign not in (1, -1) or not isinstance(passed, dict):
        return None
    defaults = {name: p.default for name, p in inspect.signature(function).parameters.items()}
    form = make(Judged({**defaults, **passed}, classes, multioutput, response))
    return None if form is None else (int(sign), form)


Maker = Callable[[Judged], Form | None]


def _count(score: count.Score, every_digit: bool = True, **arguments: Any) -> Maker:
    def make(judged: Judged) -> Form | None:
        if judged.response != "predict" or not judged.n_classes or not judged.has(**arguments):
            return None
        return count.CountForm(score, judged.n_classes, every_digit=every_digit)

    return make


def _balanced(judged: Judged) -> Form | None:
    if judged.response != "predict" or not judged.n_classes:
        return None
    score = partial(count.balanced_accuracy, adjusted=bool(judged.arguments.get("adjusted", False)))
    return count.CountForm(score, judged.n_classes, warned=count.classes_not_in_y)


def _of_class(kind: str) -> Maker:
    def make(judged: Judged) -> Form | None:
        average: Any = judged.arguments.get("average")
        empty: Any = judged.arguments.get("zero_division")
        beta, positive = judged.arguments.get("beta", 1.0), judged.positive
        known = average in ("macro", "micro", "weighted") or (average == "binary" and positive is not None)
        number = isinstance(empty, int | float) and empty in (0, 1)
        plain = judged.has(labels=None) and (number or _same(empty, "warn"))
        if not known or not plain or judged.response != "predict" or not judged.n_classes or not 0 < beta < np.inf:
            return None
        if average == "binary" and judged.n_classes != 2:
            return None
        silent = not isinstance(empty, str)
        score = count.ClassScore(kind, average, positive or 0, float(beta), float(empty) if silent else 0.0)
        linear = kind != "jaccard"
        nowhere = linear or (average == "micro" and judged.n_classes > 2)
        return count.CountForm(
            score,
            judged.n_classes,
            linear,
            every_digit=beta == 1,
            warned=None if silent else score.warned,
            expected=None if nowhere else score.expected,
        )

    return make


def _ratio(score: count.Score) -> Maker:
    def make(judged: Judged) -> Form | None:
        undefined = judged.arguments.get("replace_undefined_by", np.nan)
        plain = isinstance(undefined, float) and np.isnan(undefined)
        two = judged.response == "predict" and judged.n_classes == 2
        return count.CountForm(score, 2, linear=False) if plain and two and judged.has(labels=None) else None

    return make


def _area(judged: Judged) -> Form | None:
    average, several = judged.arguments.get("average"), judged.arguments.get("multi_class")
    if not judged.has(max_fpr=None, labels=None) or judged.response == "predict" or judged.n_classes < 2:
        return None
    if judged.n_classes > 2 and (several not in ("ovr", "ovo") or average not in ("macro", "weighted")):
        return None
    return ranks.RankForm(
        ranks.area,
        ranks.area_rows,
        ranks.area_of_pairs,
        corners.area,
        judged.n_classes,
        judged.response,
        pairs=several == "ovo",
        weighted=average == "weighted",
        sums_to_one=True,
    )


def _precision(judged: Judged) -> Form | None:
    average, positive = judged.arguments.get("average"), judged.positive
    if judged.response == "predict" or judged.n_classes < 2 or average not in ("macro", "weighted"):
        return None
    if judged.n_classes == 2 and positive is None:
        return None
    return ranks.RankForm(
        ranks.precision,
        ranks.precision_rows,
        ranks.precision_of_pairs,
        corners.precision,
        judged.n_classes,
        judged.response,
        positive=positive or 0,
        weighted=average == "weighted",
    )


def _values(
    form: Callable[..., Form], loss: Callable[[Judged], RowLoss | None], several: bool = True, **fixed: Any
) -> Maker:
    """The maker of a form of real predictions; `several` says whether it averages over outputs."""

    def make(judged: Judged) -> Form | None:
        if judged.classes is not None or judged.response != "predict" or (judged.multioutput and not several):
            return None
        if not judged.has(multioutput="uniform_average", force_finite=True):
            return None
        found = loss(judged)
        return None if found is None else form(found, judged.multioutput, **fixed)

    return make


def _classes(form: Callable[..., Form], loss: Callable[[Judged], RowLoss | None], **fixed: Any) -> Maker:
    """The maker of a form of class probabilities."""

    def make(judged: Judged) -> Form | None:
        if judged.n_classes < 2 or not judged.has(labels=None, normalize=True, pos_label=None):
            return None
        found = loss(judged)
        return None if found is None else form(found, **fixed)

    return make


def _of_probabilities(loss: Callable[[Judged], RowLoss]) -> Callable[[Judged], RowLoss | None]:
    return lambda judged: loss(judged) if judged.response == "predict_proba" else None


def _deviance(judged: Judged) -> RowLoss | None:
    power = judged.arguments.get("power", 0)
    if power == 0:
        return SquaredError()
    return Deviance(float(power)) if power >= 1 else None


def _brier(judged: Judged) -> RowLoss:
    halved = judged.arguments.get("scale_by_half", "auto")
    if isinstance(halved, str):
        halved = judged.n_classes < 3
    return BrierError(0.5 if halved else 1.0)


def _among_first(judged: Judged) -> RowLoss | None:
    k = judged.arguments.get("k", 2)
    several = judged.response != "predict" and judged.n_classes > max(2, k)
    return AmongFirst(int(k)) if several else None


def _pinball(judged: Judged) -> RowLoss:
    return Pinball(float(judged.arguments.get("alpha", 0.5)))


def _always(loss: RowLoss) -> Callable[[Judged], RowLoss]:
    return lambda judged: loss


def _absolute() -> Callable[[Judged], RowLoss]:
    return _always(Pinball(0.5, scale=2.0))


MAKERS: dict[str, Maker] = {
    "accuracy_score": _count(count.accuracy, normalize=True),
    "balanced_accuracy_score": _balanced,
    "matthews_corrcoef": _count(count.matthews),
    "cohen_kappa_score": _count(count.kappa, every_digit=False, labels=None, weights=None),
    "f1_score": _of_class("f"),
    "fbeta_score": _of_class("f"),
    "precision_score": _of_class("precision"),
    "recall_score": _of_class("recall"),
    "jaccard_score": _of_class("jaccard"),
    "positive_likelihood_ratio": _ratio(count.positive_ratio),
    "negative_likelihood_ratio": _ratio(count.negative_ratio),
    "roc_auc_score": _area,
    "average_precision_score": _precision,
    "top_k_accuracy_score": _classes(means.MeanForm, _among_first),
    "log_loss": _classes(means.MeanForm, _of_probabilities(_always(LogError()))),
    "brier_score_loss": _classes(means.MeanForm, _of_probabilities(_brier)),
    "d2_log_loss_score": _classes(means.SkillForm, _of_probabilities(_always(LogError())), forced=False),
    "d2_brier_score": _classes(means.SkillForm, _of_probabilities(_always(BrierError())), forced=False),
    "mean_squared_error": _values(means.MeanForm, _always(SquaredError())),
    "root_mean_squared_error": _values(means.RootForm, _always(SquaredError())),
    "mean_absolute_error": _values(means.MeanForm, _absolute()),
    "median_absolute_error": _values(means.MedianForm, _absolute()),
    "max_error": _values(means.LargestForm, _absolute(), several=False),
    "mean_absolute_percentage_error": _values(means.MeanForm, _always(PercentageError())),
    "mean_squared_log_error": _values(means.MeanForm, _always(SquaredLogError())),
    "root_mean_squared_log_error": _values(means.RootForm, _always(SquaredLogError())),
    "mean_pinball_loss": _values(means.MeanForm, _pinball),
    "mean_tweedie_deviance": _values(means.MeanForm, _deviance, several=False),
    "mean_poisson_deviance": _values(means.MeanForm, _always(Deviance(1.0)), several=False),
    "mean_gamma_deviance": _values(means.MeanForm, _always(Deviance(2.0)), several=False),
    "r2_score": _values(means.SkillForm, _always(SquaredError())),
    "explained_variance_score": _values(means.SkillForm, _always(SquaredError()), centred=True),
    "d2_absolute_error_score": _values(means.SkillForm, _absolute()),
    "d2_pinball_score": _values(means.SkillForm, _pinball),
    "d2_tweedie_score": _values(means.SkillForm, _deviance, several=False, forced=False),
}
"""Makers of forms by the name of scikit-learn's function; None stands for arguments that are not known."""


def _function(name: str) -> Any:
    """The function of this name, public or behind a scorer of this name; None in versions without it."""
    named = [scorer for scorer in (name, f"neg_{name}") if scorer in get_scorer_names()]
    behind = getattr(get_scorer(named[0]), "_score_func", None) if named else None
    return getattr(metrics, name, behind)


# Functions are told by what they are, not by their names.
KNOWN = [(function, make) for name, make in MAKERS.items() if (function := _function(name)) is not None]
