"""Room on the disk for an answer that is still to come: taken before the charge, kept until the answer is settled.

The room is a file without a name, so that it goes with the process, however that ends. It is given back where the
settlement finds the disk full; between that and the next try another program can still take the space, and has
microseconds for it. A small room is kept for the next answer: to make and to free one costs as much as a synced write.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from types import TracebackType
from typing import Self

from discreet.ledger.faults import unwritten

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
KEPT, LARGEST = 16, 1 << 20
"""How many rooms are kept for later answers, and the bytes of the largest of them."""


class Rooms:
    """The rooms that a ledger keeps for its next answers."""

    def __init__(self) -> None:
        self._idle: list[tuple[int, int]] = []
        self._process = os.getpid()

    def take(self) -> tuple[int, int]:
        """A room that is kept, as descriptor and size; (-1, 0) where there is none."""
        if self._process != os.getpid():  # they are the parent's
            self.close()
            self._process = os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return -1, 0

    def keep(self, fd: int, size: int) -> bool:
        """Keep a room for later, unless there are enough or it is large."""
        if len(self._idle) >= KEPT or size > LARGEST or self._process != os.getpid():
            return False
        self._idle.append((fd, size))
        return True

    def close(self) -> None:
        """Free them all."""
        while self._idle:
            os.close(self._idle.pop()[0])


class Room:
    """Room of some bytes on the disk of a file.

    Args:
        beside: the file; None for no room at all.
        size: how many bytes.
        kept: where rooms come from that were made before, and where they go afterwards.

    Raises:
        LedgerError: there is none.
    """

    def __init__(self, beside: str | None, size: int, kept: Rooms | None = None) -> None:
        self._fd, self._size, self._kept = -1, 0, kept
        if beside is None or not hasattr(os, "posix_fallocate"):
            return
        problem = None
        try:
            if kept is not None:
                self._fd, self._size = kept.take()
            if self._fd < 0:
                self._fd = _nameless(os.path.dirname(os.path.realpath(beside)))
            if self._size < max(size, 1):
                os.posix_fallocate(self._fd, 0, max(size, 1))
                self._size = max(size, 1)
        except OSError as error:  # where the file system cannot reserve, nothing is reserved
            problem = error.errno
        if problem is not None:
            self.give_back()
        if problem in _FULL:
            raise unwritten(
                f"The disk of the ledger at {beside} has no room for the answer.",
                "Free some space and ask again.",
            )

    def give_back(self) -> bool:
        """Let others have it; the settlement is to be the first. False where there was none."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
        return fd >= 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fd >= 0 and self._kept is not None and self._kept.keep(self._fd, self._size):
            self._fd = -1
        self.give_back()


def _nameless(folder: str) -> int:
    fd, name = tempfile.mkstemp(prefix=".discreet-room-", dir=folder)
    with contextlib.suppress(OSError):
        os.unlink(name)
    return fd
