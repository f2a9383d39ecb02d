"""The second place: a small file beside the ledger that says, after each commit, how far the ledger reaches.

It holds number and hash of the last entry and all totals, twice: two slots that are written by turns, each with a
digest of its own, so that a torn write leaves the one before it. A ledger that reaches less far than its head has lost
entries. The lock of the file makes writers wait for one another from before a commit until its head is on disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from functools import lru_cache
from typing import Final

from discreet.errors import LedgerError
from discreet.ledger.chain.book import Book
from discreet.ledger.chain.book_text import read, told
from discreet.records import dataclass

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

MAGIC = b"discreet head 1\n"
SLOT = 4096
"""Bytes of a slot, unless the totals of many accounts need more."""
KNOWN = 8
"""Of how many slots that were written last the numbers are known."""
_numbers: Final[dict[bytes, int]] = {}


@dataclass(frozen=True)
class Noted:
    """The content of a head file.

    Attributes:
        identity: of the ledger that it belongs to.
        book: the last entry and the totals.
        torn: whether one slot is unreadable, as after a crash in the middle of a write, or a flipped bit.
    """

    identity: str
    book: Book
    torn: bool


def head_of(path: str) -> str:
    """The place of a ledger's head file."""
    return f"{os.path.realpath(path)}-head"


def beside(path: str) -> tuple[str, str]:
    """The places of the files that a ledger has beside itself and its head, from its first charge at the latest."""
    where = os.path.realpath(path)
    return f"{where}-journal", f"{where}-turns"


