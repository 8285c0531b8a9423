"""Leave-one-out residuals of least squares as statsmodels computes them, on the cars of rows_r.json.

Run in this directory: python press.py. Writes press.json.
"""

import json
from pathlib import Path

import numpy as np
import statsmodels.api as sm
from statsmodels.stats.outliers_influence import OLSInfluence

HERE = Path(__file__).parent


def press():
    """Leave-one-out residuals, leverages, and the sum of squares of the former."""
    cars = json.loads((HERE / "rows_r.json").read_text())["cars"]
    y = np.array([car["mpg"] for car in cars])
    X = np.array([[car[name] for name in ("wt", "hp", "qsec")] for car in cars])
    influence = OLSInfluence(sm.OLS(y, sm.add_constant(X)).fit())
    return {
        "resid_press": influence.resid_press.tolist(),
        "leverages": influence.hat_matrix_diag.tolist(),
        "press": float((influence.resid_press**2).sum()),
    }


# Not when the tests import this file in search of examples: the reference stays as it was frozen.
if __name__ == "__main__":
    (HERE / "press.json").write_text(json.dumps(press()))
