"""People, tokens and budgets: expiry, revocation, scopes, names, and what is kept of a token."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import InvalidParameter
from discreet.ledger.terms import Terms
from discreet.server.people import DAY, SIGNED_IN, Caller, People
from tests.server.conftest import OpenState


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def people(open_state: OpenState, tmp_path: Path, clock: Clock) -> People:
    made = People(open_state(tmp_path / "service.db", clock))
    made.add("test", "ana", "analyst")
    made.add("test", "stella", "steward")
    return made


def caller(people: People, token: str) -> Caller:
    found = people.caller(token)
    assert found is not None
    return found


def test_a_token_says_who_and_which_things(people: People) -> None:
    assert caller(people, people.issue("test", "ana")).scopes == {"read", "ask"}
    assert caller(people, people.issue("test", "ana", scopes=("read",))).scopes == {"read"}
    assert caller(people, people.issue("test", "stella")).role == "steward"


def test_a_token_ends(people: People, clock: Clock) -> None:
    token = people.issue("test", "ana", days=1)
    clock.now += DAY - 1
    cookie = people.sign_in(caller(people, token))
    assert people.signed_in(cookie) is not None
    clock.now += 1
    assert people.caller(token) is None
    assert people.signed_in(cookie) is None  # it came with a token that has ended


def test_a_token_is_revoked_with_everybody_who_came_with_it(people: People) -> None:
    token, other = people.issue("test", "ana"), people.issue("test", "ana")
    who = caller(people, token)
    cookie = people.sign_in(who)
    people.revoke("test", who.token)
    assert people.caller(token) is people.signed_in(cookie) is None
    assert people.caller(other) is not None
    with pytest.raises(InvalidParameter):
        people.revoke("test", who.token)
    assert {one["state"] for one in people.tokens()} == {"revoked", "valid"}


def test_a_cookie_ends_and_can_be_ended(people: People, clock: Clock) -> None:
    who = caller(people, people.issue("test", "ana"))
    first, second = people.sign_in(who), people.sign_in(who)
    people.sign_out(first)
    assert people.signed_in(first) is None
    assert people.signed_in(second) == who
    clock.now += SIGNED_IN
    assert people.signed_in(second) is None
    assert people.signed_in("") is people.signed_in("x" * 1000) is None


def test_nothing_that_is_kept_opens_anything(people: People, tmp_path: Path) -> None:
    token = people.issue("test", "ana")
    cookie = people.sign_in(caller(people, token))
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for secret in (token, cookie):
        assert secret.split("_", 2)[2].encode() not in kept
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())
    (row,) = people.state.all("SELECT digest FROM tokens")
    assert people.caller(f"discreet_{people.tokens()[0]['id']}_{row['digest']}") is None


@pytest.mark.parametrize("scopes", [("manage",), ("read", "audit"), ("everything",)])
def test_a_scope_of_another_role_is_refused(people: People, scopes: tuple[str, ...]) -> None:
    with pytest.raises(InvalidParameter):
        people.issue("test", "ana", scopes=scopes)


def test_names_and_roles_are_checked_and_taken_once(people: People) -> None:
    for name, role in (("ana", "steward"), ("Ana", "analyst"), ("b\u0430n", "analyst"), ("new", "king")):
        with pytest.raises(InvalidParameter):
            people.add("test", name, role)
    assert people.names("analyst") == ["ana"]


def test_budgets_are_exact_and_of_analysts_only(people: People) -> None:
    people.grant("test", "ana", "hospital", 0.1)
    people.grant("test", "ana", "hospital", "1/3")
    assert people.grants("ana") == {"hospital": Terms(Fraction(1, 3))}
    for name, epsilon in (("stella", 1), ("missing", 1), ("ana", 0), ("ana", "NaN"), ("ana", -1)):
        with pytest.raises(InvalidParameter):
            people.grant("test", name, "hospital", epsilon)
    with pytest.raises(InvalidParameter, match=r"epsilon 2 where all may cost 0\.5"):
        people.grant("test", "ana", "hospital", "0.5", most=2)
    assert people.grants("ana") == {"hospital": Terms(Fraction(1, 3))}
    people.withdraw("test", "ana", "hospital")
    assert people.grants("ana") == {}
    with pytest.raises(InvalidParameter):
        people.withdraw("test", "ana", "hospital")


def test_every_change_is_in_the_audit_log(people: People) -> None:
    people.grant("stella", "ana", "hospital", 1)
    who = caller(people, people.issue("stella", "ana"))
    people.sign_in(who)
    people.revoke("stella", who.token)
    people.withdraw("stella", "ana", "hospital")
    actions = [row.action for row in people.state.audit(100)]
    assert actions == [
        "budget withdrawn", "token revoked", "signed in", "token made", "budget set", "person added", "person added",
    ]  # fmt: skip
