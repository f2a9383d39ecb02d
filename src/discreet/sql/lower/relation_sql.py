"""Relations of private rows, written in the SQL of an engine.

Each column of a relation is canonical: values that compare as equal are alike, so no later step can tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.lineage import read
from discreet.sql.algebra.relation import RAW, STORED, UNIT, Relation, unit_of
from discreet.sql.expressions.canonical import canonical
from discreet.sql.expressions.dialect import Dialect, aggregated, quote
from discreet.sql.expressions.expression import Expression, spell
from discreet.sql.lower.common_subexpressions import ComputedColumns
from discreet.sql.lower.owners import source_of, unit_item
from discreet.sql.lower.texts.written_out import fence, reading, see_correlated


def to_sql(relation: Relation, needed: set[str], dialect: Dialect) -> str:
    """A SELECT that yields those of the needed columns that a relation has, and the unit column when it has one."""
    return _WRITERS[type(relation)](relation, needed & names_of(relation), dialect)


def read_by(
    expressions: Iterable[Expression | None], relation: Relation, needed: set[str], dialect: Dialect
) -> str:
    """The same, fenced where a planner would make the expressions over it too large.

    Raises:
        QueryRefused: they would be, and the engine has no fence.
    """
    return to_sql(relation, needed, dialect) + fence(relation, needed, expressions, dialect)


def names_of(relation: Relation) -> set[str]:
    """The columns that a relation has, without the unit."""
    if isinstance(relation, rel.Scan):
        return {name for column in relation.table.columns for name in (column, RAW + column, STORED + column)}
    if isinstance(relation, rel.PerUnit):
        return {name for name, _ in (*relation.keys, *relation.aggregates)}
    if isinstance(relation, rel.Select) and relation.items is not None:
        return {name for name, _ in relation.items}
    first, *rest = rel.parts(relation)
    names = names_of(first)
    if isinstance(relation, rel.Join):
        names |= names_of(rest[0])
    if isinstance(relation, rel.PublicJoin):
        names |= set(relation.table.data.column_names)
    if isinstance(relation, rel.Windowed):
        names |= {name for name, _ in relation.windows}
    return names


def _list(items: list[str]) -> str:
    return ", ".join(items) or "1 AS one"


def _scan(relation: rel.Scan, needed: set[str], dialect: Dialect) -> str:
    table = relation.table
    items = [
        f"{spell(canonical(c.scan), dialect)} AS {quote(name, dialect)}"
        for name, c in table.columns.items()
        if name in needed
    ]
    items += [
        f"{spell(c.read, dialect)} AS {quote(RAW + name, dialect)}"
        for name, c in table.columns.items()
        if RAW + name in needed
    ]
    items += [
        f"{quote(name, dialect)} AS {quote(STORED + name, dialect)}"
        for name in table.columns
        if STORED + name in needed
    ]
    if table.unit is not None:
        items.append(f"{unit_item(table, dialect)} AS {quote(UNIT, dialect)}")
    return f"SELECT {_list(items)} FROM {source_of(table, dialect)}"


def _select(relation: rel.Select, needed: set[str], dialect: Dialect) -> str:
    used, steps = read([relation.where]), ComputedColumns(dialect)
    if relation.items is None:
        used |= needed
        items = [quote(name, dialect) for name in sorted(needed)]
    else:
        kept = [(name, item) for name, item in relation.items if name in needed]
        used |= read(item for _, item in kept)
        items = [
            f"{spell(canonical(steps.reduced(item)), dialect)} AS {quote(name, dialect)}"
            for name, item in kept
        ]
    if unit_of(relation):
        items.append(quote(UNIT, dialect))
    where = "" if relation.where is None else f" WHERE {spell(steps.reduced(relation.where), dialect)}"
    inner = steps.over(read_by(reading(relation, needed), relation.source, used, dialect))
    return f"SELECT {_list(items)} FROM ({inner}) AS s{where}"


def _join(relation: rel.Join, needed: set[str], dialect: Dialect) -> str:
    used = needed | read([relation.on])
    left, right = (read_by([relation.on], side, used, dialect) for side in (relation.left, relation.right))
    on = f"l.{quote(UNIT, dialect)} = r.{quote(UNIT, dialect)}"
    if relation.on is not None:
        on += f" AND {spell(relation.on, dialect)}"
    items = [
        *(quote(name, dialect) for name in sorted(needed)),
        f"l.{quote(UNIT, dialect)} AS {quote(UNIT, dialect)}",
    ]
    kind = "LEFT JOIN" if relation.outer else "JOIN"
    return f"SELECT {', '.join(items)} FROM ({left}) AS l {kind} ({right}) AS r ON {on}"


def _public_join(relation: rel.PublicJoin, needed: set[str], dialect: Dialect) -> str:
    used = needed | read([relation.on])
    left = read_by([relation.on], relation.left, used, dialect)
    on = "TRUE" if relation.on is None else spell(relation.on, dialect)
    items = [quote(name, dialect) for name in sorted(needed)]
    if unit_of(relation):
        items.append(quote(UNIT, dialect))
    kind = "LEFT JOIN" if relation.outer else "JOIN"
    return (
        f"SELECT {_list(items)} FROM ({left}) AS l {kind} {quote(relation.table.name, dialect)} AS r ON {on}"
    )


def _matching(relation: rel.Matching, needed: set[str], dialect: Dialect) -> str:
    used = read([relation.on])
    see_correlated(relation.left, needed | used, relation.on, dialect)
    left = read_by([relation.on], relation.left, needed | used, dialect)
    right = read_by([relation.on], relation.right, used, dialect)
    test = f"r.{quote(UNIT, dialect)} = l.{quote(UNIT, dialect)}"
    if relation.on is not None:
        test += f" AND {spell(relation.on, dialect)}"
    items = [quote(name, dialect) for name in sorted(needed)]
    if dialect.semi_joins:
        join = "ANTI JOIN" if relation.anti else "SEMI JOIN"
        items.append(f"l.{quote(UNIT, dialect)} AS {quote(UNIT, dialect)}")
        return f"SELECT {', '.join(items)} FROM ({left}) AS l LEFT {join} ({right}) AS r ON {test}"
    items.append(quote(UNIT, dialect))
    word = "NOT EXISTS" if relation.anti else "EXISTS"
    return f"SELECT {', '.join(items)} FROM ({left}) AS l WHERE {word} (SELECT 1 FROM ({right}) AS r WHERE {test})"


def _union(relation: rel.Union, needed: set[str], dialect: Dialect) -> str:
    items = [quote(name, dialect) for name in sorted(needed)]
    if unit_of(relation):
        items.append(quote(UNIT, dialect))
    sides = [
        f"SELECT {_list(items)} FROM ({to_sql(part, needed, dialect)}) AS u{index}"
        for index, part in enumerate(relation.parts)
    ]
    return " UNION ALL ".join(sides)


def _per_unit(relation: rel.PerUnit, needed: set[str], dialect: Dialect) -> str:
    aggregates = [(name, a) for name, a in relation.aggregates if name in needed]
    grouped = [*(item for _, item in relation.keys), *(arg for _, a in aggregates for arg in a.args)]
    used = read(grouped)
    steps = ComputedColumns(dialect)
    keys = [spell(canonical(steps.reduced(item)), dialect) for _, item in relation.keys]
    items = [f"{sql} AS {quote(name, dialect)}" for sql, (name, _) in zip(keys, relation.keys, strict=True)]
    for name, aggregate in aggregates:
        template = aggregated(aggregate.spelling, dialect)
        args = [""]
        if aggregate.args:
            often = [template.count("{0}") + template.count("{summed}") > 1, template.count("{1}") > 1]
            # Canonical, for MIN and MAX of equal values would show the one met first.
            args = [
                spell(steps.reduced(canonical(arg), many), dialect)
                for arg, many in zip(aggregate.args, often, strict=False)
            ]
        sql = template.format(*args, summed=dialect.summed.format(args[0]))
        items.append(f"{sql} AS {quote(name, dialect)}")
    items.append(quote(UNIT, dialect))
    # By their places: an engine need not see that two long expressions are the same.
    group = ", ".join([quote(UNIT, dialect), *(str(index + 1) for index in range(len(keys)))])
    inner = steps.over(read_by(grouped, relation.source, used, dialect))
    return f"SELECT {', '.join(items)} FROM ({inner}) AS p WHERE {quote(UNIT, dialect)} IS NOT NULL GROUP BY {group}"


def _windowed(relation: rel.Windowed, needed: set[str], dialect: Dialect) -> str:
    windows = [(name, w) for name, w in relation.windows if name in needed]
    plain = needed - {name for name, _ in relation.windows}
    asked = [e for _, w in windows for e in [*w.args, *w.partition, *(each for each, _ in w.order)]]
    used = plain | read(asked)
    inner = read_by(asked, relation.source, used, dialect)
    items = [quote(name, dialect) for name in sorted(plain)]
    for name, window in windows:
        partition = ", ".join([quote(UNIT, dialect), *(spell(e, dialect) for e in window.partition)])
        order = [f"{spell(e, dialect)} {words}".rstrip() for e, words in window.order]
        if window.total:
            # Rows that tie in the order asked for are told apart by their values; rows that are alike in all
            # that is used are exchangeable, so the physical order never decides.
            order += [f"{quote(name, dialect)} ASC NULLS LAST" for name in sorted(used)]
        if not order and dialect.windows_need_order:
            order = [quote(UNIT, dialect)]  # the same in all rows of a window
        over = f"PARTITION BY {partition}"
        if order:
            over += f" ORDER BY {', '.join(order)}"
        if window.frame:
            over += " " + re.sub(r"\d+", lambda n: str(min(int(n[0]), dialect.furthest)), window.frame)
        args = [spell(canonical(e), dialect) for e in window.args]
        summed = dialect.summed.format(args[0]) if args else ""
        sql = aggregated(window.spelling, dialect).format(*args, over=f"OVER ({over})", summed=summed)
        items.append(f"{sql} AS {quote(name, dialect)}")
    items.append(quote(UNIT, dialect))
    return f"SELECT {', '.join(items)} FROM ({inner}) AS w"


_WRITERS: dict[type, Callable[[Any, set[str], Dialect], str]] = {
    rel.Scan: _scan,
    rel.Select: _select,
    rel.Join: _join,
    rel.PublicJoin: _public_join,
    rel.Matching: _matching,
    rel.Union: _union,
    rel.PerUnit: _per_unit,
    rel.Windowed: _windowed,
}
