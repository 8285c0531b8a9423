from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture
def one_thread():
    """Threads that wait for each other on tables this small cost more than the work."""
    with threadpool_limits(1):
        yield
