"""An OpenID provider: the way there, and the token that comes back, seen whole before anybody believes it.

Authorization code with PKCE (RFC 7636), state and nonce. All three are made of one random secret that lies in a cookie
of the browser and nowhere else: so a sign-in ends in the browser in which it began, in any process of the service, and
once. Of the token are seen: a signature by a key that the provider publishes, with an algorithm of public keys; issuer,
audience, authorised party, expiry and nonce (OpenID Connect Core 1.0, section 3.1.3.7).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import NotAllowed, ServerError
from discreet.records import dataclass
from discreet.server.oidc.settings import Oidc, is_safe

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Of signatures with public keys alone: a provider's key is no secret that could sign another token."""
KEPT = 3600.0
"""Seconds for which addresses and keys of the provider are kept."""
AGAIN = 60.0
"""Seconds until keys are fetched again for a token of an unknown one."""
PATIENCE = 10.0
"""Seconds to wait for the provider."""
LEEWAY = 60
"""Seconds by which clocks may differ."""
LARGEST = 1 << 18
"""Characters of a token."""
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class SignInRefused(NotAllowed):
    """A sign-in that is not believed.

    Attributes:
        reason: of ours, without anything that a stranger wrote.
        noted: whether it stands in the audit log: the provider knew somebody. Strangers cannot fill the log.
    """

    def __init__(self, reason: str, noted: bool = False) -> None:
        super().__init__(
            "This sign-in was refused.", "Begin it again, or ask the steward whether you are known."
        )
        self.reason, self.noted = reason, noted


