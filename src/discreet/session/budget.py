"""The budget of a data set as people see it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from discreet.escaping import name as one_line
from discreet.rational import show, small
from discreet.records import dataclass, field

DATA_SET = "the data set"
"""The account of the whole data set: a ledger is the ledger of one data set."""
_VERSION = ", version "


def account_of(subject: str, version: str) -> str:
    """The account of the data set or of an analyst for a version of the data, as the policy names it.

    Example:
        >>> account_of(DATA_SET, ""), account_of("analyst ana", "2025")
        ('the data set', 'analyst ana, version 2025')
    """
    return f"{subject}{_VERSION}{version}" if version else subject


def subject_of(account: str) -> str:
    """The data set or the analyst of an account, whichever the version."""
    return account.partition(_VERSION)[0]


def version_of(account: str) -> str:
    """The version of the data of an account; empty where the policy named none."""
    return account.partition(_VERSION)[2]


@dataclass(frozen=True)
class BudgetState:
    """The budget of a data set: total, spent and left, as exact rationals.

    Attributes:
        epsilon: the epsilon that may be spent.
        spent: the epsilon spent so far.
        delta: the delta that may be spent; 0 when only pure questions are allowed.
        delta_spent: the delta spent so far.
        shares: by class of people, the part of every epsilon that they allow; empty where everybody allows the same.
    """

    epsilon: Fraction
    spent: Fraction
    delta: Fraction = Fraction(0)
    delta_spent: Fraction = Fraction(0)
    shares: Mapping[str, Fraction] = field(default_factory=dict)

    @property
    def people(self) -> dict[str, BudgetState]:
        """The budget of a person, by class; empty where everybody allows the same."""
        return {
            name: BudgetState(share * self.epsilon, share * self.spent) for name, share in self.shares.items()
        }

    @property
    def left(self) -> Fraction:
        """The epsilon that can still be asked for; never negative, even when the steward lowered the budget."""
        return max(Fraction(0), self.epsilon - self.spent)

    @property
    def delta_left(self) -> Fraction:
        """The delta that can still be asked for; never negative."""
        return max(Fraction(0), self.delta - self.delta_spent)

    def __repr__(self) -> str:
        words = f"epsilon {show(self.left)} left of {show(self.epsilon)} ({show(self.spent)} spent)"
        if self.delta or self.delta_spent:
            words += f", delta {small(self.delta_left)} left of {small(self.delta)}"
        if self.shares:
            each = ((one_line(name), own) for name, own in self.people.items())
            listed = (f"{name} {show(own.spent)} of {show(own.epsilon)}" for name, own in each)
            words += f"; people have spent: {', '.join(listed)}"
        return words

    def _repr_html_(self) -> str:
        from discreet.escaping import table

        lines = [("epsilon", f"{show(self.left)} left of {show(self.epsilon)}", f"{show(self.spent)} spent")]
        if self.delta or self.delta_spent:
            left = f"{small(self.delta_left)} left of {small(self.delta)}"
            lines.append(("delta", left, f"{small(self.delta_spent)} spent"))
        for name, own in self.people.items():
            said = f"{show(own.left)} left of {show(own.epsilon)}"
            lines.append((f"people: {name}", said, f"{show(own.spent)} spent"))
        return table(lines, "Budget")