class HeadFile:
    """The head file of one ledger, open; `make` creates it where it is missing."""

    def __init__(self, path: str, *, make: bool = False, write: bool = True) -> None:
        self.path = path
        mode = os.O_RDWR if write else os.O_RDONLY
        self._fd = os.open(path, mode | (os.O_CREAT if make else 0) | getattr(os, "O_BINARY", 0), 0o600)
        self.held = False  # the lock, by this object
        self.waited = False  # for another writer, the last time
        self._raw = b""
        self._noted: Noted | None = None
        self._next = 0  # the slot to write: not the one that holds the newest head

    def close(self) -> None:
        """Close the file, which lets go of the lock."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)

    def lock(self, timeout: float) -> bool:
        """Wait until this is the only writer; False when that takes too long."""
        deadline, pause = time.monotonic() + timeout, 0.0002
        self.waited = False
        while not _lock(self._fd):
            self.waited = True
            if time.monotonic() > deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.001)
        self.held = True
        return True

    def unlock(self) -> None:
        """Let the next writer go on."""
        self.held = False
        if self._fd >= 0:
            _unlock(self._fd)

    def in_place(self) -> bool:
        """Whether this is still the file of its name.

        Raises:
            LedgerError: there is none.
        """
        try:
            state = os.stat(self.path)
        except OSError:
            state = None
        if state is None:
            raise missing(self.path)
        own = os.fstat(self._fd)
        return (state.st_dev, state.st_ino) == (own.st_dev, own.st_ino)

    def empty(self) -> bool:
        """Whether nothing was ever written into it."""
        return os.fstat(self._fd).st_size == 0

    def read(self) -> Noted:
        """The content now. The caller holds the lock.

        Raises:
            LedgerError: no slot is readable.
        """
        size = os.fstat(self._fd).st_size
        raw = _read(self._fd, size)
        if raw != self._raw or self._noted is None:
            slots = [_slot(raw[: size // 2]), _slot(raw[size // 2 :])]
            known = [slot for slot in slots if slot is not None]
            if not known or len({identity for identity, _ in known}) > 1:
                raise LedgerError(
                    f"The ledger's head {self.path} is unreadable.",
                    "Let `discreet budget adopt` make a new one.",
                )
            identity, book = max(known, key=lambda slot: slot[1].head.number)
            self._next = 1 if slots[0] is not None and slots[0][1] is book else 0
            self._raw, self._noted = raw, Noted(identity, book, len(known) < 2)
        return self._noted

    def write(self, identity: str, book: Book, *, both: bool = False) -> None:
        """Say how far the ledger reaches, durably. The caller holds the lock.

        Args:
            identity: of the ledger.
            book: the book to note.
            both: whether to write the file anew, as when it is made.
        """
        data = _packed(identity, book)
        slot = os.fstat(self._fd).st_size // 2
        if both or len(data) > slot:
            self._anew(data)
            return
        known, index, whole = self._raw, self._next, data.ljust(slot, b"\0")
        self._raw, self._noted = b"", None
        _write(self._fd, whole, index * slot)
        _sync(self._fd)
        if len(known) == 2 * slot:
            # The next charge reads the file again; while its bytes are those that were written here, the head is known.
            self._raw = known[: index * slot] + whole + known[(index + 1) * slot :]
            self._noted, self._next = Noted(identity, book, False), 1 - index
        if len(_numbers) >= KNOWN:
            _numbers.clear()
        _numbers[whole] = book.head.number

    def _anew(self, data: bytes) -> None:
        slot = SLOT
        while slot < len(data):
            slot *= 2
        both = data.ljust(slot, b"\0") * 2
        if self.empty():
            _write(self._fd, both, 0)
            _sync(self._fd)
        else:
            # A new file under the old name, all at once; who waits for the lock of the old one sees that it is gone.
            fresh = os.open(
                f"{self.path}.new", os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600
            )
            _lock(fresh)
            _write(fresh, both, 0)
            _sync(fresh)
            os.replace(f"{self.path}.new", self.path)
            old, self._fd = self._fd, fresh
            os.close(old)
        sync_folder(self.path)
        self._raw, self._noted = b"", None


def read_number(path: str) -> int | None:
    """The number of the last entry that a head file names now, without waiting for writers; None where none is read."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    try:
        raw = _read(fd, os.fstat(fd).st_size)
    except OSError:
        return None
    finally:
        os.close(fd)
    named = (_number(raw[: len(raw) // 2]), _number(raw[len(raw) // 2 :]))
    return max((number for number in named if number is not None), default=None)


def missing(path: str) -> LedgerError:
    """Make the error of a ledger whose head file is not there."""
    return LedgerError(
        f"The ledger's head {path} is missing: nothing tells whether the ledger is complete or an old copy.",
        "Put it back beside the ledger; where it is lost, `discreet budget adopt --lost EPSILON` goes on, with "
        "the loss that may have been spent since.",
    )


def gone(where: str, number: int) -> LedgerError:
    """Make the error of a ledger that is not there, or empty, though its head names an entry."""
    return LedgerError(
        f"The ledger at {where} is gone or empty, but its head names entry {number}.",
        "Put the newest copy of the ledger back beside its head. Where there is no copy, `discreet budget adopt` "
        "begins a new ledger with all that its head says was spent.",
    )


def sync_folder(path: str) -> None:
    """Make the name of a file durable."""
    if sys.platform == "win32":
        return
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _packed(identity: str, book: Book) -> bytes:
    body = told(identity, book).encode()
    return MAGIC + b"%d\n%s\n" % (len(body), hashlib.sha256(body).hexdigest().encode()) + body


@lru_cache(8)
def _slot(raw: bytes) -> tuple[str, Book] | None:
    try:
        body = _body(raw)
        return None if body is None else read(body.decode())
    except ValueError:
        return None


def _number(raw: bytes) -> int | None:
    """The number of the entry that a slot names; the bytes that were written here need not be read again."""
    written = _numbers.get(raw)
    return _read_number(raw) if written is None else written


@lru_cache(8)
def _read_number(raw: bytes) -> int | None:
    """The same of any bytes: to read the totals of many accounts takes longer than all else."""
    try:
        body = _body(raw)
        return None if body is None else int(json.loads(body)["number"])
    except (ValueError, KeyError, TypeError):
        return None


def _body(raw: bytes) -> bytes | None:
    """The text of a slot; None where it is torn.

    Raises:
        ValueError: it is torn where its length stands.
    """
    if not raw.startswith(MAGIC):
        return None
    size, digest, rest = raw.removeprefix(MAGIC).split(b"\n", 2)
    body = rest[: int(size)]
    if hashlib.sha256(body).hexdigest().encode() != digest or rest[int(size) :].strip(b"\0"):
        return None
    return body


def _read(fd: int, size: int) -> bytes:
    if hasattr(os, "pread") and len(whole := os.pread(fd, size + 1, 0)) == size:
        return whole  # one call, so that other threads of Python come in between once
    os.lseek(fd, 0, os.SEEK_SET)
    parts = []
    while piece := os.read(fd, max(size, 1)):
        parts.append(piece)
    return b"".join(parts)


def _write(fd: int, data: bytes, offset: int) -> None:
    os.lseek(fd, offset, os.SEEK_SET)
    while data:
        data = data[os.write(fd, data) :]


def _sync(fd: int) -> None:
    if sys.platform == "darwin":  # through the drive's own cache
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    elif sys.platform == "win32":
        os.fsync(fd)
    else:
        os.fdatasync(fd)  # with its size, but without the time of change, which costs a write of its own


_LOCKED = 1 << 30
"""Where Windows locks a byte: far behind the end, for a lock keeps readers out too."""


def _lock(fd: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(fd, _LOCKED, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _unlock(fd: int) -> None:
    if sys.platform == "win32":
        os.lseek(fd, _LOCKED, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(fd, fcntl.LOCK_UN)
