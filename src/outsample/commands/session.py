"""What the judging commands do before and after they judge: read, prepare, tell."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from outsample.commands.options import Question
from outsample.commands.streams import writes_every_character

if TYPE_CHECKING:
    from outsample.models import Learner
    from outsample.preparing import Data


@dataclass(frozen=True, eq=False)
class Session:
    """A question with its data read and its learner made."""

    question: Question
    data: Data
    learner: Learner

    @property
    def options(self) -> dict[str, Any]:
        """What every function of the library takes by the same name."""
        asked = self.question
        more: dict[str, Any] = {"groups": self.data.groups, "n_jobs": asked.jobs, "random_state": asked.seed}
        if asked.quiet:
            from outsample.progress import silent

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


def opened(question: Question) -> Session:
    """Read the file, divide the table and make the learner."""
    from outsample.models import learner_for
    from outsample.preparing import divided
    from outsample.reading import read_table

    def say(sentence: str) -> None:
        if not question.quiet:
            print(f"outsample: {sentence}", file=sys.stderr)

    data = divided(
        read_table(question.file),
        question.target,
        drop=question.drop or (),
        groups=question.groups,
        weights=question.weights,
        positive=question.positive,
        task=question.task,
        say=say,
    )
    learner = learner_for(question.model, data, scale=question.scale, say=say).with_settings(question.set)
    return Session(question, data, learner)


def tell(session: Session, command: str, text: str, answer: Mapping[str, Any]) -> None:
    """Print the answer, as text or as JSON."""
    if session.question.json:
        from outsample._version import __version__

        print(as_json({"command": command, "version": __version__, "asked": session.facts} | dict(answer)))
    else:
        print(text)


def as_json(values: Any) -> str:
    """Strict JSON; numbers that JSON cannot write are null."""
    return json.dumps(_plain(values), indent=2, ensure_ascii=not writes_every_character(), allow_nan=False)


def _plain(value: Any) -> Any:
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
    """The command as it was typed, so that it can be typed again."""
    return shlex.join(["outsample", *sys.argv[1:]])
