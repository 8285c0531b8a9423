"""The commands, one per question of the library, in one table: name, function, options.

An option is declared once, under the name that the library has for it, and is handed on by this name.
"""

from __future__ import annotations

import importlib.util
import inspect
import pkgutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from outsample.cli.models import MODELS
from outsample.cli.session import Session, check_outputs

if TYPE_CHECKING:
    import pandas as pd

    from outsample.curve.risk_curve import RiskCurve

ERRORS = ("in_sample", "optimism", "out_sample", "standard_error", "monte_carlo_error")

# Learners that are compared where none are named.
USUAL = {"classification": "tree,knn,forest,boosting,logistic", "regression": "tree,knn,forest,boosting,ridge"}


def estimate(session: Session) -> None:
    """How good will this model be on new data?"""
    import outsample

    found = session.call(outsample.estimate)
    session.tell(found, {"estimate": found.to_dict()})


def select(session: Session) -> None:
    """Which model? Choose by the estimated error on new data."""
    from outsample import GridSearch

    if not session.asked["param_grid"]:
        raise ValueError("--grid is needed to select from, such as --grid max_leaf_nodes=2:50")
    search = session.call(GridSearch, param_grid=session.learner.grid(session.asked["param_grid"]))
    search.fit(session.data.X, session.data.y, groups=session.data.groups, sample_weight=session.data.weight)
    said = {
        "best_params": session.names(search.best_params_),
        "best_score": search.best_score_,
        "rule": search.rule,
        "estimate": search.estimate_.to_dict(),
        "honest": None if search.honest is None else search.honest_score_.to_dict(),
        "curve": _columns(session, search.curve_),
    }
    session.tell(search, said)


def _columns(session: Session, curve: RiskCurve) -> dict[str, Any]:
    """The numbers of a curve, one entry per model, simplest first, in the scale of the user's loss."""
    shown = {
        name: values if values is None or name.endswith("error") else curve.loss.reported(values)
        for name in ERRORS
        for values in [getattr(curve, name)]
    }
    return {"params": [session.names(setting) for setting in curve.params], "complexity": curve.complexity} | shown


def models(session: Session) -> None:
    """Which learner? Several, on the same rows left out."""
    import outsample
    from outsample.cli.models import learners_named

    asked = session.asked
    made = learners_named(asked["models"] or USUAL[session.data.task], session.data, asked["scale"], session.say)
    session.facts["model"] = ",".join(made)
    found = session.call(outsample.compare_models, models={name: learner.estimator for name, learner in made.items()})
    lines = []
    for pair in found.differences().itertuples():
        if found.best in (pair.first, pair.second):
            low, high = pair.interval
            p = f"p = {pair.p_value:.2g}, Holm {pair.p_holm:.2g}"
            lines.append(f"{pair.first} - {pair.second}: {pair.difference:.4g}, {low:.4g} to {high:.4g} ({p})")
    said = {
        "best": found.best,
        "plausible": found.plausible,
        "loss": found.curve.loss.name,
        "estimand": found.curve.estimand,
        "models": found.to_frame().reset_index().to_dict(orient="records"),
        "differences": found.differences().to_dict(orient="records"),
    }
    session.tell(found, said, lines)


def compare(session: Session) -> None:
    """Which criterion to believe? Several, side by side."""
    import outsample

    found = session.call(outsample.compare, param_grid=session.learner.grid(session.asked["param_grid"]) or None)
    found = replace(
        found,
        curves={
            name: replace(curve, params=[session.names(setting) for setting in curve.params])
            for name, curve in found.curves.items()
        },
    )
    criteria = {
        name: {"params": found.params[name]} | e.to_dict() | {"curve": _columns(session, found.curves[name])}
        for name, e in found.estimates.items()
    }
    session.tell(found, {"rule": session.asked["rule"], "criteria": criteria})


def permutation_test(session: Session) -> None:
    """Is there anything there? A permutation test of the model."""
    import outsample

    in_sample = session.asked["in_sample"]
    if session.data.weight is not None:
        raise ValueError("--weights: a permutation test takes no weights, because labels change places")
    if in_sample and session.asked["cv"] is not None:
        raise ValueError("--in-sample and --folds exclude each other: give one of them")
    found = session.call(outsample.permutation_test, cv="in-sample" if in_sample else session.asked["cv"])
    session.tell(found, {"test": found.to_dict()})


