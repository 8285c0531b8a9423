"""The effective VC dimension against the dimension of linear classifiers."""

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from outsample import effective_vc_dimension
from outsample.criteria.effective_vc import discrepancy_shape, fitted_dimension


class SmoothLinearClassifier(ClassifierMixin, BaseEstimator):
    """Logistic regression without penalty by Newton's steps, stopped once it separates: small problems, fast."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        A = np.column_stack([np.ones(len(X)), X]) * np.where(y == self.classes_[1], 1.0, -1.0)[:, None]
        w = np.zeros(A.shape[1])
        for _ in range(25):
            if (A @ w > 0).all():
                break
            p = 1 / (1 + np.exp(np.clip(A @ w, -30, 30)))
            hessian = (A * (p * (1 - p))[:, None]).T @ A + 1e-4 * np.eye(len(w))
            step = np.linalg.solve(hessian, A.T @ p - 1e-4 * w)
            w = w + step * min(1.0, 5 / np.abs(step).max())
            if np.abs(step).max() < 1e-4:
                break
        self.w_ = w
        return self

    def predict(self, X):
        return self.classes_[(np.column_stack([np.ones(len(X)), X]) @ self.w_ > 0).astype(int)]


@pytest.mark.parametrize("d", range(2, 11))
def test_linear_classifiers_against_columns_plus_one(d):
    X = np.random.default_rng(d).normal(size=(300, d))
    measured = effective_vc_dimension(SmoothLinearClassifier(), X, n_draws=400 if d < 4 else 150, random_state=0)
    assert measured.value == pytest.approx(d + 1, rel=0.15)
    assert measured.standard_error < 0.05 * (d + 1)


def test_shape_against_definition():
    tau, a, b, k = 3.0, 0.16, 1.2, 0.14928
    inner = np.log(2 * tau) + 1
    assert discrepancy_shape(tau) == pytest.approx(a * inner / (tau - k) * (np.sqrt(1 + b * (tau - k) / inner) + 1))
    assert discrepancy_shape(0.5) == pytest.approx(1, abs=1e-4)
    assert discrepancy_shape(0.2) == 1
    assert (np.diff(discrepancy_shape(np.linspace(0.5, 50, 500))) < 0).all()


@pytest.mark.parametrize("h", [1.5, 4.0, 25.0])
def test_fit_against_exact_curve(h):
    sizes = np.array([2, 5, 10, 30, 100])
    assert fitted_dimension(sizes, discrepancy_shape(sizes / h)) == pytest.approx(h, rel=1e-3)


def test_a_learner_that_fits_everything_has_a_lower_bound():
    X = np.random.default_rng(0).normal(size=(40, 2))
    measured = effective_vc_dimension(KNeighborsClassifier(1), X, n_draws=10, random_state=0)
    assert measured.lower_bound
    assert measured.value == pytest.approx(40)
    assert "≥" in str(measured)


def test_results_speak_and_draw():
    import matplotlib

    matplotlib.use("Agg")
    X = np.random.default_rng(0).normal(size=(40, 2))
    measured = effective_vc_dimension(SmoothLinearClassifier(), X, None, sizes=[2, 5, 10], n_draws=10, random_state=0)
    axes = measured.plot()
    assert len(axes.lines) >= 2
    assert axes.lines[0].get_ydata()[0] == pytest.approx(discrepancy_shape(2 / measured.value))
    assert measured.plot(axes) is axes
    assert measured.to_dict()["sizes"] == [2, 5, 10]
    assert float(measured) == measured.value
    assert "<p>" in measured._repr_html_()
    matplotlib.pyplot.close("all")


def test_the_answer_does_not_depend_on_the_number_of_jobs():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with joblib.parallel_config("threading"):
        one, two = (
            effective_vc_dimension(SmoothLinearClassifier(), X, sizes=[3, 8], n_draws=10, random_state=1, n_jobs=jobs)
            for jobs in (1, 2)
        )
    assert one.value == two.value


def test_bad_input():
    X = np.zeros((30, 2))
    with pytest.raises(ValueError, match="for regression"):
        effective_vc_dimension(LinearRegression(), X)
    with pytest.raises(ValueError, match="half-sizes"):
        effective_vc_dimension(LogisticRegression(), X, sizes=[20])
    with pytest.raises(ValueError, match="rows"):
        effective_vc_dimension(LogisticRegression(), X[:3])
