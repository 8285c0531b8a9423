"""Random questions to the public face: an answer must keep the promises below, or be refused in one sentence.

    python tests/fuzz.py 600

asks for ten minutes and prints every broken promise with the seed that shows it again:

    python tests/fuzz.py 0 1234
"""

from __future__ import annotations

import copy
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample.data.learners import FitError, takes_weight
from outsample.losses.pointwise import ZeroOneLoss

NUMBERS = ("in_sample", "optimism", "out_sample", "standard_error", "monte_carlo_error")

CLOSE = 1e-6
"""Relative difference that rounding explains where the same numbers are added in another order."""

LONGEST_SENTENCE = 400

CLASSIFIERS: list[tuple[Any, dict[str, list[Any]]]] = [
    (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 3, 7]}),
    (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, None]}),
    (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 5], "criterion": ["gini", "entropy"]}),
    (KNeighborsClassifier(), {"n_neighbors": [1, 3, 7]}),
    (make_pipeline(StandardScaler(), KNeighborsClassifier()), {"kneighborsclassifier__n_neighbors": [1, 4]}),
    (LogisticRegression(solver="newton-cholesky", tol=1e-10), {"C": [0.01, 1.0]}),
    (RidgeClassifier(), {"alpha": [0.1, 10.0]}),
    (SVC(), {"C": [0.1, 1.0]}),
    (GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}),
    (LinearDiscriminantAnalysis(), {"tol": [1e-4]}),
    (RandomForestClassifier(5, random_state=0), {"max_depth": [1, 3]}),
    (DummyClassifier(), {"strategy": ["most_frequent", "prior"]}),
]

TREES, ANY, NEVER = 1e-9, 0.0, np.inf
"""Least variance of y at which predictions follow its unit: trees of scikit-learn take one below 2e-16 in a leaf for
none, which rows that a forest draws twice have by rounding only, and Lasso has a penalty in the unit of y."""

REGRESSORS: list[tuple[Any, dict[str, list[Any]], float]] = [
    (DecisionTreeRegressor(random_state=0), {"max_leaf_nodes": [2, 3, 7]}, TREES),
    (DecisionTreeRegressor(random_state=0), {"max_depth": [1, 2, None]}, TREES),
    (KNeighborsRegressor(), {"n_neighbors": [1, 3, 7]}, ANY),
    (LinearRegression(), {"fit_intercept": [True, False]}, ANY),
    (Ridge(solver="svd"), {"alpha": [1e-12, 0.1, 10.0]}, ANY),
    (make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 10.0]}, ANY),
    (Lasso(tol=1e-10, max_iter=100_000), {"alpha": [0.01, 0.1]}, NEVER),
    (GradientBoostingRegressor(n_estimators=4, random_state=0), {"n_estimators": [1, 4]}, TREES),
    (RandomForestRegressor(5, random_state=0), {"max_depth": [1, 3]}, NEVER),
    (DummyRegressor(), {"strategy": ["mean", "median"]}, ANY),
]

CLASS_LOSSES = [None, None, "zero-one", "log", "roc_auc", "f1_macro", "accuracy", [[0, 1], [3, 0]]]
VALUE_LOSSES = [None, None, "squared", "absolute", "r2", "neg_mean_absolute_error"]

CRITERIA = [
    "permutation",
    "label-bootstrap",
    "rademacher",
    "covariance",
    "two-stage",
    "rows-and-labels",
    "auto",
    "discrepancy",
    "expected-discrepancy",
    "kfold",
    "loo",
    "alo",
    "holdout",
    outsample.NestedCrossValidation(3, 2),
    "resubstitution",
    "gcv",
    outsample.Bootstrap(6),
    outsample.Bootstrap(6, kind="632"),
    outsample.Bootstrap(6, kind="632+"),
    outsample.CrossValidation(3),
    outsample.LeaveOneOut(budget=4),
]

UNITS = {"squared": 2, "absolute": 1, "r2": 0}
"""Power of the unit of y that a loss is in."""

NEXT_TO_NOTHING = 1e-6
"""Share of the spread of y below which risks are compared by that spread: those of fits that reproduce every label are
rounding."""

ROW_CRITERIA = ("kfold", "loo", "holdout", "nested-kfold", "bootstrap", "632", "632+")
UPPER_LIMITS = ("discrepancy", "expected-discrepancy")
"""Criteria that bound the risk from above, and rank models also beyond what the loss can be."""

POOLED_OVER_MODELS = ("rows-and-labels", "auto")
"""Criteria in which models of similar complexity share their optimism, so that a model given twice weighs twice."""

RULES = ["minimum", "minimum", "one-standard-error", "first-local-minimum", "penalized"]


