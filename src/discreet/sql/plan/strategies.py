"""Strategies: the fewest measures that answer the aggregates that are asked for, with the least noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from discreet.records import dataclass
from discreet.sql.analyze.aggregates.aggregate import RequestedAggregate
from discreet.sql.expressions.expression import Expression
from discreet.sql.functions.aggregates import BY_QUANTITY, PAIR_DEGREES, family_of, read_off, sizes_of
from discreet.sql.measures.measure import Moments, grid_of
from discreet.sql.measures.moments import JointMoments
from discreet.sql.plan.alternatives import sets_of
from discreet.sql.plan.canonical_aggregates import canonical_aggregates
from discreet.sql.plan.measure_choice import MeasureChoice
from discreet.sql.plan.plan import Aggregate, AnyMeasure

MeasureKey: TypeAlias = tuple[str, Expression | None, Expression | None]
"""Aggregates of one key are answered by one measure: which integers are counted, and of which arguments."""
ALL_ROWS: MeasureKey = ("rows", None, None)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The measures of a release, before grids and epsilon are known.

    Attributes:
        choices: the measures.
        requests: the quantities estimated, in canonical form: as many as were asked for, in their order.
        answered_by: for each request the number of the choice that answers it.
        sets: for each choice the number of its set of alternatives, as `alternatives` says.
        rewritten: whether a request is answered by another measure than it would be alone.
    """

    choices: list[MeasureChoice]
    requests: list[RequestedAggregate]
    answered_by: list[int]
    sets: tuple[int, ...]
    rewritten: bool

    @property
    def layout(self) -> str:
        """A word for measures that are shared: an answer of another layout is not replayed. Empty without such."""
        shared = self.rewritten or len(set(self.sets)) < len(self.sets)
        return f" sets {self.sets} {self.answered_by}" if shared else ""


def choose(asked: Sequence[RequestedAggregate], per_unit: bool = True, intervals: bool = True) -> Chosen:
    """Choose the fewest measures that answer all requests.

    Everything asked of one argument comes from one measure, and the number of all rows comes for free from the
    first measure that is alone in its set of alternatives: every further measure would take its share of epsilon from
    the others.

    Args:
        asked: the requests.
        per_unit: whether the rows of a unit are chosen.
        intervals: whether quantiles have any.
    """
    requests = canonical_aggregates(asked)
    wanted: dict[MeasureKey, set[str]] = {}
    for request in requests:
        wanted.setdefault(_measure_key(request), set()).add(request.quantity)
    counting = wanted.pop(ALL_ROWS, set())
    # Plain measures come first, so that the number of all rows can be had from one of them.
    order = sorted(wanted, key=lambda f: ("rows", "pairs").index(f[0]) if f[0] in ("rows", "pairs") else 2)
    choices = [_choice(key, wanted[key], intervals) for key in order]
    sets = sets_of(choices, per_unit)
    free = None
    if counting:
        alone = (
            index
            for index, c in enumerate(choices)
            if c.counts in ("rows", "pairs") and sets.count(sets[index]) == 1
        )
        free = next(alone, None)
        if free is None:
            free = len(choices)
            choices.append(MeasureChoice(0, None, False))
            sets += (max(sets, default=-1) + 1,)
        else:
            first = choices[free]
            with_null = _nullable(first.argument) or _nullable(first.other)
            choices[free] = replace(first, degree=abs(first.degree), with_null=with_null)
    places = {key: index for index, key in enumerate(order)}
    answered_by = [
        free if r.quantity == "rows" and free is not None else places[_measure_key(r)] for r in requests
    ]
    rewritten = any(
        (a.quantity, *_measure_key(a)) != (r.quantity, *_measure_key(r))
        for a, r in zip(asked, requests, strict=True)
    )
    return Chosen(choices, requests, answered_by, sets, rewritten)


def _choice(key: MeasureKey, wanted: set[str], intervals: bool) -> MeasureChoice:
    """The measure of the quantities wanted of one argument, or of one pair."""
    counts, argument, other = key
    if counts == "pairs":
        p, q = (max(PAIR_DEGREES[quantity][axis] for quantity in wanted) for axis in (0, 1))
        return MeasureChoice(p, argument, False, counts, other, q)
    if counts == "tree":
        from discreet.sql.plan.quantile_choice import quantile_choice

        assert argument is not None
        return quantile_choice(argument, wanted, intervals)
    if counts != "rows":
        return MeasureChoice(-1 if counts == "distinct_sum" else 0, argument, False, counts)
    return MeasureChoice(
        -1 if wanted == {"sum"} else max(BY_QUANTITY[quantity].degrees[0] for quantity in wanted),
        argument,
        False,
    )


def _nullable(argument: Expression | None) -> bool:
    return argument is not None and argument.span.nullable


def _measure_key(request: RequestedAggregate) -> MeasureKey:
    family = family_of(request.quantity)
    return request.quantity if family == "sizes" else family, request.argument, request.other


def measure(choice: MeasureChoice, contribution: Fraction, part: int, cells: int) -> AnyMeasure:
    """Give a chosen measure its grid.

    Args:
        choice: the measure.
        contribution: rows counted per unit times the unit factor, divided by the epsilon of this measure.
        part: the number of the part that it is taken over.
        cells: the number of groups.

    Raises:
        QueryRefused: there are too many groups for quantiles.
    """
    if choice.counts == "ranks":
        from discreet.sql.measures.ranks import ranks_for

        assert choice.argument is not None
        return ranks_for(choice.argument, choice.quantiles, part, ends=choice.ends)
    if choice.counts == "tree":
        from discreet.sql.measures.quantile_tree import tree_for

        assert choice.argument is not None
        return tree_for(choice.argument, cells, part)
    if choice.counts == "pairs":
        assert choice.argument is not None
        assert choice.other is not None
        x, y = (grid_of(argument, 2, contribution) for argument in (choice.argument, choice.other))
        degrees = choice.degree, choice.degree_other
        return JointMoments(choice.argument, choice.other, degrees, x, y, choice.with_null, part)
    if choice.counts == "units":
        return Moments(0, None, None, False, part)
    grid = None
    if choice.degree != 0:
        assert choice.argument is not None
        grid = grid_of(choice.argument, choice.degree, contribution)
    return Moments(
        choice.degree,
        choice.argument,
        grid,
        choice.with_null,
        part,
        choice.counts.startswith(("distinct", "sizes")),
        sizes_of(choice.counts),
    )


def aggregate(request: RequestedAggregate, index: int) -> Aggregate:
    """The column of the noisy table that answers a request."""
    quantity = read_off(request.quantity)
    return Aggregate(
        index, quantity, request.always_whole if request.whole is None else request.whole, request.sql
    )
