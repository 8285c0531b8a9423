"""What a drawing holds, as data, and the drawing of each result. `svg` and `axes` put them on a page and on Axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from outsample.criteria.effective_vc import discrepancy_shape
from outsample.curve.error_estimate import interval_of
from outsample.curve.risk_curve import RiskCurve
from outsample.curve.words import (
    Setting,
    counted,
    in_words,
    is_number,
    parameter_names,
    parted_names,
    shortened,
    value_in_words,
)
from outsample.losses.base import Loss
from outsample.running.arrays import Floats

if TYPE_CHECKING:
    from outsample.criteria.effective_vc import EffectiveVC
    from outsample.curve.error_estimate import ErrorEstimate
    from outsample.curve.race_record import RaceRecord
    from outsample.questions.audit import Audit
    from outsample.questions.column_tests import ColumnTests
    from outsample.questions.compare import Comparison
    from outsample.questions.compare_models import ModelComparison
    from outsample.questions.complexity import Complexity
    from outsample.questions.learning_curve import LearningCurve
    from outsample.questions.regret import RegretStudy
    from outsample.questions.significance import PermutationTest

# Candidates without an order, and columns that are tested, of which no more are drawn.
MOST_BARS = 25
# Values of a parameter that a heat map has at most.
LONGEST_SIDE = 30
MAY_BE_BEST = "may be the best"


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis, of numbers or of places 0, 1, … that have labels.

    Attributes
    ----------
    name : what it shows.
    labels : of the places; none for an axis of numbers.
    values : the number that each label stands for, in either order; None where they stand for something else.
    titles : the places in full, for readers who point at them.
    better : whether low or high numbers are better, so that a few that are far worse may be cut off.
    log : whether the numbers are drawn on a logarithmic scale.
    """

    name: str
    labels: Sequence[str] = ()
    values: Floats | None = None
    titles: Sequence[str] = ()
    better: Literal["low", "high", ""] = ""
    log: bool = False


@dataclass(frozen=True, eq=False)
class Series:
    """Values at places, joined by a line or not.

    Attributes
    ----------
    name : what it is called.
    at, values : (points,) not-a-number leaves a gap.
    low, high : (points,) ends of the band or of the bars around the values; None for none.
    kind : how it looks: "criterion" (by its `number`, from 1), "in-sample", "optimism", "won", "remained", "dropped",
        "strong" or "weak".
    joined, marked : whether a line joins the points, and whether they are marked.
    rings : (name, place) of points that were chosen.
    said : the sentence that stands for the name where there is room for it; None for the name itself, empty where it
        needs no entry in a legend.
    band : what the band or the bars are.
    """

    name: str
    at: Floats
    values: Floats
    low: Floats | None = None
    high: Floats | None = None
    kind: str = "criterion"
    number: int = 0
    joined: bool = True
    marked: bool = True
    rings: Sequence[tuple[str, int]] = ()
    said: str | None = None
    band: str = ""


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns that stand on the axis: their left ends, one width and their heights, with standard errors or without."""

    left: Floats
    width: float
    heights: Floats
    errors: Floats | None = None
    name: str = ""
    number: int = 1


@dataclass(frozen=True, eq=False)
class Level:
    """A vertical line through the drawing at a number; `strong` for what was observed."""

    at: float
    name: str = ""
    strong: bool = True


@dataclass(frozen=True, eq=False)
class Cells:
    """Estimates over two parameters, as coloured cells.

    Attributes
    ----------
    values : (rows, columns) estimates; not-a-number leaves a cell empty.
    rank : (rows, columns) share of the way from the best estimate (0) to the worst one told apart (1).
    chosen : row and column of the chosen model, None where it is not on the map.
    plausible : (rows, columns) of the cells that may be the best.
    """

    values: Floats
    rank: Floats
    chosen: tuple[int, int] | None
    plausible: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, eq=False)
class Drawing:
    """Layers on two axes, with a heading above and a caption below.

    Attributes
    ----------
    sideways : whether places stand one below the other, with the values of a `Series` from left to right.
    """

    across: Axis
    up: Axis
    layers: Sequence[Series | Columns | Level | Cells]
    sideways: bool = False
    heading: str = ""
    caption: str = ""


CURVE = (
    "Each point is a candidate, with a band of one standard error. The ring is the one chosen. Point at the chart, or "
    "focus it and use the arrow keys, for the numbers."
)
CURVES = (
    "A line per criterion; its ring is the model it chooses. Point at the chart, or focus it and use the arrow keys, "
    "for the numbers."
)
POINTS = "What each criterion expects of the model, with its 95 % interval where it gives one."
BEST = "The best candidates, with bars of two standard errors. In colour: those that may be the best."
RACE = "The race: a line per candidate; it ends where the candidate was dropped. The strong line won."
MAP = "Stronger colour is better. The ring is the candidate chosen."
DOTS = " A dot marks candidates that may be the best."
NULL = "The bars are what labels without information give."


def reported(curve: RiskCurve, values: Floats) -> Floats:
    """Risks as the user asked for them, a scorer's as scores; not a number, which leaves a gap, where infinite."""
    shown = np.asarray(curve.loss.reported(values), dtype=np.float64)
    return np.where(np.isfinite(shown), shown, np.nan)


