"""A few of the random questions that `fuzz` asks by the thousand."""

import numpy as np
import pytest

from fuzz import broken_promises, random_case
from outsample.criteria import labels

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("seed", range(120))
def test_every_promise_is_kept_for_random_questions(seed):
    case = random_case(seed)
    assert not broken_promises(case)[1], case


def test_a_criterion_that_forgets_its_seed_is_found(monkeypatch):
    monkeypatch.setattr(labels, "child_seed", lambda *_: np.random.SeedSequence())
    case = next(case for case in map(random_case, range(500)) if _permutes(case) and "Tree" in str(case.estimator))
    assert any(line.startswith("repeats") for line in broken_promises(case)[1])


def _permutes(case):
    return case.criterion_name == "permutation" and len(case.y) > 12
