"""What to make of a search: which candidates may be the best, and one sentence about tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from outsample.curve.error_estimate import numeral
from outsample.curve.intervals import Difference, difference_of_folds, difference_of_rows
from outsample.curve.left_out import LeftOut, times_drawn
from outsample.curve.plausible import WIDENING, Chosen, plausible_by_folds, plausible_models
from outsample.curve.race_record import ALIKE, CLOSE, REMAINED, RaceRecord
from outsample.curve.risk_curve import RiskCurve, in_words
from outsample.losses.base import RELATIVE_ROUNDING
from outsample.questions.candidates import own_setting, place_among
from outsample.questions.contest import NOT_FITTED, Outcome
from outsample.questions.grid_edges import edge, edge_in_words
from outsample.rules import minimum
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import cached_property

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
    places = np.flatnonzero(_plausible(outcome.curve, groups))
    positions = set(outcome.positions[places].tolist()) | ({chosen} if chosen is not None else set())
    return np.array(sorted(positions), dtype=np.intp)


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


@dataclass(frozen=True, repr=False)
class Verdict:
    """What to make of a search; its text is one sentence.

    Attributes
    ----------
    sentence : does tuning beat the estimator's own setting, is the grid too narrow, was the choice close.
    default_params : the estimator's own setting; None where it cannot predict as it is.
    gain : by how much the chosen candidate is better than that on new rows, in the unit of the loss, corrected for
        having chosen the best of many; None where that is not known.
    interval : (low, high) of the gain at level 0.95; None where that is not known.
    beats_default : whether all of the interval is above zero; None without an interval.
    beats_guessing : whether the chosen candidate is clearly better than the best constant prediction; None where there
        is no such constant, or no rows were left out.
    edges : by parameter, "smallest" or "largest" where values beyond the chosen one may be better.
    n_plausible : how many candidates may be the best; None where nothing tells.
    """

    sentence: str
    default_params: dict[str, Any] | None
    gain: float | None
    interval: tuple[float, float] | None
    beats_default: bool | None
    beats_guessing: bool | None
    edges: dict[str, str]
    n_plausible: int | None

    def __str__(self) -> str:
        return self.sentence

    __repr__ = __str__

    def __contains__(self, text: str) -> bool:
        return text in self.sentence


@dataclass(frozen=True, eq=False)
class Found:
    """A fitted search as far as a verdict needs it.

    Attributes
    ----------
    settings : the candidates in the user's order.
    chosen : position of the chosen one.
    plausible : positions of those that may be the best, None where nothing tells.
    values : by parameter, the values that the user listed; without those that were drawn from distributions.
    error_score : the score of settings that could not be fitted.
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
    error_score: Any = np.nan
    fitted: Any = None

    @property
    def curve(self) -> RiskCurve:
        """The risks of all candidates, in the curve's own order."""
        return self.outcome.curve

    @cached_property
    def chosen_anew(self) -> tuple[float, Floats] | None:
        """(what the best of many loses more for having been chosen, mean loss of each row by those chosen without it).

        On sets of rows drawn with replacement the best candidate is chosen anew, and what it loses more than the chosen
        one is measured on the rows outside (Tsamardinos, Greasidou & Borboudakis 2018). None where rows say nothing
        about the choice: with other rules than the minimum, and without losses of rows.
        """
        table = self.curve.left_out
        if self.rule is not minimum or table is None or table.losses is None:
            return None
        theirs = table.losses[self.outcome.model_at(self.chosen)]
        rows = np.flatnonzero(~np.isnan(theirs))
        losses = table.losses[:, rows]
        losses = losses[~np.isnan(losses).any(axis=1)]
        weight = np.ones(len(rows)) if table.weight is None else table.weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        rng, worse = np.random.default_rng(0), []
        sums, times = np.zeros(len(theirs)), np.zeros(len(theirs))
        for _ in range(BAGS):
            often = times_drawn(len(rows), groups, rng)
            outside = np.where(often == 0, weight, 0.0)
            if outside.sum() > 0:
                best = int(np.argmin(losses @ (often * weight)))
                worse.append(float((losses[best] - theirs[rows]) @ outside / outside.sum()))
                sums[rows] += np.where(outside > 0, losses[best], 0.0)
                times[rows] += outside > 0
        with np.errstate(invalid="ignore"):
            return (float(np.mean(worse)), sums / times) if worse else None


def verdict_of(found: Found) -> Verdict:
    """Does tuning beat the estimator's own setting, is the grid too narrow, was the choice close."""
    own = own_setting(found.estimator, found.settings)
    place = None if own is None else place_among(own, found.settings)
    gain = None if own is None or _rejected(found, place) else _gain(found, place)
    known = gain is not None and not np.isnan(gain.error)
    over_guessing, edges = _beats_guessing(found), _edges(found)
    parts = [
        _about_guessing(found) if over_guessing is False else "",
        "" if own is None else _about_default(found, own, place, gain),
        *(edge_in_words(name, side, found.settings[found.chosen], found.values[name]) for name, side in edges.items()),
        _about_others(found),
    ]
    said = "; ".join(part for part in parts if part)
    return Verdict(
        sentence=f"{said[:1].upper()}{said[1:]}.",
        default_params=own,
        gain=None if gain is None else gain.value,
        interval=gain.interval() if gain is not None and known else None,
        beats_default=gain.interval()[0] > 0 if gain is not None and known else None,
        beats_guessing=over_guessing,
        edges=edges,
        n_plausible=None if found.plausible is None else len(found.plausible),
    )


