"""The conditions and keys in which questions of the same rows differ, and the expressions that these read.

A condition reads columns. Where it only compares a computed value with constants, as in `pay * 12 < 50_000` or
`date_trunc('month', seen) = DATE '2024-03-01'`, and its columns have no lists of values, it reads that value instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property

from discreet.records import dataclass
from discreet.sql import functions as fn
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.public_groups import public_groups
from discreet.sql.algebra.relation import Relation, Select
from discreet.sql.analyze.release_scope import UnplannedRelease
from discreet.sql.expressions.expression import Column, Expression, leaves, weight
from discreet.sql.expressions.span import Value
from discreet.sql.plan.plan import PlannedRelease
from discreet.sql.plan.strategies import Chosen
from discreet.sql.plan.workloads.cuts import compared, cuts_of
from discreet.sql.plan.workloads.places import base_of

MOST_COMBINATIONS = 1 << 17
"""The most combinations of the keys, which are looked at one by one."""
Build = Callable[[UnplannedRelease, int, tuple[Fraction, ...]], PlannedRelease]


@dataclass(frozen=True)
class ReleasesApart:
    """The releases of some questions.

    Attributes:
        unplanned: before their measures are chosen.
        chosen: their measures.
        releases: as they would be measured by themselves.
        shares: the epsilon of their sets of alternatives.
        build: plans a release; its number says which measures it has.
    """

    unplanned: Sequence[UnplannedRelease]
    chosen: Sequence[Chosen]
    releases: Sequence[PlannedRelease]
    shares: Sequence[tuple[Fraction, ...]]
    build: Build

    def conditions(self, index: int) -> list[Expression]:
        """The last conditions of a release."""
        return base_of(self.unplanned[index].rows.relation)[1]


class Differing:
    """Some releases of the same rows but for their conditions: all that they read, each worked out once."""

    def __init__(self, apart: ReleasesApart, numbers: Iterable[int]) -> None:
        self.apart, self.numbers = apart, tuple(numbers)
        self._conditions = {index: apart.conditions(index) for index in self.numbers}
        self._expressions: dict[int, frozenset[Expression]] = {}

    @property
    def first(self) -> int:
        """The number of the first release."""
        return self.numbers[0]

    @cached_property
    def common(self) -> tuple[Expression, ...]:
        """The conditions of all of them."""
        first, *others = self._conditions.values()
        held = [frozenset(own) for own in others]
        return tuple(condition for condition in first if all(condition in own for own in held))

    @property
    def differ(self) -> bool:
        """Whether some conditions are not those of all."""
        first, *others = (frozenset(own) for own in self._conditions.values())
        return any(own != first for own in others)

    @cached_property
    def rows(self) -> Relation:
        """The rows that they have in common."""
        base = base_of(self.apart.unplanned[self.first].rows.relation)[0]
        met: Expression | None = None
        for condition in self.common:
            met = condition if met is None else fn.call("and", met, condition)
        return base if met is None else Select(base, None, met)

    @cached_property
    def shared(self) -> tuple[ks.Key, ...]:
        """The keys that all have, of which no other condition or key reads a column."""
        keys = [self.apart.unplanned[index].keys for index in self.numbers]
        shared = tuple(key for key in keys[0] if all(key in own for own in keys))
        read = {
            column
            for index in self.numbers
            for condition in self._other(index)
            for column in leaves(condition)
        }
        shared = tuple(key for key in shared if read.isdisjoint(leaves(key.expression)))
        read |= {
            column for own in keys for key in own if key not in shared for column in leaves(key.expression)
        }
        return shared if all(read.isdisjoint(leaves(key.expression)) for key in shared) else ()

    def _other(self, index: int) -> list[Expression]:
        common = frozenset(self.common)
        return [condition for condition in self._conditions[index] if condition not in common]

    def own(self, index: int) -> tuple[list[Expression], list[ks.Key]]:
        """The conditions and keys of a release that others do not have."""
        return self._other(index), [key for key in self.apart.unplanned[index].keys if key not in self.shared]

    def columns(self, index: int) -> frozenset[str]:
        """The names of the columns of its own conditions and of all of its keys."""
        keys = [key.expression for key in self.apart.unplanned[index].keys]
        return frozenset(
            column.name for expression in (*self._other(index), *keys) for column in leaves(expression)
        )

    def asked(self, index: int) -> list[Expression]:
        """The same, as expressions."""
        conditions, keys = self.own(index)
        return [*conditions, *(key.expression for key in keys)]

    @cached_property
    def all_asked(self) -> list[Expression]:
        """Those of all releases, each once."""
        return list(dict.fromkeys(expression for index in self.numbers for expression in self.asked(index)))

    @cached_property
    def values(self) -> dict[Column, tuple[Value | None, ...]]:
        """The public values of the columns in which they differ, of those that have any."""
        columns = sorted(
            {column for expression in self.all_asked for column in leaves(expression)},
            key=lambda column: column.name,
        )
        found = public_groups(self.rows, columns)
        return {
            columns[keys.indices[0]]: tuple(v for (v,) in keys.groups)
            for keys in found
            if len(keys.indices) == 1
        }

    def read(self, index: int) -> frozenset[Expression]:
        """The expressions that a release reads: columns, and values that it computes from others."""
        if index not in self._expressions:
            asked = self.asked(index)
            self._expressions[index] = frozenset(
                part
                for condition in asked
                for what in compared(condition)
                for part in self._parts(what, condition)
            )
        return self._expressions[index]

    def _parts(self, what: Expression, condition: Expression) -> Iterable[Expression]:
        """An expression that is compared with constants; its columns where these have values, or can be cut."""
        columns = set(leaves(what))
        free = [column for column in columns if column not in self.values]
        if math.prod(len(self.values.get(column, ())) or 1 for column in columns) > MOST_COMBINATIONS:
            free = list(columns)
        return columns if all(cuts_of(column, condition) is not None for column in free) else (what,)

    @cached_property
    def expressions(self) -> list[Expression]:
        """All expressions that they read, in an order that the text alone decides."""
        every = {expression for index in self.numbers for expression in self.read(index)}
        return sorted(
            every,
            key=lambda expression: (
                weight(expression),
                ",".join(c.name for c in leaves(expression)),
                repr(expression),
            ),
        )
