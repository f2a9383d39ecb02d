"""The price of one event as an (epsilon, delta) loss and in zCDP: a function for each, by the kind of the event."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, singledispatch

from discreet.accounting import events as ev
from discreet.accounting.composition import group, parallel, sequential
from discreet.accounting.loss import Loss
from discreet.accounting.sampling import amplified
from discreet.accounting.zcdp import ZCDP
from discreet.errors import UnsupportedEvent

KINDS = 4096
"""Prices that are kept: a long run of events repeats few kinds."""


@lru_cache(maxsize=KINDS)
def loss_of(event: ev.Event) -> Loss:
    """The (epsilon, delta) loss of an event, exact or rounded up.

    Raises:
        UnsupportedEvent: no loss is known without a choice of delta, as for Gaussian noise.

    Example:
        >>> event = ev.Released(0.1, neighbours="add_remove")
        >>> str(loss_of(ev.Composed([event, ev.Repeated(event, 3)])))
        'epsilon 0.4'
    """
    return _loss(event)


@lru_cache(maxsize=KINDS)
def zcdp_of(event: ev.Event) -> ZCDP:
    """The zCDP of an event, exact or rounded up.

    Raises:
        UnsupportedEvent: none is known.

    Example:
        >>> zcdp_of(ev.Released(0.1, neighbours="add_remove")).rho
        Fraction(1, 200)
    """
    return _zcdp(event)


def unsupported(event: ev.Event, accountant: str) -> UnsupportedEvent:
    """The error that names the event and the way to a price."""
    return UnsupportedEvent(
        f"{type(event).__name__} has no price in {accountant}.",
        "Ask supports(), and choose another accountant.",
    )


def rho_of(event: ev.Event) -> Fraction | None:
    """The rho of an event that holds one known in zCDP; None where the losses of its parts say all.

    Example:
        >>> rho_of(ev.Released(1, neighbours="add_remove")) is None
        True
    """
    return zcdp_of(event).rho if _converted(event) else None


def _converted(event: ev.Event) -> bool:
    inner = (*getattr(event, "events", ()), *filter(None, [getattr(event, "event", None)]))
    return isinstance(event, ev.Converted) or any(map(_converted, inner))


@singledispatch
def _loss(event: ev.Event) -> Loss:
    raise unsupported(event, "pure epsilon and delta")


@_loss.register
def _(event: ev.Released) -> Loss:
    return event.loss


@_loss.register
def _(event: ev.LaplaceNoise) -> Loss:
    return Loss(event.epsilon)


@_loss.register
def _(event: ev.Converted) -> Loss:
    known = zcdp_of(event.event)
    if known.delta < event.loss.delta and known.loss(event.loss.delta).within(event.loss):
        return event.loss
    if _gaussian_within(event):
        return event.loss
    raise UnsupportedEvent("The event has a larger loss than it says.", "State the loss that it has.")


def _gaussian_within(event: ev.Converted) -> bool:
    """Whether the exact curve of Gaussian noise gives the loss."""
    from discreet.accounting.gaussian.gdp import gdp_of

    try:
        return gdp_of(event.event).within(event.loss)
    except UnsupportedEvent:
        return False


@_loss.register
def _(event: ev.Sampled) -> Loss:
    return amplified(loss_of(event.event), event.rate)


@_loss.register
def _(event: ev.Repeated) -> Loss:
    loss = loss_of(event.event)
    return Loss(event.count * loss.epsilon, event.count * loss.delta)


@_loss.register
def _(event: ev.Composed) -> Loss:
    return sequential(map(loss_of, event.events))


@_loss.register
def _(event: ev.Parallel) -> Loss:
    return parallel(map(loss_of, event.events))


@_loss.register
def _(event: ev.Alternatives) -> Loss:
    return parallel(map(loss_of, event.events))


@_loss.register
def _(event: ev.Grouped) -> Loss:
    return group(loss_of(event.event), event.size)


@_loss.register
def _(event: ev.ReplaceOne) -> Loss:
    return group(loss_of(event.event), 2)


@singledispatch
def _zcdp(event: ev.Event) -> ZCDP:
    return ZCDP.of(loss_of(event))  # Released, LaplaceNoise and every other event with a loss


@_zcdp.register
def _(event: ev.Concentrated) -> ZCDP:
    return event.zcdp


@_zcdp.register
def _(event: ev.GaussianNoise) -> ZCDP:
    return ZCDP.gaussian(event.sd, event.sensitivity)


@_zcdp.register
def _(event: ev.DiscreteGaussianNoise) -> ZCDP:
    return ZCDP(event.square / (2 * event.variance))


@_zcdp.register
def _(event: ev.GaussianPrivate) -> ZCDP:
    return ZCDP(event.square / 2)


@_zcdp.register
def _(event: ev.Repeated) -> ZCDP:
    zcdp = zcdp_of(event.event)
    return ZCDP(event.count * zcdp.rho, event.count * zcdp.delta)


@_zcdp.register
def _(event: ev.Composed) -> ZCDP:
    return sum(map(zcdp_of, event.events), ZCDP(0))


@_zcdp.register
def _(event: ev.Converted) -> ZCDP:
    return zcdp_of(event.event)


@_zcdp.register(ev.Alternatives)
@_zcdp.register(ev.Parallel)
def _(event: ev.Parallel | ev.Alternatives) -> ZCDP:
    found = [zcdp_of(part) for part in event.events]
    return ZCDP(max(zcdp.rho for zcdp in found), max(zcdp.delta for zcdp in found))


def _group(event: ev.Event, size: int) -> ZCDP:
    zcdp = zcdp_of(event)
    return zcdp.group(size) if zcdp.delta == 0 else ZCDP.of(group(loss_of(event), size))


@_zcdp.register
def _(event: ev.Grouped) -> ZCDP:
    return _group(event.event, event.size)


@_zcdp.register
def _(event: ev.ReplaceOne) -> ZCDP:
    return _group(event.event, 2)
