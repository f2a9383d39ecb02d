"""Text in blocks of whole lines: columns where a block is plain, rows where it is not, with the same meaning.

The meaning is that of `Lines.row`, which reads each line by itself. A block goes through Arrow's reader of CSV or JSON
only where that has the same meaning: lines with quotes, stray carriage returns, byte-order marks or bytes that are no
UTF-8 are read one by one before, and a block that Arrow refuses is read in halves, down to single rows.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from discreet.streams.feeds.alike import read_alike
from discreet.streams.feeds.place import Again, more
from discreet.streams.lines import TICK, Lines
from discreet.streams.periods import time_of

Piece: TypeAlias = "dt.datetime | pa.Table | list[Mapping[str, Any] | None]"
"""A time that has come, rows as columns, or rows."""

SMALL: Final = 1 << 11
"""Arrow has to begin anew with each block; so few bytes are read sooner by rows."""
_BOM: Final = b"\xef\xbb\xbf"
_EXACT: Final = 1 << 53
_LONG: Final = 4000
"""Python refuses whole numbers of more than 4,300 digits."""
_DEEP: Final = 200
"""Python refuses members that are nested some hundred times deep."""


class TextFeed(Lines):
    """Lines of CSV or JSON, as `Lines`, but many at once.

    Args:
        file: binary, from its first byte.
        follow: whether its end is not the end.
        needed: the columns that are read.
        ticks: whether lines `#tick TIME` name times.
        numbers: those columns of which only numbers matter.
    """

    def __init__(
        self,
        file: IO[bytes],
        follow: bool = False,
        needed: Iterable[str] = (),
        ticks: bool = False,
        numbers: Iterable[str] = (),
    ) -> None:
        super().__init__(file, follow, needed)
        self._ticks = ticks
        self._numbers = frozenset(numbers)

    def look(self) -> None:
        """See, before a charge, that a header names the columns; JSON has none, and a file may have no line yet.

        Raises:
            StreamError: the first line is no header, or lacks a column.
        """
        line = self._file.readline()
        if line.endswith(b"\n") or (line and not self._follow):
            self._names_of(line)
        self._file = cast("IO[bytes]", Again(line, self._file))

    def pieces(self) -> Iterator[Piece]:
        """The pieces that are there, up to the end of the input as it stands; the place is behind each piece.

        Raises:
            StreamError: the first line is no header, or lacks a column.
        """
        while block := self._block():
            start = 0
            if self._names is None:
                end = block.find(b"\n") + 1 or len(block)
                if self._header(block[:end]):
                    self._took(block[:end])
                    start = end
            yield from self._cut(block, start)

    def _block(self) -> bytes:
        """The whole lines that are there; where the end is the end, the rest of it too."""
        new, ended = more(self._file, b"\n")
        whole = self._part + new
        cut = len(whole) if ended and not self._follow else whole.rfind(b"\n") + 1
        self._part = whole[cut:]
        return whole[:cut]

    def _cut(self, block: bytes, start: int) -> Iterator[Piece]:
        """The pieces of a block between its ticks."""
        while self._ticks:
            tick = start if block.startswith(TICK, start) else block.find(b"\n" + TICK, start) + 1
            if not tick and not block.startswith(TICK):
                break
            if tick < start or (tick == 0 and start):
                break
            yield from self._rows(block[start:tick])
            start = block.find(b"\n", tick) + 1 or len(block)
            self._took(block[tick:start])
            when = time_of(block[tick + len(TICK) : start].decode("utf-8", "replace"))
            if when is not None:
                yield when
        yield from self._rows(block[start:])

    def _rows(self, piece: bytes) -> Iterator[Piece]:
        if piece:
            self._took(piece)
            yield from self._read(piece)

    def _read(self, piece: bytes) -> Iterator[Piece]:
        """Lines as columns, in as few pieces as can be."""
        if len(piece) > SMALL:
            table = self._table(piece)
            if table is not None:
                yield table
                return
            if not self._names:  # odd lines of CSV were read by rows before
                middle = piece.find(b"\n", len(piece) // 2) + 1
                if 0 < middle < len(piece):
                    yield from self._read(piece[:middle])
                    yield from self._read(piece[middle:])
                    return
        yield [self.row(line) for line in io.BytesIO(piece)]

    def _table(self, piece: bytes) -> pa.Table | None:
        """Lines as columns; None where Arrow might not mean the same."""
        try:
            return self._of_csv(piece) if self._names else self._of_json(piece)
        except (pa.ArrowException, UnicodeError):
            return None

    def _of_csv(self, piece: bytes) -> pa.Table | None:
        names = self._names or []
        mended = self._mended(piece)
        if mended is None:
            return None
        place = {name: str(index) for index, name in enumerate(names)}  # of two with one name, the last
        read = pa.csv.ReadOptions(
            use_threads=False,
            block_size=len(mended) + 1,
            column_names=[str(index) for index in range(len(names))],
        )
        parse = pa.csv.ParseOptions(invalid_row_handler=lambda row: "skip")
        needed = [place[name] for name in self._needed]
        convert = pa.csv.ConvertOptions(
            include_columns=list(dict.fromkeys(needed)),
            column_types=dict.fromkeys(needed, pa.string()),
            strings_can_be_null=False,
        )
        if not mended.strip(b"\n"):
            return pa.table({name: pa.array([], pa.string()) for name in self._needed})
        table = pa.csv.read_csv(pa.BufferReader(mended), read, parse, convert)
        return pa.table({name: table.column(place[name]) for name in self._needed})

    def _mended(self, piece: bytes) -> bytes | None:
        """The piece, with each odd line written plainly or left out; None where that cannot be done."""
        if b"\0" in piece:
            return None
        if not (b'"' in piece or _BOM in piece or _stray(piece) or not _is_text(piece)):
            return piece
        out = io.StringIO()
        write = csv.writer(out, lineterminator="\n")
        kept = []
        for line in io.BytesIO(piece):
            if not (b'"' in line or _BOM in line or _stray(line) or not _is_text(line)):
                kept.append(line)
                continue
            row = self.fields(line)
            if row is None:
                continue
            if any("\n" in field or "\r" in field for field in row):
                return None
            out.seek(0)
            out.truncate()
            write.writerow(row)
            kept.append(out.getvalue().encode())
        return b"".join(kept)

    def _of_json(self, piece: bytes) -> pa.Table | None:
        text = piece.replace(b"\r\n", b"\n") if b"\r" in piece else piece
        text = text if text.endswith(b"\n") else text + b"\n"
        signs = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(signs == ord("\n"))
        lines = len(ends)
        # So each line holds one object, and no object more than one line. Arrow reads only the columns that it has to
        # give, and would take a line for a row whose other members are no UTF-8.
        if not (
            text[:1] == b"{"
            and _is_text(text)
            and (signs[ends[:-1] + 1] == ord("{")).all()
            and (signs[ends - 1] == ord("}")).all()
        ):
            return None
        first = self.row(text[: text.find(b"\n")])
        if first is None:
            return None
        kinds = {name: self._kind(name, first.get(name)) for name in self._needed}
        table = _alike(text, ends, kinds) or (_parsed(text, kinds) if _all_short(signs, ends) else None)
        if table is None or table.num_rows != lines:
            return None
        for name, kind in kinds.items():
            if kind == pa.float64():  # whole numbers of JSON are exact
                ends = pa.compute.min_max(table.column(name)).as_py()
                if ends["max"] is not None and not -_EXACT < ends["min"] <= ends["max"] < _EXACT:
                    return None
        return table

    def _kind(self, name: str, value: object) -> pa.DataType:
        """The type of a column, guessed from its first value; Arrow refuses values that are not of it."""
        if isinstance(value, float) or (name in self._numbers and isinstance(value, int)):
            return pa.float64()
        return pa.int64() if isinstance(value, int) else pa.string()


def _alike(text: bytes, ends: npt.NDArray[np.int64], kinds: Mapping[str, pa.DataType]) -> pa.Table | None:
    """Lines of JSON with the same members, as columns; None where they are not."""
    found = read_alike(text, ends, kinds)
    if found is None:
        return None
    return pa.table({name: found.get(name, pa.nulls(len(ends), kind)) for name, kind in kinds.items()})


def _all_short(signs: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> bool:
    """Whether no line has a number so long, or members nested so deep, that Python refuses it while Arrow does not."""
    begins = np.concatenate([[0], ends[:-1] + 1])
    if int((ends - begins).max()) > _LONG:
        return False
    opened = (signs == ord("{")) | (signs == ord("["))
    if np.count_nonzero(opened) <= _DEEP:
        return True
    return int(np.add.reduceat(opened, begins, dtype=np.int64).max()) <= _DEEP


def _parsed(text: bytes, kinds: Mapping[str, pa.DataType]) -> pa.Table:
    """Lines of JSON as columns.

    Raises:
        pa.ArrowInvalid: a line is no JSON, or a value none of its type.
    """
    table = pa.json.read_json(
        pa.BufferReader(text),
        pa.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        pa.json.ParseOptions(explicit_schema=pa.schema(kinds), unexpected_field_behavior="ignore"),
    )
    table.validate(full=True)
    return table


def _stray(text: bytes) -> bool:
    """Whether a carriage return is not at the end of a line."""
    return b"\r" in text and text.count(b"\r") != text.count(b"\r\n")


def _is_text(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
