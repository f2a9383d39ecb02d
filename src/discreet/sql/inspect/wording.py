"""Typed expressions, spans and values written for people, close to the SQL that they were read from.

At the end: the marginals that are measured for tables that are estimated together, how much that saves, and the columns
with Gaussian noise.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.engines.schema import Type
from discreet.rational import show, small
from discreet.sql import functions as fn
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.keys import Key
from discreet.sql.expressions.expression import Call, Column, Expression, Literal
from discreet.sql.expressions.span import EPOCH, MICROSECOND, Span, Value
from discreet.sql.measures.measure import Moments
from discreet.sql.plan.plan import JointWorkload, PlannedRelease, QueryPlan

if TYPE_CHECKING:
    from discreet.sql.inspect.diagram import DiagramFact, Json
    from discreet.sql.plan.workloads.series_law import SeriesLaw

SHOWN_VALUES = 6
"""How many keys are written out before the rest is only counted."""
_IMPLICIT = frozenset({"no_nan", "to_float", "to_integer", "to_timestamp"})
"""Functions that the planner may put in by itself; they are left out where they only change the type."""


def words(expression: Expression) -> str:
    """Write an expression as an analyst would.

    Example:
        >>> from discreet.sql.expressions.span import Span
        >>> age = Column("age", Type.INTEGER, Span())
        >>> words(fn.call("gt", fn.call("add", age, Literal(1, Type.INTEGER)), Literal(65, Type.INTEGER)))
        'age + 1 > 65'
    """
    if isinstance(expression, Column):
        return expression.name
    if isinstance(expression, Literal):
        if isinstance(expression.value, dt.date):
            return f"'{expression.value}'"
        return "NULL" if expression.value is None else value(expression.value)
    args = expression.args
    if expression.name == "case":
        branches = [f"WHEN {words(c)} THEN {words(r)}" for c, r in zip(args[:-1:2], args[1::2], strict=True)]
        last = "" if args[-1] == Literal(None, args[-1].type) else f" ELSE {words(args[-1])}"
        return f"CASE {' '.join(branches)}{last} END"
    if expression.name in ("and", "or"):
        sides = (words(a) if isinstance(a, Call) and a.name == expression.name else _inner(a) for a in args)
        return f" {expression.name.upper()} ".join(sides)
    if expression.name == "in":
        return f"{_inner(args[0])} IN ({', '.join(words(a) for a in args[1:])})"
    if expression.name == "clamp":
        return f"clamp({words(args[0])}, {ends(expression.span, expression.type, ', ')})"
    if expression.name in ("scan", "no_nan") or (
        expression.name in _IMPLICIT and args[0].type in (Type.INTEGER, Type.FLOAT, Type.DATE)
    ):
        return words(args[0])
    if expression.name == "grid":
        return _of_grid(expression)
    if expression.name == "kept_items":
        return f"at most {words(args[1])} of the items of {words(args[0])}"
    if expression.name == "nth_item":
        return "an item"
    lines = fn.TABLE.get(expression.name, [])
    usage = next((line.usage for line in lines if line.usage and len(line.takes) == len(args)), "")
    if not usage:
        name = expression.name.removesuffix("_all")  # concat_all is concat without NULL
        return f"{name}({', '.join(words(a) for a in args)})"
    return _filled(usage, args)


def _of_grid(expression: Call) -> str:
    """A cell of a grid, whose sides are each the text of the whole part of a quotient."""
    sides = []
    for side in expression.args:
        inner: Expression = side
        for name in ("to_text", "floor_whole"):
            inner = inner.args[0] if isinstance(inner, Call) and inner.name == name else inner
        assert isinstance(inner, Call)
        assert inner.name == "divide"
        sides.append([words(argument) for argument in inner.args])
    (x, width), (y, height) = sides
    return f"grid({', '.join([x, y, width] if width == height else [x, y, width, height])})"


def _filled(usage: str, args: Sequence[Expression]) -> str:
    """The usage of a function with its arguments in the places of a, b, … and n."""
    letters = list(dict.fromkeys(re.findall(r"\b[a-z]\b", usage)))
    if len(letters) != len(args):
        return f"{usage} of {', '.join(words(a) for a in args)}"
    called = re.match(r"\w+\(", usage) is not None
    places = dict(zip(letters, args, strict=True))
    return re.sub(r"\b[a-z]\b", lambda m: words(places[m[0]]) if called else _inner(places[m[0]]), usage)


def _inner(expression: Expression) -> str:
    """An operand, in parentheses where it is an operation itself."""
    text = words(expression)
    shown = expression
    while isinstance(shown, Call) and shown.name in _IMPLICIT and len(shown.args) == 1:
        shown = shown.args[0]
    if not isinstance(shown, Call) or re.fullmatch(r"\w+\([^()]*\)|CASE .* END", text):
        return text
    compares = {"eq", "ne", "lt", "le", "gt", "ge", "like", "ilike", "is_null", "in", "add"}
    return text if shown.name in compares else f"({text})"


def value(constant: Value | None) -> str:
    """A public value as SQL shows it.

    Example:
        >>> value("Kent"), value(1_000_000), value(dt.date(2024, 1, 31))
        ("'Kent'", '1000000', '2024-01-31')
    """
    if constant is None:
        return "NULL"
    if isinstance(constant, bool):
        return "TRUE" if constant else "FALSE"
    if isinstance(constant, str):
        return "'" + constant.replace("'", "''") + "'"
    if isinstance(constant, float):
        return f"{constant:g}" if abs(constant) < 1e15 else repr(constant)
    return str(constant)


def values(some: Sequence[Value | None]) -> str:
    """A list of public values, cut short when it is long.

    Example:
        >>> values((1, 2, 3)), values(tuple(range(100)))
        ('1, 2, 3', '0, 1, 2, …, 99')
    """
    if len(some) <= SHOWN_VALUES:
        return ", ".join(value(constant) for constant in some)
    return f"{', '.join(value(constant) for constant in some[:3])}, …, {value(some[-1])}"


def end(place: Fraction, kind: Type) -> str:
    """One end of a span, as a value of its type.

    Example:
        >>> end(Fraction(19753), Type.DATE), end(Fraction(1, 2), Type.FLOAT), end(Fraction(20_000), Type.INTEGER)
        ('2024-01-31', '0.5', '20000')
    """
    try:
        if kind is Type.DATE:
            return (EPOCH + dt.timedelta(days=int(place))).isoformat()
        if kind is Type.TIMESTAMP:
            return (dt.datetime(1970, 1, 1) + MICROSECOND * int(place)).isoformat(sep=" ")
    except OverflowError:
        pass
    return str(place) if place.denominator == 1 and abs(place) < 10**15 else f"{float(place):.6g}"


def ends(span: Span, kind: Type, between: str = " … ") -> str:
    """Both ends of a span; ∞ where there is none."""
    lo = "-∞" if span.lo is None else end(span.lo, kind)
    hi = "∞" if span.hi is None else end(span.hi, kind)
    return f"{lo}{between}{hi}"


def told(plan: QueryPlan) -> tuple[str, ...]:
    """A few lines on each workload of a plan, one on its Gaussian noise, and those on classes of people."""
    from discreet.sql.plan.people.wording import told_of_people

    lines = [line for workload in plan.workloads for line in (_measured(workload), _saved(plan, workload))]
    return (*lines, *_gaussian(plan), *told_of_people(plan))


def _gaussian(plan: QueryPlan) -> list[str]:
    """The line on Gaussian noise: which columns have it, and its price."""
    if not plan.gaussian:
        return []
    from discreet.sql.plan.workloads.linear import LinearLaw

    columns = [
        aggregate.sql for release in plan.releases for aggregate in release.aggregates
        if release.gaussian(aggregate.measure) is not None
        or (isinstance(release.estimated, LinearLaw) and release.estimated.gaussian)
    ]  # fmt: skip
    more = f" and {len(columns) - SHOWN_VALUES} more" if len(columns) > SHOWN_VALUES else ""
    named = ", ".join(columns[:SHOWN_VALUES])
    return [f"{named}{more}: Gaussian noise, which errs less here, for delta {small(plan.gaussian)}"]


def facts_of(plan: QueryPlan) -> list[DiagramFact]:
    """The same as facts of the plan."""
    from discreet.sql.inspect.diagram import DiagramFact

    return [
        DiagramFact(
            "together", f"{_measured(workload)}\n{_saved(plan, workload)}", _data(plan, workload), many=True
        )
        for workload in plan.workloads
    ]


def keys_of(release: PlannedRelease) -> str:
    """The keys of a release in words; a column of which only some values count has its own name."""
    return named_keys(release.keys) or "all rows"


def named_keys(keys: Iterable[Key]) -> str:
    """Some keys in words, as `keys_of` has them."""
    return ", ".join(words(_listed(key.expression)) for key in keys)


def _listed(expression: Expression) -> Expression:
    """The x of CASE WHEN x IN (…) THEN x END, which the planner writes where some values are no keys."""
    if isinstance(expression, Call) and expression.name == "case" and len(expression.args) == 3:
        test, result, other = expression.args
        if isinstance(test, Call) and test.name == "in" and test.args[0] == result == _cut(expression):
            return result if other == Literal(None, other.type) else expression
    return expression


def deviations(release: PlannedRelease) -> tuple[float, float]:
    """The standard deviation of the noise of an estimated table in rows, and that of the table measured apart."""
    from discreet.sql.plan.workloads.estimated import Estimated

    estimated = release.estimated
    assert isinstance(estimated, Estimated)
    unit = float(estimated.scales[0]) / release.measures[0].row_sensitivity
    return unit * math.sqrt(estimated.variance), unit * math.sqrt(2 * estimated.strategy.even)


def errors_of(series: SeriesLaw, release: PlannedRelease) -> list[tuple[str, float, float]]:
    """Of each family of sums its name, and the standard deviation of its noise in rows: measured so, and apart."""
    from discreet.planning.ranges.factors import single
    from discreet.planning.ranges.families import EACH

    unit = float(series.scales[0]) / release.measures[0].row_sensitivity
    alone = single(series.factors.size)
    families = dict.fromkeys((EACH, *series.families))
    return [
        (
            family.words,
            unit * math.sqrt(series.factors.variance(family)),
            unit * math.sqrt(alone.variance(family)),
        )
        for family in families
    ]


def questions_of(plan: QueryPlan, workload: JointWorkload) -> list[tuple[str, float, float]]:
    """Of each table of pieces its rows, and the standard deviation of its noise in rows: measured so, and apart."""
    from discreet.sql.plan.workloads.pieced import Pieced
    from discreet.sql.plan.workloads.places import base_of

    tables = _tables(plan, workload)
    wheres = [base_of(table.parts[0].rows.relation)[1] for table in tables]
    out = []
    for table, where in zip(tables, wheres, strict=True):
        law = table.estimated
        assert isinstance(law, Pieced)
        own = [words(c) for c in where if not all(c in other for other in wheres)]
        named = " AND ".join(own) or "all of them"
        named += f" by {keys_of(table)}" if table.keys else ""
        unit = float(law.scales[0]) / table.measures[0].row_sensitivity
        first = table.measures[0]
        replaced = table.unit_factor > 1 and not table.keys and isinstance(first, Moments)
        alone = first.replacing_sensitivity / (2 * first.row_sensitivity) if replaced else 1.0
        shares = math.sqrt(len(tables)) if law.gaussian else len(tables)  # of rho, or of epsilon
        out.append((named, unit * math.sqrt(law.variance), unit * math.sqrt(2) * shares * alone))
    return out


def _measured(workload: JointWorkload) -> str:
    if workload.pieces is not None:
        from discreet.planning.ranges.pieces import Pieces

        parted = workload.pieces
        domain = workload.finest.keys[len(workload.marginals[0][1].keys) - 1 :]
        along = ", ".join(words(_cut(key.expression)) for key in domain)
        matrix = parted.matrix
        own = f"{matrix.size} piece{'s' * (matrix.size > 1)}"
        if isinstance(matrix, Pieces) and matrix.rows:
            own += f" and {len(matrix.rows)} weighted sums of them"
        if not isinstance(matrix, Pieces):
            own = f"weighted sums of {own}"
        return f"{len(workload.tables)} questions along {along}, estimated from {own}, all consistent"
    if workload.series is not None:
        from discreet.planning.ranges.factors import Factors

        series, axes = workload.series, ks.axes(workload.finest.keys)
        key = words(workload.finest.keys[axes[series.axis][0]].expression)
        if not isinstance(series.factors, Factors):
            return f"sums along {key}, estimated from weighted sums of the groups, all consistent"
        apart = " and ".join(f"{apart}" for apart, _ in series.factors.levels)
        return f"sums along {key}, estimated from each group and smooth windows {apart} groups apart, all consistent"
    tables = len(workload.tables)
    listed = "; ".join(
        f"{keys_of(marginal)}: epsilon {show(marginal.epsilon)}" for _, marginal in workload.marginals
    )
    return f"{tables} tables of the same rows, estimated from marginals: {listed}"


def _cut(expression: Expression) -> Expression:
    """The expression whose intervals a CASE numbers, or whose unlisted values it leaves out."""
    if not isinstance(expression, Call) or expression.name != "case":
        return expression
    test = expression.args[0]
    while isinstance(test, Call) and test.name == "not":
        test = test.args[0]
    return test.args[0] if isinstance(test, Call) else test


def _saved(plan: QueryPlan, workload: JointWorkload) -> str:
    listed = []
    if workload.pieces is not None:
        found = questions_of(plan, workload)
        listed = [f"{name} {own:.3g} instead of {apart:.3g}" for name, own, apart in found[:SHOWN_VALUES]]
        if len(found) > SHOWN_VALUES:
            rest = [own for _, own, _ in found[SHOWN_VALUES:]]
            listed.append(f"{len(rest)} more from {min(rest):.3g} to {max(rest):.3g}")
        return f"standard deviation of the noise, in rows: {'; '.join(listed)}"
    if workload.series is not None:
        for name, own, apart in errors_of(workload.series, workload.finest):
            listed.append(f"{name} {own:.3g} instead of {apart:.3g}")
        return f"standard deviation of the noise, in rows: {'; '.join(listed)}"
    for release in _tables(plan, workload):
        own, apart = deviations(release)
        listed.append(f"{keys_of(release)} {own:.3g} instead of {apart:.3g}")
    return f"standard deviation of the noise, in rows: {'; '.join(listed)}"


def _data(plan: QueryPlan, workload: JointWorkload) -> Json:
    if workload.pieces is not None:
        questions: list[Json] = [
            {"rows": name, "standard_deviation": own, "apart": apart}
            for name, own, apart in questions_of(plan, workload)
        ]
        matrix = workload.pieces.matrix
        return {"pieces": matrix.size, "measured": matrix.nodes, "questions": questions}
    if workload.series is not None:
        from discreet.planning.ranges.factors import WHOLE_WEIGHT, Factors

        factors = workload.series.factors
        levels: list[Json] = [
            {"apart": apart, "weight": weight / WHOLE_WEIGHT}
            for apart, weight in (factors.levels if isinstance(factors, Factors) else ())
        ]
        sums: list[Json] = [
            {"sums": name, "standard_deviation": own, "apart": apart}
            for name, own, apart in errors_of(workload.series, workload.finest)
        ]
        return {"windows": levels, "measured": workload.series.factors.nodes, "sums": sums}
    measured: list[Json] = [
        {"keys": keys_of(marginal), "cells": marginal.cells, "epsilon": show(marginal.epsilon, 12)}
        for _, marginal in workload.marginals
    ]
    tables: list[Json] = [
        {"table": table.name, "keys": keys_of(table), "standard_deviation": own, "apart": apart}
        for table in _tables(plan, workload)
        for own, apart in [deviations(table)]
    ]
    return {"measured": measured, "tables": tables}


def _tables(plan: QueryPlan, workload: JointWorkload) -> list[PlannedRelease]:
    return [release for release in plan.releases if release.name in workload.tables]
