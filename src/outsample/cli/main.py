"""Running a command: standard streams, signals, warnings and exit codes."""

from __future__ import annotations

import codecs
import os
import signal
import sys
import traceback
import warnings
from types import FrameType
from typing import Annotated, Any

import typer

from outsample.cli.commands import add_commands

DONE, UNEXPECTED, BAD_INPUT, READER_GONE = 0, 1, 2, 141
STOPPED: dict[int, tuple[str, int]] = {signal.SIGINT: ("interrupted", 130), signal.SIGTERM: ("terminated", 143)}
SPELLINGS = ("+-", "-", "-", "-", "...", "->", "^2", "*", "x", "<=", ">=", '"', '"')
IN_ASCII = dict(zip("±−–—…→²·×≤≥“”", SPELLINGS, strict=True))

app = typer.Typer(
    name="outsample",
    help="How good will this model be on new data, and which model should I pick?",
    epilog="Exit codes: 0 done, 1 something unexpected, 2 bad input (one sentence on standard error; --debug shows "
    "where it arose), 130 interrupted, 141 the reader of the output went away, 143 terminated.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
add_commands(app)


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


def main() -> None:
    """Run the command line and leave with its exit code."""
    _prepare_streams()
    with warnings.catch_warnings():
        warnings.showwarning = OncePerSentence()
        code = _exit_code(debug="--debug" in sys.argv[1:])
    if code == READER_GONE:
        # Python flushes standard output once more when it ends; nobody is there to take it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _prepare_streams() -> None:
    """Replace closed streams by the null device; characters that a stream cannot encode are spelled in ASCII."""
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        if getattr(sys, name) is None:
            # A file that is opened later must not get the number of a standard stream.
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115 — a standard stream
    codecs.register_error("outsample.ascii", _ascii_spelling)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="outsample.ascii")


def _ascii_spelling(error: UnicodeError) -> tuple[str, int]:
    """Error handler of a codec: characters it cannot encode, spelled in ASCII or, without a spelling, escaped."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return "".join(IN_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text), error.end


def _exit_code(debug: bool) -> int:
    """Run the command, with Ctrl-C and SIGTERM remembered: the code they interrupt may make an error of its own."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: how for number, how in usual.items() if signal.getsignal(number) == how}
    for number in before:
        signal.signal(number, note)
    try:
        sentence, code = _outcome(debug)
    finally:
        for number, how in before.items():
            signal.signal(number, how)
    if received:
        from multiprocessing import active_children

        for worker in active_children():
            worker.kill()
        sentence, code = STOPPED[received[-1]]
    if sentence:
        print(f"outsample: {sentence}", file=sys.stderr)
    return code


def _outcome(debug: bool) -> tuple[str, int]:
    """Run the command: (what is left to say on standard error, exit code)."""
    try:
        code = app(prog_name="outsample", standalone_mode=False)
        sys.stdout.flush()
        return "", code if isinstance(code, int) else DONE
    except BrokenPipeError:
        return "", READER_GONE
    except SystemExit as end:  # click raises it for a broken pipe
        gone = isinstance(end.__context__, BrokenPipeError)
        return "", READER_GONE if gone else end.code if isinstance(end.code, int) else DONE
    except (KeyboardInterrupt, typer.Abort):
        return STOPPED[signal.SIGINT]
    except Exception as error:
        if debug:
            traceback.print_exc()
        usage: Any = getattr(error, "format_message", None)
        if usage is not None:
            return f"{_sentence(usage())}; see outsample --help", BAD_INPUT
        if isinstance(error, ValueError | TypeError | OSError) or type(error).__name__ == "FitError":
            return _sentence(str(error)), BAD_INPUT
        return f"unexpected {type(error).__name__}: {_sentence(str(error))} (--debug shows where)", UNEXPECTED


class OncePerSentence:
    """Prints warnings, each once: a learner that does not converge may say so in every fold."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, message: Warning | str, *_: object, **__: object) -> None:
        sentence = _sentence(str(message))
        if sentence not in self._said:
            self._said.add(sentence)
            print(f"outsample: warning: {sentence}", file=sys.stderr)


def _sentence(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split()).rstrip(".") or "no reason given"
