"""While kernels are compiled nobody looks for garbage, and afterwards whoever did before."""

from __future__ import annotations

import gc

import pytest
from numba import njit
from numba.core.errors import TypingError
from numba.extending import overload

import outsample._kernels  # noqa: F401

seen: list[bool] = []


def looked() -> int:
    raise NotImplementedError


@overload(looked)
def _looked():
    seen.append(gc.isenabled())
    return lambda: 1


@pytest.fixture(params=[True, False])
def collecting(request):
    """Whether garbage is collected before a kernel is compiled."""
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_garbage_is_not_collected_while_a_function_and_those_it_calls_are_compiled(collecting):
    seen.clear()
    inner = njit(lambda: looked())
    assert njit(lambda: inner() + looked())() == 2
    assert seen
    assert not any(seen)
    assert gc.isenabled() == collecting


def test_garbage_is_collected_again_after_a_failure(collecting):
    inner = njit(lambda: looked() + "text")
    with pytest.raises(TypingError):
        njit(lambda: inner())()
    assert gc.isenabled() == collecting
