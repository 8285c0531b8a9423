"""Compiled trials against plain linear algebra, and the paper's numbers from a short run."""

from __future__ import annotations

import numpy as np
import pytest

from compiler_switch import printed_with_and_without_compiler
from outsample import penalties
from outsample._kernels import legendre
from outsample.datasets import LegendreProblem
from outsample.studies.legendre import BLOCK, ORDER, RIDGE, Setting, draw_trials, trials
from outsample.studies.polynomials import figure3, figure6, table3, table4
from outsample.studies.two_fits import table1

N_SHORT = 20_000


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


def one_trial(setting, seed):
    """(data of one trial, table of its estimates by hand)."""
    x, noise, coefficients, variance = draw_trials(np.random.default_rng(seed), 1, setting.n, setting.highest)
    problem = LegendreProblem(coefficients[0], float(variance[0]))
    y = np.polynomial.legendre.legval(x[0], coefficients[0]) + np.sqrt(variance[0]) * noise[0]
    table = []
    for model in setting.models:
        degree, penalty = (int(model), 0.0) if setting.name == "order" else (5, model)
        X = np.polynomial.legendre.legvander(x[0], degree)
        solver = np.linalg.solve(X.T @ X + penalty * np.eye(degree + 1), X.T)
        table.append(estimates_by_hand(X @ solver, y, solver @ y, problem))
    return (x, noise, coefficients, variance), np.array(table)


@pytest.mark.parametrize("setting", [ORDER, RIDGE], ids=["order", "ridge"])
def test_kernels_against_whole_matrices(setting):
    sets = np.array(list(setting.sets.values()))
    for seed in range(4):
        data, table = one_trial(setting, seed)
        positions, regrets = np.empty((1, len(sets), 4), np.int16), np.empty((1, len(sets), 4), np.float32)
        sums = np.zeros((2, len(setting.models), 5))
        if setting.name == "order":
            legendre.order_trials(*data, len(setting.models), sets, positions, regrets, sums)
        else:
            legendre.ridge_trials(*data, 6, setting.models, sets, positions, regrets, sums)
        np.testing.assert_allclose(sums[0], table, rtol=1e-6)
        np.testing.assert_allclose(sums[1], table**2, rtol=1e-6)
        for s, (first, end) in enumerate(sets):
            chosen = first + table[first:end, :4].argmin(axis=0)
            np.testing.assert_array_equal(positions[0, s], chosen)
            best = table[first:end, 4].min()
            np.testing.assert_allclose(regrets[0, s], (table[chosen, 4] - best) / best, rtol=1e-4, atol=1e-6)


SCRIPT = """
import numpy as np
from outsample._kernels import legendre
from outsample.studies.legendre import draw_trials
data = draw_trials(np.random.default_rng(0), 2, 15, 5)
for kernel, more in ((legendre.order_trials, (4,)), (legendre.ridge_trials, (4, np.array([0.0, 0.1, 1.0, 9.0])))):
    positions, regrets = np.empty((2, 1, 4), np.int16), np.empty((2, 1, 4), np.float32)
    sums = np.zeros((2, 4, 5))
    kernel(*data, *more, np.array([[0, 4]]), positions, regrets, sums)
    print(positions.tolist(), [f"{v:.6g}" for v in np.concatenate([regrets.ravel(), sums.ravel()])])
"""


def test_same_trials_without_the_compiler():
    runs = printed_with_and_without_compiler(SCRIPT)
    assert runs[0] == runs[1]
    assert runs[0].count("\n") == 2


def test_targets_have_mean_square_one():
    _, _, coefficients, variance = draw_trials(np.random.default_rng(0), 40_000, 1, 10)
    mean_square = (coefficients**2 / (2 * np.arange(11) + 1)).sum(axis=1)
    assert mean_square.mean() == pytest.approx(1.0, abs=0.03)
    assert (variance > 0).all()
    assert (variance <= 1).all()


