"""Releases by class: the law of all that is released on neighbouring tables, by enumeration, and its coverage."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.consenting import CLASS, PEOPLE, declared, protected, release_of
from tests.inside import engine_of
from tests.noise.tape import exp

from discreet.errors import QueryRefused
from discreet.release.draw import Draw, Use
from discreet.sql.algebra import personal
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.personal import Classes
from discreet.sql.lower import uses
from discreet.sql.lower.people import by_class
from discreet.sql.lower.people.by_class import exact_by_class, noisy_by_class
from discreet.sql.lower.uses import uses_of
from discreet.sql.plan.people.by_class import ByClass
from discreet.sql.plan.plan import PlannedRelease

EPSILON = Fraction(2)
SQL = "SELECT COUNT(*) AS n FROM people"
POLICY = {"half": "1/2", "open": 1}
BASE = [(1, "open"), (2, "half"), (3, "half")]


def counted(rows: list[tuple[int, str]]) -> tuple[PlannedRelease, list[int]]:
    """The release, and the integers of each class."""
    ids, says = zip(*rows, strict=True)
    table = pa.table({"id": ids, "consent": says, "age": [1] * len(rows)})
    session = protected(declared(shares=POLICY), people=table)
    release = release_of(session, SQL.replace("people", "(SELECT id FROM people GROUP BY id) AS p"), EPSILON)
    assert release.people is not None
    return release, [int(one[0, 0]) for one in exact_by_class(release, release.people, engine_of(session), 7)]


def worst(more: list[tuple[int, str]]) -> Fraction:
    """The greatest factor between the laws of the integers of all classes with some rows of one person and without.

    The integers of each class get noise by themselves, so the factor of all is the product of their factors, each of
    which is greatest where the noisy integer lies beyond both exact ones: e^(distance / scale).
    """
    release, without = counted(BASE)
    _, having = counted([*BASE, *more])
    scales = [use.mechanism.scale for use in uses_of([release]).values()]  # type: ignore[attr-defined]
    moved = [abs(one - other) for one, other in zip(having, without, strict=True)]
    found = Fraction(1)
    for distance, scale in zip(moved, scales, strict=True):
        fall = exp(-1 / Fraction(scale))
        law = {k: fall ** abs(k) for k in range(-9, 10)}
        ratios = [law[k - distance] / law[k] for k in range(9) if k - distance in law]
        found *= max([*ratios, *(1 / ratio for ratio in ratios)])
    return found


CASES = [
    ([(9, "open")], Fraction(1)),
    ([(9, "half")], Fraction(1, 2)),
    ([(9, "half"), (9, "open")], Fraction(1, 2)),
    ([(9, "none")], Fraction(0)),
    ([(9, "open"), (9, "none")], Fraction(0)),
]


@pytest.mark.parametrize(("more", "share"), CASES)
def test_a_person_loses_the_share_of_their_class(more: list[tuple[int, str]], share: Fraction) -> None:
    assert worst(more) <= exp(share * EPSILON) * (1 + Fraction(1, 10**12))


def test_planted_a_person_in_two_classes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def any_row(self: Classes, scan: rel.Scan, number: int) -> rel.Relation:
        own = personal._sure("eq", self.named, self.value(number))
        return rel.Matching(scan, rel.Select(rel.Scan(self.table), None, own), None, anti=False)

    monkeypatch.setattr(Classes, "_of_class", any_row)
    more, share = CASES[2]
    assert worst(more) > exp(share * EPSILON)


def test_planted_the_same_noise_for_all_is_found_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = uses._by_class

    def alike(release: PlannedRelease, index: int, people: ByClass) -> dict[str, Use]:
        found = plain(release, index, people)
        return {
            name: replace(use, mechanism=list(found.values())[-1].mechanism) for name, use in found.items()
        }

    monkeypatch.setattr(uses, "_by_class", alike)
    more, share = CASES[1]
    assert worst(more) > exp(share * EPSILON)
    session = protected()
    with pytest.raises(QueryRefused, match="more than they allow"):
        session.sql(SQL, 1)
    assert session.budget.spent == 0


def noisy(release: PlannedRelease, session: Any) -> Any:
    assert release.people is not None
    draw = Draw(uses_of([release]))
    found = noisy_by_class(release, release.people, engine_of(session), 7, draw, {})
    draw.see_all_drawn()
    return found


def test_totals_have_no_bias_and_intervals_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 draws of the noise: the mean is met within 9 standard errors, and 95 % intervals hold in 90.5 % to 99 %.

    A false alarm of the coverage is 6 standard errors off, below 1e-9. That no class is left out, which would move the
    mean by one or two, `test_each_class_has_the_rows_of_its_units` sees.
    """
    session = protected(declared(shares={"careful": "0.2", "normal": "0.5", "open": 1}))
    release = release_of(session, "SELECT COUNT(DISTINCT id) AS n FROM visits", Fraction(1, 2))
    assert release.people is not None
    exact = exact_by_class(release, release.people, engine_of(session), 7)
    monkeypatch.setattr(by_class, "exact_by_class", lambda *_: [one.copy() for one in exact])
    truth, found = len(CLASS), np.array([noisy(release, session).entries[0, 0] for _ in range(1000)])
    deviation = math.sqrt(sum(2 * (2 / share) ** 2 for share in (0.2, 0.5, 1)))
    assert abs(found.mean() - truth) < 9 * deviation / math.sqrt(1000)
    width = release.people.law.half_width(np.array([1.0]), 0, 0.95)
    assert 0.905 < np.mean(abs(found - truth) <= width) < 0.99


def test_a_group_of_one_class_has_the_noise_of_that_class_alone() -> None:
    """At epsilon 400 the noise of the class open is 0 but for a chance of e^-133; that of careful is up to 10."""
    session = protected()
    release = release_of(session, "SELECT consent, COUNT(*) AS n FROM people GROUP BY consent", Fraction(400))
    shown = noisy(release, session).entries[:, 0].tolist()
    listed = dict(zip(release.keys[0].values, shown, strict=True))
    assert listed["open"] == 1
    assert listed["normal"] == 2


def test_sums_saturate_and_never_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    session = protected()
    release = release_of(session, SQL)
    large = np.full((1, 1), 2**62, np.int64)
    monkeypatch.setattr(by_class, "exact_by_class", lambda *_: [large.copy() for _ in range(3)])
    assert noisy(release, session).entries[0, 0] > 2**61


def test_an_empty_table_is_answered() -> None:
    empty = PEOPLE.slice(0, 0)
    session = protected(people=empty)
    answer = session.sql("SELECT COUNT(*) AS n, AVG(age) AS a, MEDIAN(age) AS m FROM people", 1)
    assert len(answer) == 1
    assert session.budget.spent == 1
