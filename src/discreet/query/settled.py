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

from discreet import arrow
from discreet.query import keys as ks
from discreet.query.answer import Release, table_bytes
from discreet.query.plan import Plan, ReleasePlan
from discreet.query.run import Noisy

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
        self._blocks: dict[int, int] = {}

    def block(self, number: int, entries: Integers) -> None:
        """Add the noisy integers of the next groups of a release: int64 array (groups, entries)."""
        at = self._blocks.get(number, 0)
        self._archive.writestr(f"release{number}/{at}.arrow", table_bytes(_narrowed(entries)))
        self._blocks[number] = at + 1

    def found(self, number: int, release: ReleasePlan) -> None:
        """Add the groups of a release that were found."""
        import pyarrow as pa

        columns = {f"k{at}": key.arrow() for at, key in enumerate(release.keys) if not key.public}
        self._archive.writestr(f"keys{number}.arrow", table_bytes(pa.table(columns)))

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
        for start in range(0, max(1, len(one.entries)), BLOCK):
            packer.block(at, one.entries[start : start + BLOCK])
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
                columns = pa.ipc.open_stream(archive.read(f"keys{at}.arrow")).read_all().to_pydict().values()
                one = replace(one, keys=ks.found(one.keys, map(tuple, columns)))
            entries = np.empty((one.cells, sum(m.entries for m in one.measures)), np.int64, order="F")
            start = 0
            for block in blocks_of(archive, at):
                entries[start : start + len(block)] = block
                start += len(block)
            noisy.append(Noisy(one, entries))
        return Kept(made_of(archive), release, noisy)


def made_of(archive: zipfile.ZipFile) -> dt.datetime:
    """When an answer that was kept was made."""
    return dt.datetime.fromisoformat(json.loads(archive.read("about.json"))["made"])


def blocks_of(archive: zipfile.ZipFile, number: int) -> Iterator[Integers]:
    """The noisy integers of a release block by block: int64 arrays (groups, entries)."""
    import pyarrow as pa

    names, at = set(archive.namelist()), 0
    while (name := f"release{number}/{at}.arrow") in names:
        yield _wide(pa.ipc.open_stream(archive.read(name)).read_all())
        at += 1


def _narrowed(entries: Integers) -> pa.Table:
    """The columns in the narrowest integers that hold them; wide ones are split, for the low half is all noise."""
    import pyarrow as pa

    columns: dict[str, pa.Array] = {}
    for at in range(entries.shape[1]):
        column = entries[:, at]
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        kind = _fitting(low, high)
        if kind is None:
            upper = column >> 32
            columns[f"low{at}"] = arrow.column(column.astype(np.uint32))
            columns[f"high{at}"] = arrow.column(upper.astype(_fitting(low >> 32, high >> 32) or np.int32))
        else:
            columns[f"{at}"] = arrow.column(column.astype(kind))
    return pa.table(columns)


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
