"""A few of the learners with random options that `random_settings` compares by the thousand."""

import pytest
from random_settings import differences, random_case

from outsample.paths.neighbors.votes import NeighborsDesign
from outsample.paths.refit import RefitPath

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("one_thread")]

SEEDS = [seed for seed in range(60) if (case := random_case(seed)) and not isinstance(case.path(), RefitPath)]


@pytest.mark.parametrize("seed", SEEDS)
def test_paths_say_what_scikit_learn_says_at_random_settings(seed):
    case = random_case(seed)
    name, found = differences(case)
    assert name == case.path().name, f"{case}: {name}"
    assert not found, f"{case}: {found}"


def test_a_path_that_is_wrong_is_found(monkeypatch):
    case = next(random_case(seed) for seed in SEEDS if "KNeighborsRegressor(" in str(random_case(seed)))
    honest = NeighborsDesign.fitted
    monkeypatch.setattr(NeighborsDesign, "fitted", lambda *given: honest(*given) * (1 + 1e-6))
    _, found = differences(case)
    assert any("in-sample" in line for line in found)
    assert not any("on new rows" in line for line in found)
