"""Results: the risk of every model of a path, and the error of one model. Frozen records of named numbers."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from outsample.losses.base import Loss
from outsample.running.arrays import Floats

# Marks fields that hold something for every model, with the axis of the models.
_MODELS_FIRST, _MODELS_LAST = {"models": 0}, {"models": -1}


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """What a criterion says of each model, simplest first; smaller is better.

    Attributes
    ----------
    complexity : (models,) larger is richer.
    params : the setting of each model.
    in_sample, optimism, out_sample : (models,) out_sample = in_sample + optimism. Estimates stay within the range of
        the loss, upper limits may exceed it.
    standard_error : (models,) spread of out_sample over data sets, None where the criterion has none.
    monte_carlo_error : (models,) spread of out_sample over draws, None where nothing is drawn.
    n_fits : learning episodes spent on the whole curve.
    seconds : wall time.
    loss : what is counted.
    criterion : its name.
    estimand : what out_sample estimates, in words.
    path : the name of the path that served.
    ordered : whether `complexity` is a natural order of the models.
    n_samples : rows of the data.
    draws : (draws, models) optimism of each draw or None.
    draw_in_sample : (draws, models) in-sample error of the fit to each draw or None.
    freedom : degrees of freedom of standard_error for intervals, None for the normal distribution.
    fold_risks : (folds, models) risk on each fold of rows that was held out, None where rows are not split.
    fold_sizes : (folds,) rows of each fold that was held out, None where rows are not split or have weights.
    out_of_fold : (models, n[, classes or outputs]) the prediction each row got from models that never saw it, kept
        on request; class codes are positions in the sorted classes. −1 (codes) or nan where a row was never tested.
    held_out : number of independent losses in [0, 1] behind out_sample, what Hoeffding's inequality needs; None
        where it does not apply.
    scale : the risk of predicting without looking at X, 0 where it is not known.
    rounding : risks that are closer than this differ by rounding alone.
    notes : sentences a reader of the numbers should know.
    """

    complexity: Floats = field(metadata=_MODELS_LAST)
    params: Sequence[dict[str, Any]]
    in_sample: Floats = field(metadata=_MODELS_LAST)
    optimism: Floats = field(metadata=_MODELS_LAST)
    out_sample: Floats = field(metadata=_MODELS_LAST)
    loss: Loss
    criterion: str
    estimand: str
    n_fits: int
    n_samples: int
    standard_error: Floats | None = field(default=None, metadata=_MODELS_LAST)
    monte_carlo_error: Floats | None = field(default=None, metadata=_MODELS_LAST)
    seconds: float = 0.0
    path: str = ""
    ordered: bool = True
    draws: Floats | None = field(default=None, metadata=_MODELS_LAST)
    draw_in_sample: Floats | None = field(default=None, metadata=_MODELS_LAST)
    freedom: int | None = None
    fold_risks: Floats | None = field(default=None, metadata=_MODELS_LAST)
    fold_sizes: NDArray[np.intp] | None = None
    out_of_fold: NDArray[Any] | None = field(default=None, metadata=_MODELS_FIRST)
    held_out: float | None = None
    scale: float = 0.0
    rounding: float = 0.0
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.complexity)

    def estimate(self, index: int) -> ErrorEstimate:
        """The error estimate of one model, in the scale of the user's loss."""
        report = self.loss.reported
        drawn = None if self.draws is None else np.asarray(report(self.draws[:, index]))
        return ErrorEstimate(
            in_sample=float(report(self.in_sample[index])),
            optimism=float(report(self.optimism[index])),
            out_sample=float(report(self.out_sample[index])),
            monte_carlo_error=_entry(self.monte_carlo_error, index),
            standard_error=_entry(self.standard_error, index),
            n_fits=self.n_fits,
            seconds=self.seconds,
            loss=self.loss.name,
            criterion=self.criterion,
            estimand=self.estimand,
            n_samples=self.n_samples,
            path=self.path,
            draws=drawn,
            freedom=self.freedom,
            held_out=self.held_out,
            notes=self.notes,
        )

    def plot(self, rules: Sequence[Any] = ("minimum",), ax: Any = None) -> Any:
        """The validation curve with the choice of each rule; returns the matplotlib Axes."""
        from outsample.plots import validation_curve

        return validation_curve(self, rules, ax)

    def _repr_html_(self) -> str:
        columns = ("in_sample", "optimism", "out_sample", "standard_error", "monte_carlo_error")
        known = [name for name in columns if getattr(self, name) is not None]
        head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in ("model", *known))
        body = "".join(
            f"<tr><td style='text-align:left'>{html.escape(_in_words(self.params[i]))}</td>"
            + "".join(f"<td>{numeral(getattr(self, name)[i])}</td>" for name in known)
            + "</tr>"
            for i in range(len(self))
        )
        caption = html.escape(f"{self.loss.name} by {self.criterion}, {self.n_samples} rows, {self.n_fits} fits")
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{body}</table><p>{html.escape(self.estimand)}</p>"


MODEL_AXES: dict[str, int] = {f.name: f.metadata["models"] for f in fields(RiskCurve) if "models" in f.metadata}
"""The fields of a curve that hold an array with an entry for every model, and the axis of the models in it."""


def _in_words(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items()) or "as given"


def _entry(values: Floats | None, index: int) -> float | None:
    """One value of an optional array; not-a-number means that this model has none."""
    return None if values is None or math.isnan(values[index]) else float(values[index])


