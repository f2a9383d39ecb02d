"""Accountants: they price events. All round toward more loss.

| name | adds up | deltas | may epsilons be chosen after seeing answers? |
|---|---|---|---|
| `pure` | epsilon and delta, exactly | any | yes |
| `zcdp` | rho | above 0 | yes, up to a limit set before (see `Filter`) |
| `advanced` | the bounds of Kairouz, Oh and Viswanath | above 0 | no |
| `pld` | loss distributions | 1e-10 and more | no |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import ClassVar, Self

from discreet.accounting.atoms import parts
from discreet.accounting.composition import advanced
from discreet.accounting.distribution import INTERVAL, LossDistribution
from discreet.accounting.events import Event, Neighbours, neighbours_of
from discreet.accounting.loss import UNIT, Loss, rounded_up
from discreet.accounting.pricing import loss_of, zcdp_of
from discreet.accounting.rounding import fraction_of_one, whole
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter, UnsupportedEvent
from discreet.rational import Number


class Accountant:
    """Prices events for one neighbouring relation. Adding one takes microseconds; it is priced when asked for.

    Args:
        neighbours: `add_remove` or `replace_one`; an event for the other is not supported.

    Example:
        >>> from discreet.accounting import ACCOUNTANTS, GaussianNoise
        >>> noise = GaussianNoise(sd=10, neighbours="add_remove")
        >>> [name for name, make in ACCOUNTANTS.items() if make("add_remove").supports(noise)]
        ['zcdp', 'pld']
    """

    name: ClassVar[str]
    adaptive: ClassVar[bool]
    """Whether the price holds when epsilons were chosen after seeing earlier answers."""

    def __init__(self, neighbours: Neighbours) -> None:
        self.neighbours = neighbours_of(neighbours)
        self.events = 0

    def supports(self, event: Event) -> bool:
        """Say whether the event can be priced."""
        try:
            self._check(event)
            self._price(event)
        except UnsupportedEvent:
            return False
        return True

    def add(self, event: Event, count: int = 1) -> Self:
        """Add an event, `count` times.

        Raises:
            UnsupportedEvent: it cannot be priced, or speaks of other neighbours. Nothing was added.
            InvalidParameter: a count that is not a positive whole number.
        """
        whole(count, "count")
        self._check(event)
        self._add(event, count)
        self.events += count
        return self

    def extend(self, events: Iterable[Event]) -> Self:
        """Add many events; those that are equal are priced once.

        Raises:
            UnsupportedEvent: one cannot be priced, or speaks of other neighbours. Some may have been added.
        """
        for event, count in Counter(events).items():
            self.add(event, count)
        return self

    def copy(self) -> Self:
        """An accountant in the same state."""
        raise NotImplementedError

    def loss(self, delta: Number = 0) -> Loss:
        """The loss of all that was added, as an (epsilon, delta) with at most this delta, rounded up.

        Raises:
            InvalidParameter: delta is outside its range, or less than the delta already spent.
        """
        raise NotImplementedError

    def epsilon(self, delta: Number = 0) -> Fraction:
        """The epsilon of `loss`."""
        return self.loss(delta).epsilon

    def _check(self, event: Event) -> None:
        if event.neighbours != self.neighbours:
            raise UnsupportedEvent(
                f"The event is for {event.neighbours}, the accountant for {self.neighbours}.",
                "Convert an event for add_remove with ReplaceOne.",
            )

    def _price(self, event: Event) -> object:
        raise NotImplementedError

    def _add(self, event: Event, count: int) -> None:
        raise NotImplementedError


class PureAccountant(Accountant):
    """Adds up epsilons and deltas, exactly: sequential composition.

    Example:
        >>> from discreet.accounting import Released
        >>> event = Released("1/10", neighbours="add_remove")
        >>> PureAccountant("add_remove").add(event, 3).epsilon()
        Fraction(3, 10)
    """

    name = "pure"
    adaptive = True

    def __init__(self, neighbours: Neighbours) -> None:
        super().__init__(neighbours)
        self.total = Loss(0)

    def copy(self) -> Self:
        """An accountant in the same state."""
        other = type(self)(self.neighbours)
        other.total, other.events = self.total, self.events
        return other

    def loss(self, delta: Number = 0) -> Loss:
        """The sum. A delta is compared only: it must not be below the sum of deltas, unless it is 0."""
        level = fraction_of_one(delta, "delta")
        if 0 < level < self.total.delta:
            raise InvalidParameter("More delta than this is spent already.", "Give a larger delta.")
        return self.total

    def _price(self, event: Event) -> Loss:
        return loss_of(event)

    def _add(self, event: Event, count: int) -> None:
        loss = loss_of(event)
        epsilon, delta = self.total.epsilon, self.total.delta
        # Denominators that keep growing would make a long sum slow: those of the ledger are fine enough.
        self.total = Loss(_short(epsilon + count * loss.epsilon), _short(delta + count * loss.delta))


class AdvancedAccountant(PureAccountant):
    """The sum, or the bound of advanced composition where that is less; see `discreet.accounting.advanced`.

    Example:
        >>> from discreet.accounting import Released
        >>> many = AdvancedAccountant("add_remove").add(Released(0.01, neighbours="add_remove"), 10_000)
        >>> round(float(many.epsilon(1e-6)), 3)
        5.757
    """

    name = "advanced"
    adaptive = False

    def __init__(self, neighbours: Neighbours) -> None:
        super().__init__(neighbours)
        self._losses: dict[Loss, int] = {}

    def copy(self) -> Self:
        """An accountant in the same state."""
        other = super().copy()
        other._losses = dict(self._losses)
        return other

    def loss(self, delta: Number = 0) -> Loss:
        """The lesser of the sum and the bound."""
        level = fraction_of_one(delta, "delta", one=False)
        plain = super().loss(level)
        if level <= plain.delta:
            return plain
        found = advanced(self._losses, level - plain.delta)
        return found if found.epsilon < plain.epsilon else plain

    def _add(self, event: Event, count: int) -> None:
        super()._add(event, count)
        loss = loss_of(event)
        self._losses[loss] = self._losses.get(loss, 0) + count


class ZCDPAccountant(Accountant):
    """Adds up rho, exactly.

    Example:
        >>> from discreet.accounting import GaussianNoise, Released
        >>> spent = ZCDPAccountant("replace_one").add(GaussianNoise(sd=20, neighbours="replace_one"), 100)
        >>> spent.total.rho, round(float(spent.epsilon(1e-6)), 3)
        (Fraction(1, 8), 2.419)
    """

    name = "zcdp"
    adaptive = True

    def __init__(self, neighbours: Neighbours) -> None:
        super().__init__(neighbours)
        self.total = ZCDP(0)

    def copy(self) -> Self:
        """An accountant in the same state."""
        other = type(self)(self.neighbours)
        other.total, other.events = self.total, self.events
        return other

    def loss(self, delta: Number = 0) -> Loss:
        """The conversion at a delta, which must be above 0 and above the deltas already spent."""
        return self.total.loss(delta)

    def _price(self, event: Event) -> ZCDP:
        return zcdp_of(event)

    def _add(self, event: Event, count: int) -> None:
        loss = zcdp_of(event)
        self.total = ZCDP(
            _short(self.total.rho + count * loss.rho), _short(self.total.delta + count * loss.delta)
        )


class PLDAccountant(Accountant):
    """Composes loss distributions, through dp-accounting: the tightest. Priced when asked for, then kept.

    Args:
        neighbours: `add_remove` or `replace_one`.
        interval: the grid of losses; finer is tighter and slower.

    Example:
        >>> from discreet.accounting import LaplaceNoise
        >>> spent = PLDAccountant("replace_one")
        >>> noise = LaplaceNoise(scale=20, sensitivity=2, neighbours="replace_one")
        >>> round(float(spent.add(noise, 50).epsilon(1e-6)), 3)
        3.137
    """

    name = "pld"
    adaptive = False

    def __init__(self, neighbours: Neighbours, interval: Number = INTERVAL) -> None:
        super().__init__(neighbours)
        self._interval = interval
        self._counts: dict[Event, int] = {}
        self._known: LossDistribution | None = None

    def copy(self) -> Self:
        """An accountant in the same state."""
        other = type(self)(self.neighbours, self._interval)
        other._counts, other._known, other.events = dict(self._counts), self._known, self.events
        return other

    @property
    def distribution(self) -> LossDistribution:
        """The loss distribution of all that was added."""
        if self._known is None:
            self._known = LossDistribution.of(self._counts, self._interval)
        return self._known

    def loss(self, delta: Number = 0) -> Loss:
        """The tight loss at a delta of 1e-10 or more; at 0, the sum where there is one."""
        return Loss(self.distribution.epsilon(delta), delta)

    def delta(self, epsilon: Number) -> Fraction:
        """The tight delta at an epsilon."""
        return self.distribution.delta(epsilon)

    def _price(self, event: Event) -> object:
        return list(parts(event))

    def _add(self, event: Event, count: int) -> None:
        if event not in self._counts:
            self._price(event)
        self._counts[event] = self._counts.get(event, 0) + count
        self._known = None


ACCOUNTANTS: dict[str, Callable[[Neighbours], Accountant]] = {
    kind.name: kind for kind in (PureAccountant, AdvancedAccountant, ZCDPAccountant, PLDAccountant)
}
"""Every accountant by its name."""


def _short(value: Fraction) -> Fraction:
    return value if value.denominator <= UNIT else rounded_up(value)
