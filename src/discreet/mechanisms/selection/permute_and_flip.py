"""Permute-and-flip: the exponential mechanism's better sibling, in exact arithmetic.

Go through the candidates in a random order and stop at the first whose coin, True with probability
e^(-(u* - u)/scale), is True; u* is the largest score and scale = 2 S/epsilon (McKenna and Sheldon 2020).

Give each candidate a uniform place x in [0, 1] in the order. With p_j = e^(-(u* - u_j)/scale), j stops the walk
before place x with probability p_j x, so P(i) = integral from 0 to 1 of p_i prod_{j != i} (1 - p_j x) dx.
Substitute x = e^(-(v - u*)/scale): it is the probability that u_i + X_i is the largest, where the X_j are
independent exponential variables of mean `scale` (Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang 2021).
So a proof for that suffices. Fix X_j for j != i. Then i wins if and only if X_i > t, where
t = max (u_j + X_j) - u_i. Between neighbours t moves by at most 2 S, and by at most S if all scores move in one
direction; and P(X > t + c) >= e^(-c/scale) P(X > t) for every t and c >= 0. So P(i) changes by a factor of at most
e^(2 S/scale) = e^epsilon, and by e^(S/scale) in the monotonic case, where scale = S/epsilon is enough.

Error. i is chosen with probability at most p_i, so the bound of the exponential mechanism holds here too; the
expected error is never larger than there, for any scores, and up to twice as small (McKenna and Sheldon
2020).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.selection.selection import Floats, Selection
from discreet.noise import permute_and_flip

_FAR: Final = 42.0  # e^-42 is below 2^-60
_WIDTH: Final = 6.0
_NODES: Final = 32
_BLOCK: Final = 1 << 16


class PermuteAndFlip(Selection):
    """Choose a candidate by its score; the mechanism to take when one of many is to be chosen.

    Privacy: one call of `release` is epsilon-differentially private (pure) if no single score moves by more
    than `sensitivity` between neighbouring data sets, and the candidates are fixed without the data. That
    premise is the caller's to answer for. Source and proof: the module's text.

    Parameters, their errors and methods are those of `Exponential`; the expected error is never larger.

    Example:
        >>> votes = {"Aquila": 31, "Orion": 27, "Lyra": 12, "Cetus": 3}
        >>> vote = PermuteAndFlip(epsilon="1/2", monotonic=True)
        >>> vote.release(votes) in votes
        True
        >>> vote.probabilities(votes).round(4).tolist()
        [0.9323, 0.0677, 0.0, 0.0]
        >>> PermuteAndFlip(0.1, granularity=2**-20).release([0.25, 0.75]) in (0, 1)
        True
    """

    def _choose(self, gaps: npt.NDArray[Any], scale: Fraction) -> int:
        return permute_and_flip(gaps, scale)

    def _law(self, gaps: Floats) -> Floats:
        """The integral of the module's text, by Gauss and Legendre on pieces where it falls by at most e^-6.

        Beyond x = 42/sum(p) the integrand is below e^-42 of its value at 0.
        """
        kinds, where, many = np.unique(gaps, return_inverse=True, return_counts=True)
        p = np.exp(-kinds)
        end = min(1.0, _FAR / float(many @ p))
        edges = np.linspace(0, end, 1 + int(np.ceil(end * float(many @ p) / _WIDTH)))
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        half = np.diff(edges)[:, None] / 2
        places = ((edges[:-1, None] + half) + half * nodes).ravel()
        spans = (half * weights).ravel()
        law = np.empty_like(p)
        logs = np.array([many @ np.log1p(-p * x) for x in places])
        for start in range(0, p.size, _BLOCK):
            part = p[start : start + _BLOCK]
            law[start : start + _BLOCK] = part * sum(
                span * np.exp(log) / (1 - part * x) for x, span, log in zip(places, spans, logs, strict=True)
            )
        each: Floats = law[where]
        return each