@dataclass(frozen=True, eq=False)
class ErrorEstimate:
    """The error of one model on new data.

    Attributes
    ----------
    in_sample, optimism, out_sample : out_sample = in_sample + optimism.
    monte_carlo_error : how far out_sample may be from its limit of infinitely many draws; 0.0 when nothing was
        left to chance, None where the criterion draws nothing or drew once.
    standard_error : how far out_sample may be over other data sets of this size; draws do not shrink it. None
        where the criterion has none.
    n_fits : learning episodes spent.
    seconds : wall time.
    loss, criterion, estimand : what the numbers mean.
    draws : the optimism of each draw, None where nothing is drawn.
    held_out : number of independent losses in [0, 1] behind out_sample, None where Hoeffding's inequality does not
        apply.
    """

    in_sample: float
    optimism: float
    out_sample: float
    monte_carlo_error: float | None
    standard_error: float | None
    n_fits: int
    seconds: float
    loss: str
    criterion: str
    estimand: str
    n_samples: int
    path: str = ""
    draws: Floats | None = field(default=None, repr=False)
    freedom: int | None = None
    held_out: float | None = None
    notes: tuple[str, ...] = ()

    def interval(self, level: float = 0.95, method: Literal["normal", "hoeffding"] = "normal") -> tuple[float, float]:
        """(low, high) around out_sample.

        Parameters
        ----------
        level : wanted coverage.
        method : "normal" takes the standard error and the Monte-Carlo error together, with Student's t where the
            standard error has few degrees of freedom. It covers the estimand over data sets as far as the standard
            error does. There is none without a standard error, or where a single draw leaves the other unknown.
            "hoeffding" is out_sample ± √(ln(2/δ)/(2m)), δ = 1 − level, for m held-out losses in [0, 1]: its coverage
            is at least `level` for any m and any distribution, given the fitted model.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level}")
        if method not in ("normal", "hoeffding"):
            raise ValueError(f'method must be "normal" or "hoeffding", got {method!r}')
        half = self._hoeffding(1 - level) if method == "hoeffding" else self._normal(level)
        return self.out_sample - half, self.out_sample + half

    def _hoeffding(self, delta: float) -> float:
        if self.held_out is None:
            raise ValueError(
                'method "hoeffding" needs independent held-out losses in [0, 1]; use criterion "holdout" with '
                'zero-one loss, or method "normal"'
            )
        return math.sqrt(math.log(2 / delta) / (2 * self.held_out))

    def _normal(self, level: float) -> float:
        if self.standard_error is None:
            raise ValueError(
                f"there is no interval: criterion {self.criterion!r} gives no standard error for this model and loss "
                f'{self.loss!r}, and draws alone say nothing about other data; use for example criterion "kfold"'
            )
        if self.draws is not None and self.monte_carlo_error is None:
            raise ValueError(
                f"there is no interval: criterion {self.criterion!r} drew once, and one draw does not tell how far "
                "others would be; draw at least twice"
            )
        error = math.hypot(self.standard_error, self.monte_carlo_error or 0.0)
        return _quantile(0.5 + level / 2, self.freedom) * error

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values."""
        fields = (
            "criterion loss estimand in_sample optimism out_sample standard_error monte_carlo_error "
            "n_samples n_fits seconds path"
        )
        return {name: getattr(self, name) for name in fields.split()} | {"notes": list(self.notes)}

    def __str__(self) -> str:
        bars = [
            f"± {numeral(value, 2)} ({name})"
            for name, value in (
                ("standard error", self.standard_error),
                ("Monte Carlo", self.monte_carlo_error),
            )
            if value is not None
        ]
        sign = "−" if self.optimism < 0 else "+"
        fits = "1 fit" if self.n_fits == 1 else f"{self.n_fits} fits"
        lines = [
            " ".join([f"out-sample {self.loss}: {numeral(self.out_sample)}", *bars]),
            f"= in-sample {numeral(self.in_sample)} {sign} optimism {numeral(abs(self.optimism))}, "
            f"by {self.criterion}: {fits}, {numeral(self.seconds, 2)} s",
            f"estimates {self.estimand}",
        ]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self._rows()
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<table>{cells}</table><p><em>Estimates {html.escape(self.estimand)}.</em></p>{notes}"

    def _rows(self) -> list[tuple[str, str]]:
        def shown(value: float | None) -> str:
            return "none" if value is None else numeral(value)

        return [
            ("criterion", self.criterion),
            ("loss", self.loss),
            ("in-sample", shown(self.in_sample)),
            ("optimism", shown(self.optimism)),
            ("out-sample", shown(self.out_sample)),
            ("standard error", shown(self.standard_error)),
            ("Monte-Carlo error", shown(self.monte_carlo_error)),
            ("fits", str(self.n_fits)),
            ("seconds", numeral(self.seconds, 3)),
        ]


def _quantile(probability: float, freedom: int | None) -> float:
    if freedom is None:
        return float(stats.norm.ppf(probability))
    return float(stats.t.ppf(probability, freedom))


WRITTEN_OUT = 1e9


def numeral(value: float, digits: int = 4) -> str:
    """A number in significant digits; large ones are written out: 123, not 1.2e+02.

    Examples
    --------
    >>> numeral(0.01234, 2), numeral(123.4, 2), numeral(29874.3), numeral(2e12)
    ('0.012', '123', '29874', '2e+12')
    """
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < WRITTEN_OUT else text
