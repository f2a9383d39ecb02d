"""A CSV file as text: its header line, and its rows in UTF-8.

The names of the columns and the delimiter are found in the header line alone, so that no row decides them. Nor does a
row decide how another is read: each line is UTF-8, or else Latin-1, by itself.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import os
import re
import tempfile
from collections.abc import Iterator
from typing import IO

from discreet.engines.twins import folded
from discreet.errors import SourceError
from discreet.records import dataclass

_HEAD = 1 << 20
"""How many bytes of a file may be its header line."""
_BLOCK = 1 << 20
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Header:
    """The content of the header line.

    Attributes:
        names: of the columns; one without a name is called by its number, and a name that is taken gets a number.
        delimiter: the character between them.
        twins: names, in lower case, that several columns have but for case.
    """

    names: tuple[str, ...]
    delimiter: str
    twins: frozenset[str] = frozenset()


def header(path: str) -> Header:
    """Read the header line of a file, with any line ends and any delimiter.

    Raises:
        SourceError: there is no such file, or it has no header line.
    """
    if not os.path.isfile(path):
        raise SourceError(f"There is no file {path}.", "Check the path.")
    block = b""
    with contextlib.suppress(OSError, EOFError), _opened(path) as file:
        block = file.read(_HEAD)
    if block.startswith(_WIDE):
        text = block[: len(block) // 2 * 2].decode("utf-16", "replace")
    else:
        text = _decoded(re.split(rb"\r|\n", block.removeprefix(codecs.BOM_UTF8), maxsplit=1)[0])
    line = re.split(r"\r\n|\r|\n", text, maxsplit=1)[0]
    delimiter = max(",;\t|", key=re.sub(r'"[^"]*"', "", line).count)
    names = next(csv.reader(io.StringIO(line), delimiter=delimiter), [])
    if not any(names):
        raise SourceError(
            f"{path} cannot be read as a CSV file, for it has no header line.",
            "Check that it is text, and write the names of the columns into the first line.",
        )
    return Header(_distinct(names), delimiter, folded(name for name in names if name))


@contextlib.contextmanager
def in_utf8(path: str) -> Iterator[str]:
    """The path of a file with the same rows in UTF-8: the file itself where it is that, else a copy, gone afterwards.

    Raises:
        OSError, EOFError: the file cannot be read.
    """
    if _is_utf8(path):
        yield path
        return
    handle, copy = tempfile.mkstemp(prefix="discreet-", suffix=".csv")
    try:
        with open(handle, "wb") as out, _opened(path) as file:
            wide = file.read(2) in _WIDE
            file.seek(0)
            for piece in _wide(file) if wide else map(_decoded, _lines(file)):
                out.write(piece.encode())
        yield copy
    finally:
        with contextlib.suppress(OSError):
            os.unlink(copy)


def _opened(path: str) -> IO[bytes]:
    return gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def _is_utf8(path: str) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _opened(path) as file:
        try:
            while block := file.read(_BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file with their ends, which are those of Unix, Windows or old Mac."""
    rest = b""
    while block := file.read(_BLOCK):
        *lines, rest = re.split(rb"(?<=[\r\n])", rest + block)
        yield from lines
    yield rest


def _wide(file: IO[bytes]) -> Iterator[str]:
    """The text of a file in UTF-16; bytes that are no character are a question mark in a box."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    while block := file.read(_BLOCK):
        yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


def _distinct(names: list[str]) -> tuple[str, ...]:
    out: list[str] = []
    taken: set[str] = set()
    for index, name in enumerate(names):
        base = name or f"column{index}"
        free, number = base, 0
        while free.lower() in taken:
            number += 1
            free = f"{base}_{number}"
        taken.add(free.lower())
        out.append(free)
    return tuple(out)
