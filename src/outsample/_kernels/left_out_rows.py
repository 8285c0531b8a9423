"""Quadratic forms and products of variances of rows that are left out, for many models at once.

Rows are the inner loops, in blocks that stay in the processor's first cache, so that they use vector instructions.
"""

from __future__ import annotations

from numba import njit

from outsample._kernels.options import LENT, REGROUPED

BLOCK = 128
"""Rows of a block."""


@njit(**LENT, **REGROUPED)
def moments_without(table, mean, scatter, shares, levers, inverses, squares, variances):
    """Write squared deviations from the mean of a class, and its variances, without each row, (p, rows).

    Of a class of weight W without a row of weight w, both W/(W − w) times the deviation and what it takes from the
    sum of squares follow from W and w, which is zero for rows of other classes.

    Parameters
    ----------
    table : (p, rows).
    mean, scatter : (p,) of the class.
    shares, levers, inverses : (rows,) W w/(W − w)², (W/(W − w))² and 1/(W − w).
    squares, variances : (p, rows), overwritten.
    """
    p, n = table.shape
    for j in range(p):
        values, own, rest = table[j], squares[j], variances[j]
        m, s = mean[j], scatter[j]
        for i in range(n):
            d = (values[i] - m) * (values[i] - m)
            own[i] = d * levers[i]
            rest[i] = s * inverses[i] - d * shares[i]


@njit(**LENT, **REGROUPED)
def diagonal_forms(squares, variances, added, scale, above, below, forms, products):
    """Add Σ_j d²_j / (v_j + e) to `forms`, and write Π_j (v_j + e) s_j, of every model and row.

    Fractions are added as fractions, n/d + x/y = (n y + x d) / (d y), so that there is one division for all columns,
    and the product is the determinant.

    Parameters
    ----------
    squares, variances : (p, rows) squared deviations d² and variances v.
    added : (models, rows) what is added to the variances, e.
    scale : (models, p) about 1 / (v + e), s, so that the product is near one.
    above, below : (BLOCK,) room.
    forms : (models, rows), added to.
    products : (models, rows), overwritten.
    """
    p, n = squares.shape
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        for m in range(len(added)):
            of_model = added[m, start : start + size]
            for i in range(size):
                above[i] = 0.0
                below[i] = 1.0
            for j in range(p):
                s = scale[m, j]
                d, v = squares[j, start : start + size], variances[j, start : start + size]
                for i in range(size):
                    y = (v[i] + of_model[i]) * s
                    above[i] = above[i] * y + d[i] * s * below[i]
                    below[i] *= y
            for i in range(size):
                forms[m, start + i] += above[i] / below[i]
                products[m, start + i] = below[i]


@njit(**LENT, **REGROUPED)
def shifted_forms(apart, shifts, base, added, weight, own, linear, constant):
    """Add Σ_j d²_j w_j, Σ_j f_j d_j w_j and Σ_j f²_j w_j with w_j = 1/(b_j + e), of every model, shift and row.

    Parameters
    ----------
    apart : (p, rows) deviations d.
    shifts : (shifts, p) vectors f.
    base : (models, p) b.
    added : (models, rows) e.
    weight : (BLOCK,) room.
    own : (models, rows), added to.
    linear, constant : (models, shifts, rows), added to.
    """
    p, n = apart.shape
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        for m in range(len(base)):
            of_model, form = added[m, start : start + size], own[m, start : start + size]
            for j in range(p):
                b = base[m, j]
                d = apart[j, start : start + size]
                for i in range(size):
                    weight[i] = 1.0 / (b + of_model[i])
                    form[i] += d[i] * d[i] * weight[i]
                for c in range(len(shifts)):
                    f = shifts[c, j]
                    first, second = linear[m, c, start : start + size], constant[m, c, start : start + size]
                    for i in range(size):
                        first[i] += f * d[i] * weight[i]
                        second[i] += f * f * weight[i]
