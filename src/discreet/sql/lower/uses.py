"""Which mechanisms the releases of a question use: the same draw the noise and price the question.

A measure is one vector over all groups, with Laplace noise of the scale of its share of epsilon or with Gaussian noise
of its rho; where leaves are chosen by rank, it is a choice in each group. Where groups must be found, their counts of
units are a use of their own; a measure that is answered by those counts is not drawn again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from discreet.mechanisms.numeric.laplace_vector import LaplaceVector
from discreet.release.draw import Use
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.generic.generic_plan import for_all_arguments
from discreet.sql.plan.plan import PlannedRelease

if TYPE_CHECKING:
    from discreet.accounting.events import Neighbours
    from discreet.mechanisms.numeric.gaussian_vector import GaussianVector
    from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
    from discreet.sql.measures.near_leaves import NearLeaves
    from discreet.sql.plan.people.by_class import ByClass


def use_of_groups(release: PlannedRelease) -> str:
    """The name of the use that finds the groups of a release."""
    return f"{release.name} groups"


def use_of(release: PlannedRelease, index: int) -> str:
    """The name of the use that makes a measure of a release noisy."""
    return f"{release.name} {index}"


def uses_of(releases: Iterable[PlannedRelease]) -> dict[str, Use]:
    """The uses of mechanisms of some releases, by name."""
    out: dict[str, Use] = {}
    for release in releases:
        out.update(_uses(release))
    return out


def _uses(release: PlannedRelease) -> dict[str, Use]:
    """Those of one release; they are worked out once for all arguments that they do not depend on."""
    return for_all_arguments(release, "uses", _worked_out)


def _worked_out(release: PlannedRelease) -> dict[str, Use]:
    out: dict[str, Use] = {}
    neighbours: Neighbours = "add_remove" if release.unit_factor == 1 else "replace_one"
    found = release.discovery
    if found is not None:
        out[use_of_groups(release)] = Use(
            found.mechanism(release), neighbours, None, _set(release, found.measure)
        )
    for index, measured in enumerate(release.measures):
        if found is not None and index == found.measure:
            continue
        if release.people is not None and index not in release.people.sampled:
            out.update(_by_class(release, index, release.people))
            continue
        noise: LaplaceVector | GaussianVector | QuantilesWithEnds
        parameter = release.gaussian(index)
        if isinstance(measured, Ranks):
            noise = ranks(release, index, measured)
        elif parameter is not None:
            from discreet.mechanisms.numeric.gaussian_vector import GaussianVector

            noise = GaussianVector(parameter, release.square(measured))
        else:
            noise = LaplaceVector(release.scale(index), release.sensitivity(measured))
        values = noise_count(release, index) if found is None else None
        kept = None
        if release.people is not None:
            from discreet.sql.plan.people.sampled import keeps

            kept = keeps(release.people, release.shares[index])
        out[use_of(release, index)] = Use(noise, neighbours, values, _set(release, index), kept=kept)
    return out


def use_of_class(release: PlannedRelease, index: int, name: str) -> str:
    """The name of the use that makes a measure of the people of one class noisy."""
    return f"{use_of(release, index)} {name}"


def _by_class(release: PlannedRelease, index: int, people: ByClass) -> dict[str, Use]:
    """A measure of each class, with noise for its share of epsilon: alternatives, for a unit is of one class."""
    measured, classes = release.measures[index], people.classes
    together = _set(release, index) or f"{use_of(release, index)} classes"
    return {
        use_of_class(release, index, name): Use(
            LaplaceVector(release.scale(index) / share, release.sensitivity(measured)),
            "add_remove", noise_count(release, index), together, name,
        )
        for name, share in zip(classes.names, classes.shares, strict=True)
    }  # fmt: skip


def ranks(release: PlannedRelease, index: int, measure: Ranks) -> QuantilesWithEnds:
    """The mechanism that chooses leaves by rank.

    Of groups with keys there may be any number; and one row that is replaced by another may go from one of several
    alternatives to another, as between groups.
    """
    alone = release.one_group and len(release.beside(index)) == 1
    neighbours: Neighbours = "add_remove" if release.unit_factor == 1 else "replace_one"
    return measure.mechanism(
        release.shares[index], release.parts[measure.part].cap, neighbours, 1 if alone else 2
    )


def near_leaves_of(release: PlannedRelease, number: int) -> NearLeaves | None:
    """Where the leaves of a part are counted each by itself; None for several groups or few leaves."""
    for index, measure in enumerate(release.measures):
        if measure.part == number and isinstance(measure, Ranks) and not release.keys:
            from discreet.sql.measures.near_leaves import near_leaves

            return near_leaves(measure, ranks(release, index, measure))
    return None


def noise_count(release: PlannedRelease, index: int) -> int:
    """How many values of a measure get noise: its integers, or, where leaves are chosen by rank, the groups."""
    measure = release.measures[index]
    if isinstance(measure, AllRows):
        return release.cells * (measure.entries - measure.noiseless)
    return release.cells * (1 if isinstance(measure, Ranks) else measure.entries)


def _set(release: PlannedRelease, index: int | None) -> str:
    """The measures of which a row moves one at most, so that they cost as much as the dearest; empty for none."""
    return f"{release.name} {release.sets[index]}" if release.sets and index is not None else ""
