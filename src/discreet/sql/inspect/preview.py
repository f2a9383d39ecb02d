"""The cost of a question and the error of its answer, from its plan alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet import escaping
from discreet.errors import InvalidParameter
from discreet.rational import show, small
from discreet.records import dataclass
from discreet.sql.finish.postprocess import finish
from discreet.sql.inspect.compared import compared_with
from discreet.sql.inspect.misleading import chosen, meanings_of
from discreet.sql.inspect.warnings import warnings_of
from discreet.sql.inspect.wording import told
from discreet.sql.intervals.simultaneous import Level
from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.measures.measure import columns
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.generic.generic_plan import for_all_arguments
from discreet.sql.plan.plan import PlannedRelease, QueryPlan
from discreet.sql.plan.unknown_groups import imagined

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST = Fraction(10**6)
SMALLEST = Fraction(1, 10**9)
MOST_LOOKS = 16
"""How many previews of a plan are kept: each for another confidence or size of groups."""


@dataclass(frozen=True)
class Preview:
    """Cost and expected error of a question, without touching the data.

    Attributes:
        epsilon: the privacy loss of the whole question.
        errors: half-width of the interval by column; infinite where the noise drowns the value, missing where
            no interval can be given.
        groups: how many groups are answered.
        confidence: of the intervals.
        assumed: the assumption about the data where an error depends on it; empty when none does.
        left: the rest of the budget after it, or None when it is not known here.
        delta: the delta of the question; 0 unless groups must be found.
        shown_from: how many units a group needs to be shown with that confidence; 0 unless groups must be found.
        warnings: bounds that are certain to hurt.
        cost: the amount by which the budget would shrink: epsilon, unless the budget composes in another way than by
            adding up; None when it is not known here.
        available: the rest of the budget before; None when it is not known here.
        simultaneous: whether the errors are those of all numbers of the answer together.
        meanings: the content of a column where it differs from its question, such as a quantile for MAX.
        together: the marginals that are measured for tables that are estimated together, and how much that saves.
        known: the earlier questions that it is answered from, and how exactly they alone tell it; empty without such.
        replayed: whether the very same question was answered before, so that asking it again costs nothing.
    """

    epsilon: Fraction
    errors: Mapping[str, float]
    groups: int
    confidence: float
    assumed: str
    left: Fraction | None = None
    delta: Fraction = Fraction(0)
    shown_from: int = 0
    warnings: tuple[str, ...] = ()
    cost: Fraction | None = None
    available: Fraction | None = None
    simultaneous: bool = False
    meanings: Mapping[str, str] = field(default_factory=dict)
    together: tuple[str, ...] = ()
    known: str = ""
    replayed: bool = False

    def to_dict(self) -> dict[str, object]:
        """The same for machines."""
        return {
            "epsilon": show(self.epsilon, 12),
            "errors": {n: e if math.isfinite(e) else None for n, e in self.errors.items()},
            "groups": self.groups,
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "assumed": self.assumed,
            "left": None if self.left is None else show(self.left, 12),
            "delta": small(self.delta),
            "shown_from": self.shown_from,
            "warnings": list(self.warnings),
            "together": list(self.together),
            "known": self.known,
            "replayed": self.replayed,
            "cost": show(self.epsilon if self.cost is None else self.cost, 12),
        }

    def __repr__(self) -> str:
        lines, errors = [self._head()], self._errors()
        width = max((len(column) for column, _ in errors), default=0)
        lines += [f"  {column.ljust(width)}  {error}" for column, error in errors]
        return "\n".join([*lines, *(f"  {line}" for line in self._foot())])

    def _repr_html_(self) -> str:
        foot = "<br>".join(map(escaping.markup, self._foot()))
        return f"{escaping.table(self._errors(), self._head())}<small>{foot}</small>"

    def _head(self) -> str:
        cost = self.epsilon if self.cost is None else self.cost
        groups = f"{self.groups:,} group{'s' * (self.groups != 1)}"
        if self.shown_from:
            groups = f"groups of {self.shown_from:,} units or more"
        if self.replayed:
            left = "" if self.available is None else f" · {show(self.available)} left"
            return (
                f"free: answered before, for epsilon {show(self.epsilon)}{left} · {groups} · nothing was read"
            )
        return (f"epsilon {show(self.epsilon)}"
                 + ("" if self.available is None else f", of {show(self.available)} left")
                 + ("" if cost == self.epsilon else f", which it shrinks by {show(cost)}")
                 + (": too much" if self.available is not None and cost > self.available else "")
                 + (f" · delta {small(self.delta)}" if self.delta else "")
                 + f" · {groups} · nothing was read")  # fmt: skip

    def _errors(self) -> list[tuple[str, str]]:
        out = []
        for column, error in self.errors.items():
            label = escaping.name(column) + (f" ({self.meanings[column]})" if column in self.meanings else "")
            out.append(
                (label, f"± {_figures(error)}" if math.isfinite(error) else "unknown: the noise drowns it")
            )
        return out

    def _foot(self) -> list[str]:
        together = " for all numbers together" if self.simultaneous else ""
        assumed = f", {self.assumed}" if self.assumed else ""
        said = f"expected at {100 * self.confidence:g} %{together}{assumed}"
        return [
            *([said] if self.errors else []),  # a statement that reads nothing private has none
            *([escaping.name(self.known)] if self.known else []),
            *map(escaping.name, self.together),
            *(f"warning: {escaping.name(warning)}" for warning in self.warnings),
        ]


def _figures(error: float) -> str:
    """An error in four figures, in thousands as a whole number and never with a power of ten below 10^15.

    Example:
        >>> _figures(1.23456), _figures(17_712.4), _figures(2e15)
        ('1.235', '17,712', '2e+15')
    """
    return f"{error:,.0f}" if 1000 <= error < 1e15 else f"{error:,.4g}"


def preview_of(
    plan: QueryPlan,
    public: Mapping[str, pa.Table],
    level: Level,
    group_rows: int,
    cost: Fraction,
    available: Fraction,
) -> Preview:
    """Look at a plan: its cost, its errors, and the bounds in it that are certain to hurt.

    Args:
        plan: of the question.
        public: the public tables.
        level: how sure the intervals are.
        group_rows: how many rows a group is assumed to have, where an error depends on it.
        cost: the amount by which the budget would shrink.
        available: the rest of the budget before.
    """
    known: dict[tuple[Level, int], Preview] = plan.memo.setdefault("previews", {})
    found = known.get((level, group_rows))
    if found is None:
        if len(known) >= MOST_LOOKS:
            known.clear()
        found = known[level, group_rows] = _foreseen(plan, public, level, group_rows)
    left = max(Fraction(0), available - cost)
    return replace(found, left=left, cost=cost, available=available)


def _foreseen(plan: QueryPlan, public: Mapping[str, pa.Table], level: Level, group_rows: int) -> Preview:
    """A preview but for the budget, so that it is the same whenever the same is asked."""
    errors, assuming = _errors_once(plan, public, level, group_rows)
    finding = [release for release in plan.releases if release.discovery is not None]
    shown_from = max(
        (r.discovery.mechanism(r).surely(level.confidence) for r in finding if r.discovery is not None),
        default=0,
    )
    return Preview(
        epsilon=plan.epsilon,
        errors=errors,
        groups=max((release.cells for release in plan.releases), default=0),
        confidence=level.confidence,
        simultaneous=level.together,
        assumed=f"for groups of {group_rows:,} rows spread over their bounds" if assuming else "",
        delta=plan.delta,
        shown_from=shown_from,
        warnings=compared_with(plan)
        + warnings_of(plan, errors, group_rows)
        + chosen(plan, level, group_rows),
        meanings=meanings_of(plan),
        together=told(plan),
    )


def _errors_once(
    plan: QueryPlan, public: Mapping[str, pa.Table], level: Level, group_rows: int
) -> tuple[dict[str, float], bool]:
    """`expected_errors`, worked out once for all arguments where they decide no error."""
    if len(plan.releases) != 1 or plan.workloads or plan.cut_off or plan.shaping:
        return expected_errors(plan, public, level, group_rows)
    errors, assuming = for_all_arguments(
        plan.releases[0],
        f"errors {level} {group_rows}",
        lambda release: expected_errors(plan.with_releases([release]), public, level, group_rows),
    )
    return dict(errors), assuming


def expected_errors(
    plan: QueryPlan, public: Mapping[str, pa.Table], level: Level, group_rows: int
) -> tuple[dict[str, float], bool]:
    """The half-widths of the intervals on invented groups, and whether they depend on the invented rows.

    The invented groups have `group_rows` rows each, with values spread evenly over their bounds.
    """
    errors = _errors(plan, public, level, group_rows)
    plan = imagined(plan)
    linear = all(a.quantity in ("rows", "count", "sum", "pairs") for r in plan.releases for a in r.aggregates)
    return errors, not linear or not _plain(plan)


def _plain(plan: QueryPlan) -> bool:
    from sqlglot import exp

    return all(isinstance(item.unalias(), exp.Column) for item in plan.post.selects)


def _errors(
    plan: QueryPlan, public: Mapping[str, pa.Table], level: Level, group_rows: int
) -> dict[str, float]:
    plan = imagined(plan)
    answered = finish(plan, invented(plan, group_rows), public, *level)
    out: dict[str, float] = {}
    for name, (low, high) in answered.intervals.items():
        with np.errstate(invalid="ignore"):  # both ends of an infinite value lie at the same infinity
            half = (high - low) / 2
        half = half[~np.isnan(half)]
        out[name] = float(np.max(half)) if half.size else math.inf
    return out


def invented(plan: QueryPlan, group_rows: int) -> list[NoisyIntegers]:
    """Invented integers of the releases of a plan whose groups are known, or imagined."""
    return [NoisyIntegers(release, _invented(release, group_rows)) for release in plan.releases]


def _invented(release: PlannedRelease, group_rows: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    entries = np.zeros((release.cells, sum(m.entries for m in release.measures)), dtype=np.int64)
    for index, (part, measure) in enumerate(zip(columns(release.measures), release.measures, strict=True)):
        if isinstance(measure, Ranks):
            entries[:, part] = measure.invented(group_rows, float(release.scale(index)))
        else:
            entries[:, part] = measure.invented(group_rows)
    return entries


def least_epsilon(
    make: Callable[[Fraction], QueryPlan],
    public: Mapping[str, pa.Table],
    within: Mapping[str, object],
    level: Level,
    group_rows: int,
) -> Fraction:
    """The least epsilon, to three significant digits, at which every named column is within its error.

    Args:
        make: plans the question for an epsilon.
        public: the public tables.
        within: the largest error allowed, by column.
        level: how sure the interval is that must be so narrow.
        group_rows: how many rows the invented groups have.

    Raises:
        InvalidParameter: an error is not a positive number, a column is not in the answer, or no epsilon will do.
    """
    targets = targets_of(within)

    def meets(epsilon: Fraction) -> bool:
        errors = _errors(make(epsilon), public, level, group_rows)
        for name in targets:
            if name not in errors:
                raise InvalidParameter(
                    f"{name} is not a column of the answer with an interval.",
                    f"Name one of {', '.join(errors)}."
                    if errors
                    else "No column of this statement has one: give an epsilon instead.",
                )
        return all(errors[name] <= target for name, target in targets.items())

    low, high = SMALLEST, Fraction(1)
    enough = meets(high)
    while not enough:
        low, high = high, high * 8
        try:
            enough = high <= LARGEST and meets(high)
        except InvalidParameter:  # noise of so small a scale cannot be drawn
            raise _beyond(group_rows) from None
        if high > LARGEST:
            raise _beyond(group_rows)
    for _ in range(40):
        if high <= low * Fraction(1001, 1000):
            break
        middle = round_up(Fraction(math.sqrt(float(low) * float(high))))
        if not low < middle < high:
            break
        low, high = (low, middle) if meets(middle) else (middle, high)
    return round_up(high)


def _beyond(group_rows: int) -> InvalidParameter:
    return InvalidParameter(
        "No epsilon gives so small an error.",
        f"Allow a larger error. That of a quantile, a ratio or an average is of groups of {group_rows:,} rows here; "
        "name another size with group_rows.",
    )


def targets_of(within: Mapping[str, object]) -> dict[str, float]:
    """The largest error allowed, by column.

    Raises:
        InvalidParameter: there is none, or one is not a positive number.
    """
    if not isinstance(within, Mapping):
        raise InvalidParameter("within does not say of which column.", 'Write within={"n": 50}.')
    if not within:
        raise InvalidParameter("within names no column.", 'Write within={"n": 50}.')
    return {name: _positive(name, value) for name, value in within.items()}


def round_up(value: Fraction, digits: int = 3) -> Fraction:
    """Round a positive rational up to some significant digits."""
    exponent = math.floor(math.log10(value)) - digits + 1
    unit = Fraction(10) ** exponent
    return math.ceil(value / unit) * unit


def _positive(name: str, value: object) -> float:
    from discreet.rational import decimal, positive

    return float(positive(decimal(value, f"within[{name}]"), f"within[{name}]"))


__all__ = [
    "Preview",
    "expected_errors",
    "least_epsilon",
    "preview_of",
    "round_up",
    "targets_of",
]
