"""Numbers as people write them, against Python's own."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import outsample
from outsample.curve.error_estimate import numeral


@pytest.mark.parametrize("value", [0.0, -1.5, 0.000123, 9.94, 99.4, 99.6, 123.4, -29874.3, 4.4e8, 1e12, np.nan, np.inf])
@pytest.mark.parametrize("digits", [2, 4])
def test_a_numeral_is_the_number_to_its_digits(value, digits):
    assert float(numeral(value, digits)) == pytest.approx(value, rel=10.0 ** (1 - digits), nan_ok=True)
    assert "e+" not in numeral(value, digits) or abs(value) >= 1e7


@pytest.mark.parametrize("seconds", [0.0123, 1.5, 99.7, 123.4, 98765.4])
def test_seconds_are_never_written_as_a_power_of_ten(seconds):
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = 1000 * X[:, 0] + 300 * X[:, 1] ** 2
    estimate = replace(outsample.estimate(Ridge(), X, y, random_state=0), seconds=seconds)
    test = replace(outsample.permutation_test(Ridge(), X, y, n_draws=9, random_state=0), seconds=seconds)
    for said in (str(estimate), estimate._repr_html_(), str(test), test._repr_html_()):
        assert "e+" not in said


def test_comparisons_and_reports_write_large_numbers_out(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = outsample.compare(Ridge(), X, 1000 * X[:, 0], criteria=["kfold"], param_grid={"alpha": [1, 10]})
    found = replace(found, curves={name: replace(c, seconds=1234.5) for name, c in found.curves.items()})
    found.to_html(tmp_path / "page.html")
    table = (tmp_path / "page.html").read_text().split("<table")[1].split("</table")[0]
    assert "e+" not in str(found)
    assert "e+" not in table
    assert "1234" in table
