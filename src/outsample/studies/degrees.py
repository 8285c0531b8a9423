"""Training and validation risk over the degree of a polynomial: Figure 1 of the notes on validation.

Ten training points determine a polynomial of degree nine: there the training risk is zero, and the validation risk
jumps. The notes show a data set as a picture. Here the points lie about a cubic; nine training points are equally
spaced and the tenth is close to one of them. All degrees from 3 to 8 can pass between these two and are level on the
validation set, as in the notes; degree nine must meet both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from outsample.datasets import LegendreProblem
from outsample.questions.validate import Validation, validate
from outsample.running.arrays import Floats
from outsample.running.progress import Progress
from outsample.running.run import child_generator
from outsample.studies.result import Draw, File, Finding, StudyResult, save
from outsample.studies.study import study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CUBIC = LegendreProblem(np.array([0.0, 0.6, -0.3, 1.0]), noise_variance=0.02)
N_TRAINING = N_VALIDATION = 10
DEGREES = range(1, N_TRAINING)
CLOSE = 0.01
"""Distance of the two training points that are close to each other."""
SHOWN = (1, 2, 3, 6, 9)
"""Degrees whose polynomials are drawn, beside the one chosen."""


@study("problems", n=20)
def degrees(
    n: int = 200,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Training and validation risk of polynomials of degree 1 … 9 on ten points.

    Parameters
    ----------
    n : data sets; medians over all of them are shown beside the first, which is drawn.
    seed : of the data.
    store, data_home, n_jobs, progress : not used, it takes seconds.
    out : folder to write to, or None.
    """
    sets = [_data(seed, i) for i in range(n)]
    found = [_validation(*data) for data in sets]
    training, validation = (np.array([getattr(f.curve, name) for f in found]) for name in ("in_sample", "out_sample"))
    findings = tuple(
        Finding("risk", f"degree {degree}", name, value)
        for k, degree in enumerate(DEGREES)
        for name, value in (
            ("training", float(training[0, k])),
            ("validation", float(validation[0, k])),
            ("training, median", float(np.median(training[:, k]))),
            ("validation, median", float(np.median(validation[:, k]))),
        )
    )
    chosen = [f.best_params[PARAMETER] for f in found]
    share = np.mean(np.array(chosen) == 3)
    jump = np.median(validation[:, -1] / validation[:, -2])
    notes = (
        f"Chosen on the first data set: degree {chosen[0]}. Degree 3 is chosen on {share:.0%} of all.",
        f"At degree {N_TRAINING - 1} the training risk is zero and the validation risk {jump:.3g} times that of degree "
        f"{N_TRAINING - 2} (median).",
    )
    title = (
        f"Training and validation risk over polynomial degree, {n} data sets of {N_TRAINING} + {N_VALIDATION} points"
    )
    return save(StudyResult("degrees", title, findings, notes, _draw(sets[0], found[0])), out)


PARAMETER = "polynomialfeatures__degree"
Points = tuple[Floats, Floats, Floats, Floats]


def _data(seed: int, i: int) -> Points:
    rng = child_generator(np.random.SeedSequence(seed), i)
    spaced = np.linspace(-1, 1, N_TRAINING - 1)
    x = np.append(spaced, rng.choice(spaced[:-1]) + CLOSE)
    noise = np.sqrt(CUBIC.noise_variance) * rng.standard_normal(N_TRAINING)
    y = np.polynomial.legendre.legval(x, CUBIC.coefficients) + noise
    return x[:, None], y, *CUBIC.sample(N_VALIDATION, rng)


def _validation(X: Floats, y: Floats, X_validation: Floats, y_validation: Floats) -> Validation:
    polynomials = make_pipeline(PolynomialFeatures(include_bias=False), LinearRegression())
    return validate(polynomials, {PARAMETER: list(DEGREES)}, X, y, X_validation, y_validation, refit=False)


def _draw(data: Points, found: Validation) -> Draw:
    def draw(figure: Figure) -> None:
        risks, fits = figure.subplots(1, 2)
        for name, label in (("in_sample", "training"), ("out_sample", "validation")):
            # A risk of zero has no place on a logarithmic axis.
            risks.plot(list(DEGREES), np.maximum(getattr(found.curve, name), 1e-6), "o-", label=label)
        risks.set(
            title="risks on one of the data sets", yscale="log", xlabel="degree", ylabel="risk (zero drawn as 1e-6)"
        )
        risks.legend()
        X, y, X_validation, y_validation = data
        line = np.linspace(-1, 1, 300)[:, None]
        for degree in sorted({*SHOWN, found.best_params[PARAMETER]}):
            model = make_pipeline(PolynomialFeatures(degree), LinearRegression()).fit(X, y)
            wide = 2.5 if degree == found.best_params[PARAMETER] else 1.0
            fits.plot(line[:, 0], model.predict(line), linewidth=wide, label=f"degree {degree}")
        fits.plot(X[:, 0], y, "o", color="tab:blue", label="training set")
        fits.plot(X_validation[:, 0], y_validation, "o", color="tab:orange", label="validation set")
        lowest, highest = min(y.min(), y_validation.min()) - 1, max(y.max(), y_validation.max()) + 1
        fits.set(title="its fits; the chosen degree is thick", xlabel="x", ylabel="y", ylim=(lowest, highest))
        fits.locator_params(axis="x", nbins=5)
        fits.legend(fontsize="small", loc="lower right")

    return draw
