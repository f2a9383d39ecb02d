"""The past that a durable budget keeps, and its cost under the rule that the policy names.

An analyst sees answers before choosing the next question and its epsilon, so the rule must hold when epsilons are
chosen adaptively. Most composition theorems do not: they fix the epsilons beforehand. The rules here are stopping
conditions set beforehand, and each path of questions ends in one of them:

- (a) the sum of epsilons is at most the limit (basic composition as a filter: Rogers, Roth, Ullman and Vadhan 2016);
- (b) the sum of all rho, epsilon^2/2 of a question unless its own is known, is at most a rho fixed beforehand, which
  converts to the limit (the Renyi filter of Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers and Wu 2023);
- (c) all epsilons are equal and so many that `Homogeneous` stays in the limit. The first fixes the rest; a path that
  leaves it is under (a) or (b) from the start.

Gaussian noise is under (a) by the epsilon and delta that its question was told, under (b) by its rho, and ends (c):
its square is off the grid of all other squares, by less than 2^24 steps that only 2^64 of fill, so that no sum with it
passes for that of equal epsilons.

`pure` allows (a). `zcdp` allows (a) and (b), `pld` all three. Proof that they may be mixed: follow the questions
until the first that no rule allowed after those before it; the paths that end under rule r are those of a mechanism
that stops as soon as r fails, which satisfies its theorem, since each rule, once failed, stays so. So P(S) <=
e^epsilon Q(S) + the sum of the deltas of the rules. Hence delta is shared out beforehand: half for deltas of the
questions themselves (taken out first, as failures: Kairouz, Oh and Viswanath 2015), the rest for (b), or for (b) and
(c) equally; (a) needs none.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeAlias, get_args

from discreet.accounting.homogeneous import MOST_RELEASES, Homogeneous
from discreet.accounting.loss import UNIT, Loss, rounded_up
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter
from discreet.records import dataclass

Rule: TypeAlias = Literal["pure", "zcdp", "pld"]
RULES: tuple[Rule, ...] = get_args(Rule)
OWN = Fraction(1, 2)
"""The share of the limit's delta that is kept for deltas of the questions themselves, unless the rule is pure."""
_SHARE = {"zcdp": Fraction(1, 2), "pld": Fraction(1, 4)}  # of (b), and under pld of (c) too

_PLACES = 10**12
_OFF_GRID = Fraction(1, UNIT**2 << 64)
"""Losses in a ledger are multiples of 1/UNIT, so squares of sums and sums of squares are multiples of 1/UNIT^2."""


@dataclass(frozen=True)
class Tally:
    """Sums over all that was charged, exact.

    Attributes:
        loss: the sum of the losses.
        squares: the sum of epsilon^2, or of 2 rho where that is known.
        count: how many there were.

    Example:
        >>> tally = Tally().plus(Loss(0.1)).plus(Loss(0.2))
        >>> str(tally.loss), tally.squares, tally.equal
        ('epsilon 0.3', Fraction(1, 20), False)
    """

    loss: Loss = Loss(0)
    squares: Fraction = Fraction(0)
    count: int = 0

    def plus(self, loss: Loss, rho: Fraction | None = None) -> Tally:
        """The tally with one more.

        Args:
            loss: of a question.
            rho: its zCDP, where it is known; else that of its epsilon.
        """
        square = loss.epsilon**2 if rho is None else rounded_up(2 * rho) + _OFF_GRID
        return Tally(self.loss + loss, self.squares + square, self.count + 1)

    @cached_property
    def told(self) -> tuple[str, str, str, str]:
        """Its numbers as text, exact: a ledger writes the tallies of all accounts with each charge."""
        return str(self.loss.epsilon), str(self.loss.delta), str(self.squares), str(self.count)

    @property
    def equal(self) -> bool:
        """Whether all epsilons are the same: exactly then Cauchy and Schwarz have equality."""
        return self.squares * self.count == self.loss.epsilon**2


def rule_of(value: object) -> Rule:
    """Read the name of a rule.

    Raises:
        InvalidParameter: no rule has this name.

    Example:
        >>> rule_of("zcdp")
        'zcdp'
    """
    if value not in RULES:
        raise InvalidParameter("No accountant has this name.", 'Write "pure", "zcdp" or "pld".')
    return value


def price(rule: Rule, tally: Tally, delta: Fraction) -> Loss:
    """The loss spent, under a rule and a limit of this delta.

    Epsilon is the least that a rule gives, rounded up, to a multiple of 10^-12 where it is no sum. Delta is the sum
    of the questions' own and, unless the rule is pure, the share set aside for (b) and (c), from the first question
    on: so the limit less this loss is the rest that questions may still spend.

    Privacy: all answers together are private with this loss if the limit of epsilon was fixed beforehand and is not
    below it.

    Example:
        >>> past = Tally(Loss(20), Fraction(2), 200)  # 200 questions of 1/10
        >>> [round(float(price(rule, past, Fraction(1, 10**6)).epsilon), 2) for rule in RULES]
        [20.0, 7.96, 7.57]
    """
    if rule == "pure" or delta == 0:
        return tally.loss
    share = _SHARE[rule] * delta
    rho, best = tally.squares / 2, tally.loss.epsilon
    if 0 < rho < best:  # else (b) gains nothing, and a huge rho has no conversion that could be written down
        best = ZCDP(rho).loss(share).epsilon
    if rule == "pld" and tally.equal and 0 < tally.count <= MOST_RELEASES and tally.loss.epsilon:
        best = min(best, Homogeneous(tally.loss.epsilon / tally.count, tally.count).loss(share).epsilon)
    best = min(tally.loss.epsilon, Fraction(math.ceil(best * _PLACES), _PLACES))
    return Loss(best, tally.loss.delta + (1 - OWN) * delta)


def admits(rule: Rule, tally: Tally, limit: Loss, slack: Fraction = Fraction(0)) -> bool:
    """Say whether the loss spent is within a limit.

    Args:
        rule: the rule that prices the charges.
        tally: all that was charged.
        limit: of the account.
        slack: the share of the limit by which epsilon may pass it, for a check on another machine, whose floats may
            differ.

    Example:
        >>> past = Tally(Loss(3), Fraction(3, 20), 60)  # 60 questions of 1/20
        >>> [admits(rule, past, Loss(2, 1e-6)) for rule in RULES]
        [False, True, True]
    """
    own = limit.delta if rule == "pure" else OWN * limit.delta
    spent = price(rule, tally, limit.delta)
    if rule == "pure" and not slack:
        return spent.within(limit)  # nearly always, and with fewer numbers made
    return Loss(spent.epsilon, tally.loss.delta).within(Loss(limit.epsilon * (1 + slack), own))