@dataclass(frozen=True, eq=False)
class Case:
    """One question."""

    estimator: Any
    grid: dict[str, list[Any]] | None
    X: Any
    y: Any
    loss: Any
    criterion: Any
    rule: str
    weight: Any
    seed: int
    least_variance: float

    @property
    def criterion_name(self) -> str:
        return self.criterion if isinstance(self.criterion, str) else self.criterion.name

    def __str__(self) -> str:
        weighted = "" if self.weight is None else f", weights {np.unique(self.weight)[:3]}…"
        labels = f"{np.asarray(self.y).dtype} labels of {len(set(np.asarray(self.y).tolist()))} values"
        table = f"{type(self.X).__name__} {self.X.shape}"
        return (
            f"{self.estimator} over {self.grid}, {table}, {labels}, loss {self.loss}, {self.criterion}, "
            f"rule {self.rule}{weighted}"
        )


@dataclass(frozen=True, eq=False)
class Answer:
    """All numbers of a curve, None where there are none, the chosen setting and all settings."""

    in_sample: Any
    optimism: Any
    out_sample: Any
    standard_error: Any
    monte_carlo_error: Any
    chosen: Any
    settings: Any
    loss: Any
    notes: tuple[str, ...]

    def in_order_of(self, other: Answer) -> Answer:
        """The same numbers in the order in which another answer has the settings."""
        if self.settings is None:
            return self
        places = {str(sorted(setting.items(), key=str)): k for k, setting in enumerate(self.settings)}
        order = [places[str(sorted(setting.items(), key=str))] for setting in other.settings]
        numbers = {name: getattr(self, name) for name in NUMBERS}
        return replace(
            self,
            settings=other.settings,
            **{name: None if values is None else values[order] for name, values in numbers.items()},
        )


