"""Units at the end of a path: a table whose rows hold a key of another table, which has the unit.

Whose is a row? **A row belongs to a unit when every row of the parent with its key does**, and there is such a row;
otherwise it belongs to nobody and is not counted. So it has one unit at most, however the data are broken: a key that
rows of two units share, or a row of nobody, names nobody.

Privacy. A neighbour lacks one unit u: its rows in the table that holds the unit are gone, and, step by step, every row
whose key is a key of a row that is gone (as ON DELETE CASCADE does). Then the rows of every other unit are the same, so
that the caps bound the change as if each table had a unit column of its own. By induction over the steps, each row that
stays has the owner that it had:
- At the end of the path the rows are those of the table, less those whose unit is u.
- Let the claim hold for the parent. A row with key k stays when no parent row with key k goes. Then those are the same
  rows, with the same owners as before, and so is its owner. A row of another unit v stays, for all its parent rows are
  v's, of which none goes. A row of u has parent rows, all u's, and goes with them.

A rule that gave a shared key to the least of its units would not do: when that one leaves, rows change hands. Nor would
one that passes over parent rows of nobody: they go with the units whose keys they hold, and their children with them.

So equal keys on a path say that rows are of one unit. Joins, sub-queries and groups may be on the key then; the unit is
compared beside it all the same, and privacy does not hang on the keys found here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.records import dataclass
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.catalog import Link
from discreet.sql.algebra.relation import Relation
from discreet.sql.expressions.expression import Call, Column, Expression


def links(relation: Relation) -> frozenset[Link]:
    """The columns of a relation that hold a key on the path to its unit, and so have one unit for each value."""
    if isinstance(relation, rel.Scan):
        return frozenset(relation.table.links)
    if isinstance(relation, rel.Select):
        inside = links(relation.source)
        return inside if relation.items is None else _renamed(inside, relation.items)
    if isinstance(relation, rel.PerUnit):
        return _renamed(links(relation.source), relation.keys)
    if isinstance(relation, rel.Join):
        # Behind an outer join the columns of the right side are NULL in rows of many units.
        return links(relation.left) | (frozenset() if relation.outer else links(relation.right))
    if isinstance(relation, rel.Union):
        first, *others = (links(part) for part in relation.parts)
        return first.intersection(*others)
    return links(rel.parts(relation)[0])


def _renamed(inside: Iterable[Link], items: rel.Items) -> frozenset[Link]:
    """Those whose columns are all passed on, under the names that they get; the first of several."""
    moved: dict[str, str] = {}
    for name, item in items:
        if isinstance(item, Column):
            moved.setdefault(item.name, name)
    return frozenset(
        Link(link.key, tuple(moved[column] for column in link.columns))
        for link in inside
        if moved.keys() >= set(link.columns)
    )


@dataclass(frozen=True)
class KeyPath:
    """Two relations that may be compared by their keys.

    Attributes:
        left: the links of one.
        right: those of the other.
    """

    left: frozenset[Link]
    right: frozenset[Link]

    def joined(self, conditions: Iterable[Expression]) -> bool:
        """Whether conditions that must all hold set a whole key of one side equal to that of the other."""
        equal = set()
        for condition in conditions:
            if isinstance(condition, Call) and condition.name == "eq":
                a, b = condition.args
                if isinstance(a, Column) and isinstance(b, Column):
                    equal |= {(a.name, b.name), (b.name, a.name)}
        return any(equal.issuperset(zip(a, b, strict=True)) for a, b in self._pairs())

    def part(self, condition: Expression) -> bool:
        """Whether a condition sets a part of a key of one side equal to that part of the other's."""
        if not (isinstance(condition, Call) and condition.name == "eq"):
            return False
        names = [arg.name for arg in condition.args if isinstance(arg, Column)]
        if len(names) != 2:
            return False
        ways = (tuple(names), tuple(names[::-1]))
        return any(pair in ways for a, b in self._pairs() for pair in zip(a, b, strict=True))

    def condition(self, tables: Mapping[str, Mapping[str, Column]], name: str) -> str:
        """The condition to add, where the two have a key in common; empty where they have none.

        Args:
            tables: the columns of each source on the left, by its name.
            name: of the source on the right.
        """
        shown = {c.name: f"{table}.{key}" for table, columns in tables.items() for key, c in columns.items()}
        for a, b in self._pairs():
            if shown.keys() >= set(a):
                pairs = [
                    f"{shown[column]} = {name}.{other.rpartition('.')[2]}"
                    for column, other in zip(a, b, strict=True)
                ]
                return " AND ".join(pairs)
        return ""

    def _pairs(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        left, right = (
            sorted(side, key=lambda link: (link.key, link.columns)) for side in (self.left, self.right)
        )
        return [(a.columns, b.columns) for a in left for b in right if a.key == b.key]


def between(left: Relation, right: Relation) -> KeyPath:
    """The keys by which the rows of two relations are known to be of one unit."""
    return KeyPath(links(left), links(right))


def groups_by_key(relation: Relation, keys: Iterable[Expression]) -> bool:
    """Whether rows with equal values of some expressions are of one unit, as a whole key is among them.

    A key whose values the policy makes public groups as any public key does.
    """
    private = {key.name for key in keys if isinstance(key, Column) and not key.span.bounded}
    return any(private.issuperset(link.columns) for link in links(relation))
