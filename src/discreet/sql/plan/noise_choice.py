"""Which measures of a statement have Gaussian noise, where a delta is granted: as many as err least.

A set of alternatives with a share e of epsilon has Laplace noise of variance 2 (S1/e)^2, S1 in L1. Where some sets have
Gaussian noise, all of their epsilon E and the delta buy one rho, of which set i has r_i: a variance of S2_i^2/2r_i, S2
in L2. With c_i as in `shares`, the sum of c_i S2_i^2/2r_i is least for r_i in proportion to the root of c_i times S2_i,
and then it is (sum of these)^2/2 rho.

The rho that E and the delta buy is found in two ways, and the better is taken: the one whose conversion they are
(`ZCDP.bought`), or the larger one of normal noise by its exact curve (`GDP.bought`, half of the square of mu), to
whose variance `gdp.smoothing` is added, as the noise is discrete. By the latter a question errs 5 to 15 % less. The
ledger adds up the rho that the noise has in either case, S2_i^2 over twice its variance, which is larger by as much.

Gaussian noise gains most where S1/S2 is largest, which is the root of the number of groups that a unit is spread over;
and it gains with the number of sets, as the variance of Laplace noise grows with its square. So the sets are put in the
order of S1/S2, and of all first ones, none and all included, those are taken whose total predicted variance is least.

Privacy: the sets with Laplace noise are pure, and lose the sum of their shares; those with Gaussian noise lose (E,
delta) together, by their rho or their curve, both of which add up over sets. The two compose by addition. In a set of
alternatives the squares of the parts of each L2 sensitivity that a neighbour moves add up to at most one: n_gi rows in
group g of measure i move it by the root of the sum of n_gi^2 over g, and over all i these squares are at most the sum
over g of (sum of n_gi)^2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import InvalidParameter
from discreet.records import dataclass
from discreet.sql.algebra.keys import planned_cells
from discreet.sql.measures.all_rows import AllRows
from discreet.sql.measures.measure import SCALE_BITS, Moments
from discreet.sql.measures.moments import JointMoments
from discreet.sql.plan.plan import JointWorkload, PlannedRelease
from discreet.sql.plan.strategies import Chosen, measure
from discreet.sql.plan.workloads.gaussian import WeightedWorkload, weighted_of

if TYPE_CHECKING:
    from discreet.accounting.loss import Loss

VARIANCE_BITS = 48
"""The noise of a measure on a grid stays below 2^48 in variance, for the sampler goes no further than 2^50."""


@dataclass(frozen=True)
class _Set:
    """A set of alternatives that could have Gaussian noise.

    Attributes:
        place: the numbers of its release and of the set.
        share: its epsilon.
        weight: c_i, the variance of its columns for one row, relative to their sizes.
        laplace: S1 in rows.
        gaussian: S2 in rows.
        smoothing: the variance that noise by the exact curve has more, in rows squared.
        draws: how many measures it has.
    """

    place: tuple[int, int]
    share: Fraction
    weight: float
    laplace: float
    gaussian: float
    smoothing: float
    draws: int

    @property
    def gain(self) -> float:
        return self.laplace / self.gaussian


def with_gaussian(
    releases: Sequence[PlannedRelease],
    chosen: Sequence[Chosen],
    weights: Sequence[Sequence[Fraction]],
    shares: Sequence[Sequence[Fraction]],
    delta: Fraction,
    workloads: Sequence[JointWorkload] = (),
) -> tuple[list[PlannedRelease], tuple[JointWorkload, ...], Fraction]:
    """Give Gaussian noise to the measures that err less with it.

    Args:
        releases: of a statement, all with Laplace noise.
        chosen: their measures.
        weights: of their sets of alternatives.
        shares: the epsilon of these sets.
        delta: that may be spent.
        workloads: those of them that are measured together.

    Returns:
        The releases, the workloads, and the delta that they spend: this one, or 0.
    """
    alone = list(releases), tuple(workloads), Fraction(0)
    if not delta or any(release.discovery is not None for release in releases):
        return alone
    weighted = weighted_of(workloads, releases)
    sets = _sets(releases, chosen, weights, shares)
    for number, candidate in enumerate(weighted):
        sets += _sets_of(candidate, -1 - number, chosen[candidate.first], weights[candidate.first])
    rhos, tight = _best(sorted(sets, key=lambda set_: -set_.gain), delta)
    if not rhos:
        return alone
    out = [
        _noisy(
            release,
            selection,
            {set_index: rho for (number, set_index), rho in rhos.items() if number == index},
            tight,
        )
        for index, (release, selection) in enumerate(zip(releases, chosen, strict=True))
    ]
    others, measured = list(workloads), []
    for number, candidate in enumerate(weighted):
        own = {set_index: rho for (place, set_index), rho in rhos.items() if place == -1 - number}
        if own:
            measured.append(_noisy(candidate.planned, chosen[candidate.first], own, tight))
            workload, tables = candidate.noisy(measured[-1])
            others[workloads.index(candidate.workload)] = workload
            out = [next((t for t in tables if t.name == r.name), r) for r in out]
    parameters = [r.gaussian(index) for r in (*out, *measured) for index in range(len(r.measures))]
    drawable = all(
        1 <= parameter <= 1 << (VARIANCE_BITS + 2) for parameter in parameters if parameter is not None
    )
    return (out, tuple(others), delta) if drawable else alone


def _sets_of(
    workload: WeightedWorkload, place: int, chosen: Chosen, weights: Sequence[Fraction]
) -> list[_Set]:
    """The sets of a workload of weighted sums; none where they gain differently, as all have one noise."""
    release = workload.planned
    found = []
    for set_index in dict.fromkeys(chosen.sets):
        numbers = [index for index, of in enumerate(chosen.sets) if of == set_index]
        moved = [workload.moved(release.measures[index]) for index in numbers]
        found.append(
            _Set(
                (place, set_index),
                release.shares[numbers[0]],
                float(weights[set_index]) ** 3 * len(workload.tables),
                max(own.laplace for own in moved),
                max(own.gaussian for own in moved),
                max(own.smoothing for own in moved),
                len(numbers),
            )
        )
    alike = all(math.isclose(own.gain, found[0].gain) for own in found)
    return [replace(own, gaussian=own.laplace / found[0].gain) for own in found] if alike else []


def _sets(
    releases: Sequence[PlannedRelease],
    chosen: Sequence[Chosen],
    weights: Sequence[Sequence[Fraction]],
    shares: Sequence[Sequence[Fraction]],
) -> list[_Set]:
    from discreet.accounting.gaussian.gdp import smoothing

    found = []
    for index, release in enumerate(releases):
        if release.estimated is not None:
            continue
        for set_index in dict.fromkeys(chosen[index].sets):
            own = [m for m, of in zip(release.measures, chosen[index].sets, strict=True) if of == set_index]
            if all(
                isinstance(measured, Moments | JointMoments) and not isinstance(measured, AllRows)
                for measured in own
            ):
                found.append(
                    _Set(
                        (index, set_index),
                        shares[index][set_index],
                        float(weights[index][set_index]) ** 3,
                        max(release.sensitivity(measured) / measured.row_sensitivity for measured in own),
                        max(
                            math.sqrt(release.square(measured)) / measured.row_sensitivity for measured in own
                        ),
                        max(
                            float(smoothing(release.square(measured))) / measured.row_sensitivity**2
                            for measured in own
                        ),
                        len(own),
                    )
                )
    return found


@dataclass(frozen=True)
class _Bought:
    """The zCDP that a loss buys.

    Attributes:
        rho: sets have parts of it.
        tight: whether by the exact curve, so that the variance is larger than by its part of rho.
    """

    rho: Fraction
    tight: bool


def _bought(loss: Loss, draws: int) -> Iterator[_Bought]:
    """By both ways; nothing where a loss buys nothing."""
    from discreet.accounting.gaussian.gdp import GDP
    from discreet.accounting.zcdp import ZCDP

    with suppress(InvalidParameter):
        yield _Bought(ZCDP.bought(loss).rho, False)
    with suppress(InvalidParameter):
        yield _Bought(GDP.bought(loss, draws).square / 2, True)


def _best(sets: Sequence[_Set], delta: Fraction) -> tuple[dict[tuple[int, int], Fraction], bool]:
    """The part of rho of each set that has Gaussian noise, by its place, and whether that is by the exact curve.

    There is none where Laplace noise errs least.
    """
    from discreet.accounting.loss import Loss

    laplace = [2 * set_.weight * (set_.laplace / float(set_.share)) ** 2 for set_ in sets]
    least, best, bought = sum(laplace), 0, _Bought(Fraction(0), False)
    for count in range(1, len(sets) + 1):
        if count < len(sets) and sets[count].gain == sets[count - 1].gain:
            continue  # those that gain alike have the same noise
        own = sets[:count]
        loss = Loss(sum((set_.share for set_ in own), Fraction(0)), delta)
        parts = sum(math.sqrt(set_.weight) * set_.gaussian for set_ in own)
        for found in _bought(loss, sum(set_.draws for set_ in own)):
            error = parts**2 / (2 * float(found.rho)) + sum(laplace[count:])
            error += sum(set_.weight * set_.smoothing for set_ in own) if found.tight else 0
            if error < least:
                least, best, bought = error, count, found
    weights = {
        set_.place: Fraction(f"{math.sqrt(set_.weight) * set_.gaussian:.3g}") or Fraction(1)
        for set_ in sets[:best]
    }
    whole = sum(weights.values(), Fraction(0))
    return {place: bought.rho * part / whole for place, part in weights.items()}, bought.tight


def _noisy(
    release: PlannedRelease, chosen: Chosen, parts: Mapping[int, Fraction], tight: bool
) -> PlannedRelease:
    """A release with Gaussian noise in some of its sets, on grids that are coarse enough for it."""
    from discreet.accounting.gaussian.gdp import smoothing

    if not parts:
        return release
    own = [parts.get(set_index, Fraction(0)) for set_index in chosen.sets]
    measures = list(release.measures)
    for index, (choice, rho) in enumerate(zip(chosen.choices, own, strict=True)):
        if rho:
            measured = measures[index]
            rows = math.sqrt(release.square(measured) / (2 * rho)) / measured.row_sensitivity
            times = Fraction(math.ceil(rows * 1024), 1024) * 2 ** (SCALE_BITS - VARIANCE_BITS // 2)
            measures[index] = measure(choice, times, measured.part, planned_cells(release.keys))
    coarse = replace(release, measures=tuple(measures))
    for index, rho in enumerate(own):
        if rho and tight:
            square = coarse.square(coarse.measures[index])
            own[index] = square / (square / rho + 2 * smoothing(square))
    return replace(coarse, rhos=tuple(own))
