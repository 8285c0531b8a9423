"""Groups are what is independent: copies of rows, each row with its copies in one group, say no more than the rows."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample.curve.intervals import error_of_mean
from outsample.curve.left_out import LeftOut

COPIES = 4
ROWS = 60


def table(classes=False):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(ROWS, 3))
    y = X[:, 0] + rng.normal(size=ROWS)
    return X, (y > 0).astype(int) if classes else y


def copied(X, y):
    """Every row several times, its place among the rows as its group."""
    group = np.repeat(np.arange(len(y)), COPIES)
    return X[group], y[group], group


def folds(group):
    """The same five folds of the rows, wherever their copies are."""
    parts = KFold(5, shuffle=True, random_state=1).split(np.arange(ROWS))
    return [tuple(np.flatnonzero(np.isin(group, part)) for part in pair) for pair in parts]


CRITERIA = {
    "holdout": lambda group: outsample.HoldOut(0.3),
    "kfold": lambda group: outsample.CrossValidation(folds(group)),
    "pooled": lambda group: outsample.CrossValidation(folds(group), pooled=True),
    "race": lambda group: outsample.Race(folds(group)),
    "bootstrap": lambda group: outsample.Bootstrap(20),
    "632+": lambda group: outsample.Bootstrap(20, kind="632+"),
    "nested": lambda group: outsample.NestedCrossValidation(5, 2),
}


@pytest.mark.parametrize("loss", ["squared", "r2", "zero-one"])
@pytest.mark.parametrize("name", CRITERIA)
def test_standard_error_and_interval_of_copies_are_those_of_the_rows(name, loss):
    if (name, loss) in [("nested", "r2"), ("holdout", "zero-one")]:
        pytest.skip("it needs one loss per sample; classes of single rows are held out in proportion")
    classes = loss == "zero-one"
    X, y = table(classes)
    X4, y4, group = copied(X, y)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0) if classes else LinearRegression()
    rows = outsample.estimate(tree, X, y, loss=loss, criterion=CRITERIA[name](np.arange(ROWS)), random_state=0)
    copies = outsample.estimate(tree, X4, y4, loss=loss, criterion=CRITERIA[name](group), groups=group, random_state=0)
    assert copies.out_sample == pytest.approx(rows.out_sample)
    if rows.standard_error is None:
        assert copies.standard_error is None
        return
    assert copies.standard_error == pytest.approx(rows.standard_error)
    if not classes:
        assert copies.interval() == pytest.approx(rows.interval())
    low, high = copies.interval()
    assert high - low >= (rows.interval()[1] - rows.interval()[0]) * (1 - 1e-9)


@pytest.mark.parametrize("classes", [False, True])
def test_searches_of_copies_find_what_they_find_of_the_rows(classes):
    X, y = table(classes)
    X4, y4, group = copied(X, y)
    line, degrees = make_pipeline(PolynomialFeatures(), LinearRegression()), {"polynomialfeatures__degree": range(1, 5)}
    learner, grid = (GaussianNB(), {"var_smoothing": [1e-9, 0.1, 1, 10, 100]}) if classes else (line, degrees)
    loss = "zero-one" if classes else "squared"
    one, many = (
        outsample.GridSearch(learner, grid, loss=loss, criterion=outsample.Race(folds(rows)), random_state=0)
        for rows in (np.arange(ROWS), group)
    )
    one.fit(X, y)
    many.fit(X4, y4, groups=group)
    first, second = one.curve_.race, many.curve_.race
    np.testing.assert_array_equal(first.n_splits, second.n_splits)
    for column in ("gap", "error"):
        np.testing.assert_allclose(getattr(first, column), getattr(second, column), atol=1e-12)
    np.testing.assert_array_equal(one.plausible_, many.plausible_)
    assert str(one.verdict_) == str(many.verdict_)
    assert many.verdict_.interval == pytest.approx(one.verdict_.interval)
    assert many.honest_score_.out_sample == pytest.approx(one.honest_score_.out_sample)
    assert many.honest_score_.standard_error == pytest.approx(one.honest_score_.standard_error)


def test_differences_of_copies_are_those_of_the_rows():
    X, y = table()
    X4, y4, group = copied(X, y)
    models = {"line": LinearRegression(), "mean": DummyRegressor()}
    one = outsample.compare_models(models, X, y, cv=folds(np.arange(ROWS)), random_state=0)
    many = outsample.compare_models(models, X4, y4, cv=folds(group), groups=group, random_state=0)
    for name in models:
        assert many.estimates[name].interval() == pytest.approx(one.estimates[name].interval())
    np.testing.assert_allclose(one.curve.standard_error, many.curve.standard_error)
    assert many.plausible == one.plausible


def test_no_error_in_few_groups_is_known_as_few_groups_tell():
    X, y = np.repeat([[0.0], [1.0]], 100, axis=0), np.repeat([0, 1], 100)
    group = np.repeat(np.arange(20), 10)
    tree = DecisionTreeClassifier(random_state=0)
    rows = outsample.estimate(tree, X, y, criterion=outsample.CrossValidation(5, pooled=True))
    groups = outsample.estimate(
        tree, X, y, groups=group, criterion=outsample.CrossValidation(5, pooled=True, shuffle=True), random_state=0
    )
    assert rows.interval()[0] == groups.interval()[0] == 0
    assert groups.interval()[1] > 5 * rows.interval()[1]
    guess = outsample.estimate(DummyClassifier(), X, y, groups=group, criterion="permutation", random_state=0)
    assert guess.standard_error == pytest.approx(np.sqrt(guess.out_sample * (1 - guess.out_sample) / 20))


def test_error_of_unequal_groups_against_sums_of_influences():
    rng = np.random.default_rng(0)
    group, weight = rng.integers(12, size=80), rng.uniform(0.5, 2, 80)
    losses = rng.normal(size=(3, 80))
    share = weight / weight.sum()
    sums = np.zeros((3, 12))
    for g in range(12):
        sums[:, g] = ((losses - losses @ share[:, None]) * share)[:, group == g].sum(axis=1)
    mass = np.bincount(group, share)
    m = 1 / np.square(mass).sum()
    expected = np.sqrt(np.square(sums).sum(axis=1) * m / (m - 1))
    np.testing.assert_allclose(error_of_mean(losses, weight, group), expected)
    table = LeftOut(losses, weight, groups=group.astype(str))
    np.testing.assert_allclose(table.standard_error, expected)
    mean, error = table.difference(0, 1)
    apart = losses[:1] - losses[1:2]
    assert mean == pytest.approx((apart @ share)[0])
    assert error == pytest.approx(error_of_mean(apart, weight, group)[0])


def test_intervals_of_groups_cover_the_error_of_the_fitted_model():
    hits = np.zeros(3)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(30), 20)

        def draw(n, rng=rng):
            return rng.normal(size=(n, 2)), 2 * rng.normal(size=n)

        X, y = (part[group] + 0.1 * rng.normal(size=part[group].shape) for part in draw(30))
        X_new, y_new = draw(20000)
        line = LinearRegression()
        estimate = outsample.estimate(line, X, y, groups=group, random_state=0)
        search = outsample.GridSearch(Ridge(), {"alpha": [0.1, 10, 1000]}, loss="squared", random_state=0)
        search.fit(X, y, groups=group)
        evaluated = outsample.evaluate(line.fit(X[:300], y[:300]), X[300:], y[300:], groups=group[300:])
        for k, (found, model) in enumerate(
            [(estimate, LinearRegression().fit(X, y)), (search.honest_score_, search), (evaluated, line)]
        ):
            low, high = found.interval(0.95)
            hits[k] += low < np.mean(np.square(model.predict(X_new) - y_new)) < high
    assert (hits[:2] >= 36).all(), hits
    assert hits[2] >= 33, hits
