"""PIVOT and UNPIVOT as plain SELECTs, over released numbers and over private rows alike.

A column of a PIVOT is an aggregate of the rows with one value, `SUM(x) FILTER (WHERE year = 2020) AS "2020"`. The
values stand behind IN, or are the public values of the expression: those that data happens to have decide nothing. An
UNPIVOT is a join with a public table of the names of its columns, so that each row is there once for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.records import dataclass
from discreet.sql.algebra.public_groups import public_groups
from discreet.sql.analyze.from_clause import single
from discreet.sql.analyze.pivot_columns import (
    EMPTY,
    is_condition,
    kind_of_value,
    name_of_aggregate,
    name_of_public,
    name_of_value,
    only,
    rows_of,
    told_apart,
)
from discreet.sql.analyze.scope_tree import (
    Env,
    PrivateScope,
    PublicScope,
    ReleaseScope,
    Scope,
    Scopes,
    left_in_place,
)
from discreet.sql.expressions.span import Value
from discreet.sql.syntax import rewrites
from discreet.sql.syntax.grouping_sets import MILLION
from discreet.sql.syntax.nodes import literal_of

MOST_COLUMNS = 256
"""The most columns that a PIVOT makes."""
BEHIND = ("order", "limit", "offset")
SOURCE, NAMES = "pivoted", "unpivoted"


@dataclass(frozen=True)
class Pivoted:
    """The parts of a PIVOT or UNPIVOT, in whichever of its two forms it is written.

    Attributes:
        node: in the statement.
        source: the rows that are turned, a source of FROM.
        on: the expressions whose values become columns, or the columns that become rows.
        using: the aggregates, perhaps with aliases.
        group: the expressions of GROUP BY.
        names: of an UNPIVOT, the new columns of names and of values; else empty.
    """

    node: exp.Pivot
    source: exp.Expr
    on: Sequence[exp.Expr]
    using: Sequence[exp.Expr]
    group: Sequence[exp.Expr]
    names: tuple[str, ...]


def read(node: exp.Pivot, around: Scopes, source: exp.Expr | None = None) -> Pivoted:
    """Read a PIVOT.

    Args:
        node: the PIVOT.
        around: the statement.
        source: the table before it, in the form of the standard; None in the form of DuckDB, which names it itself.
    """
    group = rows_of(node, partial(around.refuse, node))
    if source is None:
        using = node.args.get("using") or []
        into = node.args.get("into")
        names: tuple[str, ...] = ()
        if node.args.get("unpivot"):
            names = (
                ("name", "value")
                if into is None
                else (into.this.name, *(item.name for item in into.expressions))
            )
        return Pivoted(
            node, node.this, node.expressions, using if isinstance(using, list) else [], group, names
        )
    fields = node.args.get("fields") or []
    if node.args.get("unpivot"):
        names = (fields[0].this.name, *(item.name for item in node.expressions)) if fields else ()
        return Pivoted(node, source, fields[0].expressions if fields else [], [], group, names)
    return Pivoted(node, source, fields, node.expressions, group, ())


class Pivoting:
    """Writes one PIVOT or UNPIVOT as a SELECT.

    Args:
        around: the statement.
        asked: its parts.
        env: the tables of WITH.
    """

    def __init__(self, around: Scopes, asked: Pivoted, env: Env) -> None:
        self._around = around
        self._asked = asked
        self._env = env

    def select(self) -> exp.Select:
        """The SELECT.

        Raises:
            QueryRefused: its columns are not public, or not named.
        """
        out = self._unpivoted() if self._asked.names else self._pivoted()
        out.set("with_", self._asked.node.args.get("with_"))
        return out

    # PIVOT -------------------------------------------------------------------------------------------------

    def _pivoted(self) -> exp.Select:
        asked = self._asked
        using = list(asked.using) or [exp.Count(this=exp.Star())]
        if not asked.on:
            raise self._refuse(
                "This PIVOT has no column to turn.", "Write PIVOT t ON x USING COUNT(*) GROUP BY y."
            )
        turned = [list(self._values(expression)) for expression in asked.on]
        # Counted before they are made: the values of a few expressions, a hundred each, would fill the memory.
        count = math.prod(map(len, turned)) * len(using)
        if count > MOST_COLUMNS:
            said = f"{count:,}" if count < MILLION else "millions of"
            raise self._refuse(f"It would have {said} columns; at most {MOST_COLUMNS} are made.",
                               rewrites.of_pivot(asked.node, self._named()))  # fmt: skip
        group = list(asked.group) or self._rest(using)
        out = exp.Select(expressions=[expression.copy() for expression in group])
        behind = (
            [""]
            if len(using) == 1 and not using[0].alias
            else [f"_{name_of_aggregate(aggregate)}" for aggregate in using]
        )
        columns = [(name + end, only(aggregate.unalias(), test))
                   for name, test in self._columns(turned)
                   for end, aggregate in zip(behind, using, strict=True)]  # fmt: skip
        names = told_apart([name for name, _ in columns], [expression.alias_or_name for expression in group])
        for name, (_, value) in zip(names, columns, strict=True):
            out.append("expressions", exp.alias_(value, exp.to_identifier(name, quoted=True)))
        out.set("from_", exp.From(this=asked.source.copy()))
        if group:
            out.set("group", exp.Group(expressions=[expression.copy() for expression in group]))
        return out

    def _columns(self, turned: list[list[tuple[str, exp.Expr]]]) -> Iterator[tuple[str, exp.Expr]]:
        for several in product(*turned):
            name = "_".join(name for name, _ in several)
            yield name if several[0][0] else EMPTY + name, exp.and_(*(test.copy() for _, test in several))

    def _values(self, on: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
        """The names of columns, each with the condition of its rows."""
        if isinstance(on, exp.In) and on.expressions and not is_condition(on):
            seen: set[tuple[str, str]] = set()
            for item in on.expressions:
                value = item.this if isinstance(item, exp.Alias) else item
                name = item.args["alias"].name if isinstance(item, exp.Alias) else name_of_value(value)
                if isinstance(value, exp.Column) and not value.table:
                    value = exp.Literal.string(value.name)  # a bare name is a text, as in DuckDB
                if kind_of_value(value) in seen:
                    raise self._refuse(
                        f"The value {rewrites.sql(value)} stands twice behind IN.", "Name it once."
                    )
                seen.add(kind_of_value(value))
                if value.find(exp.Column):
                    raise self._refuse("A column stands among the values of a PIVOT.", "Name values there.")
                yield name, exp.EQ(this=on.this.copy(), expression=value.copy())
            return
        if isinstance(on, exp.In) and not is_condition(on):
            raise self._refuse("The values of this PIVOT are not named behind IN.",
                               f"Name them: {self._with_values(rewrites.sql(on.this), self._named())}.")  # fmt: skip
        for value in self._public(on):
            yield name_of_public(value), exp.EQ(this=on.copy(), expression=literal_of(value))

    def _public(self, on: exp.Expr) -> list[Value]:
        """The public values of an expression over the source."""
        scope = self._scope()
        found: Sequence[Value | None] | None
        if isinstance(scope, PrivateScope):
            from_clause = single(self._around.text, SOURCE, scope.rows)
            block = next(iter(public_groups(scope.rows.relation, [from_clause.binder().bind(on)])), None)
            found = None if block is None else [group[0] for group in block.groups]
        else:
            found = _of_key(scope, on) or self._listed(on)
            if found is None and isinstance(on.unnest(), exp.Predicate | exp.Connector | exp.Not):
                found = (False, True)  # by the text alone
        if found is None:
            x, name = rewrites.sql(on), self._named()
            said = x if not is_condition(exp.In(this=on)) else f"({x})"  # else IN would be a condition
            raise self._refuse(f"The values of {x} are not public, and they would be the columns.",
                               f"Name them: {self._with_values(said, name)}.")  # fmt: skip
        return sorted((value for value in found if value is not None), key=name_of_public)  # as DuckDB does

    def _with_values(self, x: str, name: str) -> str:
        """A statement in whose place of the values they are named."""
        group = ", ".join(rewrites.sql(expression) for expression in self._asked.group)
        if not group:
            return f"SELECT COUNT(*) FILTER (WHERE {x} = 'a') AS a FROM {name}"
        return f"PIVOT {name} ON {x} IN ('a', 'b') USING COUNT(*) GROUP BY {group}"

    def _listed(self, on: exp.Expr) -> list[Value | None] | None:
        """The values of an expression over a public table; None where it is not public."""
        query = exp.select(exp.alias_(on.copy(), "v")).distinct().from_(self._asked.source.copy())
        try:
            values: list[Value | None] = (
                self._around.evaluate(left_in_place(query, [self._scope()]), self._env)
                .column("v")
                .to_pylist()
            )
        except QueryRefused:
            return None
        return values

    def _rest(self, using: Sequence[exp.Expr]) -> list[exp.Expr]:
        """The columns that neither ON nor USING reads, by which a PIVOT without GROUP BY groups."""
        names = self._source_names()
        if names is None:
            raise self._refuse(
                "The rows of this PIVOT are not named.", "Add GROUP BY and the columns of its rows."
            )
        scope = self._scope()
        if isinstance(scope, PrivateScope) and {name.lower() for name in names} & scope.rows.units:
            raise self._refuse("The rows of this PIVOT would be those of single units, for it has no GROUP BY.",
                               rewrites.of_pivot(self._asked.node, self._named()))  # fmt: skip
        read = {
            column.name.lower()
            for expression in (*self._asked.on, *using)
            for column in expression.find_all(exp.Column)
        }
        return [
            exp.column(exp.to_identifier(name, quoted=True)) for name in names if name.lower() not in read
        ]

    # UNPIVOT -----------------------------------------------------------------------------------------------

    def _unpivoted(self) -> exp.Select:
        asked = self._asked
        label, *values = asked.names
        if len(values) != 1:
            raise self._refuse(
                "UNPIVOT into several columns of values is not supported.", "Write one UNPIVOT for each."
            )
        names = self._source_names()
        if names is None:
            raise self._refuse("The columns of this table are not known here.", "Name them in a sub-query: UNPIVOT "
                               "(SELECT a, b FROM …) ON a, b INTO NAME n VALUE v.")  # fmt: skip
        turned = [expression.unalias() for expression in asked.on]
        if not turned or not all(isinstance(column, exp.Column) for column in turned):
            raise self._refuse(
                "UNPIVOT takes names of columns.", "Write UNPIVOT t ON a, b INTO NAME n VALUE v."
            )
        called = {expression.unalias().name.lower(): expression.alias_or_name for expression in asked.on}
        rest = [name for name in names if name.lower() not in called]
        shown = [exp.Literal.string(called[column.name.lower()]) for column in turned]
        which = exp.column(label, table=NAMES)
        of = [exp.If(this=exp.EQ(this=which.copy(), expression=name), true=column.copy())
              for name, column in zip(shown, turned, strict=True)]  # fmt: skip
        rows = exp.Values(
            expressions=[exp.Tuple(expressions=[name.copy()]) for name in shown],
            alias=exp.TableAlias(this=exp.to_identifier(NAMES), columns=[exp.to_identifier(label)]),
        )
        inner = exp.Select(expressions=[
            *(exp.column(exp.to_identifier(name, quoted=True)) for name in rest),
            exp.alias_(which, exp.to_identifier(label, quoted=True)),
            exp.alias_(exp.Case(ifs=of), exp.to_identifier(values[0], quoted=True)),
        ])  # fmt: skip
        inner.set("from_", exp.From(this=asked.source.copy()))
        inner.append("joins", exp.Join(this=rows, kind="CROSS"))
        present = exp.Not(this=exp.Is(this=exp.column(values[0]), expression=exp.null()))
        outer = exp.select("*").from_(
            exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(SOURCE)))
        )
        return outer if asked.node.args.get("include_nulls") else outer.where(present)

    # The source --------------------------------------------------------------------------------------------

    def _scope(self) -> Scope:
        """The scope of the source by itself: it is read again as a part of the SELECT."""
        return self._around.source(self._asked.source.copy(), self._env)

    def _defined(self, node: exp.Expr) -> exp.Expr:
        """The query behind a source: of a sub-query, or of a name of WITH."""
        known = self._env.get(node.name.lower()) if isinstance(node, exp.Table) else None
        if isinstance(known, PublicScope) and known.definition is not None:
            node = known.definition.this
        inner: exp.Expr = node.this if isinstance(node, exp.Subquery) else node
        return inner

    def _source_names(self) -> list[str] | None:
        """The columns of the source in order; None where they are not known before it runs."""
        scope = self._scope()
        if isinstance(scope, PrivateScope):
            return list(scope.rows.names)
        node = self._defined(scope.node)
        alias = scope.node.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.columns:
            return [column.name for column in alias.columns]
        table = self._around.catalog.public.get(node.name.lower()) if isinstance(node, exp.Table) else None
        if table is not None and node.name.lower() not in self._env:
            return [str(name) for name in table.column_names]
        if isinstance(node, exp.Query) and not any(item.is_star for item in node.selects):
            return [item.alias_or_name for item in node.selects]
        return None

    def _named(self) -> str:
        source = self._asked.source
        return rewrites.sql(source) if isinstance(source, exp.Table) else "(SELECT …)"

    def _refuse(self, cause: str, fix: str) -> QueryRefused:
        return self._around.refuse(self._asked.node, cause, fix)


def as_subquery(source: exp.Expr, around: Scopes, env: Env) -> exp.Subquery:
    """A source of FROM behind which a PIVOT stands, as a sub-query.

    Raises:
        QueryRefused: several stand there, or as `Pivoting.select` says.
    """
    (first, *others) = source.args["pivots"]
    if others:
        raise around.refuse(
            others[0], "One PIVOT behind another is not supported.", "Put the first into a sub-query."
        )
    plain = source.copy()
    plain.set("pivots", None)
    alias = first.args.get("alias") or exp.TableAlias(this=exp.to_identifier(SOURCE))
    made = Pivoting(around, read(first, around, plain), env).select()
    return exp.Subquery(this=made, alias=alias.copy())


def merged(node: exp.Select, around: Scopes, env: Env) -> exp.Select:
    """SELECT * of a PIVOT as one SELECT, so that its columns are still those of a release; any other is unchanged.

    One to which something else belongs is left where it stands: a WITH, names of columns, another PIVOT, TABLESAMPLE.
    """
    clause = node.args.get("from_")
    source = None if clause is None else clause.this
    beyond = any(value for key, value in node.args.items() if key not in ("expressions", "from_", *BEHIND))
    if beyond or node.expressions != [exp.Star()] or not isinstance(source, exp.Subquery | exp.Table):
        return node
    turned, order = source.args.get("pivots"), node.args.get("order")
    alias = (turned[0] if turned else source).args.get("alias")
    by_table = order is not None and any(column.table for column in order.find_all(exp.Column))
    if by_table or (alias is not None and alias.columns):
        return node
    if isinstance(source.this, exp.Pivot):
        if turned or source.args.get("sample") or source.this.args.get("with_"):
            return node
        made = Pivoting(around, read(source.this, around), env).select()
    elif turned:
        inner = as_subquery(source, around, env).this
        assert isinstance(inner, exp.Select)
        made = inner
    else:
        return node
    for key in BEHIND:
        made.set(key, node.args.get(key))
    return made


def _of_key(scope: Scope, on: exp.Expr) -> Sequence[Value | None] | None:
    """The public values of a column of a release that is a key of it; None where it is none."""
    while isinstance(scope, PublicScope) and isinstance(scope.node, exp.Subquery | exp.Table):
        within = [*scope.inside, *scope.sources.values()]
        if len(within) != 1:
            return None
        (scope,) = within
    if isinstance(scope, PublicScope) and scope.definition is not None:
        (scope,) = scope.inside or (scope,)
    if not isinstance(scope, ReleaseScope) or not isinstance(on, exp.Column):
        return None
    item = next(
        (selected for selected in scope.select.selects if selected.alias_or_name.lower() == on.name.lower()),
        None,
    )
    if item is None or item.unalias() not in scope.groups:
        return None
    number, binder = scope.groups.index(item.unalias()), scope.from_clause.binder()
    for block in public_groups(scope.from_clause.rows.relation, [binder.bind(key) for key in scope.groups]):
        if number in block.indices:
            place = block.indices.index(number)
            return list(dict.fromkeys(group[place] for group in block.groups))
    return None
