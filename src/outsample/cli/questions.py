"""The commands that ask about a model or a procedure: estimate, select, compare, test and audit."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outsample.cli.session import (
    CRITERIA,
    CRITERION,
    GRID,
    LOSS,
    PLOT,
    REPORT,
    RULE,
    Question,
    Session,
    as_json,
    check_outputs,
    messenger,
    tell,
    typed_command,
    with_options_of,
)

if TYPE_CHECKING:
    from outsample.curve.risk_curve import RiskCurve
    from outsample.questions.search import GridSearch


ERRORS = ("in_sample", "optimism", "out_sample", "standard_error", "monte_carlo_error")


@with_options_of(Question)
def estimate(
    question: Question,
    *,
    criterion: CRITERION = "auto",
    loss: LOSS = None,
    report: REPORT = None,
    plot: PLOT = None,
) -> None:
    """How good will this model be on new data?"""
    import outsample
    from outsample.cli.grammar import criterion_of

    check_outputs([question.file], report=report, plot=plot)
    session = Session.of(question)
    found = outsample.estimate(
        session.learner.estimator,
        session.data.X,
        session.data.y,
        criterion=criterion_of(criterion),
        loss=loss,
        sample_weight=session.data.weight,
        **session.options,
    )
    write_report_of(session, found, report, plot)
    tell(session, "estimate", found, {"estimate": found.to_dict()})


@with_options_of(Question)
def select(
    question: Question,
    *,
    grid: GRID = None,
    criterion: CRITERION = "auto",
    rule: RULE = "minimum",
    loss: LOSS = None,
    honest: Annotated[
        str | None, typer.Option(help="Also the error of the whole search: nested, permutation, bootstrap, tibshirani.")
    ] = None,
    store: Annotated[str | None, typer.Option(help="Keep finished work here, to go on after an interruption.")] = None,
    report: REPORT = None,
    plot: PLOT = None,
) -> None:
    """Which model? Choose by the estimated error on new data."""
    from outsample import GridSearch
    from outsample.cli.grammar import criterion_of

    check_outputs([question.file], report=report, plot=plot, store=store)
    session = Session.of(question)
    options = session.options
    groups = options.pop("groups")
    search = GridSearch(
        session.learner.estimator,
        _needed_grid(session, grid),
        criterion=criterion_of(criterion),
        rule=rule,
        loss=loss,
        honest=honest,
        store=store,
        **options,
    )
    search.fit(session.data.X, session.data.y, groups=groups, sample_weight=session.data.weight)
    write_report_of(session, search, report, plot)
    tell(session, "select", search, _choice(session, search))


def _needed_grid(session: Session, grid: list[str] | None) -> dict[str, list[Any]]:
    if not grid:
        raise ValueError("--grid is needed to select from, such as --grid max_leaf_nodes=2:50")
    return session.learner.grid(grid)


def _choice(session: Session, search: GridSearch) -> dict[str, Any]:
    return {
        "best_params": session.learner.short_names(search.best_params_),
        "best_score": search.best_score_,
        "rule": search.rule,
        "estimate": search.estimate_.to_dict(),
        "honest": None if search.honest is None else search.honest_score_.to_dict(),
        "curve": _columns(session, search.curve_),
    }


def _columns(session: Session, curve: RiskCurve) -> dict[str, Any]:
    """The numbers of a curve, one entry per model, simplest first, in the scale of the user's loss."""
    shown = {
        name: values if values is None or name.endswith("error") else curve.loss.reported(values)
        for name in ERRORS
        for values in [getattr(curve, name)]
    }
    params = [session.learner.short_names(setting) for setting in curve.params]
    return {"params": params, "complexity": curve.complexity} | shown


@with_options_of(Question)
def compare(
    question: Question,
    *,
    grid: GRID = None,
    criteria: CRITERIA = "permutation,kfold,holdout,resubstitution",
    rule: RULE = "minimum",
    loss: LOSS = None,
    report: REPORT = None,
    plot: PLOT = None,
) -> None:
    """Which criterion to believe? Several, side by side."""
    import outsample
    from outsample.cli.grammar import criteria_of

    check_outputs([question.file], report=report, plot=plot)
    session = Session.of(question)
    found = outsample.compare(
        session.learner.estimator,
        session.data.X,
        session.data.y,
        param_grid=session.learner.grid(grid) or None,
        criteria=criteria_of(criteria),
        rule=rule,
        loss=loss,
        sample_weight=session.data.weight,
        **session.options,
    )
    curves = {name: _with_short_names(session, curve) for name, curve in found.curves.items()}
    found = replace(found, curves=curves)
    write_report_of(session, found, report, plot)
    said = {
        name: {"params": found.params[name]} | estimate.to_dict() | {"curve": _columns(session, curves[name])}
        for name, estimate in found.estimates.items()
    }
    tell(session, "compare", found, {"rule": rule, "criteria": said})


