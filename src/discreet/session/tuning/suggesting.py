"""Private estimates of bounds, `max_rows` and `max_groups`, as a draft of the policy.

All of them are one workload of ordinary questions, charged together; the draft is made of its answers alone.

Two things are counted between powers of two: the values of a column, of both signs, one row of each unit; and the units
by their number of rows, or of groups. A count that the noise alone could have made, with a chance of `CHANCE` over all
counts of an answer, is taken for 0; so a few units with very large values or very many rows are not seen, and say
nothing. The bounds are the outer ends of the intervals that are left, once those at the ends are taken away that hold
at most `OUTSIDE` of the values together. The cap is the least power of two beyond which at most `TAIL` of the rows lie,
each unit taken to have three quarters of the upper end of its interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.engines.schema import Type
from discreet.errors import InvalidParameter
from discreet.escaping import name as one_line
from discreet.policy import Policy, toml
from discreet.quoting import quote
from discreet.rational import Number, show
from discreet.records import dataclass
from discreet.session.asking import asked
from discreet.session.parameters import GROUP_ROWS
from discreet.session.question import SessionQuestion
from discreet.session.synthesis.synthesizing import SyntheticSession
from discreet.session.workloads import Answers

if TYPE_CHECKING:
    from discreet.release.answer import Release
    from discreet.sql.algebra.catalog import PrivateTable

EDGES = (*(-(2.0**k) for k in range(36, -5, -1)), 0.0, *(2.0**k for k in range(-4, 37)))
"""The ends of the intervals of values: 0 and powers of two from 1/16 to 2^36, of both signs."""
CAPS = tuple(2**k for k in range(17))
"""The caps that are compared; units with more rows than the last are of one kind."""
OUTSIDE = 0.005
"""The share of the values beyond either bound."""
TAIL, CHANCE = 0.05, 0.05


@dataclass(frozen=True)
class Cap:
    """A cap that could be chosen.

    Attributes:
        most: rows, or groups, of a unit.
        dropped: about which share of them would be dropped.
        errors: by question and column the error of the noise, where questions were named.
    """

    most: int
    dropped: float
    errors: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, repr=False)
class Suggestion:
    """Estimated bounds and caps of a table.

    Privacy: as the answers that it was made of; see `answers`.

    Attributes:
        table: its name.
        bounds: by column; a column is missing where the noise hides all of its values.
        max_rows: the suggested cap; None where each row is one unit, or where the noise hides all units.
        max_groups: suggested caps by the column of the groups; a question takes one, and the policy has none.
        caps: all caps that were compared, for `max_rows`.
        policy: the draft.
        answers: the noisy numbers behind it, with their cost.
    """

    table: str
    bounds: Mapping[str, tuple[float, float]]
    max_rows: int | None
    max_groups: Mapping[str, int]
    caps: tuple[Cap, ...]
    policy: Policy
    answers: Answers

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss of all of it."""
        return self.answers.epsilon

    def to_toml(self) -> str:
        """The draft of the policy, with the estimates in place of its own numbers."""
        said = [
            f"# A draft: bounds and caps of {one_line(self.table)} were estimated for epsilon {show(self.epsilon)}."
        ]
        said += [f"# max_groups = {cap} for counts of units by {one_line(column)}" for column, cap in
                 self.max_groups.items()]  # fmt: skip
        return "\n".join([*said, self.policy.to_toml()])

    def to_dict(self) -> dict[str, Any]:
        """The estimates as JSON."""
        return {
            "table": self.table, "epsilon": show(self.epsilon, 12),
            "bounds": {name: list(ends) for name, ends in self.bounds.items()},
            "max_rows": self.max_rows, "max_groups": dict(self.max_groups),
            "caps": [{"max_rows": cap.most, "dropped": cap.dropped, "errors": _plain(cap.errors)}
                     for cap in self.caps],
        }  # fmt: skip

    @property
    def _columns(self) -> Mapping[str, Any]:
        """The columns of the table in the draft."""
        return next(
            own.columns for name, own in self.policy.tables.items() if name.lower() == self.table.lower()
        )

    def __repr__(self) -> str:
        declared = {name.lower(): rule for name, rule in self._columns.items()}
        lines = [
            one_line(f"{toml.key(column)} = {{ bounds = {toml.value(declared[column.lower()].bounds)} }}")
            for column in self.bounds
        ]
        if self.max_rows is not None:
            lines.append(f"max_rows = {self.max_rows:,}")
        for cap in self.caps:
            errors = [
                f"{name} {column} ± {error:,.4g}"
                for name, of in cap.errors.items()
                for column, error in of.items()
            ]
            lines.append(
                " · ".join([f"  max_rows {cap.most:,}: about {cap.dropped:.0%} of the rows dropped", *errors])
            )
        lines += [f"{one_line(column)}: max_groups = {cap:,}" for column, cap in self.max_groups.items()]
        cost = "free: asked before" if self.answers.replayed else f"epsilon {show(self.epsilon)}"
        return "\n".join([*lines, cost])


