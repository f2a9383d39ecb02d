"""The questions that a graph answers, each made of a few integers and the way from those to a number.

An integer is released with noise for one edge more or fewer. Where no edge moves it by more than 1, that is Laplace
noise; else it has a width, a number that an edge moves by at most 1, and a rung, by how much an edge moves the integer
at most where the width is x. Proofs, for an edge between a and b that is added; to remove one is the same, read
backward, with a width that is no smaller.

- *triangles*: as many more as a and b have common neighbours: x, for the largest number of common neighbours.
- *k-stars*: binomial(d_a, k - 1) + binomial(d_b, k - 1) more, so 2 binomial(x, k - 1) for the largest degree x.
- *end products*, the sum of d_i d_j over the edges: (d_a + 1)(d_b + 1) for the new edge, and one times the degrees of
  all neighbours of a and of b: (x + 1)^2 + 2 x^2.

In a graph of n vertices no width counts above n - 2 for the first two, as neither a nor b has more neighbours without
the edge; of their neighbours the degrees may be n - 1, and so may the width for the third.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from discreet.errors import InvalidParameter
from discreet.graphs import counts
from discreet.graphs.graph import Graph
from discreet.records import dataclass

WIDTHS: Final[Mapping[str, Callable[[Graph], int]]] = {"common": counts.common, "widest": counts.widest}
"""By name, the numbers that an edge moves by at most 1: most common neighbours of a pair, and the largest degree."""
MOST_STAR: Final = 8


@dataclass(frozen=True)
class Interval:
    """A number and the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Statistic:
    """An integer of a graph.

    Attributes:
        name: of it.
        value: computes it.
        most: its largest value for so many vertices.
        width: the name of the number that bounds how far an edge moves it; empty where that is 1.
        rung: how far an edge moves it at most, for a width.
        short: in a graph of n vertices, widths above n less this count as that.
    """

    name: str
    value: Callable[[Graph], int]
    most: Callable[[int], int]
    width: str = ""
    rung: Callable[[int], int] = lambda _: 1
    short: int = 2


Combine = Callable[[int, Mapping[str, Interval]], Interval]


@dataclass(frozen=True)
class StatisticQuestion:
    """A question, read.

    Attributes:
        name: such as `triangles` or `2-stars`.
        statistics: the integers that it needs.
        combine: from the number of vertices and the intervals of those to that of the answer.
        whole: whether the answer is a whole number.
    """

    name: str
    statistics: tuple[Statistic, ...]
    combine: Combine
    whole: bool = True

    @property
    def widths(self) -> tuple[str, ...]:
        """The widths that it needs, each once."""
        return tuple(dict.fromkeys(statistic.width for statistic in self.statistics if statistic.width))


def star(k: int) -> Statistic:
    """The statistic of k-stars."""
    return Statistic(
        f"{k}-stars",
        partial(counts.stars, k=k),
        lambda n: n * math.comb(max(0, n - 1), k),
        "widest",
        lambda x: 2 * math.comb(max(0, x), k - 1),
    )


EDGES = Statistic("edges", lambda graph: graph.edges, lambda n: math.comb(n, 2))
TRIANGLES = Statistic("triangles", counts.triangles, lambda n: math.comb(n, 3), "common", lambda x: max(0, x))
MERGES = Statistic("merges", counts.merges, lambda n: max(0, n - 1))
PRODUCTS = Statistic("end products", counts.end_products, lambda n: math.comb(n, 2) * n * n, "widest",
                     lambda x: (max(0, x) + 1) ** 2 + 2 * max(0, x) ** 2, short=1)  # fmt: skip


def read(name: str) -> StatisticQuestion:
    """Read a question.

    Raises:
        InvalidParameter: no question has this name.

    Example:
        >>> [statistic.name for statistic in read("clustering").statistics]
        ['triangles', '2-stars']
    """
    found = re.fullmatch(r"([1-9])-stars", name)
    if found and 2 <= int(found[1]) <= MOST_STAR:
        return _plain(star(int(found[1])))
    if name not in QUESTIONS:
        known = [*QUESTIONS, f"2-stars to {MOST_STAR}-stars", DEGREES]
        raise InvalidParameter(f"A graph has no count {name}.", f"Choose from {', '.join(known)}.")
    return QUESTIONS[name]


def _plain(statistic: Statistic) -> StatisticQuestion:
    return StatisticQuestion(statistic.name, (statistic,), lambda n, found: found[statistic.name])


def _components(n: int, found: Mapping[str, Interval]) -> Interval:
    merges = found["merges"]
    return Interval(n - merges.value, n - merges.high, n - merges.low)


def _clustering(n: int, found: Mapping[str, Interval]) -> Interval:
    """Three times triangles by 2-stars: it rises with the one and falls with the other."""
    triangles, pairs = found["triangles"], found["2-stars"]

    def ratio(some: float, of: float, empty: float) -> float:
        return min(1.0, max(0.0, 3 * some / of)) if of > 0 else empty

    return Interval(ratio(triangles.value, pairs.value, 0), ratio(triangles.low, pairs.high, 0),
                    ratio(triangles.high, pairs.low, 1))  # fmt: skip


def _assortativity(n: int, found: Mapping[str, Interval]) -> Interval:
    """The correlation of the degrees of the two ends of an edge, from sums over vertices and edges.

    With S_k the sum of d^k over the vertices and P that of d_i d_j over the edges, it is
    (2 S_1 P - S_2^2)/(S_1 S_3 - S_2^2), S_1 = 2 m, S_2 = 2 stars_2 + S_1, S_3 = 6 stars_3 + 6 stars_2 + S_1.
    """

    def parts(end: str, other: str) -> tuple[float, float]:
        """Numerator and denominator, with the positive terms at one end and the negative at the other."""
        m, two, three, ends = (
            getattr(found[name], end) for name in ("edges", "2-stars", "3-stars", "end products")
        )
        square = 2 * getattr(found["2-stars"], other) + 2 * getattr(found["edges"], other)
        return 4 * m * ends - square**2, 2 * m * (6 * three + 6 * two + 2 * m) - square**2

    (top, bottom), (top_low, bottom_low), (top_high, bottom_high) = (
        parts(end, other) for end, other in (("value", "value"), ("low", "high"), ("high", "low"))
    )
    if bottom_low <= 0:
        middle = top / bottom if bottom > 0 else 0.0
        return Interval(min(1.0, max(-1.0, middle)), -1, 1)
    ends = [a / b for a in (top_low, top_high) for b in (bottom_low, bottom_high)]
    values = (top / bottom, min(ends), max(ends))
    return Interval(*(min(1.0, max(-1.0, value)) for value in values))


DEGREES: Final = "degrees"
"""The question of the whole histogram; `discreet.graphs.histogram` answers it."""
QUESTIONS: Final[Mapping[str, StatisticQuestion]] = {
    "edges": _plain(EDGES),
    "triangles": _plain(TRIANGLES),
    "components": StatisticQuestion("components", (MERGES,), _components),
    "clustering": StatisticQuestion("clustering", (TRIANGLES, star(2)), _clustering, whole=False),
    "assortativity": StatisticQuestion(
        "assortativity", (EDGES, star(2), star(3), PRODUCTS), _assortativity, whole=False
    ),
}
