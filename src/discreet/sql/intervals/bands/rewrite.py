"""Post-processing over bands: the same statement over the ends of noisy numbers, as SQL.

Every noisy number becomes two columns, its ends, and every row says whether it is there surely or only possibly. The
result holds wherever all bands hold: the maximum lies between the greatest low end and the greatest high end, the
number of rows above a threshold between those with the low end above and those with the high end above, and a rank
between the numbers of rows that surely and possibly stand before it (Feng, Glavic, Huber and Kennedy 2021).
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.release.noisy_schema import CELL, ENDS, NoisySchema, ends_of
from discreet.sql.expressions.dialect import quote
from discreet.sql.intervals.bands import curvature
from discreet.sql.intervals.bands.expressions import Number
from discreet.sql.intervals.bands.relations import FAN, SURE, BandColumn, NoBandsError, Relation
from discreet.sql.intervals.bands.select import SelectBands
from discreet.sql.intervals.bands.windows_apart import first_by, windows_apart


def _number(table: str, name: str, linear: frozenset[Number]) -> BandColumn:
    """A column of a noisy table."""
    curve = curvature.LINE if (table, name) in linear else curvature.UNKNOWN
    return BandColumn(name, True, single=True, curve=curve, of=frozenset({(table, name)}), plain=True)


class Bands:
    """Rewrites one statement.

    Args:
        noisy: the noisy tables, with the numbers of their keys and aggregates.
        public: the columns of the public tables.
        linear: the aggregates whose noise is a weighted sum of that of integers, as likely above zero as below.
    """

    def __init__(
        self,
        noisy: Mapping[str, tuple[int, int]],
        public: Mapping[str, tuple[str, ...]],
        linear: frozenset[Number] = frozenset(),
    ) -> None:
        self.parts: list[tuple[str, str]] = []
        self.public = {name.lower(): columns for name, columns in public.items()}
        self.base: dict[str, Relation] = {}
        for name, (keys, aggregates) in noisy.items():
            schema = NoisySchema(keys, aggregates)
            noise_free = [CELL, *schema.key_names]
            shown = (
                *map(BandColumn, noise_free),
                *(_number(name, each, linear) for each in schema.aggregate_names),
            )
            ends = [end for each in schema.aggregate_names for end in ends_of(each)]
            listed = ", ".join([*noise_free, *ends])
            made = self.add(f"SELECT {listed}, TRUE AS {SURE}, 1 AS {FAN} FROM {name}")
            self.base[name.lower()] = Relation(made, shown, from_noisy=True)
        for name, columns in self.public.items():
            made = self.add(f"SELECT *, TRUE AS {SURE}, 0 AS {FAN} FROM {quote(name)}")
            self.base[name] = Relation(made, tuple(map(BandColumn, columns)))

    def statement(self, query: exp.Query) -> tuple[Relation, str]:
        """The rewritten statement: its columns, and the SQL of all but the last SELECT.

        Raises:
            NoBandsError: it has a form that is not rewritten.
        """
        top = query.copy()
        inner: exp.Expr = top
        while isinstance(inner, exp.Subquery):
            inner = inner.this
        for select in {id(top): top, id(inner): inner}.values():
            for part in ("order", "limit", "offset"):
                select.set(part, None)
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
            return SelectBands(self, windows_apart(node), known, first_by(node)).relation()
        raise NoBandsError

    def _union(self, left: Relation, right: Relation) -> Relation:
        if len(left.columns) != len(right.columns):
            raise NoBandsError
        columns = tuple(
            BandColumn(
                a.name,
                a.noisy or b.noisy,
                a.bent or b.bent,
                all(ends.single or not ends.noisy for ends in (a, b)),
            )
            for a, b in zip(left.columns, right.columns, strict=True)
        )
        sides = []
        for side in (left, right):
            items = [
                f"{quote(own.name + (end if own.noisy else ''))} AS {quote(shown.name + end)}"
                for own, shown in zip(side.columns, columns, strict=True)
                for end in (ENDS if shown.noisy else ("",))
            ]
            sides.append(f"SELECT {', '.join([*items, SURE, FAN])} FROM {side.name}")
        made = self.add(" UNION ALL ".join(sides))
        return Relation(made, columns, left.certain and right.certain, left.local and right.local, True)

    def source(self, node: exp.Expr, known: Mapping[str, Relation]) -> tuple[str, Relation]:
        """A table, CTE or sub-query of a FROM clause, and the name that it goes by."""
        alias = node.args.get("alias")
        if any(node.args.get(part) for part in ("joins", "pivots", "sample", "laterals")):
            raise NoBandsError
        names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
        if isinstance(node, exp.Unnest | exp.Values) and names:
            if any(isinstance(inner, exp.Column | exp.Query) for inner in node.walk()):
                raise NoBandsError
            made = self.add(f"SELECT *, TRUE AS {SURE}, 0 AS {FAN} FROM {node.sql('duckdb')}")
            return node.alias, Relation(made, tuple(map(BandColumn, names)))
        if names:
            raise NoBandsError
        if isinstance(node, exp.Subquery):
            return node.alias, self.query(node, known)
        if isinstance(node, exp.Table) and node.name.lower() in known:
            return node.alias_or_name, known[node.name.lower()]
        raise NoBandsError

    def add(self, sql: str) -> str:
        """A CTE of the statement; its name."""
        name = f"__b{len(self.parts)}"
        self.parts.append((name, sql))
        return name
