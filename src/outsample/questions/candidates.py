"""From a parameter grid to paths: one parameter runs along a path, the others are crossed with it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid

from outsample.checks import parameter_of, truth
from outsample.data.learners import is_pairwise, with_params
from outsample.paths.base import Path
from outsample.paths.dispatch import find_path
from outsample.paths.refit import RefitPath

Positions = NDArray[np.intp]

MOST_CANDIDATES = 1_000_000

ParamGrid = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""Values of parameters by name, or several such tables, as scikit-learn takes them."""


@dataclass(frozen=True, eq=False)
class Branch:
    """One path and the settings of a grid that it serves.

    Attributes
    ----------
    path : serves the candidates.
    settings : full setting of each model of the path, simplest first.
    positions : (models,) where each stands in the order of scikit-learn's ParameterGrid.
    """

    path: Path
    settings: tuple[dict[str, Any], ...]
    positions: Positions


def checked_grids(estimator: BaseEstimator, given: object, argument: str = "param_grid") -> list[Mapping[str, Any]]:
    """A grid, or several, as a list; each names parameters of the estimator.

    Names below a nested value of the same grid are left to that value to check.
    """
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else None
    grids = [given] if isinstance(given, Mapping) else listed
    if grids is None or not all(isinstance(grid, Mapping) for grid in grids):
        raise ValueError(f"{argument} must be a dict of parameter values or a list of them, got {given!r}")
    if not grids or any(not grid for grid in grids):
        raise ValueError(f"{argument} is empty: name at least one parameter and its values")
    for grid in grids:
        _check_names(estimator, grid, argument)
    return grids


def _check_names(estimator: BaseEstimator, grid: Mapping[str, Any], argument: str) -> None:
    for name in grid:
        if not isinstance(name, str):
            raise ValueError(f"{argument}: the name of a parameter is text, got {name!r}")
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        return
    known = estimator.get_params(deep=True)
    for name in grid:
        owner, _, own_name = name.rpartition("__")
        if name in known or any(owner == other or owner.startswith(f"{other}__") for other in grid):
            continue
        if not _constructor_takes(known.get(owner) if owner else estimator, own_name):
            parameter_of(f"{argument}: {type(estimator).__name__}", name, known)


def _constructor_takes(learner: object, name: str) -> bool:
    """Whether a learner has a parameter that it does not list: CatBoost lists those only that were set.

    The classes of LightGBM and XGBoost take any name, and leave it to their libraries.
    """
    if not hasattr(learner, "get_params"):
        return False
    parameters = inspect.signature(type(learner)).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def candidates_of(param_grid: ParamGrid) -> list[dict[str, Any]]:
    """All settings of a grid (a dict or a list of dicts), in scikit-learn's order."""
    grid = ParameterGrid(param_grid)
    count = sum(math.prod(map(len, values.values())) for values in grid.param_grid)
    if count > MOST_CANDIDATES:
        raise ValueError(f"param_grid has {count} candidates in all; at most {MOST_CANDIDATES} are tried")
    return list(grid)


def with_default(estimator: BaseEstimator, settings: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int | None]:
    """(the settings, with the estimator's own values of their parameters among them; its position).

    It is added as the last one where it is not there. Where settings differ in the parameters they set, it sets none.
    None for a position where the estimator cannot predict as it is.
    """
    default = own_setting(estimator, settings)
    if default is None:
        return settings, None
    place = place_among(default, settings)
    return (settings, place) if place is not None else ([*settings, default], len(settings))


def own_setting(estimator: Any, settings: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The estimator's own values of the parameters that settings name; None where it cannot predict as it is.

    Where settings differ in the parameters they set, it sets none.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "predict"):
        return None
    known, names = estimator.get_params(deep=True), set(settings[0])
    alike = all(set(setting) == names for setting in settings) and names <= set(known)
    return {name: known[name] for name in settings[0]} if alike else {}


def place_among(setting: dict[str, Any], settings: Sequence[dict[str, Any]]) -> int | None:
    """Where a setting stands among others, None where it does not; values are the same if they are printed alike."""
    written = _written(setting)
    return next((i for i, other in enumerate(settings) if _written(other) == written), None)


