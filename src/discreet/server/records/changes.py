"""A number that all processes of a service share, and that is another one after each change of people and budgets.

Each request asks who its caller is. To read that from the database each time holds up all other requests: Python lets
another thread go on during each statement, and gets its turn back some milliseconds later. So the rows that were read
are kept while the number stays the same, which is looked up in a file of eight bytes, without a turn for others. It is
not mapped into memory: to read a mapped file that somebody cut short ends the process.

The number is odd from before a change is begun until it is committed, and nothing that is read meanwhile is kept. So a
row that is kept was read when no change was under way, and none has begun since. A process that ends in the middle of
a change leaves an odd number behind, and every row is read anew until the next change.

Each number is random. One that counted on would come to a number that a process knows where the file is made anew, or
an old copy is written over it, and rows from before a change would count as present.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator

from discreet.errors import LedgerError
from discreet.ledger.faults import busy

if sys.platform != "win32":
    import fcntl

SIZE = 8
PAUSE, LOOK = 0.002, 1.0
"""Seconds between two tries to be the one who changes, and until it is seen that the file was taken away."""
_Bytes = ctypes.c_char * SIZE


def _reader() -> Callable[[int], bytes]:
    """Reads the eight bytes of a descriptor, or none, and keeps Python's lock, which `os.pread` gives away."""
    pread = getattr(ctypes.PyDLL(None), "pread", None) if sys.platform != "win32" else None
    if pread is None:
        return lambda fd: os.pread(fd, SIZE, 0) if sys.platform != "win32" else b""
    pread.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long)
    pread.restype = ctypes.c_ssize_t

    def read(fd: int) -> bytes:
        found = _Bytes()
        whole = pread(fd, found, SIZE, 0) == SIZE
        return found.raw if whole else b""

    return read


_read = _reader()


def _even() -> int:
    """A number of its own: no process knows it yet."""
    return secrets.randbits(63) << 1


class _Opened:
    """A descriptor that is closed once nobody uses it any more: its number may mean another file at once."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __del__(self) -> None:
        os.close(self.fd)


class Changes:
    """The number of one file of a service.

    Args:
        place: the path of the number; it is made where it is not there.
        patience: seconds to wait for another process that changes something.
    """

    def __init__(self, place: str, patience: float) -> None:
        self._place, self._patience = place, patience
        self._looked, self._closed = 0.0, False
        self._file: _Opened | None = None
        self._using = threading.Lock()  # held while this process changes something, or opens the file again
        self._open()

    def now(self) -> bytes | None:
        """The number; None while a change is under way, or where there is no number."""
        moment = time.monotonic()
        if moment - self._looked > LOOK and not self._closed:
            self._looked = moment
            if not self._in_place() and not self._using.locked():
                with self._using:
                    # Another thread may have opened it meanwhile.
                    if not self._in_place() and not self._closed:
                        self._open_again()
        file = self._file
        found = b"" if file is None else _read(file.fd)
        return None if len(found) < SIZE or found[0] & 1 else found

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
            file = self._take()
            try:
                self._note(file, _even() | 1)
                try:
                    yield
                finally:
                    # Where it cannot be written, an odd number stays, by which nobody keeps anything.
                    with contextlib.suppress(LedgerError):
                        self._note(file, _even())
            finally:
                fcntl.flock(file.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        self._closed = True
        self._file = None

    def _note(self, file: _Opened, number: int) -> None:
        """Write the number.

        Raises:
            LedgerError: it cannot be written.
        """
        try:
            os.pwrite(file.fd, struct.pack("<Q", number), 0)
            return
        except OSError:
            pass
        raise self._fault("written")

    def _take(self) -> _Opened:
        deadline = time.monotonic() + self._patience
        while True:
            file = self._file
            if file is None or not self._in_place():
                file = self._open_again()
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._in_place():
                    return file
                fcntl.flock(file.fd, fcntl.LOCK_UN)
            if time.monotonic() > deadline:
                raise busy(self._place)
            time.sleep(PAUSE)

    def _in_place(self) -> bool:
        file = self._file
        try:
            known, there = os.fstat(-1 if file is None else file.fd), os.stat(self._place)
        except OSError:
            return False
        return (known.st_dev, known.st_ino) == (there.st_dev, there.st_ino) and there.st_size >= SIZE

    def _open_again(self) -> _Opened:
        """Open the file that is there now, and let nobody keep a row by the one that was taken away."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                if os.fstat(self._file.fd).st_size >= SIZE:
                    os.pwrite(self._file.fd, b"\1", 0)
        self._open()
        if self._file is None:
            raise self._fault("opened")
        return self._file

    def _open(self) -> None:
        self._file = None
        if sys.platform == "win32" or self._closed:
            return
        try:
            file = _Opened(os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            if os.fstat(file.fd).st_size < SIZE:
                os.pwrite(file.fd, struct.pack("<Q", _even()), 0)
        except OSError:
            pass
        else:
            self._file = file
        if self._file is None:  # who changes something without it would not be heard by others
            raise self._fault("opened")

    def _fault(self, done: str) -> LedgerError:
        return LedgerError(
            f"The file {self._place} of the service cannot be {done}.",
            "See that its folder can be written, and that its disk has room.",
        )
