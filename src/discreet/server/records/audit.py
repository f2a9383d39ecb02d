"""The audit log as a chain: each line is sealed by a hash over its fields and the line before it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from discreet.errors import LedgerCorrupt, LedgerError
from discreet.ledger import Head
from discreet.ledger.chain.entry import hash_of
from discreet.records import dataclass

FIELDS = ("number", "made", "who", "action", "about", "previous", "hash")
"""The fields of a line, in order."""


@dataclass(frozen=True)
class AuditEntry:
    """One thing that somebody did.

    Attributes:
        number: 1, 2, 3, … without a gap.
        made: when, in seconds since 1970.
        who: the person, or the service itself.
        action: in words.
        about: whom or which thing.
        previous: the hash of the line before.
        hash: SHA-256 over all of the above, hexadecimal.
    """

    number: int
    made: int
    who: str
    action: str
    about: str
    previous: str
    hash: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> AuditEntry:
        """A line from a row of the table, or from its export."""
        return cls(*(row[name] for name in FIELDS))

    @property
    def head(self) -> Head:
        """Its number and hash, to be noted elsewhere."""
        return Head(self.number, self.hash)


def start(identity: str) -> Head:
    """The head of an empty log; it depends on the random identity of the service."""
    return Head(0, hash_of("discreet audit log", identity))


def next_line(head: Head, made: int, who: str, action: str, about: str) -> AuditEntry:
    """The line that follows a head, sealed."""
    fields = (head.number + 1, made, who, action, about, head.hash)
    return AuditEntry(*fields, hash_of(*map(str, fields)))


def followed(head: Head, lines: Iterable[AuditEntry], noted: Head | None = None) -> Iterator[Head]:
    """See that each line is sealed and follows from the one before it.

    Args:
        head: of the line before the first.
        lines: in order.
        noted: a head that was noted earlier.

    Yields:
        The head after each line.

    Raises:
        LedgerCorrupt: names the first line that does not fit.
    """
    for line in lines:
        right = next_line(head, line.made, line.who, line.action, line.about)
        if line != right or (noted is not None and noted.number == line.number and noted.hash != line.hash):
            raise broken(head.number + 1)
        head = line.head
        yield head


def verify_export(lines: Iterable[str], noted: Head | None = None) -> Head:
    """Compute every hash of an exported audit log again, and return its head.

    Args:
        lines: of the export: the first names the service and the head, each other one is a line of the log.
        noted: a head that was noted earlier.

    Raises:
        LedgerCorrupt: names the first line that does not fit.
        LedgerError: it is no export.
    """
    try:
        first, *rest = [json.loads(line) for line in lines]
        head, (number, digest) = start(first["identity"]), first["head"]
        read = [AuditEntry.of(line) for line in rest]
    except (ValueError, KeyError, TypeError):
        first = None
    if first is None:
        raise LedgerError("The file is no export of an audit log.", "Write one with `discreet audit export`.")
    head = [head, *followed(head, read, noted)][-1]
    if head != Head(number, digest) or (noted is not None and noted.number > head.number):
        raise broken(head.number + 1)
    return head


def broken(number: int) -> LedgerCorrupt:
    """The error that names a line."""
    return LedgerCorrupt(
        f"Line {number} of the audit log was altered, removed or moved.",
        "Compare it with an export that was kept elsewhere.",
    )
