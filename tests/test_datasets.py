"""Loaders check what they load; simulated problems know their own error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from outsample import datasets
from outsample.datasets import DATASETS, friedman_problem, legendre_problem, load, plane_problem


@pytest.mark.parametrize("name", DATASETS)
def test_sizes_of_table_2(name, data_home):
    data = load(name, data_home)
    assert data.X.shape == (DATASETS[name].n, DATASETS[name].d)
    assert data.y.mean() == pytest.approx(DATASETS[name].positive, abs=0.001)


def test_folder_from_the_environment(data_home, monkeypatch):
    monkeypatch.setenv("OUTSAMPLE_DATA", str(data_home))
    assert len(load("wdbc").y) == 569


def test_other_sizes_are_refused(tmp_path):
    (tmp_path / "pima.csv").write_text("a,target\n1,0\n2,1\n")
    with pytest.raises(ValueError, match="768 × 8"):
        load("pima", tmp_path)


def test_labels_that_are_turned_round_are_refused(tmp_path):
    X, y = np.zeros((351, 34)), np.arange(351) < 0.359 * 351
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "ionosphere.csv", table, delimiter=",", header=",".join("x" * 35), comments="")
    with pytest.raises(ValueError, match=r"share 0\.641"):
        load("ionosphere", tmp_path)


def test_what_cannot_be_loaded_is_said_in_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="never made public"):
        load("Diffusion")
    with pytest.raises(ValueError, match="data set 'iris' is unknown: use one of abalone"):
        load("iris")
    with pytest.raises(ValueError, match=r"no wdbc\.csv"):
        load("wdbc", tmp_path)
    monkeypatch.delenv("OUTSAMPLE_DATA", raising=False)
    with pytest.raises(ValueError, match="OpenML has no complete copy"):
        load("mammographic_mass")


def test_tables_of_openml_become_plain_numbers(monkeypatch):
    """As OpenML tells of abalone: a column of letters, and rings as categories."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((4177, 7)), columns=[f"x{i}" for i in range(7)])
    table.insert(0, "Sex", "M")
    rings = pd.Series(np.where(np.arange(4177) < 2081, 10, 9).astype(str), dtype="category")
    found = type("Found", (), {"data": table, "target": rings})
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: found)
    monkeypatch.delenv("OUTSAMPLE_DATA", raising=False)
    data = datasets.load("abalone")
    assert data.X.dtype == np.float64
    assert data.y.sum() == 2081


def test_legendre_risk_against_simulation():
    problem = legendre_problem(max_degree=4, random_state=5)
    weights = np.array([0.3, -0.2, 0.5, 0.1, 0.0, 0.7])
    X, y = problem.sample(400_000, random_state=1)
    losses = (y - np.polynomial.legendre.legval(X[:, 0], weights)) ** 2
    error = losses.std() / np.sqrt(len(losses))
    assert problem.true_risk(weights) == pytest.approx(losses.mean(), abs=4 * error)
    by_quadrature = problem.true_risk_of(lambda X: np.polynomial.legendre.legval(X[:, 0], weights))
    assert problem.true_risk(weights) == pytest.approx(by_quadrature, rel=1e-12)


@pytest.mark.parametrize("positive_share", [0.5, 0.2])
def test_plane_risk_against_simulation(positive_share):
    problem = plane_problem(noise=0.15, positive_share=positive_share)
    model = KNeighborsClassifier(7).fit(*problem.sample(300, random_state=0))
    X, y = problem.sample(20_000, random_state=1)
    rate = np.mean(model.predict(X) != y)
    assert problem.true_risk(model.predict) == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / len(y)))
    assert problem.true_risk(problem.region) == pytest.approx(0.15)
    assert np.mean(problem.region(X)) == pytest.approx(positive_share, abs=0.015)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_friedman_risk_against_simulation(kind):
    problem = friedman_problem(kind, noise=0.3)
    model = KNeighborsRegressor(3).fit(*problem.sample(200, random_state=0))
    X, y = problem.sample(5000, random_state=1)
    losses = (y - model.predict(X)) ** 2
    error = losses.std() / np.sqrt(len(losses))
    assert problem.true_risk(model.predict, n=5000) == pytest.approx(losses.mean(), abs=5 * error)


def test_problems_refuse_what_they_are_not():
    with pytest.raises(ValueError, match="noise"):
        plane_problem(noise=0.5)
    with pytest.raises(ValueError, match="kind"):
        friedman_problem(4)