def test_same_trials_for_any_number_of_threads():
    one, two = (trials(RIDGE, 3 * BLOCK + 7, seed=3, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.regrets, two.regrets)
    np.testing.assert_array_equal(one.sums, two.sums)
    fewer = trials(RIDGE, BLOCK + 7, seed=3, n_jobs=1)
    np.testing.assert_array_equal(fewer.regrets, one.regrets[: BLOCK + 7])
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        trials(RIDGE, 0)


def test_standard_errors_of_moments_against_many_runs():
    """The jackknife over blocks tells how much means move from seed to seed."""
    small = Setting("order", 100, 3, np.arange(3.0), {"order": (0, 3)}, 7)
    runs = [trials(small, 4 * BLOCK, seed=s, n_jobs=1).moment(lambda sums: sums[..., 0, :, :]) for s in range(12)]
    spread = np.std([value for value, _ in runs], axis=0, ddof=1)
    told = np.mean([error for _, error in runs], axis=0)
    assert (np.abs(np.log(told / spread)) < np.log(2.5)).all()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """One store for all studies of these trials: only the first runs them."""
    return tmp_path_factory.mktemp("trials") / "trials.sqlite"


def within(result, quantity, expected, bands, case=None):
    for method, value, band in zip(("LOO-CV", "Perm.", "VC", "FPE"), expected, bands, strict=True):
        assert result.value(quantity, method, case).ours == pytest.approx(value, abs=band), (quantity, method)


def test_table_3_of_the_paper(store):
    result = table3.run(N_SHORT, store=store, n_jobs=2)
    within(result, "average order", (9.29, 7.21, 5.56, 11.42), (0.15, 0.12, 0.15, 0.18))
    within(result, "order regret", (0.965, 0.5, 0.64, 8.7), (0.3, 0.12, 0.2, 3.0), "1 % trimmed")
    within(result, "average λ/N", (23.1, 9.6, 125, 18.1), (2.0, 1.2, 4.0, 2.0))


def test_table_4_of_the_paper(store):
    result = table4.run(N_SHORT, store=store, n_jobs=2)
    within(result, "λ without 0 regret", (0.44, 0.39, 0.42, 0.87), (0.05, 0.06, 0.04, 0.08))
    trimmed = {m: result.value("λ without 0 regret", m, "1 % trimmed").ours for m in ("LOO-CV", "Perm.", "VC", "FPE")}
    assert min(trimmed, key=trimmed.get) == "Perm."
    assert max(trimmed, key=trimmed.get) == "FPE"


def test_figure_6_of_the_paper(store):
    result = figure6.run(N_SHORT, store=store, n_jobs=2)
    within(result, "bias²", (0.0, 0.221, 6.1, 0.421), (0.02, 0.03, 0.4, 0.04), "λ/N = 0.02")
    within(result, "variance", (3.83, 0.318, 9.06, 0.306), (0.9, 0.015, 0.5, 0.015), "λ/N = 0.02")


def test_figure_3_leave_one_out_is_nearly_unbiased(store):
    result = figure3.run(N_SHORT, store=store, n_jobs=2)
    for case in ("order 0", "order 2", "order 5", "λ/N 1.12", "λ/N 6.52"):
        loo, truth = (result.value("mean", method, case).ours for method in ("LOO-CV", "true error"))
        assert loo == pytest.approx(truth, rel=0.03)


def test_table_1_drawn_against_theorem_3():
    result = table1.run(20_000)
    for model in ("linear", "quartic"):
        drawn, exact = (result.value("ê_gen", model, case) for case in ("over permutations", "Theorem 3"))
        assert drawn.ours == pytest.approx(exact.ours, abs=4 * drawn.standard_error)
    assert "selects the linear fit; the linear fit is the better one" in str(result)


def test_the_permuted_numbers_of_the_slides_are_those_of_seven_points():
    result = table1.run(100)
    slides = [finding for finding in result.findings if finding.quantity == "slides"]
    assert len(slides) == 10
    assert all(finding.agrees == "yes" for finding in slides)
    # No other number of points gives both printed means of e_in within rounding, whatever the variance.
    fit = [n for n in range(6, 40) if 0.045 / 0.125 <= (1 - 4 / (n - 1)) / (1 - 1 / (n - 1)) <= 0.055 / 0.115]
    assert fit == [7]