class SuggestingSession(SyntheticSession):
    """A session that estimates the bounds and caps that its own policy should have."""

    @asked
    def suggest(
        self,
        table: str,
        epsilon: Number,
        *,
        columns: Sequence[str] | None = None,
        groups: Sequence[str] = (),
        questions: Mapping[str, str] | None = None,
        at: Number = 1,
    ) -> Suggestion:
        """Estimate bounds, `max_rows` and `max_groups` for a table, and draft the policy with them.

        Everything is charged as one question. Bounds that the policy has already clamp the values before they are
        looked at, so leave out those that are to be found.

        Args:
            table: a private one.
            epsilon: the privacy loss of all of it.
            columns: whose bounds are estimated; by default all columns of numbers that hold no keys.
            groups: columns in whose groups units are counted, whose `max_groups` are estimated.
            questions: by name, questions whose errors are worked out for every cap, for nothing.
            at: the epsilon that those are looked at for.

        Raises:
            InvalidParameter: there is no such table or column, or nothing to estimate. Nothing was charged.
            Those of `sql`.

        Privacy: as for `workload`; the draft holds nothing of the data but its answers.

        Example:
            >>> import pyarrow as pa
            >>> import discreet as dp
            >>> stays = pa.table({"who": range(2000), "days": [2, 5, 3, 30] * 500})
            >>> session = dp.protect(stays, privacy_unit="who", max_rows=5, budget=100)
            >>> session.suggest("data", epsilon=90, columns=["days"]).bounds
            {'days': (1.0, 32.0)}
        """
        found = self._catalog.private.get(str(table).lower())
        if found is None:
            raise InvalidParameter(f"There is no private table {table}.", "Name one of the policy's.")
        names, counted = _chosen(found, columns, groups)
        asked_for = {f"bounds of {name}": _values(found.name, name) for name in names}
        unit = found.own_unit and found.columns[found.own_unit].name
        if unit:
            asked_for["max_rows"] = _sizes(found.name, unit, "COUNT(*)")
        asked_for |= {f"max_groups of {name}": _sizes(found.name, unit, f"COUNT(DISTINCT {quote(name)})")
                      for name in counted}  # fmt: skip
        if not asked_for:
            raise InvalidParameter("There is nothing to estimate in this table.", "Name columns of numbers.")
        # Before anything is charged, as one of them may be refused.
        errors = {
            most: {name: self._errors(sql, at, most) for name, sql in (questions or {}).items()}
            for most in CAPS
        }
        answers = self.workload(asked_for, epsilon, max_rows=1)
        ends = {name: _bounds(answers[f"bounds of {name}"]) for name in names}
        bounds = {name: pair for name, pair in ends.items() if pair is not None}
        cap, dropped = (_cap(answers["max_rows"]) if unit else None) or (None, [])
        caps = tuple(Cap(most, share, errors[most]) for most, share in dropped)
        found_caps = {name: _cap(answers[f"max_groups of {name}"]) for name in counted}
        by_groups = {name: pair[0] for name, pair in found_caps.items() if pair is not None}
        draft = _drafted(self._policy, found, bounds, cap)
        if (
            draft.ledger is None and self._ledger.durable
        ):  # beside another file it would have spent nothing yet
            draft = draft.model_copy(update={"ledger": self._ledger.where})
        return Suggestion(found.name, bounds, cap, by_groups, caps, draft, answers)

    def _errors(self, sql: str, epsilon: Number, max_rows: int) -> Mapping[str, float]:
        """The errors of the noise of a question for a cap."""
        question = SessionQuestion.read(sql, epsilon, max_rows=max_rows)
        from discreet.session.previewing import preview

        return preview(self._queries, question, None, GROUP_ROWS, self.budget).errors


