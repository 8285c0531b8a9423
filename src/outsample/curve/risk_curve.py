"""The risk of every model of a path, as a criterion estimates it: a frozen record, and what can be done with it."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outsample.bounds.record import Certificate
from outsample.curve.error_estimate import ErrorEstimate, numeral
from outsample.curve.left_out import LeftOut
from outsample.curve.race_record import RaceRecord
from outsample.curve.result import table_in_html, table_in_print
from outsample.curve.words import shortened
from outsample.losses.base import Loss
from outsample.running.arrays import Array, Floats, Rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Rule = Callable[["RiskCurve"], int]

# Models that a printed curve shows, and columns of characters that words may take.
SHOWN, WIDTH = 16, 95

# Share of the way from the least possible risk to that of guessing, below which the fit to drawn labels counts as one
# without error.
FITS_ANY_LABELS = 0.02

HEADS = {
    "in_sample": "in-sample",
    "optimism": "optimism",
    "out_sample": "out-sample",
    "standard_error": "std. error",
    "monte_carlo_error": "MC error",
}
"""The numbers of a model that are shown, with their heads in print."""

# Marks the fields that hold an array with an entry for every model on its last axis.
_PER_MODEL = {"per_model": True}


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """What a criterion says of each model, simplest first; smaller is better.

    Attributes
    ----------
    complexity : (models,) larger is richer.
    params : the setting of each model.
    in_sample, optimism, out_sample : (models,) out_sample = in_sample + optimism. Estimates stay within the range of
        the loss, upper bounds may exceed it.
    standard_error : (models,) spread of out_sample over data sets, None where the criterion has none.
    monte_carlo_error : (models,) spread of out_sample over draws, None where nothing is drawn.
    n_fits : fits spent on the whole curve.
    seconds : wall time.
    loss : what is counted.
    criterion : its name.
    estimand : what out_sample estimates, in words.
    path : the name of the path that served.
    ordered : whether `complexity` is a natural order of the models.
    n_samples : rows of the data.
    draws : (draws, models) optimism of each draw or None.
    draw_in_sample : (draws, models) in-sample error of the fit to each draw or None.
    fold_variance : (models,) sample variance of the risk over folds or bags, None where there are none.
    freedom : degrees of freedom of standard_error for intervals, None for the normal distribution.
    left_out : losses of rows by models that had not seen them, None where no row is left out.
    in_doubt : (models,) rows whose left-out losses are approximate and may be off by so much that the risk is, by more
        than 1 %; None for criteria that do not approximate.
    held_out : number of independent losses in [0, 1] behind out_sample, what Hoeffding's inequality needs; None
        where it does not apply.
    scale : the risk of predicting without looking at X, 0 where it is not known.
    guessing : the least risk within reach of those who do not look at X, where labels are drawn; nan where not known.
    rounding : risks that are closer than this differ by rounding alone.
    variance_factor : (models,) how much more an estimate varies around the error of the fitted model than rows alone
        would let it, see `data.stability`; None for no more.
    rows_behind : equally weighted rows that decide an estimate at a limit of its range, None for all.
    n_groups : independent groups of equal weight behind out_sample, None where rows are independent.
    priced_at_guessing : whether optimism is measured on labels without information, so that estimates are too high
        where the signal is strong, and no interval around them can be vouched for.
    notes : sentences a reader of the numbers should know.
    certificates : what a theorem says of each model; none where no theorem speaks.
    written : (models,) where each model stands in the order in which the grid is written; None for no grid.
    race : the course of the race where one was run.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> curve = outsample.GridSearch(tree, {"max_leaf_nodes": [2, 4, 8]}, random_state=0).fit(X, y).curve_
    >>> curve.params[0], len(curve.out_sample), list(curve.to_frame().columns)[:3]
    ({'max_leaf_nodes': 2}, 3, ['max_leaf_nodes', 'complexity', 'in_sample'])
    """

    complexity: Floats = field(metadata=_PER_MODEL)
    params: Sequence[dict[str, Any]]
    in_sample: Floats = field(metadata=_PER_MODEL)
    optimism: Floats = field(metadata=_PER_MODEL)
    out_sample: Floats = field(metadata=_PER_MODEL)
    loss: Loss
    criterion: str
    estimand: str
    n_fits: int
    n_samples: int
    standard_error: Floats | None = field(default=None, metadata=_PER_MODEL)
    monte_carlo_error: Floats | None = field(default=None, metadata=_PER_MODEL)
    seconds: float = 0.0
    path: str = ""
    ordered: bool = True
    draws: Floats | None = field(default=None, metadata=_PER_MODEL)
    draw_in_sample: Floats | None = field(default=None, metadata=_PER_MODEL)
    fold_variance: Floats | None = field(default=None, metadata=_PER_MODEL)
    freedom: int | None = None
    left_out: LeftOut | None = None
    in_doubt: Floats | None = field(default=None, metadata=_PER_MODEL)
    held_out: float | None = None
    scale: float = 0.0
    guessing: float = np.nan
    rounding: float = 0.0
    variance_factor: Floats | None = field(default=None, metadata=_PER_MODEL)
    rows_behind: float | None = None
    n_groups: float | None = None
    priced_at_guessing: bool = False
    notes: tuple[str, ...] = ()
    certificates: Sequence[Certificate] = ()
    written: Floats | None = field(default=None, metadata=_PER_MODEL)
    race: RaceRecord | None = None

    def __len__(self) -> int:
        return len(self.complexity)

    @property
    def fold_risks(self) -> Floats | None:
        """(folds, models) risk on each fold of rows that was held out, None where rows are not split."""
        return None if self.left_out is None else self.left_out.fold_risks

    @property
    def fold_sizes(self) -> Rows | None:
        """(folds,) rows of each fold that was held out, None where rows are not split or have weights."""
        return None if self.left_out is None else self.left_out.fold_sizes

    @property
    def out_of_fold(self) -> Array | None:
        """(models, n[, classes or outputs]) predictions by models that never saw the row, see `LeftOut.predictions`."""
        return None if self.left_out is None else self.left_out.predictions

    @property
    def fold_scores(self) -> Floats | None:
        """Greater-is-better score of each model on each fold, (models, folds), None where rows are not split."""
        if self.fold_risks is None:
            return None
        # The order in memory decides in which order numbers are added up, and so the last digit of their mean.
        return np.ascontiguousarray(self.loss.score(self.fold_risks.T, self.fold_sizes))

    @property
    def scores(self) -> Floats:
        """Greater-is-better score of each model, (models,); the mean over folds where there are any."""
        by_fold = self.fold_scores
        if by_fold is None:
            return np.asarray(self.loss.score(self.out_sample))
        return mean_of_known(by_fold) if self.race is not None else np.average(by_fold, axis=1)

    @property
    def fits_any_labels(self) -> NDArray[np.bool_]:
        """Which models fit drawn labels almost without error, (models,); none where that is not known."""
        least = self.loss.range[0]
        if self.draw_in_sample is None or not np.isfinite(least) or not self.guessing > least:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(self.draw_in_sample.mean(axis=0) - least < FITS_ANY_LABELS * (self.guessing - least))

    def take(self, models: Rows) -> RiskCurve:
        """The same models in another order, or some of them."""
        if np.array_equal(models, np.arange(len(self))):
            return self
        arrays: dict[str, Any] = {name: values[..., models] for name, values in self._per_model().items()}
        left_out = None if self.left_out is None else self.left_out.take(models)
        race = None if self.race is None else self.race.take(models)
        arrays |= {name: tuple(each[i] for i in models) for name, each in self._per_setting().items()}
        return replace(self, left_out=left_out, race=race, **arrays)

    def unknown(self, params: Sequence[dict[str, Any]], complexity: Floats) -> RiskCurve:
        """A curve of other models of which no number is known, to be joined to this one."""
        first = np.zeros(len(params), dtype=np.intp)
        arrays: dict[str, Any] = {
            name: np.full_like(values[..., first], np.nan) for name, values in self._per_model().items()
        }
        arrays["complexity"] = complexity
        left_out = None if self.left_out is None else self.left_out.unknown(len(params))
        certificates = [replace(known, value=np.nan, risk=np.nan) for known in self.certificates[:1]] * len(params)
        return replace(
            self,
            params=params,
            n_fits=0,
            seconds=0.0,
            notes=(),
            left_out=left_out,
            certificates=certificates,
            **arrays,
        )

    @staticmethod
    def joined(curves: Sequence[RiskCurve]) -> RiskCurve:
        """One curve over the models of several, in their order; None for what one of them does not have."""
        first = curves[0]
        if len(curves) == 1:
            return first
        known = [curve._per_model() for curve in curves]
        arrays: dict[str, Any] = dict.fromkeys(PER_MODEL)
        for name in set(PER_MODEL).intersection(*known):
            arrays[name] = np.concatenate([values[name] for values in known], axis=-1)
        return replace(
            first,
            params=tuple(setting for curve in curves for setting in curve.params),
            n_fits=sum(curve.n_fits for curve in curves),
            seconds=sum(curve.seconds for curve in curves),
            path=", ".join(dict.fromkeys(curve.path for curve in curves)),
            ordered=False,
            notes=tuple(dict.fromkeys(note for curve in curves for note in curve.notes)),
            left_out=LeftOut.joined([curve.left_out for curve in curves]),
            certificates=tuple(each for curve in curves for each in curve.certificates),
            **arrays,
        )

    def _per_model(self) -> dict[str, Floats]:
        """The arrays that have an entry for every model on their last axis."""
        arrays = {name: getattr(self, name) for name in PER_MODEL}
        return {name: values for name, values in arrays.items() if values is not None}

    def _per_setting(self) -> dict[str, Sequence[Any]]:
        """What else there is one of for every model."""
        return {"params": self.params} | ({"certificates": self.certificates} if self.certificates else {})

    def estimate(self, index: int) -> ErrorEstimate:
        """The error estimate of one model, in the scale of the user's loss."""
        report = self.loss.reported
        drawn = None if self.draws is None else np.asarray(report(self.draws[:, index]))
        ends = [float(report(end)) for end in self._range(index)]
        return ErrorEstimate(
            in_sample=float(report(self.in_sample[index])),
            optimism=float(report(self.optimism[index])),
            out_sample=float(report(self.out_sample[index])),
            monte_carlo_error=_entry(self.monte_carlo_error, index),
            standard_error=self._standard_error(index),
            n_fits=self.n_fits,
            seconds=self.seconds,
            loss=self.loss.name,
            criterion=self.criterion,
            estimand=self.estimand,
            n_samples=self.n_samples,
            path=self.path,
            draws=drawn,
            draw_in_sample=_column(self.draw_in_sample, index, report),
            fold_variance=_entry(self.fold_variance, index),
            freedom=self.freedom,
            held_out=self.held_out,
            notes=self.notes,
            limits=(min(ends), max(ends)),
            variance_factor=1.0 if self.variance_factor is None else float(self.variance_factor[index]),
            rows_behind=self.rows_behind,
            n_groups=self.n_groups,
            telling_rows=self._telling_rows(index),
            no_interval=self._why_no_interval(index),
            certificate=self.certificates[index].for_best_of(len(self)) if self.certificates else None,
        )

    def _standard_error(self, index: int) -> float | None:
        """Standard error of the estimate of one model; None where there is none.

        The influence of rows on a score relative to a constant, such as r2, vanishes where the model is no better than
        that. What remains is of second order: each parameter fitted to n rows, the constant itself among them, moves
        the score by χ²₁/n times the share s of the variance that is left, and the optimism is 2 s/n for each.
        Models judged on rows of their own have none of this.
        """
        error = _entry(self.standard_error, index)
        if error is None or not self.loss.relative or self.variance_factor is None:
            return error
        left = float(self.out_sample[index]) - self.loss.range[0]
        n = self.n_samples if self.n_groups is None else self.n_groups
        optimism = np.fmax(self.optimism[index], 2 * left / n)
        return math.sqrt(error**2 + optimism * left / n)

    def _telling_rows(self, index: int) -> float | None:
        """How many left-out rows, or groups, decide the standard error of one model; None for shares of errors."""
        table = self.left_out
        if table is None or table.losses is None or (self.loss.per_row and self.loss.unit_interval):
            return None
        if self.loss.ranks and table.groups is None:
            # A pair of rows out of order weighs the more the fewer there are; that is a matter of the shape of the
            # interval, and the rows of the smallest class decide how well the error is known.
            return self.rows_behind
        return table.rows_that_tell(index)

    def _range(self, index: int) -> tuple[float, float]:
        """(least, greatest) risk; where no row lost anything, that of a single row limits it."""
        least, greatest = self.loss.range
        lost = not self.loss.no_loss(float(self.out_sample[index]), self.rounding)
        return least, greatest if lost or np.isfinite(greatest) else self.loss.largest

    def _why_no_interval(self, index: int) -> str | None:
        """Why no interval around the estimate of one model can be vouched for; None where one can."""
        error = _entry(self.standard_error, index)
        if not np.isfinite(self._range(index)).all():
            if self.loss.no_loss(float(self.out_sample[index]), self.rounding):
                return self.loss.why_no_limit
            if error is not None and error <= self.rounding:
                return "all rows lost the same, which does not tell how much others would lose"
        if not self.priced_at_guessing or error is None:
            return None
        if self.fits_any_labels[index]:
            return (
                f"criterion {self.criterion!r} estimates the error of guessing for a model that fits permuted labels "
                'almost without error, whatever the data say; use criterion="auto"'
            )
        if self.guessing - self.out_sample[index] <= 2 * error:
            return None
        return (
            f"criterion {self.criterion!r} measures optimism on labels without information, and this model is better "
            'than guessing, so that its estimate is too high by an unknown amount; use criterion="auto"'
        )

    def plot(self, rules: Sequence[Rule | str] = ("minimum",), ax: Axes | None = None) -> Any:
        """The validation curve with the choice of each rule; returns the matplotlib Axes."""
        from outsample.questions.contest import checked_choice
        from outsample.rules import as_rule
        from outsample.view.axes import plotted
        from outsample.view.drawings import curve_drawing, name_of

        rings = [(name_of(rule), checked_choice(as_rule(rule)(self), self)) for rule in rules]
        return plotted(curve_drawing(self, rings), ax)

    def to_frame(self) -> pd.DataFrame:
        """A row per model, simplest first: its setting and complexity, then what is known, in the scale of the loss.

        Of scorers the columns hold scores; the arrays of the curve are risks, of which smaller is better.
        """
        import pandas as pd

        names = dict.fromkeys(name for setting in self.params for name in setting)
        settings = {name: [setting.get(name) for setting in self.params] for name in names}
        return pd.DataFrame(settings | {"complexity": self.complexity} | self._known)

    def to_json(self) -> str:
        """The numbers and words of `to_frame` and of the whole curve as JSON; what is not a number is null."""
        words = ("criterion", "loss", "estimand", "n_samples", "n_fits", "seconds", "path", "ordered")
        about = {name: getattr(self, name) for name in words} | {"loss": self.loss.name, "notes": self.notes}
        numbers = {"complexity": self.complexity} | self._known
        models = [
            {"params": params} | {name: float(values[i]) for name, values in numbers.items()}
            for i, params in enumerate(self.params)
        ]
        return json.dumps(plain(about | {"models": models}), allow_nan=False)

    def __repr__(self) -> str:
        return f"<RiskCurve of {len(self)} models: {self.loss.name} by {self.criterion}, {self.n_fits} fits>"

    def __str__(self) -> str:
        """The models around the best one, as many as fit a screen."""
        shown, settings = self._around_best(SHOWN), shortened(self.params)
        models = _cut_apart([in_words(settings[i]) for i in shown])
        about = f"{self.loss.name} by {self.criterion}: {len(self)} models, {self.n_samples} rows, {self.n_fits} fits"
        lines = [about, *table_in_print(*self._cells(models, shown))]
        hidden = len(self) - len(shown)
        lines += [f"… and {hidden} more: see to_frame()"] if hidden else []
        return "\n".join([*lines, *textwrap.wrap(f"estimates {self.estimand}", WIDTH)])

    def _around_best(self, most: int) -> range:
        """Positions of the models around that of least risk."""
        risk = np.where(np.isnan(self.out_sample), np.inf, self.out_sample)
        start = min(max(int(np.argmin(risk)) - most // 2, 0), max(len(self) - most, 0))
        return range(start, min(start + most, len(self)))

    @property
    def _known(self) -> dict[str, Floats]:
        """The risks and errors that are known, in the scale of the user's loss; errors have no sign."""
        known = {name: getattr(self, name) for name in HEADS if getattr(self, name) is not None}
        return {name: v if name.endswith("error") else np.asarray(self.loss.reported(v)) for name, v in known.items()}

    def _cells(self, models: Sequence[str], places: Sequence[int]) -> tuple[list[str], list[list[str]]]:
        """(headings, rows) of some models in words, by their places."""
        known = self._known
        rows = [[m, *(numeral(values[i]) for values in known.values())] for m, i in zip(models, places, strict=True)]
        return ["model", *(HEADS[name] for name in known)], rows

    def _repr_html_(self) -> str:
        cells = self._cells([in_words(setting) for setting in self.params], range(len(self)))
        caption = f"{self.loss.name} by {self.criterion}, {self.n_samples} rows, {self.n_fits} fits"
        return table_in_html(*cells, caption, self.estimand)


PER_MODEL: tuple[str, ...] = tuple(f.name for f in fields(RiskCurve) if "per_model" in f.metadata)
"""The fields of a curve that hold an array with an entry for every model on its last axis."""


def mean_of_known(values: Floats) -> Floats:
    """Mean over the last axis of the values that are numbers; nan where none is."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / known.sum(axis=-1))


def _column(draws: Floats | None, index: int, report: Any) -> Floats | None:
    """The draws of one model, (draws,), on the scale of the user's loss."""
    return None if draws is None else np.asarray(report(draws[:, index]))


def in_words(setting: Mapping[str, Any]) -> str:
    """The setting of a model, as a reader would write it."""
    return ", ".join(f"{name}={value}" for name, value in setting.items()) or "as given"


def _cut_apart(texts: list[str], most: int = 34) -> list[str]:
    """Texts cut to a length, or whole where some would look alike."""
    cut = [text if len(text) <= most else f"{text[: most - 1]}…" for text in texts]
    return cut if len(set(cut)) == len(set(texts)) else texts


def plain(value: Any) -> Any:
    """A value as JSON knows it: what is no number is null, estimators and the like are as they are printed."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _entry(values: Floats | None, index: int) -> float | None:
    """One value of an optional array; not-a-number means that this model has none."""
    return None if values is None or math.isnan(values[index]) else float(values[index])
