"""The ends of window functions over bands; a rank lies between the rows that surely and that possibly stand before."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.release.noisy_schema import HIGH, LOW
from discreet.sql.expressions.dialect import quote
from discreet.sql.intervals.bands import curvature
from discreet.sql.intervals.bands.aggregates import squares, with_argument
from discreet.sql.intervals.bands.expressions import ANYWHERE, Ends, Role
from discreet.sql.intervals.bands.relations import ROW, SURE, BandColumn, BandScope, NoBandsError
from discreet.sql.syntax.nodes import own_nodes

_ORDERED = (exp.Rank, exp.RowNumber, exp.DenseRank)


_MOVING = (exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)


def window_ends(scope: BandScope, node: exp.Window) -> Ends:
    """The ends of a window function."""
    scope.local = False
    function, order = node.this, node.args.get("order")
    partition = node.args.get("partition_by") or []
    by = [] if order is None else [ordered.this for ordered in order.expressions]
    if node.alias or any(scope.arithmetic.moves(key) for key in partition):
        raise NoBandsError
    filtered = isinstance(function, exp.Filter)
    argument = function.this
    moves = (
        isinstance(argument, exp.Expr)
        and not isinstance(argument, exp.Star)
        and scope.arithmetic.moves(argument)
    )
    if any(scope.arithmetic.moves(key) for key in by) or not scope.certain:
        return Ends(*ANYWHERE, True, True)
    if not moves and not filtered:
        text = node.sql("duckdb")
        return Ends(text, text)
    if filtered or not isinstance(function, _MOVING):
        return Ends(*ANYWHERE, True, True)
    inner = scope.arithmetic.ends(argument)
    low, high = (with_argument(node, end) for end in (inner.low, inner.high))
    bent = inner.bent or isinstance(function, exp.Max | exp.Min)
    bent |= isinstance(function, exp.Sum | exp.Avg) and squares(scope, argument)
    return Ends(low, high, True, bent, curve=curvature.of_rows(function, inner.curve), of=inner.of)


def put_ranks(scope: BandScope) -> None:
    """Work out the ends of ranks that noise decides, once each, as columns of the source."""
    clauses = [*scope.node.expressions, *(c for c in [scope.node.args.get("qualify")] if c is not None)]
    windows = [
        inner for clause in clauses for inner in own_nodes(clause)
        if isinstance(inner, exp.Window) and isinstance(inner.this, _ORDERED) and inner.args.get("order") is not None
    ]  # fmt: skip
    known: dict[str, str] = {}
    for window in windows:
        by = [ordered.this for ordered in window.args["order"].expressions]
        if scope.certain and not any(scope.arithmetic.moves(key) for key in by):
            continue
        text = window.sql("duckdb")
        if text not in known:
            known[text] = f"__r{len(known)}"
            _rank(scope, window, known[text])
        ((name, _),) = scope.sources.items()
        window.replace(exp.column(known[text], table=exp.to_identifier(name, quoted=True)))


def _rank(scope: BandScope, window: exp.Window, called: str) -> None:
    """How many rows surely and possibly stand before a row."""
    function, order, partition = window.this, window.args["order"], window.args.get("partition_by") or []
    if len(scope.sources) != 1 or scope.node.args.get("where") is not None or scope.grouped:
        raise NoBandsError
    if any(scope.arithmetic.moves(key) for key in partition):
        raise NoBandsError
    scope.local = False
    ((name, relation),) = scope.sources.items()
    numbered = scope.bands.add(f"SELECT *, row_number() OVER () AS {ROW} FROM {relation.name}")
    first = order.expressions[0]
    own, other = scope.arithmetic.ends(first.this), _of_another(scope, first.this, name)
    same = [
        f"{_of_another(scope, key, name, name).low} IS NOT DISTINCT FROM {_of_another(scope, key, name).low}"
        for key in partition
    ]
    if first.args.get("desc"):
        surely, possibly = f"{other.low} > {own.high}", f"{other.high} {{}} {own.low}"
    else:
        surely, possibly = f"{other.high} < {own.low}", f"{other.low} {{}} {own.high}"
    strict = isinstance(function, exp.Rank | exp.DenseRank) and len(order.expressions) == 1
    sign = (">" if first.args.get("desc") else "<") + ("" if strict else "=")
    tests = " AND ".join([f"__other.{ROW} <> {quote(name)}.{ROW}", *same])
    table = f"{numbered} AS __other"
    low = f"(SELECT COUNT(*) FROM {table} WHERE {tests} AND __other.{SURE} AND {surely})"
    high = f"(SELECT COUNT(*) FROM {table} WHERE {tests} AND {possibly.format(sign)})"
    if isinstance(function, exp.DenseRank):
        low = f"LEAST(1, {low})"
    made = scope.bands.add(
        f"SELECT * EXCLUDE ({ROW}), 1 + {low} AS {called}{LOW}, 1 + {high} AS {called}{HIGH} "
        f"FROM {numbered} AS {quote(name)}"
    )
    plain = scope.certain and isinstance(first.this, exp.Column) and scope.plain(first.this)
    role = Role(own.of) if plain else None
    rank = BandColumn(called, True, True, of=own.of, role=role)
    scope.sources[name] = replace(relation, name=made, columns=(*relation.columns, rank), local=False)


def _of_another(scope: BandScope, node: exp.Expr, name: str, table: str = "__other") -> Ends:
    """The ends of an expression for another row of the same source, or with another name for its own."""
    copy = node.copy()
    for column in list(copy.find_all(exp.Column)):
        column.set("table", exp.to_identifier(table, quoted=True))
    before = scope.sources
    scope.sources = {**before, table: before[name]}
    try:
        return scope.arithmetic.ends(copy)
    finally:
        scope.sources = before
