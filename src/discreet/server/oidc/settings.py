"""The settings of the provider: a file of the steward's, without the secret."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from discreet.client.transport import is_loopback
from discreet.errors import PolicyError
from discreet.records import dataclass

SECRET = "DISCREET_OIDC_SECRET"  # noqa: S105  # the name of the variable
"""The variable of the environment that holds the secret of the client."""
PROMPTS = ("", "login", "select_account", "consent")


@dataclass(frozen=True)
class Oidc:
    """A provider, and how its claims name a person.

    Attributes:
        issuer: its address, exactly as its tokens say it.
        client_id: of this service at the provider.
        claim: names the person: `sub`, `email`, `preferred_username` or another text.
        scope: asked of the provider.
        group: must stand in the claim `groups`, where it is not empty.
        name: of the provider, on the button.
        prompt: asked of the provider: `login` lets nobody in who has not typed a password just now.
        client_secret: from the environment; empty for a public client, which PKCE protects alone.
    """

    issuer: str
    client_id: str
    claim: str = "sub"
    scope: str = "openid email profile"
    group: str = ""
    name: str = "your organisation"
    prompt: str = ""
    client_secret: str = ""

    def __post_init__(self) -> None:
        if not is_safe(self.issuer):
            raise PolicyError(
                "The issuer is not an https:// address.",
                "Write it as the provider's tokens say it.",
                key="issuer",
            )
        if not self.client_id or not self.claim or "openid" not in self.scope.split():
            raise PolicyError(
                "The client_id or the claim is empty, or the scope lacks openid.",
                "Fill them in.",
                key="client_id",
            )
        if self.prompt not in PROMPTS:
            raise PolicyError(
                "The prompt is none that providers know.",
                "Write login, select_account or consent.",
                key="prompt",
            )


def is_safe(url: str) -> bool:
    """Whether nobody on the way can read or change the answers of an address."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


def read_settings(place: Path, environment: Mapping[str, str] = os.environ) -> Oidc:
    """Read the file of a provider.

    Raises:
        PolicyError: it cannot be read, or a key is unknown, missing or no text.
    """
    known = {field.name for field in fields(Oidc)} - {"client_secret"}
    try:
        given: Any = tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        given = None
    if given is None:
        raise PolicyError(
            f"The file {place} of the provider cannot be read.", "Write it as TOML.", key="issuer"
        )
    wrong = sorted(set(given) - known)
    if wrong:
        secret = " The secret stands in the environment." if "client_secret" in wrong else ""
        raise PolicyError(
            f"The file {place} has a key that is not known: {wrong[0]!r}.{secret}",
            f"Use {', '.join(sorted(known))}; the secret is {SECRET}.",
            key=wrong[0],
        )
    missing = [name for name in ("issuer", "client_id") if name not in given]
    if missing or not all(isinstance(value, str) for value in given.values()):
        raise PolicyError(
            f"The file {place} lacks {missing[0] if missing else 'a text'}.",
            "issuer and client_id are needed, and every value is a text.",
            key=missing[0] if missing else "issuer",
        )
    return Oidc(**given, client_secret=environment.get(SECRET, ""))
