"""The error of one model on new data, with its error bars."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from outsample.checks import one_of, probability
from outsample.curve.intervals import hoeffding_radius, quantile, shaped_interval
from outsample.curve.result import Result
from outsample.running.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from outsample.bounds.record import Certificate

# Of intervals that are shown without having been asked for.
LEVEL = 0.95
# Numbers from here on are written with a power of ten.
WRITTEN_OUT = 1e7

# Degrees of freedom that a standard error has at least, however few rows decide it. Below, Student's quantiles grow so
# fast that intervals of heavy-tailed losses, such as log loss, say nothing (benchmarks/intervals.py).
LEAST_FREEDOM = 4.0


def numeral(value: float, digits: int = 4) -> str:
    """A number in significant digits; large ones are written out: 123, not 1.2e+02.

    Examples
    --------
    >>> numeral(0.01234, 2), numeral(123.4, 2), numeral(29874.3), numeral(2e12)
    ('0.012', '123', '29874', '2e+12')
    """
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < WRITTEN_OUT else text


@dataclass(frozen=True, eq=False)
class ErrorEstimate(Result):
    """The error of one model on new data.

    Attributes
    ----------
    in_sample, optimism, out_sample : out_sample = in_sample + optimism.
    monte_carlo_error : how far out_sample may be from its limit of infinitely many draws; 0.0 when nothing was
        left to chance, None where the criterion draws nothing or drew once.
    standard_error : how far out_sample may be over other data sets of this size; draws do not shrink it. None
        where the criterion has none.
    n_fits : fits spent.
    seconds : wall time.
    loss, criterion, estimand : what the numbers mean.
    draws : the optimism of each draw, None where nothing is drawn.
    draw_in_sample, draw_out_sample : in-sample and out-sample error of the fit to each draw; their difference is
        `draws`. None where nothing is drawn or it was not written down.
    fold_variance : sample variance σ̂² of the risk over folds or bags; None where there are none.
    n_samples : rows of the data.
    freedom : degrees of freedom of standard_error for intervals, None for the normal distribution.
    path : the name of the path that served.
    notes : sentences a reader of the numbers should know.
    held_out : number of independent losses in [0, 1] behind out_sample, None where Hoeffding's inequality does not
        apply.
    limits : the least and the greatest value that the error can have.
    variance_factor : how much more the estimate varies around the error of the fitted model than rows alone would let
        it, because fits vary and share rows; calibrated, see `data.stability`.
    rows_behind : equally weighted rows that decide an estimate at a limit, such as no error at all; None for all.
    telling_rows : rows, or groups, that decide the standard error: about n where losses are spread evenly, few where
        some rows lose far more than the others, so that the next such row is hard to foresee. None where it is not
        known, or of no account, as for shares of errors.
    n_groups : independent groups of equal weight behind out_sample; None where rows are independent.
    no_interval : why no interval can be vouched for; None where one can.
    certificate : what a theorem says of the error: a limit, how probable it is, which fit it is about, what it assumes
        and whether that is true. None where no theorem speaks.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> result = outsample.estimate(tree, X, y, criterion="kfold", random_state=0)
    >>> abs(result.out_sample - (result.in_sample + result.optimism)) < 1e-12
    True
    >>> low, high = result.interval(0.95)
    >>> low < result.out_sample < high
    True
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
    draw_in_sample: Floats | None = field(default=None, repr=False)
    fold_variance: float | None = None
    freedom: int | None = None
    held_out: float | None = None
    notes: tuple[str, ...] = ()
    limits: tuple[float, float] = (-math.inf, math.inf)
    variance_factor: float = 1.0
    rows_behind: float | None = None
    telling_rows: float | None = None
    n_groups: float | None = None
    no_interval: str | None = None
    certificate: Certificate | None = None

    @property
    def draw_out_sample(self) -> Floats | None:
        """Out-sample error of the fit to each draw, (draws,); None where `draw_in_sample` is."""
        if self.draws is None or self.draw_in_sample is None:
            return None
        return self.draw_in_sample + self.draws

    def interval(
        self, level: float = 0.95, method: Literal["calibrated", "normal", "hoeffding"] = "calibrated"
    ) -> tuple[float, float]:
        """(low, high) around out_sample.

        Parameters
        ----------
        level : wanted coverage.
        method : "calibrated" covers the error of the model fitted to these data. It takes the standard error times
            the root of `variance_factor` and the Monte-Carlo error together, with Student's t where the standard error
            has few degrees of freedom, in the shape that fits the range of the loss (`curve.intervals`). There is none
            without a standard error, where a single draw leaves the Monte-Carlo error unknown, and where it cannot be
            vouched for.
            "normal" is out_sample ± the two errors as they are; it covers the estimand over data sets as far as the
            standard error does.
            "hoeffding" is out_sample ± √(ln(2/δ)/(2m)), δ = 1 − level, for m held-out losses in [0, 1]: its coverage
            is at least `level` for any m and any distribution, given the fitted model.
        """
        level = probability("level", level)
        one_of("method", method, ("calibrated", "normal", "hoeffding"))
        if method == "calibrated":
            return self._calibrated(level)
        half = self._hoeffding(1 - level) if method == "hoeffding" else self._normal(level)
        return self.out_sample - half, self.out_sample + half

    def _calibrated(self, level: float) -> tuple[float, float]:
        if self.no_interval is not None:
            raise ValueError(f"there is no interval that can be vouched for: {self.no_interval}")
        error = math.hypot(self._known_standard_error * math.sqrt(self.variance_factor), self.monte_carlo_error or 0.0)
        rows = self.n_samples if self.rows_behind is None else self.rows_behind
        units = rows if self.n_groups is None else min(rows, self.n_groups)
        rows, units = rows / self.variance_factor, units / self.variance_factor
        times = quantile(0.5 + level / 2, self._freedom)
        return shaped_interval(self.out_sample, error, times, self.limits, rows, units)

    @property
    def _freedom(self) -> float | None:
        """Degrees of freedom of the standard error: the criterion's own, or those of the rows that decide it."""
        if self.freedom is not None or self.telling_rows is None:
            return self._of_groups(self.freedom)
        return self._of_groups(max(LEAST_FREEDOM, self.telling_rows - 1))

    def _of_groups(self, freedom: float | None) -> float | None:
        """Degrees of freedom that are fewer than groups, where groups are independent."""
        if self.n_groups is None:
            return freedom
        return min(math.inf if freedom is None else freedom, self.n_groups - 1)

    def _hoeffding(self, delta: float) -> float:
        if self.held_out is None:
            raise ValueError(
                'method "hoeffding" needs independent held-out losses in [0, 1]; use criterion "holdout" with '
                'zero-one loss, or method "normal"'
            )
        return hoeffding_radius(self.held_out, delta)

    def _normal(self, level: float) -> float:
        error = math.hypot(self._known_standard_error, self.monte_carlo_error or 0.0)
        return quantile(0.5 + level / 2, self._of_groups(self.freedom)) * error

    @property
    def _known_standard_error(self) -> float:
        """The standard error, where an interval can be made of it."""
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
        return self.standard_error

    def plot(self, ax: Axes | None = None) -> Axes:
        """The error on the rows fitted to and on new ones, with its interval; returns the matplotlib Axes."""
        from outsample.view.axes import plotted
        from outsample.view.drawings import estimate_drawing

        return plotted(estimate_drawing(self), ax)

    told: ClassVar[str] = (
        "criterion loss estimand in_sample optimism out_sample standard_error monte_carlo_error "
        "n_samples n_fits seconds path notes certificate"
    )

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
        made_of = f"= in-sample {numeral(self.in_sample)} {sign} optimism {numeral(abs(self.optimism))}, "
        made_of = "" if math.isnan(self.in_sample) else made_of
        fits = "1 fit" if self.n_fits == 1 else f"{self.n_fits} fits"
        lines = [
            " ".join([f"out-sample {self.loss}: {numeral(self.out_sample)}", *bars]),
            f"{made_of}by {self.criterion}: {fits}, {numeral(self.seconds, 2)} s",
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


def interval_of(estimate: ErrorEstimate) -> tuple[float, float] | None:
    """(low, high) of an estimate at level 0.95; None where it refuses to give one."""
    try:
        low, high = estimate.interval(LEVEL)
    except ValueError:
        return None
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None
