"""The plan of a question to people who allow different epsilons, and the questions that are refused."""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import QueryRefused
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.personal import Classes, conditions_of
from discreet.sql.dialects import named
from discreet.sql.expressions.expression import Column
from discreet.sql.measures.measure import Moments
from discreet.sql.measures.moments import JointMoments
from discreet.sql.measures.quantile_tree import QuantileTree
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.people.by_class import ByClass
from discreet.sql.plan.people.sampled import UNIT_KINDS
from discreet.sql.plan.plan import MeasuredRows, PlannedRelease, QueryPlan

ASK = "Ask for counts, sums, averages, deviations and quantiles by public keys."


def see_same_for_all(catalog: Catalog) -> None:
    """See that people allow the same epsilon, as several questions that are asked as one need it.

    Raises:
        QueryRefused: they allow different ones. Nothing was charged.
    """
    if catalog.personal is not None:
        raise QueryRefused(
            "Several questions as one would be measured together, and people allow different epsilons.",
            "Ask each by itself.",
        )


def for_people(plan: QueryPlan, catalog: Catalog, dialect: str) -> QueryPlan:
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
    if plan.gaussian or plan.cut_off:
        cause = "Gaussian noise" if plan.gaussian else "A measurement of how much was cut off"
        fix = "Leave out delta." if plan.gaussian else "Leave out diagnose."
        raise QueryRefused(f"{cause} is not made for people who allow different epsilons.", fix)
    return replace(plan, releases=tuple(_by_class(release, classes, dialect) for release in plan.releases))


def _by_class(release: PlannedRelease, classes: Classes, dialect: str) -> PlannedRelease:
    if release.discovery is not None:
        raise QueryRefused(
            "The groups of this question must be found, which is not made for people who allow different epsilons.",
            "Declare keys for the columns of GROUP BY, and leave out delta.",
        )
    if release.law is not None or release.times != 1 or release.rhos or release.unit_factor != 1:
        raise QueryRefused("This is not measured for people who allow different epsilons.", ASK)
    for index, measure in enumerate(release.measures):
        if isinstance(measure, Ranks | QuantileTree):
            _see_sampled(release, index, classes, dialect)
        elif not isinstance(measure, JointMoments) and (
            type(measure) is not Moments or measure.distinct or measure.sizes
        ):
            raise QueryRefused(
                "People allow different epsilons, and numbers of distinct values do not add up over their classes.",
                ASK,
            )
    for part in release.parts:
        _see_people(part, classes)
    sampled = frozenset(
        index for index, measure in enumerate(release.measures) if isinstance(measure, Ranks | QuantileTree)
    )
    possible = tuple(_possible(release, index, classes) for index in range(len(release.measures)))
    scales = tuple(release.scale(index) for index in range(len(release.measures)))
    return replace(release, people=ByClass(classes, possible, scales, sampled, _key_of(release, classes)))


def _see_sampled(release: PlannedRelease, index: int, classes: Classes, dialect: str) -> None:
    """See that a measure can be taken of a sample of the people."""
    if classes.table.unit_kind not in UNIT_KINDS:
        raise QueryRefused(
            "People allow different epsilons, so that quantiles are taken of a sample of them, and nothing tells "
            "these people apart that every engine writes alike.",
            "Name people in the data by a whole number or a text, or ask for averages.",
        )
    if named(dialect).keyed_hash is None:
        raise QueryRefused(
            "People allow different epsilons, so that quantiles are taken of a sample of them, for which this engine "
            "has no keyed hash.",
            "Ask for averages and deviations.",
        )
    if len(release.beside(index)) > 1:
        raise QueryRefused("These quantiles are alternatives, which are not taken of a sample.",
                           "Ask for each in a question of its own.")  # fmt: skip


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
    argument = measure.argument if isinstance(measure, Moments) and not measure.with_null else None
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
    known: dict[int, PlannedRelease] = release.memo.setdefault("of class", {})
    if number not in known:
        classes = release.people.classes
        parts = tuple(
            replace(part, rows=replace(part.rows, relation=classes.rows(part.rows.relation, number)))
            for part in release.parts
        )
        known[number] = replace(release, parts=parts, people=None)
    return known[number]
