"""`split`: three disjoint sets, and a test set that counts its looks."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import outsample
from outsample import split

RNG = np.random.default_rng(0)
X = RNG.normal(size=(203, 3))
NAMES = np.array(["a", "b", "c"])[RNG.choice(3, 203, p=[0.7, 0.25, 0.05])]
REAL = RNG.normal(size=203)


@pytest.fixture
def parts():
    return split(X, NAMES)


@pytest.fixture
def model(parts):
    return LogisticRegression().fit(parts.X_train, parts.y_train)


def test_sets_are_disjoint_and_of_the_asked_sizes(parts):
    assert (len(parts.train_rows), len(parts.validation_rows), len(parts.test)) == (121, 41, 41)
    assert not set(parts.train_rows) & set(parts.validation_rows)
    assert np.array_equal(parts.X_train, X[parts.train_rows])
    assert np.array_equal(parts.y_validation, NAMES[parts.validation_rows])
    counted = split(X, NAMES, 30, 50)
    assert (len(counted.train_rows), len(counted.validation_rows), len(counted.test)) == (123, 30, 50)


def test_every_class_has_its_share_rounded(parts):
    for name in "abc":
        share = np.mean(name == NAMES) * np.array([121, 41])
        got = np.array([np.sum(parts.y_train == name), np.sum(parts.y_validation == name)])
        assert (np.abs(got - share) <= 2).all()
        assert (got > 0).all()


def test_every_row_has_the_same_chance_by_simulation():
    y = np.repeat([0, 1], [15, 5])
    tested = np.zeros(20)
    for seed in range(3000):
        found = split(y[:, None], y, 0.25, 0.25, random_state=seed)
        tested[found.validation_rows] += 1
    error = np.sqrt(3000 * 0.25 * 0.75)
    assert np.abs(tested - 750).max() < 4 * error


def test_groups_stay_whole_and_sizes_are_near():
    groups = RNG.integers(0, 30, 203)
    found = split(X, NAMES, groups=groups)
    sets = [set(groups[found.train_rows]), set(groups[found.validation_rows])]
    assert not sets[0] & sets[1]
    assert set(found.groups_train) == sets[0]
    assert len(set(groups)) > len(sets[0] | sets[1])
    assert abs(len(found.test) - 41) <= 8
    assert abs(len(found.validation_rows) - 41) <= 8
    other = split(X, NAMES, groups=groups, random_state=1)
    assert not np.array_equal(other.train_rows, found.train_rows)


def test_three_groups_make_three_sets():
    found = split(X, REAL, groups=np.repeat([0, 1, 2], [150, 40, 13]))
    assert {len(found.train_rows), len(found.validation_rows), len(found.test)} == {150, 40, 13}
    with pytest.raises(ValueError, match="2 groups cannot be split into 3 sets"):
        split(X, REAL, groups=np.arange(203) % 2)


def test_containers_are_kept():
    frame = pd.DataFrame(X, index=np.arange(203) + 1000)
    found = split(frame, pd.Series(NAMES, index=frame.index), sample_weight=np.arange(203.0))
    assert found.X_train.index.equals(found.y_train.index)
    assert np.array_equal(found.X_train.index - 1000, found.sample_weight_train)
    assert sparse.issparse(split(sparse.csr_matrix(X), NAMES).X_validation)
    assert isinstance(split(X.tolist(), NAMES.tolist()).y_train, list)
    assert split(X, tuple(NAMES)).y_train == list(split(X, NAMES).y_train)


def test_no_validation_set():
    found = split(X, REAL, None, 0.25)
    assert found.X_validation is None
    assert len(found.train_rows) == 203 - len(found.test) == 152


def test_test_set_is_evaluated_and_nothing_else(parts, model):
    rest = np.setdiff1d(np.arange(203), np.concatenate([parts.train_rows, parts.validation_rows]))
    found = parts.test.evaluate(model)
    assert found.out_sample == np.mean(model.predict(X[rest]) != NAMES[rest])
    assert [name for name in dir(parts.test) if not name.startswith("_")] == [
        *("evaluate", "judge", "n_looks", "publish")
    ]
    with pytest.raises(TypeError, match="sealed"):
        list(parts.test)


def test_looks_are_counted_and_said(parts, model):
    assert "not looked at" in repr(parts)
    first = parts.test.evaluate(model)
    assert first.looks == 1
    assert "looked at once" in str(first)
    again = parts.test.evaluate(model, "log")
    assert parts.test.n_looks == again.looks == 2
    for text in (repr(parts), repr(parts.test), str(again), again._repr_html_(), repr(again)):
        assert "looked at twice" in text


def test_an_evaluation_that_fails_shows_nothing_and_is_not_counted(parts):
    with pytest.raises(ValueError, match="not numeric"):
        parts.test.evaluate(Ridge().fit(X, REAL))
    assert parts.test.n_looks == 0


def test_weights_are_used_in_the_test_set():
    weight = RNG.uniform(0.5, 2, 203)
    found = split(X, REAL, sample_weight=weight)
    model = Ridge().fit(found.X_train, found.y_train)
    rest = np.setdiff1d(np.arange(203), np.concatenate([found.train_rows, found.validation_rows]))
    expected = np.average((REAL[rest] - model.predict(X[rest])) ** 2, weights=weight[rest])
    assert found.test.evaluate(model).out_sample == pytest.approx(expected)


LOOKING = """
import pathlib, sys, time
import numpy as np
from sklearn.dummy import DummyClassifier
import outsample
file, number = sys.argv[1:]
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
parts = outsample.split(X, y, store=file)
model = DummyClassifier().fit(X, y)
pathlib.Path(file + ".ready" + number).touch()
while not pathlib.Path(file + ".go").exists():
    time.sleep(0.001)
