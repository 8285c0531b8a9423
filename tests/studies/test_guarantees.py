"""Every bound against simulated problems with known errors."""

import numpy as np

from outsample.bounds.record import limit
from outsample.hypotheses import StumpClassifier
from outsample.studies.guarantees import _thresholded, _true_error, bounds


def test_every_bound_holds_in_2000_problems(capsys):
    study = bounds.run(2000)
    print(study)
    assert study.all_hold
    assert len(study.names) == 12
    assert (study.vacuous < 1).sum() >= 8
    assert "every bound holds: 2000 problems" in capsys.readouterr().out


def test_a_limit_that_is_no_bound_is_found_out(monkeypatch):
    def no_gap(*, holdout_error, n_holdout, delta):
        return limit(holdout_error, 0.0, n=n_holdout, delta=delta, theorem="none", setting="none")

    monkeypatch.setattr("outsample.bounds.holdout_bound", no_gap)
    study = bounds.run(100)
    assert not study.all_hold
    assert "some bound fails too often" in str(study)


def test_true_error_against_simulation():
    rng = np.random.default_rng(0)
    for _ in range(10):
        x, y = _thresholded(8, 0.3, rng)
        rule = StumpClassifier().fit(x[:, None], y)
        x_new, y_new = _thresholded(40_000, 0.3, rng)
        simulated = (rule.predict(x_new[:, None]) != y_new).mean()
        assert abs(_true_error(rule, 0.3) - simulated) < 4 * 0.5 / 200
