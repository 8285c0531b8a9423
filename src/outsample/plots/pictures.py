"""Which picture shows a search: a curve over one parameter, a heat map over two, the best candidates of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from outsample.curve.risk_curve import RiskCurve
from outsample.curve.words import Setting, in_words, on_users_scale, value_in_words
from outsample.plots.elements import Bars, Chart, HeatMap, Line, Picture, RaceChart
from outsample.running.arrays import Floats

# Candidates without an order that are drawn, the best first.
MOST_BARS = 25
# Values of a parameter that a heat map has at most.
LONGEST_SIDE = 30


def pictures_of(curve: RiskCurve, settings: Sequence[Setting], chosen: int, plausible: frozenset[int]) -> list[Picture]:
    """A curve over one parameter, a heat map over two, the best candidates otherwise; and the race."""
    found = []
    if len(curve) > 1:
        map_of_two = heat_map_of(curve, settings, chosen, plausible)
        if map_of_two is not None:
            found.append(Picture(map_of_two, _map_caption(bool(plausible))))
        elif len(parameter_names(settings)) == 1:
            found.append(Picture(curve_chart({curve.criterion: curve}, {curve.criterion: chosen}, settings), CURVE))
        else:
            found.append(Picture(best_candidates(curve, settings, chosen, plausible), BEST))
    if curve.race is not None and len(curve.race.order) > 1:
        found.append(Picture(_race_chart(curve, [in_words(setting) for setting in settings]), RACE))
    return found


def _race_chart(curve: RiskCurve, names: Sequence[str]) -> RaceChart:
    race = curve.race
    assert race is not None
    over_size = race.unit != "fold"
    return RaceChart(
        values=on_users_scale(curve, race.risk),
        settings=names,
        leader=race.leader,
        rounds=[str(size) for size in race.order] if over_size else [str(r + 1) for r in range(len(race.order))],
        across=f"{race.unit}s",
        up=f"{curve.loss.name} of rows left out" if over_size else f"{curve.loss.name} so far",
    )


CURVE = (
    "Each point is a candidate, with a band of one standard error. The ring is the one chosen. Point at the chart, or "
    "focus it and use the arrow keys, for the numbers."
)
BEST = "The best candidates, with bars of two standard errors. In colour: those that may be the best."
RACE = "The race: a line per candidate; it ends where the candidate was dropped. The strong line won."


def _map_caption(marked: bool) -> str:
    dots = " A dot marks candidates that may be the best." if marked else ""
    return f"Stronger colour is better. The ring is the candidate chosen.{dots}"


def curve_chart(curves: dict[str, RiskCurve], chosen: dict[str, int], settings: Sequence[Setting]) -> Chart:
    """One line per criterion over the same models, and the in-sample line below where it is known."""
    first = next(iter(curves.values()))
    names = parameter_names(settings)
    fitted = on_users_scale(first, first.in_sample)
    alone = len(curves) == 1
    lines = [
        Line(name, on_users_scale(curve, curve.out_sample), curve.standard_error if alone else None, chosen[name])
        for name, curve in curves.items()
    ]
    in_sample = [Line("in-sample", fitted, kind="in-sample")] if np.isfinite(fitted).any() else []
    return Chart(
        lines=[*in_sample, *lines],
        settings=[in_words(setting) for setting in settings],
        ticks=[", ".join(value_in_words(setting.get(name, "–"), name) for name in names) for setting in settings],
        values=_numbers_of(settings, names),
        across=", ".join(names) + (" (simple → rich)" if first.ordered else ""),
        up=first.loss.name,
    )


def _numbers_of(settings: Sequence[Setting], names: list[str]) -> Floats | None:
    """The values of the only parameter where all of them are different numbers."""
    if len(names) != 1:
        return None
    values = [setting.get(names[0]) for setting in settings]
    real = all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values)
    return np.array(values, dtype=np.float64) if real and len(set(values)) == len(values) else None


def heat_map_of(
    curve: RiskCurve, settings: Sequence[Setting], chosen: int, plausible: frozenset[int]
) -> HeatMap | None:
    """Estimates over two parameters; None where there are not two, or candidates do not fill a grid of them.

    Values that a single candidate has, such as those of the estimator's own defaults, do not make a row of the map.
    """
    names = parameter_names(settings)
    if len(names) != 2 or any(len(setting) < 2 for setting in settings):
        return None
    down, across = names
    pairs = [(_Value(s[down], down), _Value(s[across], across)) for s in settings]
    rows, columns = (_frequent([pair[side] for pair in pairs]) for side in (0, 1))
    if len(rows) > len(columns):
        (down, across), (rows, columns), pairs = (across, down), (columns, rows), [pair[::-1] for pair in pairs]
    if not (len(rows) >= 2 and len(columns) <= LONGEST_SIDE):
        return None
    cells = {i: (rows.index(a), columns.index(b)) for i, (a, b) in enumerate(pairs) if a in rows and b in columns}
    if 2 * len(set(cells.values())) < len(rows) * len(columns) or len(set(cells.values())) < len(cells):
        return None
    risk = np.full((len(rows), len(columns)), np.nan)
    for i, place in cells.items():
        risk[place] = curve.out_sample[i] if np.isfinite(curve.out_sample[i]) else np.nan
    return HeatMap(
        values=on_users_scale(curve, risk),
        rank=_share_of_worst(risk),
        rows=_in_few_digits(rows),
        columns=_in_few_digits(columns),
        down=down,
        across=across,
        what=curve.loss.name,
        chosen=cells.get(chosen),
        plausible=[cells[i] for i in sorted(plausible) if i in cells and i != chosen],
    )


class _Value:
    """The value of a parameter that can be compared and sorted: numbers by size, everything else by its words."""

    def __init__(self, value: object, name: str) -> None:
        self.value, self.name = value, name
        self.text = value_in_words(value, name)
        real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        self.key = (0, float(value), "") if real else (1, 0.0, self.text)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Value) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _in_few_digits(values: list[_Value]) -> list[str]:
    """The values in the fewest digits that tell them apart."""
    for digits in (2, 3):
        texts = [value_in_words(value.value, value.name, digits) for value in values]
        if len(set(texts)) == len(texts):
            return texts
    return [value.text for value in values]


def _frequent(values: list[_Value]) -> list[_Value]:
    """The different values that more than one candidate has, in their order."""
    found = {value for value in values if values.count(value) > 1}
    return sorted(found, key=lambda value: value.key)


def _share_of_worst(risk: Floats) -> Floats:
    """0 for the least risk up to 1 for the greatest; a few that are far worse than all others share the 1."""
    known = risk[np.isfinite(risk)]
    low, high = float(known.min()), float(known.max())
    usual = low + 3 * (float(np.quantile(known, 0.6)) - low)
    high = min(high, usual) if usual > low else high
    return np.clip((risk - low) / ((high - low) or 1.0), 0.0, 1.0)


def best_candidates(curve: RiskCurve, settings: Sequence[Setting], chosen: int, plausible: frozenset[int]) -> Bars:
    """The best candidates of a grid without an order, with bars of two standard errors."""
    known = [i for i in ranked(curve, chosen) if np.isfinite(curve.out_sample[i])][:MOST_BARS]
    values = on_users_scale(curve, curve.out_sample)[known]
    errors, (shared, _) = known_errors(curve.standard_error), parted_names(settings)
    half = 2 * errors[known] if len(errors) == len(curve) else np.full(len(known), np.nan)
    return Bars(
        names=[", ".join(label_of(settings[i], shared)) for i in known],
        values=values,
        low=values - half,
        high=values + half,
        across=curve.loss.name,
        heading=", ".join(shared),
        strong=frozenset(place for place, i in enumerate(known) if i == chosen or i in plausible),
    )


def ranked(curve: RiskCurve, chosen: int) -> list[int]:
    """Places on the curve, the chosen one first, then by estimate; what is not known comes last."""
    risk = np.where(np.isnan(curve.out_sample), np.inf, curve.out_sample)
    return sorted(range(len(curve)), key=lambda i: (i != chosen, risk[i], i))


def known_errors(values: Floats | None) -> Floats:
    return np.array([np.nan]) if values is None else values


def parameter_names(settings: Sequence[Setting]) -> list[str]:
    """The parameters that settings have."""
    return list(dict.fromkeys(name for setting in settings for name in setting))


def parted_names(settings: Sequence[Setting]) -> tuple[list[str], list[str]]:
    """(the parameters that all settings have, those that only some have), such as those of one learner of several."""
    names = parameter_names(settings)
    shared = [name for name in names if all(name in setting for setting in settings)]
    return shared, [name for name in names if name not in shared]


def label_of(setting: Setting, shared: Sequence[str]) -> list[str]:
    """A setting in words: the values of the parameters that all have, and the others by their names."""
    own = {name: value for name, value in setting.items() if name not in shared}
    return [*(value_in_words(setting[name], name) for name in shared), *([in_words(own)] if own else [])]


def plausible_models(search: Any) -> frozenset[int]:
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
