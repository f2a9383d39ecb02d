"""A real OpenID provider in a thread, which sees PKCE, and whose tokens can be made wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from discreet.server.oidc.settings import Oidc

Claims = dict[str, Any]
OLD = [
    pytest.mark.filterwarnings(f"ignore:{words}")
    for words in ("authlib.jose module", r"get_jwt_config", "Use ")
]
"""The provider is written for an older version of its library, which warns of that."""
USERS = {
    "1": {"email": "ana@example.org", "email_verified": True, "groups": ["discreet"]},
    "2": {"email": "ben@example.org", "email_verified": False},
    "3": {"email": "stella@example.org", "email_verified": True},
    "4": {"email": "mallory@example.org", "email_verified": True},
    "5": {"email": "\u0430na@example.org", "email_verified": True},  # a Cyrillic letter
    "6": {"email": "ana@example.org ", "email_verified": True},
    "7": {"email": "ANA@example.org", "email_verified": True},
    "8": {"email": ["ana@example.org"], "email_verified": True},
}


@dataclass
class Running:
    """The provider.

    Attributes:
        port: on this machine.
        bend: changes the claims of the next tokens.
        sign: signs them in another way, from the claims and the provider's own key.
        asked: paths in order.
    """

    port: int
    bend: Callable[[Claims], Claims] = lambda claims: claims
    sign: Callable[[Claims, Any], str] | None = None
    asked: list[str] = field(default_factory=list)
    challenges: dict[str, str] = field(default_factory=dict)

    @property
    def issuer(self) -> str:
        return f"http://localhost:{self.port}"

    def settings(self, **more: str) -> Oidc:
        return Oidc(
            **{
                "issuer": self.issuer,
                "client_id": "discreet",
                "claim": "email",
                "client_secret": "a secret",
                **more,
            }
        )

    def consent(self, url: str, subject: str, action: str = "") -> str:
        """Sign in there as somebody, and return the address that the browser is led back to."""
        parts = urlsplit(url)
        sent = urlencode({"sub": subject} | ({"action": action} if action else {}))
        connection = http.client.HTTPConnection("localhost", self.port, timeout=20)
        try:
            connection.request("POST", f"{parts.path}?{parts.query}", sent,
                               {"Content-Type": "application/x-www-form-urlencoded"})  # fmt: skip
            return connection.getresponse().headers["location"] or ""
        finally:
            connection.close()


@contextmanager
def provider() -> Iterator[Running]:
    """Run it until the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
        import authlib.deprecate  # noqa: F401  # shows its own warnings always, from here on

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from oidc_provider_mock import User
            from oidc_provider_mock._app import app as make
            from oidc_provider_mock._server import _threaded_server

        read, kept = RSAKey.binding.import_private_key, dict[str, Any]()

        def read_once(key: Any) -> Any:
            """A private key, whose primes are checked at each token else, which takes most of its time."""
            if key["d"] not in kept:
                kept[key["d"]] = read(key)
            return kept[key["d"]]

        patch.setattr(RSAKey.binding, "import_private_key", read_once)
        app = make(user_claims=[User(sub=sub, claims=claims) for sub, claims in USERS.items()])
        app.debug = False
        running = Running(0)
        _seen(app, running)
        with _threaded_server(app=app, poll_interval=0.01) as server:
            running.port = server.server_port
            yield running


def _seen(app: Any, running: Running) -> None:
    """Let the provider see PKCE as RFC 7636 says, and bend its tokens."""
    import flask

    @app.before_request
    def see_verifier() -> Any:
        running.asked.append(flask.request.path)
        if flask.request.path.endswith("/token"):
            made = hashlib.sha256(flask.request.form.get("code_verifier", "").encode()).digest()
            challenge = base64.urlsafe_b64encode(made).decode().rstrip("=")
            if running.challenges.pop(flask.request.form.get("code", ""), None) != challenge:
                return flask.jsonify({"error": "invalid_grant"}), 400
        return None

    @app.after_request
    def bent(answer: Any) -> Any:
        if flask.request.path.endswith("/authorize") and answer.status_code == 302:
            code = parse_qs(urlsplit(answer.headers["Location"]).query).get("code", [""])[0]
            assert flask.request.args["code_challenge_method"] == "S256"
            running.challenges[code] = flask.request.args["code_challenge"]
        if flask.request.path.endswith("/token") and answer.status_code == 200:
            said = answer.get_json()
            payload = said["id_token"].split(".")[1]
            claims = running.bend(json.loads(base64.urlsafe_b64decode(payload + "==")))
            own = RSAKey.import_key(flask.g.oidc_provider_mock_storage.jwk.as_dict(is_private=True))
            said["id_token"] = signed(claims, own) if running.sign is None else running.sign(claims, own)
            answer.set_data(json.dumps(said))
        return answer


def signed(claims: Claims, own: Any) -> str:
    """A token by the provider's key, as its own are."""
    return jwt.encode({"alg": "RS256", "kid": own.kid} if own.kid else {"alg": "RS256"}, claims, own)


def by_another_key(claims: Claims, own: Any) -> str:
    """By a key that the provider does not publish."""
    return jwt.encode({"alg": "RS256"}, claims, RSAKey.generate_key(2048))


def by_the_public_key(claims: Claims, own: Any) -> str:
    """By its public key taken for a secret, which everybody knows."""
    said = ".".join(_packed(part) for part in ({"alg": "HS256"}, claims))
    tag = hmac.digest(own.as_pem(private=False), said.encode(), hashlib.sha256)
    return f"{said}.{base64.urlsafe_b64encode(tag).decode().rstrip('=')}"


def by_nobody(claims: Claims, own: Any) -> str:
    """Without a signature."""
    return ".".join(_packed(part) for part in ({"alg": "none"}, claims)) + "."


def _packed(part: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def now() -> int:
    return int(time.time())
