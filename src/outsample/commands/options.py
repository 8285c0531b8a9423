"""Options that several commands share, as records whose fields are the options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, get_type_hints

import typer

Command = Callable[..., Any]


@dataclass(frozen=True)
class Question:
    """The data and the model a command is about."""

    file: Annotated[str, typer.Argument(help="CSV (gzipped or not) or Parquet; - is standard input.", metavar="FILE")]
    target: Annotated[str, typer.Option(help="Column to predict.")]
    model: Annotated[
        str,
        typer.Option(
            help="tree, knn, linear, polynomial, ridge, lasso, elastic-net, logistic, svm, linear-svm, forest, "
            "extra-trees, bagging, boosting, hist-boosting, adaboost, kernel-ridge, pls, naive-bayes, discriminant, "
            "network, constant, or the dotted path of a class."
        ),
    ] = "tree"
    set: Annotated[list[str] | None, typer.Option("--set", help="Parameter of the model, name=value.")] = None
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None
    groups: Annotated[str | None, typer.Option(help="Column that says which rows belong together.")] = None
    weights: Annotated[str | None, typer.Option(help="Column with one weight per row.")] = None
    positive: Annotated[str | None, typer.Option(help="Class to tell from all others.")] = None
    task: Annotated[str | None, typer.Option(help="classification or regression; by default the target decides.")] = (
        None
    )
    scale: Annotated[bool, typer.Option("--scale", help="Standardise columns inside the pipeline.")] = False
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0
    jobs: Annotated[int | None, typer.Option(help="Workers; the answer does not depend on it.")] = None
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but the answer.")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False


CRITERION = Annotated[
    str, typer.Option(help="How the error is estimated: permutation, kfold, loo, 632+, …; settings as in kfold:cv=5.")
]
CRITERIA = Annotated[str, typer.Option(help="Criteria, separated by commas.")]
GRID = Annotated[
    list[str] | None,
    typer.Option(help="Values of a parameter: name=2:50, name=2:50:4, name=a,b,c or name=0.01..100 (logarithmic)."),
]
RULE = Annotated[str, typer.Option(help="minimum, one-standard-error, first-local-minimum or penalized.")]
LOSS = Annotated[str | None, typer.Option(help="zero-one, squared, absolute, log, or a scikit-learn scorer.")]
REPORT = Annotated[str | None, typer.Option(help="Write a report, one HTML file.", metavar="FILE")]


def taking(record: type) -> Callable[[Command], Command]:
    """A command whose first parameter is a record: its fields become options of the command line."""

    def decorate(function: Command) -> Command:
        own = dict(list(inspect.signature(function, eval_str=True).parameters.items())[1:])
        shared = _parameters(record)

        def command(**given: Any) -> Any:
            question = record(**{name: given[name] for name in shared})
            return function(question, **{name: given[name] for name in own})

        required = [p for p in shared.values() if p.default is inspect.Parameter.empty]
        optional = [p for p in shared.values() if p.default is not inspect.Parameter.empty]
        ordered = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*required, *own.values(), *optional)]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__annotations__ = {p.name: p.annotation for p in ordered}
        command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        return command

    return decorate


def _parameters(record: type) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(record, include_extras=True)
    return {
        f.name: inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=hints[f.name],
        )
        for f in fields(record)
    }
