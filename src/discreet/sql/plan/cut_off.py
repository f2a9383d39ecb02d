"""Measuring how much of the data the caps and bounds of a question cut off, for a share of its epsilon.

Rows beyond `max_rows`. How many rows of a unit are dropped has no bound, so no noise could hide it. So each unit is one
row, with its number of rows r, of which at most `REACH` times max_rows count:

    kept = min(r, max_rows)        dropped = min(max(r - max_rows, 0), (REACH - 1) max_rows)

Both are sums of one value for each unit, clamped in SQL where they are summed: a unit moves them by max_rows and by
(REACH - 1) max_rows, or by as much when it is replaced. They share the epsilon in that proportion, and the share of
dropped rows is their ratio, whose interval is that of every ratio. Rows beyond `REACH` times max_rows are not in it, so
it is a lower bound where units have so many; the words of an answer say so.

Clamped values. The rows are those of the question, capped alike, and the measure is the mean of a value that is 1 where
the stored value lies outside the bounds, 0 where it does not and NULL where it is NULL.

Text and policy decide which of these are measured. Each is a release of its own, with one group, charged with the
question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.engines.schema import Type
from discreet.errors import InvalidParameter
from discreet.records import dataclass
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.keys import Key
from discreet.sql.algebra.relation import PrivateRows, raw_column
from discreet.sql.expressions.expression import Call, Column, Expression, Literal, leaves
from discreet.sql.expressions.span import Span
from discreet.sql.functions.apply import call, case, must, one_of
from discreet.sql.measures.measure import Moments, grid_of
from discreet.sql.plan.plan import Aggregate, CutOff, MeasuredRows, PlannedRelease, QueryPlan

REACH = 4
"""Rows of a unit are counted up to so many times `max_rows`."""
MOST_LISTED = 1000
"""Keys with more values than this do not narrow the rows that are counted."""
ROWS, GROUPS, VALUES = "rows", "groups", "values"
ONE, ZERO = Literal(1, Type.INTEGER), Literal(0, Type.INTEGER)


@dataclass(frozen=True)
class _Subject:
    """Rows that a cap drops, or values of a column that bounds clamp."""

    kind: str
    name: str
    part: MeasuredRows


def diagnosed(plan: QueryPlan, epsilon: Fraction) -> QueryPlan:
    """The plan with measurements, for an epsilon, of all that its caps and bounds may cut off.

    Raises:
        InvalidParameter: they can cut off nothing that can be measured.
    """
    if not plan.releases:
        return plan
    found = cut_off(plan.releases, epsilon)
    if not found:
        raise InvalidParameter(
            "No cap drops rows of this question, and it reads no stored column with bounds: diagnose would "
            "measure nothing.",
            "Leave diagnose out.",
        )
    return replace(plan, cut_off=found)


def cut_off(releases: Sequence[PlannedRelease], epsilon: Fraction) -> tuple[CutOff, ...]:
    """The measurements of all that caps and bounds may cut off in a question; none where they cannot bite.

    Args:
        releases: of the question.
        epsilon: for all of them together, in equal shares.

    Raises:
        InvalidParameter: rows are dropped that are too many for their group, which is not measured.
    """
    if any(part.drops_in_groups for release in releases for part in release.parts):
        raise InvalidParameter(
            "diagnose cannot measure how much max_rows_per_group cuts off.",
            "Leave diagnose out, or ask with max_rows_per_group as large as max_rows.",
        )
    subjects: list[_Subject] = []
    for release in releases:
        for found in _subjects(release):
            if found not in subjects:
                subjects.append(found)
    return tuple(
        _measured(subject, f"cut_off{number}", epsilon / len(subjects), releases[0].unit_factor)
        for number, subject in enumerate(subjects)
    )


def _subjects(release: PlannedRelease) -> Iterator[_Subject]:
    for number, part in enumerate(release.parts):
        own = MeasuredRows(part.among or _narrowed(part.rows, part.keys, release.keys), (), part.cap)
        groups = _groups_of_units(part.rows)
        every = groups and release.discovery is None and part.cap >= release.cells
        if part.rows.per_unit and not part.rows.fixed and not every:
            yield _Subject(GROUPS if groups else ROWS, "max_groups" if groups else "max_rows", own)
        read = [
            leaf
            for measure in release.measures
            if measure.part == number
            for argument in measure.arguments
            for leaf in leaves(argument)
        ]
        for column in dict.fromkeys(read):
            if _clamped(own.rows, column) is not None:
                yield _Subject(VALUES, column.name, own)


def _groups_of_units(rows: PrivateRows) -> bool:
    """Whether the rows are the groups of units, made to count each unit once in each."""
    return isinstance(rows.relation, rel.PerUnit) and not rows.relation.aggregates


def _narrowed(rows: PrivateRows, keys: Sequence[Expression], listed: Sequence[Key]) -> PrivateRows:
    """The rows that are in a group which is answered."""
    for expression, key in zip(keys, listed, strict=False):
        kept: Expression | None = call("not", must("is_null", expression))
        if key.public:
            if len(key.values) > MOST_LISTED:
                continue
            kept = one_of(expression, key.values)
        rows = rel.select(rows, None, kept)
    return rows


def _clamped(rows: PrivateRows, column: Column) -> Expression | None:
    """Whether the stored value behind a column lies outside its bounds, as 1, 0 or NULL; None where none is read."""
    raw = raw_column(rows.relation, column)
    scans = rel.scans(rows.relation)
    if raw == column or column.type not in (Type.INTEGER, Type.FLOAT) or len(scans) != 1:
        return None
    scan = scans[0].table.columns[column.name].scan
    if not isinstance(scan, Call) or len(scan.args) != 3:
        return None
    _, least, most = scan.args
    below, above = call("lt", raw, least), call("gt", raw, most)
    outside = None if below is None or above is None else call("or", below, above)
    if outside is None:
        return None
    return case([(must("is_null", column), Literal(None, Type.INTEGER)), (outside, ONE)], ZERO)


def _measured(subject: _Subject, name: str, epsilon: Fraction, unit_factor: int) -> CutOff:
    """The release that measures one of them."""
    part, cap = subject.part, subject.part.cap
    sql = f"share cut off by {subject.name}"
    shares: tuple[Fraction, ...] = (epsilon,)
    if subject.kind == VALUES:
        column = rel.scans(part.rows.relation)[0].table.columns[subject.name]
        outside = _clamped(part.rows, Column(subject.name, column.type, column.scan.span))
        assert outside is not None
        measured = [(outside, 1)]
        aggregates = [Aggregate(0, "avg", False, sql)]
        shown = column.name
    else:
        part = _units(part.rows)
        shares = (epsilon / REACH, epsilon * (REACH - 1) / REACH)
        counted = part.rows.columns["r"]
        beyond = call("subtract", counted, Literal(cap, Type.INTEGER))
        assert beyond is not None
        measured = [(_within(counted, cap), -1), (_within(beyond, (REACH - 1) * cap), -1)]
        aggregates = [Aggregate(index, "sum", True, sql) for index in range(2)]
        shown = f"{subject.name} = {cap:,}"
    measures = tuple(
        Moments(degree, argument, grid_of(argument, degree, unit_factor * part.cap / share), False)
        for (argument, degree), share in zip(measured, shares, strict=True)
    )
    sets = tuple(range(len(measures)))
    plan = PlannedRelease(name, (part,), (), measures, shares, tuple(aggregates), unit_factor, None, sets)
    return CutOff(subject.kind, shown, plan, REACH * cap)


def _within(argument: Expression, most: int) -> Expression:
    """A number of rows that the measure clamps to 0 and a bound."""
    assert not isinstance(argument, Literal)
    return replace(argument, span=Span(Fraction(0), Fraction(most), nullable=False))


def _units(rows: PrivateRows) -> MeasuredRows:
    """One row for each unit, with the number of its rows."""
    every = Span(Fraction(1), None, nullable=False)
    once = rel.PerUnit(rows.relation, (), (("r", rel.UnitAggregate("COUNT(*)", None)),))
    columns = {"r": Column("r", Type.INTEGER, every)}
    return MeasuredRows(PrivateRows(once, columns, ("r",), True, 1, frozenset(), True), (), 1)
