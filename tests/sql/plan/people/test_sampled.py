"""The sampling mechanism: its proof by enumeration, its coins in SQL, and the faults that it is there for."""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from fractions import Fraction

import pytest
from tests.consenting import CLASS, SHARES, declared, protected, release_of
from tests.inside import engine_of

from discreet.accounting.personal import keep_probability
from discreet.sql.lower.people import by_class
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.people.sampled import DIGITS, keeps, sample

Law = dict[tuple[int, ...], Fraction]
FALL = Fraction(1, 4)
"""e^-t: a person of share 1/2 may lose a factor of 2, and is kept with (2 - 1)/(4 - 1); all of it is rational."""
KEEP = {"half": Fraction(1, 3), "open": Fraction(1)}
FACTOR = {"half": 2, "open": 4}
WINDOW = range(-3, 7)


def noisy(count: int) -> dict[int, Fraction]:
    """A count with Laplace noise for t, over a window."""
    return {seen: (1 - FALL) / (1 + FALL) * FALL ** abs(seen - count) for seen in WINDOW}


def of_samples(
    people: list[str], keep: dict[str, Fraction], questions: int = 1, one_coin: bool = False
) -> Law:
    """The law of noisy counts of those who are kept, each question with coins of its own or all with one."""
    samples: dict[int, Fraction] = defaultdict(Fraction)
    for coins in itertools.product((True, False), repeat=len(people)):
        chance = Fraction(1)
        for name, kept in zip(people, coins, strict=True):
            chance *= keep[name] if kept else 1 - keep[name]
        samples[sum(coins)] += chance
    out: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for counts in itertools.product(samples, repeat=1 if one_coin else questions):
        chance = Fraction(1)
        for count in counts:
            chance *= samples[count]
        laws = [noisy(count) for count in (counts * questions if one_coin else counts)]
        for seen in itertools.product(WINDOW, repeat=questions):
            found = chance
            for law, each in zip(laws, seen, strict=True):
                found *= law[each]
            out[seen] += found
    return out


def worst(
    person: str, keep: dict[str, Fraction] = KEEP, questions: int = 1, one_coin: bool = False
) -> Fraction:
    """The greatest factor between the laws with and without a person, over some others."""
    found = Fraction(0)
    for others in (["half"], ["open", "half"], []):
        without = of_samples(others, keep, questions, one_coin)
        having = of_samples([*others, person], keep, questions, one_coin)
        found = max(
            [found, *(max(having[seen] / without[seen], without[seen] / having[seen]) for seen in having)]
        )
    return found


@pytest.mark.parametrize("person", KEEP)
@pytest.mark.parametrize("questions", [1, 2])
def test_a_person_loses_what_they_allow_and_no_more(person: str, questions: int) -> None:
    assert worst(person, questions=questions) == FACTOR[person] ** questions


def test_planted_a_person_who_is_kept_too_often_is_found() -> None:
    assert worst("half", {**KEEP, "half": Fraction(35, 100)}) > FACTOR["half"]


def test_planted_one_coin_for_two_questions_is_found() -> None:
    assert worst("half", questions=2, one_coin=True) > FACTOR["half"] ** 2


def test_a_class_is_kept_by_its_share_and_never_more_often() -> None:
    people = release_of(protected(), "SELECT MEDIAN(x) AS m FROM visits").people
    assert people is not None
    for epsilon in (Fraction(1, 100), Fraction(1), Fraction(30)):
        for name, keep in keeps(people, epsilon).items():
            wanted = keep_probability(SHARES[name] * epsilon, epsilon)
            assert wanted - Fraction(1, 16**DIGITS) < keep <= wanted
        assert keeps(people, epsilon)["open"] == 1


def test_the_coin_of_a_person_is_their_hash_under_the_key() -> None:
    """All rows of a unit share its coin; units of no class are never kept."""
    session = protected()
    release = release_of(
        session, "SELECT ward, COUNT(DISTINCT id) AS n, MEDIAN(x) AS m FROM visits GROUP BY ward"
    )
    release_units = release_of(session, "SELECT COUNT(DISTINCT id) AS n FROM visits", Fraction(3))
    assert release.people is not None
    assert release_units.people is not None
    keep = keeps(release_units.people, Fraction(3))
    seen = set()
    for number in range(6):
        key = f"{number:064x}"
        own = sample(release_units, 0, key, "duckdb")
        kept = {
            unit
            for unit, name in CLASS.items()
            if int(hashlib.sha256(f"{key}{unit}".encode()).hexdigest()[:DIGITS], 16) < keep[name] * 16**DIGITS
        }
        assert int(exact_integers(own, engine_of(session), 7)[0, 0]) == len(kept)
        seen.add(frozenset(kept))
    assert len(seen) > 1


def test_every_measure_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []
    plain = sample

    def noted(release: object, index: int, key: str, dialect: str) -> object:
        keys.append(key)
        return plain(release, index, key, dialect)  # type: ignore[arg-type]

    monkeypatch.setattr(by_class, "sample", noted)
    session = protected()
    sql = "SELECT MEDIAN(x) AS m, MEDIAN(x * 2) AS m2 FROM visits"
    before = session.preview(sql, 1)
    assert before.epsilon == 1
    keys.clear()  # the probe of the preview writes zeros
    first = session.sql(sql, 1)
    secret = [key for key in keys if key != "0" * 64]
    assert len(set(secret)) == len(secret) == 2
    assert all(len(key) == 64 for key in secret)
    keys.clear()
    again = session.sql(sql, 1)
    assert again.replayed
    assert again.to_dict() == first.to_dict()
    assert not keys
    kept = b"".join(
        session.ledger.replay(entry.question) or b""
        for entry in session.ledger.entries()
        if entry.kind == "charge"
    )
    assert kept
    assert not any(key.encode() in kept or bytes.fromhex(key) in kept for key in secret)


def test_engines_without_a_keyed_hash_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    from discreet.errors import QueryRefused
    from discreet.sql.dialects import named
    from discreet.sql.plan.people import class_plan

    monkeypatch.setattr(class_plan, "named", lambda name: dataclasses.replace(named(name), keyed_hash=None))
    with pytest.raises(QueryRefused, match="no keyed hash"):
        protected(declared()).preview("SELECT MEDIAN(x) AS m FROM visits", 1)
