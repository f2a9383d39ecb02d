"""The private rows of a plan told to a person: the rows scanned, filtered, joined and grouped by unit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from discreet.policy import Policy
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.lineage import below, read
from discreet.sql.algebra.relation import RAW, Relation
from discreet.sql.algebra.released import ReleasedTable
from discreet.sql.expressions.expression import Expression
from discreet.sql.inspect.column_rules import rule
from discreet.sql.inspect.diagram import DiagramFact, DiagramNode
from discreet.sql.inspect.wording import words
from discreet.sql.plan.plan import MeasuredRows, PlannedRelease


def part_node(release: PlannedRelease, index: int, policy: Policy) -> DiagramNode:
    """The private rows of one part of a release, down to the tables."""
    part = release.parts[index]
    arguments = [argument for m in release.measures if m.part == index for argument in m.arguments]
    needed = read([*part.keys, *arguments])
    title = "that are aggregated" if len(release.parts) == 1 else f"of part {index + 1}"
    return DiagramNode(
        "rows",
        title,
        (DiagramFact("cap", _cap(part), part.cap),),
        (_rows(part.rows.relation, needed, policy),),
    )


def _rows(relation: Relation, needed: set[str], policy: Policy) -> DiagramNode:
    children = tuple(_rows(child, used, policy) for child, used in below(relation, needed))
    if isinstance(relation, rel.Scan):
        return _scan(relation, needed, policy)
    if isinstance(relation, rel.Select):
        where = () if relation.where is None else (DiagramFact("where", words(relation.where)),)
        if relation.items is None:
            return DiagramNode("rows", "that are filtered", where, children)
        made = [(n, item) for n, item in relation.items if n in needed and words(item) != n]
        computed = tuple(DiagramFact("column", f"{n} = {words(item)}", many=True) for n, item in made)
        return DiagramNode(
            "rows", "that are computed" if made else "that are passed on", where + computed, children
        )
    if isinstance(relation, rel.PerUnit):
        keys = tuple(DiagramFact("key", f"{n} = {words(item)}", many=True) for n, item in relation.keys)
        made_of = tuple(
            DiagramFact("column", f"{n} = {_template(a.spelling, a.args)}", many=True)
            for n, a in relation.aggregates
            if n in needed
        )
        title = "one row for each unit" + (" and group" if keys else "")
        return DiagramNode("per-unit", title, keys + made_of, children)
    if isinstance(relation, rel.Windowed):
        made_of = tuple(
            DiagramFact("column", f"{n} = {_template(w.spelling, w.args)}", many=True)
            for n, w in relation.windows
            if n in needed
        )
        return DiagramNode("rows", "with windows, each over the rows of one unit", made_of, children)
    if isinstance(relation, rel.Union):
        return DiagramNode("rows", "of several relations, one after the other", (), children)
    on = () if relation.on is None else (DiagramFact("on", words(relation.on)),)
    if isinstance(relation, rel.PublicJoin):
        table = relation.table
        if isinstance(table, ReleasedTable):
            given = DiagramNode("released first", table.sql, ())
            return DiagramNode("rows", f"{_outer(relation)} with released numbers", on, (*children, given))
        if isinstance(table, rel.Places):
            title = f"beside the items of {table.items}, at most {relation.partners:,} of each row"
            return DiagramNode("rows", title + " or nothing" * relation.outer, (), children)
        columns = ", ".join(table.data.column_names)
        public = DiagramNode(
            "public table", "", (DiagramFact("columns", columns), _rows_of(table.data.num_rows))
        )
        return DiagramNode("rows", f"{_outer(relation)} with a public table", on, (*children, public))
    if isinstance(relation, rel.Matching):
        title = f"of units {'without' if relation.anti else 'with'} a match"
        return DiagramNode("rows", title, on, children)
    return DiagramNode("rows", f"{_outer(relation)} on the unit", on, children)


def _outer(relation: rel.Join | rel.PublicJoin) -> str:
    return "left-joined" if relation.outer else "joined"


def _template(text: str, args: Sequence[Expression]) -> str:
    """The standard SQL of an aggregate or a window with its arguments in place."""
    text = text.replace("{summed}", "{0}")
    for index, arg in enumerate(args):
        text = text.replace(f"{{{index}}}", words(arg))
    return re.sub(r"\s*\{over\}", " OVER (…)", text)


def _scan(relation: rel.Scan, needed: set[str], policy: Policy) -> DiagramNode:
    table = relation.table
    unit = (
        "each row is one unit"
        if table.unit is None
        else f"{table.unit_words}, at most {table.max_rows:,} rows of each"
    )
    used = sorted({name.removeprefix(RAW) for name in needed} & set(table.columns))
    facts = [
        DiagramFact("column", f"{table.columns[n].name}: {rule(table, table.columns[n], policy)}", many=True)
        for n in used
    ]
    return DiagramNode("private table", table.name, (DiagramFact("unit", unit), *facts))


def _cap(part: MeasuredRows) -> str:
    if not part.rows.per_unit:
        return "each row is one unit"
    plural = "s" * (part.cap != 1)
    units = sorted({s.table.unit.name for s in rel.scans(part.rows.relation) if s.table.unit is not None})
    if part.rows.fixed and part.cap >= part.rows.max_rows and not part.drops_in_groups:
        return f"each {' = '.join(units)} has at most {part.cap:,} row{plural}, so none is dropped"
    within = f", {part.per_group:,} in one group" if part.drops_in_groups else ""
    within += ", in all questions measured together" if part.among is not None else ""
    return f"at most {part.cap:,} row{plural} of each {' = '.join(units)}{within}, the others are dropped"


def public_table(name: str, rows: int) -> DiagramNode:
    """A public table and its size."""
    return DiagramNode("public table", name, (_rows_of(rows),))


def _rows_of(count: int) -> DiagramFact:
    return DiagramFact("rows", f"{count:,}", count)
