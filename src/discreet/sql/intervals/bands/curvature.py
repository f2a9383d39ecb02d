"""How an expression bends in the noisy numbers that it is made of.

Let F be convex in the noisy numbers, made of sums, absolute values and maxima of linear ones, and G(z) the same of the
noise z alone, with all constants left out: the greatest of F(x + z) - F(x) over all x (its recession function:
Rockafellar 1970, section 8). So F(x + z) - F(x) <= G(z), and, from x + z back to x, F(x) - F(x + z) <= G(-z). As the
noise is as likely -z as z, G of noise that is drawn again tells how far F errs, to either side, for all data;
where all numbers are equal it is exact. The greatest of many counts, their range, the sum of the ten greatest, sums of
distances and standard deviations are such.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

LINE: Final = "line"
CONVEX: Final = "convex"
CONCAVE: Final = "concave"
UNKNOWN: Final = ""

_FLIPPED = {LINE: LINE, CONVEX: CONCAVE, CONCAVE: CONVEX, UNKNOWN: UNKNOWN}


def negated(curve: str) -> str:
    """Of -F.

    Example:
        >>> negated(CONVEX)
        'concave'
    """
    return _FLIPPED[curve]


def added(curve: str, other: str) -> str:
    """Of a sum.

    Example:
        >>> added(LINE, CONVEX), added(CONVEX, CONCAVE)
        ('convex', '')
    """
    if LINE in (curve, other):
        return other if curve == LINE else curve
    return curve if curve == other else UNKNOWN


def scaled(curve: str, factor: exp.Expr) -> str:
    """Of a product with, or a quotient by, a number that has no noise."""
    while isinstance(factor, exp.Paren):
        factor = factor.this
    if curve == LINE:
        return LINE
    if isinstance(factor, exp.Neg) and isinstance(factor.this, exp.Literal):
        return negated(curve)
    return curve if isinstance(factor, exp.Literal) and not factor.is_string else UNKNOWN


def greatest(*parts: str) -> str:
    """Of the greatest of some.

    Example:
        >>> greatest(LINE, CONVEX), greatest(LINE, CONCAVE)
        ('convex', '')
    """
    return CONVEX if all(curve in (LINE, CONVEX) for curve in parts) else UNKNOWN


def least(*parts: str) -> str:
    """Of the least of some."""
    return negated(greatest(*map(negated, parts)))


def of_rows(function: exp.Expr, curve: str) -> str:
    """Of an aggregate, or a window, of rows that no noise decides."""
    if isinstance(function, exp.Max):
        return greatest(curve)
    if isinstance(function, exp.Min):
        return least(curve)
    if isinstance(function, exp.Sum | exp.Avg):
        return curve
    if isinstance(function, exp.Stddev | exp.StddevPop | exp.StddevSamp):
        return CONVEX if curve == LINE else UNKNOWN  # the length of the numbers less their mean
    moved = exp.Lag | exp.Lead | exp.FirstValue | exp.LastValue | exp.NthValue
    return curve if isinstance(function, moved) else UNKNOWN


def of_first_rows(function: exp.Expr, curve: str, *, descending: bool) -> str:
    """Of the sum or the mean of the first rows in the order of the numbers added up: the k greatest, or the k least."""
    if not isinstance(function, exp.Sum | exp.Avg):
        return UNKNOWN
    return greatest(curve) if descending else least(curve)