def audit(session: Session) -> None:
    """Is my own procedure honest? It runs on permuted labels."""
    import outsample

    asked = session.asked
    session.facts = {name: asked[name] for name in ("file", "script", "function", "target")}
    session.facts["seed"] = asked["random_state"]
    found = session.call(outsample.audit, procedure=_procedure_of(asked["script"], asked["function"]))
    session.tell(found, {"audit": found.to_dict()})


def _procedure_of(script: str, function: str) -> Any:
    """The function in a script, whose errors say that they are its own."""
    path = Path(script)
    if not path.is_file():
        raise ValueError(f"{script}: there is no such file; audit takes a Python file and then the data")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{script} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{script} cannot be run: {type(error).__name__}: {error}") from error
    if not hasattr(module, function):
        raise ValueError(f"{script} has no function {function!r}; write one, or name another with --function")
    procedure = getattr(module, function)

    def named(X: Any, y: Any) -> Any:
        try:
            return procedure(X, y)
        except Exception as error:
            raise ValueError(f"{script}: {function}(X, y) failed: {type(error).__name__}: {error}") from error

    return named if callable(procedure) else procedure


# Options: name in the library → (how it is typed, type, default, help). What has no dashes is an argument; what has the
# default `...` is needed.

TEXT, TEXTS, WHOLE = str | None, list[str] | None, int | None
SCORING = "zero-one, squared, absolute, log, or a scikit-learn scorer; --loss says the same."
OPTIONS: dict[str, tuple[str, Any, Any, str]] = {
    "script": ("", str, ..., "Python file with a function of (X, y) that returns the error it reports."),
    "file": ("", str, ..., "CSV (gzipped or not) or Parquet; - is standard input."),
    "target": ("--target", str, ..., "Column to predict."),
    "model": ("--model", str, "tree", f"{', '.join(MODELS)}, or the dotted path of a class."),
    "models": (
        "--models",
        TEXT,
        None,
        "Learners, separated by commas, as --model has them; by default five.",
    ),
    "set": ("--set", TEXTS, None, "Parameter of the model, name=value."),
    "param_grid": (
        "--grid",
        TEXTS,
        None,
        "Values: name=2:50, name=2:50:4, name=a,b,c, name=0.01..100 (logarithmic).",
    ),
    "criterion": ("--criterion", str, "auto", "How the error is estimated: kfold, loo, …; settings as in kfold:cv=5."),
    "criteria": ("--criteria", str, "permutation,kfold,holdout,resubstitution", "Criteria, separated by commas."),
    "rule": ("--rule", str, "minimum", "minimum, one-standard-error, first-local-minimum, penalized, percentile …"),
    "loss": ("--scoring --loss", TEXT, None, SCORING),
    "scoring": ("--scoring --loss", TEXT, None, SCORING),
    "statistic": ("--scoring --statistic --loss", TEXT, None, SCORING),
    "honest": (
        "--honest",
        TEXT,
        None,
        "Also the error of the search: nested, permutation, bootstrap, tibshirani.",
    ),
    "cv": ("--folds", WHOLE, None, "Folds of left-out rows, the same for all models."),
    "n_draws": ("--draws", int, 999, "Random permutations."),
    "in_sample": ("--in-sample", bool, False, "Judge on the rows fitted: faster, but blind for rich models."),
    "sequential": ("--sequential", bool, False, "Stop when the decision is clear."),
    "function": ("--function", str, "procedure", "Name of the function in the script."),
    "no_information": ("--no-information", float | None, None, "Error of the best constant, in units of your own."),
    "drop": ("--drop", TEXTS, None, "Column to leave out; may be repeated."),
    "groups": ("--groups", TEXT, None, "Column that says which rows belong together."),
    "weights": ("--weights", TEXT, None, "Column with one weight per row."),
    "positive": ("--positive", TEXT, None, "Class to tell from all others."),
    "task": ("--task", TEXT, None, "classification or regression; by default the target decides."),
    "scale": ("--scale", bool, False, "Standardise columns inside the pipeline."),
    "store": ("--store", TEXT, None, "Keep finished work in this file, to go on after an interruption."),
    "report": ("--report", TEXT, None, "Write a report, one HTML file."),
    "plot": ("--plot", TEXT, None, "Write a picture: png, svg or pdf."),
    "random_state": ("--seed", int, 0, "Seed of everything random."),
    "n_jobs": ("--jobs", WHOLE, None, "Workers; the answer does not depend on it."),
    "json": ("--json", bool, False, "Answer in JSON."),
    "quiet": ("--quiet", bool, False, "Say nothing but the answer."),
    "debug": ("--debug", bool, False, "Show where an error arose."),
}
ALWAYS = "drop groups report plot random_state json quiet debug"
DATA = f"weights positive task scale n_jobs {ALWAYS}"
MODEL = f"file target model set {DATA}"

