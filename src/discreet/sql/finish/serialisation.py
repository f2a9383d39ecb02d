"""What the ledger keeps of an answer: its noisy integers, and the answer itself where it does not follow from them.

The integers are noisy, so keeping them keeps no secret. They are kept block by block, each column in the narrowest
type that holds it: an answer may have ten million groups. The same question at another confidence costs nothing.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING

import numpy as np

from discreet import arrow, far
from discreet.sql.algebra import keys as ks
from discreet.sql.finish.answer import Release, table_bytes
from discreet.sql.lower.run import Noisy
from discreet.sql.measures.measure import columns
from discreet.sql.plan.plan import Plan, ReleasePlan

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

BLOCK = 1 << 18
"""How many groups are kept in one piece."""
_NARROW = (np.int8, np.int16, np.int32)


class Packer:
    """Puts an answer and its noisy integers into one piece, block by block."""

    def __init__(self, into: IO[bytes], made: dt.datetime) -> None:
        self._archive = zipfile.ZipFile(into, "w", zipfile.ZIP_STORED)  # the pieces are compressed already
        self._archive.writestr("about.json", json.dumps({"made": made.isoformat()}))
        self._blocks: dict[tuple[int, int], int] = {}

    def block(self, number: int, part: int, entries: Integers) -> None:
        """Add noisy integers of the next groups of a release.

        Args:
            number: of the release.
            part: whose measures they belong to.
            entries: int64 array (groups, entries of the part).
        """
        at = self._blocks.get((number, part), 0)
        self._archive.writestr(_name(number, part, at), table_bytes(_narrowed(entries)))
        self._blocks[number, part] = at + 1

    def found(self, number: int, release: ReleasePlan) -> None:
        """Add the groups of a release that were found."""
        import pyarrow as pa

        found = {f"k{at}": key.arrow() for at, key in enumerate(release.keys) if not key.public}
        self._archive.writestr(f"keys{number}.arrow", table_bytes(pa.table(found)))

    def answer(self, release: Release) -> None:
        """Add the answer itself."""
        self._archive.writestr("answer.arrow", release.to_bytes())

    def close(self) -> None:
        """Write the end."""
        self._archive.close()


@dataclass(frozen=True)
class Kept:
    """What was kept of an answer.

    Attributes:
        made: when it was made.
        release: the answer; None where it follows from the integers.
        noisy: the integers.
    """

    made: dt.datetime
    release: Release | None
    noisy: list[Noisy]


def pack(release: Release, noisy: Sequence[Noisy], follows: bool = False) -> bytes:
    """Put an answer and its noisy integers into one piece.

    Args:
        release: the answer.
        noisy: the integers.
        follows: whether the answer follows from them, so that they are enough.
    """
    out = io.BytesIO()
    packer = Packer(out, release.made)
    for at, one in enumerate(noisy):
        if one.plan.discovery is not None:
            packer.found(at, one.plan)
        for part, places in enumerate(places_of(one.plan)):
            for start in range(0, max(1, len(one.entries)), BLOCK):
                packer.block(at, part, one.entries[start : start + BLOCK, places])
    if not follows:
        packer.answer(release)
    packer.close()
    return out.getvalue()


def unpack(data: bytes, plan: Plan) -> Kept:
    """Read what `pack` wrote, for the same plan."""
    import pyarrow as pa

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        release = Release.from_bytes(archive.read("answer.arrow")) if "answer.arrow" in names else None
        noisy = []
        for at, one in enumerate(plan.releases):
            if one.discovery is not None:
                found = pa.ipc.open_stream(archive.read(f"keys{at}.arrow")).read_all().itercolumns()
                one = replace(one, keys=ks.found(one.keys, (tuple(far.values(column)) for column in found)))
            entries = np.empty((one.cells, sum(m.entries for m in one.measures)), np.int64, order="F")
            for block in blocks_of(archive, at, one):
                entries[block.first : block.first + len(block.entries)] = block.entries
            noisy.append(Noisy(one, entries))
        return Kept(made_of(archive), release, noisy)


def made_of(archive: zipfile.ZipFile) -> dt.datetime:
    """When an answer that was kept was made."""
    return dt.datetime.fromisoformat(json.loads(archive.read("about.json"))["made"])


def blocks_of(archive: zipfile.ZipFile, number: int, release: ReleasePlan) -> Iterator[Noisy]:
    """The noisy integers of a release block by block."""
    import pyarrow as pa

    names, at, first = set(archive.namelist()), 0, 0
    places = places_of(release)
    while _name(number, 0, at) in names:
        parts = [
            _wide(pa.ipc.open_stream(archive.read(_name(number, one, at))).read_all())
            for one in range(len(places))
        ]
        entries = np.empty((len(parts[0]), sum(map(len, places))), np.int64, order="F")
        for part, own in zip(parts, places, strict=True):
            entries[:, own] = part
        yield Noisy(release, entries, first)
        at, first = at + 1, first + len(entries)


def places_of(release: ReleasePlan) -> list[list[int]]:
    """Where the integers of each part stand among all integers of a group."""
    places = list(zip(release.measures, columns(release.measures), strict=True))
    return [
        [at for measure, own in places if measure.part == part for at in range(own.start, own.stop)]
        for part in range(len(release.parts))
    ]


def _name(number: int, part: int, block: int) -> str:
    return f"release{number}/{part}/{block}.arrow"


def _narrowed(entries: Integers) -> pa.Table:
    """The columns in the narrowest integers that hold them; wide ones are split, for the low half is all noise."""
    import pyarrow as pa

    data: dict[str, pa.Array] = {}
    for at in range(entries.shape[1]):
        column = entries[:, at]
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        kind = _fitting(low, high)
        if kind is None:
            upper = column >> 32
            data[f"low{at}"] = arrow.column(column.astype(np.uint32))
            data[f"high{at}"] = arrow.column(upper.astype(_fitting(low >> 32, high >> 32) or np.int32))
        else:
            data[f"{at}"] = arrow.column(column.astype(kind))
    return pa.table(data)


def _fitting(low: int, high: int) -> type[np.signedinteger] | None:
    return next((kind for kind in _NARROW if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max), None)


def _wide(table: pa.Table) -> Integers:
    names = table.column_names
    count = sum(not name.startswith("high") for name in names)
    out = np.empty((len(table), count), np.int64, order="F")
    for at in range(count):
        if str(at) in names:
            out[:, at] = arrow.numbers(table.column(str(at)))
        else:
            high = arrow.numbers(table.column(f"high{at}")).astype(np.int64)
            out[:, at] = (high << 32) | arrow.numbers(table.column(f"low{at}"))
    return out
