"""A number that all processes of a service share, and that is another one after each change of people and budgets.

Each request asks who its caller is. To read that from the database each time holds up all other requests: Python lets
another thread go on during each statement, and gets its turn back some milliseconds later. So the rows that were read
are kept while the number stays the same, which is looked up in memory: a file of eight bytes that each process maps.

The number is odd from before a change is begun until it is committed, and nothing that is read meanwhile is kept. So a
row that is kept was read when no change was under way, and none has begun since. A process that ends in the middle of
a change leaves an odd number behind, and every row is read anew until the next change.

A file that is made anew begins with a random number: one that counted from zero again would come to a number that a
process knows, and rows from before the file was taken away would count as present.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import struct
import sys
import threading
import time
from collections.abc import Iterator

from discreet.errors import LedgerError
from discreet.ledger.faults import busy

if sys.platform != "win32":
    import fcntl

SIZE = 8
PAUSE, LOOK = 0.002, 1.0
"""Seconds between two tries to be the one who changes, and until it is seen that the file was taken away."""


class Changes:
    """The number of one file of a service.

    Args:
        place: the path of the number; it is made where it is not there.
        patience: seconds to wait for another process that changes something.
    """

    def __init__(self, place: str, patience: float) -> None:
        self._place, self._patience = place, patience
        self._fd, self._looked, self._closed = -1, 0.0, False
        self._map: mmap.mmap | None = None
        self._using = threading.Lock()  # held while this process changes something, or opens the file again
        self._open()

    def now(self) -> bytes | None:
        """The number; None while a change is under way, or where there is no number."""
        moment = time.monotonic()
        if moment - self._looked > LOOK:
            self._looked = moment
            if not self._in_place() and not self._using.locked():
                with self._using:
                    if not self._in_place():  # another thread may have opened it again meanwhile
                        self._open_again()
        found = b"\1"
        with contextlib.suppress(ValueError, TypeError):  # it was closed just now
            found = self._map[:SIZE]  # type: ignore[index]
        return None if found[0] & 1 else found

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Change something, alone among all processes.

        Raises:
            LedgerError: another process changes something for too long.
        """
        if sys.platform == "win32":
            yield
            return
        with self._using:
            self._take()
            assert self._map is not None
            number = struct.unpack("<Q", self._map[:SIZE])[0] | 1
            try:
                self._map[:SIZE] = struct.pack("<Q", number)
                yield
            finally:
                self._map[:SIZE] = struct.pack("<Q", (number + 1) % (1 << 64))
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        self._closed = True
        self._let_go()

    def _let_go(self) -> None:
        mapped, self._map = self._map, None
        fd, self._fd = self._fd, -1
        if mapped is not None:
            mapped.close()
        if fd >= 0:
            os.close(fd)

    def _take(self) -> None:
        deadline = time.monotonic() + self._patience
        while sys.platform != "win32":
            if not self._in_place():
                self._open_again()
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise busy(self._place) from None
                time.sleep(PAUSE)
            else:
                if self._in_place():
                    return

    def _in_place(self) -> bool:
        try:
            known, there = os.fstat(self._fd), os.stat(self._place)
        except OSError:
            return False
        return (known.st_dev, known.st_ino) == (there.st_dev, there.st_ino) and there.st_size >= SIZE

    def _open_again(self) -> None:
        """Open the file that is there now, and let nobody keep a row by the one that was taken away."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            if os.fstat(self._fd).st_size >= SIZE:
                self._map[:1] = b"\1"  # type: ignore[index]
        self._open()

    def _open(self) -> None:
        self._let_go()
        if sys.platform == "win32" or self._closed:
            return
        try:
            self._fd = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if os.fstat(self._fd).st_size < SIZE:
                os.pwrite(self._fd, struct.pack("<Q", secrets.randbits(63) << 1), 0)
            self._map = mmap.mmap(self._fd, SIZE)
        except OSError:
            self._let_go()
        if self._map is None:  # who changes something without it would not be heard by others
            raise LedgerError(
                f"The file {self._place} of the service cannot be opened.",
                "See that its folder can be written.",
            )
