"""Models by short name or dotted path, in a pipeline that encodes and completes the columns of a table."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from outsample.checks import entry, parameter_of
from outsample.cli.grammar import MOST_VALUES, named_values, value_of, values_of

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from outsample.cli.tables import PreparedTable, Say

MOST_LEVELS = 50
SPREADS_APART = 10.0

# short name → dotted paths of the classifier and the regressor; of one only where the model has no other kind.
MODELS = {
    "tree": "tree.DecisionTreeClassifier tree.DecisionTreeRegressor",
    "knn": "neighbors.KNeighborsClassifier neighbors.KNeighborsRegressor",
    "linear": "- linear_model.LinearRegression",
    "polynomial": "- linear_model.LinearRegression",
    "ridge": "linear_model.RidgeClassifier linear_model.Ridge",
    "lasso": "- linear_model.Lasso",
    "elastic-net": "- linear_model.ElasticNet",
    "logistic": "linear_model.LogisticRegression -",
    "svm": "svm.SVC svm.SVR",
    "linear-svm": "svm.LinearSVC svm.LinearSVR",
    "forest": "ensemble.RandomForestClassifier ensemble.RandomForestRegressor",
    "extra-trees": "ensemble.ExtraTreesClassifier ensemble.ExtraTreesRegressor",
    "bagging": "ensemble.BaggingClassifier ensemble.BaggingRegressor",
    "boosting": "ensemble.GradientBoostingClassifier ensemble.GradientBoostingRegressor",
    "hist-boosting": "ensemble.HistGradientBoostingClassifier ensemble.HistGradientBoostingRegressor",
    "adaboost": "ensemble.AdaBoostClassifier ensemble.AdaBoostRegressor",
    "kernel-ridge": "- kernel_ridge.KernelRidge",
    "pls": "- cross_decomposition.PLSRegression",
    "naive-bayes": "naive_bayes.GaussianNB -",
    "discriminant": "discriminant_analysis.LinearDiscriminantAnalysis -",
    "network": "neural_network.MLPClassifier neural_network.MLPRegressor",
    "constant": "dummy.DummyClassifier dummy.DummyRegressor",
}

# Models whose answer depends on the units of the columns.
MINDS_UNITS = ("knn", "ridge", "lasso", "elastic-net", "logistic", "svm", "linear-svm", "kernel-ridge", "network")


@dataclass(frozen=True, eq=False)
class Learner:
    """An estimator, and short names of its parameters for a user who does not see the pipeline around it.

    Attributes
    ----------
    estimator : the model; in a pipeline, where columns must be encoded, completed or standardised first.
    names : short parameter name → name in the estimator.
    label : what the user called the model.
    """

    estimator: BaseEstimator
    names: Mapping[str, str]
    label: str

    def with_settings(self, pairs: Iterable[str] | None) -> Learner:
        """The learner with --set name=value pairs."""
        given = {self._full(name): value for name, value in named_values(pairs, "--set", value_of).items()}
        return replace(self, estimator=self.estimator.set_params(**given))

    def grid(self, pairs: Iterable[str] | None) -> dict[str, list[Any]]:
        """--grid name=values pairs as scikit-learn's param_grid."""
        grid = {self._full(name): values for name, values in named_values(pairs, "--grid", values_of).items()}
        candidates = math.prod(map(len, grid.values()))
        if candidates > MOST_VALUES:
            raise ValueError(f"--grid has {candidates} candidates in all; at most {MOST_VALUES} are tried")
        return grid

    def short_names(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """A setting under the names the user knows."""
        short = {full: name for name, full in self.names.items()}
        return {short.get(name, name): value for name, value in setting.items()}

    def _full(self, name: str) -> str:
        if name in self.names:
            return self.names[name]
        if name in self.estimator.get_params():
            return name
        return parameter_of(f"model {self.label!r}", name, self.names, few=0)


def learner_for(model: str, data: PreparedTable, *, scale: bool = False, say: Say = print, whose: str = "") -> Learner:
    """The model in a pipeline that encodes, completes and, if asked, standardises the columns of this table.

    `whose` tells its pipeline from those of other models in what is said.
    """
    from sklearn.pipeline import Pipeline

    steps = _preparation(data, say)
    if scale:
        steps.append(("scale", _instance("sklearn.preprocessing.StandardScaler")))
        say(f"columns are standardised inside the pipeline{whose}")
    elif model in MINDS_UNITS:
        spreads = data.X.drop(columns=list(data.categorical)).std()
        spreads = spreads[spreads > 0]
        if len(spreads) > 1 and spreads.max() > SPREADS_APART * spreads.min():
            say(
                "columns have very different spreads, which this model minds; --scale standardises them in the pipeline"
            )
    own = [("model", _instance(_class_path(model, data.task)))]
    if model == "polynomial":
        own.insert(0, ("polynomial", _instance("sklearn.preprocessing.PolynomialFeatures")))
    alone = len(steps) + len(own) == 1
    names = {name: name if alone else f"{step}__{name}" for step, estimator in own for name in estimator.get_params()}
    return Learner(own[0][1] if alone else Pipeline([*steps, *own]), names, model)


def learners_named(models: str, data: PreparedTable, scale: bool, say: Say) -> dict[str, Learner]:
    """Learners by name, each in the pipeline that this table needs; those that mind units get standardised columns."""
    names = [name.strip() for name in models.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"--models must name different learners, separated by commas, got {models!r}")
    said: list[str] = []
    made = {
        name: learner_for(name, data, scale=scale or name in MINDS_UNITS, say=said.append, whose=f" of {name}")
        for name in names
    }
    for sentence in dict.fromkeys(said):
        say(sentence)
    return made


def _class_path(model: str, task: str) -> str:
    if "." in model:
        return model
    kind = int(task == "regression")
    path = entry("model", model, MODELS, instead=" or the dotted path of a class").split()[kind]
    if path == "-":
        able = [name for name, paths in MODELS.items() if paths.split()[kind] != "-"]
        raise ValueError(f"model {model!r} does not do {task}; use one of {', '.join(able)}")
    return f"sklearn.{path}"


def _instance(path: str) -> Any:
    """An object of the class at a dotted path, with its defaults."""
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except ImportError:
        raise ValueError(f"model {path!r}: there is no module {module!r} to import it from") from None
    except AttributeError:
        raise ValueError(f"model {path!r}: module {module!r} has no {name!r}") from None
    if not inspect.isclass(found) or not hasattr(found, "fit") or not hasattr(found, "get_params"):
        raise ValueError(f"model {path!r} is not a class that follows scikit-learn's conventions")
    try:
        return found()
    except TypeError as error:
        raise ValueError(f"model {path!r} cannot be made with its defaults: {error}") from None


def _preparation(data: PreparedTable, say: Say) -> list[tuple[str, Any]]:
    """Encoding of categories and completion of numbers, learned from the rows a model is fitted to and no others."""
    if not data.categorical and not data.incomplete:
        return []
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    transformers: list[tuple[str, Any, list[str]]] = []
    if data.incomplete:
        transformers.append(("complete", SimpleImputer(strategy="median"), list(data.incomplete)))
        say(f"missing values become the column's median, inside the pipeline: {', '.join(data.incomplete)}")
    if data.categorical:
        encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_LEVELS, sparse_output=False)
        transformers.append(("encode", encoder, list(data.categorical)))
        say(
            "categories become one column each, a missing value being one of them, inside the pipeline: "
            + ", ".join(data.categorical)
        )
    return [("prepare", ColumnTransformer(transformers, remainder="passthrough"))]
