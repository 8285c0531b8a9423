"""Every scorer of scikit-learn for many sets at once: against scikit-learn, enumeration, derivatives and DeLong."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import (
    accuracy_score,
    cohen_kappa_score,
    d2_pinball_score,
    d2_tweedie_score,
    f1_score,
    fbeta_score,
    get_scorer,
    get_scorer_names,
    jaccard_score,
    make_scorer,
    mean_pinball_loss,
    mean_tweedie_deviance,
    precision_score,
    roc_auc_score,
    top_k_accuracy_score,
)

from outsample.curve.intervals import error_of_mean
from outsample.data.samples import as_target
from outsample.losses.choice import choose_loss
from outsample.losses.scorers.stand_ins import FrozenPredictions
from outsample.losses.whole_set import ScorerLoss

CLUSTERS = {
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "completeness_score",
    "fowlkes_mallows_score",
    "homogeneity_score",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "rand_score",
    "v_measure_score",
}
SAMPLES = {name for name in get_scorer_names() if name.endswith("_samples")}
REGRESSION = {
    name
    for name in get_scorer_names()
    if name in ("r2", "explained_variance", "d2_absolute_error_score")
    or (name.startswith("neg_") and ("error" in name or "deviance" in name))
}
CLASSES = sorted(set(get_scorer_names()) - CLUSTERS - SAMPLES - REGRESSION)
OBJECTS = {
    "kappa": make_scorer(cohen_kappa_score),
    "f2 of no": make_scorer(fbeta_score, beta=2, pos_label="no"),
    "f1 of 0": make_scorer(f1_score, pos_label=0),
    "precision, empty 1": make_scorer(precision_score, average="macro", zero_division=1),
    "jaccard, empty 1": make_scorer(jaccard_score, average="weighted", zero_division=1),
    "ovo": make_scorer(roc_auc_score, multi_class="ovo", response_method="predict_proba"),
    "first of several": make_scorer(top_k_accuracy_score, k=1, response_method=("decision_function", "predict_proba")),
    "pinball": make_scorer(mean_pinball_loss, alpha=0.2, greater_is_better=False),
    "d2 pinball": make_scorer(d2_pinball_score, alpha=0.8),
    "tweedie": make_scorer(mean_tweedie_deviance, power=1.5, greater_is_better=False),
    "d2 tweedie": make_scorer(d2_tweedie_score, power=1),
    "number of hits": make_scorer(accuracy_score, normalize=False),
}
LABELS = {
    "numbers": np.array([0, 1]),
    "1 and 2": np.array([1, 2]),
    "names": np.array(["no", "yes"]),
    "three": np.array([0, 1, 2]),
    "five names": np.array(["a", "b", "c", "d", "e"]),
}


class Decides(DummyClassifier):
    """A classifier with decision values."""

    def decision_function(self, X):
        return np.zeros(len(X))


def loss_of(scorer, y, decides=False):
    """The loss of a scorer for labels y, and the response it reads; None where scikit-learn refuses these labels."""
    classifier = y.dtype.kind in "iU"
    learner = (Decides() if decides else DummyClassifier()) if classifier else DummyRegressor()
    try:
        return choose_loss(scorer, as_target(y, learner, len(y)), learner)
    except ValueError:
        return None


def ovo_of(loss):
    """Whether more than two classes are compared in pairs, which scikit-learn does without weights only."""
    return "ovo" in loss.name and len(loss.classes) > 2


def sets_of_classes(rng, classes, response, n=30, n_sets=4):
    """(codes, predictions) with ties, constant predictions and a class that is never predicted."""
    K = len(classes)
    codes = np.concatenate([np.arange(K), rng.integers(K, size=n - K)])
    if response == "predict":
        said = np.where(rng.random((n_sets, n)) < 0.6, codes, rng.integers(K, size=(n_sets, n)))
        said[1], said[2] = codes[0], np.minimum(said[2], K - 2)
        return codes, said
    shares = rng.integers(0, 4, (n_sets, n, K)) + rng.random((n_sets, 1, 1)) * 0.5
    shares[..., 0] += 0.1
    shares[1] = 1.0
    shares[3] = rng.random((n, K))
    shares = shares / shares.sum(axis=-1, keepdims=True)
    if response == "decision_function":
        return codes, shares[..., 1] - 0.3 if K == 2 else 3 * shares - 1
    return codes, shares


def own_score(scorer, loss, y, prediction, weight):
    """What scikit-learn says of one set; a message where it refuses."""
    labels = y if loss.classes is None else loss.classes[y]
    answers = loss.classes[prediction] if loss.classes is not None and loss.response == "predict" else prediction
    frozen = FrozenPredictions(loss.response, answers, loss.classes)
    kwargs = {} if weight is None else {"sample_weight": weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return get_scorer(scorer)(frozen, np.zeros((len(y), 1)), labels, **kwargs)


def compare(scorer, loss, y, predictions, weight):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = [-own_score(scorer, loss, y, p, weight) for p in predictions]
        if np.isnan(theirs).any():
            with pytest.raises(ValueError, match="cannot be computed"):
                loss.risk(y, predictions, weight)
            known = ~np.isnan(theirs)
            predictions, theirs = predictions[known], np.array(theirs)[known]
        if len(predictions):
            np.testing.assert_allclose(loss.risk(y, predictions, weight), theirs, rtol=1e-12, atol=1e-12)
            rows = loss.row_values(y, predictions, weight)
            assert rows.shape == (len(predictions), len(y))
            np.testing.assert_allclose(np.average(rows, axis=1, weights=weight), theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("decides", [False, True])
@pytest.mark.parametrize("kind", LABELS)
def test_scores_of_classes_against_scikit_learn(kind, decides):
    classes, served = LABELS[kind], 0
    for i, name in enumerate([*CLASSES, *OBJECTS]):
        rng = np.random.default_rng(i)
        scorer = OBJECTS.get(name, name)
        found = loss_of(scorer, np.tile(classes, 10), decides)
        if found is None:
            continue
        loss, response = found
        codes, predictions = sets_of_classes(rng, classes, response)
        for weight in (None, rng.uniform(0.2, 2, len(codes))):
            if weight is None or (not ovo_of(loss) and loss.takes_weight()):
                compare(scorer, loss, codes, predictions, weight)
        served += loss.form is not None
    assert served >= 20


@pytest.mark.parametrize("multioutput", [False, True])
def test_scores_of_numbers_against_scikit_learn(multioutput):
    shape = (25, 2) if multioutput else (25,)
    for i, name in enumerate([*sorted(REGRESSION), "pinball", "d2 pinball", "tweedie", "d2 tweedie"]):
        rng = np.random.default_rng(i)
        scorer = OBJECTS.get(name, name)
        y = rng.gamma(2.0, size=shape).round(1) + 0.1
        found = loss_of(scorer, y)
        if found is None:
            assert multioutput
            continue
        loss = found[0]
        predictions = rng.gamma(2.0, size=(4, *shape)).round(1) + 0.1
        predictions[1], predictions[2] = 1.0, y
        assert loss.form is not None
        for weight in (None, rng.uniform(0.2, 2, 25)):
            if weight is None or loss.takes_weight():
                compare(scorer, loss, y, predictions, weight)


@pytest.mark.parametrize("name", sorted(CLUSTERS))
def test_other_scorers_are_called(name):
    loss = loss_of(name, np.tile([0, 1], 10))[0]
    assert loss.form is None
    codes, predictions = sets_of_classes(np.random.default_rng(0), LABELS["numbers"], "predict")
    compare(name, loss, codes, predictions, None)


def test_every_supervised_scorer_has_a_form():
    two, three, real = np.tile([0, 1], 10), np.tile([0, 1, 2], 10), np.arange(20.0)
    for name in set(get_scorer_names()) - CLUSTERS - SAMPLES:
        found = [loss_of(name, y) for y in (two, three, real)]
        assert any(pair is not None and pair[0].form is not None for pair in found), name


def test_a_function_of_the_same_name_is_called():
    def f1_score(y, prediction):
        return 0.25

    loss = loss_of(make_scorer(f1_score), np.tile([0, 1], 10))[0]
    assert loss.form is None
    assert loss.risk(np.tile([0, 1], 10), np.zeros((2, 20), int)).tolist() == [-0.25, -0.25]


def test_a_form_that_disagrees_with_the_scorer_is_not_used(monkeypatch):
    from outsample.losses.scorers import counts

    monkeypatch.setattr("outsample.losses.whole_set._AGREES", {})
    monkeypatch.setattr(counts.ClassScore, "denominators", lambda self, counts: counts.labels + 1.0)
    assert loss_of("f1", np.tile([0, 1], 10))[0].form is None


@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "neg_log_loss", "roc_auc_ovr", "top_k_accuracy"])
def test_sets_without_a_class_are_refused_as_scikit_learn_does(name):
    K = 3 if name in ("roc_auc_ovr", "top_k_accuracy", "neg_log_loss") else 2
    loss = loss_of(name, np.tile(np.arange(K), 10))[0]
    shares = np.full((2, 12, K), 1 / K)
    codes = np.tile(np.arange(K - 1), 12)[:12]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "average_precision":
            assert loss.risk(codes, shares).tolist() == [0.0, 0.0]
        else:
            with pytest.raises(ValueError, match=f"loss '{name}' cannot be computed on 12 of the rows"):
                loss.risk(codes, shares)


def test_ill_defined_scores_warn_as_scikit_learn_does():
    loss = loss_of("precision", np.tile([0, 1], 10))[0]
    with pytest.warns(UserWarning, match="precision.*no predicted samples"):
        assert loss.risk(np.tile([0, 1], 10), np.zeros((1, 20), int)).tolist() == [0.0]


def weighted_value(loss, y, prediction):
    """The risk as a function of the weights of rows."""
    return lambda weight: float(loss.risk(y, prediction[None], weight)[0])


SMOOTH = [
    *("accuracy", "balanced_accuracy", "f1", "f1_macro", "f1_micro", "f1_weighted", "jaccard", "jaccard_macro"),
    *("jaccard_micro", "jaccard_weighted", "precision", "precision_weighted", "recall", "recall_macro"),
    *("matthews_corrcoef", "roc_auc", "roc_auc_ovr", "roc_auc_ovr_weighted", "average_precision", "neg_log_loss"),
    *("neg_brier_score", "d2_brier_score", "d2_log_loss_score", "r2", "explained_variance", "kappa"),
    *("neg_root_mean_squared_error", "neg_root_mean_squared_log_error", "d2_absolute_error_score", "d2 tweedie"),
    *("neg_mean_poisson_deviance", "neg_mean_absolute_percentage_error"),
]


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("name", SMOOTH)
def test_influences_against_derivatives_in_the_weights(name, K):
    rng = np.random.default_rng(1)
    scorer, n = OBJECTS.get(name, name), 24
    if name in REGRESSION or name == "d2 tweedie":
        y, prediction = rng.gamma(2.0, size=n) + 0.1, rng.gamma(2.0, size=n) + 0.1
        loss = loss_of(scorer, y)[0]
    else:
        found = loss_of(scorer, np.tile(np.arange(K), 10))
        if found is None:
            pytest.skip(f"{name} is for two classes")
        loss = found[0]
        y, predictions = sets_of_classes(rng, np.arange(K), found[1], n)
        prediction = predictions[0]
    value, start, h = weighted_value(loss, y, prediction), rng.uniform(0.5, 2, n), 1e-6
    rows = loss.row_values(y, prediction[None], start)[0]
    slopes = []
    for i in range(n):
        step = h * np.eye(n)[i]
        slopes.append((value(start + step) - value(start - step)) / (2 * h))
    influence = np.array(slopes) * start.sum()
    found = rows - np.average(rows, weights=start)
    if name.startswith("roc_auc"):
        found, influence = (
            np.array([np.corrcoef(found[y == c], influence[y == c])[0, 1] for c in range(K)]),
            np.ones(K),
        )
        if K == 3:
            return
    np.testing.assert_allclose(found, influence, rtol=1e-5, atol=1e-6)


def delong(y, scores):
    """(areas, covariance) of several scores: DeLong, DeLong & Clarke-Pearson 1988, eqs 4–5, written pair by pair."""
    first, second = scores[:, y == 1], scores[:, y == 0]
    above = (first[:, :, None] > second[:, None, :]) + 0.5 * (first[:, :, None] == second[:, None, :])
    m, n = first.shape[1], second.shape[1]
    V10, V01 = above.mean(axis=2), above.mean(axis=1)
    return above.mean(axis=(1, 2)), np.cov(V10) / m + np.cov(V01) / n


def test_standard_errors_of_areas_against_delong():
    rng = np.random.default_rng(3)
    y = (rng.random(80) < 0.3).astype(int)
    scores = (y + rng.normal(size=(2, 80)) * np.array([[1.0], [2.0]])).round(1)
    loss = loss_of("roc_auc", y, decides=True)[0]
    rows = loss.row_values(y, scores)
    areas, covariance = delong(y, scores)
    np.testing.assert_allclose(-rows.mean(axis=1), areas, rtol=1e-12)
    np.testing.assert_allclose(error_of_mean(rows, None), np.sqrt(np.diag(covariance)), rtol=1e-12)
    of_difference = np.sqrt(np.array([1, -1]) @ covariance @ np.array([1, -1]))
    np.testing.assert_allclose(error_of_mean(rows[:1] - rows[1:], None), of_difference, rtol=1e-12)


@pytest.mark.parametrize(
    "name",
    ["roc_auc", "average_precision", "f1", "matthews_corrcoef", "neg_log_loss", "r2", "neg_median_absolute_error"],
)
def test_standard_errors_against_the_bootstrap(name):
    rng = np.random.default_rng(4)
    n = 400
    y = (rng.random(n) < 0.4).astype(int)
    shares = 1 / (1 + np.exp(-(1.5 * y - 0.7 + rng.normal(size=n))))
    if name in REGRESSION:
        y = rng.normal(size=n)
        prediction = 0.7 * y + 0.5 * rng.normal(size=n)
    loss, response = loss_of(name, y)
    if response == "predict_proba":
        prediction = np.stack([1 - shares, shares], axis=-1)
    elif name not in REGRESSION:
        prediction = (shares > 0.5).astype(int)
    error = error_of_mean(loss.row_values(y, prediction[None]), None)[0]
    bags = rng.integers(n, size=(500, n))
    spread = loss.risk(y[bags], prediction[bags]).std()
    assert error == pytest.approx(spread, rel=0.15)


def test_the_jackknife_of_any_scorer_against_the_influences_of_a_known_one():
    rng = np.random.default_rng(5)
    y, prediction = rng.integers(2, size=600), rng.integers(2, size=(1, 600))
    known = loss_of("f1", y)[0]
    called = ScorerLoss(lambda model, X, y: f1_score(y, model.predict(X)), "mine", classes=np.array([0, 1]))
    one, other = (error_of_mean(loss.row_values(y, prediction), None)[0] for loss in (known, called))
    assert called.jackknifed
    assert not known.jackknifed
    assert other == pytest.approx(one, rel=0.4)
    few = slice(0, 18)
    exact = called.row_values(y[few], prediction[:, few])
    assert exact.mean() == pytest.approx(float(called.risk(y[few], prediction[:, few])[0]))
    assert error_of_mean(exact, None)[0] == pytest.approx(
        error_of_mean(known.row_values(y[few], prediction[:, few]), None)[0], rel=0.3
    )


CLOSED = {
    2: [*CLASSES, "kappa", "f1 of 0", "jaccard, empty 1"],
    3: [*(name for name in CLASSES if name != "jaccard_micro"), "kappa", "jaccard, empty 1"],
    0: [*sorted(REGRESSION), "pinball", "d2 pinball", "tweedie", "d2 tweedie"],
}
# The mean over permutations has no closed form, or there are permutations without a score.
OPEN = {
    "neg_root_mean_squared_error",
    "neg_root_mean_squared_log_error",
    "neg_median_absolute_error",
    "neg_max_error",
    "positive_likelihood_ratio",
    "neg_negative_likelihood_ratio",
}


@pytest.mark.parametrize("K", CLOSED)
def test_scores_without_information_against_enumeration(K):
    for i, name in enumerate(CLOSED[K]):
        rng = np.random.default_rng(i)
        scorer, n = OBJECTS.get(name, name), 6
        y = rng.gamma(2.0, size=n).round(1) + 0.1 if K == 0 else np.array([*range(K), 0, 0, 1, 1])[:n]
        found = loss_of(scorer, y)
        if found is None:
            continue
        loss, response = found
        if K:
            prediction = sets_of_classes(rng, np.arange(K), response, n)[1]
        else:
            prediction = rng.gamma(2.0, size=(3, n)).round(1) + 0.1
        closed = loss.permuted_mean(y, prediction)
        if name in OPEN or loss.form is None:
            assert closed is None
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            risks = [loss.risk(np.array(order), prediction) for order in itertools.permutations(y)]
        np.testing.assert_allclose(closed, np.mean(risks, axis=0), rtol=1e-10, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(loss.crossed_mean(y, prediction), closed)


def test_average_precision_without_information_against_the_harmonic_number():
    n, P = 50, 7
    y = np.arange(n) < P
    loss = loss_of("average_precision", y.astype(int), decides=True)[0]
    harmonic = np.sum(1 / np.arange(1, n + 1))
    expected = harmonic / n + (P - 1) / (n - 1) * (1 - harmonic / n)
    assert -loss.permuted_mean(y.astype(int), np.random.default_rng(0).normal(size=(1, n)))[0] == pytest.approx(
        expected
    )


def test_many_label_vectors_meet_the_same_predictions():
    rng = np.random.default_rng(6)
    for name, K in itertools.product(("roc_auc", "f1_macro", "roc_auc_ovr", "r2", "average_precision"), (2, 3)):
        y = rng.normal(size=40) if name == "r2" else np.concatenate([np.arange(K), rng.integers(K, size=40 - K)])
        found = loss_of(name, y)
        if found is None:
            continue
        prediction = rng.normal(size=(3, 40)) if name == "r2" else sets_of_classes(rng, np.arange(K), found[1], 40)[1]
        fresh = np.stack([rng.permutation(y) for _ in range(5)])
        one_by_one = np.mean([found[0].risk(labels, prediction) for labels in fresh], axis=0)
        np.testing.assert_allclose(found[0].mean_over_fresh(fresh, prediction), one_by_one, rtol=1e-12)


RANKINGS = ["roc_auc", "average_precision", "roc_auc_ovr_weighted", "roc_auc_ovo", "ovo weighted"]


@pytest.mark.parametrize("name", RANKINGS)
def test_rankings_that_tie_have_the_digits_and_ties_of_scikit_learn(name):
    weighted = make_scorer(roc_auc_score, multi_class="ovo", average="weighted", response_method="predict_proba")
    rng, asked = np.random.default_rng(3), []
    for K, n, levels, kind in itertools.product((2, 3, 9), (23, 200), (1, 2, 7, 10**6), (np.float32, np.float64)):
        y = np.concatenate([np.arange(K), rng.integers(K, size=n - K)])
        found = loss_of(weighted if name == "ovo weighted" else name, y)
        if found is None:
            continue
        loss = found[0]
        prediction = rng.integers(levels, size=(30, n, K)) + 1.0
        # Many of these sets are other orders of the same rows, whose scores are the same fractions.
        prediction[10:] = prediction[0][rng.permuted(np.tile(np.arange(n), (20, 1)), axis=1)]
        prediction /= prediction.sum(axis=-1, keepdims=True)
        prediction = (prediction if loss.trailing else prediction[..., 1]).astype(kind)
        theirs = [loss.set_risk(y, one, None) for one in prediction]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(ScorerLoss, "set_risk", lambda *_: asked.append(1))
            np.testing.assert_array_equal(loss.scored_risk(y, prediction), theirs)
    assert not asked


def test_scores_that_stand_for_scikit_learns_have_its_every_digit():
    for name in (*CLASSES, *sorted(REGRESSION), *OBJECTS):
        for K, seed in itertools.product((0, 2, 3), range(3)):
            rng = np.random.default_rng(seed)
            scorer, n = OBJECTS.get(name, name), int(rng.integers(30, 300))
            y = rng.gamma(2.0, size=n) + 0.1 if K == 0 else np.arange(n) % K
            found = loss_of(scorer, y)
            if found is None or found[0].form is None:
                continue
            if K:
                prediction = sets_of_classes(rng, np.arange(K), found[1], n)[1][[0, 2, 3]]
                y = sets_of_classes(np.random.default_rng(seed + 9), np.arange(K), found[1], n)[0]
            else:
                prediction = np.asfortranarray(rng.gamma(2.0, size=(3, n)) + 0.1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = [found[0].set_risk(y, p, None) for p in prediction]
                assert found[0].scored_risk(y, prediction).tolist() == theirs, name


GUESSES = {
    "roc_auc": 0.5,
    "average_precision": np.mean([1 / k + (9 / 39) * (1 - 1 / k) for k in range(1, 41)]),
    "balanced_accuracy": 0.5,
    "f1": 0.4,
    "neg_brier_score": -0.25 * 0.75,
    "matthews_corrcoef": 0,
}


@pytest.mark.parametrize("name", GUESSES)
def test_guesses_against_their_definitions(name):
    y = np.repeat([0, 1], [30, 10])
    loss, _ = choose_loss(name, as_target(y, DummyClassifier(), len(y)), DummyClassifier())
    assert loss.reported(loss.guessing(y)) == pytest.approx(GUESSES[name])


def test_guesses_of_numbers_against_their_definitions():
    y = np.random.default_rng(0).exponential(size=50)
    expected = {
        "r2": 0,
        "neg_root_mean_squared_error": -np.std(y),
        "neg_mean_absolute_error": -np.abs(y - np.median(y)).mean(),
    }
    for name, value in expected.items():
        loss, _ = choose_loss(name, as_target(y, DummyRegressor(), len(y)), DummyRegressor())
        assert loss.reported(loss.guessing(y)) == pytest.approx(value, abs=1e-12)


NAMES = {
    "fbeta_score(beta=2)": make_scorer(fbeta_score, beta=2),
    "neg_mean_pinball_loss(alpha=0.9)": make_scorer(mean_pinball_loss, alpha=0.9, greater_is_better=False),
    "accuracy_score": make_scorer(accuracy_score),
    "mine": make_scorer(lambda y, said: 0.0),
}


@pytest.mark.parametrize("name", NAMES)
def test_scorers_are_called_by_their_functions(name):
    y, learner = np.tile([0, 1], 10), DummyRegressor() if "pinball" in name else DummyClassifier()
    loss, _ = choose_loss(NAMES[name], as_target(y, learner, len(y)), learner)
    assert loss.name == name if name != "mine" else loss.name.startswith("make_scorer(<lambda>")
