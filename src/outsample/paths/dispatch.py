"""Which path serves an estimator and a parameter: a table from the exact type of the estimator to its fast paths.

The module of a fast path is imported when the first estimator comes that it is for.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from outsample.checks import truth
from outsample.data.learners import with_params
from outsample.data.parameters import unknown_settings
from outsample.data.steps import split_pipeline
from outsample.paths.base import GridPath, Path
from outsample.paths.order import complexity_of
from outsample.paths.refit import MixedPath, PipelinePath, RefitPath

_TREES = {
    "max_leaf_nodes": "trees.leaves:TreePath",
    "ccp_alpha": "trees.pruning:PruningPath",
    "max_depth": "trees.pruning:DepthPath",
}
_NEIGHBORS = {"n_neighbors": "neighbors.votes:NeighborsPath"}
_ELASTIC_NET = {"alpha": "penalised.elastic_net:ElasticNetPath"}
_SUPPORT_VECTORS = {"C": "penalised.support_vectors:SupportVectorPath"}
_LEAST_SQUARES = {"fit_intercept": "linear.least_squares:LeastSquaresPath"}
_ENSEMBLE = {"n_estimators": "ensembles:EnsemblePath"}
_STAGES = {"n_estimators": "ensembles:StagedPath"}
_ITERATIONS = {"max_iter": "ensembles:StagedPath"}
_LIGHTGBM = {"n_estimators": "boosters:LightGBMPath"}
_XGBOOST = {"n_estimators": "boosters:XGBoostPath"}
_CATBOOST = dict.fromkeys(("iterations", "n_estimators", "num_trees", "num_boost_round"), "boosters:CatBoostPath")

_COUNTS = {"alpha": "generative.counts:CountedBayesPath"}
_QUADRATIC = {
    "reg_param": "generative.discriminants:QuadraticDiscriminantPath",
    "shrinkage": "generative.discriminants:QuadraticDiscriminantPath",
}

FAST_PATHS: dict[str, dict[str, str]] = {
    "sklearn.tree.DecisionTreeClassifier": _TREES,
    "sklearn.tree.DecisionTreeRegressor": _TREES,
    "outsample.paths.trees.best_first.BestFirstTreeClassifier": {
        "max_leaf_nodes": "trees.best_first:BestFirstPath",
    },
    "sklearn.neighbors.KNeighborsClassifier": _NEIGHBORS,
    "sklearn.neighbors.KNeighborsRegressor": _NEIGHBORS,
    "sklearn.linear_model.LinearRegression": _LEAST_SQUARES,
    "sklearn.linear_model.Ridge": {"alpha": "linear.ridge:RidgePath"},
    "sklearn.linear_model.RidgeClassifier": {"alpha": "linear.ridge:RidgeClassifierPath"},
    "sklearn.kernel_ridge.KernelRidge": {"alpha": "linear.ridge:KernelRidgePath"},
    "sklearn.cross_decomposition.PLSRegression": {"n_components": "linear.components:PartialLeastSquaresPath"},
    "outsample.estimators.ForwardStepwise": {"n_steps": "linear.components:ForwardStepwisePath"},
    "sklearn.linear_model.Lasso": _ELASTIC_NET,
    "sklearn.linear_model.ElasticNet": _ELASTIC_NET,
    "sklearn.linear_model.LogisticRegression": {"C": "penalised.logistic:LogisticPath"},
    "sklearn.svm.SVC": _SUPPORT_VECTORS,
    "sklearn.svm.SVR": _SUPPORT_VECTORS,
    "sklearn.ensemble.RandomForestClassifier": _ENSEMBLE,
    "sklearn.ensemble.RandomForestRegressor": _ENSEMBLE,
    "sklearn.ensemble.ExtraTreesClassifier": _ENSEMBLE,
    "sklearn.ensemble.ExtraTreesRegressor": _ENSEMBLE,
    "sklearn.ensemble.BaggingClassifier": _ENSEMBLE,
    "sklearn.ensemble.BaggingRegressor": _ENSEMBLE,
    "sklearn.ensemble.GradientBoostingClassifier": _STAGES,
    "sklearn.ensemble.GradientBoostingRegressor": _STAGES,
    "sklearn.ensemble.AdaBoostClassifier": _STAGES,
    "sklearn.ensemble.AdaBoostRegressor": _STAGES,
    "sklearn.ensemble.HistGradientBoostingClassifier": _ITERATIONS,
    "sklearn.ensemble.HistGradientBoostingRegressor": _ITERATIONS,
    "sklearn.naive_bayes.GaussianNB": {"var_smoothing": "generative.gaussian_bayes:GaussianBayesPath"},
    "sklearn.gaussian_process.GaussianProcessRegressor": {"alpha": "gaussian_process:GaussianProcessPath"},
    "sklearn.naive_bayes.MultinomialNB": _COUNTS,
    "sklearn.naive_bayes.ComplementNB": _COUNTS,
    "sklearn.naive_bayes.BernoulliNB": _COUNTS,
    "sklearn.naive_bayes.CategoricalNB": {"alpha": "generative.counts:CategoricalBayesPath"},
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": {
        "shrinkage": "generative.discriminants:LinearDiscriminantPath"
    },
    "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis": _QUADRATIC,
    "sklearn.neighbors.NearestCentroid": {"shrink_threshold": "generative.discriminants:NearestCentroidPath"},
    "lightgbm.sklearn.LGBMClassifier": _LIGHTGBM,
    "lightgbm.sklearn.LGBMRegressor": _LIGHTGBM,
    "xgboost.sklearn.XGBClassifier": _XGBOOST,
    "xgboost.sklearn.XGBRegressor": _XGBOOST,
    "catboost.core.CatBoostClassifier": _CATBOOST,
    "catboost.core.CatBoostRegressor": _CATBOOST,
}
"""Type of an estimator → parameter → path along that parameter; one estimator alone takes the first that serves it."""

PATCHED_ALIKE = frozenset(
    {
        "sklearn.linear_model.LinearRegression",
        "sklearn.linear_model.Ridge",
        "sklearn.linear_model.LogisticRegression",
        "sklearn.neighbors.KNeighborsClassifier",
        "sklearn.neighbors.KNeighborsRegressor",
    }
)
"""Types whose fits by scikit-learn-intelex give the numbers of scikit-learn's own, so that the same paths serve them.

