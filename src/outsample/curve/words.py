"""Settings and numbers as a reader would write them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from outsample.curve.error_estimate import LEVEL, ErrorEstimate, interval_of, numeral
from outsample.running.arrays import Floats

Setting = dict[str, Any]

STEPS = re.compile(r"\b(?:\w+?__)+(?=\w)")
# Numbers outside this range are written with a power of ten.
SMALL, LARGE = 1e-4, 1e6
# Decimals of a column at most, before its numbers are written one by one.
MOST_DECIMALS = 6
# Parameters of which 1 is a number of things and 1.0 the share that is all of them.
SHARES = frozenset(("max_features", "max_samples", "min_samples_leaf", "min_samples_split"))


def shortened(settings: Iterable[Mapping[str, Any]]) -> list[Setting]:
    """Settings without the steps of a pipeline in the names of parameters, where the rest still tells them apart.

    >>> shortened([{"svc__C": 1, "pca__n_components": 2}])
    [{'C': 1, 'n_components': 2}]
    """
    settings = list(settings)
    names = parameter_names(settings)
    often = Counter(name.rpartition("__")[2] for name in names)
    short = {name: last if often[last := name.rpartition("__")[2]] == 1 else name for name in names}
    return [{short[name]: value for name, value in setting.items()} for setting in settings]


def without_steps(text: str) -> str:
    """A text in which parameters stand without the names of pipeline steps.

    >>> without_steps("svc__C=10 is the largest value tried")
    'C=10 is the largest value tried'
    """
    return STEPS.sub("", text)


def number(value: float, digits: int = 4) -> str:
    """A number in significant digits, without the zeros of an exponent.

    >>> number(0.00001), number(0.0316227766), number(1000.0), number(3e7)
    ('1e-5', '0.03162', '1000', '3e7')
    """
    if value and math.isfinite(value) and not SMALL <= abs(value) < LARGE:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(power)}"
    return numeral(value, digits)


def decimals_of(values: Floats, digits: int) -> int:
    """How many decimals a column of numbers needs for so many digits in the usual one, and two in the first.

    >>> decimals_of(np.array([0.00642, 0.068, 8e-7]), 2), decimals_of(np.array([3021.4, np.nan]), 4)
    (4, 0)
    """
    known = np.abs(values[np.isfinite(values)])
    known = known[known > 0]
    if not len(known):
        return 0
    usual = min(float(np.median(known)), float(known[0]) * 10 ** (digits - 2))
    return max(0, digits - 1 - math.floor(math.log10(usual)))


def aligned(values: Floats, decimals: int) -> list[str]:
    """The numbers of a column with as many decimals each, a dash where there is none.

    >>> aligned(np.array([0.00642, 0.068, np.nan]), 4)
    ['0.0064', '0.0680', '–']
    """
    known = values[np.isfinite(values)]
    plain = decimals <= MOST_DECIMALS and bool((np.abs(known) < LARGE).all())
    write = (lambda value: f"{value:.{decimals}f}") if plain else number
    return [write(value) if math.isfinite(value) else "–" for value in values.tolist()]


def value_in_words(value: object, name: str = "", digits: int = 4) -> str:
    """The value of a parameter: numbers in few digits, learners by the name of their class.

    >>> value_in_words(1.0), value_in_words(1.0, "max_features")
    ('1', '1.0')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return "1.0" if value == 1 and name.rpartition("__")[2] in SHARES else number(value, digits)
    if hasattr(value, "get_params") and not isinstance(value, type):
        return type(value).__name__
    return str(value)


def in_words(setting: Mapping[str, Any], nothing: str = "the model as given") -> str:
    """A setting as one line; `nothing` where it has no parameters."""
    return ", ".join(f"{name} = {value_in_words(v, name)}" for name, v in setting.items()) or nothing


def counted(count: int, what: str) -> str:
    """A number of things: 1 fit, 2 fits."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def joined(names: Sequence[str]) -> str:
    """Names as a phrase: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def sentence(words: str) -> str:
    """Words that begin a sentence."""
    return words[0].upper() + words[1:]


def is_number(value: object) -> bool:
    """Whether the value of a parameter is a number that can be drawn on an axis or sorted by its size."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def parameter_names(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The parameters that settings have."""
    return list(dict.fromkeys(name for setting in settings for name in setting))


def parted_names(settings: Sequence[Setting]) -> tuple[list[str], list[str]]:
    """(the parameters that all settings have, those that only some have), such as those of one learner of several."""
    names = parameter_names(settings)
    shared = [name for name in names if all(name in setting for setting in settings)]
    return shared, [name for name in names if name not in shared]


def amount(loss: str, value: float) -> str:
    """A value of this loss: error rates in percent."""
    return f"{numeral(100 * value, 3)} %" if loss == "zero-one" else number(value)


def root(squared: float) -> str:
    """The root of a squared error, in the unit of y."""
    return number(math.sqrt(max(0.0, squared)), 3)


def interval_in_words(estimate: ErrorEstimate, write: Callable[[float], str] | None = None) -> str:
    """The interval of an estimate in brackets, its ends as `write` has them; nothing where it refuses to give one."""
    found = interval_of(estimate)
    if found is None:
        return ""
    low, high = (amount(estimate.loss, end) if write is None else write(end) for end in found)
    return f" ({100 * LEVEL:.0f} % interval {low.removesuffix(' %')} to {high})"


def doubt(estimate: ErrorEstimate) -> str:
    """Why an estimate is not to be relied on; empty where it is."""
    return "" if estimate.no_interval is None else f"not to be relied on: {estimate.no_interval}"


def expectation(estimate: ErrorEstimate) -> str:
    """What to expect on new data, in words."""
    if estimate.loss == "squared" and estimate.out_sample > 0:
        bar = interval_in_words(estimate, root)
        return f"typically off by {root(estimate.out_sample)}{bar}, as a root mean squared error"
    value, bar = amount(estimate.loss, estimate.out_sample), interval_in_words(estimate)
    if estimate.loss == "zero-one":
        return f"wrong on about {value} of new rows{bar}"
    return f"{called_with_article(estimate.loss)} of about {value} on new data{bar}"


def called_with_article(loss: str) -> str:
    """A loss as it is spoken of: a squared error, an r2."""
    called = f"{loss} {'loss' if loss == 'log' else 'error'}" if loss in ("absolute", "log", "squared") else loss
    return f"{'an' if loss[:1].lower() in 'aeiou' or loss[:2] == 'r2' else 'a'} {called}"