def _losses(name: str, loss: Loss | None) -> Axis:
    return Axis(name, better="high" if loss is not None and float(loss.reported(1.0)) < 0 else "low")


def _models(params: Sequence[Setting], ordered: bool) -> Axis:
    """The axis of models, by the values of their parameters."""
    settings = shortened(params)
    names = parameter_names(settings)
    only = [setting.get(names[0]) for setting in settings] if len(names) == 1 else [None]
    numbers = np.array(only, dtype=np.float64) if all(map(is_number, only)) and len(set(only)) == len(only) else None
    what = ", ".join(names) or "the model"
    return Axis(
        name=f"{what} (simple to rich)" if ordered and len(settings) > 1 else what,
        labels=[", ".join(value_in_words(s.get(name, "–"), name) for name in names) for s in settings],
        values=numbers,
        titles=[in_words(setting) for setting in settings],
    )


def curve_drawing(curve: RiskCurve, rings: Iterable[tuple[str, int]] = ()) -> Drawing:
    """In-sample error, optimism as a band, the estimate with its standard error, and what was chosen."""
    across, place = _models(curve.params, curve.ordered), np.arange(len(curve), dtype=np.float64)
    in_sample, risk = reported(curve, curve.in_sample), reported(curve, curve.out_sample)
    error = curve.standard_error
    low, high = (None, None) if error is None else (risk - error, risk + error)
    named = [(f"{name}: {across.labels[model]}", model) for name, model in rings]
    between = Series("optimism", place, np.full(len(curve), np.nan), in_sample, risk, "optimism", 1)
    line = Series(curve.criterion, place, risk, low, high, number=1, rings=named, said=curve.estimand)
    fitted = _in_sample_line(curve, place)
    layers = [*([between] if fitted else []), *fitted, line]
    return Drawing(across, _losses(curve.loss.name, curve.loss), layers, caption=CURVE)


def _in_sample_line(curve: RiskCurve, place: Floats) -> list[Series]:
    """The line of in-sample errors where they are known."""
    values = reported(curve, curve.in_sample)
    return [Series("in-sample", place, values, kind="in-sample", marked=False)] if np.isfinite(values).any() else []


