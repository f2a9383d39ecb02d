"""The part of an answer that the ledger keeps: its noisy integers, and the answer itself where they do not give it.

The same question at another confidence costs nothing. `release.answer_archive` writes the integers.
"""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet import far
from discreet.records import dataclass
from discreet.release.answer import Release
from discreet.release.answer_archive import Packer, answer_of, asked_of, block_of, made_of, table_of
from discreet.release.bill import charged_at
from discreet.release.noisy_schema import key_name
from discreet.sql.algebra import keys as ks
from discreet.sql.lower.run import NoisyIntegers
from discreet.sql.measures.measure import columns
from discreet.sql.plan.plan import PlannedRelease, QueryPlan

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

BLOCK = 1 << 18
"""How many groups are kept in one piece."""
SLACK = 1 << 18
"""Bytes for the things that the ledger keeps beside the integers of an answer."""


@dataclass(frozen=True)
class StoredAnswer:
    """The kept part of an answer.

    Attributes:
        made: when it was made.
        answer: None where it follows from the integers.
        noisy: the integers.
        beside: the answers of the other questions that were asked as one with it, in order.
    """

    made: dt.datetime
    answer: Release | None
    noisy: list[NoisyIntegers]
    beside: tuple[Release, ...] = ()


def size_of(plan: QueryPlan) -> int:
    """About how many bytes the ledger keeps of an answer: its integers, and the answer with its intervals."""
    integers = sum(release.cells * sum(m.entries for m in release.measures) for release in plan.measured)
    shown = sum(
        release.cells * (len(release.keys) + 3 * len(release.aggregates)) for release in plan.releases
    )
    return SLACK + 8 * integers + 16 * shown


def pack(
    release: Release | None,
    noisy: Sequence[NoisyIntegers],
    follows: bool = False,
    beside: Sequence[Release] = (),
    asked: str = "",
) -> bytes:
    """Put an answer and its noisy integers into one piece.

    Args:
        release: the answer; None where it could not be made.
        noisy: the integers.
        follows: whether the answer follows from them, so that they are enough.
        beside: the answers of the other questions that were asked as one with it, which follow as it does.
        asked: the question with its parameters, from which its plan follows.
    """
    out = io.BytesIO()
    made = charged_at() if release is None else release.made
    packer = Packer(out, made, asked)
    for index, integers in enumerate(noisy):
        if integers.plan.discovery is not None:
            packer.table(_keys(index), _found(integers.plan))
        for part, places in enumerate(places_of(integers.plan)):
            for start in range(0, max(1, len(integers.entries)), BLOCK):
                packer.block(index, part, integers.entries[start : start + BLOCK, places])
    if release is not None and not follows:
        for number, answer in enumerate((release, *beside)):
            packer.answer(answer, number)
    packer.close()
    return out.getvalue()


def unpack(data: bytes, plan: QueryPlan) -> StoredAnswer:
    """Read the bytes that `pack` wrote, for the same plan."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        release = answer_of(archive)
        beside: list[Release] = []
        while (other := answer_of(archive, len(beside) + 1)) is not None:
            beside.append(other)
        noisy = []
        for index, planned in enumerate(plan.measured):
            if planned.discovery is not None:
                found = table_of(archive, _keys(index)).itercolumns()
                planned = replace(
                    planned, keys=ks.found(planned.keys, (tuple(far.values(column)) for column in found))
                )
            entries = np.empty((planned.cells, sum(m.entries for m in planned.measures)), np.int64, order="F")
            for block in blocks_of(archive, index, planned):
                entries[block.first : block.first + len(block.entries)] = block.entries
            noisy.append(NoisyIntegers(planned, entries))
        return StoredAnswer(made_of(archive), release, noisy, tuple(beside))


def question_of(data: bytes) -> str:
    """The question of an answer with its parameters; empty where `pack` was given none."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return asked_of(archive)


def blocks_of(archive: zipfile.ZipFile, number: int, release: PlannedRelease) -> Iterator[NoisyIntegers]:
    """The noisy integers of a release block by block."""
    index, first = 0, 0
    places = places_of(release)
    while (parts := _parts(archive, number, len(places), index)) is not None:
        entries = np.empty((len(parts[0]), sum(map(len, places))), np.int64, order="F")
        for part, own in zip(parts, places, strict=True):
            entries[:, own] = part
        yield NoisyIntegers(release, entries, first)
        index, first = index + 1, first + len(entries)


def _parts(archive: zipfile.ZipFile, number: int, count: int, index: int) -> list[Integers] | None:
    """A block of every part; None behind the last one."""
    parts = [
        part
        for part_index in range(count)
        if (part := block_of(archive, number, part_index, index)) is not None
    ]
    assert len(parts) in (0, count)
    return parts or None


def places_of(release: PlannedRelease) -> list[list[int]]:
    """Where the integers of each part stand among all integers of a group."""
    places = list(zip(release.measures, columns(release.measures), strict=True))
    return [
        [index for measure, own in places if measure.part == part for index in range(own.start, own.stop)]
        for part in range(len(release.parts))
    ]


def _found(release: PlannedRelease) -> pa.Table:
    """The keys of the groups that were found."""
    import pyarrow as pa

    return pa.table(
        {key_name(index): key.arrow() for index, key in enumerate(release.keys) if not key.public}
    )


def _keys(number: int) -> str:
    return f"keys{number}"
