"""Logistic regression along `C`: one warm-started pass per label vector, from strong penalties to weak."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array

from outsample.data.tables import Table
from outsample.paths.base import Abilities, Design, GridPath
from outsample.paths.one_fit import DrawByDraw
from outsample.paths.penalised.elastic_net import double_table
from outsample.paths.penalised.newton import solve_binary, solve_multinomial
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats
from outsample.running.fits import count_fits

_L2_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")
# Multiplications in one step of Newton's method up to which, under an l2 penalty, it is no slower than scikit-learn's
# solvers: the fixed costs of those, or a multiple of the entries of X, which they read in every iteration.
_WORK_TWO_CLASSES, _WORK_MORE_CLASSES, _WORK_PER_ENTRY = 5_000_000, 1_000_000, 20
# For l1, scikit-learn's solver is so slow that only memory sets a limit.
_MAX_COLUMNS_FOR_L1 = 500


class LogisticPath(GridPath):
    """LogisticRegression along `C`: l2 for any number of classes, l1 and elastic net for two.

    Every model is solved to its optimum by Newton's method, whatever `solver`, `tol` and `max_iter` say;
    scikit-learn's own solution is within its tolerance of it. A decision value that is exactly zero at the
    optimum is a tie, which rounding decides in both programs. Not served: liblinear, which penalises the
    intercept, class weights and no penalty. Left to scikit-learn itself: tables in single precision, l1
    for more than two classes or 500 columns, `C=inf`, and l2 with so many unknowns that Newton's method would be
    the slower one: from about 50 on with thousands of rows, 150 with as few rows as columns, fewer with many
    classes; always in sparse tables with more columns than rows.
    """

    responses = frozenset({"predict", "predict_proba", "decision_function"})
    solves_further = True

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        mix = l1_share(estimator)
        solvers = _L2_SOLVERS if mix == 0.0 else ("saga",)
        covered = estimator.solver in solvers and not estimator.dual and estimator.class_weight is None
        usual = getattr(estimator, "multi_class", "auto") in ("auto", "deprecated")
        return mix is not None and covered and usual

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        checked = check_array(X, accept_sparse="csr")
        covered = classes is not None and self._covers(checked, len(classes))
        table = double_table(checked) if covered else None
        if classes is None or table is None:
            return RefitPath.of(self).bind(X, classes, weight)
        return LogisticDesign(self, table, classes, weight)

    def _covers(self, X: Any, n_classes: int) -> bool:
        """Whether Newton's method handles all values of C, and is likely to be faster than scikit-learn's solver."""
        if not all(0.0 < C < np.inf for C in self.values):
            return False
        if l1_share(self.estimator) != 0.0:
            return n_classes == 2 and bool(X.shape[1] <= _MAX_COLUMNS_FOR_L1)
        if sparse.issparse(X) and X.shape[1] > X.shape[0]:
            # Rotating a wide sparse table makes it dense, which takes longer than most searches on it.
            return False
        unknowns, entries = min(X.shape) + 1, X.nnz if sparse.issparse(X) else X.size
        if n_classes == 2:
            work, little = X.shape[0] * unknowns**2, _WORK_TWO_CLASSES
        else:
            work, little = X.shape[0] * (n_classes * unknowns) ** 2 // 2, _WORK_MORE_CLASSES
        return bool(work <= max(little, _WORK_PER_ENTRY * entries))


class LogisticDesign(DrawByDraw):
    """Logistic regression on centred X, projected on its row space where it has more columns than rows."""

    abilities = Abilities(batched=False, coefficients=True)

    def __init__(self, path: LogisticPath, X: Floats, classes: Array, weight: Floats | None) -> None:
        super().__init__(path, X, classes, weight)
        self.table, self.fits_per_draw = X, len(path)
        self._Cs = [float(C) for C in path.values]
        self._mix = l1_share(path.estimator) or 0.0
        self._intercept = bool(path.estimator.fit_intercept)
        self._means = X.mean(axis=0) if self._intercept else np.zeros(X.shape[1])
        self._rotation: Floats | None = None
        self._X: Floats = X - self._means
        if self._mix == 0.0 and X.shape[1] > X.shape[0]:
            # The l2 penalty does not change under rotations, and the optimum lies in the row space.
            self._rotation = np.linalg.svd(self._X, full_matrices=False)[2].T
            self._X = self._X @ self._rotation
        self._share = np.ones(len(X)) if weight is None else weight

    def _answers(
        self, y: Array, classes: Array | None, X_new: Table | None, response: str, seed: int | None
    ) -> Iterable[Array]:
        assert classes is not None
        rows = self._X if X_new is None else self._coordinates(X_new)
        for beta in self._pass(y, len(classes)):
            decision = rows @ beta[:, :-1].T + beta[:, -1]
            yield _response(decision[:, 0] if len(classes) == 2 else decision, response)

    def fitted_coefficients(self, y: Array) -> Iterator[tuple[Floats, Floats]]:
        assert self.classes is not None
        for beta in self._pass(y, len(self.classes)):
            own = beta[:, :-1] if self._rotation is None else beta[:, :-1] @ self._rotation.T
            yield own, beta[:, -1] - own @ self._means

    def _pass(self, y: Array, n_classes: int) -> Iterator[Floats]:
        """Coefficients for every C, (K, p + 1), the intercept last; of two classes only those of the second."""
        count_fits(len(self._Cs))
        X, share, free = self._X, self._share, self._intercept
        if n_classes == 2:
            beta = np.zeros(X.shape[1] + 1)
            for C in self._Cs:
                beta = solve_binary(X, y.astype(np.float64), share, C, self._mix, free, beta)
                yield beta[None]
            return
        Z = np.column_stack([X, np.ones(len(X))]) if free else X
        betas = np.zeros((n_classes, Z.shape[1]))
        for C in self._Cs:
            betas = solve_multinomial(Z, np.eye(n_classes)[y], share, C, free, betas)
            yield betas if free else np.column_stack([betas, np.zeros(n_classes)])

    def _coordinates(self, X_new: Table) -> Floats:
        """New rows, centred and projected as X is."""
        table = check_array(X_new, dtype=np.float64, accept_sparse="csr")
        moved = (table.toarray() if sparse.issparse(table) else table) - self._means
        return np.asarray(moved if self._rotation is None else moved @ self._rotation)


def l1_share(estimator: LogisticRegression) -> float | None:
    """Share of the absolute penalty, 0 for l2 and 1 for l1; None without a penalty.

    Newer versions of scikit-learn say it by `l1_ratio` alone, older ones by `penalty`.
    """
    penalty = getattr(estimator, "penalty", "deprecated")
    if penalty in ("deprecated", "elasticnet"):
        return None if estimator.l1_ratio is None else float(estimator.l1_ratio)
    return {"l2": 0.0, "l1": 1.0}.get(penalty)


def _response(decision: Floats, response: str) -> Array:
    """Codes, probabilities or decision values from decision values, (n,) for two classes or (n, K)."""
    if response == "decision_function":
        return decision
    if decision.ndim == 1:
        if response == "predict":
            return (decision > 0).astype(np.intp)
        return np.column_stack([1.0 - expit(decision), expit(decision)])
    return np.argmax(decision, axis=1) if response == "predict" else np.asarray(softmax(decision, axis=1))
