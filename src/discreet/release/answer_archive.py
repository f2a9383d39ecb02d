"""The noisy integers of an answer as the ledger keeps them: block by block, each column in the narrowest type.

They are noisy, so keeping them keeps no secret. An answer may have ten million groups, which is why they are written
and read a block at a time.
"""

from __future__ import annotations

import datetime as dt
import json
import struct
import zipfile
import zlib
from functools import cached_property
from typing import IO, TYPE_CHECKING

import numpy as np

from discreet import arrow
from discreet.release.answer import Release, table_bytes

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

SIDE = b"on its side"
"""Metadata of a block whose rows are the integers of a group, and whose columns are the groups."""
_NARROW = tuple(
    (kind, int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in (np.int8, np.int16, np.int32)
)
"""The narrow types, each with its least and its greatest number."""


FEW = 64
"""A block of so few integers is kept as text beside the date: an Arrow file takes many times as long to write."""
SHORT = 1 << 24
"""Characters of a text that may be written as an archive at once."""
_DAY = 1 << 5 | 1
"""The first day that an archive can name, for a piece that needs none."""


class Packer:
    """Puts an answer and its noisy integers into one piece, block by block."""

    def __init__(self, into: IO[bytes], made: dt.datetime, asked: str = "") -> None:
        self._into = into
        self._made, self._asked = made.isoformat(), asked
        self._few: dict[str, list[list[int]]] = {}
        self._blocks: dict[tuple[int, int], int] = {}

    @cached_property
    def _archive(self) -> zipfile.ZipFile:
        return zipfile.ZipFile(self._into, "w", zipfile.ZIP_STORED)  # the pieces are compressed already

    def block(self, number: int, part: int, entries: Integers) -> None:
        """Add noisy integers of the next groups of a release.

        Args:
            number: of the release.
            part: whose measures they belong to.
            entries: int64 array (groups, entries of the part).
        """
        index = self._blocks.get((number, part), 0)
        if 0 < entries.size <= FEW:
            self._few[_name(number, part, index)] = entries.tolist()
        else:
            self._archive.writestr(_name(number, part, index), table_bytes(_narrowed(entries)))
        self._blocks[number, part] = index + 1

    def table(self, name: str, table: pa.Table) -> None:
        """Add a table that is released, under a name of its own."""
        self._archive.writestr(f"{name}.arrow", table_bytes(table))

    def answer(self, release: Release, number: int = 0) -> None:
        """Add the answer itself; of several questions that were asked as one, the one of that number."""
        self._archive.writestr(_answer(number), release.to_bytes())

    def close(self) -> None:
        """Write the end."""
        about = {"made": self._made, "few": self._few} | ({"asked": self._asked} if self._asked else {})
        text = json.dumps(about)
        if "_archive" not in self.__dict__ and len(text) <= SHORT:
            self._into.write(_archive_of(b"about.json", text.encode()))
            return
        self._archive.writestr("about.json", text)
        self._archive.close()


def _archive_of(name: bytes, data: bytes) -> bytes:
    """An archive of one piece, which `zipfile` takes many times as long to write: header, piece, directory, end."""
    about = struct.pack("<5H3L2H", 20, 0, 0, 0, _DAY, zlib.crc32(data), len(data), len(data), len(name), 0)
    first = b"PK\3\4" + about + name + data
    listed = b"PK\1\2" + struct.pack("<H", 20) + about + struct.pack("<3H2L", 0, 0, 0, 0o600 << 16, 0) + name
    return first + listed + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, 1, 1, len(listed), len(first), 0)


def made_of(archive: zipfile.ZipFile) -> dt.datetime:
    """When an answer that was kept was made."""
    return dt.datetime.fromisoformat(json.loads(archive.read("about.json"))["made"])


def asked_of(archive: zipfile.ZipFile) -> str:
    """The question with its parameters, from which its plan follows; empty where it was not kept.

    Other producers keep archives, too, such as the arrays of a synthetic table, which have no such piece.
    """
    if "about.json" not in archive.namelist():
        return ""
    return str(json.loads(archive.read("about.json")).get("asked", ""))


def answer_of(archive: zipfile.ZipFile, number: int = 0) -> Release | None:
    """The answer itself; None where it follows from the integers."""
    kept = _answer(number) in archive.namelist()
    return Release.from_bytes(archive.read(_answer(number))) if kept else None


def table_of(archive: zipfile.ZipFile, name: str) -> pa.Table:
    """A table that was added under a name."""
    import pyarrow as pa

    return pa.ipc.open_stream(archive.read(f"{name}.arrow")).read_all()


def block_of(archive: zipfile.ZipFile, number: int, part: int, index: int) -> Integers | None:
    """The noisy integers of one block of a part of a release, by its number; None behind the last block."""
    import pyarrow as pa

    name = _name(number, part, index)
    try:
        data = archive.read(name)
    except KeyError:
        few = json.loads(archive.read("about.json")).get("few", {}).get(name)
        return None if few is None else np.array(few, np.int64)
    return _wide(pa.ipc.open_stream(data).read_all())


def _answer(number: int) -> str:
    return f"answer{number or ''}.arrow"


def _name(number: int, part: int, block: int) -> str:
    return f"release{number}/{part}/{block}.arrow"


def _narrowed(entries: Integers) -> pa.Table:
    """The columns in the narrowest integers that hold them; wide ones are split, for the low half is all noise.

    Few groups with many integers each, as a tree has, are kept on their side: a column takes longer than its numbers.
    """
    import pyarrow as pa

    if 0 < entries.shape[0] < entries.shape[1]:
        return _narrowed(entries.T).replace_schema_metadata({SIDE: ""})
    data: dict[str, pa.Array] = {}
    for index in range(entries.shape[1]):
        column = entries[:, index]
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        kind = _fitting(low, high)
        if kind is None:
            upper = column >> 32
            data[f"low{index}"] = arrow.column(column.astype(np.uint32))
            data[f"high{index}"] = arrow.column(upper.astype(_fitting(low >> 32, high >> 32) or np.int32))
        else:
            data[f"{index}"] = arrow.column(column.astype(kind))
    return pa.table(data)


def _fitting(low: int, high: int) -> type[np.signedinteger] | None:
    return next((kind for kind, least, most in _NARROW if least <= low and high <= most), None)


def _wide(table: pa.Table) -> Integers:
    names = table.column_names
    count = sum(not name.startswith("high") for name in names)
    out = np.empty((len(table), count), np.int64, order="F")
    for index in range(count):
        if str(index) in names:
            out[:, index] = arrow.numbers(table.column(str(index)))
        else:
            high = arrow.numbers(table.column(f"high{index}")).astype(np.int64)
            out[:, index] = (high << 32) | arrow.numbers(table.column(f"low{index}"))
    return out.T if SIDE in (table.schema.metadata or {}) else out
