"""The studies: formulas against linear algebra and enumeration, the paper's numbers from short runs, the command."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression

import outsample
from outsample import penalties
from outsample.datasets import LegendreProblem, load, plane_problem
from studies import STUDIES, bounds, coverage, pictures, regrets
from studies.__main__ import main
from studies.polynomials import BLOCK, METHODS, ORDER, RIDGE, Setting, draw_trials, estimates, half_a_digit, trials
from studies.shared import PRINTED, Finding, Options, Result, drawn, number, study, text_table
from studies.shared import STUDIES as DECLARED

HERE = Path(__file__).parent
N_SHORT = 20_000


def run(name, **options):
    return STUDIES[name].run(jobs=1, **options)


# Polynomials ----------------------------------------------------------------------------------------------------------


def estimates_by_hand(S, y, weights, problem):
    """LOO, Perm., VC, FPE and the truth from the whole matrix S."""
    n, residuals, dof = len(y), y - S @ y, np.trace(S)
    in_sample = np.mean(residuals**2)
    return [
        np.mean((residuals / (1 - np.diag(S))) ** 2),
        in_sample + 2 * np.var(y, ddof=1) / n * (dof - S.sum() / n),
        float(penalties.vc(in_sample, dof, n)),
        float(penalties.fpe(in_sample, dof, n)),
        problem.true_risk(weights),
    ]


@pytest.mark.parametrize("setting", [ORDER, RIDGE], ids=["order", "ridge"])
@pytest.mark.parametrize("seed", range(3))
def test_estimates_against_whole_matrices(setting, seed):
    data = draw_trials(np.random.default_rng(seed), 1, setting.n, setting.highest)
    x, noise, coefficients, variance = (part[0] for part in data)
    y = np.polynomial.legendre.legval(x, coefficients) + np.sqrt(variance) * noise
    table = []
    for model in setting.models:
        degree, penalty = (int(model), 0.0) if setting.name == "order" else (5, model)
        X = np.polynomial.legendre.legvander(x, degree)
        solver = np.linalg.solve(X.T @ X + penalty * np.eye(degree + 1), X.T)
        table.append(estimates_by_hand(X @ solver, y, solver @ y, LegendreProblem(coefficients, float(variance))))
    np.testing.assert_allclose(estimates(setting, *data)[0], table, rtol=1e-6)


def test_targets_have_mean_square_one():
    _, _, coefficients, variance = draw_trials(np.random.default_rng(0), 40_000, 1, 10)
    mean_square = (coefficients**2 / (2 * np.arange(11) + 1)).sum(axis=1)
    assert mean_square.mean() == pytest.approx(1.0, abs=0.03)
    assert ((variance > 0) & (variance <= 1)).all()


def test_standard_errors_of_moments_against_many_runs():
    """The jackknife over blocks tells how much means move from seed to seed."""
    small = Setting("order", 100, 3, np.arange(3.0), {"order": (0, 3)}, 7)
    found = [
        trials(small, Options(4 * BLOCK, seed, jobs=1)).moment(lambda sums: sums[..., 0, :, :]) for seed in range(12)
    ]
    spread = np.std([value for value, _ in found], axis=0, ddof=1)
    told = np.mean([error for _, error in found], axis=0)
    assert (np.abs(np.log(told / spread)) < np.log(2.5)).all()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """One store for all studies of these trials: only the first runs them."""
    return str(tmp_path_factory.mktemp("trials") / "trials.sqlite")


def within(result, quantity, expected, bands, case=None):
    for method, value, band in zip(METHODS, expected, bands, strict=True):
        assert result.value(quantity, method, case).ours == pytest.approx(value, abs=band), (quantity, method)


def test_tables_3_and_4_and_figures_3_and_6_of_the_paper(store):
    table3, table4, figure3, figure6 = (
        run(f, n=N_SHORT, store=store) for f in ("table3", "table4", "figure3", "figure6")
    )
    within(table3, "average order", (9.29, 7.21, 5.56, 11.42), (0.15, 0.12, 0.15, 0.18))
    within(table3, "order regret", (0.965, 0.5, 0.64, 8.7), (0.3, 0.12, 0.2, 3.0), "1 % trimmed")
    within(table3, "average λ/N", (23.1, 9.6, 125, 18.1), (2.0, 1.2, 4.0, 2.0))
    within(table4, "λ without 0 regret", (0.44, 0.39, 0.42, 0.87), (0.05, 0.06, 0.04, 0.08))
    trimmed = {m: table4.value("λ without 0 regret", m, "1 % trimmed").ours for m in METHODS}
    assert (min(trimmed, key=trimmed.get), max(trimmed, key=trimmed.get)) == ("Perm.", "FPE")
    within(figure6, "bias²", (0.0, 0.221, 6.1, 0.421), (0.02, 0.03, 0.4, 0.04), "λ/N = 0.02")
    within(figure6, "variance", (3.83, 0.318, 9.06, 0.306), (0.9, 0.015, 0.5, 0.015), "λ/N = 0.02")
    for case in ("order 0", "order 2", "order 5", "λ/N 1.12", "λ/N 6.52"):
        loo, truth = (figure3.value("mean", method, case).ours for method in ("LOO-CV", "true error"))
        assert loo == pytest.approx(truth, rel=0.03)


# Table 1, faces, region, bounds, coverage -----------------------------------------------------------------------------


def test_table_1_drawn_against_theorem_3():
    result = run("table1", n=20_000)
    for model in ("linear", "quartic"):
        over, exact = (result.value("ê_gen", model, case) for case in ("over permutations", "Theorem 3"))
        assert over.ours == pytest.approx(exact.ours, abs=4 * over.standard_error)
    slides = [finding for finding in result.findings if finding.quantity == "slides"]
    assert len(slides) == 10
    assert all(finding.agrees == "yes" for finding in slides)
    assert "selects the linear fit; the linear fit is the better one" in str(result)


def test_the_faces_of_figures_1_and_2(tmp_path):
    found = run("figure1", n=4000, out=str(tmp_path))
    as_drawn = [finding for finding in found.findings if finding.method == "as drawn"]
    assert [round(100 * finding.ours) for finding in as_drawn] == [11, 33, 17, 28]
    assert all(finding.agrees == "yes" for finding in as_drawn)
    assert "real labels: roundish face or long hair is female" in str(found)
    assert "permuted ones: long hair or dark skin is female" in str(found)
    assert (tmp_path / "figure1.png").stat().st_size > 5000
    rules = [pictures.FACES[:, a] | pictures.FACES[:, b] for a, b in ((0, 1), (0, 2), (1, 2))]
    errors = []
    for women in itertools.combinations(range(18), 9):
        y = np.zeros(18, int)
        y[list(women)] = 1
        errors.append(min((y != rule).mean() for rule in rules))
    mean = found.value("optimism", "mean over permutations")
    assert mean.ours == pytest.approx(0.5 - np.mean(errors), abs=4 * mean.standard_error)


def test_the_region_against_its_share():
    found = run("figure4", n=50)
    inside = plane_problem().region(np.random.default_rng(0).random((20_000, 2)))
    assert found.findings[0].ours == pytest.approx(inside.mean(), abs=0.02)


def test_degree_nine_jumps():
    found = run("degrees", n=20)
    assert found.value("risk", "training, median", "degree 9").ours < 1e-9
    medians = [found.value("risk", "validation, median", f"degree {d}").ours for d in (8, 9)]
    assert medians[1] > 10 * medians[0]


def test_every_bound_holds_and_one_that_is_no_bound_is_found_out(monkeypatch):
    found = run("bounds", n=600)
    assert "every bound holds: 600 problems" in str(found)
    vacuous = [f.ours for f in found.findings if f.method == "vacuous"]
    assert len(vacuous) == 12
    assert sum(share < 1 for share in vacuous) >= 8
    monkeypatch.setattr(bounds, "DELTA", 0.05)
    true = bounds.theorems.vc_bound

    class NoGap:
        def __init__(self, value):
            self.value = self.printed = value

        def __float__(self):
            return self.value

    monkeypatch.setattr(bounds.theorems, "vc_bound", lambda **given: NoGap(given["in_sample"]))
    assert "these bounds fail too often: VC dimension" in str(run("bounds", n=60))
    assert true is not bounds.theorems.vc_bound


def test_true_error_of_a_threshold_against_simulation():
    rng = np.random.default_rng(0)
    for _ in range(10):
        x, y = bounds.thresholded(8, 0.3, rng)
        rule = outsample.StumpClassifier().fit(x[:, None], y)
        x_new, y_new = bounds.thresholded(40_000, 0.3, rng)
        simulated = (rule.predict(x_new[:, None]) != y_new).mean()
        assert abs(bounds.true_error(rule, 0.3) - simulated) < 4 * 0.5 / 200


@pytest.mark.parametrize("simulation", [coverage.regression(60, 3), coverage.classification(80, 3)])
def test_true_errors_of_simulations_against_a_huge_sample(simulation):
    model = simulation.learner.fit(*simulation.draw(np.random.default_rng(0)))
    rng = np.random.default_rng(1)
    parts = [simulation.draw(rng) for _ in range(2000)]
    X, y = np.vstack([x for x, _ in parts]), np.concatenate([labels for _, labels in parts])
    apart = y - model.predict(X)
    loss = apart**2 if isinstance(model, LinearRegression) else apart != 0
    assert simulation.true_error(model) == pytest.approx(loss.mean(), rel=0.03)


def test_the_expected_error_of_least_squares_against_closed_form(monkeypatch):
    """σ² (1 + 1/n)(n − 2)/(n − p − 2) for Gaussian x; the bias of an estimate is counted from it."""
    n, p = 60, 10
    monkeypatch.setitem(coverage.SIMULATIONS, "regression", lambda: coverage.regression(n, p))
    table = coverage.coverage_of("regression", Options(2, jobs=1), {"loo": (outsample.LeaveOneOut(), "normal")})
    places = np.random.SeedSequence([0, 0])
    seeds = [np.random.SeedSequence(places.entropy, spawn_key=(k,)) for k in (0, 1)]
    sets = [coverage.regression(n, p).draw(np.random.default_rng(seed)) for seed in seeds]
    estimates_ = [outsample.estimate(LinearRegression(), *data, criterion="loo").out_sample for data in sets]
    truth = (1 + 1 / n) * (n - 2) / (n - p - 2)
    assert np.mean(estimates_) - table["loo"]["bias"][0] == pytest.approx(truth, rel=0.02)


def test_endless_and_empty_intervals_are_judged_so():
    options, holdout = Options(3, jobs=1), outsample.HoldOut()
    sure = coverage.coverage_of("classification", options, {"sure": (holdout, "hoeffding")}, 1 - 1e-9)["sure"]
    never = coverage.coverage_of("classification", options, {"never": (holdout, "normal")}, 1e-9)["never"]
    assert sure["this model"][0] == sure["expected"][0] == 1.0
    assert never["this model"][0] == never["expected"][0] == 0.0


# Regrets --------------------------------------------------------------------------------------------------------------


def test_table_6_on_one_set(data_home):
    result = run("table6", n=24, data=str(data_home), sets=("mammographic_mass",))
    trees = {m: result.value(regrets.PER_NODE, m) for m in ("LOO-CV", "10-fold", "Perm.", "Rad.")}
    assert abs(trees["Perm."].ours - 0.06) <= 0.06
    assert trees["Perm."].ours < trees["LOO-CV"].ours
    assert all(finding.ours >= 0 for finding in result.findings)
    assert trees["Perm."].paper == 0.06


@pytest.mark.parametrize("learner", [regrets.PER_NODE, regrets.NEIGHBOURS])
def test_columns_of_tables_5_and_7_and_of_imbalance_against_searches(learner):
    """What stands under the name of a method was chosen by its criterion, ties to the largest value."""
    problem, own = plane_problem(0.2), regrets.LEARNERS[learner]
    row = regrets.one_split(regrets.Work(problem, "a", learner, regrets.ON_THE_PLANE), 0, 0)
    rng = regrets.generator(0, regrets.zlib.crc32(b"a"), 0)
    X, y = problem.sample(regrets.N_POINTS, rng)
    options = {"rule": lambda curve: 0, "random_state": int(rng.integers(2**31)), "refit": False}
    wanted = [outsample.LeaveOneOut(), outsample.Permutation(30), outsample.Rademacher(30)]
    assert regrets.ON_THE_PLANE(0).keys() == {"LOO-CV": 0, "Perm.": 0, "Rad.": 0}.keys()
    chosen = []
    for criterion in wanted:
        curve = outsample.GridSearch(own.estimator, own.grid, criterion=criterion, **options).fit(X, y).curve_
        values = np.array([params[own.parameter] for params in curve.params])
        chosen.append(values[curve.out_sample <= curve.out_sample.min() + 1e-12].max())
    assert row[4:].tolist() == chosen
    assert len(set(chosen)) > 1


def test_findings_stand_beside_the_printed_number_of_their_method_and_case():
    errors = np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.4, 0.6, 0.6]])
    methods = ("LOO-CV", "Perm.", "Rad.")
    cases = {("WDBC", le): regrets.Regrets(methods, errors, np.empty(0)) for le in (regrets.PER_NODE, "k-NN")}
    found = {(f.quantity, f.method): f for f in regrets.findings_of(cases, regrets._paper(regrets.TABLE5), judged=True)}
    printed = {regrets.PER_NODE: (0.20, 0.23, 0.34), "k-NN": (0.21, 0.34, 0.51)}
    for learner, numbers in printed.items():
        for method, paper, ours in zip(methods, numbers, (0.5, 1.25, 1.5), strict=True):
            finding = found[learner, method]
            assert (finding.case, finding.paper, finding.ours) == ("WDBC", paper, pytest.approx(ours))
            assert finding.band == pytest.approx(0.005 + 3 * finding.standard_error)


def test_few_splits_decide_nothing():
    errors = np.tile([[0.1, 0.1, 0.2]], (4, 1)) + np.random.default_rng(0).random((4, 1)) / 100
    found = {("a", "k-NN"): regrets.Regrets(("A", "B"), errors, np.empty(0))}
    assert "undecided: a" in next(regrets.claim_lines([("k-NN", "A", "B")], found))
    many = {("a", "k-NN"): regrets.Regrets(("A", "B"), np.tile(errors, (10, 1)), np.empty(0))}
    assert "holds: a" in next(regrets.claim_lines([("k-NN", "A", "B")], many))
    assert "fails: a" in next(regrets.claim_lines([("k-NN", "B", "A")], many))


def test_what_leave_one_out_chooses_against_a_search(data_home):
    data, learner = load("parkinsons", data_home), regrets.LEARNERS[regrets.NEIGHBOURS]
    work = regrets.Work(
        data, "parkinsons", regrets.NEIGHBOURS, lambda n: {"loo": outsample.LeaveOneOut()}, largest=False
    )
    _, error, value = regrets.one_split(work, 0, 0)
    order = regrets.generator(0, regrets.zlib.crc32(b"parkinsons"), 0).permutation(len(data.y))
    train, test = order[: 3 * len(order) // 4], order[3 * len(order) // 4 :]
    search = outsample.GridSearch(learner.estimator, learner.grid, criterion="loo").fit(data.X[train], data.y[train])
    assert search.best_params_["n_neighbors"] == value
    assert error == np.mean(search.predict(data.X[test]) != data.y[test])


def test_the_true_error_of_a_choice_against_the_problem_itself():
    problem = plane_problem(0.1, 0.2)
    work = regrets.Work(problem, "a", regrets.NEIGHBOURS, lambda n: {"loo": outsample.LeaveOneOut()})
    best, error, value = regrets.one_split(work, 0, 0)
    X, y = problem.sample(regrets.N_POINTS, regrets.generator(0, regrets.zlib.crc32(b"a"), 0))
    model = regrets.LEARNERS[regrets.NEIGHBOURS].estimator.set_params(n_neighbors=int(value)).fit(X, y)
    assert error == pytest.approx(problem.true_risk(model.predict, regrets.GRID_SIDE))
    assert best <= error


def test_noise_and_imbalance_at_one_level(monkeypatch):
    monkeypatch.setattr(regrets, "NOISE_LEVELS", {20: (0.28, 0.26, 0.26)})
    monkeypatch.setattr(regrets, "SHARES", (20,))
    table7 = run("table7", n=1)
    assert len(table7.findings) == 12
    assert all(finding.ours >= 0 and finding.agrees == "" for finding in table7.findings)
    assert table7.value("k-NN", "Rad.").paper == 0.26
    assert {finding.case for finding in run("imbalance", n=1).findings} == {"20 % positive"}


def test_bounds_choose_smaller_trees_than_estimates():
    found = run("selection", n=2)
    leaves = {name: found.value("leaves chosen", name).ours for name in regrets.BY_BOUND}
    assert leaves["Perm. bound"] <= leaves["Perm."]
    assert all(finding.ours >= -1e-9 for finding in found.findings)
    assert any("regret than the estimate itself" in note for note in found.notes)


def test_figure_5_permutation_is_smoother(data_home):
    result = run("figure5", n=20, data=str(data_home), sets=("blood_transfusion",))
    for learner in (regrets.PER_NODE, regrets.NEIGHBOURS):
        rough = {m: result.value("roughness", m, learner).ours for m in ("LOO-CV", "Perm.")}
        assert rough["Perm."] < rough["LOO-CV"]


@pytest.mark.skipif("OUTSAMPLE_DATA" not in os.environ, reason="OUTSAMPLE_DATA names no folder of the paper's data")
def test_the_data_are_those_of_table_2():
    counts = [f for f in run("table2").findings if f.quantity in ("rows", "columns")]
    assert len(counts) == 2 * len(pictures.TABLE2)
    assert all(f.agrees == "yes" for f in counts)


# Results and the command ----------------------------------------------------------------------------------------------


def test_agreement_is_marked_by_the_band():
    rows = [Finding("q", "c", m, 1.0, 0.1, paper, 0.05) for m, paper in (("A", 1.04), ("B", 1.06), ("C", np.nan))]
    result = Result("name", "title", tuple(rows))
    assert result.to_frame()["agrees"].tolist() == ["yes", "no", ""]
    expected = ["1.00±.100", "[1.04]", "✓", "1.00±.100", "[1.06]", "✗", "1.00±.100"]
    assert str(result).splitlines()[2].split()[2:] == expected
    assert number(float("nan")) == "–"
    with pytest.raises(KeyError, match="no 'q' of 'D'"):
        result.value("q", "D")


@pytest.mark.parametrize("name", ["table3", "table4", "figure6", "table5", "table6"])
def test_the_marks_of_stored_tables_against_their_numbers(name):
    """✓ within half a unit of the last printed digit and three standard errors, in the table as in its text."""
    home = HERE.parents[1] / "docs" / "reproduced"
    if not home.is_dir():
        pytest.skip("the documents are not beside the tests")
    kept = pd.read_csv(home / f"{name}.csv").fillna({"case": "", "agrees": ""})
    judged = kept[kept["agrees"] != ""]
    assert len(judged) >= 4
    half = 0.005 if name in ("table5", "table6") else judged["paper"].map(half_a_digit)
    near = (judged["ours"] - judged["paper"]).abs() <= half + 3 * judged["standard_error"]
    assert (near == (judged["agrees"] == "yes")).all()
    rows = kept.drop(columns="agrees").itertuples(index=False)
    assert text_table(Finding(*row) for row in rows) in (home / f"{name}.txt").read_text(encoding="utf-8")


def test_a_method_has_one_colour_in_all_panels_and_the_legend():
    """The k-NN panel of Table 6 has no 10-fold, so that the colours after it would move on."""
    held = [("trees", "LOO-CV"), ("trees", "10-fold"), ("trees", "Perm."), ("k-NN", "LOO-CV"), ("k-NN", "Perm.")]
    figure = Figure()
    drawn([Finding(learner, "Pima", method, 0.1, 0.01, 0.2) for learner, method in held], "regret")(figure)
    colours = {}
    for ax in figure.axes:
        for container in ax.containers:
            colours.setdefault(container.get_label(), set()).add(container.lines[0].get_color())
    assert [len(found) for found in colours.values()] == [1, 1, 1]
    assert len(set.union(*colours.values())) == 3
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["LOO-CV", "10-fold", "Perm.", PRINTED]


def test_the_command_writes_table_text_and_picture(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["table3", "-n", "300", "--jobs", "1", "--out", "here"]) == 0
    printed = capsys.readouterr().out
    assert "[9.29]" in printed
    assert Path("here/table3.txt").read_text() == printed
    assert len(pd.read_csv("here/table3.csv")) == 32
    assert main(["table4", "--quick", "-n", "200", "--jobs", "1"]) == 0
    assert "200 trials" in capsys.readouterr().out
    assert Path("reproduced/table4.png").stat().st_size > 5000


def test_the_command_lists_refuses_and_says_what_failed(tmp_path, monkeypatch, capsys):
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in STUDIES)
    assert main(["table9"]) == 2
    assert "there is no study 'table9': use one of" in capsys.readouterr().err
    assert main(["table4", "-n", "0"]) == 1
    assert "n must be a whole number of at least 1, got 0" in capsys.readouterr().err
    assert main(["table6", "-n", "1", "--sets", "pimo"]) == 1
    assert "sets: 'pimo' is unknown" in capsys.readouterr().err
    ran = []
    known = dict(DECLARED)
    DECLARED.clear()
    try:

        @study("units", n=9, quick={"n": 2})
        def works(options):
            """Works."""
            ran.append((options.n, options.seed, options.store))
            return Result("works", "done", (Finding("q", "c", "m", 1.0),))

        @study("units", n=9, quick={})
        def fails(options):
            """Fails."""
            raise ValueError("no data")

        monkeypatch.chdir(tmp_path)
        assert main(["all", "--quick", "--seed", "3", "--store", "kept"]) == 1
    finally:
        DECLARED.clear()
        DECLARED.update(known)
    assert ran == [(2, 3, "kept/works.sqlite")]
    assert "fails could not be run: no data" in capsys.readouterr().err


def test_sets_that_cannot_be_had_are_left_out_by_name(tmp_path):
    (tmp_path / "wdbc.csv").write_text("a,target\n1,0\n")
    found = run("table2", data=str(tmp_path))
    assert found.findings == ()
    assert sum("is left out" in note for note in found.notes) == 8


# Killed studies -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def killed():
    spec = importlib.util.spec_from_file_location("killed_study", HERE / "killed_study.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def units(store):
    """What the store holds, by unit."""
    if not store.exists():
        return {}
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        try:
            return dict(connection.execute("SELECT name, rowid FROM units").fetchall())
        except sqlite3.OperationalError:
            return {}


@pytest.mark.parametrize("kind", ["table4", "splits"])
def test_killed_and_resumed_to_the_last_digit(kind, killed, tmp_path):
    store, root = tmp_path / "study.sqlite", str(HERE.parents[1])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(HERE / "killed_study.py"), str(store), kind]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": path})
    while len(units(store)) < 3 and child.poll() is None:
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    kept = units(store)
    assert 3 <= len(kept) < (killed.N_SPLITS if kind == "splits" else killed.N_TRIALS // BLOCK)
    resumed = killed.table_of(str(store), kind, jobs=2 if kind == "table4" else 1)
    assert resumed == killed.table_of(None, kind)
    # A unit that is put again gets a new row: those kept before are still where they were.
    assert units(store).items() >= kept.items()


def test_a_store_of_another_seed_is_refused(tmp_path):
    store = str(tmp_path / "study.sqlite")
    run("table4", n=100, seed=0, store=store)
    with pytest.raises(ValueError, match="other seed"):
        run("table4", n=100, seed=1, store=store)