The others are refitted: its support vectors end elsewhere within their tolerance, its forests grow other trees.
"""

WHOLE_PIPELINES: dict[str, str] = {"sklearn.linear_model.LinearRegression": "linear.least_squares:LeastSquaresPath"}
"""Type of the last step of a pipeline → path along the parameters of the steps before it."""


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

    Single values that a fast path does not accept are refitted, if it accepts the others.

    Without a parameter: the path of the one model that `estimator` is. A pipeline is served whole where a path is for
    such pipelines, otherwise by the path of its last step behind the steps that ignore y.
    """
    values = None if values is None else list(values)
    if truth("fast", fast):
        found = _fast_path(estimator, parameter, values, response, weighted)
        if found is not None:
            return found
        leading, last, prefix = split_pipeline(estimator) if type(estimator) is Pipeline else (None, estimator, "")
        if prefix and (parameter is None or parameter.startswith(prefix)):
            own_name = None if parameter is None else parameter.removeprefix(prefix)
            found = _fast_path(last, own_name, values, response, weighted)
            if found is not None:
                return PipelinePath(estimator, leading, prefix, found)
    if parameter is None or values is None:
        return RefitPath.over(estimator, [{}])
    return RefitPath(estimator, parameter, values)


def _fast_path(
    estimator: BaseEstimator, parameter: str | None, values: list[Any] | None, response: str, weighted: bool
) -> Path | None:
    """The fast path of this estimator over these values; None where it has none, or does not know all that is set."""
    entries = list(_entries(estimator, parameter))
    if not entries or any(map(unknown_settings, _steps_of(estimator))) or (values is None and _is_refused(estimator)):
        return None
    for name, path in entries:
        if response not in path.responses or (weighted and not path.takes_weight):
            continue
        if not path.serves(estimator, alone=parameter is None):
            continue
        # CatBoost lists only those of its parameters that were set.
        own = [estimator.get_params().get(name)] if values is None else values
        accepted = [value for value in own if path.accepts(value)]
        if values is not None and accepted and all(_is_refused(with_params(estimator, {name: v})) for v in accepted):
            return None
        if len(accepted) == len(own):
            return path(estimator, name, own)
        if len(accepted) > 1 and complexity_of(name, own)[1]:
            others = [value for value in own if not path.accepts(value)]
            return MixedPath(path(estimator, name, accepted), RefitPath(estimator, name, others))
    return None


