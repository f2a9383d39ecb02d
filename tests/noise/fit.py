"""Goodness of fit: chi-square of counts against an exact law.

Every check alarms by chance with probability at most ALARM = 1e-11, so a test with fewer than a hundred of
them stays below 1e-9. Power at 500,000 draws: a bin of probability p is caught when its relative error
exceeds about 13/sqrt(500,000 p): 15 % for 1/64 of the mass, a factor of 2.8 for 10^-4, so a bias of the sign of
1.8 % or a wrong probability of a rare bit by 2^-12 is caught with near certainty. A deep run draws twice as many.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
from scipy import stats

from tests.depth import DEEP

ALARM = 1e-11
MANY = 1_000_000 if DEEP else 500_000


def alarm(counts: npt.ArrayLike, law: npt.ArrayLike) -> float:
    """The chi-square p-value of counts against probabilities; bins expecting under 10 are pooled."""
    seen, expected = np.asarray(counts, float), np.asarray(law, float)
    assert abs(expected.sum() - 1) < 1e-9
    expected = expected * seen.sum()
    rare = expected < 10
    # What is pooled may still expect almost nothing; a Poisson tail is right there.
    pooled = float(stats.poisson.sf(seen[rare].sum() - 1, expected[rare].sum())) if rare.any() else 1.0
    common = ~rare
    statistic = float(((seen - expected)[common] ** 2 / expected[common]).sum())
    return min(pooled, float(stats.chi2.sf(statistic, max(1, int(common.sum()) - 1))))


def laplace_alarms(draws: npt.NDArray[np.int64], scale: float) -> dict[str, float]:
    """p-values of draws against the discrete Laplace law: by size, by low digits, and for independence."""
    q = math.exp(-1 / scale)

    def cdf(k: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        away = np.where(k < 0, -(k.astype(float)), k.astype(float) + 1)
        tail = np.exp(-away / scale) / (1 + q)
        return np.where(k < 0, tail, 1 - tail)

    # Edges at tails 2^-17, 2^-16, ... and at every 64th of the mass; they coincide at small scales.
    tails = np.concatenate([2.0 ** -np.arange(17, 6, -1), np.arange(1, 33) / 64])
    edges = np.unique(np.rint(scale * np.log(2 * np.concatenate([tails, 1 / (4 * tails)]))).astype(np.int64))
    sizes = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=edges.size + 1)
    by_size = np.diff(cdf(edges), prepend=0, append=1)

    r = np.arange(16)
    residues = -math.expm1(-1 / scale) / (1 + q) / -math.expm1(-16 / scale)
    by_residue = residues * np.where(r == 0, 1 + q**16, q**r + q ** (16 - r))

    sign, rest = draws < 0, draws ^ (draws >> 63)
    halves = (rest > np.median(rest)).astype(int)
    return {
        "size": alarm(sizes, by_size),
        "low digits": alarm(np.bincount(draws & 15, minlength=16), by_residue),
        "sign and size": together(sign, halves),
        "sign and low bit": together(sign, rest & 1),
        "neighbouring signs": together(sign[1:], sign[:-1]),
        "neighbouring sizes": together(halves[1:], halves[:-1]),
        "neighbouring low bits": together(rest[1:] & 1, rest[:-1] & 1),
        "bits": bits_alarm(rest, scale),
    }


def together(a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> float:
    """The p-value of independence of two binary series; 1 when one of them hardly varies.

    Power at 500,000 pairs: a correlation of 1.1 %.
    """
    table = np.bincount(2 * a.astype(np.int64) + b.astype(np.int64), minlength=4).reshape(2, 2)
    if min(table.sum(0).min(), table.sum(1).min()) < 1000:
        return 1.0
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def bits_alarm(values: npt.NDArray[np.int64], scale: float) -> float:
    """The least p-value over every bit's frequency and every pair of bits, times the number of looks.

    Power at 500,000 draws: a bit's probability wrong by 0.6 %, or by 2^-12 where it should be under
    2^-13; a correlation of two common bits of 2 %.
    """
    tops = [k for k in range(62) if 2.0**k / scale < 40]
    law = np.array([1 / (1 + math.exp(2.0**k / scale)) for k in tops])
    seen = [int(np.count_nonzero(values & (1 << k))) for k in tops]
    looks = [
        min(stats.binom.sf(s - 1, values.size, p), stats.binom.cdf(s, values.size, p))
        for s, p in zip(seen, law, strict=True)
    ]
    common = [i for i, p in enumerate(law) if p * p * values.size > 100]
    packed = {i: np.packbits(values & (1 << tops[i]) != 0) for i in common}
    for i, j in itertools.combinations(common, 2):
        both, p = int(np.bitwise_count(packed[i] & packed[j]).sum()), law[i] * law[j]
        spread = math.sqrt(values.size * p * (1 - p))
        looks.append(2 * stats.norm.sf(abs(both - values.size * p) / spread))
    return min(1.0, float(min(looks)) * 2 * len(looks))
