"""Upper bounds on the out-sample error that hold with probability 1 − δ: pure functions, 0–1 units.

Every function returns a `Certificate` with the constants its proof supports; where a source prints others, it holds the
bound with those as `printed`. A bound at or above 1 is reported as it is and is `vacuous`.
"""

from __future__ import annotations

from outsample.bounds.concentration import (
    mcdiarmid_deviation,
    mcdiarmid_tail,
    self_bounding_lower_tail,
    self_bounding_upper_tail,
    subadditive_tail,
)
from outsample.bounds.exchangeability import empirical_distribution, empirical_quantile
from outsample.bounds.margins import (
    kernel_margin_bound,
    linear_margin_bound,
    margin_bound,
    voting_margin_bound,
    voting_margins,
)
from outsample.bounds.permutation import (
    expected_permutation_bound,
    one_label_bootstrap_bound,
    one_permutation_bound,
    optimism_bound,
    permutation_bound,
    permutation_complexity_bound,
)
from outsample.bounds.record import Certificate, from_squared_units
from outsample.bounds.uniform import (
    empirical_vc_bound,
    expected_discrepancy_bound,
    gaussian_bound,
    holdout_bound,
    log_dichotomies,
    maximal_discrepancy_bound,
    rademacher_bound,
    shatter_bound,
    vc_bound,
    vc_complexity,
    vc_entropy_bound,
)

__all__ = [
    "Certificate",
    "empirical_distribution",
    "empirical_quantile",
    "empirical_vc_bound",
    "expected_discrepancy_bound",
    "expected_permutation_bound",
    "from_squared_units",
    "gaussian_bound",
    "holdout_bound",
    "kernel_margin_bound",
    "linear_margin_bound",
    "log_dichotomies",
    "margin_bound",
    "maximal_discrepancy_bound",
    "mcdiarmid_deviation",
    "mcdiarmid_tail",
    "one_label_bootstrap_bound",
    "one_permutation_bound",
    "optimism_bound",
    "permutation_bound",
    "permutation_complexity_bound",
    "rademacher_bound",
    "self_bounding_lower_tail",
    "self_bounding_upper_tail",
    "shatter_bound",
    "subadditive_tail",
    "vc_bound",
    "vc_complexity",
    "vc_entropy_bound",
    "voting_margin_bound",
    "voting_margins",
]
