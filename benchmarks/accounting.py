"""Composing 100,000 mixed events, and adding one, against fixed limits and dp-accounting."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from benchmarks.line import Line, alternate, faster, median, once
from discreet.accounting import (
    ACCOUNTANTS,
    Composed,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    Parallel,
    PLDAccountant,
    Released,
    Repeated,
    Sampled,
)

EVENTS = 100_000
DELTA = Fraction(1, 10**6)
ADD: Neighbours = "add_remove"


def mixed() -> Iterator[Event]:
    """Events of 24 kinds in turn, made anew each time: Laplace, pure, with delta, sampled, parallel, composed."""
    at = 0
    while True:
        step = at % 24
        scale = 500 + 20 * (step % 6)
        noise = LaplaceNoise(scale, neighbours=ADD)
        kinds: tuple[Event, ...] = (
            noise,
            Sampled(LaplaceNoise(scale, grid=None, neighbours=ADD), Fraction(1, 10), "poisson"),
            Composed([Released(Fraction(1, scale), neighbours=ADD), noise]),
            Parallel([noise, Repeated(noise, 2)]),
        )
        yield kinds[step // 6]
        at += 1


def lines() -> Iterator[Line]:
    """Measure, one line at a time."""
    PLDAccountant(ADD).extend(islice(mixed(), 24)).loss(DELTA)  # opens dp-accounting, which takes a second
    for name, make in ACCOUNTANTS.items():
        runs = []
        for _ in range(3):
            events = list(islice(mixed(), EVENTS))  # new ones: an event that was seen keeps its hash
            runs.append(once(lambda make=make, events=events: make(ADD).extend(events).loss(DELTA)))  # type: ignore[misc]
        yield _limit(f"{name}: add and price {EVENTS:,} mixed events", statistics.median(runs), 2.0)

    for name, make in ACCOUNTANTS.items():
        accountant, fresh = make(ADD).extend(islice(mixed(), 1000)), mixed()
        seconds = median(lambda accountant=accountant, fresh=fresh: accountant.add(next(fresh)), 1001)  # type: ignore[misc]
        yield _limit(f"{name}: add one event", seconds, 1e-3)

    import dp_accounting
    from dp_accounting.pld import PLDAccountant as Theirs

    ours_event, theirs_event = GaussianNoise(100, neighbours=ADD), dp_accounting.GaussianDpEvent(100)
    ours, theirs = alternate(
        lambda: PLDAccountant(ADD).add(ours_event, 1000).epsilon(DELTA),
        lambda: Theirs().compose(theirs_event, 1000).get_epsilon(float(DELTA)),
        5,
    )
    yield faster("pld: 1,000 Gaussian releases", ours, "dp-accounting PLDAccountant", theirs)


def _limit(name: str, seconds: float, limit: float) -> Line:
    words = f"at most {limit:g} s" if limit >= 1 else f"at most {limit * 1000:g} ms"
    return Line(name, seconds, "limit", limit, limit / seconds, words, seconds <= limit)
