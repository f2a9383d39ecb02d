"""People by the class that says how much of epsilon they allow, and the private rows of one class.

A column of one table, P, names the classes. A unit is of class k where each of its rows in P names k or a class that
allows more, and one of them names k. So a unit with a row in P that names no class, or without rows in P, is of none,
and none of its rows are counted anywhere. The class of a unit depends on its own rows alone, so the classes split the
units: all rows of a unit are of one class, or of none.

Everything is written with the relations that there are: a comparison, and rows of units that have, or have not, a row
elsewhere. Nothing here can fail over a row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.engines.schema import Type
from discreet.records import dataclass
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.catalog import Catalog, PrivateColumn, PrivateTable
from discreet.sql.algebra.disjoint import Alternatives, exclude, holds, present
from discreet.sql.algebra.relation import Relation
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import BOOLEANS, Span
from discreet.sql.functions import call
from discreet.sql.functions.apply import among, variadic


@dataclass(frozen=True)
class Classes:
    """The classes of people.

    Attributes:
        table: that names them.
        column: of that table, in lower case.
        names: of the classes, from the least share to 1.
        shares: by class, the part of an epsilon that it allows.
    """

    table: PrivateTable
    column: str
    names: tuple[str, ...]
    shares: tuple[Fraction, ...]

    @classmethod
    def of(cls, catalog: Catalog) -> Classes | None:
        """The classes of a catalogue; None where everybody allows the same."""
        if catalog.personal is None:
            return None
        name, declared = catalog.personal
        least_first = sorted(declared.shares.items(), key=lambda entry: (entry[1], entry[0]))
        names, shares = zip(*least_first, strict=True)
        return cls(catalog.private[name.lower()], declared.column.lower(), names, shares)

    @property
    def named(self) -> Column:
        """The column, over a scan of its table."""
        own = self.table.columns[self.column]
        return Column(self.column, own.type, own.scan.span)

    def values(self, first: int = 0) -> list[Expression]:
        """The values that name the classes, from one of them on."""
        kind = self.named.type
        return [Literal(int(name) if kind is Type.INTEGER else name, kind) for name in self.names[first:]]

    def value(self, number: int) -> Expression:
        """The value that names a class."""
        return self.values(number)[0]

    def rows(self, relation: Relation, number: int) -> Relation:
        """The same relation over the rows of one class."""
        return over_scans(relation, lambda scan: self._of_class(scan, number))

    def sample(self, relation: Relation, coins: Sequence[str]) -> Relation:
        """The same relation over the units that a coin of each class keeps.

        Args:
            relation: the rows.
            coins: by class, a condition in SQL on the unit, {0}; empty where everybody of the class is kept.
        """

        def kept(scan: rel.Scan, number: int) -> Relation:
            own = self._of_class(scan, number)
            if not coins[number]:
                return own
            unit = Column(rel.UNIT, self._unit.type, Span())
            return rel.Select(own, None, Call("coin", {"": coins[number]}, (unit,), Type.BOOLEAN, BOOLEANS))

        numbers = range(len(self.names))
        return over_scans(relation, lambda scan: rel.Union(tuple(kept(scan, number) for number in numbers)))

    @property
    def _unit(self) -> PrivateColumn:
        assert self.table.unit is not None
        return self.table.unit

    def _of_class(self, scan: rel.Scan, number: int) -> Relation:
        own = _sure("eq", self.named, self.value(number))
        if self.table.unit is None:
            return rel.Select(scan, None, own)
        named = _sure("coalesce", among(self.named, self.values(number)), Literal(False, Type.BOOLEAN))
        people = rel.Scan(self.table)
        with_class = rel.Matching(scan, rel.Select(people, None, own), None, anti=False)
        return rel.Matching(with_class, rel.Select(people, None, _sure("not", named)), None, anti=True)

    def possible(self, relation: Relation, argument: Expression | None = None) -> tuple[bool, ...]:
        """By class, whether its units can have a row that counts; True where the text does not exclude it.

        Only conditions on the table of the classes itself are looked at, and the rows that a measure counts.

        Args:
            relation: the rows.
            argument: of a measure, which counts the rows where it is not NULL; None where every row counts.
        """
        conditions = conditions_of(relation, self.table)
        if conditions is None:
            return (True,) * len(self.names)
        facts = [holds(condition) for condition in conditions]
        if argument is not None:
            facts.append(present(argument))
        return tuple(
            not any(exclude(fact, self._is(number)) for fact in facts) for number in range(len(self.names))
        )

    def _is(self, number: int) -> Alternatives:
        return holds(_sure("eq", self.named, self.value(number)))


def conditions_of(relation: Relation, table: PrivateTable) -> list[Expression] | None:
    """The conditions of WHERE over a scan of a table; None where the rows are made in another way."""
    found = []
    while isinstance(relation, rel.Select) and relation.items is None:
        if relation.where is not None:
            found.append(relation.where)
        relation = relation.source
    return found if isinstance(relation, rel.Scan) and relation.table == table else None


def over_scans(relation: Relation, make: Callable[[rel.Scan], Relation]) -> Relation:
    """A relation with others in the place of its scans."""
    if isinstance(relation, rel.Scan):
        return make(relation)
    if isinstance(relation, rel.Union):
        return rel.Union(tuple(over_scans(part, make) for part in relation.parts))
    if isinstance(relation, rel.Join | rel.Matching):
        sides = over_scans(relation.left, make), over_scans(relation.right, make)
        return dataclasses.replace(relation, left=sides[0], right=sides[1])
    if isinstance(relation, rel.PublicJoin):
        return dataclasses.replace(relation, left=over_scans(relation.left, make))
    return dataclasses.replace(relation, source=over_scans(relation.source, make))


def _sure(name: str, *args: Expression) -> Expression:
    found = variadic(name, list(args)) if name == "coalesce" else call(name, *args)
    assert found is not None
    return found
