"""A plan told to a person: each scope, what bounds it, what one unit can change, and the noise that hides it.

Everything here is read off the plan, the catalog and the policy. Nothing touches data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from discreet.policy import Policy
from discreet.query import relation as rel
from discreet.query.catalog import Catalog
from discreet.query.compile import compile_part
from discreet.query.expression import Column, Expression
from discreet.query.keys import Key
from discreet.query.lineage import below, origins, read, rule
from discreet.query.moments import Joint
from discreet.query.plan import Aggregate, AnyMeasure, Part, Plan, ReleasePlan
from discreet.query.quantiles import Tree
from discreet.query.relation import RAW, Relation
from discreet.query.tree import Fact, Json, Node, draw, svg
from discreet.query.wording import ends, values, words
from discreet.rational import show


@dataclass(frozen=True)
class Explanation:
    """What a question would do, as a tree from the answer down to the tables.

    Attributes:
        question: the SQL that it explains.
        epsilon: the privacy loss of the whole question.
        root: the tree.
        engine_sql: by release, the queries that the engine would run; empty unless asked for.
    """

    question: str
    epsilon: Fraction
    root: Node
    engine_sql: dict[str, list[str]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Json]:
        """The same for machines."""
        out: dict[str, Json] = {
            "question": self.question,
            "epsilon": show(self.epsilon, 12),
            "plan": self.root.to_dict(),
        }
        if self.engine_sql:
            out["engine_sql"] = {name: list(queries) for name, queries in self.engine_sql.items()}
        return out

    def to_svg(self) -> str:
        """The tree as a picture; data flows upwards."""
        return svg(self.root)

    def _repr_html_(self) -> str:
        """The picture, for notebooks."""
        return self.to_svg()

    def __repr__(self) -> str:
        parts = [draw(self.root)]
        for name, queries in self.engine_sql.items():
            parts += [f"-- {name}, with 0 in place of the secret salt\n{pretty(query)}" for query in queries]
        return "\n\n".join(parts)


def explain(
    plan: Plan, catalog: Catalog, policy: Policy, sql: bool = False, dialect: str = "duckdb"
) -> Explanation:
    """Explain a plan.

    Args:
        plan: of the question.
        catalog: what the plan was made with.
        policy: the same, for what it declares of each column.
        sql: whether to write out the SQL that the engine would run.
        dialect: of the engine.
    """
    children = [_release(release, plan, policy) for release in plan.releases]
    private = {release.name for release in plan.releases}
    names = dict.fromkeys(t.name.lower() for t in plan.post.find_all(exp.Table) if t.name not in private)
    children += [_public(name, catalog.public[name].num_rows) for name in names if name in catalog.public]
    statement = " ".join(plan.post.sql("duckdb", comments=False).split())
    if plan.releases:
        facts = (Fact("epsilon", show(plan.epsilon)), Fact("sql", statement))
        root = Node("post-processing", "of noisy tables, which costs nothing", facts, tuple(children))
    else:
        root = Node(
            "public", "reads nothing private, so it costs nothing", (Fact("sql", statement),), tuple(children)
        )
    queries = {}
    if sql:
        for release in plan.releases:
            numbers = range(len(release.parts))
            queries[release.name] = [compile_part(release, at, dialect, salt=0).sql for at in numbers]
    return Explanation(plan.text, plan.epsilon, root, queries)


def pretty(query: str) -> str:
    """SQL on several lines."""
    import sqlglot

    return sqlglot.transpile(query, read="duckdb", write="duckdb", pretty=True)[0]


def _public(name: str, rows: int) -> Node:
    return Node("public table", name, (_rows_of(rows),))


def _rows_of(count: int) -> Fact:
    return Fact("rows", f"{count:,}", count)


# Releases ----------------------------------------------------------------------------------------------------


def _release(release: ReleasePlan, plan: Plan, policy: Policy) -> Node:
    facts = [Fact("epsilon", show(release.epsilon)), _neighbours(release)]
    facts.append(Fact("groups", f"{release.cells:,}", release.cells))
    facts += [_key(key, release, at, policy) for at, key in enumerate(release.keys)]
    facts += [_measure(release, at) for at in range(len(release.measures))]
    facts += [_output(release, at, plan.post) for at in range(len(release.aggregates))]
    return Node(
        "release",
        release.name,
        tuple(facts),
        tuple(_part(release, at, policy) for at in range(len(release.parts))),
    )


def _neighbours(release: ReleasePlan) -> Fact:
    several = any(part.rows.per_unit for part in release.parts)
    what = "all rows of one unit" if several else "one row"
    step = "added or removed" if release.unit_factor == 1 else "replaced, which counts twice"
    return Fact("hides", f"{what}, {step}", {"what": what, "unit_factor": release.unit_factor})


def _cap(part: Part) -> str:
    if not part.rows.per_unit:
        return "each row is one unit"
    plural = "s" * (part.cap != 1)
    units = sorted({s.table.unit.name for s in rel.scans(part.rows.relation) if s.table.unit is not None})
    if part.rows.fixed and part.cap >= part.rows.max_rows:
        return f"each {' = '.join(units)} has at most {part.cap:,} row{plural}, so none is dropped"
    return f"at most {part.cap:,} row{plural} of each {' = '.join(units)}, the others are dropped"


def _key(key: Key, release: ReleasePlan, at: int, policy: Policy) -> Fact:
    text = words(key.expression)
    sources, rules = [], []
    for part in release.parts:
        for name in sorted(read([part.keys[at]])):
            for column, table, own in origins(part.rows.relation, name):
                rules.append("a public table" if table is None or own is None else rule(table, own, policy))
                sources.append(f"{column} ({rules[-1]})")
    where = "; ".join(dict.fromkeys(sources)) or "the text of the query"
    data: Json = {"expression": text, "values": len(key.values), "from": where}
    public = {"a public table"}
    if isinstance(key.expression, Column) and len(set(rules)) == 1 and set(rules) != public:
        return Fact("key", f"{text}: {rules[0]}", data, many=True)
    count = f"{len(key.values):,} value{'s' * (len(key.values) != 1)}"
    return Fact("key", f"{text}: {count}, {values(key.values)}, computed from {where}", data, many=True)


def _measure(release: ReleasePlan, at: int) -> Fact:
    measure = release.measures[at]
    total, scale, share = release.sensitivity(measure), release.scale(at), release.shares[at]
    what = measure.name + (f" of {' and '.join(map(words, measure.arguments))}" if measure.arguments else "")
    if measure.with_null:
        what += ", and of all rows"
    plural = "s" * (measure.entries != 1)
    over = f" over part {measure.part + 1}" if len(release.parts) > 1 else ""
    lines = [f"{at + 1}  {what}: {measure.entries} integer{plural} per group{over}"]
    data: dict[str, Json] = {
        "number": at + 1,
        "what": what,
        "entries": measure.entries,
        "part": measure.part + 1,
    }
    if measure.grid is not None and measure.argument is not None:
        span = ends(measure.argument.span, measure.argument.type)
        lines.append(f"   clamped to {span} on a grid of step g = {_power(measure.grid.step)}")
        if isinstance(measure, Joint):
            other = ends(measure.other.span, measure.other.type)
            lines.append(f"   and to {other} on a grid of step g = {_power(measure.other_grid.step)}")
        data |= {"clamp": span, "step": float(measure.grid.step), "levels": measure.grid.levels}
    letter = "M" if measure.degree < 0 else "levels" if isinstance(measure, Tree) else "R"
    letter = "" if measure.levels == 1 else letter
    row = f"{letter} = {measure.levels:,}" if letter else "1"
    cap = release.parts[measure.part].cap
    factors = (
        [letter] * bool(letter)
        + [f"{cap:,} rows"] * (cap > 1)
        + ["2 for replacing"] * (release.unit_factor > 1)
    )
    one_unit = f"{' · '.join(factors)} = {total:,}" if len(factors) > 1 else f"{total:,}"
    size, unit = _natural(measure, scale)
    natural = "" if unit == "rows" and measure.levels == 1 else f" = {_figure(size)} {unit}"
    lines.append(f"   one row moves them by {row}, one unit by {one_unit}, in L1")
    lines.append(f"   epsilon {show(share)}: noise of scale {_figure(float(scale))}{natural} on each integer")
    data |= {
        "row_sensitivity": measure.levels,
        "sensitivity": total,
        "epsilon": show(share, 12),
        "scale": float(scale),
        "natural_scale": size,
        "natural_unit": unit,
    }
    return Fact("measure", "\n".join(lines), data, many=True)


def _natural(measure: AnyMeasure, scale: Fraction) -> tuple[float, str]:
    """A scale in integers as rows, or as units of a sum asked for alone."""
    if measure.degree < 0 and measure.grid is not None and measure.argument is not None:
        return float(scale * measure.grid.step), f"of {words(measure.argument)}"
    return float(scale if isinstance(measure, Tree) else scale / measure.levels), "rows"


def _output(release: ReleasePlan, at: int, post: exp.Query) -> Fact:
    aggregate = release.aggregates[at]
    names = _outputs(post, release.name, f"a{at}")
    shown = f"{', '.join(names)} = {aggregate.sql}" if names and names != [aggregate.sql] else aggregate.sql
    text = f"{shown} ← measure {aggregate.measure + 1}"
    data: dict[str, Json] = {"columns": list(names), "sql": aggregate.sql, "measure": aggregate.measure + 1}
    spread = _deviation(release, aggregate)
    if spread is not None:
        text += f"; its noise has standard deviation {_figure(spread)}"
        data["standard_deviation"] = spread
    return Fact("output", text, data, many=True)


def _deviation(release: ReleasePlan, aggregate: Aggregate) -> float | None:
    """The standard deviation of the noise of a linear quantity; None where it depends on the data."""
    weights = release.measures[aggregate.measure].weights(aggregate.what)
    if weights is None:
        return None
    return math.sqrt(2 * float(weights @ weights)) * float(release.scale(aggregate.measure))


def _outputs(post: exp.Query, table: str, column: str) -> list[str]:
    """The names of the output columns, of the statement or of a CTE, that a noisy column stands in."""
    found = [
        item.alias_or_name
        for select in post.find_all(exp.Select)
        for item in select.expressions
        if any(c.name == column and c.table == table for c in item.find_all(exp.Column))
    ]
    return list(dict.fromkeys(found))


# Rows --------------------------------------------------------------------------------------------------------


def _part(release: ReleasePlan, at: int, policy: Policy) -> Node:
    part = release.parts[at]
    arguments = [argument for m in release.measures if m.part == at for argument in m.arguments]
    needed = read([*part.keys, *arguments])
    title = "that are aggregated" if len(release.parts) == 1 else f"of part {at + 1}"
    return Node(
        "rows", title, (Fact("cap", _cap(part), part.cap),), (_rows(part.rows.relation, needed, policy),)
    )


def _rows(relation: Relation, needed: set[str], policy: Policy) -> Node:
    children = tuple(_rows(one, used, policy) for one, used in below(relation, needed))
    if isinstance(relation, rel.Scan):
        return _scan(relation, needed, policy)
    if isinstance(relation, rel.Select):
        where = () if relation.where is None else (Fact("where", words(relation.where)),)
        if relation.items is None:
            return Node("rows", "that are filtered", where, children)
        made = [(n, item) for n, item in relation.items if n in needed and words(item) != n]
        computed = tuple(Fact("column", f"{n} = {words(item)}", many=True) for n, item in made)
        return Node("rows", "that are computed" if made else "that are passed on", where + computed, children)
    if isinstance(relation, rel.PerUnit):
        keys = tuple(Fact("key", f"{n} = {words(item)}", many=True) for n, item in relation.keys)
        made_of = tuple(
            Fact(
                "column",
                f"{n} = {_template(a.spelling, [a.argument] if a.argument is not None else [])}",
                many=True,
            )
            for n, a in relation.aggregates
            if n in needed
        )
        title = "one row for each unit" + (" and group" if keys else "")
        return Node("per-unit", title, keys + made_of, children)
    if isinstance(relation, rel.Windowed):
        made_of = tuple(
            Fact("column", f"{n} = {_template(w.spelling, w.args)}", many=True)
            for n, w in relation.windows
            if n in needed
        )
        return Node("rows", "with windows, each over the rows of one unit", made_of, children)
    if isinstance(relation, rel.Union):
        return Node("rows", "of several relations, one after the other", (), children)
    on = () if relation.on is None else (Fact("on", words(relation.on)),)
    if isinstance(relation, rel.PublicJoin):
        table = relation.table
        columns = ", ".join(table.data.column_names)
        public = Node("public table", "", (Fact("columns", columns), _rows_of(table.data.num_rows)))
        return Node("rows", f"{_outer(relation)} with a public table", on, (*children, public))
    if isinstance(relation, rel.Matching):
        title = f"of units {'without' if relation.anti else 'with'} a match"
        return Node("rows", title, on, children)
    return Node("rows", f"{_outer(relation)} on the unit", on, children)


def _outer(relation: rel.Join | rel.PublicJoin) -> str:
    return "left-joined" if relation.outer else "joined"


def _template(spelling: Mapping[str, str], args: Sequence[Expression]) -> str:
    """The standard SQL of an aggregate or a window with its arguments in place."""
    text = spelling.get("") or next(iter(spelling.values()))
    for at, arg in enumerate(args):
        text = text.replace(f"{{{at}}}", words(arg))
    return re.sub(r"\s*\{over\}", " OVER (…)", text)


def _scan(relation: rel.Scan, needed: set[str], policy: Policy) -> Node:
    table = relation.table
    unit = (
        "each row is one unit"
        if table.unit is None
        else f"{table.unit.name}, at most {table.max_rows:,} rows of each"
    )
    used = sorted({name.removeprefix(RAW) for name in needed} & set(table.columns))
    facts = [
        Fact("column", f"{table.columns[n].name}: {rule(table, table.columns[n], policy)}", many=True)
        for n in used
    ]
    return Node("private table", table.name, (Fact("unit", unit), *facts))


def _power(step: Fraction) -> str:
    exponent = step.numerator.bit_length() - step.denominator.bit_length()
    return "1" if exponent == 0 else f"2^{exponent}"


def _figure(number: float) -> str:
    return f"{number:,.0f}" if 1e4 <= number < 1e15 else f"{number:.4g}"


__all__ = ["Explanation", "explain", "pretty"]
