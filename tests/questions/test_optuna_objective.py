from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes, make_classification
from sklearn.linear_model import PoissonRegressor, Ridge
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from outsample import PairedPruner, optuna_objective
from outsample.questions.optuna_objective import clearly_positive

optuna = pytest.importorskip("optuna")
optuna.logging.set_verbosity(optuna.logging.ERROR)
distributions = optuna.distributions

X, Y = make_classification(300, 8, n_informative=4, flip_y=0.1, random_state=0)
TREE = DecisionTreeClassifier(random_state=0)
LEAVES = {"max_leaf_nodes": distributions.IntDistribution(2, 40)}


def study_of(objective, n_trials=6, pruner=None, n_jobs=1, enqueued=()):
    sampler = optuna.samplers.RandomSampler(seed=0)
    pruner = pruner or optuna.pruners.NopPruner()
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    for params in enqueued:
        study.enqueue_trial(params)
    study.optimize(objective, n_trials=n_trials, n_jobs=n_jobs)
    return study


def states(study):
    return [trial.state.name for trial in study.trials]


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc", "neg_log_loss", "f1"])
def test_values_against_cross_val_score(scoring):
    objective = optuna_objective(TREE, X, Y, LEAVES, scoring=scoring, random_state=0, cv=4)
    folds = [(fold.train, fold.test) for fold in objective.splits.folds]
    for trial in study_of(objective, 3).trials:
        theirs = cross_val_score(TREE.set_params(**trial.params), X, Y, scoring=scoring, cv=folds)
        assert trial.value == pytest.approx(theirs.mean(), abs=1e-12)
        running = np.cumsum(theirs) / np.arange(1, 5)
        np.testing.assert_allclose([trial.intermediate_values[k] for k in range(4)], running, atol=1e-12)


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_regression_against_cross_val_score(scoring):
    X, y = load_diabetes(return_X_y=True)
    model = make_pipeline(StandardScaler(), Ridge())
    space = {"ridge__alpha": distributions.FloatDistribution(1e-3, 1e3, log=True)}
    objective = optuna_objective(model, X, y, space, scoring=scoring, cv=KFold(3), random_state=0)
    for trial in study_of(objective, 2).trials:
        theirs = cross_val_score(model.set_params(**trial.params), X, y, scoring=scoring, cv=KFold(3))
        assert trial.value == pytest.approx(theirs.mean(), abs=1e-10)


def test_a_loss_is_reported_as_minus_itself():
    objective = optuna_objective(TREE, X, Y, LEAVES, loss="log", cv=3, random_state=0)
    folds = [(fold.train, fold.test) for fold in objective.splits.folds]
    trial = study_of(objective, 1).trials[0]
    theirs = cross_val_score(TREE.set_params(**trial.params), X, Y, scoring="neg_log_loss", cv=folds)
    assert trial.value == pytest.approx(theirs.mean(), abs=1e-9)


def test_folds_are_shuffled_stratified_seeded_and_the_same_for_all_trials():
    first, again, other = (optuna_objective(TREE, X, Y, LEAVES, random_state=seed) for seed in (0, 0, 1))
    assert len(first.splits) == 10
    assert first.splits.same_tests(again.splits)
    assert not first.splits.same_tests(other.splits)
    shares = [Y[fold.test].mean() for fold in first.splits.folds]
    assert np.ptp(shares) <= 1 / 30 + 1e-12
    assert not np.array_equal(np.sort(first.splits.folds[0].test), np.arange(30))


SEEN = []


class Recorder(ClassifierMixin, BaseEstimator):
    """Notes which rows it was fitted to and asked about; the first column numbers them."""

    def __init__(self, answer=0):
        self.answer = answer

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        SEEN.append([set(X[:, 0])])
        return self

    def predict(self, X):
        SEEN[-1].append(set(X[:, 0]))
        return np.full(len(X), self.answer)


def test_no_row_is_tested_that_was_trained_on():
    SEEN.clear()
    numbered = np.arange(60.0)[:, None]
    y = np.arange(60) % 3 // 2
    space = {"answer": distributions.CategoricalDistribution([0, 1])}
    objective = optuna_objective(Recorder(), numbered, y, space, cv=5, random_state=0)
    study_of(objective, 3)
    assert len(SEEN) == 15
    for k, (trained, tested) in enumerate(SEEN):
        assert not trained & tested
        assert tested == set(objective.splits.folds[k % 5].test)


@pytest.mark.parametrize(
    "pruner", [optuna.pruners.MedianPruner(n_startup_trials=1), optuna.pruners.ThresholdPruner(lower=0.8)]
)
def test_any_pruner_prunes(pruner):
    space = {"answer": distributions.CategoricalDistribution([0, 1])}
    y = np.repeat([0, 1], [90, 10])
    objective = optuna_objective(Recorder(), np.arange(100.0)[:, None], y, space, random_state=0)
    study = study_of(objective, 3, pruner, enqueued=[{"answer": 0}, {"answer": 1}, {"answer": 0}])
    assert states(study) == ["COMPLETE", "PRUNED", "COMPLETE"]
    assert len(study.trials[1].intermediate_values) < 10
    assert study.best_params == {"answer": 0}


