"""Sub-queries over released numbers beside private rows, as tables that are filled in once the numbers are drawn.

Of such a table the text and the policy decide everything but its content: its columns, their types and spans, and of
which columns no two rows are alike. Each value is brought into its span by the SQL that makes the table, NaN is NULL
and an infinity is the largest number, so that no number that is drawn can make the next release fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from discreet import arrow
from discreet.engines.sandbox import Sandbox
from discreet.engines.schema import Type, arrow_type
from discreet.release.noisy_schema import (
    CELL,
    aggregate_name,
    aggregate_number,
    key_name,
    key_number,
)
from discreet.sql.algebra.public_data import arrow_kind
from discreet.sql.algebra.released import ReleasedTable, given_name
from discreet.sql.analyze.aggregates.aggregate import RequestedAggregate
from discreet.sql.analyze.from_clause import inner
from discreet.sql.analyze.release_scope import UnplannedRelease
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import ANY, Span, of_values
from discreet.sql.functions.aggregates import is_quantile
from discreet.sql.syntax.nodes import has_aggregate, tables_in

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST = 1e300
"""No released number beside a private row is larger, so that arithmetic with it stays among the doubles."""
FEW = 10_000
"""A released key with no more values than this has a domain, so it can be grouped by."""
Tables: TypeAlias = Mapping[str, exp.Expr]
"""The definitions of tables of WITH, by name."""
NO_TABLES: Tables = MappingProxyType({})
SHOWN = exp.DataType.Type
_CASTS = {
    Type.BOOLEAN: SHOWN.BOOLEAN, Type.INTEGER: SHOWN.BIGINT, Type.FLOAT: SHOWN.DOUBLE, Type.TEXT: SHOWN.VARCHAR,
    Type.DATE: SHOWN.DATE, Type.TIMESTAMP: SHOWN.TIMESTAMP,
}  # fmt: skip


def given(
    query: exp.Query,
    releases: Sequence[UnplannedRelease],
    public: Mapping[str, pa.Table],
    number: int,
    asked: str,
) -> tuple[ReleasedTable, dict[str, Column]] | None:
    """The table that a query will be, and its columns by their names in the question.

    None where nothing says how many of its rows a private row would find.

    Args:
        query: over noisy and public tables, which stands by itself.
        releases: the releases so far.
        public: the public tables.
        number: of the table, from 1.
        asked: the part of the question that it is.

    Raises:
        PostProcessingError: DuckDB cannot run it.
    """
    keys = () if at_most_one_row(query, releases) else unlike(query, releases)
    if keys is None:
        return None
    made = _types(query, releases, public)
    name = given_name(number)
    columns: dict[str, Column] = {}
    items: list[exp.Expr] = []
    fields: dict[str, pa.Array] = {}
    for own, arrow_kind_ in made.items():
        kind = _kind(arrow_kind_)
        if kind is None:
            continue  # no expression can read it
        column = Column(inner(name, own.lower()), kind, span_of(query, own, releases))
        columns[own.lower()] = column
        items.append(exp.alias_(_within(own, column), exp.to_identifier(column.name, quoted=True)))
        fields[column.name] = arrow.listed([None], arrow_type(kind))
    if not columns:
        return None
    import pyarrow as pa

    source = exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=exp.to_identifier("q")))
    whole = exp.Select(expressions=items)
    whole.set("from_", exp.From(this=source))
    if not all(key.lower() in columns for key in keys):
        return None
    unique = tuple(columns[key.lower()].name for key in keys)
    if unique:  # by construction, for all noise: values may meet at the end of their span
        on = [exp.column(exp.to_identifier(name, quoted=True)) for name in unique]
        whole.set("distinct", exp.Distinct(on=exp.Tuple(expressions=on)))
    return ReleasedTable(name, pa.table(fields), whole, query, unique, asked), columns


def at_most_one_row(query: exp.Expr, releases: Sequence[UnplannedRelease]) -> bool:
    """Whether the text says that a public query has one row at most."""
    return _single_row(query, {}, {release.name for release in releases if not release.keys})


def _single_row(query: exp.Expr, known: Mapping[str, exp.Expr], single: set[str]) -> bool:
    query = query.unnest()
    if isinstance(query, exp.Table):
        return query.name in single or (query.name in known and _single_row(known[query.name], known, single))
    if not isinstance(query, exp.Select):
        return False
    limit = query.args.get("limit")
    if (
        isinstance(limit, exp.Limit)
        and isinstance(limit.expression, exp.Literal)
        and limit.expression.name in "01"
    ):
        return True
    if any(isinstance(node, exp.UDTF) for item in query.selects for node in item.walk()):
        return False
    clause = query.args.get("with_")
    if clause is not None:
        known = {**known, **{cte.alias.lower(): cte.this for cte in clause.expressions}}
    if query.args.get("group") is not None or query.args.get("joins") or query.args.get("laterals"):
        return False
    if any(map(has_aggregate, query.selects)):
        return True
    source = query.args.get("from_")
    return source is None or _single_row(source.this, known, single)


def unlike(
    query: exp.Expr, releases: Sequence[UnplannedRelease], known: Tables = NO_TABLES
) -> tuple[str, ...] | None:
    """Columns of which no two rows of a query have the same values; None where the text does not say any.

    Args:
        query: over noisy and public tables.
        releases: the releases so far.
        known: the tables of WITH around the query.
    """
    query, known = _with_tables(query, known)
    if isinstance(query, exp.Select) and query.args.get("distinct") is not None:
        return tuple(query.named_selects)
    source = _shown_source(query)
    if source is None or not isinstance(query, exp.Select):
        return None
    release = _release(source, releases)
    if release is not None:
        keys: Sequence[str] | None = [key_name(index) for index in range(len(release.keys))]
    else:
        inside = _defined(source, known)
        keys = None if inside is None else unlike(inside, releases, _without(source, known))
    if keys is None or query.is_star:
        return None if keys is None or len(query.selects) > 1 else tuple(keys)
    found = {
        item.unalias().name: item.alias_or_name
        for item in query.selects
        if isinstance(item.unalias(), exp.Column)
    }
    return tuple(found[key] for key in keys) if all(key in found for key in keys) else None


def _with_tables(query: exp.Expr, known: Tables) -> tuple[exp.Expr, Tables]:
    """A query without its parentheses, and the tables of WITH that it may name."""
    query = query.unnest()
    clause = query.args.get("with_")
    return query, known if clause is None else {
        **known,
        **{cte.alias: cte.this for cte in clause.expressions},
    }


def _shown_source(query: exp.Expr) -> exp.Expr | None:
    """The source of which a query shows rows, each once at most."""
    if not isinstance(query, exp.Select) or query.args.get("from_") is None:
        return None
    if any(query.args.get(part) for part in ("joins", "laterals", "group")):
        return None
    if any(isinstance(node, exp.UDTF) for item in query.selects for node in item.walk()):
        return None
    source: exp.Expr = query.args["from_"].this
    return source


def _defined(source: exp.Expr, known: Tables) -> exp.Expr | None:
    """The query that a source stands for: a sub-query, or a table of WITH."""
    if isinstance(source, exp.Table):
        return known.get(source.name.lower())
    return source.this if isinstance(source, exp.Subquery) and not source.args["alias"].columns else None


def _without(source: exp.Expr, known: Tables) -> Tables:
    """The tables of WITH that the definition of a source may name: a recursive one names itself."""
    return {name: query for name, query in known.items() if name != source.name.lower()}


def _release(source: exp.Expr, releases: Sequence[UnplannedRelease]) -> UnplannedRelease | None:
    named = source.name if isinstance(source, exp.Table) else None
    return next((release for release in releases if release.name == named), None)


def span_of(
    query: exp.Expr, column: str, releases: Sequence[UnplannedRelease], known: Tables = NO_TABLES
) -> Span:
    """The values that a column can have, where it is a key or an unchanged mean or quantile."""
    query, known = _with_tables(query, known)
    source = _shown_source(query)
    if source is None or not isinstance(query, exp.Select):
        return ANY
    item = next((selected.unalias() for selected in query.selects if selected.alias_or_name == column), None)
    item = exp.column(column) if query.is_star and len(query.selects) == 1 else item
    release = _release(source, releases)
    if release is None and isinstance(item, exp.Column):
        inside = _defined(source, known)
        return ANY if inside is None else span_of(inside, item.name, releases, _without(source, known))
    if release is None or not isinstance(item, exp.Column) or item.table != release.name:
        return ANY
    key, aggregate = key_number(item.name), aggregate_number(item.name)
    if key is not None:
        values = [value for value in release.keys[key].values if value is not None]
        few = release.keys[key].public and len(values) <= FEW
        return of_values(values) if few else ANY
    if aggregate is None or aggregate >= len(release.requests):
        return ANY
    request = release.requests[aggregate]
    argument = request.argument
    inside_bounds = request.quantity == "avg" or is_quantile(request.quantity)
    if not inside_bounds or argument is None or argument.type not in (Type.INTEGER, Type.FLOAT):
        return ANY
    return Span(argument.span.lo, argument.span.hi, nullable=True)


def imagined_table(release: UnplannedRelease) -> pa.Table:
    """The noisy table of a release with one invented group, by the names and types of its columns."""
    import pyarrow as pa

    row: dict[str, pa.Array] = {CELL: arrow.listed([0], pa.int64())}
    for index, key in enumerate(release.keys):
        row[key_name(index)] = arrow.listed(key.values[:1] or (None,), arrow_type(key.expression.type))
    for index, request in enumerate(release.requests):
        row[aggregate_name(index)] = arrow.listed([1], pa.int64() if _whole(request) else pa.float64())
    return pa.table(row)


def _whole(request: RequestedAggregate) -> bool:
    return request.always_whole if request.whole is None else request.whole


def _types(
    query: exp.Query, releases: Sequence[UnplannedRelease], public: Mapping[str, pa.Table]
) -> dict[str, pa.DataType]:
    names = tables_in(query)
    tables = {release.name: imagined_table(release) for release in releases if release.name in names}
    tables |= {name: table for name, table in public.items() if name in names}
    with Sandbox(tables) as sandbox:
        schema = sandbox.run(query.sql("duckdb")).schema
    return {field.name: field.type for field in schema}


def _kind(kind: pa.DataType) -> Type | None:
    """The type of a column beside private rows; numbers wider than 64 bits are floats."""
    import pyarrow as pa

    return Type.FLOAT if pa.types.is_decimal(kind) else arrow_kind(kind)


def _within(own: str, column: Column) -> exp.Expr:
    """A value in its type and span; NaN is NULL, and neither zero has a sign."""
    value = exp.column(exp.to_identifier(own, quoted=True), table="q")
    cast: exp.Expr = exp.TryCast(this=value, to=exp.DataType(this=_CASTS[column.type]))
    if column.type not in (Type.INTEGER, Type.FLOAT):
        return cast
    real = column.type is Type.FLOAT
    span = column.span
    lo, hi = (LARGEST if end is None else end for end in (span.lo, span.hi))
    if span.lo is None:
        lo = -LARGEST
    if not real:
        return _clamped(cast, int(max(lo, -(2**62))), int(min(hi, 2**62)), cast.copy())
    known = exp.Anonymous(this="nullif", expressions=[cast, _number("NaN")])
    return _clamped(exp.Add(this=known, expression=_number(0.0)), float(lo), float(hi), known.copy())


def _clamped(value: exp.Expr, lo: float, hi: float, there: exp.Expr) -> exp.Expr:
    """A value between two ends; NULL stays NULL, which GREATEST and LEAST would pass over."""
    inside = exp.Anonymous(
        this="greatest",
        expressions=[exp.Anonymous(this="least", expressions=[value, _number(hi)]), _number(lo)],
    )
    return exp.Case(ifs=[exp.If(this=exp.Not(this=exp.Is(this=there, expression=exp.Null())), true=inside)])


def _number(value: float | str) -> exp.Expr:
    if isinstance(value, int):
        return exp.Cast(this=exp.Literal.string(str(value)), to=exp.DataType(this=SHOWN.BIGINT))
    return exp.Cast(this=exp.Literal.string(str(value)), to=exp.DataType(this=SHOWN.DOUBLE))
