"""Which candidates can still win: paired comparisons on the rows that all of them have been tested on.

With d_i = ℓ_ij − ℓ_ib the difference between the losses of candidate j and of the leader b on row i, candidate j is
dropped once mean(d) is so many standard errors above zero that it is unlikely to be the better one. The quantile is
Student's, whose degrees of freedom count the rows that tell the two apart, (Σ d²)²/Σ d⁴ − 1: of a hundred rows on which
two classifiers differ in three, three count. What may be lost by ending a race is measured against the answer of all
folds: with m of n rows seen and σ² the variance of d, that is the mean so far ± σ √(1/m − 1/n). So is what is lost
without a candidate: E[least of the others − least of all] at the end.

Pure functions of losses: races of folds and studies of recorded losses both use them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from outsample.curve.intervals import error_of_mean, lengthening, telling_rows
from outsample.losses.base import weighted_mean
from outsample.running.arrays import Bools, Floats, Rows

# Draws by which the expected loss of stopping is averaged, always the same ones.
DRAWS = 500


@dataclass(frozen=True, eq=False)
class Standings:
    """Where each candidate stands after some rows.

    Attributes
    ----------
    risk : (candidates,) mean loss so far.
    leader : the candidate of least mean; of ties the first, so candidates come simplest first.
    gap : (candidates,) mean of the paired differences to the leader.
    error : (candidates,) standard error of `gap`.
    probability : (candidates,) of being better than the leader on new rows.
    """

    risk: Floats
    leader: int
    gap: Floats
    error: Floats
    probability: Floats


def standings(values: Floats, weight: Floats | None = None) -> Standings:
    """Where candidates stand.

    Parameters
    ----------
    values : (candidates, m) losses on the rows seen.
    weight : (m,) of these rows, None where all are one.
    """
    risk = np.asarray(weighted_mean(values, weight))
    leader = int(np.argmin(risk))
    apart = values - values[leader]
    gap, error = np.asarray(weighted_mean(apart, weight)), error_of_mean(apart, weight)
    telling = telling_rows(apart if weight is None else apart * weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(error > 0, gap / error, 0.0)
    # A single row that tells two candidates apart does not say how much another would.
    probability = np.where(telling < 2, 0.5, stats.t.sf(steps, np.maximum(1.0, telling - 1)))
    return Standings(risk, leader, gap, error, probability)


def gaps_of_all_rows(values: Floats, weight: Floats | None, total: float, leader: int) -> Floats | None:
    """What the means over all rows may be, less the leader's: (draws, candidates).

    They are drawn around the means so far with their joint covariance, so that candidates that lose alike count as
    one. Every candidate is given one more row on which it differs from the leader, by as much as is lost where anything
    is: that they have lost alike on some rows does not mean that they always will, and where one row in a hundred is
    lost, one more is much. None where one row does not tell how much another would differ.
    """
    w = np.ones(values.shape[1]) if weight is None else weight
    share = w / w.sum()
    effective = 1 / float(np.square(share).sum())
    unseen = 1 - float(w.sum()) / total
    if len(values) < 2 or unseen <= 0:
        return np.zeros((1, len(values)))
    if effective <= 1:
        return None
    around = values - values[leader]
    mean = around @ share
    spread = (around - mean[:, None]) * np.sqrt(share)
    covariance = spread @ spread.T / (effective - 1)
    of_rows = np.sum(np.square(values) @ share)
    usual = float(of_rows / max(np.sum((values != 0) @ share), np.finfo(float).tiny))
    others = np.arange(len(values)) != leader
    covariance[np.diag_indices(len(values))] += others * usual / effective**2
    return _drawn(mean, covariance * unseen, lengthening(telling_rows(around * w), 0.9))


def gaps_of_all_trees(before: Floats, now: Floats, weight: Floats | None, further: float, leader: int) -> Floats:
    """The same where the rows stay and the models change: forests that have grown, and have some way to go.

    What chance in the trees adds to a mean over rows has a variance of 1/t of that of a single tree. So the change from
    t₀ trees to t tells how much there is to come until M: its variance is larger by (1/t − 1/M) / (1/t₀ − 1/t). The
    variance of a change is that of the rows' changes over their number, and the square of their mean, in which single
    trees move all rows together.

    Parameters
    ----------
    before, now : (candidates, rows) losses by t₀ trees and by t.
    further : (1/t − 1/M) / (1/t₀ − 1/t).
    """
    share = np.ones(now.shape[1]) if weight is None else weight
    share = share / share.sum()
    around = now - now[leader]
    changes = around - (before - before[leader])
    together = changes @ share
    spread = (changes - together[:, None]) * share
    covariance = spread @ spread.T + np.outer(together, together)
    return _drawn(around @ share, covariance * further, np.ones(len(now)))


def expected_loss(gaps: Floats) -> float:
    """By how much the least of all candidates is expected to be below the leader, whose gaps are zero."""
    return float(np.mean(np.maximum(0.0, -gaps.min(axis=1))))


def dispensable(gaps: Floats, stays: Bools, most: float) -> tuple[Rows, float]:
    """(places of the candidates that may leave, what is expected to be lost without them, less than `most`).

    One after the other, always the one without which least is lost; of equal ones the last.

    Parameters
    ----------
    stays : (candidates,) who is not to leave; the leader at least.
    """
    kept = np.arange(gaps.shape[1])
    least, lost = gaps.min(axis=1), 0.0
    while not stays[kept].all():
        # Without the one that is least in a draw the second becomes the least.
        first, second = np.partition(gaps[:, kept], 1, axis=1)[:, :2].T
        lost_without = np.bincount(gaps[:, kept].argmin(axis=1), second - first, len(kept))
        without = np.where(stays[kept], np.inf, lost_without)
        fewer = np.delete(kept, len(kept) - 1 - int(without[::-1].argmin()))
        loss = float(np.mean(gaps[:, fewer].min(axis=1) - least))
        if loss >= most:
            break
        kept, lost = fewer, loss
    return np.setdiff1d(np.arange(gaps.shape[1]), kept), lost


def _drawn(mean: Floats, covariance: Floats, lengths: Floats) -> Floats:
    """Draws of normal variables, (draws, variables), each made longer."""
    normal = np.random.default_rng(0).standard_normal((DRAWS, len(mean)))
    return np.asarray(mean + normal @ _root(covariance).T * lengths)


def _root(covariance: Floats) -> Floats:
    """A matrix A with A Aᵀ = covariance."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
