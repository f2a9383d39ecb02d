"""Events: descriptions of releases, apart from their cost. Accountants price them.

An event is a frozen value; two equal events are the same release. Its meaning never changes in a later version: a new
kind of release is a new class. Every event says for which neighbouring data sets its numbers hold: a sensitivity or an
epsilon without that is a factor of two in the dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal, TypeAlias

from discreet.accounting.loss import Loss
from discreet.accounting.rounding import fraction_of_one, whole
from discreet.accounting.zcdp import ZCDP
from discreet.errors import InvalidParameter
from discreet.rational import Number, decimal, positive
from discreet.records import dataclass, field

Neighbours: TypeAlias = Literal["add_remove", "replace_one"]
"""How neighbouring data sets differ: by adding or removing one unit, or by replacing one."""


def neighbours_of(value: object) -> Neighbours:
    """Read a neighbouring relation.

    Raises:
        InvalidParameter: it is neither add_remove nor replace_one.
    """
    if value not in ("add_remove", "replace_one"):
        raise InvalidParameter('neighbours is neither "add_remove" nor "replace_one".', "Choose one of them.")
    return value


@dataclass(frozen=True, eq=False)
class Event:
    """A release. Equal events cost the same.

    Attributes:
        neighbours: `add_remove` or `replace_one`, the relation that the numbers of the event speak of.

    Example:
        >>> Event in Released.__mro__, Released(1, neighbours="add_remove").neighbours
        (True, 'add_remove')
    """

    neighbours: Neighbours

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__["_key"] == other.__dict__["_key"]

    def __hash__(self) -> int:
        # The hash of a Fraction takes a while, and a long run asks for it often.
        found = self.__dict__.get("_hash")
        if found is None:
            found = hash((type(self), self.__dict__["_key"]))
            object.__setattr__(self, "_hash", found)
        return int(found)


@dataclass(frozen=True, init=False, eq=False)
class Released(Event):
    """A release by any mechanism that is proven to be (epsilon, delta)-private.

    Example:
        >>> Released(0.1, neighbours="add_remove").loss.epsilon
        Fraction(1, 10)
    """

    loss: Loss

    def __init__(self, loss: Loss | Number, *, neighbours: Neighbours) -> None:
        _set(self, neighbours=neighbours_of(neighbours), loss=loss if isinstance(loss, Loss) else Loss(loss))


@dataclass(frozen=True, init=False, eq=False)
class Concentrated(Event):
    """A release by any mechanism that is proven to be zero-concentrated private.

    Example:
        >>> Concentrated("1/8", neighbours="add_remove").zcdp.rho
        Fraction(1, 8)
    """

    zcdp: ZCDP

    def __init__(self, zcdp: ZCDP | Number, *, neighbours: Neighbours) -> None:
        _set(self, neighbours=neighbours_of(neighbours), zcdp=zcdp if isinstance(zcdp, ZCDP) else ZCDP(zcdp))


@dataclass(frozen=True, init=False, eq=False)
class Converted(Event):
    """An event that is known in zCDP, with a loss of some epsilon and delta that it implies.

    Who adds up epsilons reads the loss, and who adds up rho reads the event. Where it is priced it is seen that the
    event implies the loss: by its rho, or by the exact curve of its Gaussian noise.

    Example:
        >>> from discreet.accounting import loss_of, zcdp_of
        >>> noise = Converted(Concentrated("1/50", neighbours="add_remove"), Loss(1, 1e-6))
        >>> str(loss_of(noise)), str(zcdp_of(noise))
        ('epsilon 1, delta 1e-06', 'rho 0.02')
    """

    event: Event
    loss: Loss

    def __init__(self, event: Event, loss: Loss) -> None:
        _set(self, neighbours=event.neighbours, event=event, loss=loss)


@dataclass(frozen=True, init=False, eq=False)
class LaplaceNoise(Event):
    """Numbers of which neighbours differ by at most `sensitivity` in L1, with Laplace noise in each.

    A vector counts as one event, with the sensitivity of all its coordinates together. Its worst case is that one
    coordinate moves by all of it: the trade-off of a shift by u + v is that of u followed by that of v, since tests
    between shifts of a log-concave density have the same threshold, and a shift of u in one coordinate and v in another
    is at least as hard to test as the two in a row (Dong, Roth and Su 2022, lemma A.5).

    Attributes:
        scale: of the noise, in the unit of the numbers.
        sensitivity: L1, in that unit.
        grid: the distance of neighbouring values of discrete noise, of which the sensitivity is a multiple; None for
            noise with a density. Ours is discrete, and `discreet.mechanisms.Laplace` on counts has the grid 1.

    Example:
        >>> noise = LaplaceNoise(scale=20, sensitivity=2, neighbours="replace_one")
        >>> noise.epsilon
        Fraction(1, 10)
    """

    scale: Fraction
    sensitivity: Fraction
    grid: Fraction | None

    def __init__(
        self, scale: Number, sensitivity: Number = 1, grid: Number | None = 1, *, neighbours: Neighbours
    ) -> None:
        steps = None if grid is None else positive(decimal(grid, "grid"), "grid")
        distance = positive(decimal(sensitivity, "sensitivity"), "sensitivity")
        if steps is not None and (distance / steps).denominator != 1:
            raise InvalidParameter(
                "sensitivity is not a multiple of the grid.",
                "Round it up to one, or give grid=None for a density.",
            )
        _set(self, neighbours=neighbours_of(neighbours), scale=positive(decimal(scale, "scale"), "scale"),
             sensitivity=distance, grid=steps)  # fmt: skip

    @property
    def epsilon(self) -> Fraction:
        """The pure loss: sensitivity/scale."""
        return self.sensitivity / self.scale


@dataclass(frozen=True, init=False, eq=False)
class GaussianNoise(Event):
    """Numbers of which neighbours differ by at most `sensitivity` in L2, with Gaussian noise in each.

    Attributes:
        sd: the standard deviation of the noise (sigma of the discrete Gaussian).
        sensitivity: L2, in the same unit.
        discrete: whether the noise is discrete Gaussian. It has the same zCDP, but no loss distribution here: in a
            vector it depends on the direction of the change.

    Example:
        >>> from discreet.accounting import zcdp_of
        >>> zcdp_of(GaussianNoise(sd=10, neighbours="add_remove")).rho
        Fraction(1, 200)
    """

    sd: Fraction
    sensitivity: Fraction
    discrete: bool

    def __init__(
        self, sd: Number, sensitivity: Number = 1, *, discrete: bool = False, neighbours: Neighbours
    ) -> None:
        spread, distance = decimal(sd, "sd"), decimal(sensitivity, "sensitivity")
        _set(self, neighbours=neighbours_of(neighbours), sd=positive(spread, "sd"),
             sensitivity=positive(distance, "sensitivity"), discrete=bool(discrete))  # fmt: skip


@dataclass(frozen=True, init=False, eq=False)
class DiscreteGaussianNoise(Event):
    """Integers of which neighbours differ by at most the root of `square` in L2, with discrete Gaussian noise in each.

    Attributes:
        variance: the parameter of the noise, in steps squared.
        square: of the L2 sensitivity, in steps.

    Example:
        >>> from discreet.accounting import zcdp_of
        >>> zcdp_of(DiscreteGaussianNoise(900, 50, neighbours="add_remove")).rho
        Fraction(1, 36)
    """

    variance: Fraction
    square: Fraction

    def __init__(self, variance: Number, square: Number = 1, *, neighbours: Neighbours) -> None:
        _set(self, neighbours=neighbours_of(neighbours), variance=positive(decimal(variance, "variance"), "variance"),
             square=positive(decimal(square, "square"), "square"))  # fmt: skip


@dataclass(frozen=True, init=False, eq=False)
class GaussianPrivate(Event):
    """A release that is proven to be (square/2)-zCDP, and Gaussian differentially private of so many `draws` (`GDP`).

    Example:
        >>> GaussianPrivate("1/25", 12, neighbours="add_remove").square
        Fraction(1, 25)
    """

    square: Fraction
    draws: int

    def __init__(self, square: Number, draws: int, *, neighbours: Neighbours) -> None:
        known = positive(decimal(square, "square"), "square")
        _set(self, neighbours=neighbours_of(neighbours), square=known, draws=whole(draws, "draws"))


@dataclass(frozen=True, init=False, eq=False)
class Sampled(Event):
    """An event of a secret random sample; see `discreet.accounting.sampling`.

    Attributes:
        event: the release from the sample.
        rate: the probability that a unit is in it.
        how: `poisson`, a coin for each unit, for add_remove; `fixed_size`, without replacement, for replace_one.
        neighbours: those of the event.

    Raises:
        InvalidParameter: the way of sampling does not match the neighbours of the event.

    Example:
        >>> from discreet.accounting import loss_of
        >>> part = Sampled(Released(1, neighbours="add_remove"), 0.05, "poisson")
        >>> round(float(loss_of(part).epsilon), 4)
        0.0824
    """

    event: Event
    rate: Fraction
    how: Literal["poisson", "fixed_size"]
    neighbours: Neighbours = field(init=False)

    def __init__(self, event: Event, rate: Number, how: Literal["poisson", "fixed_size"]) -> None:
        matching = {"poisson": "add_remove", "fixed_size": "replace_one"}
        if how not in matching:
            raise InvalidParameter('how is neither "poisson" nor "fixed_size".', "Choose one of them.")
        if event.neighbours != matching[how]:
            raise InvalidParameter(
                f"Amplification by {how} sampling is proven for {matching[how]}, not for {event.neighbours}.",
                "State the event for those neighbours.",
            )
        _set(self, neighbours=event.neighbours, event=event, rate=fraction_of_one(rate, "rate"), how=how)


@dataclass(frozen=True, init=False, eq=False)
class Repeated(Event):
    """The same event several times, from the same data.

    Example:
        >>> from discreet.accounting import loss_of
        >>> str(loss_of(Repeated(Released(0.1, neighbours="add_remove"), 7)))
        'epsilon 0.7'
    """

    event: Event
    count: int

    def __init__(self, event: Event, count: int) -> None:
        _set(self, neighbours=event.neighbours, event=event, count=whole(count, "count"))


@dataclass(frozen=True, init=False, eq=False)
class Composed(Event):
    """Several events from the same data.

    Example:
        >>> from discreet.accounting import loss_of
        >>> one, two = Released(0.1, neighbours="add_remove"), LaplaceNoise(5, neighbours="add_remove")
        >>> str(loss_of(Composed([one, two])))
        'epsilon 0.3'
    """

    events: tuple[Event, ...]

    def __init__(self, events: Iterable[Event]) -> None:
        found = tuple(events)
        _set(self, neighbours=_common(found), events=found)


@dataclass(frozen=True, init=False, eq=False)
class Parallel(Event):
    """Events from disjoint parts of the data: a unit is in one part.

    Args:
        events: one for each part.
        public_parts: True says that the part of a unit does not depend on its data, as with ten hospitals; it must be
            so when neighbours differ by replacing a unit, who could else leave one part and enter another.

    Raises:
        InvalidParameter: replace_one without public parts; mixed neighbours; no event.

    Example:
        >>> from discreet.accounting import loss_of
        >>> hospitals = [Released(Fraction(k, 10), neighbours="add_remove") for k in range(1, 11)]
        >>> str(loss_of(Parallel(hospitals)))
        'epsilon 1'
    """

    events: tuple[Event, ...]
    public_parts: bool

    def __init__(self, events: Iterable[Event], *, public_parts: bool = False) -> None:
        found = tuple(events)
        neighbours = _common(found)
        if neighbours == "replace_one" and not public_parts:
            raise InvalidParameter(
                "A unit that is replaced may change its part.",
                "Say public_parts=True if the part does not depend on its data; else price two parts.",
            )
        _set(self, neighbours=neighbours, events=found, public_parts=bool(public_parts))


@dataclass(frozen=True, init=False, eq=False)
class Alternatives(Event):
    """Events of which a neighbour moves one, or several in part: they cost as much as the dearest.

    Whoever states it answers for the premise: over all events, the parts of each sensitivity that a neighbour step
    moves add up to at most one. So it is where each row counts in one of several sums, and a neighbour changes no more
    rows than each sensitivity allows for. The parts a_i of pure losses epsilon_i give a sum of a_i epsilon_i, which is
    at most the largest of them. In zCDP the parts count squared, as a part a_i of an L2 sensitivity costs a_i^2 rho_i,
    so that it is enough if the squares of the parts add up to at most one.

    Example:
        >>> from discreet.accounting import loss_of
        >>> young, old = (LaplaceNoise(scale, neighbours="add_remove") for scale in (2, 4))
        >>> str(loss_of(Alternatives([young, old])))
        'epsilon 0.5'
    """

    events: tuple[Event, ...]

    def __init__(self, events: Iterable[Event]) -> None:
        found = tuple(events)
        _set(self, neighbours=_common(found), events=found)


@dataclass(frozen=True, init=False, eq=False)
class Grouped(Event):
    """An event as it concerns a group of units that act as one.

    Example:
        >>> from discreet.accounting import loss_of
        >>> str(loss_of(Grouped(Released(0.1, neighbours="add_remove"), 5)))
        'epsilon 0.5'
    """

    event: Event
    size: int

    def __init__(self, event: Event, size: int) -> None:
        _set(self, neighbours=event.neighbours, event=event, size=whole(size, "size"))


@dataclass(frozen=True, init=False, eq=False)
class ReplaceOne(Event):
    """An event for add_remove, seen for replace_one: a unit is removed and another is added, so a group of two.

    Example:
        >>> from discreet.accounting import loss_of
        >>> seen = ReplaceOne(Released(0.1, neighbours="add_remove"))
        >>> str(loss_of(seen)), seen.neighbours
        ('epsilon 0.2', 'replace_one')
    """

    event: Event

    def __init__(self, event: Event) -> None:
        if event.neighbours != "add_remove":
            raise InvalidParameter("The event is for replace_one already.", "Use it without ReplaceOne.")
        _set(self, neighbours="replace_one", event=event)


def _common(events: tuple[Event, ...]) -> Neighbours:
    if not events:
        raise InvalidParameter("There is no event.", "Give at least one.")
    if len({event.neighbours for event in events}) > 1:
        raise InvalidParameter(
            "The events speak of different neighbours.", "Convert those for add_remove with ReplaceOne."
        )
    return events[0].neighbours


def _set(event: Event, /, **fields: object) -> None:
    event.__dict__.update(fields, _key=tuple(fields.values()))  # __setattr__ is that of a frozen value
