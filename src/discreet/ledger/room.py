"""Room on the disk for an answer that is still to come: taken before the charge, given back just before it is settled.

The room is a file without a name, so that it goes with the process, however that ends. Between giving back and settling
another program can still take the space; it has microseconds for it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from types import TracebackType
from typing import Self

from discreet.errors import LedgerError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Room:
    """Room of some bytes on the disk of a file.

    Raises:
        LedgerError: there is none.
    """

    def __init__(self, beside: str | None, size: int) -> None:
        self._fd = -1
        if beside is None or not hasattr(os, "posix_fallocate"):
            return
        problem = None
        try:
            self._fd = _nameless(os.path.dirname(os.path.realpath(beside)))
            os.posix_fallocate(self._fd, 0, max(size, 1))
        except OSError as error:  # where the file system cannot reserve, nothing is reserved
            problem = error.errno
        if problem is not None:
            self.give_back()
        if problem in _FULL:
            raise LedgerError(
                f"The disk of the ledger at {beside} has no room for the answer.",
                "Free some space and ask again.",
            )

    def give_back(self) -> None:
        """Let others have it; the settlement is to be the first."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_back()


def _nameless(folder: str) -> int:
    fd, name = tempfile.mkstemp(prefix=".discreet-room-", dir=folder)
    with contextlib.suppress(OSError):
        os.unlink(name)
    return fd