def comparison_drawing(found: Comparison, fitted: bool = False) -> Drawing:
    """A line per criterion over the same models, its choice in a ring; of one model what each expects of it.

    `fitted` adds the line of in-sample errors.
    """
    first = next(iter(found.curves.values()))
    several, place = len(first) > 1, np.arange(len(first), dtype=np.float64)
    lines = []
    for i, (name, curve) in enumerate(found.curves.items()):
        risk, said = reported(curve, curve.out_sample), f"{name}: {curve.estimand}"
        if several:
            lines.append(Series(name, place, risk, number=i + 1, rings=[("", found.chosen[name])], said=said))
        else:
            low, high = (np.array([end]) for end in interval_of(curve.estimate(0)) or (math.nan, math.nan))
            lines.append(Series(name, place + i, risk, low, high, number=i + 1, joined=False, said=said))
    if not several:
        return Drawing(
            _losses(first.loss.name, first.loss), Axis("", list(found.curves)), lines, sideways=True, caption=POINTS
        )
    across = _models(first.params, first.ordered)
    lines = [*(_in_sample_line(first, place) if fitted else []), *lines]
    return Drawing(across, _losses(f"out-sample {first.loss.name}", first.loss), lines, caption=CURVES)


def search_drawing(search: Any) -> Drawing:
    """The drawing that fits the grid: a curve over one parameter, a map over two, else the best candidates."""
    curve = search.curve_
    settings = shortened(curve.params)
    chosen, plausible = place_of(curve, search.best_params_), plausible_places(search)
    over_two = _map(curve, settings, chosen, plausible)
    if over_two is not None:
        return over_two
    if len(parameter_names(settings)) > 1:
        return _best_candidates(curve, settings, chosen, plausible)
    return curve_drawing(curve, [(name_of(search.rule), chosen)])


def _map(curve: RiskCurve, settings: Sequence[Setting], chosen: int, plausible: frozenset[int]) -> Drawing | None:
    """Estimates over two parameters; None where there are not two, or candidates do not fill a grid of them.

    Values that a single candidate has, such as those of the estimator's own defaults, do not make a row of the map.
    """
    names = parameter_names(settings)
    if len(names) != 2 or any(len(setting) < 2 for setting in settings):
        return None
    # By which values are told apart and sorted: numbers by their size, all others by their words.
    keys: list[list[tuple[int, float, str]]] = []
    for name in names:
        values = [setting[name] for setting in settings]
        keys.append([(0, float(v), "") if is_number(v) else (1, 0.0, value_in_words(v, name)) for v in values])
    sides = [sorted({key for key in each if each.count(key) > 1}) for each in keys]
    down, across = (1, 0) if len(sides[0]) > len(sides[1]) else (0, 1)
    shape = len(sides[down]), len(sides[across])
    if not (shape[0] >= 2 and shape[1] <= LONGEST_SIDE):
        return None
    cells = {
        i: (sides[down].index(a), sides[across].index(b))
        for i, (a, b) in enumerate(zip(keys[down], keys[across], strict=True))
        if a in sides[down] and b in sides[across]
    }
    if 2 * len(set(cells.values())) < shape[0] * shape[1] or len(set(cells.values())) < len(cells):
        return None
    risk = np.full(shape, np.nan)
    for i, place in cells.items():
        risk[place] = curve.out_sample[i] if np.isfinite(curve.out_sample[i]) else np.nan
    named = []
    for side in (across, down):
        values = [settings[keys[side].index(key)][names[side]] for key in sides[side]]
        named.append(Axis(names[side], _in_few_digits(values, names[side])))
    marked = [cells[i] for i in sorted(plausible) if i in cells and i != chosen]
    layer = Cells(reported(curve, risk), _share_of_worst(risk), cells.get(chosen), marked)
    caption = MAP + (DOTS if plausible else "")
    return Drawing(named[0], named[1], [layer], heading=curve.loss.name, caption=caption)


def _in_few_digits(values: Sequence[Any], name: str) -> list[str]:
    """The values in the fewest digits that tell them apart."""
    texts: list[str] = []
    for digits in (2, 3, 4):
        texts = [value_in_words(value, name, digits) for value in values]
        if len(set(texts)) == len(texts):
            break
    return texts


