"""Text and policy -> plan. Nothing here touches data, so nothing here can leak it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import QueryRefused
from discreet.query import relation as rel
from discreet.query.aggregates import Choice, aggregate, choose, measure
from discreet.query.catalog import Catalog
from discreet.query.expression import Column, Expression
from discreet.query.functions import call
from discreet.query.keys import cells
from discreet.query.parse import parse
from discreet.query.plan import AnyMeasure, Part, Plan, ReleasePlan
from discreet.query.relation import Rows
from discreet.query.release_scope import Draft
from discreet.query.scopes import Splitter
from discreet.query.shares import shares_of, weights_of


@dataclass(frozen=True)
class Limits:
    """How much of one unit counts in this question; None leaves it to the policy.

    Attributes:
        max_rows: rows of a unit that are kept.
        max_groups: groups of a unit in which it is counted by COUNT(DISTINCT unit).
    """

    max_rows: int | None = None
    max_groups: int | None = None


NO_LIMITS = Limits()


def plan(text: str, catalog: Catalog, epsilon: Fraction, limits: Limits = NO_LIMITS) -> Plan:
    """Plan a question.

    Args:
        text: one SELECT in DuckDB's dialect.
        catalog: what it may refer to.
        epsilon: for the whole statement, however many releases and aggregates it has; `shares` says how they share
            it.
        limits: how much of one unit counts.

    Raises:
        QueryRefused: it cannot be answered with a guarantee.
    """
    statement = parse(text)
    splitter = Splitter(text, catalog)
    post = splitter.split(statement)
    drafts = splitter.drafts
    for draft in drafts:
        if not draft.requests:
            raise QueryRefused("This GROUP BY asks for no aggregate, and its groups are public already.",
                               "Add COUNT(*), or read the keys from the policy.")  # fmt: skip
    chosen = [choose(draft.requests) for draft in drafts]
    weights = [
        weights_of(
            [measure(c, Fraction(1), 0, cells(draft.keys)) for c in choices], draft.requests, answered_by
        )
        for draft, (choices, answered_by) in zip(drafts, chosen, strict=True)
    ]
    releases = tuple(
        _release(draft, *one, shares, catalog.unit_factor, limits)
        for draft, one, shares in zip(drafts, chosen, shares_of(epsilon, weights), strict=True)
    )
    canonical = f"{statement.sql('duckdb', comments=False)} {limits}"
    return Plan(text, canonical, releases, post)


def _release(
    draft: Draft,
    choices: list[Choice],
    answered_by: list[int],
    shares: tuple[Fraction, ...],
    unit_factor: int,
    limits: Limits,
) -> ReleasePlan:
    parts: list[Part] = []
    shared: dict[int, Part] = {}  # a tree is alone in its part: its query counts by leaf, not only by group
    measures: list[AnyMeasure] = []
    for choice, share in zip(choices, shares, strict=True):
        part = _part(draft, choice, limits)
        at = next((at for at, one in shared.items() if one == part), len(parts))
        if choice.counts == "tree" or at == len(parts):
            at = len(parts)
            parts.append(part)
            if choice.counts != "tree":
                shared[at] = part
        contribution = Fraction(unit_factor * part.cap) / share
        measures.append(measure(choice, contribution, at, cells(draft.keys)))
    return ReleasePlan(
        name=draft.name,
        parts=tuple(parts),
        keys=draft.keys,
        measures=tuple(measures),
        shares=shares,
        aggregates=tuple(aggregate(r, at) for r, at in zip(draft.requests, answered_by, strict=True)),
        unit_factor=unit_factor,
    )


def _part(draft: Draft, choice: Choice, limits: Limits) -> Part:
    """The rows that a measure is taken over, and how many of one unit count."""
    rows = draft.rows
    keys = tuple(key.expression for key in draft.keys)
    cap = rows.max_rows
    if limits.max_rows is not None and rows.per_unit and not rows.fixed:
        cap = limits.max_rows
    if choice.counts != "units":
        return Part(rows, keys, cap)
    # Each unit once in each of its groups; it has no more groups than rows.
    some = choice.argument
    where = None if some is None else call("not", _is_null(some))
    items = tuple((f"k{at}", key) for at, key in enumerate(keys))
    once = rel.PerUnit(rel.Select(rows.relation, items, where) if items or where else rows.relation,
                       tuple((name, Column(name, key.type, key.span)) for name, key in items), ())  # fmt: skip
    columns = {name: Column(name, key.type, key.span) for name, key in items}
    groups = 1 if not keys else limits.max_groups or (1 if rows.fixed and rows.max_rows == 1 else cap)
    counted = Rows(once, columns, tuple(columns), True, groups, frozenset(), not keys)
    return Part(counted, tuple(columns.values()), groups)


def _is_null(expression: Expression) -> Expression:
    result = call("is_null", expression)
    assert result is not None
    return result
