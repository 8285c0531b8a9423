"""The command models: which learner?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outsample.cli.questions import write_report_of
from outsample.cli.session import (
    PLOT,
    REPORT,
    Question,
    Session,
    check_outputs,
    messenger,
    prepared_data,
    tell,
    with_options_of,
)

if TYPE_CHECKING:
    from outsample.cli.models import Learner
    from outsample.cli.preparation import PreparedTable, Say
    from outsample.questions.compare_models import ModelComparison

# Learners that are compared where none are named.
USUAL = {"classification": "tree,knn,forest,boosting,logistic", "regression": "tree,knn,forest,boosting,ridge"}


@with_options_of(Question, without=("model", "set"))
def models(
    question: Question,
    *,
    models: Annotated[
        str | None,
        typer.Option(
            help="Learners, separated by commas, as in --model of other commands; by default tree, knn, forest, "
            "boosting, and logistic for classes or ridge for numbers."
        ),
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option("--scoring", "--loss", help="zero-one, squared, absolute, log, or a scikit-learn scorer."),
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds of left-out rows, the same for all learners.")] = 10,
    report: REPORT = None,
    plot: PLOT = None,
) -> None:
    """Which learner? Several, on the same rows left out."""
    import outsample

    check_outputs([question.file], report=report, plot=plot)
    data = prepared_data(question)
    made = learners_named(models or USUAL[data.task], data, question.scale, messenger(question.quiet))
    session = Session(replace(question, model=",".join(made)), data, next(iter(made.values())))
    found = outsample.compare_models(
        {name: learner.estimator for name, learner in made.items()},
        data.X,
        data.y,
        scoring=scoring,
        cv=folds,
        sample_weight=data.weight,
        **session.options,
    )
    write_report_of(session, found, report, plot)
    tell(session, "models", found, _answer(found), more=_differences(found))


def learners_named(models: str, data: PreparedTable, scale: bool, say: Say) -> dict[str, Learner]:
    """Learners by name, each in the pipeline that this table needs; those that mind units get standardised columns."""
    from outsample.cli.models import MINDS_UNITS, learner_for

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


def _differences(found: ModelComparison) -> list[str]:
    """How each other learner differs from the best one, a line each."""
    lines = []
    for pair in found.differences().itertuples():
        if found.best in (pair.first, pair.second):
            low, high = pair.interval
            p = f"p = {pair.p_value:.2g}, Holm {pair.p_holm:.2g}"
            lines.append(f"{pair.first} - {pair.second}: {pair.difference:.4g}, {low:.4g} to {high:.4g} ({p})")
    return lines


def _answer(found: ModelComparison) -> dict[str, Any]:
    frame = found.to_frame().reset_index()
    return {
        "best": found.best,
        "plausible": found.plausible,
        "loss": found.curve.loss.name,
        "estimand": found.curve.estimand,
        "models": frame.to_dict(orient="records"),
        "differences": found.differences().to_dict(orient="records"),
    }
