"""`outsample models`: which learner?"""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import outsample


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "iris.csv"
    load_iris(as_frame=True).frame.to_csv(path, index=False)
    return path


def test_against_python(command, iris):
    code, out, _ = command(
        *("models", iris, "--target", "target", "--models", "naive-bayes,knn"),
        *("--scoring", "neg_log_loss", "--folds", "5", "--seed", "3", "--json"),
    )
    assert code == 0
    said = json.loads(out)
    learners = {"naive-bayes": GaussianNB(), "knn": make_pipeline(StandardScaler(), KNeighborsClassifier())}
    X, y = load_iris(return_X_y=True)
    ours = outsample.compare_models(learners, X, y, scoring="neg_log_loss", cv=5, random_state=3)
    assert [model["model"] for model in said["models"]] == list(learners)
    assert [model["estimate"] for model in said["models"]] == ours.to_frame().estimate.tolist()
    assert [tuple(pair["interval"]) for pair in said["differences"]] == ours.differences().interval.tolist()
    assert said["best"] == ours.best
    assert said["plausible"] == ours.plausible
    assert said["asked"]["model"] == "naive-bayes,knn"


def test_text_report_and_plot(command, iris, tmp_path):
    report, plot = tmp_path / "report.html", tmp_path / "models.svg"
    code, out, err = command(
        *("models", iris, "--target", "target", "--models", "knn,constant", "--folds", "3"),
        *("--report", report, "--plot", plot),
    )
    assert code == 0
    assert "standardised inside the pipeline of knn" in err
    assert "knn is the best" in out
    assert "p = " in out.splitlines()[-1]
    assert "Which learner?" in report.read_text(encoding="utf-8")
    assert plot.stat().st_size > 1000


def test_numbers_to_predict_weights_and_groups(command, tmp_path):
    frame = load_diabetes(as_frame=True).frame.iloc[:120]
    frame = frame.assign(group=np.arange(120) // 3, weight=1.0, kind=np.resize(["a", "b"], 120))
    frame.to_csv(tmp_path / "table.csv", index=False)
    code, out, err = command(
        *("models", tmp_path / "table.csv", "--target", "target", "--models", "linear,constant", "--folds", "4"),
        *("--groups", "group", "--weights", "weight"),
    )
    assert code == 0, err
    assert out.startswith("Use      linear")
    assert err.count("categories become one column each") == 1


@pytest.mark.parametrize(
    ("models", "sentence"),
    [
        ("knn,knn", "different learners"),
        (",", "different learners"),
        ("tre", "did you mean 'tree'"),
        ("lasso", "does not do classification"),
    ],
)
def test_bad_models(command, iris, models, sentence):
    code, _, err = command("models", iris, "--target", "target", "--models", models)
    assert code == 2
    assert sentence in err


def test_quiet_says_nothing_but_the_answer(command, iris):
    code, _, err = command(
        "models", iris, "--target", "target", "--models", "knn,constant", "--folds", "3", "--quiet", "--scale"
    )
    assert (code, err) == (0, "")
