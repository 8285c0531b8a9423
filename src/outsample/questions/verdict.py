"""What to make of a search: which candidates may be the best, and one sentence about tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from outsample.curve.error_estimate import ErrorEstimate, numeral
from outsample.curve.left_out import LeftOut, times_drawn
from outsample.curve.paired import Difference, difference_of_folds, difference_of_rows
from outsample.curve.plausible import WIDENING, Chosen, plausible_by_folds, plausible_models
from outsample.curve.race_record import ALIKE, CLOSE, REMAINED, RaceRecord
from outsample.curve.risk_curve import RiskCurve, in_words
from outsample.losses.base import RELATIVE_ROUNDING
from outsample.questions.candidates import own_setting, place_among
from outsample.questions.contest import Outcome
from outsample.questions.grid_edges import edge_in_words
from outsample.rules import minimum
from outsample.running.arrays import Array, Floats, Rows

MOST_FOLDS = 10
# Sets of rows drawn with replacement, on each of which the best candidate is chosen anew and judged outside.
BAGS = 200
GRID_ALONE = "this search fits the grid alone, so add it there to compare"
# Risks whose relative difference is smaller are the same.
ALIKE_WITHIN = 1e-6


def plausible_positions(outcome: Outcome, groups: Array | None, chosen: int | None) -> Rows:
    """Positions in the user's order of the candidates that may be the best, ascending; the chosen one among them.

    Parameters
    ----------
    groups : (n,) the group of each row, None where rows are independent.

    Raises
    ------
    AttributeError
        Where no rows were left out, so that there is nothing to compare candidates by, row by row.
    """
    places = np.flatnonzero(_plausible(_all_that_is_known(outcome), groups))
    positions = set(outcome.positions[places].tolist()) | ({chosen} if chosen is not None else set())
    return np.array(sorted(positions), dtype=np.intp)


def _all_that_is_known(outcome: Outcome) -> RiskCurve:
    """The curve; where a race dropped the estimator's own setting, with what that lost on the other folds too."""
    curve, own, table = outcome.curve, outcome.reference, outcome.curve.left_out
    if own is None or own.losses is None or outcome.default is None or table is None or table.losses is None:
        return curve
    model = outcome.model_at(outcome.default)
    met = ~np.isnan(table.losses[model])
    if not np.array_equal(own.losses[0, met], table.losses[model, met]):
        return curve
    losses = table.losses.copy()
    losses[model] = own.losses[0]
    return replace(curve, left_out=replace(table, losses=losses))


def _plausible(curve: RiskCurve, groups: Array | None) -> Chosen:
    table = curve.left_out
    if table is not None and table.losses is not None:
        return plausible_models(table.losses, table.weight, groups)
    if table is not None and table.fold_risks is not None and len(table.fold_risks) > 1:
        return plausible_by_folds(table.fold_risks, _test_share(table))
    raise AttributeError(
        f"there is no plausible_: criterion {curve.criterion!r} has no losses of single rows, by which candidates are "
        'compared; use a criterion that leaves rows out, such as "auto", "race" or "kfold"'
    )


def _test_share(table: LeftOut) -> float:
    """Test rows over training rows; sizes are not known here, more than ten splits are taken for repeats of ten."""
    assert table.fold_risks is not None
    return 1 / (min(len(table.fold_risks), MOST_FOLDS) - 1)


@dataclass(frozen=True, eq=False)
class Found:
    """A fitted search as far as a verdict needs it.

    Attributes
    ----------
    settings : the candidates in the user's order.
    chosen : position of the chosen one.
    plausible : positions of those that may be the best, None where nothing tells.
    values : by parameter, the values that the user listed; without those that were drawn from distributions.
    honest : the error of the search, None where it is not known.
    fitted : the chosen model, None where it was not fitted to all rows.
    """

    outcome: Outcome
    estimator: Any
    settings: Sequence[dict[str, Any]]
    chosen: int
    plausible: Rows | None
    values: Mapping[str, Sequence[Any]]
    groups: Array | None
    rule: Any
    honest: ErrorEstimate | None = None
    fitted: Any = None

    @property
    def curve(self) -> RiskCurve:
        """The risks of all candidates, in the curve's own order."""
        return self.outcome.curve