@dataclass(frozen=True)
class Attempt:
    """One sign-in, from its beginning to its end.

    Attributes:
        secret: lies in a cookie.
    """

    secret: str

    @property
    def state(self) -> str:
        """Comes back beside the code: the code was asked for by this browser."""
        return self._made("state")

    @property
    def nonce(self) -> str:
        """Stands in the token: it was made for this sign-in."""
        return self._made("nonce")

    @property
    def verifier(self) -> str:
        """Is shown for the code: whoever steals the code alone has nothing."""
        return self._made("verifier")

    def _made(self, use: str) -> str:
        made = hmac.digest(self.secret.encode(), use.encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(made).decode().rstrip("=")


class Provider:
    """A provider, reached over HTTPS.

    Args:
        settings: of the steward.
        clock: seconds since 1970.
    """

    def __init__(self, settings: Oidc, clock: Callable[[], float] = time.time) -> None:
        self.settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._places: dict[str, str] = {}
        self._keys: KeySet | None = None
        self._read = self._tried = -KEPT

    def begin(self, attempt: Attempt, redirect: str) -> str:
        """The address at the provider to which the browser goes.

        Raises:
            ServerError: the provider cannot be reached.
        """
        more = {"prompt": self.settings.prompt} if self.settings.prompt else {}
        with self._client(redirect) as client:
            url, _ = client.create_authorization_url(
                self._place("authorization_endpoint"), state=attempt.state, nonce=attempt.nonce,
                code_verifier=attempt.verifier, **more,
            )  # fmt: skip
        return str(url)

    def finish(self, attempt: Attempt, redirect: str, came: Mapping[str, str]) -> dict[str, Any]:
        """The claims of somebody who came back.

        Args:
            attempt: of the cookie.
            redirect: the same address as at the beginning.
            came: the parameters of the address.

        Raises:
            SignInRefused: anything does not fit.
            ServerError: the provider cannot be reached.
        """
        if not hmac.compare_digest(came.get("state", "").encode(), attempt.state.encode()):
            raise SignInRefused("the state is of another browser, or too old")
        if came.get("iss", self.settings.issuer) != self.settings.issuer:
            raise SignInRefused("another provider answered")
        if "error" in came or not came.get("code"):
            raise SignInRefused("the provider let nobody in")
        token = self._exchanged(attempt, redirect, came["code"])
        return self._claims(token.get("id_token"), token.get("access_token"), attempt)

    def person(self, claims: Mapping[str, Any]) -> str:
        """The value of the claim that names a person.

        Raises:
            SignInRefused: there is none, it was not verified, or the group is missing.
        """
        settings = self.settings
        value = claims.get(settings.claim)
        if not isinstance(value, str) or not value or len(value) > 200:
            raise SignInRefused(f"there is no claim {settings.claim}", noted=True)
        if settings.claim == "email" and claims.get("email_verified") is not True:
            raise SignInRefused("the e-mail address was not verified", noted=True)
        groups = claims.get("groups")
        if settings.group and (not isinstance(groups, list) or settings.group not in groups):
            raise SignInRefused("the group is missing", noted=True)
        return value

    # To the provider -------------------------------------------------------------------------------------

    def _client(self, redirect: str = "") -> Any:
        from authlib.integrations.requests_client import OAuth2Session

        settings = self.settings
        return OAuth2Session(
            settings.client_id, settings.client_secret or None, scope=settings.scope, redirect_uri=redirect,
            code_challenge_method="S256", default_timeout=PATIENCE,
            token_endpoint_auth_method="client_secret_basic" if settings.client_secret else "none",
        )  # fmt: skip

    def _exchanged(self, attempt: Attempt, redirect: str, code: str) -> Mapping[str, Any]:
        from authlib.common.errors import AuthlibBaseError

        place = self._place("token_endpoint")
        try:
            with self._client(redirect) as client:
                found: Mapping[str, Any] = client.fetch_token(
                    place, grant_type="authorization_code", code=code, code_verifier=attempt.verifier,
                    allow_redirects=False,
                )  # fmt: skip
                return found
        except AuthlibBaseError:
            refused = True  # its text is the provider's
        except (OSError, ValueError):  # no connection, or an answer that is no JSON
            refused = False
        if refused:
            raise SignInRefused("the provider does not know the code")
        raise _unreachable()

    def _place(self, name: str) -> str:
        with self._lock:
            if self._clock() - self._read >= KEPT:
                self._discover()
            return self._places[name]

    def _discover(self) -> None:
        """Read the addresses and keys of the provider."""
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        issuer = self.settings.issuer
        found = self._fetched(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        places = {name: found.get(name) for name in ENDPOINTS}
        if found.get("issuer") != issuer or not all(
            isinstance(place, str) and is_safe(place) for place in places.values()
        ):
            raise _unreachable()
        try:
            keys = KeySet.import_key_set(self._fetched(str(places["jwks_uri"])))  # type: ignore[arg-type]
        except (JoseError, ValueError, KeyError, TypeError):
            keys = None
        if keys is None:
            raise _unreachable()
        self._places, self._keys = {name: str(place) for name, place in places.items()}, keys
        self._read = self._tried = self._clock()

    def _fetched(self, place: str) -> dict[str, Any]:
        try:
            with self._client() as client:
                answer = client.request("GET", place, withhold_token=True, allow_redirects=False)
                found = (
                    answer.json() if answer.status_code == 200 and len(answer.content) <= LARGEST else None
                )
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict):
            raise _unreachable()
        return found

    # From the provider -----------------------------------------------------------------------------------

    def _claims(self, token: object, access: object, attempt: Attempt) -> dict[str, Any]:
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import JoseError

        settings = self.settings
        if not isinstance(token, str) or len(token) > LARGEST:
            raise SignInRefused("there is no token", noted=True)
        fault = ""
        try:
            read = jwt.decode(token, self._keys_for(token), algorithms=ALGORITHMS)
            claims = CodeIDToken(
                read.claims,
                read.header,
                {
                    "iss": {"essential": True, "value": settings.issuer},
                    "aud": {"essential": True, "value": settings.client_id},
                    "sub": {"essential": True},
                },
                {"client_id": settings.client_id, "nonce": attempt.nonce, "access_token": access},
            )
            claims.validate(now=int(self._clock()), leeway=LEEWAY)
        except (JoseError, ValueError, KeyError, TypeError, AttributeError) as error:
            fault = type(error).__name__ + (f", {name}" if (name := getattr(error, "claim", "")) else "")
        if fault:
            raise SignInRefused(f"the token is not valid: {fault}", noted=True)
        return dict(claims)

    def _keys_for(self, token: str) -> KeySet:
        """The keys of the provider, fetched again where none has the name that the token gives."""
        from joserfc import jws

        kid = jws.extract_compact(token.encode()).headers().get("kid")
        with self._lock:
            now = self._clock()
            known = self._keys is not None and (not kid or any(key.kid == kid for key in self._keys.keys))
            if now - self._read >= KEPT or (not known and now - self._tried >= AGAIN):
                self._tried = now
                self._discover()
            assert self._keys is not None
            return self._keys


def _unreachable() -> ServerError:
    return ServerError(
        "The provider of the sign-in gives no answer that can be read.",
        "Try again in a while, or tell the steward.",
    )
