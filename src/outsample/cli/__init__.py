"""The command line: the library's own words. Nothing heavy is imported before a command runs.

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

from outsample.cli import catalogue, judging
from outsample.cli import catalogue as demo
from outsample.cli import judging as auditing
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


app.command()(judging.estimate)
app.command()(judging.select)
app.command()(judging.compare)
app.command("test")(judging.run_test)
app.command()(auditing.audit)
app.command()(demo.demo)
app.command()(catalogue.datasets)
# `outsample reproduce table6 --help` is a question to the study.
to_the_study = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
app.command(context_settings=to_the_study)(catalogue.reproduce)
app.command()(catalogue.warmup)


def main() -> None:
    """Run the command line and leave with its exit code."""
    prepare_streams()
    with warnings.catch_warnings():
        warnings.showwarning = _warned
        code = _answered(debug="--debug" in sys.argv[1:])
    if code == READER_GONE:
        # Python flushes standard output once more when it ends; nobody is there to take it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


class _Stopped:
    """Notes Ctrl-C and SIGTERM: what runs when they come may turn them into an error of its own."""

    by: int | None = None

    def __enter__(self) -> _Stopped:
        usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        self._before = {number: how for number, how in usual.items() if signal.getsignal(number) == how}
        for number in self._before:
            signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, how in self._before.items():
            signal.signal(number, how)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.by = number
        raise KeyboardInterrupt


def _answered(debug: bool) -> int:
    with _Stopped() as stopped:
        sentence, code = _outcome(debug)
    if stopped.by is not None:
        _end_workers()
        sentence, code = STOPPED[stopped.by]
    if sentence:
        print(f"outsample: {sentence}", file=sys.stderr)
    return code


def _end_workers() -> None:
    from multiprocessing import active_children

    for worker in active_children():
        worker.kill()


def _outcome(debug: bool) -> tuple[str, int]:
    """(what is left to say, exit code) of the command."""
    try:
        code = app(prog_name="outsample", standalone_mode=False)
        sys.stdout.flush()
        return "", code if isinstance(code, int) else DONE
    except BrokenPipeError:
        return "", READER_GONE
    except SystemExit as left:  # what click makes of a broken pipe, and argparse of bad arguments to a study
        gone = isinstance(left.__context__, BrokenPipeError)
        return "", READER_GONE if gone else left.code if isinstance(left.code, int) else DONE
    except (KeyboardInterrupt, typer.Abort):
        return STOPPED[signal.SIGINT]
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _explained(error)


def _warned(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"outsample: warning: {_sentence(str(message))}", file=sys.stderr)


def _explained(error: Exception) -> tuple[str, int]:
    """(one sentence, exit code)."""
    usage: Any = getattr(error, "format_message", None)
    if usage is not None:
        return f"{_sentence(usage())}; see outsample --help", BAD_INPUT
    if isinstance(error, ValueError | TypeError | OSError) or type(error).__name__ == "FitError":
        return _sentence(str(error)), BAD_INPUT
    return f"unexpected {type(error).__name__}: {_sentence(str(error))} (--debug shows where)", UNEXPECTED


def _sentence(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split()).rstrip(".") or "no reason given"