def verdict_of(found: Found) -> str:
    """One sentence: does tuning beat the estimator's own setting, is the grid too narrow, was the choice close."""
    parts = [_about_guessing(found), _about_default(found), _about_edges(found), _about_others(found)]
    said = "; ".join(part for part in parts if part)
    return f"{said[:1].upper()}{said[1:]}."


def _about_guessing(found: Found) -> str:
    """Whether the search is better than predicting without X; empty where it is, or where nobody knows.

    It is where all of the interval of `honest_score_` is on the better side.
    """
    loss, guessing = found.curve.loss, found.outcome.guessing
    if found.honest is None or np.isnan(guessing):
        return ""
    try:
        ends = found.honest.interval()
    except ValueError:
        return ""
    shown = float(loss.reported(guessing))
    greater_is_better = float(loss.reported(1.0)) < float(loss.reported(0.0))
    ahead = min(ends) - shown if greater_is_better else shown - max(ends)
    if ahead > RELATIVE_ROUNDING * abs(shown):
        return ""
    return f"nothing tried is clearly better than guessing ({loss.name} {numeral(shown, 3)})"


def _about_default(found: Found) -> str:
    own = own_setting(found.estimator, found.settings)
    if own is None:
        return ""
    place, name = place_among(own, found.settings), f"the estimator's own setting ({in_words(own)})"
    if place == found.chosen:
        return f"tuning brings nothing: {name} was chosen"
    dropped = "" if place is None else _about_drop(found, place, name)
    if dropped:
        return dropped
    gain = _gain(found, place)
    if gain is None:
        return f"{name} was not tried: {found.outcome.untried or GRID_ALONE}"
    unit = found.curve.loss.name
    if gain.error == 0:
        return f"tuning brings nothing: {name} lost the same on every row"
    if np.isnan(gain.error):
        if abs(gain.value) <= ALIKE_WITHIN * abs(float(found.curve.out_sample[found.outcome.model_at(found.chosen)])):
            return f"tuning brings nothing: {name} does as well"
        side = "better" if gain.value > 0 else "worse"
        amount = f"{numeral(abs(gain.value), 2)} ({unit})"
        by = found.curve.criterion
        return f"by {by} the chosen candidate is {side} than {name} by {amount}, and how surely cannot be said"
    amount = f"{numeral(abs(gain.value), 2)} ± {numeral(gain.error, 2)} ({unit})"
    low, high = gain.interval()
    if low > 0:
        return f"tuning beats {name} by {amount}"
    if high < 0:
        return f"{name} is better than what tuning found, by {amount}"
    if gain.value > 0:
        return f"tuning may be no better than {name}: the gain is {amount}"
    elsewhere = "on rows that it did not choose by, " if _chooses_anew(found) else ""
    return f"tuning does not beat {name}: {elsewhere}it did worse by {amount}"


def _about_drop(found: Found, place: int, name: str) -> str:
    """How a candidate left a race, where no more is known of it; empty where more is."""
    curve, model = found.curve, found.outcome.model_at(place)
    race = curve.race
    if not isinstance(race, RaceRecord) or found.outcome.reference is not None or race.reason[model] == REMAINED:
        return ""
    if np.isnan(race.gap[model]):
        return f"{name} could not be tried"
    amount = f"{numeral(float(race.gap[model]), 2)} ± {numeral(float(race.error[model]), 2)} ({curve.loss.name})"
    n = int(race.n_splits[model])
    met = f"{n} {race.unit}{'s' if n != 1 else ''}"
    if race.reason[model] == ALIKE:
        return f"the race dropped {name} after {met}, because another candidate lost the same on every row"
    if race.reason[model] == CLOSE:
        return f"tuning may be no better than {name}: the race dropped it after {met}, when it was behind by {amount}"
    return f"tuning probably beats {name}: the race dropped it after {met}, when it was worse by {amount}"