def _written(setting: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values as text; 1 and 1.0 are the same number."""

    def text(value: Any) -> str:
        value = value.item() if isinstance(value, np.generic) else value
        return repr(float(value) if isinstance(value, int) and not isinstance(value, bool) else value)

    return sorted((name, text(value)) for name, value in setting.items())


def filled(estimator: BaseEstimator, candidates: Sequence[dict[str, Any]]) -> Any:
    """The estimator, or as the first setting makes it that lets it predict: the grid may fill an empty step."""
    if hasattr(estimator, "predict") or isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        return estimator
    for candidate in candidates:
        model = with_params(estimator, candidate)
        if hasattr(model, "predict"):
            return model
    return estimator


def learners_of(estimator: BaseEstimator, settings: object) -> list[Any]:
    """The learners a search tries: the estimator, or what settings that name other learners make of it.

    `settings` is a list of candidates; a parameter without a last value tries the estimator alone.
    """
    found: dict[Any, Any] = {}
    for candidate in settings if isinstance(settings, list) else ():
        others = {name: value for name, value in candidate.items() if hasattr(value, "fit") or name == "steps"}
        key = tuple(sorted((name, id(value)) for name, value in others.items()))
        if key and key not in found:
            found[key] = with_params(estimator, others)
        elif not key:
            found[key] = estimator
    return list(found.values()) or [estimator]


def branches(
    estimator: BaseEstimator,
    candidates: Sequence[dict[str, Any]],
    *,
    response: str = "predict",
    weighted: bool = False,
    fast: bool = True,
) -> list[Branch]:
    """The paths that together cover some settings: one per setting of the parameters that are not the path's."""
    truth("fast", fast)
    found: list[Branch] = []
    for positions in _served_alike(estimator, candidates):
        found += _branches_of_one(estimator, candidates, positions, response, weighted, fast)
    return found


def _served_alike(estimator: BaseEstimator, candidates: Sequence[dict[str, Any]]) -> list[list[int]]:
    """Positions of settings that name the same parameters and read the same kind of X, pairwise or not, together."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    known: dict[str, bool] = {}
    for position, candidate in enumerate(candidates):
        # Numbers do not change what X is.
        telling = {name: value for name, value in candidate.items() if not isinstance(value, int | float | np.number)}
        key = repr(sorted((name, _identity(value)) for name, value in telling.items()))
        if key not in known:
            known[key] = _reads_pairs(estimator, telling)
        groups.setdefault((known[key], *sorted(candidate)), []).append(position)
    return list(groups.values())


def _reads_pairs(estimator: BaseEstimator, params: dict[str, Any]) -> bool:
    """Whether a setting makes X pairwise; one that cannot be set is left to the fit to reject."""
    try:
        return is_pairwise(estimator, params)
    except (ValueError, TypeError, AttributeError):
        return False


def _branches_of_one(
    estimator: BaseEstimator,
    candidates: Sequence[dict[str, Any]],
    positions: list[int],
    response: str,
    weighted: bool,
    fast: bool,
) -> list[Branch]:
    own = [candidates[i] for i in positions]
    if not own[0]:
        path = find_path(estimator, None, None, response=response, weighted=weighted, fast=fast)
        return [Branch(path, tuple(own), np.array(positions))]
    if fast and len(own[0]) == 1:
        return [_over_one_parameter(estimator, own, np.array(positions), response, weighted)]
    parameter = _path_parameter(estimator, own, response, weighted) if fast else None
    if parameter is None:
        return [_refitted(estimator, own, np.array(positions))]
    groups: dict[str, list[int]] = {}
    for position in positions:
        others = {name: value for name, value in candidates[position].items() if name != parameter}
        groups.setdefault(repr(sorted((k, _identity(v)) for k, v in others.items())), []).append(position)
    return [
        _along(estimator, parameter, [candidates[i] for i in group], np.array(group), response, weighted)
        for group in groups.values()
    ]


def _over_one_parameter(
    estimator: BaseEstimator, candidates: list[dict[str, Any]], positions: Positions, response: str, weighted: bool
) -> Branch:
    (parameter,) = candidates[0]
    values = [candidate[parameter] for candidate in candidates]
    path = _fast_path(clone(estimator), parameter, values, response, weighted)
    if path is None:
        return _refitted(estimator, candidates, positions)
    return _branch(path, parameter, candidates, positions)


def _identity(value: object) -> str | int:
    """Something by which equal values of a grid can be told from others."""
    return repr(value) if isinstance(value, str | int | float | bool | type(None)) else id(value)


def _path_parameter(
    estimator: BaseEstimator, candidates: Sequence[dict[str, Any]], response: str, weighted: bool
) -> str | None:
    """The parameter with the longest fast path, if any has one."""
    values = {name: list({_identity(c[name]): c[name] for c in candidates}.values()) for name in candidates[0]}
    for name in sorted(values, key=lambda name: -len(values[name])):
        if _fast_path(estimator, name, values[name], response, weighted) is not None:
            return name
    return None


def _fast_path(estimator: BaseEstimator, name: str, values: list[Any], response: str, weighted: bool) -> Path | None:
    """The fast path that serves these values; values it cannot read are left to the estimator to reject."""
    try:
        path = find_path(estimator, name, values, response=response, weighted=weighted)
    except (ValueError, TypeError):
        return None
    return None if path.refits else path


def _along(
    estimator: BaseEstimator,
    parameter: str,
    candidates: list[dict[str, Any]],
    positions: Positions,
    response: str,
    weighted: bool,
) -> Branch:
    others = {name: value for name, value in candidates[0].items() if name != parameter}
    prototype = with_params(estimator, others)
    values = [candidate[parameter] for candidate in candidates]
    path = find_path(prototype, parameter, values, response=response, weighted=weighted)
    return _branch(path, parameter, candidates, positions)


def _branch(path: Path, parameter: str, candidates: list[dict[str, Any]], positions: Positions) -> Branch:
    """A path along one parameter with the settings it serves."""
    order = _order_of(path, parameter, [candidate[parameter] for candidate in candidates])
    return Branch(path, tuple(candidates[i] for i in order), positions[order])


def _order_of(path: Path, parameter: str, values: list[Any]) -> Positions:
    """For each model of the path the position of its value in the user's list."""
    left = dict(enumerate(values))
    places: dict[int, list[int]] = {}
    for i, value in left.items():
        places.setdefault(id(value), []).append(i)
    order = []
    for params in path.params:
        value = params[parameter]
        # Nearly always the very object of the list; a path may also have made an equal one of it.
        same = [j for j in places.get(id(value), ()) if j in left]
        i = same[0] if same else next(j for j, other in left.items() if other == value)
        del left[i]
        order.append(i)
    return np.array(order, dtype=np.intp)


def _refitted(estimator: BaseEstimator, candidates: Sequence[dict[str, Any]], positions: Positions) -> Branch:
    names = list(candidates[0])
    if len(names) == 1:
        path = RefitPath(estimator, names[0], [candidate[names[0]] for candidate in candidates])
        return _branch(path, names[0], list(candidates), positions)
    return Branch(RefitPath.over(estimator, candidates), tuple(candidates), positions)