@pytest.mark.parametrize(("scoring", "learner"), [(None, "tree"), ("roc_auc", "tree"), (None, "ridge")])
def test_the_paired_rule_prunes_what_is_clearly_worse(scoring, learner):
    if learner == "tree":
        model, data, space = TREE, (X, Y), LEAVES
        best, worst = {"max_leaf_nodes": 20}, {"max_leaf_nodes": 2}
    else:
        model, data = Ridge(), load_diabetes(return_X_y=True)
        space = {"alpha": distributions.FloatDistribution(1e-3, 1e6, log=True)}
        best, worst = {"alpha": 0.1}, {"alpha": 1e5}
    objective = optuna_objective(model, *data, space, scoring=scoring, random_state=0)
    study = study_of(objective, 3, PairedPruner(objective), enqueued=[best, worst, best])
    assert states(study) == ["COMPLETE", "PRUNED", "COMPLETE"]
    assert len(study.trials[1].intermediate_values) < 10


def test_the_paired_rule_keeps_what_is_better_or_as_good():
    objective = optuna_objective(TREE, X, Y, LEAVES, random_state=0)
    study = study_of(objective, 3, PairedPruner(objective), enqueued=[{"max_leaf_nodes": m} for m in (2, 20, 20)])
    assert states(study) == ["COMPLETE"] * 3


def test_clearly_positive_against_the_definition():
    rng = np.random.default_rng(0)
    d = rng.normal(0.1, 1, 200)
    z = d.mean() / (d.std(ddof=1) / np.sqrt(200))
    assert clearly_positive(d, None, z - 0.05)
    assert not clearly_positive(d, None, z + 0.05)
    assert not clearly_positive(np.zeros(50), None, 1.28)
    assert not clearly_positive(-d, None, 0.1)
    two_of_fifty = np.zeros(50)
    two_of_fifty[:2] = 1.0
    assert not clearly_positive(two_of_fifty, None, 1.28)
    assert clearly_positive(np.repeat(d, 3)[:300], None, 0.5) == clearly_positive(d[:100], np.full(100, 3.0), 0.5)


def test_losses_of_rows_are_kept():
    objective = optuna_objective(TREE, X, Y, LEAVES, cv=5, random_state=0)
    study = study_of(objective, 2)
    for trial in study.trials:
        losses = objective.losses(trial)
        assert losses.shape == (300,)
        assert trial.value == pytest.approx(1 - np.mean([losses[fold.test].mean() for fold in objective.splits.folds]))
    study_of(objective, 1)
    with pytest.raises(ValueError, match="2 studies"):
        objective.losses(0)
    assert np.array_equal(objective.losses(0, study), objective.losses(study.trials[0], study))


def test_losses_of_rows_by_scorers_of_whole_folds():
    # The rows of a fold have its risk plus their influence on it, so that their mean is the score of the fold.
    by_ranks = optuna_objective(TREE, X, Y, LEAVES, scoring="roc_auc", cv=5, random_state=0)
    trial = study_of(by_ranks, 1).trials[0]
    losses = by_ranks.losses(trial)
    assert losses.shape == (300,)
    assert trial.value == pytest.approx(-np.mean([losses[fold.test].mean() for fold in by_ranks.splits.folds]))
    strength = {"alpha": distributions.FloatDistribution(0.1, 1.0)}
    own_score = optuna_objective(PoissonRegressor(), X, Y, strength, cv=5, random_state=0)
    trial = study_of(own_score, 1).trials[0]
    assert own_score.losses(trial).shape == (5,)
    assert trial.value == pytest.approx(-own_score.losses(trial).mean())


def test_threads_weights_groups_and_a_function_as_space():
    def space(trial):
        kernel = trial.suggest_categorical("kernel", ["linear", "rbf"])
        return {"kernel": kernel, "C": trial.suggest_float("C", 0.1, 10, log=True)}

    groups, weight = np.arange(300) // 10, np.random.default_rng(0).uniform(0, 1, 300)
    given = {"groups": groups, "sample_weight": weight, "random_state": 0}
    objective = optuna_objective(SVC(), X, Y, space, cv=GroupKFold(4), **given)
    assert all(not set(groups[fold.train]) & set(groups[fold.test]) for fold in objective.splits.folds)
    study = study_of(objective, 8, PairedPruner(objective), n_jobs=2)
    assert len(study.trials) == 8
    trial = study.best_trial
    model = SVC(**trial.params)
    scores = []
    for fold in objective.splits.folds:
        model.fit(X[fold.train], Y[fold.train], sample_weight=weight[fold.train])
        scores.append(model.score(X[fold.test], Y[fold.test], sample_weight=weight[fold.test]))
    assert trial.value == pytest.approx(np.mean(scores), abs=1e-12)


def test_bad_input_is_told_before_any_fit():
    with pytest.raises(ValueError, match="scoring and loss"):
        optuna_objective(TREE, X, Y, LEAVES, scoring="f1", loss="log")
    with pytest.raises(ValueError, match="space"):
        optuna_objective(TREE, X, Y, [])
    with pytest.raises(ValueError, match="cv"):
        optuna_objective(TREE, X, Y, LEAVES, cv=1)
    objective = optuna_objective(TREE, X, Y, LEAVES)
    with pytest.raises(ValueError, match="maximize"):
        optuna.create_study().optimize(objective, n_trials=1)
    with pytest.raises(TypeError, match="optuna_objective"):
        PairedPruner(lambda trial: 0.0)
    with pytest.raises(ValueError, match="z must"):
        PairedPruner(objective, z=-1)
    assert isinstance(PairedPruner(objective), optuna.pruners.BasePruner)


def test_optuna_is_imported_when_used_only():
    code = (
        "import sys, outsample; outsample.optuna_objective, outsample.PairedPruner; assert 'optuna' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
