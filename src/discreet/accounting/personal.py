"""Personalised privacy: people who each name an epsilon of their own.

The minimum of all epsilons is a loss that suits everybody. Better is the sampling mechanism (Jorgensen, Yu and Cormode
2015): choose a threshold t, keep person i with probability p_i = (e^(e_i) - 1)/(e^t - 1), or surely where e_i >= t, and
release from those who were kept with loss t. By amplification for neighbours that differ by adding or removing that
person (see `sampling`), person i loses ln(1 + p_i (e^t - 1)) = e_i, or t where e_i >= t.

The epsilons are public, and who was kept is secret. The answer is about those who were kept: a count of them, scaled by
the expected share of people who are kept, is unbiased only if people with small epsilons are like the others. If a
share r_g of group g counts, the bias is s sum p_g n_g r_g - sum n_g r_g with s = sum n_g / sum p_g n_g.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.accounting.loss import Loss
from discreet.errors import InvalidParameter
from discreet.noise import bernoulli
from discreet.noise.digits import enclose_exp
from discreet.rational import Number, epsilon_of
from discreet.records import dataclass

_DIGITS = 128


def keep_probability(epsilon: Number, threshold: Number) -> Fraction:
    """The probability to keep a person: (e^epsilon - 1)/(e^t - 1), or 1 from t on; rounded down by less than 2^-120.

    Rounding down keeps the person a little less often than they allow, which loses less.

    Example:
        >>> round(float(keep_probability(0.5, 1)), 6), keep_probability(1, 0.5)
        (0.377541, Fraction(1, 1))
    """
    own, top = epsilon_of(epsilon), epsilon_of(threshold, "threshold")
    if own >= top:
        return Fraction(1)
    unit = 1 << _DIGITS
    # (e^a - 1)/(e^t - 1) = e^-(t - a) (1 - e^-a)/(1 - e^-t), each end of the enclosures on the safe side
    share, _ = enclose_exp(top - own, _DIGITS)
    _, own_high = enclose_exp(own, _DIGITS)
    top_low, _ = enclose_exp(top, _DIGITS)
    value = Fraction(share * max(0, unit - own_high), unit * (unit - top_low))
    return Fraction(math.floor(value * unit), unit)


def minimum(epsilons: Iterable[Number]) -> Loss:
    """The loss that suits everybody: the least epsilon.

    Raises:
        InvalidParameter: nobody is there.

    Example:
        >>> str(minimum([0.5, 1, 0.1]))
        'epsilon 0.1'
    """
    found = [epsilon_of(epsilon) for epsilon in epsilons]
    if not found:
        raise InvalidParameter("There is nobody.", "Give at least one epsilon.")
    return Loss(min(found))


def keep(epsilons: Sequence[Number] | npt.NDArray[np.float64], threshold: Number) -> npt.NDArray[np.bool_]:
    """Toss for each person whether they are kept, with exact secret coins.

    Args:
        epsilons: one of each person.
        threshold: t, the loss with which the release from those who are kept is made.

    Returns:
        Bool array of the same length. Keep it secret.

    Raises:
        InvalidParameter: an epsilon or the threshold is not above zero.
        EntropyError: the operating system gave no randomness.

    Privacy: a release of loss t from the people who are kept loses at most e_i about person i (the module's text).

    Example:
        >>> bool(keep([1, 1, 2], threshold=1).all())
        True
    """
    places: dict[Number, list[int]] = {}
    for index, each in enumerate(epsilons):
        places.setdefault(each, []).append(index)
    kept = np.zeros(len(epsilons), np.bool_)
    for each, where in places.items():
        kept[where] = bernoulli(keep_probability(each, threshold), len(where))
    return kept


@dataclass(frozen=True)
class PersonalGroup:
    """People with the same epsilon.

    Attributes:
        people: how many.
        epsilon: the loss that each allows.
        share: the share of them that a count counts.

    Example:
        >>> PersonalGroup(400, 0.5, share=0.4).people
        400
    """

    people: int
    epsilon: Number
    share: float = 0.5


@dataclass(frozen=True)
class CountError:
    """The error of a scaled count, as `count_error` returns it.

    Attributes:
        bias: expected answer less the truth.
        sd: standard deviation, of sampling and noise together.

    Example:
        >>> CountError(bias=3.0, sd=4.0).rms
        5.0
    """

    bias: float
    sd: float

    @property
    def rms(self) -> float:
        """Root mean square error."""
        return math.hypot(self.bias, self.sd)


def count_error(groups: Iterable[PersonalGroup], threshold: Number | None = None) -> CountError:
    """The error of a count under the sampling mechanism with Laplace noise, scaled to everybody.

    Args:
        groups: who there is.
        threshold: t; None for the minimum of all epsilons, which keeps everybody.

    Example:
        >>> town = [PersonalGroup(400, 0.5, 0.4), PersonalGroup(400, 1, 0.4), PersonalGroup(200, 0.1, 0.4)]
        >>> [round(count_error(town, t).rms, 2) for t in (None, 0.5, 1)]
        [14.14, 5.22, 11.8]
    """
    found = list(groups)
    top = minimum(group.epsilon for group in found).epsilon if threshold is None else epsilon_of(threshold)
    kept = [float(keep_probability(group.epsilon, top)) for group in found]
    people = sum(group.people for group in found)
    scale = people / sum(p * group.people for p, group in zip(kept, found, strict=True))
    counted = [group.people * group.share for group in found]
    expected = scale * sum(p * n for p, n in zip(kept, counted, strict=True))
    variance = 2 / float(top) ** 2 + sum(p * (1 - p) * n for p, n in zip(kept, counted, strict=True))
    return CountError(expected - sum(counted), scale * math.sqrt(variance))
