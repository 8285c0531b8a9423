"""Leverages and fits of rows with penalties of their own, against one system of equations per row and alpha."""

import numpy as np
import pytest

from outsample.paths.linear.moments import RidgeOfProducts
from outsample.paths.linear.row_penalties import RowPenalties

# The last one twice.
ALPHAS = np.concatenate([[0.0], np.logspace(-3, 5, 40), [1e5]])


def _case(kind, n=400, p=6):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, p))
    if kind == "wide":
        rows *= np.logspace(0, -2.5, p)
    elif kind == "dependent":
        rows[:, 1] = rows[:, 0] + rows[:, 2]
    rows -= rows.mean(axis=0)
    squares = n / (n - 1) * (1 - np.square(rows / rows.std(axis=0)) / (n - 1))
    if kind == "far":
        squares[::40] *= rng.uniform(0.1, 1, (n // 40, p))
    alphas = ALPHAS[1:] if kind == "dependent" else ALPHAS
    y = rows @ rng.normal(size=(p, 2)) + rng.normal(size=(n, 2))
    return rows, squares, RidgeOfProducts(rows.T @ rows, rows.T @ y, alphas)


def _penalties(fits, models=slice(None)):
    own = fits.values > 1e-10 * fits.values.max()
    return RowPenalties(fits.values, fits.axes, own, fits.products, fits.covariances, fits.alphas[models])


def _whole(penalties, rows, squares):
    found = list(penalties.blocks(rows, squares))
    order = np.argsort(np.concatenate([some for some, *_ in found]))
    leverages, fits = (np.concatenate([part[k] for part in found], axis=1)[:, order] for k in (1, 2))
    return leverages, fits


KINDS = ["narrow", "wide", "dependent", "far"]


@pytest.mark.parametrize("kind", KINDS)
def test_leverages_and_fits_against_one_system_per_row_and_alpha(kind):
    rows, squares, fits = _case(kind)
    leverages, predictions = _whole(_penalties(fits), rows, squares)
    for m, alpha in enumerate(fits.alphas):
        systems = fits.products + alpha * squares[:, :, None] * np.eye(rows.shape[1])
        solved = np.linalg.solve(systems, rows[..., None])[..., 0]
        np.testing.assert_allclose(leverages[m], (rows * solved).sum(axis=1), rtol=0, atol=1e-11)
        theirs = solved @ fits.covariances
        np.testing.assert_allclose(predictions[m], theirs, rtol=0, atol=1e-11 * np.abs(predictions).max())


def test_few_alphas_tell_about_all_others(monkeypatch):
    rows, squares, fits = _case("narrow")
    asked, series = set(), RowPenalties._series
    monkeypatch.setattr(
        RowPenalties, "_series", lambda self, *block: (asked.add(round(np.log(block[-1]), 1)), series(self, *block))[1]
    )
    _whole(_penalties(fits), rows, squares)
    assert len(asked) < 0.4 * len(ALPHAS)


@pytest.mark.parametrize("kind", KINDS)
def test_dropping_alphas_leaves_the_others_as_they_are(kind):
    rows, squares, fits = _case(kind)
    whole, some = _whole(_penalties(fits), rows, squares), _whole(_penalties(fits, slice(3, None, 7)), rows, squares)
    for all_of_them, few in zip(whole, some, strict=True):
        np.testing.assert_allclose(all_of_them[3::7], few, rtol=0, atol=1e-11 * np.abs(few).max())


def test_no_penalty_is_the_same_for_all_rows():
    rows, squares, fits = _case("narrow")
    leverages, _ = _whole(_penalties(fits, slice(1)), rows, squares)
    np.testing.assert_allclose(leverages[0], np.einsum("ij,jk,ik->i", rows, np.linalg.inv(fits.products), rows))
