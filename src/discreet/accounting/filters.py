"""A filter refuses before a budget is overspent; an odometer gives the loss spent."""

from __future__ import annotations

import threading
from fractions import Fraction

from discreet.accounting.accountants import Accountant, ZCDPAccountant
from discreet.accounting.events import Event
from discreet.accounting.loss import Loss, at_least, at_most
from discreet.accounting.rounding import fraction_of_one
from discreet.accounting.zcdp import ZCDP
from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.rational import Number

_FIRST_RUNG = Fraction(1, 2**16)
_RATIO = Fraction(99, 70)
"""Rungs of the odometer grow by about the square root of 2."""


class Filter:
    """Lets events pass as long as their loss together is within a limit, and refuses the first that would pass it.

    Privacy: the events that passed are private with the limit together, also when each event and its epsilon were
    chosen after seeing the answers before (`pure`: Rogers, Roth, Ullman and Vadhan 2016; `zcdp`: Feldman and Zrnic
    2021; Whitehouse, Ramdas, Rogers and Wu 2023). For accountants that fix epsilons beforehand, that has to be
    promised with adaptive=False.

    Args:
        limit: the most that may be spent.
        accountant: a fresh one; the filter keeps a copy.
        own: the part of the limit's delta that is kept for deltas of the events themselves, under `zcdp`.
        adaptive: False promises that the events, or at least their losses, are fixed before the first answer.

    Raises:
        InvalidParameter: the accountant was used before, or does not hold for adaptive epsilons.

    Example:
        >>> from discreet.accounting import PureAccountant, Released
        >>> budget = Filter(Loss(0.3), PureAccountant("add_remove"))
        >>> for _ in range(3):
        ...     budget.spend(Released(0.1, neighbours="add_remove"))
        >>> budget.spend(Released(0.1, neighbours="add_remove"))
        Traceback (most recent call last):
        ...
        discreet.errors.BudgetExceeded: The budget of this filter has epsilon 0 left, and this asks for 0.1. ...
    """

    def __init__(
        self, limit: Loss, accountant: Accountant, *, own: Number = 0, adaptive: bool = True
    ) -> None:
        if accountant.events:
            raise InvalidParameter("The accountant was used before.", "Give a fresh one.")
        if adaptive and not accountant.adaptive:
            raise InvalidParameter(
                f"{accountant.name} holds for epsilons that were fixed beforehand only.",
                "Promise that with adaptive=False, or use pure or zcdp.",
            )
        if accountant.name != "pure" and limit.delta == 0:
            raise InvalidParameter(
                f"{accountant.name} needs a delta.", "Give Loss(1, 1e-9), say, or use pure."
            )
        self.limit = limit
        # A copy, so that nobody else changes the one that is in place.
        self._accountant = accountant.copy()
        self._own = fraction_of_one(own, "own")
        if self._own > limit.delta:
            raise InvalidParameter("own is more than the limit's delta.", "Give a part of it.")
        self._lock = threading.Lock()

    @property
    def spent(self) -> Loss:
        """The loss of all that passed, at the limit's delta."""
        return self._loss(self._accountant)

    @property
    def left(self) -> Loss:
        """The limit less the loss spent; no coordinate is below zero."""
        return self.spent.left_of(self.limit)

    def allows(self, event: Event, count: int = 1) -> bool:
        """Say whether an event would pass.

        Raises:
            UnsupportedEvent: it cannot be priced.
        """
        return self._fits(self._accountant.copy().add(event, count))

    def spend(self, event: Event, count: int = 1) -> None:
        """Let an event pass and count it, before it is released.

        Raises:
            BudgetExceeded: it would pass the limit. Nothing was spent.
            UnsupportedEvent: it cannot be priced.
        """
        while True:
            before = self._accountant
            after = before.copy().add(event, count)
            if not self._fits(after):
                spent = self._loss(before)
                asked = max(Fraction(0), self._priced(after) - spent.epsilon)
                raise BudgetExceeded(
                    "this filter", at_least(asked), at_most(spent.left_of(self.limit).epsilon)
                )
            # An accountant that is in place is never changed, so that it is still the same one if and only if
            # nothing was spent since it was priced.
            with self._lock:
                if self._accountant is before:
                    self._accountant = after
                    return

    def _fits(self, accountant: Accountant) -> bool:
        if isinstance(accountant, ZCDPAccountant) and accountant.total.delta > self._own:
            return False
        try:
            return self._loss(accountant).within(self.limit)
        except InvalidParameter:
            return False  # more delta than there is

    def _priced(self, accountant: Accountant) -> Fraction:
        try:
            return self._loss(accountant).epsilon
        except InvalidParameter:
            return self.limit.epsilon

    def _loss(self, accountant: Accountant) -> Loss:
        if accountant.events == 0:
            return Loss(0)
        if isinstance(accountant, ZCDPAccountant):
            # rho and delta are limited apart, so that neither limit depends on the answers
            spare = self.limit.delta - self._own
            if spare == 0:
                raise InvalidParameter("own leaves no delta to convert with.", "Make it smaller.")
            return Loss(ZCDP(accountant.total.rho).loss(spare).epsilon, spare + accountant.total.delta)
        return accountant.loss(self.limit.delta)


class Odometer:
    """Gives the loss spent at any time, without a limit.

    Privacy: an analyst may stop because of a reading, so a reading must hold at a time that the answers chose.
    The sum of `pure` does (Rogers, Roth, Ullman and Vadhan 2016). For `zcdp` rho is rounded up to a rung of a ladder
    that is fixed beforehand, and rung j has its own share delta/((j + 1)(j + 2)) of delta, so that it is a filter for
    each rung (Lecuyer 2021). Other accountants are read once, at a time fixed beforehand: use `accountant.loss`.

    Example:
        >>> from discreet.accounting import GaussianNoise
        >>> meter = Odometer(ZCDPAccountant("add_remove"))
        >>> meter.add(GaussianNoise(sd=20, neighbours="add_remove"), 100)
        >>> round(float(meter.spent(1e-6).epsilon), 2)
        3.04
    """

    def __init__(self, accountant: Accountant) -> None:
        if not accountant.adaptive:
            raise InvalidParameter(
                f"{accountant.name} cannot be read at a time that the answers choose.", "Use pure or zcdp."
            )
        self._accountant = accountant
        self._lock = threading.Lock()

    def add(self, event: Event, count: int = 1) -> None:
        """Count an event. Threads may share an odometer."""
        with self._lock:
            self._accountant.add(event, count)

    def spent(self, delta: Number = 0) -> Loss:
        """The loss spent so far; `zcdp` needs a delta, the same at every reading.

        Raises:
            InvalidParameter: no delta for `zcdp`, or events of it that have deltas of their own.
        """
        if not isinstance(self._accountant, ZCDPAccountant):
            return self._accountant.loss(delta)
        level, total = fraction_of_one(delta, "delta", zero=False, one=False), self._accountant.total
        if total.delta:
            raise InvalidParameter(
                "The odometer counts no events with a delta of their own.", "Use a Filter."
            )
        if total.rho == 0:
            return Loss(0, level)
        rung, number = _FIRST_RUNG, 0
        while rung < total.rho:
            rung, number = rung * _RATIO, number + 1
        return Loss(ZCDP(rung).loss(level / ((number + 1) * (number + 2))).epsilon, level)