def _share_of_worst(risk: Floats) -> Floats:
    """0 for the least risk up to 1 for the greatest; a few that are far worse than all others share the 1."""
    known = risk[np.isfinite(risk)]
    low, high = float(known.min()), float(known.max())
    usual = low + 3 * (float(np.quantile(known, 0.6)) - low)
    high = min(high, usual) if usual > low else high
    return np.clip((risk - low) / ((high - low) or 1.0), 0.0, 1.0)


def _best_candidates(curve: RiskCurve, settings: Sequence[Setting], chosen: int, plausible: frozenset[int]) -> Drawing:
    """The best candidates of a grid without an order, with bars of two standard errors."""
    known = [i for i in ranked(curve, chosen) if np.isfinite(curve.out_sample[i])][:MOST_BARS]
    values, shared = reported(curve, curve.out_sample)[known], parted_names(settings)[0]
    half = np.full(len(known), np.nan) if curve.standard_error is None else 2 * curve.standard_error[known]
    names = []
    for setting in (settings[i] for i in known):
        own = in_words({name: value for name, value in setting.items() if name not in shared}, "")
        names.append(", ".join([*(value_in_words(setting[name], name) for name in shared), *([own] if own else [])]))
    strong = np.array([i == chosen or i in plausible for i in known])
    return _bars(names, values, values - half, values + half, strong, curve.loss.name, ", ".join(shared), BEST)


def _bars(
    names: Sequence[str],
    values: Floats,
    low: Floats,
    high: Floats,
    strong: NDArray[np.bool_],
    across: str,
    heading: str,
    caption: str,
    levels: Sequence[Level] = (),
) -> Drawing:
    """Points with bars, one below the other; those that may be the best are strong."""
    place = np.arange(len(names), dtype=np.float64)
    layers = [
        Series(said, place[some], values[some], low[some], high[some], kind, joined=False)
        for kind, said, some in (("strong", MAY_BE_BEST, strong), ("weak", "others", ~strong))
        if some.any()
    ]
    return Drawing(Axis(across), Axis("", names), [*levels, *layers], sideways=True, heading=heading, caption=caption)


def ranked(curve: RiskCurve, chosen: int) -> list[int]:
    """Places on the curve, the chosen one first, then by estimate; what is not known comes last."""
    risk = np.where(np.isnan(curve.out_sample), np.inf, curve.out_sample)
    return sorted(range(len(curve)), key=lambda i: (i != chosen, risk[i], i))


def plausible_places(search: Any) -> frozenset[int]:
    """Places on the curve of the candidates that may be the best; none where no rows were left out to tell."""
    if not hasattr(search, "plausible_"):
        return frozenset()
    wanted = {_key(search.cv_results_["params"][position]) for position in search.plausible_}
    return frozenset(i for i, setting in enumerate(search.curve_.params) if _key(setting) in wanted)


def place_of(curve: RiskCurve, setting: Setting) -> int:
    """Where a setting stands on the curve."""
    return next(i for i, other in enumerate(curve.params) if _key(other) == _key(setting))


def _key(setting: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, repr(value)) for name, value in setting.items()))


def name_of(rule: object) -> str:
    """What a rule is called."""
    return rule if isinstance(rule, str) else getattr(rule, "__name__", repr(rule))


def race_drawing(record: RaceRecord) -> Drawing:
    """The mean loss of every candidate after each round: those that left in grey, the winner strong."""
    over_size = record.unit != "fold"
    values = record.risk if record.loss is None else np.asarray(record.loss.reported(record.risk))
    names = [in_words(setting) for setting in shortened(record.params)]
    layers, seen = [], set()
    for c in sorted(range(len(names)), key=lambda c: (c == record.leader, record.reason[c] == "")):
        known = np.flatnonzero(~np.isnan(record.risk[:, c]))
        if not len(known):
            continue
        kind = "won" if c == record.leader else "dropped" if record.reason[c] else "remained"
        said = f"won: {names[c]}" if kind == "won" else "" if kind in seen else kind
        seen.add(kind)
        layers.append(Series(names[c], known.astype(np.float64), values[known, c], kind=kind, said=said))
    measured = "mean loss" if record.loss is None else record.loss.name
    return Drawing(
        across=Axis(f"{record.unit}s", [str(of if over_size else r) for r, of in enumerate(record.order, 1)]),
        up=_losses(f"{measured} of rows left out" if over_size else f"{measured} so far", record.loss),
        layers=layers,
        heading=f"{counted(len(names), 'candidate')}, {counted(record.n_fits, 'fit')}",
        caption=RACE,
    )


