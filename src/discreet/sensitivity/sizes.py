"""The number of pairs that a sampled sensitivity takes, and the order statistic of them that it is.

Let G be the distance of the answers on a random pair of neighbours, G_1..G_m independent copies of it, and
q the least number with P(G <= q) >= 1 - phi. If P(G_(k) < q) <= rho for the k-th smallest of them, then
with probability at least 1 - rho the sampled G_(k) covers a fraction 1 - phi of all pairs; with
rho + phi = gamma, a mechanism that is epsilon-DP on covered pairs is epsilon-DP on a random pair with
probability at least 1 - gamma over the samples and the pair (Rubinstein and Alda 2017).

Two bounds on P(G_(k) < q):

    binomial  at least k of m samples lie below q, each with probability at most 1 - phi: the tail of a
              binomial variable, which is exact whenever G has no atoms. With k = m it is (1 - phi)^m.
    dkw       of Dvoretzky, Kiefer and Wolfowitz with Massart's constant, as published: k = ceil(m (1 - phi +
              sqrt(ln(1/rho) / 2m))). It holds for all quantiles at once, of which only one is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import numpy as np

from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal
from discreet.records import dataclass

Bound: TypeAlias = Literal["binomial", "dkw"]

MOST: Final = 10_000_000
"""Samples beyond this would not be drawn in a day."""
_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_STEPS: Final = 400


@dataclass(frozen=True)
class SampleSize:
    """The sample that a given confidence needs.

    Attributes:
        gamma: the probability with which privacy may fail, over the samples and a random pair; 0 < gamma < 1.
        rho: the part of gamma that is spent on the samples.
        m: how many pairs are sampled.
        k: the sensitivity is the k-th smallest of their distances; k = m is the largest.
        bound: which inequality says so.

    Example:
        >>> chosen = plan(0.05)
        >>> chosen.m, chosen.k, round(chosen.rho, 4), chosen.bound
        (113, 113, 0.0085, 'binomial')
    """

    gamma: float
    rho: float
    m: int
    k: int
    bound: Bound


def plan(
    gamma: Number, *, m: int | None = None, rho: Number | None = None, bound: Bound = "binomial"
) -> SampleSize:
    """Say how many pairs to sample for gamma, or which order statistic of m pairs to take.

    Args:
        gamma: the probability with which privacy may fail, strictly between 0 and 1.
        m: the number of pairs; by default the least that is enough. More of them give a smaller k/m, so a
            sensitivity nearer to the (1 - gamma)-quantile.
        rho: the part of gamma spent on the samples; by default the best one.
        bound: "binomial", exact, or "dkw", as published, which needs many more.

    Raises:
        InvalidParameter: gamma or rho is out of range, m is too small for gamma, or the bound is unknown.

    Example:
        >>> [plan(g).m for g in (0.05, 0.01)], [plan(g, bound="dkw").m for g in (0.05, 0.01)]
        ([113, 761], [1305, 41971])
        >>> plan(0.05, m=1305).k, plan(0.05, m=1305, bound="dkw").k
        (1264, 1305)
    """
    if bound not in ("binomial", "dkw"):
        raise InvalidParameter('bound is neither "binomial" nor "dkw".', 'Write bound="binomial".')
    whole = _between(gamma, 1.0, "gamma")
    spent = None if rho is None else _between(rho, whole, "rho")
    need: Callable[[float], float] = (lambda r: _dkw_size(whole, r)) if bound == "dkw" else (
        lambda r: math.log(r) / math.log1p(r - whole)
    )  # fmt: skip
    if m is None:
        best = _least(need, whole) if spent is None else spent
        m = math.ceil(need(best))
        if m > MOST:
            raise InvalidParameter(f"gamma needs more than {MOST:,} samples.", "Choose a larger gamma.")
    else:
        whole_number(m, "m", 1, MOST)
    rhos = [spent] if spent is not None else _rhos(whole, _least(need, whole))
    rank = _dkw_rank if bound == "dkw" else _rank
    k, index = min((rank(whole, r, m), index) for index, r in enumerate(rhos))
    if k > m:
        enough = math.ceil(need(rhos[0]))
        raise InvalidParameter(
            f"{m:,} samples are too few for this gamma.", f"Leave m out, or take at least {enough:,}."
        )
    return SampleSize(whole, rhos[index], m, k, bound)


def whole_number(value: object, name: str, least: int = 1, most: int = 1 << 40) -> int:
    """Read a whole number from `least` to `most`.

    Raises:
        InvalidParameter: it is another value.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        up = f"to {most:,}" if most < 1 << 40 else "up"
        raise InvalidParameter(f"{name} is not a whole number from {least} {up}.", f"Write {name}=500, say.")
    return value


def _dkw_size(gamma: float, rho: float) -> float:
    return math.log(1 / rho) / (2 * (gamma - rho) ** 2)


def _dkw_rank(gamma: float, rho: float, m: int) -> int:
    return math.ceil(m * (1 - gamma + rho + math.sqrt(math.log(1 / rho) / (2 * m))))


def _rank(gamma: float, rho: float, m: int) -> int:
    """The least k with P(Binomial(m, 1 - phi) >= k) <= rho, phi = gamma - rho; m + 1 when there is none."""
    phi = gamma - rho
    # P(at least k below) = P(at most m - k above), and those above are the few: their probabilities from 0 up.
    above = np.arange(m + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(m, 0, -1) / np.arange(1, m + 1)))])
    logs += above * math.log(phi) + (m - above) * math.log1p(-phi)
    tail = np.cumsum(np.exp(logs)) * (1 + 1e-6)  # the sums round; the margin is against us
    return m - int(np.searchsorted(tail, rho, side="right")) + 1


def _least(need: Callable[[float], float], gamma: float) -> float:
    """The rho in (0, gamma) that needs the fewest samples: a golden-section search, as need has one valley."""
    low, high = math.log(gamma) - 40, math.log(gamma)
    for _ in range(200):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if need(math.exp(left)) <= need(min(math.exp(right), math.nextafter(gamma, 0))):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2)


def _rhos(gamma: float, best: float) -> list[float]:
    """Values of rho to try for a given m; any of them is valid, and the best gives the smallest k."""
    return [best, *(gamma * (step + 0.5) / _STEPS for step in range(0, _STEPS, 8))]


def _between(value: Number, most: float, name: str) -> float:
    number = float(decimal(value, name))
    if not 0 < number < most:
        below = "1" if most == 1 else "gamma"
        raise InvalidParameter(f"{name} is not strictly between 0 and {below}.", f"Write {name}=0.01, say.")
    return number