print([parts.test.evaluate(model).looks for _ in range(15)])
"""


def test_looks_are_counted_across_processes(tmp_path):
    """All processes look at once, so that those who count without a lock get the same numbers."""
    file = str(tmp_path / "looks.sqlite")
    commands = [[sys.executable, "-c", LOOKING, file, str(k)] for k in range(3)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    deadline = time.monotonic() + 120
    while len(list(tmp_path.glob("*.ready*"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    (tmp_path / "looks.sqlite.go").touch()
    numbers = [number for process in running for number in json.loads(process.communicate(timeout=120)[0])]
    assert sorted(numbers) == list(range(1, 46))


def test_a_file_of_looks_belongs_to_one_test_set(tmp_path, model):
    file = tmp_path / "looks"
    split(X, NAMES, store=file).test.evaluate(model)
    again = split(X, NAMES, store=file)
    assert "looked at once" in repr(again)
    copy = pickle.loads(pickle.dumps(again.test))
    copy.evaluate(model)
    assert again.test.n_looks == 2
    with pytest.raises(ValueError, match="begun with other test set"):
        split(X, NAMES, random_state=1, store=file)


def test_no_result_without_a_record(tmp_path, model):
    file = tmp_path / "looks"
    found = split(X, NAMES, store=file)
    file.write_bytes(b"not a store")
    with pytest.raises(ValueError, match="another kind"):
        found.test.evaluate(model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test_size": 0}, "test_size must be a share"),
        ({"test_size": 1.0}, "test_size must be a share"),
        ({"validation_size": 0.5, "test_size": 0.5}, "leave no row to fit"),
        ({"y": NAMES[:4]}, "one label for each of the 203 rows"),
        ({"groups": [1]}, "groups must have one entry per row"),
        ({"store": "/nowhere/looks"}, "no folder"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        split(**({"X": X, "y": NAMES} | change))


def test_names_are_public():
    assert {"split", "evaluate", "Parts", "SealedTest", "Evaluation"} <= set(dir(outsample))


CONTINUOUS = RNG.normal(size=(80, 3))
BINARY = (CONTINUOUS[:, 0] + RNG.normal(size=80) > 0).astype(int)
OWN = [
    KNeighborsClassifier(),
    SVC(),
    GaussianProcessClassifier(),
    make_pipeline(StandardScaler(), KNeighborsClassifier()),
    VotingClassifier([("k", KNeighborsClassifier()), ("l", LogisticRegression())]),
    outsample.GridSearch(LogisticRegression(), {"C": [0.1, 1]}, random_state=0),
    outsample.GridSearch(LogisticRegression(), {"C": [0.1, 1]}, cv=3),
]


@pytest.mark.parametrize("learner", OWN, ids=lambda learner: type(learner).__name__)
def test_a_model_that_kept_sealed_rows_is_refused(learner):
    test = outsample.seal(CONTINUOUS[:20], BINARY[:20])
    with pytest.raises(ValueError, match=r"fitted to at least .* of the 20 rows of the test set"):
        test.evaluate(clone(learner).fit(CONTINUOUS, BINARY))
    assert test.n_looks == 0
    assert test.evaluate(clone(learner).fit(CONTINUOUS[20:], BINARY[20:])).looks == 1


def test_rows_that_are_the_same_by_chance_are_no_proof():
    iris_X, iris_y = load_iris(return_X_y=True)
    for seed in range(5):
        parts = split(iris_X, iris_y, random_state=seed)
        parts.test.evaluate(KNeighborsClassifier().fit(parts.X_train, parts.y_train))
    few = RNG.integers(0, 3, (300, 3)).astype(float)
    labels = RNG.integers(0, 2, 300)
    assert outsample.seal(few[:60], labels[:60]).evaluate(KNeighborsClassifier().fit(few[60:], labels[60:])).looks == 1


def test_no_model_is_said_not_to_have_seen_the_rows():
    test = outsample.seal(CONTINUOUS[:20], BINARY[:20])
    found = test.evaluate(LogisticRegression().fit(CONTINUOUS, BINARY))
    assert "has not seen" not in str(found)
    assert "taken to be new to the model" in str(found)


@pytest.mark.parametrize("loss", [None, "log"])
def test_predictions_are_judged_as_their_model_is(loss):
    names = np.array(["no", "yes"])[BINARY]
    model = LogisticRegression().fit(CONTINUOUS[20:], names[20:])
    test = outsample.seal(pd.DataFrame(CONTINUOUS[:20]), list(names[:20]))
    published = test.publish()
    assert published.equals(pd.DataFrame(CONTINUOUS[:20]))
    table = published.to_numpy()
    judged = test.judge(model.predict(table) if loss is None else model.predict_proba(table), loss)
    expected = outsample.evaluate(model, CONTINUOUS[:20], names[:20], loss)
    assert judged.out_sample == expected.out_sample
    assert judged.standard_error == pytest.approx(expected.standard_error)
    assert judged.looks == test.n_looks == 1


def test_real_predictions_are_judged():
    test = outsample.seal(X[:30], REAL[:30])
    published = test.publish()
    published[:] = 0.0
    assert test.publish().tolist() == X[:30].tolist()
    assert test.judge(np.zeros(30)).out_sample == pytest.approx(np.mean(REAL[:30] ** 2))
    assert test.judge(np.zeros((30, 1)), "absolute").out_sample == pytest.approx(np.mean(np.abs(REAL[:30])))
    for bad, message in (
        (np.zeros(29), "one for each of the 30 published rows, there are 29"),
        (1.0, "there are none"),
    ):
        with pytest.raises(ValueError, match=message):
            test.judge(bad)
    with pytest.raises(ValueError, match="a column for each of the 2 classes of y, there are 3"):
        outsample.seal(X[:30], np.arange(30) % 2).judge(np.ones((30, 3)))
    assert test.n_looks == 2


def test_intervals_of_all_looks_hold_together():
    """The chances of missing add up to 1 − level: against the exact interval of each look, and by simulation."""
    y = np.arange(200) % 2
    test = outsample.seal(np.zeros((200, 1)), y)
    said = np.where(np.arange(200) < 30, 1 - y, y)
    for k in range(1, 5):
        found = test.judge(said)
        alone = binomtest(30, 200).proportion_ci(1 - 0.05 * 6 / (np.pi * k) ** 2)
        np.testing.assert_allclose(found.interval(0.95), (alone.low, alone.high))
    rng, missed = np.random.default_rng(0), 0
    for _ in range(60):
        labels = rng.integers(0, 2, 100)
        test = outsample.seal(np.zeros((100, 1)), labels)
        found = [test.judge(rng.integers(0, 2, 100)).interval(0.8) for _ in range(8)]
        missed += any(not low <= 0.5 <= high for low, high in found)
    assert missed <= 0.2 * 60


def test_looks_at_a_table_of_ones_own_are_counted_in_a_file(tmp_path):
    file = tmp_path / "looks"
    outsample.seal(X[:30], REAL[:30], file).judge(np.zeros(30))
    assert outsample.seal(X[:30], REAL[:30], file=file).n_looks == 1
    with pytest.raises(ValueError, match="begun with other test set"):
        outsample.seal(X[:29], REAL[:29], file)
