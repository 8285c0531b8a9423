"""How tasks that share work are dealt out to workers, so that what they share is made a few times only."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import joblib

# A worker takes so many tasks at most at a time: what they share is made once for them, and no more work than theirs is
# lost when a run is killed.
MOST_AT_A_TIME = 8
# A worker that is done early has others left to take: so many times are there for each.
TIMES_EACH = 2


def dealt(keys: Sequence[tuple[Hashable, ...]], n_jobs: int | None) -> list[list[int]]:
    """Places of tasks that are done by one worker, one after the other.

    Those that share stand together. A single worker takes them one by one. Several take some that share all of it at
    once, from all over, as neighbours often take about as long.

    Parameters
    ----------
    keys : of each task the work that it shares, first things first.
    """
    groups = _together(keys)
    workers = joblib.effective_n_jobs(n_jobs)
    if workers == 1:
        return [[place] for group in groups for place in group]
    size = min(MOST_AT_A_TIME, max(1, len(keys) // (TIMES_EACH * workers)))
    return [group[part :: -(-len(group) // size)] for group in groups for part in range(-(-len(group) // size))]


def _together(keys: Sequence[tuple[Hashable, ...]]) -> list[list[int]]:
    """Places with the same keys in a group; groups with the same first keys next to each other, that of place 0 first.

    Those that share nothing are on their own.
    """
    groups: dict[tuple[Hashable, ...], list[int]] = {}
    first: dict[tuple[Hashable, ...], int] = {}
    for place, own in enumerate(keys):
        key = own or (("alone", place),)
        groups.setdefault(key, []).append(place)
        for end in range(1, len(key) + 1):
            first.setdefault(key[:end], place)
    ranks = {key: [first[key[:end]] for end in range(1, len(key) + 1)] for key in groups}
    return [groups[key] for key in sorted(groups, key=lambda key: [*ranks[key], groups[key][0]])]