# name → (function, its options, defaults of its own)
COMMANDS: dict[str, tuple[Callable[[Session], None], str, dict[str, Any]]] = {
    "estimate": (estimate, f"criterion loss {MODEL}", {}),
    "select": (select, f"param_grid criterion rule loss honest store {MODEL}", {}),
    "models": (models, f"file target models scoring cv {DATA}", {"cv": 10}),
    "compare": (compare, f"param_grid criteria rule loss {MODEL}", {}),
    "test": (permutation_test, f"n_draws cv in_sample statistic sequential {MODEL}", {}),
    "audit": (audit, f"script file target function n_draws loss no_information {ALWAYS}", {"n_draws": 20}),
}


def add_commands(app: typer.Typer) -> None:
    """All commands, each with its options."""
    for name, (function, options, defaults) in COMMANDS.items():
        app.command(name)(_with_options(name, function, options.split(), defaults))
    for command in (demo, datasets, warmup):
        app.command()(command)
    app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(reproduce)


def _with_options(
    name: str, function: Callable[[Session], None], options: list[str], defaults: dict[str, Any]
) -> Callable[..., None]:
    """A function that typer can read the options off."""

    def command(**asked: Any) -> None:
        function(Session(name, asked))

    made = []
    for option in options:
        flags, kind, default, words = OPTIONS[option]
        default = inspect.Parameter.empty if default is ... else defaults.get(option, default)
        typed = Option(*flags.split(), help=words) if flags else Argument(help=words)
        annotated = Annotated[kind, typed]  # type: ignore[valid-type]
        made.append(inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotated))
    command.__doc__ = function.__doc__
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in made}
    command.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    return command


# What comes with the library.

# name → (function of sklearn.datasets, one line)
DATASETS = {
    "breast-cancer": ("load_breast_cancer", "569 rows, 30 columns, 2 classes"),
    "iris": ("load_iris", "150 rows, 4 columns, 3 classes"),
    "wine": ("load_wine", "178 rows, 13 columns, 3 classes"),
    "digits": ("load_digits", "1797 rows, 64 columns, 10 classes"),
    "diabetes": ("load_diabetes", "442 rows, 10 columns, numbers to predict"),
}


def datasets(
    name: Annotated[str | None, Argument(help="Print this one as CSV; without a name, list them.")] = None,
) -> None:
    """Data sets that need no network, as CSV."""
    if name is None:
        for known, (_, line) in DATASETS.items():
            print(f"{known:15}{line}")
        return
    print(embedded_table(name).to_csv(index=False), end="")


def embedded_table(name: str) -> pd.DataFrame:
    """A data set of scikit-learn; the last column is `target`, with class names in place of their numbers."""
    from sklearn import datasets as known

    from outsample.checks import entry

    function, _ = entry("data set", name, DATASETS)
    found = getattr(known, function)(as_frame=True)
    if name == "digits" or not hasattr(found, "target_names"):
        return found.frame
    return found.frame.assign(target=found.target_names[found.target.to_numpy()])


def reproduce() -> None:
    """Where the studies are: beside the library, in its repository."""
    print("The studies are in the folder `studies` of the repository: from a checkout, python -m studies lists them.")


