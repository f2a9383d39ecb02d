"""stdout and stderr as they may be: closed, full, or a pipe that nobody reads.

An answer that was paid for must not be lost without a word, and a fault that shows before the charge is seen then.
"""

from __future__ import annotations

import os
import select
import sys
from typing import Any, TextIO, cast

from discreet.errors import InvalidParameter

FIX = (
    "The same question with the same epsilon is free once it was answered; print it elsewhere, or name a file with "
    "--output."
)


class Unwritable(InvalidParameter):
    """The output cannot be printed."""


class Guarded:
    """A stream that says in our words that it cannot be written to; words beside the answer are dropped."""

    def __init__(self, stream: TextIO | None, number: int, needed: bool) -> None:
        self._stream, self._number, self._needed = stream, number, needed
        self._lost = ""

    def write(self, text: str) -> int:
        """Write a text.

        Raises:
            Unwritable: it cannot be written, and it is needed.
        """
        if text == "":  # with which others find out the kind of this stream
            return 0
        self._tried("write", text)
        return len(text)

    def flush(self) -> None:
        """Write the text held back, as `write`."""
        self._tried("flush")

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def _tried(self, name: str, *args: str) -> None:
        if self._stream is None and self._needed and args:
            raise closed()
        if self._stream is None:
            return
        now = bool(args)  # that something is flushed is said once, not again when the process ends
        try:
            getattr(self._stream, name)(*args)
        except OSError as error:
            now = True
            self._give_up()
            self._lost = (
                "nobody reads it any more" if isinstance(error, BrokenPipeError) else str(error.strerror)
            )
        if now and self._lost and self._needed:
            raise Unwritable(f"stdout cannot be written to: {self._lost}.", FIX)

    def _give_up(self) -> None:
        """Send the rest nowhere, so that the text held back fails no second time, when the process ends."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._number)
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        if self._stream is None:
            raise AttributeError(name)
        return getattr(self._stream, name)


def closed() -> Unwritable:
    """The error for a stdout that is closed."""
    return Unwritable("stdout is closed.", FIX)


def guard() -> None:
    """Guard the streams of this process. Files that are opened later never become stdin, stdout or stderr."""
    while (taken := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(taken)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot write "±" shows "?"; it does not lose an answer that was paid for.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    sys.stdout = cast(TextIO, Guarded(sys.stdout, 1, needed=True))
    sys.stderr = cast(TextIO, Guarded(sys.stderr, 2, needed=False))


def see_writable() -> None:
    """See, before anything is charged, that an answer can be printed: stdout is open, and somebody reads it.

    Raises:
        Unwritable: it cannot.
    """
    out = sys.stdout
    if not isinstance(out, Guarded):
        return
    if out._stream is None:
        raise closed()
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(out._number, 0)
        if any(event & (select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0)):
            raise Unwritable("stdout is a pipe that nobody reads.", FIX)
