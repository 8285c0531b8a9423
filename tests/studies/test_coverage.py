"""The coverage study, at a size that shows it runs and judges as it says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import outsample
from outsample.running.progress import silent
from outsample.studies import coverage
from outsample.studies.coverage import coverage_study, linear_gaussian, logistic

LEAVE_ONE_OUT = {"loo": (outsample.LeaveOneOut(), "normal")}
HOLD_OUT = {"normal": (outsample.HoldOut(), "normal"), "hoeffding": (outsample.HoldOut(), "hoeffding")}
ONE_DATA_SET = coverage._one_data_set


def test_expected_error_of_least_squares_against_closed_form():
    """σ² (1 + 1/n)(n − 2)/(n − p − 2) for Gaussian x."""
    n, p = 60, 10
    frame = coverage_study(
        2, simulations=(linear_gaussian(n, p),), criteria={"loo": (outsample.LeaveOneOut(), "normal")}
    )
    assert frame["truth"][0] == pytest.approx((1 + 1 / n) * (n - 2) / (n - p - 2), rel=0.02)


def test_true_errors_against_a_huge_sample():
    for simulation in (linear_gaussian(60, 3), logistic(80, 3)):
        model = simulation.learner.fit(*simulation.draw(np.random.default_rng(0)))
        rng = np.random.default_rng(1)
        parts = [simulation.draw(rng) for _ in range(2000)]
        X, y = np.vstack([x for x, _ in parts]), np.concatenate([labels for _, labels in parts])
        residual = y - model.predict(X)
        loss = residual**2 if isinstance(model, LinearRegression) else residual != 0
        assert simulation.true_error(model) == pytest.approx(loss.mean(), rel=0.03)


def test_a_study_that_goes_on_from_its_store_against_one_in_one_go(tmp_path, monkeypatch):
    monkeypatch.setattr(coverage, "TRAINING_SETS_FOR_EXPECTATION", 5)
    asked = {"simulations": (logistic(40, 2), linear_gaussian(30, 2)), "criteria": HOLD_OUT, "n_jobs": 1}
    asked |= {"progress": silent}
    coverage_study(2, store=tmp_path / "c.sqlite", **asked)
    done = []
    monkeypatch.setattr(coverage, "_one_data_set", lambda *task: done.append(task) or ONE_DATA_SET(*task))
    resumed = coverage_study(3, store=tmp_path / "c.sqlite", **asked)
    assert len(done) == 2
    pd.testing.assert_frame_equal(resumed, coverage_study(3, **asked))
    assert resumed["interval"].tolist() == ["normal", "hoeffding", "normal"]


def test_endless_and_empty_intervals_are_judged_so(capsys, monkeypatch):
    monkeypatch.setattr(coverage, "TRAINING_SETS_FOR_EXPECTATION", 20)
    monkeypatch.setattr(coverage, "usual_criteria", lambda: LEAVE_ONE_OUT)
    holdout = outsample.HoldOut()
    small = (logistic(40, 2),)
    sure = coverage_study(3, level=1 - 1e-9, simulations=small, criteria={"holdout": (holdout, "hoeffding")})
    never = coverage_study(3, level=1e-9, simulations=small, criteria={"holdout": (holdout, "normal")})
    assert sure["this model"][0] == sure["expected"][0] == 1.0
    assert never["this model"][0] == never["expected"][0] == 0.0
    coverage.coverage.main(["--problems", "2"])
    assert "nominal 90% intervals over 2 data sets" in capsys.readouterr().out
