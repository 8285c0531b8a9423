"""Training and validation risk over the degree of a polynomial: Figure 1 of the notes on validation.

Ten training points determine a polynomial of degree nine: there the training risk is zero, and the validation risk
jumps. The notes show a data set as a picture. Here the points lie about a cubic; nine training points are equally
spaced and the tenth is close to one of them. All degrees from 3 to 8 can pass between these two and are level on the
validation set, as in the notes; degree nine must meet both.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import outsample
from outsample.datasets import LegendreProblem
from studies.shared import Finding, Options, Result, generator, study

CUBIC = LegendreProblem(np.array([0.0, 0.6, -0.3, 1.0]), noise_variance=0.02)
N_TRAINING = N_VALIDATION = 10
DEGREES = list(range(1, N_TRAINING))
PARAMETER = "polynomialfeatures__degree"

# Distance of the two training points that are close to each other.
CLOSE = 0.01
# Degrees whose polynomials are drawn, beside the one chosen.
SHOWN = (1, 2, 3, 6, 9)


def data(seed: int, i: int) -> tuple[np.ndarray, ...]:
    """Training and validation points of one problem: X, y, X, y."""
    rng = generator(seed, i)
    spaced = np.linspace(-1, 1, N_TRAINING - 1)
    x = np.append(spaced, rng.choice(spaced[:-1]) + CLOSE)
    noise = np.sqrt(CUBIC.noise_variance) * rng.standard_normal(N_TRAINING)
    y = np.polynomial.legendre.legval(x, CUBIC.coefficients) + noise
    return x[:, None], y, *CUBIC.sample(N_VALIDATION, rng)


@study("data sets", n=200, quick={"n": 20})
def degrees(options: Options) -> Result:
    """Training and validation risk of polynomials of degree 1 … 9 on ten points."""
    sets = [data(options.seed, i) for i in range(options.n)]
    polynomials = make_pipeline(PolynomialFeatures(include_bias=False), LinearRegression())
    found = [outsample.validate(polynomials, {PARAMETER: DEGREES}, *points, refit=False) for points in sets]
    training, validation = (np.array([getattr(f.curve, name) for f in found]) for name in ("in_sample", "out_sample"))
    findings = tuple(
        Finding("risk", f"degree {degree}", name, float(value))
        for k, degree in enumerate(DEGREES)
        for name, value in (
            ("training", training[0, k]),
            ("validation", validation[0, k]),
            ("training, median", np.median(training[:, k])),
            ("validation, median", np.median(validation[:, k])),
        )
    )
    chosen = [f.best_params[PARAMETER] for f in found]
    jump = np.median(validation[:, -1] / validation[:, -2])
    notes = (
        f"Chosen on the first data set: degree {chosen[0]}. Degree 3 is chosen on {np.mean(np.array(chosen) == 3):.0%} "
        "of all.",
        f"At degree {N_TRAINING - 1} the training risk is zero and the validation risk {jump:.3g} times that of degree "
        f"{N_TRAINING - 2} (median).",
    )

    def draw(figure: Figure) -> None:
        risks, fits = figure.subplots(1, 2)
        for values, label in ((training[0], "training"), (validation[0], "validation")):
            # A risk of zero has no place on a logarithmic axis.
            risks.plot(DEGREES, np.maximum(values, 1e-6), "o-", label=label)
        risks.set(title="risks on one of the data sets", yscale="log", xlabel="degree")
        risks.set_ylabel("risk (zero drawn as 1e-6)")
        risks.legend()
        X, y, X_validation, y_validation = sets[0]
        line = np.linspace(-1, 1, 300)[:, None]
        for degree in sorted({*SHOWN, chosen[0]}):
            model = make_pipeline(PolynomialFeatures(degree), LinearRegression()).fit(X, y)
            wide = 2.5 if degree == chosen[0] else 1.0
            fits.plot(line[:, 0], model.predict(line), linewidth=wide, label=f"degree {degree}")
        fits.plot(X[:, 0], y, "o", color="tab:blue", label="training set")
        fits.plot(X_validation[:, 0], y_validation, "o", color="tab:orange", label="validation set")
        lowest, highest = min(y.min(), y_validation.min()) - 1, max(y.max(), y_validation.max()) + 1
        fits.set(title="its fits; the chosen degree is thick", xlabel="x", ylabel="y", ylim=(lowest, highest))
        fits.locator_params(axis="x", nbins=5)
        fits.legend(fontsize="small", loc="lower right")

    title = f"Training and validation risk over polynomial degree, {options.n} data sets of "
    return Result("degrees", f"{title}{N_TRAINING} + {N_VALIDATION} points", findings, notes, draw)
