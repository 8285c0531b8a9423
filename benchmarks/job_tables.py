"""The twelve jobs: where the table comes from, the model, the grid and the score."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier


class MissingError(Exception):
    """The table of a job is not there."""


@dataclass(frozen=True)
class Job:
    """A table, a model, a grid and a score.

    Attributes
    ----------
    load : gives X and y.
    model : gives the estimator, new at every call.
    grid : as GridSearchCV takes it.
    specialist : name of the function in `job_specialists` that knows a faster way, None where there is none.
    """

    name: str
    title: str
    what: str
    load: Callable[[], tuple[Any, Any]]
    model: Callable[[], Any]
    grid: Any
    scoring: str
    specialists: tuple[str, ...] = ()

    @property
    def classification(self) -> bool:
        """Whether y are classes."""
        return self.scoring != "r2"

    @property
    def n_settings(self) -> int:
        """Candidates of the grid."""
        return len(ParameterGrid(self.grid))


def folder() -> Path:
    """Where the tables are: OUTSAMPLE_DATA, or shared/data beside the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("OUTSAMPLE_DATA", beside))


def read(name: str, **options: Any) -> pd.DataFrame:
    """A table of the folder."""
    path = folder() / name
    if not path.exists():
        raise MissingError(f"{name} is not in OUTSAMPLE_DATA")
    return pd.read_csv(path, **options)


def suite(name: str, kind: str = "classification") -> Callable[[], tuple[Any, Any]]:
    """A table of the suite, as numbers."""

    @cache
    def load() -> tuple[Any, Any]:
        frame = read(f"suite/{kind}/{name}.csv")
        return frame.drop(columns="target").to_numpy(np.float64), frame["target"].to_numpy()

    return load


@cache
def titanic() -> tuple[Any, Any]:
    """Passengers; columns that tell the outcome or repeat others are left out."""
    frame = read("messy/titanic.csv")
    columns = ["pclass", "sex", "age", "sibsp", "parch", "fare", "embarked", "deck"]
    return frame[columns], frame["survived"].to_numpy()


@cache
def telco() -> tuple[Any, Any]:
    """Customers as numbers: words one-hot, as LightGBM's users often have them."""
    frame = read("messy/telco.csv", encoding="utf-8-sig", na_values=[" "])
    y = (frame["Churn"] == "Yes").to_numpy(np.int64)
    X = frame.drop(columns=["customerID", "Churn", "Country", "City", "ZipCode"], errors="ignore")
    return pd.get_dummies(X, dtype=float).to_numpy(np.float64), y


@cache
def adult() -> tuple[Any, Any]:
    """Five thousand rows of the census."""
    X, y = suite("adult")()
    rows = np.random.default_rng(0).permutation(len(y))[:5000]
    return X[rows], y[rows]


@cache
def ames() -> tuple[Any, Any]:
    """Houses as they were published; prices in thousands."""
    frame = read("messy/ames.csv", encoding="utf-8-sig")
    return frame.drop(columns=["Order", "PID", "SalePrice"]), frame["SalePrice"].to_numpy() / 1000


def plain(name: str) -> Callable[[], tuple[Any, Any]]:
    """A table of numbers whose last column is the target."""

    @cache
    def load() -> tuple[Any, Any]:
        frame = read(f"{name}.csv")
        return frame.iloc[:, :-1].to_numpy(np.float64), pd.factorize(frame.iloc[:, -1])[0]

    return load


PACKAGES = ("sklearn", "scipy", "numpy", "pandas")


@cache
def docstrings() -> tuple[Any, Any]:
    """First paragraphs of docstrings; which package is each from? Real text that every user has."""
    texts: dict[str, str] = {}
    for package in PACKAGES:
        for module in MODULES[package]:
            for name, value in vars(import_module(module)).items():
                words = inspect.getdoc(value) if not name.startswith("_") and callable(value) else None
                if words and getattr(value, "__module__", "") and str(value.__module__).startswith(package):
                    texts.setdefault(" ".join(words.split("Parameters\n")[0].split())[:600], package)
    listed = sorted(texts)
    return np.array(listed, dtype=object), np.array([PACKAGES.index(texts[text]) for text in listed])


MODULES = {
    "sklearn": (
        *("sklearn.cluster", "sklearn.datasets", "sklearn.decomposition", "sklearn.ensemble", "sklearn.linear_model"),
        *("sklearn.metrics", "sklearn.model_selection", "sklearn.preprocessing", "sklearn.utils", "sklearn.svm"),
        *("sklearn.neighbors", "sklearn.manifold", "sklearn.feature_selection", "sklearn.covariance", "sklearn.tree"),
    ),
    "scipy": (
        *("scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.stats", "scipy.sparse", "scipy.special"),
        *("scipy.integrate", "scipy.interpolate", "scipy.ndimage", "scipy.fft", "scipy.spatial"),
    ),
    "numpy": ("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma", "numpy.polynomial", "numpy.testing"),
    "pandas": ("pandas", "pandas.api.types", "pandas.tseries.offsets", "pandas.errors"),
}


def _encoded(*after: Any) -> Any:
    """Numbers completed, words one-hot, then the steps that follow."""
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    numbers = SimpleImputer(strategy="median")
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )
    return Pipeline([("columns", columns), *after])


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)


