"""Scores that rank rows compare what one model says of them, whatever the criterion."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, spearmanr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import average_precision_score, make_scorer, roc_auc_score, roc_curve
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import Bootstrap, CrossValidation, GridSearch, LeaveOneOut, OutOfBag, Race, RowsAndLabels
from outsample.losses.scorers.ranks import Pairs
from outsample.problem import pose

TOGETHER = CrossValidation(10, shuffle=True, pooled=True)
FOREST = RandomForestClassifier(80, max_depth=3, random_state=0)


def one_column(n=100):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 1))
    return X, (X[:, 0] + rng.normal(size=n) > 0.8).astype(int)


@pytest.mark.parametrize("loss", ["roc_auc", "average_precision"])
@pytest.mark.parametrize("criterion", ["auto", "loo", "kfold", "race", TOGETHER])
def test_one_column_is_ranked_alike_by_any_penalty(loss, criterion):
    X, y = one_column()
    found = [
        outsample.estimate(LogisticRegression(C=C), X, y, loss=loss, criterion=criterion, random_state=0)
        for C in (1e-5, 1e-3, 1.0)
    ]
    assert len({round(it.out_sample, 12) for it in found}) == 1
    if loss == "roc_auc":
        assert abs(found[0].out_sample - 0.872) < 1.96 * found[0].standard_error, "that of the column on all rows"


@pytest.mark.parametrize("criterion", [RowsAndLabels(), Bootstrap(20)])
def test_one_column_is_ranked_nearly_alike_where_labels_or_bags_are_drawn(criterion):
    X, y = one_column()
    found = [
        outsample.estimate(LogisticRegression(C=C), X, y, loss="roc_auc", criterion=criterion, random_state=0)
        for C in (1e-5, 1e-3, 1.0)
    ]
    assert np.ptp([it.out_sample for it in found]) < 0.05
    assert 0.8 < found[0].out_sample < 0.95


def test_a_search_finds_all_penalties_of_one_column_equal():
    X, y = one_column()
    search = GridSearch(LogisticRegression(), {"C": [1e-5, 1e-3, 1.0]}, scoring="roc_auc", random_state=0).fit(X, y)
    assert search.plausible_.tolist() == [0, 1, 2]
    assert np.ptp(search.cv_results_["mean_test_score"]) < 1e-12


NOISE = {
    "logistic": (LogisticRegression(C=1e-3), ["auto", TOGETHER, "race"]),
    "discriminant": (LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1.0), ["auto", "loo", RowsAndLabels(4)]),
    "ridge classifier": (RidgeClassifier(100.0), ["auto", "loo", TOGETHER]),
    "neighbours": (KNeighborsClassifier(15), ["auto", "loo", RowsAndLabels(4)]),
    "naive bayes": (GaussianNB(), ["auto", "loo", TOGETHER]),
    "tree": (DecisionTreeClassifier(max_leaf_nodes=4, random_state=0), [RowsAndLabels(4), TOGETHER]),
    "support vectors": (SVC(C=0.1), ["auto"]),
    "forest": (FOREST, [OutOfBag()]),
}


def noise(rng, n, n_positive):
    return rng.normal(size=(n, 3)), rng.permutation(np.arange(n) < n_positive).astype(int)


def ranked_by_chance(learner, criterion, n, n_positive, draws):
    rng, found = np.random.default_rng(1), []
    for k in range(draws):
        X, y = noise(rng, n, n_positive)
        found.append(outsample.estimate(learner, X, y, loss="roc_auc", criterion=criterion, random_state=k).out_sample)
    off = abs(np.mean(found) - 0.5)
    return off <= 3.5 * np.std(found) / np.sqrt(draws) and off < 0.15


@pytest.mark.parametrize("prevalence", [0.1, 0.5])
@pytest.mark.parametrize("name", NOISE)
def test_noise_is_ranked_by_chance(name, prevalence):
    learner, criteria = NOISE[name]
    for criterion in criteria:
        assert ranked_by_chance(learner, criterion, 50, prevalence * 50, 15), criterion


@pytest.mark.parametrize(("n", "n_positive"), [(20, 2), (20, 10), (100, 5), (300, 6)])
@pytest.mark.parametrize("criterion", ["auto", "race", TOGETHER, Bootstrap(20), Bootstrap(20, kind="bags")])
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_noise_is_ranked_by_chance_at_any_size_and_prevalence(criterion, n, n_positive):
    """With two positive rows of twenty, one bag in eight has none of them."""
    assert ranked_by_chance(GaussianNB(), criterion, n, n_positive, 20)


@pytest.mark.parametrize("n_positive", [6, 30])
def test_noise_is_ranked_by_chance_in_a_race_over_size(n_positive):
    rng, found, grid = np.random.default_rng(1), [], {"min_samples_leaf": [1, 20]}
    for k in range(8):
        X, y = noise(rng, 60, n_positive)
        search = GridSearch(RandomForestClassifier(80, max_depth=3, random_state=k), grid, scoring="roc_auc")
        curve = search.set_params(refit=False, random_state=k).fit(X, y).curve_
        assert curve.race.unit == "tree"
        found.append(-curve.out_sample[-1])
    assert abs(np.mean(found) - 0.5) < 3.5 * np.std(found) / np.sqrt(8)


PARTS = [CrossValidation(10), "race", TOGETHER, Bootstrap(20, kind="bags"), OutOfBag()]


@pytest.mark.parametrize("criterion", PARTS)
def test_average_precision_of_noise_is_that_of_guessing_as_it_was_judged(criterion):
    """Luck ranks the one positive row of a fold of ten at .29 on average, where a tenth of the rows are positive."""
    rng, apart, better = np.random.default_rng(2), [], []
    forest = isinstance(criterion, OutOfBag)
    learner = RandomForestClassifier(40, max_depth=3, random_state=0) if forest else GaussianNB()
    grid = {"min_samples_leaf": [3]} if forest else {"var_smoothing": [1e-9]}
    for k in range(15):
        X, y = noise(rng, 100, 10)
        search = GridSearch(learner, grid, scoring="average_precision", criterion=criterion, random_state=k).fit(X, y)
        loss = pose(learner, X, y, loss="average_precision").loss
        guess = loss.guessing(y, None, search.curve_.left_out.sizes_of_sets)
        apart.append(search.curve_.out_sample[0] - guess)
        better.append(bool(search.verdict_.beats_guessing))
    assert abs(np.mean(apart)) < 3.5 * np.std(apart) / np.sqrt(15)
    assert sum(better) <= 2


def test_chance_of_average_precision_against_permutations():
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], [6, 10, 14])
    for classes, name in (
        (2, "average_precision"),
        (3, make_scorer(average_precision_score, response_method="predict_proba")),
    ):
        labels = np.minimum(y, classes - 1)
        loss = pose(GaussianNB(), rng.normal(size=(30, 2)), labels, loss=name).loss
        said = rng.dirichlet(np.ones(classes), 30)
        whole = [loss.risk(rng.permutation(labels), said if loss.trailing else said[:, 1]) for _ in range(3000)]
        assert loss.guessing(labels) == pytest.approx(np.mean(whole), abs=0.006)
        weight = np.ones(30)
        assert loss.guessing(labels, weight) == pytest.approx(np.mean(whole), abs=0.06), "by a few random orders"
        assert loss.guessing(labels, None, np.array([10, 10, 10])) < loss.guessing(labels)


def ridge_truth(model, gap):
    w = np.ravel(model.coef_)
    return float(norm.cdf(w[0] * gap / np.sqrt(2) / np.linalg.norm(w)))


def drawn(rng, n, prevalence, gap, columns):
    y = np.arange(n) < max(2, round(prevalence * n))
    X = rng.normal(size=(n, columns))
    X[y, 0] += gap
    return X, y.astype(int)


def test_plausible_candidates_contain_the_best_by_simulation():
    rng, grid, contained = np.random.default_rng(0), {"alpha": [1e-2, 1.0, 10.0, 100.0, 1e4]}, []
    for _ in range(60):
        X, y = drawn(rng, 60, 0.3, 1.0, 12)
        search = GridSearch(RidgeClassifier(), grid, scoring="roc_auc", random_state=0, honest=None).fit(X, y)
        true = [ridge_truth(RidgeClassifier(alpha).fit(X, y), 1.0) for alpha in grid["alpha"]]
        contained.append(int(np.argmax(true)) in search.plausible_)
    assert np.mean(contained) >= 0.9


@pytest.mark.parametrize(("n", "prevalence", "gap"), [(100, 0.5, 1.2), (100, 0.05, 1.2), (60, 0.5, 3.5)])
def test_intervals_cover_by_simulation(n, prevalence, gap):
    rng, covered = np.random.default_rng(n), []
    for _ in range(80):
        X, y = drawn(rng, n, prevalence, gap, 3)
        low, high = outsample.estimate(LinearDiscriminantAnalysis(), X, y, loss="roc_auc", random_state=0).interval()
        covered.append(low <= ridge_truth(LinearDiscriminantAnalysis().fit(X, y), gap) <= high)
    assert np.mean(covered) >= 0.89


@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "roc_auc_ovr", "roc_auc_ovo", "roc_auc_ovr_weighted"])
@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_of_one_model_are_its_ranking(name, weighted):
    rng = np.random.default_rng(0)
    n, n_classes = 40, 2 if name in ("roc_auc", "average_precision") else 3
    y, weight = np.arange(n) % n_classes, rng.uniform(1, 2, n) if weighted else None
    if weighted and name == "roc_auc_ovo":
        pytest.skip("scikit-learn takes no weights for pairs of classes")
    problem = pose(LogisticRegression(), rng.normal(size=(n, 2)), y, loss=name, sample_weight=weight)
    shares = rng.dirichlet(np.ones(n_classes), n)

    def ranking(c):
        scores = problem.loss.scores_of(shares if problem.loss.trailing else shares[:, 1], c)
        return Pairs((scores[:, None] > scores).astype(float), ~np.eye(n, dtype=bool))

    said = shares if problem.loss.trailing else shares[:, 1]
    risk, rows = problem.loss.of_pairs(problem.y, ranking, weight)
    assert risk == pytest.approx(float(problem.loss.risk(problem.y, said, weight)))
    np.testing.assert_allclose(rows, problem.loss.part_values(problem.y, said, weight), atol=1e-9)


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_one_set_joined_is_that_set(name):
    rng = np.random.default_rng(0)
    y, X = np.arange(30) % 3 // 2, rng.normal(size=(30, 2))
    problem = pose(LogisticRegression(), X, y, loss=name)
    said = rng.random((4, 30)) if not problem.loss.trailing else rng.dirichlet([1, 1], (4, 30))
    rows, risks = problem.loss.part_values(y, said), problem.loss.risk(y, said)
    joined = problem.loss.joined(rows, risks[None], [np.arange(30)], y, None)
    np.testing.assert_allclose(joined, problem.loss.row_values(y, said), atol=1e-12)


def test_rare_rows_of_a_fold_each_have_its_deviation():
    """One positive row in each fold: the error of the mean over folds is that of the risks of folds."""
    rng = np.random.default_rng(0)
    y, X = (np.arange(120) % 20 == 0).astype(int), rng.normal(size=(120, 2))
    problem = pose(LogisticRegression(), X, y, loss="roc_auc")
    tests = [np.arange(k, k + 20) for k in range(0, 120, 20)]
    said = rng.random((1, 120))
    said = np.stack([1 - said, said], axis=-1) if problem.loss.trailing else said
    rows = np.concatenate([problem.loss.part_values(y[t], said[:, t]) for t in tests], axis=1)
    risks = np.stack([problem.loss.risk(y[t], said[:, t]) for t in tests])
    joined = problem.loss.joined(rows, risks, tests, y, None)[0]
    assert joined.mean() == pytest.approx(risks.mean())
    by_folds = risks.std() / np.sqrt(6)
    assert joined.std() / np.sqrt(120) == pytest.approx(by_folds, rel=0.35)
    assert rows.std() / np.sqrt(120) < 0.75 * by_folds, "not where all rows of a fold share what it differs by"


def largest_gap(y, scores):
    """The statistic of Kolmogorov and Smirnov."""
    wrong, right, _ = roc_curve(y, scores)
    return float(np.max(right - wrong))


def rank_correlation(y, values):
    return float(spearmanr(y, values).statistic)


SCORERS = {
    "roc_auc": True,
    "average_precision": True,
    "neg_log_loss": False,
    "neg_brier_score": False,
    "f1": False,
    "balanced_accuracy": False,
}


@pytest.mark.parametrize("name", SCORERS)
def test_which_scorers_rank_rows(name):
    X, y = one_column()
    assert pose(LogisticRegression(), X, y, loss=name).loss.ranks is SCORERS[name]


@pytest.mark.parametrize("learner", [LogisticRegression(), SVC()])
@pytest.mark.parametrize("arguments", [{"max_fpr": 0.3}, {}])
def test_functions_of_the_order_are_found_by_trial(learner, arguments):
    function = roc_auc_score if arguments else largest_gap
    scorer = make_scorer(function, response_method=("decision_function", "predict_proba"), **arguments)
    X, y = one_column()
    assert pose(learner, X, y, loss=scorer).loss.ranks


def test_functions_of_numbers_are_found_by_trial():
    X, y = one_column()
    y = X[:, 0] + y
    assert pose(Ridge(), X, y, loss=make_scorer(rank_correlation)).loss.ranks
    assert pose(Ridge(), X, y, loss=rank_correlation).loss.ranks
    assert not pose(Ridge(), X, y, loss="r2").loss.ranks
    assert not pose(Ridge(), X, y, loss="neg_median_absolute_error").loss.ranks


def test_single_rows_left_out_say_what_was_done_instead():
    X, y = one_column()
    found = outsample.estimate(KNeighborsClassifier(), X, y, loss="roc_auc", criterion="loo", random_state=0)
    assert found.n_fits == 1
    assert any("mean over 10 folds" in note for note in found.notes)


def test_what_cannot_mean_anything_is_refused():
    X, y = one_column()
    with pytest.raises(ValueError, match='"alo" leaves out single rows, and roc_auc ranks rows'):
        outsample.estimate(LogisticRegression(), X, y, loss="roc_auc", criterion="alo")
    with pytest.raises(ValueError, match="budget=5: roc_auc ranks rows"):
        outsample.estimate(LogisticRegression(), X, y, loss="roc_auc", criterion=LeaveOneOut(5))
    gap = make_scorer(largest_gap, response_method="predict_proba")
    with pytest.raises(ValueError, match='"oob" compares two rows at a time'):
        outsample.estimate(FOREST, X, y, loss=gap, criterion="oob")


def test_forests_out_of_bag_are_near_the_truth_by_simulation():
    rng, apart = np.random.default_rng(3), []
    for _ in range(8):
        X = rng.normal(size=(900, 4))
        y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=900) > 0).astype(int)
        forest = RandomForestClassifier(100, random_state=0)
        found = outsample.estimate(forest, X[:150], y[:150], loss="roc_auc", criterion="oob", random_state=0)
        true = roc_auc_score(y[150:], forest.fit(X[:150], y[:150]).predict_proba(X[150:])[:, 1])
        apart.append(found.out_sample - true)
    assert abs(np.mean(apart)) < 0.04


def test_forests_race_over_size_by_ranks_at_a_fraction_of_five_folds():
    X, y = drawn(np.random.default_rng(0), 150, 0.4, 1.0, 6)
    grid = {"max_features": [1, 2, 4], "min_samples_leaf": [1, 5, 20]}
    search = GridSearch(RandomForestClassifier(100, random_state=0), grid, scoring="roc_auc", random_state=0).fit(X, y)
    assert search.curve_.race.unit == "tree"
    assert search.n_fits_ <= 9
    assert len(search.plausible_) >= 1


def test_honest_scores_do_not_rank_by_several_models():
    X, y = one_column()
    grid = {"C": [1e-5, 1.0]}
    for criterion in (Race(), TOGETHER, LeaveOneOut()):
        search = GridSearch(LogisticRegression(), grid, scoring="roc_auc", criterion=criterion, honest="bootstrap")
        assert search.set_params(random_state=0).fit(X, y).honest_score_.out_sample > 0.8


def test_average_precision_of_a_mean_over_folds_against_scikit_learn():
    X, y = one_column()
    found = GridSearch(LogisticRegression(), {"C": [1.0]}, scoring="average_precision", criterion=TOGETHER, refit=False)
    curve = found.set_params(random_state=0).fit(X, y).curve_
    fold = curve.left_out.fold
    by_fold = []
    for k in range(10):
        model = LogisticRegression().fit(X[fold != k], y[fold != k])
        by_fold.append(average_precision_score(y[fold == k], model.predict_proba(X[fold == k])[:, 1]))
    assert curve.out_sample[0] == pytest.approx(-np.mean(by_fold))
