"""Text and policy -> plan. Nothing here touches data, so nothing here can leak it."""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import QueryRefused
from discreet.query.aggregates import aggregate, choose, measure
from discreet.query.catalog import Catalog
from discreet.query.parse import parse
from discreet.query.plan import Part, Plan, ReleasePlan
from discreet.query.scopes import Draft, Splitter


def plan(text: str, catalog: Catalog, epsilon: Fraction) -> Plan:
    """Plan a question.

    Args:
        text: one SELECT in DuckDB's dialect.
        catalog: what it may refer to.
        epsilon: for the whole statement, however many releases and aggregates it has; they share it equally.

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
    releases = tuple(_release(draft, epsilon / len(drafts), catalog.unit_factor) for draft in drafts)
    return Plan(text, statement.sql("duckdb", comments=False), releases, post)


def _release(draft: Draft, epsilon: Fraction, unit_factor: int) -> ReleasePlan:
    choices, answered_by = choose(draft.requests)
    share = epsilon / len(choices)
    part = Part(draft.rows, tuple(key.expression for key in draft.keys), draft.rows.max_rows)
    contribution = Fraction(unit_factor * part.cap) / share
    return ReleasePlan(
        name=draft.name,
        parts=(part,),
        keys=draft.keys,
        measures=tuple(measure(choice, contribution) for choice in choices),
        shares=(share,) * len(choices),
        aggregates=tuple(aggregate(r, at) for r, at in zip(draft.requests, answered_by, strict=True)),
        unit_factor=unit_factor,
    )
