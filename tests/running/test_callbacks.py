"""Callbacks of scikit-learn around our searches; truth is what they see around GridSearchCV."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch, RandomizedSearch

callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

X, Y = load_breast_cancer(return_X_y=True)
X, Y = StandardScaler().fit_transform(X[:150]), Y[:150]
TREE = DecisionTreeClassifier(random_state=0)
LEAVES = {"max_leaf_nodes": [2, 5]}
SCALED = make_pipeline(StandardScaler(), LogisticRegression())
STRENGTHS = {"logisticregression__C": [0.1, 1.0]}


class Journal:
    """Writes down what it is called with."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context, **data):
        self.events.append(("begin", context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context, **data):
        self.events.append(("end", context.task_name))

    def count(self, *event):
        return sum(each[: len(event)] == event for each in self.events)


def journal_of(search):
    journal = Journal()
    search.set_callbacks(journal).fit(X, Y)
    return journal


@pytest.mark.parametrize(("model", "grid"), [(SVC(), {"C": [0.1, 1.0]}), (TREE, LEAVES), (SCALED, STRENGTHS)])
def test_with_cv_callbacks_see_what_they_see_around_grid_search_cv(model, grid):
    ours, theirs = (journal_of(Search(model, grid, cv=3)) for Search in (GridSearch, GridSearchCV))
    assert ours.events == theirs.events
    assert ours.count("end", "candidate-split-evaluation") == 6


@pytest.mark.parametrize("criterion", ["permutation", "race", "kfold", "auto"])
def test_work_of_ours_is_shown_as_tasks_that_begin_and_end(criterion):
    journal = journal_of(GridSearch(TREE, LEAVES, criterion=criterion, random_state=0))
    assert [event[1] for event in journal.events if event[0] in ("setup", "teardown")] == ["fit", "fit"]
    under_way = []
    for what, name, *_ in journal.events[1:-1]:
        if what == "begin":
            under_way.append(name)
        else:
            assert under_way.pop() == name
    assert not under_way
    assert journal.count("begin", "search") == 1
    assert journal.count("begin", "refit-with-best-params") == 1
    planned = sum(event[2] for event in journal.events if event[:2] == ("begin", "fits"))
    assert 1 <= journal.count("begin", "fit", 0) <= planned


def test_tasks_of_permutation_are_its_draws():
    journal = journal_of(GridSearch(TREE, LEAVES, criterion="permutation", random_state=0))
    assert journal.count("begin", "fit", 0) == 10


def test_searches_inside_a_search_are_not_shown_as_searches_of_their_own():
    journal = journal_of(GridSearch(TREE, LEAVES, criterion="kfold", honest="nested", random_state=0))
    assert journal.count("setup") == journal.count("teardown") == 1
    assert journal.count("begin", "search") == 1


@pytest.mark.parametrize("cv", [None, 3])
def test_callbacks_are_torn_down_after_an_error(cv):
    class Broken(DecisionTreeClassifier):
        def fit(self, X, y):
            raise RuntimeError("no fit today")

    journal = Journal()
    with pytest.raises((ValueError, RuntimeError), match="no fit today"):
        GridSearch(Broken(), LEAVES, cv=cv).set_callbacks(journal).fit(X, Y)
    assert journal.count("setup") == journal.count("teardown") == 1


@pytest.mark.parametrize("options", [{}, {"cv": 3}, {"n_jobs": 2}, {"cv": 3, "n_jobs": 2}])
@pytest.mark.parametrize("Search", [GridSearch, RandomizedSearch])
def test_a_progress_bar(Search, options, capsys):
    more = {"n_iter": 2} if Search is RandomizedSearch else {}
    search = Search(SCALED, STRENGTHS, **options, **more).set_callbacks(callback.ProgressBar())
    search.fit(X, Y)
    shown = capsys.readouterr().out
    assert f"{Search.__name__} - search" in shown
    assert "refit-with-best-params" in shown
    assert "100%" in shown


def monitored(Search, **options):
    """(scores that a monitor of the inner learner kept within the fit of the search, the search)."""
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = make_pipeline(StandardScaler(), LogisticRegression().set_callbacks(monitor))
    search = Search(model, STRENGTHS, **options).fit(X, Y)
    (kept,) = (log for log in monitor.get_logs(select="all") if log.estimator_name == Search.__name__)
    return kept.data_as_pandas, search


def test_a_monitor_of_the_inner_learner_against_grid_search_cv():
    (ours, _), (theirs, _) = (monitored(Search, cv=3) for Search in (GridSearch, GridSearchCV))
    assert (ours["task_name"] == "fit").sum() == 7
    np.testing.assert_array_equal(ours["accuracy"], theirs["accuracy"])
    assert ours["task_id_path"].tolist() == theirs["task_id_path"].tolist()


def test_without_cv_a_monitor_sees_the_refit_of_the_chosen_model():
    kept, search = monitored(GridSearch, criterion="kfold", random_state=0)
    (accuracy,) = kept["accuracy"][kept["task_name"] == "fit"]
    assert accuracy == search.best_estimator_.score(X, Y)


def test_a_callback_of_a_step_is_called_in_every_fold():
    journal = Journal()
    model = make_pipeline(StandardScaler().set_callbacks(journal), TREE)
    GridSearch(model, {"decisiontreeclassifier__max_leaf_nodes": [2, 5]}, cv=3).fit(X, Y)
    assert journal.count("setup") == 2 * 3 + 1


def test_progress_of_scikit_learns_loop_comes_through_callbacks():
    told, journal = [], Journal()
    search = GridSearch(SVC(), {"C": [0.1, 1.0]}, cv=3, progress=lambda done, planned: told.append((done, planned)))
    search.set_callbacks(journal).fit(X, Y)
    assert told == [(k, 6) for k in range(1, 7)]
    assert journal.count("end", "candidate-split-evaluation") == 6
    assert search._skl_callbacks == [journal]


class Older(GridSearch):
    """As with a scikit-learn that has no callbacks."""

    @property
    def set_callbacks(self):
        raise AttributeError("set_callbacks")


@pytest.mark.parametrize("options", [{"cv": 3}, {"criterion": "kfold"}, {"criterion": "kfold", "honest": "nested"}])
def test_without_callbacks_everything_else_works(options):
    told = []
    options |= {"random_state": 0, "progress": lambda done, planned: told.append(done)}
    search = Older(SVC(), {"C": [0.1, 1.0]}, **options).fit(X, Y)
    expected = GridSearch(SVC(), {"C": [0.1, 1.0]}, **options).fit(X, Y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
