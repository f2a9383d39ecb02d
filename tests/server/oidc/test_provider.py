"""A sign-in at a real provider: who is believed, and each fault of a token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt

from discreet.errors import ServerError
from discreet.server.oidc import provider as module
from discreet.server.oidc.provider import Attempt, Provider, SignInRefused
from discreet.server.oidc.settings import Oidc
from tests.server.oidc import running as at

pytestmark = at.OLD
BACK = "http://127.0.0.1:1/sign-in/provider/back"


@pytest.fixture(scope="module")
def one() -> Iterator[at.Running]:
    with at.provider() as found:
        yield found


@pytest.fixture
def there(one: at.Running) -> Iterator[at.Running]:
    yield one
    one.bend, one.sign = lambda claims: claims, None


def came(
    there: at.Running, asked: Provider, attempt: Attempt, subject: str = "1", action: str = ""
) -> dict[str, str]:
    query = urlsplit(there.consent(asked.begin(attempt, BACK), subject, action)).query
    return {name: values[0] for name, values in parse_qs(query).items()}


def test_a_good_sign_in(there: at.Running) -> None:
    asked, attempt = Provider(there.settings()), Attempt("a secret")
    begun = parse_qs(urlsplit(asked.begin(attempt, BACK)).query)
    assert begun["scope"] == ["openid email profile"]
    assert begun["code_challenge_method"] == ["S256"]
    assert "a secret" not in str(begun)
    claims = asked.finish(attempt, BACK, came(there, asked, attempt))
    assert (claims["sub"], asked.person(claims)) == ("1", "ana@example.org")


def test_addresses_and_keys_are_fetched_once(there: at.Running) -> None:
    now = [0.0]
    asked, attempt = Provider(there.settings(), clock=lambda: at.now() + now[0]), Attempt("a secret")
    there.asked.clear()
    for turn in range(4):
        now[0] = 0 if turn < 3 else module.KEPT + 1
        there.bend = lambda claims: {
            **claims,
            "iat": claims["iat"] + int(now[0]),
            "exp": claims["exp"] + int(now[0]),
        }
        asked.finish(attempt, BACK, came(there, asked, attempt))
    assert there.asked.count("/jwks") == there.asked.count("/.well-known/openid-configuration") == 2


def test_a_key_that_is_not_known_is_looked_for_once_in_a_while(there: at.Running) -> None:
    asked, attempt = Provider(there.settings()), Attempt("a secret")

    def named(claims: at.Claims, own: Any) -> str:
        return str(jwt.encode({"alg": "RS256", "kid": "another"}, claims, own))

    there.sign = named
    for _ in range(3):
        there.asked.clear()
        with pytest.raises(SignInRefused):
            asked.finish(attempt, BACK, came(there, asked, attempt))
        assert "/jwks" not in there.asked or there.asked.count("/.well-known/openid-configuration") == 1


FAULTS: dict[str, Callable[[at.Claims], at.Claims]] = {
    "nonce": lambda claims: {**claims, "nonce": "another"},
    "no nonce": lambda claims: {name: value for name, value in claims.items() if name != "nonce"},
    "audience": lambda claims: {**claims, "aud": "another"},
    "audiences without us": lambda claims: {**claims, "aud": ["another", "third"]},
    "made for another party": lambda claims: {**claims, "aud": ["discreet", "another"], "azp": "another"},
    "several audiences, no party": lambda claims: {**claims, "aud": ["discreet", "another"]},
    "expired": lambda claims: {**claims, "exp": at.now() - module.LEEWAY - 5},
    "no expiry": lambda claims: {name: value for name, value in claims.items() if name != "exp"},
    "issued in the future": lambda claims: {**claims, "iat": at.now() + 3600},
    "issuer": lambda claims: {**claims, "iss": "http://localhost:1"},
    "no issuer": lambda claims: {name: value for name, value in claims.items() if name != "iss"},
    "no subject": lambda claims: {name: value for name, value in claims.items() if name != "sub"},
    "another access token": lambda claims: {**claims, "at_hash": "AAAA"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_token_that_does_not_fit_is_refused(there: at.Running, fault: str) -> None:
    asked, attempt = Provider(there.settings()), Attempt("a secret")
    there.bend = FAULTS[fault]
    with pytest.raises(SignInRefused) as caught:
        asked.finish(attempt, BACK, came(there, asked, attempt))
    assert caught.value.noted
    assert "another" not in str(caught.value) + caught.value.reason


@pytest.mark.parametrize("sign", [at.by_another_key, at.by_the_public_key, at.by_nobody])
def test_a_signature_of_somebody_else_is_refused(
    there: at.Running, sign: Callable[[at.Claims, Any], str]
) -> None:
    asked, attempt = Provider(there.settings()), Attempt("a secret")
    there.sign = sign
    with pytest.raises(SignInRefused, match="refused"):
        asked.finish(attempt, BACK, came(there, asked, attempt))


def test_a_code_holds_once_and_with_its_verifier_alone(there: at.Running) -> None:
    asked, attempt = Provider(there.settings()), Attempt("a secret")
    first = came(there, asked, attempt)
    asked.finish(attempt, BACK, first)
    with pytest.raises(SignInRefused) as again:
        asked.finish(attempt, BACK, first)
    other = Attempt("another")
    with pytest.raises(SignInRefused) as stolen:  # the thief's own browser, with the code of somebody else
        asked.finish(other, BACK, {**came(there, asked, attempt), "state": other.state})
    assert "code" in again.value.reason
    assert "code" in stolen.value.reason
    assert (again.value.noted, stolen.value.noted) == (False, False)


def test_a_state_of_another_browser_is_refused_before_the_code_is_shown(there: at.Running) -> None:
    asked, attempt = Provider(there.settings()), Attempt("a secret")
    given = came(there, asked, attempt)
    there.asked.clear()
    for state in ("", "x", Attempt("another").state, attempt.nonce, "\u00e4"):
        with pytest.raises(SignInRefused, match="refused"):
            asked.finish(attempt, BACK, {**given, "state": state})
    for more in ({"iss": "https://evil.example.org"}, {"code": ""}, {"error": "access_denied"}):
        with pytest.raises(SignInRefused, match="refused"):
            asked.finish(attempt, BACK, {**given, **more})
    assert there.asked == []
    assert asked.finish(attempt, BACK, given)["sub"] == "1"


def test_the_provider_may_say_no(there: at.Running) -> None:
    asked, attempt = Provider(there.settings()), Attempt("a secret")
    with pytest.raises(SignInRefused):
        asked.finish(attempt, BACK, {**came(there, asked, attempt, action="deny"), "state": attempt.state})


@pytest.mark.parametrize("claims", [
    {}, {"email": ""}, {"email": 7, "email_verified": True}, {"email": ["a@b"], "email_verified": True},
    {"email": "a@b"}, {"email": "a@b", "email_verified": False}, {"email": "a@b", "email_verified": "true"},
    {"email": "a" * 300, "email_verified": True},
])  # fmt: skip
def test_a_claim_that_is_missing_or_not_verified_names_nobody(claims: at.Claims) -> None:
    with pytest.raises(SignInRefused):
        Provider(Oidc("https://a.example", "discreet", claim="email")).person(claims)


def test_a_group_that_is_asked_for_must_be_there() -> None:
    asked = Provider(Oidc("https://a.example", "discreet", group="staff"))
    assert asked.person({"sub": "1", "groups": ["staff"]}) == "1"
    for groups in ([], None, "staff", ["Staff"], {"staff": 1}):
        with pytest.raises(SignInRefused, match="refused"):
            asked.person({"sub": "1", "groups": groups})


def test_a_provider_that_is_another_or_not_there_is_an_error(there: at.Running) -> None:
    for settings in (
        there.settings(issuer="http://localhost:1"),
        there.settings(issuer=f"http://127.0.0.1:{there.port}/"),  # it calls itself by another name
    ):
        with pytest.raises(ServerError, match="no answer"):
            Provider(settings).begin(Attempt("a secret"), BACK)


@pytest.mark.parametrize("fault", ["nonce", "audience", "expired", "issuer"])
def test_without_the_checks_a_wrong_token_would_be_believed(
    there: at.Running, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The fault is planted: nothing is seen but the signature."""
    from authlib.oidc.core import CodeIDToken

    monkeypatch.setattr(CodeIDToken, "validate", lambda self, **_: None)
    there.bend = FAULTS[fault]
    asked, attempt = Provider(there.settings()), Attempt("a secret")
    assert asked.finish(attempt, BACK, came(there, asked, attempt))["sub"] == "1"


def test_without_pkce_a_stolen_code_would_pass(there: at.Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault is planted: all sign-ins have one verifier."""
    monkeypatch.setattr(Attempt, "verifier", "v" * 43)
    asked, victim, thief = Provider(there.settings()), Attempt("a secret"), Attempt("another")
    there.bend = lambda claims: {**claims, "nonce": thief.nonce}
    stolen = {**came(there, asked, victim), "state": thief.state}
    assert asked.finish(thief, BACK, stolen)["sub"] == "1"
