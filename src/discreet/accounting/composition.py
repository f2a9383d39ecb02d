"""The composition of several losses, with nothing known but the losses."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction

from discreet.accounting.loss import Loss
from discreet.accounting.rounding import fraction_of_one, up, whole
from discreet.errors import InvalidParameter
from discreet.rational import Number


def sequential(losses: Iterable[Loss]) -> Loss:
    """The loss of releases from the same data: the sum, exact.

    Privacy: holds when each release was chosen after seeing those before it, its epsilon included (Dwork, Kenthapadi,
    McSherry, Mironov and Naor 2006, theorem 1; adaptive epsilons: Rogers, Roth, Ullman and Vadhan 2016).

    Example:
        >>> str(sequential([Loss(0.1), Loss(0.2), Loss(0.3, 1e-9)]))
        'epsilon 0.6, delta 1e-09'
    """
    return sum(losses, Loss(0))


def parallel(losses: Iterable[Loss]) -> Loss:
    """The loss of releases from disjoint parts of the data: the largest, exact, in each coordinate.

    Privacy: each unit is in one part only (McSherry 2009, theorem 4). When neighbours differ by replacing a unit, the
    part that a unit belongs to must not depend on its data: else it leaves one part and enters another, which are two
    changes. Ten hospitals with a patient in one of them are such parts.

    Raises:
        InvalidParameter: there is no loss.

    Example:
        >>> str(parallel([Loss(0.1), Loss("1/2")]))
        'epsilon 0.5'
    """
    found = list(losses)
    if not found:
        raise InvalidParameter("There is no loss to compose.", "Give at least one.")
    return Loss(max(loss.epsilon for loss in found), max(loss.delta for loss in found))


def group(loss: Loss, size: int) -> Loss:
    """The loss of a group of units: (k epsilon, k e^((k-1) epsilon) delta), for k units that act as one.

    Epsilon is exact. Delta is rounded up, and is 1, which promises nothing, where the formula passes 1. The formula is
    that of Dwork and Roth 2014, theorem 2.2, with the delta of Vadhan 2017, lemma 2.2.

    Raises:
        InvalidParameter: a size that is not a positive whole number.

    Example:
        >>> str(group(Loss(0.1), 10))
        'epsilon 1'
    """
    whole(size, "size")
    epsilon = size * loss.epsilon
    if loss.delta == 0 or size == 1:
        return Loss(epsilon, size * loss.delta)
    log_delta = math.log(size) + float((size - 1) * loss.epsilon) + _log(loss.delta)
    return Loss(epsilon, 1 if log_delta >= 0 else min(Fraction(1), up(math.exp(log_delta))))


def advanced(losses: Iterable[Loss] | Mapping[Loss, int], slack: Number) -> Loss:
    """The loss of releases with fixed epsilons, for a little delta more, where that beats the sum.

    The least of three bounds of Kairouz, Oh and Viswanath 2015, theorem 3.5, with S = sum eps^2, slack d and
    m = sum eps (e^eps - 1)/(e^eps + 1): sum eps; m + sqrt(2 S ln(e + sqrt(S)/d)); m + sqrt(2 S ln(1/d)).
    Rounded up, and delta is the sum of all deltas, with the slack when it was used.

    Privacy: the data and the releases may be chosen adaptively, the epsilons and deltas may not: they and their number
    are fixed before the first release.

    Args:
        losses: one of each release; or how often each loss occurs.
        slack: the delta that may be added, strictly between 0 and 1.

    Raises:
        InvalidParameter: a slack outside its range.

    Example:
        >>> many = [Loss(0.01)] * 10_000
        >>> round(float(advanced(many, 1e-6).epsilon), 3), advanced(many[:3], 1e-6) == Loss(0.03)
        (5.757, True)
    """
    extra = fraction_of_one(slack, "slack", zero=False, one=False)
    counts = losses if isinstance(losses, Mapping) else Counter(losses)
    plain = sequential(Loss(count * loss.epsilon, count * loss.delta) for loss, count in counts.items())
    epsilons = [(float(loss.epsilon), count) for loss, count in counts.items()]
    squares = math.fsum(count * e * e for e, count in epsilons)
    mean = math.fsum(count * e * math.tanh(e / 2) for e, count in epsilons)
    log_inverse = -_log(extra)
    # ln(e + sqrt(S)/d), where 1/d may be beyond a float
    first = log_inverse + math.log(math.sqrt(squares) + math.exp(1 - log_inverse)) if squares else 1.0
    best = up(mean + math.sqrt(2 * squares * min(first, log_inverse)))
    return plain if plain.epsilon <= best else Loss(best, plain.delta + extra)


def _log(value: Fraction) -> float:
    """The logarithm of a positive rational, also of one below the least float."""
    return math.log(value.numerator) - math.log(value.denominator)
