"""The exponential mechanism, in exact arithmetic.

P(y) is proportional to e^(epsilon u(y)/(2 S)), where S bounds how far any one score u(y) moves between
neighbours. Between neighbours the weight of a candidate changes by a factor of at most e^(epsilon/2), and so
does the sum of all weights: the quotient by at most e^epsilon (McSherry and Talwar 2007, theorem 6).

Monotonic scores. If between neighbours either no score falls or no score rises, e^(epsilon u/S) does: say no
score falls. Then the weight of y and the sum both change by a factor from 1 to e^epsilon, and their quotient by
one from e^-epsilon to e^epsilon. Counts are monotonic when neighbours add or remove one unit; they are not when
neighbours replace one, because one count then falls while another rises.

Error. A candidate whose score is c or more below the largest has probability at most e^(-c/scale), since the
best has weight 1 in the sum; there are fewer than |Y| of them. So P(loss >= scale (ln|Y| + t)) <= e^-t, with
scale = 2 S/epsilon (McSherry and Talwar 2007). Without ln|Y| it is false.

Only differences from the largest score are ever exponentiated, so no score is too large; the draw is exact
(`noise.choice`), and its time depends on the scores. `PermuteAndFlip` is never worse, and its time hardly
does for scores that are whole or on a grid.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.selection.selection import Floats, Selection
from discreet.noise import exponential_choice


class Exponential(Selection):
    """Choose a candidate with probability proportional to e^(epsilon score/(2 sensitivity)).

    Privacy: one call of `release` is epsilon-differentially private (pure) if no single score moves by more
    than `sensitivity` between neighbouring data sets, and the candidates are fixed without the data. That
    premise is the caller's to answer for. Unlike in `Laplace`, it is the largest change of one score that
    counts, not the sum over all scores. Source and proof: the module's text.

    Args:
        epsilon: positive rational; a float is its shortest decimal, so 0.1 is 1/10.
        sensitivity: positive rational, in the unit of the scores, read in the same way.
        monotonic: True promises that between neighbours all scores move in one direction (or stay), as
            counts do when a unit is added or removed; epsilon then buys twice as much. Leave it False
            when neighbours replace a unit.
        granularity: None for exact scores; for floats the grid, a power of two from 2^-512 to 2^512.

    Raises:
        InvalidParameter: a parameter outside its range, or a scale outside 2^-10 to 2^56 steps.

    Example:
        >>> votes = {"Aquila": 31, "Orion": 27, "Lyra": 12, "Cetus": 3}
        >>> vote = Exponential(epsilon="1/2", monotonic=True)
        >>> vote.release(votes) in votes
        True
        >>> vote.probabilities(votes).round(4).tolist()
        [0.8807, 0.1192, 0.0001, 0.0]
        >>> round(vote.error(len(votes), 0.95), 2)  # 2 (ln 4 + ln 20)
        8.76
    """

    def _choose(self, gaps: npt.NDArray[Any], scale: Fraction) -> int:
        return exponential_choice(gaps, scale)

    def _law(self, gaps: Floats) -> Floats:
        weights: Floats = np.exp(-gaps)
        weights /= weights.sum()
        return weights
