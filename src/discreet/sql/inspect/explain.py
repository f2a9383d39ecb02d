"""A plan told to a person: each scope, its bounds, the change by one unit, and the noise that hides it.

Everything here is read off the plan, the catalog and the policy. Nothing touches data.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sqlglot import exp

from discreet.policy import Policy
from discreet.rational import show, small
from discreet.records import dataclass, field
from discreet.release.noisy_schema import aggregate_name
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.keys import Key
from discreet.sql.algebra.lineage import origins, read
from discreet.sql.dialects import named
from discreet.sql.expressions.expression import Column
from discreet.sql.inspect.column_rules import rule
from discreet.sql.inspect.diagram import DiagramFact, DiagramNode, Json, draw, svg
from discreet.sql.inspect.explain_ranks import noise_of
from discreet.sql.inspect.explain_rows import part_node, public_table
from discreet.sql.inspect.wording import ends, facts_of, values, words
from discreet.sql.intervals.noise_widths import deviation
from discreet.sql.lower.compile import compile_discovery, compile_part
from discreet.sql.lower.people.by_class import all_queries
from discreet.sql.lower.uses import near_leaves_of, ranks
from discreet.sql.measures.all_rows import noise_of as weights_of_noise
from discreet.sql.measures.moments import JointMoments
from discreet.sql.measures.quantile_tree import QuantileTree
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.people.wording import noise_of_class
from discreet.sql.plan.plan import Aggregate, AnyMeasure, Discovery, PlannedRelease, QueryPlan
from discreet.sql.plan.workloads.linear import LinearLaw
from discreet.sql.plan.workloads.pieced import Pieced
from discreet.sql.plan.workloads.series_law import SeriesLaw
from discreet.sql.syntax.nodes import shown_as


@dataclass(frozen=True)
class Explanation:
    """The steps of a question, as a tree from the answer down to the tables.

    Attributes:
        question: the SQL that it explains.
        epsilon: the privacy loss of the whole question.
        root: the tree.
        engine_sql: by release, the queries that the engine would run; empty unless asked for.
        dialect: the dialect of these queries.
    """

    question: str
    epsilon: Fraction
    root: DiagramNode
    engine_sql: dict[str, list[str]] = field(default_factory=dict)
    dialect: str = "duckdb"

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
            heading = f"-- {name}, with 0 in place of the secret salt"
            parts += [f"{heading}\n{pretty(query, self.dialect)}" for query in queries]
        return "\n\n".join(parts)


def explain(
    plan: QueryPlan,
    catalog: Catalog,
    policy: Policy,
    sql: bool = False,
    dialect: str = "duckdb",
    known: str = "",
) -> Explanation:
    """Explain a plan.

    Args:
        plan: of the question.
        catalog: the one that the plan was made with.
        policy: the same, for its declarations of each column.
        sql: whether to write out the SQL that the engine would run.
        dialect: of the engine.
        known: words on the answer that there is to this question already; "" without one.
    """
    children = [_release(release, plan, policy) for release in plan.releases]
    private = {release.name for release in plan.releases}
    names = dict.fromkeys(t.name.lower() for t in plan.post.find_all(exp.Table) if t.name not in private)
    children += [
        public_table(name, catalog.public[name].num_rows) for name in names if name in catalog.public
    ]
    statement = " ".join(plan.post.sql("duckdb", comments=False).split())
    if plan.releases:
        cost = [DiagramFact("epsilon", show(plan.epsilon))]
        cost += [DiagramFact("delta", small(plan.delta))] * bool(plan.delta)
        cost += [DiagramFact("known", known)] * bool(known)
        facts = (*cost, *facts_of(plan), DiagramFact("sql", statement))
        root = DiagramNode("post-processing", "of noisy tables, which costs nothing", facts, tuple(children))
    else:
        root = DiagramNode(
            "public",
            "reads nothing private, so it costs nothing",
            (DiagramFact("sql", statement),),
            tuple(children),
        )
    queries = {}
    if sql:
        for release in plan.counted:
            if release.people is not None:
                found = all_queries(release, release.people, dialect, salt=0)
                queries[release.name] = [sql for sql, _ in found]
                continue
            numbers = range(len(release.parts))
            finding = (
                [compile_discovery(release, dialect, salt=0).sql] if release.discovery is not None else []
            )
            queries[release.name] = finding + [
                compile_part(
                    release, index, dialect, salt=0, near=near_leaves_of(release, index), quick=True
                ).sql
                for index in numbers
            ]
    return Explanation(plan.text, plan.epsilon, root, queries, dialect)


def pretty(query: str, dialect: str = "duckdb") -> str:
    """SQL on several lines."""
    import sqlglot

    parser = named(dialect).parser
    return sqlglot.transpile(query, read=parser, write=parser, pretty=True)[0]


# Releases ----------------------------------------------------------------------------------------------------


def _release(release: PlannedRelease, plan: QueryPlan, policy: Policy) -> DiagramNode:
    facts = [DiagramFact("epsilon", show(release.epsilon))]
    if release.estimated is not None:
        facts = [DiagramFact("epsilon", f"{show(release.epsilon)}, with all tables of the same rows")]
    if isinstance(release.estimated, SeriesLaw):
        facts = [
            DiagramFact("epsilon", f"{show(release.epsilon)}, for single groups and sums of them together")
        ]
    if isinstance(release.estimated, Pieced):
        facts = [
            DiagramFact(
                "epsilon", f"{show(release.epsilon)}, with all questions that are made of the same pieces"
            )
        ]
    facts.append(_neighbours(release))
    if release.discovery is None:
        facts.append(DiagramFact("groups", f"{release.cells:,}", release.cells))
    else:
        facts.append(_found(release, release.discovery))
    facts += [_key(key, release, index, policy) for index, key in enumerate(release.keys)]
    facts += [_measure(release, index) for index in range(len(release.measures))]
    facts += [_output(release, index, plan.post) for index in range(len(release.aggregates))]
    return DiagramNode(
        "release",
        release.name,
        tuple(facts),
        tuple(part_node(release, index, policy) for index in range(len(release.parts))),
    )


def _neighbours(release: PlannedRelease) -> DiagramFact:
    several = any(part.rows.per_unit for part in release.parts)
    subject = "all rows of one unit" if several else "one row"
    step = "added or removed" if release.unit_factor == 1 else "replaced"
    return DiagramFact("hides", f"{subject}, {step}", {"what": subject, "unit_factor": release.unit_factor})


def _found(release: PlannedRelease, discovery: Discovery) -> DiagramFact:
    """How groups are found that are not public."""
    chance = discovery.mechanism(release)
    cap = discovery.part.cap
    lines = [
        f"those whose noisy count of units is {chance.threshold:,} or more; others are not shown",
        f"a unit counts in {cap:,} group{'s' * (cap > 1)}",
        f"epsilon {show(discovery.share)}: noise of scale {_figure(float(chance.scale))} on each count",
        f"delta {small(discovery.delta)}: the chance that a group is shown which one unit made",
        f"a group of {chance.surely(0.95):,} units is shown with a chance of 95 %",
    ]
    if discovery.measure is not None:
        lines.append(f"those counts are the integers of measure {discovery.measure + 1}")
    data: Json = {
        "threshold": chance.threshold,
        "shown_from": chance.surely(0.95),
        "max_groups": cap,
        "epsilon": show(discovery.share, 12),
        "delta": small(discovery.delta),
        "measure": None if discovery.measure is None else discovery.measure + 1,
    }
    return DiagramFact("groups", "\n".join(lines), data)


def _key(key: Key, release: PlannedRelease, index: int, policy: Policy) -> DiagramFact:
    text = words(key.expression)
    if not key.public:
        return DiagramFact("key", f"{text}: not public, so its values are found", {"expression": text, "values": None,
                                                                            "from": "the data"}, many=True)  # fmt: skip
    sources, rules = [], []
    for part in release.parts:
        for name in sorted(read([part.keys[index]])):
            for column, table, own in origins(part.rows.relation, name):
                rules.append("a public table" if table is None or own is None else rule(table, own, policy))
                sources.append(f"{column} ({rules[-1]})")
    where = "; ".join(dict.fromkeys(sources)) or "the text of the query"
    data: Json = {"expression": text, "values": len(key.values), "from": where}
    public = {"a public table"}
    if isinstance(key.expression, Column) and len(set(rules)) == 1 and set(rules) != public:
        return DiagramFact("key", f"{text}: {rules[0]}", data, many=True)
    count = f"{len(key.values):,} value{'s' * (len(key.values) != 1)}"
    return DiagramFact(
        "key", f"{text}: {count}, {values(key.values)}, computed from {where}", data, many=True
    )


def _measure(release: PlannedRelease, index: int) -> DiagramFact:
    measure = release.measures[index]
    total, scale, share = release.sensitivity(measure), release.scale(index), release.shares[index]
    subject = measure.name + (
        f" of {' and '.join(map(words, measure.arguments))}" if measure.arguments else ""
    )
    if measure.with_null:
        subject += ", and of all rows"
    plural = "s" * (measure.entries != 1)
    over = f" over part {measure.part + 1}" if len(release.parts) > 1 else ""
    lines = [f"{index + 1}  {subject}: {measure.entries} integer{plural} per group{over}"]
    data: dict[str, Json] = {
        "number": index + 1,
        "what": subject,
        "entries": measure.entries,
        "part": measure.part + 1,
    }
    if measure.grid is not None and measure.argument is not None:
        span = ends(measure.argument.span, measure.argument.type)
        lines.append(f"   clamped to {span} on a grid of step g = {_power(measure.grid.step)}")
        if isinstance(measure, JointMoments):
            other = ends(measure.other.span, measure.other.type)
            lines.append(f"   and to {other} on a grid of step g = {_power(measure.other_grid.step)}")
        data |= {"clamp": span, "step": float(measure.grid.step), "levels": measure.grid.levels}
    letter = "M" if measure.degree < 0 else "levels" if isinstance(measure, QuantileTree) else "R"
    letter = "" if measure.row_sensitivity == 1 else letter
    row = f"{letter} = {measure.row_sensitivity:,}" if letter else "1"
    cap = release.parts[measure.part].cap
    factors = [letter] * bool(letter) + [f"{cap:,} rows"] * (cap > 1)
    replacing = Fraction(total, cap * measure.row_sensitivity)
    if replacing != 1:
        factors.append(f"{_figure(float(replacing))} for replacing")
    one_unit = f"{' · '.join(factors)} = {total:,}" if len(factors) > 1 else f"{total:,}"
    size, unit = _natural(measure, scale)
    lines += _noise(release, index, row, one_unit)
    beside = [number + 1 for number in release.beside(index)]
    if len(beside) > 1:
        named = f"{', '.join(map(str, beside[:-1]))} and {beside[-1]}"
        lines.append(f"   no row moves two of the measures {named}, so they cost this epsilon once")
        data["alternatives"] = [*beside]
    data |= {
        "row_sensitivity": measure.row_sensitivity,
        "sensitivity": total,
        "epsilon": show(share, 12),
    }
    if release.gaussian(index) is None:
        data |= {"scale": float(scale), "natural_scale": size, "natural_unit": unit}
    else:
        data |= _gaussian(release, index)
    return DiagramFact("measure", "\n".join(lines), data, many=True)


def _noise(release: PlannedRelease, index: int, row: str, one_unit: str) -> list[str]:
    """By how much a row and a unit move the integers of a measure, and the noise that hides it."""
    measure, scale, share = release.measures[index], release.scale(index), release.shares[index]
    if isinstance(measure, Ranks):
        return [
            *noise_of(ranks(release, index, measure), one_unit),
            *(noise_of_class(release, index) if release.people is not None else ()),
        ]
    moved = f"   one row moves them by {row}, one unit by {one_unit}, in L1"
    if release.estimated is not None:
        return [moved]
    if release.people is not None and index not in release.people.sampled:
        return [moved, *noise_of_class(release, index)]
    if release.gaussian(index) is not None:
        spread = deviation(release, index)
        size, unit = _natural(measure, Fraction(spread))
        natural = "" if unit == "rows" and measure.row_sensitivity == 1 else f" = {_figure(size)} {unit}"
        return [
            f"{moved}, and by {_figure(math.sqrt(release.square(measure)))} in L2",
            f"   rho {_figure(float(release.rhos[index]))}: Gaussian noise of standard deviation {_figure(spread)}"
            f"{natural} on each integer, which errs less here than Laplace noise",
        ]
    size, unit = _natural(measure, scale)
    natural = "" if unit == "rows" and measure.row_sensitivity == 1 else f" = {_figure(size)} {unit}"
    return [
        moved,
        f"   epsilon {show(share)}: noise of scale {_figure(float(scale))}{natural} on each integer",
        *(noise_of_class(release, index) if release.people is not None else ()),
    ]


def _gaussian(release: PlannedRelease, index: int) -> dict[str, Json]:
    """The facts of Gaussian noise, in the place of a scale."""
    measure, spread = release.measures[index], deviation(release, index)
    size, unit = _natural(measure, Fraction(spread))
    return {
        "noise": "Gaussian",
        "rho": show(release.rhos[index], 12),
        "l2_sensitivity": math.sqrt(release.square(measure)),
        "deviation": spread,
        "natural_deviation": size,
        "natural_unit": unit,
    }


def _natural(measure: AnyMeasure, scale: Fraction) -> tuple[float, str]:
    """A scale in integers as rows, or as units of a sum asked for alone."""
    if measure.degree < 0 and measure.grid is not None and measure.argument is not None:
        return float(scale * measure.grid.step), f"of {words(measure.argument)}"
    return float(scale if isinstance(measure, QuantileTree) else scale / measure.row_sensitivity), "rows"


def _output(release: PlannedRelease, index: int, post: exp.Query) -> DiagramFact:
    aggregate = release.aggregates[index]
    names = shown_as(post, release.name, aggregate_name(index))
    shown = f"{', '.join(names)} = {aggregate.sql}" if names and names != [aggregate.sql] else aggregate.sql
    text = f"{shown} ← measure {aggregate.measure + 1}"
    data: dict[str, Json] = {"columns": list(names), "sql": aggregate.sql, "measure": aggregate.measure + 1}
    spread = _deviation(release, aggregate)
    if spread is not None:
        text += f"; its noise has standard deviation {_figure(spread)}"
        data["standard_deviation"] = spread
    return DiagramFact("output", text, data, many=True)


def _deviation(release: PlannedRelease, aggregate: Aggregate) -> float | None:
    """The standard deviation of the noise of a linear quantity; None where it depends on the data."""
    weights = release.measures[aggregate.measure].weights(aggregate.quantity)
    if weights is None:
        return None
    weights = weights_of_noise(release.measures[aggregate.measure], weights)
    if release.gaussian(aggregate.measure) is not None:
        return math.sqrt(float(weights @ weights)) * deviation(release, aggregate.measure)
    if release.people is not None:
        return math.sqrt(float(weights @ weights) * float(release.people.law.variances[aggregate.measure]))
    law = release.estimated
    scale = law.scales[aggregate.measure] if isinstance(law, LinearLaw) else release.scale(aggregate.measure)
    return math.sqrt((2.0 if law is None else law.variance) * float(weights @ weights)) * float(scale)


def _power(step: Fraction) -> str:
    exponent = step.numerator.bit_length() - step.denominator.bit_length()
    return "1" if exponent == 0 else f"2^{exponent}"


def _figure(number: float) -> str:
    return f"{number:,.0f}" if 1e4 <= number < 1e15 else f"{number:.4g}"


__all__ = ["Explanation", "explain"]
