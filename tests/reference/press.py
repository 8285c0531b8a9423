"""Leave-one-out residuals of least squares as statsmodels computes them, on the cars of rows_r.json.

Run in this directory: python press.py. Writes press.json.
"""

import json
from pathlib import Path

import numpy as np
import statsmodels.api as sm
from statsmodels.stats.outliers_influence import OLSInfluence

here = Path(__file__).parent
cars = json.loads((here / "rows_r.json").read_text())["cars"]
y = np.array([car["mpg"] for car in cars])
X = np.array([[car[name] for name in ("wt", "hp", "qsec")] for car in cars])
fit = sm.OLS(y, sm.add_constant(X)).fit()
influence = OLSInfluence(fit)
out = {
    "resid_press": influence.resid_press.tolist(),
    "leverages": influence.hat_matrix_diag.tolist(),
    "press": float((influence.resid_press**2).sum()),
}
(here / "press.json").write_text(json.dumps(out))
