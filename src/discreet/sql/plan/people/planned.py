"""The plan of a question to people who allow different epsilons, and the questions that are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from discreet.errors import QueryRefused
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.personal import Classes, conditions_of
from discreet.sql.expressions.expression import Column
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.measures.measure import Measure
from discreet.sql.measures.moments import JointMoments
from discreet.sql.plan.people.by_class import ByClass
from discreet.sql.plan.plan import MeasuredRows, PlannedRelease, QueryPlan

T = TypeVar("T")
ASK = "Ask for counts, sums, averages and deviations by public keys, which are answered for each class by itself."


def one_by_one(catalog: Catalog, make: Callable[[], T]) -> T:
    """The plan of several questions as one, which is made for people who allow the same alone.

    Raises:
        QueryRefused: they allow different epsilons. Nothing was charged.
    """
    if catalog.personal is not None:
        raise QueryRefused(
            "Several questions as one would be measured together, and people allow different epsilons.",
            "Ask each by itself.",
        )
    return make()


def for_people(plan: QueryPlan, catalog: Catalog) -> QueryPlan:
    """The plan with each class of people counted by itself; the plan itself where everybody allows the same.

    Raises:
        QueryRefused: some numbers of it cannot be added up over classes, or are not of these people. Nothing was
            charged.
    """
    classes = Classes.of(catalog)
    if classes is None or not plan.releases:
        return plan
    if plan.workloads:
        raise QueryRefused(
            "Several tables of the same rows would be measured together, and people allow different epsilons.",
            "Ask for each table in a question of its own; or for the finest, and add its groups up.",
        )
    if plan.gaussian:
        raise QueryRefused(
            "Gaussian noise is not made for people who allow different epsilons.", "Leave out delta."
        )
    return replace(plan, releases=tuple(_by_class(release, classes) for release in plan.releases))


def _by_class(release: PlannedRelease, classes: Classes) -> PlannedRelease:
    if release.discovery is not None:
        raise QueryRefused(
            "The groups of this question must be found, which is not made for people who allow different epsilons.",
            "Declare keys for the columns of GROUP BY, and leave out delta.",
        )
    if release.law is not None or release.times != 1 or release.rhos or release.unit_factor != 1:
        raise QueryRefused("This is not measured for people who allow different epsilons.", ASK)
    for measure in release.measures:
        sums = isinstance(measure, JointMoments) or (type(measure) is Measure and not measure.distinct)
        if (
            not sums
            or isinstance(measure, AllRows)
            or (isinstance(measure, Measure) and measure.sizes is not None)
        ):
            raise QueryRefused(
                f"People allow different epsilons, and {measure.name} do not add up over the classes of people.",
                ASK,
            )
    for part in release.parts:
        _see_people(part, classes)
    possible = tuple(_possible(release, index, classes) for index in range(len(release.measures)))
    scales = tuple(release.scale(index) for index in range(len(release.measures)))
    return replace(release, people=ByClass(classes, possible, scales, _key_of(release, classes)))


def _see_people(part: MeasuredRows, classes: Classes) -> None:
    """See that the classes are those of the units of some rows."""
    for scan in rel.scans(part.rows.relation):
        own = scan.table
        if own.unit_kind != classes.table.unit_kind or (own.unit is None and own != classes.table):
            raise QueryRefused(
                f"The units of {own.name} are not those whose classes {classes.table.name} names.",
                f"Ask about {classes.table.name} and the tables with the same privacy unit.",
            )


def _possible(release: PlannedRelease, index: int, classes: Classes) -> tuple[bool, ...]:
    """By class, whether it can move a measure; where none can, the last one, whose integers are zero then."""
    measure = release.measures[index]
    argument = measure.argument if isinstance(measure, Measure) and not measure.with_null else None
    found = classes.possible(release.parts[measure.part].rows.relation, argument)
    return found if any(found) else (*found[:-1], True)


def _key_of(release: PlannedRelease, classes: Classes) -> int | None:
    """The number of the key that is the class of a person, the same in all parts."""
    for index, key in enumerate(release.keys):
        if key.public and all(
            conditions_of(part.rows.relation, classes.table) is not None
            and isinstance(own := part.keys[index], Column)
            and own.name == classes.column
            for part in release.parts
        ):
            return index
    return None


def of_class(release: PlannedRelease, number: int) -> PlannedRelease:
    """The release over the rows of one class, whose integers the engine counts."""
    assert release.people is not None
    known: dict[int, PlannedRelease] = release.__dict__.setdefault("_of_class", {})
    if number not in known:
        classes = release.people.classes
        parts = tuple(
            replace(part, rows=replace(part.rows, relation=classes.rows(part.rows.relation, number)))
            for part in release.parts
        )
        known[number] = replace(release, parts=parts, people=None)
    return known[number]
