"""Private rows traced back to stored columns: the source of each column, and the conditions on every row.

A relation is read as one or more branches, of which each row comes from one: a UNION has a branch for each side, an
outer join one for rows with a partner, one for rows without, and one for public rows without a partner. In a branch
every visible column is an expression over leaves (stored columns, columns of public tables, results per unit), and
every filter passed on the way is a condition over them. Nothing here touches data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import count, product

from discreet.engines.schema import Type
from discreet.records import dataclass, field
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.keys import public_values
from discreet.sql.algebra.relation import PublicTable, Relation
from discreet.sql.algebra.released import ReleasedTable
from discreet.sql.expressions.expression import Call, Column, Expression, Literal, leaves

MOST_BRANCHES = 16
"""With more branches than this a relation is not traced."""


MOST_NODES = 10_000
"""With an expression of more nodes than this a relation is not traced: each level of sub-queries may double it."""


NOTHING = Literal(None, Type.TEXT)
"""The value of a column of a public table where a row found no partner; read with the type that it is read as."""


class NotTracedError(Exception):
    """A relation has too many branches to be traced, or too large ones."""


@dataclass(frozen=True)
class Joined:
    """A public table in a branch.

    Attributes:
        table: the table.
        prefix: before the names of its columns, which makes them leaves of this branch alone.
    """

    table: PublicTable
    prefix: str


@dataclass(frozen=True)
class Branch:
    """Where the rows of a relation come from.

    Attributes:
        columns: the expression over leaves that each visible column stands for, by name.
        conditions: over leaves; true of every row of this branch.
        joined: the public tables that each row was joined with.
        lonely: public tables in which a row found no partner, each with the condition that a partner meets.
        prefix: before the names of columns that are leaves themselves.
        public: by the name of each column of a public table, the prefix that makes it a leaf.
        unmatched: whether these are public rows without a private partner, which are of nobody.
        judged: whether a condition on these looks at private columns, all of which are NULL there.
    """

    columns: Mapping[str, Expression]
    conditions: tuple[Expression, ...] = ()
    joined: tuple[Joined, ...] = ()
    lonely: tuple[tuple[Joined, Expression | None], ...] = ()
    prefix: str = ""
    public: Mapping[str, str] = field(default_factory=dict)
    unmatched: bool = False
    judged: bool = False

    def __post_init__(self) -> None:
        if not all(map(_small, (*self.columns.values(), *self.conditions))):
            raise NotTracedError

    def over_leaves(self, expression: Expression) -> Expression:
        """An expression over the visible columns as one over leaves."""
        if isinstance(expression, Column):
            known = self.columns.get(expression.name)
            if isinstance(known, Literal) and known.value is None:
                return Literal(None, expression.type)
            if known is not None:
                return known
            if self.unmatched and expression.name not in self.public:
                return Literal(None, expression.type)
            prefix = self.public.get(expression.name, f"{self.prefix}?")
            return Column(f"{prefix}{expression.name}", expression.type, expression.span.null())
        if isinstance(expression, Call):
            args = tuple(self.over_leaves(arg) for arg in expression.args)
            return Call(expression.name, expression.spelling, args, expression.type, expression.span)
        return expression

    def all_over_leaves(self, *conditions: Expression | None) -> tuple[Expression, ...]:
        """Conditions over the visible columns as conditions over leaves."""
        return tuple(self.over_leaves(condition) for condition in conditions if condition is not None)


def branches(relation: Relation) -> list[Branch]:
    """The branches of a relation.

    Raises:
        NotTracedError: there are more than `MOST_BRANCHES`, or one has an expression of more than `MOST_NODES`.
    """
    return _branches(relation, count())


def _branches(relation: Relation, numbers: Iterator[int]) -> list[Branch]:
    found = list(_traced(relation, numbers))
    if len(found) > MOST_BRANCHES:
        raise NotTracedError
    return found


def _traced(relation: Relation, numbers: Iterator[int]) -> Iterator[Branch]:
    if isinstance(relation, rel.Scan):
        prefix = f"{next(numbers)}:"
        columns: dict[str, Expression] = {
            name: Column(f"{prefix}{name}", c.type, c.scan.span) for name, c in relation.table.columns.items()
        }
        yield Branch(columns, prefix=prefix)
    elif isinstance(relation, rel.Union):
        for part in relation.parts:
            yield from _branches(part, numbers)
    elif isinstance(relation, rel.Select):
        yield from _selected(relation, numbers)
    elif isinstance(relation, rel.Join):
        yield from _joined(relation, numbers)
    elif isinstance(relation, rel.PublicJoin):
        yield from _public(relation, numbers)
    elif isinstance(relation, rel.Matching):
        yield from _branches(relation.left, numbers)
    elif isinstance(relation, rel.PerUnit):
        yield from _per_unit(relation, numbers)
    else:
        yield from _branches(relation.source, numbers)


def _selected(relation: rel.Select, numbers: Iterator[int]) -> Iterator[Branch]:
    for branch in _branches(relation.source, numbers):
        conditions = branch.conditions + branch.all_over_leaves(relation.where)
        if branch.unmatched and relation.where is not None:
            judged = any(holds_null(branch.over_leaves(leaf)) for leaf in leaves(relation.where))
            branch = dataclasses.replace(branch, judged=branch.judged or judged)
        if relation.items is None:
            yield _with(branch, conditions=conditions)
        else:
            columns = {name: branch.over_leaves(item) for name, item in relation.items}
            number = f"{next(numbers)}:"
            yield Branch(
                columns, conditions, branch.joined, branch.lonely, number, {}, branch.unmatched, branch.judged
            )


def _joined(relation: rel.Join, numbers: Iterator[int]) -> Iterator[Branch]:
    # Units are equal on both sides, and a row of nobody has no unit that equals another.
    sides = tuple(
        [branch for branch in _branches(side, numbers) if not branch.unmatched]
        for side in (relation.left, relation.right)
    )
    for left, right in product(*sides):
        both = _with(
            left,
            columns={**right.columns, **left.columns},
            conditions=left.conditions + right.conditions,
            joined=left.joined + right.joined,
            lonely=left.lonely + right.lonely,
            public={**right.public, **left.public},
        )
        yield _with(both, conditions=both.conditions + both.all_over_leaves(relation.on))
    if relation.outer:
        for left in sides[0]:
            yield _with(left, columns={**_nothing(sides[1]), **left.columns})


def _per_unit(relation: rel.PerUnit, numbers: Iterator[int]) -> Iterator[Branch]:
    for branch in _branches(relation.source, numbers):
        if branch.unmatched:
            continue
        prefix = f"{next(numbers)}:"
        columns = {name: branch.over_leaves(item) for name, item in relation.keys}
        for name, aggregate in relation.aggregates:
            if aggregate.chosen and aggregate.argument is not None:
                columns[name] = one_of(f"{prefix}{name}", branch.over_leaves(aggregate.argument))
        yield Branch(columns, branch.conditions, branch.joined, branch.lonely, prefix)


def one_of(name: str, argument: Expression) -> Column:
    """A leaf that is one of the values of an expression, or NULL: which, depends on the rows of a unit."""
    span = argument.span.null()
    if argument.type in (Type.TEXT, Type.TIMESTAMP) and span.domain is None:
        span = dataclasses.replace(span, domain=public_values(argument))
    return Column(name, argument.type, span)


def _public(relation: rel.PublicJoin, numbers: Iterator[int]) -> Iterator[Branch]:
    if isinstance(relation.table, ReleasedTable):
        # Its columns are leaves of which nothing is known but their spans: the groups are those of all its contents.
        for left in _branches(relation.left, numbers):
            on = () if relation.outer else left.all_over_leaves(relation.on)
            yield _with(left, conditions=left.conditions + on)
        return
    names = relation.table.data.column_names
    for left in _branches(relation.left, numbers):
        table = Joined(relation.table, f"{next(numbers)}:")
        inside = _with(left, public={**left.public, **dict.fromkeys(names, table.prefix)})
        on = inside.all_over_leaves(relation.on)
        yield _with(inside, conditions=left.conditions + on, joined=(*left.joined, table))
        if relation.outer:
            alone = (*left.lonely, (table, on[0] if on else None))
            nothing = dict.fromkeys(names, NOTHING)
            yield _with(left, columns={**left.columns, **nothing}, lonely=alone)
    if relation.keeps:
        table = Joined(relation.table, f"{next(numbers)}:")
        yield Branch({}, joined=(table,), public=dict.fromkeys(names, table.prefix), unmatched=True)


def _small(expression: Expression) -> bool:
    """Whether an expression has at most `MOST_NODES`; parts that it has many times count each time."""
    found = [expression]
    for _ in range(MOST_NODES):
        if not found:
            return True
        inner = found.pop()
        if isinstance(inner, Call):
            found += inner.args
    return not found


def holds_null(expression: Expression) -> bool:
    """Whether a part of an expression is NULL, such as a column of a table in which a row found no partner."""
    if isinstance(expression, Call):
        return any(map(holds_null, expression.args))
    return isinstance(expression, Literal) and expression.value is None


def _nothing(sides: list[Branch]) -> dict[str, Expression]:
    """NULL for every column of the side of an outer join that found no partner."""
    return {name: Literal(None, column.type) for side in sides for name, column in side.columns.items()}


def _with(
    branch: Branch,
    columns: Mapping[str, Expression] | None = None,
    conditions: tuple[Expression, ...] | None = None,
    joined: tuple[Joined, ...] | None = None,
    lonely: tuple[tuple[Joined, Expression | None], ...] | None = None,
    public: Mapping[str, str] | None = None,
) -> Branch:
    return Branch(
        branch.columns if columns is None else columns,
        branch.conditions if conditions is None else conditions,
        branch.joined if joined is None else joined,
        branch.lonely if lonely is None else lonely,
        branch.prefix,
        branch.public if public is None else public,
        branch.unmatched,
        branch.judged,
    )
