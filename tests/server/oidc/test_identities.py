"""Links between accounts and people: made by the steward alone, and never by a sign-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import InvalidParameter
from discreet.server.oidc.identities import Identities
from discreet.server.people import BY_PROVIDER, SIGNED_IN, People
from discreet.server.records.state import ServiceState
from tests.servers import new_schema


@pytest.fixture(params=["sqlite", "postgresql"])
def people(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[People]:
    clock = [1_000_000.0]
    state = ServiceState(
        str(tmp_path / "s.db") if request.param == "sqlite" else new_schema(), lambda: clock[0]
    )
    state.later = lambda seconds: clock.__setitem__(0, clock[0] + seconds)  # type: ignore[attr-defined]
    found = People(state)
    for name, role in (("ana", "analyst"), ("stella", "steward")):
        found.add("test", name, role)
    yield found
    state.close()


def notes(people: People) -> list[tuple[str, str, str]]:
    return [(line.who, line.action, line.about) for line in people.state.audit(50)]


def test_the_steward_links_and_unlinks(people: People) -> None:
    links = Identities(people, "https://a.example")
    assert links.sign_in("ana@example.org") is None
    links.link("stella", "ana@example.org", "ana")
    secret = links.sign_in("ana@example.org")
    assert secret is not None
    caller = people.signed_in(secret)
    assert caller is not None
    assert (caller.name, sorted(caller.scopes)) == ("ana", ["ask", "read"])
    assert links.all() == [{"account": "ana@example.org", "name": "ana"}]
    links.unlink("stella", "ana@example.org")
    assert people.signed_in(secret) is None
    assert links.sign_in("ana@example.org") is None
    said = notes(people)
    assert ("the provider", "sign-in refused", "'ana@example.org' is not linked") in said
    assert ("stella", "sign-in linked", "ana@example.org to ana") in said
    assert ("stella", "sign-in unlinked", "ana@example.org from ana") in said
    assert any(who == "ana" and action == "signed in" and BY_PROVIDER in about for who, action, about in said)


def test_an_account_of_another_provider_is_another_one(people: People) -> None:
    Identities(people, "https://a.example").link("stella", "1", "ana")
    other = Identities(people, "https://b.example")
    assert other.sign_in("1") is None
    assert other.all() == []
    with pytest.raises(InvalidParameter, match="No such account"):
        other.unlink("stella", "1")


def test_an_account_leads_to_one_person_and_looks_like_itself_alone(people: People) -> None:
    links = Identities(people, "https://a.example")
    links.link("stella", "ana@example.org", "ana")
    with pytest.raises(InvalidParameter, match="linked already"):
        links.link("stella", "ana@example.org", "stella")
    for value in ("", "\u0430na@example.org", " ana@example.org", "ana@example.org\n", "a" * 201):
        with pytest.raises(InvalidParameter, match="ASCII"):
            links.link("stella", value, "ana")
    with pytest.raises(InvalidParameter, match="Nobody"):
        links.link("stella", "new@example.org", "nobody")
    for value in ("\u0430na@example.org", "ANA@example.org", "ana@example.org ", "ana@example.org\x00"):
        assert links.sign_in(value) is None
    assert all("\u0430" not in about for _, _, about in notes(people))


def test_a_sign_in_ends_and_can_be_revoked_and_leaves_no_token_behind(people: People) -> None:
    links = Identities(people, "https://a.example")
    links.link("stella", "1", "ana")
    first, second = links.sign_in("1"), links.sign_in("1")
    assert first is not None
    assert second is not None
    assert first != second
    caller = people.signed_in(first)
    assert caller is not None
    people.revoke("stella", caller.token)
    assert people.signed_in(first) is None
    assert people.signed_in(second) is not None
    people.state.later(SIGNED_IN + 1)  # type: ignore[attr-defined]
    assert people.signed_in(second) is None
    links.sign_in("1")
    assert len([one for one in people.tokens() if one["id"].startswith(BY_PROVIDER)]) == 1
