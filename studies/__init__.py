"""The tables, figures and studies behind the documentation, on the library's public names: `python -m studies`."""

from studies import bounds, coverage, degrees, pictures, polynomials, regrets, two_fits
from studies.shared import STUDIES

__all__ = ["STUDIES", "bounds", "coverage", "degrees", "pictures", "polynomials", "regrets", "two_fits"]
