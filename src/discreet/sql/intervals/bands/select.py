"""One SELECT over bands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from discreet.release.noisy_schema import ENDS, HIGH, ID, LOW
from discreet.sql.expressions.dialect import quote
from discreet.sql.intervals.bands import curvature
from discreet.sql.intervals.bands.aggregates import aggregate_ends
from discreet.sql.intervals.bands.expressions import Arithmetic, Ends, Truth
from discreet.sql.intervals.bands.relations import (
    FAN,
    SURE,
    BandColumn,
    BandScope,
    NoBandsError,
    Relation,
    Statement,
    column_ends,
)
from discreet.sql.intervals.bands.windows import put_ranks, window_ends
from discreet.sql.syntax.nodes import has_aggregate, is_aggregate
from discreet.sql.syntax.parse import output_name


class SelectBands(BandScope):
    """Rewrites one SELECT; its windows stand over a single source without a filter, see `windows_apart`."""

    def __init__(
        self,
        bands: Statement,
        node: exp.Select,
        known: Mapping[str, Relation],
        first_by: tuple[str, bool] | None = None,
    ) -> None:
        self.bands, self.node, self.known, self.first_by = bands, node, known, first_by
        if any(node.args.get(part) for part in ("laterals", "pivots", "sample", "kind", "windows")):
            raise NoBandsError
        clause = node.args.get("from_")
        self.holders = ([clause] if clause is not None else []) + (node.args.get("joins") or [])
        self.sources: dict[str, Relation] = {}
        self.aliases: dict[str, str] = {}
        for index, holder in enumerate(self.holders):
            name, relation = bands.source(holder.this, known)
            self.sources[(name or f"__from{index}").lower()] = relation
        self.arithmetic = Arithmetic(self.leaf)
        self.local = all(relation.local for relation in self.sources.values())
        group = node.args.get("group")
        self.grouped = group is not None or any(
            has_aggregate(item) for item in [*node.expressions, *(h for h in [node.args.get("having")] if h)]
        )
        self.sure = " AND ".join([f"{quote(name)}.{SURE}" for name in self.sources] or ["TRUE"])
        self.certain = all(relation.certain for relation in self.sources.values())
        self.looking = False
        put_ranks(self)

    def relation(self) -> Relation:
        """The rewritten SELECT."""
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
            columns.append(
                replace(
                    shown, noisy=ends.noisy, bent=ends.bent, single=bool(ends.only), curve=ends.curve, of=ends.of,
                    role=ends.role,
                )
            )  # fmt: skip
            items += _shown(shown.name, ends)
        fans = self._fans()
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
        before = certain
        qualify = node.args.get("qualify")
        if qualify is not None:
            truth = self.arithmetic.truth(qualify.this)
            if truth.noisy:
                sure, certain = f"({sure}) AND {truth.surely}", False
            tail += f" QUALIFY {truth.possibly}" if _has_window(truth.possibly) else ""
            if not _has_window(truth.possibly):
                test = f" WHERE {truth.possibly}"
        sql = f"SELECT {', '.join([*items, f'{sure} AS {SURE}', f'{fans} AS {FAN}'])}{source}{test}{tail}"
        from_noisy = any(relation.from_noisy for relation in self.sources.values()) or any(
            c.noisy for c in columns
        )
        made = Relation(self.bands.add(sql), tuple(columns), certain, self.local, from_noisy)
        return replace(made, first_by=self.first_by if before else None)

    def _fans(self) -> str:
        return " + ".join([f"{quote(name)}.{FAN}" for name in self.sources] or ["0"])

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

    def _items(self) -> list[tuple[BandColumn, Ends]]:
        out: list[tuple[BandColumn, Ends]] = []
        for item in self.node.expressions:
            if not item.is_star:
                own = item.unalias()
                plain = isinstance(own, exp.Column) and not self.grouped and self.plain(own)
                out.append((BandColumn(output_name(item), plain=plain), self.arithmetic.ends(own)))
                continue
            star = item.this if isinstance(item, exp.Column) else item
            if star.args.get("replace") or star.args.get("rename"):
                raise NoBandsError
            hidden = {column.name.lower() for column in star.args.get("except_") or []}
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
                    (BandColumn(shown.name, plain=shown.plain), column_ends(name, shown)) for shown in relation.columns
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

    # The leaves of expressions -------------------------------------------------------------------------------

    def leaf(self, node: exp.Expr) -> Ends | None:
        """The ends of an expression that is no arithmetic; None for all else."""
        if isinstance(node, exp.Column):
            return self._column_ends(node)
        if isinstance(node, exp.Query):
            return self._scalar(node)
        if isinstance(node, exp.Window):
            return window_ends(self, node)
        if self.grouped and (is_aggregate(node) or isinstance(node, exp.Filter)):
            return aggregate_ends(self, node)
        return None

    def _find(self, name: str, table: str | None) -> BandColumn:
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
                        return column_ends(source, shown)
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
        if not relation.from_noisy:
            text = f"({node.this.sql('duckdb') if isinstance(node, exp.Subquery) else node.sql('duckdb')})"
            return Ends(text, text)
        visible = [column for column in relation.columns if not column.name.startswith(ID)]
        if len(visible) != 1:
            raise NoBandsError
        (shown,) = visible
        self.local = False
        ends = [quote(shown.name + end) if shown.noisy else quote(shown.name) for end in ENDS]
        low, high = (
            f"(SELECT {name}({end}) FROM {relation.name})"
            for name, end in zip(("MIN", "MAX"), ends, strict=True)
        )
        curve = shown.curve if relation.certain else curvature.UNKNOWN
        return Ends(low, high, True, shown.bent or not relation.certain, curve=curve, of=shown.of)


def _has_window(text: str) -> bool:
    """Whether a condition has a window, so that it belongs into QUALIFY."""
    return " OVER " in text


def _shown(name: str, ends: Ends) -> list[str]:
    """The items of a column: both ends, or the number itself where it has no noise."""
    if not ends.noisy:
        return [f"{ends.low} AS {quote(name)}"]
    return [f"{ends.low} AS {quote(name + LOW)}", f"{ends.high} AS {quote(name + HIGH)}"]