LEARNERS = "The error of each learner on rows left out, with its 95 % interval; strong: those that may be the best."
PAIRED = (
    "The differences to the best learner, row by row on the same rows left out, with their 95 % intervals: where a bar "
    "crosses the line, these data alone do not tell the two apart."
)


def learners_drawing(found: ModelComparison) -> Drawing:
    """The error of every learner with its interval, the least at the top."""
    frame = found.to_frame().iloc[np.argsort(found.curve.out_sample, kind="stable")]
    low, high = np.array(frame["interval"].tolist(), dtype=np.float64).T
    strong = frame["plausible"].to_numpy(dtype=bool)
    across = f"out-sample {found.curve.loss.name}, 95 % interval"
    return _bars(list(frame.index), frame["estimate"].to_numpy(), low, high, strong, across, "learner", LEARNERS)


def differences_drawing(found: ModelComparison) -> list[Drawing]:
    """By how much every other learner differs from the best one; nothing where there is no other."""
    mine = [pair for pair in found.differences().itertuples() if found.best in (pair.first, pair.second)]
    if not mine:
        return []
    turned = np.array([-1.0 if pair.first == found.best else 1.0 for pair in mine])
    names = [pair.second if pair.first == found.best else pair.first for pair in mine]
    values = turned * np.array([pair.difference for pair in mine])
    ends = np.sort(turned[:, None] * np.array([pair.interval for pair in mine], dtype=np.float64), axis=1)
    order = np.argsort(np.abs(values), kind="stable")
    names, (low, high) = [names[i] for i in order], ends[order].T
    strong = np.array([name in found.plausible for name in names])
    across = f"{found.curve.loss.name}: difference to {found.best}"
    return [_bars(names, values[order], low, high, strong, across, "learner", PAIRED, [Level(0.0)])]


