"""Tokens: random, shown once, kept as a hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import NamedTuple

PREFIX = "discreet"
"""Begins every token, so that scanners of leaked secrets can know one."""


class IssuedToken(NamedTuple):
    """A token that was just made.

    Attributes:
        id: names it in lists; no secret.
        text: the token itself, for its owner, once.
        digest: is kept.
    """

    id: str
    text: str
    digest: str


def new_token() -> IssuedToken:
    """Make a token of 256 random bits.

    A plain hash is enough to keep it by: unlike a password, it cannot be guessed.

    Example:
        >>> token = new_token()
        >>> parts(token.text)[0] == token.id, fits(token.text, token.digest), token.id in token.digest
        (True, True, False)
    """
    name, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return IssuedToken(name, f"{PREFIX}_{name}_{secret}", digest(secret))


def parts(text: str) -> tuple[str, str]:
    """The name and the secret of a token; empty texts where it is none."""
    found = text.split("_", 2)
    if len(text) > 200 or len(found) != 3 or found[0] != PREFIX:
        return "", ""
    return found[1], found[2]


def digest(secret: str) -> str:
    """SHA-256 of a secret, hexadecimal."""
    return hashlib.sha256(secret.encode()).hexdigest()


def fits(text: str, kept: str) -> bool:
    """Whether a token is the one that a digest was kept of; the time says nothing about where they differ."""
    return hmac.compare_digest(digest(parts(text)[1]), kept)