def random_case(seed: int) -> Case:
    """The question of one seed."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.choice([12, 30, 60])), int(rng.choice([1, 3, 8, 40]))
    X = rng.normal(size=(n, p)) * rng.choice([1.0, 1.0, 1e-3, 1e3]) + rng.choice([0.0, 0.0, 10.0])
    signal = X[:, 0] / (np.abs(X[:, 0]).max() + 1e-300) * 2 + rng.normal(size=n) * rng.choice([0.1, 1.0])
    classifies = bool(rng.integers(2))
    if classifies:
        estimator, grid = CLASSIFIERS[rng.integers(len(CLASSIFIERS))]
        y, loss, least_variance = _classes(rng, signal), CLASS_LOSSES[rng.integers(len(CLASS_LOSSES))], NEVER
    else:
        estimator, grid, least_variance = REGRESSORS[rng.integers(len(REGRESSORS))]
        y = signal * 10.0 ** rng.integers(-9, 10) if rng.random() < 0.3 else signal + rng.choice([0.0, 100.0])
        y = y.astype(np.float32) if rng.random() < 0.1 else y
        loss = VALUE_LOSSES[rng.integers(len(VALUE_LOSSES))]
    return Case(
        estimator=estimator,
        grid=grid if rng.random() < 0.7 else None,
        X=_container(rng, X),
        y=y,
        loss=loss,
        criterion=CRITERIA[rng.integers(len(CRITERIA))],
        rule=str(rng.choice(RULES)),
        weight=_weight(rng, n) if takes_weight(estimator) else None,
        seed=int(rng.integers(100)),
        least_variance=least_variance,
    )


def _classes(rng: np.random.Generator, signal: Any) -> Any:
    codes = np.searchsorted(np.quantile(signal, [0.5] if rng.random() < 0.6 else [0.3, 0.7]), signal)
    names = [
        np.arange(3),
        np.array([-1, 1, 4], dtype=np.int8),
        np.array(["a", "b", "c"]),
        np.array(["a", "b", "c"], dtype=object),
        np.array([0.0, 1.0, 2.0]),
        np.array([False, True, True]) if codes.max() == 1 else np.arange(3, dtype=np.uint16),
    ]
    return names[rng.integers(len(names))][codes]


def _container(rng: np.random.Generator, X: Any) -> Any:
    kinds: list[Callable[[Any], Any]] = [
        np.asarray,
        np.asarray,
        np.asfortranarray,
        lambda X: X.astype(np.float32),
        lambda X: np.round(X * 4).astype(np.int64),
        lambda X: pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]),
        sparse.csr_matrix,
    ]
    return kinds[rng.integers(len(kinds))](X)


def _weight(rng: np.random.Generator, n: int) -> Any:
    kinds = [None, None, None, np.ones(n), rng.uniform(0.5, 2, n), rng.integers(0, 3, n).astype(float)]
    return kinds[rng.integers(len(kinds))]


def ask(case: Case, fast: bool = True) -> Answer:
    """What the library says, by `estimate` or by a search."""
    if case.grid is None:
        result = outsample.estimate(
            case.estimator,
            case.X,
            case.y,
            criterion=case.criterion,
            loss=case.loss,
            sample_weight=case.weight,
            random_state=case.seed,
            fast=fast,
        )
        return _answer(result, None, None)
    search = outsample.GridSearch(
        case.estimator,
        case.grid,
        criterion=case.criterion,
        rule=case.rule,
        loss=case.loss,
        refit=False,
        random_state=case.seed,
        error_score="raise",
        fast=fast,
    )
    weighted = {} if case.weight is None else {"sample_weight": case.weight}
    search.fit(case.X, case.y, **weighted)
    return _answer(search.curve_, search.best_params_, search.curve_.params)


def _answer(result: Any, chosen: Any, settings: Any) -> Answer:
    numbers = {name: getattr(result, name) for name in NUMBERS}
    arrays = {name: None if value is None else np.atleast_1d(value) for name, value in numbers.items()}
    return Answer(**arrays, chosen=chosen, settings=settings, loss=result.loss, notes=tuple(result.notes))


def _same(first: Any, second: Any, close: float = 0.0, scale: float | None = None) -> bool:
    """Whether two arrays (or None) hold the same numbers, up to a share of the largest or of a scale."""
    if first is None or second is None:
        return first is None and second is None
    finite = np.isfinite(first) & np.isfinite(second)
    alike = np.array_equal(np.isnan(first), np.isnan(second)) and np.array_equal(np.isinf(first), np.isinf(second))
    largest = np.abs(first[finite]).max(initial=0.0) if scale is None else scale
    return alike and bool((np.abs(first[finite] - second[finite]) <= close * largest).all())


def _differences(case: Case, first: Answer, second: Answer, close: float = 0.0) -> list[str]:
    """What differs, in words; errors that are nothing but rounding are small against the risk."""
    risks = np.concatenate([first.in_sample, first.out_sample])
    least = 0.0 if is_classifier(case.estimator) else NEXT_TO_NOTHING * np.std(case.y) ** _power(first.loss)
    scale = np.abs(risks[np.isfinite(risks)]).max(initial=least)
    second = second.in_order_of(first)
    return [
        f"{name} {getattr(first, name)} became {getattr(second, name)}"
        for name in NUMBERS
        if not _same(getattr(first, name), getattr(second, name), close, scale)
    ]


def _power(loss: Any) -> int:
    """Power of the unit of y that a loss or score is in."""
    name = str(getattr(loss, "name", loss))
    return 1 if "absolute" in name else UNITS[name]


def adds_up(case: Case, answer: Answer) -> list[str]:
    """out_sample = in_sample + optimism."""
    known = np.isfinite(answer.out_sample)
    off = np.abs(answer.in_sample + answer.optimism - answer.out_sample)[known]
    return (
        [f"does not add up: {off.max()}"]
        if (off > 1e-9 * np.abs(answer.out_sample[known]).max(initial=1e-300)).any()
        else []
    )


def raced(answer: Answer) -> bool:
    """Whether candidates were dropped before all folds were seen."""
    return any('took "race"' in note for note in answer.notes)


def is_a_number(case: Case, answer: Answer) -> list[str]:
    """Risks are numbers, zero-one risks are between 0 and 1, errors are not negative."""
    # No candidate of a race is fitted to all rows.
    told = ("out_sample",) if raced(answer) else ("in_sample", "out_sample")
    found = [name for name in told if np.isnan(getattr(answer, name)).any()]
    if getattr(answer.loss, "name", answer.loss) == "r2" and len(case.y) < 20:
        found = []  # R² of a fold of one row is not defined, in scikit-learn too
    complaints = [f"{name} is not a number" for name in found]
    zero_one = isinstance(answer.loss, ZeroOneLoss) or answer.loss == "zero-one"
    greatest = np.inf if case.criterion_name in UPPER_LIMITS else 1.0
    if zero_one and ((answer.out_sample < 0) | (answer.out_sample > greatest)).any():
        complaints.append(f"zero-one risk out of range: {answer.out_sample}")
    for name in ("standard_error", "monte_carlo_error"):
        values = getattr(answer, name)
        if values is not None and (values < 0).any():
            complaints.append(f"negative {name}")
    return complaints


def repeats(case: Case, answer: Answer) -> list[str]:
    """The same seed gives the same bits."""
    return _differences(case, answer, ask(case))


def ignores_weights_of_one(case: Case, answer: Answer) -> list[str]:
    """Weights that are all one are no weights."""
    if case.weight is not None or not takes_weight(case.estimator):
        return []
    return _differences(case, answer, ask(replace(case, weight=np.ones(len(case.y)))), CLOSE)


def ignores_rows_of_no_weight(case: Case, answer: Answer) -> list[str]:
    """A row of weight zero is not there, except to folds that count rows as scikit-learn does."""
    if case.weight is None or (case.weight > 0).all() or isinstance(case.criterion, outsample.CrossValidation):
        return []
    kept = np.flatnonzero(case.weight)
    X = case.X.iloc[kept] if isinstance(case.X, pd.DataFrame) else case.X[kept]
    return _differences(case, answer, ask(replace(case, X=X, y=case.y[kept], weight=case.weight[kept])), CLOSE)


def ignores_the_unit_of_y(case: Case, answer: Answer) -> list[str]:
    """Labels in another unit give the same choice and risks in that unit."""
    unit = 2.0 ** (case.seed % 81 - 40)  # exact, so that gains of trees that tie go on to tie
    name = getattr(answer.loss, "name", answer.loss)
    if name not in UNITS or case.least_variance == NEVER or np.var(case.y) * min(1, unit**2) <= case.least_variance:
        return []
    if case.least_variance == TREES and (case.weight is not None or isinstance(case.criterion, outsample.Bootstrap)):
        return []  # rounding gives leaves of equal labels a variance, which depends on the unit in scikit-learn's trees
    other, factor = ask(replace(case, y=case.y * unit)).in_order_of(answer), unit ** UNITS[name]
    complaints = [] if other.chosen == answer.chosen else [f"chose {answer.chosen}, with y * {unit:g} {other.chosen}"]
    if not _same(answer.out_sample * factor, other.out_sample, CLOSE):
        complaints.append(f"risk {answer.out_sample} became {other.out_sample / factor} with y * {unit:g}")
    return complaints


def ignores_names_of_classes(case: Case, answer: Answer) -> list[str]:
    """Classes under other names in the same order give the same numbers."""
    if not is_classifier(case.estimator) or case.loss in ("f1", "precision", "recall"):
        return []
    codes = np.unique(case.y, return_inverse=True)[1]
    return _differences(case, answer, ask(replace(case, y=np.array(["ant", "bee", "cat"])[codes])))


def ignores_the_order_of_the_grid(case: Case, answer: Answer) -> list[str]:
    """The grid backwards gives every setting the same risk; which of two tied ones is the reference may differ."""
    if case.grid is None or raced(answer):  # of candidates that tie, a race may drop another one
        return []
    other = ask(replace(case, grid={name: values[::-1] for name, values in case.grid.items()}))
    # Labels around another reference are other labels; the note tells which model it is, and then its risk.
    risks = [[note.rpartition(", with noise")[2] for note in a.notes] for a in (answer, other)]
    if answer.notes != other.notes and risks[0] == risks[1]:
        return []
    return _differences(case, *(replace(a, monte_carlo_error=None) for a in (answer, other)), CLOSE)


def ignores_repeated_candidates(case: Case, answer: Answer) -> list[str]:
    """A value given twice is a tie, and changes no choice by least risk."""
    if case.grid is None or case.rule != "minimum" or case.criterion_name in POOLED_OVER_MODELS:
        return []
    chosen = ask(replace(case, grid={name: [*values, *values] for name, values in case.grid.items()})).chosen
    return [] if chosen == answer.chosen else [f"chose {answer.chosen}, with every value twice {chosen}"]


def ignores_the_layout_of_x(case: Case, answer: Answer) -> list[str]:
    """The same numbers in another layout or container say the same."""
    if sparse.issparse(case.X) or np.asarray(case.X).dtype != np.float64:
        return []
    plain = np.ascontiguousarray(np.asarray(case.X))
    other = np.asfortranarray(plain) if np.asarray(case.X).flags.c_contiguous else plain
    return _differences(case, answer, ask(replace(case, X=other)), CLOSE)


def agrees_with_refits(case: Case, answer: Answer) -> list[str]:
    """Fast paths and refits by scikit-learn say the same of left-out rows.

    Not compared where ties are broken differently: neighbours that are equally far away, splits of classes that gain
    the same, classes of the same frequency that constant columns cannot tell apart, so that decision values are zero up
    to rounding.
    """
    neighbours = "Neighbors" in str(case.estimator) and _plain(case.X).dtype.kind == "i"
    undecided = isinstance(case.estimator, LogisticRegression) and not np.ptp(_plain(case.X), axis=0).any()
    tied = neighbours or undecided or "DecisionTreeClassifier" in str(case.estimator)
    if case.criterion_name not in ROW_CRITERIA or tied or (case.criterion_name == "loo" and len(case.y) > 30):
        return []
    refitted = ask(case, fast=False)
    # What one random partition leaves to chance is told where further ones take no fit, and nowhere else.
    if case.criterion_name == "kfold":
        answer, refitted = (replace(a, monte_carlo_error=None) for a in (answer, refitted))
    # scikit-learn computes in the precision of X, fast paths in double precision.
    return _differences(case, answer, refitted, 1e-2 if _plain(case.X).dtype == np.float32 else 1e-4)


def agrees_with_scikit_learn(case: Case, answer: Answer) -> list[str]:
    """Three folds are scikit-learn's three folds."""
    plain = isinstance(case.criterion, outsample.CrossValidation) and case.weight is None
    if not plain or case.grid is not None or case.loss not in ("accuracy", "f1_macro", "r2", "neg_mean_absolute_error"):
        return []
    folds = StratifiedKFold(3) if is_classifier(case.estimator) else KFold(3)
    close = 1e-5 if _plain(case.X).dtype == np.float32 else 1e-9  # scikit-learn computes as X is
    theirs = cross_val_score(clone(case.estimator), case.X, case.y, scoring=case.loss, cv=folds).mean()
    return (
        []
        if abs(answer.out_sample[0] - theirs) < close * max(1, abs(theirs))
        else [f"{answer.out_sample} not {theirs}"]
    )


