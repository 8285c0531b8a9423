"""Simulated trials of model selection among polynomials: data in, estimates, selections and regrets out.

A trial is one data set y = f(x) + σε with f a sum of Legendre polynomials L_i. The models are linear smoothers, so
every estimate of the out-sample error has a closed form, and so has that error itself: the L_i are orthogonal on
[−1, 1] with mean square 1/(2i + 1). Every table of estimates has the columns LOO, PERM, VC, FPE, TRUE.

Callers guarantee shapes; see `order_trials` and `ridge_trials`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from outsample._kernels.options import INNER, OPTIONS, REGROUPED

LOO, PERM, VC, FPE, TRUE = 0, 1, 2, 3, 4
N_METHODS = 4

MOST_SWEEPS = 30
ORTHOGONAL = 1e-15


@njit(**INNER, **REGROUPED)
def legendre_columns(x, columns):
    """Write L_0(x), L_1(x), … into columns (degrees, n), by the three-term recurrence."""
    for i in range(x.size):
        columns[0, i] = 1.0
        if columns.shape[0] > 1:
            columns[1, i] = x[i]
    for k in range(1, columns.shape[0] - 1):
        for i in range(x.size):
            columns[k + 1, i] = ((2 * k + 1) * x[i] * columns[k, i] - k * columns[k - 1, i]) / (k + 1)


@njit(**INNER, **REGROUPED)
def dot(a, b):
    """Inner product."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(**INNER, **REGROUPED)
def labels_of(columns, coefficients, noise, noise_variance, y):
    """Write y = Σ a_i L_i(x) + σε."""
    for i in range(y.size):
        y[i] = np.sqrt(noise_variance) * noise[i]
    for k in range(coefficients.size):
        if coefficients[k] != 0.0:
            for i in range(y.size):
                y[i] += coefficients[k] * columns[k, i]


@njit(**INNER, **REGROUPED)
def unbiased_variance(y):
    """Variance with n − 1 in the denominator."""
    mean, total = y.sum() / y.size, 0.0
    for i in range(y.size):
        total += (y[i] - mean) ** 2
    return total / (y.size - 1)


@njit(**INNER, **REGROUPED)
def true_error(weights, coefficients, noise_variance):
    """Out-sample squared error of Σ w_i L_i, noise included."""
    total = noise_variance
    for i in range(coefficients.size):
        weight = weights[i] if i < weights.size else 0.0
        total += (weight - coefficients[i]) ** 2 / (2 * i + 1)
    return total


@njit(**INNER, **REGROUPED)
def write_estimates(residuals, leverages, dof, shared, variance, row):
    """Write LOO, PERM, VC and FPE of one model; dof = tr S, shared = 1ᵀS1/n, variance = unbiased variance of y."""
    n = residuals.size
    in_sample, left_out = 0.0, 0.0
    for i in range(n):
        square = residuals[i] * residuals[i]
        slack = 1.0 - leverages[i]
        in_sample += square
        left_out += square / (slack * slack)
    in_sample /= n
    q = dof / n
    row[LOO] = left_out / n
    row[PERM] = in_sample + 2.0 * variance / n * (dof - shared)
    bracket = 1.0 - np.sqrt(max(q - q * np.log(q) + np.log(n) / (2.0 * n), 0.0))
    row[VC] = in_sample / bracket if bracket > 0.0 else np.inf
    row[FPE] = in_sample * (1.0 + q) / (1.0 - q) if q < 1.0 else np.inf


@njit(**INNER, **REGROUPED)
def select(table, first, end, positions, regrets):
    """Write, per method, the model with the least estimate among first … end − 1, and its relative regret."""
    best = table[first:end, TRUE].min()
    for method in range(N_METHODS):
        chosen = first + np.argmin(table[first:end, method])
        positions[method] = chosen
        regrets[method] = (table[chosen, TRUE] - best) / best


@njit(**INNER, **REGROUPED)
def tally(table, sets, positions, regrets, sums):
    """Write the selections within each set of models, and add to the sums of the estimates and of their squares."""
    for s in range(sets.shape[0]):
        select(table, sets[s, 0], sets[s, 1], positions[s], regrets[s])
    for m in range(table.shape[0]):
        for c in range(table.shape[1]):
            sums[0, m, c] += table[m, c]
            sums[1, m, c] += table[m, c] * table[m, c]


@njit(**INNER, **REGROUPED)
def orthogonalise(basis, inverse):
    """Make the rows of `basis` orthonormal, in place (modified Gram–Schmidt, each row twice).

    inverse (degrees, degrees): row j holds the coefficients of the j-th orthonormal function in the old basis.
    """
    for j in range(basis.shape[0]):
        inverse[j, :] = 0.0
        inverse[j, j] = 1.0
        for _ in range(2):
            for i in range(j):
                share = dot(basis[i], basis[j])
                for p in range(basis.shape[1]):
                    basis[j, p] -= share * basis[i, p]
                for p in range(i + 1):
                    inverse[j, p] -= share * inverse[i, p]
        length = np.sqrt(dot(basis[j], basis[j]))
        for p in range(basis.shape[1]):
            basis[j, p] /= length
        for p in range(j + 1):
            inverse[j, p] /= length


@njit(**INNER, **REGROUPED)
def order_estimates(basis, inverse, y, coefficients, noise_variance, table):
    """Write the estimates of the least-squares fits of every order into table (orders, 5)."""
    residuals, leverages = y.copy(), np.zeros(y.size)
    weights = np.zeros(basis.shape[0])
    variance = unbiased_variance(y)
    for j in range(basis.shape[0]):
        share = dot(basis[j], residuals)
        for i in range(y.size):
            residuals[i] -= share * basis[j, i]
            leverages[i] += basis[j, i] * basis[j, i]
        for p in range(j + 1):
            weights[p] += share * inverse[j, p]
        write_estimates(residuals, leverages, j + 1.0, 1.0, variance, table[j])
        table[j, TRUE] = true_error(weights[: j + 1], coefficients, noise_variance)


