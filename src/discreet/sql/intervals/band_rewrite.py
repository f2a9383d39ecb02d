"""Post-processing over bands: the same statement over the ends of noisy numbers, as SQL.

Every noisy number becomes two columns, its ends, and every row says whether it is there surely or only possibly. What
comes out holds wherever all bands hold: the maximum lies between the greatest low end and the greatest high end, the
number of rows above a threshold between those with the low end above and those with the high end above, and a rank
between what surely and what possibly stands before it (Feng, Glavic, Huber and Kennedy 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlglot import exp

from discreet.sql.expressions.dialect import quote
from discreet.sql.intervals.band_expressions import ANYWHERE, Arithmetic, Ends, Truth
from discreet.sql.intervals.row_identity import ID
from discreet.sql.lower.run import CELL
from discreet.sql.syntax.nodes import has_aggregate, is_aggregate
from discreet.sql.syntax.parse import output_name

Made = TypeVar("Made")
SURE, FAN, ROW = "__sure", "__fan", "__number"
_ORDERED = (exp.Rank, exp.RowNumber, exp.DenseRank)
_MOVING = (exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
_MIDDLE = (exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.Quantile)


class NoBandsError(Exception):
    """This statement has a form whose bands are not known."""


@dataclass(frozen=True)
class Shown:
    """A column of a relation.

    Attributes:
        name: its name.
        noisy: whether the noise can change it.
        bent: whether noise selects or folds on the way to it.
        single: whether each of its values is made of one noisy number.
    """

    name: str
    noisy: bool = False
    bent: bool = False
    single: bool = False


@dataclass(frozen=True)
class Relation:
    """A query over bands.

    Attributes:
        name: of its CTE.
        columns: what it shows.
        certain: whether no noise decides which rows are there.
        local: whether each row is made of groups that no other row is made of.
        drawn: whether anything in it comes from a noisy table.
    """

    name: str
    columns: tuple[Shown, ...]
    certain: bool = True
    local: bool = True
    drawn: bool = False


class Bands:
    """Rewrites one statement.

    Args:
        noisy: the noisy tables, with the numbers of their keys and aggregates.
        public: the columns of the public tables.
    """

    def __init__(self, noisy: Mapping[str, tuple[int, int]], public: Mapping[str, tuple[str, ...]]) -> None:
        self.parts: list[tuple[str, str]] = []
        self.public = {name.lower(): columns for name, columns in public.items()}
        self.base: dict[str, Relation] = {}
        for name, (keys, aggregates) in noisy.items():
            fixed = [CELL, *(f"k{at}" for at in range(keys))]
            shown = (*map(Shown, fixed), *(Shown(f"a{at}", True, single=True) for at in range(aggregates)))
            ends = [f"a{at}__{end}" for at in range(aggregates) for end in ("lo", "hi")]
            listed = ", ".join([*fixed, *ends])
            made = self._named(f"SELECT {listed}, TRUE AS {SURE}, 1 AS {FAN} FROM {name}")
            self.base[name.lower()] = Relation(made, shown, drawn=True)
        for name, columns in self.public.items():
            made = self._named(f"SELECT *, TRUE AS {SURE}, 0 AS {FAN} FROM {quote(name)}")
            self.base[name] = Relation(made, tuple(map(Shown, columns)))

    def statement(self, query: exp.Query) -> tuple[Relation, str]:
        """The rewritten statement: what it shows, and the SQL of all but the last SELECT.

        Raises:
            NoBandsError: it has a form that is not rewritten.
        """
        top = query.copy()
        inner: exp.Expr = top
        while isinstance(inner, exp.Subquery):
            inner = inner.this
        for one in {id(top): top, id(inner): inner}.values():
            for part in ("order", "limit", "offset"):
                one.set(part, None)
        relation = self.query(top, self.base)
        return relation, "WITH " + ", ".join(f"{name} AS MATERIALIZED ({sql})" for name, sql in self.parts)

    def query(self, node: exp.Expr, known: Mapping[str, Relation]) -> Relation:
        """One query."""
        known = dict(known)
        clause = node.args.get("with_")
        if clause is not None:
            if clause.recursive:
                raise NoBandsError
            for cte in clause.expressions:
                if cte.args["alias"].args.get("columns"):
                    raise NoBandsError
                known[cte.alias.lower()] = self.query(cte.this, known)
        if isinstance(node, exp.Subquery):
            if any(node.args.get(part) for part in ("limit", "offset", "joins", "pivots", "sample")):
                raise NoBandsError
            return self.query(node.this, known)
        if isinstance(node, exp.Union) and not node.args.get("distinct") and not node.args.get("by_name"):
            if node.args.get("limit") is not None:
                raise NoBandsError
            return self._union(self.query(node.left, known), self.query(node.right, known))
        if isinstance(node, exp.Select):
            return self._select(_split(node), known)
        raise NoBandsError

    def _union(self, left: Relation, right: Relation) -> Relation:
        if len(left.columns) != len(right.columns):
            raise NoBandsError
        columns = tuple(
            Shown(
                a.name,
                a.noisy or b.noisy,
                a.bent or b.bent,
                all(one.single or not one.noisy for one in (a, b)),
            )
            for a, b in zip(left.columns, right.columns, strict=True)
        )
        sides = []
        for side in (left, right):
            items = [
                f"{quote(own.name + (end if own.noisy else ''))} AS {quote(shown.name + end)}"
                for own, shown in zip(side.columns, columns, strict=True)
                for end in (("__lo", "__hi") if shown.noisy else ("",))
            ]
            sides.append(f"SELECT {', '.join([*items, SURE, FAN])} FROM {side.name}")
        made = self._named(" UNION ALL ".join(sides))
        return Relation(made, columns, left.certain and right.certain, left.local and right.local, True)

    def _select(self, node: exp.Select, known: Mapping[str, Relation]) -> Relation:
        scope = _Select(self, node, known)
        return scope.relation()

    def source(self, node: exp.Expr, known: Mapping[str, Relation]) -> tuple[str, Relation]:
        """A table, CTE or sub-query of a FROM clause, and the name that it goes by."""
        alias = node.args.get("alias")
        if any(node.args.get(part) for part in ("joins", "pivots", "sample", "laterals")):
            raise NoBandsError
        names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
        if isinstance(node, exp.Unnest | exp.Values) and names:
            if any(isinstance(one, exp.Column | exp.Query) for one in node.walk()):
                raise NoBandsError
            made = self._named(f"SELECT *, TRUE AS {SURE}, 0 AS {FAN} FROM {node.sql('duckdb')}")
            return node.alias, Relation(made, tuple(map(Shown, names)))
        if names:
            raise NoBandsError
        if isinstance(node, exp.Subquery):
            return node.alias, self.query(node, known)
        if isinstance(node, exp.Table) and node.name.lower() in known:
            return node.alias_or_name, known[node.name.lower()]
        raise NoBandsError

    def _named(self, sql: str) -> str:
        name = f"__b{len(self.parts)}"
        self.parts.append((name, sql))
        return name

    def add(self, sql: str) -> str:
        """A CTE of the statement; its name."""
        return self._named(sql)


class _Select:
    """One SELECT over bands; windows stand over a single source without a filter, see `_split`."""

    def __init__(self, bands: Bands, node: exp.Select, known: Mapping[str, Relation]) -> None:
        self.bands, self.node, self.known = bands, node, known
        if any(node.args.get(part) for part in ("laterals", "pivots", "sample", "kind", "windows")):
            raise NoBandsError
        clause = node.args.get("from_")
        self.holders = ([clause] if clause is not None else []) + (node.args.get("joins") or [])
        self.sources: dict[str, Relation] = {}
        self.aliases: dict[str, str] = {}
        for at, holder in enumerate(self.holders):
            name, relation = bands.source(holder.this, known)
            self.sources[(name or f"__from{at}").lower()] = relation
        self.arithmetic = Arithmetic(self.leaf)
        self.local = all(relation.local for relation in self.sources.values())
        group = node.args.get("group")
        self.grouped = group is not None or any(
            has_aggregate(item) for item in [*node.expressions, *(h for h in [node.args.get("having")] if h)]
        )
        self.sure = " AND ".join([f"{quote(name)}.{SURE}" for name in self.sources] or ["TRUE"])
        self.certain = all(relation.certain for relation in self.sources.values())
        self.looking = False
        self._ranks()

    def relation(self) -> Relation:
        node = self.node
        source = self._from()
        where = node.args.get("where")
        test = ""
        if where is not None:
            truth = self.arithmetic.truth(where.this)
            test = f" WHERE {truth.possibly}"
            self._filtered(truth)
        columns, items = [], []
        for shown, ends in self._items():
            columns.append(replace(shown, noisy=ends.noisy, bent=ends.bent, single=bool(ends.only)))
            if ends.noisy:
                items += [
                    f"{ends.low} AS {quote(shown.name + '__lo')}",
                    f"{ends.high} AS {quote(shown.name + '__hi')}",
                ]
            else:
                items.append(f"{ends.low} AS {quote(shown.name)}")
        fans = " + ".join([f"{quote(name)}.{FAN}" for name in self.sources] or ["0"])
        tail, certain = "", self.certain
        if node.args.get("distinct") is not None:
            if (
                any(column.noisy for column in columns)
                or self.grouped
                or node.args["distinct"].args.get("on")
            ):
                raise NoBandsError
            sure, fans, tail = f"bool_or({self.sure})", f"SUM({fans})", " GROUP BY ALL"
        elif self.grouped:
            sure, tail, certain = self._groups()
            fans = f"SUM({fans})"
        else:
            sure = self.sure
        qualify = node.args.get("qualify")
        if qualify is not None:
            truth = self.arithmetic.truth(qualify.this)
            if truth.noisy:
                sure, certain = f"({sure}) AND {truth.surely}", False
            tail += f" QUALIFY {truth.possibly}" if has_window_text(truth.possibly) else ""
            if not has_window_text(truth.possibly):
                test = f" WHERE {truth.possibly}"
        sql = f"SELECT {', '.join([*items, f'{sure} AS {SURE}', f'{fans} AS {FAN}'])}{source}{test}{tail}"
        drawn = any(relation.drawn for relation in self.sources.values()) or any(c.noisy for c in columns)
        return Relation(self.bands.add(sql), tuple(columns), certain, self.local, drawn)

    def _filtered(self, truth: Truth) -> None:
        if truth.noisy:
            self.sure = f"{self.sure} AND {truth.surely}"
            self.certain = False

    def _from(self) -> str:
        out = ""
        for name, (holder, relation) in zip(
            self.sources, zip(self.holders, self.sources.values(), strict=True), strict=True
        ):
            table = f"{relation.name} AS {quote(name)}"
            if isinstance(holder, exp.From):
                out = f" FROM {table}"
                continue
            side, on, using = holder.args.get("side"), holder.args.get("on"), holder.args.get("using")
            if holder.args.get("method") or holder.args.get("kind") in ("SEMI", "ANTI"):
                raise NoBandsError
            truth = None if on is None else self.arithmetic.truth(on)
            if side and (truth is None or truth.noisy or not all(r.certain for r in self.sources.values())):
                raise NoBandsError
            if side and (side != "LEFT"):
                raise NoBandsError
            if side:
                out += f" LEFT JOIN {table} ON {truth.possibly if truth else 'TRUE'}"
                self.sure = self.sure.replace(f"{quote(name)}.{SURE}", "TRUE")
            elif using:
                out += f" JOIN {table} USING ({', '.join(quote(column.name) for column in using)})"
                if any(self._find(column.name.lower(), None).noisy for column in using):
                    raise NoBandsError
            else:
                out += f" JOIN {table} ON {truth.possibly if truth else 'TRUE'}"
                if truth is not None:
                    self._filtered(truth)
        return out

    def _items(self) -> list[tuple[Shown, Ends]]:
        out: list[tuple[Shown, Ends]] = []
        for item in self.node.expressions:
            if not item.is_star:
                out.append((Shown(output_name(item)), self.arithmetic.ends(item.unalias())))
                continue
            star = item.this if isinstance(item, exp.Column) else item
            if star.args.get("replace") or star.args.get("rename"):
                raise NoBandsError
            hidden = {one.name.lower() for one in star.args.get("except_") or []}
            wanted = item.table.lower() if isinstance(item, exp.Column) and item.table else None
            merged: set[str] = set()
            for holder, (name, relation) in zip(self.holders, self.sources.items(), strict=True):
                skip = (
                    {column.name.lower() for column in holder.args.get("using") or []}
                    if wanted is None
                    else merged
                )
                if wanted not in (None, name):
                    continue
                out += [
                    (Shown(shown.name), _column(name, shown)) for shown in relation.columns
                    if shown.name.lower() not in hidden | skip and not shown.name.startswith("__r")
                ]  # fmt: skip
        if len({shown.name.lower() for shown, _ in out}) != len(out):
            raise NoBandsError
        return out

    def _groups(self) -> tuple[str, str, bool]:
        group, having = self.node.args.get("group"), self.node.args.get("having")
        sure, tail, certain = "TRUE", "", True
        if group is not None:
            if any(value for key, value in group.args.items() if key not in ("expressions", "all")):
                raise NoBandsError
            keys = []
            for key in group.expressions:
                if isinstance(key, exp.Literal):
                    key = self.node.expressions[int(key.name) - 1].unalias()
                ends = self.arithmetic.ends(key)
                if ends.noisy:
                    raise NoBandsError
                keys.append(ends.low)
            tail = f" GROUP BY {', '.join(keys) if keys else 'ALL'}"
            if group.args.get("all") and any(
                self.arithmetic.moves(item.unalias())
                for item in self.node.expressions
                if not has_aggregate(item)
            ):
                raise NoBandsError
            sure, certain = f"bool_or({self.sure})", self.certain
        if having is not None:
            truth = self.arithmetic.truth(having.this)
            tail += f" HAVING {truth.possibly}"
            if truth.noisy:
                sure, certain = f"({sure}) AND {truth.surely}", False
        return sure, tail, certain

    # What stands at the ends of expressions -----------------------------------------------------------------

    def leaf(self, node: exp.Expr) -> Ends | None:
        if isinstance(node, exp.Column):
            return self._column_ends(node)
        if isinstance(node, exp.Query):
            return self._scalar(node)
        if isinstance(node, exp.Window):
            return self._window(node)
        if self.grouped and (is_aggregate(node) or isinstance(node, exp.Filter)):
            return self._aggregate(node)
        return None

    def _find(self, name: str, table: str | None) -> Shown:
        for source, relation in self.sources.items():
            if table in (None, source):
                for shown in relation.columns:
                    if shown.name.lower() == name:
                        return shown
        raise NoBandsError

    def _column_ends(self, node: exp.Column) -> Ends:
        name, table = node.name.lower(), node.table.lower() or None
        for source, relation in self.sources.items():
            if table in (None, source):
                for shown in relation.columns:
                    if shown.name.lower() == name:
                        return _column(source, shown)
        if table is None and not self.looking:
            for item in self.node.expressions:
                if isinstance(item, exp.Alias) and item.alias.lower() == name:
                    self.looking = True
                    try:
                        return self.arithmetic.ends(item.this)
                    finally:
                        self.looking = False
        raise NoBandsError

    def _scalar(self, node: exp.Query) -> Ends:
        """A sub-query with one value; the ends of where it may lie."""
        relation = self.bands.query(node, self.known)
        if not relation.drawn:
            text = f"({node.this.sql('duckdb') if isinstance(node, exp.Subquery) else node.sql('duckdb')})"
            return Ends(text, text)
        visible = [column for column in relation.columns if not column.name.startswith(ID)]
        if len(visible) != 1:
            raise NoBandsError
        (shown,) = visible
        self.local = False
        ends = [quote(shown.name + end) if shown.noisy else quote(shown.name) for end in ("__lo", "__hi")]
        low, high = (
            f"(SELECT {name}({end}) FROM {relation.name})"
            for name, end in zip(("MIN", "MAX"), ends, strict=True)
        )
        return Ends(low, high, True, shown.bent or not relation.certain)

    def _aggregate(self, node: exp.Expr) -> Ends:
        sure, possibly, certain = self.sure, "TRUE", self.certain
        if isinstance(node, exp.Filter):
            truth = self._plainly(lambda: self.arithmetic.truth(node.expression.this))
            sure, possibly = f"{sure} AND {truth.surely}", truth.possibly
            certain = certain and not truth.noisy
            node = node.this
        argument = node.this
        if isinstance(node, exp.Sum | exp.Count) and isinstance(argument, exp.Case) and argument.this is None:
            ifs = argument.args["ifs"]
            default = argument.args.get("default")
            zero = isinstance(default, exp.Literal) and default.name == "0" and isinstance(node, exp.Sum)
            if len(ifs) == 1 and (default is None or isinstance(default, exp.Null) or zero):
                truth = self._plainly(lambda: self.arithmetic.truth(ifs[0].this))
                sure, possibly = f"{sure} AND {truth.surely}", f"{possibly} AND {truth.possibly}"
                certain = certain and not truth.noisy
                argument = ifs[0].args["true"]
        kept, surely = f" FILTER (WHERE {possibly})", f" FILTER (WHERE {sure})"
        if isinstance(node, exp.Count):
            return self._count(argument, kept, surely, certain)
        if argument is None or isinstance(argument, exp.Star):
            raise NoBandsError
        one = self._plainly(lambda: self.arithmetic.ends(argument))
        bent = one.bent or not certain
        if certain and not self.arithmetic.moves(argument) and not one.noisy:
            others = [
                child for key, child in node.args.items() if key != "this" and isinstance(child, exp.Expr)
            ]
            if not self._plainly(lambda: any(self.arithmetic.moves(other) for other in others)):
                text = f"{node.sql('duckdb')}{kept if possibly != 'TRUE' else ''}"
                return Ends(text, text)
            return Ends(*ANYWHERE, True, True)
        if isinstance(node, exp.Sum):
            if certain:
                return Ends(f"SUM({one.low}){kept}", f"SUM({one.high}){kept}", True, bent)
            low = f"SUM(CASE WHEN {sure} THEN {one.low} ELSE LEAST({one.low}, 0) END){kept}"
            high = f"SUM(CASE WHEN {sure} THEN {one.high} ELSE GREATEST({one.high}, 0) END){kept}"
            return Ends(low, high, True, True)
        if isinstance(node, exp.Max):
            low = f"COALESCE(MAX({one.low}){surely}, MIN({one.low}){kept})"
            return Ends(low, f"MAX({one.high}){kept}", True, True)
        if isinstance(node, exp.Min):
            high = f"COALESCE(MIN({one.high}){surely}, MAX({one.high}){kept})"
            return Ends(f"MIN({one.low}){kept}", high, True, True)
        if isinstance(node, (exp.Avg, *_MIDDLE)):
            bent = bent or not isinstance(node, exp.Avg)
            if certain:
                copies = [self._over(node, end) + kept for end in (one.low, one.high)]
                return Ends(copies[0], copies[1], True, bent)
            return Ends(f"MIN({one.low}){kept}", f"MAX({one.high}){kept}", True, True)
        if isinstance(node, exp.ArgMax | exp.ArgMin):
            return Ends(*ANYWHERE, True, True)
        return Ends(*ANYWHERE, True, bent)

    def _count(self, argument: exp.Expr | None, kept: str, surely: str, certain: bool) -> Ends:
        if isinstance(argument, exp.Distinct):
            if len(argument.expressions) != 1:
                raise NoBandsError
            told = self._plainly(lambda: self.arithmetic.ends(argument.expressions[0]))
            if not told.noisy and certain:
                text = f"COUNT(DISTINCT {told.low}){kept}"
                return Ends(text, text)
            if not told.noisy:
                low, high = (f"COUNT(DISTINCT {told.low}){rows}" for rows in (surely, kept))
                return Ends(low, high, True, True)
            # Not more than there are rows, and at least one where there is any; points are told apart.
            low = f"LEAST(1, COUNT({told.low}){surely})"
            return Ends(low, f"COUNT({told.low}){kept}", True, True)
        text = "*"
        if argument is not None and not isinstance(argument, exp.Star):
            text = self._plainly(lambda: self.arithmetic.ends(argument)).low
        if certain:
            return Ends(f"COUNT({text}){kept}", f"COUNT({text}){kept}")
        return Ends(f"COUNT({text}){surely}", f"COUNT({text}){kept}", True, True)

    def _plainly(self, make: Callable[[], Made]) -> Made:
        """The inside of an aggregate is about rows, where aggregates mean nothing."""
        before, self.grouped = self.grouped, False
        try:
            return make()
        finally:
            self.grouped = before

    def _over(self, node: exp.Expr, argument: str) -> str:
        copy = node.copy()
        copy.set("this", exp.Column(this=exp.to_identifier("__argument")))
        return copy.sql("duckdb").replace("__argument", argument)

    # Windows ------------------------------------------------------------------------------------------------

    def _window(self, node: exp.Window) -> Ends:
        self.local = False
        function, order = node.this, node.args.get("order")
        partition = node.args.get("partition_by") or []
        by = [] if order is None else [one.this for one in order.expressions]
        if node.alias or any(self.arithmetic.moves(one) for one in partition):
            raise NoBandsError
        filtered = isinstance(function, exp.Filter)
        argument = function.this
        moves = (
            isinstance(argument, exp.Expr)
            and not isinstance(argument, exp.Star)
            and self.arithmetic.moves(argument)
        )
        if any(self.arithmetic.moves(one) for one in by) or not self.certain:
            return Ends(*ANYWHERE, True, True)
        if not moves and not filtered:
            text = node.sql("duckdb")
            return Ends(text, text)
        if filtered or not isinstance(function, _MOVING):
            return Ends(*ANYWHERE, True, True)
        one = self.arithmetic.ends(argument)
        low, high = (self._framed(node, end) for end in (one.low, one.high))
        return Ends(low, high, True, one.bent or isinstance(function, exp.Max | exp.Min))

    def _framed(self, node: exp.Window, argument: str) -> str:
        copy = node.copy()
        copy.this.set("this", exp.Column(this=exp.to_identifier("__argument")))
        return copy.sql("duckdb").replace("__argument", argument)

    def _ranks(self) -> None:
        """Work out the ends of ranks that noise decides, once each, as columns of the source."""
        clauses = [*self.node.expressions, *(c for c in [self.node.args.get("qualify")] if c is not None)]
        windows = [
            one for clause in clauses for one in _own(clause)
            if isinstance(one, exp.Window) and isinstance(one.this, _ORDERED) and one.args.get("order") is not None
        ]  # fmt: skip
        known: dict[str, str] = {}
        for window in windows:
            by = [one.this for one in window.args["order"].expressions]
            if self.certain and not any(self.arithmetic.moves(one) for one in by):
                continue
            text = window.sql("duckdb")
            if text not in known:
                known[text] = f"__r{len(known)}"
                self._rank(window, known[text])
            ((name, _),) = self.sources.items()
            window.replace(exp.column(known[text], table=exp.to_identifier(name, quoted=True)))

    def _rank(self, window: exp.Window, called: str) -> None:
        """How many rows surely and possibly stand before a row."""
        function, order, partition = window.this, window.args["order"], window.args.get("partition_by") or []
        if len(self.sources) != 1 or self.node.args.get("where") is not None or self.grouped:
            raise NoBandsError
        if any(self.arithmetic.moves(one) for one in partition):
            raise NoBandsError
        self.local = False
        ((name, relation),) = self.sources.items()
        numbered = self.bands.add(f"SELECT *, row_number() OVER () AS {ROW} FROM {relation.name}")
        first = order.expressions[0]
        own, other = self.arithmetic.ends(first.this), self._of_another(first.this, name)
        same = [
            f"{self._of_another(one, name, name).low} IS NOT DISTINCT FROM {self._of_another(one, name).low}"
            for one in partition
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
        made = self.bands.add(
            f"SELECT * EXCLUDE ({ROW}), 1 + {low} AS {called}__lo, 1 + {high} AS {called}__hi "
            f"FROM {numbered} AS {quote(name)}"
        )
        self.sources[name] = replace(
            relation, name=made, columns=(*relation.columns, Shown(called, True, True)), local=False
        )

    def _of_another(self, node: exp.Expr, name: str, table: str = "__other") -> Ends:
        """The ends of an expression for another row of the same source, or with another name for its own."""
        copy = node.copy()
        for column in list(copy.find_all(exp.Column)):
            column.set("table", exp.to_identifier(table, quoted=True))
        before = self.sources
        self.sources = {**before, table: before[name]}
        try:
            return self.arithmetic.ends(copy)
        finally:
            self.sources = before


def _split(node: exp.Select) -> exp.Select:
    """A SELECT with windows, or with a LIMIT, as one over another: the inner one joins, filters and groups."""
    node = _without_limit(node)
    clauses = [*node.expressions, *(c for c in [node.args.get("qualify")] if c is not None)]
    if not any(isinstance(one, exp.Window) for clause in clauses for one in _own(clause)):
        qualify = node.args.get("qualify")
        if qualify is not None:
            raise NoBandsError
        return node
    if node.args.get("distinct") is not None or any(item.is_star for item in node.expressions):
        star = [item for item in node.expressions if item.is_star]
        if (
            node.args.get("distinct") is not None
            or len(node.args.get("joins") or [])
            or node.args.get("where")
            or star[0] is None
        ):
            raise NoBandsError
        return node
    group = node.args.get("group")
    grouped = group is not None or any(has_aggregate(clause) for clause in clauses)
    if not grouped and not node.args.get("joins") and node.args.get("where") is None:
        return node
    aliases = {item.alias.lower(): item.this for item in node.expressions if isinstance(item, exp.Alias)}
    found: dict[str, str] = {}
    inner = node.copy()
    items: list[exp.Expr] = []

    def taken(one: exp.Expr) -> exp.Column:
        text = one.sql("duckdb")
        if text not in found:
            found[text] = f"__w{len(found)}"
            items.append(exp.alias_(one.copy(), found[text]))
        return exp.column(found[text], table="__inner")

    def lift(one: exp.Expr) -> exp.Expr:
        if isinstance(one, exp.Column) or (grouped and is_aggregate(one)):
            if isinstance(one, exp.Column) and not one.table and one.name.lower() in aliases:
                target = aliases[one.name.lower()]
                if not any(
                    isinstance(n, exp.Column) and n.name.lower() == one.name.lower() for n in target.walk()
                ):
                    return lift(target.copy())
            return taken(one)
        if isinstance(one, exp.Query):
            return one
        for child in list(one.iter_expressions()):
            if not isinstance(child, exp.Identifier | exp.DataType):
                new = lift(child)
                if new is not child:
                    child.replace(new)
        return one

    outer = exp.Select()
    listed = [
        exp.alias_(lift(one.unalias().copy()), output_name(one), quoted=True) for one in node.expressions
    ]
    outer.set("expressions", listed)
    qualify = node.args.get("qualify")
    if qualify is not None:
        outer.set("qualify", exp.Qualify(this=lift(qualify.this.copy())))
    if group is not None and group.args.get("all"):
        raise NoBandsError
    if group is not None:
        for at, key in enumerate(group.expressions):
            if isinstance(key, exp.Literal):
                inner.args["group"].expressions[at].replace(
                    node.expressions[int(key.name) - 1].unalias().copy()
                )
            elif isinstance(key, exp.Column) and not key.table and key.name.lower() in aliases:
                inner.args["group"].expressions[at].replace(aliases[key.name.lower()].copy())
    inner.set("expressions", items)
    inner.set("qualify", None)
    clause = inner.args.get("with_")
    inner.set("with_", None)
    outer.set(
        "from_",
        exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("__inner")))),
    )
    if clause is not None:
        outer.set("with_", clause)
    return outer


def _without_limit(node: exp.Select) -> exp.Select:
    """ORDER BY with LIMIT as a condition on the number of a row."""
    limit, offset, order = (node.args.get(part) for part in ("limit", "offset", "order"))
    node = node.copy()
    for part in ("limit", "offset", "order"):
        node.set(part, None)
    if limit is None and offset is None:
        return node
    if order is None or node.args.get("qualify") is not None or node.args.get("distinct") is not None:
        raise NoBandsError
    if not all(one is None or one.expression.is_int for one in (limit, offset)):
        raise NoBandsError
    by = []
    for one in order.expressions:
        one = one.copy()
        if isinstance(one.this, exp.Var):
            raise NoBandsError
        if isinstance(one.this, exp.Literal):
            one.set("this", node.expressions[int(one.this.name) - 1].unalias().copy())
        by.append(one)
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=by))
    start = 0 if offset is None else int(offset.expression.name)
    tests: list[exp.Expr] = [exp.GT(this=number, expression=exp.Literal.number(start))]
    if limit is not None:
        tests.append(
            exp.LTE(this=number.copy(), expression=exp.Literal.number(start + int(limit.expression.name)))
        )
    node.set("qualify", exp.Qualify(this=exp.and_(*tests)))
    return node


def _own(node: exp.Expr) -> list[exp.Expr]:
    out = [node]
    for child in node.iter_expressions():
        if not isinstance(child, exp.Query):
            out += _own(child)
    return out


def has_window_text(text: str) -> bool:
    """Whether a condition has a window, so that it belongs into QUALIFY."""
    return " OVER " in text


def _column(source: str, shown: Shown) -> Ends:
    place = f"{quote(source)}."
    if not shown.noisy:
        return Ends(place + quote(shown.name), place + quote(shown.name))
    low, high = (place + quote(shown.name + end) for end in ("__lo", "__hi"))
    return Ends(low, high, True, shown.bent, low if shown.single else "")
