"""Rules of every question to a session: its process, the words of its error, and the time before its charge."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast

from discreet.engines.sandbox import one_question
from discreet.errors import SessionError
from discreet.release.bill import Bill, billed

P = ParamSpec("P")
R = TypeVar("R")


class ProcessBound(Protocol):
    """The state that belongs to one process."""

    _process: int


S = TypeVar("S", bound=ProcessBound)


def asked(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Make a method of a session a question.

    It is refused in another process, its error names the charge, and all that is computed before that shares one time.
    """

    @wraps(method)
    def asking(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        with Bill() as own:
            see_process(self._process)
            with billed(own), one_question():
                return method(self, *args, **kwargs)

    return cast("Callable[Concatenate[S, P], R]", asking)


def see_process(process: int) -> None:
    """See that this is the process that opened the session.

    A fork copies the engine without its threads, so a query would never end; and a server's connection would be
    used by two.

    Raises:
        SessionError: it is another one. Nothing is touched.
    """
    if os.getpid() != process:
        raise SessionError(
            "This session was opened in another process, and cannot be used after a fork.",
            "Call protect(…) in this process, with the same ledger: the budget is shared through it.",
        )


def no_pickle() -> SessionError:
    """The error for a session that is pickled or copied."""
    return SessionError(
        "A session cannot be pickled, copied or sent to another process.",
        "Call protect(…) where it is needed, with the same ledger: the budget is shared through it.",
    )
