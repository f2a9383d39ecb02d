"""Strategies: the fewest measures that answer the aggregates that are asked for, with the least noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.engines.schema import Type
from discreet.sql.analyze.aggregates import Request
from discreet.sql.expressions.expression import Expression
from discreet.sql.measures.measure import Measure, grid_of
from discreet.sql.measures.moments import DEGREES, Joint
from discreet.sql.measures.quantile_tree import is_quantile, tree_for
from discreet.sql.plan.plan import Aggregate, AnyMeasure

COUNTS = frozenset({"rows", "units", "distinct", "count", "pairs"})
DEGREE = {
    "rows": 0,
    "count": 0,
    "sum": 1,
    "avg": 1,
    "var_pop": 2,
    "var_samp": 2,
    "stddev_pop": 2,
    "stddev_samp": 2,
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Which measure answers which request, before grids and epsilon are known.

    Attributes:
        degree: of the measure.
        argument: of the measure.
        with_null: whether all rows are counted too.
        counts: `rows`; `units` when units are counted, each once in a group; `distinct` when equal values of the
            argument count once; `tree` for quantiles; `pairs` for what is asked of two arguments.
        other: the second argument of a pair.
        degree_other: of the measure, in the second argument.
    """

    degree: int
    argument: Expression | None
    with_null: bool
    counts: str = "rows"
    other: Expression | None = None
    degree_other: int = 0


def choose(requests: Sequence[Request]) -> tuple[list[Choice], list[int]]:
    """Choose the fewest measures that answer all requests.

    Everything asked of one argument comes from one measure, and the number of all rows comes for free from the
    first measure there is: every further measure would take its share of epsilon from the others.

    Returns:
        The choices, and for each request the number of the choice that answers it.
    """
    wanted: dict[Family, set[str]] = {}
    for request in requests:
        wanted.setdefault(_family(request), set()).add(request.what)
    counting = wanted.pop(ALL_ROWS, set())
    choices: list[Choice] = []
    order: list[Family] = []
    # Plain measures come first, so that the number of all rows can be had from one of them.
    for family in sorted(
        wanted, key=lambda f: ("rows", "pairs").index(f[0]) if f[0] in ("rows", "pairs") else 2
    ):
        counts, argument, other = family
        order.append(family)
        with_null = bool(counting) and not choices and (_nullable(argument) or _nullable(other))
        if counts == "pairs":
            p, q = (max(DEGREES[what][axis] for what in wanted[family]) for axis in (0, 1))
            choices.append(Choice(p, argument, with_null, counts, other, q))
            continue
        if counts != "rows":
            choices.append(Choice(0, argument, False, counts))
            continue
        degree = max(DEGREE[what] for what in wanted[family])
        if wanted[family] == {"sum"} and not (counting and not choices):
            degree = -1
        choices.append(Choice(degree, argument, with_null))
    if counting and (not choices or choices[0].counts not in ("rows", "pairs")):
        choices.append(Choice(0, None, False))
        order.append(ALL_ROWS)
    free = 0 if ALL_ROWS not in order else order.index(ALL_ROWS)
    return choices, [free if r.what == "rows" else order.index(_family(r)) for r in requests]


def _nullable(argument: Expression | None) -> bool:
    return argument is not None and argument.span.nullable


Family: TypeAlias = tuple[str, Expression | None, Expression | None]
ALL_ROWS: Family = ("rows", None, None)


def _family(request: Request) -> Family:
    """Requests of one family are answered by one measure."""
    kind = "rows"
    if request.what in ("units", "distinct"):
        kind = request.what
    elif is_quantile(request.what):
        kind = "tree"
    elif request.other is not None:
        kind = "pairs"
    return kind, request.argument, request.other


def measure(choice: Choice, contribution: Fraction, part: int, cells: int) -> AnyMeasure:
    """Give a chosen measure its grid.

    Args:
        choice: the measure.
        contribution: rows counted per unit times the unit factor, divided by the epsilon of this measure.
        part: the number of the part that it is taken over.
        cells: the number of groups.

    Raises:
        QueryRefused: there are too many groups for quantiles.
    """
    if choice.counts == "tree":
        assert choice.argument is not None
        return tree_for(choice.argument, cells, part)
    if choice.counts == "pairs":
        assert choice.argument is not None
        assert choice.other is not None
        x, y = (grid_of(argument, 2, contribution) for argument in (choice.argument, choice.other))
        degrees = choice.degree, choice.degree_other
        return Joint(choice.argument, choice.other, degrees, x, y, choice.with_null, part)
    if choice.counts == "units":
        return Measure(0, None, None, False, part)
    grid = None
    if choice.degree != 0:
        assert choice.argument is not None
        grid = grid_of(choice.argument, choice.degree, contribution)
    return Measure(choice.degree, choice.argument, grid, choice.with_null, part, choice.counts == "distinct")


def aggregate(request: Request, at: int) -> Aggregate:
    """The column of the noisy table that answers a request."""
    whole = request.what in COUNTS or (
        (request.what == "sum" or is_quantile(request.what))
        and request.argument is not None
        and request.argument.type is Type.INTEGER
    )
    what = "rows" if request.what in ("units", "distinct") else request.what
    return Aggregate(at, what, whole, request.sql)
