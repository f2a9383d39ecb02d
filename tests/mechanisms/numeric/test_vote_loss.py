"""The loss by the votes: a bound on the true one, smooth in the votes, and told with noise.

Of the tests with random votes none can fail by chance: what they hold is proven. Power: rows that were thought to move
by less than they do are found.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidParameter
from discreet.learning import PrivateArrays, data_independent, pate
from discreet.mechanisms.numeric import vote_loss
from discreet.mechanisms.numeric.vote_loss import UNIT, VoteLoss, clearness, moments
from tests.depth import few
from tests.learning.test_pate import CLASSES, PUBLIC, nearest, rows


def law(votes: tuple[int, int], gamma: float) -> tuple[float, float]:
    """The exact chances of both names: geometric noise, ties by a coin."""
    gap = abs(votes[0] - votes[1])
    least = (math.exp(-gamma * gap) + math.exp(-gamma * (gap + 1))) / (1 + math.exp(-gamma)) / 2
    return (1 - least, least) if votes[0] > votes[1] else (least, 1 - least)


@pytest.mark.parametrize("gamma", [0.05, 0.2, 1.0])
def test_a_moment_bounds_that_of_the_law(gamma: float) -> None:
    teachers = 40
    for order in (1, 4, 16):
        bound = moments(gamma, order, teachers) / UNIT
        for first in range(teachers):
            votes = (first, teachers - first)
            place = int(clearness([votes], gamma)[0])
            here = law(votes, gamma)
            for moved in ((first + 1, teachers - first - 1), (first - 1, teachers - first + 1)):
                there = law(moved, gamma)
                moment = math.log(sum(p * (p / q) ** order for p, q in zip(here, there, strict=True)))
                assert moment <= bound[place] + 1e-9
        assert (np.diff(bound) <= 0).all()


def test_a_bound_of_clearer_votes_is_found_too_small() -> None:
    """The planted fault: rows are taken for ten votes clearer than they are."""
    bound = moments(0.2, 8, 40) / UNIT
    excess = []
    for first in range(22, 35):
        here, there = law((first, 40 - first), 0.2), law((first - 1, 41 - first), 0.2)
        moment = math.log(sum(p * (p / q) ** 8 for p, q in zip(here, there, strict=True)))
        excess.append(moment - bound[min(40, int(clearness([(first, 40 - first)], 0.2)[0]) + 10)])
    assert max(excess) > 0


def neighbours(rng: np.random.Generator, teachers: int, classes: int, count: int) -> tuple[Any, Any]:
    """Votes, and those with one vote moved in each row or in some."""
    votes = rng.multinomial(teachers, rng.dirichlet(np.full(classes, 0.3)), count)
    other = votes.copy()
    for row in other:
        if rng.random() < 0.8:
            row[rng.choice(np.flatnonzero(row))] -= 1
            row[rng.integers(classes)] += 1
    return votes, other


def broken(told: VoteLoss, rng: np.random.Generator) -> bool:
    cost = told._moments(told.order)
    one, other = neighbours(rng, told.teachers, 4, told.count)
    here, there = (clearness(votes, float(told.gamma)) for votes in (one, other))
    moved = abs(int(cost[here].sum()) - int(cost[there].sum()))
    smooth = [told.smooth(places) for places in (here, there)]
    return moved > min(smooth) or max(smooth) * told._shrink > min(smooth)


TOLD = [VoteLoss(epsilon, gamma, 5, 30, "1e-5") for epsilon in ("1/2", 4) for gamma in ("1/20", "1/2")]


# A deep run asks both epsilons with both parts.
@pytest.mark.parametrize("told", few(TOLD, 2))
def test_the_sensitivity_is_smooth(told: VoteLoss) -> None:
    rng = np.random.default_rng(3)
    assert not any(broken(told, rng) for _ in range(25))


def test_a_sensitivity_that_is_not_smooth_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: rows that move by one vote less than they do."""
    monkeypatch.setattr(vote_loss, "MOVE", 1)
    rng = np.random.default_rng(3)
    assert any(broken(told, rng) for told in TOLD for _ in range(25))


def test_where_teachers_agree_the_loss_is_far_smaller() -> None:
    """240 of 250 agree. A bound fails with a chance of 5 %, and 16 of 40 with one below 1e-10."""
    votes = np.tile([240, 6, 4], (100, 1))
    told = VoteLoss(2, "0.05", 100, 250, "1e-5")
    true = told._at(told.order, int(told._moments(told.order)[clearness(votes, 0.05)].sum()))
    assert true < data_independent("0.05", 100, "1e-5") / 8
    limit = data_independent("0.05", 100, "1e-5")
    answers = [told.told(told.release(votes), limit) for _ in range(40)]
    assert sum(answer.most < true for answer in answers) <= 15
    assert sorted(answer.most for answer in answers)[20] < 3


def test_it_is_told_and_charged_with_the_labels() -> None:
    people = PrivateArrays(*rows(), budget=100)
    given: dict[str, Any] = {"classes": CLASSES, "teachers": 20, "gamma": 2}
    named = pate(people, nearest(), PUBLIC, tell="1/2", **given)
    assert named.labels.tolist() == [0, 1, 2]
    assert people.budget.spent == 12 + Fraction(1, 2)
    assert named.by_votes is not None
    assert named.by_votes.price == Fraction(1, 2)
    assert pate(people, nearest(), PUBLIC, tell="1/2", **given).by_votes == named.by_votes  # for nothing
    assert pate(people, nearest(), PUBLIC, **given).by_votes is None
    assert people.budget.spent == 24 + Fraction(1, 2)
    with pytest.raises(InvalidParameter):
        pate(people, nearest(), PUBLIC, tell=0, **given)
