"""Sub-queries that only pick rows and columns of one table, merged into the statement around them.

    SELECT * FROM (SELECT r.k0 AS city, r.a0 AS n FROM r WHERE r.a0 > 5) WHERE city = 'Kent'
    SELECT r.k0 AS city, r.a0 AS n FROM r WHERE r.a0 > 5 AND r.k0 = 'Kent'

Both give the same rows. So a question has the same intervals whether it filters in HAVING or around itself, and noise
is drawn again only for the groups that are shown. A query only picks if it is a list of named expressions over the
columns of one table, perhaps under a condition; its expressions, and those around it, are made of `_OF_ONE_ROW`.

An expression is copied to each place that mentions it, so that a few levels of `n + n` could double it beyond any
memory: a statement that has or would have too many parts, or would be nested too deeply, is left alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, cast

from sqlglot import exp

from discreet.records import dataclass
from discreet.sql.syntax.nodes import copied, every, has_only, path_of, tables_in
from discreet.sql.syntax.once import once, shared
from discreet.sql.syntax.parse import MAX_DEPTH

_OUTER: Final = {"expressions", "from_", "where", "order", "limit", "offset", "with_"}
_INNER: Final = {"expressions", "from_", "where"}
_OF_ONE_ROW: Final = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Alias, exp.And, exp.Or, exp.Not,
    exp.Neg, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between,
    exp.In, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, exp.Sqrt, exp.Exp, exp.Ln, exp.Abs,
    exp.Round, exp.Floor, exp.Ceil, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Cast,
    exp.TryCast, exp.DataType, exp.DataTypeParam,
)  # fmt: skip
"""Nodes of one row alone, with one value whenever they are run. A list, as the parser knows not every aggregate."""
_TIGHT: Final = (exp.Column, exp.Paren, exp.Cast, exp.Coalesce, exp.Abs, exp.Round)
"""Nodes that need no parentheses inside others."""
MOST_PARTS, MOST_TABLES = 2_000, 32
"""A statement has at most so many nodes, before it is merged and after, and so many common table expressions."""
Columns = Mapping[str, exp.Alias]
"""The items of the sub-query by their names in small letters."""


@once
def merged(statement: exp.Query) -> exp.Query:
    """A statement without the sub-queries behind its FROM that only pick; itself where there is none.

    It runs last: the steps before look for windows, aggregates and emphasised columns where the statement has them.

    Example:
        >>> from discreet.sql.syntax.parse import parse
        >>> merged(parse("WITH c AS (SELECT t.k AS a FROM t) SELECT a + 1 AS b FROM c WHERE c.a > 2")).sql()
        'SELECT t.k + 1 AS b FROM t WHERE t.k > 2'
    """
    found = _merged(statement) if _parts([statement]) <= MOST_PARTS else statement
    return found if found is statement else shared(found)


def _merged(statement: exp.Query) -> exp.Query:
    return _without_inner(statement) or statement


def _without_inner(outer: exp.Query) -> exp.Select | None:
    """The statement with the sub-query behind its FROM merged into it; None where there is none that only picks.

    That sub-query is merged first, as far as it can be, so that each query is looked at once.
    """
    if not isinstance(outer, exp.Select) or not has_only(outer, _OUTER):
        return None
    source = _source(outer)
    if source is None:
        return None
    inner, name = _merged(source.query), source.name
    own = [] if not source.beside or inner.args.get("with_") is None else inner.args["with_"].expressions
    if source.beside:
        inner.set("with_", None)  # they stand beside the statement as well
    if not isinstance(inner, exp.Select) or not _only_picks(inner):
        return None
    if tables_in(inner) & source.tables.difference(cte.alias.lower() for cte in own):
        return None  # beside the statement it would be another table
    picked = cast(list[exp.Alias], inner.selects)
    columns = {item.alias.lower(): item for item in picked}
    if _parts(_around(outer), columns) + _parts([inner]) > MOST_PARTS:
        return None
    items = _items(outer.selects, name, picked, columns)
    if items is None or len(columns) < len(inner.selects):
        return None
    shown = {item.alias.lower() for item in items}
    where, order = outer.args.get("where"), outer.args.get("order")
    kept = None if where is None else _inlined(where.this, name, columns)
    ordered = [] if order is None else [_ordered(each, name, columns, shown) for each in order.expressions]
    limits = {key: outer.args[key] for key in ("limit", "offset") if outer.args.get(key) is not None}
    if (
        len(shown) < len(items)
        or (where is not None and kept is None)
        or None in ordered
        or not all(isinstance(limit.expression, exp.Literal) for limit in limits.values())
    ):
        return None
    out = exp.Select(expressions=items, from_=copied(inner.args["from_"]))
    before = inner.args.get("where")
    tests = [*([] if before is None else [copied(before.this)]), *([] if kept is None else [kept])]
    if tests:
        out.set("where", exp.Where(this=exp.and_(*tests, copy=False)))
    if order is not None:
        out.set("order", exp.Order(expressions=ordered))
    for key, limit in limits.items():
        out.set(key, copied(limit))
    beside = _beside(outer, out)
    if beside:
        out.set("with_", exp.With(expressions=beside))
    return out if all(node.depth <= MAX_DEPTH for node in every(out)) else None


def _around(outer: exp.Select) -> list[exp.Expr]:
    """All of a statement but its tables."""
    clauses = [outer.args.get("where"), outer.args.get("order")]
    return [*outer.selects, *(clause for clause in clauses if clause is not None)]


def _parts(nodes: Iterable[exp.Expr], columns: Columns | None = None) -> int:
    """The number of nodes, if each column were the expression of its name."""
    sizes = {name: sum(1 for _ in every(item)) for name, item in (columns or {}).items()}
    count = 0
    for each in itertools.chain.from_iterable(every(node) for node in nodes):
        if isinstance(each, exp.Star):
            count += sum(sizes.values())
        else:
            count += sizes.get(path_of(each)[-1], 1) if isinstance(each, exp.Column) else 1
    return count


@dataclass(frozen=True)
class _Source:
    """The query behind FROM.

    Attributes:
        query: a copy, with those common table expressions in front of it that it may read, if it has none of its own.
        name: by which the outer statement calls its columns.
        beside: whether there are any in front of it.
        tables: the names of all beside the statement.
    """

    query: exp.Query
    name: str
    beside: bool
    tables: frozenset[str]


def _source(outer: exp.Select) -> _Source | None:
    """The query behind FROM, if there is one that nothing else reads."""
    source = outer.args["from_"].this if outer.args.get("from_") is not None else None
    held = outer.args.get("with_")
    tables: list[exp.CTE] = [] if held is None else held.expressions
    if source is None or not has_only(source, ("this", "alias")) or source.alias_column_names:
        return None
    if len(tables) > MOST_TABLES or (held is not None and held.args.get("recursive")):
        return None
    place = len(tables)
    found = source.this if isinstance(source, exp.Subquery) else None
    if isinstance(source, exp.Table):
        places = [index for index, cte in enumerate(tables) if cte.alias.lower() == source.name.lower()]
        if len(places) != 1 or _times_read(outer, source.name.lower()) != 1:
            return None
        (place,) = places
        found = None if tables[place].alias_column_names else tables[place].this
    if not isinstance(found, exp.Query):
        return None
    query = copied(found)
    earlier = _read_by(query, tables[:place]) if query.args.get("with_") is None else []
    if earlier:
        query.set("with_", exp.With(expressions=[copied(cte) for cte in earlier]))
    names = frozenset(cte.alias.lower() for cte in tables)
    return _Source(query, source.alias_or_name.lower(), bool(earlier), names)


def _read_by(query: exp.Query, tables: Sequence[exp.CTE]) -> list[exp.CTE]:
    """Those common table expressions that a query reads, or that they read."""
    found: list[exp.CTE] = []
    names = tables_in(query)
    for cte in reversed(tables):
        if cte.alias.lower() in names:
            found.insert(0, cte)
            names |= tables_in(cte.this)
    return found


def _beside(outer: exp.Select, out: exp.Select) -> list[exp.CTE]:
    """The common table expressions of a statement, without those that only the merged query read, and without it."""
    held, source = outer.args.get("with_"), outer.args["from_"].this
    tables: list[exp.CTE] = [] if held is None else held.expressions
    merged_table = source.name.lower() if isinstance(source, exp.Table) else None
    rest = [cte for cte in tables if cte.alias.lower() != merged_table]
    names = tables_in(outer)
    never = [cte for cte in rest if cte.alias.lower() not in names]
    needed = [*never, *(cte for each in (out, *(cte.this for cte in never)) for cte in _read_by(each, rest))]
    return [copied(cte) for cte in rest if any(cte is each for each in needed)]


def _times_read(outer: exp.Query, table: str) -> int:
    return sum(isinstance(each, exp.Table) and each.name.lower() == table for each in every(outer))


def _only_picks(inner: exp.Select) -> bool:
    """Whether a query is a list of named expressions over rows of one table, perhaps under a condition."""
    source = inner.args["from_"].this if inner.args.get("from_") is not None else None
    if not has_only(inner, _INNER) or not isinstance(source, exp.Table) or not has_only(source, ("this",)):
        return False
    where = inner.args.get("where")
    read = [*inner.selects, *([] if where is None else [where.this])]
    return all(isinstance(item, exp.Alias) for item in inner.selects) and all(
        _of_one_row(part) and _reads_only(part, source.name.lower()) for part in read
    )


def _of_one_row(node: exp.Expr) -> bool:
    return all(type(each) in _OF_ONE_ROW for each in every(node))


def _reads_only(node: exp.Expr, table: str) -> bool:
    """Whether each column is written with the name of one table before it."""
    return all(path_of(each)[:-1] == [table] for each in every(node) if isinstance(each, exp.Column))


def _items(
    items: Sequence[exp.Expr], name: str, picked: Sequence[exp.Alias], columns: Columns
) -> list[exp.Alias] | None:
    """The items of the outer list over the table of the inner one.

    None where one cannot be inlined, or has no certain name: that of a column without AS is as in the text, which must
    be that of the sub-query, capitals and all.
    """
    out: list[exp.Alias] = []
    for item in items:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            if any(star.args.values()) or (star is not item and path_of(item)[:-1] != [name]):  # type: ignore[arg-type]
                return None
            out += [copied(each) for each in picked]
            continue
        inlined = _inlined(item.this if isinstance(item, exp.Alias) else item, name, columns, item=True)
        if inlined is None:
            return None
        if isinstance(item, exp.Alias):
            out.append(exp.Alias(this=inlined, alias=copied(item.args["alias"])))
            continue
        own = columns.get(item.name.lower()) if isinstance(item, exp.Column) else None
        if own is None or own.alias != item.name:
            return None
        out.append(exp.Alias(this=inlined, alias=copied(own.args["alias"])))
    return out


def _inlined(node: exp.Expr, name: str, columns: Columns, item: bool = False) -> exp.Expr | None:
    """An outer expression over the table of the sub-query; None where it names anything else, or is not of one row."""
    if not _of_one_row(node):
        return None
    root = exp.Paren(this=copied(node))
    for column in [each for each in every(root) if isinstance(each, exp.Column)]:
        *table, own = path_of(column)
        if table not in ([], [name]) or own not in columns:
            return None
        inside = copied(columns[own].this)
        alone = column.parent is root
        if not (alone and item) and not _varies(inside):
            return None
        column.replace(inside if alone or isinstance(inside, _TIGHT) else exp.Paren(this=inside))
    found: exp.Expr = root.this
    found.parent = None
    return found


def _varies(node: exp.Expr) -> bool:
    """Whether the results of an expression come from a column, not from constants alone.

    A constant is folded with its neighbours before there is a row, and takes their type: behind a sub-query 100 is an
    INTEGER, while in `CAST(k AS TINYINT) + 100` it is a TINYINT.
    """
    if isinstance(node, exp.Paren | exp.Neg | exp.Nullif):
        return _varies(node.this)
    if isinstance(node, exp.Case):
        results = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
    elif isinstance(node, exp.If):
        results = [node.args["true"], node.args.get("false")]
    elif isinstance(node, exp.Coalesce | exp.Greatest | exp.Least):
        results = [node.this, *node.expressions]
    else:
        return any(isinstance(each, exp.Column) for each in every(node))
    return any(_varies(result) for result in results if result is not None)


def _ordered(each: exp.Expr, name: str, columns: Columns, shown: Collection[str]) -> exp.Expr | None:
    """An item of ORDER BY: names of the answer come first there, alone; a number is the place of an item."""
    by = each.this
    if not isinstance(by, exp.Column):
        return copied(each) if isinstance(by, exp.Literal | exp.Var) else None
    own = by.name.lower()
    if not by.table and own in shown:
        return copied(each)
    inlined = _inlined(by, name, columns)
    if not isinstance(inlined, exp.Column):
        return None
    out = copied(each)
    out.set("this", inlined)
    return out
