"""Lines of JSON that are alike but for their values, as columns, without a parser.

Programs write the lines of a log with the same members in the same order, and a parser reads the names of the members
again in each line. Here the first line is split into its values and the text around them. Each other line has to have
that same text around its own values, byte for byte, and these have to be texts or numbers as there. Where one line is
otherwise the answer is None, and a parser reads them all.

A parser would read the same values. No line has a backslash or a control character, so each quote begins or ends a
text. The text around the values holds all quotes of the line, so no value has one; a text is then itself, and a number
is held against JSON's grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet import arrow
from discreet.records import dataclass

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_MEMBER: Final = re.compile(
    rb' *"(?P<name>[^"\\]*)" *: *(?:"(?P<text>[^"\\]*)"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?)) *(?P<sign>[,}])'
)
_LONGEST: Final = 300
"""Python refuses whole numbers of thousands of digits; longer ones than this are left to it."""
_QUOTE, _ZERO, _DOT, _MINUS = (ord(sign) for sign in '"0.-')


@dataclass(frozen=True)
class LineLayout:
    """The members of a line.

    Attributes:
        names: of the members.
        texts: which values are texts; the others are numbers.
        around: the bytes before each value, and behind the last one; the quotes of a text are among them.
    """

    names: tuple[str, ...]
    texts: tuple[bool, ...]
    around: tuple[bytes, ...]

    @staticmethod
    def of(line: bytes) -> LineLayout | None:
        """The layout of a line of JSON; None where a value is no text and no number, or two members have one name.

        Example:
            >>> LineLayout.of(b'{"ward":"N","cost":90}').around
            (b'{"ward":"', b'","cost":', b'}')
            >>> LineLayout.of(b'{"ward":null}') is None
            True
        """
        names, texts, around = [], [], []
        begin, offset = 0, 1
        while found := _MEMBER.match(line, offset):
            kind = "number" if found["text"] is None else "text"
            names.append(found["name"].decode())
            texts.append(kind == "text")
            around.append(line[begin : found.start(kind)])
            begin, offset = found.end(kind), found.end()
            if found["sign"] == b"}":
                break
        else:
            return None
        if offset != len(line) or len(set(names)) < len(names):
            return None
        return LineLayout(tuple(names), tuple(texts), (*around, line[begin:]))


def read_alike(text: bytes, ends: Integers, kinds: Mapping[str, pa.DataType]) -> dict[str, pa.Array] | None:
    r"""The columns of lines that are alike; None where one is otherwise, or has a value that a parser has to read.

    Args:
        text: whole lines of UTF-8, that begin with `{`.
        ends: int64 (lines,), at least one, where each newline is.
        kinds: the type of each column; one that no line has is missing in the answer. A double is the nearest.

    Raises:
        pa.ArrowInvalid: a number is none of its column's type.

    Example:
        >>> lines = b'{"ward":"N","cost":90}\n{"ward":"South","cost":7.5}\n'
        >>> found = read_alike(lines, np.array([22, 50]), {"ward": pa.string(), "cost": pa.float64()})
        >>> {name: column.to_pylist() for name, column in found.items()}
        {'ward': ['N', 'South'], 'cost': [90.0, 7.5]}
    """
    signs = np.frombuffer(text, np.uint8)
    if len(text) > np.iinfo(np.int32).max or b"\\" in text or np.count_nonzero(signs < 32) != len(ends):
        return None
    layout = LineLayout.of(text[: ends[0]])
    spans = None if layout is None else _spans(text, signs, ends, layout)
    if layout is None or spans is None:
        return None
    found = {}
    for name, is_text, (begins, stops) in zip(layout.names, layout.texts, spans, strict=True):
        kind = kinds.get(name)
        if is_text and kind is None:
            continue
        column = _cut(text, begins, stops)
        if not is_text and not _all_numbers(column):
            return None
        if kind is not None:
            if is_text != (kind == pa.string()):
                return None
            found[name] = column if is_text else column.cast(kind)
    return found


def _spans(
    text: bytes, signs: Bytes, ends: Integers, layout: LineLayout
) -> list[tuple[Integers, Integers]] | None:
    """Where each value begins and ends; None where a line is not of the layout."""
    many = sum(part.count(b'"') for part in layout.around)
    found = np.flatnonzero(signs == _QUOTE)
    if len(found) != many * len(ends):
        return None
    quotes: Integers = found.reshape(len(ends), many)
    begins = np.concatenate([[0], ends[:-1] + 1])
    if (quotes[:, 0] < begins).any() or (quotes[:, -1] > ends).any():
        return None
    starts, seen = [begins], layout.around[0].count(b'"')
    for part in layout.around[1:]:
        first = part.find(b'"')
        starts.append(ends - len(part) if first < 0 else quotes[:, seen] - first)
        seen += part.count(b'"')
    if (starts[-1] + len(layout.around[-1]) != ends).any():
        return None
    spans = [
        (start + len(part), stop)
        for start, part, stop in zip(starts, layout.around, starts[1:], strict=False)
    ]
    # The parts lie in their lines, one behind the other, before any byte of them is read.
    for is_text, (begin, stop) in zip(layout.texts, spans, strict=True):
        if (stop - begin).min() < (0 if is_text else 1):
            return None
    same = all(_same(signs, start, part) for start, part in zip(starts, layout.around, strict=True))
    return spans if same else None


def _same(signs: Bytes, starts: Integers, part: bytes) -> bool:
    """Whether the same bytes stand at all places, which are looked at by words."""
    size = next(size for size in (8, 4, 2, 1) if size <= len(part))
    words = np.ndarray((len(signs) - size + 1,), f"<u{size}", signs.data, strides=(1,))
    places = [*range(0, len(part) - size, size), len(part) - size]
    return all(
        bool((words[starts + place] == np.frombuffer(part, f"<u{size}", 1, place)[0]).all())
        for place in places
    )


def _cut(text: bytes, begins: Integers, stops: Integers) -> pa.StringArray:
    """The texts at these places, one behind the other."""
    offsets = np.stack([begins, stops], axis=1).astype(np.int32)
    # Every other text of this array is a value, and those between lie around them.
    both = pa.StringArray.from_buffers(2 * len(begins) - 1, pa.py_buffer(offsets), pa.py_buffer(text))
    return both.take(arrow.column(np.arange(0, 2 * len(begins) - 1, 2)))


def _all_numbers(column: pa.StringArray) -> bool:
    """Whether all are numbers of JSON without an exponent; none of them is empty."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    signs = np.frombuffer(data, np.uint8)
    begins, stops = ends[:-1], ends[1:]
    used = signs[begins[0] : stops[-1]]
    dots = used == _DOT
    minus = signs[begins] == _MINUS
    known = np.count_nonzero(used - np.uint8(_ZERO) <= 9) + np.count_nonzero(dots) + np.count_nonzero(minus)
    if known != len(used) or int((stops - begins).max()) > _LONGEST:
        return False
    first = begins + minus
    if (first == stops).any() or not (_digits(signs[first]) & _digits(signs[stops - 1])).all():
        return False
    before = np.concatenate([[0], np.cumsum(dots)])
    if (before[stops - begins[0]] - before[begins - begins[0]] > 1).any():
        return False
    zero = first[(signs[first] == _ZERO) & (first + 1 < stops)]
    return bool((signs[zero + 1] == _DOT).all())


def _digits(signs: Bytes) -> npt.NDArray[np.bool_]:
    return signs - np.uint8(_ZERO) <= 9