def warmup() -> None:
    """Compile all kernels at once, for images and CI."""
    from outsample import _kernels

    own = f"{_kernels.__name__}."
    for kernel in pkgutil.walk_packages(_kernels.__path__, own):
        compiled = getattr(import_module(kernel.name), "warmup", None)
        if compiled is not None:
            start = time.perf_counter()
            compiled()
            print(f"{kernel.name.removeprefix(own)}: {time.perf_counter() - start:.1f} s")


def demo(
    report: Annotated[str, Option(help="Where to write the report.", metavar="FILE")] = "outsample-demo.html",
    seed: Annotated[int, Option(help="Seed of everything random.")] = 0,
    debug: Annotated[bool, Option("--debug", help="Show where an error arose.")] = False,
) -> None:
    """The swap on three embedded tables, against rows held out; writes a report."""
    import numpy as np
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV, train_test_split
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from outsample import GridSearch, evaluate
    from outsample.curve.error_estimate import interval_of
    from outsample.view.content import expected_of
    from outsample.view.page import write_report

    check_outputs([], {"report": report})
    started = time.perf_counter()
    # Searches that need no kernel that is compiled at first use.
    jobs: dict[str, tuple[Any, dict[str, Any], str, str]] = {
        "breast-cancer": (GaussianNB(), {"var_smoothing": np.logspace(-12, 0, 40)}, "accuracy", "naive Bayes"),
        "digits": (
            LinearDiscriminantAnalysis(solver="lsqr"),
            {"shrinkage": np.logspace(-4, 0, 25)},
            "accuracy",
            "discriminant analysis",
        ),
        "diabetes": (
            make_pipeline(StandardScaler(), Ridge()),
            {"ridge__alpha": np.logspace(-2, 4, 60)},
            "r2",
            "scaler and ridge",
        ),
    }
    # A first search, so that none of those that are timed waits for modules to be loaded.
    GridSearch(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}).fit(np.arange(80.0).reshape(40, 2) % 7, np.arange(40) % 2)
    print("A third of the rows of each table is held out; both searches see the others and the same grid.\n")
    print(f"{'':36}{'GridSearchCV(cv=5)':>26}{'GridSearch, the swap':>26}")
    print(f"{'table, model':36}" + 2 * f"{'held out':>10}{'fits':>7}{'seconds':>9}")
    expected = []
    for name, (model, grid, scoring, words) in jobs.items():
        frame = embedded_table(name)
        X, y = frame.drop(columns="target").to_numpy(np.float64), frame["target"].to_numpy()
        stratify = None if scoring == "r2" else y
        X, X_new, y, y_new = train_test_split(X, y, test_size=1 / 3, stratify=stratify, random_state=seed)
        ours = GridSearch(model, grid, scoring=scoring, random_state=seed)
        cells = []
        for search in (GridSearchCV(model, grid, scoring=scoring), ours):
            start = time.perf_counter()
            search.fit(X, y)
            seconds = time.perf_counter() - start
            fits = ours.n_fits_ if search is ours else search.n_splits_ * len(search.cv_results_["params"])
            cells.append(f"{search.score(X_new, y_new):>10.3f}{fits + 1:>7}{seconds:>9.2f}")
        print(f"{name}, {words}, {len(ours.curve_)} settings\n{'':36}{''.join(cells)}")
        said = []
        for known in (expected_of(ours), evaluate(ours.best_estimator_, X_new, y_new, loss=scoring)):
            ends = interval_of(known)
            bar = "" if ends is None else f" ({ends[0]:.3f} to {ends[1]:.3f})"
            said.append(f"{known.loss} {known.out_sample:.3f}{bar}")
        expected.append(f"  {name:15}{said[0]}; these rows gave {said[1]}")
    print("\nWhat GridSearch expected on new rows, and what those held out gave, with 95 % intervals:")
    print("\n".join(expected))
    write_report(ours, report, asked={"data": name, "rows held out": "a third", "seed": seed})
    print("\nIn your script: from outsample import GridSearch, in place of GridSearchCV.")
    print(f"Report: {Path(report).resolve().as_uri()}\n{time.perf_counter() - started:.0f} seconds in all.")
