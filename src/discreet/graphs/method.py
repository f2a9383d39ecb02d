"""The mechanisms of a question, their shares of epsilon, their intervals, and which method is predicted to err least.

`global` gives each integer Laplace noise for the farthest that an edge can move it in any graph of n vertices.
`ladder` spends a fifth of epsilon on the widths, with Laplace noise, and the rest on ladders: the noise fits the graph,
and a bound of the width from above tells how wide it is. `smooth` does the same with Cauchy noise of the smooth
sensitivity in place of ladders; its tails are so heavy that it is hardly ever better. `smooth-laplace` takes Laplace
noise of the smooth sensitivity, which needs a delta, and errs least where one is granted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from discreet.errors import InvalidParameter
from discreet.graphs.question import WIDTHS, Interval, Statistic, StatisticQuestion
from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.mechanisms.numeric.smooth_cauchy import SmoothCauchy
from discreet.mechanisms.numeric.smooth_laplace import SmoothLaplace
from discreet.mechanisms.selection.ladder import Climbed, Ladder
from discreet.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.graphs.graph import Graph
    from discreet.release.draw import Draw

WIDTH_SHARE: Final = Fraction(1, 5)
"""The share of epsilon, and of the chance that an interval misses, that goes to the widths."""
WITH_DELTA: Final = "smooth-laplace"
"""The method that needs a delta."""
FITTING: Final = ("ladder", "smooth", WITH_DELTA)
"""The methods whose noise fits the graph."""
METHODS: Final = (*FITTING, "global")
Fitting: TypeAlias = "Ladder | SmoothCauchy | SmoothLaplace"
_COARSEST: Final = 1 << 55
_LARGEST: Final = 1 << 62
_EXACT: Final = 1 << 53


@dataclass(frozen=True)
class Method:
    """A way to answer a question about a graph, whose sensitivities are for one edge added or removed.

    Attributes:
        name: of the method.
        question: the question.
        vertices: how many there are at most, public.
        closed: whether the vertices are a public set, so that no graph has more.
        epsilon: of the whole question.
        confidence: of the interval.
        granted: the delta that may be spent; `smooth-laplace` takes all of it, and the others none.
        guess: a public guess of the widths, for which `smooth-laplace` makes its noise least.
    """

    name: str
    question: StatisticQuestion
    vertices: int
    closed: bool
    epsilon: Fraction
    confidence: float
    granted: Fraction = Fraction(0)
    guess: int = 0
    size = 1
    first = 0
    notes = ()

    def rung(self, statistic: Statistic, width: int) -> int:
        """How far an edge moves a statistic at most, for a width."""
        return statistic.rung(min(width, max(0, self.vertices - statistic.short)) if self.closed else width)

    @property
    def whole(self) -> bool:
        """Whether the answer is a whole number that every reader of it can hold."""
        return self.question.whole and all(
            statistic.most(self.vertices) <= _EXACT for statistic in self.question.statistics
        )

    @property
    def delta(self) -> Fraction:
        """The delta of the whole question."""
        return self.granted if self.name == WITH_DELTA and self._widths else Fraction(0)

    @cached_property
    def mechanisms(self) -> Mapping[str, LaplaceVector | Fitting]:
        """The mechanisms of widths and statistics, by name."""
        question, widths = self.question, self._widths
        each = self.epsilon * (WIDTH_SHARE if widths else 0)
        made: dict[str, LaplaceVector | Fitting] = {
            name: LaplaceVector(len(widths) / each, 1) for name in widths
        }
        rest = (self.epsilon - each) / len(question.statistics)
        for statistic in question.statistics:
            if statistic.width and widths:
                made[statistic.name] = self._fit(statistic, rest)
            else:
                moved = max(1, self.rung(statistic, self.vertices))
                made[statistic.name] = LaplaceVector(moved / rest, moved)
        return made

    def _fit(self, statistic: Statistic, epsilon: Fraction) -> Fitting:
        """The noise of a statistic that fits the graph."""
        rung: Callable[[int], int] = partial(self.rung, statistic)
        most = statistic.most(self.vertices)
        if self.name == WITH_DELTA:
            many = sum(1 for each in self.question.statistics if each.width)
            guess = min(self.guess, self.vertices)
            return SmoothLaplace(epsilon, self.granted / many, rung, most, guess)
        return (Ladder if self.name == "ladder" else SmoothCauchy)(epsilon, rung, most)

    @property
    def _widths(self) -> tuple[str, ...]:
        return self.question.widths if self.name in FITTING else ()

    def see_possible(self) -> None:
        """See that the method is one for this graph.

        Raises:
            InvalidParameter: it is not.
        """
        if self.name not in METHODS:
            raise InvalidParameter(
                f"No method has the name {self.name}.", f"Choose from {', '.join(METHODS)}."
            )
        if self.name == WITH_DELTA and self.question.widths and not self.granted:
            raise InvalidParameter(
                f"The method {WITH_DELTA} needs a delta.", "Give one that the budget grants, such as 1e-9."
            )
        if self.name in ("smooth", WITH_DELTA):
            _ = self.mechanisms  # raises where epsilon is too small
        if self.name == "global" and self.question.widths and not self.closed:
            raise InvalidParameter(
                "The global bound needs a public set of vertices: their number alone bounds no graph of others.",
                "Give vertices as a list or a range, or take the method ladder.",
            )
        if self.name == "global" and self._coarsest > _COARSEST:
            raise InvalidParameter("The noise of the global bound leaves 64 bits.", "Take the method ladder.")

    @property
    def _coarsest(self) -> Fraction:
        """The largest scale of Laplace noise."""
        statistics = self.question.statistics
        moved = max(self.rung(statistic, self.vertices) for statistic in statistics)
        return moved * len(statistics) / self.epsilon

    def draw(self, graph: Graph, draw: Draw) -> dict[str, int]:
        """The noisy widths and statistics of a graph."""
        exact = {name: WIDTHS[name](graph) for name in self._widths}
        out = {name: int(draw(name, np.array([exact[name]]))[0]) for name in exact}
        for statistic in self.question.statistics:
            value = min(statistic.value(graph), statistic.most(self.vertices))
            given: Any = np.array([min(value, _LARGEST)])
            if statistic.width and exact:
                out[statistic.name] = int(draw(statistic.name, Climbed(value, exact[statistic.width])))
            else:
                out[statistic.name] = int(draw(statistic.name, given)[0])
        return out

    def interval(self, noisy: Mapping[str, int]) -> Interval:
        """The answer from the noisy numbers; its interval holds for all of them together (union bound)."""
        found = {}
        for statistic in self.question.statistics:
            value, most = noisy[statistic.name], statistic.most(self.vertices)
            width = self.bound(noisy[statistic.width]) if statistic.name in self._fitting else 0
            error = self._error(statistic, width)
            inside = [min(most, max(0, end)) for end in (value, value - error, value + error)]
            found[statistic.name] = Interval(*map(float, inside))
        return self.question.combine(self.vertices, found)

    def bound(self, noisy: int) -> int:
        """A width that the true one is above only with the chance that widths have."""
        missed = (1 - self._level) * WIDTH_SHARE / len(self._widths)
        mechanism = self.mechanisms[self._widths[0]]
        assert isinstance(mechanism, LaplaceVector)
        above = max(0, noisy + mechanism.half_width(1 - 2 * missed))  # of both sides, one is harmless
        return min(above, self.vertices) if self.closed else above

    @property
    def _fitting(self) -> frozenset[str]:
        return frozenset(
            name for name, made in self.mechanisms.items() if not isinstance(made, LaplaceVector)
        )

    @property
    def _level(self) -> Fraction:
        return Fraction(str(self.confidence))

    def _error(self, statistic: Statistic, width: int) -> int:
        """Half the width of the interval of a statistic, where this is the largest width."""
        share = 1 - WIDTH_SHARE if self._widths else 1
        level = 1 - (1 - self._level) * share / len(self.question.statistics)
        mechanism = self.mechanisms[statistic.name]
        if isinstance(mechanism, LaplaceVector):
            return mechanism.half_width(level)
        return mechanism.half_width_up_to(width, level)

    def columns(self, noisy: Mapping[str, int]) -> dict[str, list[Interval]]:
        """The answer as columns."""
        return {self.question.name: [self.interval(noisy)]}

    def predicted(self, width: int) -> float:
        """Half the width of the interval that a statistic will have, if the widths are about this one.

        Of several statistics it is the largest as a share of its range, which tells methods apart.
        """
        bound = self.bound(width) if self._widths else 0
        errors = {statistic: self._error(statistic, bound) for statistic in self.question.statistics}
        if len(errors) == 1:
            return float(*errors.values())
        return max(error / max(1, statistic.most(self.vertices)) for statistic, error in errors.items())


def predictions(
    question: StatisticQuestion, vertices: int, closed: bool, epsilon: Fraction, confidence: float, width: int | None,
    delta: Fraction = Fraction(0), names: tuple[str, ...] = (),
) -> list[tuple[Method, float]]:  # fmt: skip
    """The methods that can answer a question, that of the least predicted error first.

    Args:
        question: the question.
        vertices: how many there are at most.
        closed: whether they are a public set.
        epsilon: of the question.
        confidence: of the interval.
        width: a public guess of the widths, which privacy does not hang on; by default the root of the number of
            vertices.
        delta: that may be spent.
        names: the methods to look at, which then have to be possible; by default all that are.

    Raises:
        InvalidParameter: a method that was named is not possible.
    """
    guess = math.isqrt(vertices) if width is None else width
    every = METHODS if question.widths else ("global",)
    made = []
    for name in names or every:
        method = Method(name, question, vertices, closed, epsilon, confidence, delta, guess)
        try:
            method.see_possible()
        except InvalidParameter:
            if names:
                raise
            continue
        made.append((method, method.predicted(guess)))
    return sorted(made, key=lambda pair: pair[1])
