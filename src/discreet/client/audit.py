"""The audit log of a server, for its stewards: as lines that anybody can verify, and verified over there."""

from __future__ import annotations

from urllib.parse import urlencode

from discreet.client import wire
from discreet.client.transport import ServerAddress, call, document, unreadable
from discreet.errors import LedgerCorrupt

_PATH = "/api/v1/audit"


def exported(url: str, token: str | None = None) -> list[str]:
    """The audit log as lines of JSON, each sealed; the first names the service and the head.

    Args:
        url: of the server.
        token: of a steward; by default the environment's DISCREET_TOKEN.

    Raises:
        InvalidParameter: the address or the token cannot be used.
        NotAllowed: the token is none of a steward.
        ServerError: the server cannot be reached, or its answer cannot be read.
    """
    said = call(ServerAddress.of(url, token), "GET", f"{_PATH}/export", accept="application/x-ndjson")
    lines = [line.decode("latin-1") for line in said.splitlines()]
    if not all(line.isascii() and line.isprintable() for line in lines):  # it may be shown on a terminal
        raise unreadable()
    return lines


def verified(url: str, noted: str | None = None, token: str | None = None) -> tuple[int, str]:
    """Have every hash of the audit log computed again by the server; its lines, and its head.

    Args:
        url: of the server.
        noted: a head that an earlier one answered, NUMBER:HASH.
        token: of a steward; by default the environment's DISCREET_TOKEN.

    Raises:
        LedgerCorrupt: the chain is broken, or does not have the noted head.
        InvalidParameter: the address or the token cannot be used.
        NotAllowed: the token is none of a steward.
        ServerError: the server cannot be reached, or its answer cannot be read.
    """
    asked = "" if noted is None else "?" + urlencode({"noted": noted})
    said = document(call(ServerAddress.of(url, token), "POST", f"{_PATH}/verify{asked}", {}))
    try:
        found = wire.to_verified(said, "lines")
    except (KeyError, TypeError, ValueError, AttributeError):
        found, said = None, None
    if said is None:
        raise unreadable()
    if found is None:
        raise LedgerCorrupt(
            "The audit log of the server is not unchanged.",
            "Have its export verified: `discreet audit export --server URL`, then `discreet audit verify --file FILE`.",
        )
    return found