def _is_refused(estimator: BaseEstimator) -> bool:
    """Whether scikit-learn refuses a parameter, which it does before it looks at X and y: it shall say why itself."""
    learners = [step for step in _steps_of(estimator) if type(step) is not Pipeline]
    return any(type(step).__module__.startswith("sklearn.") and _refuses_a_parameter(step) for step in learners)


def _refuses_a_parameter(learner: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clone(learner).fit(None, None)
        except Exception as error:
            return type(error).__name__ == "InvalidParameterError"
    return False


def _steps_of(estimator: Any) -> list[Any]:
    """An estimator, and the steps of one that is a pipeline."""
    return [estimator, *(step for _, step in estimator.steps)] if type(estimator) is Pipeline else [estimator]


def _entries(estimator: BaseEstimator, parameter: str | None) -> Iterator[tuple[str, type[GridPath]]]:
    """(parameter, path) of every fast path listed for this estimator along `parameter`, or along any for None."""
    if type(estimator) is Pipeline:
        yield from _pipeline_entries(estimator, parameter)
        return
    for name, place in FAST_PATHS.get(_name_of_paths(type(estimator)), {}).items():
        if parameter in (None, name):
            yield name, _path_class(place)


def _pipeline_entries(pipeline: Pipeline, parameter: str | None) -> Iterator[tuple[str, type[GridPath]]]:
    """The same for a pipeline as a whole: a parameter of the steps before the last one, or none."""
    *steps, (last_name, last) = pipeline.steps
    place = WHOLE_PIPELINES.get(_name_of_paths(type(last)))
    if place is None or not steps:
        return
    if parameter is None:
        (own,) = FAST_PATHS[_name_of_paths(type(last))]
        yield f"{last_name}__{own}", _path_class(place)
        return
    step, _, inner = parameter.partition("__")
    if inner and step in dict(steps):
        yield parameter, _path_class(place)


def public_name(kind: type) -> str:
    """Where users import a type from, such as "sklearn.tree.DecisionTreeClassifier"; "" if it is not found there.

    That is the module that defines it, up to its first private component. A subclass, which may do anything, has a
    name of its own, also where it borrows the one of its parent.
    """
    public: list[str] = []
    for component in kind.__module__.split("."):
        if component.startswith("_"):
            break
        public.append(component)
    module = ".".join(public)
    exported = getattr(sys.modules.get(module), kind.__name__, None)
    return f"{module}.{kind.__name__}" if exported is kind else ""


def is_patched(kind: type) -> bool:
    """Whether a type comes from scikit-learn-intelex, which puts its own in the place of scikit-learn's."""
    return kind.__module__.split(".")[0] in ("sklearnex", "daal4py")


def kind_of(kind: type) -> str:
    """The `public_name` of a type; of one that scikit-learn-intelex put in its place, the name of scikit-learn's."""
    if not is_patched(kind):
        return public_name(kind)
    rooms = [room for room in kind.__module__.split(".")[1:] if room not in ("sklearn", "preview")]
    return f"sklearn.{rooms[0]}.{kind.__name__}" if rooms else ""


def _name_of_paths(kind: type) -> str:
    """The name under which the tables list the paths of a type; "" for a patched one that is not alike."""
    name = kind_of(kind)
    return "" if is_patched(kind) and name not in PATCHED_ALIKE else name


def _path_class(place: str) -> type[GridPath]:
    """The path that a table names by "module:class"."""
    module, _, name = place.partition(":")
    path: type[GridPath] = getattr(import_module(f"outsample.paths.{module}"), name)
    return path
