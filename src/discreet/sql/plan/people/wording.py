"""Releases to people who allow different epsilons, told to a person."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.rational import show
from discreet.sql.plan.people.sampled import keeps
from discreet.sql.plan.plan import PlannedRelease, QueryPlan

if TYPE_CHECKING:
    from discreet.sql.plan.people.by_class import ByClass


def protected(people: ByClass, epsilon: Fraction) -> str:
    """How much each class of people is protected, of an epsilon."""
    pairs = zip(people.classes.names, people.classes.shares, strict=True)
    return ", ".join(f"{name} {show(share * epsilon)}" for name, share in pairs)


def sampling_rates(people: ByClass, epsilon: Fraction) -> str:
    """How often a person of each class is in a sample, for an epsilon."""
    return ", ".join(f"{name} {100 * float(keep):.3g} %" for name, keep in keeps(people, epsilon).items())


def told_of_people(plan: QueryPlan) -> list[str]:
    """A line on how much each class of people is protected, and one on those who are sampled."""
    known = [release for release in plan.releases if release.people is not None]
    if not known or known[0].people is None:
        return []
    people = known[0].people
    lines = [f"people by {people.classes.column}: epsilon {protected(people, plan.epsilon)}"]
    return lines + [f"quantiles are of a sample of the people: {often}" for often in sorted(_samples(known))]


def guarantee_of_people(plan: QueryPlan) -> str:
    """How much an answer costs each class of people, to follow the guarantee; empty where it costs all the same."""
    people = next((release.people for release in plan.releases if release.people is not None), None)
    return "" if people is None else f", for people of the class: epsilon {protected(people, plan.epsilon)}"


def notes_of_people(plan: QueryPlan) -> list[str]:
    """Notes on the errors that intervals leave out."""
    known = [release for release in plan.releases if release.people is not None]
    if not known or known[0].people is None:
        return []
    people = known[0].people
    named = f"{people.classes.table.name}.{people.classes.column}"
    notes = [f"people whom {named} puts into no class that is declared, who are not counted"]
    if people.classes.table.unit is not None and any(map(_told_apart, known)):
        notes.append(
            f"rows where {named} names another class than that of their person, which are not counted"
        )
    return notes + [
        f"how people who are kept differ from the others: a quantile is of a sample with {often} of the people"
        for often in sorted(_samples(known))
    ]


def noise_of_class(release: PlannedRelease, index: int) -> list[str]:
    """The lines on the noise of a measure: for each class, or for those who are kept in a sample."""
    people, share = release.people, release.shares[index]
    assert people is not None
    if index in people.sampled:
        return [f"   of a sample of the people: {sampling_rates(people, share)}"]
    pairs = zip(people.classes.names, people.classes.shares, people.possible[index], strict=True)
    scale = float(people.scales[index])
    return [
        f"   {name}: epsilon {show(own * share)}, noise of scale {scale / float(own):,.4g} on each integer"
        + ("" if may else "; no row of them counts here")
        for name, own, may in pairs
    ]


def _told_apart(release: PlannedRelease) -> bool:
    """Whether a number is made of the people of some classes only, because the question names classes."""
    people = release.people
    return people is not None and any(
        people.key is not None or not all(may)
        for index, may in enumerate(people.possible)
        if index not in people.sampled
    )


def _samples(releases: list[PlannedRelease]) -> set[str]:
    """How often people are in each of the samples."""
    return {
        sampling_rates(release.people, release.shares[index])
        for release in releases
        if release.people is not None
        for index in release.people.sampled
    }
