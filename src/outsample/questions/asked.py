"""What a search is asked for, and whether our evidence answers it or scikit-learn's own loop does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils.metadata_routing import process_routing

from outsample.criteria.base import Criterion, CriterionLike, as_criterion
from outsample.criteria.cross_validation import CrossValidation
from outsample.data.tables import Table
from outsample.losses.choice import LossLike
from outsample.questions.metrics import Scoring, reads_predictions
from outsample.rules import RuleLike, as_rule, minimum
from outsample.running.callbacks import watched
from outsample.running.progress import Progress
from outsample.running.run import RandomState
from outsample.running.store import StorePath

if TYPE_CHECKING:
    from outsample.questions.endless import Endless

    Settings = list[dict[str, Any]] | Endless

DEFAULT_CRITERION = "auto"
"""The criterion of a search that names none; with `cv=` that is cross-validation with these folds."""


@dataclass(frozen=True, eq=False)
class Metadata:
    """What `fit` was given beside X and y: as our evidence uses it, and what it has no use for.

    Attributes
    ----------
    strangers : names of what only the estimator, the scorer or the splitter knows.
    """

    sample_weight: Any = None
    groups: Any = None
    strangers: tuple[str, ...] = ()

    @property
    def none(self) -> bool:
        """Whether nothing was given."""
        return self.sample_weight is None and self.groups is None and not self.strangers


def metadata_of(search: Any, params: Mapping[str, Any]) -> Metadata:
    """What is given to `fit`, after scikit-learn's routing where that is switched on."""
    given = {name: value for name, value in params.items() if value is not None}
    if not get_config().get("enable_metadata_routing", False):
        weight, groups = given.pop("sample_weight", None), given.pop("groups", None)
        return Metadata(weight, groups, tuple(sorted(given)))
    routed = process_routing(search, "fit", **given)
    of_fit, of_score, of_split = dict(routed.estimator.fit), dict(routed.scorer.score), dict(routed.splitter.split)
    weight, groups = of_fit.pop("sample_weight", None), of_split.pop("groups", None)
    if weight is not None:
        of_score.pop("sample_weight", None)
    return Metadata(weight, groups, tuple(sorted({*of_fit, *of_score, *of_split})))


def obstacle(learner: BaseEstimator, X: Table, y: Any, strangers: tuple[str, ...]) -> str | None:
    """Why only scikit-learn's own loop can judge these models, in words; None where our evidence can."""
    if strangers:
        return f"fit was given {', '.join(strangers)}, which only the estimator, its scorer or the splitter knows"
    if isinstance(learner, type) or not hasattr(learner, "__sklearn_tags__"):
        return None
    if not (is_classifier(learner) or is_regressor(learner)):
        return f"{type(learner).__name__} is neither a classifier nor a regressor"
    if not hasattr(learner, "predict"):
        return f"{type(learner).__name__} does not say that it predicts before it is fitted"
    if is_classifier(learner) and _n_columns(y) > 1:
        return f"y has {_n_columns(y)} columns of classes"
    if _n_axes(X) > 2:
        return f"X has {_n_axes(X)} axes"
    return None


def _n_columns(y: Any) -> int:
    shape = _shape(y)
    return shape[1] if len(shape) > 1 else 1


def _n_axes(X: Any) -> int:
    if isinstance(X, list | tuple) and len(X):
        return 1 + len(_shape(X[0]))
    return len(_shape(X))


def _shape(values: Any) -> tuple[int, ...]:
    if not hasattr(values, "shape") and hasattr(values, "__array__"):
        values = np.asarray(values)
    try:
        return tuple(getattr(values, "shape", None) or np.shape(values))
    except ValueError:  # rows of different lengths
        return (len(values),)


class Asked:
    """The arguments of a search, and what follows from them."""

    estimator: BaseEstimator
    criterion: CriterionLike
    rule: RuleLike
    loss: LossLike
    scoring: Scoring
    refit: Any
    cv: Any
    honest: str | None
    n_jobs: int | None
    random_state: RandomState
    store: StorePath
    error_score: float | str
    return_train_score: bool
    fast: bool
    progress: Progress | None
    verbose: int

    def _settings(self) -> Settings:
        """The candidate settings, or a parameter with endlessly many values."""
        raise NotImplementedError

    @property
    def _default(self) -> bool:
        return isinstance(self.criterion, str) and self.criterion == DEFAULT_CRITERION

    @property
    def _only_ours(self) -> str | None:
        """An argument that scikit-learn's loop knows nothing of, if one is used."""
        used = {"honest": self.honest, "store": self.store, "loss": self.loss}
        used["rule"] = None if as_rule(self.rule) is minimum else self.rule
        return next((f"{name}={value!r}" for name, value in used.items() if value is not None), None)

    def _criterion(self) -> Criterion:
        if self.cv is None:
            return as_criterion(self.criterion)
        if not self._default:
            raise ValueError(
                f"cv={self.cv!r} asks for cross-validation, criterion={self.criterion!r} says itself how rows are "
                "split; give one of them"
            )
        return CrossValidation(self.cv)

    def _may_be_fast(self, params: dict[str, Any]) -> bool:
        """Whether nothing is asked for, or watched, that happens in scikit-learn's own loop only."""
        usual = self.fast and not self.return_train_score and reads_predictions(self.scoring)
        given = any(value is not None for value in params.values())
        # Loggers replace `fit` of scikit-learn's classes, and make a run of every fit that happens outside it.
        logged = "fit" in vars(next(kind for kind in type(self).__mro__ if kind.__module__.startswith("sklearn.")))
        drawn = isinstance(self.random_state, np.random.RandomState)  # trying would draw from it
        return usual and not (given or watched(self) or logged or drawn) and _known_folds(self.cv)

    def _wants_loop(self, metadata: Metadata, criterion: Criterion) -> str | None:
        """What is asked for that our evidence could serve, but not in scikit-learn's sense."""
        if self._default and not reads_predictions(self.scoring):
            return "scoring is a function that may look at the estimator"
        its_folds = isinstance(criterion, CrossValidation) and not criterion.shuffle and metadata.none
        if self.return_train_score and its_folds and self._only_ours is None:
            return "scores on training sets are asked for"
        return None

    def _decisive(self, metrics: Iterable[str]) -> str:
        """The metric by which a model is chosen, or the first where none is."""
        return self.refit if isinstance(self.refit, str) and self.refit in metrics else next(iter(metrics))


def _known_folds(cv: Any) -> bool:
    """Whether folds can be made twice and are the same: those of a number, a list, a splitter of scikit-learn."""
    return isinstance(cv, int | np.integer | list | tuple) or type(cv).__module__.startswith("sklearn.")
