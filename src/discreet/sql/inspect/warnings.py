"""Warnings of parts of a question that are certain to hurt its answer, from the text and the policy alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from sqlglot import exp

from discreet.engines.schema import Type
from discreet.release.noisy_schema import aggregate_name
from discreet.sql.algebra.narrowing import conjuncts
from discreet.sql.algebra.relation import Relation
from discreet.sql.analyze.false_conditions import against_null, conditions, unlisted, verdict
from discreet.sql.expressions.expression import Call, Expression, leaves
from discreet.sql.functions.casts import NARROW
from discreet.sql.inspect.cut_joins import cut_joins
from discreet.sql.inspect.empty_groups import added_up
from discreet.sql.inspect.quoted_names import quoted_names
from discreet.sql.inspect.wording import ends, value, words
from discreet.sql.plan.plan import PlannedRelease, QueryPlan
from discreet.sql.syntax.once import once

COUNTED = frozenset({"rows", "count", "pairs"})
AVERAGED = frozenset({"avg", "avgx", "avgy", "stddev_pop", "stddev_samp"})
MOMENTS = frozenset({Type.DATE, Type.TIMESTAMP})
MANY_GROUPS = 1000
"""So many values of a key come of a date without bounds, and of no question that somebody meant."""
HINT = "; ask with fewer rows of a unit (max_rows), with coarser groups, or with more epsilon"


def warnings_of(plan: QueryPlan, errors: Mapping[str, float], group_rows: int) -> tuple[str, ...]:
    """Name the bounds that are certain to hurt.

    Privacy: reads the plan only.

    Args:
        plan: of the question.
        errors: half-width of the interval by output column, on groups of `group_rows` rows.
        group_rows: how many rows those groups have.
    """
    found = [*bounds_that_hurt(plan), *cut_joins(plan), *added_up(plan), *quoted_names(plan)]
    return tuple(dict.fromkeys([*found, *_drowned(plan, errors, group_rows)]))


def bounds_that_hurt(plan: QueryPlan) -> tuple[str, ...]:
    """Name the conditions that no row of any data set can pass, and keys and casts that nothing bounds.

    Privacy: reads the plan only.
    """
    return tuple(dict.fromkeys(warning for release in plan.releases for warning in _of_release(release)))


def _of_release(release: PlannedRelease) -> Iterator[str]:
    for part in release.parts:
        yield from _empty(part.rows.relation)
    for key in release.keys:
        free = [leaf for leaf in leaves(key.expression) if leaf.type in MOMENTS and not leaf.span.bounded]
        if key.public and len(key.values) >= MANY_GROUPS and free:
            yield (
                f"a key made of {words(free[0])} has {len(key.values):,} groups, nearly all of them noise, because "
                f"{words(free[0])} has no bounds: declare them in the policy"
            )
    for measure in release.measures:
        for argument in measure.arguments:
            span = argument.span
            if measure.grid is not None and span.bounded and not span.width:
                yield f"{words(argument)} has the bounds {ends(span, argument.type)}, so it is the same for every row"
    read = (*(a for m in release.measures for a in m.arguments), *(key.expression for key in release.keys))
    cases = (call for expression in read for call in _calls(expression) if call.name == "case")
    for condition in conjuncts([case.args[0] for case in cases]):
        if verdict(condition) is False:
            yield f"no row meets {words(condition)}, because values are clamped into their bounds first"
    yield from _of_types(release)


def _empty(relation: Relation) -> Iterator[str]:
    for condition in conditions(relation):
        if verdict(condition) is False:
            yield f"no row passes {words(condition)}, because values are clamped into their bounds first"
        elif against_null(condition):
            yield f"no row passes {words(condition)}, because nothing is equal to NULL or unlike it: write IS NULL"
        elif said := _unlisted(condition):
            yield said


def _of_types(release: PlannedRelease) -> Iterator[str]:
    """Numbers whose only bounds are those of the type that they are cast to, so that noise of that size is added."""
    for measure in release.measures:
        for argument in measure.arguments if measure.grid is not None else ():
            for call in _calls(argument):
                least, greatest, kind = NARROW.get(call.name.removeprefix("to_"), (0, 0, ""))
                whole = call.span.lo == least and call.span.hi == greatest
                if kind and whole and argument.span.bounded and argument.span.width >= greatest - least:
                    (of,) = call.args
                    if isinstance(of, Call) and of.name == "to_integer":
                        (of,) = of.args
                    cast = f"CAST({words(of)} AS {kind})"
                    yield (
                        f"nothing bounds {cast} but its type, and the noise is that of {ends(call.span, call.type)}: "
                        f"write clamp({cast}, lo, hi) with the bounds that you know, such as clamp({cast}, 0, 100)"
                    )


def _calls(expression: Expression) -> Iterator[Call]:
    if isinstance(expression, Call):
        yield expression
        for argument in expression.args:
            yield from _calls(argument)


@once
def _names(post: exp.Query) -> dict[str, str]:
    """The names of the columns of an answer, by their SQL."""
    return {item.unalias().sql(): item.alias_or_name for item in post.selects if not item.unalias().is_star}


def _drowned(plan: QueryPlan, errors: Mapping[str, float], group_rows: int) -> Iterator[str]:
    """Columns whose noise is as large as all that they could say."""
    names = _names(plan.post)
    for release in plan.releases:
        for index, aggregate in enumerate(release.aggregates):
            name = names.get(f"{release.name}.{aggregate_name(index)}", "")
            error = errors.get(name)
            if error is None:
                continue
            arguments = release.measures[aggregate.measure].arguments
            if aggregate.quantity in COUNTED and error >= group_rows:
                yield f"the noise of {name} is as large as a group of {group_rows:,} rows{HINT}"
            elif (
                aggregate.quantity in AVERAGED
                and arguments
                and arguments[aggregate.quantity == "avgy"].span.bounded
            ):
                width = arguments[aggregate.quantity == "avgy"].span.width
                if width and (not math.isfinite(error) or 2 * error >= width):
                    yield f"the noise of {name} is as wide as its bounds, in groups of {group_rows:,} rows{HINT}"


def _unlisted(condition: Expression) -> str:
    """The warning of a comparison with values that are no keys, as misspelt ones are; empty for any other."""
    found = unlisted(condition)
    if found is None:
        return ""
    meant = f": did you mean {value(found.near)}?" if found.near is not None else ", as the policy lists them"
    return f"none of the keys of {words(found.column)} is {' or '.join(map(value, found.asked))}{meant}"
