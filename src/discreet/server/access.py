"""Which scope each address needs. An address without a need is served to nobody: a test reads all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from discreet.errors import NotAllowed
from discreet.server.people import Caller
from discreet.server.problems import NotSignedIn


def caller_of(request: Request) -> Caller:
    """Who sent a request.

    Raises:
        NotSignedIn: somebody without a valid token.
    """
    caller = getattr(request.state, "caller", None)
    if not isinstance(caller, Caller):
        raise NotSignedIn("There is no valid token.", "Get one from the steward.")
    return caller


def see_scope(caller: Caller, *scopes: str) -> Caller:
    """See that a caller has one of some scopes.

    Raises:
        NotAllowed: none of them.
    """
    if not caller.scopes & set(scopes):
        raise NotAllowed(
            f"The token does not allow this: it needs the scope {' or '.join(scopes)}.",
            "Ask the steward for one that does.",
        )
    return caller


def needs(*scopes: str) -> Callable[..., Any]:
    """A dependency of FastAPI: the caller, who must have one of these scopes."""

    async def caller(request: Request) -> Caller:
        return see_scope(caller_of(request), *scopes)

    return caller
