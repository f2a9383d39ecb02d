"""The generic plan of a template: made once of its generic reading, and then given the arguments of each statement.

Where a plan can be made of parameters, no step of it read an argument: it is that of every statement of the template,
with the arguments in their places. A release of such a plan knows its generic one, so that everything that is made of
that without reading an argument holds for it too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Final, TypeAlias, TypeVar, cast

from discreet.records import dataclass
from discreet.sql.expressions.numbered_parameter import NumberedParameter
from discreet.sql.expressions.parameter import Parameter
from discreet.sql.plan.generic.generic_reading import Arguments, Builder, ReadingOrigin, builders_of
from discreet.sql.plan.plan import JointWorkload, PlannedRelease
from discreet.sql.plan.reading import Reading
from discreet.sql.syntax.parameters.parameter_node import ValueNeededError

Released: TypeAlias = tuple[tuple[PlannedRelease, ...], tuple[JointWorkload, ...], Fraction]
"""The releases of a plan, those measured together, and the delta of Gaussian noise."""
Planned: TypeAlias = tuple[Released, str]
"""A plan, and the words for measures that its releases share."""
T = TypeVar("T")
MOST_PLANS: Final = 4
"""How many generic plans of a reading are kept, each for another price."""
MOST_FACTS: Final = 64
"""How many things are kept beside a release."""
GENERIC_FACTS: Final = ("cells", "entries", "epsilon", "scales")
"""Facts about a release that no argument decides: each release has those of its generic one."""
_NEW: Final = object()
_CUSTOM: Final = object()
"""In the place of a thing that depends on an argument."""


@dataclass(frozen=True, eq=False)
class ReleaseOrigin:
    """The generic release that a release was made of, and its arguments.

    Attributes:
        generic: the generic release, with its parameters.
        build: its builder.
        arguments: in their places.
    """

    generic: PlannedRelease
    build: Builder
    arguments: Arguments

    def numbered(self) -> tuple[PlannedRelease, list[Parameter]]:
        """The generic release with numbers for its parameters, and the list of those that will be written."""
        written: list[Parameter] = []
        made: PlannedRelease = self.build(
            Arguments((), numbered=lambda parameter: NumberedParameter.of_parameter(parameter, written))
        )
        return made, written


def origin_of(release: PlannedRelease) -> ReleaseOrigin | None:
    """The origin of a release; None where it is of a custom plan, or changed since."""
    found: ReleaseOrigin | None = release.memo.get("origin")
    return found


def generic_release(release: PlannedRelease) -> PlannedRelease:
    """The generic release of a release, for things that depend on no argument; the release itself if it is custom."""
    origin = origin_of(release)
    return release if origin is None else origin.generic


def for_all_arguments(release: PlannedRelease, name: str, make: Callable[[PlannedRelease], T]) -> T:
    """A thing that is made of a release: once for all arguments where it depends on none.

    Args:
        release: of a plan.
        name: of the thing, by which it is kept beside the release.
        make: makes it.
    """
    known = generic_release(release).memo
    found: T | object = known.get(name, _NEW)
    if found is _NEW:
        try:
            found = make(generic_release(release))
        except ValueNeededError:
            found = _CUSTOM
        if len(known) < MOST_FACTS:
            known[name] = found
    return make(release) if found is _CUSTOM else cast("T", found)


def planned_once(reading: Reading, key: Hashable, make: Callable[[Reading], Planned]) -> Planned:
    """The plan of a reading: made of the generic plan of its template where no argument matters, else a custom one.

    Args:
        reading: of a statement.
        key: everything beside the reading that the plan depends on.
        make: makes the plan.

    Raises:
        By `make`.
    """
    origin: ReadingOrigin[Reading] | None = reading.memo.get("origin")
    plans = None if origin is None else origin.plans
    if origin is None or plans is None:
        return make(reading)
    found = plans.get(key, _NEW)
    if found is _NEW:  # a price that is asked for once needs no generic plan
        if len(plans) >= MOST_PLANS:
            plans.clear()
        plans[key] = None
        return make(reading)
    if found is None:
        found = plans[key] = _generic(origin.generic, make)
    if not found:
        return make(reading)
    planned, builders = found
    try:
        return _with_arguments(planned, builders, origin.arguments)
    except ValueNeededError:  # an argument of another type
        return make(reading)


def _generic(
    reading: Reading, make: Callable[[Reading], Planned]
) -> tuple[Planned, list[Builder | None]] | tuple[()]:
    """The plan of a generic reading, and the builders of its releases; nothing where an argument matters."""
    try:
        planned = make(reading)
        releases, workloads, _ = planned[0]
        return (planned, builders_of(releases)) if not workloads else ()
    except (ValueNeededError, Exception):  # where a value was expected, a parameter may raise anything
        return ()


def _with_arguments(planned: Planned, builders: list[Builder | None], arguments: Arguments) -> Planned:
    (releases, workloads, spent), layout = planned
    out = []
    for release, build in zip(releases, builders, strict=True):
        made: PlannedRelease = release if build is None else build(arguments)
        if build is not None:
            vars(made).update({name: getattr(release, name) for name in GENERIC_FACTS})
            arguments.forget(build)
            made.memo["origin"] = ReleaseOrigin(release, build, arguments)
        out.append(made)
    return (tuple(out), workloads, spent), layout
