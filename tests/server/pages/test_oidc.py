"""A sign-in through a real provider, on the pages: without JavaScript, in one browser, and for people who are known."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from discreet.server.oidc.identities import Identities
from discreet.server.oidc.provider import Provider
from discreet.server.rate import Rate
from discreet.server.service import ServiceSettings
from discreet.server.start import open_service
from tests.server.conftest import FAST, Answer, Running, listening, make_hospital
from tests.server.oidc import running as at
from tests.server.visit import Visit

pytestmark = at.OLD


@pytest.fixture(scope="module")
def there() -> Iterator[at.Running]:
    with at.provider() as found:
        yield found


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, there: at.Running) -> Iterator[Running]:
    policy = make_hospital(tmp_path_factory.mktemp("service") / "hospital")
    service = open_service([policy], FAST, oidc=there.settings(name="the hospital"))
    service.strangers = Rate(10_000, 10_000)
    with listening(service) as found:
        found.person("stella", "steward")
        found.person("ana", epsilon=1)
        for account, name in (("ana@example.org", "ana"), ("stella@example.org", "stella")):
            service.identities.link("test", account, name)
        yield found


class Browser:
    """Cookies by name; it follows nothing by itself."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.cookies: dict[str, str] = {}
        self.said: list[str] = []

    def get(self, path: str) -> Answer:
        sent = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = http.client.HTTPConnection("127.0.0.1", self.running.port, timeout=30)
        try:
            connection.request("GET", path, headers={"Cookie": sent} if sent else {})
            came = connection.getresponse()
            answer = Answer(came.status, {k.lower(): v for k, v in came.getheaders()}, came.read())
        finally:
            connection.close()
        for name, value in came.getheaders():
            if name.lower() == "set-cookie":
                self.said.append(value)
                for cookie, morsel in SimpleCookie(value).items():
                    self.cookies.pop(cookie, None)
                    if morsel.value:
                        self.cookies[cookie] = morsel.value
        return answer

    def begin(self, there: at.Running, subject: str, action: str = "") -> str:
        """Go to the provider and sign in there; the path that leads back."""
        answer = self.get("/sign-in/provider")
        assert answer.status == 303, answer.data
        parts = urlsplit(there.consent(answer.headers["location"], subject, action))
        return f"{parts.path}?{parts.query}"

    def sign_in(self, there: at.Running, subject: str) -> Answer:
        return self.get(self.begin(there, subject))


def _is_open(token: dict[str, object]) -> bool:
    return str(token["id"]).startswith("oidc-") and token["state"] == "valid"


def test_somebody_known_signs_in_and_out(here: Running, there: at.Running) -> None:
    browser = Browser(here)
    assert b'href="/sign-in/provider"' in browser.get("/sign-in").data
    answer = browser.sign_in(there, "1")
    assert answer.status == 200, answer.data
    assert b'http-equiv="refresh"' in answer.data
    assert set(browser.cookies) == {"discreet"}
    assert browser.get("/data").status == 200
    assert b"ana" in browser.get("/data").data
    visit = Visit(here)
    visit.cookie = f"discreet={browser.cookies['discreet']}"
    (made,) = (one["id"] for one in here.service.people.tokens() if _is_open(one))
    assert visit.send("/sign-out").status == 303
    assert not any(
        _is_open(one) for one in here.service.people.tokens()
    )  # no valid token is left that nobody holds
    ended = here.service.people.state.all("SELECT action, about FROM audit ORDER BY number DESC LIMIT 1")
    assert [tuple(one) for one in ended] == [("token revoked", made)]
    assert browser.get("/data").headers["location"] == "/sign-in"


def test_the_cookies_are_of_the_kind_that_they_need(here: Running, there: at.Running) -> None:
    browser = Browser(here)
    browser.sign_in(there, "1")
    attempt = next(
        one for one in browser.said if one.startswith("discreet-attempt=") and "Max-Age=600" in one
    )
    own = next(one for one in browser.said if one.startswith("discreet="))
    assert "HttpOnly; Max-Age=600; Path=/; SameSite=lax" in attempt
    assert "HttpOnly; Max-Age=28800; Path=/; SameSite=strict" in own


def test_a_steward_signs_in_as_one(here: Running, there: at.Running) -> None:
    browser = Browser(here)
    browser.sign_in(there, "3")
    assert browser.get("/steward/people").status == 200