PROMISES = (
    adds_up,
    is_a_number,
    repeats,
    ignores_weights_of_one,
    ignores_rows_of_no_weight,
    ignores_the_unit_of_y,
    ignores_names_of_classes,
    ignores_the_order_of_the_grid,
    ignores_repeated_candidates,
    ignores_the_layout_of_x,
    agrees_with_refits,
    agrees_with_scikit_learn,
)


WHATEVER_CONVERGES = (adds_up, is_a_number, repeats)
"""Promises that are kept by descents too that stopped before their end and warned of it; where they stop depends on
where they began."""


def broken_promises(case: Case) -> tuple[str, list[str]]:
    """("answered" or why not, what is wrong with the answer)."""
    kept = copy.deepcopy((case.X, case.y, case.weight))
    try:
        answer, stopped = _told(lambda: ask(case))
    except (ValueError, TypeError) as error:
        return f"refused: {case.criterion_name}", [] if _is_one_sentence(str(error)) else [f"refusal: {error}"]
    except FitError as error:
        return f"the learner failed: {case.criterion_name}", [] if _is_one_sentence(str(error)) else [
            f"failure: {error}"
        ]
    except Exception as error:
        return "crashed", [f"{type(error).__name__}: {error}"]
    found = [] if _untouched(kept, (case.X, case.y, case.weight)) else ["the user's data were changed"]
    for promise in PROMISES:
        try:
            complaints, stopped_here = _told(lambda promise=promise: promise(case, answer))
            if promise in WHATEVER_CONVERGES or not (stopped or stopped_here):
                found += [f"{promise.__name__}: {complaint}" for complaint in complaints]
        except Exception as error:
            found.append(f"{promise.__name__}: {type(error).__name__}: {error}")
    return "answered", found


