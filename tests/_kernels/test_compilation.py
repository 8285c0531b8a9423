"""The garbage collector is off while kernels are compiled, and afterwards as it was before."""

from __future__ import annotations

import gc

import pytest
from numba import njit
from numba.core.errors import TypingError
from numba.extending import overload

import outsample._kernels.options  # noqa: F401


def watched():
    """(A function for kernels, whether the garbage collector was on each time it was compiled into one)."""

    def look():
        raise NotImplementedError

    seen = []

    @overload(look)
    def _look():
        seen.append(gc.isenabled())
        return lambda: 1

    return look, seen


@pytest.fixture(params=[True, False])
def collecting(request):
    """Whether the garbage collector is on before a kernel is compiled."""
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_garbage_is_not_collected_while_a_function_and_those_it_calls_are_compiled(collecting):
    look, seen = watched()
    inner = njit(lambda: look())
    assert njit(lambda: inner() + look())() == 2
    assert seen
    assert not any(seen)
    assert gc.isenabled() == collecting


def test_garbage_is_collected_again_after_a_failure(collecting):
    look, seen = watched()
    inner = njit(lambda: look() + "text")
    with pytest.raises(TypingError):
        njit(lambda: inner())()
    assert seen
    assert gc.isenabled() == collecting
