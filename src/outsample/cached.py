"""Attributes computed at first use, without a lock.

`functools.cached_property` holds one lock for all objects of a class while it computes, before Python 3.12. A fit
that runs inside may start threads that need the same attribute of another object, as where an estimate judges an
ensemble of searches: they would wait for each other for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 — named like the one it stands for
        """A method whose result becomes an attribute of the object at first use.

        Threads that ask at the same moment may each compute it; all of them get the result that was ready first.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._compute(instance))