def _gain(found: Found, place: int | None) -> Difference | None:
    """By how much the chosen candidate is better than the estimator's own setting; None where that was not tried."""
    outcome, curve = found.outcome, found.curve
    chosen, table = outcome.model_at(found.chosen), curve.left_out
    model = None if place is None else outcome.model_at(place)
    own = outcome.reference
    if own is None and model is not None and table is not None:
        own = table.take(np.array([model]))
    if own is not None and table is not None:
        if own.losses is not None and table.losses is not None:
            plain = difference_of_rows(own.losses[0], table.losses[chosen], table.weight, found.groups, WIDENING)
            if plain.error == 0:
                return plain
            return _corrected(found, own.losses[0], table.losses[chosen], plain)
        if own.fold_risks is not None and table.fold_risks is not None and len(table.fold_risks) > 1:
            return difference_of_folds(own.fold_risks[:, 0], table.fold_risks[:, chosen], _test_share(table))
    if model is None:
        return None
    return Difference(float(curve.out_sample[model] - curve.out_sample[chosen]), float("nan"), 1.0)


def _corrected(found: Found, own: Floats, theirs: Floats, plain: Difference) -> Difference:
    """The gain corrected for having chosen the best of many on the same rows: bootstrap-bias-corrected.

    On sets of rows drawn with replacement the best candidate is chosen anew, and what it loses more than the chosen one
    is measured on the rows outside (Tsamardinos, Greasidou & Borboudakis 2018). The error is that of the plain gain, or
    that of all these choices where it is larger: a candidate that hardly differs from the estimator's own setting says
    little about others that might have been chosen. Other rules than the minimum keep the plain gain.
    """
    table = found.curve.left_out
    assert table is not None
    assert table.losses is not None
    rows = np.flatnonzero(~np.isnan(own) & ~np.isnan(theirs))
    losses = table.losses[:, rows]
    losses = losses[~np.isnan(losses).any(axis=1)]
    if not _chooses_anew(found) or len(rows) < 2:
        return plain
    weight = np.ones(len(rows)) if table.weight is None else table.weight[rows]
    groups = None if found.groups is None else found.groups[rows]
    rng, worse = np.random.default_rng(0), []
    sums, times = np.zeros(len(rows)), np.zeros(len(rows))
    for _ in range(BAGS):
        often = times_drawn(len(rows), groups, rng)
        outside = np.where(often == 0, weight, 0.0)
        if outside.sum() > 0:
            best = int(np.argmin(losses @ (often * weight)))
            worse.append(float((losses[best] - theirs[rows]) @ outside / outside.sum()))
            sums += np.where(outside > 0, losses[best], 0.0)
            times += outside > 0
    if not worse:
        return plain
    with np.errstate(invalid="ignore"):
        of_choices = difference_of_rows(
            own[rows], sums / times, None if table.weight is None else weight, groups, WIDENING
        )
    wider = of_choices if of_choices.error > plain.error else plain
    return replace(wider, value=plain.value - float(np.mean(worse)))


def _chooses_anew(found: Found) -> bool:
    """Whether the gain is measured on rows by which the choice, made anew, was not made."""
    table = found.curve.left_out
    return found.rule is minimum and table is not None and table.losses is not None


def _about_edges(found: Found) -> str:
    setting = found.settings[found.chosen]
    said = [
        edge_in_words(found.estimator, name, setting[name], found.values[name], found.curve.n_samples, found.fitted)
        for name in setting
        if name in found.values
    ]
    return "; ".join(text for text in said if text)


def _about_others(found: Found) -> str:
    n = len(found.settings)
    if found.plausible is None or n == 1:
        return ""
    if len(found.plausible) == 1:
        return f"no other of the {n} candidates may be the best"
    if len(found.plausible) == n:
        return f"nothing tells the {n} candidates apart"
    return f"{len(found.plausible)} of the {n} candidates may be the best"
