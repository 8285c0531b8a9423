"""What commands share: options, the session with its data and learner, standard streams, and how answers are told."""

from __future__ import annotations

import codecs
import inspect
import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from outsample.checks import page_path

if TYPE_CHECKING:
    from outsample.cli.models import Learner
    from outsample.cli.preparation import PreparedTable, Say

SPELLINGS = ("+-", "-", "-", "-", "...", "->", "^2", "*", "x", "<=", ">=", '"', '"')
IN_ASCII = dict(zip("±−–—…→²·×≤≥“”", SPELLINGS, strict=True))


def prepare_streams() -> None:
    """Replace closed streams by the null device; characters that a stream cannot encode are spelled in ASCII."""
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        if getattr(sys, name) is None:
            setattr(sys, name, _null_device(number, mode))
    codecs.register_error("outsample.ascii", _ascii_spelling)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="outsample.ascii")


def _null_device(number: int, mode: str) -> Any:
    """The null device as descriptor `number`: a file opened later must not get the number of a standard stream."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.set_inheritable(number, True)
    return open(number, mode, encoding="utf-8")


def _ascii_spelling(error: UnicodeError) -> tuple[str, int]:
    """Error handler of a codec: characters it cannot encode, spelled in ASCII or, without a spelling, escaped."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(IN_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text), error.end


def writes_every_character() -> bool:
    """Whether standard output can encode all of Unicode."""
    return codecs.lookup(sys.stdout.encoding or "ascii").name.startswith("utf")


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
RULE = Annotated[str, typer.Option(help="minimum, one-standard-error, first-local-minimum, penalized, percentile …")]
LOSS = Annotated[str | None, typer.Option(help="zero-one, squared, absolute, log, or a scikit-learn scorer.")]
PICTURES = (".png", ".svg", ".pdf")
PLOT = Annotated[str | None, typer.Option(help="Write a picture: png, svg or pdf.", metavar="FILE")]
REPORT = Annotated[str | None, typer.Option(help="Write a report, one HTML file.", metavar="FILE")]


def with_options_of(record: type, without: tuple[str, ...] = ()) -> Callable[[Command], Command]:
    """Decorator of a command whose first parameter is a record: the record's fields become its options.

    Fields named in `without` keep their defaults.
    """

    def decorate(function: Command) -> Command:
        own = dict(list(inspect.signature(function, eval_str=True).parameters.items())[1:])
        shared = {name: option for name, option in _parameters(record).items() if name not in without}

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


@dataclass(frozen=True, eq=False)
class Session:
    """A question with its data read and its learner made."""

    question: Question
    data: PreparedTable
    learner: Learner

    @classmethod
    def of(cls, question: Question) -> Session:
        """Read the file, divide the table into inputs and target, and make the learner."""
        from outsample.cli.models import learner_for

        data, say = prepared_data(question), messenger(question.quiet)
        learner = learner_for(question.model, data, scale=question.scale, say=say).with_settings(question.set)
        return cls(question, data, learner)

    @property
    def options(self) -> dict[str, Any]:
        """Arguments that the functions of the library take under the same names."""
        asked = self.question
        more: dict[str, Any] = {"groups": self.data.groups, "n_jobs": asked.jobs, "random_state": asked.seed}
        if asked.quiet:
            from outsample.running.progress import silent

            more["progress"] = silent
        return more

    @property
    def facts(self) -> dict[str, Any]:
        """What was asked, in plain values with stable names."""
        asked = self.question
        return {
            "file": asked.file,
            "rows": len(self.data.y),
            "columns": self.data.X.shape[1],
            "target": self.data.target,
            "task": self.data.task,
            "model": asked.model,
            "seed": asked.seed,
        }


def prepared_data(question: Question) -> PreparedTable:
    """The file as inputs, target, groups and weights."""
    from outsample.cli.files import read_table
    from outsample.cli.preparation import PreparedTable

    return PreparedTable.of(
        read_table(question.file),
        question.target,
        drop=question.drop or (),
        groups=question.groups,
        weights=question.weights,
        positive=question.positive,
        task=question.task,
        say=messenger(question.quiet),
    )


def messenger(quiet: bool) -> Say:
    """A function that prints a sentence on standard error, or nothing."""

    def say(sentence: str) -> None:
        if not quiet:
            print(f"outsample: {sentence}", file=sys.stderr)

    return say


def tell(session: Session, command: str, result: Any, answer: Mapping[str, Any], more: Sequence[str] = ()) -> None:
    """Print the answer, as text with `more` lines below, or as JSON."""
    if session.question.json:
        from outsample import __version__

        print(as_json({"command": command, "version": __version__, "asked": session.facts} | dict(answer)))
    else:
        from outsample.view.content import in_terminal

        print("\n".join([in_terminal(result), *more]))


def as_json(values: object) -> str:
    """Strict JSON; numbers that JSON cannot write are null."""
    return json.dumps(_plain(values), indent=2, ensure_ascii=not writes_every_character(), allow_nan=False)


def _plain(value: object) -> object:
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def typed_command() -> str:
    """The command as it was typed, quoted for a shell."""
    return shlex.join(["outsample", *sys.argv[1:]])


def check_outputs(inputs: Sequence[str], **outputs: str | None) -> None:
    """Raise ValueError for outputs that cannot be written, or that are an input or one another, before any work.

    Parameters
    ----------
    inputs : files that are read; "-" is standard input.
    outputs : option → the file it names, None where it is not given.
    """
    files = {f"--{name}": path for name, path in outputs.items() if path is not None}
    for option, path in files.items():
        folder = Path(path).absolute().parent
        if not folder.is_dir():
            raise ValueError(f"{option} {path}: there is no folder {folder}")
        if Path(path).is_dir():
            raise ValueError(f"{option} {path}: this is a folder; name a file")
        if any(_are_one_file(read, written) for read in inputs for written in _written(option, path)):
            raise ValueError(f"{option} {path}: this file is read, and would be overwritten; name another one")
    for (option, path), (other, second) in combinations(files.items(), 2):
        if any(_are_one_file(one, two) for one in _written(option, path) for two in _written(other, second)):
            raise ValueError(f"{option} {path} and {other} {second} are the same file; name two")
    plot, report = outputs.get("plot"), outputs.get("report")
    if plot is not None and Path(plot).suffix.lower() not in PICTURES:
        raise ValueError(f"--plot {plot}: the name of a picture ends in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}")
    if report is not None:
        page_path("--report", report)


def _written(option: str, path: str) -> list[str]:
    """The files that an option writes: SQLite keeps up to three beside a store."""
    return [path, *(f"{path}-{end}" for end in ("wal", "shm", "journal") if option == "--store")]


def _are_one_file(first: str, second: str) -> bool:
    """Whether two paths lead to one file, by links of any kind; a file that is not there yet is where its path ends."""
    try:
        return os.path.samefile(0 if first == "-" else first, second)
    except OSError:
        return first != "-" and os.path.realpath(first) == os.path.realpath(second)