@njit(**OPTIONS, **REGROUPED)
def order_trials(x, noise, coefficients, noise_variance, n_models, sets, positions, regrets, sums):
    """Trials of order selection by least squares, orders 0 … n_models − 1.

    Parameters
    ----------
    x, noise : (trials, n)
    coefficients : (trials, degrees), degrees ≥ n_models
    noise_variance : (trials,)
    sets : (sets, 2) first and one past the last model of each set to select from
    positions, regrets : (trials, sets, 4), written
    sums : (2, models, 5), added to
    """
    trials, n = x.shape
    columns = np.empty((coefficients.shape[1], n))
    inverse = np.empty((n_models, n_models))
    table = np.empty((n_models, N_METHODS + 1))
    y = np.empty(n)
    for t in range(trials):
        legendre_columns(x[t], columns)
        labels_of(columns, coefficients[t], noise[t], noise_variance[t], y)
        basis = columns[:n_models]
        orthogonalise(basis, inverse)
        order_estimates(basis, inverse, y, coefficients[t], noise_variance[t], table)
        tally(table, sets, positions[t], regrets[t], sums)


@njit(**INNER, **REGROUPED)
def rotate_to_orthogonal(columns, rotation):
    """Make the rows of `columns` orthogonal by rotations (one-sided Jacobi), whose product goes into `rotation`."""
    d = columns.shape[0]
    for j in range(d):
        for k in range(d):
            rotation[j, k] = 1.0 if j == k else 0.0
    for _ in range(MOST_SWEEPS):
        turned = False
        for a in range(d - 1):
            for b in range(a + 1, d):
                both = dot(columns[a], columns[b])
                of_a, of_b = dot(columns[a], columns[a]), dot(columns[b], columns[b])
                if abs(both) <= ORTHOGONAL * np.sqrt(of_a * of_b):
                    continue
                turned = True
                ratio = (of_b - of_a) / (2.0 * both)
                tangent = (1.0 if ratio >= 0.0 else -1.0) / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                turn(columns[a], columns[b], cosine, cosine * tangent)
                turn(rotation[a], rotation[b], cosine, cosine * tangent)
        if not turned:
            break


@njit(**INNER, **REGROUPED)
def turn(a, b, cosine, sine):
    """Rotate two rows, in place."""
    for i in range(a.size):
        old = a[i]
        a[i] = cosine * old - sine * b[i]
        b[i] = sine * old + cosine * b[i]


@njit(**INNER, **REGROUPED)
def ridge_estimates(columns, rotation, y, penalties, coefficients, noise_variance, table):
    """Write the estimates of the ridge fits at every penalty into table (penalties, 5); `columns` are orthogonal."""
    d, n = columns.shape
    lengths, products, totals = np.empty(d), np.empty(d), np.empty(d)
    for j in range(d):
        lengths[j], products[j], totals[j] = dot(columns[j], columns[j]), dot(columns[j], y), columns[j].sum()
    residuals, leverages, weights = np.empty(n), np.empty(n), np.empty(d)
    variance = unbiased_variance(y)
    for m in range(penalties.size):
        dof, shared = 0.0, 0.0
        residuals[:], leverages[:], weights[:] = y, 0.0, 0.0
        for j in range(d):
            shrink = 1.0 / (lengths[j] + penalties[m])
            share = products[j] * shrink
            dof += lengths[j] * shrink
            shared += totals[j] * totals[j] * shrink / n
            for i in range(n):
                residuals[i] -= share * columns[j, i]
                leverages[i] += shrink * columns[j, i] * columns[j, i]
            for k in range(d):
                weights[k] += share * rotation[j, k]
        write_estimates(residuals, leverages, dof, shared, variance, table[m])
        table[m, TRUE] = true_error(weights, coefficients, noise_variance)


@njit(**OPTIONS, **REGROUPED)
def ridge_trials(x, noise, coefficients, noise_variance, n_weights, penalties, sets, positions, regrets, sums):
    """Trials of ridge regression on L_0 … L_{n_weights − 1}, S = X(XᵀX + λI)⁻¹Xᵀ for every λ of `penalties`.

    The other parameters are those of `order_trials`.
    """
    trials, n = x.shape
    columns = np.empty((coefficients.shape[1], n))
    rotation = np.empty((n_weights, n_weights))
    table = np.empty((penalties.size, N_METHODS + 1))
    y = np.empty(n)
    for t in range(trials):
        legendre_columns(x[t], columns)
        labels_of(columns, coefficients[t], noise[t], noise_variance[t], y)
        basis = columns[:n_weights]
        rotate_to_orthogonal(basis, rotation)
        ridge_estimates(basis, rotation, y, penalties, coefficients[t], noise_variance[t], table)
        tally(table, sets, positions[t], regrets[t], sums)


def warmup() -> None:
    """Compile both kernels, or load them from disk."""
    x, coefficients, variance = np.linspace(-1.0, 1.0, 9)[None], np.ones((1, 4)), np.ones(1)
    sets = np.array([[0, 2]])
    positions, regrets, sums = np.zeros((1, 1, 4), np.int16), np.zeros((1, 1, 4), np.float32), np.zeros((2, 2, 5))
    order_trials(x, x, coefficients, variance, 2, sets, positions, regrets, sums)
    ridge_trials(x, x, coefficients, variance, 2, np.array([0.1, 1.0]), sets, positions, regrets, sums)
