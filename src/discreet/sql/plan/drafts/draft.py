"""The plan of a shape: made once of its reading with blanks, and filled with the literals of each statement.

Where a plan can be made of blanks, no step of it read a literal: it is that of every statement of the shape, with the
literals in their places. A release that was filled knows its draft, so that everything that is made of a draft without
reading a literal holds for it too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Final, TypeAlias, TypeVar, cast

from discreet.records import dataclass
from discreet.sql.expressions.marked import MarkedLiteral
from discreet.sql.expressions.unread import UnreadLiteral
from discreet.sql.plan.drafts.alike import Filled, Filling, Origin, mould_of
from discreet.sql.plan.plan import PlannedRelease, Workload
from discreet.sql.plan.reading import Reading
from discreet.sql.syntax.alike.blanks import ValueNeededError

Released: TypeAlias = tuple[tuple[PlannedRelease, ...], tuple[Workload, ...], Fraction]
"""The releases of a plan, those measured together, and the delta of Gaussian noise."""
Planned: TypeAlias = tuple[Released, str]
"""A plan, and the words for measures that its releases share."""
T = TypeVar("T")
MOST_DRAFTS: Final = 4
"""How many plans of a reading are kept, each for another price."""
MOST_FACTS: Final = 64
"""How many things are kept beside a release."""
UNREAD: Final = ("cells", "entries", "epsilon", "scales")
"""Facts about a release that no literal decides: a filled one has those of its draft."""
_NEW: Final = object()
_OF_LITERALS: Final = object()
"""In the place of a thing that depends on a literal."""


@dataclass(frozen=True, eq=False)
class ReleaseTemplate:
    """The release with blanks that a release was filled from.

    Attributes:
        blank: with blanks.
        make: fills it.
        filling: the literals that it was filled with.
    """

    blank: PlannedRelease
    make: Filled
    filling: Filling

    def marked(self) -> tuple[PlannedRelease, list[UnreadLiteral]]:
        """The release with marks in the places of its blanks, and the list of those that will be written."""
        marks: list[UnreadLiteral] = []
        made: PlannedRelease = self.make(Filling((), mark=lambda blank: MarkedLiteral.of_blank(blank, marks)))
        return made, marks


def draft_of(release: PlannedRelease) -> ReleaseTemplate | None:
    """The draft of a release; None where it was made by itself, or changed since."""
    found: ReleaseTemplate | None = release.memo.get("draft")
    return found


def unfilled(release: PlannedRelease) -> PlannedRelease:
    """The release with blanks, for things that depend on no literal; the release itself where it has no draft."""
    draft = draft_of(release)
    return release if draft is None else draft.blank


def for_all_literals(release: PlannedRelease, name: str, make: Callable[[PlannedRelease], T]) -> T:
    """A thing that is made of a release: once for all literals where it depends on none.

    Args:
        release: of a plan.
        name: of the thing, by which it is kept beside the release.
        make: makes it.
    """
    known = unfilled(release).memo
    found: T | object = known.get(name, _NEW)
    if found is _NEW:
        try:
            found = make(unfilled(release))
        except ValueNeededError:
            found = _OF_LITERALS
        if len(known) < MOST_FACTS:
            known[name] = found
    return make(release) if found is _OF_LITERALS else cast("T", found)


def planned_once(reading: Reading, key: Hashable, make: Callable[[Reading], Planned]) -> Planned:
    """The plan of a reading, which is that of its shape where no literal matters.

    Args:
        reading: of a statement.
        key: everything beside the reading that the plan depends on.
        make: makes the plan.

    Raises:
        By `make`.
    """
    origin: Origin[Reading] | None = reading.memo.get("origin")
    drafts = None if origin is None else origin.drafts
    if origin is None or drafts is None:
        return make(reading)
    found = drafts.get(key, _NEW)
    if found is _NEW:  # a price that is asked for once needs no draft
        if len(drafts) >= MOST_DRAFTS:
            drafts.clear()
        drafts[key] = None
        return make(reading)
    if found is None:
        found = drafts[key] = _drafted(origin.blank, make)
    if not found:
        return make(reading)
    planned, fills = found
    try:
        return _filled(planned, fills, origin.filling)
    except ValueNeededError:  # a literal of another type
        return make(reading)


def _drafted(
    blank: Reading, make: Callable[[Reading], Planned]
) -> tuple[Planned, list[Filled | None]] | tuple[()]:
    """The plan of a reading with blanks, and the ways to fill its releases; nothing where a literal matters."""
    try:
        planned = make(blank)
        releases, workloads, _ = planned[0]
        return (planned, mould_of(releases)) if not workloads else ()
    except (ValueNeededError, Exception):  # where a literal was expected, a blank may raise anything
        return ()


def _filled(planned: Planned, fills: list[Filled | None], filling: Filling) -> Planned:
    (releases, workloads, spent), layout = planned
    out = []
    for release, fill in zip(releases, fills, strict=True):
        made: PlannedRelease = release if fill is None else fill(filling)
        if fill is not None:
            vars(made).update({name: getattr(release, name) for name in UNREAD})
            filling.forget(fill)
            made.memo["draft"] = ReleaseTemplate(release, fill, filling)
        out.append(made)
    return (tuple(out), workloads, spent), layout