def _chosen(
    table: PrivateTable, columns: Sequence[str] | None, groups: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The columns whose bounds, and those in whose groups units, are looked at, as the data spells them."""
    numbers = {
        key: column.name
        for key, column in table.columns.items()
        if column.type in (Type.INTEGER, Type.FLOAT) and key != table.own_unit and not column.scan.span.listed
    }
    wanted = list(numbers) if columns is None else [str(name).lower() for name in columns]
    if any(name not in numbers for name in wanted):
        raise InvalidParameter(
            "A column is not one of numbers.", f"Name some of {', '.join(numbers.values())}."
        )
    counted = [str(name).lower() for name in groups]
    if any(name not in table.columns for name in counted) or (counted and not table.own_unit):
        raise InvalidParameter(
            "groups names no column, or the table has no column of units.", "Name columns of the table."
        )
    return [numbers[name] for name in wanted], [table.columns[name].name for name in counted]


def _plain(errors: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    """Errors as JSON has them, None for one that has no bound."""
    return {
        name: {column: error if math.isfinite(error) else None for column, error in of_columns.items()}
        for name, of_columns in errors.items()
    }


def _values(table: str, column: str) -> str:
    """The question for the number of values in each interval."""
    x = quote(column)
    cases = " ".join(f"WHEN {x} <= {edge!r} THEN {index}" for index, edge in enumerate(EDGES))
    place = f"CASE WHEN {x} IS NULL THEN NULL {cases} ELSE {len(EDGES)} END"
    return f"SELECT {place} AS place, COUNT(*) AS n FROM {quote(table)} GROUP BY place"


def _sizes(table: str, unit: str, size: str) -> str:
    """The question for the number of units of each size."""
    cases = " ".join(f"WHEN size <= {most} THEN {index}" for index, most in enumerate(CAPS))
    own = quote(unit)
    return (f"SELECT CASE {cases} ELSE {len(CAPS)} END AS place, COUNT(*) AS n FROM (SELECT {own}, "
            f"{size} AS size FROM {quote(table)} GROUP BY {own}) AS units GROUP BY place")  # fmt: skip


def _seen(answer: Release) -> dict[int, float]:
    """The counts of an answer that the noise alone could not have made, by the number of the interval."""
    shown = answer.to_dict()
    counts = [
        row for row in zip(shown["place"], shown["n"], shown["n_high"], strict=True) if row[0] is not None
    ]
    # A scale is at most 1/ln 20 of the half-width at 95 % and 1, as noise is whole. Noise reaches the multiple of it at
    # any of the counts with a chance of CHANCE at most.
    times = math.log(len(counts) / CHANCE) / math.log(20)
    return {place: count for place, count, high in counts if count > times * (high - count + 1)}


def _bounds(answer: Release) -> tuple[float, float] | None:
    """The outer ends of the intervals that hold all values but a small share; None where none is seen."""
    seen = _seen(answer)
    places = sorted(seen)
    few = OUTSIDE * sum(seen.values())
    while len(places) > 1 and seen[places[0]] <= few:
        few -= seen[places.pop(0)]
    while len(places) > 1 and seen[places[-1]] <= few:
        few -= seen[places.pop()]
    if not places:
        return None
    low, high = places[0], min(places[-1], len(EDGES) - 1)
    if low < len(EDGES) and EDGES[low] == 0:
        return 0.0, EDGES[max(high, low + 1)]  # of the interval that ends at 0, nearly all is 0
    # Beyond the last edges there is no other one: values there are clamped, and the bounds still differ.
    return EDGES[min(max(0, low - 1), len(EDGES) - 2)], EDGES[max(high, 1)]


def _cap(answer: Release) -> tuple[int, list[tuple[int, float]]] | None:
    """The suggested cap, and for each cap the share that it would drop; None where no units are seen."""
    sizes = [1.0, *(0.75 * most for most in CAPS[1:]), 1.5 * CAPS[-1]]
    seen = {sizes[place]: count for place, count in _seen(answer).items()}
    rows = sum(size * count for size, count in seen.items())
    if not rows:
        return None
    shares = [
        (most, sum(max(0.0, size - most) * count for size, count in seen.items()) / rows) for most in CAPS
    ]
    last = next((index for index, (_, share) in enumerate(shares) if share <= TAIL), len(CAPS) - 1)
    return shares[last][0], shares[: last + 2]


def _drafted(
    policy: Policy, table: PrivateTable, bounds: Mapping[str, tuple[float, float]], cap: int | None
) -> Policy:
    """The policy with other bounds and another cap."""
    declared = {name.lower(): name for name in policy.tables}[table.name.lower()]
    own = policy.tables[declared]
    columns = dict(own.columns)
    spelled = {name.lower(): name for name in columns}
    for name, ends in bounds.items():
        whole = table.columns[name.lower()].type is Type.INTEGER
        limits = (math.floor(ends[0]), math.ceil(ends[1])) if whole else ends
        key = spelled.get(name.lower(), name)
        bounded = _column_policy({"bounds": limits})
        if key in columns:  # a copy: its declarations were read already, and are no text of a policy any more
            bounded = columns[key].model_copy(update={"bounds": bounded.bounds})
        columns[key] = bounded
    changed: dict[str, Any] = {"columns": columns} | ({} if cap is None else {"max_rows": cap})
    return policy.model_copy(update={"tables": {**policy.tables, declared: own.model_copy(update=changed)}})


def _column_policy(declared: Mapping[str, Any]) -> Any:
    from discreet.policy.declarations import ColumnPolicy

    return ColumnPolicy.model_validate(dict(declared))
