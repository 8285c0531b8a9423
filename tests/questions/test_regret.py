"""The regret study."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample.questions.regret import RegretStudy

LEARNERS = {
    "k-NN": (KNeighborsClassifier(), {"n_neighbors": range(1, 9)}),
    "tree": (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": range(2, 9)}),
}
WINE = {"wine": load_wine(return_X_y=True)}


def study(**settings):
    usual = {"criteria": ["permutation", "two-stage"], "n_splits": 3, "episodes": 4, "n_jobs": 1}
    return outsample.regret_study(LEARNERS, WINE, **(usual | settings))


def line_study(**settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    learners = {"ridge": (Ridge(), {"alpha": [0.1, 1.0, 100.0]})}
    usual = {"criteria": ["auto", "kfold"], "n_splits": 3, "loss": "absolute", "n_jobs": 1}
    return outsample.regret_study(learners, {"line": (X, X[:, 0] + rng.normal(size=60))}, **(usual | settings))


def test_numbers_do_not_depend_on_jobs_and_a_store_is_taken_up(tmp_path):
    alone, both = line_study(), line_study(n_jobs=2)
    file = tmp_path / "study.db"
    line_study(store=file, n_splits=1)
    resumed = line_study(store=file)
    assert alone.errors["ridge", "line"].shape == (3, 3)
    for case, errors in alone.errors.items():
        assert np.array_equal(errors, both.errors[case])
        assert np.array_equal(errors, resumed.errors[case])


def test_finished_splits_are_not_run_again(tmp_path, monkeypatch):
    file = tmp_path / "study.db"
    first = study(store=file)

    def refuse(*args, **kwargs):
        raise AssertionError("a finished split was run again")

    monkeypatch.setattr("outsample.questions.regret.compare", refuse)
    assert str(study(store=file)) == str(first)


def test_another_seed_is_refused_by_the_store(tmp_path):
    study(store=tmp_path / "study.db", n_splits=1)
    with pytest.raises(ValueError, match="store"):
        study(store=tmp_path / "study.db", n_splits=1, random_state=1)


def test_table_plot_and_text():
    found = study(criteria={"perm": "permutation", "folds": outsample.CrossValidation(3)})
    frame = found.to_frame()
    assert frame.index.names == ["learner", "data", "criterion"]
    assert frame.loc[("tree", "wine", "perm"), "n_fits"] == 5
    assert (frame["regret"] >= 0).all()
    assert found.baseline == "perm"
    assert (frame.xs("perm", level="criterion")["relative_error"] == 1).all()
    assert len(found.plot().patches) == 4
    assert "k-NN, wine" in str(found)
    assert "tree, mean regret" in str(found)


def test_regret_by_hand():
    errors = {("l", "a"): np.array([[0.1, 0.2, 0.1], [0.3, 0.3, 0.5]])}
    frame = RegretStudy(("kfold", "x"), "kfold", errors, {("l", "a"): np.ones(2)}).to_frame()
    assert frame["regret"].tolist() == pytest.approx([0.25, 0.5])
    assert frame["median_regret"].tolist() == pytest.approx([0.25, 0.5])
    assert frame["relative_error"].tolist() == pytest.approx([1.0, 1.2])


def test_no_error_at_all_is_no_regret():
    errors = {("l", "a"): np.zeros((3, 3))}
    found = RegretStudy(("kfold", "x"), "kfold", errors, {("l", "a"): np.ones(2)})
    assert (found.to_frame()["regret"] == 0).all()


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="n_splits"):
        study(n_splits=0)
    with pytest.raises(ValueError, match="criteria"):
        study(criteria="permutation")
    with pytest.raises(ValueError, match="criteria"):
        study(criteria=["kfold", "kfold"])
    with pytest.raises(ValueError, match="at least one"):
        outsample.regret_study({}, WINE)
