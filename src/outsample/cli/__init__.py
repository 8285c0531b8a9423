"""The command line: one command per question of the library. Nothing heavy is imported before a command runs.

Exit codes: 0 done, 1 something unexpected, 2 bad input (said in one sentence), 130 interrupted, 141 reader went away,
143 terminated.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from types import FrameType
from typing import Annotated, Any

import typer

from outsample.cli import catalogue, learners, questions
from outsample.cli.session import prepare_streams

DONE, UNEXPECTED, BAD_INPUT, READER_GONE = 0, 1, 2, 141
STOPPED: dict[int, tuple[str, int]] = {signal.SIGINT: ("interrupted", 130), signal.SIGTERM: ("terminated", 143)}

EPILOG = (
    "Exit codes: 0 done, 1 something unexpected, 2 bad input (one sentence on standard error; --debug shows where it "
    "arose), 130 interrupted, 141 the reader of the output went away, 143 terminated."
)

app = typer.Typer(
    name="outsample",
    help="How good will this model be on new data, and which model should I pick?",
    epilog=EPILOG,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from outsample import __version__

        print(f"outsample {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _outsample(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


for command in (questions.estimate, questions.select, learners.models, questions.compare):
    app.command()(command)
app.command("test")(questions.run_test)
for command in (questions.audit, catalogue.demo, catalogue.datasets):
    app.command()(command)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(catalogue.reproduce)
app.command()(catalogue.warmup)


def main() -> None:
    """Run the command line and leave with its exit code."""
    prepare_streams()
    with warnings.catch_warnings():
        warnings.showwarning = _OncePerSentence()
        code = _exit_code(debug="--debug" in sys.argv[1:])
    if code == READER_GONE:
        # Python flushes standard output once more when it ends; nobody is there to take it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


class _Signals:
    """Remembers Ctrl-C and SIGTERM, because the code they interrupt may turn them into an error of its own."""

    received: int | None = None

    def __enter__(self) -> _Signals:
        usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        self._before = {number: how for number, how in usual.items() if signal.getsignal(number) == how}
        for number in self._before:
            signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, how in self._before.items():
            signal.signal(number, how)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        raise KeyboardInterrupt


def _exit_code(debug: bool) -> int:
    with _Signals() as signals:
        sentence, code = _outcome(debug)
    if signals.received is not None:
        _end_workers()
        sentence, code = STOPPED[signals.received]
    if sentence:
        print(f"outsample: {sentence}", file=sys.stderr)
    return code


def _end_workers() -> None:
    from multiprocessing import active_children

    for worker in active_children():
        worker.kill()


def _outcome(debug: bool) -> tuple[str, int]:
    """Run the command: (what is left to say on standard error, exit code)."""
    try:
        code = app(prog_name="outsample", standalone_mode=False)
        sys.stdout.flush()
        return "", code if isinstance(code, int) else DONE
    except BrokenPipeError:
        return "", READER_GONE
    except SystemExit as end:  # click raises it for a broken pipe, argparse for bad arguments to a study
        gone = isinstance(end.__context__, BrokenPipeError)
        return "", READER_GONE if gone else end.code if isinstance(end.code, int) else DONE
    except (KeyboardInterrupt, typer.Abort):
        return STOPPED[signal.SIGINT]
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _sentence_and_code(error)


class _OncePerSentence:
    """Prints warnings, each once: a learner that does not converge may say so in every fold."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, message: Warning | str, *_: object, **__: object) -> None:
        sentence = _sentence(str(message))
        if sentence not in self._said:
            self._said.add(sentence)
            print(f"outsample: warning: {sentence}", file=sys.stderr)


def _sentence_and_code(error: Exception) -> tuple[str, int]:
    """(one sentence about an error, exit code)."""
    usage: Any = getattr(error, "format_message", None)
    if usage is not None:
        return f"{_sentence(usage())}; see outsample --help", BAD_INPUT
    if isinstance(error, ValueError | TypeError | OSError) or type(error).__name__ == "FitError":
        return _sentence(str(error)), BAD_INPUT
    return f"unexpected {type(error).__name__}: {_sentence(str(error))} (--debug shows where)", UNEXPECTED


def _sentence(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split()).rstrip(".") or "no reason given"
