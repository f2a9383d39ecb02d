"""Groups whose keys are not public: which counts find them, and invented ones for a preview."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.sql.algebra import keys as ks
from discreet.sql.plan.measure_choice import MeasureChoice

if TYPE_CHECKING:
    from discreet.sql.analyze.release_scope import UnplannedRelease
    from discreet.sql.plan.plan import QueryPlan
    from discreet.sql.plan.strategies import Chosen

FINDING = MeasureChoice(0, None, False, "finding")
"""The counts of units by which groups are found whose keys are not public."""
IMAGINED = 10
"""How many groups a preview invents where the keys are not public."""


def answering(choices: Sequence[MeasureChoice], keys: tuple[ks.Key, ...], per_unit: bool) -> int | None:
    """The number of the choice whose integers are the counts of units by which the groups are found anyway."""
    if any(key.public for key in keys):
        return None
    wanted = "units" if per_unit else "rows"
    for index, choice in enumerate(choices):
        if (
            choice.counts == wanted
            and choice.argument is None
            and choice.degree == 0
            and not choice.with_null
        ):
            return index
    return None


def once_each(chosen: Chosen, release: UnplannedRelease, per_group: int | None) -> Chosen:
    """Let COUNT(*) be the count of units where a unit keeps one row of each group: that count finds the groups, too.

    Both keep the same rows: one in each group, and as many groups as the limits say, each as likely as another.

    Args:
        chosen: the measures of a release.
        release: it.
        per_group: rows of a unit that are kept in one group; None where nobody says.

    Returns:
        The measures, with the count of units in place of that of rows.
    """
    rows = release.rows
    if not release.unknown or not rows.per_unit or rows.fixed or per_group != 1:
        return chosen
    if any(choice.counts == "units" and choice.argument is None for choice in chosen.choices):
        return chosen  # which finds the groups already
    counts = MeasureChoice(0, None, False)
    choices = [
        dataclasses.replace(choice, counts="units") if choice == counts else choice
        for choice in chosen.choices
    ]
    return (
        chosen if choices == chosen.choices else dataclasses.replace(chosen, choices=choices, rewritten=True)
    )


def imagined(plan: QueryPlan, groups: int = IMAGINED) -> QueryPlan:
    """The plan with invented groups in place of those that must be found; a plan without such is returned unchanged."""
    releases = tuple(
        release
        if release.discovery is None
        else dataclasses.replace(release, keys=ks.imagined(release.keys, groups))
        for release in plan.releases
    )
    return plan.with_releases(releases)