def _beats_guessing(found: Found) -> bool | None:
    """Whether the chosen candidate is clearly better than the best constant, on the same rows; None if nobody knows."""
    if found.outcome.constant is None:
        return None
    over = _difference(found, found.outcome.constant, 1.0)
    return None if over is None or np.isnan(over.error) else over.interval()[0] > 0


def _about_guessing(found: Found) -> str:
    loss = found.curve.loss
    shown = numeral(float(loss.reported(found.outcome.guessing)), 3)
    return f"nothing tried is clearly better than guessing ({loss.name} {shown})"


def _rejected(found: Found, place: int | None) -> bool:
    """Whether the estimator's own setting was tried and could not be fitted."""
    if place is None:
        return found.outcome.untried == NOT_FITTED
    curve, model = found.curve, found.outcome.model_at(place)
    if curve.fold_scores is not None and np.all(curve.fold_scores[model] == found.error_score):
        return True
    return bool(np.isnan(curve.out_sample[model])) and found.outcome.reference is None


def _about_default(found: Found, own: dict[str, Any], place: int | None, gain: Difference | None) -> str:
    name = f"the estimator's own setting ({in_words(own)})"
    if _rejected(found, place):
        return f"{name} was rejected: {NOT_FITTED}"
    if place == found.chosen:
        return f"tuning brings nothing: {name} was chosen"
    dropped = "" if place is None else _about_drop(found, place, name)
    if dropped:
        return dropped
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
    elsewhere = "" if found.chosen_anew is None else "on rows that it did not choose by, "
    return f"tuning does not beat {name}: {elsewhere}it did worse by {amount}"


def _about_drop(found: Found, place: int, name: str) -> str:
    """How a candidate left a race, where no more is known of it; empty where more is."""
    curve, model = found.curve, found.outcome.model_at(place)
    race = curve.race
    if not isinstance(race, RaceRecord) or race.reason[model] == REMAINED:
        return ""
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
    chosen, table, own = outcome.model_at(found.chosen), curve.left_out, outcome.reference
    model = None if place is None else outcome.model_at(place)
    if own is None and model is not None and table is not None:
        own = table.take(np.array([model]))
    over = None if own is None else _difference(found, own, WIDENING)
    if over is not None or model is None:
        return over
    return Difference(float(curve.out_sample[model] - curve.out_sample[chosen]), float("nan"), 1.0)


def _difference(found: Found, rival: LeftOut, widening: float) -> Difference | None:
    """By how much the chosen candidate is better than one other model; None where they cannot be paired.

    Corrected for having chosen the best of many on the same rows, see `Found.chosen_anew`. The error is that of the
    plain difference, or that of all candidates chosen anew where it is larger: a candidate that hardly differs from
    the rival says little about others that might have been chosen.
    """
    table = found.curve.left_out
    chosen = found.outcome.model_at(found.chosen)
    if table is not None and rival.losses is not None and table.losses is not None:
        own, weight = rival.losses[0], table.weight
        plain = difference_of_rows(own, table.losses[chosen], weight, found.groups, widening)
        if plain.error == 0 or found.chosen_anew is None:
            return plain
        worse, losses = found.chosen_anew
        of_choices = difference_of_rows(own, losses, weight, found.groups, widening)
        return replace(of_choices if of_choices.error > plain.error else plain, value=plain.value - worse)
    if table is None or rival.fold_risks is None or table.fold_risks is None or len(table.fold_risks) < 2:
        return None
    return difference_of_folds(rival.fold_risks[:, 0], table.fold_risks[:, chosen], _test_share(table))


def _edges(found: Found) -> dict[str, str]:
    """By parameter, the side on which values beyond those tried may be better; nowhere if nothing could be better."""
    curve, setting = found.curve, found.settings[found.chosen]
    if curve.out_sample[found.outcome.model_at(found.chosen)] - curve.loss.range[0] <= RELATIVE_ROUNDING:
        return {}
    sides = {
        name: edge(found.estimator, name, setting[name], found.values[name], curve.n_samples, found.fitted)
        for name in setting
        if name in found.values
    }
    return {name: side for name, side in sides.items() if side}


def _about_others(found: Found) -> str:
    n = len(found.settings)
    if found.plausible is None or n == 1:
        return ""
    if len(found.plausible) == 1:
        return "no other candidate may be the best"
    if len(found.plausible) == n:
        return f"nothing tells the {n} candidates apart"
    return f"{len(found.plausible)} of the {n} candidates may be the best"
