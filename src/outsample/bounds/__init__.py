"""Upper bounds on the out-sample error that hold with probability 1 − δ: pure functions, 0–1 units.

Every function has the constants its proof supports; where a source prints others, the result holds the bound with those
as `printed`. A bound at or above 1 is reported as it is and is `vacuous`.
"""

from __future__ import annotations

from outsample.bounds.permutation import (
    expected_permutation_bound,
    one_permutation_bound,
    permutation_bound,
    permutation_complexity_bound,
)
from outsample.bounds.record import Bound, from_squared_units
from outsample.bounds.uniform import (
    empirical_vc_bound,
    expected_discrepancy_bound,
    holdout_bound,
    linear_margin_bound,
    margin_bound,
    maximal_discrepancy_bound,
    rademacher_bound,
    shatter_bound,
    vc_bound,
    vc_entropy_bound,
)

__all__ = [
    "Bound",
    "empirical_vc_bound",
    "expected_discrepancy_bound",
    "expected_permutation_bound",
    "from_squared_units",
    "holdout_bound",
    "linear_margin_bound",
    "margin_bound",
    "maximal_discrepancy_bound",
    "one_permutation_bound",
    "permutation_bound",
    "permutation_complexity_bound",
    "rademacher_bound",
    "shatter_bound",
    "vc_bound",
    "vc_entropy_bound",
]