def _with_short_names(session: Session, curve: RiskCurve) -> RiskCurve:
    return replace(curve, params=[session.learner.short_names(setting) for setting in curve.params])


@with_options_of(Question)
def run_test(
    question: Question,
    *,
    draws: Annotated[int, typer.Option(help="Random permutations.")] = 999,
    folds: Annotated[int | None, typer.Option(help="Folds of left-out rows to judge on; 3 by default.")] = None,
    in_sample: Annotated[
        bool, typer.Option("--in-sample", help="Judge on the rows fitted: faster, but blind for rich models.")
    ] = False,
    statistic: Annotated[str | None, typer.Option(help="A loss or scorer by name; by default the score.")] = None,
    sequential: Annotated[bool, typer.Option("--sequential", help="Stop when the decision is clear.")] = False,
    report: REPORT = None,
    plot: PLOT = None,
) -> None:
    """Is there anything there? A permutation test of the model."""
    import outsample

    check_outputs([question.file], report=report, plot=plot)
    session = Session.of(question)
    if session.data.weight is not None:
        raise ValueError("--weights: a permutation test takes no weights, because labels change places")
    if in_sample and folds is not None:
        raise ValueError("--in-sample and --folds exclude each other: give one of them")
    options = session.options
    options.pop("progress", None)
    found = outsample.permutation_test(
        session.learner.estimator,
        session.data.X,
        session.data.y,
        statistic=statistic,
        n_draws=draws,
        cv="in-sample" if in_sample else folds,
        sequential=sequential,
        **options,
    )
    write_report_of(session, found, report, plot)
    tell(session, "test", found, {"test": found.to_dict()})


def write_picture(result: Any, path: str | None) -> None:
    """Write the picture of a result where a file is named."""
    if path is None:
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5.5), layout="constrained")
    result.plot(ax=figure.subplots())
    figure.savefig(path, dpi=150)


def write_report_of(session: Session, result: Any, path: str | None, picture: str | None = None) -> None:
    """Write the report and the picture of a result where files are named, with the cautions its data call for."""
    write_picture(result, picture)
    if path is None:
        return
    from outsample.view.page import write_report

    write_report(
        result,
        path,
        X=session.data.X,
        y=session.data.y,
        asked=session.facts,
        call=typed_command(),
        grouped=session.data.groups is not None,
    )


SCRIPT = typer.Argument(help="Python file with a function of (X, y) that returns the error it reports.")


def audit(
    script: Annotated[str, SCRIPT],
    file: Annotated[str, typer.Argument(help="CSV (gzipped or not) or Parquet; - is standard input.")],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    function: Annotated[str, typer.Option(help="Name of the function in the script.")] = "procedure",
    draws: Annotated[int, typer.Option(help="Permutations.")] = 20,
    loss: Annotated[str | None, typer.Option(help="Units of the error: zero-one, squared or absolute.")] = None,
    no_information: Annotated[float | None, typer.Option(help="Error of the best constant, for other units.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    groups: Annotated[str | None, typer.Option(help="Column that says which rows belong together.")] = None,
    report: REPORT = None,
    plot: PLOT = None,
    seed: Annotated[int, typer.Option(help="Seed of the permutations.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but the answer.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
) -> None:
    """Is my own procedure honest? It runs on permuted labels."""
    import outsample
    from outsample.cli.files import read_table
    from outsample.cli.preparation import PreparedTable

    check_outputs([script, file], report=report, plot=plot)
    procedure = _function_in(script, function)
    data = PreparedTable.of(read_table(file), target, drop=drop or (), groups=groups, say=messenger(quiet))
    found = outsample.audit(
        _with_its_name(procedure, f"{script}: {function}(X, y)"),
        data.X,
        data.y,
        n_draws=draws,
        random_state=seed,
        loss=loss,
        no_information=no_information,
        groups=data.groups,
    )
    asked = {"file": file, "script": script, "function": function, "target": target, "seed": seed}
    write_picture(found, plot)
    if report is not None:
        from outsample.view.page import write_report

        write_report(found, report, X=data.X, y=data.y, asked=asked, call=typed_command(), grouped=groups is not None)
    answer = {"command": "audit", "version": outsample.__version__, "asked": asked, "audit": found.to_dict()}
    print(as_json(answer) if json else found)


def _with_its_name(procedure: Any, name: str) -> Any:
    """The procedure, whose errors say that they are its own; what cannot be called is left to `audit` to refuse."""
    if not callable(procedure):
        return procedure

    def named(X: Any, y: Any) -> Any:
        try:
            return procedure(X, y)
        except Exception as error:
            raise ValueError(f"{name} failed: {type(error).__name__}: {error}") from error

    return named


def _function_in(script: str, name: str) -> Any:
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
    if not hasattr(module, name):
        raise ValueError(f"{script} has no function {name!r}; write one, or name another with --function")
    return getattr(module, name)
