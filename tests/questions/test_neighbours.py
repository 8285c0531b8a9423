"""Packages that people use around GridSearchCV, used around GridSearch: skore, MLflow, and joblib's processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch, RandomizedSearch

# One column has an effect, and noise, so that the largest leaves are the best ones by far.
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = (X[:, 0] + 0.5 * RNG.normal(size=300) > 0).astype(int)
TREE, ROWS = DecisionTreeClassifier(random_state=0), {"min_samples_leaf": [1, 5, 40]}


# skore. What it and its dependencies warn of is theirs.


@pytest.fixture
def skore():
    return pytest.importorskip("skore", reason="the skore extra is not installed")


def checks(report):
    found = report.checks.summarize(fast_mode=True).frame().set_index("code")
    return {code: (found["section"][code], found["explanation"][code]) for code in ("SKD014", "SKD015")}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("options", [{}, {"cv": 3}, {"criterion": "permutation"}, {"criterion": "race"}])
def test_skore_reports_and_checks_a_fitted_search(skore, options):
    ours = GridSearch(TREE, ROWS, random_state=0, **options).fit(X[::2], Y[::2])
    theirs = GridSearchCV(TREE, ROWS).fit(X[::2], Y[::2])
    assert ours.best_params_ == theirs.best_params_ == {"min_samples_leaf": 40}
    mine, expected = (skore.EstimatorReport(each, X_test=X[1::2], y_test=Y[1::2]) for each in (ours, theirs))
    assert mine.metrics.accuracy() == ours.score(X[1::2], Y[1::2])
    assert checks(mine) == checks(expected)
    assert checks(mine)["SKD014"][0] == "issue"
    assert "min_samples_leaf (maximum)" in checks(mine)["SKD014"][1]
    assert checks(mine)["SKD015"][0] == "tip"
    assert "ccp_alpha" in checks(mine)["SKD015"][1]


@pytest.mark.filterwarnings("default")
def test_skore_fits_a_search_itself(skore):
    search = GridSearch(TREE, ROWS, random_state=0)
    report = skore.CrossValidationReport(search, X, Y, splitter=2)
    assert [type(each.estimator_) for each in report.reports_] == [GridSearch, GridSearch]
    assert checks(report)["SKD015"][0] == "tip"


# MLflow. It replaces methods of scikit-learn's classes for good, so it has a process of its own.

LOGGED = """
import json, sys
import mlflow, mlflow.sklearn
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from outsample import GridSearch, RandomizedSearch

folder = sys.argv[1]
mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
experiment = mlflow.create_experiment("swap", artifact_location=f"file://{folder}/artifacts")
mlflow.set_experiment("swap")
mlflow.sklearn.autolog(log_models=False, log_datasets=False, log_post_training_metrics=False, max_tuning_runs=None)
tree, leaves = DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 3, 30]}
searches = {
    "theirs": GridSearchCV(tree, leaves, cv=3),
    "cv": GridSearch(tree, leaves, cv=3),
    "default": GridSearch(tree, leaves, random_state=0),
    "permutation": GridSearch(tree, leaves, criterion="permutation", random_state=0),
    "nested": GridSearch(tree, leaves, criterion="kfold", honest="nested", random_state=0),
    "refitted": GridSearch(SVC(), {"C": [1, 2]}, criterion="race", random_state=0),
    "randomized": RandomizedSearch(tree, leaves, n_iter=2, cv=3, random_state=0),
}
X, y = load_iris(return_X_y=True)
client, told = mlflow.MlflowClient(), {}
for name, search in searches.items():
    with mlflow.start_run(run_name=name) as run:
        search.fit(X, y)
    children = client.search_runs([experiment], f"tags.mlflow.parentRunId = '{run.info.run_id}'")
    told[name] = {
        "scores": sorted(child.data.metrics["mean_test_score"] for child in children),
        "expected": sorted(search.cv_results_["mean_test_score"].tolist()),
        "names": sorted(set.intersection(*(set(child.data.metrics) for child in children))),
        "best": client.get_run(run.info.run_id).data.metrics["best_cv_score"],
        "best_score_": search.best_score_,
        "files": [file.path for file in client.list_artifacts(run.info.run_id)],
    }
told["runs"] = len(client.search_runs([experiment], "attributes.run_name != ''", max_results=1000))
mlflow.sklearn.save_model(searches["default"], f"{folder}/model", serialization_format="cloudpickle",
                          pip_requirements=["outsample"])
again = mlflow.sklearn.load_model(f"{folder}/model")
told["loaded"] = [type(again).__name__, bool((again.predict(X) == searches["default"].predict(X)).all())]
print(json.dumps(told))
"""


def test_mlflow_logs_a_run_for_every_setting(tmp_path):
    pytest.importorskip("mlflow", reason="the mlflow extra is not installed")
    environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", LOGGED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told.pop("loaded") == ["GridSearch", True]
    n_runs = told.pop("runs")
    assert n_runs == sum(1 + len(each["scores"]) for each in told.values())
    for each in told.values():
        assert each["scores"] == each["expected"]
        assert each["best"] == each["best_score_"]
        assert set(told["theirs"]["names"]) <= set(each["names"])
        assert "cv_results.csv" in each["files"]
    assert told["cv"]["scores"] == told["theirs"]["scores"]
    assert "standard_error" in told["permutation"]["names"]


# Processes of joblib, whichever its back end.


@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize("options", [{"cv": 3}, {"criterion": "kfold"}, {"criterion": "race"}, {}])
def test_back_ends_of_joblib_give_the_same_numbers(backend, options):
    model = make_pipeline(StandardScaler(), SVC())
    for Search, more in ((GridSearch, {}), (RandomizedSearch, {"n_iter": 2})):
        search = Search(model, {"svc__C": [0.1, 1.0, 10.0]}, random_state=0, **options, **more)
        alone = search.fit(X, Y).cv_results_["mean_test_score"]
        with joblib.parallel_config(backend=backend, n_jobs=2):
            found = search.fit(X, Y).cv_results_["mean_test_score"]
        np.testing.assert_array_equal(found, alone)
