"""The small studies: polynomial degrees, bounds for selection, the data, the region."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest

from outsample.datasets import plane_problem
from outsample.running.progress import silent
from outsample.studies.degrees import CUBIC, DEGREES, degrees
from outsample.studies.faces import FACES, FEMALE, SHOWN, figure1
from outsample.studies.problems import PRINTED, figure4, table2
from outsample.studies.selection import CRITERIA, LEAVES, _regrets, selection


def test_training_risk_falls_to_zero_and_validation_risk_jumps(tmp_path):
    found = degrees.run(n=20, seed=0, out=tmp_path)
    training = [found.value("risk", "training", f"degree {k}").ours for k in DEGREES]
    validation = [found.value("risk", "validation, median", f"degree {k}").ours for k in DEGREES]
    assert (np.diff(training) <= 1e-12).all()
    assert training[-1] == pytest.approx(0, abs=1e-9)
    # As the notes say: high at degrees 1 and 2, low from 3 to 8, least at 3, and a jump at N − 1 = 9.
    assert int(np.argmin(validation)) + 1 == len(CUBIC.coefficients) - 1 == 3
    assert min(validation[:2]) > 2 * max(validation[2:8])
    assert validation[8] > 5 * validation[7]
    assert (tmp_path / "degrees.png").stat().st_size > 5000


def test_bounds_choose_smaller_trees_than_estimates():
    found = selection.run(n=3, seed=0, n_jobs=1, progress=silent)
    leaves = {name: found.value("leaves chosen", name).ours for name in CRITERIA}
    assert leaves["Perm. bound"] <= leaves["Perm."]
    assert all(finding.ours >= -1e-9 for finding in found.findings)
    assert any("regret than the estimate itself" in note for note in found.notes)


def test_regret_against_a_loop():
    (found,) = _regrets(0.05, 0, 0)
    assert found.shape == (len(CRITERIA), 2)
    assert set(found[:, 1]) <= {float(k) for k in LEAVES}
    assert (found[:, 0] >= 0).all()


@pytest.mark.skipif("OUTSAMPLE_DATA" not in os.environ, reason="OUTSAMPLE_DATA names no folder of the paper's data")
def test_the_data_are_those_of_table_2():
    found = table2.run()
    counts = [f for f in found.findings if f.quantity in ("rows", "columns")]
    assert len(counts) == 2 * len(PRINTED)
    assert all(f.agrees == "yes" for f in counts)


def test_the_region_is_drawn(tmp_path):
    found = figure4.run(n=50, out=tmp_path)
    drawn = plane_problem().region(np.random.default_rng(0).random((20_000, 2)))
    assert found.findings[0].ours == pytest.approx(drawn.mean(), abs=0.02)
    assert (tmp_path / "figure4.png").stat().st_size > 5000


def test_the_faces_of_figures_1_and_2(tmp_path):
    found = figure1.run(n=2000, out=tmp_path)
    drawn = [finding for finding in found.findings if finding.method == "as drawn"]
    assert [round(100 * finding.ours) for finding in drawn] == [11, 33, 17, 28]
    assert all(finding.agrees == "yes" for finding in drawn)
    assert "real labels: roundish face or long hair is female" in str(found)
    assert "permuted ones: long hair or dark skin is female" in str(found)
    assert SHOWN.sum() == FEMALE.sum() == 9
    # Six errors: three men in boxes, three women without.
    boxed = FACES[:, 1] | FACES[:, 2]
    assert [(boxed[SHOWN == 0] == 1).sum(), (boxed[SHOWN == 1] == 0).sum()] == [3, 3]
    assert (tmp_path / "figure1.png").stat().st_size > 5000


def test_the_mean_optimism_of_the_faces_against_enumeration():
    found = figure1.run(n=4000).value("optimism", "mean over permutations")
    rules = [FACES[:, a] | FACES[:, b] for a, b in ((0, 1), (0, 2), (1, 2))]
    errors = []
    for women in itertools.combinations(range(18), 9):
        y = np.zeros(18, int)
        y[list(women)] = 1
        errors.append(min((y != rule).mean() for rule in rules))
    # The labels are balanced, so that any rule is wrong on half of all pairs.
    assert found.ours == pytest.approx(0.5 - np.mean(errors), abs=4 * found.standard_error)
