"""The declarations of a stream, read by a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from discreet.accounting.events import neighbours_of
from discreet.errors import InvalidParameter, PolicyError
from discreet.policy.problems import instead
from discreet.records import dataclass
from discreet.release.guarantee import ROW
from discreet.streams.choice import named, noises, ranked
from discreet.streams.doubling import UNBOUNDED
from discreet.streams.measure import STEPS, Measure
from discreet.streams.periods import Periods
from discreet.streams.spec import StreamSpec

if TYPE_CHECKING:
    import datetime as dt

    from discreet.policy import Policy

_COARSEST: Final = 6


@dataclass(frozen=True)
class StreamQuestion:
    """A question for a stream.

    Attributes:
        time: the column with the time of a row.
        start: of the first period, in UTC.
        every: the length of a period.
        periods: how many there are; None where no last one is known.
        epsilon: of the whole stream.
        delta: that the whole stream may spend; above zero its noise is Gaussian where that errs less.
        name: of the stream; empty for that of the table.
        group: a column with public keys.
        count: whether rows are counted.
        sums: bounded columns that are added up.
        means: bounded columns of which the mean is wanted.
        window: totals are of so many periods; 0 for all so far.
        method: the name of a strategy; empty for the one with the least predicted error.
        polled: whether rows are read from a table when periods have ended; else they come by themselves.
    """

    time: str
    start: dt.datetime
    every: str
    periods: int | None
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    name: str = ""
    group: str | None = None
    count: bool = True
    sums: tuple[str, ...] = ()
    means: tuple[str, ...] = ()
    window: int = 0
    method: str = ""
    polled: bool = False


def declared(policy: Policy, table: str, asked: StreamQuestion) -> StreamSpec:
    """Read the declarations of a stream by a policy.

    Args:
        policy: of the steward.
        table: a private one.
        asked: the question.

    Raises:
        PolicyError: the table is not private, or a column has no keys or bounds.
        InvalidParameter: no strategy has this name, or it is not for so many periods; or the noise would be too wide.
    """
    found = policy.tables.get(table)
    if found is None or found.public:
        private = [name for name, entry in policy.tables.items() if not entry.public]
        raise PolicyError(
            "The policy declares no private table of this name.",
            instead(table, private),
            key=f"tables.{table}",
        )
    if not (asked.count or asked.sums or asked.means):
        raise PolicyError("The stream has nothing to add up.", "Ask for a count, a sum or a mean.")
    if found.through:
        raise PolicyError(
            "The unit of this table stands in another table, which a stream does not see.",
            "Name a column of the rows themselves.",
            key=f"tables.{table}.privacy_unit",
        )
    name = asked.name or table
    if Path(name).name != name:
        raise PolicyError("The name of the stream is no name of a file.", "Choose a plain one.", key="name")
    if asked.window < 0 or asked.window > (asked.periods or UNBOUNDED):
        raise InvalidParameter("The window is longer than the stream.", "Give fewer periods, or 0 for all.")
    event = found.privacy_unit == ROW
    rows = 1 if event else int(found.max_rows or 1)
    neighbours = neighbours_of(policy.neighbours)
    columns: Mapping[str, object] = found.columns
    periods = Periods(asked.start, asked.every, asked.periods or UNBOUNDED)
    measures = _measures(columns, table, asked)
    many = rows, neighbours, asked.delta, asked.window, len(measures)
    if asked.method:
        named(asked.method, periods.count, False, asked.window)  # raises where there is none
        methods = noises(asked.method, periods.count, asked.epsilon, *many)
    else:
        methods = ranked(asked.periods, asked.epsilon, *many)
    spec = StreamSpec(
        name, table, None if event else str(found.privacy_unit), rows, neighbours, asked.time, periods,
        asked.group, _keys(columns, table, asked.group), measures, methods[0][0], asked.epsilon, asked.delta,
        asked.window, asked.periods is None, asked.polled,
    )  # fmt: skip
    return _drawable(spec, methods)


def _drawable(spec: StreamSpec, methods: Sequence[tuple[str, bool]]) -> StreamSpec:
    """The stream by the first of some methods, on the finest grid, whose noise can be drawn.

    Where the noise of the method is no Gaussian, the stream spends no delta.

    Raises:
        InvalidParameter: there is none.
    """
    for method, gaussian in methods:
        delta = spec.delta if gaussian else Fraction(0)
        for bits in range(STEPS, _COARSEST, -2):
            measures = tuple(replace(measure, bits=bits) for measure in spec.measures)
            made = replace(spec, measures=measures, method=method, delta=delta)
            try:
                for measure in made.measures:
                    made.mechanism(measure)
            except InvalidParameter:
                continue
            return made
    raise InvalidParameter(
        "The noise of this stream cannot be drawn: it is too wide, or too narrow.",
        "Take fewer rows of a unit, another epsilon, or the method tree.",
    )


def _unfit(
    name: str, columns: Mapping[str, object], known: Sequence[str], lack: str, line: str
) -> tuple[str, str]:
    """Cause and fix for a column that the policy has not, or without the line that a stream needs of it."""
    if name in columns:
        return f"The column {name} {lack}.", f"Write {line}."
    listed = f"{instead(name, known)} Or declare" if known else "Declare"
    return f"The policy declares no column {name} of this table.", f"{listed} it, with {line}."


def _bounds(columns: Mapping[str, object], name: str) -> tuple[Fraction, Fraction] | None:
    """The bounds of a column of numbers."""
    found = getattr(columns.get(name), "bounds", None)
    return found if found is not None and all(isinstance(end, Fraction) for end in found) else None


def _keys(columns: Mapping[str, object], table: str, group: str | None) -> tuple[str, ...]:
    if group is None:
        return ("",)
    found = getattr(columns.get(group), "keys", None)
    if not isinstance(found, tuple):
        known = [name for name, column in columns.items() if isinstance(getattr(column, "keys", None), tuple)]
        raise PolicyError(
            *_unfit(group, columns, known, "has no list of public keys", 'keys = ["A", "B"]'),
            key=f"tables.{table}.columns.{group}",
        )
    return tuple(map(str, found))


def _measures(columns: Mapping[str, object], table: str, asked: StreamQuestion) -> tuple[Measure, ...]:
    out = [Measure()] * asked.count
    for mean, names in ((False, asked.sums), (True, asked.means)):
        for column in names:
            bounds = _bounds(columns, column)
            if bounds is None:
                known = [name for name in columns if _bounds(columns, name) is not None]
                raise PolicyError(
                    *_unfit(column, columns, known, "has no bounds that are numbers", "bounds = [0, 100]"),
                    key=f"tables.{table}.columns.{column}",
                )
            out.append(Measure(f"{'mean' if mean else 'sum'}_{column}", column, bounds[0], bounds[1], mean))
    return tuple(out)