def _chain(*steps: Any) -> Callable[[], Any]:
    return lambda: make_pipeline(*steps)


JOBS = [
    Job(
        "forest",
        "ColumnTransformer + forest, 27 settings, AUC",
        "Titanic, 891 passengers, words and missing values",
        titanic,
        lambda: _encoded(("forest", RandomForestClassifier(100, random_state=0))),
        {
            "forest__max_features": ["sqrt", 0.5, 1.0],
            "forest__min_samples_leaf": [1, 3, 10],
            "forest__max_depth": [4, 8, None],
        },
        "roc_auc",
        ("ranger",),
    ),
    Job(
        "lightgbm",
        "LightGBM, 24 settings, AUC",
        "Telco customers, 7043 rows",
        telco,
        _lightgbm,
        {"n_estimators": [25, 50, 100, 200], "num_leaves": [7, 15, 31], "learning_rate": [0.05, 0.15]},
        "roc_auc",
        ("lgb.cv",),
    ),
    Job(
        "hist",
        "HistGradientBoosting, 27 settings",
        "Adult, 5000 rows",
        adult,
        lambda: HistGradientBoostingClassifier(early_stopping=False, random_state=0),
        {"max_iter": [25, 50, 100], "max_leaf_nodes": [7, 15, 31], "learning_rate": [0.05, 0.1, 0.2]},
        "accuracy",
    ),
    Job(
        "svc",
        "SVC behind a scaler, 9 × 9 settings",
        "German credit, 1000 rows, 58 columns",
        suite("credit_g"),
        _chain(StandardScaler(), SVC()),
        {"svc__C": np.logspace(-2, 3, 9), "svc__gamma": np.logspace(-4, 0, 9)},
        "accuracy",
        ("intelex",),
    ),
    Job(
        "logistic",
        "Logistic regression, C × penalty, 24 settings",
        "Spam, 4601 rows, 57 columns, standardised",
        plain("spambase"),
        _chain(StandardScaler(), LogisticRegression(solver="liblinear")),
        {"logisticregression__C": np.logspace(-3, 2, 12), "logisticregression__l1_ratio": [0.0, 1.0]},
        "accuracy",
        ("LogisticRegressionCV", "intelex"),
    ),
    Job(
        "knn",
        "k-NN behind a scaler, 30 values",
        "Phonemes, 5404 rows, 5 columns",
        suite("phoneme"),
        _chain(StandardScaler(), KNeighborsClassifier()),
        {"kneighborsclassifier__n_neighbors": list(range(1, 31))},
        "accuracy",
        ("FAISS", "intelex"),
    ),
    Job(
        "tree",
        "Tree, 49 sizes, AUC",
        "Spam, 4601 rows, 57 columns",
        plain("spambase"),
        lambda: DecisionTreeClassifier(random_state=0),
        {"max_leaf_nodes": list(range(2, 51))},
        "roc_auc",
        ("rpart",),
    ),
    Job(
        "ridge",
        "StandardScaler + ridge, 50 values, r2",
        "Computer activity, 8192 rows, 21 columns",
        suite("cpu_act", "regression"),
        _chain(StandardScaler(), Ridge()),
        {"ridge__alpha": np.logspace(-3, 4, 50)},
        "r2",
        ("RidgeCV", "cvmatrix", "intelex"),
    ),
    Job(
        "lasso",
        "Lasso behind one-hot, 30 values, r2",
        "Houses of Ames, 2930 rows, 79 columns as published",
        ames,
        lambda: _encoded(("scale", StandardScaler()), ("lasso", Lasso(max_iter=2000))),
        {"lasso__alpha": np.logspace(-1, 1.5, 30)},
        "r2",
        ("LassoCV",),
    ),
    Job(
        "mlp",
        "Neural network behind a scaler, 6 settings",
        "Breast cancer, 569 rows",
        lambda: load_breast_cancer(return_X_y=True),
        _chain(StandardScaler(), MLPClassifier((50,), max_iter=200, random_state=0)),
        {"mlpclassifier__alpha": np.logspace(-5, 1, 6)},
        "accuracy",
    ),
    Job(
        "text",
        "Text: tf-idf + linear SVM or naive Bayes, 24 settings",
        "First paragraphs of docstrings: which of four packages?",
        docstrings,
        lambda: Pipeline([("words", TfidfVectorizer(sublinear_tf=True)), ("model", LinearSVC())]),
        [
            {"model": [LinearSVC()], "model__C": np.logspace(-2, 2, 12)},
            {"model": [MultinomialNB()], "model__alpha": np.logspace(-3, 1, 12)},
        ],
        "accuracy",
    ),
    Job(
        "mixed",
        "Tree | k-NN | forest in one grid, 28 settings",
        "Phonemes, 5404 rows, 5 columns",
        suite("phoneme"),
        lambda: Pipeline([("scale", StandardScaler()), ("model", DecisionTreeClassifier())]),
        [
            {"model": [DecisionTreeClassifier(random_state=0)], "model__max_leaf_nodes": [2, 4, 8, 12, 16, 24, 32, 48]},
            {"model": [KNeighborsClassifier()], "model__n_neighbors": [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30]},
            {
                "model": [RandomForestClassifier(100, random_state=0)],
                "model__max_features": [1, 2, 3, 5],
                "model__min_samples_leaf": [1, 5],
            },
        ],
        "accuracy",
    ),
]
