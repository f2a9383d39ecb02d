"""The atoms of a loss distribution: an event taken apart into the few kinds whose distribution is known."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import singledispatch
from typing import TypeAlias

from discreet.accounting import events as ev
from discreet.accounting.pricing import loss_of, unsupported
from discreet.errors import UnsupportedEvent
from discreet.records import dataclass

MOST_EPSILON = 64
"""A loss above this in one event has no distribution here: its grid would be endless."""

MOST_STEPS = 4096
"""Discrete noise of a larger sensitivity, in grid steps, is priced as any pure mechanism, which is never too little."""


@dataclass(frozen=True)
class Generic:
    """Any (epsilon, delta)-private mechanism."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class LaplaceAtom:
    """Laplace noise; scale in units of the sensitivity, which is `steps` grid steps, or None for a density."""

    scale: Fraction
    steps: int | None
    rate: Fraction = Fraction(1)


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise; standard deviation in units of the sensitivity."""

    multiplier: Fraction
    rate: Fraction = Fraction(1)


Atom: TypeAlias = Generic | LaplaceAtom | Gaussian


def parts(event: ev.Event) -> Iterator[tuple[Atom, int]]:
    """The atoms of an event, and how often each occurs.

    Raises:
        UnsupportedEvent: an event has no distribution here.
    """
    yield from _parts(event)


def _generic(event: ev.Event) -> Iterator[tuple[Atom, int]]:
    try:
        loss = loss_of(event)
    except UnsupportedEvent:
        raise unsupported(event, "loss distributions") from None
    if loss.epsilon > MOST_EPSILON or loss.delta > 1:
        raise UnsupportedEvent(
            f"An event with an epsilon above {MOST_EPSILON} has no distribution here.", "Price it as pure."
        )
    if loss != type(loss)(0):
        yield Generic(loss.epsilon, loss.delta), 1


@singledispatch
def _parts(event: ev.Event) -> Iterator[tuple[Atom, int]]:
    yield from _generic(event)


@_parts.register
def _(event: ev.LaplaceNoise) -> Iterator[tuple[Atom, int]]:
    steps = None if event.grid is None else event.sensitivity / event.grid
    if event.epsilon > MOST_EPSILON or (steps is not None and steps > MOST_STEPS):
        yield from _generic(event)
    else:
        yield LaplaceAtom(1 / event.epsilon, None if steps is None else int(steps)), 1


@_parts.register
def _(event: ev.GaussianNoise) -> Iterator[tuple[Atom, int]]:
    if event.discrete:
        raise unsupported(event, "loss distributions")
    yield Gaussian(event.sd / event.sensitivity), 1


@_parts.register
def _(event: ev.Sampled) -> Iterator[tuple[Atom, int]]:
    inner, plain = event.event, event.how == "poisson" and event.rate > 0
    if plain and isinstance(inner, ev.LaplaceNoise) and inner.grid is None and inner.epsilon <= MOST_EPSILON:
        yield LaplaceAtom(1 / inner.epsilon, None, event.rate), 1
    elif plain and isinstance(inner, ev.GaussianNoise) and not inner.discrete:
        yield Gaussian(inner.sd / inner.sensitivity, event.rate), 1
    else:
        yield from _generic(event)


@_parts.register
def _(event: ev.Repeated) -> Iterator[tuple[Atom, int]]:
    for atom, count in parts(event.event):
        yield atom, count * event.count


@_parts.register
def _(event: ev.Composed) -> Iterator[tuple[Atom, int]]:
    for part in event.events:
        yield from parts(part)


@_parts.register
def _(event: ev.Parallel) -> Iterator[tuple[Atom, int]]:
    if len(set(event.events)) == 1:
        yield from parts(event.events[0])  # the same in each part, and a unit is in one of them
    else:
        yield from _generic(event)


@_parts.register
def _(event: ev.Grouped) -> Iterator[tuple[Atom, int]]:
    yield from _grown(event, event.event, event.size)


@_parts.register
def _(event: ev.ReplaceOne) -> Iterator[tuple[Atom, int]]:
    yield from _grown(event, event.event, 2)


def _grown(event: ev.Event, inner: ev.Event, size: int) -> Iterator[tuple[Atom, int]]:
    """A group of k moves a value by k sensitivities."""
    if isinstance(inner, ev.LaplaceNoise):
        grown: ev.Event = ev.LaplaceNoise(
            inner.scale, size * inner.sensitivity, inner.grid, neighbours=event.neighbours
        )
        yield from parts(grown)
    elif isinstance(inner, ev.GaussianNoise):
        grown = ev.GaussianNoise(
            inner.sd, size * inner.sensitivity, discrete=inner.discrete, neighbours=event.neighbours
        )
        yield from parts(grown)
    else:
        yield from _generic(event)
