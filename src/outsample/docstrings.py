"""Docstrings of functions that share parameters: what is the same everywhere is written once.

A docstring describes what is its own. `described` adds the parameters that it leaves out, in the order of the
signature, and what is returned and an example where it has none.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Thing = TypeVar("Thing", bound=Callable[..., Any])

_SECTION = re.compile(r"^(Parameters|Returns|Examples)\n-+\n", re.MULTILINE)


def described(words: Mapping[str, str], returns: str = "", example: str = "") -> Callable[[Thing], Thing]:
    """A decorator that completes a docstring.

    Parameters
    ----------
    words : a description of each parameter that a docstring may leave out. The name may be that of several parameters,
        "X, y", which are then described together.
    returns, example : the sections "Returns" and "Examples" of those that have none.
    """

    def complete(thing: Thing) -> Thing:
        if thing.__doc__:
            head, *sections = _SECTION.split(inspect.cleandoc(thing.__doc__))
            found = dict(zip(sections[::2], (text.strip() for text in sections[1::2]), strict=True))
            own = _entries(found.get("Parameters", ""))
            ordered = dict.fromkeys(_name_among(name, own) or _name_among(name, words) for name in _parameters(thing))
            described = {name: own.get(name) or words[name] for name in ordered if name}
            completed = {
                "Parameters": "\n".join(f"{name} : {text}" for name, text in described.items()),
                "Returns": found.get("Returns") or returns.strip(),
                "Examples": found.get("Examples") or example.strip(),
            }
            parts = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in completed.items() if text]
            thing.__doc__ = "\n\n".join([head.strip(), *parts]) + "\n"
        return thing

    return complete


def _entries(section: str) -> dict[str, str]:
    """Descriptions by name, those over several lines with their indentation."""
    entries = re.split(r"^(?=\S)", section, flags=re.MULTILINE)
    return {name: text.rstrip() for name, _, text in (entry.partition(" : ") for entry in entries if entry)}


def _parameters(thing: Callable[..., Any]) -> list[str]:
    return [f"**{name}" if p.kind is p.VAR_KEYWORD else name for name, p in inspect.signature(thing).parameters.items()]


def _name_among(parameter: str, described: Mapping[str, str]) -> str | None:
    """The name under which a parameter is described, alone or with others."""
    return next((name for name in described if parameter in name.split(", ")), None)


def example_of(criterion: str, value: float, learner: str = "tree") -> str:
    """The example of a criterion: what `estimate` says by it of a small tree, a ridge regression or a stump."""
    kinds = {
        "tree": (
            "breast_cancer",
            "from sklearn.tree import DecisionTreeClassifier",
            "DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)",
            3,
        ),
        "ridge": ("diabetes", "from sklearn.linear_model import Ridge", "Ridge(alpha=0.1)", 0),
        "stump": ("breast_cancer", "from outsample import StumpClassifier", "StumpClassifier()", 2),
    }
    data, import_line, made, digits = kinds[learner]
    return f"""
>>> import outsample
>>> from sklearn.datasets import load_{data}
>>> {import_line}
>>> X, y = load_{data}(return_X_y=True)
>>> {learner} = {made}
>>> result = outsample.estimate({learner}, X, y, criterion=outsample.{criterion}, random_state=0)
>>> round(result.out_sample, {digits})
{value}"""
