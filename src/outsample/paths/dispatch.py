"""Which path serves an estimator and a parameter: one table, the first that recognises them wins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator

from outsample.data.steps import split_head
from outsample.paths.base import Path
from outsample.paths.ensembles import EnsemblePath, LightGBMPath, StagedPath, XGBoostPath
from outsample.paths.linear.components import ForwardStepwisePath, PartialLeastSquaresPath
from outsample.paths.linear.least_squares import LeastSquaresPath
from outsample.paths.linear.ridge import KernelRidgePath, RidgeClassifierPath, RidgePath
from outsample.paths.mixed import MixedPath
from outsample.paths.neighbors.votes import NeighborsPath
from outsample.paths.order import complexity_of
from outsample.paths.penalised.elastic_net import ElasticNetPath
from outsample.paths.penalised.logistic import LogisticPath
from outsample.paths.penalised.support_vectors import SupportVectorPath
from outsample.paths.pipeline import HeadedPath
from outsample.paths.refit import RefitPath
from outsample.paths.trees.leaves import TreePath
from outsample.paths.trees.pruning import DepthPath, PruningPath

FAMILIES: tuple[type[Path], ...] = (
    TreePath,
    PruningPath,
    DepthPath,
    ElasticNetPath,
    EnsemblePath,
    ForwardStepwisePath,
    KernelRidgePath,
    LeastSquaresPath,
    LightGBMPath,
    LogisticPath,
    NeighborsPath,
    PartialLeastSquaresPath,
    RidgeClassifierPath,
    RidgePath,
    StagedPath,
    SupportVectorPath,
    XGBoostPath,
)


def find_path(
    estimator: BaseEstimator,
    parameter: str | None = None,
    values: Sequence[Any] | None = None,
    *,
    response: str = "predict",
    weighted: bool = False,
    fast: bool = True,
) -> Path:
    """The fastest path over `values` of `parameter` that can serve `response`.

    Single values that the family does not serve are refitted, if the family serves the others.

    Without a parameter: the path of the one model that `estimator` is. A pipeline is served whole where a
    family knows it whole, otherwise by the path of its last step behind the steps that ignore y.
    """
    values = None if values is None else list(values)
    if fast:
        whole = _family_path(estimator, parameter, values, response, weighted)
        if whole is not None:
            return whole
        head, tail, prefix = split_head(estimator)
        if prefix and (parameter is None or parameter.startswith(prefix)):
            inner_name = None if parameter is None else parameter.removeprefix(prefix)
            inner = _family_path(tail, inner_name, values, response, weighted)
            if inner is not None:
                return HeadedPath(estimator, head, prefix, inner)
    if parameter is None or values is None:
        return RefitPath.over(estimator, [{}])
    return RefitPath(estimator, parameter, values)


def _family_path(
    estimator: BaseEstimator, parameter: str | None, values: list[Any] | None, response: str, weighted: bool
) -> Path | None:
    for family in FAMILIES:
        if response not in family.responses or (weighted and not family.takes_weight):
            continue
        known = family.recognise(estimator, parameter)
        if known is not None:
            own = [estimator.get_params()[known]] if values is None else values
            if family.accepts(estimator, own):
                return family(estimator, known, own)
            served = [value for value in own if family.accepts(estimator, [value])]
            if len(served) > 1 and complexity_of(known, own)[1]:
                others = [value for value in own if not family.accepts(estimator, [value])]
                return MixedPath(family(estimator, known, served), RefitPath(estimator, known, others))
    return None