def _told(asked: Callable[[], Any]) -> tuple[Any, bool]:
    """(the answer, whether a descent warned that it stopped before its end)."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        answer = asked()
    return answer, any(issubclass(warning.category, ConvergenceWarning) for warning in told)


def _is_one_sentence(message: str) -> bool:
    return 0 < len(message) <= LONGEST_SENTENCE and "\n" not in message.strip()


def _untouched(before: Any, after: Any) -> bool:
    return all(a is b is None or np.array_equal(_plain(a), _plain(b)) for a, b in zip(before, after, strict=True))


def _plain(table: Any) -> Any:
    return table.toarray() if sparse.issparse(table) else np.asarray(table)


def ask_for(seconds: float, seed: int) -> int:
    """Ask question after question, at least one, and print broken promises; their number comes back."""
    met: Counter[str] = Counter()
    broken, until = 0, time.monotonic() + seconds
    while True:
        case = random_case(seed)
        kind, found = broken_promises(case)
        met[kind] += 1
        for line in found:
            broken += 1
            print(f"seed {seed}: {line}\n    {case}", flush=True)
        seed += 1
        if time.monotonic() >= until:
            break
    print(f"up to seed {seed - 1}, {broken} broken:", ", ".join(f"{kind} {times}" for kind, times in met.most_common()))
    return broken


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(ask_for(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0) > 0)