@pytest.mark.parametrize("subject", ["2", "4", "5", "6", "7", "8", "new"])
def test_who_is_not_known_gets_nothing_and_stands_in_the_audit_log(
    here: Running, there: at.Running, subject: str
) -> None:
    before = here.service.people.names("analyst"), len(here.service.people.tokens())
    browser = Browser(here)
    answer = browser.sign_in(there, subject)
    assert answer.status in (401, 403)
    assert browser.cookies == {}
    assert before == (here.service.people.names("analyst"), len(here.service.people.tokens()))
    newest = here.service.state.audit(1)[0]
    assert (newest.who, newest.action) == ("the provider", "sign-in refused")
    assert newest.about.isascii()


def test_who_is_unlinked_is_out_at_once_and_stays_out(here: Running, there: at.Running) -> None:
    browser = Browser(here)
    browser.sign_in(there, "1")
    steward = Visit(here, "stella")
    assert b"ana@example.org" in steward.get("/steward/people").data
    assert steward.send("/steward/people/unlink", account="ana@example.org").status == 303
    assert browser.get("/data").headers["location"] == "/sign-in"
    assert Browser(here).sign_in(there, "1").status == 403
    assert steward.send("/steward/people/link", account="ana@example.org", name="ana").status == 303
    assert Browser(here).sign_in(there, "1").status == 200
    assert steward.send("/steward/people/link", account="\u0430na@example.org", name="ana").status == 422


def test_an_answer_belongs_to_the_browser_that_began(here: Running, there: at.Running) -> None:
    thief, victim = Browser(here), Browser(here)
    path = thief.begin(there, "4")
    victim.begin(there, "1")
    for browser in (victim, Browser(here)):  # one that began another, and one that began none
        assert browser.get(path).status == 401
        assert "discreet" not in browser.cookies


def test_an_answer_holds_once(here: Running, there: at.Running) -> None:
    browser = Browser(here)
    path = browser.begin(there, "1")
    attempt = dict(browser.cookies)
    assert browser.get(path).status == 200
    assert browser.get(path).status == 401  # the attempt is over
    replayed = Browser(here)
    replayed.cookies = attempt  # and where the cookie was kept, the provider knows no such code
    assert replayed.get(path).status == 401


@pytest.mark.parametrize("more", ["&state=x", "&code=" + "a" * 5000, "&error=access_denied"])
def test_parameters_that_stand_twice_or_are_long_are_refused(
    here: Running, there: at.Running, more: str
) -> None:
    browser = Browser(here)
    assert browser.get(browser.begin(there, "1") + more).status == 401
    assert browser.cookies == {}


def test_the_cookie_that_was_there_before_is_worthless_afterwards(here: Running, there: at.Running) -> None:
    attacker = Browser(here)
    attacker.sign_in(there, "3")
    fixed = attacker.cookies["discreet"]
    victim = Browser(here)
    victim.cookies["discreet"] = fixed  # planted in the victim's browser
    victim.sign_in(there, "1")
    assert victim.cookies["discreet"] != fixed
    assert here.service.people.signed_in(fixed) is None


def test_who_says_no_at_the_provider_is_not_in(here: Running, there: at.Running) -> None:
    browser = Browser(here)
    query = urlsplit(browser.begin(there, "1", "deny")).query
    assert browser.get(f"/sign-in/provider/back?{query}").status == 401
    assert browser.cookies == {}


def test_a_provider_that_is_not_there_is_told(here: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = at.Running(1).settings()
    monkeypatch.setattr(here.service, "provider", Provider(settings))
    answer = Browser(here).get("/sign-in/provider")
    assert answer.status == 500
    assert b"gives no answer" in answer.data


def test_strangers_may_not_try_without_end(here: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(here.service, "strangers", Rate(0.001, 2))
    statuses = [Browser(here).get("/sign-in/provider/back?state=x&code=y").status for _ in range(4)]
    assert statuses == [401, 401, 429, 429]
    assert Browser(here).get("/sign-in/provider").status == 429


def test_without_a_provider_there_is_nothing(tmp_path: Path) -> None:
    with listening(open_service([make_hospital(tmp_path / "hospital")], FAST)) as found:
        assert Browser(found).get("/sign-in/provider").status == 404
        assert Browser(found).get("/sign-in/provider/back?state=x&code=y").status == 404
        assert b"/sign-in/provider" not in Browser(found).get("/sign-in").data


def test_behind_a_proxy_the_provider_leads_back_there() -> None:
    from discreet.server.desk import Caps
    from discreet.server.start import Listening

    settings = Listening(public_url="https://stats.example.org").settings(Caps())
    assert isinstance(settings, ServiceSettings)
    assert settings.public_url == "https://stats.example.org"


def test_an_identity_that_anybody_may_take_would_be_seen(
    here: Running, there: at.Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault is planted: the first request wins an account, and the unknown one comes in."""
    monkeypatch.setattr(Identities, "_named", lambda self, value: "ana")
    assert Browser(here).sign_in(there, "4").status == 200
