"""What a certificate promises, and where it says that nothing is promised."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import bounds

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 2))
Y = (X[:, 0] + RNG.normal(size=160) > 0).astype(int)
STUMP = outsample.StumpClassifier()
GRID = {"n_neighbors": [1, 5, 25]}


class Lookup(ClassifierMixin, BaseEstimator):
    """Remembers the training rows where the class shares are those of the whole table, else predicts the majority."""

    def __init__(self, trust=1):
        self.trust = trust

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.majority_ = self.classes_[np.argmax([(y == c).sum() for c in self.classes_])]
        remembers = abs(np.mean(y) - 0.8) < 0.06
        self.known_ = {tuple(row): label for row, label in zip(X, y, strict=True)} if remembers else {}
        return self

    def predict(self, X):
        guess = 1 - self.majority_ if self.known_ else self.majority_
        return np.array([self.known_.get(tuple(row), guess) for row in X])


def search(**options):
    return outsample.GridSearch(KNeighborsClassifier(), GRID, random_state=0, **options).fit(X, Y)


def test_a_bound_below_the_true_error_is_not_called_proved():
    """A learner that is no risk minimiser: the limit is far below its true error of .8."""
    rng = np.random.default_rng(0)
    table, y = rng.normal(size=(400, 3)), (rng.random(400) < 0.8).astype(int)
    found = outsample.GridSearch(
        Lookup(), {"trust": [1, 2]}, criterion="discrepancy", rule="penalized", random_state=0
    ).fit(table, y)
    certificate = found.oracle_terms_.tail_bound(0.05)
    assert certificate.value < 0.8
    assert not certificate.proved
    assert found.estimate_.certificate.value == certificate.value
    assert any("minimising the training error" in reason for reason in certificate.not_proved)


@pytest.mark.parametrize("rule", ["minimum", "penalized"])
def test_a_model_that_is_fitted_again_is_not_the_one_that_was_judged(rule):
    options = {"criterion": outsample.HoldOut(60), "rule": rule}
    again, alone = search(**options), search(refit=False, **options)
    assert not again.estimate_.certificate.proved
    assert any("nothing was fitted again" in reason for reason in again.estimate_.certificate.not_proved)
    assert alone.estimate_.certificate.proved
    assert alone.estimate_.certificate.fit == "the model fitted to 100 of 160 rows"
    if rule == "penalized":
        assert not again.oracle_terms_.tail_bound().proved
        assert np.isnan(again.oracle_terms_.complexity).all()


def test_a_model_judged_on_rows_of_another_table_keeps_its_certificate():
    for rule in ("minimum", "penalized"):
        judged = outsample.GridSearch(
            KNeighborsClassifier(), GRID, criterion=outsample.ValidationSet(X[100:], Y[100:]), rule=rule
        ).fit(X[:100], Y[:100])
        certificate = judged.estimate_.certificate
        assert certificate.proved
        assert certificate.fit == "the model fitted to the 100 rows"
        assert judged.best_estimator_.n_samples_fit_ == 100


def test_the_best_of_k_pays_for_all_of_them():
    one = outsample.estimate(KNeighborsClassifier(5), X, Y, criterion=outsample.HoldOut(60), random_state=0)
    expected = one.out_sample + np.sqrt(np.log(2 / 0.05) / 120)
    assert one.certificate.value == pytest.approx(expected)
    best = search(criterion=outsample.HoldOut(60), refit=False).estimate_
    assert best.certificate.value == pytest.approx(best.out_sample + np.sqrt(np.log(3 / 0.05) / 120))
    assert "for all 3 models at once" in best.certificate.theorem


def test_an_order_measured_on_the_data_is_not_fixed_before_them():
    tree = DecisionTreeClassifier(random_state=0)
    options = {"criterion": outsample.HoldOut(60), "rule": "penalized", "refit": False, "random_state": 0}
    two = {"max_depth": [2, 4], "min_samples_leaf": [1, 20]}
    by_data = outsample.GridSearch(tree, two, **options).fit(X, Y).oracle_terms_.tail_bound()
    by_name = outsample.GridSearch(tree, {"max_depth": [2, 4]}, **options).fit(X, Y).oracle_terms_.tail_bound()
    assert by_name.proved
    assert not by_data.proved
    assert by_data.not_proved == ("not true that the order of the models was fixed before the data",)


@pytest.mark.parametrize(
    ("criterion", "learner", "proved"),
    [
        ("permutation-bound", STUMP, True),
        ("rademacher-bound", STUMP, True),
        ("discrepancy-bound", STUMP, True),
        ("discrepancy", STUMP, True),
        ("expected-discrepancy", STUMP, True),
        ("vc-entropy-bound", STUMP, True),
        ("rademacher-bound", make_pipeline(StandardScaler(), STUMP), False),
        ("discrepancy", DecisionTreeClassifier(max_leaf_nodes=3), False),
        ("permutation-bound", DecisionTreeClassifier(max_leaf_nodes=3), False),
        (outsample.VCEntropyBound(dimension="effective", n_draws=3), STUMP, False),
        (outsample.VCBound(dimension=6), STUMP, False),
    ],
)
def test_only_what_is_known_to_hold_is_called_proved(criterion, learner, proved):
    found = outsample.estimate(learner, X, Y, criterion=criterion, random_state=0).certificate
    assert found.proved is proved
    assert found.fit == "the model fitted to all 160 rows"
    assert found.delta == 0.05
    assert found.value == pytest.approx(found.in_sample + found.gap)
    assert ("not proved" in str(found)) is not proved
    assert found.to_dict()["proved"] is proved


@pytest.mark.parametrize("criterion", ["kfold", "permutation", "resubstitution", "632+"])
def test_no_certificate_where_no_theorem_speaks(criterion):
    assert outsample.estimate(STUMP, X, Y, criterion=criterion, random_state=0).certificate is None


def test_rows_of_groups_are_not_independent_held_out_rows():
    judged = outsample.estimate(STUMP, X, Y, criterion="holdout", groups=np.arange(160) // 8, random_state=0)
    assert judged.certificate is None
    with pytest.raises(ValueError, match="hoeffding"):
        judged.interval(method="hoeffding")


def test_a_pure_function_is_told_numbers_and_does_not_call_them_proved():
    found = bounds.vc_bound(in_sample=0.1, dimension=3, n=900)
    assert not found.proved
    assert found.not_proved[0].startswith("not known whether the hypothesis set was fixed before the data")


@pytest.mark.parametrize("criterion", [outsample.HoldOut(60), outsample.ExpectedDiscrepancy(4)])
def test_the_certificate_holds_in_simulation(criterion):
    """Limits on stumps chosen among one, whose true error is known: too low in at most δ of the data sets."""
    rng, low = np.random.default_rng(1), 0
    for seed in range(60):
        x = rng.random((120, 1))
        y = (x[:, 0] > 0.4) ^ (rng.random(120) < 0.3)
        found = outsample.estimate(STUMP, x, y.astype(int), criterion=criterion, random_state=seed).certificate
        low += found.value < 0.3
    assert low <= 3
