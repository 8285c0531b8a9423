"""Upper bounds on the out-sample error that hold with probability 1 − δ: pure functions, 0–1 units.

Every function returns a `Certificate` with the constants its proof supports; where a source prints others, it holds the
bound with those as `printed`. A bound at or above 1 is reported as it is and is `vacuous`.
"""

from outsample.bounds.concentration import empirical_distribution as empirical_distribution
from outsample.bounds.concentration import empirical_quantile as empirical_quantile
from outsample.bounds.concentration import mcdiarmid_deviation as mcdiarmid_deviation
from outsample.bounds.concentration import mcdiarmid_tail as mcdiarmid_tail
from outsample.bounds.concentration import self_bounding_lower_tail as self_bounding_lower_tail
from outsample.bounds.concentration import self_bounding_upper_tail as self_bounding_upper_tail
from outsample.bounds.concentration import subadditive_tail as subadditive_tail
from outsample.bounds.margins import kernel_margin_bound as kernel_margin_bound
from outsample.bounds.margins import linear_margin_bound as linear_margin_bound
from outsample.bounds.margins import margin_bound as margin_bound
from outsample.bounds.margins import voting_margin_bound as voting_margin_bound
from outsample.bounds.margins import voting_margins as voting_margins
from outsample.bounds.permutation import expected_permutation_bound as expected_permutation_bound
from outsample.bounds.permutation import one_label_bootstrap_bound as one_label_bootstrap_bound
from outsample.bounds.permutation import one_permutation_bound as one_permutation_bound
from outsample.bounds.permutation import optimism_bound as optimism_bound
from outsample.bounds.permutation import permutation_bound as permutation_bound
from outsample.bounds.permutation import permutation_complexity_bound as permutation_complexity_bound
from outsample.bounds.record import Certificate as Certificate
from outsample.bounds.record import from_squared_units as from_squared_units
from outsample.bounds.uniform import empirical_vc_bound as empirical_vc_bound
from outsample.bounds.uniform import expected_discrepancy_bound as expected_discrepancy_bound
from outsample.bounds.uniform import gaussian_bound as gaussian_bound
from outsample.bounds.uniform import holdout_bound as holdout_bound
from outsample.bounds.uniform import log_dichotomies as log_dichotomies
from outsample.bounds.uniform import maximal_discrepancy_bound as maximal_discrepancy_bound
from outsample.bounds.uniform import rademacher_bound as rademacher_bound
from outsample.bounds.uniform import shatter_bound as shatter_bound
from outsample.bounds.uniform import vc_bound as vc_bound
from outsample.bounds.uniform import vc_complexity as vc_complexity
from outsample.bounds.uniform import vc_entropy_bound as vc_entropy_bound