def _distribution(draws: Floats, levels: Sequence[Level], across: str) -> Drawing:
    """How often values were drawn, and where others stand."""
    known = draws[np.isfinite(draws)]
    counts, edges = np.histogram(known, bins=min(40, 8 + len(known) // 20))
    columns = Columns(edges[:-1], float(edges[1] - edges[0]), counts.astype(np.float64))
    return Drawing(Axis(across), Axis("draws"), [columns, *levels], caption=NULL)


def null_drawing(test: PermutationTest) -> Drawing:
    """The statistic on permuted labels, and a line at its value on the real ones."""
    observed = Level(test.statistic, f"real labels: {test.statistic:.4g}, p = {test.pvalue:.3g}")
    return _distribution(test.null, [observed], test.name)


def audit_drawing(found: Audit) -> Drawing:
    """What the procedure reports on shuffled labels, on the real ones, and the best that is honest on shuffled ones."""
    guess = Level(found.no_information, f"best constant: {found.no_information:.4g}", strong=False)
    observed = Level(found.reported, f"real labels: {found.reported:.4g}")
    return _distribution(found.draws, [observed, guess], "error reported on shuffled labels")


def complexity_drawing(found: Complexity) -> Drawing:
    """The values over draws and their mean; of several models the mean of each, with its Monte-Carlo error."""
    if found.single:
        mean = Level(float(found), f"mean: {float(found):.4g}")
        return _distribution(np.ravel(found.draws), [mean], f"{found.kind} of a draw")
    place = np.arange(len(found.params), dtype=np.float64)
    error = 0.0 if found.monte_carlo_error is None else found.monte_carlo_error
    line = Series("mean ± Monte-Carlo error", place, found.value, found.value - error, found.value + error, number=1)
    return Drawing(_models(found.params, ordered=False), Axis(found.kind), [line])


def estimate_drawing(estimate: ErrorEstimate) -> Drawing:
    """The error on the rows fitted to and on new rows, the latter with its 95 % interval where there is one."""
    zero, new = np.zeros(1), np.array([estimate.out_sample])
    low, high = (np.array([end]) for end in interval_of(estimate) or (math.nan, math.nan))
    layers = [Series("on new rows", zero, new, low, high, "strong", joined=False, band="95 % interval")]
    if not math.isnan(estimate.in_sample):
        both = np.array([estimate.in_sample, estimate.out_sample])
        layers.insert(0, Series("on the rows fitted to", zero, both[:1], kind="in-sample", joined=False))
        layers.insert(1, Series("optimism", np.zeros(2), both, kind="in-sample", marked=False))
    return Drawing(Axis(f"{estimate.loss}, by {estimate.criterion}"), Axis("", [""]), layers, sideways=True)


def learning_drawing(found: LearningCurve) -> Drawing:
    """Errors over the number of rows fitted to, on these and on new ones, with 95 % intervals."""
    sizes, (low, high) = found.train_sizes.astype(np.float64), found.intervals.T
    layers = [
        Series("on new rows", sizes, found.out_sample, low, high, number=1, band="95 % interval"),
        Series("on the rows fitted to", sizes, found.in_sample, kind="in-sample"),
    ]
    return Drawing(Axis("rows fitted to"), Axis(found.estimates[0].loss), layers)


def columns_drawing(found: ColumnTests) -> Drawing:
    """p-values of the columns on a logarithmic scale, adjusted for their number, the smallest at the top."""
    frame = found.to_frame().head(MOST_BARS)
    place = np.arange(len(frame), dtype=np.float64)
    layers = [
        Series(said, place, frame[name].to_numpy(np.float64), kind=kind, joined=False)
        for name, said, kind in (("pvalue", "alone", "weak"), ("adjusted", "adjusted for all columns", "strong"))
    ]
    names = Axis("", [str(name) for name in frame.index])
    return Drawing(Axis("p-value", log=True), names, [*layers, Level(0.05, "0.05")], sideways=True)


def discrepancy_drawing(found: EffectiveVC) -> Drawing:
    """The measured discrepancies with two Monte-Carlo errors, and the curve fitted to them."""
    sizes, values, half = found.sizes.astype(np.float64), found.discrepancy, 2 * found.monte_carlo_error
    finely = np.geomspace(sizes[0], sizes[-1], 200)
    layers = [
        Series(
            f"Φ(l/h), h = {found.value:.3g}", finely, discrepancy_shape(finely / found.value), number=1, marked=False
        ),
        Series("measured", sizes, values, values - half, values + half, "strong", joined=False),
    ]
    across = Axis("half the number of rows, l", log=True)
    return Drawing(across, Axis("discrepancy on random labels"), layers)


def regret_drawing(found: RegretStudy) -> Drawing:
    """The regret of every criterion on every data set, with standard errors."""
    table, width = found.to_frame(), 0.8 / len(found.criteria)
    learners = {learner for learner, _ in found.errors}
    titles = [data if len(learners) == 1 else f"{learner}, {data}" for learner, data in found.errors]
    place = np.arange(len(titles), dtype=np.float64) - 0.4

    def of(column: str, criterion: str) -> Floats:
        values = table[column].xs(criterion, level="criterion").reindex(list(found.errors))
        return np.asarray(values.to_numpy(np.float64))

    layers = [
        Columns(place + c * width, width, of("regret", name), np.nan_to_num(of("regret_error", name)), name, c + 1)
        for c, name in enumerate(found.criteria)
    ]
    return Drawing(Axis("", titles), Axis("regret"), layers)
