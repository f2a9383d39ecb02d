"""The noise of sums over classes: its law, and why no sample errs less."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.consenting import SHARES, declared, protected, release_of

from discreet.accounting.personal import keep_probability
from discreet.sql.plan.people.by_class import ANY

GRID = [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(4), Fraction(20)]


@pytest.mark.parametrize("epsilon", GRID)
@pytest.mark.parametrize("share", [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_a_class_by_itself_errs_less_than_its_sample_scaled_up(epsilon: Fraction, share: Fraction) -> None:
    keep = keep_probability(share * epsilon, epsilon)
    assert keep <= share
    for people in (0, 10, 1000):
        alone = 2 / (share * epsilon) ** 2
        sampled = 2 / (keep * epsilon) ** 2 + people * (1 - keep) / keep
        assert alone <= sampled


def test_the_law_adds_up_the_noise_of_the_classes_that_are_shown() -> None:
    session = protected()
    both = release_of(session, "SELECT COUNT(*) AS n FROM people WHERE consent <> 'careful'").people
    assert both is not None
    assert both.law.laws == ((((6.0, 1), (3.0, 1)),),)  # three rows of a person
    keyed = release_of(session, "SELECT consent, COUNT(*) AS n FROM people GROUP BY consent").people
    assert keyed is not None
    assert keyed.key == 0
    assert keyed.law.laws == ((((30.0, 1),),),)  # nobody says which group
    assert [keyed.narrowed(at).law.laws[0][0] for at in range(3)] == [((30.0, 1),), ((6.0, 1),), ((3.0, 1),)]
    assert keyed.shown(0) == [0, 1, 2]
    assert keyed.shown(0, 1) == [1]
    assert both.shown(0, 0) == [2]  # nobody of the class careful counts
    assert both.shown(0, ANY) == [1, 2]


def test_groups_know_their_class() -> None:
    policy = declared()
    people = policy.tables["people"]
    listed = {**people.columns, "consent": {"keys": ["open", "else", "careful"]}}
    people = people.model_validate({**people.__dict__, "columns": listed})
    session = protected(policy.model_copy(update={"tables": {**policy.tables, "people": people}}))
    release = release_of(session, "SELECT consent, COUNT(*) AS n FROM people GROUP BY consent")
    assert release.people is not None
    classes = dict(
        zip(release.keys[0].values, release.people.of_groups(release.keys, 3).tolist(), strict=True)
    )
    assert classes == {"open": 2, "else": 2, "careful": 0}
    plain = release_of(session, "SELECT age // 50 AS a, COUNT(*) AS n FROM people GROUP BY age // 50")
    assert plain.people is not None
    assert set(plain.people.of_groups(plain.keys, plain.cells).tolist()) == {ANY}


def test_noise_drawn_anew_has_the_law() -> None:
    """50,000 draws: the deviation of a class is met within 5 %, 10 standard errors of 0.5 %."""
    people = release_of(protected(), "SELECT consent, COUNT(*) AS n FROM people GROUP BY consent").people
    assert people is not None
    drawn = people.sample_noise(0, (50_000, 3, 1), np.arange(3), np.random.default_rng(7))
    found = drawn.std(axis=0).ravel()
    wanted = [math.sqrt(2) * 3 / float(share) for share in SHARES.values()]
    assert np.allclose(found, wanted, rtol=0.05)
