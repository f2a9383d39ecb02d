"""The exact law of a mechanism from every value that its random variables can take.

Each variable of `discreet.noise` is proven against its formula by every tape of bits (tests/noise). Here the
mechanism runs on every combination of their values instead: a draw takes the next value of a script, and when
the script is over, it is extended by each value of the law of that draw. Far tails are cut off and counted as
undecided, so the truth lies between the mass found and that mass and what is undecided.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import pytest

from discreet.noise import choice
from discreet.rational import exact
from tests.noise.tape import exp, law_of_geometric, law_of_laplace

Outcome = TypeVar("Outcome", bound=Hashable)
Law = tuple[tuple[int, Fraction], ...]
Found = tuple[dict[Outcome, Fraction], Fraction]

_UNIT = 1 << 120


class ForkError(Exception):
    """The script is over; the next draw has this law."""

    def __init__(self, law: Law) -> None:
        super().__init__(law)
        self.law = law


class Chances:
    """Stands in for the functions of `discreet.noise`, with every value in turn."""

    def __init__(self, cut: float) -> None:
        self._cut = cut
        self._script: list[int] = []
        self._at = 0

    def laplace(self, scale: Any, size: Any = None) -> Any:
        return self._draw(_laplace(exact(scale), self._cut), size)

    def geometric(self, scale: Any, size: Any = None) -> Any:
        return self._draw(_geometric(exact(scale), self._cut), size)

    def bernoulli(self, p: Any, size: Any = None) -> Any:
        return self._coins(exact(p), size)

    def bernoulli_odds(self, x: Any, size: Any = None, *, weight: Any = 1) -> Any:
        odds = exact(weight) * exp(-exact(x))
        return self._coins(odds / (1 + odds), size)

    def bernoulli_exp(self, x: Any, size: Any = None, *, scale: Any = 1) -> Any:
        if isinstance(x, (list, np.ndarray)):
            assert size is None
            return np.array([bool(self._take(_coin(exp(-exact(v) / exact(scale))))) for v in x])
        return self._coins(exp(-exact(x) / exact(scale)), size)

    def uniform(self, n: int, size: Any = None) -> Any:
        n = min(n, 2) if n > 1 << 32 else n  # an order in case of ties: any that ignores the data is valid
        return self._draw(tuple((k, Fraction(1, n)) for k in range(n)), size)

    def every(self, run: Callable[[], Outcome], least: float = 1e-9) -> Found[Outcome]:
        """The mass of each outcome of `run`; paths of less mass than `least` are given up."""
        found: defaultdict[Outcome, int] = defaultdict(int)
        undecided = 0
        stack: list[tuple[list[int], int]] = [([], _UNIT)]
        while stack:
            script, mass = stack.pop()
            if mass < least * _UNIT:
                undecided += mass
                continue
            self._script, self._at = script, 0
            try:
                outcome = run()
            except ForkError as fork:
                rest = mass
                for value, p in fork.law:
                    part = mass * p.numerator // p.denominator
                    rest -= part
                    if part:
                        stack.append(([*script, value], part))
                undecided += rest
            else:
                assert self._at == len(script), "the run is not the same each time"
                found[outcome] += mass
        return {k: Fraction(mass, _UNIT) for k, mass in found.items()}, Fraction(undecided, _UNIT)

    def _take(self, law: Law) -> int:
        if len(law) == 1 and law[0][1] >= 1:
            return law[0][0]
        if self._at == len(self._script):
            raise ForkError(law)
        self._at += 1
        return self._script[self._at - 1]

    def _draw(self, law: Law, size: Any) -> Any:
        if size is None:
            return self._take(law)
        shape = size if isinstance(size, tuple) else (size,)
        return np.array([self._take(law) for _ in range(math.prod(shape))], np.int64).reshape(shape)

    def _coins(self, p: Fraction, size: Any) -> Any:
        drawn = self._draw(_coin(p), size)
        return bool(drawn) if size is None else drawn.astype(bool)


@pytest.fixture
def chances(monkeypatch: pytest.MonkeyPatch) -> Chances:
    """Put a `Chances` in the place of the samplers wherever mechanisms use them."""
    return stand_in(monkeypatch, 1e-7)


def stand_in(monkeypatch: pytest.MonkeyPatch, cut: float) -> Chances:
    """Draws leave out tails of probability below `cut`."""
    chances = Chances(cut)
    # One attempt at a time, so that no draw is enumerated that nobody looks at.
    monkeypatch.setattr(choice, "_FIRST", 1)
    monkeypatch.setattr(choice, "_LARGEST", 1)
    rooms = [name for name in sys.modules if name.startswith("discreet.mechanisms.")]
    for room in [*rooms, *(f"discreet.noise.{name}" for name in ("choice", "staircase", "unbounded"))]:
        for name in ("laplace", "geometric", "bernoulli", "bernoulli_odds", "bernoulli_exp", "uniform"):
            if callable(getattr(sys.modules[room], name, None)):
                monkeypatch.setattr(sys.modules[room], name, getattr(chances, name))
    return chances


def leak(one: Found[Outcome], other: Found[Outcome]) -> float:
    """The largest ln P(y|D)/P(y|D') that the two laws prove, in either direction.

    An outcome's mass is a lower bound and mass plus undecided an upper one, so the true loss is at least this.
    """
    worst = 0.0
    for (found, _), (against, undecided) in ((one, other), (other, one)):
        for outcome, mass in found.items():
            most = against.get(outcome, Fraction(0)) + undecided
            worst = max(worst, math.log(mass / most) if most else math.inf)
    return worst


def ceiling(one: Found[Outcome], other: Found[Outcome]) -> float:
    """The largest ln P(y|D)/P(y|D') that the two laws leave possible, over the outcomes found."""
    worst = 0.0
    for (found, undecided), (against, _) in ((one, other), (other, one)):
        for outcome, mass in found.items():
            least = against.get(outcome, Fraction(0))
            worst = max(worst, math.log((mass + undecided) / least) if least else math.inf)
    return worst


def _coin(p: Fraction) -> Law:
    if p >= 1:
        return ((1, Fraction(1)),)
    return ((1, p), (0, 1 - p))


@lru_cache
def _laplace(scale: Fraction, cut: float) -> Law:
    reach = math.ceil(float(scale) * math.log(1 / cut))
    return tuple((k, law_of_laplace(scale, k)) for k in range(-reach, reach + 1))


@lru_cache
def _geometric(scale: Fraction, cut: float) -> Law:
    reach = math.ceil(float(scale) * math.log(1 / cut))
    return tuple((k, law_of_geometric(scale, k)) for k in range(reach + 1))
