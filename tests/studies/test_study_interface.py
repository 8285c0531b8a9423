"""Every study of the paper: the same arguments, a table that prints, files that are written, a command line."""

from __future__ import annotations

import inspect
import zlib

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import outsample
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.datasets import load, plane_problem
from outsample.questions.regret import summary
from outsample.running.progress import silent
from outsample.running.run import child_generator
from outsample.studies import own_criteria, plane
from outsample.studies.error_curves import Trees
from outsample.studies.own_criteria import METHODS, criteria
from outsample.studies.own_criteria import _one as one_split_of_ours
from outsample.studies.polynomials import table3, table4
from outsample.studies.real_data import table5, table6
from outsample.studies.result import PRINTED, Finding, StudyResult, drawn_findings, number
from outsample.studies.roughness import SHOWN, figure5
from outsample.studies.splits import LEARNERS, Budget, Work, _one, regrets, train_and_test
from outsample.studies.study import STUDIES, Study, run_all, study, study_named

OF_THE_PAPER = [name for name in STUDIES if name.startswith(("table", "figure", "imbalance"))]
ARGUMENTS = ["n", "seed", "store", "data_home", "out", "n_jobs", "progress"]


@pytest.mark.parametrize("name", OF_THE_PAPER)
def test_every_study_takes_the_same_arguments(name):
    assert list(inspect.signature(study_named(name).run).parameters)[:7] == ARGUMENTS


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_tells_its_options(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        study_named(name).main(["--help"])
    told = capsys.readouterr().out
    assert told.startswith(f"usage: outsample reproduce {name} ")
    assert "--seed" in told


def test_unknown_studies_and_sizes_are_refused():
    with pytest.raises(ValueError, match=r"study 'table9' is unknown: use one of table1, .*; did you mean 'table"):
        study_named("table9")
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        table4.main(["-n", "0", "--quiet"])


def test_command_line_writes_table_text_and_figure(tmp_path, capsys):
    table3.main(["-n", "300", "--jobs", "1", "--out", str(tmp_path), "--quiet"])
    printed = capsys.readouterr().out
    assert "[9.29]" in printed
    assert (tmp_path / "table3.txt").read_text() == printed
    assert len(pd.read_csv(tmp_path / "table3.csv")) == 32
    assert (tmp_path / "table3.png").stat().st_size > 5000


def test_agreement_is_marked_by_the_band():
    rows = [Finding("q", "c", m, 1.0, 0.1, paper, 0.05) for m, paper in (("A", 1.04), ("B", 1.06), ("C", np.nan))]
    result = StudyResult("name", "title", tuple(rows))
    assert result.to_frame()["agrees"].tolist() == ["yes", "no", ""]
    assert str(result).splitlines()[2].split()[2:] == [
        "1.00±.100",
        "[1.04]",
        "✓",
        "1.00±.100",
        "[1.06]",
        "✗",
        "1.00±.100",
    ]
    assert number(float("nan")) == "–"
    with pytest.raises(KeyError, match="no 'q' of 'D'"):
        result.value("q", "D")


def test_a_method_has_one_colour_in_all_panels_and_the_legend():
    """The k-NN panel of Table 6 has no 10-fold, so that the colours after it would move on."""
    held = [("trees", "LOO-CV"), ("trees", "10-fold"), ("trees", "Perm."), ("k-NN", "LOO-CV"), ("k-NN", "Perm.")]
    findings = [Finding(learner, "Pima", method, 0.1, 0.01, 0.2) for learner, method in held]
    figure = Figure()
    drawn_findings(findings, "regret")(figure)
    colours = {}
    for ax in figure.axes:
        assert ax.get_title()
        assert ax.get_ylabel() == "regret"
        for container in ax.containers:
            colours.setdefault(container.get_label(), set()).add(container.lines[0].get_color())
    assert {method: len(found) for method, found in colours.items()} == {"LOO-CV": 1, "10-fold": 1, "Perm.": 1}
    assert len(set.union(*colours.values())) == 3
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["LOO-CV", "10-fold", "Perm.", PRINTED]


def test_summary_by_hand():
    found = summary(np.array([1.0] * 198 + [1000.0, 3.0]))
    assert found.trimmed == 1.0
    assert found.median == 1.0
    assert found.mean == pytest.approx((198 + 1003) / 200)


def test_table_6_on_one_set(data_home):
    result = table6.run(16, data_home=data_home, n_jobs=1, progress=silent, names=["mammographic_mass"])
    trees = {m: result.value("trees, gain per node", m) for m in ("LOO-CV", "10-fold", "Perm.", "Rad.")}
    assert abs(trees["Perm."].ours - 0.06) <= 0.06
    assert trees["Perm."].ours < trees["LOO-CV"].ours
    assert "Perm. ≤ LOO-CV with trees, gain per node: holds: M.Mass" in str(result)
    assert all(finding.ours >= 0 for finding in result.findings)


def test_table_5_on_one_set_with_few_and_more_label_draws(data_home):
    few, more = (
        table5.run(4, data_home=data_home, n_jobs=1, progress=silent, names=["parkinsons", "simulated"], draws=draws)
        for draws in (5, 40)
    )
    for learner in ("trees, gain per node", "k-NN"):
        assert few.value(learner, "LOO-CV") == more.value(learner, "LOO-CV")
        # Not the region of the paper: nothing is judged.
        assert few.value(learner, "Perm.", "Simulated").agrees == ""
    assert few.value("trees, gain per node", "Perm.") != more.value("trees, gain per node", "Perm.")
    assert more.value("trees, gain per node", "Perm.").paper == 0.34
    assert "40 label draws" in str(more)
    alone = table5.run(4, data_home=data_home, n_jobs=1, progress=silent, names=["parkinsons"], learners=["k-NN"])
    assert {finding.quantity for finding in alone.findings} == {"k-NN"}
    with pytest.raises(ValueError, match="learners"):
        table5.run(1, data_home=data_home, names=["parkinsons"], learners=["knn"])
    with pytest.raises(ValueError, match="number of label draws must be a whole number"):
        table5.run(1, data_home=data_home, names=["parkinsons"], draws=0)


def test_same_regrets_for_any_number_of_workers():
    work = Work(plane_problem(0.2), "simulated", "k-NN", Budget(labels=5, left_out=20))
    one, two = (regrets([work], 4, 0, n_jobs=jobs, progress=silent)[0].errors for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_noise_study_at_one_level(monkeypatch):
    monkeypatch.setitem(LEARNERS, "trees, gain per node", Trees(max_leaves=10))
    monkeypatch.setattr(plane, "NOISE_LEVELS", {20: (0.28, 0.26, 0.26)})
    result = plane.table7.run(2, n_jobs=1, progress=silent)
    assert len(result.findings) == 12
    assert all(finding.ours >= 0 and finding.agrees == "" for finding in result.findings)
    assert result.value("k-NN, held out", "Perm.").ours != result.value("k-NN", "Perm.").ours
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        plane.table7.run(0)


def test_imbalance_study_at_one_share(monkeypatch):
    monkeypatch.setitem(LEARNERS, "trees, gain per node", Trees(max_leaves=10))
    monkeypatch.setattr(plane, "SHARES", (20,))
    result = plane.imbalance.run(2, n_jobs=1, progress=silent)
    assert {finding.case for finding in result.findings} == {"20 % positive"}
    assert len(result.findings) == 6
    assert all(finding.ours >= 0 for finding in result.findings)
    problem = plane_problem(plane.NOISE, 0.2)
    assert problem.region(problem.sample(20_000, 0)[0]).mean() == pytest.approx(0.2, abs=0.02)


def test_figure_5_permutation_is_smoother(data_home):
    result = figure5.run(20, data_home=data_home, n_jobs=1, progress=silent, names=["blood_transfusion"])
    for learner in SHOWN:
        rough = {m: result.value("roughness", m, learner).ours for m in ("LOO-CV", "Perm.")}
        assert rough["Perm."] < rough["LOO-CV"]


def test_progress_is_told(tmp_path):
    heard = []
    table4.run(5000, n_jobs=1, progress=lambda done, planned: heard.append((done, planned)))
    assert heard == [(1, 3), (2, 3), (3, 3)]


def test_our_criteria_see_the_splits_of_table_5(data_home):
    result = criteria.run(3, data_home=data_home, n_jobs=1, progress=silent, names=["parkinsons"])
    assert len(result.findings) == 2 * len(METHODS)
    assert all(finding.ours >= 0 for finding in result.findings)
    assert "auto ≤ 10-fold with k-NN" in str(result)
    data = load("parkinsons", data_home)
    work = Work(data, "parkinsons", "k-NN", Budget(labels=2, left_out=10**9, folds=False))
    for s in range(3):
        # The best held-out error of a split is the same, whatever chose.
        assert one_split_of_ours(data, "k-NN", 0, s)[0][0] == _one(work, 0, s)[0][0]


@pytest.mark.parametrize("name", own_criteria.LEARNERS)
def test_what_leave_one_out_chooses_against_a_search(name, data_home, monkeypatch):
    monkeypatch.setattr(own_criteria, "OURS", {"loo": LeaveOneOut()})
    data, learner = load("parkinsons", data_home), own_criteria.LEARNERS[name]
    for s in range(2):
        rng = child_generator(np.random.SeedSequence(0), zlib.crc32(b"parkinsons"), s)
        train, test = train_and_test(len(data.y), rng)
        grid = {learner.parameter: list(learner.values)}
        search = outsample.GridSearch(learner.estimator, grid, criterion=LeaveOneOut()).fit(
            data.X[train], data.y[train]
        )
        error = np.mean(search.predict(data.X[test]) != data.y[test])
        _, alone, _, ours = one_split_of_ours(data, name, 0, s)[0]
        assert alone == ours == error


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_quick_with_parameters_that_it_has(name):
    known = inspect.signature(study_named(name).run).parameters
    assert set(study_named(name).short) <= set(known)
    assert study_named(name).quick["n"] <= known["n"].default


def test_a_quick_study_leaves_a_picture_and_options_still_count(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table4.main(["--quick", "-n", "200", "--jobs", "1", "--quiet"])
    assert "200 trials" in capsys.readouterr().out
    assert (tmp_path / "reproduced" / "table4.png").stat().st_size > 5000


def test_all_studies_run_one_after_the_other_and_say_what_failed(tmp_path, monkeypatch, capsys):
    ran = []

    @study("units", n=2)
    def works(n=9, seed=0, store=None, out=None):
        ran.append((n, seed, store, out))
        return "done"

    @study("units", n=1)
    def fails(n=9):
        raise ValueError("no data")

    monkeypatch.setattr("outsample.studies.study.STUDIES", {"works": "", "fails": ""})
    monkeypatch.setattr("outsample.studies.study.study_named", {"works": works, "fails": fails}.get)
    with pytest.raises(ValueError, match="1 of 2 studies could not be run: fails"):
        run_all(["--quick", "--seed", "3", "--store", str(tmp_path / "kept"), "--jobs", "1"])
    assert ran == [(2, 3, tmp_path / "kept" / "works.sqlite", "reproduced")]
    assert "fails could not be run: no data" in capsys.readouterr().out
    assert isinstance(works, Study)
