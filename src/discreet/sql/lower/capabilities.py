"""Which functions a plan uses that an engine says it lacks: known before anything is charged."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from discreet.engines.capabilities import BESIDE, MANY_WAYS, NESTED
from discreet.sql.algebra import relation as rel
from discreet.sql.expressions.expression import Call, Expression, Literal
from discreet.sql.functions.regular.backtracking import possible
from discreet.sql.plan.plan import PlannedRelease


def lacking(release: PlannedRelease, lacks: Collection[str]) -> str:
    """The first function of a release that is among those lacking; empty when there is none."""
    if not lacks:
        return ""
    return next(
        (name for expression in _expressions(release) for name in _calls(expression, lacks) if name in lacks),
        "",
    )


def refused_there(name: str) -> tuple[str, str]:
    """Cause and fix of the refusal of a function that an engine lacks."""
    if name.endswith(MANY_WAYS):
        function = name.removesuffix(MANY_WAYS)
        return (
            f"{function} of this pattern is not possible on this engine: a long text could hold the question up.",
            "Let no repetition take the characters before or behind it, as in '^[^-]*-' or '<[^<>]*>', repeat no group "
            "without end, use split_part, or copy the data into DuckDB.",
        )
    if name.startswith("regexp_"):
        why = "it finds or replaces another place than others do"
        fix = (
            "Use split_part, substring or regexp_matches of a simpler pattern, or copy the data into DuckDB."
        )
        return f"{name} is not possible on this engine: {why}.", fix
    if name in BESIDE:
        fix = "Write grid(lng, lat, 0.05), which every engine computes, or copy the data into DuckDB."
        return f"{name} is not possible on this engine: a library of Python computes it.", fix
    if name not in NESTED:
        return f"{name} is not possible on this engine.", "Write it without, or copy the data into DuckDB."
    why = (
        "there a text that is no JSON is an error, which would tell that a row has it"
        if name == "json_text"
        else ""
    )
    read = "A field of a JSON text" if why else "A list"
    fix = "Ask the steward for a view in the source that makes columns of it, or copy the data into DuckDB."
    return f"{read} cannot be read on this engine{f': {why}' if why else ''}.", fix


def _calls(expression: Expression, lacks: Collection[str]) -> Iterator[str]:
    if isinstance(expression, Call):
        yield expression.name
        if f"{expression.name}{MANY_WAYS}" in lacks and not _possible(expression):
            yield f"{expression.name}{MANY_WAYS}"
        for arg in expression.args:
            yield from _calls(arg, lacks)


def _possible(call: Call) -> bool:
    pattern = call.args[1]
    return isinstance(pattern, Literal) and possible(call.name, str(pattern.value))


def _expressions(release: PlannedRelease) -> Iterator[Expression]:
    for measure in release.measures:
        yield from measure.arguments
    for part in release.parts:
        yield from part.keys
        yield from _of_relation(part.rows.relation)


def _of_relation(relation: rel.Relation) -> Iterator[Expression]:
    if isinstance(relation, rel.Scan):
        return
    if isinstance(relation, rel.Select):
        yield from (item for _, item in relation.items or ())
    if isinstance(relation, rel.PerUnit):
        yield from (item for _, item in relation.keys)
        yield from (arg for _, a in relation.aggregates for arg in a.args)
    if isinstance(relation, rel.Windowed):
        for _, window in relation.windows:
            yield from (*window.args, *window.partition, *(e for e, _ in window.order))
    condition = relation.where if isinstance(relation, rel.Select) else getattr(relation, "on", None)
    if condition is not None:
        yield condition
    for part in rel.parts(relation):
        yield from _of_relation(part)
