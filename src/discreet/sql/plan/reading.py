"""Reads a statement before epsilon is known: its releases, the measures that answer them, the weights of their shares.

A preview looks at many epsilons, and analysts ask again with another one. So a reading is kept, and the readings of
statements with one template too, as a generic one for all arguments (`generic`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sqlglot import exp

from discreet.engines.sandbox import uncharged
from discreet.errors import QueryRefused
from discreet.records import dataclass, field
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.keys import planned_cells
from discreet.sql.algebra.public_groups import Groups, public_groups
from discreet.sql.analyze.aggregates.aggregate import RequestedAggregate
from discreet.sql.analyze.aggregates.conditioned_bounds import within
from discreet.sql.analyze.classify import unknown_table
from discreet.sql.analyze.release_scope import UnplannedRelease
from discreet.sql.analyze.splitting import Splitter
from discreet.sql.expressions.expression import Expression
from discreet.sql.expressions.span import magnitude_of
from discreet.sql.functions.aggregates import is_of_values
from discreet.sql.functions.names import misspelt
from discreet.sql.plan.generic.generic_reading import GenericReadings
from discreet.sql.plan.shares import weights_of
from discreet.sql.plan.strategies import Chosen, choose, measure
from discreet.sql.plan.unknown_groups import FINDING, answering, once_each
from discreet.sql.syntax.looking import described
from discreet.sql.syntax.parameters.statement_template import StatementTemplate, template_of
from discreet.sql.syntax.parse import parse, spelled

MOST_KNOWN = 64
"""How many readings are kept, and of how many templates."""
LEAST_FINDING = Fraction(1, 4)
"""The least share of the epsilon of a release that goes into finding its groups."""


@dataclass(frozen=True)
class Reading:
    """A statement read with a catalog. Nothing in it is changed afterwards.

    Attributes:
        releases: those that were cut out of it, in the order in which they are made.
        post: the post-processing that is left.
        chosen: for each release its measures.
        weights: for each release those of its sets of alternatives, and behind them that of the counts by which its
            groups are found, if any are; by them the releases share epsilon.
    """

    releases: list[UnplannedRelease]
    post: exp.Query
    chosen: list[Chosen]
    weights: list[list[Fraction]]

    @cached_property
    def memo(self) -> dict[str, Any]:
        """Things that others know of this reading: its generic one."""
        return {}


@dataclass(frozen=True)
class ReadingWay:
    """The choices that a reading depends on, beside its statement.

    Attributes:
        unknown_keys: whether groups may be found whose keys are not public.
        intervals: whether quantiles chosen by rank spend a part of epsilon on theirs.
        before: how many releases other statements have that are answered together with it.
    """

    unknown_keys: bool
    intervals: bool = True
    before: int = 0


@dataclass(frozen=True)
class Readings:
    """Readings of earlier statements with the same catalog.

    Attributes:
        texts: the canonical spelling and the reading of a text.
        templates: the generic readings of statements by their template.
    """

    texts: dict[tuple[str, ReadingWay], tuple[str, Reading]] = field(default_factory=dict)
    templates: dict[tuple[StatementTemplate, ReadingWay], GenericReadings[Reading]] = field(
        default_factory=dict
    )

    def reading(self, text: str, catalog: Catalog, way: ReadingWay) -> tuple[str, Reading]:
        """The canonical spelling and the reading of a statement, looked up or read anew; see `read_statement`."""
        found = self.texts.get((str(text), way))
        if found is None or not isinstance(text, str):
            if len(self.texts) >= MOST_KNOWN:
                self.texts.clear()
            found = self.texts[str(text), way] = read_statement(text, catalog, way, self)
        return found


def read_statement(text: str, catalog: Catalog, way: ReadingWay, known: Readings) -> tuple[str, Reading]:
    """Read a statement: the part of its plan that does not depend on epsilon.

    Args:
        text: one SELECT in DuckDB's dialect.
        catalog: the tables and columns that it may refer to.
        way: the choices that the reading depends on.
        known: of earlier statements, to be looked up and added to.

    Returns:
        The canonical spelling, and the reading.

    Raises:
        QueryRefused: it cannot be answered with a guarantee.
    """
    with uncharged():
        return _read(text, catalog, way, known)


def _read(text: str, catalog: Catalog, way: ReadingWay, known: Readings) -> tuple[str, Reading]:
    found = template_of(text)
    if found is not None:
        template, arguments = found
        if len(known.templates) >= MOST_KNOWN:
            known.templates.clear()
        generic = known.templates.setdefault((template, way), GenericReadings(template))
        with contextlib.suppress(QueryRefused):  # which points into this text only once it is parsed
            reading = generic.reading(arguments, lambda statement, groups: _analyzed(
                text, statement, catalog, way, groups))  # fmt: skip
            if reading is None:
                reading = _analyzed(text, template.with_arguments(arguments)[0], catalog, way)
            return template.spelled(arguments), reading
    statement, canonical = spelled(text)
    return canonical, _analyzed(text, statement, catalog, way)


def _analyzed(
    text: str,
    statement: exp.Query,
    catalog: Catalog,
    way: ReadingWay,
    groups: Groups = public_groups,
) -> Reading:
    splitter = Splitter(text, catalog, way.unknown_keys, way.before, groups)
    table = described(statement)
    if table is not None and table.name.lower() not in {*catalog.private, *catalog.public}:
        raise unknown_table(text, catalog, table)
    post = splitter.split(statement)
    for release in splitter.releases:
        if not release.requests and not release.unknown:
            for node, cause, fix in misspelt(parse(text)):  # the statement is cut by now
                raise splitter.refuse(node, cause, fix)
            raise splitter.refuse(release.place, "This asks for no aggregate, and its groups are public already.",
                                  "Add COUNT(*) AS n to the SELECT list.")  # fmt: skip
    chosen = [choose(release.requests, release.rows.per_unit, way.intervals) for release in splitter.releases]
    weights = [
        _weights(release, selection) for release, selection in zip(splitter.releases, chosen, strict=True)
    ]
    return Reading(splitter.releases, post, chosen, weights)


def within_conditions(reading: Reading, intervals: bool) -> Reading:
    """A reading whose arguments are clamped to the bounds that the conditions of their release set.

    So a template has no generic plan where a parameter bounds a column that is summed: each literal sets bounds.

    Args:
        reading: of a statement.
        intervals: as in `ReadingWay`.

    Raises:
        ValueNeededError: a parameter stands where a literal sets bounds.
    """
    pairs = list(zip(reading.releases, reading.chosen, strict=True))
    chosen = [_within_conditions(release, selection, intervals) for release, selection in pairs]
    if all(new is old for new, old in zip(chosen, reading.chosen, strict=True)):
        return reading
    weights = [
        _weights(release, selection) for release, selection in zip(reading.releases, chosen, strict=True)
    ]
    return Reading(reading.releases, reading.post, chosen, weights)


def _within_conditions(release: UnplannedRelease, chosen: Chosen, intervals: bool) -> Chosen:
    """The measures of a release over narrower arguments; requests that shared a measure still share it."""
    narrower: dict[Expression, Expression] = {}
    for request in chosen.requests:
        for argument in (request.argument, request.other):
            if argument is None or argument in narrower or not argument.span.bounded:
                continue
            if is_of_values(request.quantity):
                found = within(release.rows.relation, argument)
                # A sum by itself has the noise of its largest value; another least one changes nothing.
                alone = request.quantity in ("sum", "distinct_sum")
                if not alone or magnitude_of(found.span) != magnitude_of(argument.span):
                    narrower[argument] = found
    if all(new is old for old, new in narrower.items()):
        return chosen

    def narrowed(argument: Expression | None) -> Expression | None:
        return None if argument is None else narrower.get(argument, argument)

    # A count beside a sum of the same values stays with it: one measure answers both.
    requests = [
        replace(request, argument=narrowed(request.argument), other=narrowed(request.other))
        if request.quantity == "count" or is_of_values(request.quantity)
        else request
        for request in chosen.requests
    ]
    narrow = choose(requests, release.rows.per_unit, intervals)
    return replace(narrow, rewritten=chosen.rewritten or narrow.rewritten)


def with_limits(reading: Reading, per_group: Callable[[UnplannedRelease], int | None]) -> Reading:
    """A reading whose measures know how many rows of a unit are kept in one group of each release."""
    chosen = [
        once_each(selection, release, per_group(release))
        for release, selection in zip(reading.releases, reading.chosen, strict=True)
    ]
    if all(new is old for new, old in zip(chosen, reading.chosen, strict=True)):
        return reading
    weights = [
        _weights(release, selection) for release, selection in zip(reading.releases, chosen, strict=True)
    ]
    return Reading(reading.releases, reading.post, chosen, weights)


def _weights(release: UnplannedRelease, chosen: Chosen) -> list[Fraction]:
    """The weights of the sets of measures, and behind them that of the counts by which groups are found, if any are."""
    measures = [measure(c, Fraction(1), 0, planned_cells(release.keys)) for c in chosen.choices]
    weights = weights_of(measures, chosen.requests, chosen.answered_by, chosen.sets)
    if not release.unknown:
        return weights
    number = answering(chosen.choices, release.keys, release.rows.per_unit)
    index = len(weights) if number is None else chosen.sets[number]
    if number is None:
        weights += weights_of(
            [measure(FINDING, Fraction(1), 0, 1)], [RequestedAggregate("units", None, "")], [0], [0]
        )
    # A group not found has no other answers at all, so a costly column such as a median must not starve the search.
    rest = sum(weights, Fraction(0)) - weights[index]
    weights[index] = max(weights[index], rest * LEAST_FINDING / (1 - LEAST_FINDING))
    return weights
