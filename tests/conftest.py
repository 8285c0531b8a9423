"""Where the real data sets are, if they are anywhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


@pytest.fixture
def data_home():
    """Folder of the real data sets; the test is skipped where there is none."""
    home = Path(os.environ.get("OUTSAMPLE_DATA", BESIDE_THE_REPOSITORY))
    if not (home / "wdbc.csv").is_file():
        pytest.skip(f"no real data in {home}: name a folder of CSV files in OUTSAMPLE_DATA")
    return home
